"""Tables of distances: square ones to cluster, and rows of distances to the points of a model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust import CAKE
from clustertrust._views import distance_view, landmark_positions
from clustertrust.cli.options import CakeOptions, ReadOptions
from clustertrust.cli.points import ROW, Points, read_file, row_name, source_name, source_of
from clustertrust.cli.request import ChooseRequest, ScoreRequest
from clustertrust.files.columns import check_there
from clustertrust.files.formats import FORMATS
from clustertrust.tables.values import listed

DEFAULT = ("kmedoids",)
SURE = 2  # likeness to distances of a table that holds nothing else


def for_distances(request: ScoreRequest | ChooseRequest) -> CakeOptions:
    """Return the method for given distances: k-medoids unless a clusterer was typed."""
    check_square_options(request.columns)
    method, typed = request.method, request.typed
    if "metric" in typed and method.metric != "precomputed":
        raise click.UsageError(
            f"--metric {method.metric}: with --distances DATA holds the distances; leave it out."
        )
    clusterer = method.clusterer if "clusterer" in typed else DEFAULT
    return replace(method, metric="precomputed", clusterer=clusterer)


def for_gower(method: CakeOptions, typed: Collection[str]) -> CakeOptions:
    """Return the method for Gower's distance: k-medoids unless a clusterer was typed."""
    if method.metric != "gower" or "clusterer" in typed:
        return method
    return replace(method, clusterer=DEFAULT)


def check_square_options(columns: ReadOptions) -> None:
    """Raise for options that choose or change columns: those of distances are points."""
    refused = columns.changes()
    if refused:
        raise click.UsageError(
            "With --distances the columns are points, and all are needed; leave out "
            f"{', '.join(refused)}."
        )


def read_square(path: str, columns: ReadOptions) -> Points:
    """Read the distances of all pairs of points, with or without names of rows and columns.

    NPY files are mapped into memory, not read. Columns in another order than the rows are put into
    theirs by name.
    """
    name = source_name(path)
    if path != "-" and columns.format_of(path) == "npy":
        matrix = np.load(Path(path), mmap_mode="r", allow_pickle=False)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(_not_square(name, matrix.shape))
        return _points(pd.DataFrame(matrix, copy=False), pd.RangeIndex(len(matrix), name=ROW))
    source, found, shapes = source_of(path), [], []
    for header in _headers(path, columns):
        frame, names = _read(source, replace(columns, header=header), name)
        shapes.append(frame.shape)
        square = _square(frame, names, columns.id)
        if square is not None:
            found.append(square)
            if _likeness(square[0]) == SURE:  # else names that are numbers are still possible
                break
    if not found:
        raise ValueError(_not_square(name, shapes[-1]))
    frame, ids = max(found, key=lambda one: _likeness(one[0]))
    return _points(_ordered(frame, ids, name), ids)


def read_new_distances(path: str, columns: ReadOptions, cake: CAKE) -> Points:
    """Read rows of distances of new points to the points of a model, with or without names."""
    name = source_name(path)
    n, feature_names = cake.n_features_in_, getattr(cake, "feature_names_in_", None)
    frame, ids = _read(source_of(path), columns, name)
    if columns.id is not None or frame.shape[1] == n + 1:
        frame, ids = _named_by(frame, columns.id, name)
    if feature_names is not None and set(feature_names) <= set(map(str, frame.columns)):
        frame = frame.set_axis([str(one) for one in frame.columns], axis=1)[list(feature_names)]
    elif feature_names is not None and frame.shape[1] == n:
        missing = sorted(set(feature_names) - set(map(str, frame.columns)))
        raise ValueError(
            f"{name} has no column {missing[0]!r}; its columns are the points of the model: "
            f"{listed(list(feature_names), 5)}."
        )
    if frame.shape[1] != n:
        raise ValueError(
            f"{name} has {frame.shape[1]} columns of distances; the model was fitted on {n} "
            "points, and each row holds the distances to all of them."
        )
    return _points(frame, ids)


