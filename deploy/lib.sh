# Sourced by the scripts beside it. A step prints one line and keeps its output in a log that a failure names.
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${GT_BUILD_DIR:=$repo/build/release}"
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' red='' dim='' plain=''; fi

# Folder for logs of set-up steps; stays after a failure.
gt_log_dir() {
  if [ -z "${GT_LOG_DIR:-}" ]; then
    GT_LOG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/gridtrain-setup.XXXXXX")
    export GT_LOG_DIR
  fi
}

# step NAME COMMAND...: runs it, quiet while it goes well.
step() {
  local name=$1 start log rc=0
  shift
  gt_log_dir
  log=$GT_LOG_DIR/$(echo "$name" | tr -c 'A-Za-z0-9\n' '_').log
  start=$(date +%s)
  printf '%s%s%s ... ' "$bold" "$name" "$plain"
  "$@" >"$log" 2>&1 || rc=$?
  if [ $rc -eq 0 ]; then
    printf 'ok %s(%s s)%s\n' "$dim" "$(( $(date +%s) - start ))" "$plain"
    return 0
  fi
  printf '%sfailed%s (exit %s)\n' "$red" "$plain" "$rc"
  { echo; tail -n 15 "$log" | sed 's/^/    /'; echo; echo "step \"$name\" failed; its whole log: $log"; } >&2
  return $rc
}

# as_root COMMAND...: as root, or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}
