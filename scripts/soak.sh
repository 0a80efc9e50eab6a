#!/usr/bin/env bash
# Draws random programs, meshes and shardings, and compares every stage of the compiler and the run
# with the program itself, until stopped:  scripts/soak.sh [preset]
#
#   SOAK_SEEDS=1:100000   which programs (from:to, from: without end, or one, which is printed);
#                         without it, from a place that the clock chooses
#   SOAK_SECONDS=3600     when to stop
#   SOAK_FAILURES=12      failures after which to stop
#   SOAK_LOG=FILE         where the output is kept; build/soak/<first seed>.log otherwise
#   JOBS=2                processes
#
# All processes share one table of what was covered. Tables of several runs, on several machines say,
# are added up by  scripts/soak.sh merge LOG...
#
# Ctrl-C ends it in order: failures are shrunk, each to a test to be pasted into
# tests/differential/regressions_test.cc, after the table of what was covered. The exit code is 0
# when nothing failed.
set -uo pipefail

if [[ ${1:-} == merge ]]; then
  shift
  awk -f "$(dirname "$0")/merge_coverage.awk" "$@"
  exit
fi
cd "$(dirname "$0")/.." || exit

preset=${1:-release}
program=${SPMD_BUILD_DIR:-build/$preset}/test_differential
export SPMD_SEEDS=${SOAK_SEEDS:-$(date +%s)000:}
export SPMD_SOAK_JOBS=${JOBS:-$(nproc)} SPMD_SOAK_FAILURES=${SOAK_FAILURES:-12}
if [[ -n ${SOAK_SECONDS:-} ]]; then export SPMD_SOAK_SECONDS=$SOAK_SECONDS; fi
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

log=${SOAK_LOG:-build/soak/${SPMD_SEEDS%%:*}.log}
mkdir -p "$(dirname "$log")"
echo "seeds $SPMD_SEEDS, $SPMD_SOAK_JOBS processes, log in $log"
# The program ends by itself when interrupted; tee must outlive it.
trap '' INT TERM
(trap - INT TERM; exec nice -n "${NICE:-10}" "$program" --gtest_filter=Partition.*) 2>&1 |
  tee "$log"
exit "${PIPESTATUS[0]}"
