"""What a clustering says, and what the score adds: the picture at the top of the README.

Run from a checkout: `python examples/plot_trust.py` writes `docs/images/trust-light.png` and
`trust-dark.png`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import CAKE
from clustertrust.displays import score_colors

DOCS = Path(__file__).parent.parent / "docs"
CLUSTERS = np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7"])
# Ground, ink and pale ink
LOOKS = {"light": ("white", "#16202c", "#5a6878"), "dark": ("#0d1117", "#eef3f8", "#a3b1c1")}


def data() -> np.ndarray:
    """Four groups of different spread, three of which run into one another, and a few points of no
    group.
    """
    X, _ = make_blobs(
        [220, 220, 220, 160],
        centers=[[0, 0], [4.2, 0.6], [2.0, 3.6], [8.6, 3.4]],
        cluster_std=[0.95, 1.15, 0.9, 0.55],
        random_state=1,
    )
    return np.vstack([X, np.random.default_rng(3).uniform(X.min(axis=0), X.max(axis=0), (50, 2))])


def draw(look: str, X: np.ndarray, cake: CAKE) -> Path:
    """Labels on the left, scores on the right."""
    ground, ink, pale = LOOKS[look]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.9), layout="constrained", facecolor=ground
    )
    dots = {"s": 13, "linewidths": 0}
    left.scatter(*X.T, c=CLUSTERS[cake.labels_], **dots)
    scale = score_colors(dark=look == "dark")
    surest_first = np.argsort(-cake.scores_)  # unsure points on top
    shown = right.scatter(
        *X[surest_first].T, c=cake.scores_[surest_first], cmap=scale, vmin=0, **dots
    )
    words = {
        left: ("A clustering gives every point a label …", "k-means, four clusters"),
        right: ("… clustertrust says how much to trust it", "CAKE score, 20 runs"),
    }
    for ax, (title, below) in words.items():
        ax.set(xticks=[], yticks=[], facecolor=ground, aspect="equal")
        ax.set_title(title, color=ink, fontsize=13, fontweight="bold")
        ax.set_xlabel(below, color=pale)
        for spine in ax.spines.values():
            spine.set_visible(False)
    bar = figure.colorbar(shown, ax=right, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=pale, length=0)
    bar.set_label("score (1: sure)", color=pale)
    path = DOCS / "images" / f"trust-{look}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def main() -> None:
    """Draw the picture for light and for dark pages."""
    X = data()
    cake = CAKE(4, random_state=0).fit(X)
    for look in LOOKS:
        draw(look, X, cake)


if __name__ == "__main__":
    main()
