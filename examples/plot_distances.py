"""Words with edit distances between them: their places and their scores.

Run from a checkout: `python examples/plot_distances.py` writes `docs/images/distances.png` and
prints the least sure spelling of each city.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from clustertrust import CAKE
from clustertrust.displays import ScoreScatterDisplay

DOCS = Path(__file__).parent.parent / "docs"
TYPED = [
    "Copenhagen",
    "Kopenhagen",
    "Copenhaagen",
    "Copenhegen",
    "Kobenhavn",
    "Stockholm",
    "Stokholm",
    "Stockholme",
    "Stocholm",
    "Helsinki",
    "Helsinky",
    "Hellsinki",
    "Helsingfors",
    "Reykjavik",
    "Rejkjavik",
    "Reykjavic",
]


def edits(a: str, b: str) -> int:
    """Return the fewest letters to insert, delete or replace to turn a into b."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def main() -> None:
    """Cluster the words, and draw them where their distances put them."""
    D = pd.DataFrame([[edits(a, b) for b in TYPED] for a in TYPED], TYPED, TYPED, dtype=float)
    cake = CAKE(
        4, clusterer="kmedoids", metric="precomputed", resample=0.8, n_runs=40, random_state=0
    ).fit(D)
    figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
    shown = ScoreScatterDisplay.from_estimator(cake, ax=ax)
    for text in shown.cluster_texts_:
        text.set_visible(False)  # the words name the clusters
    step = np.ptp(shown.points[:, 1]) / 28
    for label in range(4):  # words of one cluster below each other, level with its points
        members = np.flatnonzero(cake.labels_ == label)
        members = members[np.argsort(-shown.points[members, 1], kind="stable")]
        right, middle = shown.points[members, 0].max(), shown.points[members, 1].mean()
        heights = middle + step * (len(members) / 2 - 0.5 - np.arange(len(members)))
        for i, height in zip(members, heights, strict=True):
            score = f"{TYPED[i]} {cake.scores_[i]:.2f}"
            ax.text(right + 3 * step / 2, height, score, fontsize=7, va="center")
    ax.set_xlim(shown.points[:, 0].min() - 1, shown.points[:, 0].max() + 4)
    ax.set_title("How much can each spelling be trusted to mean its city?", fontsize=11)
    figure.savefig(DOCS / "images" / "distances.png", dpi=150)
    plt.close(figure)
    least = cake.to_frame().sort_values("score").groupby("label").head(1)
    print(least[["score", "reason"]].round(2).to_string())


if __name__ == "__main__":
    main()
