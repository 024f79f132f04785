"""Scores on a scatter of the points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._types import Floats, Ints
from clustertrust._validation import check_matrix, check_same_rows, is_frame
from clustertrust._views import View, data_view, given_view
from clustertrust.displays.shared import (
    FEW_NAMES,
    MAX_POINTS,
    MISSING_COLOR,
    NOT_ASSIGNED,
    Display,
    check_confidence,
    check_max_points,
    check_scatter_kw,
    confidence_of,
    draw_order,
    draw_points,
    groups_of,
    push_apart,
    require_matplotlib,
    sample_note,
    scatter_look,
    written,
)
from clustertrust.distances.metrics import is_coordinate_free
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def view_of(X: Any, embedding: Any, row_names: pd.Index, names: Any = None) -> View:
    """Where to draw the points: at the embedding given, at the two columns of X, or at its
    principal components.

    `row_names` are those of the points that were scored. One column gets a random height. `names`
    are those of the columns of X where X itself does not have them.
    """
    if (X is None) == (embedding is None):
        raise ValueError(
            "X and embedding are "
            + ("both missing" if X is None else "both given")
            + "; give the data as X, or the "
            "(n, 2) places to draw the points at as embedding."
        )
    if embedding is not None:
        return _given(embedding, row_names)
    n, given, names = len(row_names), X, list(X.columns) if is_frame(X) else names
    X = check_matrix(X)
    if X.shape[0] != n:
        raise ValueError(
            f"X has {X.shape[0]} rows for {n} scores; give the data that were scored, in the same "
            "order."
        )
    if isinstance(given, pd.DataFrame):
        check_same_rows("X", given.index, "to_frame()", row_names)
    columns = (
        [f"feature {i}" for i in range(X.shape[1])]
        if names is None
        else [written(name) for name in names]
    )
    return data_view(
        X, columns, np.random.default_rng(0).uniform(size=n), "random height (X has one column)"
    )


def _given(embedding: Any, row_names: pd.Index) -> View:
    view = given_view(embedding, row_names, "to_frame()")
    whole = np.isfinite(view.xy).all(axis=1)
    if not whole.all():
        raise ValueError(
            f"embedding is missing or infinite in row {int(np.argmin(whole))}; every point needs a "
            "place."
        )
    return replace(view, names=(written(view.names[0]), written(view.names[1])))


class ScoreScatterDisplay(Display):
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

    def __init__(
        self,
        *,
        points: Floats,
        axis_names: tuple[str, str],
        scores: Floats,
        labels: Ints,
        label_names: NDArray,
    ) -> None:
        self.points = points
        self.axis_names = axis_names
        self.scores = scores
        self.labels = labels
        self.label_names = label_names

    @classmethod
    def from_estimator(
        cls,
        cake: Any,
        X: Any = None,
        *,
        embedding: Any = None,
        ax: Axes | None = None,
        max_points: int | None = MAX_POINTS,
        scatter_kw: dict[str, Any] | None = None,
    ) -> ScoreScatterDisplay:
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
        confidence = confidence_of(cake)
        names = None
        if X is None and embedding is None and is_coordinate_free(cake.metric):
            embedding = cake.model_.view()
        elif X is None and embedding is None:
            X, names = cake.X_fit_, getattr(cake, "feature_names_in_", None)
        view = view_of(X, embedding, confidence.row_names(), names)
        return cls._of(confidence, view).plot(ax, max_points=max_points, scatter_kw=scatter_kw)

    @classmethod
    def from_confidence(
        cls,
        confidence: Confidence,
        X: Any = None,
        *,
        embedding: Any = None,
        ax: Axes | None = None,
        max_points: int | None = MAX_POINTS,
        scatter_kw: dict[str, Any] | None = None,
    ) -> ScoreScatterDisplay:
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
        confidence = check_confidence(confidence)
        view = view_of(X, embedding, confidence.row_names())
        return cls._of(confidence, view).plot(ax, max_points=max_points, scatter_kw=scatter_kw)

    @classmethod
    def _of(cls, confidence: Confidence, view: View) -> ScoreScatterDisplay:
        return cls(
            points=view.xy,
            axis_names=view.names,
            scores=confidence.scores,
            labels=confidence.labels,
            label_names=confidence.label_names,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_points: int | None = MAX_POINTS,
        scatter_kw: dict[str, Any] | None = None,
    ) -> ScoreScatterDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None: a new figure.
        max_points : int, optional
            If there are more points, a random sample of this size is drawn, and a note says so.
            None: all.
        scatter_kw : dict, optional
            For the `scatter` of matplotlib, such as ``{"s": 5, "vmax": 0.5}``.

        Returns
        -------
        ScoreScatterDisplay
            Itself.
        """
        require_matplotlib()
        max_points = check_max_points(max_points)
        ax = self._start(ax, (6.4, 4.8))
        self.shown_ = draw_order(len(self.scores), max_points)
        look = scatter_look(self.scores, len(self.shown_)) | check_scatter_kw(scatter_kw)
        scored = ~np.isnan(self.scores[self.shown_])
        assigned = self.labels[self.shown_] >= 0
        self.points_ = self._scatter(self.shown_[scored & assigned], look)
        loose, missing = self.shown_[scored & ~assigned], self.shown_[~scored]
        edge = {
            "marker": "s",
            "edgecolors": "black",
            "linewidths": 0.8,
            "label": f"{NOT_ASSIGNED} ({loose.size:,})",
        }
        self.not_assigned_ = self._scatter(loose, look | edge) if loose.size else None
        self.missing_ = None
        if missing.size:
            plain = {
                "s": 2 * np.asarray(look["s"]),
                "rasterized": look["rasterized"],
                "linewidths": 1,
            }
            label = f"no score ({missing.size:,})"
            x, y = self.points[missing].T
            self.missing_ = ax.scatter(x, y, marker="x", color=MISSING_COLOR, label=label, **plain)
        if loose.size or missing.size:
            ax.legend(loc="best", fontsize="small", framealpha=0.9)
        self.cluster_texts_ = self._name_clusters()
        self.colorbar_ = (
            self.figure_.colorbar(self.points_, ax=ax, label="score") if scored.any() else None
        )
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1], title="Score of each point")
        self._add_notes(sample_note(len(self.scores), len(self.shown_)))
        return self

    def _scatter(self, positions: Ints, look: dict[str, Any]) -> Any:
        x, y = self.points[positions].T
        return draw_points(self.ax_, x, y, self.scores[positions], look)

    def _name_clusters(self) -> list[Any]:
        """Write each name at the member nearest to its cluster's median.

        Names that would overlap move apart.
        """
        from matplotlib.patheffects import withStroke

        groups = [group for group in groups_of(self.labels, self.label_names) if group.assigned]
        if not groups:
            return []
        places = np.array([middle_member(self.points[group.members]) for group in groups])
        size = 10.0 if len(groups) <= FEW_NAMES else 8.0
        self.ax_.autoscale_view()
        at = (
            self.ax_.transData.transform(places) * 72 / self.figure_.dpi
        )  # in points of print, as letters are
        boxes = np.array([[0.75 * size * len(group.name), 1.3 * size] for group in groups])
        moved = push_apart(at, boxes) - at
        texts = []
        for group, place, offset in zip(groups, places, moved, strict=True):
            line = (
                {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
                if offset.any()
                else None
            )
            options: dict[str, Any] = {
                "textcoords": "offset points",
                "ha": "center",
                "va": "center",
                "size": size,
            }
            texts.append(
                self.ax_.annotate(
                    group.name, place, offset, weight="bold", arrowprops=line, **options
                )
            )
            texts[-1].set_path_effects([withStroke(linewidth=2.5, foreground="white")])
        return texts


def middle_member(points: Floats) -> Floats:
    """The point nearest to the median of its cluster: unlike the median itself, always inside."""
    return points[np.argmin(((points - np.median(points, axis=0)) ** 2).sum(axis=1))]
