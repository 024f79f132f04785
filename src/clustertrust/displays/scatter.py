"""Scores on a scatter of the points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._types import Floats, Ints
from clustertrust._validation.frames import is_frame
from clustertrust._validation.points import check_matrix
from clustertrust._validation.rows import check_same_points
from clustertrust._views import View, data_view, given_view
from clustertrust.displays.base import confidence_of
from clustertrust.displays.points import PointsDisplay
from clustertrust.displays.shared import (
    MISSING_COLOR,
    NOT_ASSIGNED,
    check_one_given,
    groups_of,
    halo,
    ink,
    letter_size,
    push_apart,
    without_nan,
    written,
)
from clustertrust.results import Confidence


def view_of(X: Any, embedding: Any, row_names: pd.Index, column_names: Any = None) -> View:
    """Where to draw the points: at the embedding, at the two columns of X, or at its principal
    components.

    `row_names` are those of the points that were scored. One column gets a random height.
    `column_names` are those of X where X itself does not have them.
    """
    check_one_given(
        "give the data as X, or the (n, 2) places to draw the points at as embedding.",
        X=X,
        embedding=embedding,
    )
    if X is None:
        return _embedding_view(embedding, row_names)
    names = list(X.columns) if is_frame(X) else column_names
    matrix = check_matrix(X)
    check_same_points("X", X if is_frame(X) else matrix, "to_frame()", row_names)
    if names is None:
        names = [f"feature {i}" for i in range(matrix.shape[1])]
    heights = np.random.default_rng(0).uniform(size=len(row_names))
    return data_view(
        matrix, [written(name) for name in names], heights, "random height (X has one column)"
    )


def _embedding_view(embedding: Any, row_names: pd.Index) -> View:
    view = given_view(embedding, row_names, "to_frame()")
    is_complete = np.isfinite(view.xy).all(axis=1)
    if not is_complete.all():
        raise ValueError(
            f"embedding is missing or infinite in row {int(np.argmin(is_complete))}; every point "
            "needs a place."
        )
    return replace(view, names=(written(view.names[0]), written(view.names[1])))


@dataclass(kw_only=True, eq=False, repr=False)
class ScoreScatterDisplay(PointsDisplay):
    """Every point at its place, coloured by score.

    Use :meth:`from_estimator` or :meth:`from_confidence`. Points of two features are drawn as they
    are, others at their two principal components or at an embedding of your own; the axes say
    which. Points lie on one another in random order. Points without a cluster are squares with a
    dark edge, points without a score grey crosses.

    Parameters
    ----------
    points : (n, 2) array
    axis_names : pair of str
    scores : (n,) array, NaN: no score
    labels : (n,) consensus labels, -1: not assigned
    label_names : (k,) name of each label

    Attributes
    ----------
    points_ : artist of the points with a cluster and a score
    not_assigned_, missing_ : artists of points without a cluster and without a score, or None
    cluster_texts_ : names of the clusters, written at the member nearest to the cluster's median
    colorbar_ : the scale of scores, or None
    shown_ : positions of the points drawn, in the order they were drawn
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.displays import ScoreScatterDisplay
    >>> cake = CAKE(3, random_state=0).fit(load_iris().data)
    >>> display = ScoreScatterDisplay.from_estimator(cake, ax=Figure().add_subplot())
    >>> display.ax_.get_xlabel()
    'principal component 1 (92% of the variance)'
    """

    points: Floats
    axis_names: tuple[str, str]
    scores: Floats
    labels: Ints
    label_names: NDArray[Any]

    @classmethod
    def _compute_from_cake(cls, cake: Any, X: Any = None, *, embedding: Any = None) -> Self:
        """Draw the scores of a fitted CAKE.

        Parameters
        ----------
        cake : fitted CAKE
        X : (n, d) array, CSR matrix or frame, optional
            The points, in the order of the fit; None: those that CAKE was fitted to.
        embedding : (n, 2) array or frame, optional
            Where to draw the points instead, for example from UMAP.
        ax, max_points, scatter_kw
            As for :meth:`plot`.
        """
        confidence, column_names = confidence_of(cake), None
        if X is None and embedding is None:
            if cake.fitted_geometry_.used_metric.is_coordinate_free:
                embedding = cake.model_.view()
            else:
                X, column_names = cake.X_fit_, getattr(cake, "feature_names_in_", None)
        view = view_of(X, embedding, confidence.row_names(), column_names)
        return cls._at(view, confidence)

    @classmethod
    def _compute(cls, confidence: Confidence, X: Any = None, *, embedding: Any = None) -> Self:
        """Draw the scores of a Confidence record.

        Parameters
        ----------
        confidence : Confidence
        X : (n, d) array, CSR matrix or frame, optional
            The points that were scored.
        embedding : (n, 2) array or frame, optional
            Where to draw the points. One of `X` and `embedding` is needed.
        ax, max_points, scatter_kw
            As for :meth:`plot`.
        """
        return cls._at(view_of(X, embedding, confidence.row_names()), confidence)

    @classmethod
    def _at(cls, view: View, confidence: Confidence) -> Self:
        return cls(
            points=view.xy,
            axis_names=view.names,
            scores=confidence.scores,
            labels=confidence.labels,
            label_names=confidence.label_names,
        )

    def _draw_points(self, order: Ints, look: dict[str, Any]) -> None:
        ax, self.shown_ = self.ax_, order
        is_scored = ~np.isnan(self.scores[self.shown_])
        is_assigned = self.labels[self.shown_] >= 0
        self.points_ = self._scatter(self.points, self.shown_[is_scored & is_assigned], look)
        loose, missing = self.shown_[is_scored & ~is_assigned], self.shown_[~is_scored]
        self.not_assigned_ = self.missing_ = None
        if loose.size:
            label = f"{NOT_ASSIGNED} ({loose.size:,})"
            edge = {"marker": "s", "edgecolors": ink(ax), "linewidths": 0.8, "label": label}
            self.not_assigned_ = self._scatter(self.points, loose, look | edge)
        if missing.size:
            cross = {name: look[name] for name in ("s", "rasterized")}
            cross |= {"s": 2 * np.asarray(look["s"]), "marker": "x", "color": MISSING_COLOR}
            x, y = self.points[missing].T
            label = f"no score ({missing.size:,})"
            self.missing_ = ax.scatter(x, y, linewidths=1, label=label, **cross)
        if loose.size or missing.size:
            ax.legend(loc="best", fontsize="small", framealpha=0.9)
        self.cluster_texts_ = self._name_clusters()
        self.colorbar_ = self._add_colorbar(self.points_)
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1], title=self._title())

    def _title(self) -> str:
        return f"Score of each point: median {np.median(without_nan(self.scores)):.2f}"

    def _name_clusters(self) -> list[Any]:
        """Write each name at the member nearest to its cluster's median, so that none overlap."""
        ax = self.ax_
        groups = [group for group in groups_of(self.labels, self.label_names) if group.assigned]
        if not groups:
            return []
        places = np.array([middle_member(self.points[group.members]) for group in groups])
        size = letter_size(len(groups))
        ax.autoscale_view()
        # In points of print, as letters are
        printed = ax.transData.transform(places) * 72 / self.figure_.dpi
        boxes = np.array([[0.75 * size * len(group.name), 1.3 * size] for group in groups])
        offsets = push_apart(printed, boxes) - printed
        line = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
        look: dict[str, Any] = {"ha": "center", "va": "center", "size": size, "weight": "bold"}
        look["path_effects"] = halo(ax, 2.5)
        return [
            ax.annotate(
                group.name,
                place,
                offset,
                textcoords="offset points",
                arrowprops=line if offset.any() else None,
                **look,
            )
            for group, place, offset in zip(groups, places, offsets, strict=True)
        ]


def middle_member(points: Floats) -> Floats:
    """The point nearest to the median of its cluster: unlike the median itself, always inside."""
    squares = ((points - np.median(points, axis=0)) ** 2).sum(axis=1)
    middle: Floats = points[np.argmin(squares)]
    return middle
