"""Two moons and a ring: the same runs scored by straight, kernel and graph silhouettes.

Run from a checkout: `python examples/plot_graph.py` writes `docs/images/graph.png` and prints how
many points each keeps.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from clustertrust import build_ensemble, confidence
from clustertrust.displays import ScoreScatterDisplay
from clustertrust.evaluation import correctness

DOCS = Path(__file__).parent.parent / "docs"
POINTS = 250  # of each cluster
GEOMETRIES = ("exact", "kernel", "graph")


def data() -> tuple[np.ndarray, np.ndarray]:
    """Two moons inside of a ring, and which is which."""
    rng = np.random.default_rng(4)
    turn = rng.uniform(0, np.pi, 3 * POINTS)
    arc = np.column_stack([np.cos(turn[:POINTS]), np.sin(turn[:POINTS])])
    bow = np.column_stack([1 - np.cos(turn[POINTS:-POINTS]), 0.25 - np.sin(turn[POINTS:-POINTS])])
    ring = 2.2 * np.column_stack([np.cos(2 * turn[-POINTS:]), np.sin(2 * turn[-POINTS:])])
    X = np.vstack([arc, bow, ring + np.array([0.5, 0.1])]) + rng.normal(0, 0.1, (3 * POINTS, 2))
    return X, np.repeat([0, 1, 2], POINTS)


def main() -> None:
    """Score, draw and print."""
    X, y = data()
    runs = build_ensemble(
        X, "spectral", n_clusters=3, vary={"n_neighbors": range(10, 16)}, random_state=0
    )
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    for ax, geometry in zip(axes, GEOMETRIES, strict=True):
        found = confidence(X, runs, geometry=geometry)
        kept, right = found.scores > 0.5, correctness(y, found.labels)
        ScoreScatterDisplay.from_confidence(found, X, ax=ax)
        ax.scatter(*X[~right].T, facecolors="none", edgecolors="#D55E00", s=45, linewidths=0.8)
        ax.set_title(f"{geometry}: {kept.mean():.0%} above 0.5", fontsize=10)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        print(f"{geometry}: {kept.mean():.0%} of the points score above 0.5")
    print(f"{right.mean():.1%} of the labels are right")
    figure.savefig(DOCS / "images" / "graph.png", dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
