"""Valid files changed byte by byte and by structure, random arguments for `confidence`, wrong ones
for every public function, and random command lines: each target for its share of the time.

    PYTHONPATH=tests:src python -m fuzz [SECONDS] [SEED] [--only TARGET] [--record]

Finds are printed, their files kept in `tests/fuzz/finds`, and make it fail. `--record` writes the
counts to `figures.csv`, for a long run that docs/faults.md is to tell of.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from fuzz.processes import TARGETS, run_target

HERE = Path(__file__).parent


def main() -> None:
    """Run all targets."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60.0, help="for all together")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--only", choices=TARGETS, help="one target")
    parser.add_argument("--record", action="store_true", help="write the counts to figures.csv")
    chosen = parser.parse_args()
    rows = []
    targets = TARGETS if chosen.only is None else (chosen.only,)
    for target in targets:
        row = run_target(target, chosen.seconds / len(targets), chosen.seed, HERE / "finds")
        print(", ".join(f"{name} {count}" for name, count in row.items()), flush=True)
        rows.append(row)
    if chosen.record:
        _record(rows)
    wrong = [row["target"] for row in rows if row["finds"] or not row["inputs"]]
    if wrong:
        sys.exit(f"Finds, or no inputs at all: {', '.join(wrong)}.")


def _record(rows: list[dict[str, Any]]) -> None:
    """Write the counts; those of targets that were not run stay."""
    path = HERE / "figures.csv"
    with path.open(newline="") as file:
        kept = {row["target"]: row for row in csv.DictReader(file)}
    kept |= {row["target"]: row for row in rows}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept.values())


if __name__ == "__main__":
    main()
