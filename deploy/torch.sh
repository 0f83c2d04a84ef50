#!/usr/bin/env bash
# Installs LibTorch (the pip wheel and the two CUDA libraries that it needs to load) once and prints its folder.
# usage: deploy/torch.sh           install where missing, print the folder
#        deploy/torch.sh --find    print the folder if it is there, else fail; installs nothing
# GT_TORCH_DIR  use this folder as it is          GT_CACHE_DIR  where to keep it (root: /var/cache/gridtrain, else ~/.cache/gridtrain)
set -euo pipefail

version=2.11.0
packages=("torch==$version" "nvidia-cuda-runtime==13.0.96" "nvidia-cuda-cupti==13.0.85")

usable() { [[ -e $1/torch/lib/libtorch_cpu.so && -e $1/torch/include/ATen/ATen.h ]]; }
fail() { echo "deploy/torch.sh: $*" >&2; exit 1; }

if [[ -n ${GT_TORCH_DIR:-} ]]; then
  usable "$GT_TORCH_DIR" || fail "GT_TORCH_DIR=$GT_TORCH_DIR holds no torch/lib/libtorch_cpu.so; unset it or point it at a folder that does"
  echo "$GT_TORCH_DIR"
  exit 0
fi

if [[ $(id -u) == 0 ]]; then default_cache=/var/cache/gridtrain; else default_cache=${HOME:?}/.cache/gridtrain; fi
cache=${GT_CACHE_DIR:-$default_cache}
target=$cache/torch-$version
if usable "$target"; then echo "$target"; exit 0; fi
[[ ${1:-} == --find ]] && fail "LibTorch is not installed in $target; run deploy/torch.sh"

python=$(command -v python3) || fail "python3 is missing: apt-get install python3-pip"
"$python" -m pip --version >/dev/null 2>&1 || fail "pip is missing: apt-get install python3-pip"

mkdir -p "$cache"
exec 9>"$cache/.torch-$version.lock"
flock 9                                   # a second caller waits here and then finds the work done
if usable "$target"; then echo "$target"; exit 0; fi

staging=$(mktemp -d "$cache/.torch-$version.XXXXXX")
trap 'rm -rf "$staging"' EXIT
chmod 755 "$staging"
echo "deploy/torch.sh: installing ${packages[*]} into $target (about 3 GB, once)" >&2
# --target touches no system package, so Debian's guard against pip (PEP 668) has nothing to protect here.
PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip install --quiet --disable-pip-version-check --no-input --root-user-action=ignore \
  --no-deps --only-binary=:all: --target "$staging" "${packages[@]}" >&2 || fail "pip could not install ${packages[*]}"
usable "$staging" || fail "the torch wheel came without its C++ library or headers"
rm -rf "$target"                          # a folder that is not usable is what an older, broken installation left
mv "$staging" "$target"
trap - EXIT
echo "$target"
