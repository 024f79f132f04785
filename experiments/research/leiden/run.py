"""What should differ between runs of Leiden? Seeds alone, the data, the resolution, the neighbours.

`python -m experiments.research.leiden.run` is a trial of half a minute and goes to `results/quick`; `--full` takes some three. It
needs leidenalg, and scanpy for its cells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clustertrust import Runs, build_ensemble, confidence
from clustertrust.evaluation import auroc
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, publish
from experiments.research.graph.run import CELLS, points_of, right
from experiments.research.graph.run import Size as Points

# Cells, three sets of the paper's and a drawn one. Listed before anything was measured.
SETS = (CELLS, "S4", "Ir", "Dg", "Pd")
WAYS: dict[str, dict[str, Any]] = {
    "seeds alone": {"vary": {"resolution": [1.0]}},
    "80 % of the points": {"resample": 0.8},
    "80 %, others placed": {"resample": 0.8, "left_out": "predict"},
    "resolution 0.8 to 1.2": {"vary": {"resolution": np.linspace(0.8, 1.2, 41).tolist()}},
    "resolution 0.5 to 1.5": {"vary": {"resolution": np.linspace(0.5, 1.5, 41).tolist()}},
    "10 to 20 neighbours": {"vary": {"n_neighbors": range(10, 21)}},
    "neighbours and resolution": {
        "vary": {"n_neighbors": range(10, 21), "resolution": np.linspace(0.8, 1.2, 41).tolist()}
    },
}


class Size(NamedTuple):
    """How much is run."""

    points: int
    runs: int
    repetitions: int
    sets: tuple[str, ...]


QUICK = Size(300, 5, 1, ("Ir",))
FULL = Size(400, 10, 2, SETS)


def measure(size: Size) -> Iterator[dict[str, Any]]:
    """Stability, and how well it and the score rank, for every way and set."""
    for name in size.sets:
        began = time.perf_counter()
        for repetition in range(size.repetitions):
            drawn = Points(size.points, size.runs, size.repetitions, size.sets)
            X, y = points_of(name, drawn, repetition)
            for way, settings in WAYS.items():
                left_out = settings.get("left_out", "skip")
                n_runs = Runs(size.runs, left_out=left_out)
                how = {name: value for name, value in settings.items() if name != "left_out"}
                with hushed():
                    runs = build_ensemble(
                        X, "leiden", n_runs=n_runs, random_state=repetition, **how
                    )
                    found = confidence(X, runs, geometry="graph", agreement="jaccard")
                correct = right(found.labels, y, "leiden")
                yield {
                    "dataset": name,
                    "repetition": repetition,
                    "way": way,
                    "alike": np.mean(found.stability > 1 - 1e-9),
                    "fewest": runs.n_clusters.min(),
                    "most": runs.n_clusters.max(),
                    "ari": adjusted_rand_score(y, found.labels),
                    "accuracy": correct.mean(),
                    "stability": auroc(found.stability, correct),
                    "score": auroc(found.scores, correct),
                }
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def ways_table(rows: pd.DataFrame, size: Size) -> str:
    """One row for each way: means over all sets."""
    lines = []
    for way in WAYS:
        of = rows[rows["way"] == way]
        cells = of[of["dataset"] == CELLS]
        lines.append(
            [
                way,
                f"{of['alike'].mean():.0%}",
                f"{cells['alike'].mean():.0%}" if len(cells) else "–",
                f"{(of['most'] - of['fewest']).mean():.1f}",
                *(f"{of[name].mean():.3f}" for name in ("ari", "stability", "score")),
                *(
                    f"{cells[name].mean():.3f}" if len(cells) else "–"
                    for name in ("stability", "score")
                ),
            ]
        )
    heads = [
        "runs differ by",
        "stability 1",
        "of the cells",
        "spread of k",
        "ARI",
        "AUROC of stability",
        "AUROC of the score",
        "stability, cells",
        "score, cells",
    ]
    note = (
        f"{len(size.sets)} sets, at most {size.points} points, {size.runs} runs of Leiden, {size.repetitions} repetitions, "
        'graph silhouettes, `agreement="jaccard"`. *stability 1*: share of points on which no two runs differ. *ARI*: of '
        "the consensus, with the classes. *AUROC*: how often a right assignment is above a wrong one; a label is right if "
        f"it is that of most points of the cluster. Made by `python -m experiments.research.leiden.run{' --full' if size is FULL else ''}`."
    )
    return f"{note}\n\n{markdown(heads, lines)}"


def main() -> None:
    """Run, and write the table."""
    parser = command("leiden", __doc__, "all data sets: some three minutes")
    chosen = parser.parse_args()
    data.find_data()
    size, out = FULL if chosen.full else QUICK, folder("leiden", full=chosen.full)
    rows = pd.DataFrame(list(measure(size)))
    write(out / "leiden.csv", rows.to_csv(index=False, float_format="%.6g"))
    tables = {"leiden": ways_table(rows, size)}
    publish(tables, out / "leiden.md", "anndata.md", full=chosen.full)


if __name__ == "__main__":
    main()
