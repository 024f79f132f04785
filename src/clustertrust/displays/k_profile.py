"""A KProfile as a picture: how probable each k is, and which signals support it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clustertrust._palette import GREEN, GREY, LIGHT, MISSING, ORANGE, PINK
from clustertrust._types import Floats, Ints
from clustertrust.displays.base import Display
from clustertrust.displays.shared import ink
from clustertrust.k_profile.record import KProfile

STYLES = {
    "prior": ("--", MISSING),
    "separation": ("s-", ORANGE),
    "likelihood": ("o-", GREEN),
    "stability": ("^-", PINK),
}
# Of the axis, below the legend
TOP = 1.02


@dataclass(kw_only=True, eq=False, repr=False)
class KProfileDisplay(Display):
    """The probability of each k as bars, and what each signal says as lines.

    A line is 1 at the k that its signal prefers, and falls with the standard errors that another k
    is behind; that of the prior falls as 1/k. The bars are the product of the lines, scaled to add
    up to 1. So a bar is high only where no signal objects. Signals without weight have no line. Two
    more are drawn: the mean score of the weakest cluster, and how much higher the data score than
    data without clusters at each k.

    Parameters
    ----------
    n_clusters : (q,) the numbers of clusters
    probability : (q,) of each
    support : of the prior and by signal that counts, (q,) between 0 and 1
    weakest : (q,) mean score of the weakest cluster
    best : int, the recommendation; 1 where data without clusters score as high
    plausible : the numbers that may well be right
    p_value : of the comparison with data without clusters, or None
    beyond, beyond_errors : (q,) how far the data score above data without clusters: 0 not at all, 1
        perfectly; NaN where that was not compared; or None

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

    n_clusters: Any
    probability: Floats
    support: Mapping[str, Floats]
    weakest: Floats
    best: int
    plausible: Sequence[int]
    p_value: float | None = None
    beyond: Floats | None = None
    beyond_errors: Floats | None = None

    @staticmethod
    def numbers(profile: KProfile) -> dict[str, Any]:
        """What the constructor takes, out of a profile."""
        same = ("n_clusters", "probability", "support", "best", "plausible", "p_value")
        return {name: getattr(profile, name) for name in same} | {
            "weakest": profile.weakest_score,
            "beyond": profile.adjusted,
            "beyond_errors": profile.adjusted_error,
        }

    @classmethod
    def from_profile(cls, profile: KProfile, *, ax: Any = None) -> Self:
        """Draw what `choose_k` returns."""
        if not isinstance(profile, KProfile):
            raise TypeError(f"profile={profile!r} must be a KProfile, as choose_k returns it.")
        return cls(**cls.numbers(profile)).plot(ax)

    def _figsize(self) -> tuple[float, float]:
        return 7.0, 4.5

    def _draw(self) -> None:
        from matplotlib.ticker import MaxNLocator

        ax, k = self.ax_, np.asarray(self.n_clusters)
        # As on the page: the recommended number is blue, others that are plausible a lighter blue.
        colors = np.where(np.isin(k, self.plausible), LIGHT["kept-soft"], MISSING)
        colors[k == self.best] = LIGHT["kept"]
        look: dict[str, Any] = {"width": 0.8, "alpha": 0.8, "zorder": 0, "label": "probability"}
        self.bars_ = ax.bar(k, self.probability, color=colors, **look)
        self.best_ = None if self.best == 1 else self.bars_[int(np.flatnonzero(k == self.best)[0])]
        self.lines_: dict[str, Any] = {}
        lines = [(name, *STYLES[name], values, name) for name, values in self.support.items()]
        lines.append(("weakest", ":", GREY, self.weakest, "weakest cluster, mean score"))
        for name, style, color, values, label in lines:
            look = {"color": color, "label": label, "linewidth": 1, "markersize": 4}
            (self.lines_[name],) = ax.plot(k, values, style, **look)
        if self.beyond is not None:
            self._draw_beyond(k, self.beyond)
        ax.set(xlabel="number of clusters", ylabel="0 to 1", ylim=(0, TOP), title=self._title())
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        self._put_legend_on_top()

    def _draw_beyond(self, k: Ints, beyond: Floats) -> None:
        """Draw how far the data score above data without clusters, where that was compared."""
        compared = np.isfinite(beyond)
        errors = 0.0 if self.beyond_errors is None else self.beyond_errors[compared]
        look: dict[str, Any] = {"fmt": "D", "color": ink(self.ax_), "markersize": 4, "linewidth": 1}
        heights = np.clip(beyond[compared], 0, None)
        drawn = self.ax_.errorbar(k[compared], heights, errors, label="above chance", **look)
        self.lines_["beyond"] = drawn.lines[0]

    def _put_legend_on_top(self) -> None:
        """Draw the legend above everything else: the axis goes on until nothing is hidden."""
        ax, figure = self.ax_, self.figure_.figure
        low, high = ax.get_ylim()
        ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
        narrow: dict[str, Any] = {"ncols": 2, "columnspacing": 1.0, "handlelength": 1.4}
        legend = ax.legend(loc="upper center", fontsize="small", **narrow)
        figure.draw_without_rendering()
        box = legend.get_window_extent().transformed(ax.transAxes.inverted())
        # Axes that are too small for a legend keep a fifth
        free = max(0.2, box.y0 - 0.02)
        ax.set_ylim(low, low + (high - low) / free)
        ax.set_yticks(ticks)

    def _title(self) -> str:
        """Return the recommendation in one line."""
        p = dict(zip(np.asarray(self.n_clusters).tolist(), self.probability, strict=True))
        others = sorted(set(self.plausible) - {1, self.best}, key=lambda k: -p[k])
        perhaps = f", or perhaps {', '.join(map(str, others))}" if others else ""
        if self.best == 1:
            why = "" if self.p_value is None else f" (p = {self.p_value:.2g})"
            return f"Recommended: 1, no clear clusters{why}{perhaps}"
        return f"Recommended: {self.best} (probability {p[self.best]:.2f}){perhaps}"
