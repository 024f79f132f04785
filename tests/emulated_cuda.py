"""The CUDA sources as C++ for the CPU, so that the kernels themselves run where there is no GPU.

`make test-emulated` runs the tests of the GPU with them; it needs g++. The threads of a block are
fibers: each runs up to the next barrier, then the next one does. Blocks run one after the other.
So results of the kernels, their indices and barriers are tested; speed, asynchronous copies and
what threads of different blocks do to each other are not.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

# Compiled sources are kept here.
FOLDER = Path(__file__).parents[1] / "build" / "emulated"
SHIM = r"""
#include <ucontext.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) alignas(n)
struct int4 { int x, y, z, w; };
struct Place { unsigned x, y, z; };
static Place threadIdx, blockIdx, blockDim, gridDim;
static char* dynamic_memory;
static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<char> finished;
static std::vector<double> exchanged;
static const std::function<void()>* body;

static void __syncthreads() { swapcontext(&fibers[threadIdx.x], &scheduler); }
static void fiber() {
    (*body)();
    finished[threadIdx.x] = 1;
    swapcontext(&fibers[threadIdx.x], &scheduler);
}
template <class T> T exchange(T value, unsigned with) {  // all threads of the block take part
    std::memcpy(&exchanged[threadIdx.x], &value, sizeof(T));
    __syncthreads();
    T other;
    std::memcpy(&other, &exchanged[with], sizeof(T));
    __syncthreads();
    return other;
}
template <class T> T __shfl_xor_sync(unsigned, T value, int step) { return exchange(value, threadIdx.x ^ step); }
static unsigned __ballot_sync(unsigned, bool value) {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        bits |= (unsigned)exchange(value, (threadIdx.x & ~31u) + lane) << lane;
    return bits;
}
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static long long __double2ll_rn(double x) { return std::llrint(x); }
template <class To, class From> To same_bits(From x) { To y; std::memcpy(&y, &x, sizeof(To)); return y; }
static float __int_as_float(int x) { return same_bits<float>(x); }
static double __longlong_as_double(long long x) { return same_bits<double>(x); }
template <class T> T atomicAdd(T* at, T value) { T old = *at; *at += value; return old; }
static int atomicMin(int* at, int value) { int old = *at; *at = std::min(old, value); return old; }

static void run(const unsigned* grid, unsigned block, size_t shared, const std::function<void()>& kernel) {
    const size_t stack = 1 << 16;
    std::vector<char> stacks(stack * block), memory(shared + 16);
    dynamic_memory = memory.data() + (16 - (size_t)memory.data() % 16) % 16;
    body = &kernel;
    fibers.resize(block), exchanged.resize(block);
    gridDim = {grid[0], grid[1], grid[2]}, blockDim = {block, 1, 1};
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = {x, y, z};
                std::memset(memory.data(), 0xa5, memory.size());  // what nobody has written is no zero
                finished.assign(block, 0);
                for (unsigned t = 0; t < block; t++) {
                    getcontext(&fibers[t]);
                    fibers[t].uc_stack.ss_sp = stacks.data() + t * stack;
                    fibers[t].uc_stack.ss_size = stack;
                    fibers[t].uc_link = nullptr;
                    makecontext(&fibers[t], fiber, 0);
                }
                for (bool alive = true; alive;) {
                    alive = false;
                    for (unsigned t = 0; t < block; t++)
                        if (!finished[t]) {
                            alive = true;
                            threadIdx = {t, 0, 0};
                            swapcontext(&scheduler, &fibers[t]);
                        }
                }
            }
}
"""
# What is written for the machine itself.
PLAIN = {
    r'float y;\s*asm\("sqrt.approx.*?;\s*return y;': "return std::sqrt(x);",
    r"extern __shared__ (?:__align__\(16\) )?(\w+) (\w+)\[\];": r"\1* \2 = (\1*)dynamic_memory;",
}


def load(code, options, signatures):
    """The kernels of a source, compiled for the CPU."""
    for pattern, plain in PLAIN.items():
        code = re.sub(pattern, plain, code, flags=re.DOTALL)
    calls = [
        f'extern "C" void run_{name}(const unsigned* grid, unsigned block, size_t shared, void** given) '
        f"{{ run(grid, block, shared, [&] {{ {name}({', '.join(_given(kinds))}); }}); }}"
        for name, (_, kinds) in signatures.items()
    ]
    text = "\n".join([SHIM, code, *calls])
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(repr((text, options)).encode()).hexdigest()[:20]
    built = FOLDER / f"{name}.so"
    if not built.exists():
        # Processes of pytest may compile it at the same time: each a file of its own, then renamed.
        part, source = (FOLDER / f"{name}-{os.getpid()}.{kind}" for kind in ("so", "cpp"))
        source.write_text(text, encoding="utf-8")
        macros = [option for option in options if option.startswith("-D")]
        words = ("-O2", "-std=c++20", "-shared", "-fPIC", "-w", "-ffp-contract=off")
        subprocess.run([shutil.which("g++"), *words, *macros, "-o", part, source], check=True)
        part.replace(built)
    # It holds the interpreter, so that threads of Python come one after the other.
    return ctypes.PyDLL(str(built))


def _given(kinds):
    for i, (word, star) in enumerate(kinds):
        yield f"*({word}{star}*)given[{i}]"


def launch(library, name, grid, block, arguments, shared_mem):
    """Run a kernel on arrays of NumPy and numbers of its types."""
    held = [
        np.array([one.ctypes.data if isinstance(one, np.ndarray) else one]) for one in arguments
    ]
    given = (ctypes.c_void_p * len(held))(*(one.ctypes.data for one in held))
    sizes = (ctypes.c_uint * 3)(*grid, *(1,) * (3 - len(grid)))
    run = getattr(library, f"run_{name}")
    run(sizes, ctypes.c_uint(block[0]), ctypes.c_size_t(shared_mem), given)
