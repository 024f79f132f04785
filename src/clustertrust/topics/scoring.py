"""A fitted topic model, its documents and their embeddings → TopicScores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD

from clustertrust._errors import InputError, ParameterError
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_count
from clustertrust._validation.points import check_matrix
from clustertrust.auditing import audit
from clustertrust.distances.metrics import unit_rows
from clustertrust.ensemble.fitting import seed_parameters
from clustertrust.ensemble.record import Ensemble
from clustertrust.topics.pictures import OUTLIER
from clustertrust.topics.record import TopicScores

# Directions of embeddings are judged in this many principal components: as good as all of them,
# and several times as fast (experiments/research/topics).
COMPONENTS = 50


def score(
    topic_model: Any,
    docs: Sequence[str],
    embeddings: Any,
    *,
    topics: Sequence[int] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TopicScores:
    """Score every document's topic, and suggest one for every outlier.

    The topics are audited as any labels are (:func:`clustertrust.audit`), by the directions of the
    embeddings: the rows are scaled to unit length, and those with more than 50 columns are reduced
    to 50 principal components.

    Parameters
    ----------
    topic_model : fitted BERTopic, or any object with `topics_`
        `topics_` holds the topic of each document, -1 for outliers. Names of topics are taken from
        `custom_labels_` or `topic_labels_` where it has them.
    docs : the n documents that it was fitted on
    embeddings : (n, d) array or CSR matrix
        Their embeddings, as given to `fit_transform`. Others work too: the topics are then judged
        in that space.
    topics : n integers, optional
        In place of `topics_`, such as topics that you have corrected.
    random_state : int, RandomState, sequence of 40 seeds or None
    n_jobs : int, optional
        Threads; None: every core.

    Returns
    -------
    TopicScores

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sklearn.datasets import make_blobs
    >>> from clustertrust.topics import score
    >>> embeddings, topics = make_blobs(60, 8, centers=3, random_state=0)
    >>> topics[:5] = -1
    >>> model = SimpleNamespace(topics_=topics.tolist())  # as a fitted BERTopic has them
    >>> scored = score(model, ["a document"] * 60, embeddings, random_state=0)
    >>> list(scored.columns())
    ['score', 'standard_error', 'suggested', 'suggested_score', 'rival', 'reason']
    >>> scored.topics(accept=0.5).count(-1)
    0
    """
    codes = _topics_of(topic_model, topics)
    X = _check_embeddings(embeddings)
    for name, size in (("docs", len(docs)), ("embeddings", X.shape[0])):
        if size != len(codes):
            raise InputError(
                f"{name} has {size} rows and the topic model {len(codes)} documents; give those "
                "that it was fitted on, in the same order."
            )
    if len(np.unique(codes[codes != OUTLIER])) < 2:
        raise InputError(
            "The topic model has fewer than two topics besides the outliers; there is nothing to "
            "compare. Lower its min_topic_size."
        )
    X = directions(X)
    labels = Ensemble.from_labels(np.where(codes < 0, OUTLIER, codes))
    audited = audit(X, labels, random_state=random_state, n_jobs=n_jobs)
    return TopicScores(audited, codes, names_of(topic_model), list(docs), X)


def directions(X: Any) -> Floats:
    """Return rows of unit length, in at most 50 principal components."""
    rows = unit_rows(X)
    if min(rows.shape) <= COMPONENTS:
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    # Sparse rows would not stay sparse if they were centred.
    reduce = TruncatedSVD if hasattr(rows, "toarray") else PCA
    reduced = reduce(COMPONENTS, random_state=0).fit_transform(rows)
    return np.asarray(reduced, dtype=np.float64)


def _check_embeddings(embeddings: Any) -> Any:
    if embeddings is None:
        raise ParameterError(
            "embeddings",
            None,
            "is missing",
            "give those of the documents: topic_model.embedding_model.embed(docs) makes them",
        )
    return check_matrix(embeddings)


def _topics_of(topic_model: Any, topics: Any) -> Ints:
    """Return the topic of each document, by number."""
    name = "topics"
    if topics is None:
        name, topics = "topic_model", getattr(topic_model, "topics_", None)
        if topics is None:
            raise ParameterError(
                "topic_model",
                type(topic_model).__name__,
                "has no topics_ yet",
                "fit it first: topic_model.fit_transform(docs, embeddings)",
            )
    values: Array = np.asarray(topics)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ParameterError(
            name,
            f"{values.dtype} of shape {values.shape}",
            "has no list of integers",
            "give one topic for each document, -1 for outliers",
        )
    return values.astype(np.int64)


def names_of(topic_model: Any) -> dict[int, str]:
    """Return the names of the topics that the model has, by number."""
    labels = getattr(topic_model, "topic_labels_", None)
    names = {int(topic): str(name) for topic, name in (labels or {}).items()}
    custom = getattr(topic_model, "custom_labels_", None)
    if isinstance(custom, Mapping):
        return names | {int(topic): str(name) for topic, name in custom.items()}
    # BERTopic lists them in the order of the topics.
    if custom is not None and len(custom) == len(names):
        return {topic: str(name) for topic, name in zip(sorted(names), custom, strict=True)}
    return names


def refit(topic_model: Any, embeddings: Any, *, n_runs: int = 5, random_state: int = 0) -> Ensemble:
    """Cluster the embeddings again with other seeds, by the model's own reduction and clusterer.

    Clones of `umap_model` and `hdbscan_model` are fitted, and nothing else is done again: no words
    of topics, no names. The runs show how much the topics and their number depend on the seed;
    :func:`clustertrust.confidence` scores them.

    Parameters
    ----------
    topic_model : fitted BERTopic, or an object with `umap_model` and `hdbscan_model`
    embeddings : (n, d) array or CSR matrix
    n_runs : number of seeds
    random_state : the first seed; the others follow it

    Returns
    -------
    Ensemble
        One run for each seed; outliers are not assigned.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> from clustertrust.topics import refit
    >>> embeddings, _ = make_blobs(60, 8, centers=3, random_state=0)
    >>> steps = {"umap_model": GaussianRandomProjection(2), "hdbscan_model": KMeans(3, n_init=1)}
    >>> refit(SimpleNamespace(**steps), embeddings, n_runs=4).n_clusters.tolist()
    [3, 3, 3, 3]
    """
    X = _check_embeddings(embeddings)
    n_runs = check_count("n_runs", n_runs, at_least=2)
    parts = [getattr(topic_model, name, None) for name in ("umap_model", "hdbscan_model")]
    if not hasattr(parts[1], "fit_predict"):
        raise ParameterError(
            "topic_model",
            type(topic_model).__name__,
            "has no hdbscan_model that clusters",
            "give a fitted BERTopic that has one, or an object with umap_model and hdbscan_model",
        )
    if not any(part is not None and _seeds(part) for part in parts):
        raise ParameterError(
            "topic_model",
            type(topic_model).__name__,
            "has no part that takes a seed, so all runs would be the same",
            "give the BERTopic with its own umap_model",
        )
    runs = []
    for seed in range(random_state, random_state + n_runs):
        reduced = X
        if hasattr(parts[0], "fit_transform"):
            reduced = _seeded(parts[0], seed).fit_transform(X)
        runs.append(np.asarray(_seeded(parts[1], seed).fit_predict(reduced)))
    return Ensemble.from_labels(runs)


def _seeds(part: Any) -> list[str]:
    return seed_parameters(part) if hasattr(part, "get_params") else []


def _seeded(part: Any, seed: int) -> Any:
    return clone(part).set_params(**dict.fromkeys(_seeds(part), seed))
