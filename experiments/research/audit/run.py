"""What an audit of given labels finds: planted errors beside other signals, and verdicts on whole clusters.

`python -m experiments.research.audit.run` is a trial of a minute and goes to `results/quick`; `--full` takes some
ten. With `--verdicts` only those are measured again, and errors stay as they are in the file. It needs cleanlab: `pip install -r
experiments/research/audit/requirements.txt`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import roc_auc_score, silhouette_samples
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from clustertrust import Audit, audit
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, publish

# The paper's real sets, two of its drawn ones, and two shapes that no clusterer of centres finds. The list was made
# before anything was measured on it.
SETS = ("S1", "S4", "moons", "rings", *data.REAL)
SHARES = (0.05, 0.1, 0.2)
KINDS = ("random", "neighbour")
NEAR = 10  # neighbours of the rival signals, as cleanlab's own examples have it
TIE = 0.01
OURS = "audit"
RIVALS = ("silhouette", "neighbours", "cleanlab")

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


class Size(NamedTuple):
    """How much is run."""

    points: int
    repetitions: int
    sets: tuple[str, ...]
    draws: int = 5  # of data for verdicts


QUICK = Size(300, 1, ("S1", "moons", "Ir"))
FULL = Size(600, 1, SETS, 10)


def points_of(name: str, size: Size, repetition: int) -> tuple[Floats, Labels]:
    """At most so many points of a set, and their true classes."""
    if name == "moons":
        return make_moons(min(600, size.points), noise=0.1, random_state=repetition)
    if name == "rings":
        return make_circles(min(600, size.points), noise=0.06, factor=0.5, random_state=repetition)
    case = data.load(name)
    rows = np.random.default_rng([19, repetition]).permutation(len(case.X))[: size.points]
    return np.asarray(case.X[rows], dtype=np.float64), np.unique(case.y[rows], return_inverse=True)[
        1
    ]


def plant(
    X: Floats, y: Labels, share: float, kind: str, seed: list[int]
) -> tuple[Labels, NDArray[np.bool_]]:
    """Change a share of the labels, to any other class or to that of the nearest point of another; and which."""
    rng = np.random.default_rng(seed)
    at = rng.choice(len(y), round(share * len(y)), replace=False)
    given, k = y.copy(), int(y.max()) + 1
    if kind == "random":
        given[at] = (y[at] + rng.integers(1, k, at.size)) % k
    else:
        for i in at:
            away = ((X - X[i]) ** 2).sum(axis=1)
            away[y == y[i]] = np.inf
            given[i] = y[away.argmin()]
    planted = np.zeros(len(y), dtype=bool)
    planted[at] = True
    return given, planted


def silhouette(X: Floats, given: Labels) -> Floats:
    """scikit-learn's silhouette of each point."""
    return silhouette_samples(X, given)


def neighbours(X: Floats, given: Labels) -> Floats:
    """Share of the nearest neighbours that have the point's label."""
    near = NearestNeighbors(n_neighbors=NEAR).fit(X).kneighbors(return_distance=False)
    return (given[near] == given[:, None]).mean(axis=1)


