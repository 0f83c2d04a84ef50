"""What goes wrong, at random: processes killed and stopped, links cut, disks filled; one at a time or several at once. Each fault
is in the timeline with the causes that it excuses, so that an attempt which ended for another reason is noticed."""
import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from cluster import KEEPERS_ON, LOST_AFTER, NODES, MiB

SLACK = LOST_AFTER + 4  # a verdict may come that much after the fault


class Timeline:
    def __init__(self, start):
        self.start, self.entries, self.lock = start, [], threading.Lock()

    @contextmanager
    def record(self, kind, targets, excuses=()):
        entry = {"kind": kind, "targets": sorted(targets), "excuses": excuses, "from": time.time(), "to": None}
        with self.lock:
            self.entries.append(entry)
        try:
            yield entry
        finally:
            entry["to"] = time.time()

    def excuses(self, cause, nodes, begin, end):
        """Whether a fault on these nodes met the time of an attempt; what came of it may have been told much later."""
        return any(cause in e["excuses"] and set(e["targets"]) & set(nodes) and e["from"] - 1 <= end and (e["to"] or end) + SLACK >= begin
                   for e in list(self.entries))

    def text(self):
        def line(e):
            until = f"{e['to'] - self.start:7.2f}" if e["to"] else "    ..."
            return f"{e['from'] - self.start:7.2f} {until}  {e['kind']} {' '.join(e['targets'])}"
        return "\n".join(line(e) for e in list(self.entries))


