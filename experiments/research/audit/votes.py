"""Which votes an audit should count, and which labels it should flag: chosen on some sets, judged on others.

`python -m experiments.research.audit.votes` is a trial of a minute and goes to `results/quick`; `--full` takes a
quarter of an hour of one core, shared by as many processes as there are cores (`--jobs`). With `--ours` only the audits are measured again,
in a few minutes, and the figures of other signals stay as they are in the file. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import (
    make_blobs,
    make_circles,
    make_classification,
    make_gaussian_quantiles,
    make_moons,
    make_swiss_roll,
)
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustertrust import Audit, audit
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import folder, publish
from experiments.research.audit.run import (
    FULL,
    KINDS,
    NEAR,
    SETS,
    TIE,
    Floats,
    Labels,
    neighbours,
    plant,
    points_of,
    precision,
    silhouette,
)

POINTS = 600
SHARES = (0.05, 0.1, 0.2)
FLAGGED_AT = 0.05  # share of planted errors at which flags are judged
# Powers of the shares of wrong labels that weigh trees against runs; 0: both alike
POWERS = (0, 1, 2, 4)
OURS = "audit"
RIVALS = ("trees", "forest", "logistic", "kNN", "neighbours", "silhouette", "LOF")


class Condition(NamedTuple):
    """One set with one kind and share of planted errors; "clean": none."""

    purpose: str
    dataset: str
    kind: str
    share: float


def part(name: str, classes: tuple[int, ...]) -> tuple[Floats, Labels]:
    """Some classes of a large set, and rows that the development sets do not have."""
    case = data.load(name)
    rows = np.random.default_rng([19, 0]).permutation(len(case.X))[POINTS:]
    codes = np.unique(case.y, return_inverse=True)[1][rows]
    rows, codes = rows[np.isin(codes, classes)][:POINTS], codes[np.isin(codes, classes)][:POINTS]
    return np.asarray(case.X[rows], dtype=np.float64), np.unique(codes, return_inverse=True)[1]


def drawn(k: int, d: int, informative: int, apart: float, seed: int) -> tuple[Floats, Labels]:
    """Classes that are two blobs each, among columns of noise."""
    return make_classification(
        POINTS,
        d,
        n_informative=informative,
        n_redundant=0,
        n_classes=k,
        n_clusters_per_class=2,
        class_sep=apart,
        flip_y=0,
        random_state=seed,
    )


def roll() -> tuple[Floats, Labels]:
    """Four lengths of a rolled sheet."""
    X, along = make_swiss_roll(POINTS, noise=0.3, random_state=7)
    return X, np.digitize(along, np.quantile(along, [0.25, 0.5, 0.75])).astype(np.int64)


def counts() -> tuple[Floats, Labels]:
    """Counts of 60 words in documents of six topics."""
    rng = np.random.default_rng(8)
    topics = rng.dirichlet(np.full(60, 0.3), 6)
    y = rng.integers(0, 6, POINTS)
    return np.array([rng.multinomial(40, topics[label]) for label in y], dtype=float), y


# Listed before anything was measured on them. Nine are other rows of sources that the choice was made on; the rest are
# drawn. Wine and breast cancer are left out: the choice was tried on the one, and shares its rows with the other.
NEW: dict[str, Callable[[], tuple[Floats, Labels]]] = {
    "letters A to H": lambda: part("Lt", tuple(range(8))),
    "letters I to R": lambda: part("Lt", tuple(range(8, 18))),
    "clothes": lambda: part("Fm", tuple(range(10))),
    "shirts": lambda: part("Fm", (0, 2, 3, 4, 6)),
    "digits by pen": lambda: part("Pd", tuple(range(10))),
    "soils": lambda: part("Sa", tuple(range(6))),
    "news": lambda: part("Ng", tuple(range(20))),
    "six newsgroups": lambda: part("Ng", (0, 3, 7, 10, 14, 17)),
    "digits": lambda: part("Dg", tuple(range(10))),
    "two classes": lambda: drawn(2, 10, 5, 1.5, 1),
    "five classes": lambda: drawn(5, 20, 8, 2.0, 2),
    "noisy columns": lambda: drawn(3, 50, 5, 2.0, 3),
    "ten classes": lambda: drawn(10, 30, 12, 2.5, 4),
    "uneven blobs": lambda: make_blobs([300, 150, 100, 50], 5, center_box=(-4, 4), random_state=5),
    "twelve blobs": lambda: make_blobs(POINTS, 8, centers=12, center_box=(-5, 5), random_state=6),
    "shells": lambda: make_gaussian_quantiles(
        n_samples=POINTS, n_features=4, n_classes=3, random_state=7
    ),
    "moons": lambda: make_moons(POINTS, noise=0.2, random_state=11),
    "rings": lambda: make_circles(POINTS, noise=0.1, factor=0.5, random_state=11),
    "roll": roll,
    "topics": counts,
}


def load(condition: Condition) -> tuple[Floats, Labels]:
    """The points of a set, and their true classes."""
    if condition.purpose == "chosen":
        return points_of(condition.dataset, FULL, 0)
    X, y = NEW[condition.dataset]()
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64)


def cross_validated(X: Floats, given: Labels, classifier: Any) -> Floats:
    """Return the probabilities of the given labels, out of sample."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return cross_val_predict(classifier, X, given, cv=folds, method="predict_proba")


