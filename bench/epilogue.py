#!/usr/bin/env python3
"""Products with bias and ReLU, with bias and GELU (alone and with what GELU is applied to as a second
result), and with GELU's gradient beside bare ones, on the GPU: step times of programs that differ in
nothing else, and their ratios to the bare one's. The device takes the library's epilogue or a kernel
of ours, whichever it finds faster.

    bench/epilogue.py [--spmd-run build/release/spmd-run] [--steps 50] [--products 8]

Each program has several products of 4096 x 4096 x 11008 in bfloat16 with weights of their own, so
that starting a step weighs little. They take turns, three times; the best mean counts.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

M, N, K = 4096, 4096, 11008


# Lines "result op operand..."; %u is what is activated, %g the gradient, %r the result.
GELU = ["u2 multiply u u", "u3 multiply u u2", "a multiply u3 k", "s add u a", "v multiply s q",
        "t tanh v", "o add t one", "m multiply o h", "r multiply u m"]
GELU_GRADIENT = GELU[:8] + ["f subtract one t", "j multiply o f", "d multiply u2 k3", "e add d one",
                            "l multiply e q", "n multiply j l", "v1 multiply n u", "y multiply v1 h",
                            "z add m y", "r multiply g z"]
ACTIVATIONS = {"bare": [], "relu": ["r maximum u zero"], "gelu": GELU, "gelu_aux": GELU,
               "gelu_gradient": GELU_GRADIENT}
CONSTANTS = {"zero": 0.0, "one": 1.0, "h": 0.5, "k": 0.044715, "k3": 0.134145, "q": 0.7978845608}


def activation(kind, i, y):
    lines = []
    for line in ACTIVATIONS[kind]:
        result, op, *operands = line.split()
        names = ", ".join(f"%{o}" if o in CONSTANTS else f"%{o}{i}" for o in operands)
        lines.append(f"%{result}{i} = stablehlo.{op} {names} : {y}")
    return lines


def program(products, kind):
    x, w, y, b = (f"tensor<{s}xbf16>" for s in (f"{M}x{K}", f"{K}x{N}", f"{M}x{N}", f"{N}"))
    arguments = [f"%x: {x}"]
    body = [f"%{name} = stablehlo.constant dense<{value}> : {y}" for name, value in CONSTANTS.items()]
    results = []
    for i in range(products):
        is_gradient = kind == "gelu_gradient"
        product = "g" if is_gradient else "r" if kind == "bare" else "p"
        arguments += [f"%w{i}: {w}", f"%u{i}: {y}" if is_gradient else f"%b{i}: {b}"]
        body.append(f"%{product}{i} = stablehlo.dot_general %x, %w{i}, contracting_dims = [1] x [0] : "
                    f"({x}, {w}) -> {y}")
        if product == "p":
            body += [f"%c{i} = stablehlo.broadcast_in_dim %b{i}, dims = [1] : ({b}) -> {y}",
                     f"%u{i} = stablehlo.add %p{i}, %c{i} : {y}"]
        body += activation(kind, i, y)
        results += [f"%r{i}", f"%u{i}"] if kind == "gelu_aux" else [f"%r{i}"]
    types = ", ".join([y] * len(results))
    lines = "\n    ".join(body + [f"return {', '.join(results)} : {types}"])
    return (f"module @epilogue {{\n  func.func public @main({', '.join(arguments)}) -> ({types}) "
            f"{{\n    {lines}\n  }}\n}}\n")


def step_ms(args, folder, name):
    report = folder / name
    command = [args.spmd_run, str(folder / f"{name}.mlir"), "--device", args.device, "--init",
               "random", "--steps", str(args.steps), "--report", str(report)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    steps = json.loads((report / "report.json").read_text())["steps"][1:]  # the first one warms up
    return sum(step["step_ms"] for step in steps) / len(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spmd-run", default="build/release/spmd-run")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--products", type=int, default=8)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        best = {}
        for kind in ACTIVATIONS:
            (folder / f"{kind}.mlir").write_text(program(args.products, kind))
        for _ in range(3):
            for kind in ACTIVATIONS:
                ms = step_ms(args, folder, kind)
                best[kind] = min(best.get(kind, ms), ms)
    for kind, ms in best.items():
        each = ms / args.products
        print(f"{kind:<14} {each:.4f} ms each, {2e-9 * M * N * K / each:.0f} TFLOP/s, "
              f"ratio {ms / best['bare']:.4f}")
    print("wanted: at most 1.03 for relu")


if __name__ == "__main__":
    main()
