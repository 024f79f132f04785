"""Verdicts on true classes, and on classes of which a fifth was cut off and given a label of its own.

`python -m experiments.research.audit.fifths` prints, for eight sets of at most 600 points, how many classes get which verdict, and in how
many of up to three classes the two pieces are called merged. These are development sets: the rules were chosen on them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from clustertrust import audit
from experiments.paper import data
from experiments.paper.runs import hushed
from experiments.research.audit.run import FULL, Floats, Labels, points_of

SETS = ("Ir", "Bc", "Dg", "Pd", "Lt", "Sa", "Fm", "Ng")
LETTERS = 8
CLASSES = 3


def cut_off(X: Floats, y: Labels, label: int) -> Labels:
    """Give the fifth of a class at one end of its longest direction a label of its own."""
    members = np.flatnonzero(y == label)
    centred = X[members] - X[members].mean(axis=0)
    longest = np.linalg.svd(centred, full_matrices=False)[2][0]
    given = y.copy()
    given[members[np.argsort(centred @ longest)[: len(members) // 5]]] = y.max() + 1
    return given


def main() -> None:
    """Count, and print a line for each set."""
    data.find_data()
    wrong = classes = found = cuts = 0
    for name in SETS:
        X, y = points_of(name, FULL, 0)
        keep = y < LETTERS if name == "Lt" else np.ones(len(y), dtype=bool)
        X, y = np.asarray(X[keep], dtype=np.float64), np.unique(y[keep], return_inverse=True)[1]
        with hushed():
            verdicts = audit(X, y, n_runs=12, random_state=0, n_jobs=1).verdicts
            new, merged = y.max() + 1, 0
            for label in range(min(CLASSES, new)):
                of_cut = audit(X, cut_off(X, y, label), n_runs=12, random_state=0, n_jobs=1)
                pieces = [{v.cluster, v.other} for v in of_cut.verdicts if v.verdict == "merged"]
                merged += {label, new} in pieces
        told = Counter(verdict.verdict for verdict in verdicts)
        wrong += sum(told[verdict] for verdict in ("merged", "split", "dissolved"))
        classes, found, cuts = classes + len(verdicts), found + merged, cuts + min(CLASSES, new)
        print(name, dict(told), f"cut off: {merged} of {min(CLASSES, new)}", flush=True)
    print(f"true classes: {wrong} of {classes} wrong; a fifth cut off: {found} of {cuts} found")


if __name__ == "__main__":
    main()
