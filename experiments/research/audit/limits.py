"""Limits of flags that adapt to the set: does an estimate of how many labels are wrong find more errors at the same share of clean labels?

`python -m experiments.research.audit.limits FOLDER` reads what `mixes` kept in FOLDER, in a minute. Each way is a shift of the lead of another
label, set by set, so that one limit for all sets is another limit for each. The last row is what no way can exceed: limits that are chosen
set by set, knowing which labels are wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from clustertrust.auditing.default_classifiers import DEFAULTS
from clustertrust.auditing.votes import pool, weights_of
from experiments.paper.results import write
from experiments.research import folder, publish
from experiments.research.audit.equal_flags import SHARES, measure, table_of
from experiments.research.audit.mixes import PLANTED, Held, kept_conditions, lead_of
from experiments.research.audit.run import Floats

# Probabilities of classifiers that are fitted to some wrong labels are less sure than they could be.
SHARPER = 2.0
STEPS = 100
# A lead that one per cent of errors makes up for, and the most per cent that count
SLOPE, MOST = 0.04, 6.0
FLAT, BOUND = "one lead for all sets, as it is", "a lead for each set, chosen by its errors"


def evidence_of(held: Held) -> Floats:
    """The votes of the chosen mix of classifiers and runs."""
    given, votes = held["given"], np.nan_to_num(held["votes"])
    parts = [held[f"P {of}"] for of in DEFAULTS]
    runs = weights_of([*parts, votes], given)[-1]
    return (1 - runs) * pool(parts, given) + runs * votes


def mistaken(evidence: Floats, given: Floats, *, by_class: bool) -> tuple[Floats, float]:
    """The probability (n,) that each label is wrong, and the share that is, by EM.

    The true label is drawn by the evidence, and changed at a rate that is the same for all labels, or with a matrix of rates.
    """
    n, k = evidence.shape
    true = np.clip(evidence, 1e-4, 1) ** SHARPER
    true /= true.sum(axis=1, keepdims=True)
    change = np.full((k, k), 0.05 / (k - 1))
    np.fill_diagonal(change, 0.95)
    for _ in range(STEPS):
        of_each = true * change[:, given].T
        of_each /= of_each.sum(axis=1, keepdims=True)
        counts = np.column_stack([of_each[given == j].sum(axis=0) for j in range(k)])
        if by_class:
            change = counts + 0.5 / k + 2 * np.eye(k)
            change /= change.sum(axis=1, keepdims=True)
        else:
            rate = (n - np.trace(counts) + 0.5) / (n + 10)
            change = np.full((k, k), rate / (k - 1))
            np.fill_diagonal(change, 1 - rate)
    return 1 - of_each[np.arange(n), given], float(1 - np.trace(counts) / n)


def signals_of(held: Held) -> dict[str, Floats]:
    """Scores, low where a label looks wrong, on a scale on which one limit serves all sets."""
    lead, evidence, n = lead_of(held), evidence_of(held), len(held["given"])
    found = {FLAT: -lead}
    for name, by_class in (("one rate", False), ("a matrix of rates", True)):
        wrong, share = mistaken(evidence, held["given"], by_class=by_class)
        eased = SLOPE * min(100 * share, MOST)
        found[f"lower where more are wrong, {name}"] = -(lead + eased)
        found[f"lead and probability of being wrong, {name}"] = -(lead + 0.3 * wrong)
        found[f"probability of being wrong, {name}"] = -wrong
        found[f"as many as are wrong, {name}"] = rankdata(-lead) / (n * max(share, 1e-3))
    return found


def recalls_of_bound(kept: Path) -> Floats:
    """The most errors that limits find, each chosen for its set, at each share of clean labels in the mean."""
    one = [(lead_of(held), held["planted"]) for held in kept_conditions(kept)]
    width = len(PLANTED)
    sets = [one[start : start + width] for start in range(0, len(one), width)]

    # A share of clean labels costs so many times its share of errors: the dearer, the fewer are flagged
    prices = np.geomspace(100, 0.1, 200)
    picked = [np.mean([_best(of_set, price) for of_set in sets], axis=0) for price in prices]
    clean, recall = np.transpose(picked)
    return np.interp(SHARES, clean, recall)


def _best(of_set: Sequence[tuple[Floats, Floats]], price: float) -> tuple[float, float]:
    """Clean labels flagged and recall of a set, at its best limit for a price."""
    limits = np.linspace(-0.2, 1, 121)
    clean = [lead for lead, planted in of_set if not planted.any()]
    wrong = [lead[planted] for lead, planted in of_set if planted.any()]
    flagged, found = (
        np.mean([(values[:, None] > limits).mean(axis=0) for values in part], axis=0)
        for part in (clean, wrong)
    )
    best = int((found - price * flagged).argmax())
    return float(flagged[best]), float(found[best])


def main() -> None:
    """Read, compare, and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.audit.limits",
        description=(__doc__ or "").split("\n", maxsplit=1)[0],
    )
    parser.add_argument("folder", type=Path, help="what `mixes` kept")
    kept = parser.parse_args().folder
    bound = [
        {"signal": BOUND, "share": share, "recall": recall}
        for share, recall in zip(SHARES, recalls_of_bound(kept), strict=True)
    ]
    rows = pd.concat([measure(kept, signals_of), pd.DataFrame(bound)], ignore_index=True)
    out = folder("audit")
    write(out / "audit_limits.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"limits": table_of(rows)}, out / "audit_limits.md", "audit.md", full=True)


if __name__ == "__main__":
    main()
