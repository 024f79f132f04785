"""What the score does under each base method: two moons, blobs and Iris, one picture per method.

Run from a checkout: `python examples/plot_clusterers.py` writes `docs/images/clusterers-NAME.png`
and the gallery page.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.decomposition import PCA

from clustertrust import CAKE
from clustertrust.displays import score_colors
from clustertrust.ensemble.clusterers import CLUSTERERS

DOCS = Path(__file__).parent.parent / "docs"
WORDS = {
    "agglomerative": "Ward's tree. It is deterministic, so each run sees a different 80 % of the points.",
    "birch": "A tree of sub-clusters; each run sees the rows in a different order.",
    "bisecting-kmeans": "Splits one cluster in two at a time.",
    "gmm": "Gaussian mixtures with full covariances: clusters may be elongated.",
    "hdbscan": "Dense regions. It finds the number of clusters and leaves noise unassigned, which counts "
    "against a point. The smallest cluster allowed varies from 8 to 24 points.",
    "kmeans": "k-means, started by k-means++.",
    "kmeans-random": "k-means, started from random points. Its runs differ more, so stability says more.",
    "kmedoids": "Clusters around points of the data (FasterPAM).",
    "leiden": "Communities of the nearest-neighbour graph; it finds their number.",
    "minibatch-kmeans": "k-means on small batches.",
    "spectral": "Cuts of the nearest-neighbour graph, with 10 to 15 neighbours; kernel silhouettes.",
}
GRID = (
    "A grid of circles, moons, blobs of different spread, long and round blobs and uniform points "
    "under six clusterers: blobs are blue everywhere but under leiden, which splits them; circles are "
    "blue under spectral alone; uniform points are orange and grey"
)
SEEN = {
    "agglomerative": "half of each moon, the middle between the blobs and of the long Iris cloud are orange",
    "birch": "as agglomerative, with more orange in the moons and between the blobs",
    "bisecting-kmeans": "orange where the moons are cut, and around the two wide blobs",
    "gmm": "orange where the moons are cut, between the blobs and in the middle of the long Iris cloud",
    "hdbscan": "the inner ends of the moons and the outskirts of the two wide blobs are orange; Iris, in two "
    "clusters, is nearly all blue",
    "kmeans": "orange in small zones: where the moons are cut, between the blobs, between two species",
    "kmeans-random": "much as k-means",
    "kmedoids": "much as k-means, with more orange in the middle of the long Iris cloud",
    "leiden": "orange at many borders: the moons fall into 10 clusters, the blobs into 8, Iris into 5",
    "minibatch-kmeans": "much as k-means, with more orange in the middle of the long Iris cloud",
    "spectral": "both moons are blue; the highest scores are only 0.08, 0.13 and 0.36",
}
SETTINGS = {
    "agglomerative": {"resample": 0.8},
    "hdbscan": {
        "vary": {"min_cluster_size": range(8, 25)},
        "unassigned": "disagree",
        "agreement": "jaccard",
    },
    "leiden": {"agreement": "jaccard"},
    "spectral": {"vary": {"n_neighbors": range(10, 16)}, "geometry": "kernel"},
}


def data() -> dict[str, tuple[np.ndarray, int, np.ndarray]]:
    """Points, number of clusters, and two coordinates to draw them by."""
    moons = make_moons(400, noise=0.08, random_state=0)[0]
    blobs = make_blobs(
        400, centers=[[0, 0], [4, 0], [2, 3]], cluster_std=[0.5, 1.0, 1.0], random_state=0
    )[0]
    iris = load_iris().data
    return {
        "moons": (moons, 2, moons),
        "blobs": (blobs, 3, blobs),
        "iris": (iris, 3, PCA(2).fit_transform(iris)),
    }


def draw(name: str) -> Path:
    """Score the three data sets with one method and draw them, coloured by score."""
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    for ax, (title, (X, k, at)) in zip(axes, data().items(), strict=True):
        n_clusters = None if name in {"hdbscan", "leiden"} else k
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # graphs in pieces, noise: what these methods say of such data
            cake = CAKE(n_clusters, clusterer=name, random_state=0, **SETTINGS.get(name, {})).fit(X)
        top = np.nanmax(cake.scores_)
        shown = ax.scatter(*at.T, c=cake.scores_ / top, cmap=score_colors(), vmin=0, vmax=1, s=9)
        ax.set_title(
            f"{title}: {cake.votes_.shape[1]} clusters, highest score {top:.2f}", fontsize=9
        )
        ax.set(xticks=[], yticks=[])
    figure.colorbar(shown, ax=axes, label="score / highest", fraction=0.03)
    path = DOCS / "images" / f"clusterers-{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def picture(path: str, ground: str) -> list[str]:
    """Return the lines that show the grid on pages of one ground."""
    return [f"```{{image}} {path}", f":class: {ground} own-ground", f":alt: {GRID}", "```"]


def main() -> None:
    """Draw every method and write the page."""
    lines = [
        "# The score with each clusterer",
        "",
        "How does the score look with each clusterer? Here are six of them on six shapes: orange "
        "is unsure, blue is sure,",
        "and the number in the corner is the median score. k-means is rightly unsure of circles "
        "and of data without clusters.",
        "Spectral clustering, scored along a graph, is sure of curved shapes. A high score is not "
        "proof: k-means cuts each",
        "moon in two, and is sure of the ends. `python examples/plot_grid.py` draws this.",
        "",
        *picture("images/grid.png", "only-light"),
        "",
        *picture("images/grid-dark.png", "only-dark"),
        "",
        "## One method at a time",
        "",
        "Each picture shows two moons, three blobs of different spread, and Iris (two principal "
        "components). Colours are relative",
        "to the highest score, because kernel silhouettes are always small. There are twenty runs, "
        "with `random_state=0`.",
        "`python examples/plot_clusterers.py` draws them.",
    ]
    for name in sorted(CLUSTERERS):
        path = draw(name)
        lines += [
            "",
            f"### `{name}`",
            "",
            WORDS[name],
            "",
            f"![Moons, blobs and Iris, coloured by score: {SEEN[name]}](images/{path.name})",
        ]
    (DOCS / "gallery.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
