"""Full disks: what runs goes on, what cannot be kept is refused with that reason, and space that returns is all it takes."""
import os
import time
import unittest

from harness import ClusterTest, alive, main, wait_until

MiB = 1 << 20


@unittest.skipUnless(os.getuid() == 0, "only root can mount a small disk")
class FullDisk(ClusterTest):
    NODES = ("a",)
    DISKS = {"coordinator": 96 * MiB, "a": 160 * MiB}
    COORDINATOR_OPTIONS = ("--set", "disk_low=32MiB", "--set", "disk_min=24MiB")

    def tearDown(self):
        for name in self.DISKS:
            self.cluster.free_disk(name)

    def start_lines(self, count):
        job = self.cluster.submit("--", "sh", "-c", f"echo pid $$; for i in $(seq {count}); do echo $i; sleep 0.1; done")
        pid = wait_until("a pid", lambda: self.cluster.out(job).split()[1:2])[0]
        return job, pid

    def refused(self):
        run = self.cluster.gtctl("submit", "--", "true")
        self.assertEqual((run.code, run.out), (1, ""))
        self.assertIn("disk", run.err)

    def test_of_the_coordinator(self):
        job, pid = self.start_lines(30)
        self.cluster.fill_disk("coordinator")
        wait_until("submits are refused", lambda: self.cluster.gtctl("submit", "--dry-run", "--", "true").code != 0)
        self.refused()
        self.assertTrue(alive(pid))
        self.assertEqual(self.cluster.state(job), "ACTIVE")
        self.assertIn("pid", self.cluster.out(job))
        wait_until("the rank has ended", lambda: not alive(pid))
        self.cluster.free_disk("coordinator")
        self.cluster.wait_state(job, "SUCCEEDED")
        wait_until("all it printed", lambda: self.cluster.out(job).splitlines()[1:] == [str(i) for i in range(1, 31)])
        self.assertEqual(self.cluster.gtctl("submit", "--wait", "--", "true").code, 0)

    def test_of_a_coordinator_that_starts(self):
        job, pid = self.start_lines(30)
        self.cluster.fill_disk("coordinator")
        self.cluster.kill("coordinator")
        self.cluster.start_coordinator(*self.COORDINATOR_OPTIONS)
        self.refused()
        self.assertEqual(self.cluster.state(job), "ACTIVE")
        self.cluster.free_disk("coordinator")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        self.assertEqual(self.cluster.status(job)["job"]["attempts"], 1)
        wait_until("all it printed", lambda: self.cluster.out(job).splitlines()[1:] == [str(i) for i in range(1, 31)])

    def test_of_a_node(self):
        self.cluster.fill_disk("a")
        start = time.monotonic()
        job = self.cluster.submit("--", "sh", "-c", "for i in $(seq 1000); do echo $i; done")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0, "a rank is neither blocked nor killed")
        self.assertLess(time.monotonic() - start, 5)
        self.cluster.free_disk("a")
        wait_until("output is kept again", lambda: self.prints_whole())

    def prints_whole(self):
        job = self.cluster.submit("--", "sh", "-c", "seq 1000")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        return self.cluster.out(job) == "".join(f"{i}\n" for i in range(1, 1001))


@unittest.skipUnless(os.getuid() == 0, "only root can mount a small disk")
class SmallDisk(ClusterTest):
    """A node with less free space than one segment of the spool."""
    NODES = ("a",)
    DISKS = {"a": 48 * MiB}

    def test_what_little_is_printed_is_kept(self):
        job = self.cluster.submit("--wait", "--", "echo", "hello")
        self.assertEqual(self.cluster.out(job), "hello\n")


if __name__ == "__main__":
    main()
