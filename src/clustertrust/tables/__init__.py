"""Tables as people have them → numbers: what each column is, and what is done with it.

:func:`look` looks at a table once and gives a :class:`TablePlan`, which is printed, stored with a
model, edited as JSON, and applied to this table and to others. :func:`prepare` returns what is
clustered.
"""

from __future__ import annotations

from clustertrust.tables.frames import warn_of_columns, warn_of_distances
from clustertrust.tables.kinds import ColumnChoices
from clustertrust.tables.looking import look
from clustertrust.tables.plan import ColumnPlan, TablePlan
from clustertrust.tables.preparing import prepare
from clustertrust.tables.scales import choose_scale, measures

__all__ = [
    "ColumnChoices",
    "ColumnPlan",
    "TablePlan",
    "choose_scale",
    "look",
    "measures",
    "prepare",
    "warn_of_columns",
    "warn_of_distances",
]
