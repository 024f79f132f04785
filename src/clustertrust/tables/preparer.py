"""A table as people have it → numbers: one transformer, in memory, in blocks and on Dask."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from clustertrust._errors import InputError, Message
from clustertrust._types import Array
from clustertrust._validation.arguments import warn_user
from clustertrust._validation.frames import is_dask
from clustertrust.tables.column import Columns
from clustertrust.tables.encoders import encoded_by, fit_encoders
from clustertrust.tables.given import given_plan
from clustertrust.tables.kinds import ColumnChoices
from clustertrust.tables.learning import DaskTable, Looked, placed, totals_of, with_totals
from clustertrust.tables.looking import look_at
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.problems import TablePlanError
from clustertrust.tables.rows import LookedAt, PreparedRows, draw_rows, odd_rows
from clustertrust.tables.scales import (
    ColumnTotals,
    Measures,
    add_totals,
    measure,
    spread_of,
)

Blocks = Callable[[], Iterable[pd.DataFrame]]


class TablePreparer(TransformerMixin, BaseEstimator):
    """Turn a table of text and numbers into numbers that can be compared.

    `fit` looks at each column, decides what is done with it, and measures the columns; `plan_`
    says what was decided, and why. `transform` then turns tables with these columns into numbers:
    categories into columns of 0 and 1, gaps into means, all on one scale. This is what
    `clustertrust score` does with a file.

    Parameters
    ----------
    id : column that names the rows
    use : columns to use, no others
    drop : columns to leave out
    keep : columns to use even if they look like ids or dates, or most values are missing
    category : columns of numbers to use as categories
    scale : "auto", "none", "standard", "robust" or "minmax"
    encode : "auto" (categories of up to 50 values become columns), "onehot" (all of them), "drop",
        or "match" (they stay texts and gaps stay gaps, for Gower's distance)
    missing : "auto" (the mean of the column), "mean" (also if most are missing), or "drop" and
        "skip" (gaps stay gaps)
    na : texts that mean a missing value, besides the usual ones; where it is empty, only empty
        fields do, and no number is taken for one
    decimal, thousands : marks in numbers that are written as text; None: detected
    plan : TablePlan, optional
        What to do with each column, such as that of an earlier fit, changed. No other parameter
        but `text` and `dates` can be given with it.
    text, dates : transformer, optional
        What to make of columns of free text, and of dates, each by its own clone. None: they
        are not clustered.

    Attributes
    ----------
    plan_ : TablePlan, what is done with each column
    measures_ : what gaps become, and what columns are divided by
    encoders_ : the fitted clones of `text` and `dates`, by column
    n_rows_ : rows that are points, without those that are left out
    n_features_in_, feature_names_in_ : columns of the table

    Notes
    -----
    The kind of a column and quantiles of its values come from the first 5,000 rows, 5,000 of the
    others, and the last; means, deviations and categories come from all rows. A transformer
    returns all rows: `left_out` says which ones `clustertrust score` would leave out.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustertrust import TablePreparer
    >>> table = pd.DataFrame({"id": ["a", "b", "c"], "price": ["$1,200", "$950", "$87"]})
    >>> preparer = TablePreparer().set_output(transform="pandas")
    >>> preparer.fit_transform(table)
        price
    0  1200.0
    1   950.0
    2    87.0
    >>> print(preparer.plan_)
    Clustered: 1 of 2 columns (price).
    Names the rows: id.
    Not clustered: none.
    Scale: none.
    """

    plan_: TablePlan
    measures_: Measures
    encoders_: dict[str, Any]
    n_rows_: int
    # What the first block showed, and the totals of all blocks so far.
    _learning: tuple[Looked, list[ColumnTotals]] | None = None

    def __init__(
        self,
        *,
        id: str | None = None,
        use: Sequence[str] = (),
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        category: Sequence[str] = (),
        scale: str = "auto",
        encode: str = "auto",
        missing: str = "auto",
        na: Sequence[str] | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        plan: TablePlan | None = None,
        text: Any = None,
        dates: Any = None,
    ) -> None:
        self.id, self.use, self.drop, self.keep = id, use, drop, keep
        self.category, self.scale, self.encode, self.missing = category, scale, encode, missing
        self.na, self.decimal, self.thousands = na, decimal, thousands
        self.plan, self.text, self.dates = plan, text, dates

    def fit(self, X: Any, y: Any = None) -> TablePreparer:
        """Look at a table and measure its columns.

        Parameters
        ----------
        X : pandas, polars, pyarrow or Dask table, or array, with one row per point
        y : ignored

        Returns
        -------
        TablePreparer
        """
        if is_dask(X):
            return self._fit_on_dask(X)
        frame, has_names = self._frame(X, reset=True)
        return self._fit(lambda: (frame,), has_names=has_names)

    def fit_blocks(
        self, blocks: Blocks, reading: Sequence[str | Message] = (), *, has_names: bool = True
    ) -> TablePreparer:
        """Look at a table that comes in blocks of rows, in two passes over it.

        Parameters
        ----------
        blocks : a function that gives the blocks, DataFrames, from the start
        reading : what was found out when a file was read; it is kept with the plan
        has_names : whether the names of the columns say what they are; those of arrays do not
        """

        def named() -> Iterable[pd.DataFrame]:
            for frame in blocks():
                yield self._frame(frame, reset=True)[0]

        return self._fit(named, has_names=has_names, reading=reading)

    def partial_fit(self, X: Any, y: Any = None) -> TablePreparer:
        """Learn from one more block of rows.

        What each column is, is decided by the first block. Later ones add to means, deviations and
        categories.

        Parameters
        ----------
        X : table or array, as in `fit`
        y : ignored
        """
        is_first = self._learning is None
        frame, has_names = self._frame(X, reset=is_first)
        if is_first:
            rows = draw_rows([frame])
            looked = self._decide(rows, has_names, ())
            self._learning = (looked, [])
        assert self._learning is not None
        looked, parts = self._learning
        before = 0 if is_first else self.plan_.n_rows
        parts.append(totals_of(looked, [(frame, before)]))
        self._settle(looked, add_totals(parts), before + len(frame))
        return self

    def transform(self, X: Any) -> Any:
        """Turn a table with the columns of the fit into numbers.

        Parameters
        ----------
        X : table or array, as in `fit`; columns that are not used may be missing

        Returns
        -------
        array, or what `set_output` says; a DataFrame where categories stay texts; a Dask frame for
        one
        """
        check_is_fitted(self, "plan_")
        if is_dask(X):
            empty = pd.DataFrame(columns=self.get_feature_names_out(), dtype=np.float64)
            plain = copy.copy(self).set_output(transform="pandas")
            return X.map_partitions(_transformed, plain, meta=empty)
        frame, _ = self._frame(X, reset=False)
        return self._clustered(self.plan_.read(frame), frame)[0]

    def _clustered(self, columns: Columns, frame: pd.DataFrame) -> tuple[Any, Any]:
        """Return some rows as they are clustered, and in their own units with their gaps."""
        if self.plan_.is_mixed:
            X = columns.mixed(frame.index)
            return X, X
        encoded = [encoded_by(self.encoders_[name], frame, name) for name in self.encoders_]
        values = np.hstack([columns.features(), *encoded]) if encoded else columns.features()
        filled = values if self.plan_.missing == "drop" else self.measures_.fill(values)
        return self.measures_.scale(filled), values

    def rows_of(self, frame: pd.DataFrame, before: int = 0) -> PreparedRows:
        """Turn a block of a table into numbers, without the rows that are not clustered.

        Parameters
        ----------
        frame : some rows of the table
        before : how many of its rows come before them

        Returns
        -------
        PreparedRows
        """
        check_is_fitted(self, "plan_")
        columns = self.plan_.read(frame)
        why = self.plan_.rows_out(columns, np.arange(before, before + len(frame)))
        kept = why == ""
        columns, frame = columns.of(kept), frame if kept.all() else frame[kept]
        lost = dict(zip((c.name for c in self.plan_.used), columns.lost.sum(axis=0), strict=True))
        n_missing = {name: int(n) for name, n in lost.items() if n}
        return PreparedRows(*self._clustered(columns, frame), why, n_missing)

    def left_out(self, X: Any) -> pd.Series:
        """Return why each row of a table should not be clustered, an empty text if it should.

        Units in the first row and totals in the last are not points, nor are rows without most of
        their values.
        """
        check_is_fitted(self, "plan_")
        frame, _ = self._frame(X, reset=False)
        plan = replace(self.plan_, rows=tuple(odd_rows(frame, self.plan_)))
        return pd.Series(plan.rows_out(plan.read(frame)), index=frame.index, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns that `transform` gives."""
        check_is_fitted(self, "plan_")
        names = [*self.plan_.features]
        for column in self.plan_.columns:
            names += column.levels if column.name in self.encoders_ else ()
        return np.array(names, dtype=object)

    def to_json(self) -> dict[str, Any]:
        """Return what was learned, as JSON holds it."""
        check_is_fitted(self, "plan_")
        if self.encoders_:
            raise InputError(
                "A transformer in {text} or {dates} cannot be stored without running code of its "
                "own when it is read; leave it out to store the model."
            )
        # Rows are those of one table.
        plan = replace(self.plan_, rows=())
        return {"plan": plan.to_json(), **self.measures_.to_json()}

    @classmethod
    def from_json(cls, kept: Any) -> TablePreparer:
        """Read what `to_json` gave."""
        plan, measures = TablePlan.from_json(kept["plan"]), Measures.from_json(kept)
        if len(measures.means) != len(plan.features):
            raise ValueError("The measures are of other columns than those of the plan.")
        return cls.from_plan(plan, measures)

    @classmethod
    def from_plan(cls, plan: TablePlan, measures: Measures | None = None) -> TablePreparer:
        """Return a fitted preparer with this plan; without measures, numbers stay as they are."""
        made = cls(plan=plan)
        made.plan_, made.encoders_ = plan, {}
        made.measures_ = measures or Measures.nothing(len(plan.features))
        made.n_features_in_ = len(plan.columns)
        return made

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn what tables may hold."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Rows

    def _frame(self, X: Any, *, reset: bool) -> tuple[pd.DataFrame, bool]:
        """Return a table as a DataFrame whose columns are called by text, and whether they were."""
        if type(X).__name__ == "LazyFrame":
            raise TypeError("X is a polars LazyFrame, which has no rows yet; give X.collect().")
        if isinstance(X, str | Path):
            raise TypeError(f"X={str(X)!r} is a path; give a table, such as pd.read_csv(path).")
        frame = X if isinstance(X, pd.DataFrame) or not hasattr(X, "to_pandas") else X.to_pandas()
        if not isinstance(frame, pd.DataFrame):
            array = validate_data(
                self, frame, reset=reset, ensure_all_finite=False, ensure_min_samples=int(reset)
            )
            frame = pd.DataFrame(array)
        has_names = not isinstance(frame.columns, pd.RangeIndex)
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if (reset and isinstance(X, pd.DataFrame)) or (has_names and reset):
            validate_data(self, frame, skip_check_array=True)
        return frame, has_names

    def _decide(self, rows: LookedAt, has_names: bool, reading: Sequence[str | Message]) -> Looked:
        """Return what is done with each column, by the rows that are looked at."""
        choices = self._choices()
        if self.plan is not None:
            plan = given_plan(self.plan, choices, rows)
        else:
            if not has_names:
                choices = replace(choices, scale="none" if self.scale == "auto" else self.scale)
            if has_names or any((choices.id, choices.use, choices.drop, choices.keep)):
                with np.errstate(over="ignore", invalid="ignore"):
                    # What overflows is refused when it is measured.
                    plan = look_at(rows, choices, reading)
            else:
                plan = replace(
                    TablePlan.of_numbers(rows.frame.columns),
                    scale=choices.scale,
                    missing=choices.missing,
                    na=choices.na,
                )
            if plan.problems:
                raise TablePlanError(plan.problems)
            for warning in plan.warnings:
                warn_user(warning)
        plan, self.encoders_ = fit_encoders(plan, rows.frame, text=self.text, dates=self.dates)
        columns = plan.read(rows.frame)
        kept = plan.rows_out(columns, rows.positions) == ""
        encoded = [
            encoded_by(self.encoders_[name], rows.frame, name)[kept] for name in self.encoders_
        ]
        return Looked(plan, spread_of(plan, columns.numbers[kept]), encoded)

    def _choices(self) -> ColumnChoices:
        names = [one.name for one in fields(ColumnChoices)]
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("use", "drop", "keep", "category", "na"):
            given = values[name]
            several = (given,) if isinstance(given, str) else given
            values[name] = None if several is None else tuple(several)
        return ColumnChoices(**values)

    # Measures

    def _fit(
        self, blocks: Blocks, *, has_names: bool = True, reading: Sequence[str | Message] = ()
    ) -> TablePreparer:
        rows = draw_rows(blocks())
        looked = self._decide(rows, has_names, reading)
        self._settle(looked, totals_of(looked, placed(blocks())), rows.n_rows)
        self._learning = None
        return self

    def _fit_on_dask(self, X: Any) -> TablePreparer:
        """Look at a Dask frame: its rows are counted, drawn from and measured where they are."""
        table = DaskTable(X)
        rows = table.rows()
        self._frame(rows.frame, reset=True)
        looked = self._decide(rows, True, ())
        self._settle(looked, table.totals(looked), rows.n_rows)
        return self

    def _settle(self, looked: Looked, totals: ColumnTotals, n_rows: int) -> None:
        """Store the plan with what all rows showed, and the measures."""
        made = self.plan is None
        drops_long = made and self.encode == "auto"
        plan, totals = with_totals(looked.plan, totals, finds_levels=made, drops_long=drops_long)
        self.plan_, self.n_rows_ = replace(plan, n_rows=n_rows), totals.rows
        if plan.is_mixed:
            self.measures_ = Measures.nothing(len(plan.features))
            return
        if not totals.rows:
            raise InputError(
                "There is no row without missing values; try {missing='mean'}, or leave out "
                "columns with {drop}."
            )
        self.measures_ = measure(plan, totals, looked.spread, looked.encoded)


def _transformed(part: pd.DataFrame, preparer: TablePreparer) -> Any:
    """Transform a part of a Dask frame, on a worker."""
    return preparer.transform(part)
