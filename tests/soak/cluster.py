"""The cluster under test: a coordinator and three unlike workers, each behind a link of its own, kept running as systemd would."""
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

from harness import Cluster, wait_until
from link import Link, start_loop

NODES = ("w1", "w2", "w3")
KEEPERS_ON = "w3"  # whose launcher writes no cgroup, and small spool segments
BEAT, LOST_AFTER = 0.5, 4.0
MiB = 1 << 20
DISKS = {"coordinator": 256 * MiB, "w1": 320 * MiB}  # of their own, so that they can be filled
COORDINATOR = {"beat": "500ms", "node_lost_after": "4s", "retry_backoff": "200ms", "retry_backoff_max": "2s",
               "disk_low": "32MiB", "disk_min": "16MiB"}
OTHER_LAUNCHER = '#!/bin/sh\nexec {bin}/gt-launcher "$@" --containment keeper --spool-segment 1MiB\n'


class Daemon:
    def __init__(self, name, argv):
        self.name, self.argv, self.process = name, argv, None
        self.wanted = False   # it is started again when it ends
        self.ended = None     # the process that was ended on purpose
        self.started = 0.0
        self.starts = 0


class SoakCluster(Cluster):
    def __init__(self, on_crash):
        super().__init__()
        self.on_crash, self.disks = on_crash, []
        self.run_id = os.urandom(8).hex()
        self.witness = self.dir / "witness"
        self.witness.mkdir()
        self.witness.chmod(0o777)
        shutil.copy(Path(__file__).parent / "rank.py", self.dir)
        other = self.dir / "other-launcher"
        other.write_text(OTHER_LAUNCHER.format(bin=self.bin))
        other.chmod(0o755)
        if os.geteuid() == 0:
            for name, size in DISKS.items():
                self.mount_disk(name, size)
                self.disks.append(name)
        self.lock, self.closing = threading.RLock(), False
        self.daemons = {}
        loop = start_loop()
        self.links = {name: Link(loop, lambda: self.port) for name in NODES}

    # --- daemons ------------------------------------------------------------------------------------------------------------
    def start(self):
        self.start_coordinator(*(word for name, value in COORDINATOR.items() for word in ("--set", f"{name}={value}")))
        argv = list(self.processes["coordinator"].args)
        argv[argv.index("--listen") + 1] = f"127.0.0.1:{self.port}"
        self.adopt("coordinator", argv)
        for name in NODES:
            access = json.loads(self.access.read_text())
            access["address"] = f"127.0.0.1:{self.links[name].port}"
            path = self.dir / f"access-{name}"
            path.write_text(json.dumps(access))
            path.chmod(0o600)
            options = ["--access", path, "--set", "cpus=4", "--set", "address=127.0.0.1"]
            if name == KEEPERS_ON:
                options += ["--set", f"launcher={self.dir}/other-launcher"]
            self.start_worker(name, *options)
            self.adopt(name, self.processes[name].args)
        self.supervisor = threading.Thread(target=self.supervise)
        self.supervisor.start()

    def adopt(self, name, argv):
        daemon = self.daemons[name] = Daemon(name, argv)
        daemon.process, daemon.wanted, daemon.started = self.processes[name], True, time.time()

    def supervise(self):
        while not self.closing:
            with self.lock:
                for daemon in self.daemons.values():
                    code = daemon.process.poll()
                    if code is None or not daemon.wanted or time.time() - daemon.started < 0.5:
                        continue
                    if daemon.process is not daemon.ended:
                        self.on_crash(daemon.name, code)
                    daemon.process = self.spawn(daemon.name, *daemon.argv)
                    daemon.started, daemon.starts = time.time(), daemon.starts + 1
            time.sleep(0.02)

    def down(self, name, how=signal.SIGKILL):
        """Ends it, and keeps it down until up()."""
        daemon = self.daemons[name]
        with self.lock:
            daemon.wanted = False
            process = daemon.ended = daemon.process
        if process.poll() is None:
            process.send_signal(how)
        process.wait(30)

    def up(self, name):
        with self.lock:
            self.daemons[name].wanted = True

    def pid(self, name):
        process = self.daemons[name].process
        return process.pid if process.poll() is None else None

    def find_launcher(self, name):
        """The pid of the node's launcher, if it lives."""
        try:
            pid = self.launcher_pid(name)
            return pid if str(self.dir).encode() in Path(f"/proc/{pid}/cmdline").read_bytes() else None
        except (OSError, ValueError, IndexError):
            return None

    def heal(self):
        """Everything runs, every link is open, every disk has space."""
        for link in self.links.values():
            link.mend()
        for name in self.disks:
            self.free_disk(name)
        for name in NODES:
            for pid in (self.pid(name), self.find_launcher(name)):
                if pid:
                    os.kill(pid, signal.SIGCONT)
        if self.pid("coordinator"):
            os.kill(self.pid("coordinator"), signal.SIGCONT)
        for name in self.daemons:
            self.up(name)
        wait_until("every node is up after the faults", lambda: set(self.nodes_up()) == set(NODES), 30)

    # --- the end ------------------------------------------------------------------------------------------------------------
    def stop(self, keep=False):
        self.closing = True
        if hasattr(self, "supervisor"):
            self.supervisor.join()
        for daemon in self.daemons.values():
            daemon.wanted = False
            self.processes[daemon.name] = daemon.process
        kept = self.dir.with_name(self.dir.name + ".failed")
        if keep:
            shutil.copytree(self.dir, kept, ignore=lambda d, names: [n for n in names if n in ("bin", "ballast") or n.endswith(".sock")])
        super().stop()
        return kept
