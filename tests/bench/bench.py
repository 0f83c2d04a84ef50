"""Drives the real programs and prints one line a figure. See bench.sh."""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
from harness import BIN, Cluster  # noqa: E402


def run_ms(argv, env):
    """Milliseconds from spawn to exit of one process."""
    devnull = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=devnull)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter() - start) * 1e3
    assert status == 0, f"{argv}: status {status}"
    return took


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def millis_of(iso):
    return datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp() * 1e3


class Bench:
    def __init__(self, wanted):
        self.wanted, self.figures = wanted, {}

    def wants(self, *names):
        return not self.wanted or any(name in self.wanted for name in names)

    def say(self, name, value, unit, beside=""):
        if not self.wants(name):
            return
        self.figures[name] = round(value, 4)
        print(f"{name:<28} {value:>12.3f} {unit:<8} {beside}", flush=True)

    def machine(self):
        if self.wants("machine_true_ms", "cli_submit_p50_ms", "submit_wait_ms"):
            self.say("machine_true_ms", percentile([run_ms(["/bin/true"], dict(os.environ)) for _ in range(300)], 0.5), "ms", "spawn and exit of /bin/true: the floor of any command")

    def cli(self):
        if not self.wants("cli_submit_p50_ms", "cli_submit_p99_ms", "submit_wait_ms"):
            return
        cluster = Cluster()
        try:
            cluster.start_coordinator()
            gtctl = str(cluster.bin / "gtctl")
            submit = [gtctl, "submit", "-q", "--", "/bin/true"]
            for _ in range(20):
                run_ms(submit, cluster.env)
            times = [run_ms(submit, cluster.env) for _ in range(500)]
            self.say("cli_submit_p50_ms", percentile(times, 0.5), "ms", "whole process, durable; HyperQueue 7.3, Slurm 5")
            self.say("cli_submit_p99_ms", percentile(times, 0.99), "ms", "the same")
            cluster.gtctl("cancel", "1-520", "-y")
            cluster.start_worker("a", "--set", "cpus=64")
            wait = [gtctl, "submit", "-q", "--wait", "--", "/bin/true"]
            for _ in range(5):
                run_ms(wait, cluster.env)
            self.say("submit_wait_ms", percentile([run_ms(wait, cluster.env) for _ in range(60)], 0.5), "ms", "submit, run, exit record on disk, answer; HyperQueue 99")
        finally:
            cluster.stop()

    def spawn(self, tasks=10000):
        if not self.wants("spawn_tasks_per_s"):
            return
        rates = []
        for _ in range(3):
            cluster = Cluster()
            try:
                cluster.start_coordinator()
                cluster.start_worker("a", "--set", "cpus=64")
                start = time.perf_counter()
                run = cluster.gtctl("submit", "--wait", "-q", "--array", f"0-{tasks - 1}", "--", "/bin/true", timeout=300)
                took = time.perf_counter() - start
                assert run.code == 0, run.err
                rates.append(tasks / took)
            finally:
                cluster.stop()
        self.say("spawn_tasks_per_s", percentile(rates, 0.5), "/s", f"array of {tasks:,} /bin/true, one worker of 64 CPUs, output captured; HyperQueue 800 to 1,067")

    def gang(self, gangs=60):
        if not self.wants("gang_start_p99_ms"):
            return
        cluster = Cluster()
        try:
            cluster.start_coordinator()
            for name in "abcd":
                cluster.start_worker(name, "--set", "cpus=8")
            took = []
            for _ in range(gangs):
                job = cluster.submit("--wait", "--nodes", "4", "--processes-per-node", "2", "--", "sleep", "0.1")
                at = {line["kind"]: line["time"] for line in cluster.gtctl("events", job, "-o", "json").json["events"]}
                took.append(millis_of(at["RUNNING"]) - millis_of(at["SUBMITTED"]))
            self.say("gang_start_p99_ms", percentile(took, 0.99), "ms", f"submit to the last of 8 ranks running, over 4 workers, idle; p50 {percentile(took, 0.5)}, {gangs} gangs")
        finally:
            cluster.stop()

    def logs(self, megabytes=1000):
        if not self.wants("log_mb_per_s"):
            return
        cluster = Cluster()
        try:
            cluster.start_coordinator()
            cluster.start_worker("a")
            rank = f"import os\nlines = (b'x' * 99 + b'\\n') * 10000\nfor _ in range({megabytes}): os.write(1, lines)"
            start = time.perf_counter()
            job = cluster.submit("--", "python3", "-c", rank)
            follower = subprocess.Popen([cluster.bin / "gtctl", "logs", job, "-f", "--prefix", "never"], stdout=subprocess.PIPE, pipesize=1 << 20, env=cluster.env)
            seen, buffer = 0, bytearray(1 << 20)
            while got := os.readv(follower.stdout.fileno(), [buffer]):
                seen += got
            took = time.perf_counter() - start
            assert follower.wait() == 0 and seen == megabytes * 1_000_000, f"{seen} bytes of {megabytes} MB"
            self.say("log_mb_per_s", megabytes / took, "MB/s", "one rank's output to the coordinator's disk and to a follower, nothing lost")
        finally:
            cluster.stop()

    def programs(self):
        """Figures that a program of our own measures and prints: name, value, unit, what beside."""
        for program, argv, names in (
                ("spawn_bench", [], ("machine_spawns_per_s", "launcher_spawns_per_s")),
                ("control_bench", [str(BIN / "gt-coordinator")], ("fdatasync_ms", "durable_submits_per_s_1", "durable_submits_per_s_8", "durable_submits_per_s_64", "batch_submits_per_s",
                                                                 "noop_tasks_per_s_1", "noop_tasks_per_s_4", "noop_tasks_per_s_16",
                                                                 "coordinator_cpu_us_per_task_1", "coordinator_cpu_us_per_task_4", "coordinator_cpu_us_per_task_16")),
                ("scale_bench", [str(BIN / "gt-coordinator")], ("restart_first_dispatch_s", "restart_rss_mb", "list_p99_ms", "fleet_cpu_percent", "fleet_reconnect_s",
                                                               "endurance_slope_percent", "endurance_p99_percent", "poller_submit_p99_ratio"))):
            if not self.wants(*names) or not (BIN / program).exists():
                continue
            out = subprocess.run([BIN / program, *argv], capture_output=True, text=True, timeout=600)
            assert out.returncode == 0, f"{program}: {out.stderr}"
            for line in out.stdout.splitlines():
                if match := re.match(r"(\w+)\s+(-?[\d.]+)\s+(\S+)\s*(.*)", line):
                    self.say(match[1], float(match[2]), match[3], match[4])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", metavar="FILE", help="write {name: value} there")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    bench = Bench(set(options.names))
    for part in (bench.machine, bench.programs, bench.cli, bench.spawn, bench.gang, bench.logs):
        part()
    missing = bench.wanted - set(bench.figures)
    if options.json:
        Path(options.json).write_text(json.dumps(bench.figures, indent=1) + "\n")
    if missing:
        sys.exit(f"no such figure: {', '.join(sorted(missing))}")


main()
