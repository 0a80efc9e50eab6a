# Coverage tables of several logs are added up.
# shellcheck shell=bash
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

cat > "$work/first.log" <<'LOG'
seeds 1:50, 2 processes, log in first.log
op                                  dimension        ops    uneven     empty  sub_axis
stablehlo.sort                      whole             30        25        19         3
func.call                           drawn              4         -         -         -

2 of 3 cells reached fewer than 20 times
50 programs, seeds 1 to 50, 0 failed
LOG
cat > "$work/second.log" <<'LOG'
op                                  dimension        ops    uneven     empty  sub_axis
stablehlo.add                       batch             40        21        22        23
stablehlo.sort                      whole             10         5         1         4

70 programs, seeds 51 to 120, 0 failed
12 elements in 3 programs are finite or not as rounding has it: not compared
LOG
cat > "$work/expected" <<'TABLE'
op                                  dimension        ops    uneven     empty  sub_axis
func.call                           drawn              4         -         -         -
stablehlo.add                       batch             40        21        22        23
stablehlo.sort                      whole             40        30        20         7

1 of 6 cells reached fewer than 20 times
  stablehlo.sort whole sub_axis: 7
120 programs, 0 failed, seeds
  1 to 50
  51 to 120
12 elements in 3 programs are finite or not as rounding has it: not compared
TABLE
scripts/soak.sh merge "$work/first.log" "$work/second.log" > "$work/found" || fail "exit code $?"
diff "$work/expected" "$work/found" || fail "another table"

sed -i 's/seeds 1 to 50, 0 failed/seeds 1 to 50, 2 failed/' "$work/first.log"
! scripts/soak.sh merge "$work/first.log" > "$work/found" || fail "failures are no success"
grep -q '^50 programs, 2 failed' "$work/found" || fail "$(cat "$work/found")"
