"""Three clouds that score high, and one question: would data without clusters score as high?

Run from a checkout: `python examples/plot_null.py` writes `docs/images/null.png` and prints what
was found.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import CAKE, NullReference, null_reference
from clustertrust.displays import score_colors

DOCS = Path(__file__).parent.parent / "docs"
SURROGATES = 99
COLOURS = {"box": "#E69F00", "gaussian": "#009E73"}


def data() -> dict[str, tuple[np.ndarray, int]]:
    """Points and the number of clusters to cut them into."""
    rng = np.random.default_rng(0)
    return {
        "a square, k = 4": (rng.uniform(size=(600, 2)), 4),
        "one Gaussian, k = 2": (rng.standard_normal((600, 2)) * [4, 1], 2),
        "three blobs, k = 3": (
            make_blobs(600, centers=[[0, 0], [5, 0], [2.5, 4]], random_state=0)[0],
            3,
        ),
    }


def draw(above: plt.Axes, below: plt.Axes, title: str, X: np.ndarray, null: NullReference) -> None:
    """The points coloured by score, and under them the mean scores of the surrogates beside that of
    the data.
    """
    above.scatter(*X.T, c=null.confidence.scores, cmap=score_colors(), vmin=0, vmax=1, s=9)
    above.set_title(f"{title}: mean score {null.mean:.2f}", fontsize=10)
    above.set(xticks=[], yticks=[])
    for name in null.families:
        below.hist(null.means[name], bins=15, color=COLOURS[name], alpha=0.7, label=name)
    below.axvline(null.mean, color="#0072B2", label="the data")
    verdict = "structured" if null.structured else "not structured"
    below.set_title(f"{verdict}, p = {null.p_value:.2g}", fontsize=10)
    below.set(xlabel="mean score", ylabel="surrogates")


def main() -> None:
    """Ask for each cloud, draw and print."""
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6), layout="constrained", height_ratios=[3, 2])
    for (above, below), (title, (X, k)) in zip(axes.T, data().items(), strict=True):
        null = null_reference(X, CAKE(k, random_state=0), n_surrogates=SURROGATES)
        draw(above, below, title, X, null)
        print(f"{title}\n{null.summary()}\n")
    axes[1, 0].legend(fontsize=8)
    path = DOCS / "images" / "null.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
