"""Other processors, as far as this one can stand in for them: settings under which printed numbers
are compared again.

`python tests/portable.py` (`make test-portable`) runs the tests marked `printed` (the code of all
pages is among them) and the doctests under each setting, and fails if one of them does.
`tests/test_portable.py` is its quick part.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
AVX2 = {"X86_V3", "AVX", "F16C", "FMA3", "AVX2"}  # names since NumPy 2.4, and before


def numpy_features() -> dict[str, bool]:
    """What NumPy has code of its own for, and whether this processor has it."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    except ImportError:
        return {}
    return {name: __cpu_features__[name] for name in __cpu_dispatch__}


def settings() -> dict[str, dict[str, str]]:
    """Environments by name: one library at a time, then a whole processor of two kinds.

    Numba keeps machine code of different processors apart in its cache: their names are part of the
    key.
    """
    here = [name for name, has in numpy_features().items() if has]
    avx512 = [name for name in here if name.startswith("AVX512") or name == "X86_V4"]
    avx2 = [name for name in here if name in AVX2]
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    found = {"numba generic": {"NUMBA_CPU_NAME": "generic"}}
    if avx512:
        found["NumPy without AVX-512"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(avx512)}
    if avx2:
        found["NumPy without AVX2"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(avx2 + avx512)}
        found["OpenBLAS Haswell"] = {
            "OPENBLAS_CORETYPE": "Haswell"
        }  # where AVX2 is missing it would crash
    if is_x86:
        found["OpenBLAS Prescott"] = {"OPENBLAS_CORETYPE": "Prescott"}
    together = {
        "like AVX2": ("NumPy without AVX-512", "OpenBLAS Haswell"),
        "like plain x86-64": ("NumPy without AVX2", "OpenBLAS Prescott", "numba generic"),
    }
    for name, parts in together.items():
        if set(parts) <= set(found):
            found[name] = {key: value for part in parts for key, value in found[part].items()}
    return found


def run_tests(
    setting: dict[str, str], arguments: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own: the libraries read their settings when they are loaded."""
    # Those of a run with xdist would make the child believe that it is a worker.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment | setting | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
    )


def in_use() -> dict[str, object]:
    """What the libraries of this process use: features of NumPy, kernels of OpenBLAS, the processor
    of Numba.
    """
    import numba
    import scipy.linalg  # noqa: F401 - loads its own OpenBLAS
    from threadpoolctl import threadpool_info

    kernels = {
        found["architecture"] for found in threadpool_info() if found["internal_api"] == "openblas"
    }
    return {
        "numpy": sorted(name for name, has in numpy_features().items() if has),
        "openblas": sorted(kernels),
        "numba": numba.config.CPU_NAME or "host",
    }


# The source distribution has no experiments.
PRINTED = [name for name in ("tests", "experiments/tests") if (ROOT / name).exists()]
PARTS = {
    "printed": ["-n", "auto", "--dist", "loadgroup", "-m", "printed", *PRINTED],
    "doctests": ["-n", "0", "src"],
}


def main() -> None:
    """Run everything that is printed or committed under the settings named, or under all."""
    known = settings()
    chosen = sys.argv[1:] or list(known)
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        sys.exit(f"{unknown} are no settings of this machine; choose from {list(known)}.")
    print(f"Here, without a setting: {in_use()}", flush=True)
    failed = []
    for name in chosen:
        for part, arguments in PARTS.items():
            done = run_tests(known[name], arguments)
            told = done.stdout + done.stderr
            print(f"{name}, {part}: {told.strip().splitlines()[-1]}", flush=True)
            if done.returncode != 0:
                failed.append(f"{name}, {part}")
                print(told, flush=True)
    if failed:
        sys.exit(f"Numbers move: {'; '.join(failed)}.")


if __name__ == "__main__":
    main()
