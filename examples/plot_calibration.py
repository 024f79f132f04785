"""What a score means: probabilities from a few labels, and a threshold with a guarantee, on scanned
digits.

Run from a checkout: `python examples/plot_calibration.py` writes `docs/images/calibration.png`
and prints the threshold.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from clustertrust import CAKE
from clustertrust.calibration import Calibrator, map_clusters, risk_threshold, suggest
from clustertrust.displays import ReliabilityDisplay

DOCS = Path(__file__).parent.parent / "docs"
IMAGES = DOCS / "images"
ALPHA = 0.15


def main() -> None:
    """Cluster the digits, label some, calibrate, cut, and compare with all classes, which are known
    here.
    """
    X, y = load_digits(return_X_y=True)
    cake = CAKE(10, random_state=0).fit(X)

    # 100 labels say which digit a cluster stands for, 400 others how much to trust it.
    first = suggest(cake.scores_, 100, random_state=0)
    named = map_clusters(cake.labels_, y[first.positions], first.positions)
    sample = suggest(cake.scores_, 400, exclude=named.used, random_state=1)
    correct = named.correct(sample.positions, y[sample.positions])
    calibrator = Calibrator().fit(cake.scores_[sample.positions], correct)
    cut = risk_threshold(cake.scores_, correct, ALPHA, sample=sample)
    print(cut)

    # What nobody knows in earnest: the classes of all other points.
    rest = np.setdiff1d(np.arange(len(X)), np.append(first.positions, sample.positions))
    correct = named.assign()[rest] == y[rest]
    scores = cake.scores_[rest]

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
    ReliabilityDisplay.from_predictions(scores, correct, name="score", ax=left)
    ReliabilityDisplay.from_calibrator(calibrator, scores, correct, ax=left)
    left.set_title(f"{len(rest)} points without a label", fontsize=10)

    order = np.argsort(-cake.scores_, kind="stable")
    wrong = named.assign()[order] != y[order]
    kept = np.arange(1, len(order) + 1) / len(order)
    right.plot(
        kept, np.cumsum(wrong) / np.arange(1, len(order) + 1), color="#0072B2", label="true error"
    )
    right.axhline(ALPHA, color="#999999", linewidth=1, label=f"alpha = {ALPHA:g}")
    right.axvline(cut.keep(cake.scores_).mean(), color="#D55E00", label="certified from 400 labels")
    right.set(
        xlabel="share of the points kept, surest first", ylabel="error among them", ylim=(0, None)
    )
    right.legend(fontsize="small")
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "calibration.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
