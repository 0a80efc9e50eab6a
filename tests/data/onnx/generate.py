#!/usr/bin/env python3
"""Writes the cases beside it, in the form of ONNX's own: a model, inputs, and expected outputs.

Needs onnx and onnxruntime (any recent version):  python3 generate.py

They are for the ops that ONNX's own cases leave out: those of ONNX Runtime (domain com.microsoft),
and a few of ai.onnx. Expected outputs are ONNX Runtime's, or of ONNX's reference implementation for
ai.onnx; where these lack the op or an attribute, a case gives a NumPy formula of its definition.
"""
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).parent / "node"
MICROSOFT = "com.microsoft"


def floats(*shape, seed=0, scale=1.0):
    """Numbers of both signs, the same every time."""
    values = np.random.default_rng(seed).standard_normal(shape) * scale
    return values.astype(np.float32)


def integers(high, *shape, seed=0, dtype=np.uint8):
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def model_of(op, domain, inputs, num_outputs, attributes, opset, wanted):
    names = [f"input_{i}" if x is not None else "" for i, x in enumerate(inputs)]
    outputs = [f"output_{i}" if i in wanted else "" for i in range(num_outputs)]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    graph_inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs) if x is not None]
    infos = [helper.make_empty_tensor_value_info(n) for n in outputs if n]
    graph = helper.make_graph([node], op, graph_inputs, infos)
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def typed(model, results):
    """The model with the types of its outputs."""
    for info, value in zip(model.graph.output, results):
        info.CopyFrom(helper.make_tensor_value_info(
            info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))


