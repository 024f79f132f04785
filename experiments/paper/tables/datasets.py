"""The data table: sizes as stated and as loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.paper.protocols import Protocol
from experiments.paper.results import PRINTED, Experiment


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Points, dimensions and the number of clusters asked for."""
    case = protocol.load(name)
    stated = pd.read_csv(PRINTED / "datasets.csv", dtype=str).set_index("dataset").loc[name]
    for quantity, value in {"n": len(case.X), "d": case.X.shape[1], "k": case.k}.items():
        yield {"dataset": name, "quantity": quantity, "value": value, "paper": stated[quantity]}


EXPERIMENT = Experiment(
    title="The data sets: as stated, and as loaded",
    run=run,
    keys=("dataset", "quantity"),
    causes={
        "the paper speaks of three clusters in S3; its authors counted the noise as a fourth.": (
            lambda rows: rows["dataset"] == "S3"
        ),
        "OpenML's satimage has 6430 rows, the paper's table 6435, and its table of adaptive filtering 6430.": (
            lambda rows: rows["dataset"] == "Sa"
        ),
    },
)
