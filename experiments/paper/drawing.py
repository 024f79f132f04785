"""What the figures share: rows averaged over repetitions, a palette for the colour-blind, panels by protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

# Okabe and Ito's colours, told apart by readers with any of the usual kinds of colour vision.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW, BLACK = "#56B4E9", "#CC79A7", "#F0E442", "#000000"
PALETTE = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, BLACK, YELLOW)
GREY = "#999999"
SCORES = "viridis"  # colour map of scores: dark is unsure

PROTOCOLS = {"printed": "as the authors ran it", "fair": "faults removed"}


def grid(
    rows: int, columns: int, *, height: float = 3.4, title: str = "", **options: Any
) -> tuple[Any, Any]:
    """Figure, 10 inches wide, and a (rows, columns) array of axes without their upper and right frame."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(10, height * rows + 0.4 * bool(title)),
        squeeze=False,
        layout="constrained",
        **options,
    )
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure, axes


def bare(ax: Any, title: str) -> None:
    """For a scatter in the plane: no axes, one scale, a title."""
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_aspect("equal", "datalim")


def shown(frame: pd.DataFrame, column: str = "protocol", order: Any = PROTOCOLS) -> list[str]:
    """The values of a column that are there, in their order: protocols, printed first, if nothing else is asked."""
    there = set(frame[column])
    return [value for value in order if value in there]


def by_protocol(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Name, what it means, and rows of each protocol that was run."""
    for name in shown(frame):
        yield name, f"{name}: {PROTOCOLS[name]}", frame[frame["protocol"] == name]
