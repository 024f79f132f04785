"""Sure points teach a classifier better than all points: where clusters differ in spread, and not
everywhere.

Run from a checkout: `python examples/plot_pseudo_labels.py` writes `docs/images/pseudo_labels.png`
and prints a table.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from clustertrust import CAKE
from clustertrust.calibration import map_clusters, pseudo_labels
from clustertrust.datasets import load
from clustertrust.displays import score_colors

DOCS = Path(__file__).parent.parent / "docs"
IMAGES = DOCS / "images"
SETS = {"S5": 3, "S6": 3, "S7": 3, "S2": 3, "Bc": 2}  # and their numbers of classes
SHARE = 0.6
SPLITS = 5


def accuracy(name: str, seed: int) -> tuple[float, float]:
    """Accuracy on test points of a classifier trained on all clustered points, and on the surest of
    each cluster.
    """
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    cake = CAKE(SETS[name], random_state=seed).fit(X_train)
    named = map_clusters(
        cake.labels_, y_train, method="matching"
    )  # classes are used for names alone
    found = []
    for share in (1.0, SHARE):
        labels = pseudo_labels(named.assign().astype(int), cake.scores_, share=share)
        sure = labels >= 0
        found.append(
            float(np.mean(GaussianNB().fit(X_train[sure], labels[sure]).predict(X_test) == y_test))
        )
    return found[0], found[1]


def draw_borders(ax: plt.Axes, name: str) -> None:
    """The set, and the borders between classes that each training set leads to."""
    X, _ = load(name)
    cake = CAKE(SETS[name], random_state=0).fit(X)
    ax.scatter(*X.T, c=cake.scores_, s=3, cmap=score_colors(), vmin=0, vmax=1)
    low, high = X.min(axis=0), X.max(axis=0)
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 200).T), axis=-1)
    for share, style in ((1.0, "dotted"), (SHARE, "solid")):
        labels = pseudo_labels(cake.labels_, cake.scores_, share=share)
        model = GaussianNB().fit(X[labels >= 0], labels[labels >= 0])
        regions = model.predict(grid.reshape(-1, 2)).reshape(200, 200)
        for label in range(SETS[name]):
            ax.contour(
                grid[..., 0],
                grid[..., 1],
                regions == label,
                [0.5],
                colors="#16202c",
                linestyles=style,
            )
    ax.set(
        title=f"{name}, coloured by score; borders learnt from all (dotted), from the surest {SHARE:.0%}"
    )
    ax.title.set_fontsize(9)


def main() -> None:
    """Compare both training sets on some data sets, and draw one."""
    rows = {name: np.array([accuracy(name, seed) for seed in range(SPLITS)]) for name in SETS}
    print(
        "| data set | trained on all | on the surest 60 % | gain by split |\n| --- | --- | --- | "
        "--- |"
    )
    for name, found in rows.items():
        gain = found[:, 1] - found[:, 0]
        print(
            f"| {name} | {found[:, 0].mean():.3f} | {found[:, 1].mean():.3f} | {gain.min():+.3f} "
            f"to {gain.max():+.3f} |"
        )
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10.5, 4.2), layout="constrained", width_ratios=(3, 2)
    )
    draw_borders(left, "S6")
    at = np.arange(len(rows))
    for shift, column, colour, label in (
        (-0.2, 0, "#999999", "all"),
        (0.2, 1, "#0072B2", f"surest {SHARE:.0%}"),
    ):
        right.bar(
            at + shift,
            [found[:, column].mean() for found in rows.values()],
            0.38,
            color=colour,
            label=label,
        )
    right.set_xticks(at, list(rows))
    right.set(ylabel="accuracy of naive Bayes on test points", ylim=(0.5, 1))
    right.set_title("trained on", fontsize=9, loc="left")
    right.legend(
        fontsize="small", ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False
    )
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "pseudo_labels.png", dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
