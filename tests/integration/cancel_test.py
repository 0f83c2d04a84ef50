"""Cancel at every phase leaves no process, and CANCELLED shows only once that was verified."""
import os
import time

from harness import ClusterTest, alive, main, wait_until

# Children that try to get away: a new session, a double fork, a deaf ear for SIGTERM.
ESCAPE = ("import os,signal,sys,time\n"
          "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
          "os.write(1, b'pid %d\\n' % os.getpid())\n"
          "for kind in ('setsid','double'):\n"
          " if os.fork()==0:\n"
          "  os.setsid()\n"
          "  if kind=='double' and os.fork()!=0: os._exit(0)\n"
          "  os.write(1, b'pid %d\\n' % os.getpid())\n"
          "  time.sleep(1000)\n"
          "time.sleep(1000)\n")


class Cancel(ClusterTest):
    def pids(self, job, count):
        def read():
            pids = [int(line.split()[1]) for line in self.cluster.out(job).splitlines() if line.startswith("pid")]
            return pids if len(pids) == count else None
        return wait_until(f"{count} processes", read)

    def test_queued(self):
        job = self.cluster.submit("--cpus", "1", "--nodes", "2", "--set", "resources.memory_per_node=1MiB", "--", "sleep", "100")
        blocked = self.cluster.submit("--priority", "0", "--nodes", "2", "--cpus", str(os.cpu_count()), "--", "true")
        self.assertEqual(self.cluster.gtctl("cancel", blocked, "--wait").code, 0)
        self.assertEqual(self.cluster.state(blocked), "CANCELLED")
        self.cluster.gtctl("cancel", job, "--wait")

    def test_right_after_the_submit(self):
        for delay in (0, 0.005, 0.01, 0.02, 0.05):
            job = self.cluster.submit("--set", "grace=1s", "--", "sleep", "1000")
            time.sleep(delay)
            self.assertEqual(self.cluster.gtctl("cancel", job, "--wait").code, 0)
            self.assertEqual(self.cluster.state(job), "CANCELLED")

    def test_running_with_children_that_escape(self):
        job = self.cluster.submit("--nodes", "2", "--set", "grace=500ms", "--", "python3", "-c", ESCAPE)
        pids = self.pids(job, 6)
        neighbour = self.cluster.submit("--cpus", "0", "--", "sleep", "1000")
        self.cluster.wait_phase(neighbour, "RUNNING")
        start = time.monotonic()
        self.assertEqual(self.cluster.gtctl("cancel", job, "--wait").code, 0)
        self.assertEqual([pid for pid in pids if alive(pid)], [])
        self.assertGreaterEqual(time.monotonic() - start, 0.5)
        self.assertEqual(self.cluster.state(neighbour), "ACTIVE")
        self.cluster.gtctl("cancel", neighbour, "--wait")

    def test_sigterm_lets_a_program_finish_within_the_grace(self):
        script = ("import signal,sys,time\n"
                  "def end(*_): print('saved', flush=True); sys.exit(0)\n"
                  "signal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\ntime.sleep(1000)\n")
        job = self.cluster.submit("--", "python3", "-c", script)
        wait_until("ready", lambda: "ready" in self.cluster.out(job))
        self.cluster.gtctl("cancel", job, "--wait")
        self.assertIn("saved", self.cluster.out(job))
        self.assertEqual(self.cluster.state(job), "CANCELLED")

    def test_a_second_cancel_and_one_of_a_finished_job_are_harmless(self):
        job = self.cluster.submit("--set", "grace=1s", "--", "python3", "-c", ESCAPE)
        self.pids(job, 3)
        self.assertEqual(self.cluster.gtctl("cancel", job).code, 0)
        self.assertEqual(self.cluster.phase(job), "STOPPING")
        self.assertEqual(self.cluster.gtctl("cancel", job, "--wait").code, 0)
        again = self.cluster.gtctl("cancel", job)
        self.assertEqual(again.code, 0)
        self.assertIn("already", again.err + again.out)

    def test_an_unknown_job(self):
        self.assertEqual(self.cluster.gtctl("cancel", "999999").code, 3)


if __name__ == "__main__":
    main()
