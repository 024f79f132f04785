"""Tables, votes and data of the user → the parts of a report, each checked once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from clustertrust._errors import ParameterError
from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import (
    check_floats,
    check_mapping,
    check_names,
    check_scores,
)
from clustertrust._validation.frames import check_columns, is_frame
from clustertrust._validation.labels import check_label_vector
from clustertrust._validation.points import MATRIX_OPTIONS
from clustertrust._validation.rows import check_same_length, check_same_points
from clustertrust.columns import COLUMNS
from clustertrust.report.packing import pack, pack_index

Named = tuple[Ints, list[Hashable]]

# Far above any share, silhouette or standard error
LARGEST_NUMBER = 1e6
# One in this many of the points drawn is there for its low score
LOWEST = 10


class ClusterNames:
    """The names of clusters, numbered in the order in which a person would list them."""

    def __init__(self, names: Iterable[Hashable]) -> None:
        distinct = dict.fromkeys(names)
        numbers = [name for name in distinct if isinstance(name, int)]
        self.names = [
            *sorted(numbers),
            *sorted((name for name in distinct if name not in set(numbers)), key=_natural),
        ]
        self.texts = [str(name) for name in self.names]
        self._code = {name: code for code, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def rename(self, names: Any) -> dict[str, str]:
        """Check names that a person gave to clusters; raise for clusters that are not there."""
        texts = {str(label): str(name) for label, name in check_mapping("names", names).items()}
        lost = next((label for label in texts if label not in self.texts), None)
        if lost is not None:
            raise ParameterError(
                "names", lost, "is not a cluster", f"the clusters are {', '.join(self.texts[:20])}"
            )
        return {label: name.strip() for label, name in texts.items() if name.strip()}

    def code(self, codes: Ints, names: list[Hashable]) -> Ints:
        """Return the codes into `names` as codes into these clusters; -1 stays -1."""
        return np.array([*(self._code[name] for name in names), -1], dtype=np.int64)[codes]


def _natural(name: Hashable) -> list[tuple[bool, int, str]]:
    """Return what to sort a name by: "group 2" comes before "group 10"."""
    parts = re.split(r"([0-9]+)", str(name))
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


@dataclass(frozen=True)
class ScoreTable:
    """A table of scores, checked.

    Attributes
    ----------
    numbers : frame with "score" and those of the other columns of numbers that are there; its index
        names the points
    labels : codes (-1: none) and the name behind each code
    others : the same of other columns of clusters that are there, such as "rival"
    id_name : what the index is called
    unassigned : the table's label of points that are not assigned
    """

    numbers: pd.DataFrame
    labels: Named
    others: dict[str, Named]
    id_name: str
    unassigned: str


def read_scores(table: Any) -> ScoreTable:
    """Check a table of scores."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"table is a {type(table).__name__}; give a pandas DataFrame, one row per point, as "
            "Confidence.to_frame() does."
        )
    missing = [name for name in ("label", "score") if name not in table.columns]
    if missing:
        raise ValueError(
            f"table has no column {missing[0]!r}; its columns are "
            f"{[str(name) for name in table.columns]}."
        )
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise ValueError(f"table has more than one column named {twice[0]!r}; rename them.")
    if len(table) == 0:
        raise ValueError("table has no rows; a report needs at least one point.")
    numbers = {
        name: _number_column(table, name)
        for name, column in COLUMNS.items()
        if column.kind == "number" and name in table.columns
    }
    score = numbers["score"]
    outside = np.flatnonzero((score < -1e-9) | (score > 1 + 1e-9))
    if outside.size:
        raise ValueError(
            f"table['score'] is {score[outside[0]]} in row {outside[0]}; scores lie between 0 and "
            "1, or are missing where there is none."
        )
    # Rounding may have taken it a hair beyond
    numbers["score"] = np.clip(score, 0.0, 1.0)
    named = [str(name) for name in table.index.names if name is not None]
    return ScoreTable(
        numbers=pd.DataFrame(numbers, index=table.index),
        labels=_label_column(table, "label"),
        others={
            name: _label_column(table, name)
            for name, column in COLUMNS.items()
            if column.kind == "cluster" and name != "label" and name in table.columns
        },
        id_name=" / ".join(named) or "id",
        unassigned="-1" if table["label"].dtype.kind in "iu" else "",
    )


