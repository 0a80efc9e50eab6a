#!/usr/bin/env python3
"""Step time on CPU beside XLA's CPU build of the same program, in one run on one machine.

usage: bench/cpu_vs_jax.py [--build build/release] [--programs a,b] [--steps N] [--repeat N]

For every program in tests/data/models: its model.mlir compiled by jaxlib (which takes StableHLO text
as it is) and by spmd-run, with one device or rank and with as many as its mesh has. Prints median
milliseconds per step and the ratio ours / JAX: below 1 is faster than JAX. Rounds alternate between
the two, so that a drift of the machine's speed hits both. Needs the virtual environment that
scripts/setup_peers.sh makes; nothing of it is needed to build or run spmd.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "data" / "models"


def without_shardings(text):
    """The program for one device: no mesh, no sharding annotations."""
    text = re.sub(r"^\s*sdy\.mesh .*\n", "", text, flags=re.M)
    annotation = r"sdy\.sharding = #sdy\.sharding<@\w+, \[[^\]]*\]>"
    text = re.sub(rf", {annotation}|{annotation}(, )?", "", text)
    text = re.sub(r"^(\s*)(%\S+) = sdy\.sharding_constraint (%\S+) <.*> : (tensor<\S+>)",
                  r"\1\2 = stablehlo.optimization_barrier \3 : \4", text, flags=re.M)
    text = re.sub(r"mhlo\.num_partitions = \d+", "mhlo.num_partitions = 1", text)
    return re.sub(r"\s\{\s*\}(?=[,)])", "", text)


def time_jax(program, devices, steps):
    """Median milliseconds of a step; run in a process of its own, whose device count is fixed."""
    import jax
    import numpy as np
    from jaxlib import xla_client
    from safetensors.numpy import load_file

    folder = MODELS / program
    signature = json.loads((folder / "signature.json").read_text())
    text = (folder / "model.mlir").read_text()
    if devices == 1:
        text = without_shardings(text)
    state = load_file(folder / "state.safetensors")
    batches = load_file(folder / "batches.safetensors")
    mesh = jax.make_mesh(tuple(signature["mesh"].values()), tuple(signature["mesh"])) \
        if devices > 1 else None

    def place(value, spec):
        if mesh is None:
            return jax.device_put(value, jax.devices()[0])
        P = jax.sharding.PartitionSpec
        return jax.device_put(value, jax.sharding.NamedSharding(mesh, eval(spec, {"P": P})))

    arguments = []
    for argument in signature["arguments"]:
        if argument["role"] == "state":
            value = state[argument["name"]].reshape(argument["shape"])
        else:
            value = batches[argument["name"]][0]
        arguments.append(place(value.astype(argument["dtype"]), argument["sharding"]))

    options = xla_client.CompileOptions()
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, devices
    options.num_replicas, options.num_partitions = 1, devices
    if devices > 1:
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        build.device_assignment = xla_client.DeviceAssignment.create(
            np.arange(devices).reshape(1, devices))
    client = jax.devices()[0].client
    begin = time.perf_counter()
    executable = client.compile_and_load(
        text.encode(), xla_client.DeviceList(tuple(jax.devices()[:devices])), options)
    compile_ms = (time.perf_counter() - begin) * 1e3

    next_of = {a["index"]: a["result"] for a in signature["arguments"] if a["role"] == "state"}
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        for shards in results:
            for shard in shards:
                shard.block_until_ready()
        times.append((time.perf_counter() - begin) * 1e3)
        if devices == 1:
            for index, result in next_of.items():
                arguments[index] = results[result][0]
        else:
            # Donated arguments are gone: place the state again, outside the timed part.
            arguments = [place(state[a["name"]].reshape(a["shape"]).astype(a["dtype"]), a["sharding"])
                         if a["role"] == "state" else arguments[i]
                         for i, a in enumerate(signature["arguments"])]
    return {"step_ms": times[1:], "compile_ms": compile_ms}


def run_jax(program, devices, steps):
    environment = dict(os.environ, JAX_PLATFORMS="cpu",
                       XLA_FLAGS=f"--xla_force_host_platform_device_count={devices}")
    done = subprocess.run([sys.executable, __file__, "--jax", program, str(devices), str(steps)],
                          env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"
    return json.loads(done.stdout.splitlines()[-1]), None


def run_ours(build, program, ranks, steps):
    folder = MODELS / program
    mesh = json.loads((folder / "signature.json").read_text())["mesh"]
    if ranks == 1:
        mesh = {axis: 1 for axis in mesh}
    with tempfile.TemporaryDirectory() as report:
        done = subprocess.run(
            [build / "spmd-run", folder / "model.mlir", "--ranks", str(ranks),
             "--mesh", ",".join(f"{a}={n}" for a, n in mesh.items()),
             "--state", folder / "state.safetensors", "--batches", folder / "batches.safetensors",
             "--steps", str(steps), "--report", report], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip().splitlines()[0] if done.stderr.strip() else "failed"
        result = json.loads((pathlib.Path(report) / "report.json").read_text())
    return {"step_ms": [s["step_ms"] for s in result["steps"]][1:],
            "compile_ms": result["compile_ms"]}, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--programs", default=",".join(sorted(p.name for p in MODELS.iterdir() if p.is_dir())))
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(f"{'program':16} {'ranks':>5} {'ours ms':>9} {'JAX ms':>9} {'ratio':>6}   "
          f"{'compile ours':>12} {'JAX':>8}")
    for program in options.programs.split(","):
        signature = json.loads((MODELS / program / "signature.json").read_text())
        devices = 1
        for size in signature["mesh"].values():
            devices *= size
        for ranks in (1, devices):
            ours, jax_times, ours_compile, jax_compile, failure = [], [], [], [], None
            for _ in range(options.repeat):
                mine, failure = run_ours(options.build, program, ranks, signature["steps"])
                if mine is None:
                    break
                peer, failure = run_jax(program, ranks, signature["steps"])
                if peer is None:
                    break
                ours += mine["step_ms"]
                jax_times += peer["step_ms"]
                ours_compile.append(mine["compile_ms"])
                jax_compile.append(peer["compile_ms"])
            if failure:
                print(f"{program:16} {ranks:5}   not run: {failure}")
                continue
            a, b = statistics.median(ours), statistics.median(jax_times)
            print(f"{program:16} {ranks:5} {a:9.2f} {b:9.2f} {a / b:6.2f}   "
                  f"{min(ours_compile):12.1f} {min(jax_compile):8.1f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--jax":
        print(json.dumps(time_jax(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        main()
