"""Does the score rank cells as well as a silhouette of the same labels, and what does its threshold keep?

`python -m experiments.research.leiden.counts` judges by settings that nothing was chosen on, in some minutes; `--chosen-on` shows the sets
that the default was chosen on, simulated counts and real sets with classes, from the folder that CLUSTERTRUST_DATA names. It needs igraph,
umap-learn and scanpy's cells.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples

import clustertrust.anndata
from clustertrust import CAKE
from clustertrust.anndata.data import RESOLUTIONS, SCORED_BY
from clustertrust.evaluation import auroc
from clustertrust.geometry import Graph
from clustertrust.reasons import first_threshold
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import folder, publish
from experiments.research.graph.run import right
from experiments.research.leiden.simulated import annotated, components, counts


class Setting(NamedTuple):
    """Simulated cells: how many, of how many types, how much genes differ, and how the graph is made."""

    cells: int
    types: int
    strength: float
    genes: int = 1000
    components: int = 30
    neighbors: int = 15


CHOSEN_ON = {
    **dict.fromkeys(
        [(1500, 6, 0.35), (1500, 6, 0.42), (1500, 12, 0.4), (1500, 12, 0.5)], (0, 1, 2)
    ),
    **dict.fromkeys([(3000, 8, 0.3), (800, 5, 0.38), (2500, 15, 0.45)], (10, 11)),
}
REAL = ("pendigits", "satimage", "letter", "fashion_mnist_train", "20newsgroups_minilm")
REAL_ROWS = 2000
# Written down before they were first drawn.
JUDGED_ON = [
    (1000, 4, 0.36),
    (1200, 7, 0.4, 600, 20, 10),
    (2000, 5, 0.32),
    (2000, 9, 0.45, 1000, 50, 15),
    (2000, 10, 0.38, 2000, 30, 15),
    (3000, 14, 0.42, 1000, 30, 30),
    (3000, 8, 0.55, 600, 20, 15),
    (4000, 20, 0.5),
]
JUDGED_SEEDS = (300, 301, 302)
# Cells of one type: what is kept of these is kept wrongly.
ONE_TYPE = [(1500, 1, 0.4), (4000, 1, 0.4)]

FIXED, WIDE = [1.0], np.linspace(0.2, 2.0, 41).tolist()
# The default, and others; None: the rule for thresholds that holds where chance is not known.
WAYS: dict[str, dict[str, Any] | None] = {
    "default": None,
    "default, resolution 1 alone": {"vary": {"resolution": FIXED}},
    "default, resolutions from 0.2 to 2": {"vary": {"resolution": WIDE}},
    "graph alone": {"geometry": "graph"},
    "graph alone, with paths": {"geometry": Graph()},
    "graph alone, `affine`": {"geometry": "graph", "normalization": "affine"},
    "graph alone, `clip`": {"geometry": "graph", "normalization": "clip"},
}
BY_MEDIAN = "graph alone, `clip`, cut at half of the median"


def score(adata: Any, way: str) -> tuple[Any, Any, float]:
    """Score the cells in one of the ways; return labels, scores and the threshold."""
    how = WAYS["graph alone, `clip`" if way == BY_MEDIAN else way]
    cake = None
    if how is not None:
        drawn = {"vary": {"resolution": list(RESOLUTIONS)}}
        cake = CAKE(clusterer="leiden", **SCORED_BY | drawn | how)
    with hushed():
        clustertrust.anndata.score(adata, cake, n_jobs=1)
    scores = adata.obs["cake_score"].to_numpy()
    threshold = adata.uns["cake"]["threshold"] if way != BY_MEDIAN else first_threshold(scores)
    return adata.obs["cake_label"].astype(int).to_numpy(), scores, threshold


def measure(
    sets: Iterator[tuple[str, str, Callable[[], tuple[Any, Any]]]],
) -> Iterator[dict[str, Any]]:
    """How well each way ranks right above wrong cells, and what its threshold keeps, for every set."""
    for kind, name, make in sets:
        adata, y = make()
        for way in [*WAYS, BY_MEDIAN]:
            labels, scores, threshold = score(adata, way)
            correct, kept = right(labels, y, "leiden"), scores > threshold
            row = {"kind": kind, "set": name, "way": way, "clusters": len(set(labels))}
            row |= {"right": correct.mean(), "at 0": np.mean(scores <= 0), "kept": kept.mean()}
            if kept.any():
                row["right among kept"] = correct[kept].mean()
            if 0 < correct.mean() < 1 and len(set(labels)) > 1:
                rival = silhouette_samples(adata.obsm["X_pca"], labels)
                row |= {"score": auroc(scores, correct), "silhouette": auroc(rival, correct)}
            yield row
        print(kind, name, file=sys.stderr, flush=True)


def drawn(values: tuple[Any, ...], seed: int) -> Callable[[], tuple[Any, Any]]:
    """Return a function that simulates cells."""
    setting = Setting(*values)

    def make() -> tuple[Any, Any]:
        how = {"types": setting.types, "strength": setting.strength, "genes": setting.genes}
        reads, y = counts(setting.cells, **how, seed=seed)
        return annotated(components(reads, setting.components), setting.neighbors), y

    return make


def chosen_on() -> Iterator[tuple[str, str, Callable[[], tuple[Any, Any]]]]:
    """The sets of the development: simulated, and real ones with a graph as scanpy would make it."""
    for values, seeds in CHOSEN_ON.items():
        for seed in seeds:
            yield "simulated", f"{values} {seed}", drawn(values, seed)
    yield "real", "pbmc68k", blood
    yield "real", "digits", lambda: (lambda X, y: (annotated(X), y))(*load_digits(return_X_y=True))
    for name in REAL:
        yield "real", name, lambda name=name: real(name)


def judged_on() -> Iterator[tuple[str, str, Callable[[], tuple[Any, Any]]]]:
    """Sets that nothing was chosen on."""
    for kind, settings in (("simulated", JUDGED_ON), ("one type", ONE_TYPE)):
        for values in settings:
            for seed in JUDGED_SEEDS:
                yield kind, f"{values} {seed}", drawn(values, seed)


def blood() -> tuple[Any, Any]:
    """Return scanpy's cells, with their own graph."""
    import scanpy

    adata = scanpy.datasets.pbmc68k_reduced()
    return adata, np.unique(adata.obs["bulk_labels"].astype(str), return_inverse=True)[1]


