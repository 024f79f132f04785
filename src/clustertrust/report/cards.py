"""A card for each column: what was done with it and why, and its distribution in every cluster."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import Wording
from clustertrust._types import Floats, Ints
from clustertrust.report.details import choose_columns
from clustertrust.report.material import Material
from clustertrust.report.packing import pack
from clustertrust.report.profiles import DISTINCT, is_categories
from clustertrust.tables.column import ColumnPlan
from clustertrust.tables.plan import TablePlan, in_words, override

# Cards of a page, and codes of points in them: 1 byte each before they are compressed
MOST_CARDS, MOST_CODES = 30, 3_000_000
# Of more columns that are clustered, such as embeddings, the page shows this many
FEW_CARDS = 12
# Bars of a column of numbers; integers with so few values have a bar each
BARS, FEW_VALUES = 12, 12
# Code of a missing value
NOTHING = 255
ROLES = ("check", "clustered", "names", "ignored", "other")
SCALES = {
    "standard": "divided by its standard deviation",
    "robust": "divided by its interquartile range",
    "minmax": "from its smallest value to its largest",
    "none": "not scaled",
}


@dataclass(frozen=True)
class Bars:
    """A column cut into bars.

    Attributes
    ----------
    kind : "numbers" or "categories"
    texts : what each bar holds, in words
    codes : (n,) the bar of each row, `NOTHING` where the value is missing
    ends : lowest and highest value, in words; empty for categories
    """

    kind: str
    texts: list[str]
    codes: Ints
    ends: tuple[str, ...] = ()


def column_cards(page: Material) -> list[dict[str, Any]]:
    """Return the cards, those to check first."""
    names = page.columns
    most = min(MOST_CARDS, max(1, MOST_CODES // max(1, len(page.shown))))
    described = _described(page)
    if page.data is not None and len(names) > most:
        few = choose_columns(page.data.moments, page.codes, min(most, FEW_CARDS))
        kept = {names[j] for j in few}
        described = [
            (name, about)
            for name, about in described
            if about["role"] != "clustered" or name in kept or name not in names
        ]
    cards = []
    for name, about in described[:most]:
        bars = _bars_of(name, page)
        card = {"name": name, **about, "bars": None}
        if bars is not None and len(bars.texts) > 1:
            card["bars"] = _pack(bars, page)
        cards.append(card)
    return cards


def count_roles(page: Material) -> dict[str, int]:
    """Return how many columns there are of each role, also those without a card."""
    roles = [about["role"] for _, about in _described(page)]
    return {role: roles.count(role) for role in ROLES if role in roles}


def _described(page: Material) -> list[tuple[str, dict[str, Any]]]:
    """Return name, role and words of each column, those to check first."""
    plan, original = page.plan, page.original
    if plan is not None and original is not None:
        of_plan = ((column, _from_plan(column, plan, page.wording)) for column in plan.columns)
        described = [(column.name, about) for column, about in of_plan]
    else:
        described = [(name, _plain("clustered")) for name in page.columns]
        others = [] if original is None else [str(name) for name in original.columns]
        described += [(name, _plain("other")) for name in others if name not in page.columns]
    return sorted(described, key=lambda entry: ROLES.index(entry[1]["role"]))


def _plain(role: str) -> dict[str, Any]:
    used = role == "clustered"
    return {"role": role, "used": used, "reason": "", "option": "", "missing": 0, "scale": ""}


def _from_plan(column: ColumnPlan, plan: TablePlan, wording: Wording) -> dict[str, Any]:
    used = column.use in ("number", "category", "encoded")
    role = "check" if column.check else {"id": "names"}.get(column.use, "ignored")
    if used and not column.check:
        role = "clustered"
    option = ""
    if column.override_hint:
        parameter, value = override(column.override_hint, [column.name])
        option = wording(parameter, repr(value))
    scale = SCALES[plan.scale] if column.use == "number" else ""
    if scale and column.clipped:
        scale += ", outliers clipped"
    if column.use == "category":
        scale = "as categories"
    return {
        "role": role,
        "used": used,
        "reason": in_words(column.check or column.reason, wording),
        "option": option,
        "missing": column.n_missing,
        "scale": scale,
    }


def _bars_of(name: str, page: Material) -> Bars | None:
    """Return a column cut into bars; None where it holds texts that do not repeat."""
    own = None
    if page.original is not None:
        names = [str(one) for one in page.original.columns]
        own = page.original.iloc[:, names.index(name)] if name in names else None
    if own is not None and is_categories(own):
        return category_bars(own)
    if page.data is not None and name in page.columns:
        column = page.data.matrix[:, [page.columns.index(name)]]
        values = column.toarray() if sparse.issparse(column) else np.asarray(column)
        return number_bars(values.ravel().astype(np.float64))
    if own is None:
        return None
    values = pd.to_numeric(own, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    n_present = int((own.notna() & (own.astype(str) != "")).sum())
    # A few entries such as "n/a" do not make it a column of text.
    return number_bars(values) if np.isfinite(values).sum() > 0.8 * max(1, n_present) else None


def category_bars(column: pd.Series) -> Bars:
    """Cut a column of categories: the most frequent first, rare ones together."""
    texts = column.astype(object).where(column.notna(), "").astype(str)
    counts = texts[texts != ""].value_counts()
    order = sorted(counts.index, key=lambda text: (-counts[text], text))
    names = order[:DISTINCT]
    place = {text: j for j, text in enumerate(names)} | dict.fromkeys(order[DISTINCT:], len(names))
    place[""] = NOTHING
    codes = texts.map(place).to_numpy(np.int64)
    return Bars("categories", names + ["others"] * (len(order) > DISTINCT), codes)


def number_bars(values: Floats) -> Bars | None:
    """Cut numbers at round values, outliers in the outer bars; None without a value."""
    there = np.isfinite(values)
    present = values[there]
    if not present.size:
        return None
    codes = np.full(len(values), NOTHING, dtype=np.int64)
    distinct = np.unique(present)
    if len(distinct) <= FEW_VALUES and (distinct == np.round(distinct)).all():
        codes[there] = np.searchsorted(distinct, present)
        texts = [f"{value:g}" for value in distinct]
        return Bars("numbers", texts, codes, (texts[0], texts[-1]))
    edges = _round_edges(present)
    codes[there] = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
    ends = [_short(value) for value in edges]
    texts = [f"{low} to {high}" for low, high in pairwise(ends)]
    if present.min() < edges[0]:
        texts[0] = f"below {ends[1]}"
    if present.max() > edges[-1]:
        texts[-1] = f"{ends[-2]} and more"
    return Bars("numbers", texts, codes, (_short(present.min(), 4), _short(present.max(), 4)))


def _round_edges(known: Floats) -> Floats:
    """Return round edges of about `BARS` bars over all values, or over all but far outliers."""
    low, first, last, high = np.quantile(known, [0, 0.01, 0.99, 1])
    if last - first > 0 and last - first <= 0.2 * (high - low):
        low, high = first, last
    if not high > low:
        return np.array([low, low + 1.0])
    rough = (high - low) / BARS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= rough * 0.999)
    start, end = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    edges: Floats = np.arange(start, max(end, start + 1) + 1) * step
    # Steps that vanish next to large values
    return edges if (np.diff(edges) > 0).all() else np.array([low, np.nextafter(high, np.inf)])


def _short(value: float, digits: int = 10) -> str:
    """Return a number with this many digits, without an exponent where it is not very large."""
    rounded = float(f"{value:.{digits}g}") + 0.0
    if rounded and not 1e-4 <= abs(rounded) < 1e12:
        return f"{rounded:g}"
    return str(np.format_float_positional(rounded, trim="-"))


def _pack(bars: Bars, page: Material) -> dict[str, Any]:
    """Pack a column: the bar of each drawn point, and all counts by cluster.

    `counts` is (k + 1, bars + 1): the last row is of points in no cluster, the last column of
    missing values.
    """
    k, width = page.k, len(bars.texts) + 1
    place = np.where(bars.codes == NOTHING, width - 1, bars.codes)
    cells = np.where(page.codes < 0, k, page.codes) * width + place
    counts = np.bincount(cells, minlength=(k + 1) * width).reshape(k + 1, width)
    return {
        "kind": bars.kind,
        "texts": bars.texts,
        "ends": list(bars.ends),
        "counts": pack(counts, "u4"),
        "codes": pack(bars.codes[page.shown], "u1"),
    }
