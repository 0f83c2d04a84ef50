#!/usr/bin/env bash
# Measures the control plane on this machine: one line a figure, with what limits it or what it is measured against.
# usage: tests/bench/bench.sh [--json FILE] [NAME...]      (no NAME: all)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lib.sh"
[ -x "$GT_BUILD_DIR/bin/gtctl" ] || "$repo/deploy/build.sh" >&2
GT_BIN=$GT_BUILD_DIR/bin GT_REPO=$repo exec python3 -B "$repo/tests/bench/bench.py" "$@"