def _number_column(table: pd.DataFrame, name: str) -> Floats:
    """Return a column as floats; missing values are NaN."""
    try:
        numbers = check_scores(table[name].to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise ValueError(f"table[{name!r}] must be a column of numbers: {error}.") from error
    beyond = np.flatnonzero(np.abs(numbers) > LARGEST_NUMBER)
    if beyond.size:
        raise ValueError(
            f"table[{name!r}] is {numbers[beyond[0]]} in row {beyond[0]}, which is too large; "
            "check the table."
        )
    return numbers


def _label_column(table: pd.DataFrame, name: str) -> Named:
    codes, names = check_label_vector(f"table[{name!r}]", table[name])
    return codes, names.tolist()


def read_votes(votes: Any, table: pd.DataFrame) -> tuple[Floats, list[Hashable]]:
    """Check a frame of votes: (n, k) shares and the cluster of each column."""
    if not isinstance(votes, pd.DataFrame):
        raise TypeError(
            f"votes is a {type(votes).__name__}; give a pandas DataFrame, one column per cluster "
            "by its name."
        )
    check_same_points("votes", votes, "table", table.index)
    shares = check_floats("votes", votes, "shares between 0 and 1")
    if ((shares < 0) | (shares > 1 + 1e-9)).any():
        raise ValueError(
            "votes must hold shares between 0 and 1; divide counts by the number of runs."
        )
    columns: list[Hashable] = list(votes.columns)
    return np.nan_to_num(shares), columns


def read_data(X: Any, table: pd.DataFrame) -> tuple[Any, list[str]]:
    """Check the data: a float array or CSR matrix, gaps allowed, and the names of its columns."""
    check_columns(X, "Show the whole table with original=…, and give X its numbers or nothing.")
    matrix = check_array(X, input_name="X", **MATRIX_OPTIONS)
    check_same_points("X", X if is_frame(X) else matrix, "table", table.index)
    names = X.columns if is_frame(X) else (f"column {j}" for j in range(matrix.shape[1]))
    return matrix, [str(name) for name in names]


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


# Of the random order, more than a person answers, and of the uncertain points
MOST_RANDOM, MOST_UNCERTAIN = 1000, 400
# What the page plans at first: enough for `decide` and a risk of 0.1, if nearly all are right.
PLANNED_RANDOM, PLANNED_UNCERTAIN = 60, 40
SEED = 0
# What the command calls the index of rows without names
ROW = "row"


def question_order(scores: Floats, codes: Ints, drawn: int) -> tuple[Ints, Ints]:
    """Return positions of points to ask about: the start of a random order, and uncertain ones.

    Points without a score are never asked about. The uncertain ones are those with the lowest
    scores of each cluster, one cluster after the other, so that no cluster takes all questions;
    a point may be in both lists. Each list takes at most a quarter of the points `drawn`.
    """
    scored = np.flatnonzero(~np.isnan(scores))
    random = np.random.default_rng(SEED).permutation(scored)[: min(MOST_RANDOM, drawn // 4)]
    by_score = scored[np.argsort(scores[scored], kind="stable")]
    by_cluster = by_score[np.argsort(codes[by_score], kind="stable")]
    sizes = np.unique(codes[by_cluster], return_counts=True)[1]
    rank = np.arange(by_cluster.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turns = np.lexsort((scores[by_cluster], rank))
    return random, by_cluster[turns][: min(MOST_UNCERTAIN, drawn // 4)]


def pack_questions(order: tuple[Ints, Ints], n_scored: int) -> dict[str, Any]:
    """Pack the questions, how many of them the page plans at first, and the points they are of."""
    random, uncertain = order
    return {
        "random": pack(random, "u4"),
        "uncertain": pack(uncertain, "u4"),
        "planned": [PLANNED_RANDOM, PLANNED_UNCERTAIN],
        "of": n_scored,
    }


def pack_row_numbers(rows: Any, index: pd.Index) -> dict[str, Any] | None:
    """Pack the position of each point in the file of scores; None: not known."""
    if rows is None:
        named = index.name == ROW and index.dtype.kind in "iu"
        return pack_index(index if named else pd.RangeIndex(len(index)))
    numbers = np.asarray(rows)
    if numbers.shape != (len(index),) or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"rows must be {len(index)} integers, one for each point; its shape is "
            f"{numbers.shape} and its type {numbers.dtype}."
        )
    return None if (numbers < 0).any() else pack_index(pd.Index(numbers))


def fingerprint(parts: Iterable[Any]) -> str:
    """Return a digest of points and labels, under which the browser keeps and finds answers."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:24]
