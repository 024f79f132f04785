"""Count what values and places alone tell of columns that were not asked about on unseen tables.

    python -m experiments.research.tables_in_the_wild.blind PACKAGES

The rules of today look at each table with its names replaced by letters that say nothing. Counted
are the questions on columns that were not asked about when a list was unseen: how many are right,
and how many find a column that was silently wrong. `PACKAGES` holds the packages of all lists.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from itertools import product
from pathlib import Path

from clustertrust.files import read_table
from clustertrust.tables import look
from experiments.research.tables_in_the_wild.decisions import Decisions, read, short
from experiments.research.tables_in_the_wild.judge import LETTERS, PLAIN, judged
from experiments.research.tables_in_the_wild.run import fetch, tables

UNSEEN = {"drawn": "before"} | dict.fromkeys(
    ("last", "more", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"), "unseen"
)
# No word of a name begins or ends like these.
NAMES = ["".join(letters) for letters in product("bfgjkmpqvwxz", repeat=4)]
# Enough to see what a column holds.
MOST_ROWS = 10_000


def blind_checks(path: Path) -> dict[str, str]:
    """Return what is asked about each column of a table without names."""
    frame = read_table(path).data.head(MOST_ROWS)
    names = [str(name) for name in frame.columns]
    plan = look(frame.set_axis(NAMES[: len(names)], axis=1))
    return {name: column.check for name, column in zip(names, plan.columns, strict=True)}


def counted(
    checks: dict[str, str], then: Decisions, right: dict[tuple[str, str], str], table: str
) -> dict[str, Counter[str]]:
    """Return for each kind of question how often it is asked, right, and new."""
    counts: dict[str, Counter[str]] = {}
    for name, check in checks.items():
        kind, use, _, asked = then.get((table, name), ("", "", "", "asked"))
        if not check or asked or use not in ("number", "category"):
            continue
        fits = right.get((table, name), right.get((table, "*"), PLAIN.get(kind, "co")))
        is_wrong = LETTERS[use] not in fits
        found = Counter(asked=1, right=int(is_wrong or "?" in fits), silent=int(is_wrong))
        counts[check] = counts.get(check, Counter()) + found
    return counts


def main(packages: Path) -> None:
    """Print the counts of each list, and of each kind of question."""
    kinds: dict[str, Counter[str]] = {}
    for name, when in UNSEEN.items():
        then, right = read(f"decisions_{name}_{when}.csv"), judged(f"judged_{name}.csv")
        total: Counter[str] = Counter()
        for table in tables(f"{name}.txt"):
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    checks = blind_checks(fetch(table, packages, Path(folder)))
                except ValueError:
                    continue
            for check, found in counted(checks, then, right, short(table)).items():
                if not check.startswith(("the same information", "the sum of")):
                    kinds[check] = kinds.get(check, Counter()) + found
                    total += found
        print(f"{name}: {total['silent']} silent of {total['asked']} asked")
    for check, found in sorted(kinds.items(), key=lambda entry: -entry[1]["asked"]):
        print(f"{found['asked']} asked, {found['right']} right, {found['silent']} silent: {check}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
