"""Names of the columns of files."""

from __future__ import annotations

from collections.abc import Sequence

from clustertrust._errors import InputError
from clustertrust.tables.looking import unknown_column
from clustertrust.tables.values import listed

__all__ = ["NAMELESS", "UNNAMED", "check_there", "listed"]

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
