"""Blood cells: their types, and scores by straight distances and with their own graph.

Run from a checkout: `python examples/plot_cells.py` writes `docs/images/cells.png` and prints how
many cells each score calls isolated. It needs scanpy, whose data these are.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import clustertrust.anndata
from clustertrust.displays import score_colors

DOCS = Path(__file__).parent.parent / "docs"
RUNS = 20
WAYS = {"straight distances": {"use_rep": "X_pca"}, "with the graph": {}}


def main() -> None:
    """Score, draw and print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scanpy's own dependencies
        import scanpy

        adata = scanpy.datasets.pbmc68k_reduced()
    xy = adata.obsm["X_umap"]
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.2), layout="constrained")
    kinds = adata.obs["bulk_labels"].cat
    # Of Okabe and Ito, yellow darkened; two greys for the last types
    colours = [
        "#0072B2",
        "#E69F00",
        "#009E73",
        "#CC79A7",
        "#56B4E9",
        "#D55E00",
        "#C8B400",
        "#000000",
        "#999999",
        "#555555",
    ]
    for code, kind in enumerate(kinds.categories):
        of = (kinds.codes == code).to_numpy()
        axes[0].scatter(*xy[of].T, s=8, color=colours[code], label=kind)
    axes[0].set_title("types", fontsize=10)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False, markerscale=1.5)
    for ax, (name, how) in zip(axes[1:], WAYS.items(), strict=True):
        clustertrust.anndata.score(adata, n_runs=RUNS, threshold=0.5, **how)
        drawn = ax.scatter(
            *xy.T, s=8, c=adata.obs["cake_score"], vmin=0, vmax=1, cmap=score_colors()
        )
        isolated = (adata.obs["cake_reason"] == "stable but isolated").mean()
        ax.set_title(f"scores, {name}", fontsize=10)
        print(f"{name}: {isolated:.0%} of the cells are called isolated")
    figure.colorbar(drawn, ax=axes[1:], label="score")
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    figure.savefig(DOCS / "images" / "cells.png", dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