def by_onnxruntime(model, feeds):
    """Without graph optimisation, so that the op itself is what runs."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def case(name, op, inputs, attributes=None, outputs=1, domain=MICROSOFT, opset=21, expected=None,
         wanted=None):
    """`expected`: the outputs when ONNX Runtime cannot compute them. `wanted`: outputs to keep."""
    wanted = range(outputs) if wanted is None else wanted
    inputs = [None if x is None else np.asarray(x) for x in inputs]
    model = model_of(op, domain, inputs, outputs, attributes or {}, opset, wanted)
    given = [(f"input_{i}", x) for i, x in enumerate(inputs) if x is not None]
    if expected is None:  # ONNX Runtime's attention reads its cache from its outputs
        whole = model_of(op, domain, inputs, outputs, attributes or {}, opset, range(outputs))
        expected = [r for i, r in enumerate(by_onnxruntime(whole, dict(given))) if i in wanted]
    results = [np.asarray(r) for r in expected]
    typed(model, results)
    folder = HERE / f"test_{name}"
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for kind, values in (("input", [x for _, x in given]), ("output", results)):
        for i, value in enumerate(values):
            proto = numpy_helper.from_array(value)
            (data / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString(deterministic=True))


# ---- activations


def activations():
    x, bias = floats(3, 8, scale=2), floats(8, seed=1)
    case("ms_gelu", "Gelu", [x])
    case("ms_bias_gelu", "BiasGelu", [x, bias])
    case("ms_fast_gelu", "FastGelu", [x / 2])  # far from where it cancels
    case("ms_fast_gelu_bias", "FastGelu", [x, bias])
    case("ms_quick_gelu", "QuickGelu", [x])
    case("ms_quick_gelu_alpha", "QuickGelu", [x], {"alpha": 0.5})
    from math import erf
    halves = x + bias
    gelu = np.vectorize(lambda v: 0.5 * v * (1 + erf(v / np.sqrt(2))))(halves[:, 4:])
    case("ms_bias_split_gelu", "BiasSplitGelu", [x, bias],
         expected=[(halves[:, :4] * gelu).astype(np.float32)])
    scores, mask = floats(2, 3, 4, 5, seed=2), floats(1, 1, 4, 5, seed=3)
    e = np.exp(scores + mask)
    case("ms_bias_softmax", "BiasSoftmax", [scores, mask], {"axis": 3, "is_inner_broadcast": 1},
         expected=[e / e.sum(-1, keepdims=True)])


# ---- normalisations


def normalizations():
    x, skip = floats(2, 3, 8), floats(2, 3, 8, seed=1)
    scale, beta, bias = floats(8, seed=2), floats(8, seed=3), floats(8, seed=4)
    case("ms_skip_layer_normalization", "SkipLayerNormalization", [x, skip, scale, beta, bias],
         {"epsilon": 1e-3}, outputs=4, wanted=[0, 3])
    case("ms_skip_layer_normalization_no_beta", "SkipLayerNormalization", [x, skip, scale])
    case("ms_skip_layer_normalization_shared_skip", "SkipLayerNormalization",
         [x, skip[0], scale, beta])
    case("ms_skip_simplified_layer_normalization", "SkipSimplifiedLayerNormalization",
         [x, skip, scale, bias], {"epsilon": 1e-2}, outputs=4, wanted=[0, 3])
    case("ms_simplified_layer_normalization", "SimplifiedLayerNormalization", [x, scale],
         {"epsilon": 1e-2, "axis": -1}, domain="")
    words, places, kinds = floats(10, 8, seed=5), floats(6, 8, seed=6), floats(2, 8, seed=7)
    ids, segments = integers(10, 2, 3, dtype=np.int32), integers(2, 2, 3, seed=1, dtype=np.int32)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    case("ms_embed_layer_normalization", "EmbedLayerNormalization",
         [ids, segments, words, places, kinds, scale, beta, mask], {"epsilon": 1e-4}, outputs=3)
    case("ms_embed_layer_normalization_positions", "EmbedLayerNormalization",
         [ids, None, words, places, None, scale, beta, None,
          np.array([[2, 0, 5], [1, 1, 3]], np.int32)], outputs=2)


# ---- products


def products():
    a, b = floats(2, 3, 4), floats(2, 4, 5, seed=1)
    case("ms_fused_matmul", "FusedMatMul", [a, b], {"alpha": 0.5})
    case("ms_fused_matmul_transposed", "FusedMatMul",
         [a.transpose(0, 2, 1).copy(), b.transpose(0, 2, 1).copy()], {"transA": 1, "transB": 1})
    # transBatchA: the batch comes before the last dimension.
    case("ms_fused_matmul_batch", "FusedMatMul", [a.transpose(1, 0, 2).copy(), b],
         {"transBatchA": 1}, expected=[a @ b])
    case("ms_transpose_matmul", "TransposeMatMul", [a.transpose(0, 2, 1).copy(), b],
         {"transA": 1, "alpha": 2.0})
    x, w, c = floats(3, 4), floats(4, 5, seed=1), floats(5, seed=2)
    case("ms_fused_gemm_relu", "FusedGemm", [x, w, c],
         {"alpha": 0.5, "beta": 2.0, "activation": "Relu"})
    case("ms_fused_gemm_leaky_relu", "FusedGemm", [x, w.T.copy(), c],
         {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.25})
    h = x @ w + c
    case("ms_gemm_fast_gelu", "GemmFastGelu", [x, w, c],
         expected=[0.5 * h * (1 + np.tanh(np.float32(0.7978845608) * (h + 0.044715 * h**3)))])


def matmul_bits(name, bits, block, k=40, n=6, zero=None, bias=False, flat=False):
    blocks = -(-k // block)
    weights = integers(256, n, blocks, block * bits // 8, seed=bits)
    scales = floats(n, blocks, seed=1, scale=0.1)
    inputs = [floats(2, 3, k, seed=2), weights, scales.reshape(-1) if flat else scales]
    if zero == "packed":
        zero = integers(256, n, -(-blocks * bits // 8), seed=3)
        inputs.append(zero.reshape(-1) if flat else zero)
    elif zero == "float":
        inputs.append(floats(n, blocks, seed=3, scale=4))
    if bias:
        inputs += [None] * (5 - len(inputs)) + [floats(n, seed=4)]
    case(name, "MatMulNBits", inputs, {"K": k, "N": n, "bits": bits, "block_size": block})


def quantization():
    matmul_bits("ms_matmul_4_bits", 4, 16)
    matmul_bits("ms_matmul_4_bits_zero_points", 4, 16, zero="packed")
    matmul_bits("ms_matmul_4_bits_flat", 4, 32, k=64, zero="packed", flat=True)
    matmul_bits("ms_matmul_4_bits_float_zero_points", 4, 16, zero="float")
    matmul_bits("ms_matmul_4_bits_bias", 4, 16, bias=True)
    matmul_bits("ms_matmul_8_bits", 8, 16, zero="packed")
    matmul_bits("ms_matmul_2_bits", 2, 16, k=32, zero="packed")
    x = floats(3, 4, scale=10)
    case("ms_quantize_linear", "QuantizeLinear", [x, np.float32(0.1), np.uint8(128)])
    case("ms_quantize_linear_channels", "QuantizeLinear",
         [x, np.array([0.1, 0.2, 0.3], np.float32), np.array([-3, 0, 5], np.int8)], {"axis": 0})
    case("ms_quantize_linear_16_bits", "QuantizeLinear",
         [x, np.float32(0.001), np.uint16(32768)])
    q = integers(256, 3, 4)
    case("ms_dequantize_linear", "DequantizeLinear", [q, np.float32(0.1), np.uint8(128)])
    case("ms_dequantize_linear_channels", "DequantizeLinear",
         [q, np.array([0.1, 0.2, 0.3, 0.4], np.float32), np.array([1, 2, 3, 4], np.uint8)],
         {"axis": 1})
    b, b_scale, b_zero = integers(256, 4, 5, seed=1), floats(5, seed=2), integers(9, 5, seed=3)
    case("ms_matmul_integer_to_float", "MatMulIntegerToFloat",
         [q, b, np.float32(0.05), b_scale, np.uint8(120), b_zero, floats(5, seed=4)])
    case("ms_dynamic_quantize_matmul", "DynamicQuantizeMatMul",
         [x, b, np.float32(0.02), np.uint8(100), floats(5, seed=4)])


# ---- indexing


def indexing():
    data = floats(2, 3, 4)
    case("ms_gather_nd", "GatherND", [data, np.array([[0, 2], [1, 0]], np.int64)])
    case("ms_gather_nd_i32", "GatherND", [data, np.array([[[1]], [[0]]], np.int32)])
    case("ms_trilu", "Trilu", [data, np.array(1, np.int64)], {"upper": 0})


# ---- attention


def attention():
    x, bias = floats(2, 4, 8), floats(24, seed=2)
    w = floats(8, 24, seed=1, scale=0.5)
    full = np.array([[1, 1, 1, 0], [0, 1, 1, 1]], np.int32)
    heads = {"num_heads": 2}
    case("ms_attention", "Attention", [x, w, bias], heads)
    case("ms_attention_causal", "Attention", [x, w, bias], {**heads, "unidirectional": 1})
    case("ms_attention_scale", "Attention", [x, w, bias], {**heads, "scale": 0.25})
    case("ms_attention_mask", "Attention", [x, w, bias, full], heads)
    case("ms_attention_mask_lengths", "Attention", [x, w, bias, np.array([2, 4], np.int32)], heads)
    case("ms_attention_mask_ends_and_starts", "Attention",
         [x, w, bias, np.array([4, 3, 1, 0], np.int32)], heads)
    case("ms_attention_mask_queries", "Attention",
         [x, w, bias, integers(2, 2, 4, 4, seed=5, dtype=np.int32)], heads)
    case("ms_attention_mask_nothing", "Attention",
         [x, w, bias, np.array([[0, 0, 0, 0], [1, 1, 0, 0]], np.int32)],
         {**heads, "mask_filter_value": -100.0})
    case("ms_attention_bias", "Attention",
         [x, w, bias, full, None, floats(1, 2, 4, 4, seed=3)], heads)
    past = floats(2, 2, 2, 3, 4, seed=4)
    case("ms_attention_past", "Attention", [x, w, bias, None, past],
         {**heads, "unidirectional": 1}, outputs=2)
    case("ms_attention_past_mask", "Attention",
         [x, w, bias, integers(2, 2, 7, seed=6, dtype=np.int32), past], heads, outputs=2)
    case("ms_attention_sizes", "Attention",
         [x, floats(8, 20, seed=1), floats(20, seed=2)], {**heads, "qkv_hidden_sizes": [8, 8, 4]})

    q, k, v = floats(2, 3, 8), floats(2, 5, 8, seed=1), floats(2, 5, 6, seed=2)
    case("ms_multi_head_attention", "MultiHeadAttention", [q, k, v], heads)
    case("ms_multi_head_attention_bias", "MultiHeadAttention", [q, k, v, floats(22, seed=3)],
         heads)
    case("ms_multi_head_attention_mask", "MultiHeadAttention",
         [q, k, v, None, np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32),
          floats(2, 2, 3, 5, seed=4)], heads)
    case("ms_multi_head_attention_lengths", "MultiHeadAttention",
         [q, k, v, None, np.array([2, 5], np.int32)], heads)
    case("ms_multi_head_attention_causal", "MultiHeadAttention", [k, k, v],
         {**heads, "unidirectional": 1, "scale": 0.5})
    case("ms_multi_head_attention_cross", "MultiHeadAttention",
         [q, floats(2, 2, 5, 4, seed=1), floats(2, 2, 5, 4, seed=2)], heads)
    case("ms_multi_head_attention_past", "MultiHeadAttention",
         [q, q * 2, q * 3, None, None, None, floats(2, 2, 4, 4, seed=5), floats(2, 2, 4, 4, seed=6)],
         {**heads, "unidirectional": 1}, outputs=3)
    packed = floats(2, 3, 2, 3, 4, seed=7)
    parts = [packed[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    case("ms_multi_head_attention_packed", "MultiHeadAttention", [packed], heads,
         expected=[context(*parts)])
    packed_kv = floats(2, 5, 2, 2, 4, seed=8)
    parts = [q.reshape(2, 3, 2, 4).transpose(0, 2, 1, 3),
             *(packed_kv[:, :, :, i].transpose(0, 2, 1, 3) for i in range(2))]
    case("ms_multi_head_attention_packed_keys", "MultiHeadAttention", [q, packed_kv], heads,
         expected=[context(*parts)])


def context(q, k, v, allowed=None):
    """[batch, heads, length, size] to [batch, length, heads * size]."""
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]).astype(np.float32)
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    result = (e / e.sum(-1, keepdims=True)) @ v
    return result.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1).astype(np.float32)


def group_query(name, lengths, queries, room=None, packed=False, extra=(), expected=None, wanted=None,
                size=8, **attributes):
    """Two query heads on each of two key heads; `lengths` is what each entry then has."""
    batch = len(lengths)
    q = floats(batch, queries, 4 * size)
    k, v = floats(batch, queries, 2 * size, seed=1), floats(batch, queries, 2 * size, seed=2)
    total = max(lengths)
    if packed:
        q, k, v = np.concatenate([q, k, v], -1), None, None
    past = (floats(batch, 2, room, size, seed=3), floats(batch, 2, room, size, seed=4)) \
        if room else (None, None)
    inputs = [q, k, v, *past, np.array(lengths, np.int32) - 1, np.array(total, np.int32), *extra]
    case(name, "GroupQueryAttention", inputs, {"num_heads": 4, "kv_num_heads": 2, **attributes},
         outputs=3, expected=expected, wanted=wanted)


def group_query_attention():
    group_query("ms_group_query_attention", [3, 3], 3)
    group_query("ms_group_query_attention_packed", [3, 3], 3, packed=True)
    group_query("ms_group_query_attention_step", [5, 5], 1, room=4)
    group_query("ms_group_query_attention_window", [6, 6], 6, local_window_size=2)
    group_query("ms_group_query_attention_softcap", [3, 3], 3, softcap=2.0, scale=0.7)
    group_query("ms_group_query_attention_smooth", [3, 3], 3, smooth_softmax=1)
    tables = (floats(8, 8, seed=7), floats(8, 8, seed=8))
    group_query("ms_group_query_attention_rotary", [3, 3], 3, extra=tables, size=16,
                do_rotary=1)
    group_query("ms_group_query_attention_rotary_step", [5, 5], 1, room=4, extra=tables, size=16,
                do_rotary=1, rotary_interleaved=1)
    group_query("ms_group_query_attention_sink", [3, 3], 3,
                extra=(None, None, None, None, floats(4, seed=9)))
    group_query("ms_group_query_attention_bias", [3, 3], 3,
                extra=(None, None, None, floats(1, 4, 3, 3, seed=9)))
    # Entries of different lengths; what the shorter ones' rows beyond them hold is nobody's.
    group_query("ms_group_query_attention_ragged_step", [5, 3], 1, room=4, wanted=[0])
    group_query("ms_group_query_attention_several_queries", [6], 2, room=4)

    q, k = floats(2, 3, 32), floats(2, 3, 16, seed=1)
    v, (a, b) = floats(2, 3, 16, seed=2), (floats(8, seed=10), floats(8, seed=11))
    norm = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    split = lambda x: x.reshape(2, 3, -1, 8).transpose(0, 2, 1, 3)
    twice = lambda x: np.repeat(x, 2, 1)
    causal = np.tril(np.ones((3, 3), bool))
    keys = (norm(split(k)) * b).astype(np.float32)
    group_query("ms_group_query_attention_norm", [3, 3], 3,
                extra=(None,) * 7 + (a, b),
                expected=[context(norm(split(q)) * a, twice(keys), twice(split(v)), causal), keys,
                          split(v)])
    group_query("ms_group_query_attention_not_causal", [3, 3], 3, causal=0,
                expected=[context(split(q), twice(split(k)), twice(split(v))), split(k), split(v)])


def rotary():
    tables = (floats(9, 2, seed=1), floats(9, 2, seed=2))
    x = floats(2, 3, 8)
    case("ms_rotary_embedding", "RotaryEmbedding", [x, np.array([2], np.int64), *tables])
    case("ms_rotary_embedding_positions", "RotaryEmbedding",
         [x, np.array([[0, 3, 1], [5, 8, 2]], np.int64), *tables], {"interleaved": 1})
    case("ms_rotary_embedding_heads", "RotaryEmbedding",
         [floats(2, 2, 3, 4), np.array([[0, 3, 1], [5, 8, 2]], np.int64), *tables])
    case("ms_rotary_embedding_part", "RotaryEmbedding",
         [floats(2, 3, 12), np.array([[0, 3, 1], [5, 8, 2]], np.int64), *tables],
         {"num_heads": 2, "rotary_embedding_dim": 4})


# ---- ai.onnx


def standard(name, op, inputs, attributes=None, opset=21, **rest):
    """By ONNX's reference implementation."""
    attributes = attributes or {}
    if "expected" not in rest:
        inputs = [None if x is None else np.asarray(x) for x in inputs]
        outputs = rest.get("outputs", 1)
        model = model_of(op, "", inputs, outputs, attributes, opset, range(outputs))
        feeds = {f"input_{i}": x for i, x in enumerate(inputs) if x is not None}
        rest["expected"] = ReferenceEvaluator(model).run(None, feeds)
    case(name, op, inputs, attributes, domain="", opset=opset, **rest)


