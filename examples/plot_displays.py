"""Every display once: k-means on three blobs of different spread, and on 26 clusters.

Run from a checkout: `python examples/plot_displays.py` writes `docs/images/displays-NAME.png`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import CAKE, datasets
from clustertrust.displays import (
    AlignmentDisplay,
    ConvergenceDisplay,
    CoverageAccuracyDisplay,
    DecileDisplay,
    RiskCoverageDisplay,
    ScoreBarsDisplay,
    ScoreDistributionDisplay,
    ScoreScatterDisplay,
    StabilityGeometryDisplay,
)

DOCS = Path(__file__).parent.parent / "docs"

# What is drawn of a fitted CAKE, and of the true classes where the display compares with them.
BLOBS: dict[str, Callable[[CAKE, np.ndarray], Any]] = {
    "scatter": lambda cake, y: ScoreScatterDisplay.from_estimator(cake),
    "components": lambda cake, y: StabilityGeometryDisplay.from_estimator(cake),
    "distribution": lambda cake, y: ScoreDistributionDisplay.from_estimator(cake),
    "bars": lambda cake, y: ScoreBarsDisplay.from_estimator(cake),
    "risk": lambda cake, y: RiskCoverageDisplay.from_estimator(cake, y),
    "accuracy": lambda cake, y: CoverageAccuracyDisplay.from_estimator(cake, y),
    "deciles": lambda cake, y: DecileDisplay.from_estimator(cake, y),
    "settling": lambda cake, y: ConvergenceDisplay.from_estimator(cake),
    "runs": lambda cake, y: ConvergenceDisplay.from_estimator(cake, quantity="scores"),
    "alignment": lambda cake, y: AlignmentDisplay.from_estimator(cake),
}
MANY = {f"{name}-26": BLOBS[name] for name in ("scatter", "distribution", "bars", "alignment")}


def many_clusters() -> tuple[np.ndarray, np.ndarray]:
    """Draw 26 clusters of different sizes in six dimensions."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(40, 400, 26).tolist()
    return make_blobs(sizes, centers=rng.uniform(-12, 12, (26, 6)), cluster_std=2.0, random_state=0)


def draw(name: str, show: Callable[[CAKE, np.ndarray], Any], cake: CAKE, y: np.ndarray) -> Path:
    """Save one display."""
    figure = show(cake, y).figure_
    path = DOCS / "images" / f"displays-{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    return path


def main() -> None:
    """Draw them all."""
    for (X, y), k, shown in ((datasets.load("S5"), 3, BLOBS), (many_clusters(), 26, MANY)):
        cake = CAKE(k, n_runs=30, random_state=0).fit(X)
        for name, show in shown.items():
            draw(name, show, cake, y)


if __name__ == "__main__":
    main()
