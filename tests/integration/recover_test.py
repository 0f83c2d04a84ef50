"""Ranks of a training gang die and are replaced in place: one attempt, and in the end the weights of a run that nobody
disturbed. Real programs, real digits."""
import os
import signal
import time
from pathlib import Path

from harness import REPO, ClusterTest, main, wait_until

EPOCHS = 30


class Recover(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = cls.cluster.sample_data()
        cls.weights = {}  # of undisturbed runs

    def submit(self, *options):
        return self.cluster.submit(REPO / "configs/jobs/mnist.yaml", "--set", f"train.data.path={self.data}", "--set", "train.model.name=mlp",
                                   "--set", f"train.epochs={EPOCHS}", "--set", "train.checkpoint.every=1h", *options)

    def step(self, job):
        return (self.cluster.status(job)["job"]["progress"] or {}).get("step", 0)

    def wait_steps(self, job, more=200):
        before = self.step(job)
        wait_until("steps", lambda: self.step(job) >= before + more, 60)

    def kinds(self, job):
        return [event["kind"] for event in self.cluster.gtctl("events", job, "-o", "json").json["events"]]

    def wait_reformed(self, job, times):
        wait_until(f"re-formed {times} times\n" + self.cluster.gtctl("events", job).out, lambda: self.kinds(job).count("REFORMED") >= times, 60)

    def finish(self, job):
        self.assertEqual(self.cluster.gtctl("wait", job, timeout=240).code, 0, self.cluster.gtctl("events", job).out + self.cluster.out(job)[-3000:])
        detail = self.cluster.status(job)
        folder = Path(detail["tasks"][0]["attempts"][-1]["checkpoint"])
        return detail["job"]["attempts"], (folder / "model.safetensors").read_bytes()

    def undisturbed(self, *shape):
        if shape not in self.weights:
            self.weights[shape] = self.finish(self.submit(*shape))[1]
        return self.weights[shape]

    def test_killed_ranks_are_replaced_and_change_nothing(self):
        job = self.submit("--set", "retry.user=5")
        self.wait_steps(job, 50)
        for times, rank in enumerate((1, 0), 1):  # rank 0 is no exception
            os.kill(self.cluster.rank_pid(job, rank), signal.SIGKILL)
            self.wait_reformed(job, times)
            self.wait_steps(job)
        attempts, weights = self.finish(job)
        self.assertEqual(attempts, 1)
        self.assertEqual(weights, self.undisturbed())
        events = self.cluster.gtctl("events", job).out
        self.assertRegex(events, r"REFORMING.*rank 1 on node b was killed by signal 9; forming generation 2, charged to the user's retries")
        self.assertRegex(events, r"REFORMED.*generation 3 after [0-9.hms]+, \d+ samples are done again")

    def test_on_one_node_the_ranks_that_live_go_on(self):
        shape = ("--nodes", "1", "--set", "resources.processes_per_node=2")
        job = self.submit(*shape, "--set", "retry.user=5")
        self.wait_steps(job, 50)
        for times, rank in enumerate((0, 1), 1):
            os.kill(self.cluster.rank_pid(job, rank), signal.SIGKILL)
            self.wait_reformed(job, times)
        attempts, weights = self.finish(job)
        self.assertEqual(attempts, 1)
        self.assertEqual(weights, self.undisturbed(*shape))

    def test_coordinator_and_worker_may_die_in_the_middle(self):
        job = self.submit("--set", "retry.user=5")
        self.wait_steps(job, 50)
        pid = self.cluster.rank_pid(job, 1)
        self.cluster.kill("coordinator")
        os.kill(pid, signal.SIGKILL)
        self.cluster.kill("b")
        time.sleep(0.3)
        self.cluster.start_coordinator()
        self.cluster.start_worker("b")
        self.wait_reformed(job, 1)
        attempts, weights = self.finish(job)
        self.assertEqual(attempts, 1)
        self.assertEqual(weights, self.undisturbed())

    def test_without_a_retry_a_death_ends_the_job(self):
        job = self.submit()
        self.wait_steps(job, 50)
        os.kill(self.cluster.rank_pid(job, 1), signal.SIGKILL)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 10)
        self.assertIn("rank 1 on node b was killed by signal 9", self.cluster.gtctl("status", job).out)


if __name__ == "__main__":
    main()
