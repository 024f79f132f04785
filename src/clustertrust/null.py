"""The same score where there is no structure: what the mean score, a cluster and a point are compared with.

k-means cuts a uniform square into four very stable pieces, and an elongated Gaussian into two. So a high score alone
proves nothing. Here the same ensemble is run on surrogates of the data that have no clusters.

References
----------
R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set via the gap statistic",
Journal of the Royal Statistical Society B 63 (2001): the box along the principal axes. B. Phipson and G. K. Smyth,
"Permutation p-values should never be zero", Statistical Applications in Genetics and Molecular Biology 9 (2010).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._parallel import count_threads
from clustertrust._progress import progress
from clustertrust._validation import check_choice, check_count, check_matrix
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.estimator import CAKE
from clustertrust.geometry import Options, check_metric, check_options, is_precomputed
from clustertrust.recipe import Recipe, draw_seeds, run_all, spawn_seeds
from clustertrust.results import Confidence, frame_of
from clustertrust.scoring import Scoring, score_ensemble

__all__ = ["FAMILIES", "VERDICT", "NullReference", "null_reference"]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], NDArray]

_SAMPLE = 0  # first number of the spawn key of the sample; those of families follow. Runs have keys of length one.


# Surrogates: data → a function that draws as many points without clusters


class _Axes(NamedTuple):
    """Mean, principal axes (rank, d), and standard deviation and range of the data along each."""

    mean: Floats
    axes: Floats
    std: Floats
    low: Floats
    high: Floats


def _principal_axes(X: Floats) -> _Axes:
    """Axes along which the data have no spread are left out."""
    mean = X.mean(axis=0)
    along, size, axes = np.linalg.svd(X - mean, full_matrices=False)
    rank = int((size > size.max(initial=0.0) * max(X.shape) * np.finfo(np.float64).eps).sum())
    along = along[:, :rank] * size[:rank]
    return _Axes(mean, axes[:rank], size[:rank] / np.sqrt(len(X) - 1), along.min(axis=0), along.max(axis=0))


def box(X: Floats) -> Draw:
    """Uniform in the box that the data fill along their principal axes."""
    at = _principal_axes(X)
    return lambda rng: at.mean + rng.uniform(at.low, at.high, (len(X), len(at.axes))) @ at.axes


def gaussian(X: Floats) -> Draw:
    """One Gaussian with the mean and covariance of the data."""
    at = _principal_axes(X)
    return lambda rng: at.mean + (rng.standard_normal((len(X), len(at.axes))) * at.std) @ at.axes


def permuted(X: Floats) -> Draw:
    """Each column shuffled on its own: the marginals stay, and with them any clusters that they show."""
    return lambda rng: rng.permuted(X, axis=0)


FAMILIES: dict[str, Callable[[Floats], Draw]] = {"box": box, "gaussian": gaussian, "permuted": permuted}
VERDICT = ("box", "gaussian")  # permuted columns test dependence, which is another question


# Scoring: the data's settings, for the data and for surrogates alike


@dataclass(frozen=True)
class Plan:
    """How an ensemble is made and scored: a checked `CAKE`."""

    recipe: Recipe
    n_runs: int
    on_failure: str
    geometry: str
    options: Options
    scoring: Scoring

    @classmethod
    def of(cls, cake: CAKE, n_points: int) -> Plan:
        """Check the settings of an estimator."""
        options = Options(cake.metric, cake.metric_params, cake.kernel, cake.kernel_params, None, cake.n_jobs)
        scoring = Scoring(cake.fusion, cake.normalization, cake.agreement, cake.unassigned, cake.consensus)
        scoring.check()
        check_options(cake.geometry, options)
        if is_precomputed(cake.geometry, options):
            raise ValueError("A precomputed matrix has no surrogates: give the points, and another metric or kernel.")
        check_choice("on_failure", cake.on_failure, ["drop", "raise"])
        recipe = Recipe.of(cake.clusterer, cake.n_clusters, cake.vary, cake.resample, cake.left_out, n_points)
        n_runs = check_count("n_runs", cake.n_runs, at_least=2)
        return cls(recipe, n_runs, cake.on_failure, cake.geometry, options, scoring)

    def build(self, X: Any, seeds: Sequence[int], *, n_jobs: int | None, verbose: bool = False) -> Ensemble:
        """Cluster X once a seed."""
        runs = run_all(X, self.recipe, list(enumerate(seeds)), self.on_failure, n_jobs, verbose, None)
        if len(runs) < 2:
            raise ValueError(f"Only {len(runs)} of {len(seeds)} runs succeeded; at least 2 are needed.")
        return assemble(runs)

    def alone(self) -> Plan:
        """The same on one thread, for surrogates that are worked on side by side."""
        return replace(self, options=replace(self.options, n_jobs=1))

    def score(self, X: Any, ensemble: Ensemble, frame: Any = None, *, quiet: bool = False) -> Confidence:
        """Score an ensemble; its clusters are called 0, 1, …, as by `CAKE`."""
        scored = score_ensemble(X, ensemble, self.geometry, self.options, self.scoring, frame, quiet=quiet)[1]
        return replace(scored, label_names=np.arange(len(scored.label_names)))


def mean_score(scores: Floats) -> float:
    """Mean over the points that have a score; 0 where none has."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else 0.0


def cluster_means(scores: Floats, labels: Ints) -> Floats:
    """Mean score of the members of each cluster 0, 1, …; NaN where there are none."""
    known = (labels >= 0) & ~np.isnan(scores)
    size = np.bincount(labels[known], minlength=labels.max(initial=-1) + 1)
    total = np.bincount(labels[known], scores[known], minlength=len(size))
    return np.divide(total, size, out=np.full(len(size), np.nan), where=size > 0)


class Surrogate(NamedTuple):
    """What is kept of a scored surrogate: its mean score, the largest mean of a cluster, and all scores."""

    mean: float
    largest: float
    scores: Floats


def _work(draw: Draw, like: NDArray, plans: Sequence[Plan], entropy: int, key: tuple[int, int]) -> list[Surrogate]:
    """One surrogate, scored under each plan. All that is random in it follows from its own key."""
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))
    X = draw(rng).astype(like.dtype, copy=False)
    seeds = [int(seed) for seed in rng.integers(2**32, size=max(plan.n_runs for plan in plans))]
    kept = []
    for plan in plans:
        scored = plan.score(X, plan.build(X, seeds[: plan.n_runs], n_jobs=1), quiet=True)
        largest = cluster_means(scored.scores, scored.labels)
        known = largest[~np.isnan(largest)]
        kept.append(Surrogate(mean_score(scored.scores), float(known.max(initial=0.0)), scored.scores))
    return kept


def score_surrogates(
    X: NDArray,
    plans: Sequence[Plan],
    families: Sequence[str],
    n_surrogates: int,
    entropy: int,
    *,
    n_jobs: int | None,
    verbose: bool,
) -> dict[str, list[list[Surrogate]]]:
    """For each family, surrogate and plan what `Surrogate` keeps. The same surrogate serves all plans.

    Surrogate b of a family depends on the data, the entropy, the family and b alone, so that more surrogates begin
    with the same ones.
    """
    plans = [plan.alone() for plan in plans]
    draws = {name: FAMILIES[name](np.asarray(X, dtype=np.float64)) for name in families}
    first = {name: at for at, name in enumerate(FAMILIES, _SAMPLE + 1)}
    jobs = [(name, b) for name in families for b in range(n_surrogates)]
    work = joblib.delayed(_work)
    parallel = joblib.Parallel(n_jobs=count_threads(n_jobs), prefer="threads", return_as="generator")
    results = parallel(work(draws[name], X, plans, entropy, (first[name], b)) for name, b in jobs)
    done = list(progress(results, len(jobs), "surrogates", verbose=verbose))
    return {name: done[at * n_surrogates : (at + 1) * n_surrogates] for at, name in enumerate(families)}


# The question and its answer


