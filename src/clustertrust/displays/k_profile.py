"""A KProfile as a picture: scores over k, beside those of data without clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._palette import BLUE, GREEN, GREY, MISSING, PINK, SKY, VERMILION
from clustertrust._types import Floats
from clustertrust.displays.shared import Display, require_matplotlib
from clustertrust.k_profile.profile import KProfile

__all__ = ["KProfileDisplay"]


class KProfileDisplay(Display):
    """Mean score, the middle half of the scores, stability and geometry over k, and the null where
    there is one.

    Parameters
    ----------
    n_clusters : (q,) the numbers of clusters
    scores, score_errors, stability, geometry, weakest : (q,) means over points, and the weakest
        cluster's mean
    low, high : (q,) quartiles of the scores
    best : int, the recommendation; 1 where no k stands out
    null_scores, null_errors : (q,) of surrogates, or None

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    lines_ : dict of lines by what they show
    bands_ : dict of filled bands: "scores", and "null" where there is one
    best_ : the line at the recommended k; None where that is 1

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust.displays import KProfileDisplay
    >>> from clustertrust import CAKE, choose_k
    >>> profile = choose_k(load_iris().data, range(2, 5), CAKE(n_runs=3, random_state=0), null=None)
    >>> KProfileDisplay(**KProfileDisplay.numbers(profile)).best
    2
    """

    def __init__(
        self,
        *,
        n_clusters: Any,
        scores: Floats,
        score_errors: Floats,
        stability: Floats,
        geometry: Floats,
        weakest: Floats,
        low: Floats,
        high: Floats,
        best: int,
        null_scores: Floats | None = None,
        null_errors: Floats | None = None,
    ) -> None:
        self.n_clusters, self.best = n_clusters, best
        self.scores, self.score_errors = scores, score_errors
        self.stability, self.geometry, self.weakest = stability, geometry, weakest
        self.low, self.high = low, high
        self.null_scores, self.null_errors = null_scores, null_errors

    @staticmethod
    def numbers(profile: KProfile) -> dict[str, Any]:
        """What the constructor takes, out of a profile."""
        return {
            "n_clusters": profile.n_clusters,
            "scores": profile.mean_score,
            "score_errors": profile.score_error,
            "stability": profile.mean_stability,
            "geometry": profile.mean_geometry,
            "weakest": profile.weakest_score,
            "low": profile.quantiles[:, 1],
            "high": profile.quantiles[:, 3],
            "best": profile.best,
            "null_scores": profile.null_score,
            "null_errors": profile.excess_error,
        }

    @classmethod
    def from_profile(cls, profile: KProfile, *, ax: Any = None) -> KProfileDisplay:
        """Draw what `choose_k` found."""
        if not isinstance(profile, KProfile):
            raise TypeError(f"profile={profile!r} must be a KProfile, as choose_k returns it.")
        return cls(**cls.numbers(profile)).plot(ax=ax)

    def plot(self, ax: Any = None) -> KProfileDisplay:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        from matplotlib.ticker import MaxNLocator

        ax = self._start(ax, (7.0, 4.5))
        k = self.n_clusters
        self.bands_ = {
            "scores": ax.fill_between(
                k,
                self.low,
                self.high,
                color=BLUE,
                alpha=0.15,
                linewidth=0,
                label="middle half of the scores",
            )
        }
        bars = ax.errorbar(k, self.scores, np.nan_to_num(self.score_errors), color=BLUE, marker="o")
        bars.set_label("mean score")
        self.lines_ = {"scores": bars.lines[0]}
        styles = {
            "stability": ("--", GREEN),
            "geometry": (":", PINK),
            "weakest": ("-.", SKY),
        }
        for name, (style, colour) in styles.items():
            label = "weakest cluster" if name == "weakest" else name
            (self.lines_[name],) = ax.plot(
                k, getattr(self, name), style, color=colour, linewidth=1, label=label
            )
        if self.null_scores is not None:
            null = self.null_scores
            error = np.zeros(len(null)) if self.null_errors is None else self.null_errors
            self.bands_["null"] = ax.fill_between(
                k, null - error, null + error, color=MISSING, alpha=0.3, linewidth=0
            )
            (self.lines_["null"],) = ax.plot(k, null, color=GREY, label="one cloud cut into k")
        self.best_ = (
            None
            if self.best == 1
            else ax.axvline(self.best, color=VERMILION, linewidth=1, zorder=0)
        )
        found = "no k stands out from one cloud" if self.best == 1 else f"recommended: {self.best}"
        ax.set(xlabel="number of clusters", ylabel="score", ylim=(0, 1.02), title=found)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(fontsize="small")
        return self
