"""Tables as people have them → numbers: what each column is, and what is done with it.

:func:`look` looks at a table once and gives a :class:`TablePlan`, which is printed, stored with a
model, edited as JSON, and applied to this table and to others. :class:`TablePreparer` looks,
measures the columns, and returns what is clustered.
"""

from __future__ import annotations

from clustertrust.tables.column import ColumnPlan
from clustertrust.tables.frames import warn_of_columns
from clustertrust.tables.kinds import ColumnChoices
from clustertrust.tables.looking import look
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.preparer import TablePreparer

__all__ = [
    "ColumnChoices",
    "ColumnPlan",
    "TablePlan",
    "TablePreparer",
    "look",
    "warn_of_columns",
]
