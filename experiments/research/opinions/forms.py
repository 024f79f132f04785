"""Which form of the combined score loses least? Weights for second opinions, on the development sets alone.

Runs as in `run.py`, on the sets of `development.py` and `heldout.py`, on which the form was chosen. A run of another method is
weighted by how well it agrees with the other runs of its method (adjusted Rand index), and by the entropy of its
labels: one that puts nearly all points into one cluster says little about k clusters.

`python -m experiments.research.opinions.forms` writes `results/forms.csv`: two minutes on two cores.
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
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clustertrust import build_ensemble, confidence
from clustertrust.evaluation import auroc, correctness
from clustertrust.opinions import METHODS, gather_opinions
from experiments.paper.results import write
from experiments.research import development, folder, heldout

RUNS = 4
# How much second opinions count beside harmonic and persistence, from agreement a and entropy e of the runs (8,)
WEIGHTS = {
    "harmonic": lambda a, e: None,
    "refined": lambda a, e: 0 * a,
    "combined": lambda a, e: np.ones_like(a),
    "half the weight": lambda a, e: np.full_like(a, 0.5),
    "by agreement": lambda a, e: a,
    "by entropy": lambda a, e: e,
    "by agreement and entropy": lambda a, e: a * e,
    "by agreement and entropy, 1.5": lambda a, e: 1.5 * a * e,
    "by agreement and squared entropy": lambda a, e: a * e**2,
}


def entropy(labels: NDArray) -> float:
    """Of the shares of clusters; points without one are left out."""
    shares = np.unique(labels[labels >= 0], return_counts=True)[1] / max(1, (labels >= 0).sum())
    return float(-(shares * np.log(shares)).sum())


def row(group: str, case: heldout.Set) -> dict[str, Any]:
    """AUROC of every form on a set."""
    warnings.simplefilter("ignore")
    runs = KMeans(case.k, init="random", n_init=1)
    ensemble = build_ensemble(case.X, runs, n_runs=20, random_state=0, n_jobs=1, device="cpu")
    scored = confidence(case.X, ensemble, geometry="exact", fusion="refined", n_jobs=1)
    assert scored.persistence is not None
    harmonic = 2 * scored.scores - scored.persistence
    X, labels = np.ascontiguousarray(case.X, dtype=float), scored.labels
    said, agreement = [], []
    for method in METHODS:
        asked = gather_opinions(X, labels, methods=[method], n_runs=RUNS, seed=ensemble.seeds[0])
        named = [asked.names[r][placer(X)] for r, placer in enumerate(asked.placers)]
        said += named
        pairs = [[max(0.0, adjusted_rand_score(a, b)) for b in named] for a in named]
        agreement += [(sum(line) - 1) / max(1, len(named) - 1) for line in pairs]
    whole = max(entropy(labels), 1e-12)
    spread = np.array([min(1.0, entropy(run) / whole) for run in said])
    same = np.array(said) == labels
    right = correctness(labels, case.y)
    found: dict[str, Any] = {"group": group, "dataset": case.name, "right": right.mean()}
    for name, weigh in WEIGHTS.items():
        weights = weigh(np.array(agreement), spread)
        score = (
            harmonic
            if weights is None
            else harmonic + scored.persistence + weights @ same / len(same)
        )
        found[name] = auroc(np.nan_to_num(score), right)
    return found


def main() -> None:
    """Run, and write the table."""
    cases = [("development", case) for case in development.sets()]
    cases += [
        ("real" if name in heldout.REAL else "generated", case)
        for name, case in heldout.all_sets()
        if case is not None
    ]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        table = pd.DataFrame(list(pool.map(row, *zip(*cases, strict=True))))
    table = table[(table["right"] > 0) & (table["right"] < 1)]
    gains = table[list(WEIGHTS)].sub(table["harmonic"], axis=0)
    by_group = table.groupby("group")[list(WEIGHTS)].mean().T
    summary = by_group.assign(
        all=table[list(WEIGHTS)].mean(),
        sets=len(table),
        gains=(gains > 0.01).sum(),
        losses=(gains < -0.01).sum(),
        worst=gains.min(),
        sum_of_losses=-gains.where(gains < -0.01, 0.0).sum(),
    )
    text = summary.rename_axis("form").to_csv(float_format="%.4f")
    write(folder("opinions", full=True) / "forms.csv", text)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
