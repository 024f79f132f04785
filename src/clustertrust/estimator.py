"""CAKE, the scikit-learn clusterer, and its function twin `confidence`: check, call the parts,
store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from clustertrust._parallel import memory_budget
from clustertrust._validation import as_type, check_mapping, check_matrix, is_dask, is_frame
from clustertrust.ensemble.building import build_runs
from clustertrust.ensemble.labels import check_rows
from clustertrust.ensemble.record import Ensemble, as_ensemble
from clustertrust.files.sources import Block, Source
from clustertrust.files.tables import open_source
from clustertrust.fusion import WITH_PERSISTENCE
from clustertrust.model_files import StoredModel, about_columns, load_model, save_model
from clustertrust.persistence import check_dense
from clustertrust.reasons import THRESHOLD
from clustertrust.results import Confidence, Explanation, frame_of
from clustertrust.scoring.model import Model, Silhouettes, build_model
from clustertrust.scoring.settings import Scoring, Settings
from clustertrust.scoring.settling import build_until_settled
from clustertrust.streaming.dask_passes import DaskPasses, score_on_dask
from clustertrust.streaming.passes import Passes, passes_over
from clustertrust.streaming.stream import Judge, collect, fit_stream
from clustertrust.tables import warn_of_scales

__all__ = ["CAKE", "EXPECTED_FAILED_CHECKS", "confidence"]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]

# Fields of `Confidence` that are attributes of a fitted estimator, with an underscore behind.
RESULTS = tuple(
    f.name for f in fields(Confidence) if f.name not in {"agreement", "frame", "label_names"}
)

# Checks of scikit-learn that CAKE does not pass, with the reason for each.
EXPECTED_FAILED_CHECKS: dict[str, str] = {}


def confidence(
    X: Any,
    labels: Any,
    *,
    centers: Any = None,
    fusion: str = "harmonic",
    geometry: str = "auto",
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    kernel: Any = "self-tuning",
    kernel_params: dict[str, Any] | None = None,
    normalization: str = "clip",
    agreement: str = "matching",
    unassigned: str = "skip",
    consensus: str = "medoid",
    n_jobs: int | None = None,
) -> Confidence:
    """Score partitions that are there already.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) where `metric` or `kernel` is "precomputed"
        The points. Of a Dask array or frame the fields of the result are Dask arrays, and
        `geometry` is "rms" or "centroid".
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        The partitions, at least two. Labels of any kind; negative numbers and missing values mean
        that the point is not assigned. pandas labels that name their rows must do so as X does, in
        its order. With Dask data they may be in a Dask array of whole numbers.
    centers : sequence of R arrays, optional
        For `geometry="centroid"`: row ℓ of the array of a run is the centre of its label ℓ.
    fusion, geometry, metric, metric_params, kernel, kernel_params, normalization, agreement,
    unassigned, consensus
        See :class:`CAKE`.
    n_jobs : int, optional
        Threads; None: every core. The result is the same for any number.

    Returns
    -------
    Confidence
        A record with the fields of a fitted :class:`CAKE`, without the underscores.

    Examples
    --------
    >>> from clustertrust import confidence
    >>> X = [[0.0], [0.1], [1.2], [2.0], [2.1]]
    >>> confidence(X, [["a", "a", "a", "b", "b"], ["x", "x", "y", "y", "y"]]).scores.round(2).tolist()
    [0.81, 0.82, 0.0, 0.87, 0.86]
    """
    scoring = Scoring.of(
        {
            "centers": centers,
            "fusion": fusion,
            "geometry": geometry,
            "metric": metric,
            "metric_params": metric_params,
            "kernel": kernel,
            "kernel_params": kernel_params,
            "normalization": normalization,
            "agreement": agreement,
            "unassigned": unassigned,
            "consensus": consensus,
            "n_jobs": n_jobs,
        }
    )
    if is_dask(X):
        return score_on_dask(X, as_ensemble(labels, at_least=2, of_dask=True), scoring)
    check_rows(X, labels)
    ensemble = as_ensemble(labels, at_least=2)
    points = scoring.check_points(X, len(ensemble.labels))
    model = build_model(points, ensemble, scoring)
    return model.confidence(model.judge_training(points), frame=frame_of(X))


class CAKE(ClusterMixin, BaseEstimator):
    """Clustering with a confidence score for every assignment.

    The data are clustered many times. A point that the runs keep together with the same others is
    stable; a point that lies well inside its cluster is well placed. Its score, between 0 and 1, is
    high where both hold (Confidence in Assignments via K-partition Ensembles [1]_).

    Parameters
    ----------
    n_clusters : int, optional
        Clusters of each run; None: 8 for names, and an estimator's own value.
    clusterer : str, estimator, function, or a list of these
        A name: "kmeans" (k-means++), "kmeans-random", "minibatch-kmeans", "gmm", "kmedoids",
        "birch", "spectral", "agglomerative", "bisecting-kmeans", "hdbscan", "leiden"; any
        scikit-learn clusterer, mixture or Pipeline, which is cloned and gets a new seed for each
        run; a function `(X, rng) -> labels`. From a list runs are dealt in turn.
    n_runs : int or "auto"
        Number R of runs, at least 2. "auto": at least 20, then ten more at a time until the median
        standard error of the scores is at most a tenth of their interquartile range; 200 at most.
    vary : dict, optional
        Values of parameters from which each run draws one, such as ``{"n_neighbors": range(10,
        16)}``, or ``{"n_clusters": range(8, 13)}`` in place of `n_clusters`, with
        `agreement="jaccard"`.
    resample : float or "bootstrap", optional
        Fit each run on this share of the points, drawn without replacement, or on n drawn with
        replacement.
    left_out : {"skip", "predict"}
        Points that a resampled run left out are not assigned in it, or placed by its model.
    on_failure : {"raise", "drop"}
        Whether a run that fails ends the fit or is left out.
    fusion : {"harmonic", "product", "refined"}
        How stability c and geometry S̃ make a score: 2 c S̃ / (c + S̃) or c S̃. "refined" is the
        mean of the first and of persistence (see :mod:`clustertrust.persistence`): not the paper's,
        often a better ranking, for dense points and the Euclidean metric.
    geometry : {"auto", "exact", "sampled", "centroid", "rms", "kernel"}
        What a silhouette compares. "exact": mean distances to the members of clusters. "centroid":
        distances to their centres. "rms": root-mean-square distances to the members, as cheap as
        "centroid" and closer to "exact". "sampled": mean distances to some 2000 members, drawn from
        all cells; between "rms" and "exact" in cost. "kernel": distances to the means of clusters
        in the space of a kernel. "auto": "exact" for up to 50,000 points while n² d ≤ 5·10¹¹ and
        for every metric but the Euclidean, otherwise "rms".
    metric, metric_params : str or callable, dict, optional
        For "exact": any metric of :func:`sklearn.metrics.pairwise_distances` and its parameters.
        "precomputed" is for :func:`confidence`.
    kernel, kernel_params : str or callable, dict, optional
        For "kernel": "self-tuning" (Gaussian, its scale at a point the distance to its 7th
        neighbour), "rbf", "linear", "polynomial" or a callable of two rows, and its parameters.
        "precomputed" is for :func:`confidence`.
    normalization : {"clip", "affine"}
        How mean less spread of the silhouettes becomes S̃ in [0, 1]: cut off at 0, or mapped by (x
        + 1) / 2.
    agreement : {"matching", "jaccard"}
        When two runs agree on a point: its clusters are partners in the best matching, or by how
        far they overlap.
    unassigned : {"skip", "disagree"}
        Whether runs that do not assign a point are left out or count against it.
    consensus : {"medoid", "best-reference"}
        The run whose labels the consensus is told in: the one that agrees most with all others, or
        the one that gives the strongest consensus.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends on `random_state` and r alone, so that 40 runs begin with the same
        20.
    n_jobs : int, optional
        Threads; None: every core. The result is the same for any number.
    verbose : bool
        Show a progress bar while the runs are made, where there is a terminal.
    checkpoint : path, optional
        A folder that keeps each finished run. A fit of the same data with the same settings goes on
        where another stopped. Workers of Dask must all see it under the same path.

    Attributes
    ----------
    scores_ : (n,) score in [0, 1], higher is surer
    stability_ : (n,) share of run pairs that put the point into the same cluster
    geometry_ : (n,) S̃, mean less spread of the point's silhouette over the runs
    geometry_method_ : str, the geometry used
    silhouette_mean_, silhouette_std_ : (n,)
    persistence_ : (n,) share of its posterior that the label keeps when clusters take their own
        spread and shape; None unless `fusion="refined"`
    standard_errors_ : (n,) jackknife-over-runs standard error of `scores_`. Where all runs but any
        one give the score 0, it is 0; that is no certainty. `persistence_` is held fixed in it.
    labels_ : (n,) consensus label
    consensus_strength_ : (n,) share of the runs voting for it
    votes_ : (n, k) share of the runs voting for each label
    rival_ : (n,) label with the second most votes, else the nearest other cluster; -1: none
    reference_run_ : int
    ensemble_ : Ensemble
    n_runs_ : int
    confidence_ : Confidence, all of the above as one record
    model_ : Model, what scores unseen points
    X_fit_ : (n, d) the points of the fit; of data larger than memory, or Dask's, the sample that
        runs were fitted on
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    References
    ----------
    .. [1] A. Semoglou and J. Pavlopoulos, "CAKE: Confidence in Assignments via K-partition
    Ensembles", Machine
       Learning with Applications 24 (2026) 100915. https://doi.org/10.1016/j.mlwa.2026.100915

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
        n_runs: int | str = 20,
        vary: Mapping[str, Sequence[Any]] | None = None,
        resample: float | str | None = None,
        left_out: str = "skip",
        on_failure: str = "raise",
        fusion: str = "harmonic",
        geometry: str = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        kernel: Any = "self-tuning",
        kernel_params: dict[str, Any] | None = None,
        normalization: str = "clip",
        agreement: str = "matching",
        unassigned: str = "skip",
        consensus: str = "medoid",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.n_runs = n_runs
        self.vary = vary
        self.resample = resample
        self.left_out = left_out
        self.on_failure = on_failure
        self.fusion = fusion
        self.geometry = geometry
        self.metric = metric
        self.metric_params = metric_params
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.normalization = normalization
        self.agreement = agreement
        self.unassigned = unassigned
        self.consensus = consensus
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None) -> CAKE:
        """Cluster X `n_runs` times and score every point.

        Parameters
        ----------
        X : (n, d) array, CSR matrix or frame; memory-mapped array, file or folder; Dask array or
            frame Paths are of files that :func:`clustertrust.files.read_table` reads, or folders of
            CSV, TSV, Parquet or Arrow files. Memory-mapped arrays and files of more than a quarter
            of scikit-learn's `working_memory` are gone through in blocks of rows (see
            :mod:`clustertrust.streaming`); `scores_`, `votes_` and so on are then arrays on disk,
            and `ensemble_` has the labels of the sample that the runs were fitted on. Of Dask data
            they are Dask arrays; where a `dask.distributed` client is open, its workers fit the
            runs and go through the blocks.
        y : ignored, there for scikit-learn's conventions

        Returns
        -------
        CAKE
            This estimator, fitted.
        """
        self._forget()
        settings = Settings.of(self)
        if is_dask(X):
            return self._fit_stream(DaskPasses(X), settings)
        if isinstance(X, str | Path | Source | np.memmap):
            source = open_source(X)
            if source.n_bytes > memory_budget():
                return self._fit_stream(
                    passes_over(source, self.n_runs, self.n_jobs, self.verbose), settings
                )
            X = source.load()
        frame, names = frame_of(X), list(X.columns) if is_frame(X) else []
        X = check_matrix(X, estimator=self)
        settings.check_points(X)
        warn_of_scales(X, names)
        ensemble, known = self._build(X, settings)
        model = build_model(X, ensemble, settings.scoring)
        # Clusters that were found here have no names but their numbers, the same in labels_ and
        # to_frame().
        self._keep(
            X, model, model.confidence(model.judge_training(X, known), frame=frame, numbered=True)
        )
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit left, so that the next one equals that of a fresh estimator,
        also where it fails.
        """
        for name in list(vars(self)):
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end; checking X alone leaves attributes too."""
        return hasattr(self, "confidence_")

    def _build(self, X: Any, settings: Settings) -> tuple[Ensemble, Silhouettes | None]:
        """The runs, with their silhouettes where these were needed to tell how many runs are
        enough.
        """
        if settings.recipe.n_runs == "auto":
            return build_until_settled(X, settings)
        return build_runs(X, settings.recipe), None

    def _fit_stream(self, passes: Passes, settings: Settings) -> CAKE:
        """Fit data that are larger than memory, or on other machines."""
        streamed = fit_stream(passes, settings)
        if isinstance(passes, DaskPasses):
            found = streamed.model.confidence(**passes.judge(streamed.judge), numbered=True)
        else:
            found = collect(streamed, passes)
        self._keep(streamed.built.sample.X, streamed.model, found)
        self._set_columns(passes.n_features, passes.columns)
        self.n_passes_ = streamed.n_passes
        return self

    def _set_columns(self, n_features: int, names: Sequence[str] | None) -> None:
        self.n_features_in_ = n_features
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Say that sparse input is welcome, but to persistence."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.fusion not in WITH_PERSISTENCE
        return tags

    def _place(self, X: Any) -> tuple[Any, Ints]:
        """Check unseen points and place them in every run: (n_new, R), in the clusters' own
        numbers.
        """
        check_is_fitted(self)
        X = as_type(check_matrix(X, estimator=self, reset=False), self.X_fit_.dtype)
        if self.model_.scoring.refines:
            check_dense(X)
        return X, self.model_.encode(self.ensemble_.place(X))

    def _judge_dask(self, X: Any, what: str) -> Any:
        """The `labels` or `scores` of unseen points in Dask's hands."""
        check_is_fitted(self)
        passes = DaskPasses(X)
        known = getattr(self, "feature_names_in_", None)
        if passes.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {passes.n_features} columns; this model was fitted on "
                f"{self.n_features_in_}."
            )
        if known is not None and passes.columns is not None and passes.columns != list(known):
            raise ValueError(
                f"X has columns {passes.columns}; this model was fitted on {list(known)}, in this "
                "order."
            )
        return passes.judge_new(self.model_, self.ensemble_.placers, self.X_fit_.dtype, what)

    def predict(self, X: Any) -> Ints:
        """Consensus label of unseen points.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame; Dask array or frame
            Columns as in the fit.

        Returns
        -------
        (n_new,) labels, -1 where no run has a vote; of Dask data a Dask array

        Notes
        -----
        Every run places every point, so that training points get their `labels_` back but for three
        cases. With `resample` and `left_out="skip"` the runs that left a point out vote here too.
        Copies of a point that a run puts into different clusters, as methods without a model may
        ("leiden", "hdbscan", "spectral", functions), all get the label of the first. And an
        estimator's `predict` may differ from its `labels_`: `MeanShift(cluster_all=False)` labels
        noise too, and `AffinityPropagation` may part copies.
        """
        if is_dask(X):
            return self._judge_dask(X, "labels")
        _, rows = self._place(X)
        return self.model_.votes(rows).labels

    def score_samples(self, X: Any) -> Floats:
        """CAKE score of unseen points, on the scale of `scores_`.

        Each run places the point. Agreement comes from the matchings of the training runs, the
        silhouette from the point's distances to the training clusters, of which it is no member.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame; Dask array or frame
            Columns as in the fit.

        Returns
        -------
        (n_new,) scores; of Dask data a Dask array
        """
        if is_dask(X):
            return self._judge_dask(X, "scores")
        X, rows = self._place(X)
        return self.model_.score(X, rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples(X)`, for model selection.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame; Dask array or frame
        y : ignored, there for scikit-learn's conventions

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def judge(self, X: Any, *, threshold: float = THRESHOLD) -> Any:
        """Label, score, reason and the rest of unseen points: a table with the columns of
        `to_frame`.

        Labels are those of `predict`, scores those of `score_samples`.

        Parameters
        ----------
        X : (n_new, d) array, CSR matrix or frame
        threshold : float
            Above this a score is kept, and the reason is "core".

        Returns
        -------
        DataFrame
            One row a point, as the kind of frame that came in (pandas with its index, polars), else
            pandas.
        """
        if is_dask(X):
            raise TypeError(
                "judge makes a table in memory; give it X.compute(), or use predict and "
                "score_samples."
            )
        frame = frame_of(X)
        X, rows = self._place(X)
        judged = self.model_.judge_new(X, rows)
        return self.model_.confidence(judged, frame=frame, numbered=True).to_frame(threshold)

    def to_frame(self, threshold: float = THRESHOLD) -> Any:
        """One row a point, as the kind of frame that came in (pandas with its index, polars), else
        pandas.

        Parameters
        ----------
        threshold : float
            The column "reason" says why a point is kept, or what speaks against it where its score
            is not above this (:mod:`clustertrust.reasons`); no other column depends on it.

        Returns
        -------
        DataFrame
        """
        check_is_fitted(self)
        return self.confidence_.to_frame(threshold)

    def report(
        self,
        path: str | Path,
        X: Any = None,
        *,
        settings: Mapping[str, Any] | None = None,
        title: str | None = None,
        threshold: float = THRESHOLD,
        embedding: Any = None,
    ) -> None:
        """Write one HTML page to explore the scores with; :func:`clustertrust.report.write_report`
        has the parameters.

        Parameters
        ----------
        path : path of the file
        X : (n, d) array, CSR matrix or frame, optional
            What to draw and to show of each point, in place of the data of the fit. Of data larger
            than memory, or Dask's, a sample alone was kept: without `X` the scatter then shows
            stability and geometry.
        settings : dict, optional
            More names and values to print, after the parameters of this estimator.
        title, threshold, embedding
            See :func:`clustertrust.report.write_report`.
        """
        check_is_fitted(self)
        if X is None and self.X_fit_.shape[0] == len(self.scores_):
            names = getattr(self, "feature_names_in_", None)
            X = (
                self.X_fit_
                if names is None or sparse.issparse(self.X_fit_)
                else pd.DataFrame(self.X_fit_, columns=names)
            )
        known = self.get_params(deep=False)
        if not isinstance(
            self.random_state, int
        ):  # then the seeds alone can make the same runs again
            known["seeds"] = ", ".join(map(str, self.ensemble_.seeds or ()))
        known |= check_mapping("settings", settings)
        self.confidence_.report(
            path, X, settings=known, title=title, threshold=threshold, embedding=embedding
        )

    def save(self, path: str | Path, *, preparation: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file of arrays and JSON (never pickle), whole or not at
        all.

        A model of Dask data keeps the scores of the sample that its runs were fitted on.

        Parameters
        ----------
        path : where to; a file that is there is replaced
        preparation : dict, optional
            What was done to the columns before the fit, as the command keeps it: plain values, kept
            beside the model and read by :func:`clustertrust.model_files.read_about`.

        Raises
        ------
        ValueError
            Where the method cannot be stored: estimators, functions and callable metrics given in
            place of names, and runs whose models arrays do not hold.
        """
        check_is_fitted(self)
        kept = self.confidence_
        if is_dask(kept.scores):
            judge = Judge(self.model_, self.ensemble_.placers)
            found: dict[str, Any] = dict(judge(Block(self.X_fit_)))
            kept = replace(kept, **found)
        params = self.get_params(deep=False) | {"checkpoint": None}  # a place on this machine
        about = about_columns(
            self.n_features_in_, getattr(self, "feature_names_in_", None), preparation
        )
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
            Where the file is damaged, of another version, or no model.
        """
        stored = load_model(path)
        try:
            cake = cls(**stored.params)
        except TypeError as error:
            raise ValueError(
                f"{str(path)!r} is damaged: its parameters are not those of CAKE ({error})."
            ) from error
        cake._keep(stored.X, stored.model, stored.confidence)
        cake._set_columns(stored.about["n_features_in"], stored.about["feature_names"])
        return cake

    def _keep(self, X: Any, model: Model, confidence: Confidence) -> None:
        """Store what a fit, or a file, gave."""
        self.X_fit_, self.model_, self.confidence_ = X, model, confidence
        for name in RESULTS:
            setattr(self, f"{name}_", getattr(confidence, name))

    def summary(self, threshold: float = THRESHOLD, points: int = 5) -> str:
        """A short text: quantiles of the scores, a table by cluster, reasons, the `points` most
        ambiguous points.

        Clusters are told with the share of their points whose score is not above `threshold`, and
        reasons go by it.
        """
        check_is_fitted(self)
        return self.confidence_.summary(threshold, points)

    def explain(self, point: int, threshold: float = THRESHOLD) -> Explanation:
        """Why a point scored as it did: votes, rival cluster, weak component, reason.

        Parameters
        ----------
        point : int
            Its position; negative: from the end.
        threshold : float
            Above this a score is kept, and the reason is "core".

        Returns
        -------
        Explanation
            `print` says it in words.
        """
        check_is_fitted(self)
        return self.confidence_.explain(point, threshold)
