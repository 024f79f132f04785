"""CAKE, the scikit-learn clusterer, and its function twin `confidence`.

Both check their input, call the parts of the package, and store what they return.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from clustertrust._devices import refuse_gpu, resolve_device, to_host
from clustertrust._notebook import ScoresInNotebook
from clustertrust._parallel import memory_budget
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation import (
    as_type,
    check_mapping,
    check_matrix,
    is_dask,
    is_frame,
    named_columns,
)
from clustertrust.chance import chance_of
from clustertrust.distances.metrics import as_metric
from clustertrust.distances.mixed import MixedColumns, as_mixed, check_table
from clustertrust.distances.precomputed import check_precomputed, check_precomputed_rows
from clustertrust.ensemble.building import build_runs
from clustertrust.ensemble.clusterers import CLUSTERERS, Clusterer
from clustertrust.ensemble.labels import in_order_of
from clustertrust.ensemble.placing import place
from clustertrust.ensemble.record import Ensemble, as_ensemble
from clustertrust.ensemble.runs import Runs
from clustertrust.files.sources import Block, Source
from clustertrust.files.tables import open_source
from clustertrust.fusion import FUSIONS
from clustertrust.geometry.base import Geometry
from clustertrust.model_files import StoredModel, about_columns, load_model, save_model
from clustertrust.persistence import check_dense
from clustertrust.report import PageOptions
from clustertrust.results import Confidence, Explanation, frame_of
from clustertrust.scoring.convergence import build_until_converged
from clustertrust.scoring.model import Model, Silhouettes, build_model
from clustertrust.scoring.settings import Scoring, Settings
from clustertrust.storage import named_damage
from clustertrust.streaming.dask_passes import DaskReader, score_on_dask
from clustertrust.streaming.passes import BlockReader, reader_of
from clustertrust.streaming.stream import BlockScorer, collect, fit_stream
from clustertrust.summary import Tested, summarize
from clustertrust.tables import warn_of_columns, warn_of_distances

# Fields of `Confidence` that a fitted estimator has as attributes, with a trailing underscore.
RESULTS = tuple(
    f.name
    for f in fields(Confidence)
    if f.name not in {"agreement", "chance", "frame", "label_names"}
)


def confidence(
    X: Any,
    labels: Any,
    *,
    fusion: Any = "harmonic",
    geometry: Any = "auto",
    metric: Any = "euclidean",
    normalization: str = "clip",
    agreement: str = "matching",
    unassigned: str = "skip",
    consensus: str = "medoid",
    n_jobs: int | None = None,
    device: str = "auto",
) -> Confidence:
    """Score partitions that you already have.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) distances, values of a kernel or weights of links
        The points. For a Dask array or frame, the fields of the result are Dask arrays, and
        `geometry` must be "rms" or "centroid". An (n, n) matrix is declared by
        `metric="precomputed"`, `Kernel("precomputed")` or `Graph(weights=True)`; with
        `geometry="graph"` it may be sparse: distances to neighbours, or weights of links.
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        The partitions, at least two. Labels can be of any kind; noise and missing values mean that
        the point is not assigned (:meth:`Ensemble.from_labels` says what is noise, and its option
        changes that). pandas labels with the index of X in another order are put into the order of
        X, with a warning. With Dask data, labels may be a Dask array of integers.
    fusion, geometry, metric, normalization, agreement, unassigned, consensus
        See :class:`CAKE`. Centres that you have are given as `Centroid(centers=…)`.
    n_jobs : int, optional
        Number of threads; None: one per core. It does not change the result.
    device
        Where the kernels run; see :class:`CAKE`.

    Returns
    -------
    Confidence
        A record with the fields of a fitted :class:`CAKE`, without the underscores.

    Examples
    --------
    >>> from clustertrust import confidence
    >>> X = [[0.0], [0.1], [1.2], [2.0], [2.1]]
    >>> confidence(X, [list("aaabb"), list("xxyyy")]).scores.round(2).tolist()
    [0.81, 0.82, 0.0, 0.87, 0.86]
    """
    # All parameters by name.
    scoring = Scoring.from_params(locals())
    if is_dask(X):
        refuse_gpu(device)
        return score_on_dask(X, as_ensemble(labels, at_least=2, of_dask=True), scoring)
    scoring = scoring.on(resolve_device(device, X))
    X = to_host(X)
    ensemble = as_ensemble(in_order_of(X, labels), at_least=2)
    points = scoring.check_points(X, len(ensemble.labels))
    model = build_model(points, ensemble, scoring)
    return model.confidence(model.training_fields(points), frame=frame_of(X))


class CAKE(ScoresInNotebook, ClusterMixin, BaseEstimator):
    """Cluster data and give every assignment a confidence score.

    The data are clustered many times. A point is stable if the runs keep it together with the same
    other points; it is well placed if it lies well inside its cluster. Its score, between 0 and 1,
    is high where both hold (Confidence in Assignments via K-partition Ensembles [1]_).

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters of each run. None: 8 for a named clusterer, with a warning; the own value
        of an estimator.
    clusterer : str, estimator, function, or a list of these
        A name: "kmeans" (k-means++), "kmeans-random", "minibatch-kmeans", "gmm", "kmedoids",
        "birch", "spectral", "agglomerative", "bisecting-kmeans", "hdbscan", "leiden"; any
        scikit-learn clusterer, mixture or Pipeline, which is cloned and gets a new seed for each
        run; a function `(X, rng) -> labels`. The runs take the clusterers of a list in turn.
        "kmeans" is a k-means of our own, from scikit-learn's starts and the same but for rounding;
        ``KMeans(n_init=1)`` is scikit-learn's to the last bit.
    n_runs : int, "auto" or Runs
        Number R of runs, at least 2. "auto": at least 20, then ten more at a time until 95 % of the
        scores are within 0.05 of those of many runs (1.96 standard errors), and their order has
        settled: the median jackknife error is at most a tenth of their interquartile range; 500 at
        most.
        :class:`~clustertrust.Runs` also says what happens to points that a resampled run left out
        and to runs that fail, and where finished runs are kept.
    vary : dict, optional
        Values of parameters, of which each run draws one, such as ``{"n_neighbors": range(10,
        16)}``, or ``{"n_clusters": range(8, 13)}`` in place of `n_clusters`, with
        `agreement="jaccard"`.
    resample : float or "bootstrap", optional
        Fit each run on this share of the points, drawn without replacement, or on n drawn with
        replacement.
    fusion : {"harmonic", "product", "refined", "combined"} or Fusion
        How stability c and geometry S̃ are combined: 2 c S̃ / (c + S̃) or c S̃. "refined" is the
        mean of the first and of persistence (see :mod:`clustertrust.persistence`); it needs dense
        points and the Euclidean metric. "combined" is the mean of the first, of persistence and of
        second opinions of other methods (:class:`~clustertrust.Combined`). These two are not in the
        paper and mostly rank better.
    geometry : {"auto", "exact", "sampled", "centroid", "rms", "kernel", "graph"} or Geometry
        What a silhouette compares. A name is short for an object of :mod:`clustertrust.geometry`
        with its defaults, such as `Exact()`; the objects have parameters of their own, such as
        `Kernel("rbf", gamma=0.5)` and `Graph(n_neighbors=10)`. "exact": mean distances to the
        members of clusters. "centroid": distances to their centres. "rms": root-mean-square
        distances to the members, as cheap as "centroid" and closer to "exact". "sampled": mean
        distances to about 2000 members, drawn from all cells; its cost is between "rms" and
        "exact". "kernel": distances to the means of clusters in the space of a kernel. "graph":
        shares of short random walks along nearest neighbours that end in a cluster; for clusters of
        any shape. "auto": "exact" for up to 50,000 points while n² d ≤ 5·10¹¹, and for every metric
        except the Euclidean; otherwise "rms".
    metric : str, function or Metric
        The distance of the silhouettes, for "exact" and "graph", and of the runs of "kmedoids",
        "agglomerative", "hdbscan", "spectral" and "leiden"; other clusterers take coordinates. With
        "cosine", k-means clusters the rows scaled to unit length, also in blocks and on Dask. Any
        metric of :func:`sklearn.metrics.pairwise_distances`; with parameters as
        ``Metric("minkowski", {"p": 3})``. "gower" is for tables of numbers and categories, with
        ``Metric("gower", {"categorical": [columns]})`` for columns of numbers that are categories;
        "precomputed" if X holds distances, dense or, for "leiden", "spectral" and "hdbscan", a
        sparse graph of neighbours. "agglomerative" has average linkage then.
    normalization : {"clip", "affine"}
        How mean minus spread of the silhouettes becomes S̃ in [0, 1]: cut off at 0, or mapped by
        (x + 1) / 2.
    agreement : {"matching", "jaccard", "element-centric", "reference"}
        When two runs agree on a point: if the best matching pairs its two clusters; in proportion
        to their overlap, as a share of their union or of the larger one; or if both have the same
        partner in the run that agrees most with all others.
    unassigned : {"skip", "disagree"}
        Whether runs that do not assign a point are ignored or count against it.
    consensus : {"medoid", "best-reference"}
        The run that gives the consensus its labels: the one that agrees most with all others, or
        the one that gives the strongest consensus.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends only on `random_state` and r, so the first 20 of 40 runs are the
        same as 20 runs.
    n_jobs : int, optional
        Number of threads; None: one per core. It does not change the result.
    verbose : bool
        Show the progress while the runs are made: a bar in a terminal or a notebook, else a line
        now and then.
    device : {"auto", "cpu", "cuda", "cuda-double"}
        Where the kernels run. "cuda": on an NVIDIA GPU, by CuPy (``pip install
        "clustertrust[gpu]"``): runs of k-means, and silhouettes by exact distances, centres or
        named kernels. Distances are computed in single precision and summed without rounding;
        "cuda-double" computes them in double precision. Everything else runs on the CPU. "auto": on
        the GPU if X is already there (CuPy arrays, torch tensors), otherwise on the CPU. Results
        are always NumPy arrays.

    Attributes
    ----------
    scores_ : (n,) score in [0, 1], higher is surer
    stability_ : (n,) share of run pairs that put the point into the same cluster
    geometry_ : (n,) S̃, mean minus spread of the point's silhouette over the runs
    fitted_geometry_ : Geometry, the geometry used, with its parameters
    geometry_method_ : str, its name
    silhouette_mean_, silhouette_std_ : (n,)
    persistence_ : (n,) share of its posterior that the label keeps when each cluster may take its
        own spread and shape; None unless `fusion` is "refined" or "combined"
    second_opinions_ : (n,) share of a few runs of other methods that give the same label; None
        unless `fusion="combined"`
    second_choice_ : (n,) the label that most of these runs give, likewise
    standard_errors_ : (n,) standard error of `scores_` over other runs: the jackknife, and runs of
        a kind not seen yet. It is 0 only where the score is 0 and other runs would hardly lift it.
        `persistence_` and `second_opinions_` are held fixed.
    labels_ : (n,) consensus label
    consensus_strength_ : (n,) share of the runs voting for it
    votes_ : (n, k) share of the runs voting for each label
    rival_ : (n,) label with the second most votes, else the nearest other cluster; -1: none
    reference_run_ : int
    ensemble_ : Ensemble
    n_runs_ : int
    confidence_ : Confidence, all of the above as one record
    model_ : Model, scores unseen points
    mixed_columns_ : for `metric="gower"`, how columns are encoded: their ranges and categories
    X_fit_ : (n, d) the points of the fit, or their distances (n, n); for data larger than memory
        and for Dask data, the sample that the runs were fitted on
    n_features_in_, feature_names_in_ : as in other scikit-learn estimators

    References
    ----------
    .. [1] A. Semoglou and J. Pavlopoulos, "CAKE: Confidence in Assignments via K-partition
       Ensembles", Machine Learning with Applications 24 (2026) 100915. https://doi.org/10.1016/j.mlwa.2026.100915

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> cake = CAKE(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> cake.scores_.shape, bool(cake.scores_[0] > 0.85)
    ((150,), True)
    >>> cake.explain(50).weak
    'geometry'
    """

    # For type checkers: `fit` sets them by the names of the results.
    scores_: Floats
    stability_: Floats
    geometry_: Floats
    silhouette_mean_: Floats
    silhouette_std_: Floats
    standard_errors_: Floats
    labels_: Ints
    consensus_strength_: Floats
    votes_: Floats
    rival_: Ints
    reference_run_: int
    geometry_method_: str
    ensemble_: Ensemble
    n_runs_: int
    sampling_error_: float
    unassigned_: str
    persistence_: Floats | None
    second_opinions_: Floats | None
    second_choice_: Ints | None

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        clusterer: Any = "kmeans",
        n_runs: int | str | Runs = 20,
        vary: Mapping[str, Sequence[Any]] | None = None,
        resample: float | str | None = None,
        fusion: Any = "harmonic",
        geometry: Any = "auto",
        metric: Any = "euclidean",
        normalization: str = "clip",
        agreement: str = "matching",
        unassigned: str = "skip",
        consensus: str = "medoid",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.n_runs = n_runs
        self.vary = vary
        self.resample = resample
        self.fusion = fusion
        self.geometry = geometry
        self.metric = metric
        self.normalization = normalization
        self.agreement = agreement
        self.unassigned = unassigned
        self.consensus = consensus
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> CAKE:
        """Cluster X `n_runs` times and score every point.

        Parameters
        ----------
        X : (n, d) array, CSR matrix or frame; memory-mapped array, path; Dask array or frame
            With `metric="precomputed"` the (n, n) distances, which are not copied, memory-mapped or
            not; with `metric="gower"` a frame, in which text, categories and booleans are
            compared by match, and missing values are skipped. A path is that of a file that
            :func:`clustertrust.files.read_table` reads, or of a folder of CSV, TSV, Parquet or
            Arrow files. Memory-mapped arrays and files larger than a quarter of scikit-learn's
            `working_memory` are read in blocks of rows (see :mod:`clustertrust.streaming`);
            `scores_`, `votes_` and so on are then arrays on disk, and `ensemble_` has the labels of
            the sample that the runs were fitted on. For Dask data they are Dask arrays; if a
            `dask.distributed` client is open, its workers fit the runs and read the blocks.
        y : ignored, there for scikit-learn's conventions

        Returns
        -------
        CAKE
            This estimator, fitted.
        """
        self._forget()
        settings = Settings.from_estimator(self)
        settings.recipe.check_place(X)
        if is_dask(X):
            refuse_gpu(self.device)
            return self._fit_stream(DaskReader(X), settings.on("cpu"))
        settings = settings.on(resolve_device(self.device, X))
        X = to_host(X)
        if isinstance(X, str | Path | Source | np.memmap) and not settings.recipe.needs_all:
            source = open_source(X)
            if source.n_bytes > memory_budget():
                refuse_gpu(self.device)
                return self._fit_stream(
                    reader_of(source, settings.recipe.runs.n_runs, self.n_jobs, self.verbose),
                    settings,
                )
            X = source.load()
        frame, names = frame_of(X), list(X.columns) if is_frame(X) else []
        X = self._check(X, settings)
        settings.check_points(X)
        if not settings.recipe.needs_all:
            warn_of_columns(X, names)
            warn_of_distances(X)
        ensemble, silhouettes = self._build(X, settings)
        model = build_model(X, ensemble, settings.scoring)
        fields = model.training_fields(X, silhouettes, built=True)
        # Clusters found here have no names, only numbers: the same in labels_ and to_frame().
        chance = chance_of(X, settings.recipe, model)
        self._keep(X, model, model.confidence(fields, frame=frame, numbered=True, chance=chance))
        return self

    def _check(self, X: Any, settings: Settings) -> Any:
        """Return the data of a fit, checked: points, encoded rows of a table, or distances."""
        if settings.recipe.is_precomputed:
            return check_precomputed(X, self)
        if not settings.scoring.geometry.is_mixed:
            return check_matrix(X, estimator=self)
        columns, encoded = as_mixed(X, settings.recipe.metric.params)
        check_table(X, self)
        self.mixed_columns_ = columns
        return encoded

    def _check_new(self, X: Any) -> Any:
        """Return unseen points in the form of the data of the fit."""
        geometry = self.model_.scoring.geometry
        if geometry.is_precomputed:
            return check_precomputed_rows(X, self)
        if geometry.is_mixed:
            check_table(X, self, reset=False)
            return self.mixed_columns_.encode(X)
        return as_type(check_matrix(X, estimator=self, reset=False), self.X_fit_.dtype)

    def _forget(self) -> None:
        """Delete the results of an earlier fit, so that none is left if the next one fails."""
        for name in list(vars(self)):
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit finished; checking X alone sets attributes too."""
        return hasattr(self, "confidence_")

    def _build(self, X: Any, settings: Settings) -> tuple[Ensemble, Silhouettes | None]:
        """Make the runs; return their silhouettes too if they decided how many runs are enough."""
        if settings.recipe.runs.n_runs == "auto":
            return build_until_converged(X, settings)
        return build_runs(X, settings.recipe), None

    def _fit_stream(self, reader: BlockReader, settings: Settings) -> CAKE:
        """Fit data that are larger than memory or on other machines."""
        streamed = fit_stream(reader, settings)
        if isinstance(reader, DaskReader):
            fields = reader.score_blocks(streamed.scorer)
            scored = streamed.model.confidence(**fields, numbered=True, chance=streamed.chance)
        else:
            scored = collect(streamed, reader)
        self._keep(streamed.built.sample.X, streamed.model, scored)
        self._set_columns(reader.n_features, reader.columns)
        self.n_passes_ = streamed.n_passes
        return self

    def _set_columns(self, n_features: int, names: Sequence[str] | None) -> None:
        self.n_features_in_ = n_features
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse input is accepted, except by persistence, and what rows are."""
        tags = super().__sklearn_tags__()
        # What is not known is told by fit; tags are asked for before.
        geometry = self.geometry if isinstance(self.geometry, Geometry) else None
        metric = as_metric(self.metric) if geometry is None else geometry.used_metric
        metric = as_metric(self.metric) if metric.is_default else metric
        clusterer = self.clusterer
        if isinstance(clusterer, str):
            clusterer = CLUSTERERS.get(clusterer)
        takes_graph = isinstance(clusterer, Clusterer) and clusterer.takes_graph
        fusion = FUSIONS.get(self.fusion) if isinstance(self.fusion, str) else self.fusion
        refines = getattr(fusion, "uses_persistence", False)
        needs_dense = refines or metric.is_mixed or (metric.is_precomputed and not takes_graph)
        tags.input_tags.sparse = not needs_dense
        tags.input_tags.pairwise = tags.input_tags.positive_only = metric.is_precomputed
        tags.input_tags.categorical = tags.input_tags.string = metric.is_mixed
        tags.input_tags.allow_nan = metric.is_mixed
        return tags

    def _place(self, X: Any) -> tuple[Any, Ints]:
        """Check unseen points and return their cluster in every run, (n_new, R)."""
        check_is_fitted(self)
        X = self._check_new(to_host(X))
        if self.model_.scoring.uses_persistence:
            check_dense(X, self.model_.scoring.fusion.name)
        return X, self.model_.encode(place(self.ensemble_.placers, X))

    def _score_dask(self, X: Any, what: str) -> Array:
        """Return the `labels` or `scores` of unseen points in a Dask array or frame."""
        check_is_fitted(self)
        reader = DaskReader(X)
        names = getattr(self, "feature_names_in_", None)
        if reader.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {reader.n_features} columns; this model was fitted on "
                f"{self.n_features_in_}."
            )
        if names is not None and reader.columns is not None and reader.columns != list(names):
            raise ValueError(
                f"X has columns {reader.columns}; this model was fitted on {list(names)}, in this "
                "order."
            )
        scored: Array = reader.score_new(
            self.model_, self.ensemble_.placers, self.X_fit_.dtype, what
        )
        return scored

    def predict(self, X: Any) -> Ints:
        """Return the consensus label of unseen points.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame; Dask array or frame
            Columns as in the fit. With `metric="precomputed"` the distances to the training points,
            (n_new, n).

        Returns
        -------
        (n_new,) labels, -1 where no run has a vote; a Dask array for Dask data

        Notes
        -----
        Every run places every point, so training points get their `labels_` back, with three
        exceptions. With `resample` and `left_out="skip"`, runs that left a point out vote here too.
        A method without a model ("leiden", "hdbscan", "spectral", functions) may put copies of a
        point into different clusters; here they all get the label of the first. And an estimator's
        `predict` may differ from its `labels_`: `MeanShift(cluster_all=False)` labels noise too,
        and `AffinityPropagation` may separate copies.
        """
        if is_dask(X):
            return self._score_dask(X, "labels")
        _, rows = self._place(X)
        return self.model_.votes(rows).labels

    def score_samples(self, X: Any) -> Floats:
        """Return the CAKE score of unseen points, on the scale of `scores_`.

        Each run places the point. Agreement comes from the matchings of the training runs, the
        silhouette from the point's distances to the training clusters; it is a member of none.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame; Dask array or frame
            Columns as in the fit. With `metric="precomputed"` the distances to the training points,
            (n_new, n).

        Returns
        -------
        (n_new,) scores; a Dask array for Dask data
        """
        if is_dask(X):
            return self._score_dask(X, "scores")
        X, rows = self._place(X)
        return self.model_.score(X, rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples(X)`, for model selection.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame; Dask array or frame
        y : ignored, there for scikit-learn's conventions

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def judge(self, X: Any, *, threshold: float | None = None) -> Any:
        """Return a table of unseen points with the columns of `to_frame`.

        Labels are those of `predict`, scores those of `score_samples`.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame
        threshold : float, optional
            Above this a score is kept, and the reason is "core". None: what data without clusters
            hardly reach, as in `to_frame`.

        Returns
        -------
        DataFrame
            One row per point, the kind of frame that X is (pandas with its index, polars), else
            pandas.
        """
        if is_dask(X):
            raise TypeError(
                "judge makes a table in memory; give it X.compute(), or use predict and "
                "score_samples."
            )
        frame = frame_of(X)
        X, rows = self._place(X)
        threshold = self.confidence_.cut().threshold if threshold is None else threshold
        fields = self.model_.new_fields(X, rows)
        return self.model_.confidence(fields, frame=frame, numbered=True).to_frame(threshold)

    def to_frame(self, threshold: float | None = None) -> Any:
        """Return a table with one row per point: a pandas or polars frame, as X was, else pandas.

        Parameters
        ----------
        threshold : float, optional
            The column "reason" says why a point is kept, or why not if its score is not above this
            (:mod:`clustertrust.reasons`). No other column depends on it. None: what 95 % of the
            points of data without clusters do not exceed, see :meth:`Confidence.cut`.

        Returns
        -------
        DataFrame
        """
        check_is_fitted(self)
        return self.confidence_.to_frame(threshold)

    def report(self, path: str | Path, X: Any = None, **options: Unpack[PageOptions]) -> None:
        """Write an HTML page to explore the scores.

        Parameters
        ----------
        path : path of the file
        X : (n, d) array, CSR matrix or frame, optional
            What to draw and to show of each point, instead of the data of the fit. For data larger
            than memory and for Dask data, only a sample was kept: without `X` the scatter then
            shows stability and geometry.
        **options
            `title`, `threshold`, `embedding`, `original` and others, see
            :func:`clustertrust.report.write_report`. `settings` are more names and values to
            print, after the parameters of this estimator.
        """
        check_is_fitted(self)
        without_points = self.model_.scoring.geometry.used_metric.is_coordinate_free
        if X is None and options.get("embedding") is None and without_points:
            options["embedding"] = self.model_.view()
        if X is None and self.X_fit_.shape[0] == len(self.scores_) and not without_points:
            names = getattr(self, "feature_names_in_", None)
            X = self.X_fit_ if names is None else named_columns(self.X_fit_, names)
        params = self.get_params(deep=False)
        # Without a number, the seeds alone can make the same runs again.
        if not isinstance(self.random_state, int):
            params["seeds"] = ", ".join(map(str, self.ensemble_.seeds or ()))
        options["settings"] = params | check_mapping("settings", options.get("settings"))
        self.confidence_.report(path, X, **options)

    def save(self, path: str | Path, *, preparation: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file of arrays and JSON, never pickle.

        The file is written completely or not at all. A model of Dask data keeps the scores of the
        sample that its runs were fitted on.

        Parameters
        ----------
        path : the file to write; an existing file is replaced
        preparation : dict, optional
            What was done to the columns before the fit, as the command stores it: plain values,
            written beside the model and read by :func:`clustertrust.model_files.read_about`.

        Raises
        ------
        ValueError
            If the method cannot be stored: estimators, functions and callable metrics given in
            place of names, and runs whose models cannot be written as arrays.
        """
        check_is_fitted(self)
        kept = self.confidence_
        if is_dask(kept.scores):
            scorer = BlockScorer(self.model_, self.ensemble_.placers)
            of_sample: dict[str, Any] = dict(scorer(Block(self.X_fit_)))
            kept = replace(kept, **of_sample)
        params = self.get_params(deep=False)
        if isinstance(self.n_runs, Runs):
            # The folder is a place on this machine.
            params["n_runs"] = clone(self.n_runs).set_params(checkpoint=None)
        about = about_columns(
            self.n_features_in_, getattr(self, "feature_names_in_", None), preparation
        )
        if self.model_.scoring.geometry.is_mixed:
            about |= {"mixed": self.mixed_columns_.to_json()}
        save_model(path, StoredModel(params, self.X_fit_, self.model_, kept, about))

    @classmethod
    def load(cls, path: str | Path) -> CAKE:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path of the file

        Returns
        -------
        CAKE
            The fitted model.

        Raises
        ------
        ValueError
            If the file is damaged, of another version, or not a model.
        """
        stored = load_model(path)
        with named_damage(Path(path)):
            odd = sorted(stored.params.keys() ^ cls().get_params(deep=False).keys())
            if odd:
                raise ValueError(f"its parameters lack, or should not have, {', '.join(odd)}")
            cake = cls(**stored.params)
            Settings.from_estimator(cake)
        cake._keep(stored.X, stored.model, stored.confidence)
        cake._set_columns(stored.about["n_features_in"], stored.about["feature_names"])
        if "mixed" in stored.about:
            cake.mixed_columns_ = MixedColumns.from_json(stored.about["mixed"])
        return cake

    def _keep(self, X: Any, model: Model, confidence: Confidence) -> None:
        """Store the results of a fit or of a file."""
        self.X_fit_, self.model_, self.confidence_ = X, model, confidence
        self.fitted_geometry_ = model.geometry
        for name in RESULTS:
            setattr(self, f"{name}_", getattr(confidence, name))

    def summary(
        self, threshold: float | None = None, points: int = 5, tests: Iterable[Tested] = ()
    ) -> str:
        """Return a short text: score quantiles, a table by cluster, reasons, ambiguous points.

        The table gives the share of each cluster's points whose score is not above `threshold`;
        reasons use the same threshold. `points` is the number of ambiguous points to list. `tests`
        are results of :func:`~clustertrust.null_reference` and :func:`~clustertrust.choose_k` for
        the same data: their verdicts are quoted, and where they disagree the text says so.
        """
        check_is_fitted(self)
        return summarize(self.confidence_, threshold=threshold, points=points, tests=tests)

    def explain(self, point: Any, threshold: float | None = None) -> Explanation:
        """Explain the score of a point: votes, rival cluster, weak component, reason.

        Parameters
        ----------
        point : int, or label of the index
            If X was a pandas frame whose index has this label, the row of that label; otherwise a
            position, and a negative one counts from the end. The explanation says which it was.
        threshold : float, optional
            Above this a score is kept, and the reason is "core". None: what data without clusters
            hardly reach, see :meth:`Confidence.cut`.

        Returns
        -------
        Explanation
            `print` says it in words.
        """
        check_is_fitted(self)
        return self.confidence_.explain(point, threshold)
