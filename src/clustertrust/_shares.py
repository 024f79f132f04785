"""Shares of one whole in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def percents(shares: Sequence[float]) -> list[str]:
    """Return shares of one whole as percentages that add up: "67%", "17%", "16%".

    Each rounded alone, they may give 101. What is left to 1 is a share of its own, not returned.
    The page rounds in the same way, in `data.js`.
    """
    exact = (100 * np.array([*shares, max(0.0, 1 - sum(shares))])).round(4)  # equal ones stay equal
    whole = np.floor(exact).astype(int)
    largest = np.argsort((whole - exact).round(4), kind="stable")
    whole[largest[: max(0, 100 - whole.sum())]] += 1
    return [f"{value}%" for value in whole[: len(shares)]]
