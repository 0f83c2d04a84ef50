"""Odd input of every kind arrives as it was given: names, arguments, bytes, sizes."""
import json
import subprocess
import time

from harness import ClusterTest, alive, main, wait_until

ODD = ['a"b', "c'd", "e  f", "$(touch /tmp/no)", "`id`", "${HOME}", "new\nline", "tab\t", "\\", "*", "-x", "--", "😀 ☃", "", "%s", "\x1b[31m"]
# Each process starts the next and leaves; one of them does so in an empty environment.
BREED = ("import os,signal,time\n"
         "def line(clean):\n"
         " os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         " if clean: os.environ.clear()\n"
         " while True:\n"
         "  time.sleep(.001)\n"
         "  if os.fork()!=0: os._exit(0)\n"
         "for clean in (False, True):\n"
         " if os.fork()==0: line(clean)\n"
         "if os.fork()==0: os.execve('/bin/sleep', ['sleep', '%s'], {})\n"
         "print('ready', flush=True)\n"
         "time.sleep(1000)\n")


class Odd(ClusterTest):
    NODES = ("a",)

    def run_job(self, *argv):
        job = self.cluster.submit(*argv)
        self.assertEqual(self.cluster.gtctl("wait", job).code, 0, self.cluster.gtctl("status", job).out)
        return job

    def raw(self, job):
        run = subprocess.run([self.cluster.bin / "gtctl", "logs", job, "--prefix", "never"], capture_output=True, env=self.cluster.env, timeout=60)
        self.cluster.find("gtctl logs", run.stderr.decode(errors="replace"))
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_names_arguments_and_variables(self):
        program = "import json,os,sys; print(json.dumps([sys.argv[1:], os.environ['ODD'], os.environ['MORE']]))"
        name = "".join(ODD)
        job = self.run_job("--name", name, "--env", f"ODD={name}", "--env", "MORE=a=b=c", "--", "python3", "-c", program, *ODD)
        self.assertEqual(json.loads(self.cluster.out(job)), [ODD, name, "a=b=c"])
        status = self.cluster.status(job)["job"]
        self.assertEqual((status["name"], status["spec"]["name"], status["spec"]["run"]["command"][3:]), (name, name, ODD))
        shown = self.cluster.gtctl("list", "--all").out
        self.assertNotIn("\x1b[31m", shown)
        self.assertEqual(len([line for line in shown.splitlines() if line.split()[0] == job]), 1)

    def test_bytes_that_are_no_text(self):
        job = self.run_job("--", "python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 100 + b'\\n\\xff\\xfe')")
        self.assertEqual(self.raw(job).rstrip(b"\n"), bytes(range(256)) * 100 + b"\n\xff\xfe")

    def test_a_line_of_100_MB(self):
        job = self.run_job("--", "python3", "-c", "import sys\nfor i in range(100): sys.stdout.write(chr(65 + i % 26) * 1000000)")
        expected = b"".join(bytes([65 + i % 26]) * 1000000 for i in range(100))
        got = wait_until("all of it", lambda: (lambda raw: raw if len(raw) >= len(expected) else None)(self.raw(job)))
        self.assertTrue(got.rstrip(b"\n") == expected, f"{len(got)} bytes")

    def test_an_array_of_100_000(self):
        start = time.monotonic()
        job = self.cluster.submit("--array", "0-99999", "--cpus", "1", "--", "sleep", "1000")
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(self.cluster.status(job)["job"]["tasks"]["total"], 100000)
        self.assertEqual(self.cluster.gtctl("cancel", f"{job}_99999", "--wait").code, 0)
        self.assertEqual(self.cluster.gtctl("cancel", job, "--wait").code, 0)
        self.assertEqual(self.cluster.status(job)["job"]["tasks"]["cancelled"], 100000)
        self.run_job("--", "true")

    def test_a_job_file_of_a_mebibyte(self):
        head = "run:\n  command: [python3, -c, 'import os; print(sum(len(v) for k, v in os.environ.items() if k[0] == \"V\"))']\n  env:\n"
        body = "".join(f"    V{i}: {'x' * 60000}\n" for i in range(17))
        path = self.cluster.dir / "big.yaml"
        path.write_text((head + body).ljust((1 << 20) - 1, "#") + "\n")
        self.assertEqual(path.stat().st_size, 1 << 20)
        job = self.run_job(path)
        self.assertEqual(self.cluster.out(job).strip(), str(17 * 60000))
        path.write_text(path.read_text() + "#")
        refused = self.cluster.gtctl("submit", path)
        self.assertEqual((refused.code, refused.out), (2, ""))
        self.assertIn("larger than 1 MiB", refused.err)

    def test_processes_that_fork_while_they_are_killed(self):
        mark = f"{time.time_ns() % 10**9 + 10**9}"
        job = self.cluster.submit("--set", "grace=200ms", "--", "python3", "-c", BREED % mark)
        wait_until("ready", lambda: "ready" in self.cluster.out(job))
        nameless = wait_until("the nameless one", lambda: self.pids(f"sleep\0{mark}"))
        self.assertTrue(self.pids(mark))
        self.assertEqual(self.cluster.gtctl("cancel", job, "--wait").code, 0)
        self.assertEqual(self.pids(mark), [])
        self.assertFalse(any(alive(pid) for pid in nameless))

    def pids(self, text):
        found = subprocess.run(["grep", "-lsaF", text.replace("\0", "")[-10:], *self.command_lines()], capture_output=True, text=True).stdout
        return [path.split("/")[2] for path in found.splitlines()]

    def command_lines(self):
        return [f"/proc/{pid}/cmdline" for pid in subprocess.run(["ps", "-eo", "pid="], capture_output=True, text=True).stdout.split()]


if __name__ == "__main__":
    main()
