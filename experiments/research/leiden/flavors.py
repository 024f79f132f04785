"""Are the communities of igraph's Leiden as good as those of leidenalg, and are two iterations enough?

`python -m experiments.research.leiden.flavors` takes some minutes; it needs igraph, leidenalg, umap-learn and scanpy's cells.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clustertrust.distances.links import as_distances
from clustertrust.ensemble.leiden import Leiden
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import folder, publish
from experiments.research.leiden.simulated import components, connectivities, counts

SEEDS = range(5)
RESOLUTIONS = (0.5, 1.0, 1.5)
# Cells, types, and how much their genes differ
SIMULATED = ((1500, 6, 0.42), (1500, 12, 0.5), (6000, 12, 0.5))


def graphs() -> Iterator[tuple[str, Any, Any]]:
    """Weights of links, with the true types."""
    import scanpy

    blood = scanpy.datasets.pbmc68k_reduced()
    yield "pbmc68k", blood.obsp["connectivities"], blood.obs["bulk_labels"].cat.codes.to_numpy()
    for n, types, strength in SIMULATED:
        reads, y = counts(n, types=types, strength=strength, seed=0)
        yield f"{n} cells, {types} types", connectivities(components(reads)), y


def until_stable(model: Leiden, graph: Any) -> tuple[Any, float]:
    """Return igraph's communities after as many iterations as still change something, and their modularity."""
    import igraph

    igraph.set_random_number_generator(random.Random(model.random_state))  # noqa: S311
    found = graph.community_leiden(
        objective_function="modularity",
        weights="weight",
        resolution=model.resolution,
        n_iterations=-1,
    )
    igraph.set_random_number_generator(random)
    labels = np.asarray(found.membership)
    return labels, graph.modularity(labels, weights="weight", resolution=model.resolution)


def measure() -> Iterator[dict[str, Any]]:
    """Modularity, ARI with the types and seconds of each way, resolution and seed."""
    for name, weights, y in graphs():
        distances = as_distances(weights)
        options: dict[str, Any] = {"n_neighbors": None, "weighted": True, "metric": "precomputed"}
        graph = Leiden(**options).graph(distances)
        for resolution in RESOLUTIONS:
            for seed in SEEDS:
                for way in ("igraph", "igraph until stable", "leidenalg"):
                    flavor = way.split()[0]
                    model = Leiden(
                        **options, resolution=resolution, flavor=flavor, random_state=seed
                    )
                    began = time.perf_counter()
                    if way.endswith("stable"):
                        labels, quality = until_stable(model, graph)
                    else:
                        fitted = model.fit_graph(graph)
                        labels, quality = fitted.labels_, fitted.quality_
                    yield {
                        "graph": name,
                        "resolution": resolution,
                        "seed": seed,
                        "way": way,
                        "modularity": quality,
                        "ari": adjusted_rand_score(y, labels),
                        "clusters": len(set(labels)),
                        "seconds": time.perf_counter() - began,
                    }


def table_of(rows: pd.DataFrame) -> str:
    """One row for each graph and way."""
    lines = [
        [
            str(name),
            str(way),
            f"{of['modularity'].mean():.4f}",
            f"{of['ari'].mean():.3f}",
            f"{of['clusters'].mean():.1f}",
            f"{of['seconds'].median():.2f}",
        ]
        for (name, way), of in rows.groupby(["graph", "way"], sort=False)
    ]
    heads = ["graph", "Leiden by", "modularity", "ARI", "clusters", "seconds"]
    note = (
        f"Means over resolutions {', '.join(map(str, RESOLUTIONS))} and {len(SEEDS)} seeds; seconds are medians, with the graph made before. "
        "*igraph* has two iterations, the default. *ARI*: with the types. Made by `python -m experiments.research.leiden.flavors`."
    )
    return f"{note}\n\n{markdown(heads, lines)}"


def main() -> None:
    """Run, and write the table."""
    rows = pd.DataFrame(list(measure()))
    out = folder("leiden")
    write(out / "flavors.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"flavors": table_of(rows)}, out / "flavors.md", "anndata.md", full=True)


if __name__ == "__main__":
    main()
