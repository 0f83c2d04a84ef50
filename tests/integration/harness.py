"""A real cluster for tests: the real programs on loopback, each with its own data directory, in a temporary folder that ranks
of an unprivileged user can reach. Processes are stopped by their own pid."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import zlib
from pathlib import Path

BIN = Path(os.environ["GT_BIN"])
REPO = Path(os.environ["GT_REPO"])
TIMEOUT = 60 * float(os.environ.get("GT_TEST_SLOWNESS", "1"))


def wait_until(what, condition, timeout=20):
    end = time.monotonic() + timeout * float(os.environ.get("GT_TEST_SLOWNESS", "1"))
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {timeout} s: {what}")


def alive(pid):
    """Whether the process lives; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def sanitizer_report(text):
    """From the first report of a sanitizer on; empty when there is none."""
    found = re.search(r"^.*(ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error: )", text, re.M)
    return text[found.start():] if found else ""


class Run:
    """What a finished command left."""

    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def json(self):
        return json.loads(self.out)


class Cluster:
    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="gt-it."))
        os.chmod(self.dir, 0o711)
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for program in ("gt-coordinator", "gt-worker", "gt-launcher", "gt-trainer", "gtctl"):
            if (BIN / program).exists():
                os.link(BIN / program, self.bin / program) if os.stat(BIN).st_dev == os.stat(self.dir).st_dev else shutil.copy(BIN / program, self.bin)
        self.processes = {}
        self.mounts = []
        self.findings = []  # what nobody would see in a log; fails the test when the cluster stops
        self.access = self.dir / "coordinator" / "access"
        self.env = {**os.environ, "GT_ACCESS": str(self.access), "NO_COLOR": "1"}
        self.port = 0

    def mount_disk(self, name, size):
        """A small file system for what will be the daemon's data directory, so that a test can fill it. Root only."""
        (self.dir / name).mkdir(mode=0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "gt-it", self.dir / name], check=True)
        self.mounts.append(self.dir / name)

    def fill_disk(self, name, leave=0):
        with open(self.dir / name / "ballast", "ab") as out:
            size = 0
            for step in (8 << 20, 1 << 16, 1 << 12):  # others write meanwhile
                try:
                    while True:
                        room = os.statvfs(out.fileno())
                        if room.f_bavail * room.f_frsize < leave + step:
                            break
                        os.posix_fallocate(out.fileno(), size, step)
                        size += step
                except OSError:
                    pass

    def free_disk(self, name):
        (self.dir / name / "ballast").unlink(missing_ok=True)

    # --- daemons --------------------------------------------------------------------------------------------------------
    def spawn(self, name, *argv):
        log = open(self.dir / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env, start_new_session=True)
        log.close()
        return self.processes[name]

    def start_coordinator(self, *options):
        """On the port it had before, so that workers and clients find it again."""
        self.spawn("coordinator", self.bin / "gt-coordinator", "--data-dir", self.dir / "coordinator", "--listen", f"127.0.0.1:{self.port}", *options)
        wait_until("coordinator answers\n" + self.log("coordinator"), lambda: self.gtctl("server", "status").code == 0)
        self.port = int(json.loads(self.access.read_text())["address"].rsplit(":", 1)[1])

    def start_worker(self, name, *options):
        """The node may count as up for a while after its last worker died: this one has to say that it joined."""
        joined = self.joins(name)
        self.spawn(name, self.bin / "gt-worker", "--data-dir", self.dir / name, "--node-name", name, *options)
        wait_until(f"worker {name} is up\n" + self.log(name), lambda: self.joins(name) > joined and name in self.nodes_up())

    def joins(self, name):
        path = self.dir / f"{name}.log"
        return path.read_text(errors="replace").count(" joined: epoch ") if path.exists() else 0

    def kill(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        process.send_signal(how)
        try:
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if code != (0 if how == signal.SIGTERM else -how):
            self.findings.append(f"{name} left with {code}\n{self.log(name)}")

    def launcher_pid(self, name):
        return int((self.dir / name / "launcher" / "lock").read_text().split()[0])

    def log(self, name):
        path = self.dir / f"{name}.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def stop(self):
        """All are told to leave, because leaks show at the end of a program only; how they leave is tested."""
        try:
            for name in sorted(self.processes, key=lambda name: name == "coordinator"):  # that one last
                self.kill(name, signal.SIGTERM)
            self.end_launchers()
            self.read_logs()
        finally:
            for mount in self.mounts:
                subprocess.run(["umount", "-l", mount])
            shutil.rmtree(self.dir, ignore_errors=True)
        if self.findings:
            raise AssertionError("\n".join(self.findings))

    def end_launchers(self):
        """As the workers' logs name them: one that is still starting has no lock yet. One with live ranks stays when it is asked."""
        logs = "".join(path.read_text(errors="replace") for path in self.dir.glob("*.log"))
        pids = [int(pid) for pid in re.findall("started the launcher, pid ([0-9]+)", logs)]
        for how in (signal.SIGTERM, signal.SIGKILL):
            pids = [pid for pid in pids if self.is_launcher(pid)]
            for pid in pids:
                os.kill(pid, how)
            end = time.monotonic() + TIMEOUT / 10
            while any(map(self.is_launcher, pids)) and time.monotonic() < end:
                time.sleep(0.02)
        for lock in self.dir.glob("*/launcher/lock"):
            self.sweep(lock.parent)

    def is_launcher(self, pid):
        try:
            return f"gt-launcher\0--dir\0{self.dir}/" in Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            return False

    def end_launcher(self, name):
        try:
            pid = self.launcher_pid(name)
            if self.is_launcher(pid):
                os.kill(pid, signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            pass
        self.sweep(self.dir / name / "launcher")

    def sweep(self, launcher_dir):
        """What a launcher leaves that had to be killed: its ranks' cgroups, with the ranks, and the directory in /tmp."""
        mark = f"{zlib.crc32(bytes(launcher_dir)):08x}"
        shutil.rmtree(f"/tmp/gt-{mark}", ignore_errors=True)
        own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
        for mount, kind, options in (line.split()[1:4] for line in Path("/proc/self/mounts").read_text().splitlines() if " cgroup" in line):
            path = "" if kind == "cgroup2" else next((c for c in own if c and c in options.split(",")), "")
            group = Path(mount + own.get(path, "/")) / f"gridtrain-{mark}"
            for child in group.glob("*/"):
                try:
                    (child / "cgroup.kill").write_text("1")
                except OSError:
                    pass
            for _ in range(50):
                subprocess.run(["find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], stderr=subprocess.DEVNULL)
                if not group.exists():
                    break
                time.sleep(0.02)

    def read_logs(self):
        for path in [*self.dir.glob("*.log"), *self.dir.glob("*/launcher/launcher.out")]:
            text = path.read_text(errors="replace")
            self.find(str(path.relative_to(self.dir)), text)
            # Tests kill launchers; nothing else may.
            self.findings += [f"{path.name}: {line}" for line in text.splitlines() if re.search(r"launcher \d+ ended: signal (?!9\b|15\b)", line)]

    def find(self, what, text):
        if report := sanitizer_report(text):
            self.findings.append(f"{what}:\n{report}")

    def rank_pid(self, job, rank):
        """Of the newest process of the trainer that has this rank of the job."""
        for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: -int(path.name)):
            try:
                if not (path / "cmdline").read_bytes().startswith(f"{self.bin}/gt-trainer".encode()):
                    continue
                env = (path / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"GT_JOB_ID={job}".encode() in env and f"RANK={rank}".encode() in env:
                return int(path.name)
        raise AssertionError(f"rank {rank} of job {job} does not run")

    def sample_data(self):
        """A copy of the digits where ranks of an unprivileged user can read them."""
        data = self.dir / "mnist"
        shutil.copytree(REPO / "configs/data/mnist", data, dirs_exist_ok=True)
        return data

    # --- gtctl ----------------------------------------------------------------------------------------------------------
    def gtctl(self, *argv, timeout=TIMEOUT, env=None, input=None):
        return self.run(self.bin / "gtctl", *argv, timeout=timeout, env={**self.env, **(env or {})}, input=input)

    def run(self, *argv, env=None, timeout=TIMEOUT, input=None):
        argv = list(map(str, argv))
        run = Run(subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=timeout, env=env or self.env, input=input))
        self.find(" ".join(argv), run.err)
        return run

    def submit(self, *argv):
        run = self.gtctl("submit", "-q", *argv)
        assert run.code == 0, run.err
        return run.out.strip()

    def nodes_up(self):
        run = self.gtctl("nodes", "-o", "json")
        return [n["name"] for n in run.json["nodes"] if n["state"] == "UP"] if run.code == 0 else []

    def status(self, job):
        run = self.gtctl("status", job, "-o", "json")
        assert run.code == 0, run.err
        job = run.json["jobs"][0]
        return {"job": job, "tasks": job["task_list"]}

    def state(self, job):
        return self.status(job)["job"]["state"]

    def phase(self, job):
        return self.status(job)["job"]["phase"]

    def wait_phase(self, job, phase, timeout=20):
        wait_until(f"job {job} is {phase}", lambda: self.phase(job) == phase, timeout)

    def wait_state(self, job, state, timeout=30):
        wait_until(f"job {job} is {state}", lambda: self.state(job) == state, timeout)

    def out(self, job, *options):
        run = self.gtctl("logs", job, "--prefix", "never", *options)
        assert run.code == 0, run.err
        return run.out


class ClusterTest(unittest.TestCase):
    """One cluster for the cases of a class: a coordinator and the workers named in NODES."""
    NODES = ("a", "b")
    WORKER_OPTIONS = ()
    COORDINATOR_OPTIONS = ()
    DISKS = {}  # daemons that get a small file system, and its size

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        try:
            for name, size in cls.DISKS.items():
                cls.cluster.mount_disk(name, size)
            cls.cluster.start_coordinator(*cls.COORDINATOR_OPTIONS)
            for name in cls.NODES:
                cls.cluster.start_worker(name, *cls.WORKER_OPTIONS)
        except BaseException:
            cls.cluster.stop()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()


def main():
    unittest.main(verbosity=2)