def standard_activations():
    x = floats(3, 4, scale=2)
    standard("gelu", "Gelu", [x])
    standard("gelu_tanh", "Gelu", [x], {"approximate": "tanh"})
    standard("mish", "Mish", [x])
    standard("swish", "Swish", [x], {"alpha": 0.5}, opset=24)


def standard_bits():
    a, b = integers(256, 3, 4), integers(256, 4, seed=1)
    for op in ("And", "Or", "Xor"):
        standard(f"bitwise_{op.lower()}", f"Bitwise{op}", [a, b])
    standard("bitwise_not", "BitwiseNot", [a.astype(np.int16)])


def standard_shapes():
    x = floats(2, 3, 5)
    standard("center_crop_pad", "CenterCropPad", [x, np.array([4, 2], np.int64)], {"axes": [1, 2]})
    standard("center_crop_pad_odd", "CenterCropPad", [x, np.array([3, 6, 2], np.int64)])
    for size in ([1, 1, 2, 3], [1, 1, 2, 2, 3]):
        theta = floats(1, len(size) - 2, len(size) - 1)
        for corners in (0, 1):
            standard(f"affine_grid_{len(size) - 2}d_{corners}", "AffineGrid",
                     [theta, np.array(size, np.int64)], {"align_corners": corners})
    columns = floats(1, 8, 9)  # two channels, windows of 2 by 2, three by three of them
    standard("col2im", "Col2Im", [columns, np.array([4, 4], np.int64), np.array([2, 2], np.int64)])
    standard("col2im_strided", "Col2Im",
             [floats(1, 8, 4), np.array([4, 4], np.int64), np.array([2, 2], np.int64)],
             {"strides": [2, 2]})
    standard("col2im_padded", "Col2Im",
             [floats(1, 4, 25), np.array([4, 4], np.int64), np.array([2, 2], np.int64)],
             {"pads": [1, 1, 1, 1]})


