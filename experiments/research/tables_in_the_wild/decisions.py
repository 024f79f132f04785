"""Write what the first command decides on each column of a list of tables, or list what differs.

    python -m experiments.research.tables_in_the_wild.decisions PACKAGES drawn
    python -m experiments.research.tables_in_the_wild.decisions PACKAGES frozen compare

The first line writes `decisions_drawn.csv`: for each column what it is and what is done with it,
and for each table (a row without a column) its scale. The second prints what differs now from
what `decisions_frozen.csv` says.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import warnings
from pathlib import Path

from click.testing import CliRunner

from clustertrust.cli import cli
from experiments.research.tables_in_the_wild.run import HERE, fetch, tables

FIELDS = ("table", "column", "kind", "use", "reason", "check")

Decisions = dict[tuple[str, str], tuple[str, ...]]


def decisions_on(path: Path, table: str) -> Decisions:
    """Return what the first command decides on a table; a refusal is one decision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Decisions are made before the runs: two show that the table can be clustered.
        result = CliRunner().invoke(cli, ["score", str(path), "-k", "3", "--runs", "2", "--json"])
    if result.exit_code:
        message = " ".join(result.stderr.split()).replace(f"{path.parent}/", "")
        return {(table, ""): ("", "refusal", message, "")}
    plan = json.loads(result.stdout)["plan"]
    decided: Decisions = {(table, ""): ("", plan["scale"], plan["scale_reason"], "")}
    for column in plan["columns"]:
        words = (column["kind"], column["use"], column.get("reason", ""), column.get("check", ""))
        decided[table, column["name"]] = words
    return decided


def decide(names: list[str], packages: Path) -> Decisions:
    """Return the decisions on tables."""
    found: Decisions = {}
    with tempfile.TemporaryDirectory() as folder:
        for table in names:
            path = fetch(table, packages, Path(folder))
            found |= decisions_on(path, short(table))
    return found


def short(table: str) -> str:
    """Return the name of a table in the files of this folder: its folder and its name."""
    return "/".join(table.replace(":", "/").split("/")[-2:])


def read(name: str) -> Decisions:
    """Return the decisions of a file of this folder."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return {(row[0], row[1]): tuple(row[2:]) for row in list(csv.reader(file))[1:]}


def write(found: Decisions, name: str) -> None:
    """Write decisions to a file of this folder."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows((*key, *words) for key, words in found.items())


def decided_as(words: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return what was decided, and whether it is asked about, whatever the words of the reasons."""
    return None if words is None else (*words[:2], "asked" if words[3] else "")


def compare(found: Decisions, earlier: Decisions) -> None:
    """Print what differs from earlier decisions."""
    changed = [
        key for key in earlier | found if decided_as(earlier.get(key)) != decided_as(found.get(key))
    ]
    for key in changed:
        print(" ".join(key))
        print("  was", earlier.get(key))
        print("  now", found.get(key))
    print(f"{len(changed)} of {len(earlier)} decisions differ.")


if __name__ == "__main__":
    packages_folder, list_name, *mode = sys.argv[1:]
    decided = decide(tables(f"{list_name}.txt"), Path(packages_folder))
    if mode == ["compare"]:
        compare(decided, read(f"decisions_{list_name}.csv"))
    else:
        write(decided, f"decisions_{list_name}.csv")
