"""How many of the paper's numbers come out, by the kind of number: kinds are never added up."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from experiments.paper import results
from experiments.paper.results import KINDS, PRINTED, Experiment

VERDICTS = ("equal", "inside", "off", "not run")
WHAT = {"value": "values", "limit": "limits of intervals", "kept": "points retained"}


def tally(known: Mapping[str, Experiment], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row for each number of the paper: experiment, kind, what it is, verdict, and that of the
    current versions.
    """
    parts = [part for name, table in tables.items() for part in numbers(name, known[name], table)]
    return pd.concat(parts, ignore_index=True).assign(
        kind=lambda all_of: pd.Categorical(all_of["kind"], list(KINDS))
    )


def numbers(name: str, experiment: Experiment, table: pd.DataFrame) -> list[pd.DataFrame]:
    """The printed numbers of one experiment: values, limits of intervals, sizes of subsets."""
    rows = table[table["protocol"] == "printed"]
    rows = rows.assign(kind=experiment.kind(rows))
    rows = rows[rows["kind"] != ""]
    found = [values(experiment, rows)]
    if "paper_low" in rows:
        found.append(limits(rows[rows["kind"].isin(["table", "notebook"])]))
    if "kept" in rows and "retained" in pd.read_csv(PRINTED / f"{name}.csv", nrows=0):
        found.append(sizes(name, rows))
    return [part.assign(experiment=name) for part in found if len(part)]


def values(experiment: Experiment, rows: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of the values.

    `current` is whether today's versions give the printed digits, None where not run.
    """
    rows = rows[rows["paper"].notna()]
    current = [
        None if pd.isna(value) else results.agrees(value, paper, truncated=experiment.truncated)
        for value, paper in rows[["current", "paper"]].itertuples(index=False)
    ]
    verdicts = results.verdicts(rows, experiment) if len(rows) else []
    return pd.DataFrame(
        {"kind": rows["kind"], "what": "value", "verdict": verdicts, "current": current}
    )


def limits(rows: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of both limits of each printed interval; the paper cuts limits above 1."""
    found = []
    for ours, theirs in (("low", "paper_low"), ("high", "paper_high")):
        printed = rows[rows[theirs].notna()]
        found += [
            (
                kind,
                "not run"
                if pd.isna(value)
                else "equal"
                if results.agrees(min(value, 1.0), paper)
                else "off",
            )
            for kind, value, paper in printed[["kind", ours, theirs]].itertuples(index=False)
        ]
    frame = pd.DataFrame(found, columns=["kind", "verdict"])
    return frame.assign(what="limit", current=None)


def sizes(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of the numbers of points retained, one for each set and rule."""
    files = [
        path
        for path in (PRINTED / f"{name}.csv", PRINTED / f"{name}_notebook_only.csv")
        if path.exists()
    ]
    paper = pd.concat([pd.read_csv(path) for path in files])
    keys = ["dataset", "subset"]
    both = rows.drop_duplicates(keys).merge(
        paper.drop_duplicates(keys)[[*keys, "retained"]], on=keys
    )
    equal = (both["kept"] == both["retained"]).map({True: "equal", False: "off"})
    return pd.DataFrame({"kind": both["kind"], "what": "kept", "verdict": equal, "current": None})


def share(part: int, whole: int) -> str:
    """Write `part of whole`, and the percentage."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "–"


def line(rows: pd.DataFrame) -> list[str]:
    """Cells of a table: equal of those run, inside, off, not run, and equal on the current
    versions.
    """
    counts = [int((rows["verdict"] == verdict).sum()) for verdict in VERDICTS]
    now = rows["current"].dropna()
    return [
        share(counts[0], sum(counts[:3])),
        *map(str, counts[1:]),
        share(int(now.sum()), len(now)),
    ]


HEADER = ["= equal to the last digit", "≈ inside", "≠ off", "not run", "equal, current versions"]


def by_kind(counted: pd.DataFrame) -> list[list[str]]:
    """A line for each kind of number."""
    groups = counted.groupby(["kind", "what"], sort=False, observed=True)
    order = [(kind, what) for kind in KINDS for what in WHAT if (kind, what) in groups.groups]
    return [
        [KINDS[kind], WHAT[what], *line(groups.get_group((kind, what)))] for kind, what in order
    ]


def by_experiment(counted: pd.DataFrame) -> list[tuple[str, str, list[str]]]:
    """Experiment, kind, and the cells of its values."""
    groups = counted[counted["what"] == "value"].groupby(
        ["experiment", "kind"], sort=False, observed=True
    )
    return [(name, KINDS[kind], line(rows)) for (name, kind), rows in groups]


def headline(counted: pd.DataFrame) -> tuple[int, int]:
    """Of the values printed in tables: how many come out to the last digit, and how many there are."""
    rows = counted[(counted["kind"] == "table") & (counted["what"] == "value")]
    return int((rows["verdict"] == "equal").sum()), len(rows)
