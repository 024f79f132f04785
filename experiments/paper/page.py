"""findings.md and pages/, made from the results: what agrees, what does not and why, figures and claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.paper import data, results
from experiments.paper.claims import CLAIMS, COMPARED
from experiments.paper.counting import HEADER, by_experiment, by_kind, share, tally
from experiments.paper.ensembles import PAIRS, beyond_zero, differences, signed_rank
from experiments.paper.results import Experiment, digits

PROTOCOLS = {"printed": "Printed protocol", "fair": "Fair protocol"}
PACKAGES = {
    "tables": "Tables",
    "figures": "Figures",
    "remarks": "What the paper says in passing",
}
MARKS = {"equal": "=", "inside": "≈", "off": "≠", "not run": "–", "": ""}


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG and close it."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def write_page(known: dict[str, Experiment], out: Path, *, to: Path | None = None) -> None:
    """Write findings.md, and a page for each experiment; beside the code for the committed results, else beside them."""
    tables = {name: results.read(out / f"{name}.csv") for name in known}
    tables = {name: table for name, table in tables.items() if len(table)}
    if not tables:
        return
    for name, table in tables.items():
        table["verdict"] = results.verdicts(table, known[name])
    committed = out == results.RESULTS
    to = to or (results.HERE if committed else out)
    files = f"../{out.name}" if committed else ".."
    for name, table in tables.items():
        make = section if known[name].draw is None else figure
        results.write(
            to / "pages" / f"{name}.md", make(name, known[name], table, files).strip() + "\n"
        )
    results.write(to / "findings.md", front(known, tables, committed=committed))


def front(known: dict[str, Experiment], tables: dict[str, pd.DataFrame], *, committed: bool) -> str:
    """The first page: counts, claims, conclusions, how settings were found, and links to all others."""
    parts = [
        prose("introduction"),
        "## How much agrees\n\n" + summary(known, tables),
        "## The claims\n\n" + claims(tables),
        over_ensembles(tables),
        prose("conclusions") if committed else "",
        prose("settings") if committed else "",
        "## Pages\n\n" + contents(known, tables),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def prose(name: str) -> str:
    """What a person wrote for the first page."""
    return (results.HERE / "prose" / f"{name}.md").read_text()


def contents(known: dict[str, Experiment], tables: dict[str, pd.DataFrame]) -> str:
    """A link to each page, by package."""
    lines = []
    for package, heading in PACKAGES.items():
        names = [name for name in tables if known[name].package == package]
        if names:
            lines.append(f"**{heading}**\n")
            lines += [f"- [{name}](pages/{name}.md): {known[name].title}" for name in names]
            lines.append("")
    return "\n".join(lines)


def markdown(header: list[str], rows: Iterator[list[Any]] | list[list[Any]]) -> str:
    """Lay out a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def summary(known: dict[str, Experiment], tables: dict[str, pd.DataFrame]) -> str:
    """Lines by the kind of number, never added up; then one for each experiment with printed numbers."""
    counted = tally(known, tables)
    kinds = markdown(["numbers", "of them", *HEADER], by_kind(counted))
    rows = [
        [f"[{name}](pages/{name}.md)", kind, *cells] for name, kind, cells in by_experiment(counted)
    ]
    return f"{kinds}\n\nThe values, table by table:\n\n{markdown(['experiment', 'numbers', *HEADER], rows)}"


def claims(tables: dict[str, pd.DataFrame]) -> str:
    """How often each claim holds: by the paper's numbers, by ours as printed, and fair."""
    rows = []
    for claim in CLAIMS:
        if claim.experiment not in tables:
            continue
        table = tables[claim.experiment]
        printed = table[table["protocol"] == "printed"]
        fair, other = fair_tables(claim.experiment, tables)
        rows.append(
            [
                claim.text,
                *(_held(claim.holds, part) for part in (_as_printed(table), printed, fair, other)),
            ]
        )
    return markdown(
        ["claim", "by the paper's tables", "printed", "fair", "fair, k-means++ starts"], rows
    )


def fair_tables(name: str, tables: dict[str, pd.DataFrame]) -> list[pd.DataFrame]:
    """Fair rows of an experiment; of instance removal those over ten ensembles, first and second way to start."""
    ensembles = name.replace("filtering_", "filtering_ensembles_")
    if name.startswith("filtering_") and ensembles in tables:
        by_start = [rows for _, rows in tables[ensembles].groupby("start", sort=False)]
        return [*by_start, tables[ensembles][:0]][:2]
    table = tables[name]
    return [table[table["protocol"] == "fair"], table[:0]]


def over_ensembles(tables: dict[str, pd.DataFrame]) -> str:
    """Paired differences between rules of instance removal: set by set, and the test over sets."""
    by_way = {
        way: tables[name][tables[name]["start"] == start]
        for way, (name, start) in WAYS.items()
        if name in tables
    }
    if not by_way:
        return ""
    lines = ["## Fusion against its components, over ten ensembles a set\n"]
    lines.append(prose("ensembles"))
    for pair in PAIRS[:2]:
        rows = {way: differences(table, pair, "ARI") for way, table in by_way.items()}
        names = dict.fromkeys(name for of in rows.values() for name in of["dataset"])
        by_set = [
            [name, *(_paired(of[of["dataset"] == name]) for of in rows.values())]
            for name in sorted(names, key=data.ALL.index)
        ]
        lines.append(f"**{_minus(pair)}, ARI**\n\n{markdown(['dataset', *by_way], by_set)}\n")
    lines.append(
        "**Over the sets**: sets whose interval lies above or below zero, and Wilcoxon's signed-rank test on the mean "
        "differences of the sets, where at least six differ. The p-values are not corrected for their number.\n"
    )
    lines.append(
        markdown(["difference", "metric", "ensembles", *SIGNED_RANK], list(_tests(by_way)))
    )
    return "\n".join(lines)


