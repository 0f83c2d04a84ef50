#!/usr/bin/env bash
# Installs the Debian 12 packages that building and testing GridTrain needs; does nothing when they are there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages="build-essential cmake ninja-build ccache pkg-config git
  libgrpc++-dev libgrpc-dev libnghttp2-dev libjemalloc-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libsqlite3-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev
  libssl-dev libc-ares-dev libre2-dev zlib1g-dev libabsl-dev python3 python3-pip procps"

missing=""
for package in $packages; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && { echo "all Debian packages are installed"; exit 0; }
command -v apt-get >/dev/null || { echo "needs Debian 12's packages:$missing" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
as_root apt-get update -q
# shellcheck disable=SC2086
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
