#!/usr/bin/env bash
# Configures and builds. usage: deploy/build.sh [--preset release|debug|asan|tsan] [TARGET...]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

preset=release
if [ "${1:-}" = --preset ]; then preset=$2; shift 2; fi
[ "$preset" = release ] || GT_BUILD_DIR=$repo/build/$preset
cd "$repo"
options=()
case $preset in
  asan | tsan) ;;
  *) options+=("-DGT_TORCH_DIR=$("$repo/deploy/torch.sh")") ;;
esac
cmake --preset "$preset" -B "$GT_BUILD_DIR" "${options[@]}"
# A file of the trainer takes about 2 GiB to compile.
jobs=$(nproc)
by_memory=$(( $(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo) / 2 ))
[ "$by_memory" -lt "$jobs" ] && jobs=$by_memory
[ "$jobs" -lt 1 ] && jobs=1
cmake --build "$GT_BUILD_DIR" -j "$jobs" ${1:+--target "$@"}
