"""How scores and their standard errors settle as runs are added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._validation import check_choice, check_count, check_floats
from clustertrust.cells import Cells, meet
from clustertrust.displays.shared import (
    ALL_COLOR,
    CLUSTER_COLORS,
    LOW_COLOR,
    SCORE_COLORS,
    Display,
    check_confidence,
    confidence_of,
    missing_note,
    require_matplotlib,
    scale_top,
)
from clustertrust.geometry import silhouettes
from clustertrust.geometry.component import NORMALIZATIONS, mean_and_std
from clustertrust.matching import match_runs
from clustertrust.results import Confidence
from clustertrust.scoring.jackknife import standard_errors
from clustertrust.scoring.settings import Scoring
from clustertrust.scoring.settling import SETTLED
from clustertrust.stability import stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TRACED = 30  # points whose scores are followed
_MOST_PREFIXES = 40
QUANTITIES = ("errors", "scores")


def scores_of_prefixes(
    labels: Ints, s: Floats, n_runs: Sequence[int], scoring: Scoring
) -> Iterator[tuple[Floats, Floats]]:
    """Scores (n,) and their standard errors (n,) from the first r runs alone, for each r of
    `n_runs`.

    `labels` (n, R) and the silhouettes `s` (n, R) are of all runs. The silhouette of a run depends
    on no other run, so that fewer runs cost no distance.
    """
    fuse, normalize = scoring.fusion, NORMALIZATIONS[scoring.normalization]
    for r in n_runs:
        cells = meet(np.ascontiguousarray(labels[:, :r]))
        how = {"agreement": scoring.agreement, "unassigned": scoring.unassigned}
        by_cell = stability(cells, match_runs(cells), cells.rows, **how)
        counted = s[:, :r]
        if scoring.unassigned == "disagree":
            counted = np.where(labels[:, :r] < 0, 0.0, counted)
        scores = fuse(by_cell.c[cells.of], normalize(*mean_and_std(counted)))
        yield scores, standard_errors(cells.of, by_cell, counted, normalize, fuse)


def prefixes(R: int) -> list[int]:
    """Numbers of runs from 2 to R: all, or 40 of them, denser where there are few runs."""
    if R <= _MOST_PREFIXES:
        return list(range(2, R + 1))
    return np.unique(np.geomspace(2, R, _MOST_PREFIXES).round().astype(int)).tolist()


def check_prefixes(n_runs: Any, R: int) -> list[int]:
    """Return increasing numbers of runs, at most R; None: `prefixes`. R itself is added."""
    if n_runs is None:
        return prefixes(R)
    if not isinstance(n_runs, Sequence | np.ndarray) or isinstance(n_runs, str):
        raise TypeError(
            f"n_runs={n_runs!r} must be a sequence of numbers of runs, such as [2, 5, 10]."
        )
    given = {check_count("n_runs", r, at_least=2) for r in n_runs}
    if given and max(given) > R:
        raise ValueError(
            f"n_runs goes up to {max(given)}, and there are {R} runs; ask for at most {R}."
        )
    return sorted(given | {R})


class ConvergenceDisplay(Display):
    """How scores settle as runs are added.

    Use :meth:`from_estimator` or :meth:`from_confidence`. The first r runs are scored alone, as
    `CAKE(n_runs=r)` with the same `random_state` would score them.

    Parameters
    ----------
    n_runs : (p,) numbers of runs
    errors : (p, 3) array
        Quartiles of the standard errors of the scores; NaN below three runs.
    distances : (p,) array
        Mean distance of the scores from those of all runs.
    traces : (p, t) array
        Scores of t points, spread evenly over the ranks of the final scores.
    medians : (p,) array
        Median of all scores.
    settled : float
        The median standard error below which ``n_runs="auto"`` stops.
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    lines_ : artists of the lines, by name: "median" and "distance" of the errors, "median" of the
        scores
    band_ : artist of the middle half of the standard errors, or None
    traces_ : artists of the points followed
    settled_ : artist of the line at `settled`, or None
    colorbar_ : the scale of final scores, or None
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.displays import ConvergenceDisplay
    >>> cake = CAKE(3, n_runs=12, random_state=0).fit(load_iris().data)
    >>> ax = Figure().add_subplot()
    >>> display = ConvergenceDisplay.from_estimator(cake, n_runs=[2, 4, 8], ax=ax)
    >>> display.n_runs.tolist(), float(display.distances[-1])
    ([2, 4, 8, 12], 0.0)
    """

    def __init__(
        self,
        *,
        n_runs: Ints,
        errors: Floats,
        distances: Floats,
        traces: Floats,
        medians: Floats,
        settled: float,
        missing: str = "",
    ) -> None:
        self.n_runs = n_runs
        self.errors = errors
        self.distances = distances
        self.traces = traces
        self.medians = medians
        self.settled = settled
        self.missing = missing

    @classmethod
    def from_estimator(
        cls,
        cake: Any,
        *,
        n_runs: Sequence[int] | None = None,
        quantity: str = "errors",
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Score the first runs of a fitted CAKE.

        Parameters
        ----------
        cake : fitted CAKE
        n_runs : sequence of int, optional
            Numbers of runs, from 2; None: all, or 40 of them. The number of all runs is always
            there.
        quantity, ax
            As for :meth:`plot`.
        """
        confidence = confidence_of(cake)
        model = cake.model_
        if not isinstance(model.clusters, Cells):
            raise ValueError(
                "cake was fitted on data larger than memory, or Dask's, and keeps no silhouettes "
                "to follow run by run; fit a sample of the rows that fits into memory."
            )
        s, _ = model.silhouettes()
        return cls._of(confidence, s, model.scoring, n_runs).plot(ax, quantity=quantity)

    @classmethod
    def from_confidence(
        cls,
        confidence: Confidence,
        X: Any = None,
        *,
        silhouettes: Any = None,
        fusion: str = "harmonic",
        normalization: str = "clip",
        agreement: str = "matching",
        unassigned: str = "skip",
        n_runs: Sequence[int] | None = None,
        quantity: str = "errors",
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Score the first runs of a Confidence record.

        Parameters
        ----------
        confidence : Confidence
        X : (n, d) array, CSR matrix or frame, optional
            The points, where their silhouettes are those of the default metric, kernel and centres.
        silhouettes : (n, R) array, optional
            Otherwise the silhouettes of all runs, of :func:`clustertrust.geometry.silhouettes`.
        fusion, normalization, agreement, unassigned
            The options that the record was made with. Where they, or `X`, do not give its scores, a
            ValueError says so.
        n_runs : sequence of int, optional
            Numbers of runs, from 2; None: all, or 40 of them. The number of all runs is always
            there.
        quantity, ax
            As for :meth:`plot`.
        """
        confidence = check_confidence(confidence)
        options = {
            "fusion": fusion,
            "normalization": normalization,
            "agreement": agreement,
            "unassigned": unassigned,
        }
        scoring = Scoring.from_params(options)
        s = _silhouettes(confidence, X, silhouettes)
        return cls._of(confidence, s, scoring, n_runs).plot(ax, quantity=quantity)

    @classmethod
    def _of(
        cls, confidence: Confidence, s: Floats, scoring: Scoring, n_runs: Any
    ) -> ConvergenceDisplay:
        if confidence.agreement == "given":
            raise ValueError(
                "confidence is an Audit: its scores compare runs with the given labels, not with "
                "each other, and are not followed run by run; audit again with another n_runs."
            )
        if scoring.uses_persistence:
            raise ValueError(
                f"fusion={scoring.fusion.name!r}: persistence depends on the consensus of all runs "
                "and is not followed run by run; score with fusion='harmonic' to see how stability "
                "and geometry settle."
            )
        labels, final = confidence.ensemble.labels, confidence.scores
        at = check_prefixes(n_runs, confidence.n_runs)
        (again, _), *_ = scores_of_prefixes(labels, s, [confidence.n_runs], scoring)
        if not np.allclose(again, final, rtol=0, atol=1e-8, equal_nan=True):
            raise ValueError(
                "X, silhouettes and the options given do not lead to the scores of the record; "
                "give the data and the options that it was made with, and for a metric, kernel or "
                "centers of your own silhouettes=clustertrust.geometry.silhouettes(X, labels, …)."
            )
        there = np.flatnonzero(~np.isnan(final))
        ranked = there[np.argsort(final[there], kind="stable")]
        followed = ranked[
            np.linspace(0, ranked.size - 1, min(TRACED, ranked.size)).round().astype(int)
        ]
        errors, distances, traces, medians = [], [], [], []
        for scores, error in scores_of_prefixes(labels, s, at, scoring):
            errors.append(_quantiles(error, [0.25, 0.5, 0.75]))
            distances.append(_mean(np.abs(scores - final)))
            traces.append(scores[followed])
            medians.append(_quantiles(scores, [0.5])[0])
        return cls(
            n_runs=np.array(at),
            errors=np.array(errors),
            distances=np.array(distances),
            traces=np.array(traces),
            medians=np.array(medians),
            settled=SETTLED * float(np.diff(_quantiles(final, [0.25, 0.75]))[0]),
            missing=missing_note(final),
        )

    def plot(self, ax: Axes | None = None, *, quantity: str = "errors") -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None: a new figure.
        quantity : {"errors", "scores"}
            Standard errors of the scores and their distance from those of all runs, or the scores
            themselves: 30 points that are spread evenly over the ranks, each coloured by its final
            score.

        Returns
        -------
        ConvergenceDisplay
            Itself.
        """
        require_matplotlib()
        check_choice("quantity", quantity, QUANTITIES)
        ax = self._start(ax, (6.4, 4.8))
        self.band_: Any = None
        self.settled_: Any = None
        self.colorbar_: Any = None
        self.traces_: list[Any] = []
        notes = self._plot_errors() if quantity == "errors" else self._plot_scores()
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("number of runs R")
        ax.set_ylim(bottom=0)
        self._add_notes(*notes, self.missing)
        return self

    def _plot_errors(self) -> tuple[str, ...]:
        low, median, high = self.errors.T
        ax = self.ax_
        line: dict[str, Any] = {"linewidth": 2, "marker": "o", "markersize": 3}
        (of_error,) = ax.plot(
            self.n_runs, median, color=CLUSTER_COLORS[0], label="standard error, median", **line
        )
        self.band_ = ax.fill_between(
            self.n_runs,
            low,
            high,
            color=CLUSTER_COLORS[1],
            alpha=0.4,
            linewidth=0,
            label="and its middle half",
        )
        (away,) = ax.plot(
            self.n_runs,
            self.distances,
            color=LOW_COLOR,
            linestyle="--",
            label="mean distance from the final score",
            **line,
        )
        self.lines_ = {"median": of_error, "distance": away}
        self.settled_ = ax.axhline(
            self.settled,
            color="0.3",
            linestyle=":",
            label=f"settled: {SETTLED:g} of the interquartile range",
        )
        ax.set(ylabel="in units of the score", title="How the scores settle with more runs")
        ax.legend(fontsize="small")
        return ("standard errors begin at three runs",) if np.isnan(median[0]) else ()

    def _plot_scores(self) -> tuple[str, ...]:
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        ax = self.ax_
        scale = ScalarMappable(Normalize(0, scale_top(self.traces)), colormaps[SCORE_COLORS])
        for trace in self.traces.T:
            self.traces_ += ax.plot(self.n_runs, trace, color=scale.to_rgba(trace[-1]), linewidth=1)
        (median,) = ax.plot(
            self.n_runs, self.medians, color=ALL_COLOR, linewidth=3, label="median of all points"
        )
        self.lines_ = {"median": median}
        self.colorbar_ = self.figure_.colorbar(scale, ax=ax, label="final score")
        ax.set(ylabel="score", title="Scores as runs are added")
        ax.legend(fontsize="small")
        return (f"{self.traces.shape[1]} points, spread evenly over the ranks of the final scores",)


def _silhouettes(confidence: Confidence, X: Any, given: Any) -> Floats:
    """Return the silhouettes given, or those of X in the runs of the record."""
    if (X is None) == (given is None):
        raise ValueError(
            "X and silhouettes are "
            + ("both missing" if X is None else "both given")
            + "; give the points as X, or "
            "their (n, R) silhouettes."
        )
    if given is None:
        return silhouettes(X, confidence.ensemble, geometry=confidence.geometry_method)
    s = check_floats("silhouettes", given, "an (n, R) array of numbers")
    if s.shape != confidence.ensemble.labels.shape:
        raise ValueError(
            f"silhouettes has shape {s.shape}; points and runs are "
            f"{confidence.ensemble.labels.shape}."
        )
    return s


def _quantiles(values: Floats, at: list[float]) -> Floats:
    known = values[~np.isnan(values)]
    return np.quantile(known, at) if known.size else np.full(len(at), np.nan)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan
