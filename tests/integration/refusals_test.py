"""Every refusal has its own clear words and exit code, and leaves nothing half-done behind."""
import json
import os
import re
import socket
import unittest
from pathlib import Path

from harness import ClusterTest, main, wait_until

BAD_JOB = """\
name: bad
resources:
  nods: 2
  memory_per_node: 2 gigs
train:
  model: {name: simple_cn}
  batch_size: many
  optimiser: {name: adam}
priority: 500
depends_on: [{job: 1, when: succeeded}]
"""


class Refusals(ClusterTest):
    NODES = ("a",)

    def file(self, name, text):
        path = self.cluster.dir / name
        path.write_text(text)
        return path

    def test_a_bad_job_file_lists_every_problem_at_once(self):
        run = self.cluster.gtctl("submit", self.file("bad.yaml", BAD_JOB))
        self.assertEqual(run.code, 2)
        for line, words in ((3, "nodes"), (4, "2GiB"), (6, "simple_cnn"), (7, "batch_size"), (8, "optimizer"), (9, "100"), (10, "not supported yet"), (5, "data")):
            self.assertTrue(any(f"bad.yaml:{line}" in row and words in row for row in run.err.splitlines()), f"line {line}, {words}:\n{run.err}")
        self.assertEqual(self.cluster.gtctl("list", "--all", "-o", "name").out, "")

    def test_job_files_that_are_no_job_files(self):
        for name, text in (("empty", ""), ("list", "- 1\n"), ("torn", "a: [1, 2"), ("twice", "name: a\nname: b\nrun: {command: [x]}\n"), ("both", "run: {command: [a]}\ntrain: {}\n"),
                           ("bytes", "name: \udcff\nrun: {command: [x]}\n"), ("array", "array: 5-1\nrun: {command: [x]}\n"), ("huge", "name: " + "x" * (2 << 20))):
            path = self.cluster.dir / f"{name}.yaml"
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            run = self.cluster.gtctl("submit", path)
            self.assertEqual((run.code, run.out), (2, ""), f"{name}: {run.err}")
            self.assertIn(f"{name}.yaml", run.err)
        self.assertEqual(self.cluster.gtctl("submit", "/no/such/file.yaml").code, 2)

    def test_a_request_that_no_node_could_meet(self):
        run = self.cluster.gtctl("submit", "--gpus-per-node", "8", "--", "true")
        self.assertEqual(run.code, 2)
        self.assertIn("the largest is a", run.err)

    def test_unknown_ids(self):
        for command in ("status", "logs", "events", "explain", "wait", "cancel"):
            run = self.cluster.gtctl(command, "424242")
            self.assertEqual(run.code, 3, f"{command}: {run.err}")
            self.assertIn("424242", run.err)
        self.assertEqual(self.cluster.gtctl("status", "what").code, 2)

    def test_an_unreachable_coordinator(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        run = self.cluster.gtctl("--server", f"127.0.0.1:{port}", "--timeout", "1s", "list", env={"GTCTL_TOKEN": "x"})
        self.assertEqual(run.code, 6)
        self.assertIn(str(port), run.err)
        no_access = self.cluster.gtctl("list", env={"GT_ACCESS": "/no/such/access"})
        self.assertIn("/no/such/access", no_access.err)
        self.assertNotEqual(no_access.code, 0)

    def test_a_wrong_token_is_refused_and_shown_nowhere(self):
        access = json.loads(self.cluster.access.read_text())
        access["token"] = "f" * 64
        path = self.file("wrong", json.dumps(access))
        path.chmod(0o600)
        run = self.cluster.gtctl("list", env={"GT_ACCESS": str(path)})
        self.assertEqual(run.code, 4)
        self.assertNotIn("f" * 64, run.err + run.out)

    def test_errors_are_json_for_those_who_ask_for_json(self):
        run = self.cluster.gtctl("status", "424242", "-o", "json")
        self.assertEqual((run.code, run.out), (3, ""))
        self.assertEqual(json.loads(run.err)["error"]["code"], "NOT_FOUND")

    def daemon(self, program, *options):
        return self.cluster.run(self.cluster.bin / program, *options)

    def test_a_second_coordinator_on_one_database(self):
        run = self.daemon("gt-coordinator", "--data-dir", self.cluster.dir / "coordinator", "--listen", "127.0.0.1:0")
        self.assertEqual(run.code, 1)
        self.assertIn(str(self.cluster.dir / "coordinator"), run.err)
        self.assertEqual(self.cluster.gtctl("server", "status").code, 0)

    def test_a_port_in_use(self):
        run = self.daemon("gt-coordinator", "--data-dir", self.cluster.dir / "other", "--listen", f"127.0.0.1:{self.cluster.port}")
        self.assertEqual(run.code, 1)
        self.assertIn(str(self.cluster.port), run.err)
        self.assertFalse((self.cluster.dir / "other" / "access").exists())

    def test_an_address_that_is_not_loopback(self):
        run = self.daemon("gt-coordinator", "--data-dir", self.cluster.dir / "open", "--listen", "0.0.0.0:0")
        self.assertNotEqual(run.code, 0)
        self.assertIn("TLS", run.err)

    def test_a_data_directory_that_cannot_be_written(self):
        for program in ("gt-coordinator", "gt-worker"):
            run = self.daemon(program, "--data-dir", "/proc/nowhere")
            self.assertEqual(run.code, 1, program)
            self.assertIn("/proc/nowhere", run.err)

    def test_bad_settings_are_named_with_their_line(self):
        path = self.file("coordinator.yaml", "listen: 127.0.0.1:0\nnode_lost_affter: 30s\nbeat: 5\n")
        run = self.daemon("gt-coordinator", "--config", path)
        self.assertEqual(run.code, 2)
        self.assertIn("coordinator.yaml:2", run.err)
        self.assertIn("node_lost_after", run.err)
        self.assertIn("coordinator.yaml:3", run.err)
        run = self.daemon("gt-coordinator", "--set", "beat=20s", "--set", "node_lost_after=30s", "--data-dir", self.cluster.dir / "x")
        self.assertEqual(run.code, 2)

    def test_settings_are_printed_with_their_origin(self):
        path = self.file("good.yaml", "beat: 1s\n")
        run = self.daemon("gt-coordinator", "--config", path, "--print-config")
        self.assertEqual(run.code, 0)
        self.assertRegex(run.out, r"beat: 1s.*good\.yaml:1")
        self.assertRegex(run.out, r"node_lost_after: 30s.*default")

    def test_a_second_worker_of_one_data_directory_or_of_one_name(self):
        run = self.daemon("gt-worker", "--data-dir", self.cluster.dir / "a", "--node-name", "a2")
        self.assertEqual(run.code, 1)
        self.assertIn(str(self.cluster.dir / "a"), run.err)
        run = self.daemon("gt-worker", "--data-dir", self.cluster.dir / "a-too", "--node-name", "a")
        self.assertEqual(run.code, 3)
        launchers = [int(pid) for pid in re.findall("started the launcher, pid ([0-9]+)", run.err)]
        wait_until("its launcher has gone", lambda: not any(map(self.cluster.is_launcher, launchers)))
        self.assertIn("another worker with the name 'a' is connected", run.err)
        self.assertEqual(self.cluster.nodes_up(), ["a"])

    @unittest.skipUnless(os.getuid() == 0, "only root runs ranks as somebody else")
    def test_a_worker_whose_job_user_does_not_exist(self):
        run = self.daemon("gt-worker", "--data-dir", self.cluster.dir / "nouser", "--node-name", "nouser", "--set", "job_user=no-such-user")
        self.assertEqual(run.code, 1)
        self.assertIn("job_user", run.err)
        self.assertIn("no-such-user", run.err)

    @unittest.skipUnless(os.getuid() == 0, "only root could run ranks as root")
    def test_ranks_do_not_run_as_root(self):
        job = self.cluster.submit("--", "id", "-un")
        self.cluster.gtctl("wait", job)
        self.assertEqual(self.cluster.out(job).strip(), "nobody")
        self.cluster.start_worker("rooted", "--set", "job_user=root")
        self.cluster.gtctl("nodes", "drain", "a", "--reason", "test")
        try:
            job = self.cluster.submit("--set", "retry.infra=0", "--", "id", "-un")
            self.assertEqual(self.cluster.gtctl("wait", job).code, 12)
            self.assertIn("allow_root_jobs", self.cluster.gtctl("status", job).out)
        finally:
            self.cluster.gtctl("nodes", "undrain", "a")
            self.cluster.kill("rooted")
            self.cluster.end_launcher("rooted")


if __name__ == "__main__":
    main()
