"""Kill -9 at random moments during a checkpointed build, twenty times: is the result that of an
undisturbed one?
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from benchmarks.common import HERE, Row
from clustertrust import Ensemble, build_ensemble

BUILD = """
import sys
from sklearn.datasets import load_iris
from clustertrust import Runs, build_ensemble
runs = Runs(40, checkpoint=sys.argv[1])
build_ensemble(load_iris().data, ["kmeans", "gmm"], n_clusters=3, n_runs=runs, random_state=0,
               n_jobs=2).save(sys.argv[2])
"""
BUILDS = 20


def killed_build(folder: Path, rng: np.random.Generator) -> tuple[Ensemble, int]:
    """Build in processes that are killed at random moments, until one of them ends.

    Also how many were killed.
    """
    runs, out = folder / "runs", folder / "out.npz"
    kills = 0
    while not out.exists():
        process = subprocess.Popen(
            [sys.executable, "-c", BUILD, str(runs), str(out)], cwd=HERE.parent
        )
        wanted = len(list(runs.glob("run-*.npz"))) + int(rng.integers(5, 25))
        while process.poll() is None:
            if len(list(runs.glob("run-*.npz"))) >= wanted:
                time.sleep(rng.random() * 0.02)
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.001)
        process.wait()
    return Ensemble.load(out), kills


def run() -> Iterator[Row]:
    """Yield one row: builds that differ from the undisturbed one, and kills."""
    X = load_iris().data
    whole = build_ensemble(X, ["kmeans", "gmm"], n_clusters=3, n_runs=40, random_state=0)
    rng = np.random.default_rng(0)
    differing, kills = 0, 0
    for _ in range(BUILDS):
        with tempfile.TemporaryDirectory() as folder:
            ensemble, killed = killed_build(Path(folder), rng)
        kills += killed
        same = np.array_equal(ensemble.labels, whole.labels) and np.array_equal(
            ensemble.place(X), whole.place(X)
        )
        differing += not same
    what = f"{BUILDS} checkpointed builds, killed {kills} times: builds that differ from an undisturbed one"
    yield Row(
        what,
        differing,
        "builds",
        BUILDS,
        differing / BUILDS,
        "0",
        "yes" if differing == 0 else "no",
    )
