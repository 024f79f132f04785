"""Which columns of a table are its features: the one rule for tables in memory and in blocks."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["check_there", "choose_features", "listed"]

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
        raise ValueError(
            f"The column {both[0]!r} is named by use=… and left out by drop=… or id=…; decide for "
            "one of them."
        )
    left = [name for name in names if name not in apart]
    unnamed = [name for name in left if name.startswith(UNNAMED)]
    if unnamed and not use:
        raise ValueError(
            f"{source_name} has a column without a name, {unnamed[0]!r}, often row numbers that a "
            f"program added. Set drop=[{unnamed[0]!r}], id={unnamed[0]!r}, or list the columns to "
            "use with use=…."
        )
    chosen = list(dict.fromkeys(use)) or left
    if not chosen:
        raise ValueError(
            f"{source_name} has no column left to cluster; name fewer with drop=… and id=…."
        )
    return chosen


def check_there(names: Sequence[str], source_name: str, **given: Sequence[str]) -> None:
    """Raise if a parameter names a column that the table does not have."""
    known = set(names)
    for parameter, columns in given.items():
        missing = next((name for name in columns if name not in known), None)
        if missing is not None:
            raise ValueError(
                f"{parameter}={missing!r}: {source_name} has no such column; it has "
                f"{listed(names, 20)}."
            )


def listed(names: Sequence[object], most: int = 10) -> str:
    """Join names for a message; of many, list the first."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