def standard_windows():
    x = floats(1, 2, 5, 5)
    standard("lp_pool", "LpPool", [x], {"kernel_shape": [2, 2], "p": 3})
    standard("lp_pool_strided", "LpPool", [x],
             {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0]})
    standard("global_lp_pool", "GlobalLpPool", [x], {"p": 3},
             expected=[(np.abs(x) ** 3).sum((2, 3), keepdims=True) ** np.float32(1 / 3)])


def standard_normalizations():
    x = floats(2, 4, 3, 3)
    scale, bias = floats(4, seed=1), floats(4, seed=2)
    standard("group_normalization", "GroupNormalization", [x, scale, bias], {"num_groups": 2})
    standard("group_normalization_18", "GroupNormalization", [x, scale[:2], bias[:2]],
             {"num_groups": 2}, opset=18)
    # The reference implementation forgets the absolute values.
    case("lp_normalization_1", "LpNormalization", [x], {"p": 1, "axis": 1}, domain="")
    standard("lp_normalization_2", "LpNormalization", [x], {"p": 2, "axis": -1})
    standard("rms_normalization", "RMSNormalization", [floats(2, 3, 8), floats(8, seed=1)],
             {"epsilon": 1e-3}, opset=23)
    standard("rms_normalization_axis", "RMSNormalization", [floats(2, 3, 8), floats(3, 8, seed=1)],
             {"axis": 1}, opset=23)


