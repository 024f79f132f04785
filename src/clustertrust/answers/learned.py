"""Scores that learn from a person's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from scipy.special import betaincinv, expit, ndtri

from clustertrust._html import html_table
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_inside
from clustertrust.answers.features import (
    Features,
    Scales,
    features_of,
    measure_scales,
    split_by_label,
)
from clustertrust.answers.judging import Answers, Judged, check_answers
from clustertrust.answers.posterior import Posterior, average
from clustertrust.answers.scored import Scored, scored
from clustertrust.calibration.checks import check_positions
from clustertrust.calibration.evidence import highest_share
from clustertrust.records import Record, load_record, save_record

# Numbers in a temporary array
AT_ONCE = 2**22
# Members of a cluster whose effects stand for all of its points in `by_cluster`
MEMBERS = 400


@dataclass(frozen=True)
class Learned:
    """What was learned: features of the answered points, models of what they say, their weights."""

    scales: Scales
    points: Features
    models: list[Posterior]
    weights: Floats

    @classmethod
    def from_answers(cls, scales: Scales, points: Features, right: Floats) -> Learned:
        """Fit the models."""
        return cls(scales, points, *average(points, right))

    def each(self, new: Features) -> Floats:
        """(n, models) posterior mean of the logit at points of one cluster."""
        return np.column_stack([model.mean(new) for model in self.models])

    def probability(self, new: Features) -> Floats:
        """(n,) probability that points of one cluster are right."""
        return np.asarray(expit(self.each(new)) @ self.weights)

    def spread(self, new: Features) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the logit over all models, at points of one cluster."""
        f = self.each(new)
        mean = f @ self.weights
        within = np.column_stack([model.spread(new) for model in self.models])
        return mean, np.sqrt((within + (f - mean[:, None]) ** 2) @ self.weights)