class Faults:
    KINDS = [("kill_coordinator", 5), ("stop_coordinator", 3), ("kill_worker", 6), ("stop_worker", 4), ("end_worker", 2), ("kill_launcher", 4), ("kill_keeper", 2),
             ("stop_launcher", 3), ("kill_several", 3), ("kill_all", 1), ("kill_rank", 4), ("stop_rank", 3), ("cut_link", 5),
             ("stall_link", 5), ("half_close_link", 3), ("forget_link", 3), ("cut_all_links", 1), ("fill_disk", 3), ("drain_node", 1)]

    def __init__(self, rng, cluster, timeline, say):
        self.rng, self.cluster, self.timeline, self.say = rng, cluster, timeline, say
        self.busy = {name: threading.Lock() for name in ("coordinator", *NODES, "disk", "drain")}
        self.stopping = threading.Event()
        self.running = []

    def run(self, mean):
        """Until stopping: the next fault each `mean` seconds, each in a thread of its own; a target has one at a time."""
        while not self.stopping.wait(min(self.rng.expovariate(1 / mean), 4 * mean)):
            name = self.rng.choices([kind for kind, _ in self.KINDS], [weight for _, weight in self.KINDS])[0]
            plan = getattr(self, name)()
            thread = threading.Thread(target=self.guard, args=(name, plan))
            thread.start()
            self.running.append(thread)
        for thread in self.running:
            thread.join()

    def guard(self, name, plan):
        targets, work = plan
        held = []
        try:
            for target in sorted(targets):
                if not self.busy[target].acquire(timeout=0):
                    return
                held.append(target)
            work()
        except (ProcessLookupError, FileNotFoundError):
            pass
        except Exception as problem:  # a fault that cannot be made is a fault of the soak
            self.say(f"the fault {name} failed: {problem!r}")
        finally:
            for target in held:
                self.busy[target].release()

    def pause(self, seconds):
        self.stopping.wait(seconds)

    def duration(self):
        """Mostly short; now and then longer than a node may be silent."""
        return self.rng.uniform(LOST_AFTER, LOST_AFTER + 3) if self.rng.random() < 0.2 else self.rng.expovariate(1 / 0.8)

    # --- processes ----------------------------------------------------------------------------------------------------------
    def bounce(self, names, how, away, excuses=("NODE_LOST",)):
        def work():
            with self.timeline.record("kill" if how == signal.SIGKILL else "terminate", names, excuses):
                threads = [threading.Thread(target=self.cluster.down, args=(name, how)) for name in names]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.pause(away)
                for name in names:
                    self.cluster.up(name)
        return set(names), work

    def freeze(self, target, kind, pids, seconds, excuses):
        def work():
            found = [pid for pid in pids() if pid]
            with self.timeline.record(kind, [target], excuses):
                for pid in found:
                    os.kill(pid, signal.SIGSTOP)
                self.pause(seconds)
                for pid in found:
                    os.kill(pid, signal.SIGCONT)
        return {target}, work

    def kill_coordinator(self):
        return self.bounce(["coordinator"], self.rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)), self.rng.choice((0, 0, 0.3, 2)), ())

    def stop_coordinator(self):
        return self.freeze("coordinator", "stop", lambda: [self.cluster.pid("coordinator")], min(self.duration(), 6), ())

    def kill_worker(self):
        return self.bounce([self.rng.choice(NODES)], signal.SIGKILL, self.duration())

    def end_worker(self):
        return self.bounce([self.rng.choice(NODES)], signal.SIGTERM, self.rng.uniform(0, 1))

    def stop_worker(self):
        name = self.rng.choice(NODES)
        return self.freeze(name, "stop worker", lambda: [self.cluster.pid(name)], self.duration(), ("NODE_LOST",))

    def kill_launcher(self):
        name = self.rng.choice(NODES)

        def work():
            pid = self.cluster.find_launcher(name)
            if pid:
                with self.timeline.record("kill launcher", [name], ("INTERNAL",)):
                    os.kill(pid, signal.SIGKILL)
        return {name}, work

    def kill_keeper(self):
        """One of the processes below a launcher that watch an attempt each, where there are no cgroups."""
        def work():
            launcher = self.cluster.find_launcher(KEEPERS_ON)
            keepers = [pid for pid in self.children(launcher) if self.same_program(pid, launcher)] if launcher else []
            if keepers:
                with self.timeline.record("kill keeper", [KEEPERS_ON], ("INTERNAL", "LAUNCH_FAILED")):
                    os.kill(keepers[-1], signal.SIGKILL)
        return {KEEPERS_ON}, work

    def children(self, pid):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def same_program(self, one, other):
        return os.path.samefile(f"/proc/{one}/exe", f"/proc/{other}/exe")

    def stop_launcher(self):
        name = self.rng.choice(NODES)
        return self.freeze(name, "stop launcher", lambda: [self.cluster.find_launcher(name)], self.rng.expovariate(1), ())

    def kill_several(self):
        names = self.rng.sample(("coordinator", *NODES), self.rng.randint(2, 3))
        return self.bounce(names, signal.SIGKILL, self.rng.choice((0, 0.2, 2)))

    def kill_all(self):
        """Every daemon, with the launchers: what is left are the ranks."""
        targets, work = self.bounce(["coordinator", *NODES], signal.SIGKILL, self.rng.choice((0, 0.5)), ("NODE_LOST", "INTERNAL"))

        def all_of_them():
            for name in NODES:
                pid = self.cluster.find_launcher(name)
                if pid:
                    os.kill(pid, signal.SIGKILL)
            work()
        return targets, all_of_them

    def ranks(self, wanted):
        """Handles of processes with these bytes in their environment; a pid alone may have become somebody else's."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and wanted in (entry / "environ").read_bytes():
                    handle = os.pidfd_open(int(entry.name))
                    if wanted in (entry / "environ").read_bytes():
                        found.append(handle)
                    else:
                        os.close(handle)
            except OSError:
                pass
        return found

    def strike(self, kind, wanted, act):
        handles = self.ranks(wanted)
        try:
            if handles:
                with self.timeline.record(kind, NODES):
                    act(handles[len(handles) // 2])
        finally:
            for handle in handles:
                os.close(handle)

    def kill_rank(self):
        how = self.rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGABRT))
        return set(), lambda: self.strike("kill rank", f"GT_SOAK_STURDY={self.cluster.run_id}".encode(),
                                          lambda handle: signal.pidfd_send_signal(handle, how))

    def stop_rank(self):
        seconds = self.rng.expovariate(1)

        def stop(handle):
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
            self.pause(seconds)
            signal.pidfd_send_signal(handle, signal.SIGCONT)
        return set(), lambda: self.strike("stop rank", f"GT_SOAK_RUN={self.cluster.run_id}".encode(), stop)

    # --- links --------------------------------------------------------------------------------------------------------------
    def break_links(self, kind, names, act, seconds):
        def work():
            with self.timeline.record(kind, names, ("NODE_LOST",)):
                for name in names:
                    act(self.cluster.links[name])
                self.pause(seconds)
                for name in names:
                    self.cluster.links[name].mend()
        return set(names), work

    def cut_link(self):
        return self.break_links("cut", [self.rng.choice(NODES)], lambda link: link.cut(), self.duration())

    def cut_all_links(self):
        return self.break_links("cut", NODES, lambda link: link.cut(), self.duration())

    def stall_link(self):
        directions = self.rng.choice((("up", "down"), ("up",), ("down",)))
        return self.break_links("stall " + "+".join(directions), [self.rng.choice(NODES)], lambda link: link.stall(directions), self.duration())

    def half_close_link(self):
        direction = self.rng.choice(("up", "down"))
        return self.break_links("half-close " + direction, [self.rng.choice(NODES)], lambda link: link.half_close(direction), 0.1)

    def forget_link(self):
        return self.break_links("forget", [self.rng.choice(NODES)], lambda link: link.forget(), 0.1)

    # --- the rest -----------------------------------------------------------------------------------------------------------
    def fill_disk(self):
        name = self.rng.choice(self.cluster.disks or ["none"])
        leave, seconds = self.rng.choice((0, 0, 4096, 200_000, 20 * MiB)), self.rng.uniform(0.5, 6)

        def work():
            if name == "none":
                return
            with self.timeline.record(f"fill disk, {leave} bytes left", [name], ("LAUNCH_FAILED",)):
                self.cluster.fill_disk(name, leave)
                self.pause(seconds)
                self.cluster.free_disk(name)
        return {"disk"}, work

    def drain_node(self):
        name, seconds = self.rng.choice(NODES), self.rng.uniform(0.5, 3)

        def work():
            with self.timeline.record("drain", [name]):
                self.cluster.gtctl("nodes", "drain", name, "--reason", "soak")
                self.pause(seconds)
                while self.cluster.gtctl("nodes", "undrain", name).code != 0:
                    time.sleep(0.3)
        return {"drain"}, work
