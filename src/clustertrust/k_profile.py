"""Scores over a range of k: how many clusters the data bear, beside what data without clusters would give.

The mean score is not comparable between numbers of clusters: two halves of one elongated cloud score 0.66, its five
slices less. So each k is compared with surrogates without clusters that are cut into as many parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._validation import MOST, check_count, check_list
from clustertrust.estimator import CAKE
from clustertrust.geometry import check_metric
from clustertrust.null import check_level, p_value
from clustertrust.one_k import QUANTILES, judge
from clustertrust.recipe import spawn_seeds
from clustertrust.surrogates import VERDICT, Plan, check_families, draw_entropy, draw_sample, score_surrogates

__all__ = ["QUANTILES", "KProfile", "choose_k"]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


def any_k_p_value(data: Floats, null: Floats) -> float:
    """p-value of the largest adjusted score over all k: (q,) of the data beside (B, q) of the surrogates.

    All B + 1 are adjusted by their common mean at each k, so that under the null they are exchangeable and the search
    over k costs nothing in level. They are not divided by their spread: with few surrogates a value that stands far out
    makes the spread that it is measured by, and one lucky surrogate at an unlikely k would hide any structure.
    """
    together = np.vstack([data, null])
    mean = together.mean(axis=0)
    room = np.where(mean < 1, 1 - mean, 1.0)
    highest = ((together - mean) / room).max(axis=1)
    return float(p_value(highest[0], highest[1:]))


@dataclass(frozen=True)
class KProfile:
    """Scores over a range of numbers of clusters. Arrays have one entry a k.

    Attributes
    ----------
    n_clusters : (q,) the numbers tried, rising
    mean_score, mean_stability, mean_geometry : (q,)
    score_error, stability_error, geometry_error : (q,) their jackknife-over-runs standard errors
    quantiles : (q, 5) of the scores, at 5, 25, 50, 75 and 95 %
    weakest_label, weakest_points, weakest_score : (q,) the consensus cluster with the lowest mean score
    null_means : by family, (B, q) mean score of each surrogate; None where none were asked for
    level : the largest p-value at which the data are called structured
    n_points, n_runs : points judged, and runs of each ensemble
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
        """(q,) mean and standard deviation of the surrogates' mean score, of the family that scores higher at k."""
        assert self.null_means is not None
        families = [values for name, values in self.null_means.items() if name in VERDICT]
        means = np.array([values.mean(axis=0) for values in families])
        stds = np.array([values.std(axis=0, ddof=1) for values in families])
        higher, at = means.argmax(axis=0), np.arange(means.shape[1])
        return means[higher, at], stds[higher, at]

    @property
    def null_score(self) -> Floats | None:
        """(q,) mean score of the surrogates, of the box or of the Gaussian, whichever score higher; None: not asked."""
        return None if self.null_means is None else self._rivals()[0]

    @property
    def excess(self) -> Floats | None:
        """(q,) mean score less `null_score`."""
        return None if self.null_score is None else self.mean_score - self.null_score

    @property
    def excess_error(self) -> Floats | None:
        """(q,) s √(1 + 1/B), s the spread over surrogates: of one data set of this size, and of the mean of B."""
        if self.null_means is None:
            return None
        B = len(next(iter(self.null_means.values())))
        return self._rivals()[1] * np.sqrt(1 + 1 / B)

    @property
    def adjusted(self) -> Floats | None:
        """(q,) excess / (1 - null_score): 0 where the score is that of one cloud, 1 where it is perfect."""
        return None if self.excess is None or self.null_score is None else self.excess / (1 - self.null_score)

    @property
    def adjusted_error(self) -> Floats | None:
        """(q,) standard error of `adjusted`, from that of the excess."""
        if self.excess_error is None or self.null_score is None:
            return None
        return self.excess_error / (1 - self.null_score)

    @property
    def p_value(self) -> float | None:
        """How often surrogates stand out as far at *some* k; the larger of box and Gaussian; None: not asked."""
        if self.null_means is None:
            return None
        return max(any_k_p_value(self.mean_score, null) for name, null in self.null_means.items() if name in VERDICT)

    @property
    def structured(self) -> bool | None:
        """Whether some k scores higher than the box and the Gaussian explain; None: not asked."""
        return None if self.p_value is None else self.p_value <= self.level

    @property
    def strongest(self) -> int:
        """The k with the largest adjusted score (without surrogates: the largest mean score), structured or not."""
        value = self.mean_score if self.adjusted is None else self.adjusted
        return int(self.n_clusters[int(np.argmax(value))])

    @property
    def best(self) -> int:
        """The recommended number of clusters; 1 where no k stands out from one cloud.

        Otherwise the smallest k whose adjusted score is within one standard error of the largest. Without surrogates:
        the k with the largest mean score, which is a weaker ground.
        """
        if self.adjusted is None or self.adjusted_error is None:
            return self.strongest
        if not self.structured:
            return 1
        top = int(np.argmax(self.adjusted))
        near = self.adjusted >= self.adjusted[top] - self.adjusted_error[top]
        return int(self.n_clusters[int(np.argmax(near))])

    def to_frame(self) -> pd.DataFrame:
        """One row a k, indexed by it."""
        columns: dict[str, Any] = {
            "score": self.mean_score,
            "score_error": self.score_error,
            "stability": self.mean_stability,
            "stability_error": self.stability_error,
            "geometry": self.mean_geometry,
            "geometry_error": self.geometry_error,
        }
        columns |= {f"score_{100 * q:.0f}%": self.quantiles[:, at] for at, q in enumerate(QUANTILES)}
        columns |= {
            "weakest_cluster": self.weakest_label,
            "weakest_points": self.weakest_points,
            "weakest_score": self.weakest_score,
        }
        if self.null_means is not None:
            columns |= {f"null_{name}": values.mean(axis=0) for name, values in self.null_means.items()}
            columns |= {
                "excess": self.excess,
                "excess_error": self.excess_error,
                "adjusted": self.adjusted,
                "adjusted_error": self.adjusted_error,
            }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def summary(self) -> str:
        """A short text: a table by k and the recommendation."""
        names = ["score", "stability", "geometry", "weakest_score"]
        names += [] if self.null_means is None else ["excess", "excess_error", "adjusted"]
        table = self.to_frame()[names].to_string(float_format=lambda value: f"{value:.3f}")
        return f"{self.n_points} points, {self.n_runs} runs for each k\n\n{table}\n\n{self._verdict()}"

    def _verdict(self) -> str:
        if self.p_value is None:
            return f"{self.best} clusters have the largest mean score. Not compared with data without clusters."
        if self.structured:
            return (
                f"{self.best} clusters: the fewest within one standard error of the largest adjusted score, that of "
                f"{self.strongest} (some k stands out from one cloud: p = {self.p_value:.2g})."
            )
        return (
            f"1: no k stands out from one cloud (p = {self.p_value:.2g}, level {self.level:g}). The strongest is "
            f"{self.strongest}."
        )