CLASSIFIERS: dict[str, Any] = {
    "trees": ExtraTreesClassifier(100, random_state=0),
    "forest": RandomForestClassifier(100, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "kNN": KNeighborsClassifier(NEAR),
}


def margin(shares: Floats, given: Labels) -> Floats:
    """Probability of the given label less the largest other."""
    others = shares.copy()
    rows = np.arange(len(given))
    others[rows, given] = -1
    return shares[rows, given] - others.max(axis=1)


def mixes(alone: Audit, shares: Floats, given: Labels) -> dict[str, Floats]:
    """Scores of runs and trees together, by the power of the errors that weighs them."""
    order = np.argsort(alone.label_names)
    errors = [
        ((margin(part, given) < 0).sum() + 1) / (len(given) + 2)
        for part in (alone.votes[:, order], shares)
    ]
    scores = {}
    for power in POWERS:
        runs, trees = (error**power for error in errors)
        weight = runs / (runs + trees)
        scores[f"mix, power {power}"] = weight * (1 + margin(shares, given)) / 2
        scores[f"mix, power {power}"] += (1 - weight) * alone.scores
    return scores


def labels_of(condition: Condition) -> tuple[Floats, Labels, NDArray[np.bool_]]:
    """The points of a condition, the labels that are audited, and which of them are wrong."""
    data.find_data()
    X, y = load(condition)
    if condition.kind == "clean":
        return X, y, np.zeros(len(y), dtype=bool)
    return X, *plant(X, y, condition.share, condition.kind, [20, 0, 7])


def measure(condition: Condition) -> list[dict[str, Any]]:
    """AUROC, precision and flags of every signal in one condition."""
    X, given, planted = labels_of(condition)
    with hushed():
        found = audit(X, given, random_state=0, n_jobs=1)
        alone = audit(X, given, classifier=None, random_state=0, n_jobs=1)
        shares = {name: cross_validated(X, given, of) for name, of in CLASSIFIERS.items()}
        scores: dict[str, Floats] = {OURS: found.scores, "runs": alone.scores}
        scores |= {name: margin(of, given) for name, of in shares.items()}
        scores |= {"neighbours": neighbours(X, given), "silhouette": silhouette(X, given)}
        scores |= {"LOF": LocalOutlierFactor(20).fit(X).negative_outlier_factor_}
        scores |= mixes(alone, shares["trees"], given)
    flags = {
        OURS: found.issues,
        "another label is likelier (trees)": margin(shares["trees"], given) < 0,
    }
    flags["cleanlab's rule (forest)"] = confident(shares["forest"], given)
    return figures(condition, found, scores, flags, planted)


def measure_ours(condition: Condition) -> list[dict[str, Any]]:
    """The same of the audit alone."""
    X, given, planted = labels_of(condition)
    with hushed():
        found = audit(X, given, random_state=0, n_jobs=1)
    return figures(condition, found, {OURS: found.scores}, {OURS: found.issues}, planted)


def figures(
    condition: Condition,
    found: Audit,
    scores: dict[str, Floats],
    flags: dict[str, Any],
    planted: NDArray[np.bool_],
) -> list[dict[str, Any]]:
    """AUROC and precision of scores; share, precision and recall of flags."""
    rows = []
    for signal, values in scores.items():
        if planted.any():
            auroc = roc_auc_score(~planted, values)
            row = {"auroc": auroc, "precision": precision(values, planted)}
            rows.append(condition._asdict() | {"signal": signal} | row)
    wrong = found.wrong_labels
    for signal, flagged in flags.items():
        right = int((flagged & planted).sum())
        row = {"flagged": flagged.mean(), "flag_precision": right / max(1, flagged.sum())}
        row |= {"flag_recall": right / planted.sum() if planted.any() else np.nan}
        row |= {"covered": float(wrong.low <= planted.sum() <= wrong.high)}
        rows.append(condition._asdict() | {"signal": f"flags: {signal}"} | row)
    print(*condition, file=sys.stderr, flush=True)
    return rows


def in_place(new: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The rows of a file with these in place of theirs."""
    rows = pd.read_csv(path)
    keys = [*Condition._fields, "signal"]
    place = {tuple(key): at for at, key in enumerate(rows[keys].itertuples(index=False, name=None))}
    at = [place[key] for key in new[keys].itertuples(index=False, name=None)]
    rows.loc[at, new.columns] = new.to_numpy()
    return rows


def confident(shares: Floats, given: Labels) -> Floats:
    """Which labels confident learning doubts: another class is above its mean probability, and the likeliest such."""
    k = shares.shape[1]
    means = np.array([shares[given == label, label].mean() for label in range(k)])
    above = np.where(shares >= means, shares, -1)
    return (above.max(axis=1) > 0) & (above.argmax(axis=1) != given)


def conditions(*, full: bool) -> list[Condition]:
    """All that is run: the sets of the other script to choose on, the new ones to judge on."""
    sets = [("chosen", name) for name in SETS] + [("judged", name) for name in NEW]
    if not full:
        sets = [("chosen", "Ir"), ("judged", "topics"), ("judged", "two classes")]
    shares = SHARES if full else (FLAGGED_AT,)
    return [
        Condition(*named, *planted)
        for named in sets
        for planted in [("clean", 0.0), *((kind, share) for kind in KINDS for share in shares)]
    ]


def ranking_table(rows: pd.DataFrame, purpose: str, signals: tuple[str, ...]) -> str:
    """Mean AUROC and precision by signal, and on how many sets it is the best or close to it."""
    rows = rows[(rows["purpose"] == purpose) & rows["signal"].isin(signals)]
    by_set = rows.pivot_table(index="dataset", columns="signal", values=["auroc", "precision"])
    lines = []
    for signal in signals:
        cells = [signal]
        for measured in ("auroc", "precision"):
            of = by_set[measured]
            near = (of[signal] >= of.max(axis=1) - TIE).sum()
            cells += [f"{of[signal].mean():.3f}", f"{near} of {len(of)}"]
        lines.append(cells)
    near = f"sets within {TIE:g} of the best"
    return markdown(["signal", "AUROC", near, "precision", near], lines)


def flags_table(rows: pd.DataFrame, purpose: str) -> str:
    """Share of clean labels that are flagged; precision and recall where 5 % are wrong."""
    rows = rows[(rows["purpose"] == purpose) & rows["signal"].str.startswith("flags: ")]
    lines = []
    for signal, of in rows.groupby("signal", sort=False):
        clean = of[of["kind"] == "clean"]
        wrong = of[of["share"] == FLAGGED_AT]
        lines.append(
            [
                signal.removeprefix("flags: "),
                f"{clean['flagged'].mean():.1%}",
                f"{wrong['flag_precision'].mean():.2f}",
                f"{wrong['flag_recall'].mean():.2f}",
            ]
        )
    planted = rows[(rows["signal"] == f"flags: {OURS}") & (rows["kind"] != "clean")]
    note = (
        f"The interval of `wrong_labels` holds the number of planted errors in {planted['covered'].sum():.0f} of "
        f"{len(planted)} conditions."
    )
    heads = ["flags", "of clean labels", "precision, 5 % wrong", "recall, 5 % wrong"]
    return f"{markdown(heads, lines)}\n\n{note}"


def main() -> None:
    """Run, and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.audit.votes",
        description=(__doc__ or "").split("\n", maxsplit=1)[0],
    )
    parser.add_argument(
        "--full", action="store_true", help="all sets: a quarter of an hour of one core"
    )
    parser.add_argument(
        "--ours", action="store_true", help="the audits alone; the others stay as they are"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    chosen = parser.parse_args()
    # Processes share the cores; started anew, since threads of ours may run in this one
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with get_context("spawn").Pool(chosen.jobs) as pool:
        one = measure_ours if chosen.ours else measure
        parts = pool.imap(one, conditions(full=chosen.full), chunksize=1)
        rows = pd.DataFrame([row for part in parts for row in part])
    out = folder("audit", full=chosen.full)
    if chosen.ours:
        rows = in_place(rows, out / "audit_votes.csv")
    write(out / "audit_votes.csv", rows.to_csv(index=False, float_format="%.6g"))
    mixed = tuple(f"mix, power {power}" for power in POWERS)
    table = partial(ranking_table, rows)
    tables = {
        "choice": table("chosen", (OURS, "runs", "trees", *mixed)),
        "chosen flags": flags_table(rows, "chosen"),
        "judged": table("judged", (OURS, "runs", *RIVALS)),
        "judged flags": flags_table(rows, "judged"),
    }
    publish(tables, out / "audit_votes.md")


if __name__ == "__main__":
    main()
