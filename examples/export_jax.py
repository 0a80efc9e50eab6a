"""Exports a training step from JAX, with its state and batches, as spmd-run takes them:

    scripts/setup_peers.sh    # JAX into .venv, once
    . scripts/env.sh          # once a shell: Open MPI as root, more ranks than cores
    .venv/bin/python examples/export_jax.py exported
    mpirun -n 4 build/release/spmd-run exported/model.mlir --state exported/state.safetensors \\
        --batches exported/batches.safetensors --check exported/expected.safetensors
"""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from safetensors.numpy import save_file

jax.config.update("jax_num_cpu_devices", 4)  # devices to write the shardings for


def loss_of(params, x, y):
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] - y) ** 2)


def train_step(state, batch):  # -> the new state first, shaped like the old one; then metrics
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch["x"], batch["y"])
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], grads)
    params = jax.tree.map(lambda p, m: p - 0.02 * m, state["params"], momentum)
    return {"params": params, "momentum": momentum}, {"loss": loss}


def flat(tree):  # {"params": {"w1": array}} as {"params.w1": array}, which names tensors in files
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf)
            for path, leaf in leaves}


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "exported")
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
shapes = {"w1": (32, 64), "b1": (64,), "w2": (64, 8)}
params = {name: 0.2 * rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
state = {"params": params, "momentum": jax.tree.map(np.zeros_like, params)}
xs = rng.standard_normal((20, 16, 32), np.float32)  # 20 steps of batches of 16
batches = {"x": xs, "y": np.tanh(xs[..., :8])}
batch_of = lambda i: {name: value[i] for name, value in batches.items()}

# A sharding for each array of the state and of a batch: here all cut in four, along their first
# dimension. Donating the state says that the new one takes its place.
cut = NamedSharding(jax.make_mesh((4,), ("data",)), P("data"))
state_shardings, batch_shardings = jax.tree.map(lambda _: cut, (state, batch_of(0)))
step = jax.jit(train_step, donate_argnums=0, in_shardings=(state_shardings, batch_shardings),
               out_shardings=(state_shardings, None))
lowered = step.lower(state, batch_of(0))
(folder / "model.mlir").write_text(lowered.as_text(debug_info=True))
(folder / "model.hlo.pb").write_bytes(
    lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
save_file(flat(state), folder / "state.safetensors")
save_file(batches, folder / "batches.safetensors")

# For --check: the losses and the final state, as JAX computes them on one device.
losses = []
for i in range(len(xs)):
    state, metrics = jax.jit(train_step)(state, batch_of(i))
    losses.append(metrics["loss"])
save_file(flat(state) | {"loss": np.array(losses)}, folder / "expected.safetensors")
print("wrote", *sorted(str(path) for path in folder.iterdir()))
