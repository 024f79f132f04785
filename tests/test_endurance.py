"""A hard limit on memory, and a short form of random damage (`make test-fuzz`)."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz.processes import run_target

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="reads /proc and limits memory as Linux does"
)

MIB = 2**20
ROOM, DATA = 80, 160  # MiB: what the process may take beyond a small fit, and what the file holds

UNDER_A_LIMIT = f"""
import resource, sys
import numpy as np, sklearn
from clustertrust import CAKE
path = sys.argv[1]
sklearn.set_config(working_memory=8)
how = dict(n_runs=2, geometry="rms", random_state=0, n_jobs=1)
CAKE(3, **how).fit(np.random.default_rng(0).normal(size=(300, 20)))
held = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
limit = int(held.split()[1]) * 1024 + {ROOM * MIB}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.load(path)
except MemoryError:
    print("the file does not fit")
cake = CAKE(3, **how).fit(path)
print(len(cake.scores_), float(np.mean(cake.scores_)))
"""


def test_a_file_larger_than_the_memory_allowed(tmp_path):
    n = DATA * MIB // (20 * 8)
    rng = np.random.default_rng(0)
    out = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, (n, 20))
    for low in range(0, n, 100_000):
        size = min(100_000, n - low)
        out[low : low + size] = rng.integers(0, 3, (size, 1)) * 10 + rng.normal(size=(size, 20))
    out.flush()
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT, str(tmp_path / "x.npy")],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    refused, told = done.stdout.splitlines()
    assert refused == "the file does not fit"
    assert int(told.split()[0]) == n
    assert 0.5 < float(told.split()[1]) <= 1  # three blobs far apart


@pytest.mark.parametrize("target", ["blocks", "model", "confidence", "arguments"])
def test_random_damage_is_refused_or_harmless(target, tmp_path):
    found = run_target(target, 1.0, 7, tmp_path)
    assert found["inputs"] > 0
    assert found["finds"] == 0, list(tmp_path.iterdir())
