"""Runtime against R and n, measured anew each time on the machine it runs on, beside the printed
seconds.

The library computes all runs' exact silhouettes from one pass over the distances, so that neither
its seconds nor its growth with R are those of the paper. The committed seconds are of two busy
cores, the shortest of three calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.paper.drawing import BLUE, GREEN, VERMILION, grid
from experiments.paper.protocols import Protocol
from experiments.paper.results import PRINTED, Experiment
from experiments.paper.runtime import SWEEPS, TIMES, measure, sizes

COLOURS = dict(zip(TIMES, (GREEN, BLUE, VERMILION), strict=True))


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Seconds of each part, at the sizes of the printed tables."""
    for size in sizes(name, protocol):
        for quantity in TIMES:
            yield {
                "dataset": name,
                "size": size,
                "quantity": quantity,
                "value": measure(name, size)[quantity],
            }


def draw(frame: pd.DataFrame) -> Any:
    """A panel a sweep, both axes logarithmic; hollow marks are the paper's."""
    figure, axes = grid(
        1, 2, height=3.6, title="Seconds of each part: filled marks ours, hollow ones the paper's"
    )
    for ax, (sweep, meaning) in zip(axes.flat, SWEEPS.items(), strict=True):
        printed = pd.read_csv(PRINTED / f"runtime_vs_{sweep}.csv")
        for quantity, name in TIMES.items():
            of = frame[(frame["dataset"] == sweep) & (frame["quantity"] == quantity)]
            ax.loglog(of["size"], of["value"], "o-", color=COLOURS[quantity], label=name, ms=5)
            ax.loglog(
                printed[sweep],
                printed[quantity],
                "o--",
                color=COLOURS[quantity],
                mfc="none",
                ms=5,
                lw=0.8,
            )
        ax.set(xlabel=meaning, ylabel="seconds")
        ax.legend(fontsize=8, frameon=False)
    return figure


EXPERIMENT = Experiment(
    title="Figure: runtime against R and n, measured again",
    run=run,
    keys=("dataset", "size", "quantity"),
    sets=tuple(SWEEPS),
    protocols=("printed",),
    draw=draw,
    again=True,
)
