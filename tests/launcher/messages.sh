# Messages that need one rank only: what was found, and what to do.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --mesh data=1 --state state.safetensors --batches batches.safetensors)
nan=0000c07f
says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }

# --- state
sed 's/tf.aliasing_output = 0 : i32/jax.global_constant = "w"/' model.mlir > stateless.mlir
run stateless.mlir --mesh data=1 --state state.safetensors --batches batches.safetensors
expect_error 3 'state.safetensors: stateless.mlir keeps no state: no result replaces an argument' \
  'donate_argnums=0'
cat > twice.mlir <<'MLIR'
module @twice {
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32},
                         %arg1: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
MLIR
run twice.mlir --init random
expect_error 3 'twice.mlir: @main: result 0 replaces two arguments' 'one donated argument only'
write_tensors wrong.safetensors "kernel:F32:[4,2]:$one"
run "${good[@]}" --state wrong.safetensors
expect_error 3 'wrong.safetensors: lacks a tensor for 1 argument of model.mlir' 'kernel' \
  'name the tensors as the program does, for example params.w'

# Nothing is trained, whether or not --state is given.
run stateless.mlir --mesh data=1 --init random --batches batches.safetensors
expect_success
says 'warning: stateless.mlir: keeps no state: no result replaces an argument' stderr
says "  1 argument may be state that no result replaces: argument 0 f32[4,2] is one, of which" stderr
says 'donate_argnums=0' stderr
run check stateless.mlir
expect_success
says 'keeps no state'
run model.mlir --mesh data=1 --init random --batches batches.safetensors
expect_success
[[ ! -s stderr ]] || fail "a warning about a program that keeps its state"

# A state that is a bare array, or a tuple of them, has no names: types say which is which.
sed "s/result\[0\]\['params'\]\['w'\]/result[0]/" model.mlir > bare.mlir
run bare.mlir --mesh data=1 --state wrong.safetensors --batches batches.safetensors --out bare.st
expect_success
run "${good[@]}" --out named.st
tail -c 32 bare.st > bare.data
tail -c 32 named.st | cmp - bare.data || fail "a bare array is trained otherwise"
grep -q kernel bare.st || fail "the final state has another name"

# A pipe that nobody writes to is not waited for.
mkfifo pipe
run "${good[@]}" --state pipe
expect_error 3 'pipe: is no regular file'

# --- batches
write_tensors none.safetensors "x:F32:[0,8,4]:$one" "y:F32:[0,8,2]:$zero"
run "${good[@]}" --batches none.safetensors
expect_error 3 'none.safetensors: tensor x: holds no batches: its leading dimension is 0' \
  'give at least one batch'
write_tensors differ.safetensors "x:F32:[5,8,4]:$one" "y:F32:[3,8,2]:$zero"
run "${good[@]}" --batches differ.safetensors
expect_error 3 'differ.safetensors: tensor y: holds 3 batches, and' 'tensor x holds 5' '--steps 3'
run "${good[@]}" --batches differ.safetensors --steps 3
expect_success

# Whatever is wrong with a batch file, the message says what to do about it.
write_tensors lacks.safetensors "x:F32:[5,8,4]:$one"
run "${good[@]}" --batches lacks.safetensors
expect_error 3 'lacks.safetensors: lacks a tensor for 1 argument of model.mlir:' '    y f32[8,2]' \
  'give a file that has them to --batches, or draw them: --init random' \
  '--batches has a slice of each for every step, and --state what is the same in all'
write_tensors other.safetensors "x:F32:[5,8,4]:$one" "labels:F64:[5,8,3]:0000000000000000"
run "${good[@]}" --batches other.safetensors
expect_error 3 '    labels f64[5,8,3]' 'name the tensors as the program does, for example y'
# Without names, a tensor too many hides which is which.
sed 's/ loc("[xy]")//' model.mlir > unnamed.mlir
write_tensors xyw.safetensors "x:F32:[5,8,4]:$one" "y:F32:[5,8,2]:$zero" "w:F32:[5,8,2]:$zero"
run unnamed.mlir --mesh data=1 --state state.safetensors --batches xyw.safetensors
expect_error 3 \
  'xyw.safetensors: does not say which tensor is for 1 argument of unnamed.mlir:' \
  '    argument 2 f32[8,2], which y and w fit' \
  'leave the tensors that the program does not take out of the file, or export the program with' \
  'as_text(debug_info=True), or draw them: --init random'
