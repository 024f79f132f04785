"""Scores over a range of k, beside those of data without clusters: how many clusters there are.

The mean score is not comparable between numbers of clusters: two halves of one elongated cloud
score 0.66, its five slices less. So each k is compared with surrogates without clusters that are
cut into as many parts.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from clustertrust._devices import resolve_device
from clustertrust._types import Floats, Ints
from clustertrust._validation import MOST, check_count, check_list
from clustertrust.ensemble.recipe import spawn_seeds
from clustertrust.estimator import CAKE
from clustertrust.k_profile.one_k import QUANTILES, score_one_k
from clustertrust.null.reference import check_level, p_value
from clustertrust.null.surrogates import (
    VERDICT,
    check_families,
    check_has_points,
    check_template,
    draw_entropy,
    draw_sample,
    score_surrogates,
)
from clustertrust.scoring.settings import Settings

__all__ = ["QUANTILES", "KProfile", "choose_k"]


def any_k_p_value(data: Floats, null: Floats) -> float:
    """Return the p-value of the largest adjusted score over all k.

    `data` is (q,), `null` (B, q). All B + 1 are adjusted by their common mean at each k, so under
    the null they are exchangeable, and the search over k keeps the level. They are not divided by
    their spread: with few surrogates, an outlier inflates the spread that it is measured by, and
    one lucky surrogate at an unlikely k would hide any structure.
    """
    together = np.vstack([data, null])
    mean = together.mean(axis=0)
    room = np.where(mean < 1, 1 - mean, 1.0)
    highest = ((together - mean) / room).max(axis=1)
    return float(p_value(highest[0], highest[1:]))


@dataclass(frozen=True)
class KProfile:
    """Scores over a range of numbers of clusters. Arrays have one entry per k.

    Attributes
    ----------
    n_clusters : (q,) the numbers tried, in ascending order
    mean_score, mean_stability, mean_geometry : (q,)
    score_error, stability_error, geometry_error : (q,) their jackknife-over-runs standard errors
    quantiles : (q, 5) of the scores, at 5, 25, 50, 75 and 95 %
    weakest_label, weakest_points, weakest_score : (q,) the consensus cluster with the lowest mean
        score
    null_means : by family, (B, q) mean score of each surrogate; None without surrogates
    level : the largest p-value at which the data are called structured
    n_points, n_runs : points scored, and runs of each ensemble
    """

    n_clusters: Ints
    mean_score: Floats
    mean_stability: Floats
    mean_geometry: Floats
    score_error: Floats
    stability_error: Floats
    geometry_error: Floats
    quantiles: Floats = field(repr=False)
    weakest_label: Ints = field(repr=False)
    weakest_points: Ints = field(repr=False)
    weakest_score: Floats = field(repr=False)
    null_means: Mapping[str, Floats] | None = field(repr=False)
    level: float
    n_points: int
    n_runs: int

    def _rivals(self) -> tuple[Floats, Floats]:
        """Return mean and standard deviation (q,) of the surrogates' scores, better family."""
        assert self.null_means is not None
        families = [values for name, values in self.null_means.items() if name in VERDICT]
        means = np.array([values.mean(axis=0) for values in families])
        stds = np.array([values.std(axis=0, ddof=1) for values in families])
        higher, at = means.argmax(axis=0), np.arange(means.shape[1])
        return means[higher, at], stds[higher, at]

    @property
    def null_score(self) -> Floats | None:
        """(q,) mean score of the surrogates, box or Gaussian, whichever is higher; or None."""
        return None if self.null_means is None else self._rivals()[0]

    @property
    def excess(self) -> Floats | None:
        """(q,) mean score minus `null_score`."""
        return None if self.null_score is None else self.mean_score - self.null_score

    @property
    def excess_error(self) -> Floats | None:
        """(q,) s √(1 + 1/B), s the spread over surrogates: error of the data and the mean of B."""
        if self.null_means is None:
            return None
        B = len(next(iter(self.null_means.values())))
        return self._rivals()[1] * np.sqrt(1 + 1 / B)

    @property
    def adjusted(self) -> Floats | None:
        """(q,) excess / (1 - null_score): 0 for the score of one cloud, 1 for a perfect score."""
        return (
            None
            if self.excess is None or self.null_score is None
            else self.excess / (1 - self.null_score)
        )

    @property
    def adjusted_error(self) -> Floats | None:
        """(q,) standard error of `adjusted`, from that of the excess."""
        if self.excess_error is None or self.null_score is None:
            return None
        return self.excess_error / (1 - self.null_score)

    @property
    def p_value(self) -> float | None:
        """How often surrogates stand out as far at *some* k, the larger of box and Gaussian.

        None without surrogates.
        """
        if self.null_means is None:
            return None
        return max(
            any_k_p_value(self.mean_score, null)
            for name, null in self.null_means.items()
            if name in VERDICT
        )

    @property
    def structured(self) -> bool | None:
        """Whether some k scores higher than box and Gaussian can explain; None: no surrogates."""
        return None if self.p_value is None else self.p_value <= self.level

    @property
    def strongest(self) -> int:
        """The k with the largest adjusted score, or mean score without surrogates."""
        value = self.mean_score if self.adjusted is None else self.adjusted
        return int(self.n_clusters[int(np.argmax(value))])

    @property
    def best(self) -> int:
        """The recommended number of clusters; 1 if no k stands out from one cloud.

        Otherwise it is the smallest k whose adjusted score is within one standard error of the
        largest. Without surrogates it is the k with the largest mean score, a weaker reason.
        """
        if self.adjusted is None or self.adjusted_error is None:
            return self.strongest
        if not self.structured:
            return 1
        top = int(np.argmax(self.adjusted))
        near = self.adjusted >= self.adjusted[top] - self.adjusted_error[top]
        return int(self.n_clusters[int(np.argmax(near))])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k, indexed by k."""
        columns: dict[str, Any] = {
            "score": self.mean_score,
            "score_error": self.score_error,
            "stability": self.mean_stability,
            "stability_error": self.stability_error,
            "geometry": self.mean_geometry,
            "geometry_error": self.geometry_error,
        }
        columns |= {
            f"score_{100 * q:.0f}%": self.quantiles[:, at] for at, q in enumerate(QUANTILES)
        }
        columns |= {
            "weakest_cluster": self.weakest_label,
            "weakest_points": self.weakest_points,
            "weakest_score": self.weakest_score,
        }
        if self.null_means is not None:
            columns |= {
                f"null_{name}": values.mean(axis=0) for name, values in self.null_means.items()
            }
            columns |= {
                "excess": self.excess,
                "excess_error": self.excess_error,
                "adjusted": self.adjusted,
                "adjusted_error": self.adjusted_error,
            }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def summary(self) -> str:
        """Return a short text: a table by k and the recommendation."""
        names = ["score", "stability", "geometry", "weakest_score"]
        names += [] if self.null_means is None else ["excess", "excess_error", "adjusted"]
        table = self.to_frame()[names].to_string(float_format=lambda value: f"{value:.3f}")
        return (
            f"{self.n_points} points, {self.n_runs} runs for each k\n\n{table}\n\n{self._verdict()}"
        )

    def _verdict(self) -> str:
        if self.p_value is None:
            return (
                f"{self.best} clusters have the largest mean score. Not compared with data without "
                "clusters."
            )
        if self.structured:
            return (
                f"{self.best} clusters: the fewest within one standard error of the largest "
                f"adjusted score, that of {self.strongest} (some k stands out from one cloud: p = "
                f"{self.p_value:.2g})."
            )
        return (
            f"1: no k stands out from one cloud (p = {self.p_value:.2g}, level {self.level:g}). "
            f"The strongest is {self.strongest}."
        )


def check_ks(ks: Any, n_points: int) -> list[int]:
    """Return the numbers of clusters to try, in ascending order."""
    checked = sorted(check_count("ks", k, at_least=2) for k in check_list("ks", ks, "range(2, 13)"))
    if len(checked) < 2 or len(set(checked)) < len(checked):
        raise ValueError(
            f"ks={ks!r} must hold at least two different numbers, each once, such as range(2, 13)."
        )
    if checked[-1] >= n_points:
        raise ValueError(
            f"ks={ks!r} goes up to {checked[-1]}; stay below the number of points, {n_points}."
        )
    return checked


def check_open_template(cake: Any) -> CAKE:
    """Return the estimator whose settings are used; `ks` sets its number of clusters."""
    if isinstance(cake, numbers.Integral):
        raise TypeError(f"cake={cake!r} must be a CAKE; the numbers of clusters to try are ks.")
    cake = check_template(cake)
    if cake.n_clusters is not None:
        raise ValueError(
            f"n_clusters={cake.n_clusters} of the CAKE is not used: ks sets it; leave it out."
        )
    if cake.vary is not None and "n_clusters" in cake.vary:
        raise ValueError(
            "vary['n_clusters'] cannot be combined with ks, which sets the number of clusters; "
            "drop one."
        )
    return cake


def choose_k(
    X: Any,
    ks: Iterable[int] = range(2, 13),
    cake: CAKE | None = None,
    *,
    null: Sequence[str] | None = VERDICT,
    n_surrogates: int = 19,
    level: float = 0.05,
    max_points: int | None = 2000,
) -> KProfile:
    """Recommend a number of clusters: score the data with each k, beside surrogates.

    Parameters
    ----------
    X : (n, d) array or frame
        The points; not sparse.
    ks : range or list of int
        The numbers of clusters to try, each at least 2.
    cake : CAKE, optional
        An estimator whose settings are used, such as ``CAKE(clusterer="gmm", random_state=0)``,
        without `n_clusters`; it is not fitted. Its clusterer must take a number of clusters. With
        its `random_state` the data get the scores of its own fit with k clusters; the surrogates
        have seeds of their own. Its `n_jobs` is the number of runs or surrogates at a time; it does
        not change the result.
    null : sequence of {"box", "gaussian", "permuted"}, or None
        Kinds of surrogates, see :func:`clustertrust.null_reference`. None: no comparison; this
        costs one `CAKE` for each k. The default costs about forty times as much.
    n_surrogates : int
        B, number of surrogates of each family: the same for all k.
    level : float
        Some k stands out if the larger of the two p-values, over the whole range, is at most this.
    max_points : int or None
        From more points, a random sample of this size is scored. None: all points are scored.

    Returns
    -------
    KProfile
        `best` is the recommendation, `to_frame()` the table behind it.

    Notes
    -----
    The mean score is adjusted for chance at each k: 0 is the score of one cloud cut into k parts
    (the box or the Gaussian, whichever scores higher), 1 a perfect score. So every k can reach the
    same maximum, and none gains from being easy. `best` is the smallest k within one standard error
    of the largest adjusted score: more clusters must be clearly better. If no k stands out from one
    cloud, `best` is 1.

    The result is the number of groups that this clusterer separates, which may differ from the
    number of classes.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from clustertrust import CAKE, choose_k
    >>> X = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    >>> cake = CAKE(n_runs=5, random_state=0)
    >>> profile = choose_k(X, range(2, 6), cake)
    >>> profile.best, profile.structured
    (3, True)
    >>> choose_k(X, range(2, 6), cake, null=None).best
    3
    """
    families = None if null is None else check_families("null", null)
    B = check_count("n_surrogates", n_surrogates, at_least=2, at_most=MOST)
    level = check_level(level, B)
    cake = check_open_template(cake)
    if families is not None:
        check_has_points(cake, "choose_k(…, null=None) compares the numbers of clusters alone")
    entropy = draw_entropy(cake.random_state)
    sample, _, points = draw_sample(X, max_points, entropy, cake)
    tried = check_ks(ks, len(points))
    device = resolve_device(cake.device, X)
    plans = [Settings.of(clone(cake).set_params(n_clusters=k)).on(device) for k in tried]
    for plan in plans:
        plan.check_points(sample)
    seeds = spawn_seeds(entropy, plans[0].recipe.count())
    rows = [score_one_k(sample, plan, seeds) for plan in plans]
    null_means = None
    if families is not None:
        found = score_surrogates(sample, plans, families, B, entropy)
        null_means = {
            name: np.array([[of.mean for of in by_k] for by_k in by]) for name, by in found.items()
        }
    means, errors = (
        np.array([getattr(row, name) for row in rows]).T for name in ("means", "errors")
    )
    labels, sizes, weakest = zip(*(row.weakest for row in rows), strict=True)
    return KProfile(
        n_clusters=np.array(tried),
        mean_score=means[0],
        mean_stability=means[1],
        mean_geometry=means[2],
        score_error=errors[0],
        stability_error=errors[1],
        geometry_error=errors[2],
        quantiles=np.array([row.quantiles for row in rows]),
        weakest_label=np.array(labels),
        weakest_points=np.array(sizes),
        weakest_score=np.array(weakest),
        null_means=null_means,
        level=level,
        n_points=len(points),
        n_runs=len(seeds),
    )
