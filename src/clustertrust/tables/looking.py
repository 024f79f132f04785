"""One look at a table before anything is computed: what each column is, and what will be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from clustertrust._errors import Message, literal
from clustertrust._validation.arguments import check_choice, nearest_name
from clustertrust.tables.column import ColumnPlan
from clustertrust.tables.doubts import with_doubts
from clustertrust.tables.kinds import COUNTING, ColumnChoices, NumberFormat, Source, kind_of
from clustertrust.tables.plan import (
    ENCODINGS,
    MISSING_RULES,
    SCALES,
    TablePlan,
    override,
)
from clustertrust.tables.problems import Problem
from clustertrust.tables.rows import DRAWN, HEAD, LookedAt, odd_rows
from clustertrust.tables.siblings import treated_alike
from clustertrust.tables.units import with_scale
from clustertrust.tables.values import (
    as_scalars,
    decimal_of,
    is_number,
    known_texts,
    listed,
)

# Values of the only column: clusters of it are its values.
FEW = 10
# Share of missing values in a column that is worth a warning.
LOUD = 0.05
# Share above which a column is ignored.
TOO_MANY = 0.5
# Share of rows that repeat another, from which on it is worth a warning: one of a hundred.
COPIES = 0.01
# Columns from which on it takes too long to compare rows.
WIDE = 1000
# Columns miss as many values as another if their shares differ by less.
SAME_GAPS = 0.1


def look(
    frame: pd.DataFrame,
    choices: ColumnChoices | None = None,
    *,
    reading: Sequence[str | Message] = (),
) -> TablePlan:
    """Look at a table of text and numbers, and plan what is done with each of its columns.

    Parameters
    ----------
    frame : DataFrame, one row per point
    choices : ColumnChoices, optional; what is not said there is detected
    reading : what was found out when the file was read; it is kept with the plan

    Returns
    -------
    TablePlan
        Its `problems` say why the table cannot be clustered, if it cannot.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustertrust.tables import look
    >>> plan = look(pd.DataFrame({"id": [1, 2, 3], "price": ["$1,200", "$950", "$87"]}))
    >>> [(column.name, column.kind, column.use) for column in plan.columns]
    [('id', 'id', 'id'), ('price', 'number', 'number')]
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame is a {type(frame).__name__}; give a pandas DataFrame.")
    rows = LookedAt(frame, np.arange(len(frame)), len(frame))
    return look_at(rows, ColumnChoices() if choices is None else choices, reading)


def look_at(
    looked_at: LookedAt, choices: ColumnChoices, reading: Sequence[str | Message] = ()
) -> TablePlan:
    """Plan what is done with each column of a table, by some of its rows."""
    frame, positions, n_rows = looked_at
    check_choice("scale", choices.scale, ("auto", *SCALES))
    check_choice("encode", choices.encode, ENCODINGS)
    check_choice("missing", choices.missing, MISSING_RULES)
    names = [str(name) for name in frame.columns]
    number_format = NumberFormat(
        choices.na,
        choices.decimal or _decimal(frame, choices),
        choices.thousands,
        is_given=choices.decimal is not None,
    )
    frame = frame.set_axis(names, axis=1)
    if any(kind.kind == "O" for kind in frame.dtypes):
        frame = frame.apply(as_scalars)
    rows = odd_rows(frame, number_format)
    if rows:
        is_point = ~np.isin(np.arange(len(frame)), [row for row, _ in rows])
        points, positions = frame[is_point], positions[is_point]
        rows = [(int(looked_at.positions[row]), reason) for row, reason in rows]
    else:
        points = frame
    looked = [
        kind_of(
            Source(points.iloc[:, j], positions, j == len(names) - 1),
            number_format,
            name in choices.category,
        )
        for j, name in enumerate(names)
    ]
    if len(looked) == 1 and looked[0].numeric and looked[0].kind in ("id", "date"):
        looked = [replace(looked[0], kind="number", use="number", reason="")]  # what else is there
    columns = [_decide(column, len(points), choices) for column in looked]
    if not any(column.use in ("number", "category") for column in columns):
        columns = _with_gaps(columns, len(points))
    columns = treated_alike(columns, points, number_format)
    columns = _named_by(columns, points, choices)
    plan = TablePlan(
        tuple(columns),
        encode=choices.encode,
        missing="skip"
        if (choices.encode, choices.missing) == ("match", "auto")
        else choices.missing,
        na=number_format.na,
        decimal=number_format.decimal,
        thousands=number_format.thousands,
        rows=tuple(rows),
        n_rows=n_rows,
        reading=tuple(reading),
    )
    plan = replace(plan, problems=tuple(_problems(plan, points, names, choices)))
    if plan.problems:
        return plan
    if plan.is_mixed:
        reason = "Gower's distance divides numbers by their ranges"
        plan = replace(plan, scale="none", scale_reason=reason)
    else:
        plan = with_scale(plan, plan.read(points).numbers, choices.scale)
    return with_doubts(replace(plan, warnings=tuple(_warnings(plan, points))), points)