def p_value(value: float | Floats, null: Floats) -> Any:
    """(1 + number of null values ≥ value) / (1 + B): never 0, and valid where all B + 1 are exchangeable."""
    at_least = len(null) - np.searchsorted(np.sort(null), value, side="left")
    return (1 + at_least) / (1 + len(null))


@dataclass(frozen=True)
class NullReference:
    """The scores of a data set beside those of surrogates without clusters. Arrays have one entry a judged point.

    Attributes
    ----------
    confidence : Confidence
        Scores, labels, … of the data: of all points, or of the sample in `points`.
    points : (m,) positions in X of the points that were judged
    families : kinds of surrogates; "permuted" is no part of the verdict
    n_surrogates : B, of each family
    level : the largest p-value at which the data are called structured
    means : by family, (B,) mean score of each surrogate
    largest_cluster_means : by family, (B,) mean score of the best cluster of each surrogate
    pooled : by family, (B m,) all scores of all surrogates, rising

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust.null import null_reference
    >>> square = np.random.default_rng(0).uniform(size=(200, 2))
    >>> null = null_reference(square, 4, n_runs=5, n_surrogates=19, random_state=0)
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

    @property
    def mean(self) -> float:
        """Mean score of the data."""
        return mean_score(self.confidence.scores)

    @property
    def verdict_families(self) -> tuple[str, ...]:
        """The families that the verdict rests on."""
        return tuple(name for name in self.families if name in VERDICT)

    @property
    def p_values(self) -> dict[str, float]:
        """By family: how often its surrogates score as high on average as the data."""
        return {name: float(p_value(self.mean, self.means[name])) for name in self.families}

    @property
    def p_value(self) -> float:
        """The larger of the p-values of the box and of the Gaussian."""
        return max(self.p_values[name] for name in self.verdict_families)

    @property
    def structured(self) -> bool:
        """Whether the mean score is higher than the box and the Gaussian explain."""
        return self.p_value <= self.level

    @property
    def excess(self) -> float:
        """Mean score less that of the surrogates, of the box or of the Gaussian, whichever score higher."""
        return self.mean - max(float(self.means[name].mean()) for name in self.verdict_families)

    @property
    def point_excess(self) -> Floats:
        """(m,) score less the mean score of the surrogates that score higher; its mean is `excess`."""
        return self.confidence.scores - (self.mean - self.excess)

    @cached_property
    def point_percentile(self) -> Floats:
        """(m,) share of the pooled scores of surrogates below the point's, the smaller of box and Gaussian; NaN stays.

        It says how common such a score is where there are no clusters. It is no test: see `null_reference`.
        """
        scores = self.confidence.scores
        shares = [np.searchsorted(self.pooled[f], scores, side="left") / len(self.pooled[f]) for f in self._pooled()]
        return np.where(np.isnan(scores), np.nan, np.min(shares, axis=0)) if shares else np.full(len(scores), np.nan)

    def _pooled(self) -> list[str]:
        return [name for name in self.verdict_families if len(self.pooled[name])]

    def clusters(self) -> pd.DataFrame:
        """One row a consensus cluster: its points, its mean score, and its p-values.

        Each mean is compared with the *best* cluster of each surrogate. So the chance that any cluster of data without
        structure falls below the level is at most the level, however many clusters there are.
        """
        scores, labels = self.confidence.scores, self.confidence.labels
        means = cluster_means(scores, labels)
        there = np.flatnonzero(~np.isnan(means))
        table = pd.DataFrame(
            {"points": np.bincount(labels[labels >= 0], minlength=len(means))[there], "mean_score": means[there]},
            index=pd.Index(self.confidence.label_names[there], name="label"),
        )
        for name in self.families:
            table[f"p_{name}"] = p_value(means[there], self.largest_cluster_means[name])
        table["p_value"] = table[[f"p_{name}" for name in self.verdict_families]].max(axis=1)
        table["structured"] = table["p_value"] <= self.level
        return table

    def to_frame(self) -> Any:
        """One row a judged point, as the kind of frame that came in (pandas with its index, polars), else pandas."""
        columns: dict[str, NDArray] = {
            "point": self.points,
            "label": self.confidence.to_columns()["label"],
            "score": self.confidence.scores,
            "excess": self.point_excess,
            "percentile": self.point_percentile,
        }
        frame = self.confidence.frame
        if frame is None or isinstance(frame, pd.DataFrame):
            return pd.DataFrame(columns, index=self.points if frame is None else frame.index)
        return type(frame)({name: c.tolist() if c.dtype == object else c for name, c in columns.items()})

    def summary(self) -> str:
        """A short text: the mean score beside those of the surrogates, the verdict, a table by cluster."""
        k, m = len(self.confidence.label_names), len(self.points)
        lines = [f"{m} points, {k} clusters, {self.confidence.n_runs} runs: mean score {self.mean:.3f}"]
        for name in self.families:
            null, aside = self.means[name], "" if name in VERDICT else ", no part of the verdict"
            lines.append(
                f"  {name}: {null.mean():.3f} ± {null.std():.3f} in {len(null)} surrogates, "
                f"p = {self.p_values[name]:.2g}{aside}"
            )
        lines.append(self._verdict())
        table = self.clusters().to_string(float_format=lambda value: f"{value:.3f}")
        return "\n".join([*lines, "", "By cluster, against the best cluster of each surrogate", table])

    def _verdict(self) -> str:
        if self.structured:
            rivals = " and the ".join(self.verdict_families)
            return f"Structured: more than the {rivals} would show (p = {self.p_value:.2g}, level {self.level:g})."
        rivals = " or the ".join(name for name in self.verdict_families if self.p_values[name] > self.level)
        return (
            f"Not structured: one cloud, like the {rivals}, scores as high (p = {self.p_value:.2g}, level "
            f"{self.level:g}). The clusters may be cuts through it."
        )


def check_families(argument: str, families: Any) -> tuple[str, ...]:
    """Return the names, each once, one of the verdict's at least."""
    if isinstance(families, str) or not isinstance(families, Iterable):
        raise TypeError(f"{argument}={families!r} must be a sequence of names, such as {VERDICT}.")
    given = tuple(families)
    for name in given:
        check_choice(argument, name, FAMILIES)
    if not set(given) & set(VERDICT):
        raise ValueError(f"{argument}={families!r} leaves the verdict to nothing; add one of {list(VERDICT)}, or both.")
    return tuple(dict.fromkeys(given))


