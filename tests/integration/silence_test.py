"""Daemons that fall silent, or die together: who is lost, what runs where, and that nobody notices who need not."""
import signal
import subprocess
import time

from harness import ClusterTest, alive, main, wait_until

LINES = "echo pid $$; for i in $(seq 40); do echo $i; sleep 0.1; done"


class Silence(ClusterTest):
    COORDINATOR_OPTIONS = ("--set", "beat=300ms", "--set", "node_lost_after=2s", "--set", "retry_backoff=100ms")

    def signal(self, name, how):
        self.cluster.processes[name].send_signal(how)

    def run_lines(self):
        job = self.cluster.submit("--", "sh", "-c", LINES)
        self.cluster.wait_phase(job, "RUNNING")
        node = self.cluster.status(job)["job"]["node_names"][0]
        pid = wait_until("a pid", lambda: self.cluster.out(job).split()[1:2])[0]
        return job, node, pid

    def check_lines(self, job, pid):
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        summary = self.cluster.status(job)["job"]
        self.assertEqual((summary["state"], summary["attempts"]), ("SUCCEEDED", 1))
        self.assertEqual(self.cluster.out(job).splitlines(), [f"pid {pid}", *map(str, range(1, 41))])

    def lost_nodes(self):
        return self.cluster.gtctl("events").out.count("NODE_LOST")

    def test_a_key_is_one_job_over_kills_of_the_coordinator(self):
        key = "one-key-for-one-job"
        submit = ("submit", "-o", "json", "--idempotency-key", key, "--", "true")
        client = subprocess.Popen([self.cluster.bin / "gtctl", *submit], stdout=subprocess.DEVNULL, env=self.cluster.env)
        time.sleep(0.005)
        self.cluster.kill("coordinator")  # who knows whether it was taken
        client.kill()
        client.wait()
        self.cluster.start_coordinator(*self.COORDINATOR_OPTIONS)
        first = self.cluster.gtctl(*submit).json["job"]["id"]
        for _ in range(2):  # of a live job, and of one that is over
            self.cluster.kill("coordinator")
            self.cluster.start_coordinator(*self.COORDINATOR_OPTIONS)
            again = self.cluster.gtctl(*submit)
            self.assertEqual((again.code, again.json["job"]["id"], again.json["job"]["duplicate"]), (0, first, True))
            self.assertEqual(self.cluster.gtctl("wait", first).code, 0)

    def test_coordinator_and_worker_die_at_once_and_the_job_does_not_notice(self):
        job, node, pid = self.run_lines()
        self.signal("coordinator", signal.SIGKILL)
        self.signal(node, signal.SIGKILL)
        self.cluster.processes.pop("coordinator").wait(10)
        self.cluster.processes.pop(node).wait(10)
        self.assertTrue(alive(pid))
        self.cluster.start_coordinator(*self.COORDINATOR_OPTIONS)
        self.cluster.start_worker(node)
        self.assertTrue(alive(pid))
        self.check_lines(job, pid)

    def test_a_worker_that_was_stopped_for_long_is_cleaned_and_used_again(self):
        job = self.cluster.submit("--", "sh", "-c", "echo pid $$; sleep 4")
        self.cluster.wait_phase(job, "RUNNING")
        node = self.cluster.status(job)["job"]["node_names"][0]
        pid = wait_until("a pid", lambda: self.cluster.out(job).split()[1:2])[0]
        self.signal(node, signal.SIGSTOP)
        wait_until("it runs elsewhere", lambda: (lambda s: s["attempts"] == 2 and s["phase"] == "RUNNING")(self.cluster.status(job)["job"]))
        self.assertNotEqual(self.cluster.status(job)["job"]["node_names"], [node])
        self.assertTrue(alive(pid), "ranks of an unreachable node train on")
        self.signal(node, signal.SIGCONT)
        wait_until("the old copy is stopped", lambda: not alive(pid), 2)
        both = self.cluster.submit("--nodes", "2", "--", "true")
        wait_until("the node is used again", lambda: self.cluster.state(both) == "SUCCEEDED", 2)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        first, second = self.cluster.status(job)["tasks"][0]["attempts"]
        self.assertEqual((first["cause"], second["cause"]), ("NODE_LOST", "SUCCEEDED"))

    def test_a_coordinator_that_was_stopped_loses_no_node(self):
        before = self.lost_nodes()
        job, _, pid = self.run_lines()
        self.signal("coordinator", signal.SIGSTOP)
        time.sleep(4)
        self.signal("coordinator", signal.SIGCONT)
        wait_until("both are up", lambda: len(self.cluster.nodes_up()) == 2)
        self.check_lines(job, pid)
        self.assertEqual(self.lost_nodes(), before)


if __name__ == "__main__":
    main()
