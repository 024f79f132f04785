"""Would a third kind of surrogates, the convex hull, keep less of bent and skewed shapes without clusters?

As `run.py`, with the paper's score, in two and three dimensions alone, where a hull can be drawn: points without
clusters, and the sets of `development.py`. Chance is the largest of three quantiles instead of two.

`python -m experiments.research.chance.hull` writes `results/hull.csv` and `results/hull.md`: a few minutes.
"""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import CAKE, null_reference
from clustertrust.chance import DRAWS, LEVEL, RUNS
from clustertrust.evaluation import correctness
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import folder
from experiments.research.chance.run import KS, NOISE, N, percent
from experiments.research.development import sets

DRAWN = 12
FLAT = ("ball", "exponential", "log-normal", "banana", "ring segment")


def measure(X: NDArray, k: int, seed: int, y: NDArray | None = None) -> dict[str, Any]:
    """What chance keeps, with and without the hull."""
    warnings.simplefilter("ignore")
    cake = CAKE(k, random_state=seed, n_jobs=1, device="cpu").fit(X)
    part = X[np.sort(np.random.default_rng(seed).permutation(len(X))[:1000])]
    few = CAKE(k, n_runs=RUNS, random_state=seed, n_jobs=1, device="cpu")
    filled = null_reference(part, few, families=("hull",), n_surrogates=DRAWS, level=0.5)
    two = cake.confidence_.cut().chance
    three = max(two, float(np.quantile(filled.pooled["hull"], LEVEL)))
    found: dict[str, Any] = {"k": k, "chance": two, "with_hull": three}
    right = None if y is None else correctness(cake.labels_, y)
    for name, chance in (("two", two), ("three", three)):
        kept = cake.scores_ > chance
        found[f"kept_{name}"] = kept.mean()
        if right is not None:
            found[f"right_{name}"] = right[kept].mean() if kept.any() else np.nan
    return found


def noise_row(kind: str, k: int, draw: int) -> dict[str, Any]:
    """One draw of noise, the one of `run.py`."""
    seed = np.random.SeedSequence([list(NOISE).index(kind), k, draw])
    return {"group": "noise", "kind": kind} | measure(
        NOISE[kind](np.random.default_rng(seed), N), k, draw
    )


def set_row(position: int) -> dict[str, Any]:
    """One set of known classes."""
    case = sets()[position]
    return {"group": "sets", "kind": case.name} | measure(case.X, case.k, 0, case.y)


def summary(noise: pd.DataFrame, known: pd.DataFrame) -> str:
    """The share kept of each kind of noise and of the sets, and what is right among it."""
    lines = [
        [kind, percent(some["kept_two"].mean()), percent(some["kept_three"].mean()), "", ""]
        for kind, some in noise.groupby("kind", sort=False)
    ]
    names = ["kept_two", "kept_three", "right_two", "right_three"]
    lines.append(["sets, mean", *(percent(known[name].mean()) for name in names)])
    head = ["data", "above chance", "with the hull", "right of these", "with the hull"]
    return markdown(head, lines)


def main() -> None:
    """Run, and write the tables."""
    jobs = [(kind, k, draw) for kind in FLAT for k in KS for draw in range(DRAWN)]
    flat = [position for position, case in enumerate(sets()) if case.X.shape[1] <= 3]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        noise = pd.DataFrame(list(pool.map(noise_row, *zip(*jobs, strict=True))))
        known = pd.DataFrame(list(pool.map(set_row, flat)))
    results = folder("chance")
    table = pd.concat([noise, known]).to_csv(index=False, float_format="%.6g")
    write(results / "hull.csv", table)
    write(results / "hull.md", f"{summary(noise, known)}\n")
    print(summary(noise, known))


if __name__ == "__main__":
    sys.exit(main())