def check_level(level: Any, n_surrogates: int) -> float:
    """Return the level, if a p-value can reach it with this number of surrogates."""
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise ValueError(f"level={level!r} must be a number between 0 and 1, such as 0.05.")
    if 1 / (n_surrogates + 1) > level:
        needed = int(np.ceil(1 / float(level) - 1e-9)) - 1
        raise ValueError(
            f"n_surrogates={n_surrogates} allows no p-value below {1 / (n_surrogates + 1):.3g}, so that level={level} "
            f"could never be reached; take at least {needed}."
        )
    return float(level)


def draw_sample(X: Any, max_points: int | None, entropy: int) -> tuple[NDArray, Any, Ints]:
    """Check X, draw the sample, and return it with what its table shall look like, and the positions of its points."""
    frame = frame_of(X)
    X = check_matrix(X)
    if sparse.issparse(X):
        raise ValueError("X is sparse, and surrogates are dense; reduce it first (sklearn.decomposition.TruncatedSVD).")
    if not np.ptp(X, axis=0).any():
        raise ValueError("X has no spread: all its rows are equal, so that there is nothing to compare with.")
    n = len(X)
    points = np.arange(n)
    if max_points is not None and n > check_count("max_points", max_points, at_least=2):
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_SAMPLE, 0)))
        points = np.sort(rng.choice(n, max_points, replace=False))
    if len(points) < n and isinstance(frame, pd.DataFrame):
        frame = frame.iloc[points]
    return X[points] if len(points) < n else X, frame, points


def draw_entropy(random_state: Any) -> int:
    """The number that all seeds come from; a list of seeds has none for surrogates."""
    if isinstance(random_state, Sequence | np.ndarray):
        raise ValueError(f"random_state={random_state!r} must be a number or None: surrogates need seeds of their own.")
    entropy, _ = draw_seeds(random_state, 1)
    assert entropy is not None
    return entropy


