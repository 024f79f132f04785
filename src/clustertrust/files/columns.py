"""Which columns of a table are its features: the one rule for tables in memory and in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clustertrust._errors import InputError, literal
from clustertrust.tables.values import listed

__all__ = ["NAMELESS", "UNNAMED", "Selection", "check_there", "listed"]

# The prefix that pandas gives to columns without a name.
UNNAMED = "Unnamed: "
# And the one that Parquet files have for a level of an index without a name.
NAMELESS = "__index_level_"


@dataclass(frozen=True)
class Selection:
    """Which columns a user chose.

    Attributes
    ----------
    id : the column that names the rows
    use : columns to use; empty: all except `id` and `drop`
    drop : columns to leave out
    """

    id: str | None = None
    use: Sequence[str] = ()
    drop: Sequence[str] = ()

    def refuse_names(self, source_name: str) -> None:
        """Raise if a column is chosen by its name, in a table that has none."""
        if self.id is not None or self.use or self.drop:
            text = literal(f"{source_name} has no named columns; leave out ")
            raise InputError(f"{text}{{id}}, {{use}} and {{drop}}.")

    def features(self, names: Sequence[str], source_name: str) -> list[str]:
        """Return the columns to cluster; `source_name` is the name of the table in messages.

        Examples
        --------
        >>> from clustertrust.files.columns import Selection
        >>> Selection(id="name").features(["name", "x", "y"], "data.csv")
        ['x', 'y']
        """
        id = [] if self.id is None else [self.id]
        check_there(names, source_name, id=id, drop=self.drop, use=self.use)
        left_out = {*id, *self.drop}
        contradicted = next((name for name in self.use if name in left_out), None)
        if contradicted is not None:
            raise InputError(
                f"The column {literal(repr(contradicted))} is named by {{use}} and left out by "
                "{drop} or {id}; choose one of these."
            )
        left = [name for name in names if name not in left_out]
        unnamed = next((name for name in left if name.startswith(UNNAMED)), None)
        if unnamed is not None and not self.use:
            raise InputError(
                f"{literal(source_name)} has a column without a name, {literal(repr(unnamed))}, "
                "often row numbers that a program added. Set {drop=}, {id=}, or list the columns "
                "to use with {use}.",
                drop=[unnamed],
                id=unnamed,
            )
        chosen = list(dict.fromkeys(self.use)) or left
        if not chosen:
            raise InputError(
                f"{literal(source_name)} has no column left to cluster; name fewer with {{drop}} "
                "and {id}."
            )
        return chosen


def check_there(names: Sequence[str], source_name: str, **columns_of: Sequence[str]) -> None:
    """Raise if a parameter names a column that the table does not have."""
    there = set(names)
    for parameter, columns in columns_of.items():
        missing = next((name for name in columns if name not in there), None)
        if missing is not None:
            problem = f"{source_name} has no such column; it has {listed(names, 20)}."
            raise InputError(f"{{{parameter}=}}: {literal(problem)}", **{parameter: missing})


def stripped(names: Sequence[str]) -> list[str]:
    """Return names of columns without blanks around them, if they still differ."""
    short = [name.strip() for name in names]
    return short if len(set(short)) == len(names) and all(short) else list(names)
