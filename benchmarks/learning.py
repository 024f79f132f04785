"""What a person's answers cost to learn from, beside the fit that was scored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.common import Row, blobs, clock
from clustertrust import CAKE
from clustertrust.answers import Answers, learn

N = 10**6
ANSWERS = 60


def run() -> Iterator[Row]:
    """Yield the rows: learning from the answers, and the scores of all points."""
    X = blobs(N)
    cake = CAKE(10, geometry="rms", random_state=0)
    whole = clock(lambda: cake.fit(X), times=2)
    rng = np.random.default_rng(0)
    asked = rng.choice(N, ANSWERS, replace=False)
    right = rng.random(ANSWERS) < cake.scores_[asked] + 0.3
    answers = Answers.of(cake, asked, right=right)
    fitted = clock(lambda: learn(cake, answers), times=3)
    scored = clock(lambda: learn(cake, answers).scores, times=3)
    beside = "CAKE.fit, rms"
    what = f"{ANSWERS} answers, n=1,000,000, d=20"
    yield Row.faster(f"learning from {what}", fitted, beside, whole, None)
    yield Row.faster(f"learning from {what}, and all scores", scored, beside, whole, None)
