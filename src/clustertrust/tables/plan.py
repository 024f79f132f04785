"""What is done with each column of a table: printed, stored, edited as JSON, and applied."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._errors import Message, Wording, as_python, rendered
from clustertrust._html import html_table
from clustertrust._types import Ints
from clustertrust._validation.arguments import check_choice
from clustertrust._validation.frames import check_whole_numbers
from clustertrust.tables.column import ColumnPlan, Columns, column_from_json, numbers_of
from clustertrust.tables.problems import Problem
from clustertrust.tables.rows import LEFT_OUT
from clustertrust.tables.stored import check_keys
from clustertrust.tables.values import as_categories, is_number, listed

# What becomes of categories: columns of 0 and 1, nothing, or one column of texts ("match"), as
# Gower's distance takes them.
ENCODINGS = ("auto", "onehot", "drop", "match")
MISSING_RULES = ("auto", "mean", "drop", "skip")
MISSING_VALUES = f"{LEFT_OUT}missing values"
# Why a person should check a column that may be what clusters are compared with.
KNOWN_ANSWER = "possibly the known answer, yet clustered like the others"
# A parameter in a reason, such as (scale='none' keeps them).
_OPTION = re.compile(r"\((na|scale)=(\[.*?\]|'.*?') (?=keeps|makes|scales)")
# Columns that a notebook lists, and its words for what is done with them
MOST_SHOWN = 30
_USED_AS = {"ignored": "not clustered", "id": "names the rows"}
# Lines that ask to check something.
MOST_CHECKS = 5
MOST_MISSING = 0.5  # of a row's columns; a row with fewer known values is left out


def in_words(reason: str, wording: Wording) -> str:
    """Return a reason of a plan, which is stored as text, with its option in these words."""
    return _OPTION.sub(lambda option: f"({wording(option[1], option[2])} ", reason)


@dataclass(frozen=True)
class TablePlan:
    """What is done with a table before it is clustered.

    Attributes
    ----------
    columns : a `ColumnPlan` for each column of the table, in its order
    scale, scale_reason : how columns are made comparable (a name of `SCALES`), and why
    encode : how categories become numbers
    missing : what happens to missing values
    na : more texts that mean a missing value; (): only empty fields do
    decimal, thousands : marks in numbers that are written as text
    rows : positions and reasons of rows of the table that are not points, such as totals
    n_rows : rows of the table that was looked at
    reading : what was found out when the file was read, such as its encoding
    warnings : what a user should not overlook
    problems : why the table cannot be clustered like this
    """

    columns: tuple[ColumnPlan, ...]
    scale: str = "none"
    scale_reason: str = ""
    encode: str = "auto"
    missing: str = "auto"
    na: tuple[str, ...] | None = None
    decimal: str = "."
    thousands: str | None = None
    rows: tuple[tuple[int, str], ...] = ()
    n_rows: int = 0
    reading: tuple[str | Message, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    @classmethod
    def of_numbers(cls, names: Iterable[Any]) -> TablePlan:
        """Return a plan that takes all columns as the numbers they are."""
        columns = (ColumnPlan(str(name), "number", "number", user_decided=True) for name in names)
        return cls(tuple(columns))

    @property
    def used(self) -> list[ColumnPlan]:
        """The columns that are clustered."""
        return [column for column in self.columns if column.use in ("number", "category")]

    @property
    def id(self) -> str | None:
        """The column that names the rows."""
        return next((column.name for column in self.columns if column.use == "id"), None)

    @property
    def is_mixed(self) -> bool:
        """Whether categories stay texts and missing values stay missing, for Gower's distance."""
        return self.encode == "match"

    @property
    def features(self) -> list[str]:
        """Names of the columns of `apply`'s result."""
        if self.is_mixed:
            return [column.name for column in self.used]
        return [name for column in self.used for name in column.features]

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are clustered, as numbers; NaN where a value is missing.

        If the plan is for Gower's distance (`encode="match"`), categories stay texts.

        Parameters
        ----------
        frame : a table with the columns that are used, text and numbers as they were read

        Returns
        -------
        DataFrame with the columns `features`
        """
        columns = self.read(frame)
        if self.is_mixed:
            return columns.mixed(frame.index)
        return pd.DataFrame(columns.features(), columns=self.features, index=frame.index)

    def read(self, frame: pd.DataFrame) -> Columns:
        """Return the columns that are used, as numbers and texts."""
        used, named = self.used, {str(name): name for name in frame.columns}
        lost = [column.name for column in used if column.name not in named]
        if lost:
            raise ValueError(f"The table lacks columns that its plan uses: {', '.join(lost)}.")
        chosen = frame[[named[one.name] for one in used]]
        texts = [
            as_categories(chosen.iloc[:, j], self.na)
            for j, one in enumerate(used)
            if one.use == "category"
        ]
        if self._takes_as_is(chosen):
            values = chosen.to_numpy(np.float64)
            return Columns(self, np.where(np.isfinite(values), values, np.nan), texts)
        numbers = [
            numbers_of(chosen.iloc[:, j], one, self)
            for j, one in enumerate(used)
            if one.use == "number"
        ]
        empty = np.empty((len(frame), 0))
        return Columns(self, np.column_stack(numbers) if numbers else empty, texts)

    def _takes_as_is(self, chosen: pd.DataFrame) -> bool:
        """Whether all columns are floats with nothing to replace: then they are taken at once.

        A table of genes has 20,000 columns.
        """
        return (
            all(kind == np.float64 for kind in chosen.dtypes)
            and not any(one.use != "number" or one.levels or one.missing for one in self.used)
            and not any(is_number(text) for text in self.na or ())
        )

    def rows_out(self, columns: Columns, positions: Ints | None = None) -> NDArray[Any]:
        """Return why each of some rows is left out, an empty text if it is not.

        `positions` are their places in the table; None: these are its rows.
        """
        why = np.full(len(columns.numbers), "", dtype=object)
        if self.missing != "mean" and self.used:
            share = columns.lost.mean(axis=1)
            why[share > (0.0 if self.missing == "drop" else MOST_MISSING)] = MISSING_VALUES
        positions = np.arange(len(why)) if positions is None else positions
        for row, reason in self.rows:
            why[positions == row] = reason
        return why

    def __str__(self) -> str:
        """Return the plan in a few lines."""
        return self.summary()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row for each column, those to check first."""
        used = sum(column.use not in ("ignored", "id") for column in self.columns)
        columns = sorted(self.columns, key=lambda column: not column.check)
        rows = [
            (
                column.name,
                column.kind,
                _USED_AS.get(column.use, column.use),
                str(column.n_missing or ""),
                f"please check: {column.check}" if column.check else column.reason,
            )
            for column in columns[:MOST_SHOWN]
        ]
        more = len(columns) - MOST_SHOWN
        rows += [(f"and {more} more", "", "", "", "")] * (more > 0)
        table = html_table(("column", "kind", "used as", "missing", "why"), rows)
        return (
            f"<div><b>{used} of {len(columns)} columns are clustered</b>; scale: "
            f"{html.escape(self.scale)}{table}</div>"
        )

    def summary(self, most: int = 12, wording: Wording = as_python) -> str:
        """Return the plan in a few lines, with parameters in these words."""
        used = [c.name for c in self.columns if c.use in ("number", "category", "encoded")]
        lines = [f"Read: {self.read_as(wording)}."] if self.reading else []
        shown = listed(used, most)
        lines.append(f"Clustered: {len(used)} of {len(self.columns)} columns ({shown}).")
        words = {"category": "As categories", "encoded": "Encoded", "id": "Names the rows"}
        for use, word in words.items():
            columns = [column.name for column in self.columns if column.use == use]
            if columns:
                lines.append(f"{word}: {listed(columns, most)}.")
        lines += self._not_clustered(most, wording)
        noted = [column for column in self.used if column.reason]
        lines += [
            f"Note on {column.name}: {in_words(column.reason, wording)}." for column in noted[:most]
        ]
        if self.rows:
            counts = Counter(reason.removeprefix(LEFT_OUT) for _, reason in self.rows)
            shown = ", ".join(f"{count} ({reason})" for reason, count in counts.items())
            lines.append(f"Rows left out: {shown}.")
        lines += self._missing(most)
        why = in_words(self.scale_reason, wording)
        lines.append(f"Scale: {self.scale}{f', {why}' * bool(why)}.")
        return "\n".join([*lines, *self.to_check(most, wording)])

    def read_as(self, wording: Wording = as_python) -> str:
        """Return what was found out when the file was read, as text."""
        return "; ".join(rendered(note, wording) for note in self.reading)

    def _missing(self, most: int) -> list[str]:
        """Return a line on missing values and what becomes of them."""
        lost = [column for column in self.used if column.n_missing]
        if not lost:
            return []
        rule = _RULES[self.missing]
        if any(column.use == "category" for column in lost):
            rule = rule.replace(_MEAN, f"{_MEAN} (of categories, their shares)")
        counts = listed([f"{column.name} {column.n_missing}" for column in lost], most)
        return [f"Missing values: {counts}; {rule}."]

    def _not_clustered(self, most: int, wording: Wording) -> list[str]:
        """Return a line for each reason why columns are not clustered."""
        ignored = [column for column in self.columns if column.use == "ignored"]
        if not ignored:
            return ["Not clustered: none."]
        groups = list(_grouped((c, c.reason) for c in ignored).items())
        lines = []
        for (reason, option), names in groups[:most]:
            remedy = _named(option, names, most, wording)
            otherwise = f" To use {_it(names)}: {remedy}." if option else ""
            lines.append(f"Not clustered: {listed(names, most)}, {reason}.{otherwise}")
        more = sum(len(names) for _, names in groups[most:])
        if more:
            lines.append(f"Not clustered for other reasons: {more} more column{'s' * (more > 1)}.")
        return lines

    def to_check(self, most: int = 12, wording: Wording = as_python) -> list[str]:
        """Return a line for each reason why a person should check columns, of many the first."""
        doubted = ((column, column.check) for column in self.columns if column.check)
        groups = list(_grouped(doubted).items())
        shown = len(groups) if len(groups) <= MOST_CHECKS else MOST_CHECKS - 1
        lines = [
            f"Please check {listed(names, most)}: {reason}. "
            f"If so, use {_named(option, names, most, wording)}{_to_audit(reason, names, wording)}."
            for (reason, option), names in groups[:shown]
        ]
        others = [name for _, names in groups[shown:] for name in names]
        if others:
            lines.append(f"Please check {listed(others, most)} as well; the plan says why.")
        return lines

    def check_whole_numbers(self, frame: pd.DataFrame, source_name: str) -> None:
        """Raise if a column is used as numbers and holds whole ones that floats cannot hold."""
        names = [column.name for column in self.used if column.use != "category"]
        check_whole_numbers(frame[names], source_name)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON holds it."""
        kept = {name: value for name, value in vars(self).items() if name not in _PASSING}
        kept["columns"] = [
            {
                name: value
                for name, value in vars(column).items()
                if name in ("name", "kind", "use") or value
            }
            for column in self.columns
        ]
        kept["reading"] = [str(note) for note in self.reading]
        return dict(json.loads(json.dumps(kept)))

    @classmethod
    def from_json(cls, kept: Any) -> TablePlan:
        """Read a plan that `to_json` gave and a person may have edited; raise if it is wrong."""
        if not isinstance(kept, dict) or not isinstance(kept.get("columns"), list):
            raise ValueError("A plan is a JSON object with a list of columns, as it was written.")
        check_keys(kept, cls, "The plan")
        columns = tuple(column_from_json(column) for column in kept["columns"])
        names = [column.name for column in columns]
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise ValueError(f"The plan has more than one column {twice!r}; leave one.")
        rest = {name: value for name, value in kept.items() if name != "columns"}
        if rest.get("na") is not None:
            rest["na"] = tuple(rest["na"])
        rest["rows"] = tuple((int(row), str(why)) for row, why in rest.get("rows", ()))
        rest["reading"] = tuple(rest.get("reading", ()))
        check_choice("encode", rest.get("encode", "auto"), ENCODINGS)
        check_choice("missing", rest.get("missing", "auto"), MISSING_RULES)
        check_choice("scale", rest.get("scale", "none"), SCALES)
        return cls(columns, **rest)


SCALES = ("none", "standard", "robust", "minmax")
_PASSING = ("warnings", "problems")
_MEAN = "they take the column's mean"
_RULES = {
    "auto": f"{_MEAN}; rows with more than half missing are left out",
    "mean": _MEAN,
    "drop": "such rows are left out",
    "skip": "distances skip them; rows with more than half missing are left out",
}


def _grouped(columns: Iterable[tuple[ColumnPlan, str]]) -> dict[tuple[str, str], list[str]]:
    """Return names of columns by their reason and by the option that says otherwise."""
    names: dict[tuple[str, str], list[str]] = {}
    for column, reason in columns:
        names.setdefault((reason, column.override_hint), []).append(column.name)
    return names


def _to_audit(reason: str, names: Sequence[str], wording: Wording) -> str:
    """Return how else to use the known answer, where a command can audit it."""
    parameter, value = "labels_column", repr(names[0])
    audit = wording(parameter, value)
    if reason != KNOWN_ANSWER or len(names) > 1 or audit == as_python(parameter, value):
        return ""
    return f", or audit it with {audit}"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def override(option: str, names: Sequence[str]) -> tuple[str, Any]:
    """Return the parameter that overrides what was decided of columns, and its value."""
    # encode is about all columns, other parameters name some
    if option == "encode":
        return option, "onehot"
    parameter, _, code = option.partition("=")
    return parameter, [f"{name}={code}" for name in names] if code else list(names)


def _named(option: str, names: Sequence[str], most: int, wording: Wording) -> str:
    """Return the parameter that overrides a decision; too many names are left to the reader."""
    parameter, value = override(option, names)
    if len(value) > most and parameter != "encode":
        return f"{wording(parameter, None)} with their names"
    return wording(parameter, repr(value))
