"""How scores and their standard errors settle as runs are added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import (
    check_choice,
    check_count,
    check_floats,
    check_option_names,
)
from clustertrust.cells import Cells, meet
from clustertrust.displays.base import ConfidenceDisplay, confidence_of
from clustertrust.displays.shared import (
    ALL_COLOR,
    CLUSTER_COLORS,
    LOW_COLOR,
    check_one_given,
    is_dark,
    missing_note,
    scale_top,
    score_colors,
    without_nan,
)
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry import silhouettes
from clustertrust.matching import match_runs
from clustertrust.results import Confidence
from clustertrust.scoring.components import used_components
from clustertrust.scoring.convergence import MOST_POINTS, WITHIN
from clustertrust.scoring.jackknife import Z
from clustertrust.scoring.model import Model
from clustertrust.scoring.points import standard_errors
from clustertrust.scoring.settings import Scoring

# Points whose scores are followed
TRACED = 30
QUANTITIES = ("errors", "scores")
_MOST_PREFIXES = 40
_SCORING_OPTIONS = ("fusion", "normalization", "agreement", "unassigned")


def scores_of_prefixes(
    ensemble: Ensemble, s: Floats, n_runs: Sequence[int], scoring: Scoring
) -> Iterator[tuple[Floats, Floats]]:
    """Scores (n,) and their standard errors (n,) from the first r runs alone, for each r of
    `n_runs`.

    The silhouettes `s` (n, R) are of all runs. The silhouette of a run depends on no other run, so
    that fewer runs cost no distance.
    """
    for r in n_runs:
        cells = meet(np.ascontiguousarray(ensemble.labels[:, :r]))
        model = Model(scoring, ensemble, cells, match_runs(cells), reference=0)
        by_cell = model.stability(cells.rows)
        counted, *_, geometry = model.component(s[:, :r])
        errors = standard_errors(cells.cell_of, by_cell, counted, scoring)
        yield scoring.fusion(by_cell.c[cells.cell_of], geometry), errors


def prefixes(R: int) -> list[int]:
    """Numbers of runs from 2 to R: all, or 40 of them, denser where there are few runs."""
    if R <= _MOST_PREFIXES:
        return list(range(2, R + 1))
    return [int(r) for r in np.unique(np.geomspace(2, R, _MOST_PREFIXES).round())]


def check_prefixes(n_runs: Any, R: int) -> list[int]:
    """Return increasing numbers of runs, at most R; None: `prefixes`. R itself is added."""
    if n_runs is None:
        return prefixes(R)
    if not isinstance(n_runs, Sequence | np.ndarray) or isinstance(n_runs, str):
        raise TypeError(
            f"n_runs={n_runs!r} must be a sequence of numbers of runs, such as [2, 5, 10]."
        )
    numbers = sorted({check_count("n_runs", r, at_least=2) for r in n_runs} | {R})
    if numbers[-1] > R:
        raise ValueError(
            f"n_runs goes up to {numbers[-1]}, and there are {R} runs; ask for at most {R}."
        )
    return numbers


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(ConfidenceDisplay):
    """How scores settle as runs are added.

    Use :meth:`from_estimator` or :meth:`from_confidence`. The first r runs are scored alone, as
    `CAKE(n_runs=r)` with the same `random_state` would score them.

    Parameters
    ----------
    n_runs : (p,) numbers of runs
    errors : (p, 4) array
        Quartiles and 95% quantile of the standard errors of the scores; NaN below three runs.
    distances : (p,) array
        Mean distance of the scores from those of all runs.
    traces : (p, t) array
        Scores of t points, spread evenly over the ranks of the final scores.
    medians : (p,) array
        Median of all scores.
    settled : float
        The 95% quantile of the standard errors above which ``n_runs="auto"`` does not stop.
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    lines_ : artists of the lines, by name: "median", "most" (95%) and "distance" of the errors,
        "median" of the scores
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
    >>> display.n_runs.tolist(), round(float(display.distances[-1]), 12)
    ([2, 4, 8, 12], 0.0)
    """

    n_runs: Ints
    errors: Floats
    distances: Floats
    traces: Floats
    medians: Floats
    settled: float
    missing: str = ""

    @classmethod
    def _compute_from_cake(cls, cake: Any, *, n_runs: Sequence[int] | None = None) -> Self:
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
        confidence, model = confidence_of(cake), cake.model_
        if not isinstance(model.clusters, Cells):
            raise ValueError(
                "cake was fitted on data larger than memory, or on Dask data, and keeps no "
                "silhouettes to follow run by run; fit a sample of the rows that fits into memory."
            )
        s, _ = model.silhouettes()
        return cls._follow(confidence, s, model.scoring, n_runs)

    @classmethod
    def _compute(
        cls,
        confidence: Confidence,
        X: Any = None,
        *,
        silhouettes: Any = None,
        n_runs: Sequence[int] | None = None,
        **scoring_options: str,
    ) -> Self:
        """Score the first runs of a Confidence record.

        Parameters
        ----------
        confidence : Confidence
        X : (n, d) array, CSR matrix or frame, optional
            The points, where their silhouettes are those of the default metric, kernel and centres.
        silhouettes : (n, R) array, optional
            Otherwise the silhouettes of all runs, of :func:`clustertrust.geometry.silhouettes`.
        n_runs : sequence of int, optional
            Numbers of runs, from 2; None: all, or 40 of them. The number of all runs is always
            there.
        quantity, ax
            As for :meth:`plot`.
        **scoring_options
            `fusion`, `normalization`, `agreement` and `unassigned` that the record was made with,
            where they are not the default. Where they, or `X`, do not give its scores, a ValueError
            says so.
        """
        check_option_names("ConvergenceDisplay.from_confidence", scoring_options, _SCORING_OPTIONS)
        scoring = Scoring.from_params(scoring_options)
        s = silhouettes_of(confidence, X, silhouettes)
        return cls._follow(confidence, s, scoring, n_runs)

    @classmethod
    def _follow(cls, confidence: Confidence, s: Floats, scoring: Scoring, n_runs: Any) -> Self:
        """Score the first runs, given the silhouettes `s` (n, R) and the settings of the scores."""
        if confidence.agreement == "given":
            raise ValueError(
                "confidence is an Audit: its scores compare runs with the given labels, not with "
                "each other, and are not followed run by run; audit again with another n_runs."
            )
        if used_components(scoring):
            raise ValueError(
                f"fusion={scoring.fusion.name!r} depends on the consensus of all runs "
                "and is not followed run by run; score with fusion='harmonic' to see how stability "
                "and geometry settle."
            )
        ensemble, final = confidence.ensemble, confidence.scores
        numbers = check_prefixes(n_runs, confidence.n_runs)
        (of_all_runs, _), *_ = scores_of_prefixes(ensemble, s, [confidence.n_runs], scoring)
        if not np.allclose(of_all_runs, final, rtol=0, atol=1e-8, equal_nan=True):
            raise ValueError(
                "X, silhouettes and the options given do not lead to the scores of the record; "
                "give the data and the options that it was made with, and for a metric, kernel or "
                "centers of your own silhouettes=clustertrust.geometry.silhouettes(X, labels, …)."
            )
        # NaN are last
        ranked = np.argsort(final, kind="stable")[: np.count_nonzero(~np.isnan(final))]
        spread = np.linspace(0, ranked.size - 1, min(TRACED, ranked.size)).round().astype(int)
        errors, distances, traces, medians = [], [], [], []
        for scores, error in scores_of_prefixes(ensemble, s, numbers, scoring):
            errors.append(np.quantile(without_nan(error), [0.25, 0.5, 0.75, MOST_POINTS]))
            distances.append(without_nan(np.abs(scores - final)).mean())
            traces.append(scores[ranked[spread]])
            medians.append(np.quantile(without_nan(scores), 0.5))
        return cls(
            n_runs=np.array(numbers),
            errors=np.array(errors),
            distances=np.array(distances),
            traces=np.array(traces),
            medians=np.array(medians),
            settled=WITHIN / Z,
            missing=missing_note(final),
        )

    def _draw(self, *, quantity: str = "errors") -> None:
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
        from matplotlib.ticker import MaxNLocator

        check_choice("quantity", quantity, QUANTITIES)
        self.band_: Any = None
        self.settled_: Any = None
        self.colorbar_: Any = None
        self.traces_: list[Any] = []
        draw = self._draw_errors if quantity == "errors" else self._draw_scores
        draw()
        self.ax_.legend(fontsize="small")
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_xlabel("number of runs R")
        self.ax_.set_ylim(bottom=0)

    def _draw_errors(self) -> None:
        ax, n_runs = self.ax_, self.n_runs
        low, median, high, most = self.errors.T
        blue, sky = CLUSTER_COLORS
        line: dict[str, Any] = {"linewidth": 2, "marker": "o", "markersize": 3}
        (of_median,) = ax.plot(n_runs, median, color=blue, label="standard error, median", **line)
        band: dict[str, Any] = {"color": sky, "alpha": 0.4, "linewidth": 0}
        self.band_ = ax.fill_between(n_runs, low, high, label="and its middle half", **band)
        share = f"{100 * MOST_POINTS:g}% of the points are below"
        (of_most,) = ax.plot(n_runs, most, ":", color=blue, label=share, **line)
        line |= {"color": LOW_COLOR, "label": "mean distance from the final score"}
        (of_distance,) = ax.plot(n_runs, self.distances, "--", **line)
        self.lines_ = {"median": of_median, "most": of_most, "distance": of_distance}
        label = f"settled: those points are within {WITHIN:g}"
        self.settled_ = ax.axhline(self.settled, color="0.5", linestyle=":", label=label)
        after = f"{median[-1]:.3f} after {n_runs[-1]} runs"
        ax.set(ylabel="in units of the score", title=f"Standard error of the scores: {after}")
        if np.isnan(median[0]):
            self._add_notes("standard errors begin at three runs")

    def _draw_scores(self) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        ax, n_runs = self.ax_, self.n_runs
        colors = score_colors(dark=is_dark(ax))
        scale = ScalarMappable(Normalize(0, scale_top(self.traces)), colors)
        for trace in self.traces.T:
            self.traces_ += ax.plot(n_runs, trace, color=scale.to_rgba(trace[-1]), linewidth=1)
        look: dict[str, Any] = {"color": ALL_COLOR, "linewidth": 3}
        (of_median,) = ax.plot(n_runs, self.medians, label="median of all points", **look)
        self.lines_ = {"median": of_median}
        self.colorbar_ = self.figure_.colorbar(scale, ax=ax, label="final score")
        ax.set(ylabel="score", title="Scores as runs are added")
        n_points = self.traces.shape[1]
        self._add_notes(f"{n_points} points, spread evenly over the ranks of the final scores")


def silhouettes_of(confidence: Confidence, X: Any, values: Any) -> Floats:
    """Return the silhouettes given as `values`, or those of X in the runs of the record."""
    remedy = "give the points as X, or their (n, R) silhouettes."
    check_one_given(remedy, X=X, silhouettes=values)
    if values is None:
        return silhouettes(X, confidence.ensemble, geometry=confidence.geometry_method)
    s = check_floats("silhouettes", values, "an (n, R) array of numbers")
    if s.shape != confidence.ensemble.labels.shape:
        raise ValueError(
            f"silhouettes has shape {s.shape}; points and runs are "
            f"{confidence.ensemble.labels.shape}."
        )
    return s
