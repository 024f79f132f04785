"""Cells at several resolutions, or numbers of clusters: how reproducible is each?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import check_random_state

from clustertrust._errors import ParameterError
from clustertrust._validation.arguments import check_count, check_inside, check_list
from clustertrust.anndata.data import cells_of, check_resolutions, check_target
from clustertrust.cells import meet
from clustertrust.consensus import most_central
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.ensemble.record import Ensemble
from clustertrust.estimator import CAKE
from clustertrust.matching import match_runs
from clustertrust.stability import ambiguous_pairs, pairwise_stability

# As far apart as single cells are usually tried
RESOLUTIONS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


class OnSomeColumns(ClusterMixin, BaseEstimator):
    """A clusterer that sees a random share of the columns, drawn anew by each seed.

    Parameters
    ----------
    estimator : what clusters them
    share : float
        Of the columns, at least one of which is taken.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (n,)
    """

    def __init__(self, estimator: Any, *, share: float = 0.8, random_state: Any = None) -> None:
        self.estimator, self.share, self.random_state = estimator, share, random_state

    def fit(self, X: Any, y: Any = None) -> OnSomeColumns:
        """Cluster some columns of X (n, d); y is ignored."""
        d = X.shape[1]
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.choice(d, max(1, round(self.share * d)), replace=False))
        self.labels_ = clone(self.estimator).fit(X[:, drawn]).labels_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def sweep(
    adata: Any,
    resolution: Sequence[float] | None = None,
    *,
    n_clusters: Sequence[int] | None = None,
    features: float | None = None,
    n_runs: int = 20,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    key_added: str = "sweep",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Cluster the cells at several resolutions, many times each, and compare the runs.

    Parameters
    ----------
    adata : AnnData
        Annotated in place: `obs["sweep_0.6"]` is the run at resolution 0.6 that agrees most with
        the others, and `uns["sweep"]` holds the table.
    resolution : sequence of float, optional
        Of Leiden. None: 0.2 to 2 in steps of 0.2, unless `n_clusters` is given.
    n_clusters : sequence of int, optional
        Numbers of clusters, of k-means, in place of resolutions.
    features : float, optional
        Share of the columns of the representation (components, or genes with ``use_rep="X"``) that
        each run draws, to show how much the clusters depend on the features. None: the runs differ
        only in their seeds.
    n_runs : int
        Runs at each value.
    use_rep, neighbors_key : str, optional
        As in :func:`clustertrust.anndata.score`. With `features` the cells are points.
    key_added : str
        What the names of the results begin with.
    random_state, n_jobs
        See :class:`clustertrust.CAKE`.

    Returns
    -------
    DataFrame
        One row for each value: `clusters` (the median over runs), `fewest` and `most` of them,
        `consistency` (element-centric, the mean over cells: 1 where all runs are equal) and
        `ambiguous_pairs` (PAC: the share of pairs of cells that more than 10 % and fewer than 90 %
        of the runs put together, 0 where all are equal).

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import clustertrust.anndata
    >>> adata = AnnData(load_iris().data)
    >>> table = clustertrust.anndata.sweep(adata, n_clusters=[2, 3, 6], use_rep="X")
    >>> table["n_clusters"][table["consistency"].idxmax()]
    np.int64(2)
    """
    check_target(adata, key_added)
    by, values = _values(resolution, n_clusters)
    if features is not None:
        check_inside("features", features, ends="()")
    clusterer = "leiden" if by == "resolution" else "kmeans"
    template = CAKE(
        n_clusters=None if by == "resolution" else values[0],
        clusterer=clusterer,
        n_runs=check_count("n_runs", n_runs, at_least=2),
        random_state=random_state,
        n_jobs=n_jobs,
    )
    rep = use_rep if use_rep is not None or features is None else "X_pca"
    cells = cells_of(adata, template, rep, neighbors_key)
    rows, columns = [], {}
    for value in values:
        cake = clone(template).set_params(**_at(by, value, features, clusterer))
        runs = cells.build(cake)
        rows.append({by: value} | _compared(runs))
        columns[f"{key_added}_{value:g}"] = _most_central(runs)
    table = pd.DataFrame(rows)
    # All or nothing: a value that fails leaves no columns behind.
    for name, labels in columns.items():
        adata.obs[name] = labels
    adata.uns[key_added] = {name: table[name].to_numpy() for name in table}
    return table


def _values(resolution: Any, n_clusters: Any) -> tuple[str, list[Any]]:
    """Return what is swept over, and its values."""
    values: list[Any]
    if resolution is not None and n_clusters is not None:
        raise ParameterError(
            "n_clusters", n_clusters, "is given with {resolution}", "leave one of them out"
        )
    by, values = "resolution", [*RESOLUTIONS]
    if n_clusters is not None:
        numbers = check_list("n_clusters", n_clusters, "range(2, 11)")
        by, values = "n_clusters", [check_count("n_clusters", k, at_least=1) for k in numbers]
    elif resolution is not None:
        values = check_resolutions(resolution)
    if not values or len(set(values)) < len(values):
        raise ParameterError(by, values, "must be different values", "give at least one, each once")
    return by, values


def _at(by: str, value: Any, features: float | None, clusterer: str) -> dict[str, Any]:
    """Return the parameters of runs at one value."""
    if features is None:
        return {"vary": {"resolution": [value]}} if by == "resolution" else {"n_clusters": value}
    k = 2 if by == "resolution" else value
    estimator = CLUSTERERS[clusterer].estimator(k)
    if by == "resolution":
        estimator.set_params(resolution=value)
    return {"clusterer": OnSomeColumns(estimator, share=features), "n_clusters": None}


def _compared(runs: Ensemble) -> dict[str, Any]:
    """Return how many clusters the runs have, and how much they agree."""
    return {
        "clusters": float(np.median(runs.n_clusters)),
        "fewest": int(runs.n_clusters.min()),
        "most": int(runs.n_clusters.max()),
        "consistency": float(pairwise_stability(runs, agreement="element-centric").mean()),
        "ambiguous_pairs": ambiguous_pairs(runs),
    }


def _most_central(runs: Ensemble) -> pd.Categorical:
    """Return the labels of the run that agrees most with the others, as scanpy has them."""
    labels = runs.labels[:, most_central(match_runs(meet(runs.labels)))]
    return pd.Categorical(labels.astype(str), [str(name) for name in np.unique(labels)])
