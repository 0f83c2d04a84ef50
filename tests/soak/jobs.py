"""The jobs of the soak: each knows how its script ends, whatever happens to the machines below it."""
import random
from dataclasses import dataclass, field

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED")


@dataclass
class Job:
    key: str                       # the client's key, and its name
    kind: str
    argv: list                     # of gtctl submit
    state: str = "SUCCEEDED"       # how it ends if nobody cancels it
    cause: str = "SUCCEEDED"
    code: int = 0
    endless: bool = False          # ends by a cancel only
    user_retries: int = 0
    user_failures: int = 0         # charged to the user until it ends
    tasks: int = 1
    world: int = 1                 # ranks of a task
    lines: int = 0                 # that each rank prints
    fenced: bool = False           # its ranks end by themselves before another copy may start
    sturdy: bool = False           # its ranks may be killed
    attempt_limit: int = 1000
    id: str = ""                   # once acknowledged
    submitted: float = 0.0
    cancel_at: float = 0.0         # 0: never
    cancel_accepted: bool = False
    follow: object = None
    final: dict = field(default_factory=dict)


def number(rng, low, high):
    return f"{rng.uniform(low, high):.2f}"


class Jobs:
    """Makes jobs at random, all from one seed."""

    def __init__(self, rng, cluster, long_run):
        self.rng, self.cluster, self.made = rng, cluster, 0
        self.kinds = [(self.quick, 5), (self.steady, 3), (self.sturdy, 3), (self.lines, 5), (self.gang, 4), (self.array, 2),
                      (self.flaky, 3), (self.failing, 2), (self.crashing, 1), (self.missing, 1), (self.limited, 2), (self.escaping, 2),
                      (self.breeding, 1), (self.deaf, 2), (self.polite, 2), (self.escaping_gang, 1)]
        if long_run:
            self.kinds.append((self.fenced, 1))

    def next(self):
        make = self.rng.choices([kind for kind, _ in self.kinds], [weight for _, weight in self.kinds])[0]
        self.made += 1
        job = make()
        if not job.endless and self.rng.random() < 0.08:
            job.cancel_at = self.rng.expovariate(0.7)
        return job

    def job(self, kind, program, options=(), **facts):
        key = f"{kind}-{self.made:05d}-{self.cluster.run_id}"
        env = {"GT_SOAK_RUN": self.cluster.run_id, "GT_SOAK_JOB": key, "GT_SOAK_WITNESS": str(self.cluster.witness)}
        argv = ["--name", key, "--idempotency-key", key, "--retry-infra", "1000", "--set", "grace=500ms", *map(str, options)]
        for name, value in env.items():
            argv += ["--env", f"{name}={value}"]
        if facts.get("user_retries"):
            argv += ["--retry-user", str(facts["user_retries"])]
        return Job(key, kind, [*argv, "--", *map(str, program)], **facts)

    def ranks(self, kind, *arguments, options=(), **facts):
        return self.job(kind, ["python3", "-S", "-E", self.cluster.dir / "rank.py", *arguments], options, **facts)

    def quick(self):
        return self.ranks("quick", "rest", number(self.rng, 0, 0.4))

    def steady(self):
        return self.ranks("steady", "rest", number(self.rng, 1, 6))

    def sturdy(self):
        nodes = self.rng.choice((1, 1, 2))
        return self.ranks("sturdy", "rest", number(self.rng, 1, 4), options=["--nodes", nodes, "--env", f"GT_SOAK_STURDY={self.cluster.run_id}"], world=nodes,
                          user_retries=1000, sturdy=True)

    def lines(self):
        count = self.rng.randint(1, 800)
        return self.ranks("lines", "lines", count, number(self.rng, 0, 4), lines=count)

    def gang(self):
        nodes, ranks, count = self.rng.randint(1, 3), self.rng.randint(1, 2), self.rng.randint(0, 100)
        return self.ranks("gang", "gang", count, number(self.rng, 0, 3), lines=count, world=nodes * ranks,
                          options=["--nodes", nodes, "--processes-per-node", ranks])

    def array(self):
        tasks = self.rng.randint(2, 12)
        return self.ranks("array", "lines", 5, number(self.rng, 0, 1), lines=5, tasks=tasks, options=["--array", f"0-{tasks - 1}"])

    def flaky(self):
        failures, nodes = self.rng.randint(1, 3), self.rng.choice((1, 1, 2))
        return self.ranks("flaky", "flaky", failures, number(self.rng, 0, 0.5), user_retries=failures, user_failures=failures,
                          options=["--nodes", nodes], world=nodes)

    def failing(self):
        code, retries = self.rng.randint(1, 120), self.rng.choice((0, 0, 1))
        if code == 75:
            code = 76
        return self.ranks("failing", "fail", code, number(self.rng, 0, 1), state="FAILED", cause="EXIT_NONZERO", code=code,
                          user_retries=retries, user_failures=retries + 1)

    def crashing(self):
        return self.ranks("crashing", "crash", number(self.rng, 0, 1), state="FAILED", cause="SIGNALED", code=139, user_failures=1)

    def missing(self):
        return self.job("missing", ["/no/such/program"], state="FAILED", cause="EXIT_NONZERO", code=127, user_failures=1)

    def limited(self):
        return self.ranks("limited", "rest", 1000, options=["--time", "1s"], state="FAILED", cause="TIME_LIMIT", code=None)

    def escaping(self):
        return self.ranks("escaping", "escape", number(self.rng, 0, 2))

    def breeding(self):
        endless = self.rng.random() < 0.5
        return self.endless("breeding", "breed") if endless else self.ranks("breeding", "breed", number(self.rng, 0, 1))

    def endless(self, kind, mode, **facts):
        job = self.ranks(kind, mode, 1000, endless=True, **facts)
        job.cancel_at = self.rng.uniform(0, 0.2) if self.rng.random() < 0.3 else self.rng.uniform(0.2, 5)
        return job

    def deaf(self):
        return self.endless("deaf", "deaf")

    def polite(self):
        return self.endless("polite", "polite")

    def escaping_gang(self):
        return self.endless("escaping-gang", "escape", options=["--nodes", 2], world=2)

    def fenced(self):
        return self.ranks("fenced", "rest", number(self.rng, 4, 12), fenced=True,
                          options=["--set", "on_disconnect={action: stop_after, stop_after: 10s}"])


def generator(seed):
    return random.Random(seed)
