#!/usr/bin/env bash
# Fuzzes every reader under the address and undefined behaviour sanitizers:
#
#   scripts/fuzz.sh [seconds] [reader...]        (default: 600 seconds each, all readers)
#
# With clang the fuzzers are libFuzzer's, else our own driver's (tests/fuzz/drivers/driver.cc). What a
# run learns is kept in build/fuzz/corpus. An input that fails is kept in build/fuzz/findings/<reader>;
# when it is mended, move the smallest such input to tests/fuzz/findings/<reader>, where the tests
# read it from then on. JOBS runs that many fuzzers at once. Exits with 1 when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

seconds=600
if [[ ${1:-} =~ ^[0-9]+$ ]]; then seconds=$1; shift; fi
dir=$PWD/${SPMD_BUILD_DIR:-build/fuzz}
if [[ ! -f $dir/CMakeCache.txt ]] && command -v clang++ >/dev/null; then export CXX=clang++ CC=clang; fi
SPMD_BUILD_DIR=$dir scripts/build.sh fuzz fuzzers || exit 2
"$dir/write_seeds" "$dir/seeds" || exit 2

readers=("$@")
if (( ! $# )); then
  for program in "$dir"/fuzz_*; do [[ -x $program ]] && readers+=("${program##*/fuzz_}"); done
fi

export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

# fuzz READER: the last line of its log and, when it failed, where the input is.
fuzz() {
  local reader=$1 log=$dir/fuzz_$1.log words=()
  [[ -s $dir/seeds/$reader.dict ]] && words=("-dict=$dir/seeds/$reader.dict")
  mkdir -p "$dir/corpus/$reader" "$dir/findings/$reader"
  "$dir/fuzz_$reader" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2560 -max_len=65536 \
    -use_value_profile=1 -print_funcs=0 -print_final_stats=1 "${words[@]}" \
    -artifact_prefix="$dir/findings/$reader/" "$dir/corpus/$reader" "$dir/seeds/$reader" \
    > "$log" 2>&1
  local status=$?
  local inputs
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p; s/^\([0-9]*\) inputs, .*/\1/p' "$log" | tail -1)
  if (( status == 0 )); then
    echo "$reader: ${inputs:-?} inputs, no finding"
  else
    echo "$reader: FAILED, see $log and $dir/findings/$reader"
  fi
  return "$status"
}

failed=0
running=0
for reader in "${readers[@]}"; do
  if [[ ! -x $dir/fuzz_$reader ]]; then echo "no reader is named $reader" >&2; exit 2; fi
  fuzz "$reader" &
  if (( ++running >= ${JOBS:-1} )); then
    wait -n || failed=1
    running=$((running - 1))
  fi
done
while (( running-- > 0 )); do wait -n || failed=1; done
exit "$failed"
