"""What must hold, while faults go on and after them. Evidence against the coordinator's word are the witness files of the ranks
(rank.py), the list of processes, and the timeline of the faults."""
import fcntl
import json
import os
import re
import sqlite3
import time
from pathlib import Path

from jobs import FINAL

USER_CAUSES = ("EXIT_NONZERO", "SIGNALED", "OUT_OF_MEMORY", "HUNG")
EXIT_CODES = {"SUCCEEDED": 0, "FAILED": 10, "CANCELLED": 11}
NOT_KEPT = "printed were not kept"
NOT_ARRIVED = "the rest of the output has not arrived"
LINE = re.compile(r"^L (\S+) (\d+) (\d+) (\d+) (x*)$")


def wall(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(text[19:-1])


class Checks:
    def __init__(self, cluster, timeline, say):
        self.cluster, self.timeline, self.say = cluster, timeline, say
        self.clean = set()    # locks of ended attempts that were free once
        self.ghosts = {}      # locks of attempts that were given up with their node: free when the node is back
        self.late = []        # jobs whose output had not arrived when it was looked at
        self.attempts = {}    # (key, task, number) -> uid

    # --- one look at a job ----------------------------------------------------------------------------------------------------
    def look(self, job, detail):
        """Called with every answer; True once the job is over."""
        for task in detail["task_list"]:
            for attempt in task["attempts"]:
                place = (job.key, task["index"], attempt["number"])
                if self.attempts.setdefault(place, attempt["uid"]) != attempt["uid"]:
                    self.say(f"{job.key}: attempt {place} has changed its uid")
                if attempt["phase"] == "ENDED":
                    self.nothing_lives(job, task, attempt)
        if detail["state"] not in FINAL:
            return False
        job.final = {name: detail[name] for name in ("state", "cause", "exit_code", "attempts", "ended")}
        self.outcome(job, detail)
        for task in detail["task_list"]:
            self.task(job, task, detail["state"])
        return True

    def again(self, job, detail):
        """A final job does not change any more."""
        now = {name: detail[name] for name in job.final}
        if now != job.final:
            self.say(f"{job.key} (job {job.id}) was final with {job.final} and is now {now}")

    def outcome(self, job, detail):
        def complain(what):
            self.say(f"{job.key} (job {job.id}): {what}; {json.dumps(job.final)}")
        if detail["state"] == "CANCELLED":
            if not job.cancel_at:
                complain("was cancelled though nobody asked for it")
            return
        if job.endless and detail["state"] != "CANCELLED":
            return complain("never ends by itself, and did")
        if (detail["state"], detail["cause"] or "SUCCEEDED") != (job.state, job.cause):
            return complain(f"should have ended {job.state} with {job.cause}")
        if job.code is not None and detail["exit_code"] != job.code:
            complain(f"should have exited with {job.code}")
        total = detail["tasks"]
        if total["total"] != job.tasks or (job.state == "SUCCEEDED" and total["succeeded"] != job.tasks):
            complain(f"has {job.tasks} tasks, told of are {total}")

    # --- tasks and their attempts -----------------------------------------------------------------------------------------------
    def notes(self, job, index):
        try:
            with open(self.cluster.witness / f"{job.key}.{index}.log") as lines:
                return [json.loads(line) for line in lines]
        except FileNotFoundError:
            return []

    def task(self, job, task, state):
        where = f"{job.key} (job {job.id}), task {task['index']}"
        attempts = {a["number"]: a for a in task["attempts"]}
        if sorted(attempts) != list(range(1, len(attempts) + 1)):
            self.say(f"{where}: attempts {sorted(attempts)}")
        notes = self.notes(job, task["index"])
        self.executions(job, where, attempts, notes)
        for number, attempt in attempts.items():
            self.attempt(job, where, attempt, last=number == len(attempts))
        charged = [a for a in attempts.values() if a["cause"] in USER_CAUSES]
        if not job.sturdy and len(charged) > job.user_failures:
            self.say(f"{where}: {len(charged)} failures of the program, its script has {job.user_failures}")
        if len(charged) > job.user_retries + 1:
            self.say(f"{where}: {len(charged)} failures charged, {job.user_retries} retries allowed")
        if task["state"] == "SUCCEEDED":
            self.success(job, where, attempts[len(attempts)], notes)

    def executions(self, job, where, attempts, notes):
        seen = set()
        for note in notes:
            if note["event"] != "start":
                continue
            known = attempts.get(note["attempt"])
            if known is None or known["uid"] != note["uid"]:
                self.say(f"{where}: attempt {note['attempt']} with uid {note['uid']} ran and is not known")
            if (note["uid"], note["rank"]) in seen:
                self.say(f"{where}: rank {note['rank']} of attempt {note['attempt']} was started twice")
            seen.add((note["uid"], note["rank"]))
            for other in note["beside"]:
                older = attempts.get(min(other, note["attempt"]))
                if job.fenced or older is None or older["cause"] != "NODE_LOST":
                    self.say(f"{where}: attempts {other} and {note['attempt']} ran at the same time; "
                             f"the older one ended with {older and older['cause']}")

    def attempt(self, job, where, attempt, last):
        cause, nodes = attempt["cause"], [m["node"] for m in attempt["members"]]
        name = f"{where}, attempt {attempt['number']} on {' '.join(nodes)}"
        if attempt["phase"] != "ENDED" or not attempt["ended"]:
            return self.say(f"{name}: the job is over and this is {attempt['phase']}")
        expected = ("SUCCEEDED", "CANCELLED", job.cause) if last else ()
        if cause in expected or (cause in USER_CAUSES and job.user_failures) or (cause == "SIGNALED" and job.sturdy):
            return
        if not self.timeline.excuses(cause, nodes, wall(attempt["placed"]), wall(attempt["ended"])):
            self.say(f"{name} ended with {cause} and nothing had happened there: {attempt['message']}")

    def success(self, job, where, attempt, notes):
        ended = {n["rank"]: n["code"] for n in notes if n["event"] == "end" and n["uid"] == attempt["uid"]}
        if ended != dict.fromkeys(range(job.world), 0):
            self.say(f"{where} SUCCEEDED by attempt {attempt['number']}, whose ranks ended so: {ended}")

    # --- processes ----------------------------------------------------------------------------------------------------------------
    def held(self, task, number):
        """Whether a process of the attempt lives; None: cannot be told now."""
        mutex = os.open(self.cluster.witness / f"{task}.mutex", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            os.chmod(mutex, 0o666)
            fcntl.flock(mutex, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock = os.open(self.cluster.witness / f"{task}.{number}.lock", os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
            except BlockingIOError:
                return True
            finally:
                os.close(lock)
        except BlockingIOError:
            return None
        except FileNotFoundError:
            return False
        finally:
            os.close(mutex)

    def nothing_lives(self, job, task, attempt):
        place = (f"{job.key}.{task['index']}", attempt["number"])
        if place in self.clean or place in self.ghosts:
            return
        held = self.held(*place)
        if held is False:
            self.clean.add(place)
        if not held:
            return
        nodes = [m["node"] for m in attempt["members"]]
        if attempt["cause"] == "NODE_LOST" or self.was_lost(nodes, wall(attempt["placed"])):
            self.ghosts[place] = nodes
            return
        self.clean.add(place)
        self.say(f"{job.key} (job {job.id}): attempt {attempt['number']} on {' '.join(nodes)} has ended with {attempt['cause']} "
                 f"and processes of it live: {self.living(attempt['uid'])}")

    def was_lost(self, nodes, since):
        run = self.cluster.gtctl("events", "-o", "jsonl", timeout=60)
        events = [json.loads(line) for line in run.out.splitlines() if '"NODE_LOST"' in line]
        return any(e["node"] in nodes and wall(e["time"]) >= since for e in events)

    def living(self, wanted):
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and wanted.encode() in (entry / "environ").read_bytes():
                    found.append(f"{entry.name} {(entry / 'cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')[:80]}")
            except OSError:
                pass
        return found

    def no_ghosts(self, within):
        """All is healed: what was given up is stopped, and no process of any job is left."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            left = [place for place in self.ghosts if self.held(*place)]
            living = self.living(self.cluster.run_id)
            if not left and not living:
                return
            time.sleep(0.2)
        self.say(f"every job is over and these live: {left} {living}")

    # --- output -------------------------------------------------------------------------------------------------------------------
    def logs(self, job, rng, until=0):
        """Of a job that succeeded: every line of the last attempt, and of earlier ones a whole beginning. While a link or a disk is
        in trouble the rest may come later, but not later than `until`."""
        if not job.lines or job.final["state"] != "SUCCEEDED":
            return
        for index in sorted(rng.sample(range(job.tasks), min(job.tasks, 2))):
            for rank in sorted(rng.sample(range(job.world), min(job.world, 2))):
                name = f"{job.id}_{index}" if job.tasks > 1 else job.id
                command = ("logs", "-f", name, "--rank", rank, "--attempt", "all", "--stream", "out", "--prefix", "never")
                run = self.cluster.gtctl(*command, timeout=90)
                while NOT_ARRIVED in run.err and time.time() < until:
                    run = self.cluster.gtctl(*command, timeout=90)
                if run.code not in EXIT_CODES.values():
                    self.say(f"{job.key}: gtctl logs {name} exits with {run.code}: {run.err}")
                late = NOT_ARRIVED in run.err and not until
                if late:
                    self.late.append(job)
                if NOT_KEPT not in run.err:  # a node's disk was full, and the reader is told
                    self.lines(job, f"gtctl logs {name} --rank {rank}", run.out, set() if late else {(index, rank)})

    def lines(self, job, source, text, whole):
        """Numbers of each attempt and rank are 0, 1, 2 ...; of the attempt that succeeded (`whole`: task and rank) all of them."""
        counts, last = {}, {}
        for line in text.split("\n"):
            match = LINE.match(line)
            if not match:
                continue
            task, attempt, rank, i = match[1], int(match[2]), int(match[3]), int(match[4])
            index = int(task.rsplit(".", 1)[1])
            if i != counts.setdefault((index, attempt, rank), 0):
                return self.say(f"{job.key}: {source}: attempt {attempt}, rank {rank}: line {i} follows {counts[index, attempt, rank] - 1}")
            counts[index, attempt, rank] = i + 1
            last[index, rank] = max(last.get((index, rank), 0), attempt)
        for index, rank in whole:
            got = counts.get((index, last.get((index, rank)), rank), 0)
            if got != job.lines:
                self.say(f"{job.key}: {source}: {got} of {job.lines} lines, attempt {last.get((index, rank))}")

    # --- the books ----------------------------------------------------------------------------------------------------------------
    def history(self, job):
        """One beginning, one end, and each attempt placed once and ended once, in order."""
        run = self.cluster.gtctl("events", job.id, "-o", "jsonl")
        events = [json.loads(line) for line in run.out.splitlines()]
        kinds = [event["kind"] for event in events if event["attempt"] is None]
        ends = [kind for kind in kinds if kind in FINAL]
        if kinds[:1] != ["SUBMITTED"] or kinds.count("SUBMITTED") != 1 or len(ends) > job.tasks + (job.tasks > 1) or (job.tasks == 1 and ends != [job.final["state"]]):
            self.say(f"{job.key} (job {job.id}): its history is {kinds}")
        for kind in ("PLACED", "ENDED"):
            numbers = [(e["task_index"], e["attempt"]) for e in events if e["kind"] == kind]
            if len(set(numbers)) != len(numbers) or sorted(numbers) != sorted(numbers, key=lambda n: (n[0], numbers.index(n))):
                self.say(f"{job.key} (job {job.id}): {kind} {numbers}")

    def database(self):
        database = sqlite3.connect(f"file:{self.cluster.dir}/coordinator/coordinator.db?mode=ro", uri=True)
        try:
            problems = [row[0] for row in database.execute("PRAGMA integrity_check")]
            if problems != ["ok"]:
                self.say(f"the database: {problems[:5]}")
        finally:
            database.close()

    def followed(self, job):
        """gtctl logs -f or gtctl wait, started while the job ran, over every restart since."""
        process, path, command = job.follow
        try:
            code = process.wait(60)
        except Exception:
            process.kill()
            return self.say(f"{job.key} (job {job.id}) is over and gtctl {command} goes on")
        wanted = 13 if job.final["cause"] == "TIME_LIMIT" else EXIT_CODES[job.final["state"]]
        if code != wanted:
            self.say(f"{job.key}: gtctl {command} exited with {code}, the job ended {job.final}: {path.with_suffix('.err').read_text()}")
        told = path.with_suffix(".err").read_text()
        if NOT_KEPT in told or command == "wait":
            return
        done = job.lines and job.final["state"] == "SUCCEEDED" and NOT_ARRIVED not in told
        self.lines(job, "gtctl logs -f", path.read_text(errors="replace"),
                   {(i, r) for i in range(job.tasks) for r in range(job.world)} if done else set())
