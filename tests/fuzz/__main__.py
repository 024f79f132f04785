"""Valid files changed byte by byte and by structure, random arguments for `confidence`, and wrong ones
for every public function: each target for its share of the time.

    PYTHONPATH=tests:src python -m fuzz [SECONDS] [SEED] [--record]

Finds are printed, their files kept in `tests/fuzz/finds`, and make it fail. `--record` writes the
counts to `figures.csv`, for a long run that docs/faults.md is to tell of.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from fuzz.processes import TARGETS, run_target

HERE = Path(__file__).parent


def main() -> None:
    """Run all targets."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60.0, help="for all together")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--record", action="store_true", help="write the counts to figures.csv")
    chosen = parser.parse_args()
    rows = []
    for target in TARGETS:
        row = run_target(target, chosen.seconds / len(TARGETS), chosen.seed, HERE / "finds")
        print(", ".join(f"{name} {count}" for name, count in row.items()), flush=True)
        rows.append(row)
    if chosen.record:
        with (HERE / "figures.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    wrong = [row["target"] for row in rows if row["finds"] or not row["inputs"]]
    if wrong:
        sys.exit(f"Finds, or no inputs at all: {', '.join(wrong)}.")


if __name__ == "__main__":
    main()
