#!/usr/bin/env python3
"""Training steps of full-size models on GPUs beside PyTorch and JAX, in one run on one machine.

    bench/gpu_vs_peers.py [--cases gpt2-xl,llama-7b,gpt2-xl-x2,llama-7b-x2] [--steps 10]
                          [--build build/release] [--peers torch,jax] [--cache-dir DIR]

The programs are in tests/data/large, the peers' in bench/peers: the same model, batch and
optimizer, random parameters and random tokens. For each case: median milliseconds a step, the ratio
ours / peer (below 1 is faster than the peer), MFU, GiB of memory at the peak and seconds of
compiling. Cases on two GPUs run where there are two. Needs Python with PyTorch and JAX for GPUs; a
peer that is missing or fails is named and left out.

MFU: 6 FLOPs for each parameter and 12 x layers x width x length for attention, per token, over the
989 TFLOP/s of an H100 or H200 (dense, 16 bits).
"""
import argparse
import array
import json
import math
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "data" / "large"
PEERS = ROOT / "bench" / "peers"
PEAK_FLOPS = 989e12

# batch: of each GPU.
CASES = {
    "gpt2-xl": dict(program="gpt2-xl-dp1", model="gpt2-xl", ranks=1, batch=8, length=1024,
                    vocabulary=50304, layers=48, width=1600, torch=[[]], jax=[]),
    "llama-7b": dict(program="llama-7b-dp1-fwdbwd", model="llama-7b", ranks=1, batch=1, length=2048,
                     vocabulary=32000, layers=32, width=4096, torch=[["noopt"]], jax=["noopt"]),
    "gpt2-xl-x2": dict(program="gpt2-xl-fsdp2", model="gpt2-xl", ranks=2, batch=8, length=1024,
                       vocabulary=50304, layers=48, width=1600, torch=[["fsdp"], ["ddp"]],
                       jax=["fsdp"]),
    "llama-7b-x2": dict(program="llama-7b-fsdp2", model="llama-7b", ranks=2, batch=2, length=2048,
                        vocabulary=32000, layers=32, width=4096, torch=[["fsdp"]], jax=["fsdp"]),
}


def save_tokens(path, case, steps):
    """One batch of random tokens and targets a step, as safetensors."""
    shape = [steps, case["ranks"] * case["batch"], case["length"]]
    draw = random.Random(0)
    header, data = {}, array.array("i")
    for name in ("tok", "tgt"):
        begin = 4 * len(data)
        data.extend(draw.randrange(case["vocabulary"]) for _ in range(math.prod(shape)))
        header[name] = {"dtype": "I32", "shape": shape, "data_offsets": [begin, 4 * len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.tobytes())


def output_of(command, seconds, gpus=None):
    """`gpus`: how many the command may see."""
    environment = dict(os.environ)
    if gpus is not None:
        seen = environment.get("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7").split(",")
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(seen[:gpus])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                              env=environment)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return (done.stdout if done.returncode == 0 else None), (done.stdout + done.stderr)[-1500:]


def run_ours(args, case, folder):
    report, batches = folder / "report", folder / "batches.safetensors"
    save_tokens(batches, case, args.steps + 2)
    launch = [] if case["ranks"] == 1 else ["mpirun", "-n", str(case["ranks"])]
    command = launch + [f"{args.build}/spmd-run", str(PROGRAMS / f"{case['program']}.hlo.pb.gz"),
                        "--device", "cuda", "--init", "random", "--batches", str(batches),
                        "--report", str(report), "--set", "log.progress=off"]
    if args.cache_dir:
        command += ["--cache-dir", args.cache_dir]
    output, text = output_of(command, args.seconds, case["ranks"])
    if output is None:
        return {"error": text}
    found = json.loads((report / "report.json").read_text())
    steps = [step["step_ms"] for step in found["steps"]][2:]  # the first ones warm up
    loss = json.loads((report / "metrics.jsonl").read_text().splitlines()[-1])["loss"]
    return {"name": "spmd", "ms": statistics.median(steps), "min_ms": min(steps), "loss": loss,
            "peak_gb": found["peak_memory_bytes"] / 2**30, "compile_s": found["compile_ms"] / 1e3}


def run_peer(command, name, seconds, gpus):
    output, text = output_of(command, seconds, gpus)
    lines = [line for line in (output or "").splitlines() if line.startswith("{")]
    return {"name": name, **json.loads(lines[-1])} if lines else {"name": name, "error": text}


def run_peers(args, case):
    size = [str(case["batch"]), str(case["length"]), str(args.steps)]
    peers = args.peers.split(",")
    if "torch" in peers:
        for options in case["torch"]:
            launch = [sys.executable] if case["ranks"] == 1 else \
                ["torchrun", "--nproc-per-node", str(case["ranks"])]
            command = launch + [str(PEERS / "train_torch.py"), case["model"], "default"] + size
            yield run_peer(command + options, " ".join(["torch.compile"] + options), args.seconds,
                           case["ranks"])
    if "jax" in peers:
        command = [sys.executable, str(PEERS / "train_jax.py"), case["model"]] + size
        yield run_peer(command + case["jax"], " ".join(["JAX"] + case["jax"]), args.seconds, case["ranks"])


def flops(case, parameters):
    tokens = case["batch"] * case["length"]
    return tokens * (6 * parameters + 12 * case["layers"] * case["width"] * case["length"])


def print_case(name, case, ours, peers):
    parameters = next((peer["params"] for peer in peers if "params" in peer), None)
    for row in [ours] + peers:
        if "error" in row:
            print(f"{name:12} {row.get('name', 'spmd'):22} failed: {row['error']}")
            continue
        ratio = "" if row is ours or "ms" not in ours else f"{ours['ms'] / row['ms']:.3f}"
        share = flops(case, parameters) / row["ms"] * 1e3 / PEAK_FLOPS if parameters else None
        mfu = "" if share is None else f"{100 * share:.1f}"
        memory = "" if row.get("peak_gb") is None else f"{row['peak_gb']:.1f}"
        print(f"{name:12} {row['name']:22} {row['ms']:8.1f} {row['min_ms']:8.1f} {ratio:>7} "
              f"{mfu:>6} {memory:>6} {row['compile_s']:9.1f} {row['loss']:8.3f}", flush=True)


def num_gpus():
    output, _ = output_of(["nvidia-smi", "-L"], 60)
    return len((output or "").strip().splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    parser.add_argument("--peers", default="torch,jax")
    parser.add_argument("--cache-dir", default="")
    parser.add_argument("--seconds", type=int, default=300, help="of each program, at most")
    args = parser.parse_args()
    print(f"{'case':12} {'program':22} {'ms':>8} {'least':>8} {'ratio':>7} {'MFU %':>6} {'GiB':>6} "
          f"{'compile s':>9} {'loss':>8}")
    gpus = num_gpus()
    for name in args.cases.split(","):
        case = CASES[name]
        if case["ranks"] > gpus:
            print(f"{name:12} needs {case['ranks']} GPUs, {gpus} found")
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours = run_ours(args, case, pathlib.Path(folder))
        print_case(name, case, ours, list(run_peers(args, case)))


if __name__ == "__main__":
    main()
