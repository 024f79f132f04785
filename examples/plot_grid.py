"""Clusterers and shapes: a grid of scores, one row for each data set, one column for each method.

Run from a checkout: `python examples/plot_grid.py` writes `docs/images/grid.png` and
`grid-dark.png`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.preprocessing import StandardScaler

from clustertrust import CAKE
from clustertrust.displays import score_colors

DOCS = Path(__file__).parent.parent / "docs"
POINTS, RUNS = 300, 10
GROUNDS = {"": ("white", "#16202c"), "-dark": ("#0d1117", "#eef3f8")}
# Graphs follow curved shapes, so methods that find such shapes are scored by a graph.
METHODS: dict[str, dict[str, Any]] = {
    "kmeans": {},
    "gmm": {},
    "agglomerative": {"resample": 0.8},
    "spectral": {"vary": {"n_neighbors": range(10, 16)}, "geometry": "graph"},
    "leiden": {"agreement": "jaccard", "geometry": "graph"},
    "hdbscan": {
        "vary": {"min_cluster_size": range(8, 25)},
        "unassigned": "disagree",
        "agreement": "jaccard",
        "geometry": "graph",
    },
}


def data() -> dict[str, tuple[np.ndarray, int]]:
    """Return points in the plane, standardised, and the number of clusters asked for."""
    blobs = {"n_samples": POINTS, "random_state": 8}
    round_ones = make_blobs(**blobs)[0]
    shapes = {
        "circles": (make_circles(POINTS, factor=0.5, noise=0.05, random_state=0)[0], 2),
        "moons": (make_moons(POINTS, noise=0.06, random_state=0)[0], 2),
        "varied": (make_blobs(POINTS, cluster_std=[1.0, 2.5, 0.5], random_state=170)[0], 3),
        "long": (round_ones @ np.array([[0.6, -0.6], [-0.4, 0.8]]), 3),
        "blobs": (round_ones, 3),
        "no clusters": (np.random.default_rng(0).uniform(size=(POINTS, 2)), 3),
    }
    return {name: (StandardScaler().fit_transform(X), k) for name, (X, k) in shapes.items()}


def score(X: np.ndarray, k: int, method: str) -> CAKE:
    """Fit one method to one data set; some find the number of clusters themselves."""
    n_clusters = None if method in {"hdbscan", "leiden"} else k
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs in pieces, noise: expected of such shapes
        options = {"n_runs": RUNS, "random_state": 0} | METHODS[method]
        return CAKE(n_clusters, clusterer=method, **options).fit(X)


def draw(fits: dict[tuple[str, str], CAKE], shapes: dict[str, Any], suffix: str) -> Path:
    """Draw every fit, its points coloured by score, its median score in a corner."""
    ground, ink = GROUNDS[suffix]
    colors = score_colors(dark=bool(suffix))
    size = (2 * len(METHODS) + 0.8, 1.9 * len(shapes))
    figure, axes = plt.subplots(
        len(shapes), len(METHODS), figsize=size, layout="constrained", facecolor=ground
    )
    for row, (name, (X, _)) in zip(axes, shapes.items(), strict=True):
        for ax, method in zip(row, METHODS, strict=True):
            scores = np.nan_to_num(fits[name, method].scores_)
            drawn = ax.scatter(*X.T, c=scores, cmap=colors, vmin=0, vmax=1, s=9, linewidths=0)
            ax.set(xticks=[], yticks=[], facecolor=ground)
            ax.spines[:].set(color=ink, alpha=0.25)
            corner = {"transform": ax.transAxes, "ha": "right", "size": 9, "color": ink}
            ax.text(0.98, 0.03, f"{np.median(scores):.2f}", **corner)
        row[0].set_ylabel(name, color=ink, size=11)
    for ax, method in zip(axes[0], METHODS, strict=True):
        ax.set_title(method, color=ink, size=11, weight="bold")
    bar = figure.colorbar(drawn, ax=axes, fraction=0.02, pad=0.01)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=ink, length=0)
    bar.set_label("score (in the corners: median)", color=ink)
    path = DOCS / "images" / f"grid{suffix}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def main() -> None:
    """Fit all, and draw the grid for light and for dark pages."""
    shapes = data()
    fits = {
        (name, method): score(X, k, method) for name, (X, k) in shapes.items() for method in METHODS
    }
    print("Median scores:")
    for name in shapes:
        medians = (f"{m} {np.nanmedian(fits[name, m].scores_):.2f}" for m in METHODS)
        print(f"{name:12}", *medians)
    for suffix in GROUNDS:
        draw(fits, shapes, suffix)


if __name__ == "__main__":
    main()
