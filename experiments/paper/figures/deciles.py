"""Accuracy of k-means in each tenth of the points by score; the setting is that of the correlation table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.paper.correlation import SCORES, deciles, draw_panels, rank_correlation
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, Held, averaged

KEYS = ("dataset", "score", "decile")
PRINTED_AT_LEAST = 0.88  # the smallest correlation that the paper prints


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Accuracy in ten bins, averaged over repetitions; decile 1 has the lowest scores."""
    found = deciles(name, protocol)
    for score in SCORES:
        for at in range(10):
            row = {"dataset": name, "score": score, "decile": at + 1}
            yield {**row, **averaged([by_bin[score][at] for by_bin in found])}


def draw(frame: pd.DataFrame) -> Any:
    """A panel a data set."""
    return draw_panels(frame, "decile", "decile (10: surest)", "Accuracy by decile of the score")


def rises(frame: pd.DataFrame) -> Held:
    """Over data sets and scores: rank correlation of decile and accuracy as high as any printed."""
    lines = [
        part.sort_values("decile")["value"].to_numpy()
        for _, part in frame.groupby(["dataset", "score"])
    ]
    return sum(rank_correlation(line) >= PRINTED_AT_LEAST for line in lines), len(lines)


def ends(frame: pd.DataFrame) -> Held:
    """Over data sets and scores: the surest tenth is more accurate than the least sure."""
    table = frame.pivot_table(index=["dataset", "score"], columns="decile", values="value")
    return int((table[10] > table[1]).sum()), len(table)


EXPERIMENT = Experiment(
    title="Accuracy by decile of the score",
    run=run,
    keys=KEYS,
    draw=draw,
    see={
        "Accuracy rises almost steadily with the decile: rank correlation at least 0.88, the paper's least": rises,
        "The surest tenth is more accurate than the least sure": ends,
    },
)
