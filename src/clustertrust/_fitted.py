"""What a fitted estimator answers, about its own points and new ones, and its file and page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from clustertrust._devices import to_host
from clustertrust._notebook import ScoresInNotebook
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_mapping
from clustertrust._validation.frames import is_dask, named_columns
from clustertrust._validation.points import as_type, check_matrix
from clustertrust.distances.mixed import MixedColumns, check_table
from clustertrust.distances.precomputed import check_precomputed_rows
from clustertrust.ensemble.placing import place
from clustertrust.ensemble.record import Ensemble
from clustertrust.ensemble.runs import Runs
from clustertrust.persistence import check_dense
from clustertrust.results import Confidence, Explanation, frame_of
from clustertrust.scoring.model import Model
from clustertrust.scoring.settings import Settings
from clustertrust.storage import named_damage
from clustertrust.summary import Tested, summarize

if TYPE_CHECKING:
    from clustertrust.report import PageOptions

# Fields of `Confidence` that a fitted estimator has as attributes, with a trailing underscore.
RESULTS = tuple(
    f.name
    for f in fields(Confidence)
    if f.name not in {"agreement", "chance", "frame", "label_names"}
)


class FittedScores(ScoresInNotebook, ClusterMixin, BaseEstimator):
    """The methods of `CAKE` after its fit."""

    n_runs: int | str | Runs
    random_state: Any

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
        """Return the mean of `score_samples(X)`. To choose k, use `choose_k` instead.

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
            rarely exceed, as in `to_frame`.

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
            rarely exceed, see :meth:`Confidence.cut`.

        Returns
        -------
        Explanation
            `print` says it in words.
        """
        check_is_fitted(self)
        return self.confidence_.explain(point, threshold)

    def report(
        self,
        path: str | Path,
        X: Any = None,
        *,
        tests: Iterable[Tested] = (),
        **options: Unpack[PageOptions],
    ) -> None:
        """Write an HTML page to explore the scores.

        Parameters
        ----------
        path : path of the file
        X : (n, d) array, CSR matrix or frame, optional
            What to draw and to show of each point, instead of the data of the fit. For data larger
            than memory and for Dask data, only a sample was kept: without `X` the scatter then
            shows stability and geometry.
        tests : results of `null_reference` and `choose_k`
            For the same data: the page quotes their verdicts, and says where they disagree.
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
        self.confidence_.report(path, X, tests=tests, **options)

    def save(self, path: str | Path, *, preparation: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file of arrays and JSON, never pickle.

        The file is written completely or not at all. A model of Dask data keeps the scores of the
        sample that its runs were fitted on.

        Parameters
        ----------
        path : the file to write; an existing file is replaced
        preparation : dict, optional
            What was done to the columns before the fit, as the command stores it: plain values,
            stored with the model and read by :func:`clustertrust.model_files.read_about`.

        Raises
        ------
        ValueError
            If the method cannot be stored: estimators, functions and callable metrics given in
            place of names, and runs whose models cannot be written as arrays.
        """
        from clustertrust.model_files import ModelFile, about_columns, save_model

        check_is_fitted(self)
        kept = self.confidence_
        if is_dask(kept.scores):
            from clustertrust.files.sources import Block
            from clustertrust.streaming.scorers import BlockScorer

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
        save_model(path, ModelFile(params, about, self.X_fit_, kept), self.model_)

    @classmethod
    def load(cls, path: str | Path) -> Self:
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
        from clustertrust.model_files import load_model

        kept, model = load_model(path)
        with named_damage(Path(path)):
            odd = sorted(kept.params.keys() ^ cls().get_params(deep=False).keys())
            if odd:
                raise ValueError(f"its parameters lack, or should not have, {', '.join(odd)}")
            cake = cls(**kept.params)
            Settings.from_estimator(cake)
        cake._keep(kept.X, model, kept.confidence)
        cake._set_columns(kept.about["n_features_in"], kept.about["feature_names"])
        if "mixed" in kept.about:
            cake.mixed_columns_ = MixedColumns.from_json(kept.about["mixed"])
        return cake

    def _keep(self, X: Any, model: Model, confidence: Confidence) -> None:
        """Store the results of a fit or of a file."""
        self.X_fit_, self.model_, self.confidence_ = X, model, confidence
        self.fitted_geometry_ = model.geometry
        for name in RESULTS:
            setattr(self, f"{name}_", getattr(confidence, name))

    def _set_columns(self, n_features: int, names: Sequence[str] | None) -> None:
        self.n_features_in_ = n_features
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit finished; checking X alone sets attributes too."""
        return hasattr(self, "confidence_")

    def _check_new(self, X: Any) -> Any:
        """Return unseen points in the form of the data of the fit."""
        geometry = self.model_.scoring.geometry
        if geometry.is_precomputed:
            return check_precomputed_rows(X, self)
        if geometry.is_mixed:
            check_table(X, self, reset=False)
            return self.mixed_columns_.encode(X)
        return as_type(check_matrix(X, estimator=self, reset=False), self.X_fit_.dtype)

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
        from clustertrust.streaming.dask_passes import DaskReader

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
