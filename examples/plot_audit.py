"""One given labelling: slips, a cluster cut in two, and what an audit makes of them.

Run from a checkout: `python examples/plot_audit.py` writes `docs/images/audit.png` and prints the
verdicts.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from clustertrust import audit
from clustertrust.displays import ScoreScatterDisplay

DOCS = Path(__file__).parent.parent / "docs"
COLOURS = {"arc": "#0072B2", "bow": "#E69F00", "left": "#009E73", "right": "#CC79A7"}
MOON, SLIPS = 300, 12


def data() -> tuple[np.ndarray, np.ndarray]:
    """Two moons and a blob; the blob was cut in two, and some labels are wrong."""
    rng = np.random.default_rng(2)
    turn = rng.uniform(0, np.pi, 2 * MOON)
    arc = np.column_stack([np.cos(turn[:MOON]), np.sin(turn[:MOON])])
    bow = np.column_stack([1 - np.cos(turn[MOON:]), 0.5 - np.sin(turn[MOON:])])
    blob = rng.normal((3.6, 0.3), 0.33, (200, 2))
    X = np.vstack([arc, bow, blob]) + rng.normal(0, 0.07, (2 * MOON + 200, 2))
    labels = np.repeat(["arc", "bow", "left"], [MOON, MOON, 200]).astype(object)
    labels[2 * MOON :][blob[:, 0] > 3.6] = "right"
    for i in rng.choice(2 * MOON, SLIPS, replace=False):
        labels[i] = "bow" if labels[i] == "arc" else "arc"
    return X, labels


def main() -> None:
    """Audit, draw and print."""
    X, labels = data()
    found = audit(X, labels, random_state=0)
    table = found.to_frame()
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
    for ax, column, title in (
        (axes[0], "label", "given labels"),
        (axes[2], "suggested", "suggested labels"),
    ):
        for name, colour in COLOURS.items():
            of = (table[column] == name).to_numpy()
            ax.scatter(*X[of].T, color=colour, s=9, label=f"{name} ({of.sum()})")
        ax.set_title(title, fontsize=10)
        ax.legend(frameon=False, markerscale=2, fontsize=8, handletextpad=0, borderpad=0)
    rather = (table["label"] != table["suggested"]).to_numpy()
    ScoreScatterDisplay.from_confidence(found, X, ax=axes[1])
    axes[1].scatter(*X[rather].T, facecolors="none", edgecolors="#D55E00", s=60)
    axes[1].set_title("scores (circled: another label suggested)", fontsize=10)
    axes[1].spines[:].set_visible(True)
    for ax in axes:
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    figure.savefig(DOCS / "images" / "audit.png", dpi=100)
    plt.close(figure)
    print(found.verdicts_as_text())


if __name__ == "__main__":
    main()
