#!/usr/bin/env bash
# Builds everything and runs every test; ends with the test runner's own closing line.
# usage: tests/run.sh [--preset release|debug|asan|tsan] [ctest options...]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../deploy/lib.sh"

preset=release
if [ "${1:-}" = --preset ]; then preset=$2; shift 2; fi
[ "$preset" = release ] || GT_BUILD_DIR=$repo/build/$preset
step "Debian packages" "$repo/deploy/deps.sh"
case $preset in asan | tsan) ;; *) step "LibTorch" "$repo/deploy/torch.sh" ;; esac
step "build ($preset)" "$repo/deploy/build.sh" --preset "$preset"
cd "$GT_BUILD_DIR"
exec ctest --output-on-failure --timeout 300 -j "$(nproc)" "$@"
