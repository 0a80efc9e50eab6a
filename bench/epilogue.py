#!/usr/bin/env python3
"""Products with bias and ReLU beside bare ones, on the GPU: step times of two programs that differ
in nothing else, and their ratio.

    bench/epilogue.py [--spmd-run build/release/spmd-run] [--steps 50] [--products 8]

Each program has several products of 4096 x 4096 x 11008 in bfloat16 with weights of their own, so
that starting a step weighs little. The two take turns, three times; the best mean counts.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

M, N, K = 4096, 4096, 11008


def program(products, epilogue):
    x, w, y, b = (f"tensor<{s}xbf16>" for s in (f"{M}x{K}", f"{K}x{N}", f"{M}x{N}", f"{N}"))
    arguments = [f"%x: {x}"]
    body = [f"%zero = stablehlo.constant dense<0.0> : {y}"] if epilogue else []
    results = []
    for i in range(products):
        arguments += [f"%w{i}: {w}", f"%b{i}: {b}"]
        body.append(f"%p{i} = stablehlo.dot_general %x, %w{i}, contracting_dims = [1] x [0] : "
                    f"({x}, {w}) -> {y}")
        results.append(f"%r{i}" if epilogue else f"%p{i}")
        if epilogue:
            body += [f"%c{i} = stablehlo.broadcast_in_dim %b{i}, dims = [1] : ({b}) -> {y}",
                     f"%s{i} = stablehlo.add %p{i}, %c{i} : {y}",
                     f"%r{i} = stablehlo.maximum %s{i}, %zero : {y}"]
    types = ", ".join([y] * products)
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
        for kind in ("bare", "epilogue"):
            (folder / f"{kind}.mlir").write_text(program(args.products, kind == "epilogue"))
        for _ in range(3):
            for kind in ("bare", "epilogue"):
                ms = step_ms(args, folder, kind)
                best[kind] = min(best.get(kind, ms), ms)
    for kind, ms in best.items():
        each = ms / args.products
        print(f"{kind:<10} {each:.4f} ms each, {2e-9 * M * N * K / each:.0f} TFLOP/s")
    print(f"ratio {best['epilogue'] / best['bare']:.4f} (wanted: at most 1.03)")


if __name__ == "__main__":
    main()
