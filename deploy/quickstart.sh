#!/usr/bin/env bash
# From a bare Debian 12 machine to a trained model: installs what is needed, builds, starts a coordinator and two workers on
# loopback, and trains SimpleCNN on real digits across both.
# usage: deploy/quickstart.sh [--keep] [--epochs N]
#   --keep      leaves the cluster running and says how to use and stop it
#   --epochs N  trains for N epochs instead of those of configs/jobs/mnist.yaml
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

keep=0 overrides=()
while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=1 ;;
    --epochs) [ $# -ge 2 ] || { echo "--epochs needs a number" >&2; exit 2; }; overrides+=(--set "train.epochs=$2"); shift ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "unknown option: $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

step "Debian packages" "$repo/deploy/deps.sh"
step "LibTorch" "$repo/deploy/torch.sh"
step "build" "$repo/deploy/build.sh" gt-coordinator gt-worker gt-launcher gt-trainer gtctl

# Everything of this cluster lives in one folder that ranks of an unprivileged user can reach.
run=$(mktemp -d "${TMPDIR:-/tmp}/gridtrain.XXXXXX")
chmod 0711 "$run"
mkdir -p "$run/bin" "$run/data" "$run/log"
cp "$GT_BUILD_DIR"/bin/{gt-coordinator,gt-worker,gt-launcher,gt-trainer,gtctl} "$run/bin/"
cp -r "$repo/configs/data/mnist" "$run/data/"
chmod -R a+rX "$run/bin" "$run/data"
export GT_ACCESS=$run/coordinator/access
pids=()

stop_all() {
  local pid launcher
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  # A launcher outlives its worker on purpose; with nothing left to run it leaves when asked.
  for launcher in "$run"/a/launcher/lock "$run"/b/launcher/lock; do
    [ -s "$launcher" ] && kill "$(head -n 1 "$launcher")" 2>/dev/null || true
  done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
}
finish() {
  local rc=$?
  trap - EXIT INT TERM
  [ "$keep" = 1 ] && [ $rc -eq 0 ] && exit 0
  stop_all
  if [ $rc -eq 0 ]; then rm -rf "$run"; else echo "logs of the cluster: $run/log" >&2; fi
  exit $rc
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# until_true SECONDS COMMAND...
until_true() {
  local left=$(( $1 * 10 ))
  shift
  until "$@" >/dev/null 2>&1; do
    left=$(( left - 1 ))
    [ $left -gt 0 ] || return 1
    sleep 0.1
  done
}
start_daemon() {  # NAME COMMAND...
  local name=$1
  shift
  setsid "$@" >"$run/log/$name.log" 2>&1 </dev/null &
  pids+=($!)
}
failed_to_start() { echo "$1 did not start:" >&2; tail -n 10 "$run/log/$1.log" >&2; exit 1; }

start_daemon coordinator "$run/bin/gt-coordinator" --data-dir "$run/coordinator" --listen 127.0.0.1:0
until_true 20 "$run/bin/gtctl" server status || failed_to_start coordinator
for node in a b; do
  start_daemon "worker-$node" "$run/bin/gt-worker" --data-dir "$run/$node" --node-name "node-$node"
done
nodes_are_up() { [ "$("$run/bin/gtctl" nodes -o name | wc -l)" -eq 2 ]; }
until_true 20 nodes_are_up || failed_to_start worker-a

echo
"$run/bin/gtctl" nodes
echo
"$run/bin/gtctl" submit "$repo/configs/jobs/mnist.yaml" --set "train.data.path=$run/data/mnist" "${overrides[@]}" --follow
echo
if [ "$keep" = 1 ]; then
  printf '%s\n' "${pids[@]}" >"$run/pids"
  cat <<TEXT
The cluster runs on. To use it from this shell:
  export GT_ACCESS=$GT_ACCESS PATH=$run/bin:\$PATH
  gtctl submit -- python3 -c 'print("hello")'
To stop it:
  kill $(echo "${pids[@]}") \$(head -qn 1 $run/*/launcher/lock); rm -rf $run
TEXT
else
  cat <<TEXT
What to try next: deploy/quickstart.sh --keep leaves this cluster running, then
  gtctl status 1            what happened, rank by rank
  gtctl logs 1 --rank 0     what it printed
  gtctl submit -- python3 -c 'print("hello")'
TEXT
fi
