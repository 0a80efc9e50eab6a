# An ONNX model runs with the weights of its own files, whole and partitioned, and with others.
. tests/launcher/support/lib.sh
command -v protoc > /dev/null || exit 77

says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }

# loss = the sum of x w + b; w is in a file of its own, b in the model's.
protoc --proto_path="$SPMD_SOURCE_DIR/frontends/onnx" --encode=spmd.onnx.ModelProto onnx.proto \
  > line.onnx <<'TEXT'
ir_version: 10
opset_import { version: 21 }
graph {
  name: "line"
  node { op_type: "MatMul" input: "x" input: "w" output: "xw" }
  node { op_type: "Add" input: "xw" input: "b" output: "h" }
  node {
    op_type: "ReduceSum" input: "h" output: "loss" attribute { name: "keepdims" type: INT i: 0 }
  }
  initializer {
    name: "w" data_type: 1 dims: 4 dims: 2 data_location: EXTERNAL
    external_data { key: "location" value: "w.bin" }
  }
  initializer { name: "b" data_type: 1 dims: 2 float_data: 1 float_data: 3 }
  input {
    name: "x"
    type {
      tensor_type { elem_type: 1 shape { dim { dim_param: "batch" } dim { dim_value: 4 } } }
    }
  }
  output { name: "loss" type { tensor_type { elem_type: 1 shape { } } } }
}
TEXT
two=00000040
# shellcheck disable=SC2059
for _ in {1..8}; do printf "$(sed 's/../\\x&/g' <<< "$two")"; done > w.bin
write_tensors batches.safetensors "x:F32:[2,8,4]:$one"
printf 'mesh: {axes: {data: 3}}\nsharding: {inputs: {x: [data, null]}}\n' > rows.yaml

# --- 8 rows of (4 x 1 x 2 + 1) + (4 x 1 x 2 + 3)
run line.onnx --batches batches.safetensors --set-dim batch=8
expect_success
says "step 2/2  loss=160"
run line.onnx --batches batches.safetensors --set-dim batch=8 --config rows.yaml --ranks 3
expect_success
says "step 2/2  loss=160"

# --- a state file's values win: 8 rows of 4 + 1 and 4 + 3
write_tensors ones.safetensors "w:F32:[4,2]:$one"
run line.onnx --batches batches.safetensors --set-dim batch=8 --state ones.safetensors
expect_success
says "step 2/2  loss=96"

# --- what is missing
run line.onnx --batches batches.safetensors
expect_error 3 "line.onnx: 1 dimension has no size: batch" "--set-dim 'batch=SIZE'"
mv w.bin elsewhere.bin
run line.onnx --batches batches.safetensors --set-dim batch=8
expect_error 3 "w.bin"
truncate -s 31 elsewhere.bin && mv elsewhere.bin w.bin
run line.onnx --batches batches.safetensors --set-dim batch=8
expect_error 3 "w.bin"
