"""Commands of any kind: one process, gangs, arrays; what they print, how they end, what gtctl answers."""
import json
import time

from harness import ClusterTest, main, wait_until

PRINT_ENV = "import os,json; print(json.dumps(dict(os.environ)), flush=True)"


class Jobs(ClusterTest):
    def test_a_command_runs_and_its_output_is_kept(self):
        job = self.cluster.submit("--", "python3", "-c", "print('hello'); import sys; print('oops', file=sys.stderr)")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        self.assertEqual(sorted(self.cluster.out(job).split()), ["hello", "oops"])

    def test_submit_wait_answers_with_the_outcome(self):
        self.assertEqual(self.cluster.gtctl("submit", "--wait", "--", "true").code, 0)
        self.assertEqual(self.cluster.gtctl("submit", "--wait", "--", "false").code, 10)
        run = self.cluster.gtctl("submit", "--wait", "--propagate-exit-code", "--", "sh", "-c", "exit 37")
        self.assertEqual(run.code, 37, run.err)

    def test_submit_follow_shows_the_output_as_it_comes(self):
        run = self.cluster.gtctl("submit", "--follow", "--", "sh", "-c", "for i in 1 2 3; do echo line $i; done")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.out.splitlines()[:3], ["line 1", "line 2", "line 3"])

    def test_a_gang_gets_torchruns_environment_on_every_rank(self):
        job = self.cluster.submit("--nodes", "2", "--processes-per-node", "2", "--", "python3", "-c", PRINT_ENV)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        ranks = sorted((json.loads(line) for line in self.cluster.out(job).splitlines()), key=lambda env: int(env["RANK"]))
        self.assertEqual([env["RANK"] for env in ranks], ["0", "1", "2", "3"])
        self.assertEqual([env["LOCAL_RANK"] for env in ranks], ["0", "1", "0", "1"])
        self.assertEqual([env["GROUP_RANK"] for env in ranks], ["0", "0", "1", "1"])
        for env in ranks:
            self.assertEqual((env["WORLD_SIZE"], env["LOCAL_WORLD_SIZE"], env["GROUP_WORLD_SIZE"]), ("4", "2", "2"))
            self.assertEqual((env["MASTER_ADDR"], env["MASTER_PORT"]), (ranks[0]["MASTER_ADDR"], ranks[0]["MASTER_PORT"]))
            self.assertEqual((env["GT_JOB_ID"], env["GT_ATTEMPT"], env["GT_GENERATION"]), (job, "1", "1"))
            for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME",
                         "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE", "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME",
                         "TORCH_NCCL_ASYNC_ERROR_HANDLING", "PYTHONUNBUFFERED", "GT_SOCKET", "GT_KEY", "GT_CHECKPOINT_DIR"):
                self.assertIn(name, env)

    def test_the_ranks_of_a_gang_meet_at_rank_zeros_address(self):
        script = ("import os,socket,time\n"
                  "a=(os.environ['MASTER_ADDR'],int(os.environ['MASTER_PORT']))\n"
                  "if os.environ['RANK']=='0':\n"
                  " s=socket.create_server(a); c,_=s.accept(); print('met', c.recv(9).decode())\n"
                  "else:\n"
                  " for _ in range(200):\n"
                  "  try: c=socket.create_connection(a); c.sendall(b'rank 1'); break\n"
                  "  except OSError: time.sleep(.05)\n")
        job = self.cluster.submit("--nodes", "2", "--", "python3", "-c", script)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        self.assertIn("met rank 1", self.cluster.out(job))

    def test_an_array_runs_each_index_once(self):
        job = self.cluster.submit("--array", "3-12", "--", "sh", "-c", "echo index $GT_TASK_INDEX")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        summary = self.cluster.status(job)["job"]
        self.assertEqual((summary["tasks"]["total"], summary["tasks"]["succeeded"]), (10, 10))
        self.assertEqual(self.cluster.out(f"{job}_7").strip(), "index 7")

    def test_a_job_waits_with_its_reason_until_resources_are_free(self):
        blocker = self.cluster.submit("--nodes", "2", "--cpus", str(self.cpus()), "--", "sleep", "60")
        self.cluster.wait_phase(blocker, "RUNNING")
        waiting = self.cluster.submit("--", "true")
        explained = self.cluster.gtctl("explain", waiting)
        self.assertIn("0 free now", explained.out)
        self.assertIn("node a: 0 of", explained.out)
        self.assertEqual(self.cluster.gtctl("wait", waiting, "--timeout", "300ms").code, 14)
        self.cluster.gtctl("cancel", blocker, "--wait")
        self.assertEqual(self.cluster.gtctl("wait", waiting).code, 0)

    def cpus(self):
        return self.cluster.gtctl("nodes", "-o", "json").json["nodes"][0]["cpus"]

    def test_list_status_events_show_what_happened(self):
        job = self.cluster.submit("--name", "weird \"name\" $(x) \n ☃", "--", "true")
        self.cluster.gtctl("wait", job)
        listed = self.cluster.gtctl("list", "--all").out
        self.assertIn("weird", listed)
        self.assertEqual(len([line for line in listed.splitlines() if line.split()[0] == job]), 1, listed)
        as_json = self.cluster.gtctl("list", "--all", "-o", "json").json
        self.assertIn("schema_version", as_json)
        kinds = [json.loads(line)["kind"] for line in self.cluster.gtctl("events", job, "-o", "jsonl").out.splitlines()]
        self.assertEqual(kinds[0], "SUBMITTED")
        self.assertEqual(kinds[-1], "SUCCEEDED")
        self.assertIn("PLACED", kinds)

    def test_much_output_arrives_whole_and_in_order(self):
        job = self.cluster.submit("--", "python3", "-c", "for i in range(200000): print('line', i)")
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0)
        self.assertEqual(self.cluster.out(job), "".join(f"line {i}\n" for i in range(200000)))

    def test_bytes_that_are_not_text_come_back_as_they_were(self):
        job = self.cluster.submit("--", "python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256))*10)")
        self.cluster.gtctl("wait", job)
        self.assertIn("\ufffd", self.cluster.out(job))

    def test_follow_ends_with_the_job(self):
        job = self.cluster.submit("--", "sh", "-c", "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done")
        start = time.monotonic()
        run = self.cluster.gtctl("logs", "-f", job)
        self.assertEqual((run.code, run.out), (0, "1\n2\n3\n4\n5\n"), run.err)
        self.assertLess(time.monotonic() - start, 10)

    def test_secrets_of_the_daemons_do_not_reach_a_rank(self):
        job = self.cluster.submit("--", "python3", "-c", PRINT_ENV)
        self.cluster.gtctl("wait", job)
        token = json.loads(self.cluster.access.read_text())["token"]
        self.assertNotIn(token, self.cluster.out(job))
        self.assertNotIn("GT_ACCESS", json.loads(self.cluster.out(job)))

    def test_a_time_limit_ends_the_job(self):
        run = self.cluster.gtctl("submit", "--wait", "--time", "1s", "--set", "grace=100ms", "--", "sleep", "60")
        self.assertEqual(run.code, 13, run.err)


if __name__ == "__main__":
    main()