def cleanlab(X: Floats, given: Labels) -> Floats:
    """Return cleanlab's label quality from cross-validated probabilities of k nearest neighbours."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError as error:
        raise ImportError("pip install -r experiments/research/audit/requirements.txt") from error
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    shares = cross_val_predict(
        KNeighborsClassifier(NEAR), X, given, cv=folds, method="predict_proba"
    )
    return get_label_quality_scores(given, shares)


def ours(X: Floats, given: Labels) -> Floats:
    """The score of an audit by runs and geometry alone; `votes` adds classifiers."""
    return audit(X, given, classifier=None, random_state=0).scores


SIGNALS: dict[str, Callable[[Floats, Labels], Floats]] = {
    OURS: ours,
    "silhouette": silhouette,
    "neighbours": neighbours,
    "cleanlab": cleanlab,
}


def precision(scores: Floats, planted: NDArray[np.bool_]) -> float:
    """Share of planted errors among as many points with the lowest scores; equal scores in random order."""
    order = np.random.default_rng(0).permutation(len(scores))
    lowest = order[np.argsort(scores[order], kind="stable")][: planted.sum()]
    return float(planted[lowest].mean())


def find_errors(size: Size) -> Iterator[dict[str, Any]]:
    """AUROC and precision of every signal on every set."""
    for name in size.sets:
        began = time.perf_counter()
        for repetition in range(size.repetitions):
            X, y = points_of(name, size, repetition)
            for kind in KINDS:
                for share in SHARES:
                    given, planted = plant(X, y, share, kind, [20, repetition, round(100 * share)])
                    for signal, of in SIGNALS.items():
                        with hushed():
                            scores = of(X, given)
                        yield {
                            "dataset": name,
                            "kind": kind,
                            "share": share,
                            "repetition": repetition,
                        } | {
                            "signal": signal,
                            "auroc": roc_auc_score(~planted, scores),
                            "precision": precision(scores, planted),
                        }
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def blobs(seed: int) -> tuple[Floats, Labels]:
    """Four round blobs in the plane."""
    centers = [(0, 0), (9, 0), (0, 9), (9, 9)]
    return make_blobs(
        [120, 150, 180, 200], centers=centers, cluster_std=[1, 1, 1.3, 0.8], random_state=seed
    )


def wide(seed: int) -> tuple[Floats, Labels]:
    """Five blobs in ten dimensions."""
    return make_blobs(600, n_features=10, centers=5, center_box=(-8, 8), random_state=seed)


def strips(seed: int) -> tuple[Floats, Labels]:
    """Three elongated blobs side by side."""
    X, y = make_blobs(450, centers=[(0, 0), (0, 7), (0, 14)], random_state=seed)
    return X * [4, 1], y


def moons_apart(seed: int) -> tuple[Floats, Labels]:
    """Two moons, and a blob."""
    X, y = make_moons(500, noise=0.06, random_state=seed)
    other = make_blobs(200, centers=[(0.5, 3)], cluster_std=0.3, random_state=seed)[0]
    return np.vstack([X, other]), np.append(y, np.full(200, 2))


def rings_apart(seed: int) -> tuple[Floats, Labels]:
    """Two rings, and a blob."""
    X, y = make_circles(500, noise=0.05, factor=0.4, random_state=seed)
    other = make_blobs(200, centers=[(3, 0)], cluster_std=0.3, random_state=seed)[0]
    return np.vstack([X, other]), np.append(y, np.full(200, 2))


APART = {
    "four blobs": blobs,
    "five blobs, 10 dimensions": wide,
    "three strips": strips,
    "two moons and a blob": moons_apart,
    "two rings and a blob": rings_apart,
}


def split(X: Floats, y: Labels, rng: np.random.Generator) -> tuple[Labels, dict[int, str]]:
    """Cut the first cluster in two at the median of its first principal component."""
    given, own = y.copy(), np.flatnonzero(y == 0)
    axis = np.linalg.svd(X[own] - X[own].mean(axis=0), full_matrices=False)[2][0]
    place = X[own] @ axis
    new = int(y.max()) + 1
    given[own[place > np.median(place)]] = new
    return given, {0: f"merged with {new}", new: "merged with 0"}


def merge(X: Floats, y: Labels, rng: np.random.Generator) -> tuple[Labels, dict[int, str]]:
    """Give the first two clusters one label."""
    return np.where(y == 1, 0, y), {0: "split"}


def scatter(X: Floats, y: Labels, rng: np.random.Generator) -> tuple[Labels, dict[int, str]]:
    """Give 15 % of all points, at random, a label of their own."""
    new = int(y.max()) + 1
    return np.where(rng.random(len(y)) < 0.15, new, y), {new: "dissolved"}


def leave(X: Floats, y: Labels, rng: np.random.Generator) -> tuple[Labels, dict[int, str]]:
    """Change nothing."""
    return y, {}


PLANTED = {
    "the true one": leave,
    "one split in two": split,
    "two merged into one": merge,
    "one of random points": scatter,
}


def told(found: Audit) -> dict[int, tuple[str, float, float, float]]:
    """Verdict, with its partner, and its share and interval, by cluster."""
    verdicts = {}
    for one in found.verdicts:
        text = one.verdict if one.other is None else f"{one.verdict} with {one.other}"
        verdicts[int(one.cluster)] = text, one.share, one.low, one.high
    return verdicts


def judge(size: Size) -> Iterator[dict[str, Any]]:
    """Verdicts on every cluster of every planted labelling."""
    for name, draw in APART.items():
        for repetition in range(size.draws):
            X, y = draw(repetition)
            for labelling, change in PLANTED.items():
                given, expected = change(X, y, np.random.default_rng([21, repetition]))
                with hushed():
                    verdicts = told(audit(X, given, random_state=repetition))
                for cluster, (verdict, share, low, high) in verdicts.items():
                    wanted = expected.get(cluster, "kept together")
                    yield {
                        "data": name,
                        "labelling": labelling,
                        "repetition": repetition,
                        "cluster": cluster,
                    } | {
                        "expected": wanted,
                        "verdict": verdict,
                        "share": share,
                        "low": low,
                        "high": high,
                        "planted": cluster in expected,
                        "right": verdict == wanted,
                    }
        print(f"verdicts on {name}", file=sys.stderr, flush=True)


def errors_table(rows: pd.DataFrame, size: Size) -> str:
    """One row a set: mean AUROC and precision of each signal, and whether ours is best or within 0.01 of it."""
    means = rows.groupby(["dataset", "signal"], sort=False)[["auroc", "precision"]].mean()
    lines, held = [], {"auroc": 0, "precision": 0}
    for name in rows["dataset"].unique():
        cells = [name]
        for measure in held:
            of = means.loc[name][measure]
            near = of[OURS] >= of[list(RIVALS)].max() - TIE
            held[measure] += int(near)
            cells += [
                f"{of[OURS]:.3f}{'' if near else ' (short)'}",
                *(f"{of[rival]:.3f}" for rival in RIVALS),
            ]
        lines.append(cells)
    sets = rows["dataset"].nunique()
    heads = [
        "data set",
        *(f"{signal}: {told}" for told in ("AUROC", "precision") for signal in (OURS, *RIVALS)),
    ]
    note = (
        f"Best or within {TIE:g} of the best: AUROC on {held['auroc']}, precision on {held['precision']} of {sets} "
        "sets; *short* marks the others."
    )
    return f"{_how(size)}\n\n{markdown(heads, lines)}\n\n{note}"


def kinds_table(rows: pd.DataFrame) -> str:
    """Mean AUROC and precision over all sets, by kind and share of the errors."""
    lines = []
    for (kind, share), part in rows.groupby(["kind", "share"], sort=False):
        of = part.groupby("signal")[["auroc", "precision"]].mean()
        cells = [
            f"{of.loc[signal, 'auroc']:.3f}, {of.loc[signal, 'precision']:.3f}"
            for signal in (OURS, *RIVALS)
        ]
        lines.append([kind, f"{share:.0%}", *cells])
    heads = ["changed to", "share", *(f"{signal}: AUROC, precision" for signal in (OURS, *RIVALS))]
    return markdown(heads, lines)


def verdicts_table(rows: pd.DataFrame, size: Size) -> str:
    """Right verdicts of all, by data and labelling: on the clusters that were changed, and on the others."""
    lines = []
    for name in APART:
        cells = [name]
        for labelling in PLANTED:
            part = rows[(rows["data"] == name) & (rows["labelling"] == labelling)]
            groups = [part[part["planted"] == changed]["right"] for changed in (True, False)]
            cells.append(" and ".join(f"{of.sum()} of {len(of)}" for of in groups if len(of)))
        lines.append(cells)
    note = (
        f"{size.draws} draws of each. Verdicts that are right: on the clusters that were changed, and on "
        f"those that were not. In all {rows['right'].sum()} of {len(rows)}."
    )
    return f"{note}\n\n{markdown(['data', *PLANTED], lines)}"


def _how(size: Size) -> str:
    return (
        f"At most {size.points} points of each set, {size.repetitions} draw; 5, 10 and 20 % of the true labels "
        f"changed, to any other class or to that of the nearest point of another. Made by `python -m "
        f"experiments.research.audit.run{' --full' if size is FULL else ''}`."
    )


def main() -> None:
    """Run, and write the tables."""
    parser = command("audit", __doc__, "all data sets: some ten minutes")
    parser.add_argument("--verdicts", action="store_true", help="errors stay as they are")
    chosen = parser.parse_args()
    data.find_data()
    size, out = FULL if chosen.full else QUICK, folder("audit", full=chosen.full)
    verdicts = pd.DataFrame(list(judge(size)))
    write(out / "audit_verdicts.csv", verdicts.to_csv(index=False, float_format="%.6g"))
    if chosen.verdicts:
        errors = pd.read_csv(out / "audit_errors.csv")
    else:
        errors = pd.DataFrame(list(find_errors(size)))
    write(out / "audit_errors.csv", errors.to_csv(index=False, float_format="%.6g"))
    tables = {
        "errors": errors_table(errors, size),
        "kinds": kinds_table(errors),
        "verdicts": verdicts_table(verdicts, size),
    }
    publish(tables, out / "audit.md")


if __name__ == "__main__":
    main()
