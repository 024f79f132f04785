"""`choose_k` as it is now: on the held-out sets that it was changed after, and on the second held-out, beside rivals.

`python -m experiments.beyond.k_again` runs the usual indices on the second held-out sets that are missing, writes
`results/k_second.csv`, and puts tables into the docs. What `choose_k` says is read from `results/k_held_out.csv`, which
`python -m experiments.beyond.k_signals` writes. `--methods` names the indices to run, none for the tables alone. Some
minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

from experiments.beyond import RESULTS, choose_k, into_page, k_second, k_signals
from experiments.beyond.choose_k import INDICES, TWO, interval, tally
from experiments.beyond.k_signals import SIGNALS, Rule
from experiments.page import markdown
from experiments.results import read, write

FILE = RESULTS / "k_second.csv"
OLD, HULL, NOW = "choose_k, first rule", "choose_k, with the hull", "choose_k, now (hull and prior)"
RULES: dict[str, dict[str, Any]] = {
    OLD: {"rule": k_signals.FROZEN, "hull": False},
    HULL: {"rule": k_signals.FROZEN},
    NOW: {"rule": k_signals.SCALE},
}
# One signal alone, which always finds clusters.
ALONE = {
    "our column separation": Rule({SIGNALS: (1, 0, 0), SIGNALS[:2]: (1, 0)}, 0),
    "our column stability": Rule({SIGNALS: (0, 0, 1), SIGNALS[:2]: (0, 0)}, 0),
}


def our_rows(round_: str) -> pd.DataFrame:
    """What the rules say about the sets of a round, and where there are clusters each signal alone."""
    rows = read(k_signals.FILE)
    rows = rows[rows["round"] == round_]
    found = [k_signals.answers(rows, name, **how) for name, how in RULES.items()]
    for name, rule in ALONE.items():
        alone = k_signals.answers(rows[rows["group"] != "shapes"], name, rule)
        found.append(alone.assign(k=alone["strongest"], plausible=None))
    return pd.concat(found)


def held(of: pd.DataFrame) -> list[str]:
    """How often the plausible numbers hold the right one, and how many they are."""
    sets = [set(map(int, str(text).split())) for text in of["plausible"]]
    hits = [k in found for k, found in zip(of["classes"], sets, strict=True)]
    return [f"{np.mean(hits):.0%}", f"{np.mean([len(found) for found in sets]):.1f}"]


def with_two(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with the answer 2 to every set that has clusters."""
    ours = (rows["method"] == NOW) & (rows["group"] != "shapes")
    sets = rows.loc[ours, ["group", "set", "classes"]]
    return pd.concat([rows, sets.assign(method=TWO, k=2)], ignore_index=True)


def table_of(rows: pd.DataFrame) -> str:
    """The tally of each method, the most often right first; plausible numbers where there are any."""
    lines = []
    ordered = tally(rows).sort_values(["right", "off"], ascending=[False, True], kind="stable")
    for name, of in ordered.to_dict("index").items():
        ours = rows[(rows["method"] == name) & rows["plausible"].notna()]
        lines.append(
            [
                name,
                f"{of['right']:.0%}",
                f"{of['within']:.0%}",
                f"{of['off']:.2f}",
                f"{of['right_of_several']} of {of['several']}",
                f"{of['off_of_several']:.2f}",
                *(held(ours) if len(ours) else ["", ""]),
            ]
        )
    head = ["method", "right", "within one", "mean abs. log(k̂/k)", "k > 2: right", "log"]
    return markdown([*head, "plausible hold it", "how many"], lines)


def alarms_by_rule(rows: pd.DataFrame) -> str:
    """By shape: wrong alarms without and with the hull; the prior changes none."""
    mine = rows[rows["group"] == "shapes"].assign(
        shape=lambda of: of["set"].str.rsplit(n=1).str[0], wrong=lambda of: of["k"] > 1
    )
    lines = []
    for name, of in [*mine.groupby("shape", sort=False), ("all", mine)]:
        cells = []
        for rule in (OLD, NOW):
            wrong = of.loc[of["method"] == rule, "wrong"]
            low, high = interval(int(wrong.sum()), len(wrong))
            cells.append(f"{wrong.sum()} ({low:.2f}–{high:.2f})")
        lines.append([name, of["set"].nunique(), *cells])
    return markdown(["shape", "sets", "first rule (95 %)", "now (95 %)"], lines)


def complete(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of methods that have been run on all of these sets."""
    return rows[rows.groupby("method")["set"].transform("size") == rows["set"].nunique()]


def sections(rows: pd.DataFrame) -> list[str]:
    """A table for each group of sets that is there."""
    parts = []
    for group in ("generated", "real"):
        of = complete(rows[rows["group"] == group])
        if len(of):
            parts += [f"**{of['set'].nunique()} {group} sets.**", table_of(of)]
    if (rows["group"] == "shapes").any():
        parts += ["**Shapes without clusters:** wrong alarms.", alarms_by_rule(rows)]
    return parts


def first_page() -> str:
    """The rules on the first held-out sets."""
    return "\n\n".join(
        [*sections(our_rows("first")), "Made by `python -m experiments.beyond.k_again`."]
    )


def second_page(rivals: pd.DataFrame) -> str:
    """The rules and all rivals on the second held-out sets."""
    rows = with_two(pd.concat([our_rows("second"), rivals], ignore_index=True))
    real = rows[(rows["group"] == "real") & ~rows["method"].isin([HULL, *ALONE])]
    return "\n\n".join(
        [
            *sections(rows),
            "**The k that each chose on the real sets.**",
            choose_k.choices(complete(real)),
            "Made by `python -m experiments.beyond.k_again`.",
        ]
    )


def main() -> None:
    """Run what is missing, and write tables."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.beyond.k_again", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--methods", nargs="*", choices=list(INDICES), default=list(INDICES))
    arguments = parser.parse_args()
    rows = read(FILE)
    sets = [pair for pair in k_second.all_sets() if pair[0] != "shapes"]
    sets.sort(key=lambda pair: pair[0] != "real")  # those first
    for group, made in sets if arguments.methods else ():
        seen = set(rows.loc[rows["set"] == made.name, "method"]) if len(rows) else set()
        new = list(choose_k.rows_of(group, made, arguments.methods, seen))
        if new:
            rows = pd.concat([rows, pd.DataFrame(new)], ignore_index=True)
            write(FILE, rows.to_csv(index=False))
            print(f"{time.strftime('%H:%M:%S')} {made.name}", file=sys.stderr, flush=True)
    into_page("choose_k.md", "again", first_page())
    into_page("choose_k.md", "second", second_page(read(FILE)))
    write(RESULTS / "k_second.md", second_page(read(FILE)) + "\n")


if __name__ == "__main__":
    main()
