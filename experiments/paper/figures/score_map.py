"""Score map and percentiles: products of the components on S1, and on three clouds with 20 outliers.

As the authors ran it: 10 and 5 runs from k-means++ starts, seeds 0, 1, …. The paper gives neither number, so the fair
protocol takes 20 runs from random starts, as everywhere, and draws the points anew in each repetition. The paper's
caption and the authors' notebook disagree on colours; "top 90 %" means above the 90th percentile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from clustertrust import confidence
from clustertrust.fusion import product
from experiments.paper import runs
from experiments.paper.drawing import BLUE, GREY, SCORES, VERMILION, bare, by_protocol, grid
from experiments.paper.protocols import PROTOCOLS, Protocol
from experiments.paper.results import Experiment, Held, averaged_rows

KEYS = ("dataset", "quantity")
OUTLIERS = 20
RUNS = {"map": 10, "outliers": 5}  # as the authors had them


class Scene(NamedTuple):
    """Points, their cloud's number or -1, the centres of the clouds, and the score of each point."""

    X: NDArray
    y: NDArray
    centers: NDArray
    scores: NDArray


def scene(name: str, protocol: Protocol, repetition: int) -> Scene:
    """Draw the points, those of the authors in repetition 0, and score them."""
    seed = 42 + repetition
    if name == "map":
        centers = np.array([(0, 0), (5, 5), (12, 0)])
        X, y = make_blobs(4000, centers=centers, cluster_std=2.0, random_state=seed)  # S1
    else:
        centers = np.array([(0, 0), (5, 5), (10, 0)])
        X, y = make_blobs(5000, centers=centers, cluster_std=0.8, random_state=seed)
        X = np.vstack([X, np.random.RandomState(seed).uniform(-5, 15, (OUTLIERS, 2))])
        y = np.append(y, np.full(OUTLIERS, -1))
    printed = protocol.name == "printed"
    seeds = protocol.seeds(repetition, size=RUNS[name] if printed else 20)
    ensemble = runs.build(X, "kmeans" if printed else "kmeans-random", 3, seeds)
    found = runs.under(protocol, confidence(X, ensemble, geometry="exact"))
    return Scene(X, y, centers, product(found.stability, found.geometry))


def measure(name: str, of: Scene) -> Iterator[tuple[str, float]]:
    """Where the scores are low and high, in numbers."""
    nearest = np.sort(np.linalg.norm(of.X[:, None] - of.centers, axis=2), axis=1)
    if name == "map":
        margin = nearest[:, 1] - nearest[:, 0]
        yield (
            "mean score of the tenth nearest to a centre",
            of.scores[nearest[:, 0] <= np.quantile(nearest[:, 0], 0.1)].mean(),
        )
        yield "mean score of all points", of.scores.mean()
        yield (
            "mean score of the tenth nearest to a border",
            of.scores[margin <= np.quantile(margin, 0.1)].mean(),
        )
        return
    outlier = of.y < 0
    lowest, highest = (
        of.scores < np.percentile(of.scores, 1),
        of.scores > np.percentile(of.scores, 90),
    )
    # An outlier that falls on a cloud is like any other point.
    astray = outlier & (nearest[:, 0] > 3 * 0.8)
    yield "outliers in the lowest percent", lowest[outlier].sum()
    yield "share of the lowest percent that are outliers", outlier[lowest].mean()
    yield "share of outliers off the clouds in the lowest percent", lowest[astray].mean()
    yield "outliers in the highest tenth", highest[outlier].sum()
    yield (
        "distance to the centre, highest tenth against all",
        nearest[highest, 0].mean() / nearest[:, 0].mean(),
    )


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Measure where the scores are low and high."""
    found = [
        {
            (name, quantity): float(value)
            for quantity, value in measure(name, scene(name, protocol, repetition))
        }
        for repetition in range(protocol.repetitions(name))
    ]
    return averaged_rows(found, KEYS)


def draw(frame: pd.DataFrame) -> Any:
    """One row a protocol: the map, and the lowest percent and highest tenth."""
    found = list(by_protocol(frame))
    title = "Scores fall towards borders and outside the clouds; the highest are in the cores"
    figure, axes = grid(len(found), 2, height=3.6, title=title)
    for (left, right), (protocol, meaning, rows) in zip(axes, found, strict=True):
        for name, ax in zip(("map", "outliers"), (left, right), strict=True):
            if name not in set(rows["dataset"]):
                continue
            of = scene(name, PROTOCOLS[protocol], 0)
            if name == "map":
                order = np.argsort(-of.scores)
                drawn = ax.scatter(
                    *of.X[order].T,
                    c=of.scores[order],
                    cmap=SCORES,
                    s=5,
                    linewidths=0,
                    vmin=0,
                    vmax=1,
                )
                figure.colorbar(drawn, ax=ax, label="score (PR)", pad=0.01)
                bare(ax, f"S1, {meaning}")
            else:
                low, high = np.percentile(of.scores, [1, 90])
                ax.scatter(*of.X.T, color=GREY, s=3, alpha=0.4, linewidths=0, label="between")
                for part, colour, label in (
                    (of.scores > high, BLUE, "highest tenth"),
                    (of.scores < low, VERMILION, "lowest 1 %"),
                ):
                    ax.scatter(*of.X[part].T, color=colour, s=9, linewidths=0, label=label)
                ax.scatter(
                    *of.X[of.y < 0].T,
                    s=60,
                    facecolors="none",
                    edgecolors="black",
                    lw=0.8,
                    label="outlier",
                )
                ax.legend(
                    fontsize=8,
                    frameon=False,
                    ncols=4,
                    loc="upper center",
                    bbox_to_anchor=(0.5, 0.02),
                )
                bare(ax, f"Three clouds and {OUTLIERS} outliers, {protocol}")
    return figure


def falls_towards_borders(frame: pd.DataFrame) -> Held:
    """Check the order core, all, border."""
    core, everywhere, border = frame.loc[frame["dataset"] == "map", "value"]
    return int(core > everywhere > border), 1


def is_so(quantity: str, at_least: float, at_most: float) -> Any:
    """Check that a quantity of the set with outliers is in a range."""

    def check(frame: pd.DataFrame) -> Held:
        values = frame.loc[frame["quantity"] == quantity, "value"]
        return int(values.between(at_least, at_most).sum()), len(values)

    return check


EXPERIMENT = Experiment(
    title="Figure: score map and percentiles",
    run=run,
    keys=KEYS,
    sets=("map", "outliers"),
    draw=draw,
    see={
        "Scores are high at the centres and low at the borders": falls_towards_borders,
        "Most outliers off the clouds are in the lowest percent": is_so(
            "share of outliers off the clouds in the lowest percent", 0.5, 1
        ),
        "No outlier is in the highest tenth": is_so("outliers in the highest tenth", 0, 0),
        "The highest tenth lies in the cores": is_so(
            "distance to the centre, highest tenth against all", 0, 0.75
        ),
    },
)
