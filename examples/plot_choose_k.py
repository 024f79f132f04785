"""How many clusters? Profiles over k of three blobs, of a square without clusters, and of Iris.

Run from a checkout: `python examples/plot_choose_k.py` writes `docs/images/choose_k.png` and prints
what was found.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE, choose_k
from clustertrust.displays import KProfileDisplay

DOCS = Path(__file__).parent.parent / "docs"
KS = range(2, 8)
RUNS = 10


def data() -> dict[str, np.ndarray]:
    """Points by name."""
    return {
        "three blobs": make_blobs(300, centers=[[0, 0], [5, 0], [2.5, 4]], random_state=0)[0],
        "a square": np.random.default_rng(0).uniform(size=(300, 2)),
        "Iris (three species, two of them alike)": load_iris().data,
    }


def main() -> None:
    """Profile each data set, draw and print."""
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 4), layout="constrained", sharey=True)
    for ax, (title, X) in zip(axes, data().items(), strict=True):
        profile = choose_k(X, KS, CAKE(n_runs=RUNS, random_state=0))
        KProfileDisplay.from_profile(profile, ax=ax)
        ax.set_title(f"{title}\n{ax.get_title()}".replace(" (p", "\n(p"), fontsize=9)
        ax.set_ylim(top=1.05)
        lines, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
        print(f"{title}\n{profile.summary()}\n")
    figure.legend(lines, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    path = DOCS / "images" / "choose_k.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
