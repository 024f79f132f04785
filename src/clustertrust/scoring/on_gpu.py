"""Scores of points whose silhouettes are on the GPU: the work is done there."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from clustertrust._parallel import run_blocks
from clustertrust._types import Arrays, Floats, Ints
from clustertrust.geometry.component import NORMALIZATIONS, mean_and_std
from clustertrust.kernels import _cupy, _cupy_scores
from clustertrust.scoring.jackknife import jackknife
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import Stability

# Rows that one thread looks up at a time.
_ROWS = 2**15
# What a score takes from each point, or tells of it.
FIELDS = ("scores", "geometry", "silhouette_mean", "silhouette_std", "standard_errors")


def component(s: Floats, scoring: Scoring) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the silhouettes that count, their mean, std and S̃; `s` is on the CPU or on the GPU.

    They are NaN where a run does not assign the point.
    """
    if scoring.unassigned == "disagree":
        s = np.nan_to_num(s, nan=0.0)
    mean, std = mean_and_std(s)
    return s, mean, std, NORMALIZATIONS[scoring.normalization](mean, std)


def rows_of(table: Floats, of: Ints, threads: int) -> Floats:
    """Return table[of] by several threads."""
    out = np.empty((len(of), *table.shape[1:]))

    def write(part: slice) -> None:
        # Without a copy in between; all of them are rows of the table.
        np.take(table, of[part], axis=0, out=out[part], mode="clip")

    run_blocks(write, (slice(low, low + _ROWS) for low in range(0, len(of), _ROWS)), threads)
    return out


def score_on_gpu(
    of: Ints, stability: Stability, s: Any, scoring: Scoring, parts: tuple[Floats, ...] = ()
) -> Arrays:
    """Return `FIELDS` of points with silhouettes `s` (n, R) on the GPU, in one copy.

    `of` (n,) is the row of `stability` that each belongs to, `parts` are other components of the
    score. NumPy's functions pass arrays of the GPU on to CuPy's, so that the formulas are those of
    the CPU.
    """
    cell_of = _cupy.on_gpu(of)
    by_cell = Stability(*(_cupy.on_gpu(getattr(stability, one.name)) for one in fields(stability)))
    more = tuple(map(_cupy.on_gpu, parts))

    def compute(rows: slice) -> dict[str, Any]:
        cells, held_fixed = cell_of[rows], tuple(part[rows] for part in more)
        counted, mean, std, g = component(s[rows], scoring)
        scores = scoring.fusion(by_cell.c[cells], g, *held_fixed)
        columns = tuple(part[:, None] for part in held_fixed)
        errors = np.hypot(*jackknife(cells, by_cell, counted, scoring, columns))
        return dict(zip(FIELDS, (scores, g, mean, std, errors), strict=True))

    return _cupy_scores.in_blocks(compute, s.shape, FIELDS)