def _decide(column: ColumnPlan, n: int, choices: ColumnChoices) -> ColumnPlan:
    """Return what is done with a column, by what it is and what was said."""
    override_hint = "keep" if _use_asked(column) != "ignored" else ""
    if column.name == choices.id:
        return replace(column, kind="id", use="id", reason="", user_decided=True)
    asked = (*choices.use, *choices.category)
    if column.name in choices.drop or (choices.use and column.name not in asked):
        return replace(column, use="ignored", reason="left out as asked", user_decided=True)
    if column.name in (*asked, *choices.keep):
        use = _use_asked(column)
        reason = column.reason if column.use == "number" or use == "ignored" else ""
        return replace(column, use=use, reason=reason, user_decided=True)
    if column.use == "category" and choices.encode == "drop":
        return replace(column, use="ignored", reason="a category", override_hint="encode")
    if (
        column.kind == "category"
        and column.use == "ignored"
        and choices.encode in ("onehot", "match")
        and column.levels
    ):
        column = replace(column, use="category", reason="")
    share = column.n_missing / max(n, 1)
    if column.use in ("number", "category") and share > TOO_MANY and choices.missing != "mean":
        reason = "more than half of the values are missing"
        return replace(column, use="ignored", reason=reason, override_hint=override_hint)
    return replace(column, override_hint=override_hint) if column.use == "ignored" else column


def _with_gaps(columns: list[ColumnPlan], n: int) -> list[ColumnPlan]:
    """Use the columns that miss fewest values, where all of them miss more than half."""
    lost = [c.n_missing for c in columns if _is_gappy(c, n)]
    most = min(lost, default=0) + SAME_GAPS * n
    return [
        replace(c, use=_use_asked(c), reason="", override_hint="")
        if _is_gappy(c, n) and c.n_missing <= most
        else c
        for c in columns
    ]


def _is_gappy(column: ColumnPlan, n: int) -> bool:
    """Return whether a column is left out for nothing but its missing values."""
    usable = column.kind in ("number", "boolean", "category") and column.override_hint
    return bool(usable) and column.use == "ignored" and column.n_missing > TOO_MANY * n


def _use_asked(column: ColumnPlan) -> str:
    """Return what a column that was asked for becomes; "ignored" where it cannot be used."""
    if column.numeric and column.kind != "empty":
        return "number"
    return "category" if len(column.levels) >= 2 else "ignored"


def _named_by(
    columns: list[ColumnPlan], frame: pd.DataFrame, choices: ColumnChoices
) -> list[ColumnPlan]:
    """Let a column of different ids name the rows, if nobody said which does.

    Names come before numbers, and row numbers last.
    """
    if choices.id is not None:
        return columns
    ids = [
        j
        for j, c in enumerate(columns)
        if c.kind == "id" and c.use == "ignored" and not c.user_decided
    ]

    def place(j: int) -> tuple[bool, ...]:
        reason = columns[j].reason
        return columns[j].numeric, reason in COUNTING, reason == COUNTING[0]

    for j in sorted(ids, key=place):
        values = frame.iloc[:, j]
        if values.notna().all() and values.is_unique:
            columns[j] = replace(columns[j], use="id")
            break
    return columns


def _decimal(frame: pd.DataFrame, choices: ColumnChoices) -> str:
    """Return the mark before the decimals, by all texts of the table that prove one."""
    marks = set()
    for j, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            texts = known_texts(frame.iloc[:, j].head(2000), choices.na).dropna().unique()
            marks.add(decimal_of(texts))
    return "," if "," in marks and "." not in marks else "."


# What is wrong


def unknown_columns(names: Sequence[str], choices: ColumnChoices) -> list[Problem]:
    """Return a problem for each column that was named and is not there."""
    problems = []
    for option in ("id", "drop", "use", "keep", "category"):
        columns = getattr(choices, option)
        for name in (columns,) if isinstance(columns, str) else columns or ():
            if name not in names:
                near = nearest_name(name, names)
                rename = None if near is None else (name, near)
                problems.append(Problem(unknown_column(option, name, names), rename=rename))
    return problems


def unknown_column(option: str, name: str, names: Sequence[str]) -> Message:
    """Return the message about a column that was named and is not there."""
    problem = literal(f": there is no such column{did_you_mean(name, names)}")
    return Message(f"{{{option}=}}{problem}", {option: name})


