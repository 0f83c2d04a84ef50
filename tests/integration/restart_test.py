"""Kill -9 of the coordinator and of workers at any moment: nothing acknowledged is lost, no running job notices."""
import os
import random
import signal
import threading
import time

from harness import ClusterTest, alive, main, wait_until


class Restart(ClusterTest):
    def bounce(self):
        self.cluster.kill("coordinator")
        self.cluster.start_coordinator()

    def test_acknowledged_jobs_and_their_history_survive(self):
        rng = random.Random(7)
        acknowledged, stop = [], threading.Event()

        def submit():
            while not stop.is_set():
                run = self.cluster.gtctl("submit", "-q", "--", "true")
                if run.code == 0:
                    acknowledged.append(run.out.strip())

        clients = [threading.Thread(target=submit) for _ in range(3)]
        for client in clients:
            client.start()
        for _ in range(5):
            time.sleep(rng.uniform(0.05, 0.4))
            self.bounce()
        stop.set()
        for client in clients:
            client.join()
        self.assertGreater(len(acknowledged), 10)
        self.assertEqual(len(set(acknowledged)), len(acknowledged), "two submits, one id")
        self.assertEqual(self.cluster.gtctl("wait", *acknowledged).code, 0)
        for job in acknowledged[:: max(1, len(acknowledged) // 10)]:
            self.assertIn("SUBMITTED", self.cluster.gtctl("events", job).out)

    def test_a_coordinator_that_crashes_again_and_again_only_answers_questions(self):
        if b"__asan_init" in (self.cluster.bin / "gt-coordinator").read_bytes():
            self.skipTest("AddressSanitizer reports the crash as the test's")
        running = self.cluster.submit("--", "sleep", "300")
        self.cluster.wait_phase(running, "RUNNING")
        for _ in range(3):
            self.assertEqual(self.cluster.gtctl("submit", "-q", "--", "true").code, 0)
            self.cluster.kill("coordinator", signal.SIGABRT)
            self.cluster.start_coordinator()
        try:
            refused = self.cluster.gtctl("submit", "--", "true")
            self.assertEqual(refused.code, 1)
            self.assertIn("has crashed 3 times within a minute", refused.err)
            self.assertIn("crashes removed", refused.err)
            self.assertEqual(self.cluster.gtctl("list").code, 0)
            self.assertEqual(self.cluster.phase(running), "RUNNING")
        finally:
            (self.cluster.dir / "coordinator" / "crashes").unlink()
            self.bounce()
        self.assertEqual(self.cluster.gtctl("cancel", running, "--wait").code, 0)

    def test_a_running_job_does_not_notice(self):
        job = self.cluster.submit("--nodes", "2", "--", "sh", "-c", "echo pid $$; for i in $(seq 40); do echo $i; sleep 0.1; done")
        self.cluster.wait_phase(job, "RUNNING")
        before = self.pids(job)
        time.sleep(0.5)
        self.bounce()
        self.assertEqual(self.pids(job), before)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        summary = self.cluster.status(job)["job"]
        self.assertEqual((summary["state"], summary["attempts"]), ("SUCCEEDED", 1))
        for rank in "01":
            lines = [line for line in self.cluster.out(job, "--rank", rank).splitlines() if not line.startswith("pid")]
            self.assertEqual(lines, [str(i) for i in range(1, 41)])

    def pids(self, job):
        return wait_until("two pids", lambda: (lambda p: p if len(p) == 2 else None)(
            sorted(line.split()[1] for line in self.cluster.out(job).splitlines() if line.startswith("pid"))))

    def test_following_survives_without_losing_or_repeating_a_line(self):
        result = {}

        def follow():
            result["run"] = self.cluster.gtctl("submit", "--follow", "--", "sh", "-c", "for i in $(seq 60); do echo $i; sleep 0.05; done")

        client = threading.Thread(target=follow)
        client.start()
        time.sleep(1)
        self.bounce()
        client.join()
        self.assertEqual(result["run"].code, 0, result["run"].err)
        self.assertEqual(result["run"].out.split()[:60], [str(i) for i in range(1, 61)])

    def test_a_coordinator_on_another_port_is_found_by_workers_and_waiting_clients(self):
        job = self.cluster.submit("--", "sh", "-c", "for i in $(seq 30); do echo $i; sleep 0.1; done")
        result = {}
        client = threading.Thread(target=lambda: result.update(run=self.cluster.gtctl("logs", "-f", job)))
        client.start()
        time.sleep(1)
        self.cluster.kill("coordinator")
        self.cluster.port = 0
        self.cluster.start_coordinator()
        client.join()
        self.assertEqual((result["run"].code, result["run"].out.split()), (0, [str(i) for i in range(1, 31)]), result["run"].err)

    def test_a_worker_that_restarts_adopts_its_ranks(self):
        end = self.cluster.dir / "end"
        job = self.cluster.submit("--", "sh", "-c", f"echo pid $$; until [ -e {end} ]; do sleep 0.1; done; echo done")
        self.cluster.wait_phase(job, "RUNNING")
        node = self.cluster.status(job)["job"]["node_names"][0]
        pid = wait_until("a pid", lambda: self.cluster.out(job).split()[1:2])[0]
        for how in (signal.SIGKILL, signal.SIGTERM):
            self.cluster.kill(node, how)
            self.assertTrue(alive(pid))
            self.cluster.start_worker(node)
        end.touch()
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        self.assertEqual(self.cluster.status(job)["job"]["attempts"], 1)
        self.assertIn("done", self.cluster.out(job))

    def test_a_job_that_ends_while_both_are_down_is_known_afterwards(self):
        job = self.cluster.submit("--", "sh", "-c", "sleep 1; echo last words; exit 9")
        self.cluster.wait_phase(job, "RUNNING")
        node = self.cluster.status(job)["job"]["node_names"][0]
        self.cluster.kill("coordinator")
        self.cluster.kill(node)
        time.sleep(1.5)
        self.cluster.start_coordinator()
        self.cluster.start_worker(node)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 10)
        self.assertEqual(self.cluster.status(job)["job"]["exit_code"], 9)
        self.assertIn("last words", self.cluster.out(job))

    def test_a_cancel_in_flight_is_carried_out_after_a_restart(self):
        job = self.cluster.submit("--set", "grace=2s", "--", "sh", "-c", "trap '' TERM; echo pid $$; while :; do sleep 0.1; done")
        self.cluster.wait_phase(job, "RUNNING")
        pid = wait_until("a pid", lambda: self.cluster.out(job).split()[1:2])[0]
        self.cluster.gtctl("cancel", job)
        self.bounce()
        wait_until("it is cancelled", lambda: self.cluster.state(job) == "CANCELLED")
        self.assertFalse(alive(pid))


if __name__ == "__main__":
    main()
