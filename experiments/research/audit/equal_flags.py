"""How many errors signals find if each flags the same share of clean labels: what flags can reach where classes overlap.

`python -m experiments.research.audit.equal_flags FOLDER` reads what `mixes` kept in FOLDER, in a minute. The limit of each signal is one for
all sets, chosen so that the given share of clean labels is flagged in the mean of the sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from clustertrust.auditing.votes import margin_of, weights_of
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import folder, publish
from experiments.research.audit.mixes import (
    RIVALS,
    TREES,
    Held,
    kept_conditions,
    lead_of,
    rivals_of,
)
from experiments.research.audit.run import Floats

# Shares of clean labels that are flagged
SHARES = (0.01, 0.02, 0.03, 0.05)
OURS, BEFORE = "audit", "audit with trees alone"


def signals_of(held: Held) -> dict[str, Floats]:
    """Scores, low where a label looks wrong: ours, and of rivals label quality and margins."""
    given, votes = held["given"], np.nan_to_num(held["votes"])
    trees = held[f"P {TREES}"]
    runs = weights_of([trees, votes], given)[-1]
    found = {OURS: -lead_of(held), BEFORE: margin_of((1 - runs) * trees + runs * votes, given)}
    found |= {f"margin, {name}": margin_of(held[f"R {name}"], given) for name in RIVALS}
    return found | rivals_of(held)


def limit_at(share: float, clean: list[Floats]) -> float:
    """The highest limit below which at most this share lies, in the mean of the sets."""
    values = np.unique(np.concatenate(clean))
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high + 1) // 2
        flagged = np.mean([(scores < values[middle]).mean() for scores in clean])
        low, high = (middle, high) if flagged <= share else (low, middle - 1)
    return float(values[low])


def measure(
    kept: Path, signals_of: Callable[[Held], dict[str, Floats]] = signals_of
) -> pd.DataFrame:
    """Precision and recall of each signal at each share."""
    scores: dict[str, list[Floats]] = {}
    wrong = []
    for held in kept_conditions(kept):
        wrong.append(held["planted"])
        for name, values in signals_of(held).items():
            scores.setdefault(name, []).append(values)
    rows = []
    for name, of in scores.items():
        clean = [values for values, planted in zip(of, wrong, strict=True) if not planted.any()]
        for share in SHARES:
            limit = limit_at(share, clean)
            flags = [
                (values < limit, planted)
                for values, planted in zip(of, wrong, strict=True)
                if planted.any()
            ]
            right = [(flagged & planted).sum() for flagged, planted in flags]
            all_flagged = [max(1, flagged.sum()) for flagged, _ in flags]
            row = {"signal": name, "share": share, "limit": limit}
            row["precision"] = np.mean(np.divide(right, all_flagged))
            row["recall"] = np.mean(np.divide(right, [planted.sum() for _, planted in flags]))
            rows.append(row)
    return pd.DataFrame(rows)


def table_of(rows: pd.DataFrame) -> str:
    """Recall by signal and share."""
    of = rows.pivot_table(index="signal", columns="share", values="recall")
    lines = [
        [name, *(f"{of.loc[name, share]:.2f}" for share in SHARES)]
        for name in of.sort_values(SHARES[1], ascending=False).index
    ]
    return markdown(["signal", *(f"recall at {share:.0%}" for share in SHARES)], lines)


def main() -> None:
    """Read, compare, and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.audit.equal_flags",
        description=(__doc__ or "").split("\n", maxsplit=1)[0],
    )
    parser.add_argument("folder", type=Path, help="what `mixes` kept")
    rows = measure(parser.parse_args().folder)
    out = folder("audit")
    write(out / "audit_equal_flags.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"equal flags": table_of(rows)}, out / "audit_equal_flags.md", "audit.md", full=True)


if __name__ == "__main__":
    main()
