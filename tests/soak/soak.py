#!/usr/bin/env python3
"""A soak of the real programs: one coordinator, three workers, jobs of every kind, and faults at random: processes of every role
are killed and stopped, one or several at once, links are cut, stalled and half-closed, disks filled. While that goes on and after
it, invariants are checked (checks.py): what was acknowledged exists and ends; each job ends as its script says; no task runs twice
at a time; nothing of an ended attempt lives; no line is lost or doubled; a key is a job; causes and exit codes are the true ones.

A run that fails prints its seed and the timeline of faults, and keeps its folder. The plan follows from the seed, its timing does
not. Disks are filled only by root. usage: soak.py [--seconds N] [--seed S] [--mean-fault SECONDS] [--keep]"""
import argparse
import faulthandler
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
from checks import Checks  # noqa: E402
from cluster import NODES, SoakCluster  # noqa: E402
from faults import Faults, Timeline  # noqa: E402
from jobs import Jobs  # noqa: E402

EVERYTHING = ("coordinator", *NODES)
SLOWNESS = float(os.environ.get("GT_TEST_SLOWNESS", "1"))
MOST_LIVE = 20          # jobs at a time
MOST_FOLLOWERS = 4
MOST_PROBLEMS = 20      # a run that has found so many ends
STANDSTILL = 5          # seconds without a tick of our own
SHIPPED_WITHIN = 40     # seconds until a worker notices that its log connection is dead, and some
READ_GRACE = 14         # a client waits 10 s for the coordinator by itself


