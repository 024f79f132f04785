"""How often are outliers put into a wrong topic?

Embeddings of 20 newsgroups (1,500 documents), ten principal components, HDBSCAN: what it leaves out gets topics by `topics.score`, and by the
nearest mean of a topic. An error is a document whose class is not the one that most documents of its topic have.

`python -m experiments.research.topics.outliers` reads the embeddings from the folder that CLUSTERTRUST_DATA names, and writes
`results/outliers.md`.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from clustertrust import topics
from experiments.paper.page import markdown
from experiments.research import folder, publish
from experiments.research.topics.run import news_path

POINTS = 1500
ACCEPT = (0.0, 0.3, 0.5, 0.7, 0.9)


def main() -> None:
    """Measure, and write the table."""
    with np.load(news_path()) as news:
        rows = np.random.default_rng(6).permutation(len(news["X"]))[:POINTS]
        X, y = normalize(news["X"][rows].astype(np.float64)), news["y"][rows]
    clusterer = HDBSCAN(10, cluster_selection_method="leaf", copy=True)
    given = clusterer.fit_predict(PCA(10, random_state=0).fit_transform(X))
    out = given == -1
    model = SimpleNamespace(topics_=given.tolist())
    scored = topics.score(model, [""] * POINTS, X, random_state=0)
    most = {t: np.bincount(y[given == t]).argmax() for t in np.unique(given[~out]).tolist()}

    def error(found: list[int], those: np.ndarray) -> tuple[str, str]:
        wrong = [most[found[i]] != y[i] for i in np.flatnonzero(those)]
        return f"{those.sum() / out.sum():.2f}", f"{np.mean(wrong):.2f}" if wrong else ""

    lines = [["documents in topics", "", error(given.tolist(), ~out)[1]]]
    for accept in ACCEPT:
        found = scored.topics(accept)
        lines.append([f"accept={accept}", *error(found, out & (np.array(found) != -1))])
    means = normalize([X[given == t].mean(axis=0) for t in most])
    nearest = np.array(list(most))[(X @ means.T).argmax(axis=1)]
    lines.append(["nearest mean of a topic", *error(nearest.tolist(), out)])
    about = f"{len(most)} topics, {out.sum()} of {POINTS} documents are outliers."
    table = markdown(["way", "share of the outliers", "error"], lines)
    publish(
        {"outliers": f"{about}\n\n{table}"},
        folder("topics") / "outliers.md",
        "topics.md",
        full=True,
    )


if __name__ == "__main__":
    main()
