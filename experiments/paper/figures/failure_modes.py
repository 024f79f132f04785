"""Two ways to fail: a far point that no run doubts, and a point that is well placed in each run but changes sides.

The authors drew this figure and computed nothing. `drawing` takes their two clouds and two marked points (how many
points a cloud has is our choice) and scores them, k = 2: no run doubts either point, and their silhouettes are alike.
On two clouds, restarts of k-means hardly differ. `square` is ours, a case in which they do: four clouds at the
corners of a square, two clusters, so that runs split it now left from right, now top from bottom. The two larger
clouds, at opposite corners, always part; the two others, in the middle of one of which is P2, change sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import confidence
from clustertrust.results import Confidence
from experiments.paper import runs
from experiments.paper.drawing import BLACK, BLUE, ORANGE, SCORES, VERMILION, bare, grid, shown
from experiments.paper.protocols import PROTOCOLS, Protocol
from experiments.paper.results import Experiment, Held, averaged_rows

KEYS = ("dataset", "point", "quantity")
SETS = {
    "drawing": "The authors' drawing: no run doubts P2",
    "square": "Four clouds, two clusters: P2 changes sides",
}
QUANTITIES = {"stability": "stability c", "geometry": "geometry S", "scores": "score HM"}
POINTS = {"P1": VERMILION, "P2": ORANGE, "core": BLUE}
SIZE = 150  # points of a large cloud


def scene(name: str, repetition: int) -> tuple[NDArray, NDArray]:
    """Points, of which the last two are P1, the far one, and P2, the one between; and which nobody should doubt."""
    rng = np.random.RandomState(10 + repetition)
    if name == "drawing":
        left, right = rng.normal((2, 2), 0.6, (SIZE, 2)), rng.normal((3.6, 2), 0.7, (SIZE, 2))
        clouds, marked, core = (
            [left[left[:, 0] < 3.0], right[right[:, 0] > 2.4]],
            [(-0.2, 2), (2.6, 2)],
            (True, True),
        )
    else:
        core = (True, False, False, True)
        corners = ((0, 0), (4, 0), (0, 4), (4, 4))
        clouds = [
            rng.normal(at, 0.5, (SIZE if large else 100, 2))
            for at, large in zip(corners, core, strict=True)
        ]
        marked = [(-3, -3), (4, 0)]
    sizes = [len(cloud) for cloud in clouds]
    return np.vstack([*clouds, marked]), np.repeat([*core, False, False], [*sizes, 1, 1])


def score(X: NDArray, protocol: Protocol, repetition: int) -> Confidence:
    """Score 20 runs of k-means, two clusters, random starts."""
    ensemble = runs.build(X, "kmeans-random", 2, protocol.seeds(repetition))
    return runs.under(protocol, confidence(X, ensemble, geometry="exact"))


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Components and score of the two points, and the median of those that nobody should doubt."""
    found = []
    for repetition in range(protocol.repetitions(name)):
        X, core = scene(name, repetition)
        scored = score(X, protocol, repetition)
        found.append({})
        for quantity in QUANTITIES:
            values = getattr(scored, quantity)
            of_points = {"P1": values[-2], "P2": values[-1], "core": np.median(values[core])}
            found[-1] |= {(name, point, quantity): value for point, value in of_points.items()}
    return averaged_rows(found, KEYS)


def draw(frame: pd.DataFrame) -> Any:
    """One row a case: the points by score, and what each component says of the two."""
    sets, protocols = shown(frame, "dataset", SETS), shown(frame)
    title = "P1 is stable and far; P2 is well placed and changes sides, if runs differ at all"
    ratios = (4, *[3] * len(protocols))
    figure, axes = grid(len(sets), 1 + len(protocols), height=3, title=title, width_ratios=ratios)
    for (ax, *bars), name in zip(axes, sets, strict=True):
        X, _ = scene(name, 0)
        scores = score(X, PROTOCOLS["printed"], 0).scores
        drawn = ax.scatter(*X.T, c=scores, cmap=SCORES, vmin=0, vmax=1, s=12, linewidths=0)
        for label, point in zip(POINTS, X[-2:], strict=False):
            ax.scatter(*point, s=110, facecolors="none", edgecolors=BLACK, linewidths=1.5)
            box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8}
            ax.annotate(
                label,
                point,
                (0, 13),
                textcoords="offset points",
                ha="center",
                weight="bold",
                bbox=box,
            )
        bare(ax, SETS[name])
        figure.colorbar(drawn, ax=ax, label="score (HM)", pad=0.01)
        for ax, protocol in zip(bars, protocols, strict=True):
            rows = frame[(frame["dataset"] == name) & (frame["protocol"] == protocol)]
            for shift, (point, colour) in zip((-0.28, 0, 0.28), POINTS.items(), strict=True):
                of_point = rows[rows["point"] == point].set_index("quantity").loc[list(QUANTITIES)]
                drawn = ax.bar(
                    np.arange(3) + shift, of_point["value"], 0.27, color=colour, label=point
                )
                ax.bar_label(drawn, fmt="%.2f", fontsize=7)
            ax.set_title(protocol, fontsize=10)
            ax.set(xticks=range(3), xticklabels=QUANTITIES.values(), ylim=(0, 1.3))
            ax.legend(fontsize=8, ncols=3, frameon=False, loc="upper right")
    return figure


def lower(this: str, than: str, quantity: str, share: float = 1.0, *, expected: bool = True) -> Any:
    """Check that one point has less than a share of what another has, or, if so expected, that it has not."""

    def check(frame: pd.DataFrame) -> Held:
        table = frame.pivot_table(index="dataset", columns=["quantity", "point"], values="value")[
            quantity
        ]
        held = (table[this] < share * table[than]) == expected
        return int(held.sum()), len(held)

    return check


EXPERIMENT = Experiment(
    title="Figure: the two failure modes, computed",
    run=run,
    keys=KEYS,
    sets=tuple(SETS),
    draw=draw,
    see={
        "The far point P1 is as stable as the core": lower(
            "P1", "core", "stability", 0.99, expected=False
        ),
        "P1 fits its cluster worse than the core does": lower("P1", "core", "geometry"),
        "The point between, P2, changes sides": lower("P2", "core", "stability", 0.9),
        "P2 fits its cluster better than P1 does": lower("P1", "P2", "geometry"),
        "The score of P1 is below the core's": lower("P1", "core", "scores"),
        "The score of P2 is below the core's": lower("P2", "core", "scores"),
    },
)
