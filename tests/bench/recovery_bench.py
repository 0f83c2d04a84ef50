"""How long a training gang stands still when a rank is killed: from SIGKILL of one of two ranks to the first step that both
have done again, through the real coordinator, workers and launchers. usage: recovery_bench.py [KILLS]; prints
"kill_ms P50 P95 MAX KILLS". GT_BIN, GT_REPO: as the integration tests have them."""
import os
import random
import re
import signal
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
from harness import REPO, Cluster, wait_until  # noqa: E402


def went_on(cluster, job):
    """Generation -> when the last of its ranks had done a step, seconds UTC."""
    times = {}
    for rank in "01":
        for line in cluster.gtctl("logs", job, "--timestamps", "--rank", rank).out.splitlines():
            if found := re.match(r"(\S+) .*generation (\d+) goes on", line):
                at = datetime.fromisoformat(found[1].replace("Z", "+00:00")).timestamp()
                times.setdefault(int(found[2]), []).append(at)
    return {generation: max(at) for generation, at in times.items() if len(at) == 2}


def events(cluster, job):
    return [event["kind"] for event in cluster.gtctl("events", job, "-o", "json").json["events"]]


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    chance = random.Random(1)
    cluster = Cluster()
    try:
        cluster.start_coordinator()
        for name in "ab":
            cluster.start_worker(name)
        data = cluster.sample_data()
        job = cluster.submit(REPO / "configs/jobs/mnist.yaml", "--set", f"train.data.path={data}", "--set", "train.model.name=mlp",
                             "--set", "train.epochs=1000000", "--set", f"retry.user={kills}")
        wait_until("progress", lambda: (cluster.status(job)["job"]["progress"] or {}).get("step", 0) > 50, 60)
        killed = {}
        for generation in range(2, kills + 2):
            pid = cluster.rank_pid(job, chance.randrange(2))
            killed[generation] = time.time()
            os.kill(pid, signal.SIGKILL)
            # Its replacement must have the state before the other one dies.
            wait_until(f"generation {generation} is formed", lambda: events(cluster, job).count("REFORMED") == generation - 1, 20)
            time.sleep(chance.uniform(0.2, 0.8))
        wait_until("the last generation goes on", lambda: kills + 1 in went_on(cluster, job), 20)
        again = went_on(cluster, job)
        took = sorted((again[g] - killed[g]) * 1e3 for g in killed if g in again)
        assert len(took) == kills, f"{kills - len(took)} kills were not survived\n" + cluster.gtctl("events", job).out
        cluster.gtctl("cancel", job, "--wait")
        print("kill_ms", *(round(took[min(kills - 1, int(kills * share))]) for share in (0.5, 0.95, 1)), kills)
    finally:
        cluster.stop()


main()
