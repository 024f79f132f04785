"""A KProfile as a picture: how probable each k is, and which signals speak for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clustertrust._palette import BLUE, GREEN, GREY, MISSING, PINK, VERMILION
from clustertrust._types import Floats
from clustertrust.displays.shared import Display, legend_on_top, require_matplotlib
from clustertrust.k_profile.record import KProfile

__all__ = ["KProfileDisplay"]

STYLES = {
    "prior": ("--", MISSING),
    "separation": ("s-", BLUE),
    "likelihood": ("o-", GREEN),
    "stability": ("^-", PINK),
}
TOP = 1.02  # of the axis, below the legend


class KProfileDisplay(Display):
    """The probability of each k as bars, and what each signal says as lines.

    A line is 1 at the k that its signal prefers, and falls with the standard errors that another k
    is behind; that of the prior falls as 1/k. The bars are the product of the lines, scaled to add
    up to 1. So a bar is high only where no signal objects. Signals without weight have no line. The
    weakest cluster's mean score, and how far the data stand out from one cloud at each k, are drawn
    beside them.

    Parameters
    ----------
    n_clusters : (q,) the numbers of clusters
    probability : (q,) of each
    support : of the prior and by signal that counts, (q,) between 0 and 1
    weakest : (q,) mean score of the weakest cluster
    best : int, the recommendation; 1 where no k stands out
    plausible : the numbers that may well be right
    p_value : of the comparison with one cloud, or None
    beyond, beyond_errors : (q,) how far the data stand out: 0 as one cloud, 1 perfectly; NaN where
        that was not compared; or None

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    bars_ : the bars
    lines_ : dict of lines by what they show
    best_ : the bar of the recommended k; None where that is 1

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust.displays import KProfileDisplay
    >>> from clustertrust import CAKE, choose_k
    >>> profile = choose_k(load_iris().data, range(2, 5), CAKE(n_runs=3, random_state=0), null=None)
    >>> sorted(KProfileDisplay(**KProfileDisplay.numbers(profile)).support)
    ['likelihood', 'prior', 'stability']
    """

    def __init__(
        self,
        *,
        n_clusters: Any,
        probability: Floats,
        support: Mapping[str, Floats],
        weakest: Floats,
        best: int,
        plausible: Sequence[int],
        p_value: float | None = None,
        beyond: Floats | None = None,
        beyond_errors: Floats | None = None,
    ) -> None:
        self.n_clusters, self.probability, self.support = n_clusters, probability, support
        self.weakest, self.best, self.plausible = weakest, best, plausible
        self.p_value, self.beyond, self.beyond_errors = p_value, beyond, beyond_errors

    @staticmethod
    def numbers(profile: KProfile) -> dict[str, Any]:
        """What the constructor takes, out of a profile."""
        return {
            "n_clusters": profile.n_clusters,
            "probability": profile.probability,
            "support": profile.support,
            "weakest": profile.weakest_score,
            "best": profile.best,
            "plausible": profile.plausible,
            "p_value": profile.p_value,
            "beyond": profile.adjusted,
            "beyond_errors": profile.adjusted_error,
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
        k = np.asarray(self.n_clusters)
        colours = np.where(np.isin(k, self.plausible), GREY, MISSING)
        colours[k == self.best] = VERMILION
        self.bars_ = ax.bar(
            k, self.probability, width=0.8, color=colours, alpha=0.6, zorder=0, label="probability"
        )
        self.best_ = None if self.best == 1 else self.bars_[int(np.flatnonzero(k == self.best)[0])]
        self.lines_ = {}
        for name, values in self.support.items():
            style, colour = STYLES[name]
            (self.lines_[name],) = ax.plot(
                k, values, style, color=colour, linewidth=1, markersize=4, label=name
            )
        (self.lines_["weakest"],) = ax.plot(
            k, self.weakest, ":", color=GREY, linewidth=1, label="weakest cluster, mean score"
        )
        if self.beyond is not None:
            self._draw_beyond(ax, k)
        ax.set(xlabel="number of clusters", ylabel="0 to 1", ylim=(0, TOP), title=self._title())
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_on_top(ax, columns=2)
        return self

    def _draw_beyond(self, ax: Any, k: Any) -> None:
        assert self.beyond is not None
        at = np.isfinite(self.beyond)
        error = np.zeros(at.sum()) if self.beyond_errors is None else self.beyond_errors[at]
        drawn = ax.errorbar(
            k[at],
            np.clip(self.beyond[at], 0, None),
            error,
            fmt="D",
            color="black",
            markersize=4,
            linewidth=1,
            label="beyond one cloud",
        )
        self.lines_["beyond"] = drawn.lines[0]

    def _title(self) -> str:
        """Return the recommendation in one line."""
        p = dict(zip(np.asarray(self.n_clusters).tolist(), self.probability, strict=True))
        others = sorted(set(self.plausible) - {1, self.best}, key=lambda k: -p[k])
        perhaps = f", or perhaps {', '.join(map(str, others))}" if others else ""
        if self.best == 1:
            why = "" if self.p_value is None else f" (p = {self.p_value:.2g})"
            return f"no k stands out from one cloud{why}{perhaps}"
        return f"recommended: {self.best} (probability {p[self.best]:.2f}){perhaps}"
