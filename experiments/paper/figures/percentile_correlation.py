"""Rank correlation of score and accuracy over ten bins, for four signals on the target of the correctness tables.

The authors' bins, data sets and reference are not known; both protocols have bins of equal size, ties in random order,
and differ as in the table of correctness with k-means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from clustertrust.evaluation import percentile_correlation
from experiments.paper import data, drawing
from experiments.paper.correctness import signals
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, Held, averaged

KEYS = ("dataset", "signal")
SIGNALS = {
    "CAKE_HM": ("o", drawing.BLUE),
    "CAKE_PR": ("D", drawing.VERMILION),
    "entropy": ("s", drawing.GREEN),
    "bootstrap": ("^", drawing.ORANGE),
}


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """As the table of correctness, with bins in place of curves."""
    method = protocol.method("kmeans", name)
    other = "kmeans" if protocol.name == "printed" else method
    found = [
        {signal: percentile_correlation(scores, right) for signal, scores in some.items()}
        for some, right in signals(name, method, other, protocol)
    ]
    for signal in SIGNALS:
        yield {"dataset": name, "signal": signal, **averaged([some[signal] for some in found])}


def draw(frame: pd.DataFrame) -> Any:
    """A row a data set, a panel a protocol."""
    sets = drawing.shown(frame, "dataset", data.ALL)[::-1]
    parts = list(drawing.by_protocol(frame))
    title = "How steadily accuracy rises with each signal"
    figure, axes = drawing.grid(
        1, len(parts), height=1.6 + 0.3 * len(sets), title=title, sharey=True, sharex=True
    )
    for ax, (_, meaning, rows) in zip(axes.flat, parts, strict=True):
        for shift, (signal, (marker, colour)) in zip(
            np.linspace(0.27, -0.27, 4), SIGNALS.items(), strict=True
        ):
            of = rows[rows["signal"] == signal].set_index("dataset").reindex(sets)
            y = np.arange(len(sets)) + shift
            ax.hlines(y, of["low"], of["high"].clip(upper=1), color=colour, lw=1)
            ax.plot(of["value"], y, marker, color=colour, ms=5, label=signal)
        for line in np.arange(len(sets) - 1) + 0.5:
            ax.axhline(line, color=drawing.GREY, lw=0.4)
        ax.set_yticks(range(len(sets)), sets)
        ax.set_xlim(right=1.03)
        ax.set_xlabel("Spearman correlation of bin and accuracy")
        ax.set_title(meaning, fontsize=10)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


def steadier(frame: pd.DataFrame) -> Held:
    """Over data sets: both CAKE scores correlate as well as both others, or better."""
    table = frame.pivot_table(
        index="dataset", columns="signal", values="value", dropna=False
    ).fillna(-1)
    cake, others = table[["CAKE_PR", "CAKE_HM"]], table[["entropy", "bootstrap"]]
    return int((cake.min(axis=1) >= others.max(axis=1)).sum()), len(table)


def strong(frame: pd.DataFrame) -> Held:
    """Over data sets and the two CAKE scores: correlation of 0.9 or more."""
    cake = frame.loc[frame["signal"].isin(["CAKE_PR", "CAKE_HM"]), "value"]
    return int((cake >= 0.9).sum()), len(cake)


EXPERIMENT = Experiment(
    title="Correlation of percentile and accuracy, four signals",
    run=run,
    keys=KEYS,
    draw=draw,
    see={
        "Accuracy rises at least as steadily with CAKE as with entropy and bootstrap": steadier,
        "With CAKE the correlation is strong, 0.9 or more": strong,
    },
)