def standard_attention():
    q, k, v = floats(2, 4, 3, 8), floats(2, 2, 5, 8, seed=1), floats(2, 2, 5, 8, seed=2)
    standard("attention", "Attention", [q, k, v], opset=23)
    standard("attention_causal", "Attention", [q, k, v], {"is_causal": 1, "scale": 0.5}, opset=23)
    standard("attention_mask", "Attention", [q, k, v, floats(3, 5, seed=3)], {"softcap": 3.0},
             opset=23)
    seen = integers(2, 2, 1, 3, 5, seed=4).astype(bool)
    seen[..., 0] = True
    standard("attention_seen", "Attention", [q, k, v, seen], opset=23)
    flat = [x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1).copy() for x in (q, k, v)]
    standard("attention_3d", "Attention", flat, {"q_num_heads": 4, "kv_num_heads": 2}, opset=23)
    past = [floats(2, 2, 4, 8, seed=5), floats(2, 2, 4, 8, seed=6)]
    standard("attention_past", "Attention", [q, k, v, None, *past], outputs=3, opset=23)
    tables = (floats(9, 2, seed=1), floats(9, 2, seed=2))
    at = np.array([[0, 3, 1], [5, 8, 2]], np.int64)
    standard("rotary_embedding", "RotaryEmbedding", [floats(2, 2, 3, 4), *tables, at], opset=23)
    standard("rotary_embedding_interleaved", "RotaryEmbedding", [floats(2, 2, 3, 4), *tables, at],
             {"interleaved": 1}, opset=23)
    standard("rotary_embedding_3d", "RotaryEmbedding", [floats(2, 3, 8), *tables, at],
             {"num_heads": 2}, opset=23)
    standard("rotary_embedding_part", "RotaryEmbedding", [floats(2, 2, 3, 6), *tables, at],
             {"rotary_embedding_dim": 4}, opset=23)


