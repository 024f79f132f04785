"""Count what `results.csv` and `wrong.csv` say, for the page of this folder."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def read(name: str) -> list[dict[str, str]]:
    """The rows of a table of this folder."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def columns_of(row: dict[str, str]) -> int:
    """How many columns of a table were decided on."""
    named = [name for key in ("used", "categories", "names_rows") for name in row[key].split("; ")]
    return len([name for name in named if name]) + len(
        re.findall(r" \(.*?\)(?:; |$)", row["set_aside"])
    )


def main() -> None:
    """Print the counts."""
    rows, wrong = read("results.csv"), read("wrong.csv")
    outcomes = Counter(row["outcome"] for row in rows)
    scales = Counter(row["scale"] for row in rows if row["outcome"] == "result")
    seconds = sorted(float(row["seconds"]) for row in rows)
    print(f"{len(rows)} tables: {outcomes['result']} results, {outcomes['refusal']} refusals")
    print(
        f"{sum(columns_of(row) for row in rows if row['outcome'] == 'result')} columns decided on"
    )
    print(f"wrong: {len(wrong)} columns of {len({row['table'] for row in wrong})} tables")
    for kind, count in Counter(row["kind"] for row in wrong).most_common():
        print(f"  {kind}: {count}")
    print("scales: " + ", ".join(f"{scale} {count}" for scale, count in scales.most_common()))
    print(f"seconds: median {seconds[len(seconds) // 2]}, largest {seconds[-1]}")


if __name__ == "__main__":
    main()
