"""A plan that the user gave, in place of a look at a table."""

from __future__ import annotations

from dataclasses import fields, replace

from clustertrust._errors import InputError, ParameterError
from clustertrust.tables.kinds import ColumnChoices
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.rows import LookedAt
from clustertrust.tables.values import listed


def given_plan(plan: TablePlan, choices: ColumnChoices, rows: LookedAt) -> TablePlan:
    """Return the plan that was given, for this table; raise if it does not fit."""
    default = ColumnChoices()
    for one in fields(ColumnChoices):
        if getattr(choices, one.name) != getattr(default, one.name):
            raise ParameterError(
                one.name,
                getattr(choices, one.name),
                "is not used with {plan}, which says what is done with each column",
                "leave one of them out",
            )
    lost = [column.name for column in plan.used if column.name not in rows.frame]
    if lost:
        raise InputError(f"The table lacks columns of {{plan}}: {listed(lost)}.")
    if not plan.used:
        raise InputError("{plan} uses no column; set the use of some to number.")
    return replace(plan, rows=tuple((row, why) for row, why in plan.rows if row < rows.n_rows))