def real(name: str) -> tuple[Any, Any]:
    """Return rows of a set in the data folder, at most 30 components of them, with a graph."""
    with np.load(Path(os.environ["CLUSTERTRUST_DATA"]) / f"{name}.npz") as file:
        rows = np.random.default_rng(5).permutation(len(file["X"]))[:REAL_ROWS]
        X, y = file["X"][rows].reshape(len(rows), -1).astype(np.float64), file["y"][rows]
    if X.shape[1] > 30:
        X = PCA(30, random_state=0).fit_transform(X)
    return annotated(X), np.unique(y, return_inverse=True)[1]


def table_of(rows: pd.DataFrame, kind: str) -> str:
    """One row for each way, over the sets of a kind."""
    lines = []
    for way, of in rows[rows["kind"] == kind].groupby("way", sort=False):
        better = (of["score"] >= of["silhouette"]).sum()
        lines.append(
            [
                str(way),
                f"{of['score'].mean():.3f}",
                f"{of['silhouette'].mean():.3f}",
                f"{better} of {len(of)}",
            ]
            + [
                f"{of[column].mean():.0%}"
                for column in ("at 0", "kept", "right among kept", "right")
            ]
        )
    heads = [
        "way",
        "score",
        "silhouette",
        "not below",
        "score 0",
        "kept",
        "right among kept",
        "right",
    ]
    return markdown(heads, lines)


def note(rows: pd.DataFrame) -> str:
    """What the tables show, and what is kept of cells of one type."""
    one = rows[(rows["kind"] == "one type") & (rows["way"] == "default")]
    n = rows[rows["kind"] == "simulated"]["set"].nunique()
    return (
        f"{n} sets of simulated counts ({len(JUDGED_ON)} settings, {len(JUDGED_SEEDS)} seeds), 20 runs of Leiden. *score*, *silhouette*: AUROC, how "
        "often a right cell is above a wrong one, of the score, and of the silhouette of the same labels in the components; *not below*: on how many "
        "sets the score ranks at least as well. *right*: cells of the type of most cells of their cluster. *kept*: above the threshold, what data "
        "without clusters rarely exceed unless the row says otherwise. "
        f"Of cells of one type ({len(one)} sets) the default keeps {one['kept'].mean():.0%}. "
        "Made by `python -m experiments.research.leiden.counts`."
    )


def note_on_chosen(rows: pd.DataFrame) -> str:
    """What the table of the development shows."""
    of = rows[rows["way"] == "default"].groupby("kind")[["score", "silhouette"]].mean()
    real = rows[rows["kind"] == "real"]["set"].unique()
    n = rows[rows["kind"] == "simulated"]["set"].nunique()
    score, silhouette = of.loc["simulated"]
    return (
        f"{len(real)} real sets with classes ({', '.join(real)}), at most {REAL_ROWS:,} rows of each, with a graph as scanpy would make it. The default "
        f"was chosen on these and on {n} simulated sets, where it ranks with {score:.3f}, and a silhouette with {silhouette:.3f}. "
        "Made by `python -m experiments.research.leiden.counts --chosen-on`."
    )


def main() -> None:
    """Run, and write the table."""
    is_chosen = "--chosen-on" in sys.argv[1:]
    rows, out = (
        pd.DataFrame(list(measure(chosen_on() if is_chosen else judged_on()))),
        folder("leiden"),
    )
    name = "counts_chosen" if is_chosen else "counts"
    write(out / f"{name}.csv", rows.to_csv(index=False, float_format="%.6g"))
    text = f"{note(rows)}\n\n{table_of(rows, 'simulated')}"
    if is_chosen:
        text = f"{note_on_chosen(rows)}\n\n{table_of(rows, 'real')}"
    publish({name.replace("_", " "): text}, out / f"{name}.md", "anndata.md", full=True)


if __name__ == "__main__":
    main()
