"""Hold the decisions on a list of tables against what a person decided before.

    python -m experiments.research.tables_in_the_wild.judge drawn
    python -m experiments.research.tables_in_the_wild.judge drawn decisions_drawn_before.csv

`judged_drawn.csv` says what is right for a column: `n` a number, `c` a category, `o` out (it names
the rows or is left out); several letters where either is right; `?` where a question is right
although the decision is. `*` stands for all other columns of a table. Columns that are not listed
are plain: numbers and booleans are to be used, texts are categories or left out, and what has
one value, none, or dates is left out. A row without a column says that the table holds nothing to
cluster. A question that says that a column repeats another is right if `repeats_drawn.csv` (see
`repeats.py`) has the column.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from experiments.research.tables_in_the_wild.decisions import HERE, Decisions, read

LETTERS = {"number": "n", "category": "c", "ignored": "o", "id": "o"}
PLAIN = {"number": "n", "boolean": "nc"}


def judged(name: str) -> dict[tuple[str, str], str]:
    """Return what is right for columns."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["column"]): row["right"] for row in csv.DictReader(file)}


def compared(name: str) -> set[tuple[str, str]]:
    """Return the columns that repeat others; none where a list was not compared."""
    if not (HERE / name).exists():
        return set()
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["column"]) for row in csv.DictReader(file)}


def kind_of(check: str) -> str:
    """Return the kind of a question: what it says of this column alone is left out."""
    starts = ("the same information", "the sum of", "it says the same", "it is the sum")
    return next((f"{start} ..." for start in starts if check.startswith(start)), check)


@dataclass
class Verdict:
    """What is wrong with decisions: lines for a person, and questions by kind, asked and right."""

    tables: list[str]
    refused: list[str]
    held: list[str]
    columns: int = 0
    wrong: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def questions(self) -> Counter[str]:
        """How many were asked, and how many of them are right."""
        return sum(self.kinds.values(), Counter[str]())


def judge(
    found: Decisions, right: dict[tuple[str, str], str], repeats: set[tuple[str, str]]
) -> Verdict:
    """Return what is wrong, what is silently so, and which questions were right."""
    tables = {table: words for (table, column), words in found.items() if not column}
    refused = [table for table, words in tables.items() if words[1] == "refusal"]
    held = [table for table in tables if (table, "") not in right]
    verdict = Verdict(list(tables), refused, held)
    for (table, column), (kind, use, reason, check) in found.items():
        if not column:
            continue
        fits = right.get((table, column), right.get((table, "*"), PLAIN.get(kind, "co")))
        one_way = "o" if kind in ("constant", "empty") else fits
        is_right = LETTERS[use] in one_way
        verdict.columns += 1
        is_repeat = (table, column) in repeats and kind_of(check) != check
        is_due = not is_right or "?" in fits or is_repeat
        if check:
            verdict.kinds[kind_of(check)] += Counter({"asked": 1, "right": int(is_due)})
        line = f"  {table} {column}: {use}, right is {fits} ({check or reason})"
        if not is_right:
            verdict.wrong.append(line)
            if not check and use in ("number", "category"):
                verdict.silent.append(line)
        elif check and not is_due:
            verdict.alarms.append(line)
    return verdict


def report(verdict: Verdict) -> None:
    """Print it."""
    refused, held = verdict.refused, verdict.held
    print(f"{len(verdict.tables)} tables, {len(refused)} refusals: {', '.join(refused)}")
    if len(held) < len(verdict.tables):
        results = [table for table in held if table not in refused]
        print(f"{len(results)} results of {len(held)} tables that hold something to cluster")
    for title, lines in (
        ("wrong", verdict.wrong),
        ("silently wrong", verdict.silent),
        ("no need to ask", verdict.alarms),
    ):
        print(f"{title}: {len(lines)} of {verdict.columns} columns", *lines, sep="\n")
    for kind, asked in sorted(verdict.kinds.items(), key=lambda entry: -entry[1]["asked"]):
        print(f"  {asked['right']} of {asked['asked']} right: {kind}")
    total = verdict.questions
    print(f"questions: {total['right']} of {total['asked']} right")


if __name__ == "__main__":
    list_name = sys.argv[1]
    decisions = sys.argv[2] if sys.argv[2:] else f"decisions_{list_name}.csv"
    repeats = compared(f"repeats_{list_name}.csv")
    report(judge(read(decisions), judged(f"judged_{list_name}.csv"), repeats))
