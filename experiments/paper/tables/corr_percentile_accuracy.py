"""Spearman correlation of the decile of a score with the accuracy in it; which score the paper has is not said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.paper.correlation import SCORES, deciles, rank_correlation
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, averaged


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Correlate over ten bins, once a repetition."""
    found = deciles(name, protocol)
    for score in SCORES:
        yield {
            "dataset": name,
            "score": score,
            **averaged([rank_correlation(by_bin[score]) for by_bin in found]),
        }


EXPERIMENT = Experiment(
    title="Correlation of score deciles with accuracy",
    run=run,
    keys=("dataset", "score"),
    truncated=True,
    # One number is printed, not two.
    kind=lambda rows: rows["score"].map({"CAKE_PR": "table", "CAKE_HM": ""}),
    causes={
        "the authors' bins, reference and score are not known": lambda rows: rows["dataset"] != ""
    },
)