def null_reference(
    X: Any,
    n_clusters: int | None = None,
    *,
    clusterer: Any = "kmeans",
    n_runs: int = 20,
    families: Sequence[str] = VERDICT,
    n_surrogates: int = 99,
    level: float = 0.05,
    max_points: int | None = 5000,
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
) -> NullReference:
    """Is there any structure here? Score the data, and surrogates of it that have no clusters, in the same way.

    Parameters
    ----------
    X : (n, d) array or frame
        The points; not sparse.
    n_clusters : int, optional
        Clusters of each run, as for :class:`clustertrust.CAKE`. The answer is for this number.
    clusterer, n_runs, vary, resample, left_out, on_failure
        How the runs are made, see :class:`clustertrust.CAKE`; `n_runs` is a number here.
    families : sequence of {"box", "gaussian", "permuted"}
        Kinds of surrogates. "box": uniform in the box along the principal axes. "gaussian": one Gaussian with the
        data's covariance. "permuted": each column shuffled, which tests whether columns depend on each other, not
        whether there are clusters; it is told and is no part of the verdict.
    n_surrogates : int
        B, of each family. A p-value is one of 1/(B + 1), 2/(B + 1), …, 1.
    level : float
        The data are called structured where the larger of the two p-values is at most this.
    max_points : int or None
        Of more points a random sample of this size is judged, and the surrogates have its size. None: all.
    fusion, geometry, metric, metric_params, kernel, kernel_params, normalization, agreement, unassigned, consensus
        How they are scored, see :class:`clustertrust.CAKE`.
    random_state : int, RandomState or None
        The data are scored as by ``CAKE(…, random_state=random_state)``; the surrogates have seeds of their own.
    n_jobs : int, optional
        Surrogates at a time; None: every core. The result is the same for any number.
    verbose : bool
        Show a progress bar, where there is a terminal.

    Returns
    -------
    NullReference

    Notes
    -----
    The level is claimed for data from a uniform box or one Gaussian. A p-value for skewed, heavy-tailed or curved data
    without clusters may be too small: the documentation has measured rates. The opposite verdict is no proof either:
    clusters that overlap much score no higher than one cloud.

    Percentiles of points are not turned into flags. Scores of the points of one data set rise and fall together, and
    where there are clusters the points between them do not score like points of one cloud. In simulations the share of
    false flags was not the share aimed at.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust.null import null_reference
    >>> null = null_reference(load_iris().data, 2, n_runs=5, n_surrogates=19, random_state=0)
    >>> null.structured, null.p_value
    (True, 0.05)
    >>> null.to_frame().columns.tolist()
    ['point', 'label', 'score', 'excess', 'percentile']
    """
    families = check_families("families", families)
    B = check_count("n_surrogates", n_surrogates, at_least=1)
    level = check_level(level, B)
    entropy = draw_entropy(random_state)
    sample, frame, points = draw_sample(X, max_points, entropy)
    cake = CAKE(
        n_clusters,
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
    )
    plan = Plan.of(cake, len(sample))
    if geometry in {"exact", "auto"}:
        check_metric(sample, plan.options)
    ensemble = plan.build(sample, spawn_seeds(entropy, plan.n_runs), n_jobs=n_jobs)
    assert ensemble.runs is not None
    plan.recipe.tell(ensemble.runs)
    scored = plan.score(sample, ensemble, frame)
    found = score_surrogates(sample, [plan], families, B, entropy, n_jobs=n_jobs, verbose=verbose)
    pooled = {name: np.concatenate([of[0].scores for of in by]) for name, by in found.items()}
    return NullReference(
        confidence=scored,
        points=points,
        families=families,
        n_surrogates=B,
        level=level,
        means={name: np.array([of[0].mean for of in by]) for name, by in found.items()},
        largest_cluster_means={name: np.array([of[0].largest for of in by]) for name, by in found.items()},
        pooled={name: np.sort(scores[~np.isnan(scores)]) for name, scores in pooled.items()},
    )
