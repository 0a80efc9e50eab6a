#!/usr/bin/env bash
# Configures (once) and builds a preset:  scripts/build.sh [preset] [target...]
#
# SPMD_BUILD_DIR builds elsewhere than in build/<preset>; JOBS sets the number of parallel compilers.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
dir=${SPMD_BUILD_DIR:-build/$preset}

# The largest sources need about 1 GB each to compile.
cores=$(nproc)
gigabytes=$(awk '/^MemAvailable/ { print int($2 / 1000000) }' /proc/meminfo)
jobs=${JOBS:-$(( gigabytes < 1 ? 1 : gigabytes < cores ? gigabytes : cores ))}

# Configuring that failed leaves a cache and nothing to build.
if [[ ! -f $dir/build.ninja && ! -f $dir/Makefile ]]; then
  rm -f "$dir/CMakeCache.txt"
  generator=()
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake --preset "$preset" -B "$dir" "${generator[@]}"
fi
targets=()
if (( $# )); then targets=(--target "$@"); fi
cmake --build "$dir" --parallel "$jobs" "${targets[@]}"
