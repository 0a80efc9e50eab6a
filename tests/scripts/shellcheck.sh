# Every shell script parses, and shellcheck finds nothing where it is installed.
# shellcheck shell=bash
set -euo pipefail

mapfile -t scripts < <(find .ci/run scripts examples tests -type f \( -name '*.sh' -o -path .ci/run \))
(( ${#scripts[@]} > 10 )) || { echo "FAILED: only ${#scripts[@]} scripts found" >&2; exit 1; }
for script in "${scripts[@]}"; do bash -n "$script"; done
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
# SC2148: tests are read by bash as they are. SC1091: files that are read are checked by themselves.
shellcheck -s bash -S warning -e SC1091 "${scripts[@]}"
