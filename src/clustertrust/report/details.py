"""What the page shows of single points, packed: which ones, where, their votes, their values."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Ints
from clustertrust._views import View, data_view, given_view, round_range
from clustertrust.reasons import (
    BOUNDARY,
    CORE,
    NEAR,
    NEARLY_ALL,
    OF_GIVEN,
    REASONS,
    SENTENCES,
    STABLE,
    UNASSIGNED,
    doubts,
)
from clustertrust.report.material import Material
from clustertrust.report.packing import pack, pack_codes, pack_index
from clustertrust.report.profiles import Moments

# Columns of the data shown for a point, and values of them in the file, 3.5 MB
MOST_COLUMNS, MOST_VALUES = 50, 700_000
# Columns of the user's own table, all points, and cells of it in the file
MOST_ORIGINAL, MOST_CELLS = 50, 2_000_000
# Bytes for them: what else there is of a page takes about so many for a point, of 12 MB in all
BYTES, BYTES_A_POINT, LEAST_BYTES = 8_000_000, 55, 2_500_000
# Clusters with votes
MOST_VOTES = 5


def choose_columns(moments: Moments, codes: Ints, most: int) -> Ints:
    """The columns, at most `most`, in which clusters differ most for the spread within them."""
    means, (center, variance) = moments.means, moments.of_all
    k, d = means.shape
    if d <= most:
        return np.arange(d)
    sizes = np.bincount(codes[codes >= 0], minlength=k)[:, None]
    between = np.nansum(sizes * (means - center) ** 2, axis=0)
    share = np.divide(between, variance, out=np.zeros(d), where=variance > 0)
    return np.sort(np.argsort(-share, kind="stable")[:most])


def choose_view(page: Material, embedding: Any) -> View:
    """Choose where to draw the points: the embedding, else the data, else columns of the table."""
    numbers = page.numbers
    if embedding is not None:
        return given_view(embedding, numbers.index, "table")
    if page.data is not None:
        return data_view(page.data.matrix, page.columns, page.scores, "score")
    if {"stability", "geometry"} <= set(numbers.columns):
        return View(
            numbers[["geometry", "stability"]].to_numpy(),
            ("geometry", "stability"),
            "The data were not given: points are placed by their geometry and stability.",
            is_plane=True,
        )
    spread = np.random.default_rng(0).uniform(-0.35, 0.35, len(numbers))
    return View(
        np.column_stack([page.scores, page.codes + spread]),
        ("score", "cluster"),
        "The data were not given: points are placed by their score, one band per cluster, at "
        "random within it.",
    )


def pack_view(page: Material, view: View) -> dict[str, Any]:
    """Coordinates of the points that are drawn, as shares of each axis from its smallest to its
    largest value.

    Shares survive 32 bits where the coordinates do not: times in seconds, say, differ in their last
    digits.
    """
    xy = np.where(np.isfinite(view.xy), view.xy, np.nan)[page.shown]
    there = ~np.isnan(xy).any(axis=1)
    low, high = (
        (xy[there].min(axis=0), xy[there].max(axis=0)) if there.any() else (np.zeros(2), np.ones(2))
    )
    if view.is_plane:
        low, high = np.array([round_range(xy[there, axis]) for axis in (0, 1)]).T
    flat = high <= low
    share = np.where(flat, 0.5, (xy - low) / np.where(flat, 1.0, high - low))
    share[~there] = np.nan
    middle = np.full((page.k, 2), np.nan)
    for cluster in range(page.k):
        members = share[(page.codes[page.shown] == cluster) & there]
        if len(members):
            middle[cluster] = np.median(members, axis=0)
    return {
        "x": pack(share[:, 0], "f4"),
        "y": pack(share[:, 1], "f4"),
        "low": low.tolist(),
        "high": high.tolist(),
        "names": list(view.names),
        "origin": view.origin,
        "is_plane": view.is_plane,
        "middles": pack(middle, "f4"),
    }


def pack_votes(page: Material) -> dict[str, Any] | None:
    """Return the clusters with the most votes for each point that is drawn, and their shares."""
    if page.votes is None:
        return None
    shares, columns = page.votes[0][page.shown], page.votes[1]
    top = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_VOTES]
    return {
        "clusters": pack_codes(columns[top], page.k),
        "shares": pack(np.take_along_axis(shares, top, axis=1), "f4"),
    }


def pack_reasons(page: Material) -> dict[str, Any] | None:
    """Pack the doubt about each point that is not kept; None if the table has no components."""
    table = page.numbers
    if not {"stability", "geometry"} <= set(table.columns):
        return None
    if {"silhouette_mean", "silhouette_std"} <= set(table.columns):
        placement = table["silhouette_mean"] - table["silhouette_std"]
    else:
        # S̃ is what is left of it; 0 mostly stands for less than 0
        placement = table["geometry"].where(table["geometry"] > 0, -1.0)
    doubt_of = doubts(table["stability"].to_numpy(), placement.to_numpy())
    doubt_of[(page.codes < 0) | table["score"].isna()] = UNASSIGNED
    sentences = SENTENCES if page.suspects is None else OF_GIVEN
    return {
        "of": pack(doubt_of, "u1"),
        "names": list(REASONS),
        "sentences": [sentences[name] for name in REASONS],
        "near": NEAR,
        "stable": STABLE,
        "nearly_all": NEARLY_ALL,
        "core": CORE,
        "boundary": BOUNDARY,
        "unassigned": UNASSIGNED,
    }


def pack_values(page: Material) -> dict[str, Any] | None:
    """Pack values of drawn points in the most informative columns, and cluster means; or None."""
    if page.data is None:
        return None
    names, moments, shown = page.columns, page.data.moments, page.shown
    most = min(MOST_COLUMNS, max(1, MOST_VALUES // len(shown)))
    chosen = choose_columns(moments, page.codes, most)
    values = page.data.matrix[shown][:, chosen]
    values = values.toarray() if sparse.issparse(values) else values
    # Seven digits are enough to look at, but not where a large number (a time, an id) varies in its
    # last ones.
    wide = values.dtype == np.float64 and np.nanmax(np.abs(values), initial=0.0) >= 1e6
    return {
        "columns": [names[j] for j in chosen],
        "of": len(names),
        "data": pack(values, "f8" if wide else "f4"),
        "means": pack(moments.means[:, chosen], "f8" if wide else "f4"),
    }


def pack_original(
    page: Material, packed_values: dict[str, Any] | None, used: Collection[str]
) -> list[dict[str, Any]]:
    """Pack the columns of the user's own table as text: names, and what stands in each row.

    Where they would take too much room, columns of numbers that the page has of every point are
    taken from there, with seven digits, and columns that still find no room are left out. Of too
    many columns, those that were not clustered come first: nothing else on the page shows them.
    `used` are columns that were.
    """
    original = page.original
    if original is None:
        return []
    whole = None if page.drawn is not None else packed_values
    values = [] if whole is None else whole["columns"]
    clustered = {*page.columns, *used}
    n = max(1, len(original))
    names = [str(name) for name in original.columns]
    first = sorted(range(len(names)), key=lambda j: names[j] in clustered)
    shown = original.iloc[:, sorted(first[: min(MOST_ORIGINAL, MOST_CELLS // n)])]
    room = max(LEAST_BYTES, BYTES - BYTES_A_POINT * n)
    packed: dict[int, dict[str, Any]] = {}
    # Those that the values have come last.
    order = sorted(range(shown.shape[1]), key=lambda j: str(shown.columns[j]) in values)
    for j in order:
        name, column = str(shown.columns[j]), shown.iloc[:, j].astype(object)
        of_values = values.index(name) if name in values else None
        head = {"name": name, "unasked": name in page.unasked, "used": name in clustered}
        texts = column.where(column.notna(), "").astype(str).tolist()
        # A sample tells whether it is worth the time.
        sample = len(json.dumps(pack_index(pd.Index(texts[:1000], dtype=object))))
        entry = None
        if sample * n / min(n, 1000) <= 1.5 * room:
            entry = pack_index(pd.Index(texts, dtype=object))
        size = room + 1 if entry is None else len(json.dumps(entry))
        if size <= room:
            packed[j] = {**head, "texts": entry}
            room -= size
        elif of_values is not None:
            packed[j] = {**head, "value": of_values}
    return [packed[j] for j in sorted(packed)]
