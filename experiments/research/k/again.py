"""`choose_k` as it is now: on the held-out sets that it was changed after, and on the second held-out, beside rivals.

What `choose_k` says is read from what `signals` stores; rivals are those of `rivals`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.paper.page import markdown
from experiments.paper.results import read
from experiments.research import folder
from experiments.research.k import signals
from experiments.research.k.rivals import (
    HEAD,
    cells_of,
    choices,
    coverage,
    interval,
    tally,
    with_two,
)
from experiments.research.k.signals import SIGNALS, Rule

FILE = folder("k") / "k_second.csv"
OLD, HULL, NOW = "choose_k, first rule", "choose_k, with the hull", "choose_k, now (hull and prior)"
RULES: dict[str, dict[str, Any]] = {
    OLD: {"rule": signals.FROZEN, "hull": False},
    HULL: {"rule": signals.FROZEN},
    NOW: {"rule": signals.SCALE},
}
# One signal alone, which always finds clusters.
ALONE = {
    "our column separation": Rule({SIGNALS: (1, 0, 0), SIGNALS[:2]: (1, 0)}, 0),
    "our column stability": Rule({SIGNALS: (0, 0, 1), SIGNALS[:2]: (0, 0)}, 0),
}


def our_rows(round_: str) -> pd.DataFrame:
    """What the rules say about the sets of a round, and where there are clusters each signal alone."""
    rows = read(signals.FILE)
    rows = rows[rows["round"] == round_]
    found = [signals.answers(rows, name, **how) for name, how in RULES.items()]
    for name, rule in ALONE.items():
        alone = signals.answers(rows[rows["group"] != "shapes"], name, rule)
        found.append(alone.assign(k=alone["strongest"], plausible=None))
    return pd.concat(found)


def table_of(rows: pd.DataFrame) -> str:
    """The tally of each method, the most often right first; plausible numbers where there are any."""
    lines = []
    ordered = tally(rows).sort_values(["right", "off"], ascending=[False, True], kind="stable")
    for name, of in ordered.to_dict("index").items():
        ours = rows[(rows["method"] == name) & rows["plausible"].notna()]
        plausible = ["", ""]
        if len(ours):
            share, size = coverage(ours)
            plausible = [f"{share:.0%}", f"{size:.1f}"]
        lines.append([name, *cells_of(of), *plausible])
    return markdown(["method", *HEAD, "plausible hold it", "how many"], lines)


def alarms_by_rule(rows: pd.DataFrame) -> str:
    """By shape: false alarms without and with the hull; the prior changes none."""
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
        parts += ["**Shapes without clusters:** false alarms.", alarms_by_rule(rows)]
    return parts


def first_page() -> str:
    """The rules on the first held-out sets."""
    return "\n\n".join(
        [*sections(our_rows("first")), "Made by `python -m experiments.research.k.run second`."]
    )


def second_page(rivals: pd.DataFrame) -> str:
    """The rules and all rivals on the second held-out sets."""
    rows = with_two(pd.concat([our_rows("second"), rivals], ignore_index=True), NOW)
    real = rows[(rows["group"] == "real") & ~rows["method"].isin([HULL, *ALONE])]
    return "\n\n".join(
        [
            *sections(rows),
            "**The k that each chose on the real sets.**",
            choices(complete(real)),
            "Made by `python -m experiments.research.k.run second`.",
        ]
    )
