#!/usr/bin/env bash
# Runs the tests of a build:  scripts/run_tests.sh [preset] [ctest arguments, e.g. -L ir -R Mesh]
#
# The last line is `N passed, N failed`, and the exit code is 0 only when something passed and
# nothing failed. A test that could not run counts as failed; one that skipped itself as neither.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

preset=${1:-release}
shift || true
dir=${SPMD_BUILD_DIR:-build/$preset}
results=$(realpath -m "$dir")/test_results.xml

. scripts/env.sh
# Tests run beside each other on the same cores: ranks must not spin, nor be pinned to the same
# core, and one test must not take every core for itself. (nproc heeds OMP_NUM_THREADS.)
cores=$(nproc)
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# An allocation that no machine has room for fails under the sanitizers as it does without them.
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp:history_size=4:allocator_may_return_null=1"
# CUDA maps memory where the sanitizer wants none to be.
export ASAN_OPTIONS="allocator_may_return_null=1:protect_shadow_gap=0"
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1"

rm -f "$results"
ctest --test-dir "$dir" --parallel "${JOBS:-$cores}" --output-on-failure --no-tests=error \
      --output-junit "$results" "$@"
status=$?

# One <testcase> line per test; text from inside tests is escaped and cannot look like one. A
# skipped test says which of its skip conditions held; any other test that did not run has failed.
read -r passed failed skipped < <(awk '
  /^[ \t]*<testcase / {
    count++
    passed += / status="run"/
    notrun = / status="(notrun|disabled)"/
  }
  notrun && /<skipped message="SKIP_(RETURN_CODE|REGULAR_EXPRESSION)/ { skipped++; notrun = 0 }
  END { print passed + 0, count - passed - skipped, skipped + 0 }' "$results" 2>/dev/null)

passed=${passed:-0} failed=${failed:-0} skipped=${skipped:-0}  # no results at all
# ctest itself failed without a failing test: it was killed, or there are no tests.
if (( status != 0 && failed == 0 )); then failed=1; fi
if (( skipped > 0 )); then echo "$skipped skipped"; fi
echo "$passed passed, $failed failed"
(( failed == 0 && passed > 0 ))
