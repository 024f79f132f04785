"""How high do wrong assignments score on a graph, beside straight distances, and on data without clusters?

The form of the graph's silhouettes was chosen on the sets of `run.py` and of `development.py`; these 13 shapes of
`heldout.py` were written down then and run after that. Runs of k-means and of spectral clustering. "walks alone" is what
the graph was before lengths of paths were part of it.

`python -m experiments.research.graph.level` runs three shapes, `--full` all, which takes some minutes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import Ensemble, build_ensemble, confidence
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.graph_shares import GraphShares
from clustertrust.evaluation import auroc, correctness
from clustertrust.geometry import Graph
from clustertrust.geometry.base import Compute
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import command, folder, heldout, publish

SHAPES = (
    "shells_3d",
    "spirals_2d",
    "crescents_2d",
    "targets_2d",
    "cigars_3d",
    "nested_2d",
    "pairs_2d",
    "mixed_shapes_2d",
    "sheets_3d",
    "bricks_2d",
    "shapes_2d",
    "noise_2d",
    "cubes_6d",
)
CLUSTERERS: dict[str, dict[str, Any]] = {
    "kmeans": {},
    "spectral": {"vary": {"n_neighbors": range(8, 16)}},
}
POINTS, RUNS, FEWEST = 800, 10, 5
HIGH = 0.8


class _Shares(GraphShares):
    """Shares of walks without paths."""

    def silhouettes(self, own: Any, X: Any = None, *, training: bool = False) -> Any:
        return Dissimilarity.silhouettes(self, own, X, training=training)


class WalksAlone(Graph):
    """Silhouettes of shares of walks, without lengths of paths."""

    name = "walks alone"

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the shares."""
        return _Shares(cells, self._walk(X, compute), n_steps=self.n_steps, n_jobs=compute.n_jobs)


GEOMETRIES: dict[str, Any] = {"exact": "exact", "walks alone": WalksAlone(), "graph": "graph"}


def scores(X: NDArray, runs: Ensemble) -> Iterator[tuple[str, Any]]:
    """The scores by each geometry."""
    for name, geometry in GEOMETRIES.items():
        yield name, confidence(X, runs, geometry=geometry)


def shape_rows(name: str) -> Iterator[dict[str, Any]]:
    """AUROC, and the share of wrong labels that score high, of one shape."""
    case = heldout.load(name)
    assert case is not None
    rows = np.sort(np.random.default_rng(0).permutation(len(case.X))[:POINTS])
    X, y = np.ascontiguousarray(case.X[rows]), case.y[rows]
    for clusterer, options in CLUSTERERS.items():
        runs = build_ensemble(
            X, clusterer, n_clusters=case.k, n_runs=RUNS, random_state=0, **options
        )
        for geometry, found in scores(X, runs):
            right = correctness(found.labels, y)
            few = (~right).sum() < FEWEST
            yield {
                "dataset": name,
                "clusterer": clusterer,
                "geometry": geometry,
                "accuracy": right.mean(),
                "auroc": np.nan if few else auroc(found.scores, right),
                "high": np.nan if few else np.mean(found.scores[~right] > HIGH),
                "right_median": np.median(found.scores[right]),
            }


def square_rows() -> Iterator[dict[str, Any]]:
    """Mean scores of uniform squares that k-means cuts in four."""
    for n in (500, 2000):
        X = np.random.default_rng(n).random((n, 2))
        runs = build_ensemble(X, "kmeans", n_clusters=4, n_runs=RUNS, random_state=0)
        for geometry, found in scores(X, runs):
            yield {"dataset": f"square of {n}", "geometry": geometry, "mean": found.scores.mean()}


def level_table(shapes: pd.DataFrame, squares: pd.DataFrame) -> str:
    """One row for each geometry."""
    lines = []
    for geometry in GEOMETRIES:
        of = shapes[shapes["geometry"] == geometry]
        means = squares[squares["geometry"] == geometry]["mean"]
        lines.append(
            [
                geometry,
                *(f"{of[of['clusterer'] == c]['auroc'].mean():.3f}" for c in CLUSTERERS),
                f"{of['auroc'].mean():.3f}",
                f"{of['high'].mean():.1%}",
                f"{of['right_median'].mean():.2f}",
                " and ".join(f"{mean:.2f}" for mean in means),
            ]
        )
    head = ["geometry", *(f"AUROC, {c}" for c in CLUSTERERS), "AUROC, both"]
    head += [f"wrong labels that score above {HIGH}", "median score of right labels"]
    head += ["mean score of a square cut in four, 500 and 2,000 points"]
    return markdown(head, lines)


def main() -> None:
    """Run, and write the table."""
    full = command("graph", __doc__, "all shapes: some minutes").parse_args().full
    warnings.simplefilter("ignore")
    names = SHAPES if full else SHAPES[:3]
    shapes = pd.DataFrame([row for name in names for row in shape_rows(name)])
    squares = pd.DataFrame(list(square_rows()))
    out = folder("graph", full=full)
    rows = pd.concat([shapes, squares])
    write(out / "level.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"graph level": level_table(shapes, squares)}, out / "level.md", "graph.md", full=full)


if __name__ == "__main__":
    sys.exit(main())
