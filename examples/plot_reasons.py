"""A reason for every point: core, fringe, boundary, isolated, unstable.

Run from a checkout: `python examples/plot_reasons.py` writes `docs/images/reasons.png` and prints
the counts.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from clustertrust import CAKE
from clustertrust.reasons import REASONS

CLUSTERS = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7"])
DOCS = Path(__file__).parent.parent / "docs"
COLOURS = dict(
    zip(REASONS, ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#999999"), strict=True)
)


def data() -> np.ndarray:
    """Two clouds that touch, three tight ones, and some points apart: five groups, of which four
    clusters are made.
    """
    rng = np.random.default_rng(1)
    centers, spreads = [(0, 0), (4, 0), (14, 6), (17, 6), (15.5, 9)], [1.1, 1.1, 0.35, 0.35, 0.35]
    clusters = [
        center + spread * rng.standard_normal((150, 2))
        for center, spread in zip(centers, spreads, strict=True)
    ]
    return np.vstack([*clusters, rng.uniform((-4, -4), (20, 12), (30, 2))])


def main() -> None:
    """Score, draw and print."""
    X = data()
    cake = CAKE(4, clusterer="kmeans-random", random_state=0).fit(X)
    reasons = cake.to_frame(0.5)["reason"]
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 4), layout="constrained", sharex=True, sharey=True
    )
    axes[0].scatter(*X.T, c=CLUSTERS[cake.labels_], s=8)
    axes[0].set_title("four clusters asked for", fontsize=10)
    for name in REASONS:
        of = X[reasons == name]
        if len(of):
            axes[1].scatter(*of.T, color=COLOURS[name], s=8, label=f"{name} ({len(of)})")
    axes[1].set_title("the reason of each point, threshold 0.5", fontsize=10)
    figure.legend(loc="outside right upper", markerscale=2, frameon=False)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    figure.savefig(DOCS / "images" / "reasons.png", dpi=100)
    plt.close(figure)
    print(reasons.value_counts().to_string())


if __name__ == "__main__":
    main()
