"""Pictures of topics: where outliers would go, topics against rivals, topics over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from clustertrust._palette import CATEGORIES
from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import check_count
from clustertrust.displays.base import Display
from clustertrust.displays.points import MAX_POINTS
from clustertrust.displays.scatter import view_of
from clustertrust.displays.shared import CLUSTER_COLORS, MISSING_COLOR, written

OUTLIER = -1
# Topics with a colour and a line in the legend; the others share one.
MOST_COLORS = len(CATEGORIES)


@dataclass(kw_only=True, eq=False, repr=False)
class OutlierDisplay(Display):
    """Documents at their places; outliers in the colour of the topic that they would take.

    Made by :meth:`clustertrust.topics.TopicScores.plot_outliers`.

    Parameters
    ----------
    points : (n, 2) array
    axis_names : pair of str
    given : (n,) topics, -1 for outliers
    to : (n,) the topic that an outlier would take, -1: none
    names : name of each of these topics
    """

    points: Floats
    axis_names: tuple[str, str]
    given: Ints
    to: Ints
    names: dict[int, str]

    @classmethod
    def at(cls, X: Any, embedding: Any, *, given: Ints, to: Ints, names: dict[int, str]) -> Self:
        """Return it with documents at an embedding, or at two principal components of X."""
        view = view_of(X, embedding, pd.RangeIndex(len(given)))
        return cls(points=view.xy, axis_names=view.names, given=given, to=to, names=names)

    def _draw(self) -> None:
        ax = self.ax_
        shown = np.random.default_rng(0).permutation(len(self.points))[:MAX_POINTS]
        given, to = self.given[shown], self.to[shown]
        x, y = self.points[shown].T

        def draw(those: Bools, **look: Any) -> None:
            ax.scatter(x[those], y[those], **({"s": 12, "linewidths": 0} | look))

        draw(given != OUTLIER, s=4, color="0.88")
        stay = (given == OUTLIER) & (to == OUTLIER)
        if stay.any():
            label = f"stay outliers ({stay.sum():,})"
            draw(stay, marker="x", linewidths=1, color=MISSING_COLOR, label=label)
        topics, counts = np.unique(to[to != OUTLIER], return_counts=True)
        order = topics[np.argsort(-counts, kind="stable")]
        for topic, color in zip(order, CATEGORIES, strict=False):
            goes = to == topic
            label = f"{written(self.names[int(topic)])} ({goes.sum():,})"
            draw(goes, color=color, label=label)
        others = np.isin(to, order[MOST_COLORS:]) & (to != OUTLIER)
        if others.any():
            label = f"{len(order) - MOST_COLORS} other topics ({others.sum():,})"
            draw(others, color="black", label=label)
        if stay.any() or len(order):
            ax.legend(loc="best", fontsize="small", framealpha=0.9)
        ax.set(
            xlabel=self.axis_names[0],
            ylabel=self.axis_names[1],
            title="Where the outliers would go",
        )


@dataclass(kw_only=True, eq=False, repr=False)
class RivalDisplay(Display):
    """The share of votes that the documents of each topic give to every other.

    Made by :meth:`clustertrust.topics.TopicScores.plot_rivals`.

    Parameters
    ----------
    shares : (t, t) mean share of the votes of a row's documents for the column, 0 for the row's own
    names : (t,) names of the topics
    n_topics : how many topics there are in all
    """

    shares: Floats
    names: list[str]
    n_topics: int

    @classmethod
    def of(cls, evidence: Floats, labels: Ints, names: list[str], most: int) -> Self:
        """Return it for votes (n, k) and the codes (n,) of topics, -1 for outliers."""
        most = check_count("most", most, at_least=2)
        has = labels >= 0
        k = len(names)
        sums = np.zeros((k, k))
        np.add.at(sums, labels[has], evidence[has])
        shares = sums / np.bincount(labels[has], minlength=k)[:, None]
        np.fill_diagonal(shares, 0.0)
        doubt = shares.sum(axis=1) + shares.sum(axis=0)
        rows = np.sort(np.argsort(-doubt, kind="stable")[:most])
        chosen = [names[row] for row in rows]
        return cls(shares=shares[np.ix_(rows, rows)], names=chosen, n_topics=k)

    def _figsize(self) -> tuple[float, float]:
        side = 3.5 + 0.2 * len(self.names)
        return side + 1.5, side

    def _draw(self) -> None:
        ax = self.ax_
        image = ax.imshow(self.shares, cmap="Blues", vmin=0.0, aspect="auto")
        names, places = [written(name) for name in self.names], range(len(self.names))
        ax.set_xticks(places, names, rotation=90, size="small")
        ax.set_yticks(places, names, size="small")
        self.figure_.colorbar(image, ax=ax, label="mean share of the votes")
        ax.set(xlabel="rival", ylabel="topic", title="Topics against rivals")
        if len(self.names) < self.n_topics:
            self._add_notes(f"{len(self.names)} of {self.n_topics} topics, the most contested")


@dataclass(kw_only=True, eq=False, repr=False)
class CountDisplay(Display):
    """The number of topics, and the share of outliers, that each seed gives.

    Made by :meth:`clustertrust.topics.TopicScores.plot_counts`.

    Parameters
    ----------
    counts : (R,) topics of each run
    outliers : (R,) share of the documents without a topic
    """

    counts: Ints
    outliers: Floats

    def _draw(self) -> None:
        seeds = np.arange(len(self.counts))
        bars = self.ax_.bar(seeds, self.counts, color=CLUSTER_COLORS[0])
        shares = [f"{share:.0%}" for share in self.outliers]
        self.ax_.bar_label(bars, shares, size="small", padding=2)
        self.ax_.set_xticks(seeds)
        self.ax_.locator_params(axis="y", integer=True)
        self.ax_.set(xlabel="run", ylabel="topics", title="Number of topics over seeds")
        self._add_notes("Above the bars: share of outliers")
        self.ax_.margins(y=0.12)