class Soak:
    def __init__(self, options):
        self.options, self.start = options, time.time()
        self.problems, self.lock = [], threading.Lock()
        self.timeline = Timeline(self.start)
        self.cluster = SoakCluster(self.on_crash)
        self.rng = random.Random(options.seed)
        self.faults = Faults(random.Random(options.seed + 1), self.cluster, self.timeline, self.say)
        self.checks = Checks(self.cluster, self.timeline, self.say)
        self.source = Jobs(random.Random(options.seed + 2), self.cluster, options.seconds >= 300)
        self.live, self.done, self.making, self.over = [], [], threading.Event(), threading.Event()
        self.counts = {"submits": 0, "repeats": 0, "refused": 0, "cancels": 0, "followed": 0, "clients killed": 0}

    def say(self, problem):
        with self.lock:
            self.problems.append(f"{time.time() - self.start:7.2f} {problem}")
            print("PROBLEM", self.problems[-1], flush=True)

    def on_crash(self, name, code):
        """A daemon has ended and nobody made it; without space for its files it may say so and leave, to be started again."""
        words = self.cluster.log(name)[-300:]
        full = any(e["kind"].startswith("fill") and name in e["targets"] and e["to"] is None for e in list(self.timeline.entries))
        if not (full and code == 1 and ("No space" in words or "disk is full" in words)):
            self.say(f"{name} ended by itself with {code}: {words}")

    def notice_standstills(self):
        """A virtual machine may be halted for minutes; then much is late that nobody hurt."""
        last = time.time()
        while not self.over.wait(0.5):
            if time.time() - last > STANDSTILL:
                with self.timeline.record("the machine stood still", EVERYTHING, ("NODE_LOST",)) as entry:
                    entry["from"] = last
            last = time.time()

    # --- clients --------------------------------------------------------------------------------------------------------------
    def coordinator_was_hurt(self):
        now = time.time()
        return any(set(e["targets"]) & {"coordinator"} and (e["to"] or now) > now - READ_GRACE for e in list(self.timeline.entries))

    def submit_some(self, rng):
        while not self.making.is_set():
            with self.lock:
                job = self.source.next() if len(self.live) < MOST_LIVE else None
            if job is None:
                time.sleep(0.05)
                continue
            if rng.random() < 0.1:
                self.kill_client(job, rng)
            if self.submit(job):
                with self.lock:
                    self.live.append(job)
                if rng.random() < 0.15:
                    self.repeat(job)
                if rng.random() < 0.2:
                    self.follow(job, "wait" if job.tasks > 1 or rng.random() < 0.4 else "logs")
            time.sleep(rng.expovariate(8))

    def kill_client(self, job, rng):
        """A client that dies before it has read the answer: the key says later whether the job is there."""
        client = subprocess.Popen([self.cluster.bin / "gtctl", "submit", *job.argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.cluster.env)
        time.sleep(rng.uniform(0, 0.02))
        client.kill()
        client.wait()
        self.counts["clients killed"] += 1

    def submit(self, job):
        """Until it is acknowledged; the key makes that one job, however often it was tried."""
        while True:
            run = self.cluster.gtctl("submit", "-q", *job.argv)
            if run.code == 0:
                job.id, job.submitted = run.out.strip(), time.time()
                self.counts["submits"] += 1
                return True
            self.counts["refused"] += 1
            if not self.coordinator_was_hurt():
                self.say(f"submit refused without a fault of the coordinator: {run.code} {run.err}")
            time.sleep(0.2)

    def repeat(self, job):
        run = self.cluster.gtctl("submit", "-q", *job.argv)
        self.counts["repeats"] += 1
        if run.code == 0 and run.out.strip() != job.id:
            self.say(f"{job.key}: the key gave job {job.id} and then {run.out.strip()}")

    def follow(self, job, command):
        options = {"wait": ["wait", job.id], "logs": ["logs", "-f", job.id, "--prefix", "never", "--stream", "out"]}[command]
        with self.lock:
            if sum(j.follow is not None for j in self.live) >= MOST_FOLLOWERS:
                return
            path = self.cluster.dir / f"follow-{job.id}.out"
            with open(path, "wb") as out, open(path.with_suffix(".err"), "wb") as err:
                process = subprocess.Popen([self.cluster.bin / "gtctl", *options], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.cluster.env)
            job.follow = (process, path, command)
            self.counts["followed"] += 1

    def cancel_due(self):
        for job in list(self.live):
            if not job.cancel_at or job.cancel_accepted or time.time() < job.submitted + job.cancel_at:
                continue
            run = self.cluster.gtctl("cancel", job.id, "-o", "json")
            if run.code == 0:
                job.cancel_accepted = True
                self.counts["cancels"] += 1
            elif not self.coordinator_was_hurt():
                self.say(f"{job.key}: cancel refused: {run.code} {run.err}")

    # --- looking on -------------------------------------------------------------------------------------------------------------
    def status(self, jobs):
        if not jobs:
            return []
        run = self.cluster.gtctl("status", *(job.id for job in jobs), "-o", "json")
        if run.code == 0:
            return list(zip(jobs, run.json["jobs"]))
        if run.code == 3 or not self.coordinator_was_hurt():
            self.say(f"status of acknowledged jobs: {run.code} {run.err}")
        return []

    def watch(self, rng, until):
        while time.time() < until and len(self.problems) < MOST_PROBLEMS and (self.live or not self.making.is_set()):
            self.look(rng)
            time.sleep(0.2)

    def look(self, rng):
        self.cancel_due()
        with self.lock:
            jobs = list(self.live)
        for job, detail in self.status(jobs):
            if detail["id"] != job.id:
                self.say(f"asked for {job.id}, got {detail['id']}")
            elif self.checks.look(job, detail):
                with self.lock:
                    self.live.remove(job)
                    self.done.append(job)
                if rng.random() < 0.3:
                    self.checks.logs(job, rng)
                if job.follow:
                    self.checks.followed(job)
        if self.done and rng.random() < 0.2:
            for job, detail in self.status(rng.sample(self.done, min(len(self.done), 10))):
                self.checks.again(job, detail)

    # --- the run ------------------------------------------------------------------------------------------------------------------
    def run(self):
        threading.Thread(target=self.notice_standstills, daemon=True).start()
        self.cluster.start()
        tail = min(90, max(22, self.options.seconds * 0.3))
        clients = [threading.Thread(target=self.submit_some, args=(random.Random(self.options.seed + i),)) for i in (10, 11)]
        chaos = threading.Thread(target=self.faults.run, args=(self.options.mean_fault,))
        for thread in (*clients, chaos):
            thread.start()
        self.watch(self.rng, self.start + self.options.seconds - tail)
        self.making.set()
        self.faults.stopping.set()
        chaos.join()
        self.cluster.heal()
        for thread in clients:
            thread.join()
        self.watch(self.rng, time.time() + tail * SLOWNESS)
        for job in self.live:
            self.say(f"{job.key} (job {job.id}) does not end: {self.cluster.gtctl('explain', job.id).out}")
        self.finish()

    def finish(self):
        self.cluster.read_logs()
        for finding in self.cluster.findings:
            self.say(finding)
        self.checks.no_ghosts(10 * SLOWNESS)
        until = time.time() + SHIPPED_WITHIN * SLOWNESS
        for job in self.checks.late + self.rng.sample(self.done, min(len(self.done), 30)):
            self.checks.logs(job, self.rng, until)
        for i in range(0, len(self.done), 50):
            part = self.done[i:i + 50]
            for job, detail in self.status(part):
                self.checks.again(job, detail)
        for job in self.rng.sample(self.done, min(len(self.done), 20)):
            self.repeat(job)
            self.checks.history(job)
        self.checks.database()
        for glob, jobs in self.by_kind():
            run = self.cluster.gtctl("list", "--all", "--limit", "1000", "--name", glob, "-o", "json")
            if sorted(j["name"] for j in run.json["jobs"]) != sorted(j.key for j in jobs):
                self.say(f"jobs named {glob}: {len(run.json['jobs'])} exist, {len(jobs)} were acknowledged")

    def by_kind(self):
        jobs = {}
        for job in self.done + self.live:
            jobs.setdefault(job.kind, []).append(job)
        return [(f"{kind}-?????-*", found) for kind, found in sorted(jobs.items())]

    def report(self):
        ended = {}
        for job in self.done:
            ended[job.final["state"]] = ended.get(job.final["state"], 0) + 1
        print(f"soak: seed {self.options.seed}, {time.time() - self.start:.0f} s, {len(self.timeline.entries)} faults, "
              f"{len(self.done)} jobs over {json.dumps(ended)}, {sum(j.final['attempts'] for j in self.done)} attempts, {json.dumps(self.counts)}, "
              f"restarts {json.dumps({d.name: d.starts for d in self.cluster.daemons.values()})}, {len(self.problems)} problems")


def main():
    faulthandler.register(signal.SIGUSR1)  # where every thread is, for a soak that hangs
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--mean-fault", type=float, default=1.0, help="seconds between two faults, on average")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a good run too")
    soak = Soak(parser.parse_args())
    try:
        soak.run()
    except BaseException as problem:
        soak.say(f"the soak itself: {problem!r}")
        raise
    finally:
        soak.over.set()
        soak.making.set()
        soak.faults.stopping.set()
        soak.report()
        failed = bool(soak.problems)
        if failed:
            print(f"faults (from, to, what):\n{soak.timeline.text()}\nproblems:\n" + "\n".join(soak.problems))
        kept = soak.cluster.stop(keep=failed or soak.options.keep)
        if failed or soak.options.keep:
            print(f"seed {soak.options.seed}; the folder of this run: {kept}")
    sys.stdout.flush()
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
