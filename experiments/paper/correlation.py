"""Accuracy along a score: of a reference clustering, in ten bins from the least sure points to the surest."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from clustertrust.evaluation import accuracy_by_bin, correctness
from clustertrust.fusion import product
from clustertrust.results import Confidence
from experiments.paper import data, drawing, runs
from experiments.paper.data import Case
from experiments.paper.protocols import Protocol

SCORES = {"CAKE_PR": drawing.VERMILION, "CAKE_HM": drawing.BLUE}
STYLES = {"printed": "--", "fair": "-"}


def both_scores(scored: Confidence) -> dict[str, NDArray]:
    """Product and harmonic mean."""
    return {"CAKE_PR": product(scored.stability, scored.geometry), "CAKE_HM": scored.scores}


def reference(case: Case, seed: int, *, k: int | None = None, n_init: int = 10) -> NDArray:
    """Labels of one k-means clustering from k-means++ starts, apart from the ensemble."""
    # The same bits on any machine, and quick on a busy one.
    with runs.hushed(), threadpool_limits(1):
        return KMeans(k or case.k, n_init=n_init, random_state=seed).fit_predict(case.X)


def between_edges(scores: NDArray, right: NDArray) -> NDArray:
    """Accuracy between the deciles of the scores as numpy interpolates them; NaN where no point is."""
    at = np.searchsorted(np.percentile(scores, np.arange(10, 100, 10)), scores, side="right")
    count = np.bincount(at, minlength=10)
    return np.divide(
        np.bincount(at, right, minlength=10), count, out=np.full(10, np.nan), where=count > 0
    )


@lru_cache(maxsize=2)
def deciles(name: str, protocol: Protocol) -> list[dict[str, NDArray]]:
    """Accuracy in ten bins, least sure first, of each score, once a repetition.

    The authors' way is not known. `printed` is the setting that gave their correlations most often of the 2016 tried:
    k-means++ runs of seeds 0 to 19, a reference of one start with seed 42, bins between percentiles. `fair` has bins
    of equal size, ties in random order, and a reference of ten starts.
    """
    case, found = protocol.load(name), []
    for repetition in range(protocol.repetitions(name)):
        if protocol.name == "printed":
            method, labels, accuracy = "kmeans", reference(case, 42, n_init=1), between_edges
        else:
            method, labels = (
                protocol.method("kmeans", name),
                reference(case, protocol.evaluation_seeds()[repetition]),
            )
            accuracy = accuracy_by_bin
        right = correctness(labels, case.y)
        scored = runs.scored(name, method, protocol.seeds(repetition), protocol)
        found.append(
            {score: accuracy(scores, right) for score, scores in both_scores(scored).items()}
        )
    return found


def rank_correlation(by_bin: NDArray) -> float:
    """Spearman correlation of bin and accuracy; NaN where the accuracy is the same in all bins."""
    known = np.round(by_bin[np.isfinite(by_bin)], 12)
    return float(spearmanr(np.arange(len(known)), known).statistic) if np.ptp(known) else np.nan


def draw_panels(frame: pd.DataFrame, x: str, label: str, title: str) -> Any:
    """One small panel a data set: accuracy of both scores along `x`, the two protocols on top of each other."""
    sets = drawing.shown(frame, "dataset", data.ALL)
    columns = min(5, len(sets))
    figure, axes = drawing.grid(
        -(-len(sets) // columns), columns, height=2.2, title=title, sharex=True
    )
    for ax, name in zip(axes.flat, sets, strict=False):
        of_set = frame[frame["dataset"] == name]
        for (score, protocol), line in of_set.groupby(["score", "protocol"], sort=False):
            line = line.sort_values(x)
            ax.plot(
                line[x],
                line["value"],
                STYLES[protocol],
                color=SCORES[score],
                label=f"{score}, {protocol}",
                lw=1.6,
            )
            ax.fill_between(
                line[x], line["low"], line["high"], color=SCORES[score], alpha=0.2, lw=0
            )
        low = of_set["value"].min()
        ax.set_ylim(max(0.0, low - 0.15 * (1 - low)), 1.01)
        ax.set_xticks(sorted(of_set[x].unique())[::3])
        ax.set_title(name, fontsize=10)
        ax.tick_params(labelsize=8)
    for ax in list(axes.flat)[len(sets) :]:
        ax.set_axis_off()
    for ax in axes[-1]:
        ax.set_xlabel(label, fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy", fontsize=9)
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    return figure
