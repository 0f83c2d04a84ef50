"""What the jobs of the soak run. Each execution leaves witness in files that outlive it, then does as its mode says.

A rank holds a shared lock on TASK.ATTEMPT.lock for life, and so does all that it forks, whatever it does to its session,
parents or environment: who can take the lock knows that nothing of the attempt lives. TASK.log has one line of JSON for each
start and end. usage: rank.py MODE [ARGUMENT...]"""
import fcntl
import json
import os
import random
import resource
import signal
import socket
import sys
import time

WITNESS, JOB = os.environ["GT_SOAK_WITNESS"], os.environ["GT_SOAK_JOB"]
ATTEMPT, RANK, WORLD = (int(os.environ[name]) for name in ("GT_ATTEMPT", "RANK", "WORLD_SIZE"))
TASK = f"{JOB}.{os.environ['GT_TASK_INDEX']}"


def note(event, **more):
    line = json.dumps({"event": event, "uid": os.environ["GT_ATTEMPT_UID"], "attempt": ATTEMPT, "rank": RANK, "pid": os.getpid(),
                       "at": time.time(), **more}) + "\n"
    out = os.open(f"{WITNESS}/{TASK}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(out, line.encode())
    os.close(out)


def notes():
    try:
        with open(f"{WITNESS}/{TASK}.log") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


def lock(name, how):
    handle = os.open(f"{WITNESS}/{name}", os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(handle, how)
    return handle


def begin():
    """Takes this attempt's lock and tries those of the others: one that is held is a second copy of this task."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mutex = lock(f"{TASK}.mutex", fcntl.LOCK_EX)
    mine = f"{TASK}.{ATTEMPT}.lock"
    os.set_inheritable(lock(mine, fcntl.LOCK_SH), True)
    living = []
    for name in os.listdir(WITNESS):
        if not name.startswith(TASK + ".") or not name.endswith(".lock") or name == mine:
            continue
        try:
            os.close(lock(name, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            living.append(int(name.split(".")[-2]))
    note("start", beside=living)
    os.close(mutex)


def end(code):
    note("end", code=code)
    os._exit(code)


def rest(seconds):
    time.sleep(float(seconds))


def meet():
    """All ranks of a gang find each other at MASTER_ADDR, as a process group would."""
    where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if RANK == 0:
        with socket.create_server(where) as server:
            server.settimeout(60)
            peers = [server.accept()[0] for _ in range(WORLD - 1)]
            for peer in peers:
                peer.sendall(b"go")
        return
    until = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection(where, timeout=60) as peer:
                if peer.recv(2) == b"go":
                    return
        except OSError:
            pass
        if time.monotonic() > until:
            end(98)
        time.sleep(0.05)


def print_lines(count, seconds):
    """Numbered lines to standard output, every tenth also to standard error, in bursts."""
    rng = random.Random(f"{TASK}.{RANK}")
    count, pause = int(count), float(seconds) / 20
    for i in range(count):
        padding = "x" * rng.choice((0, 10, 40, 200))
        os.write(1, f"L {TASK} {ATTEMPT} {RANK} {i} {padding}\n".encode())
        if i % 10 == 0:
            os.write(2, f"E {TASK} {ATTEMPT} {RANK} {i // 10}\n".encode())
        if i % max(1, count // 20) == 0:
            time.sleep(pause)


def escape():
    """Children that try to get away: a new session, a double fork, another group, a deaf ear, an empty environment."""
    def deaf():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def stay():
        while True:
            time.sleep(1000)

    def session():
        os.setsid()
        deaf()
        stay()

    def orphan():
        os.setsid()
        if os.fork() == 0:
            os.setpgid(0, 0)
            deaf()
            stay()
        os._exit(0)

    def nameless():
        os.setsid()
        deaf()
        os.execve("/bin/sleep", ["sleep", "1000"], {})

    for child in (session, orphan, nameless):
        if os.fork() == 0:
            child()


def breed():
    """A line of processes: each starts the next and leaves, so that a list of them is old as soon as it is made."""
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(0.002)
            if os.fork() != 0:
                os._exit(0)


def main(mode, *arguments):
    begin()
    if mode in ("rest", "escape", "breed"):
        {"rest": lambda: None, "escape": escape, "breed": breed}[mode]()
        rest(arguments[0])
    elif mode == "lines":
        print_lines(*arguments)
    elif mode == "gang":
        if WORLD > 1:
            meet()
        print_lines(*arguments)
    elif mode == "fail":
        rest(arguments[1])
        end(int(arguments[0]))
    elif mode == "flaky":
        rest(arguments[1])
        if RANK == 0 and sum(n["event"] == "end" and n["code"] == 3 for n in notes()) < int(arguments[0]):
            end(3)
    elif mode == "crash":
        rest(arguments[0])
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        rest(arguments[0])
    elif mode == "polite":
        signal.signal(signal.SIGTERM, lambda *_: end(0))
        rest(arguments[0])
    end(0)


main(*sys.argv[1:])
