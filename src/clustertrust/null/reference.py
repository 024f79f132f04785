"""The same score on data without clusters, to compare the mean score, clusters and points with.

k-means cuts a uniform square into four very stable pieces, and an elongated Gaussian into two. So a
high score alone proves nothing. Here the same ensemble is run on surrogates of the data that have
no clusters.

References
----------
B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical Applications in
Genetics and Molecular Biology 9 (2010).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._devices import resolve_device
from clustertrust._errors import ParameterError
from clustertrust._types import Arrays, Floats, Ints
from clustertrust._validation.arguments import MOST, check_count, check_inside, warn_user
from clustertrust.ensemble.runs import spawn_seeds
from clustertrust.estimator import CAKE
from clustertrust.null.templates import (
    check_has_coordinates,
    check_template,
    draw_entropy,
    draw_sample,
    far_out,
)
from clustertrust.results import Confidence
from clustertrust.scoring.settings import Settings
from clustertrust.summary import runs_of
from clustertrust.surrogates.drawn import (
    Surrogates,
    build_seeded,
    mean_by_cluster,
    mean_score,
    score_surrogates,
)
from clustertrust.surrogates.families import (
    CLOUDS,
    DEFAULT,
    VERDICT,
    build_draws,
    check_families,
)


def p_value(value: float | Floats, null: Floats) -> Any:
    """(1 + number of null values ≥ value) / (1 + B); valid if all B + 1 are exchangeable."""
    at_least = len(null) - np.searchsorted(np.sort(null), value, side="left")
    return (1 + at_least) / (1 + len(null))


def p_text(p: float, n_surrogates: int) -> str:
    """Return a p-value as text; the smallest that this many surrogates can show is a limit."""
    return f"p {'at most' if p <= 1 / (n_surrogates + 1) + 1e-12 else '='} {p:.2g}"


@dataclass(frozen=True)
class NullReference:
    """The scores of a data set, compared with those of surrogates without clusters.

    Arrays have one entry per scored point.

    Attributes
    ----------
    confidence : Confidence
        Scores, labels, … of all points, or of the sample in `points`.
    points : (m,) positions in X of the scored points
    families : kinds of surrogates that were drawn; "permuted" does not count in the verdict
    n_surrogates : B, number of surrogates of each family
    level : the largest p-value at which the data are called structured
    means : by family, (B,) mean score of each surrogate
    largest_cluster_means : by family, (B,) mean score of the best cluster of each surrogate
    pooled : by family, (B m,) all scores of all surrogates, in ascending order
    far_out : positions in X of points that lie far from all others; a few such points can make the
        data look structured

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust import CAKE, null_reference
    >>> square = np.random.default_rng(0).uniform(size=(200, 2))
    >>> null = null_reference(square, CAKE(4, n_runs=5, random_state=0), n_surrogates=19)
    >>> null.structured, bool(null.mean > 0.5)
    (False, True)
    """

    confidence: Confidence = field(repr=False)
    points: Ints = field(repr=False)
    families: tuple[str, ...]
    n_surrogates: int
    level: float
    means: Mapping[str, Floats] = field(repr=False)
    largest_cluster_means: Mapping[str, Floats] = field(repr=False)
    pooled: Mapping[str, Floats] = field(repr=False)
    far_out: Ints = field(repr=False)

    @property
    def mean(self) -> float:
        """Mean score of the data."""
        return mean_score(self.confidence.scores)

    @property
    def verdict_families(self) -> tuple[str, ...]:
        """The families that decide the verdict."""
        return tuple(name for name in self.families if name in VERDICT)

    @property
    def p_values(self) -> dict[str, float]:
        """The p-value of each family: how often its surrogates score as high as the data."""
        return {name: float(p_value(self.mean, self.means[name])) for name in self.families}

    @property
    def p_value(self) -> float:
        """The largest of the p-values of the families that count: all but "permuted"."""
        return max(self.p_values[name] for name in self.verdict_families)

    @property
    def structured(self) -> bool:
        """Whether the mean score is higher than any of these families can explain."""
        return self.p_value <= self.level

    @property
    def excess(self) -> float:
        """Mean score minus that of the surrogates of the family that scores highest."""
        return self.mean - max(float(self.means[name].mean()) for name in self.verdict_families)

    @property
    def point_excess(self) -> Floats:
        """(m,) score minus the mean score of the better family; its mean is `excess`."""
        return self.confidence.scores - (self.mean - self.excess)

    @cached_property
    def point_percentile(self) -> Floats:
        """(m,) share of surrogate scores below the point's, the smallest over the families.

        It shows how common such a score is in data without clusters. It is not a test: see
        `null_reference`. NaN stays NaN.
        """
        scores = self.confidence.scores
        share = np.where(np.isnan(scores), np.nan, np.inf)
        for pooled in (self.pooled[name] for name in self.verdict_families):
            if len(pooled):
                share = np.minimum(share, np.searchsorted(pooled, scores) / len(pooled))
        return np.where(np.isinf(share), np.nan, share)

    def clusters(self) -> pd.DataFrame:
        """Return one row per consensus cluster: its points, mean score and p-values.

        Each mean is compared with the *best* cluster of each surrogate. So in data without
        structure, the chance that any p-value falls below the level is at most the level, however
        many clusters there are.
        """
        scores, labels = self.confidence.scores, self.confidence.labels
        means = mean_by_cluster(scores, labels)
        there = np.flatnonzero(~np.isnan(means))
        table = pd.DataFrame(
            {
                "points": np.bincount(labels[labels >= 0], minlength=len(means))[there],
                "mean_score": means[there],
            },
            index=pd.Index(self.confidence.label_names[there], name="label"),
        )
        for name in self.families:
            table[f"p_{name}"] = p_value(means[there], self.largest_cluster_means[name])
        table["p_value"] = table[[f"p_{name}" for name in self.verdict_families]].max(axis=1)
        table["structured"] = table["p_value"] <= self.level
        return table

    def to_frame(self) -> Any:
        """Return one row per scored point: a pandas or polars frame, as X was, else pandas."""
        columns: Arrays = {
            "point": self.points,
            "label": self.confidence.to_columns()["label"],
            "score": self.confidence.scores,
            "excess": self.point_excess,
            "percentile": self.point_percentile,
        }
        frame = self.confidence.frame
        if frame is None or isinstance(frame, pd.DataFrame):
            return pd.DataFrame(columns, index=self.points if frame is None else frame.index)
        return type(frame)(
            {name: c.tolist() if c.dtype == object else c for name, c in columns.items()}
        )

    def summary(self) -> str:
        """Return a short text: the mean scores, the verdict, and a table by cluster."""
        k, m = self.confidence.n_clusters, len(self.points)
        lines = [
            f"{m:,} points, {k} clusters, {runs_of(self.confidence.ensemble)}: "
            f"mean score {self.mean:.3f}"
        ]
        for name in self.families:
            null, aside = self.means[name], "" if name in VERDICT else ", not part of the verdict"
            lines.append(
                f"  {name}: {null.mean():.3f} ± {null.std():.3f} in {len(null)} surrogates, "
                f"{p_text(self.p_values[name], len(null))}{aside}"
            )
        lines.append(self.verdict())
        if len(self.far_out):
            lines.append(warning_of(self.far_out))
        table = self.clusters().to_string(float_format=lambda value: f"{value:.3f}")
        return "\n".join(
            [*lines, "", "By cluster, against the best cluster of each surrogate", table]
        )

    def verdict(self) -> str:
        """Return whether the data are structured, in words."""
        if self.structured:
            clouds = " or ".join(CLOUDS[name] for name in self.verdict_families)
            return (
                f"Structured: the data score higher than one cloud, such as {clouds}, would "
                f"({p_text(self.p_value, self.n_surrogates)}, level {self.level:g})."
            )
        clouds = " or ".join(
            CLOUDS[name] for name in self.verdict_families if self.p_values[name] > self.level
        )
        table = self.clusters()
        found = table.index[table["structured"]].tolist()
        which = f"cluster {found[0]} scores" if len(found) == 1 else f"{len(found)} clusters score"
        rest = (
            f"But {which} higher than the best cluster of such a cloud. The others"
            if found
            else "The clusters"
        )
        return (
            f"Not structured: one cloud, such as {clouds}, scores as high (p = "
            f"{self.p_value:.2g}, level {self.level:g}). {rest} may be pieces of one cloud."
        )


def warning_of(far_out: Ints) -> str:
    """Return the warning about points far from all others; it names up to ten."""
    named = ", ".join(map(str, far_out[:10].tolist())) + (", …" if len(far_out) > 10 else "")
    which = "1 point lies" if len(far_out) == 1 else f"{len(far_out)} points lie"
    return (
        f"{which} far from all others: {named}. A few such points can make one cloud look "
        "structured; test again without them: null_reference(np.delete(X, null.far_out, axis=0), "
        "…)."
    )


def check_level(level: float, n_surrogates: int) -> float:
    """Return the level; raise if no p-value can reach it with so few surrogates."""
    level = check_inside("level", level, remedy="0.05 is usual")
    if 1 / (n_surrogates + 1) > level:
        needed = int(np.ceil(min(1 / max(level, 1e-9), MOST + 1) - 1e-9)) - 1
        raise ParameterError(
            "n_surrogates",
            n_surrogates,
            f"allows no p-value below {1 / (n_surrogates + 1):.3g}, so {{level=}} could never be "
            "reached",
            f"take at least {needed}",
            level=level,
        )
    return level


def null_reference(
    X: Any,
    cake: CAKE | int | None = None,
    *,
    families: Sequence[str] = DEFAULT,
    n_surrogates: int = 99,
    level: float = 0.05,
    max_points: int | None = 5000,
) -> NullReference:
    """Test whether the data have any structure: score them, and surrogates without clusters.

    Parameters
    ----------
    X : (n, d) array or frame
        The points; not sparse.
    cake : int or CAKE, optional
        The number of clusters of each run, or an estimator whose settings are used, such as
        ``CAKE(3, clusterer="gmm", random_state=0)``; it is not fitted. The answer holds for its
        number of clusters. With its `random_state` the data get the scores of its own fit; the
        surrogates have their own seeds. Its `n_jobs` is the number of surrogates at a time; it
        does not change the result.
    families : sequence of {"box", "gaussian", "permuted", "hull"}
        Kinds of surrogates. "box": uniform in a box along the principal axes. "gaussian": one
        Gaussian. Both have the mean and the covariance of the data. "hull": uniform in the convex
        hull of the data, whose corners are kept; it is left out, with a warning, in more than three
        dimensions, and if most points are corners. "permuted": each column shuffled, which tests
        whether columns depend on each other, not whether there are clusters; it is reported but
        does not count in the verdict.
    n_surrogates : int
        B, number of surrogates of each family. A p-value is one of 1/(B + 1), 2/(B + 1), …, 1.
    level : float
        The data are called structured if the largest p-value is at most this.
    max_points : int or None
        If there are more points, a random sample of this size is scored, and the surrogates have
        its size. None: all points are scored.

    Returns
    -------
    NullReference

    Notes
    -----
    The level is exact for data from a uniform box or one Gaussian, and with "hull" for uniform data
    in any convex shape. For skewed, heavy-tailed or curved data without clusters, p-values may be
    too small: the documentation has measured rates. They may also be too small for a cloud with a
    few points far out; a warning and `far_out` name those points. "Not structured" is not proof
    either: clusters that overlap heavily score no higher than one cloud.

    Percentiles of points are not turned into flags. Scores of the points of one data set rise and
    fall together, and points between clusters do not score like points of one cloud. In
    simulations, the share of false flags was not the intended share.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE, null_reference
    >>> null = null_reference(load_iris().data, CAKE(2, n_runs=5, random_state=0), n_surrogates=19)
    >>> null.structured, null.p_value
    (True, 0.05)
    >>> null.to_frame().columns.tolist()
    ['point', 'label', 'score', 'excess', 'percentile']
    """
    families = check_families("families", families)
    B = check_count("n_surrogates", n_surrogates, at_least=1, at_most=MOST)
    level = check_level(level, B)
    cake = check_template(cake)
    check_has_coordinates(
        cake, "cluster the points themselves, or coordinates made from the distances"
    )
    entropy = draw_entropy(cake.random_state)
    sample, frame, points = draw_sample(X, max_points, entropy, cake)
    settings = Settings.from_estimator(cake).on(resolve_device(cake.device, X))
    settings.check_points(sample)
    draws, left_out = build_draws(sample, families)
    for name, why in left_out.items():
        warn_user(f"No surrogates of the family {name!r}: {why}.")
    model = build_seeded(sample, settings, spawn_seeds(entropy, settings.recipe.count()))
    scored = model.confidence(model.training_fields(sample, built=True), frame=frame, numbered=True)
    by_family = score_surrogates(Surrogates(sample, draws, B, entropy), [settings])
    surrogates = {name: [one for (one,) in family] for name, family in by_family.items()}
    pooled = {name: np.concatenate([one.scores for one in of]) for name, of in surrogates.items()}
    outliers = points[far_out(sample)]
    if len(outliers):
        warn_user(warning_of(outliers))
    return NullReference(
        confidence=scored,
        points=points,
        families=tuple(draws),
        n_surrogates=B,
        level=level,
        means={name: np.array([one.mean for one in of]) for name, of in surrogates.items()},
        largest_cluster_means={
            name: np.array([one.largest for one in of]) for name, of in surrogates.items()
        },
        pooled={name: np.sort(scores[~np.isnan(scores)]) for name, scores in pooled.items()},
        far_out=outliers,
    )
