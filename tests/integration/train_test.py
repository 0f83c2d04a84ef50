"""The built-in trainer through the whole system: real digits, two nodes."""
import signal
import time

from harness import REPO, ClusterTest, main, wait_until


class Train(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = cls.cluster.sample_data()

    def submit(self, *options):
        return self.cluster.submit(REPO / "configs/jobs/mnist.yaml", "--set", f"train.data.path={self.data}", *options)

    def test_two_nodes_train_and_the_coordinator_may_die_meanwhile(self):
        job = self.submit("--set", "train.epochs=2")
        wait_until("progress", lambda: (self.cluster.status(job)["job"]["progress"] or {}).get("step", 0) > 5, 60)
        self.cluster.kill("coordinator")
        time.sleep(0.5)
        self.cluster.start_coordinator()
        self.assertEqual(self.cluster.gtctl("wait", job, timeout=240).code, 0)
        detail = self.cluster.status(job)
        self.assertEqual(detail["job"]["attempts"], 1)
        out = self.cluster.out(job)
        self.assertRegex(out, r"test accuracy 9[0-9]\.\d+ ?%")
        for rank in "01":
            self.assertIn("loss", self.cluster.out(job, "--rank", rank))
        checkpoint = detail["tasks"][0]["attempts"][-1]["checkpoint"]
        self.assertTrue(checkpoint, "a final checkpoint was reported")

    def test_a_text_model_trains_with_everything_that_its_example_asks_for(self):
        board = self.cluster.dir / "board"
        board.mkdir()
        board.chmod(0o777)  # ranks are somebody else
        job = self.cluster.submit(REPO / "configs/jobs/gpt.yaml", "--set", "train.data.samples=192", "--set", "train.epochs=1",
                                  "--set", "train.precision=fp16", "--set", "train.activation_checkpointing=true",
                                  "--set", "train.log_every=1", "--set", f"train.tensorboard={board}")
        self.assertEqual(self.cluster.gtctl("wait", job, timeout=240).code, 0, self.cluster.out(job))
        out = self.cluster.out(job)
        self.assertIn("step 3/3", out)
        for words in ("lr ", "data wait", "comm wait", "gradient norm", "loss scale"):
            self.assertIn(words, out)
        self.assertEqual(len(list((board / f"{job}_0").glob("events.out.tfevents.*"))), 1)

    def test_missing_data_reaches_the_status(self):
        job = self.cluster.submit(REPO / "configs/jobs/mnist.yaml", "--set", "train.data.path=/no/such/data")
        self.assertEqual(self.cluster.gtctl("wait", job, timeout=120).code, 10)
        shown = self.cluster.gtctl("status", job).out
        self.assertIn("/no/such/data", shown)
        self.assertIn("rank", shown)

    def test_a_killed_rank_ends_the_attempt_and_its_budget_decides(self):
        job = self.submit("--set", "train.epochs=50", "--set", "grace=2s")
        wait_until("progress", lambda: (self.cluster.status(job)["job"]["progress"] or {}).get("step", 0) > 5, 60)
        self.assertEqual(self.cluster.gtctl("cancel", job, "--wait").code, 0)
        self.assertEqual(self.cluster.state(job), "CANCELLED")

    def test_a_gpu_job_where_there_is_no_gpu_is_refused(self):
        run = self.cluster.gtctl("submit", REPO / "configs/jobs/mnist.yaml", "--gpus-per-node", "1")
        self.assertEqual(run.code, 2)
        self.assertIn("GPU", run.err)


class FakeGpu(ClusterTest):
    NODES = ("a",)
    WORKER_OPTIONS = ("--set", "gpus=[{model: NVIDIA H100, memory: 80GiB, count: 2, fake: true}]")

    def test_a_gpu_job_on_a_machine_without_the_plug_in_says_what_is_missing(self):
        data = self.cluster.sample_data()
        job = self.cluster.submit(REPO / "configs/jobs/mnist.yaml", "--nodes", "1", "--gpus-per-node", "1", "--set", f"train.data.path={data}")
        self.assertEqual(self.cluster.gtctl("wait", job, timeout=60).code, 10)
        self.assertIn("libgt_cuda.so", self.cluster.gtctl("status", job).out)

    def test_ranks_see_their_gpus_by_uuid(self):
        job = self.cluster.submit("--gpus-per-node", "2", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $LOCAL_WORLD_SIZE")
        self.cluster.gtctl("wait", job)
        line = self.cluster.out(job, "--rank", "0").split()
        self.assertEqual(len(line[0].split(",")), 2)
        self.assertEqual(line[1:], ["PCI_BUS_ID", "2"])


if __name__ == "__main__":
    main()
