"""CAKE, the scikit-learn clusterer, and its function twin `confidence`.

Both check their input, call the parts of the package, and store what they return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clustertrust._devices import holding, refuse_gpu, resolve_device, resolve_on_workers, to_host
from clustertrust._fitted import FittedScores
from clustertrust._parallel import kept_threads, memory_budget, one_blas_thread
from clustertrust._validation.frames import is_dask, is_frame, is_source
from clustertrust._validation.points import check_matrix, warn_of_distances
from clustertrust.chance import chance_of
from clustertrust.distances.metrics import as_metric
from clustertrust.distances.mixed import as_mixed, check_table
from clustertrust.distances.precomputed import check_precomputed
from clustertrust.ensemble.clusterers import CLUSTERERS, Clusterer
from clustertrust.ensemble.labels import in_order_of
from clustertrust.ensemble.record import Ensemble, as_ensemble
from clustertrust.ensemble.running import build_runs
from clustertrust.ensemble.runs import Runs
from clustertrust.fusion import FUSIONS
from clustertrust.geometry.base import Geometry
from clustertrust.results import Confidence, frame_of
from clustertrust.scoring.convergence import build_until_converged
from clustertrust.scoring.model import Silhouettes, build_model
from clustertrust.scoring.settings import Scoring, Settings

# What few fits need is loaded where it is used: data in files, in blocks and on Dask, and tables.


@kept_threads()
@holding()
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
        `geometry` must be "rms" or "centroid", or "exact" on workers with GPUs. An (n, n) matrix is
        declared by `metric="precomputed"`, `Kernel("precomputed")` or `Graph(weights=True)`; with
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
        from clustertrust.streaming.dask_passes import score_on_dask

        scoring = scoring.on(resolve_on_workers(device))
        return score_on_dask(X, as_ensemble(labels, at_least=2, of_dask=True), scoring)
    scoring = scoring.on(resolve_device(device, X))
    X = to_host(X)
    ensemble = as_ensemble(in_order_of(X, labels), at_least=2)
    points = scoring.check_points(X, len(ensemble.labels))
    model = build_model(points, ensemble, scoring)
    return model.confidence(model.training_fields(points), frame=frame_of(X))


class CAKE(FittedScores):
    """Cluster data and give every assignment a confidence score.

    The data are clustered many times. A point is stable if the runs keep it together with the same
    other points; it is well placed if it lies well inside its cluster. Its score, between 0 and 1,
    is high where both hold (Confidence in Assignments via K-partition Ensembles [1]_).

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters of each run. None: 8 for a named clusterer, with a warning; an estimator
        keeps its own value.
    clusterer : str, estimator, function, or a list of these
        A name: "kmeans" (k-means++), "kmeans-random", "minibatch-kmeans", "gmm", "kmedoids",
        "birch", "spectral", "agglomerative", "bisecting-kmeans", "hdbscan", "leiden"; any
        scikit-learn clusterer, mixture or Pipeline, which is cloned and gets a new seed for each
        run; a function `(X, rng) -> labels`. The runs take the clusterers of a list in turn.
        "kmeans" is our own k-means: it starts as scikit-learn's does and differs only by rounding;
        ``KMeans(n_init=1)`` gives exactly scikit-learn's result.
    n_runs : int, "auto" or Runs
        Number R of runs, at least 2. "auto": 20 to 1,000, until 95 % of the scores are within 0.05
        of those of many runs (1.96 standard errors) and their order has settled: the median
        jackknife error is at most a tenth of their interquartile range.
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
        How stability c and geometry S̃ are combined. "harmonic": 2 c S̃ / (c + S̃). "product": c S̃.
        "refined": the mean of the harmonic score and persistence (see
        :mod:`clustertrust.persistence`); it needs dense points and the Euclidean metric.
        "combined": the mean of the harmonic score, persistence, and second opinions of other
        methods (:class:`~clustertrust.Combined`). The last two are not in the paper; on average
        they rank better.
    geometry : {"auto", "exact", "sampled", "centroid", "rms", "kernel", "graph"} or Geometry
        How the distance from a point to a cluster is measured. A name is short for an object of
        :mod:`clustertrust.geometry` with its defaults, such as `Exact()`; the objects have their
        own parameters, such as `Kernel("rbf", gamma=0.5)` and `Graph(n_neighbors=10)`. "exact":
        mean distances to the members of clusters. "centroid": distances to their centres. "rms":
        root-mean-square distances to the members, as cheap as "centroid" and closer to "exact".
        "sampled": mean distances to about 2000 members, drawn from all cells; its cost is between
        "rms" and "exact". "kernel": distances to the means of clusters in the space of a kernel.
        "graph": shares of short random walks along nearest neighbours that end in a cluster; for
        clusters of any shape. "auto": "exact" for up to 50,000 points while n² d ≤ 5·10¹¹, and for
        every metric except the Euclidean; otherwise "rms".
    metric : str, function or Metric
        The distance for silhouettes ("exact" and "graph"), and for runs of "kmedoids",
        "agglomerative", "hdbscan", "spectral" and "leiden"; other clusterers take coordinates. With
        "cosine", k-means clusters the rows scaled to unit length, also in blocks and on Dask. Any
        metric of :func:`sklearn.metrics.pairwise_distances`; with parameters as
        ``Metric("minkowski", {"p": 3})``. "gower" is for tables of numbers and categories, with
        ``Metric("gower", {"categorical": [columns]})`` for columns of numbers that are categories;
        "precomputed" if X holds distances, dense or, for "leiden", "spectral" and "hdbscan", a
        sparse graph of neighbours. "agglomerative" has average linkage then.
    normalization : {"clip", "affine", "smooth"}
        How silhouettes become S̃ in [0, 1]. "clip", "affine": their mean minus their spread, cut
        off at 0, or mapped by (x + 1) / 2. "smooth": the mean alone, cut off so gently that all
        points keep their order; for runs that are meant to differ.
    agreement : {"matching", "jaccard", "element-centric", "reference"}
        When two runs agree on a point. "matching": if the best matching pairs its two clusters.
        "jaccard", "element-centric": in proportion to the overlap of its two clusters, as a share
        of their union or of the larger one. "reference": if both clusters have the same partner in
        the run that agrees most with all others.
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
        Show the progress while the runs are made: a bar in a terminal or a notebook, otherwise an
        occasional line.
    device : {"auto", "cpu", "cuda", "cuda-double"}
        Where the kernels run. "cuda": on an NVIDIA GPU, by CuPy (``pip install
        "clustertrust[gpu]"``): runs of k-means, silhouettes by exact distances, centres or named
        kernels, and scores with their errors. Distances are computed in single precision and summed
        without rounding; "cuda-double" computes them in double precision. Everything else runs on
        the CPU. "auto": on the GPU if X is already there (CuPy arrays, torch tensors), otherwise on
        the CPU. Results are always NumPy arrays. For Dask data the blocks are scored on the GPUs of
        the workers, and `geometry="exact"` is possible.

    Attributes
    ----------
    scores_ : (n,) score in [0, 1], higher is surer
    stability_ : (n,) share of run pairs that put the point into the same cluster
    geometry_ : (n,) S̃, mean minus spread of the point's silhouette over the runs
    fitted_geometry_ : Geometry, the geometry used, with its parameters
    geometry_method_ : str, its name
    silhouette_mean_, silhouette_std_ : (n,) of the point's silhouettes over the runs
    persistence_ : (n,) share of its posterior that the label keeps when each cluster may take its
        own spread and shape; None unless `fusion` is "refined" or "combined"
    second_opinions_ : (n,) share of a few runs of other methods that give the same label; None
        unless `fusion="combined"`
    second_choice_ : (n,) the label that most of these runs give, likewise
    standard_errors_ : (n,) standard error of `scores_` over other runs: the jackknife, and an
        allowance for solutions that no run has found yet, and for other second opinions. It is 0
        only where stability or geometry is 0 and other runs would rarely raise it. `persistence_`
        is held fixed.
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

    @kept_threads()
    @holding()
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
            return self._fit_stream(X, settings.on_workers(resolve_on_workers(self.device)))
        settings = settings.on(resolve_device(self.device, X))
        X = to_host(X)
        is_stored = isinstance(X, str | Path | np.memmap) or is_source(X)
        if is_stored and not settings.recipe.needs_all:
            from clustertrust.files.tables import open_source

            X = open_source(X)
        if is_source(X):
            if X.n_bytes > memory_budget():
                refuse_gpu(self.device)
                return self._fit_stream(X, settings)
            X = X.load()
        frame, names = frame_of(X), list(X.columns) if is_frame(X) else []
        X = self._check(X, settings)
        settings.check_points(X)
        if not settings.recipe.needs_all:
            warn_of_distances(X)
            if names:
                from clustertrust.tables import warn_of_columns

                warn_of_columns(X, names)
        # Once for all: setting it for each part takes as long as clustering little data.
        with one_blas_thread:
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

    def _forget(self) -> None:
        """Delete the results of an earlier fit, so that none is left if the next one fails."""
        for name in list(vars(self)):
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)

    def _build(self, X: Any, settings: Settings) -> tuple[Ensemble, Silhouettes | None]:
        """Make the runs; return their silhouettes too if they decided how many runs are enough."""
        if settings.recipe.runs.n_runs == "auto":
            return build_until_converged(X, settings)
        return build_runs(X, settings.recipe), None

    def _fit_stream(self, X: Any, settings: Settings) -> CAKE:
        """Fit data that are larger than memory or on other machines."""
        from clustertrust.streaming.dask_passes import DaskReader
        from clustertrust.streaming.passes import reader_of
        from clustertrust.streaming.stream import collect, fit_stream

        reader: Any = DaskReader(X) if is_dask(X) else None
        if reader is not None:
            streamed = fit_stream(reader, settings)
            fields = reader.score_blocks(streamed.scorer)
            scored = streamed.model.confidence(**fields, numbered=True, chance=streamed.chance)
        else:
            reader = reader_of(X, settings.recipe.runs.n_runs, self.n_jobs, self.verbose)
            streamed = fit_stream(reader, settings)
            scored = collect(streamed, reader)
        self._keep(streamed.built.sample.X, streamed.model, scored)
        self._set_columns(reader.n_features, reader.columns)
        self.n_passes_ = streamed.n_passes
        return self

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse input is accepted, except by persistence, and what rows are."""
        tags = super().__sklearn_tags__()
        # fit reports what is unknown; tags are read before that.
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
