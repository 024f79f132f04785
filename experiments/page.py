"""README.md beside this file, made from the results: what agrees, what does not and why, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import results
from experiments.claims import CLAIMS
from experiments.results import Experiment, digits

PROTOCOLS = {"printed": "Printed protocol", "fair": "Fair protocol"}
MARKS = {"equal": "=", "inside": "≈", "off": "≠", "not run": "–", "": ""}


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG and close it."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def write_page(known: dict[str, Experiment], out: Path, *, to: Path | None = None) -> None:
    """Put everything on one page; beside the code for the committed results, else in their own folder."""
    tables = {name: results.read(out / f"{name}.csv") for name in known}
    tables = {name: table for name, table in tables.items() if len(table)}
    if not tables:
        return
    for name, table in tables.items():
        table["verdict"] = results.verdicts(table, known[name])
    committed = out == results.RESULTS
    images = f"{out.name}/" if committed else ""
    parts = [
        (results.HERE / "introduction.md").read_text(),
        "## How much agrees\n\n" + summary(known, tables),
        "## The claims\n\n" + claims(tables),
        (results.HERE / "conclusions.md").read_text() if committed else "",
        "## Tables\n",
        *(section(name, known[name], table) for name, table in tables.items() if known[name].draw is None),
        "## Figures\n",
        *(figure(name, known[name], table, images) for name, table in tables.items() if known[name].draw is not None),
    ]
    to = to or (results.HERE if committed else out) / "README.md"
    results.write(to, "\n\n".join(part.strip() for part in parts if part) + "\n")


def markdown(header: list[str], rows: Iterator[list[Any]] | list[list[Any]]) -> str:
    """Lay out a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def share(part: int, whole: int) -> str:
    """Write `part of whole`, and the percentage."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "–"


def summary(known: dict[str, Experiment], tables: dict[str, pd.DataFrame]) -> str:
    """One line for each experiment with printed numbers."""
    rows, totals = [], np.zeros(6, dtype=int)
    for name, table in tables.items():
        printed = table[(table["protocol"] == "printed") & (table["verdict"] != "")]
        if printed.empty:
            continue
        now = [
            results.agrees(value, paper, truncated=known[name].truncated)
            for value, paper in printed.loc[printed["current"].notna(), ["current", "paper"]].itertuples(index=False)
        ]
        counts = [int((printed["verdict"] == verdict).sum()) for verdict in ("equal", "inside", "off", "not run")]
        totals += [*counts, sum(now), len(now)]
        ran = sum(counts[:3])
        rows.append([f"[{name}](#{name})", share(counts[0], ran), *counts[1:], share(sum(now), len(now))])
    rows.append(
        ["**all**", f"**{share(totals[0], totals[:3].sum())}**", *totals[1:4], f"**{share(totals[4], totals[5])}**"]
    )
    header = ["experiment", "= equal to the last digit", "≈ inside", "≠ off", "not run", "equal, current versions"]
    return markdown(header, rows)


def claims(tables: dict[str, pd.DataFrame]) -> str:
    """How often each claim holds: by the paper's numbers, by ours as printed, and fair."""
    rows = []
    for claim in CLAIMS:
        if claim.experiment not in tables:
            continue
        table = tables[claim.experiment]
        rows.append([claim.text, _held(claim.holds, _as_printed(table))])
        for protocol in PROTOCOLS:
            rows[-1].append(_held(claim.holds, table[table["protocol"] == protocol]))
    return markdown(["claim", "by the paper's tables", "printed", "fair"], rows)


def _as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's numbers in the place of ours."""
    paper = table[(table["protocol"] == "printed") & table["paper"].notna()].drop(columns=["value", "low", "high"])
    paper = paper.rename(columns={"paper": "value", "paper_low": "low", "paper_high": "high"})
    return paper.astype({column: float for column in ("value", "low", "high") if column in paper})


def _held(holds: Any, table: pd.DataFrame) -> str:
    try:
        return share(*holds(table))
    except KeyError:  # a column that was not run, or intervals that were not printed
        return "–"