def _problems(
    plan: TablePlan, frame: pd.DataFrame, names: Sequence[str], choices: ColumnChoices
) -> list[Problem]:
    """Return all reasons why the table cannot be clustered, each with what to do."""
    problems = unknown_columns(names, choices)
    to_use = tuple(dict.fromkeys((*choices.use, *choices.keep, *choices.category)))
    for given in choices.na or ():
        name, _, value = given.partition("=")
        near = nearest_name(name, names) if is_number(value) and name not in names else None
        if near is not None:
            problem = literal(f": there is no such column{did_you_mean(name, names)}")
            problems.append(Problem(Message(f"{{na=}}{problem}", {"na": given})))
    for name in to_use:
        if name in (choices.id, *choices.drop):
            text = Message(
                "is named by {use}, {keep} or {category} and left out by {drop} or {id}; choose "
                "one of these."
            )
            problems.append(Problem(text.after(f"The column {name!r} ")))
    for column in plan.columns:
        if column.name in to_use and column.use == "ignored" and not problems:
            problem = f": it is {column.kind}, {column.reason}, and cannot be used."
            problems.append(Problem(Message(f"{{use=}}{literal(problem)}", {"use": column.name})))
    if problems:
        return problems
    if not plan.used and len(names) == 1 and set(" ,;\t|") & set(names[0].strip()):
        text = Message(
            "If it has several, put commas or tabs between them, or name what separates them with "
            "{separator}; put quotes around values that hold it."
        )
        return [Problem(text.after(f"The table was read as one column, {names[0]!r}. "))]
    if not plan.used:
        reasons = "; ".join(f"{c.name}: {c.reason or c.kind}" for c in plan.columns[:12])
        usable = [c for c in plan.columns if c.override_hint and c.kind not in ("id", "constant")]
        fewer = "Name fewer with {drop} and {id}" if choices.drop or choices.id else ""
        keep = "use some anyway with {keep}" if usable else ""
        more = "" if fewer or keep else "add columns of numbers or categories"
        advice = ", or ".join(part for part in (fewer, keep, more) if part)
        text = Message(f"{advice[0].upper()}{advice[1:]}.")
        remedy = override(usable[0].override_hint, [usable[0].name]) if usable else None
        return [Problem(text.after(f"There is no column left to cluster ({reasons}). "), remedy)]
    return _few_values(plan, frame) if len(plan.used) == 1 and not plan.used[0].user_decided else []


def _few_values(plan: TablePlan, frame: pd.DataFrame) -> list[Problem]:
    """Return a problem if one column of a few values is left: its clusters would be these."""
    column = plan.used[0]
    values = plan.apply(frame).drop_duplicates()
    if len(frame) <= 2 * FEW or len(values) > FEW or len(plan.columns) == 1:
        return []
    ignored = [f"{c.name} ({c.reason})" for c in plan.columns if c.use == "ignored"]
    others = f" Not used: {listed(ignored, 12)}." if ignored else ""
    text = (
        f"Only the column {column.name!r} with {len(values)} different values is left: the "
        f"clusters would be its values, each with a score of 1.{others}"
    )
    remedy = Message(
        " To cluster it anyway, use {keep=}; to use others too, name them with {keep}.",
        {"keep": [column.name]},
    )
    return [Problem(remedy.after(text), ("keep", [column.name]))]


def _warnings(plan: TablePlan, frame: pd.DataFrame) -> list[str]:
    """Return what a user should not overlook."""
    n = max(len(frame), 1)
    loud = [
        f"{column.name} ({column.n_missing / n:.0%})"
        for column in plan.used
        if column.n_missing > LOUD * n
    ]
    warnings = []
    if loud and plan.missing not in ("drop", "skip"):
        warnings.append(
            f"More than {LOUD:.0%} of the values are missing in {listed(loud, 12)}; scores depend "
            "on what was filled in."
        )
    X = plan.apply(frame)
    forms = len(X.drop_duplicates()) if len(X) >= 100 else len(X)
    if forms <= 2 * FEW and len(X) >= 100:
        warnings.append(
            f"The {_seen(X)} have only {forms} different forms in the columns that are used: "
            "clusters repeat them, and high scores say little."
        )
    warnings += _copies(frame)
    return warnings


def _seen(frame: pd.DataFrame) -> str:
    """Return how many rows were looked at, and whether there may be more."""
    return f"{len(frame):,} rows" + " that were looked at" * (len(frame) >= HEAD + DRAWN)


def _copies(frame: pd.DataFrame) -> list[str]:
    """Return a warning on rows that repeat another in all columns, where chance does not do so.

    Some column must have so many different values that equal rows cannot be chance. In one column
    they can: a price occurs twice.
    """
    if not 1 < frame.shape[1] <= WIDE:
        return []
    is_copy = frame.duplicated()
    count = int(is_copy.sum())
    others = frame[~is_copy]
    if count < max(1, COPIES * len(frame)) or others.nunique().max() <= len(others) / 2:
        return []
    repeat = "repeats" if count == 1 else "repeat"
    return [
        f"{count:,} of {_seen(frame)} {repeat} another row in all columns. Copies count as "
        "separate points and raise the scores around them; if they are a mistake, remove them "
        "first."
    ]


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return the end of a message about a name that is not there."""
    near = nearest_name(name, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; it has {listed(names, 20)}."
