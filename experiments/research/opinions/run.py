"""Do second opinions of other methods find wrong assignments better than the paper's score?

Ensembles as in the paper: 20 runs of k-means from random starts, k the number of classes, exact silhouettes. AUROC of
scores against what is right. `fusion="combined"` was chosen on the sets of `development.py`, of the paper and of
`heldout.py` and then frozen; the sets of `sets.py` were written down before and first run after that.

`python -m experiments.research.opinions.run` runs a third of the generated sets, `--full` all and writes the tables.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans

from clustertrust import build_ensemble, confidence
from clustertrust.baselines import fuzzy_confidence, gmm_confidence, local_outlier_confidence
from clustertrust.evaluation import auroc, correctness
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import command, folder, into_page
from experiments.research.heldout import Set
from experiments.research.opinions import sets

# A smaller gain or loss is none.
TOLERATED = 0.01
SIGNALS = {
    "silhouette": "silhouette, mean of the runs",
    "harmonic": "harmonic (the paper)",
    "refined": "refined",
    "combined": "combined",
    "fcm": "fuzzy c-means, largest membership",
    "gmm": "Gaussian mixture, largest posterior",
    "lof": "local outlier factor",
    "hdbscan": "HDBSCAN, probabilities",
}


def rivals(case: Set, labels: NDArray) -> dict[str, NDArray]:
    """What else gives a number to each point."""
    fitted = HDBSCAN(min_cluster_size=max(5, len(case.X) // 100), copy=True).fit(case.X)
    return {
        "fcm": fuzzy_confidence(case.X, case.k, random_state=0),
        "gmm": gmm_confidence(case.X, case.k, random_state=0),
        "lof": local_outlier_confidence(case.X, labels),
        "hdbscan": fitted.probabilities_,
    }


def row(group: str, case: Set) -> dict[str, Any]:
    """AUROC of every signal on a set, and the time of the three scores."""
    warnings.simplefilter("ignore")
    runs = KMeans(case.k, init="random", n_init=1)
    seconds, signals = {}, {}
    # The first scores compile.
    for fusion in ("harmonic", "harmonic", "refined", "combined"):
        began = time.perf_counter()
        ensemble = build_ensemble(case.X, runs, n_runs=20, random_state=0, n_jobs=1, device="cpu")
        scored = confidence(case.X, ensemble, geometry="exact", fusion=fusion, n_jobs=1)
        seconds[fusion] = time.perf_counter() - began
        signals[fusion] = scored.scores
    signals["silhouette"] = scored.silhouette_mean
    signals |= rivals(case, scored.labels)
    right = correctness(scored.labels, case.y)
    measured = {name: auroc(np.nan_to_num(signals[name]), right) for name in SIGNALS}
    n, d = case.X.shape
    about = {"group": group, "dataset": case.name, "n": n, "d": d, "k": case.k}
    times = {f"seconds_{name}": value for name, value in seconds.items()}
    return about | {"accuracy": right.mean()} | measured | times


def summary(table: pd.DataFrame) -> str:
    """Mean AUROC of every signal, with gains and losses against the paper's score."""
    lines = []
    for name, words in SIGNALS.items():
        gains = table[name] - table["harmonic"]
        by = [
            f"{table.loc[table['group'] == group, name].mean():.3f}"
            for group in ("generated", "real")
        ]
        counts = f"{(gains > TOLERATED).sum()} : {(gains < -TOLERATED).sum()}"
        lines.append(
            [words, *by, f"{table[name].mean():.3f}", "" if name == "harmonic" else counts]
        )
    head = ["signal, mean AUROC", "generated", "real", "all"]
    return markdown([*head, f"gains : losses of more than {TOLERATED} against harmonic"], lines)


def details(table: pd.DataFrame) -> str:
    """Every set."""
    head = ["dataset", "n", "d", "k", "accuracy", *SIGNALS, "times the time of harmonic"]
    ratio = table["seconds_combined"] / table["seconds_harmonic"]
    lines = [
        [
            *(r[name] for name in head[:4]),
            *(f"{r[name]:.3f}" for name in head[4:-1]),
            f"{times:.1f}",
        ]
        for (_, r), times in zip(table.iterrows(), ratio, strict=True)
    ]
    return markdown(head, lines)


def main() -> None:
    """Run, and write tables."""
    parser = command("opinions", __doc__, "all sets: some minutes")
    full = parser.parse_args().full
    cases = [("generated", case) for case in sets.generated()]
    cases = [*cases, *(("real", case) for case in sets.real())] if full else cases[::3]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        table = pd.DataFrame(list(pool.map(row, *zip(*cases, strict=True))))
    # Where all points are right, or none, there is nothing to find.
    table = table[(table["accuracy"] > 0) & (table["accuracy"] < 1)]
    ratio = (table["seconds_combined"] / table["seconds_harmonic"]).median()
    page = f"{summary(table)}\n\nMedian time of combined: {ratio:.1f} times that of harmonic.\n\n{details(table)}\n"
    results = folder("opinions", full=full)
    write(results / "opinions.csv", table.to_csv(index=False, float_format="%.6g"))
    write(results / "opinions.md", page)
    print(page)
    if full:
        into_page("ranking.md", "opinions", summary(table))


if __name__ == "__main__":
    sys.exit(main())