def _short(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False, eq=False)
class LearnedConfidence:
    """The probability that each assignment is right, as :func:`learn` makes it from answers.

    Attributes
    ----------
    level : probability that intervals cover
    source : what was scored
    answers : the answers that say right or wrong
    cake : the CAKE that was scored, which places new points; None if it is not known
    scores : (n,) probability that each assignment is right, NaN where there is no score
    interval : (n, 2) lower and upper limit of that probability
    by_cluster : one row per cluster: its size, answers, how many are right, and its accuracy
    """

    level: float
    source: Scored
    answers: Judged
    cake: Any
    _learned: Learned

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        size = f"{self.n_answers} answers about {len(self.source)} points"
        return f"<LearnedConfidence: {size}; scores, interval, by_cluster, …>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how much was answered, and the accuracy of clusters."""
        probable = f"{float(np.nanmean(self.scores)):.0%} are expected to be right"
        line = f"{self.n_answers:,} answers about {len(self.source):,} points; {probable}"
        table = self.by_cluster.reset_index()
        rows = [[_short(value) for value in row] for row in table.itertuples(index=False)]
        return f"<div><b>{line}</b>{html_table([str(name) for name in table], rows)}</div>"

    @property
    def n_answers(self) -> int:
        """Number of answers that were learned from."""
        return len(self.answers.right)

    @property
    def learned_share(self) -> float:
        """Weight of the models that change the order of scores: 0 (no reason to change it) to 1."""
        models = zip(self._learned.models, self._learned.weights, strict=True)
        return float(sum(weight for model, weight in models if model.strength > 0))

    @cached_property
    def scores(self) -> Floats:
        """(n,) probability that each assignment is right, NaN where there is no score."""
        return self._in_parts(self.source, 1, self._learned.probability)[:, 0]

    @cached_property
    def interval(self) -> Floats:
        """(n, 2) lower and upper limit of that probability."""
        z = float(ndtri(0.5 + self.level / 2))

        def limits(new: Features) -> Floats:
            mean, sd = self._learned.spread(new)
            p = self._learned.probability(new)
            low, high = expit(mean - z * sd), expit(mean + z * sd)
            return np.column_stack([np.minimum(low, p), np.maximum(high, p)])

        return self._in_parts(self.source, 2, limits)

    def _in_parts(
        self, points: Scored, width: int, compute: Callable[[Features], Floats]
    ) -> Floats:
        """Call a function of features on the points of each cluster, in blocks."""
        out = np.full((len(points), width), np.nan)
        rows = max(1, AT_ONCE // max(self.n_answers, self._learned.points.places.shape[1]))
        for members in split_by_label(points.labels):
            with_score = members[~np.isnan(points.scores[members])]
            for low in range(0, len(with_score), rows):
                block = with_score[low : low + rows]
                new = features_of(points, self._learned.scales, block)
                out[block] = np.reshape(compute(new), (len(block), width))
        return out

    @cached_property
    def by_cluster(self) -> pd.DataFrame:
        """One row per cluster: its size, answers, how many are right, and its accuracy.

        `accuracy` is the estimated share of its points that are right, answered ones counted as
        they are; `low` and `high` are limits of it. `high` is never below the exact limit of the
        answers alone, and `low` is 0 where no answer is right.
        """
        source = self.source
        right_or_nan = np.full(len(source), np.nan)
        right_or_nan[self.answers.positions] = self.answers.right
        rows = []
        for code, name in enumerate(source.names.tolist()):
            members = np.flatnonzero((source.labels == code) & ~np.isnan(source.scores))
            right = right_or_nan[members]
            counts = (len(members), int((~np.isnan(right)).sum()), int(np.nansum(right)))
            rows.append((name, *counts, *self._accuracy(members, right)))
        names = ["cluster", "points", "answers", "right", "accuracy", "low", "high"]
        return pd.DataFrame(rows, columns=names).set_index("cluster")

    def _accuracy(self, members: Ints, right: Floats) -> tuple[float, float, float]:
        """Share of right points of a cluster, and its limits; `right` is NaN without an answer."""
        if not len(members):
            return np.nan, np.nan, np.nan
        left = members[np.isnan(right)]
        p = self.scores[left]
        share = float((np.nansum(right) + p.sum()) / len(members))
        if not len(left):
            return share, share, share
        step = left[:: max(1, -(-len(left) // MEMBERS))]
        new = self.features(step)
        weights = self.scores[step] * (1 - self.scores[step]) / len(step)
        each = expit(self._learned.each(new)).mean(axis=0)
        variance = float(self._learned.weights @ (each - self._learned.weights @ each) ** 2)
        variance += sum(
            weight * model.spread_of_mean(new, weights)
            for model, weight in zip(self._learned.models, self._learned.weights, strict=True)
        )
        part = len(left) / len(members)
        sd = part * np.sqrt(variance + float((p * (1 - p)).mean()) / len(left))
        low, high = _limits(share, sd, self.level)
        # The model rarely believes in clusters that are right or wrong throughout, and there are
        # many: what it says may not exclude what the answers alone leave possible there.
        answered, n_right = len(members) - len(left), int(np.nansum(right))
        high = max(high, highest_share(n_right, answered, len(members), 0.5 - self.level / 2))
        return share, 0.0 if answered and not n_right else low, high

    def score_samples(self, X: Any) -> Floats:
        """Return the probability that the assignment of unseen points is right.

        Parameters
        ----------
        X : (n_new, d) array or frame
            As for `CAKE.predict`. It needs the CAKE that was scored.

        Returns
        -------
        (n_new,) array
        """
        if self.cake is None:
            raise ValueError(
                "score_samples places new points with the CAKE that was scored; learn from that, "
                "or load with LearnedConfidence.load(path, cake)."
            )
        table = self.cake.judge(X)
        table = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        places = None if self._learned.scales.means is None else X
        new = scored(table.reset_index(drop=True), places)
        return self._in_parts(self._recoded(new), 1, self._learned.probability)[:, 0]

    def _recoded(self, new: Scored) -> Scored:
        """Return new points with the codes that clusters have in `source`."""
        code = np.append(self.source.codes_of(new.names, "label"), -1)
        recoded = {name: code[new.columns[name]] for name in ("label", "rival")}
        return replace(new, columns=new.columns | recoded)

    def features(self, positions: Any) -> Features:
        """Return what the model knows of the points at some positions."""
        positions = check_positions(positions, len(self.source))
        return features_of(self.source, self._learned.scales, positions)

    def save(self, path: str | Path) -> None:
        """Write what was learned as one file of arrays and JSON, without the CAKE.

        Parameters
        ----------
        path : str or Path
        """
        table = self.by_cluster
        file = LearnedFile(
            level=self.level,
            source=self.source,
            answers=self.answers,
            scales=self._learned.scales,
            points=self._learned.points,
            scores=self.scores,
            interval=self.interval,
            by_cluster={str(name): table[name].to_numpy() for name in table},
        )
        save_record(path, file)

    @classmethod
    def load(cls, path: str | Path, cake: Any = None) -> LearnedConfidence:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
        cake : fitted CAKE, optional
            The one that was scored, for `score_samples`.

        Returns
        -------
        LearnedConfidence
        """
        learned = load_record(path, LearnedFile, lambda file: file.restore(cake))
        labels = learned.source.labels
        if cake is not None and not np.array_equal(scored(cake).labels, labels):
            raise ValueError(
                f"{str(path)!r} was learned on other results than those of this CAKE; give the "
                "CAKE that was scored."
            )
        return learned


def learn(cake: Any, answers: Answers, *, level: float = 0.95, X: Any = None) -> LearnedConfidence:
    """Learn from a person's answers how probable it is that each assignment is right.

    The model starts at the score and learns where it is too high or too low: overall, for a
    cluster, between a cluster and its rival, for a component of the score, or in a part of a
    cluster. It changes only what the answers support; with few or no answers the scores keep their
    order.

    Parameters
    ----------
    cake : fitted CAKE, Confidence, Audit, or DataFrame with their columns
        What was scored.
    answers : Answers
        From `ask(cake, 60).answered(right=…)`, or :meth:`Answers.of`. Classes say whether a point
        is right by the most common class of the other answers in its cluster.
    level : float
        Probability that the intervals should cover.
    X : (n, d) array or frame, optional
        The points, so that answers count most for points near them. A CAKE knows its own.

    Returns
    -------
    LearnedConfidence

    Notes
    -----
    The answers may be about points chosen in any way. The scores are estimates;
    :func:`clustertrust.answers.decide` finds a cut with a guarantee. Learning costs O(m³) for m
    answers, independently of the number of points; `scores` cost O(n m), `interval` O(n m²).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.answers import Answers, learn
    >>> cake = CAKE(3, random_state=0).fit(load_iris().data)
    >>> answers = Answers.of(cake, [0, 60, 120, 133], right=[True, True, True, False])
    >>> learned = learn(cake, answers)
    >>> learned.scores.shape, learned.interval.shape, len(learned.by_cluster)
    ((150,), (150, 2), 3)
    """
    level = check_inside("level", level)
    source = scored(cake, X)
    judged = check_answers(answers).judged()
    return learn_from(source, judged, level=level, cake=cake if hasattr(cake, "judge") else None)


def learn_from(
    source: Scored, judged: Judged, *, level: float = 0.95, cake: Any = None
) -> LearnedConfidence:
    """Learn from answers that are right or wrong."""
    scales = measure_scales(source)
    points = features_of(source, scales, judged.positions)
    learned = Learned.from_answers(scales, points, judged.right)
    return LearnedConfidence(level, source, judged, cake, learned)


@dataclass(frozen=True)
class LearnedFile(Record):
    """What is stored: the answers, what the models are fitted on, and what they give.

    Scores and limits cannot be computed again: the points themselves are not stored.
    """

    level: float
    source: Scored
    answers: Judged
    scales: Scales
    points: Features
    scores: Annotated[Floats, "f n"]
    interval: Annotated[Floats, "f n limits"]
    by_cluster: Mapping[str, Array]

    def _from_stored(self) -> Self:
        """Return it; raise if its parts do not go together."""
        check_inside("level", self.level)
        n, k, answers = len(self.source), len(self.source.names), self.answers
        m = len(answers.positions)
        if self.interval.shape != (n, 2) or len(self.points.labels) != m:
            raise ValueError("its scores or answers are not of its points")
        if m and not (0 <= answers.positions.min() <= answers.positions.max() < n):
            raise ValueError("its answers are about points that it does not have")
        if answers.should_be.max(initial=-1) >= k:
            raise ValueError("its answers are about clusters that it does not have")
        if self.scales.means is not None and len(self.scales.means) > k:
            raise ValueError("its scales are not of its clusters")
        return self

    def restore(self, cake: Any) -> LearnedConfidence:
        """Return what was stored."""
        model = Learned.from_answers(self.scales, self.points, self.answers.right)
        learned = LearnedConfidence(self.level, self.source, self.answers, cake, model)
        index = pd.Index(self.source.names, name="cluster")
        by_cluster = pd.DataFrame(dict(self.by_cluster), index=index)
        # The properties that are computed once have their values already.
        vars(learned).update(scores=self.scores, interval=self.interval, by_cluster=by_cluster)
        return learned


def _limits(share: float, sd: float, level: float) -> tuple[float, float]:
    """Return limits of a share: quantiles of the beta law with this mean and standard deviation."""
    inside = np.clip(share, 1e-6, 1 - 1e-6)
    strength = max(inside * (1 - inside) / max(sd, 1e-9) ** 2 - 1, 1e-3)
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    low, high = betaincinv(inside * strength, (1 - inside) * strength, tails)
    return min(float(low), share), max(float(high), share)