write_tensors double.safetensors "x:F64:[5,8,4]:0000000000000000" "y:F32:[5,8,2]:$zero"
run "${good[@]}" --batches double.safetensors
expect_error 3 'tensor x: is f64[5,8,4]; a batch of x is f32[8,4]' \
  'convert it to f32, in Python: tensor.astype("float32")'
write_tensors single.safetensors "x:F32:[8,4]:$one" "y:F32:[8,2]:$zero"
run "${good[@]}" --batches single.safetensors
expect_error 3 'tensor x: is f32[8,4]; a batch of x is f32[8,4]' 'tensor[None]'
write_tensors larger.safetensors "x:F32:[5,16,4]:$one" "y:F32:[5,16,2]:$zero"
run "${good[@]}" --batches larger.safetensors
expect_error 3 'tensor x: is f32[5,16,4]; a batch of x is f32[8,4]' \
  'cut the data into batches of that' 'or export it for another'
run "${good[@]}" --batches nowhere.npz
expect_error 3 'nowhere.npz: cannot be read: No such file' "it is looked up in $PWD"
printf 'PK\x03\x04%022d\x05\0\0\0x.npycontent' 0 > batches.npz
run "${good[@]}" --batches batches.npz
expect_error 3 'batches.npz: is a NumPy archive (.npz), which is not read' \
  'unzip batches.npz -d batches' 'safetensors.numpy.save_file(dict(numpy.load("batches.npz"))'
run model.mlir --mesh data=1 --state state.safetensors
expect_error 3 '--batches: no file for 2 arguments of model.mlir:' 'pass --batches FILE'
run "${good[@]}" --steps 9
expect_error 3 'holds 5 batches, but 9 steps are asked for' '--steps 5'

