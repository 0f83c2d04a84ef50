#!/usr/bin/env bash
# Step time of gt-trainer against PyTorch DDP under torchrun: two ranks on this machine, one thread each, Adam, batch 64
# (resnet18: 16; gpt, of 10 million parameters: 4).
# usage: tests/bench/train_bench.sh [--json FILE] [NAME...]      (default: every name)
#   step_ratio_{mlp,simple_cnn,resnet18,gpt}          gt-trainer as it runs by itself (shared memory) / torchrun
#   step_ratio_gloo_mlp, step_ratio_gloo_simple_cnn   gt-trainer over Gloo / torchrun
#   recovery_kill_p95_s                               SIGKILL of one of 2 ranks (two nodes) to the next step of both, the whole
#                                                     system, a cold replacement; GT_BENCH_KILLS (50) kills
# Rounds of both are interleaved, and medians compared, so that a busy machine hits both alike.
# GT_BUILD_DIR (build/release), GT_BENCH_ROUNDS (5), GT_CACHE_DIR (where the Python environment of the peer is kept)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
trainer=${GT_BUILD_DIR:-$root/build/release}/bin/gt-trainer
rounds=${GT_BENCH_ROUNDS:-5}
if [[ $(id -u) == 0 ]]; then default_cache=/var/cache/gridtrain; else default_cache=${HOME:?}/.cache/gridtrain; fi
venv=${GT_CACHE_DIR:-$default_cache}/bench-venv

json=
names=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --json) json=$2; shift 2 ;;
    step_ratio_*|recovery_kill_p95_s) names+=("$1"); shift ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
[[ ${#names[@]} -gt 0 ]] || names=(step_ratio_mlp step_ratio_simple_cnn step_ratio_resnet18 step_ratio_gpt step_ratio_gloo_mlp
  step_ratio_gloo_simple_cnn recovery_kill_p95_s)
[[ -x $trainer ]] || { echo "train_bench: $trainer is not built" >&2; exit 1; }

if [[ "${names[*]}" == *step_ratio_* ]] && ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
  echo "train_bench: installing PyTorch for the comparison into $venv (several GB, once)" >&2
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check torch==2.11.0 numpy setuptools >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warmup=20
steps_of() { case $1 in mlp) echo 600 ;; simple_cnn) echo 60 ;; *) echo 20 ;; esac; }
batch_of() { case $1 in gpt) echo 4 ;; resnet18) echo 16 ;; *) echo 64 ;; esac; }
model_of() {
  if [[ $1 == gpt ]]; then echo '"gpt", "layers": 6, "heads": 8, "width": 256, "context": 128, "vocabulary": 20000'; else echo "\"$1\""; fi
}
format_of() { if [[ $1 == gpt ]]; then echo synthetic_tokens; else echo synthetic; fi; }
free_port() { "$venv/bin/python" -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
ms_of() { sed -n 's/^bench: \([0-9.]*\) ms.*/\1/p' "$1" | head -1; }

ours() {  # MODEL COLLECTIVE
  local port rank pids=() steps; steps=$(steps_of "$1"); port=$(free_port)
  cat >"$work/spec.json" <<JSON
{"model": {"name": $(model_of "$1")}, "data": {"format": "$(format_of "$1")", "samples": 4096}, "batch_size": $(batch_of "$1"), "epochs": 100000,
 "optimizer": {"name": "adam", "lr": 1e-3}, "max_steps": $((steps + warmup)), "bench_warmup": $warmup, "log_every": 1000000,
 "checkpoint": {"every": 0}}
JSON
  for rank in 0 1; do
    env OMP_NUM_THREADS=1 RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" GT_COLLECTIVE="$2" \
      timeout 120 "$trainer" "$work/spec.json" >"$work/ours$rank" 2>&1 & pids+=($!)
  done
  for rank in 0 1; do wait "${pids[$rank]}" || { cat "$work/ours$rank" >&2; return 1; }; done
  ms_of "$work/ours0"
}
theirs() {  # MODEL
  env OMP_NUM_THREADS=1 timeout 120 "$venv/bin/python" -m torch.distributed.run --nproc-per-node 2 --master-addr 127.0.0.1 \
    --master-port "$(free_port)" "$here/train_bench_peer.py" "$1" "$(steps_of "$1")" "$(batch_of "$1")" >"$work/theirs" 2>&1 ||
    { cat "$work/theirs" >&2; return 1; }
  ms_of "$work/theirs"
}
median() { sort -g | awk '{v[NR]=$1} END {print NR % 2 ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }

entries=
recovery() {  # sets p50, p95, most (seconds) and kills
  read -r _ p50 p95 most kills < <(GT_BIN=$(dirname "$trainer") GT_REPO=$root timeout 600 python3 -B "$here/recovery_bench.py" \
    "${GT_BENCH_KILLS:-50}" | awk '/^kill_ms/ {printf "kill %.3f %.3f %.3f %d\n", $2/1000, $3/1000, $4/1000, $5}')
  [[ -n ${kills:-} ]]
}

for name in "${names[@]}"; do
  if [[ $name == recovery_kill_p95_s ]]; then
    recovery || { echo "train_bench: not every kill was survived" >&2; exit 1; }
    echo "$name $p95  (median $p50, most $most, $kills kills; torchrun 2.5 to 4.7)"
    entries+="${entries:+,}
 \"$name\": $p95, \"recovery_kill_p50_s\": $p50, \"recovery_kill_max_s\": $most"
    continue
  fi
  model=${name#step_ratio_} collective=shm
  [[ $model == gloo_* ]] && model=${model#gloo_} collective=gloo
  [[ " mlp simple_cnn resnet18 gpt " == *" $model "* ]] || { echo "train_bench: no such figure: $name" >&2; exit 2; }
  : >"$work/a"; : >"$work/b"
  for ((round = 0; round < rounds; ++round)); do
    ours "$model" "$collective" >>"$work/a"
    theirs "$model" >>"$work/b"
  done
  a=$(median <"$work/a") b=$(median <"$work/b")
  ratio=$(awk -v a="$a" -v b="$b" 'BEGIN {printf "%.3f", a / b}')
  echo "$name $ratio  (gt-trainer over $collective $a ms/step, torchrun DDP over gloo $b ms/step; 2 ranks x 1 thread, median of $rounds)"
  figure=${name#step_ratio_}
  entries+="${entries:+,}
 \"$name\": $ratio, \"step_${figure}_ms\": $a, \"step_${figure}_torchrun_ms\": $b"
done
[[ -z $json ]] || printf '{%s\n}\n' "$entries" >"$json"
