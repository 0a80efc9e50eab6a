"""Writes the bytecode of the programs in this folder, by jaxlib's own serializer.

    python tests/data/vhlo/generate.py

For each NAME.mlir and each version of VHLO that can hold it: NAME.VERSION.mlirbc. Serializing first
canonicalises a program, so NAME.mlir is replaced by the text of what its newest bytecode holds, of
which a second run changes nothing. Also writes FUNCTION.jaxexport, files of jax.export, and their
programs as text, FUNCTION.mlir, which it does not serialise again; of those with symbolic sizes the
text is for b=4, n=3 and t=5. Needs jax >= 0.12 and flatbuffers.
"""
import pathlib
import re

import jax
import jax.numpy as jnp
import jaxlib._jax as jaxlib
from jax import export
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path(__file__).resolve().parent
# Locations name files from the repository's root, wherever that lies.
jax.config.update("jax_hlo_source_file_canonicalization_regex",
                  re.escape(f"{FOLDER.parents[2]}/"))
# One of each container version (0, 1, 3, 4, 6), then those that changed encodings.
VERSIONS = ["0.9.0", "0.10.0", "0.12.0", "0.14.0", "0.15.0", "1.0.0", "1.10.0", "1.16.0", "1.22.0"]
# Programs of which one version shows enough.
NEWEST_ONLY = ["constants", "digits_mlp", "elementwise", "later_operations", "linalg"]

def symbolic_layer(x, w):
  """Reshapes, reductions, and a size as a number."""
  return jax.nn.softmax((x @ w).reshape(-1, 2), axis=-1).sum(axis=0) / x.shape[0]


def symbolic_shapes(x):
  """What else takes sizes: iota, slices, padding, gathers, concatenation."""
  return (jnp.concatenate([x, x], 0)[1:], jnp.arange(x.shape[0] + 1), x[::2],
          jnp.pad(x, ((1, x.shape[1]), (0, 0))), x[jnp.array([1, 0])])


def symbolic_scan(xs, h):
  return jax.lax.scan(lambda h, x: (jnp.tanh(h + x), h.sum()), h, xs)


EXPORTS = ["train_step", "with_derivative"]
# Functions of symbolic sizes, with the shapes of their arguments.
SYMBOLIC = {
    "symbolic_size": (lambda x: x * 2, ["b, 3"]),
    "symbolic_layer": (symbolic_layer, ["b, 3", "3, 2*n"]),
    "symbolic_shapes": (symbolic_shapes, ["b, n"]),
    "symbolic_scan": (symbolic_scan, ["t, b, 2", "b, 2"]),
}


def fixed_text(text):
  """The shape with the sizes that tests give the names."""
  return ", ".join(str(eval(dim, {"b": 4, "n": 3, "t": 5})) for dim in text.split(","))


def text_of(module):
  return module.operation.get_asm(enable_debug_info=True)


def serialize(module, version):
  return jaxlib.mlir.serialize_portable_artifact(module, version, True)


def write_bytecode(path, context):
  newest = serialize(ir.Module.parse(path.read_text()), VERSIONS[-1])
  module = stablehlo.deserialize_portable_artifact(context, newest)
  path.write_text(text_of(module))
  for version in VERSIONS[-1:] if path.stem in NEWEST_ONLY else VERSIONS:
    try:
      bytecode = serialize(ir.Module.parse(path.read_text()), version)
    except Exception:  # the version has no such operation
      continue
    (FOLDER / f"{path.stem}.{version}.mlirbc").write_bytes(bytecode)


def train_step(w, x):
  loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
  return w - 0.1 * gradient, loss


def write_exports():
  w, x = jnp.ones((3, 4)), jnp.ones((8, 3))
  step = export.export(jax.jit(train_step, donate_argnums=0))(w, x)
  (FOLDER / "train_step.jaxexport").write_bytes(step.serialize())
  (FOLDER / "train_step.mlir").write_text(step.mlir_module())
  product = export.export(jax.jit(lambda w, x: jnp.sin(x) @ w))(w, x)
  (FOLDER / "with_derivative.jaxexport").write_bytes(product.serialize(vjp_order=1))
  (FOLDER / "with_derivative.mlir").write_text(product.mlir_module())
  for name, (function, texts) in SYMBOLIC.items():
    scope = export.SymbolicScope()
    shapes = [export.symbolic_shape(text, scope=scope) for text in texts]
    symbolic = export.export(jax.jit(function))(
        *[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes])
    (FOLDER / f"{name}.jaxexport").write_bytes(symbolic.serialize())
    fixed = export.export(jax.jit(function))(
        *[jax.ShapeDtypeStruct(export.symbolic_shape(fixed_text(text)), jnp.float32)
          for text in texts])
    (FOLDER / f"{name}.mlir").write_text(fixed.mlir_module())


def main():
  context = mlir.make_ir_context()
  with context:
    for path in sorted(FOLDER.glob("*.mlir")):
      if path.stem not in EXPORTS and path.stem not in SYMBOLIC:
        write_bytecode(path, context)
  write_exports()


main()
