#!/usr/bin/env bash
# Installs the Debian 12 / Ubuntu 24.04 packages that spmd needs and that are missing.
#
#   scripts/install_deps.sh [build|format|tidy]...     (default: build)
#
# As root, or as a user with sudo. Does nothing, quickly, when nothing is missing. Elsewhere than on
# Debian and its relatives it does nothing: CMake then names what it cannot find.
set -euo pipefail

# group | package, or alternatives with `/` of which the first is installed | required? | what for
table=$(cat <<'END'
build  | g++                       | required | C++20 compiler
build  | cmake                     | required | build system
build  | ninja-build               | optional | quicker builds than make
build  | ccache                    | optional | rebuilds from cache
build  | mold                      | optional | quicker linking
build  | libprotobuf-dev           | required | reads and writes programs and plans
build  | protobuf-compiler         | required | generates the code for them
build  | libopenmpi-dev/libmpich-dev | required | ranks on CPU hosts, start-up of GPU ranks
build  | openmpi-bin/mpich         | required | mpirun
build  | libboost-dev              | required | Boost headers
build  | libboost-graph-dev        | required | graph algorithms of the compiler
build  | libyaml-cpp-dev           | required | configuration files
build  | libcli11-dev              | required | command lines
build  | libfmt-dev                | required | formatting
build  | libspdlog-dev             | required | logging
build  | nlohmann-json3-dev        | required | reports, safetensors headers
build  | libxxhash-dev             | required | checksums and cache keys
build  | libzstd-dev               | required | compression
build  | zlib1g-dev                | required | compression
build  | libdnnl-dev               | optional | oneDNN: matrix products and convolutions on CPU
build  | libopenblas-dev           | optional | OpenBLAS: matrix products on CPU
build  | libgtest-dev              | required | tests
build  | libbenchmark-dev          | optional | benchmarks
build  | libonnx-testdata          | optional | ONNX's own test cases, which the reader of ONNX must pass
format | clang-format              | required | make format
tidy   | clang-tidy                | required | make tidy
END
)

if ! command -v dpkg-query >/dev/null; then
  echo "install_deps: not Debian or Ubuntu, nothing installed; see the table in $0" >&2
  exit 0
fi

groups=" ${*:-build} "
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
is_installed() { grep -qxF -- "$1" <<<"$installed"; }

required=() optional=()
while IFS='|' read -r group packages need why; do
  read -r group <<<"$group"; read -r packages <<<"$packages"; read -r need <<<"$need"
  [[ -n $group && $groups == *" $group "* ]] || continue
  for package in ${packages//\// }; do
    is_installed "$package" && continue 2
  done
  package=${packages%%/*}
  echo "missing: $package ($need) -${why}"
  if [[ $need == required ]]; then required+=("$package"); else optional+=("$package"); fi
done <<<"$table"

(( ${#required[@]} + ${#optional[@]} )) || exit 0

as_root=()
if (( EUID != 0 )); then
  if ! command -v sudo >/dev/null; then
    (( ${#required[@]} )) || exit 0  # only optional ones are missing: build without them
    echo "install_deps: neither root nor sudo. Ask an administrator to run:" >&2
    echo "  apt-get install ${required[*]} ${optional[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

apt update || echo "install_deps: apt-get update failed; trying the package lists at hand" >&2
if (( ${#required[@]} )); then
  echo "installing: ${required[*]}"
  apt install -y --no-install-recommends "${required[@]}" >/dev/null
fi
for package in "${optional[@]}"; do
  echo "installing: $package"
  apt install -y --no-install-recommends "$package" >/dev/null ||
    echo "install_deps: $package is not available; building without it" >&2
done
