"""Names of the columns of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clustertrust._errors import InputError
from clustertrust.files.errors import TableError
from clustertrust.tables.looking import unknown_column

# The prefix that pandas gives to columns without a name.
UNNAMED = "Unnamed: "
# And the one that Parquet files have for a level of an index without a name.
NAMELESS = "__index_level_"


def check_there(names: Sequence[str], source_name: str, **columns_of: Sequence[str]) -> None:
    """Raise if a parameter names a column that the table does not have."""
    there = set(names)
    for parameter, columns in columns_of.items():
        missing = next((name for name in columns if name not in there), None)
        if missing is not None:
            message = unknown_column(parameter, missing, names)
            raise InputError(message.after(f"{source_name}: "))


def stripped(names: Sequence[str]) -> list[str]:
    """Return names of columns without blanks around them, if they still differ."""
    short = [name.strip() for name in names]
    return short if len(set(short)) == len(names) and all(short) else list(names)


def check_unique(names: list[str]) -> None:
    """Raise if two columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"has more than one column named {twice[0]!r}; rename them.")


def distinct(names: list[str]) -> tuple[list[str], str]:
    """Return names that all differ, a later `a` as `a.1`, and a note on those that did not."""
    taken, unique = set(names), list[str]()
    for name in names:
        number, new = 0, name
        while new in unique or (number and new in taken):
            number += 1
            new = f"{name}.{number}"
        unique.append(new)
    changed = [new for name, new in zip(names, unique, strict=True) if name != new]
    several = ", ".join(changed[:5]) + ", …" * (len(changed) > 5)
    return unique, f"columns that share a name are called {several}" if changed else ""
