"""Errors that come as a region: many or all points of one cell of the meet have the label of another class.

A classifier that is trained on such labels learns them. `python -m experiments.research.audit.regions` is a trial of a minute and
goes to `results/quick`; `--full` takes all 20 sets of `votes.py` and five minutes of one core. Nothing was chosen on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from clustertrust import audit, build_ensemble
from clustertrust.cells import meet
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, publish
from experiments.research.audit.run import Floats, Labels, neighbours, precision, silhouette
from experiments.research.audit.votes import CLASSIFIERS, NEW, cross_validated, margin

SHARES = (0.3, 0.6, 1.0)
DRAWS = 1
QUICK = ("twelve blobs", "five classes")
# A region has at least so many points, and at most this share of its class.
LEAST, MOST = 8, 0.5
AUDIT = "audit"


def region(X: Floats, y: Labels, rng: np.random.Generator) -> Labels:
    """Positions of one class in one cell of the meet of ten k-means runs, two clusters for each class."""
    runs = build_ensemble(X, "kmeans", n_clusters=2 * int(y.max() + 1), n_runs=10, random_state=0)
    cells = meet(runs.labels)
    sizes = np.bincount(y)
    both, of, counts = np.unique(
        np.column_stack([cells.cell_of, y]), axis=0, return_inverse=True, return_counts=True
    )
    fits = np.flatnonzero((counts >= LEAST) & (counts <= MOST * sizes[both[:, 1]]))
    if not fits.size:
        raise ValueError(f"no cell has from {LEAST} points to {MOST:.0%} of a class")
    return np.flatnonzero(of.ravel() == rng.choice(fits, p=counts[fits] / counts[fits].sum()))


def plant(y: Labels, where: Labels, share: float, rng: np.random.Generator) -> tuple[Labels, Any]:
    """Give a share of these points the label of one other class; and which."""
    given, k = y.copy(), int(y.max()) + 1
    at = rng.permutation(where)[: round(share * len(where))]
    given[at] = (y[at[0]] + rng.integers(1, k)) % k
    planted = np.zeros(len(y), dtype=bool)
    planted[at] = True
    return given, planted


def measure(names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """How well each signal ranks the points of the region below all others."""
    for name in names:
        X, y = NEW[name]()
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64)
        for draw in range(DRAWS):
            rng = np.random.default_rng([37, draw])
            with hushed():
                where = region(X, y, rng)
            for share in SHARES:
                given, planted = plant(y, where, share, np.random.default_rng([38, draw]))
                with hushed():
                    found = audit(X, given, random_state=0, n_jobs=1)
                    scores = {
                        AUDIT: found.scores,
                        "extra trees": margin(
                            cross_validated(X, given, CLASSIFIERS["trees"]), given
                        ),
                        "10 nearest neighbours": neighbours(X, given),
                        "silhouette": silhouette(X, given),
                    }
                verdict = found.verdicts[
                    found.label_names.tolist().index(int(given[planted][0]))
                ].verdict
                for signal, values in scores.items():
                    yield {
                        "dataset": name,
                        "draw": draw,
                        "share": share,
                        "signal": signal,
                        "auroc": roc_auc_score(~planted, values),
                        "precision": precision(values, planted),
                        "recall": float(found.issues[planted].mean()) if signal == AUDIT else None,
                        "verdict": verdict if signal == AUDIT else None,
                        "points": int(planted.sum()),
                    }
        print(name, file=sys.stderr, flush=True)


def table_of(rows: pd.DataFrame) -> str:
    """One line a share: mean AUROC and precision of each signal, and what the audit says of the class."""
    signals = rows["signal"].unique().tolist()
    lines = []
    for share, part in rows.groupby("share"):
        means = part.groupby("signal")[["auroc", "precision"]].mean()
        ours = part[part["signal"] == AUDIT]
        cells = [f"{means.loc[s, 'auroc']:.3f}, {means.loc[s, 'precision']:.2f}" for s in signals]
        split = f"{(ours['verdict'] == 'split').sum()} of {len(ours)}"
        lines.append([f"{share:.0%}", *cells, f"{ours['recall'].mean():.2f}", split])
    heads = ["of the region", *signals, "flagged by the audit", "class called split"]
    note = (
        f"{rows['dataset'].nunique()} sets, {DRAWS} region of each, on average {rows['points'].mean():.0f} points: the given share of the "
        "points of a class in one cell of the meet of ten k-means runs has the label of another class. AUROC and precision as "
        "above. Made by `python -m experiments.research.audit.regions --full`."
    )
    return f"{note}\n\n{markdown(heads, lines)}"


def main() -> None:
    """Plant, measure, and write the table."""
    chosen = command("audit", __doc__, "all sets: five minutes").parse_args()
    data.find_data()
    rows = pd.DataFrame(list(measure(tuple(NEW) if chosen.full else QUICK)))
    out = folder("audit", full=chosen.full)
    write(out / "audit_regions.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"regions": table_of(rows)}, out / "audit_regions.md", "audit.md", full=chosen.full)


if __name__ == "__main__":
    main()