def standard_others():
    cache, update = floats(2, 2, 5, 3), floats(2, 2, 2, 3, seed=1)
    starts = np.array([1, 3], np.int64)
    standard("tensor_scatter", "TensorScatter", [cache, update, starts], opset=24)
    standard("tensor_scatter_circular", "TensorScatter", [cache, update, np.array([4, 0], np.int64)],
             {"mode": "circular"}, opset=24)
    x = floats(2, 4)
    standard("cum_prod", "CumProd", [x, np.array(1, np.int64)], opset=26,
             expected=[np.cumprod(x, 1)])
    exclusive = np.cumprod(np.concatenate([np.ones((2, 1), np.float32), x[:, :0:-1]], 1), 1)
    standard("cum_prod_reverse_exclusive", "CumProd", [x, np.array(1, np.int64)],
             {"exclusive": 1, "reverse": 1}, opset=26, expected=[exclusive[:, ::-1].copy()])
    standard("bit_cast", "BitCast", [x], {"to": TensorProto.INT32}, opset=26,
             expected=[x.view(np.int32)])
    image, offset = floats(1, 1, 4, 4), floats(1, 8, 3, 3, seed=1)
    standard("deform_conv", "DeformConv",
             [image, floats(2, 1, 2, 2, seed=2), offset, floats(2, seed=3),
              np.abs(floats(1, 4, 3, 3, seed=4))],
             {"kernel_shape": [2, 2], "pads": [0, 0, 0, 0]}, opset=19)


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    activations()
    normalizations()
    products()
    quantization()
    indexing()
    attention()
    group_query_attention()
    rotary()
    standard_activations()
    standard_bits()
    standard_shapes()
    standard_windows()
    standard_normalizations()
    standard_attention()
    standard_others()
