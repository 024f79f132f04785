"""What is done with one column of a table, and its values as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._types import Bools
from clustertrust._validation.arguments import check_choice, warn_user
from clustertrust.tables.stored import check_keys
from clustertrust.tables.values import (
    as_numbers,
    is_number,
    is_real,
    known_texts,
    listed,
    mapped,
    without_unit,
)

if TYPE_CHECKING:
    from clustertrust.tables.plan import TablePlan

KINDS = ("number", "boolean", "category", "date", "id", "text", "constant", "empty")
# What can be done with a column: a number each row, one column for each category, nothing, names
# for the rows, or what a transformer makes of it.
USES = ("number", "category", "ignored", "id", "encoded")


@dataclass(frozen=True)
class ColumnPlan:
    """What one column is, and what is done with it.

    Attributes
    ----------
    name : of the column
    kind : one of `KINDS`
    use : one of `USES`; "ignored" columns are carried along and not clustered
    reason : why
    override_hint : the parameter that overrides it; empty where the user decided
    levels : of a category its values, of a boolean the texts for no and yes
    missing : numbers that stand for a missing value
    decimal : mark before its decimals where that is not the table's
    unit : what is written behind its numbers
    numeric : whether it could be used as a number
    n_missing : how many values are missing in the table that was looked at
    user_decided : whether the user decided it
    check : why a person should check what is done with it; `override_hint` is then how to change it
    clipped : whether its outliers are clipped before it is scaled
    """

    name: str
    kind: str
    use: str
    reason: str = ""
    override_hint: str = ""
    levels: tuple[str, ...] = ()
    missing: tuple[float, ...] = ()
    decimal: str = ""
    unit: str = ""
    numeric: bool = False
    n_missing: int = 0
    user_decided: bool = False
    check: str = ""
    clipped: bool = False

    @property
    def features(self) -> list[str]:
        """The columns that it becomes."""
        if self.use == "category":
            return [f"{self.name}={value}" for value in self.levels]
        return [self.name] if self.use == "number" else []


def column_from_json(kept: Any) -> ColumnPlan:
    """Read a column of a plan that a person may have edited; raise if it is wrong."""
    if not isinstance(kept, dict) or not isinstance(kept.get("name"), str):
        raise ValueError(f"The plan has a column without a name: {kept!r}.")
    check_keys(kept, ColumnPlan, f"The column {kept['name']!r} of the plan")
    try:
        check_choice("kind", kept.get("kind", "number"), KINDS)
        check_choice("use", kept.get("use", "ignored"), USES)
    except ValueError as error:
        raise ValueError(f"The column {kept['name']!r} of the plan: {error}") from error
    values: dict[str, Any] = {
        "levels": tuple(str(value) for value in kept.get("levels", ())),
        "missing": tuple(float(value) for value in kept.get("missing", ())),
    }
    return ColumnPlan(**({"kind": "number", "use": "ignored"} | kept | values))


# A table of yes and no may come back as these from another program.
_AS_COMPUTERS_SAY = {"false": 0.0, "true": 1.0, "0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}


def numbers_of(series: pd.Series, column: ColumnPlan, number_format: Any) -> NDArray[np.float64]:
    """Return a column as floats, NaN where a value is missing.

    `number_format` has `na`, `decimal` and `thousands`.
    """
    if column.kind == "boolean" and column.levels:
        no, yes = column.levels
        numbers = _AS_COMPUTERS_SAY | {no.casefold(): 0.0, yes.casefold(): 1.0}
        texts = known_texts(series, number_format.na)
        truth = mapped(texts, lambda text: numbers.get(str(text).casefold()))
        return truth.to_numpy(np.float64, na_value=np.nan)
    if is_real(series):
        single = series.dtype == np.float32
        values = series.to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    else:
        texts = without_unit(known_texts(series, number_format.na), column.unit)
        values = as_numbers(
            texts, column.decimal or number_format.decimal, number_format.thousands
        ).to_numpy(np.float64)
    absent = ~np.isfinite(values)
    odd = [*column.missing, *(float(text) for text in number_format.na or () if is_number(text))]
    if odd:
        absent |= np.isin(values, odd)
    return np.where(absent, np.nan, values) if absent.any() else values


def warn_of_unread(series: pd.Series, column: ColumnPlan, number_format: Any) -> None:
    """Warn of texts that a column of numbers cannot read: they would pass for missing values."""
    read = numbers_of(series, replace(column, missing=()), replace(number_format, na=None))
    absent = np.isnan(read)
    if not absent.any():
        return
    unread = known_texts(series[absent], number_format.na).dropna()
    if unread.empty:
        return
    no_yes = " and ".join(map(repr, column.levels))
    what = f"values other than {no_yes}" if no_yes else "texts that are not numbers"
    warn_user(
        f"The column {column.name!r} has {what} ({listed(unread.unique().tolist(), 3)}) in "
        f"{len(unread)} of {len(series)} rows; they count as missing."
    )


def one_hot(texts: pd.Series, column: ColumnPlan) -> NDArray[np.float64]:
    """Return a column of 0 and 1 for each category; NaN if a category is missing or new."""
    codes = pd.Index(column.levels).get_indexer(pd.Index(texts))
    new = sorted(set(texts[codes < 0].dropna()))
    if new:
        warn_user(
            f"The column {column.name!r} has categories that its plan does not know "
            f"({listed(new, 5)}); they count as missing."
        )
    codes = np.where(texts.isna().to_numpy(), -1, codes)
    shares = np.zeros((len(texts), len(column.levels)))
    shares[np.arange(len(texts)), codes] = 1.0
    shares[codes < 0] = np.nan
    return shares


class Columns(NamedTuple):
    """The columns that are used, of some rows.

    Attributes
    ----------
    plan : which are used, and how
    numbers : (rows, p) those of numbers, NaN where a value is missing
    texts : those of categories, each (rows,), None where one is missing
    """

    plan: TablePlan
    numbers: NDArray[Any]
    texts: list[pd.Series]

    @property
    def lost(self) -> Bools:
        """(rows, columns) which values are missing, in the order of the columns."""
        numbers, texts = iter(np.isnan(self.numbers).T), iter(self.texts)
        lost = [
            next(numbers) if column.use == "number" else next(texts).isna().to_numpy()
            for column in self.plan.used
        ]
        return np.array(lost, dtype=bool).reshape(len(lost), len(self.numbers)).T

    def of(self, rows: Bools) -> Columns:
        """Return some of the rows."""
        if rows.all():
            return self
        return self._replace(numbers=self.numbers[rows], texts=[text[rows] for text in self.texts])

    def features(self) -> NDArray[Any]:
        """Return the numbers, and a column of 0 and 1 for each category, in the plan's order."""
        if not self.texts:
            return self.numbers
        numbers, texts = iter(self.numbers.T[:, :, None]), iter(self.texts)
        return np.hstack(
            [
                next(numbers) if column.use == "number" else one_hot(next(texts), column)
                for column in self.plan.used
            ]
        )

    def mixed(self, index: pd.Index) -> pd.DataFrame:
        """Return the columns with categories as texts, as Gower's distance takes them."""
        numbers, texts = iter(self.numbers.T), iter(self.texts)
        columns = {
            one.name: next(numbers) if one.use == "number" else next(texts).to_numpy()
            for one in self.plan.used
        }
        return pd.DataFrame(columns, index=index)