def _points(frame: pd.DataFrame, ids: pd.Index) -> Points:
    """Return the points of a table of distances, with a view of them if it is square."""
    ids, kept = ids.rename(row_name(ids.name)), np.ones(len(ids), dtype=bool)
    view = None
    if frame.shape[0] == frame.shape[1] and all(dtype.kind in "iuf" for dtype in frame.dtypes):
        landmarks = landmark_positions(len(ids))
        to_landmarks = frame.iloc[:, landmarks].to_numpy(np.float64)
        view = distance_view(to_landmarks, landmarks) if np.isfinite(to_landmarks).all() else None
    return Points(frame.set_axis(ids, axis=0), None, ids, kept, None, view=view)


def _headers(path: str, columns: ReadOptions) -> tuple[bool | None, ...]:
    """Return what to try: whether the first line has names is seen from what then is square."""
    if columns.header is not None or "header" not in FORMATS[columns.format_of(path)].options:
        return (columns.header,)
    return (False, True)


def _read(source: str | bytes, columns: ReadOptions, name: str) -> tuple[pd.DataFrame, pd.Index]:
    table = read_file(source, columns)
    if sparse.issparse(table.data):
        raise ValueError(
            f"{name} is a sparse matrix, and silhouettes need all distances; give a dense one."
        )
    names = table.names
    ids = pd.RangeIndex(len(table.data), name=ROW) if names is None else names
    return table.data, ids.rename(str(ids.name or "id"))


def _square(
    frame: pd.DataFrame, names: pd.Index, id: str | None
) -> tuple[pd.DataFrame, pd.Index] | None:
    """Return the square part of a table and the names of its rows; None if there is none."""
    n, d = frame.shape
    if id is not None and id in map(str, frame.columns):
        frame, names = _named_by(frame, id, "")
    elif d == n + 1:
        frame, names = _named_by(frame, None, "")
    elif d == n and isinstance(names, pd.RangeIndex) and _is_text(frame.columns):
        names = pd.Index([str(name) for name in frame.columns], name="id")
    return (frame, names) if frame.shape[0] == frame.shape[1] else None


def _is_text(names: pd.Index) -> bool:
    return all(isinstance(name, str) for name in names)


def _named_by(frame: pd.DataFrame, id: str | None, name: str) -> tuple[pd.DataFrame, pd.Index]:
    """Return a table without its column of row names, by default the first, and the names."""
    by_text = {str(column): column for column in frame.columns}
    check_there(list(by_text), name, id=[] if id is None else [id])
    column = frame.columns[0] if id is None else by_text[id]
    label = "id" if id is None else id
    return frame.drop(columns=column), pd.Index(frame[column].map(str), name=label)


def _likeness(frame: pd.DataFrame) -> int:
    """Return how much a square table looks like distances: numbers, and none of them missing."""
    if not all(dtype.kind in "iuf" for dtype in frame.dtypes):
        return 0
    return SURE if np.isfinite(frame.to_numpy(np.float64)).all() else 1


def _ordered(frame: pd.DataFrame, ids: pd.Index, name: str) -> pd.DataFrame:
    """Return the table with its columns named as the rows, and in their order if both have names.

    Without any names, columns stay numbers: a model then asks for none.
    """
    rows = [str(row) for row in ids]
    if isinstance(ids, pd.RangeIndex):
        return frame.set_axis(range(len(rows)), axis=1)
    if not _is_text(frame.columns):
        return frame.set_axis(rows, axis=1)
    columns = [str(column) for column in frame.columns]
    if sorted(columns) != sorted(rows) or len(set(rows)) < len(rows):
        lost = next((row for row in rows if row not in set(columns)), columns[0])
        raise ValueError(
            f"{name}: rows and columns must name the same points, each once; {lost!r} is not in "
            "both."
        )
    return frame[rows]


def _not_square(name: str, shape: tuple[int, ...]) -> str:
    size = " × ".join(map(str, shape))
    return (
        f"{name} is {size}: a table of distances is square, one row and one column per point, with "
        "or without names on both sides. To cluster rows of features, leave out --distances."
    )
