"""Hold the decisions on a list of tables against what a person decided before.

    python -m experiments.research.tables_in_the_wild.judge drawn
    python -m experiments.research.tables_in_the_wild.judge drawn decisions_drawn_before.csv

`judged_drawn.csv` says what is right for a column: `n` a number, `c` a category, `o` out (it names
the rows or is left out); several letters where either is right; `?` where a question is right
although the decision is. `*` stands for all other columns of a table. Columns that are not listed
are plain: numbers and booleans are to be used, texts are categories or left out, and what has
one value, none, or dates is left out.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter

from experiments.research.tables_in_the_wild.decisions import HERE, Decisions, read

LETTERS = {"number": "n", "category": "c", "ignored": "o", "id": "o"}
PLAIN = {"number": "n", "boolean": "nc"}


def judged(name: str) -> dict[tuple[str, str], str]:
    """Return what is right for columns."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["column"]): row["right"] for row in csv.DictReader(file)}


def judge(found: Decisions, right: dict[tuple[str, str], str]) -> None:
    """Print what is wrong, what is silently so, and how many questions were right."""
    tables = {table: words for (table, column), words in found.items() if not column}
    refused = [table for table, words in tables.items() if words[1] == "refusal"]
    counts: Counter[str] = Counter()
    wrong, silent, alarms = [], [], []
    for (table, column), (kind, use, reason, check) in found.items():
        if not column:
            continue
        fits = right.get((table, column), right.get((table, "*"), PLAIN.get(kind, "co")))
        one_way = "o" if kind in ("constant", "empty") else fits
        is_right = LETTERS[use] in one_way
        counts["columns"] += 1
        counts["questions"] += bool(check)
        counts["right questions"] += bool(check) and (not is_right or "?" in fits)
        line = f"  {table} {column}: {use}, right is {fits} ({check or reason})"
        if not is_right:
            wrong.append(line)
            if not check and use in ("number", "category"):
                silent.append(line)
        elif check and "?" not in fits:
            alarms.append(line)
    print(f"{len(tables)} tables, {len(refused)} refusals: {', '.join(refused)}")
    for title, lines in (("wrong", wrong), ("silently wrong", silent), ("no need to ask", alarms)):
        print(f"{title}: {len(lines)} of {counts['columns']} columns", *lines, sep="\n")
    print(f"questions: {counts['right questions']} of {counts['questions']} right")


if __name__ == "__main__":
    list_name = sys.argv[1]
    decisions = sys.argv[2] if sys.argv[2:] else f"decisions_{list_name}.csv"
    judge(read(decisions), judged(f"judged_{list_name}.csv"))