# A program that nothing is trained in takes what it holds from --state.
cat > apply.mlir <<'MLIR'
module @apply {
  func.func public @main(%w: tensor<4x2xf32> loc("w"), %x: tensor<8x4xf32> loc("x"))
      -> (tensor<8x2xf32> {jax.result_info = "y"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    return %0 : tensor<8x2xf32>
  }
}
MLIR
run apply.mlir --state state.safetensors --batches lacks.safetensors
expect_success
says 'warning: apply.mlir: keeps no state' stderr
says 'if it is to train: export the step' stderr

# --- what is kept, and what there is none of
run "${good[@]}"
expect_success
says 'note: the final state is not kept: --out FILE writes it'
run "${good[@]}" --out kept.st
expect_success
if grep -q 'not kept' stdout; then fail "state that is written is said not to be kept"; fi
run apply.mlir --state state.safetensors --batches lacks.safetensors --out nothing.st
expect_success
says 'warning: --out: apply.mlir keeps no state: nothing.st is not written' stderr
if grep -q 'final state' stdout || [[ -e nothing.st ]]; then fail "a final state of nothing"; fi

# --- --check
write_header '{}' > empty.safetensors
run "${good[@]}" --check empty.safetensors
expect_error 3 'empty.safetensors: holds no tensors to compare with' 'one number a step'
run "${good[@]}" --check empty.safetensors --tolerances missing.json
expect_error 3 'missing.json: cannot be read: No such file' "it is looked up in $PWD"
write_tensors longer.safetensors "params.w:F32:[4,2]:$zero" "loss:F32:[5]:$zero"
printf '{"metrics": 1e60}' > loose.json
run "${good[@]}" --steps 2 --check longer.safetensors --tolerances loose.json
expect_success
says 'state: not compared: longer.safetensors has the state after 5 steps, the run has 2'
says 'passed (metrics only)'
says 'warning: longer.safetensors: the state was not compared' stderr

# --- numbers that are none
write_tensors nan.safetensors "params.w:F32:[4,2]:$nan"
run "${good[@]}" --state nan.safetensors
expect_success
[[ $(grep -c 'warning: step 1/5: loss is nan' stderr) == 1 ]] || fail "nan is not remarked once"
says 'and in the data: values that are not finite, indices out of range' stderr
[[ $(grep -c 'is nan' stderr) == 1 ]] || fail "nan is remarked again"

# --- a full disk, and memory that is not there
without_disk() {
  status=0
  # A file size limit; what is printed goes through a pipe.
  (trap '' XFSZ; ulimit -f 0; exec "$SPMD_RUN" "$@" 2>&1) | cat > stderr || status=$?
}
without_disk "${good[@]}" --out final.safetensors
expect_error 3 'final.safetensors: cannot be written: File too large' 'has room'
without_disk "${good[@]}" --report report
expect_error 3 'report/metrics.jsonl: cannot write the metrics' 'has room'
sed 's/8x4xf32/17592186044416x4xf32/g; s/8x2xf32/17592186044416x2xf32/g' model.mlir > huge.mlir
run huge.mlir --mesh data=1 --init random --device cpu
expect_error 5 'memory: cannot allocate' 'spmd-run check says what a mesh needs'

# --- programs
LC_ALL=C sed 's/subtract/subt\x1b[1m/g' "$SPMD_SOURCE_DIR/tests/data/models/digits_mlp/model.hlo.pb" \
  > damaged.pb
run damaged.pb
expect_error 3 'damaged.pb: ' 'subt\x1B[1m'
! grep -q $'\x1b' stderr || fail "an escape sequence is printed"
sed 's/stablehlo.subtract %0, %arg2/stablehlo.subtract %0 %arg2/' model.mlir > comma.mlir
run comma.mlir
expect_error 3 "comma.mlir:12:32: found '%arg2', expected ':'" 'export it again: jax.jit'
# Names need not be UTF-8, on any number of ranks.
cp model.mlir $'caf\xe9.mlir'
run4 $'caf\xe9.mlir' --state state.safetensors --batches batches.safetensors --report latin
expect_success
says 'caf\xE9.mlir on data=4'
run check $'caf\xe9.mlir' --json
expect_success

sed '/stablehlo.multiply %2/c\    %3 = stablehlo.custom_call @mystery(%2) : (tensor<4x2xf32>) -> tensor<4x2xf32>' \
  model.mlir > calls.mlir
run calls.mlir --mesh data=1 --init random
expect_error 3 'calls.mlir: 1 kind of custom calls for code outside of the program:' \
  'custom call to "mystery" (1x, first at calls.mlir:' 'export the program without them'
sed 's/@mystery/@xla_ffi_python_cpu_callback/' calls.mlir > callback.mlir
run callback.mlir --mesh data=1 --init random
expect_error 3 'callbacks into Python (jax.debug.print, pure_callback, io_callback): remove them'

# --- what a run is told and cannot do
run "${good[@]}" --cuda-graphs on --device cpu
expect_success
says 'warning: --cuda-graphs on does nothing: this run is on no GPU' stderr
cat > maximal.mlir <<'MLIR'
module @maximal {
  sdy.mesh @max = <[], device_ids=[0]>
  func.func public @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@max, []>,
                                            tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
MLIR
run maximal.mlir --init random
expect_success
says 'note: maximal.mlir:3:60: a maximal sharding, of a tensor on one device, is read as replicated'
run maximal.mlir --init random --ranks 2
expect_error 2 "maximal.mlir: the program's shardings are all maximal (the first is at maximal.mlir:3:" \
  'but there are 2 ranks' 'or run on one rank'

# --- Plans
run "${good[@]}" --save-plan step.plan
expect_success
run check step.plan
expect_success
says 'memory/rank'
run check step.plan --mesh data=2
expect_error 2 'step.plan: a compiled Plan keeps its mesh'
capture "$SPMD_OPT" step.plan
expect_error 3 'step.plan: is a compiled Plan' 'spmd-run check'

# --- numbers of ranks
run check model.mlir --ranks 8
expect_error 2 "--ranks: 8 ranks, but the program's mesh data=4 has 4" '--mesh data=8'
run model.mlir --mesh data=-1,model=3 --ranks 4
expect_error 2 '--mesh: the mesh data=-1,model=3 needs a multiple of 3 ranks, but there are 4' \
  'start 3 or 6 ranks'
