"""Simulated counts: why a silhouette ranked cells better than the score along the graph, and what ranks as well.

`python -m experiments.research.leiden.counts` judges by seeds that nothing was chosen on, in some minutes; `--chosen-on` shows
those that the default was chosen on. `--cut` asks, on other seeds, what a cut at the threshold keeps, in some minutes. It needs
igraph, umap-learn and scanpy's cells.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score, silhouette_samples

from clustertrust import CAKE, confidence
from clustertrust.cell_data import cells_of
from clustertrust.evaluation import auroc
from clustertrust.geometry import Graph
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import folder, publish
from experiments.research.graph.run import right
from experiments.research.leiden.simulated import annotated, components, counts

# Cells, types, and how much their genes differ: hard, easy, and many types. Drawn with seeds of two kinds.
SETTINGS = ((1500, 6, 0.35), (1500, 6, 0.42), (1500, 12, 0.4), (1500, 12, 0.5))
CHOSEN_ON, HELD_OUT, HELD_OUT_CUT = (0, 1, 2), (100, 101, 102), (200, 201, 202)
RUNS = 20
RANGES = {
    "1.0": [1.0],
    "0.8 to 1.2": np.linspace(0.8, 1.2, 41).tolist(),
    "0.5 to 1.5": np.linspace(0.5, 1.5, 41).tolist(),
    "0.2 to 2.0": np.linspace(0.2, 2.0, 41).tolist(),
}
# Along the graph by walks alone, the default, with paths too, or by straight distances; S̃ cut off at 0, the default, or not.
WAYS: dict[str, dict[str, Any]] = {
    "graph": {},
    "graph, with paths": {"geometry": Graph(weights=True)},
    "graph, affine": {"normalization": "affine"},
    "graph, affine, element-centric": {"agreement": "element-centric", "normalization": "affine"},
    "points": {"geometry": "exact"},
    "points, affine": {"geometry": "exact", "normalization": "affine"},
}


def measure(seeds: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """How well each way ranks right above wrong cells, for every set."""
    for n, types, strength in SETTINGS:
        for seed in seeds:
            reads, y = counts(n, types=types, strength=strength, seed=seed)
            adata = annotated(components(reads))
            for row in ranked(adata, y):
                yield {"types": types, "strength": strength, "seed": seed} | row
        print(f"{types} types, {strength}", file=sys.stderr, flush=True)


def ranked(adata: Any, y: Any) -> Iterator[dict[str, Any]]:
    """Score cells along their graph, by runs over each range of resolutions, in each way."""
    for name, values in RANGES.items():
        cake = CAKE(
            clusterer="leiden", vary={"resolution": values}, n_runs=RUNS, random_state=0, n_jobs=1
        )
        cells = cells_of(adata, cake)
        with hushed():
            runs = cells.build(cake)
        for way, settings in WAYS.items():
            how = {"geometry": Graph(weights=True, paths=False), "agreement": "jaccard"} | settings
            X = adata.obsm["X_pca"] if how["geometry"] == "exact" else cells.X
            with hushed():
                found = confidence(X, runs, **how)
            correct = right(found.labels, y, "leiden")
            several = len(found.label_names) > 1
            rival = silhouette_samples(adata.obsm["X_pca"], found.labels) if several else correct
            yield {
                "resolutions": name,
                "way": way,
                "clusters": len(found.label_names),
                "ari": adjusted_rand_score(y, found.labels),
                "right": correct.mean(),
                "at 0": np.mean(found.scores <= 0),
                "stability": auroc(found.stability, correct),
                "geometry": auroc(found.geometry, correct),
                "score": auroc(found.scores, correct),
                "silhouette": auroc(rival, correct),
            }


def measure_cut() -> Iterator[dict[str, Any]]:
    """What the default threshold keeps, with S̃ cut off at 0 and without, for every set."""
    for n, types, strength in SETTINGS:
        for seed in HELD_OUT_CUT:
            reads, y = counts(n, types=types, strength=strength, seed=seed)
            values = RANGES["0.5 to 1.5"]
            cake = CAKE(
                clusterer="leiden",
                vary={"resolution": values},
                n_runs=RUNS,
                random_state=0,
                n_jobs=1,
            )
            cells = cells_of(annotated(components(reads)), cake)
            with hushed():
                runs = cells.build(cake)
                for normalization in ("clip", "affine"):
                    walks = Graph(weights=True, paths=False)
                    found = confidence(
                        cells.X,
                        runs,
                        geometry=walks,
                        agreement="jaccard",
                        normalization=normalization,
                    )
                    correct = right(found.labels, y, "leiden")
                    kept = found.scores > found.cut(None).threshold
                    yield {
                        "types": types,
                        "strength": strength,
                        "seed": seed,
                        "normalization": normalization,
                        "auroc": auroc(found.scores, correct),
                        "kept": kept.mean(),
                        "right": correct.mean(),
                        "right among kept": correct[kept].mean(),
                    }
        print(f"{types} types, {strength}", file=sys.stderr, flush=True)


def cut_table(rows: pd.DataFrame) -> str:
    """One row for each normalization."""
    lines = [
        [str(name), f"{of['auroc'].mean():.3f}"]
        + [f"{of[column].mean():.0%}" for column in ("kept", "right among kept", "right")]
        for name, of in rows.groupby("normalization", sort=False)
    ]
    heads = ["`normalization`", "AUROC", "kept", "right among kept", "right among all"]
    note = (
        f"{len(SETTINGS)} settings with {len(HELD_OUT_CUT)} other seeds each, resolutions from 0.5 to 1.5, cut at the default threshold. "
        "Made by `python -m experiments.research.leiden.counts --cut`."
    )
    return f"{note}\n\n{markdown(heads, lines)}"


def table_of(rows: pd.DataFrame, seeds: tuple[int, ...]) -> str:
    """One row for each range and way."""
    numbers = ("stability", "geometry", "score", "silhouette")
    lines = [
        [str(name), str(way), f"{of['right'].mean():.2f}", f"{of['at 0'].mean():.0%}"]
        + [f"{of[number].mean():.3f}" for number in numbers]
        for (name, way), of in rows.groupby(["resolutions", "way"], sort=False)
    ]
    heads = ["resolutions", "way", "right", "score 0", *numbers]
    note = (
        f"Simulated counts of {SETTINGS[0][0]} cells, {len(SETTINGS)} settings with {len(seeds)} seeds each, {RUNS} runs of Leiden along the "
        "graph of 30 components. *right*: cells of the type of most cells of their cluster. *score 0*: cells with exactly that score. The last "
        "four: AUROC, how often a right cell is above a wrong one, of the parts, of the score, and of the silhouette of the same labels in "
        "the components. Made by `python -m experiments.research.leiden.counts`."
    )
    return f"{note}\n\n{markdown(heads, lines)}"


def main() -> None:
    """Run, and write the table."""
    if "--cut" in sys.argv[1:]:
        rows, out = pd.DataFrame(list(measure_cut())), folder("leiden")
        write(out / "counts_cut.csv", rows.to_csv(index=False, float_format="%.6g"))
        publish({"counts cut": cut_table(rows)}, out / "counts_cut.md", "anndata.md", full=True)
        return
    chosen_on = "--chosen-on" in sys.argv[1:]
    seeds = CHOSEN_ON if chosen_on else HELD_OUT
    rows = pd.DataFrame(list(measure(seeds)))
    if chosen_on:
        print(table_of(rows, seeds))
        return
    out = folder("leiden")
    write(out / "counts.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"counts": table_of(rows, seeds)}, out / "counts.md", "anndata.md", full=True)


if __name__ == "__main__":
    main()