# Ensembles of the tables over ten ensembles a set: experiment, and way to start.
WAYS = {
    "k-means, random starts": ("filtering_ensembles_kmeans", "random"),
    "k-means, k-means++ starts": ("filtering_ensembles_kmeans", "k-means++"),
    "MiniBatchKMeans, random starts": ("filtering_ensembles_minibatchkmeans", "random"),
    "mixtures": ("filtering_ensembles_gmm", "k-means"),
}
FEWEST = 6  # sets that differ: with fewer no outcome of the test is below 0.05
SIGNED_RANK = [
    "sets surely above / below",
    "sets that differ",
    "median of all sets",
    "p",
    "rank-biserial correlation",
]


def _paired(rows: pd.DataFrame) -> str:
    """Mean, interval and how many ensembles are above, level and below."""
    if rows.empty:
        return "–"
    row = rows.iloc[0]
    below = int(row["repetitions"] - row["above"] - row["level"])
    mark = " *" if beyond_zero(rows).iloc[0] else ""
    limits = f"[{row['low']:+.3f}, {row['high']:+.3f}]"
    return (
        f"{row['value']:+.3f} {limits}, {int(row['above'])} / {int(row['level'])} / {below}{mark}"
    )


def _minus(pair: tuple[str, str]) -> str:
    """A difference of two rules as the paper writes them."""
    first, second = (rule.removeprefix("CAKE_") for rule in pair)
    return f"{first} − {'S̃' if second == 'S' else second}"


def _tests(by_way: dict[str, pd.DataFrame]) -> Iterator[list[Any]]:
    """Lines of the test over sets."""
    for pair, metric, (way, table) in itertools.product(PAIRS, COMPARED, by_way.items()):
        rows = differences(table, pair, metric)
        test, sure = signed_rank(rows["value"].to_numpy()), beyond_zero(rows)
        enough = test.sets >= FEWEST
        yield [
            *(_minus(pair), metric, way),
            *(f"{(sure > 0).sum()} / {(sure < 0).sum()} of {len(rows)}", test.sets),
            f"{round(test.median, 4) + 0.0:+.4f}",
            f"{test.p:.2g}" if enough else "–",
            f"{test.effect:+.2f}" if enough else "–",
        ]


def _as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's numbers in the place of ours."""
    paper = table[(table["protocol"] == "printed") & table["paper"].notna()].drop(
        columns=["value", "low", "high"]
    )
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


def section(name: str, experiment: Experiment, table: pd.DataFrame, files: str) -> str:
    """A table: how much agrees, why not the rest, and every cell."""
    lines = [
        f"# {name}\n\n{experiment.title}. [CSV]({files}/{name}.csv) · [all pages](../findings.md#pages)"
    ]
    if experiment.about:
        lines.append(experiment.about.strip())
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
            lines.append(f"## {title}: every cell\n\n{cells(experiment, rows)}")
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
    across = next(
        (key for key in ("metric", "quantity") if key in experiment.keys), experiment.keys[-1]
    )
    down = [key for key in experiment.keys if key != across]

    def cell(row: pd.Series) -> str:
        paper = row["paper"] if isinstance(row["paper"], str) else None
        if np.isnan(row["value"]):
            return f"– ({paper})"
        form = f".{digits(paper)}f" if paper else experiment.form
        half = (row["high"] - row["low"]) / 2
        ours = f"{row['value']:{form}}" + (f" ± {half:{form}}" if np.isfinite(half) else "")
        if paper is None or row["verdict"] == "equal":
            return f"{ours} {MARKS[row['verdict']]}".strip()
        return f"{ours} ({paper}, {row['value'] - float(paper):+{form}}) {MARKS[row['verdict']]}"

    columns = list(table[across].unique())
    lines = []
    for key, rows in table.groupby(down, sort=False):
        by_column = dict(zip(rows[across], rows.apply(cell, axis=1), strict=True))
        lines.append([*key, *(by_column.get(column, "") for column in columns)])
    return markdown([*down, *map(str, columns)], lines)


def figure(name: str, experiment: Experiment, table: pd.DataFrame, files: str) -> str:
    """A figure: ours, and what one should see in it."""
    lines = [
        f"# {name}\n\n{experiment.title}. [CSV]({files}/{name}.csv) · [all pages](../findings.md#pages)",
        f"![{experiment.title}]({files}/{name}.png)",
        experiment.about.strip(),
    ]
    lines += missing(experiment, table)
    rows = [
        [what, *(_held(holds, table[table["protocol"] == protocol]) for protocol in PROTOCOLS)]
        for what, holds in experiment.see.items()
    ]
    if rows:
        lines.append(
            markdown(["what the paper says one should see: it is so in", "printed", "fair"], rows)
        )
    compared = table[table["verdict"] != ""]
    if len(compared):
        counts = compared.groupby(["protocol", "verdict"], sort=False).size()
        lines.append(
            "Numbers read off the authors' figure: "
            + "; ".join(f"{protocol}: {n} {verdict}" for (protocol, verdict), n in counts.items())
            + "."
        )
    return "\n\n".join(lines)
