"""From scores to a kept set: what is asked, what is learned, what is kept, on tumours of the breast.

Run from a checkout: `python examples/plot_answers.py` writes `docs/images/answers.png` and prints
the decision.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from clustertrust import CAKE
from clustertrust.answers import ask, decide
from clustertrust.displays import score_colors
from clustertrust.evaluation import auroc, correctness

DOCS = Path(__file__).parent.parent / "docs"
QUESTIONS = 120
RISK = 0.1


def main() -> None:
    """Cluster, ask, learn and decide; the diagnosis plays the person."""
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data)
    diagnosis = data.target_names[data.target]
    cake = CAKE(2, fusion="refined", random_state=0).fit(X)
    questions = ask(cake, QUESTIONS)
    decision = decide(cake, questions.answered(classes=diagnosis[questions.positions]), risk=RISK)
    print(decision)

    # What nobody knows in earnest: which of all assignments are right.
    right = correctness(cake.labels_, data.target)
    learned = decision.learned.scores
    print(f"AUROC: score {auroc(cake.scores_, right):.2f}, learned {auroc(learned, right):.2f}")
    mistaken = decision.kept & (decision.to_frame()["class"].to_numpy() != diagnosis)
    print(f"Wrong among the kept: {mistaken.sum()}")

    at = PCA(2, random_state=0).fit_transform(X)
    figure, axes = plt.subplots(
        2, 2, figsize=(9.5, 7.6), layout="constrained", sharex=True, sharey=True
    )
    dots = {"s": 9, "linewidths": 0}
    first = axes[0, 0].scatter(*at.T, c=cake.scores_, cmap=score_colors(), vmin=0, vmax=1, **dots)
    axes[0, 0].set_title("1. The score", fontsize=10)
    axes[0, 1].scatter(*at.T, c="#DDDDDD", **dots)
    for drawn, colour, name in ((True, "#0072B2", "at random"), (False, "#D55E00", "to learn")):
        asked = questions.positions[questions.drawn == drawn]
        axes[0, 1].scatter(*at[asked].T, c=colour, s=16, linewidths=0, label=name)
    axes[0, 1].set_title(f"2. {QUESTIONS} questions", fontsize=10)
    axes[0, 1].legend(fontsize="small")
    axes[1, 0].scatter(*at.T, c=learned, cmap=score_colors(), vmin=0, vmax=1, **dots)
    axes[1, 0].set_title("3. Learned: probability to be right", fontsize=10)
    axes[1, 1].scatter(*at[decision.kept].T, c="#999999", label="kept", **dots)
    axes[1, 1].scatter(*at[~decision.kept].T, c="#E69F00", label="not kept", **dots)
    axes[1, 1].scatter(*at[mistaken].T, c="#D55E00", s=30, marker="x", label="kept, and wrong")
    axes[1, 1].set_title(f"4. {decision.n_kept} of {len(X)} kept", fontsize=10)
    axes[1, 1].legend(fontsize="small")
    figure.colorbar(first, ax=axes[:, 0], location="left", label="score, probability")
    for ax in axes[:, 1]:
        ax.tick_params(labelleft=False)
    (DOCS / "images").mkdir(parents=True, exist_ok=True)
    figure.savefig(DOCS / "images" / "answers.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
