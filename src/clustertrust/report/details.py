"""What the page shows of single points, packed: which ones, where, their votes, their values."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_names
from clustertrust._validation.rows import check_same_length
from clustertrust._views import View, data_view, given_view, round_range
from clustertrust.reasons import (
    BOUNDARY,
    CORE,
    NEAR,
    NEARLY_ALL,
    REASONS,
    SENTENCES,
    STABLE,
    UNASSIGNED,
    doubts,
)
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
# One in this many of the points drawn is there for its low score
LOWEST = 10


def sample(scores: Floats, most: int, also: Ints) -> Ints | None:
    """Return sorted positions of at most `most` points to draw; None: draw all.

    A tenth of them have the lowest scores, which readers look for; the others are random and show
    where the clusters lie, and the points `also`, which the page asks about, are among them.
    """
    n = len(scores)
    if n <= most:
        return None
    # NaN comes last: no score is not a low score
    by_score = np.argsort(scores, kind="stable")
    drawn = np.zeros(n, dtype=bool)
    drawn[by_score[: most // LOWEST]] = drawn[also] = True
    others, room = np.flatnonzero(~drawn), most - int(drawn.sum())
    drawn[np.random.default_rng(0).choice(others, room, replace=False)] = True
    return np.flatnonzero(drawn)


def choose_columns(moments: Moments, codes: Ints, most: int) -> Ints:
    """The columns, at most `most` and in their order, in which the clusters differ most for the
    spread within them.
    """
    means, (center, variance) = moments.means, moments.of_all
    k, d = means.shape
    if d <= most:
        return np.arange(d)
    sizes = np.bincount(codes[codes >= 0], minlength=k)[:, None]
    between = np.nansum(sizes * (means - center) ** 2, axis=0)
    share = np.divide(between, variance, out=np.zeros(d), where=variance > 0)
    return np.sort(np.argsort(-share, kind="stable")[:most])


def choose_view(
    X: Any, columns: list[str], embedding: Any, table: pd.DataFrame, codes: Ints
) -> View:
    """Choose where to draw the points: the embedding, else the data, else columns of the table."""
    if embedding is not None:
        return given_view(embedding, table.index, "table")
    scores = table["score"].to_numpy()
    if X is not None:
        return data_view(X, columns, scores, "score")
    if {"stability", "geometry"} <= set(table.columns):
        return View(
            table[["geometry", "stability"]].to_numpy(),
            ("geometry", "stability"),
            "The data were not given: points are placed by their geometry and stability.",
            is_plane=True,
        )
    spread = np.random.default_rng(0).uniform(-0.35, 0.35, len(table))
    return View(
        np.column_stack([scores, codes + spread]),
        ("score", "cluster"),
        "The data were not given: points are placed by their score, one band per cluster, at "
        "random within it.",
    )


def pack_view(view: View, shown: Ints, codes: Ints, k: int) -> dict[str, Any]:
    """Coordinates of the points `shown`, as shares of each axis from its smallest to its largest
    value.

    Shares survive 32 bits where the coordinates do not: times in seconds, say, differ in their last
    digits.
    """
    xy = np.where(np.isfinite(view.xy), view.xy, np.nan)[shown]
    there = ~np.isnan(xy).any(axis=1)
    low, high = (
        (xy[there].min(axis=0), xy[there].max(axis=0)) if there.any() else (np.zeros(2), np.ones(2))
    )
    if view.is_plane:
        low, high = np.array([round_range(xy[there, axis]) for axis in (0, 1)]).T
    flat = high <= low
    share = np.where(flat, 0.5, (xy - low) / np.where(flat, 1.0, high - low))
    share[~there] = np.nan
    middle = np.full((k, 2), np.nan)
    for cluster in range(k):
        members = share[(codes[shown] == cluster) & there]
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


def pack_votes(shares: Floats, columns: Ints, k: int) -> dict[str, Any]:
    """Return the clusters with the most votes for each point, and their shares.

    `columns` is the cluster of each column.
    """
    top = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_VOTES]
    return {
        "clusters": pack_codes(columns[top], k),
        "shares": pack(np.take_along_axis(shares, top, axis=1), "f4"),
    }


def pack_reasons(table: pd.DataFrame, codes: Ints) -> dict[str, Any] | None:
    """Pack the doubt about each point, in case its score is not above the page's threshold.

    Return None if the table has no components. `codes` (n,) are clusters, negative: none.
    """
    if not {"stability", "geometry"} <= set(table.columns):
        return None
    if {"silhouette_mean", "silhouette_std"} <= set(table.columns):
        placement = table["silhouette_mean"] - table["silhouette_std"]
    else:
        # S̃ is what is left of it; 0 mostly stands for less than 0
        placement = table["geometry"].where(table["geometry"] > 0, -1.0)
    doubt_of = doubts(table["stability"].to_numpy(), placement.to_numpy())
    doubt_of[(codes < 0) | table["score"].isna()] = UNASSIGNED
    return {
        "of": pack(doubt_of, "u1"),
        "names": list(REASONS),
        "sentences": [SENTENCES[name] for name in REASONS],
        "near": NEAR,
        "stable": STABLE,
        "nearly_all": NEARLY_ALL,
        "core": CORE,
        "boundary": BOUNDARY,
        "unassigned": UNASSIGNED,
    }


def pack_values(
    X: Any, names: list[str], moments: Moments, codes: Ints, shown: Ints
) -> dict[str, Any]:
    """Pack values of the points `shown` in the most informative columns, and the cluster means."""
    chosen = choose_columns(moments, codes, min(MOST_COLUMNS, max(1, MOST_VALUES // len(shown))))
    values = X[shown][:, chosen]
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


def check_original(original: Any, table: pd.DataFrame) -> None:
    """Raise unless the user's own table is a frame of the same points."""
    if original is None:
        return
    if not isinstance(original, pd.DataFrame):
        raise TypeError(
            f"original is a {type(original).__name__}; give a pandas DataFrame, one row per point."
        )
    check_same_length("original", original, "table", table)


def check_unasked(unasked: Any, original: pd.DataFrame | None) -> list[str]:
    """Return names of columns of the user's own table; raise if it has no such column."""
    names = check_names("unasked", unasked, "columns")
    have = [] if original is None else [str(name) for name in original.columns]
    lost = [name for name in names if name not in have]
    if lost:
        raise ValueError(f"unasked={lost!r}: original has no such column; it has {have}.")
    return names


def pack_original(
    original: pd.DataFrame,
    unasked: Sequence[str],
    values: Sequence[str],
    clustered: Collection[str],
) -> list[dict[str, Any]]:
    """Pack the columns of the user's own table as text: names, and what stands in each row.

    The review does not show those `unasked`. Where they would take too much room, columns of
    numbers among the `values` that the page has of every point are taken from there, with
    seven digits, and columns that still find no room are left out. Of too many columns, those that
    were not `clustered` come first: nothing else on the page shows them.
    """
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
        head = {"name": name, "unasked": name in unasked, "used": name in clustered}
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
