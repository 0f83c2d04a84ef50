"""How failing jobs end: fast, on all nodes, with a cause that names the first failed rank."""
import os
import time

from harness import ClusterTest, alive, main, wait_until


class Failures(ClusterTest):
    def test_one_ranks_failure_ends_the_gang_and_is_named(self):
        script = ("import os,sys,time\n"
                  "os.write(1, b'pid %d\\n' % os.getpid())\n"
                  "time.sleep(1)\n"
                  "if os.environ['RANK']=='1':\n"
                  " [print('tail line', i, file=sys.stderr) for i in range(30)]\n"
                  " sys.exit(7)\n"
                  "time.sleep(60)\n")
        job = self.cluster.submit("--nodes", "2", "--", "python3", "-c", script)
        self.cluster.wait_phase(job, "RUNNING")
        started = time.monotonic()
        self.assertEqual(self.cluster.gtctl("wait", job).code, 10)
        self.assertLess(time.monotonic() - started, 1 + 2 + 1)
        pids = [int(line.split()[1]) for line in self.cluster.out(job).splitlines() if line.startswith("pid")]
        self.assertEqual(len(pids), 2)
        self.assertFalse(any(alive(pid) for pid in pids))
        failure = self.cluster.status(job)["tasks"][0]["attempts"][-1]["first_failure"]
        self.assertEqual((failure["rank"], failure["exit_code"], failure["node"]), (1, 7, "b"))
        self.assertEqual(failure["last_lines"], [f"tail line {i}" for i in range(10, 30)])
        self.assertIn("rank 1 on node b exited with code 7", self.cluster.gtctl("status", job).out)

    def test_a_signal_is_told_apart_from_an_exit_code(self):
        job = self.cluster.submit("--", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 10)
        self.assertEqual(self.cluster.status(job)["job"]["cause"], "SIGNALED")
        self.assertIn("signal 11", self.cluster.gtctl("status", job).out)
        code_only = self.cluster.submit("--", "sh", "-c", "exit 139")
        self.cluster.gtctl("wait", code_only)
        self.assertEqual(self.cluster.status(code_only)["job"]["cause"], "EXIT_NONZERO")

    def test_a_command_that_is_not_there_fails_fast_with_its_name(self):
        start = time.monotonic()
        job = self.cluster.submit("--nodes", "2", "--", "/no/such/program")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 10)
        self.assertLess(time.monotonic() - start, 10)
        self.assertIn("/no/such/program", self.cluster.gtctl("status", job).out)

    def test_a_user_failure_is_tried_again_within_its_budget(self):
        job = self.cluster.submit("--retry-user", "2", "--", "sh", "-c", "[ $GT_ATTEMPT = 3 ]")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        self.assertEqual(self.cluster.status(job)["job"]["attempts"], 3)

    def test_a_worker_that_dies_with_its_launcher_is_noticed_and_named(self):
        job = self.cluster.submit("--", "sleep", "100")
        self.cluster.wait_phase(job, "RUNNING")
        node = self.cluster.status(job)["job"]["node_names"][0]
        os.kill(self.cluster.launcher_pid(node), 9)
        wait_until("the attempt has ended", lambda: len(self.cluster.status(job)["tasks"][0]["attempts"]) > 1)
        first = self.cluster.status(job)["tasks"][0]["attempts"][0]
        self.assertEqual(first["cause"], "INTERNAL")
        self.cluster.gtctl("cancel", job, "--wait")

    def test_output_still_arrives_after_a_launcher_has_died(self):
        for round in range(2):
            for node in self.NODES:
                os.kill(self.cluster.launcher_pid(node), 9)
            time.sleep(0.5)
            job = self.cluster.submit("--nodes", "2", "--", "sh", "-c", "echo still here")
            self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
            wait_until("both lines", lambda: self.cluster.out(job) == "still here\n" * 2)


if __name__ == "__main__":
    main()
