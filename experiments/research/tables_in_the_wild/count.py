"""Count what the results and the files of wrong decisions say, for the page of this folder."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of this folder."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def named_in(text: str) -> list[str]:
    """Return the columns of a list such as `a (why); b (why)`."""
    return re.findall(r"(?:^|\); )(.*?) \((?=[^()]*(?:\)|$))", text)


def is_pointed_at(wrong: dict[str, str], rows: list[dict[str, str]]) -> bool:
    """Return whether the command asks to check a column, or says that it is set aside."""
    table = wrong["table"].rpartition(":")[2]
    row = next(row for row in rows if row["table"].endswith(f"/{table}"))
    return wrong["column"] in [*named_in(row["check"]), *named_in(row["set_aside"])]


def columns_of(row: dict[str, str]) -> int:
    """Return how many columns of a table were decided on."""
    named = [name for key in ("used", "categories", "names_rows") for name in row[key].split("; ")]
    return len([name for name in named if name]) + len(
        re.findall(r" \(.*?\)(?:; |$)", row["set_aside"])
    )


def report(which: str) -> None:
    """Print the counts of one list of tables."""
    rows, wrong = read(f"results{which}.csv"), read(f"wrong{which}.csv")
    results = [row for row in rows if row["outcome"] == "result"]
    silent = [row for row in wrong if not is_pointed_at(row, rows)]
    asked = [named_in(row["check"]) for row in results if row["check"]]
    scales = Counter(row["scale"] for row in results)
    seconds = sorted(float(row["seconds"]) for row in rows)
    print(f"{len(rows)} tables: {len(results)} results, {len(rows) - len(results)} refusals")
    print(f"{sum(columns_of(row) for row in results)} columns decided on")
    print(f"asked to check: {sum(map(len, asked))} columns of {len(asked)} tables")
    print(f"wrong: {len(wrong)} columns of {len({row['table'] for row in wrong})} tables")
    for kind, count in Counter(row["kind"] for row in wrong).most_common():
        print(f"  {kind}: {count}")
    print(f"wrong without a line that points at it: {len(silent)}")
    for row in silent:
        print(f"  {row['table']} {row['column']}: {row['kind']}")
    print("scales: " + ", ".join(f"{scale} {count}" for scale, count in scales.most_common()))
    print(f"seconds: median {seconds[len(seconds) // 2]}, largest {seconds[-1]}")


if __name__ == "__main__":
    report("")
    print()
    report("_fresh")
