"""Compile every CUDA source for several kinds of GPU: needs CuPy and NVRTC, but no GPU.

Run it by hand after a change of a source: `python tests/compile_cuda.py`.
"""

import itertools
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "clustertrust" / "kernels" / "cuda"
# Volta, Turing, Ampere, Ada, Hopper.
KINDS = ("70", "75", "80", "86", "89", "90")
# One feature tile, several, and a last one that is not full, in both precisions.
SUMS = [
    (f"-DREAL={real}", f"-DD={d}", f"-DCHUNK={chunk}", f"-DKIND={kind}")
    for real, (d, chunk), kind in itertools.product(
        ("float", "double"), ((20, 20), (40, 16), (20, 8)), range(4)
    )
]
OPTIONS = {
    "cells": [()],
    "kmeans": [()],
    "silhouettes": [("-DPOINTS=64",), ("-DPOINTS=8",)],
    "sums": SUMS,
}


def log_of(name, kind, options):
    """Return what the compiler says where it fails, else nothing."""
    from cupy.cuda import nvrtc  # here, since pytest imports this file without CuPy

    code = (SOURCES / f"{name}.cu").read_text(encoding="utf-8")
    program = nvrtc.createProgram(code, f"{name}.cu", [], [])
    try:
        # Down to machine code: PTX alone does not show what a kind of GPU lacks.
        nvrtc.compileProgram(program, ("-std=c++17", f"--gpu-architecture=sm_{kind}", *options))
    except nvrtc.NVRTCError:
        return nvrtc.getProgramLog(program)
    return ""


def main():
    """Compile all, and say what failed."""
    from cupy.cuda import nvrtc

    assert {path.stem for path in SOURCES.glob("*.cu")} == set(OPTIONS)
    jobs = [
        (name, kind, options)
        for kind in KINDS
        for name, several in OPTIONS.items()
        for options in several
    ]
    failed = {job: log for job in jobs if (log := log_of(*job))}
    for job, log in failed.items():
        sys.stdout.write(f"{job}\n{log}\n")
    sys.stdout.write(
        f"NVRTC {'.'.join(map(str, nvrtc.getVersion()))}: {len(jobs) - len(failed)} of {len(jobs)} compiled\n"
    )
    sys.exit(f"{len(failed)} failed" if failed else 0)


if __name__ == "__main__":
    main()
