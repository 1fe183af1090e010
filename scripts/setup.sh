#!/usr/bin/env bash
# Checks that what Lathe is built from is installed and, where it may, installs what is missing.
# Quick when nothing is missing. Exit: 0 all there, 1 something is missing (the command to type is printed).
#   scripts/setup.sh [--check] [extra package…]     --check: install nothing
set -euo pipefail

packages=(
  g++ make cmake ninja-build ccache           # the build
  libdnnl-dev ocl-icd-opencl-dev              # oneDNN; its CMake file asks for OpenCL
  libeigen3-dev libboost-context-dev
  libfmt-dev nlohmann-json3-dev libtoml11-dev
  libjpeg-dev libstb-dev                      # pictures
  libgtest-dev libbenchmark-dev               # tests and micro-benchmarks
)

check_only=false
if [[ ${1:-} == --check ]]; then
  check_only=true
  shift
fi
packages+=("$@")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: not a Debian or Ubuntu system, so this cannot check. Lathe needs (Debian's names): ${packages[*]}" >&2
  echo "setup: g++ 12, CMake 3.25, oneDNN 2.6, Eigen 3.4, Boost 1.74, fmt 9, nlohmann/json 3.11, toml11 3.7 or newer" >&2
  command -v g++ >/dev/null && command -v cmake >/dev/null && command -v ninja >/dev/null && exit 0
  echo "setup: g++, cmake or ninja is missing" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) == "install ok installed" ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

if [[ $(id -u) -eq 0 ]]; then
  as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  check_only=true
fi
if $check_only; then
  echo "setup: missing: ${missing[*]}" >&2
  echo "setup: type:  sudo apt-get update && sudo apt-get install --no-install-recommends -y ${missing[*]}" >&2
  exit 1
fi

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
echo "setup: installing ${missing[*]}"
if ! install >/dev/null 2>&1; then  # the package lists may be old or absent
  "${as_root[@]}" apt-get update -q
  install
fi
