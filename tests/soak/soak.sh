#!/usr/bin/env bash
# A soak of the real programs: a coordinator, three workers, jobs of every kind; processes of every role are killed and stopped,
# links cut, disks filled, at random from one seed. Invariants are checked all along (tests/soak/checks.py); a run that fails prints
# its seed and the timeline of faults, and keeps its folder. As root it also fills disks. Programs: $GT_BIN, default build/release/bin.
# usage: tests/soak/soak.sh [--seconds N (default 1200)] [--seed S] [other options of soak.py]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GT_REPO=${GT_REPO:-$(cd "$here/../.." && pwd)}
export GT_BIN=${GT_BIN:-$GT_REPO/build/release/bin}
exec python3 -B "$here/soak.py" "$@"
