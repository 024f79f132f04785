"""What a reason for every point costs beside its score."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.common import Row, blobs, clock_in_turn
from clustertrust import build_ensemble, confidence


def run() -> Iterator[Row]:
    """Yield the row: reasons and margins, which are told when a table is asked for, as a share of
    scoring.
    """
    X = blobs(100_000)
    ensemble = build_ensemble(X, n_clusters=10, random_state=0)
    scored = confidence(X, ensemble, geometry="rms")
    ours, score = clock_in_turn(
        lambda: (scored.reasons(), scored.margin),
        lambda: confidence(X, ensemble, geometry="rms"),
        times=5,
    )
    what = "reasons and margins, n=100,000, d=20, k=10, R=20"
    yield Row.within(
        what, ours.median, "rms score of the given ensemble", score.median, 0.02, ours.spread
    )