def cells_differ(count: int) -> str:
    """In words."""
    return f"{count} cell{'s differ' if count > 1 else ' differs'}"


def section(name: str, experiment: Experiment, table: pd.DataFrame) -> str:
    """A table: how much agrees, why not the rest, and every cell."""
    lines = [f"### {name}\n\n{experiment.title}. [CSV](results/{name}.csv)"]
    printed = table[table["protocol"] == "printed"]
    open_cells = printed[printed["verdict"].isin(["inside", "off"])]
    for cause, explains in experiment.causes.items():
        explained = open_cells[explains(open_cells)] if len(open_cells) else open_cells
        if len(explained):
            lines.append(f"- {cells_differ(len(explained))}: {cause}")
            open_cells = open_cells.drop(explained.index)
    if len(open_cells):
        sets = open_cells["dataset"].value_counts(sort=False)
        lines.append(
            f"- {cells_differ(len(open_cells))}, cause not found: {', '.join(f'{s} {n}' for s, n in sets.items())}"
        )
    for note, rows in table[table["note"] != ""].groupby("note"):
        lines.append(f"- {', '.join(rows['dataset'].unique())} {note}.")
    lines += missing(experiment, table)
    for protocol, title in PROTOCOLS.items():
        rows = table[table["protocol"] == protocol]
        if len(rows):
            lines.append(f"<details><summary>{title}: every cell</summary>\n\n{cells(experiment, rows)}\n\n</details>")
    return "\n\n".join(lines)


def missing(experiment: Experiment, table: pd.DataFrame) -> list[str]:
    """Which data sets were not run, under each protocol."""
    lines = []
    for protocol in experiment.protocols:
        there = set(table.loc[table["protocol"] == protocol, "dataset"])
        left = [name for name in experiment.sets if name not in there]
        if left:
            lines.append(f"- Not run, {protocol}: {', '.join(left)}.")
    return lines


def cells(experiment: Experiment, table: pd.DataFrame) -> str:
    """Ours, the paper's in brackets with the difference, and a mark; one column for each metric."""
    across = next((key for key in ("metric", "quantity") if key in experiment.keys), experiment.keys[-1])
    down = [key for key in experiment.keys if key != across]

    def cell(row: pd.Series) -> str:
        paper = row["paper"] if isinstance(row["paper"], str) else None
        if np.isnan(row["value"]):
            return f"– ({paper})"
        places = digits(paper) if paper else 3
        half = (row["high"] - row["low"]) / 2
        ours = f"{row['value']:.{places}f}" + (f" ± {half:.{places}f}" if np.isfinite(half) else "")
        if paper is None or row["verdict"] == "equal":
            return f"{ours} {MARKS[row['verdict']]}".strip()
        return f"{ours} ({paper}, {row['value'] - float(paper):+.{places}f}) {MARKS[row['verdict']]}"

    columns = list(table[across].unique())
    lines = []
    for key, rows in table.groupby(down, sort=False):
        by_column = dict(zip(rows[across], rows.apply(cell, axis=1), strict=True))
        lines.append([*key, *(by_column.get(column, "") for column in columns)])
    return markdown([*down, *map(str, columns)], lines)


def figure(name: str, experiment: Experiment, table: pd.DataFrame, images: str) -> str:
    """A figure: ours, and what one should see in it."""
    lines = [
        f"### {name}\n\n{experiment.title}. [CSV](results/{name}.csv)",
        f"![{experiment.title}]({images}{name}.png)",
    ]
    lines += missing(experiment, table)
    rows = [
        [what, *(_held(holds, table[table["protocol"] == protocol]) for protocol in PROTOCOLS)]
        for what, holds in experiment.see.items()
    ]
    if rows:
        lines.append(markdown(["what the paper says one should see: it is so in", "printed", "fair"], rows))
    compared = table[table["verdict"] != ""]
    if len(compared):
        counts = compared.groupby(["protocol", "verdict"], sort=False).size()
        lines.append(
            "Numbers read off the authors' figure: "
            + "; ".join(f"{protocol}: {n} {verdict}" for (protocol, verdict), n in counts.items())
            + "."
        )
    return "\n\n".join(lines)
