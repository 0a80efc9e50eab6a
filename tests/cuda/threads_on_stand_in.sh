#!/usr/bin/env bash
# Where a rank cannot start the thread that watches its collectives, the last that it starts, nobody
# would notice that they hang: the run ends before its first step.
set -uo pipefail
fake=$SPMD_BINARY_DIR/fake_cuda
if [[ ! -e $fake/libcuda.so.1 ]]; then
  echo "[SKIP] built without CUDA"
  exit 77
fi
if ldd "$SPMD_RUN" | grep -qE 'lib(a|t)san'; then
  echo "[SKIP] a sanitizer wants to be loaded first"
  exit 77
fi
export SPMD_CUDA_LIBRARY_PATH=$fake SPMD_FAKE_GPUS=2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() {
  printf 'FAILED: %s:\n%s\n' "$1" "$(tail -n 20 "$folder/output")"
  failed=1
}

# run VARIABLE=VALUE
run() {
  timeout 100 mpirun -n 2 -x LD_PRELOAD="$fake/libspmd_fake_threads.so" -x "$1" "$SPMD_RUN" \
    tests/data/models/digits_mlp/model.mlir --mesh data=2 --init random --device cuda --codegen off \
    --cache-dir "$folder/cache" --steps 1 > "$folder/output" 2>&1
}

run SPMD_FAKE_THREADS_LOG="$folder/threads" || fail "all threads"
threads=$(wc -l "$folder"/threads.* | awk '$2 != "total" && $1 > most { most = $1 } END { print most }')
run SPMD_FAKE_THREADS=$((threads - 1))
code=$?
(( code == 5 )) || fail "code $code, not 5"
grep -q 'watching collectives: cannot start a thread: Resource temporarily unavailable' \
  "$folder/output" || fail "the thread is not named"
grep -q 'run fewer processes here' "$folder/output" || fail "no remedy"
exit $failed
