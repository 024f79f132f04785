"""What `choose_k` found: signals, probabilities, the recommendation, and the scores behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._notebook import profile_html
from clustertrust._types import Floats, Ints
from clustertrust._views import given_view
from clustertrust.k_profile.combine import HELD, plausible, probabilities, supports
from clustertrust.k_profile.null_test import NullTest
from clustertrust.k_profile.one_k import QUANTILES
from clustertrust.k_profile.signals import Signal
from clustertrust.null.reference import p_text
from clustertrust.report.choice import Candidate, Choice, write_choice

# Length of a bar of probability 1
BAR = 40


@dataclass(frozen=True)
class KProfile:
    """Signals and scores over a range of numbers of clusters. Arrays have one entry per k.

    Attributes
    ----------
    n_clusters : (q,) the numbers tried, in ascending order
    mean_score, mean_stability, mean_geometry : (q,)
    score_error, stability_error, geometry_error : (q,) their jackknife-over-runs standard errors
    quantiles : (q, 5) of the scores, at 5, 25, 50, 75 and 95 %
    weakest_label, weakest_points, weakest_score : (q,) the consensus cluster with the lowest mean
        score
    signals : by name, the evidence for each k: "separation", "likelihood" and "stability"; those
        that count are in `support`
    left_out : by name, why a signal says nothing here
    notes : what else to know, such as columns left out of the likelihood
    null_test : the comparison with surrogates without clusters; None without it
    level : the largest p-value at which the data are called structured
    n_points, n_rows, n_runs : points used, rows of the data, and runs of each ensemble
    """

    n_clusters: Ints
    mean_score: Floats
    mean_stability: Floats
    mean_geometry: Floats
    score_error: Floats
    stability_error: Floats
    geometry_error: Floats
    quantiles: Floats
    weakest_label: Ints
    weakest_points: Ints
    weakest_score: Floats
    signals: Mapping[str, Signal]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    null_test: NullTest | None
    level: float
    n_points: int
    n_rows: int
    n_runs: int

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        tried = f"k from {self.n_clusters[0]} to {self.n_clusters[-1]}, {self.n_points} points"
        return f"<KProfile: best {self.best} of {tried}; probability, plausible, to_frame(), …>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return profile_html(self.verdict(), self.n_clusters, self.probability, self.plausible)

    # The recommendation

    @property
    def probability(self) -> Floats:
        """(q,) how probable each k is, given that there are clusters; adds up to 1.

        On generated sets with known k, of all answers with probability p about the share p is
        right. On other data it is a measure of how clear the answer is.
        """
        return probabilities(self.signals, self.n_clusters)

    @property
    def strongest(self) -> int:
        """The most probable k, given that there are clusters; of equals the smallest."""
        return int(self.n_clusters[int(np.argmax(self.probability))])

    @property
    def best(self) -> int:
        """The recommended number of clusters; 1 if data without clusters score as high."""
        return 1 if self.structured is False else self.strongest

    @property
    def confidence(self) -> float | None:
        """The probability of `best`; None if that is 1, whose evidence is `p_value`."""
        return float(self.probability.max()) if self.best > 1 else None

    @property
    def plausible(self) -> tuple[int, ...]:
        """The numbers of clusters that may well be right, in ascending order.

        As few as have a probability of 0.8 together. They held the right one in 82 to 100 % of
        generated sets, by their kind, and in 68 to 86 % of real ones. 1 is among them if
        data without clusters score as high.
        """
        numbers = tuple(int(k) for k in self.n_clusters[plausible(self.probability)])
        return (1, *numbers) if self.structured is False else numbers

    @property
    def choices(self) -> dict[str, int]:
        """The k that each signal alone would choose."""
        return {
            name: int(self.n_clusters[int(np.argmax(signal.mean))])
            for name, signal in self.signals.items()
        }

    @property
    def support(self) -> dict[str, Floats]:
        """(q,) factors: the prior, 1/k, and what each signal that counts says.

        Each is 1 where it is largest; `probability` is proportional to their product.
        """
        return supports(self.signals, self.n_clusters)

    # The comparison with data without clusters; NaN at a k that was not compared

    def _over_k(self, compared: Floats) -> Floats:
        """Return values at each k of `null_test` for every k, (q,)."""
        assert self.null_test is not None
        values = np.full(len(self.n_clusters), np.nan)
        values[np.isin(self.n_clusters, self.null_test.n_clusters)] = compared
        return values

    @property
    def p_value(self) -> float | None:
        """How often surrogates score as high at *some* k, the largest over the families.

        None without surrogates.
        """
        return None if self.null_test is None else self.null_test.p_value

    @property
    def structured(self) -> bool | None:
        """Whether some k scores higher than in data without clusters; None: no surrogates."""
        return None if self.p_value is None else self.p_value <= self.level

    @property
    def null_means(self) -> Mapping[str, Floats] | None:
        """By family, value of each surrogate at each k of `null_test`; None without surrogates."""
        return None if self.null_test is None else self.null_test.means

    @property
    def null_score(self) -> Floats | None:
        """(q,) mean value of the surrogates of the family whose mean is highest; or None."""
        return None if self.null_test is None else self._over_k(self.null_test.null)

    @property
    def excess(self) -> Floats | None:
        """(q,) the data's value minus `null_score`."""
        return None if self.null_test is None else self._over_k(self.null_test.excess)

    @property
    def excess_error(self) -> Floats | None:
        """(q,) standard error of `excess`: spread over surrogates, times √(1 + 1/B)."""
        return None if self.null_test is None else self._over_k(self.null_test.excess_error)

    @property
    def adjusted(self) -> Floats | None:
        """(q,) excess / (1 - null_score): 0 as in data without clusters, 1 for a perfect value."""
        return None if self.null_test is None else self._over_k(self.null_test.adjusted)

    @property
    def adjusted_error(self) -> Floats | None:
        """(q,) standard error of `adjusted`."""
        return None if self.null_test is None else self._over_k(self.null_test.adjusted_error)

    # As tables and text

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k, indexed by k."""
        columns: dict[str, Any] = {"probability": self.probability}
        for name, signal in self.signals.items():
            columns |= {
                name: signal.mean,
                f"{name}_error": signal.errors,
                f"{name}_behind": signal.behind,
                f"{name}_rank": signal.ranks,
            }
        columns.setdefault("stability", self.mean_stability)
        columns |= {
            "score": self.mean_score,
            "score_error": self.score_error,
            "geometry": self.mean_geometry,
            "geometry_error": self.geometry_error,
        }
        columns |= {
            f"score_{100 * q:.0f}%": self.quantiles[:, column] for column, q in enumerate(QUANTILES)
        }
        columns |= {
            "weakest_cluster": self.weakest_label,
            "weakest_points": self.weakest_points,
            "weakest_score": self.weakest_score,
        }
        if self.null_test is not None:
            columns["compared"] = self._over_k(self.null_test.data)
            for name, values in self.null_test.means.items():
                columns[f"null_{name}"] = self._over_k(values.mean(axis=0))
            for name in ("excess", "excess_error", "adjusted", "adjusted_error"):
                columns[name] = getattr(self, name)
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def summary(self) -> str:
        """Return a short text: a table by k, the recommendation, and the evidence for it."""
        names = ["probability", *self.signals, "score", "weakest_score"]
        names += [] if self.null_test is None else ["adjusted"]
        table = self.to_frame()[names].to_string(
            float_format=lambda value: f"{value:.3f}", na_rep=""
        )
        used = f"{self.n_points} points"
        if self.n_points < self.n_rows:
            used = f"A random sample of {self.n_points} of {self.n_rows} points"
        lines = [self.verdict(), *self._bars(), *self._both(), *self._details()]
        return f"{used}, {self.n_runs} runs for each k\n\n{table}\n\n" + "\n".join(lines)

    def report(
        self, path: str | Path, *, view: Any = None, labels: Any = None, title: str | None = None
    ) -> None:
        """Write an HTML page: the evidence by k, the test for structure, the data at each k.

        Parameters
        ----------
        path : path of the file
        view : (n, 2) array or frame, optional
            Where to draw the points.
        labels : dict of (n,) labels by number of clusters, optional
            The data at numbers that the page shows side by side; negative: no cluster.
        title : str, optional
        """
        if (view is None) != (labels is None):
            raise ValueError("view and labels belong together; give both or neither.")
        of = {} if labels is None else {int(k): np.asarray(part) for k, part in labels.items()}
        n = len(next(iter(of.values()))) if of else 0
        place = None if view is None else given_view(view, pd.RangeIndex(n), "labels")
        names = ["probability", *self.signals, "score", "weakest_score"]
        names += [] if self.null_test is None else ["adjusted"]
        choice = Choice(
            *(self.verdict(), self.gate(), self.n_clusters, self.probability, self.support),
            plausible=self.plausible,
            best=self.best,
            table=self.to_frame()[names],
            notes=[*self._both(), *self._details()],
            view=place,
            candidates=[Candidate(k, part, self._at(k)) for k, part in sorted(of.items())],
        )
        write_choice(path, choice, "How many clusters?" if title is None else title)

    def gate(self) -> str:
        """Return whether the data score higher than data without clusters, in words."""
        if self.structured is None:
            return (
                "The data were not compared with data without clusters, so the answer is never 1."
            )
        if self.structured:
            return (
                "Test for structure: passed. Data without clusters rarely score as high at any k "
                f"({self._p()}, level {self.level:g})."
            )
        return (
            "Test for structure: not passed. Data without clusters score as high "
            f"({self._p()}, level {self.level:g}). The numbers below hold only if there are "
            "clusters."
        )

    def _at(self, k: int) -> str:
        """Return what is known of one number of clusters."""
        if k not in self.n_clusters:
            return ""
        j = self.n_clusters.tolist().index(k)
        size = self.weakest_points[j]
        return (
            f"probability {self.probability[j]:.2f}, mean score {self.mean_score[j]:.2f}, weakest "
            f"cluster {self.weakest_score[j]:.2f} ({size} {'point' if size == 1 else 'points'})"
        )

    def verdict(self) -> str:
        """Return the recommendation in words."""
        most = f"{self.strongest} clusters (probability {self.probability.max():.2f})"
        if self.best == 1:
            return (
                f"1 cluster: data without clusters score as high ({self._p()}, level "
                f"{self.level:g}). If there are several, most likely {most}."
            )
        against = (
            "Not compared with data without clusters."
            if self.p_value is None
            else f"Data without clusters rarely score as high: {self._p()}."
        )
        return f"{most}. {against}"

    def _p(self) -> str:
        """Return the p-value of the comparison as text."""
        assert self.null_test is not None
        return p_text(self.null_test.p_value, self.null_test.n_surrogates)

    def _bars(self) -> list[str]:
        """Return the plausible numbers if there are several, with their probabilities as bars."""
        p = dict(zip(self.n_clusters.tolist(), self.probability, strict=True))
        listed = sorted(set(self.plausible) - {1}, key=lambda k: -p[k])
        if len(listed) < 2:
            return []
        bars = [f"  {k:>3}  {p[k]:.2f}  {'#' * max(1, round(BAR * p[k]))}" for k in listed]
        return ["Plausible numbers of clusters, with their probabilities:", *bars]

    def _both(self) -> list[str]:
        """Return the evidence for 1 and for the strongest k, where the answer is 1."""
        if self.best > 1:
            return []
        counted = [name for name in self.support if name in self.choices]
        backing = [name for name in counted if self.choices[name] == self.strongest]
        alone = f"chosen by {' and by '.join(backing)}" if backing else "chosen by no signal alone"
        at = self.n_clusters.tolist().index(self.strongest)
        return [
            "Evidence for 1: at none of the numbers compared do the data score clearly higher than "
            f"data without clusters ({self._p()}).",
            f"Evidence for {self.strongest}: the most probable of the others, {alone}; mean "
            f"stability {self.mean_stability[at]:.2f}, mean score {self.mean_score[at]:.2f}.",
        ]

    def _members(self) -> str:
        """Return what each signal alone would choose, and which of them do not count."""
        counted = self.support
        alone = {name: f"{name} {k}" for name, k in self.choices.items()}
        chosen = ", ".join(text for name, text in alone.items() if name in counted)
        idle = "".join(f" Not counted: {alone[name]}." for name in alone if name not in counted)
        held = " and ".join(f"{low:.0%} to {high:.0%} of {of}" for of, (low, high) in HELD.items())
        return (
            f"Each signal alone: {chosen}.{idle} Plausible numbers included the right one in "
            f"{held}."
        )

    def _details(self) -> list[str]:
        """Return what the numbers of the table are, and what was left out."""
        compared = []
        if self.null_test is not None:
            numbers = ", ".join(map(str, self.null_test.n_clusters.tolist()))
            left = len(self.null_test.n_clusters) < len(self.n_clusters)
            compared = [
                f"The column adjusted compares k = {numbers} with data without clusters: 0 if "
                f"they score as high, at most 1{'; full effort compares every k' * left}."
            ]
        return [self._members(), *compared, *self._asides()]

    def _asides(self) -> list[str]:
        """Return whether the range of numbers ends too early, and what was left out."""
        left_out = [f"Without {name}: {why}." for name, why in self.left_out.items()]
        low, high = self.n_clusters.min(), self.n_clusters.max()
        ends = []
        if self.strongest == high > low:
            ends = [f"{high} is the largest number tried; a larger one may be more probable."]
        elif self.strongest == low > 2 and high > low:
            ends = [f"{low} is the smallest number tried; a smaller one may be more probable."]
        return [*ends, *left_out, *self.notes]
