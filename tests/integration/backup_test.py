"""Copies of the database: taken while work goes on, checked, restored; damage is found and named."""
import shutil

from harness import ClusterTest, alive, main, wait_until


class Backup(ClusterTest):
    NODES = ("a",)

    @property
    def data(self):
        return self.cluster.dir / "coordinator"

    def restore(self, copy):
        for name in ("coordinator.db", "coordinator.db-wal", "coordinator.db-shm"):
            (self.data / name).unlink(missing_ok=True)
        shutil.copy(copy, self.data / "coordinator.db")

    def test_a_restored_copy_knows_its_jobs_and_hands_out_no_id_again(self):
        before = self.cluster.submit("--", "true")
        self.assertEqual(self.cluster.gtctl("wait", before).code, 0)
        copy = self.cluster.gtctl("server", "backup", "-q").out.strip()
        self.assertEqual(copy.rsplit("/", 2)[1], "backups")
        after = self.cluster.submit("--", "sh", "-c", "echo pid $$; sleep 100")
        pid = int(wait_until("a pid", lambda: self.cluster.out(after)).split()[1])

        self.cluster.kill("coordinator")
        self.restore(copy)
        self.cluster.start_coordinator()
        self.assertEqual(self.cluster.status(before)["job"]["state"], "SUCCEEDED")
        self.assertEqual(self.cluster.gtctl("status", after).code, 3, "the copy is older than this job")
        wait_until("what nobody knows any more is stopped", lambda: not alive(pid))
        new = self.cluster.submit("--", "true")
        self.assertGreater(int(new), int(after) + 1000)
        self.assertEqual(self.cluster.gtctl("wait", new).code, 0)

    def test_names_are_names_and_nothing_is_overwritten(self):
        self.assertEqual(self.cluster.gtctl("server", "backup", "one").code, 0)
        self.assertEqual(self.cluster.gtctl("server", "check", "one").code, 0)
        self.assertEqual(self.cluster.gtctl("server", "check").code, 0)
        again = self.cluster.gtctl("server", "backup", "one")
        self.assertNotEqual(again.code, 0)
        self.assertIn("is there already", again.err)
        for name in ("../elsewhere", "/tmp/x", ".hidden", "a b"):
            refused = self.cluster.gtctl("server", "backup", name)
            self.assertNotEqual(refused.code, 0, name)
            self.assertIn("name of a backup", refused.err)

    def test_damage_is_named_with_the_way_out(self):
        self.assertEqual(self.cluster.gtctl("server", "backup", "good").code, 0)
        bad = self.data / "backups" / "bad.db"
        content = bytearray((self.data / "backups" / "good.db").read_bytes())
        content[4096 * 3 : 4096 * 4] = b"\xff" * 4096
        bad.write_bytes(content)
        found = self.cluster.gtctl("server", "check", "bad")
        self.assertNotEqual(found.code, 0)
        self.assertIn("is damaged", found.err)

        self.cluster.kill("coordinator")
        (self.data / "coordinator.db").write_bytes(b"x" * 8192)
        self.cluster.spawn("coordinator", self.cluster.bin / "gt-coordinator", "--data-dir", self.data, "--listen", "127.0.0.1:0")
        self.assertNotEqual(self.cluster.processes.pop("coordinator").wait(20), 0)
        self.assertIn("is damaged", self.cluster.log("coordinator"))
        self.assertIn("the newest backup is", self.cluster.log("coordinator"))
        self.restore(self.data / "backups" / "good.db")
        self.cluster.start_coordinator()


if __name__ == "__main__":
    main()
