"""Clusters of different spread, and noise: where the paper's score is misled, and what persistence
adds.

Run from a checkout: `python examples/plot_ranking.py` writes `docs/images/ranking.png` and prints
what was found.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from clustertrust import CAKE
from clustertrust.displays import score_colors
from clustertrust.evaluation import auroc, correctness
from clustertrust.fusion import harmonic

CLUSTERS = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7"])
DOCS = Path(__file__).parent.parent / "docs"


def data() -> tuple[np.ndarray, np.ndarray]:
    """A tight cluster beside a wide one, a third above, and noise, whose class is -1."""
    rng = np.random.default_rng(0)
    spreads, centers = [0.4, 2.2, 0.9], [(0, 0), (7, 0), (3, 8)]
    clusters = [
        center + spread * rng.standard_normal((250, 2))
        for center, spread in zip(centers, spreads, strict=True)
    ]
    noise = rng.uniform((-5, -8), (15, 13), (80, 2))
    return np.vstack([*clusters, noise]), np.repeat([0, 1, 2, -1], [250, 250, 250, 80])


def main() -> None:
    """Score, draw and print."""
    X, y = data()
    cake = CAKE(3, fusion="refined", random_state=0).fit(X)
    right = correctness(cake.labels_, y)
    panels = {
        "harmonic, the paper's": harmonic(cake.stability_, cake.geometry_),
        "persistence": cake.persistence_,
        "refined, the mean of both": cake.scores_,
    }
    figure, axes = plt.subplots(
        1, 4, figsize=(10.5, 3.2), layout="constrained", sharex=True, sharey=True
    )
    axes[0].scatter(*X.T, c=CLUSTERS[cake.labels_], s=7)
    axes[0].scatter(*X[~right].T, facecolors="none", edgecolors="black", s=26, linewidths=0.6)
    axes[0].set_title("clusters\nwrong points circled", fontsize=10)
    for ax, (name, values) in zip(axes[1:], panels.items(), strict=True):
        points = ax.scatter(*X.T, c=values, cmap=score_colors(), vmin=0, vmax=1, s=7)
        found = auroc(values, right)
        ax.set_title(f"{name}\nAUROC {found:.3f}", fontsize=10)
        print(f"{name}: AUROC {found:.3f}")
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    figure.colorbar(points, ax=axes[-1])
    path = DOCS / "images" / "ranking.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