def check_range(ks: Any, n_points: int) -> list[int]:
    """Return the numbers of clusters to try, rising."""
    checked = sorted(check_count("ks", k, at_least=2) for k in check_list("ks", ks, "range(2, 13)"))
    if len(checked) < 2 or len(set(checked)) < len(checked):
        raise ValueError(f"ks={ks!r} must hold at least two different numbers, each once, such as range(2, 13).")
    if checked[-1] >= n_points:
        raise ValueError(f"ks={ks!r} goes up to {checked[-1]}; stay below the number of points, {n_points}.")
    return checked


def choose_k(
    X: Any,
    ks: Iterable[int] = range(2, 13),
    *,
    clusterer: Any = "kmeans",
    n_runs: int = 20,
    null: Sequence[str] | None = VERDICT,
    n_surrogates: int = 19,
    level: float = 0.05,
    max_points: int | None = 2000,
    vary: Mapping[str, Sequence[Any]] | None = None,
    resample: float | str | None = None,
    left_out: str = "skip",
    on_failure: str = "raise",
    fusion: str = "harmonic",
    geometry: str = "auto",
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    kernel: Any = "self-tuning",
    kernel_params: dict[str, Any] | None = None,
    normalization: str = "clip",
    agreement: str = "matching",
    unassigned: str = "skip",
    consensus: str = "medoid",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> KProfile:
    """How many clusters? Score the data with each k, beside surrogates without clusters.

    Parameters
    ----------
    X : (n, d) array or frame
        The points; not sparse.
    ks : range or list of int
        The numbers of clusters to try, each at least 2.
    clusterer, n_runs, vary, resample, left_out, on_failure
        How the runs are made, see :class:`clustertrust.CAKE`; the clusterer must take a number of clusters.
    null : sequence of {"box", "gaussian", "permuted"}, or None
        Kinds of surrogates, see :func:`clustertrust.null_reference`. None: no comparison, which costs as much as one
        `CAKE` for each k; with the default a profile costs some forty times that.
    n_surrogates : int
        B, of each family: the same for all k.
    level : float
        Some k stands out where the larger of the two p-values, over the whole range, is at most this.
    max_points : int or None
        Of more points a random sample of this size is judged. None: all.
    fusion, geometry, metric, metric_params, kernel, kernel_params, normalization, agreement, unassigned, consensus
        How they are scored, see :class:`clustertrust.CAKE`.
    random_state : int, RandomState or None
        The data are scored as by ``CAKE(k, …, random_state=random_state)``; the surrogates have seeds of their own.
    n_jobs : int, optional
        Runs or surrogates at a time; None: every core. The result is the same for any number.
    verbose : bool
        Show progress bars, where there is a terminal.

    Returns
    -------
    KProfile
        `best` is the recommendation, `to_frame()` the table it rests on.

    Notes
    -----
    The rule. The mean score is adjusted for chance at each k: 0 where it is that of one cloud cut into k parts (the box
    or the Gaussian, whichever scores higher), 1 where it is perfect. So every k can reach the same top, and none gains
    from being easy. The largest adjusted score wins, and of those within one standard error of it the smallest k: more
    clusters have to earn their place. Where no k stands out from one cloud, `best` is 1.

    It finds the number of groups that this clusterer separates, which need not be the number of classes.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from clustertrust.k_profile import choose_k
    >>> X = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    >>> profile = choose_k(X, range(2, 6), n_runs=5, random_state=0)
    >>> profile.best, profile.structured
    (3, True)
    >>> choose_k(X, range(2, 6), n_runs=5, null=None, random_state=0).best
    3
    """
    families = None if null is None else check_families("null", null)
    B = check_count("n_surrogates", n_surrogates, at_least=2, at_most=MOST)
    level = check_level(level, B)
    entropy = draw_entropy(random_state)
    sample, _, points = draw_sample(X, max_points, entropy)
    tried = check_range(ks, len(points))
    if vary is not None and "n_clusters" in vary:
        raise ValueError("vary['n_clusters'] cannot be combined with ks, which sets the number of clusters; drop one.")
    plans = [
        Plan.of(
            CAKE(
                k,
                clusterer=clusterer,
                n_runs=n_runs,
                vary=vary,
                resample=resample,
                left_out=left_out,
                on_failure=on_failure,
                fusion=fusion,
                geometry=geometry,
                metric=metric,
                metric_params=metric_params,
                kernel=kernel,
                kernel_params=kernel_params,
                normalization=normalization,
                agreement=agreement,
                unassigned=unassigned,
                consensus=consensus,
                n_jobs=n_jobs,
            ),
            len(sample),
        )
        for k in tried
    ]
    if geometry in {"exact", "auto"}:
        check_metric(sample, plans[0].options)
    seeds = spawn_seeds(entropy, plans[0].n_runs)
    rows = [judge(sample, plan, seeds, n_jobs, verbose) for plan in plans]
    null_means = None
    if families is not None:
        found = score_surrogates(sample, plans, families, B, entropy, n_jobs=n_jobs, verbose=verbose)
        null_means = {name: np.array([[of.mean for of in by_k] for by_k in by]) for name, by in found.items()}
    means, errors = (np.array([getattr(row, name) for row in rows]).T for name in ("means", "errors"))
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
        n_runs=plans[0].n_runs,
    )
