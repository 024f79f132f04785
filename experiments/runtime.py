"""The runtime tables, read from what `python -m benchmarks growth` measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from experiments.protocols import Protocol
from experiments.results import HERE, PAPER

# Column of the printed table → columns of the benchmark: ours, and the authors' package on the same machine.
MEASURED = {
    "cake_exact_s": ("ours_exact_s", "authors_exact_s"),
    "cake_approx_s": ("ours_proxy_s", "authors_proxy_s"),
    "pearson": ("ours_pearson", "authors_pearson"),
    "mae": ("ours_mae", "authors_mae"),
}


CAUSES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "times are of another machine, and of the authors' package, whose times here are in the column authors_package.": (
        lambda rows: rows["quantity"].str.endswith("_s")
    ),
    "blobs of equal size tie exactly where runs merge two of them, and our choice among tied matchings hangs on the "
    "partitions alone, the authors' on the names of clusters. Their package on the same runs is in authors_package.": (
        lambda rows: rows["quantity"].isin(["pearson", "mae"])
    ),
}


def against(sweep: str) -> Callable[[str, Protocol], Iterator[dict[str, Any]]]:
    """Make the experiment for runtime against R or n."""

    def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
        measured = pd.read_csv(HERE.parent / "benchmarks" / "runtime.csv").set_index(["sweep", "size"]).loc[sweep]
        printed = pd.read_csv(PAPER / f"runtime_vs_{sweep}.csv", dtype=str)
        for _, row in printed.iterrows():
            for quantity, (ours, authors) in MEASURED.items():
                here = measured.loc[int(row[sweep])]
                yield {
                    "dataset": name,
                    sweep: int(row[sweep]),
                    "quantity": quantity,
                    "value": here[ours],
                    "authors_package": here[authors],
                    "paper": row[quantity],
                }

    return run
