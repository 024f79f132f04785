"""Is there a better consensus for mixed runs? Rules that make one labelling of many, on the development sets.

Ten runs of k-means and ten of Gaussian mixtures, each on 80 % of the points with the rest placed by its model, at most
1,000 points, k the number of classes. The share of points that each rule labels right, on the sets of `development.py`
and `heldout.py`; a rule that is clearly better there would be judged on those of `sets.py`.

`python -m experiments.research.opinions.rules` writes `results/rules.csv` and `results/rules.md`: some minutes.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform
from sklearn.cluster import SpectralClustering

from clustertrust import Runs, build_ensemble, confidence
from clustertrust.evaluation import correctness
from clustertrust.k_profile.mixtures import explain, reduce
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import development, folder, heldout, into_page

TOLERATED = 0.01
MOST_POINTS = 1000
MEDOID = "votes in the names of the medoid (the default)"


def medoid(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """The consensus of the package; `labels` (n, R) are those of all runs, here and below."""
    return confidence(X, labels, geometry="rms", n_jobs=1).labels


def best_reference(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """The same with `consensus="best-reference"`."""
    return confidence(X, labels, geometry="rms", n_jobs=1, consensus="best-reference").labels


def shares_of_votes(labels: NDArray, target: NDArray, weights: NDArray, k: int) -> NDArray:
    """Votes (n, k) of the runs, each matched to the target."""
    votes = np.zeros((len(target), k))
    for run, weight in zip(labels.T, weights, strict=True):
        table = np.zeros((k, k))
        np.add.at(table, (run, target), 1)
        partner = linear_sum_assignment(-table)[1]
        votes[np.arange(len(target)), partner[run]] += weight
    return votes


def iterated(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """Runs matched to the consensus, and not to a run, until it stays the same."""
    target = medoid(X, labels, k)
    for _ in range(20):
        found = shares_of_votes(labels, target, np.ones(labels.shape[1]), k).argmax(axis=1)
        if (found == target).all():
            break
        target = found
    return target


def by_agreement(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """Votes that weigh as much as the run agrees with the consensus, squared."""
    target = medoid(X, labels, k)
    shares = [
        shares_of_votes(run[:, None], target, np.ones(1), k).argmax(axis=1) == target
        for run in labels.T
    ]
    weights = np.mean(shares, axis=1) ** 2
    return shares_of_votes(labels, target, weights, k).argmax(axis=1)


def together(labels: NDArray) -> NDArray:
    """The share of the runs that put two points into the same cluster, (n, n)."""
    return np.mean([run[:, None] == run for run in labels.T], axis=0)


def accumulated(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """Average linkage of that share."""
    apart = 1 - together(labels)
    return cut_tree(linkage(squareform(apart, checks=False), "average"), k).ravel()


def spectral(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """Spectral clustering by that share."""
    found = SpectralClustering(k, affinity="precomputed", random_state=0).fit(together(labels))
    return np.asarray(found.labels_)


def latent_classes(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """A mixture of k classes, each with its own shares of the labels of every run; EM from the default."""
    held = np.eye(k)[medoid(X, labels, k)]
    for _ in range(100):
        logs = np.tile(np.log(held.mean(axis=0) + 1e-12), (len(labels), 1))
        for run in labels.T:
            counts = np.zeros((k, k))
            np.add.at(counts, run, held)
            logs += np.log((counts + 0.5) / (counts + 0.5).sum(axis=0))[run]
        before, held = held, np.exp(logs - logs.max(axis=1, keepdims=True))
        held /= held.sum(axis=1, keepdims=True)
        if np.abs(held - before).max() < 1e-6:
            break
    return held.argmax(axis=1)


def likeliest_half(X: NDArray, labels: NDArray, k: int) -> NDArray:
    """The default among the half of the runs whose clusters a mixture explains best."""
    plane = reduce(X)
    icl = [explain(plane, np.unique(run, return_inverse=True)[1]).icl for run in labels.T]
    return medoid(X, labels[:, np.argsort(icl)[-(labels.shape[1] // 2) :]], k)


RULES: dict[str, Callable[[NDArray, NDArray, int], NDArray]] = {
    MEDOID: medoid,
    "votes in the names of the best reference": best_reference,
    "votes in the names of the consensus, repeated": iterated,
    "votes weighted by agreement with the consensus": by_agreement,
    "average linkage of co-association": accumulated,
    "spectral clustering of co-association": spectral,
    "latent classes": latent_classes,
    "votes of the half of the runs that a mixture explains best": likeliest_half,
}


def row(group: str, case: heldout.Set) -> dict[str, Any]:
    """Share of right labels by each rule."""
    warnings.simplefilter("ignore")
    rows = np.sort(np.random.default_rng(0).permutation(len(case.X))[:MOST_POINTS])
    case = case._replace(X=np.ascontiguousarray(case.X[rows]), y=np.asarray(case.y)[rows])
    ensemble = build_ensemble(
        case.X,
        ["kmeans", "gmm"],
        n_clusters=case.k,
        n_runs=Runs(20, left_out="predict"),
        resample=0.8,
        random_state=0,
        n_jobs=1,
        device="cpu",
    )
    found: dict[str, Any] = {"group": group, "dataset": case.name}
    for name, rule in RULES.items():
        found[name] = correctness(rule(case.X, ensemble.labels, case.k), case.y).mean()
    return found


def summary(table: pd.DataFrame) -> str:
    """The mean of each rule, and how often it beats the default."""
    groups = list(dict.fromkeys(table["group"]))
    lines = []
    for name in RULES:
        by = [f"{table.loc[table['group'] == group, name].mean():.1%}" for group in groups]
        gains = table[name] - table[MEDOID]
        gain = "" if name == MEDOID else f"{100 * gains.mean():+.1f} ± {100 * gains.sem():.1f}"
        counts = f"{(gains > TOLERATED).sum()} : {(gains < -TOLERATED).sum()}"
        counts = "" if name == MEDOID else counts
        lines.append([name, *by, f"{table[name].mean():.1%}", gain, counts])
    head = ["consensus of mixed runs", *groups, "all", "points gained, ± standard error"]
    return markdown([*head, f"better : worse by more than {TOLERATED}"], lines)


def main() -> None:
    """Run, and write the table."""
    cases = [("development", case) for case in development.sets()]
    for _, case in heldout.all_sets():
        if case is not None:
            group = "generated" if case.name in heldout.GENERATED else "real"
            cases.append((group, case))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        table = pd.DataFrame(list(pool.map(row, *zip(*cases, strict=True))))
    results = folder("opinions")
    write(results / "rules.csv", table.to_csv(index=False, float_format="%.6g"))
    write(results / "rules.md", f"Share of points with the right label.\n\n{summary(table)}\n")
    into_page("ranking.md", "rules", summary(table))
    print(summary(table))


if __name__ == "__main__":
    sys.exit(main())
