"""Which columns of a table are its features: the one rule for tables in memory and in blocks."""

from __future__ import annotations

from collections.abc import Sequence

from clustertrust._errors import InputError, literal

__all__ = ["check_there", "choose_features", "listed", "unnamed_columns"]

UNNAMED = "Unnamed: "  # the prefix that pandas gives to columns without a name


def choose_features(
    names: Sequence[str],
    source_name: str,
    *,
    id: str | None = None,
    use: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> list[str]:
    """Choose the columns to cluster: those of `use`, else all except `id` and `drop`.

    `source_name` is the name of the table in messages.

    Examples
    --------
    >>> from clustertrust.files.columns import choose_features
    >>> choose_features(["name", "x", "y"], "data.csv", id="name")
    ['x', 'y']
    """
    check_there(names, source_name, id=[] if id is None else [id], drop=drop, use=use)
    apart = {id, *drop}
    both = [name for name in use if name in apart]
    if both:
        raise InputError(
            f"The column {literal(repr(both[0]))} is named by {{use}} and left out by {{drop}} or "
            "{id}; decide for one of them."
        )
    left = [name for name in names if name not in apart]
    unnamed = [name for name in left if name.startswith(UNNAMED)]
    if unnamed and not use:
        raise InputError(
            f"{literal(source_name)} has a column without a name, {literal(repr(unnamed[0]))}, "
            "often row numbers that a program added. Set {drop=}, {id=}, or list the columns to "
            "use with {use}.",
            drop=unnamed[:1],
            id=unnamed[0],
        )
    chosen = list(dict.fromkeys(use)) or left
    if not chosen:
        raise InputError(
            f"{literal(source_name)} has no column left to cluster; name fewer with {{drop}} and "
            "{id}."
        )
    return chosen


def check_there(names: Sequence[str], source_name: str, **given: Sequence[str]) -> None:
    """Raise if a parameter names a column that the table does not have."""
    known = set(names)
    for parameter, columns in given.items():
        missing = next((name for name in columns if name not in known), None)
        if missing is not None:
            problem = f"{source_name} has no such column; it has {listed(names, 20)}."
            raise InputError(f"{{{parameter}=}}: {literal(problem)}", **{parameter: missing})


def unnamed_columns(source_name: object) -> InputError:
    """Return the error for choosing columns of a table that has no names of columns."""
    text = literal(f"{source_name} has no named columns; leave out ")
    return InputError(f"{text}{{id}}, {{use}} and {{drop}}.")


def listed(names: Sequence[object], most: int = 10) -> str:
    """Join names for a message; of many, list the first."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
