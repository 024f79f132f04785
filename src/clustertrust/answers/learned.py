"""Scores that learn from a person's answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from clustertrust._types import Floats, Ints
from clustertrust._validation import check_same_length
from clustertrust.answers.features import (
    Features,
    Scales,
    features_of,
    measure_scales,
    split_by_label,
)
from clustertrust.answers.judging import Answers, Judged
from clustertrust.answers.posterior import Posterior, average
from clustertrust.answers.scored import Scored, scored
from clustertrust.calibration.checks import check_positions, check_rate
from clustertrust.calibration.evidence import highest_share
from clustertrust.storage import DAMAGE, expect, expect_finite, read_arrays, write_arrays

__all__ = ["LearnedConfidence"]

AT_ONCE = 2**22  # numbers in a temporary array
MEMBERS = 400  # of a cluster, whose effects stand for all of its points in `by_cluster`


@dataclass(frozen=True)
class Learned:
    """What was learned: features of the answered points, what they say, and the models' weights."""

    scales: Scales
    points: Features
    right: Floats
    models: list[Posterior]
    weights: Floats

    def each(self, new: Features) -> Floats:
        """(n, models) posterior mean of the logit at points of one cluster."""
        return np.column_stack([model.mean(new) for model in self.models])

    def probability(self, new: Features) -> Floats:
        """(n,) probability that points of one cluster are right."""
        return expit(self.each(new)) @ self.weights

    def spread(self, new: Features) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the logit over all models, at points of one cluster."""
        f = self.each(new)
        mean = f @ self.weights
        within = np.column_stack([model.spread(new) for model in self.models])
        return mean, np.sqrt((within + (f - mean[:, None]) ** 2) @ self.weights)


class LearnedConfidence(BaseEstimator):
    """The probability that each assignment is right, learned from a person's answers.

    A person says of a few points whether their assignment is right. The model starts at the score
    and learns where it is too high or too low: on the whole, for a cluster, between a cluster and
    its rival, for a component of the score, or in a part of a cluster. It does so as far as the
    answers speak for it; with few or no answers the scores keep their order.

    Parameters
    ----------
    level : float
        Probability that intervals are to cover.

    Attributes
    ----------
    n_answers_ : number of answers that were learned from
    learned_share_ : weight of the models that change the order of the scores, from 0 (the answers
        say nothing against it) to 1

    Notes
    -----
    Answers may be of points chosen in any way: what is learned depends on where they are, and what
    they are. The scores are estimates; a cut with a guarantee is what
    :func:`clustertrust.answers.decide` finds. The fit costs O(m³) for m answers, however many
    points there are; `scores` cost O(n m), `interval` O(n m²).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.answers import LearnedConfidence
    >>> X = load_iris().data
    >>> cake = CAKE(3, random_state=0).fit(X)
    >>> learned = LearnedConfidence().fit(cake, [0, 60, 120, 133], [True, True, True, False])
    >>> learned.scores.shape, learned.interval.shape, len(learned.by_cluster)
    ((150,), (150, 2), 3)
    """

    def __init__(self, *, level: float = 0.95) -> None:
        self.level = level

    def fit(
        self,
        cake: Any,
        positions: Any,
        right: Any = None,
        *,
        classes: Any = None,
        should_be: Any = None,
        X: Any = None,
    ) -> LearnedConfidence:
        """Learn from answers. Give one of `right`, `classes` and `should_be`.

        Parameters
        ----------
        cake : fitted CAKE, Confidence, Audit, or DataFrame with their columns
            What was scored.
        positions : (m,) positions of the points that were asked about, each once
        right : (m,) truth values; None or NaN: not answered
        classes : (m,) class of each point, of any kind; missing: not answered
            A cluster stands for the most common class of its other answered points. A point without
            such others says nothing.
        should_be : (m,) the cluster that each point should be in, by name; missing: not answered
        X : (n, d) array or frame, optional
            The points, so that answers count most for points near them. A CAKE knows its own.

        Returns
        -------
        LearnedConfidence
            This object, fitted.
        """
        check_rate("level", self.level)
        source = scored(cake, X)
        answers = Answers.of(source, positions, right=right, classes=classes, should_be=should_be)
        self._learn(source, answers.judged())
        self._cake = cake if hasattr(cake, "judge") else None
        return self

    def _learn(self, source: Scored, judged: Judged) -> None:
        scales = measure_scales(source.columns, source.X)
        points = features_of(source.columns, source.X, scales, judged.positions)
        self._forget()
        self._source, self.answers_ = source, judged
        self._learned = Learned(scales, points, judged.right, *average(points, judged.right))
        self._count()

    def _count(self) -> None:
        learned = self._learned
        self.n_answers_ = len(learned.right)
        shares = zip(learned.models, learned.weights, strict=True)
        self.learned_share_ = float(sum(weight for model, weight in shares if model.strength > 0))

    def _forget(self) -> None:
        for name in ("scores", "interval", "by_cluster"):
            self.__dict__.pop(name, None)

    @cached_property
    def scores(self) -> Floats:
        """(n,) probability that each assignment is right, NaN where there is no score."""
        check_is_fitted(self, "n_answers_")
        return self._in_parts(self._source.columns, self._source.X, 1, self._learned.probability)[
            :, 0
        ]

    @cached_property
    def interval(self) -> Floats:
        """(n, 2) lower and upper limit of that probability."""
        check_is_fitted(self, "n_answers_")
        z = float(ndtri(0.5 + self.level / 2))

        def limits(new: Features) -> Floats:
            mean, sd = self._learned.spread(new)
            p = self._learned.probability(new)
            low, high = expit(mean - z * sd), expit(mean + z * sd)
            return np.column_stack([np.minimum(low, p), np.maximum(high, p)])

        return self._in_parts(self._source.columns, self._source.X, 2, limits)

    def _in_parts(self, columns: Any, X: Floats | None, width: int, compute: Any) -> Floats:
        """Call a function of features on the points of each cluster, in blocks."""
        labels, scores = columns["label"], columns["score"]
        out = np.full((len(labels), width), np.nan)
        rows = max(
            1, AT_ONCE // max(len(self._learned.right), self._learned.points.places.shape[1])
        )
        for members in split_by_label(labels):
            there = members[~np.isnan(scores[members])]
            for low in range(0, len(there), rows):
                at = there[low : low + rows]
                new = features_of(columns, X, self._learned.scales, at)
                out[at] = np.reshape(compute(new), (len(at), width))
        return out

    @cached_property
    def by_cluster(self) -> pd.DataFrame:
        """One row per cluster: its size, answers, how many are right, and its accuracy.

        `accuracy` is the estimated share of its points that are right, answered ones counted as
        they are; `low` and `high` are limits of it. `high` is never below the exact limit of the
        answers alone, and `low` is 0 where no answer is right.
        """
        check_is_fitted(self, "n_answers_")
        source, judged = self._source, self.answers_
        known = np.full(len(source), np.nan)
        known[judged.positions] = judged.right
        rows = []
        for code, name in enumerate(source.names.tolist()):
            members = np.flatnonzero((source.labels == code) & ~np.isnan(source.scores))
            told = known[members]
            answered = ~np.isnan(told)
            counts = (len(members), int(answered.sum()), int(np.nansum(told)))
            rows.append((name, *counts, *self._accuracy(members, told)))
        names = ["cluster", "points", "answers", "right", "accuracy", "low", "high"]
        return pd.DataFrame(rows, columns=names).set_index("cluster")

    def _accuracy(self, members: Ints, told: Floats) -> tuple[float, float, float]:
        """Share of right points of a cluster, and its limits."""
        if not len(members):
            return np.nan, np.nan, np.nan
        left = members[np.isnan(told)]
        p = self.scores[left]
        share = float((np.nansum(told) + p.sum()) / len(members))
        if not len(left):
            return share, share, share
        step = left[:: max(1, -(-len(left) // MEMBERS))]
        new = features_of(self._source.columns, self._source.X, self._learned.scales, step)
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
        # The model hardly believes in clusters that are right or wrong throughout, and there are
        # many: what it says may not exclude what the answers alone leave possible there.
        answered, right = len(members) - len(left), int(np.nansum(told))
        high = max(high, highest_share(right, answered, len(members), 0.5 - self.level / 2))
        return share, 0.0 if answered and not right else low, high

    def score_samples(self, X: Any) -> Floats:
        """Return the probability that the assignment of unseen points is right.

        Parameters
        ----------
        X : (n_new, d) array or frame
            As for `CAKE.predict`. Needs a fit on a CAKE.

        Returns
        -------
        (n_new,) array
        """
        check_is_fitted(self, "n_answers_")
        if self._cake is None:
            raise ValueError(
                "score_samples places new points with the CAKE that was fitted; fit on that, or "
                "load with LearnedConfidence.load(path, cake)."
            )
        table = self._cake.judge(X)
        table = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        places = None if self._learned.scales.means is None else X
        new = scored(table.reset_index(drop=True), places)
        return self._in_parts(self._recoded(new), new.X, 1, self._learned.probability)[:, 0]

    def _recoded(self, new: Scored) -> dict[str, NDArray]:
        """Return columns of new points with the codes of the fit."""
        code = np.append(self._source.codes_of(new.names, "label"), -1)
        return new.columns | {name: code[new.columns[name]] for name in ("label", "rival")}

    @property
    def source(self) -> Scored:
        """What was scored."""
        check_is_fitted(self, "n_answers_")
        return self._source

    def features(self, positions: Any) -> Features:
        """Return what the model knows of the points at some positions."""
        check_is_fitted(self, "n_answers_")
        at = check_positions(positions, len(self._source))
        return features_of(self._source.columns, self._source.X, self._learned.scales, at)

    def save(self, path: str | Path) -> None:
        """Write what was learned as one file of arrays and JSON, without the CAKE.

        Parameters
        ----------
        path : str or Path
        """
        check_is_fitted(self, "n_answers_")
        source, judged, scales = self._source, self.answers_, self._learned.scales
        arrays = {f"column/{name}": column for name, column in source.columns.items()}
        arrays |= {"positions": judged.positions, "right": judged.right}
        arrays |= {"should_be": judged.should_be}
        arrays |= {f"points/{name}": getattr(self._learned.points, name) for name in _FEATURES}
        arrays |= {"center": scales.center, "spread": scales.spread}
        arrays |= {"scores": self.scores, "interval": self.interval}
        if scales.means is not None and scales.sizes is not None:
            arrays |= {"means": scales.means, "sizes": scales.sizes}
        table = self.by_cluster
        meta = {
            "level": self.level,
            "names": source.names.tolist(),
            "index": [str(name) for name in source.index],
            "components": list(scales.names),
            "by_cluster": {name: table[name].tolist() for name in table},
        }
        write_arrays(Path(path), "learned confidence", meta, arrays)

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
        meta, arrays = read_arrays(Path(path), "learned confidence")
        try:
            found = cls._restore(meta, arrays)
        except DAMAGE as error:
            raise ValueError(
                f"{str(path)!r} is damaged: {type(error).__name__} {error}."
            ) from error
        if cake is not None:
            given = scored(cake)
            if len(given) != len(found._source) or (given.labels != found._source.labels).any():
                raise ValueError(
                    f"{str(path)!r} was learned on other results than those of this CAKE; give the "
                    "CAKE that was scored."
                )
        found._cake = cake
        return found

    @classmethod
    def _restore(cls, meta: dict[str, Any], arrays: dict[str, NDArray]) -> LearnedConfidence:
        n = len(arrays["scores"])
        columns = {
            name.removeprefix("column/"): expect(arrays, name, (n,), "fi")
            for name in arrays
            if name.startswith("column/")
        }
        right = expect_finite(arrays, "right", (None,))
        m = len(right)
        positions = expect(arrays, "positions", (m,), "i")
        should_be = expect(arrays, "should_be", (m,), "i")
        names = np.array(meta["names"])
        k = len(names)
        parts = {name: arrays[f"points/{name}"] for name in _FEATURES}
        check_same_length("right", right, "points/logits", parts["logits"])
        if m and not (0 <= positions.min() <= positions.max() < n and should_be.max() < k):
            raise ValueError("its answers are about points or clusters that it does not have")
        if not np.isin(right, [0.0, 1.0]).all() or columns["label"].max(initial=-1) >= k:
            raise ValueError("its answers or labels are out of range")
        scales = Scales(
            tuple(meta["components"]),
            expect_finite(arrays, "center", (None,)),
            expect_finite(arrays, "spread", (None,)),
            expect_finite(arrays, "means", (k, None)) if "means" in arrays else None,
            expect_finite(arrays, "sizes", (k,)) if "sizes" in arrays else None,
        )
        found = cls(level=check_rate("level", meta["level"]))
        found._source = Scored(columns, names, pd.Index(meta["index"]))
        found.answers_ = Judged(positions, right, should_be)
        points = Features(**parts)
        found._learned = Learned(scales, points, right, *average(points, right))
        found._count()
        found.__dict__["scores"] = expect(arrays, "scores", (n,))
        found.__dict__["interval"] = expect(arrays, "interval", (n, 2))
        table = pd.DataFrame(meta["by_cluster"], index=pd.Index(names, name="cluster"))
        found.__dict__["by_cluster"] = table
        return found


def _limits(share: float, sd: float, level: float) -> tuple[float, float]:
    """Return limits of a share: quantiles of the beta law with this mean and standard deviation."""
    inside = np.clip(share, 1e-6, 1 - 1e-6)
    strength = max(inside * (1 - inside) / max(sd, 1e-9) ** 2 - 1, 1e-3)
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    low, high = betaincinv(inside * strength, (1 - inside) * strength, tails)
    return min(float(low), share), max(float(high), share)


_FEATURES = ("labels", "rivals", "logits", "parts", "places")
