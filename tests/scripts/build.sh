# A build folder whose configuring failed is configured again. cmake is a stand-in.
# shellcheck shell=bash
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

cat > "$work/cmake" <<'SCRIPT'
#!/bin/bash
echo "$*" >> "$asked"
SCRIPT
chmod +x "$work/cmake"
export asked=$work/asked SPMD_BUILD_DIR=$work/build PATH="$work:$PATH"

mkdir "$work/build"
touch "$work/build/CMakeCache.txt"
scripts/build.sh release spmd-run
grep -q -- "--preset release -B $work/build" "$asked" || fail "not configured: $(cat "$asked")"
grep -q -- "--build $work/build .*--target spmd-run" "$asked" || fail "not built: $(cat "$asked")"

: > "$asked"
touch "$work/build/build.ninja"
scripts/build.sh release
! grep -q -- --preset "$asked" || fail "configured twice"
