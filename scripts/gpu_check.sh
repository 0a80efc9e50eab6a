#!/usr/bin/env bash
# Checks spmd on this machine's GPU in about a minute:  scripts/gpu_check.sh [folder of a build]
#
# Builds there first unless the folder holds spmd-run already. Each check may take ten seconds, says
# how it went at once, and the most telling come first. Ends with `gpu check: N failed`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/env.sh
. scripts/gpu.sh || exit 77
dir=${1:-build/gpu}
models=tests/data/models
failed=0
limit=${SPMD_CHECK_SECONDS:-10}

# What a build brings along, and where the CUDA Toolkit lies.
if [[ -d $dir/lib ]]; then export LD_LIBRARY_PATH=$dir/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi
for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 "${CUDA_HOME:-/usr/local/cuda}"/lib; do
  if [[ -z ${SPMD_CUDA_LIBRARY_PATH:-} && -e $folder/libcublasLt.so ]]; then
    export SPMD_CUDA_LIBRARY_PATH=$folder
  fi
done

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
if [[ ! -x $dir/spmd-run ]]; then
  mkdir -p "$(dirname "$dir")"
  cmake -S . -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPMD_UNITY=ON -DSPMD_CUDA=ON \
    -DBUILD_TESTING=OFF > "$dir.log" 2>&1 || { tail -n 20 "$dir.log"; exit 1; }
  if ! cmake --build "$dir" --target spmd-run >> "$dir.log" 2>&1; then
    grep -E -A 8 'error|FAILED|undefined' "$dir.log" | head -n 80
    exit 1
  fi
fi
echo "ready after $SECONDS s"

# check NAME COMMAND...: shows what matters of the output.
check() {
  local name=$1 begin=$SECONDS code
  shift
  timeout "$limit" "$@" > "$dir/output" 2>&1
  code=$?
  if (( code == 0 )); then
    echo "== $name: passed in $((SECONDS - begin)) s"
    grep -E 'start:|note|step_ms|metrics|state|ms .*calls|within|memory' "$dir/output" | head -n 12 |
      cut -c 1-220
  else
    failed=$((failed + 1))
    echo "== $name: FAILED ($code) in $((SECONDS - begin)) s"
    tail -n 25 "$dir/output" | cut -c 1-300
  fi
}

# program NAME MESH RANKS [OPTION...]
program() {
  local name=$1 mesh=$2 ranks=$3 tolerances=()
  shift 3
  [[ -f $models/$name/tolerances.json ]] &&
    tolerances=(--tolerances "$models/$name/tolerances.json")
  check "$name on $mesh $*" "$dir/spmd-run" "$models/$name/model.hlo.pb" --mesh "$mesh" \
    --ranks "$ranks" --device cuda --cache-dir "$dir/cache" \
    --state "$models/$name/state.safetensors" --batches "$models/$name/batches.safetensors" \
    --check "$models/$name/expected.safetensors" "${tolerances[@]}" --set log.progress=off "$@"
}

# pair NAME MESH [VARIABLE=VALUE] [OPTION...]: two processes and NCCL, on one GPU where there is no other
pair() {
  local name=$1 mesh=$2 variable=${3:-SPMD_CUDA_ONE_STREAM=0} tolerances=()
  [[ -f $models/$name/tolerances.json ]] &&
    tolerances=(--tolerances "$models/$name/tolerances.json")
  SPMD_NCCL_SHARED_GPU=1 limit=40 check "$name on $mesh by NCCL ${*:3}" env "$variable" \
    mpirun -n 2 "$dir/spmd-run" "$models/$name/model.hlo.pb" --mesh "$mesh" --device cuda \
    --cache-dir "$dir/cache" --state "$models/$name/state.safetensors" \
    --batches "$models/$name/batches.safetensors" --report "$dir/report" \
    --check "$models/$name/expected.safetensors" "${tolerances[@]}" --set log.progress=off "${@:4}"
  grep -E '^ +(step|comm|exposed) ' "$dir/output"
}

# large NAME SECONDS STEPS [VARIABLE=VALUE]
large() {
  local file=.cache/large/$1.hlo.pb
  [[ -f $file ]] || return
  limit=$2 check "$1 $4" env $4 "$dir/spmd-run" "$file" --init random --steps "$3" --device cuda \
    --cache-dir "$dir/cache" --report "$dir/report" --set log.progress=off
  grep -E '"(step_ms|peak_memory_bytes|compile_ms)"' "$dir/report/report.json" 2> /dev/null |
    head -n 6
}

program digits_mlp data=1 1
program digits_mlp data=1 1 --codegen off
program gpt_fsdp fsdp=1 1
program llama_scan fsdp=1,model=1 1
large gpt2-xl-dp1 25 3 SPMD_CUDA_TRACE=0
program digits_cnn data=1 1
program dropout_mlp data=1 1
program gru_scan data=1 1
program gru_scan data=1 1 --cuda-graphs on
program moe expert=1 1
program gpt_dp_tp data=1,model=1 1
program ring_shard_map ring=4 4
pair gpt_fsdp fsdp=2
pair gpt_fsdp fsdp=2 SPMD_CUDA_ONE_STREAM=1
pair gpt_fsdp fsdp=2 SPMD_CUDA_ONE_STREAM=0 --cuda-graphs on
pair moe expert=2
pair llama_scan fsdp=2,model=1
if [[ -x $dir/test_codegen ]]; then
  SPMD_TEST_DEVICE=cuda check "plans of all kinds of steps" "$dir/test_codegen" \
    --gtest_brief=1 --gtest_filter='Meaning*:ControlFlow*'
fi
large llama-7b-dp1-fwdbwd 60 3 SPMD_CUDA_TRACE=0
large gpt2-xl-dp1 60 1 SPMD_CUDA_TRACE=1
echo "gpu check: $failed failed"
(( failed == 0 ))
