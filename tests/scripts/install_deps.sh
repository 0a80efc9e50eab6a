# What the scripts install: with nothing on the machine, every package of the table is asked for by
# name, once; with everything there, nothing is asked for. apt-get and dpkg-query are stand-ins.
# shellcheck shell=bash
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
install=$PWD/scripts/install_deps.sh

fail() { echo "FAILED: $*" >&2; exit 1; }

# stand_in COMMAND: an executable of that name, first in PATH, with its body read from here.
stand_in() { { echo '#!/bin/bash'; cat; } > "$work/$1"; chmod +x "$work/$1"; }
stand_in apt-get <<<"echo \"\$*\" >> $work/asked"
stand_in sudo <<<'exec "$@"'
PATH="$work:$PATH"

stand_in dpkg-query <<<'true'
"$install" build format tidy > "$work/printed" 2>&1 || fail "nothing installed: $(cat "$work/printed")"
wanted=$(sed -n 's/^\(build\|format\|tidy\) *| *\([^ /]*\).*| *\(required\|optional\) *|.*/\2/p' "$install")
(( $(wc -w <<<"$wanted") > 20 )) || fail "the table has few packages: $wanted"
for package in $wanted; do
  asked=$(tr ' ' '\n' < "$work/asked" | grep -cxF -- "$package" || true)
  (( asked == 1 )) || fail "$package was asked for $asked times"
  grep -q "^missing: $package (" "$work/printed" || fail "$package is not said to be missing"
done

: > "$work/asked"
# shellcheck disable=SC2086
stand_in dpkg-query <<<"printf 'installed %s\n' $(echo $wanted)"
"$install" build format tidy > "$work/printed" 2>&1 || fail "all installed: $(cat "$work/printed")"
[[ ! -s $work/printed && ! -s $work/asked ]] || fail "all installed, and yet: $(cat "$work/printed" "$work/asked")"
