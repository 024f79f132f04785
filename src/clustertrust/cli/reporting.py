"""A page from scores that were written before, and the data that they belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from clustertrust.cli.checks import check_tools
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import name_of
from clustertrust.cli.reviews import ReportRequest
from clustertrust.cli.scored_files import read_scored_points
from clustertrust.cli.sidecar_plan import notes_on_columns, read_as_scored
from clustertrust.cli.terminal import echo
from clustertrust.cli.wording import score_wording
from clustertrust.cli.writing import read_names, title_of, write_page

NO_VERDICT = (
    "A file of scores does not say what data without clusters score. For a verdict on the page, "
    "add --chance with the number that clustertrust score printed."
)


def report(request: ReportRequest) -> None:
    """Make a page from scores and the data they belong to."""
    check_tools(request.data, request.columns, {})
    scores, data, paths = request.scores, request.data, request.paths
    columns = read_as_scored(scores, request.columns)
    points, table, places = read_scored_points(scores, data, columns)
    table = table[points.kept]
    # Rows that scoring left out are not shown.
    shown = (table["score"].notna() | table["label"].notna()).to_numpy()
    settings = {"scores": Path(scores).name, "data": Path(data).name, "rows": len(points.ids)}
    with staged(paths) as drafts:
        write_page(
            drafts["--out"],
            table[shown],
            points,
            shown,
            settings=settings,
            title=request.title or title_of(name_of(data)),
            threshold=_core_above(table) if request.threshold is None else request.threshold,
            chance=request.chance,
            quoted=() if request.chance is not None else (NO_VERDICT,),
            rows=places[points.kept][shown],
            names=read_names(request.names),
            wording=score_wording(),
        )
    for line in notes_on_columns(request.columns, columns, None):
        echo(line)
    if request.chance is None:
        echo(NO_VERDICT)
    echo(f"Wrote {paths['--out']}: {shown.sum()} points.")


def _core_above(table: pd.DataFrame) -> float | None:
    """Return a threshold that keeps the rows that are core in the table, with two digits if one
    does; None if it does not say which are.
    """
    if "reason" not in table:
        return None
    core = table["reason"] == "core"
    if not core.any():
        return 1.0
    others = table["score"][~core & table["label"].notna()]
    highest, lowest = others.max(), table["score"][core].min()
    highest = 0.0 if np.isnan(highest) else float(highest)
    rounded = float(np.ceil(100 * highest) / 100)
    return rounded if rounded < lowest else highest
