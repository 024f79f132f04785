"""How often is `choose_k` right about the number of clusters, beside the usual indices, mclust and fpc?

On sets of families that nothing was fitted to (`sets.HELD_OUT`), on the real sets of `heldout`, and on shapes without
clusters (`sets.SHAPES`). All methods see the same points and the same range, 2 to 16.

The answers of R's packages are those of `rivals.R`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_score
from sklearn.mixture import GaussianMixture

from clustertrust import CAKE, choose_k
from clustertrust._parallel import one_thread
from clustertrust.baselines import bootstrap_stability
from clustertrust.surrogates.families import box
from experiments.paper import drawing
from experiments.paper.page import markdown
from experiments.paper.results import read
from experiments.paper.runs import hushed
from experiments.research import folder, heldout
from experiments.research.heldout import Set
from experiments.research.k import sets

KS = list(range(2, 17))
POINTS = 500  # of a real set
EACH, SHAPES_EACH = 10, 8  # sets of each family, and of each shape
OURS, TWO = "choose_k", "always 2"
FROM_R = ("mclust", "fpc nselectboot", "fpc prediction.strength")
RESULTS = folder("k")
FILE, R_FILE = RESULTS / "choose_k.csv", RESULTS / "k_rivals.csv"


def all_sets() -> Iterator[tuple[str, Set]]:
    """Every set with its group; real sets as far as their packages are installed."""
    for made in sorted(sets.held_out(EACH), key=number_of):  # families in turn
        yield "generated", made
    for name in heldout.REAL:
        found = heldout.load(name)
        if found is None:
            print(f"{name}: its package is not installed", file=sys.stderr)
            continue
        rows = np.random.default_rng([4, 0]).permutation(len(found.X))[:POINTS]
        yield "real", found._replace(X=found.X[rows], y=found.y[rows])
    for made in sorted(sets.shapes(SHAPES_EACH), key=number_of):
        yield "shapes", made


def number_of(made: Set) -> int:
    """The number of a set in its family."""
    return int(made.name.split()[-1])


# The usual ways


@dataclass(frozen=True)
class Fits:
    """The points, and the best of ten k-means for each k, fitted when they are asked for."""

    X: NDArray

    @cached_property
    def models(self) -> dict[int, KMeans]:
        """By k."""
        return {k: fit(self.X, k) for k in KS}


def fit(X: NDArray, k: int, n_init: int = 10) -> KMeans:
    """k-means, the best of some starts."""
    return KMeans(k, n_init=n_init, random_state=0).fit(X)


def by_index(index: Callable[[NDArray, NDArray], float]) -> Callable[[Fits], int]:
    """The k with the largest value of an index."""
    return lambda fits: max(KS, key=lambda k: index(fits.X, fits.models[k].labels_))


def by_gap(fits: Fits, surrogates: int = 10, starts: int = 3) -> int:
    """The gap statistic (Tibshirani, Walther and Hastie 2001): k from 1 on, box along the principal axes.

    The smallest k with gap(k) ≥ gap(k + 1) - s(k + 1); the largest k where there is none.
    """
    draw, rng = box(fits.X), np.random.default_rng(3)
    ks = [1, *KS]
    null = np.array(
        [
            [np.log(fit(made, k, starts).inertia_) for k in ks]
            for made in (draw(rng) for _ in range(surrogates))
        ]
    )
    gaps = null.mean(axis=0) - [np.log(fit(fits.X, k, starts).inertia_) for k in ks]
    s = null.std(axis=0) * np.sqrt(1 + 1 / surrogates)
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - s[1:])
    return ks[int(enough[0])] if enough.size else ks[-1]


def by_prediction_strength(fits: Fits, splits: int = 10, cut: float = 0.8) -> int:
    """The largest k whose strength (Tibshirani and Walther 2005) is 0.8 or more; 1 where there is none.

    Cluster two halves; the strength is the least share, over clusters of one half, of pairs that the other half's
    centres keep together.
    """
    X, strong = fits.X, 1
    halves = [np.random.default_rng([5, b]).permutation(len(X)) for b in range(splits)]
    for k in KS:
        strengths = []
        for order in halves:
            one, other = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
            theirs = fit(one, k, 1).predict(other)
            own = fit(other, k, 1).labels_
            shares = []
            for j in range(k):
                counts = np.bincount(theirs[own == j])
                n = counts.sum()
                shares.append((counts * (counts - 1)).sum() / (n * (n - 1)) if n > 1 else 1.0)
            strengths.append(min(shares))
        strong = k if np.mean(strengths) >= cut else strong
    return strong


def by_stability(fits: Fits) -> int:
    """The k whose runs on subsamples agree most."""
    stable = [
        float(bootstrap_stability(fits.X, n_clusters=k, n_runs=10, random_state=0).mean())
        for k in KS
    ]
    return KS[int(np.argmax(stable))]


def by_bic(fits: Fits) -> int:
    """The k, from 1 on, of the mixture with the smallest BIC over scikit-learn's kinds of covariances."""
    found = {}
    for k in [1, *KS]:
        for kind in ("spherical", "diag", "tied", "full"):
            model = GaussianMixture(k, covariance_type=kind, random_state=0)
            found[k, kind] = model.fit(fits.X).bic(fits.X)
    return min(found, key=lambda key: found[key])[0]


INDICES: dict[str, Callable[[Fits], int]] = {
    "mean silhouette": by_index(silhouette_score),
    "Calinski–Harabasz": by_index(calinski_harabasz_score),
    "Davies–Bouldin": by_index(lambda X, labels: -davies_bouldin_score(X, labels)),
    "gap statistic": by_gap,
    "prediction strength": by_prediction_strength,
    "subsample stability": by_stability,
    "BIC of GaussianMixture": by_bic,
}


# Rows: one a set and method


def ours(X: NDArray) -> dict[str, Any]:
    """What `choose_k` says."""
    with hushed():
        profile = choose_k(X, KS, CAKE(n_runs=10, random_state=0, n_jobs=1))
    return {
        "k": profile.best,
        "strongest": profile.strongest,
        "probability": round(float(profile.probability.max()), 3),
        "p_value": profile.p_value,
        "plausible": " ".join(map(str, profile.plausible)),
    } | dict(profile.choices)


def rows_of(group: str, made: Set, methods: list[str], seen: set[str]) -> Iterator[dict[str, Any]]:
    """The answers of those methods that are missing."""
    missing = [method for method in methods if method not in seen]
    fits = None
    for method in missing:
        began = time.process_time()
        if method == OURS:
            found = ours(made.X)
        else:
            with one_thread(), hushed():
                fits = fits or Fits(made.X)
                found = {"k": INDICES[method](fits)}
        head = {"group": group, "set": made.name, "classes": made.k, "method": method}
        yield head | {"seconds": round(time.process_time() - began, 2)} | found


# The page


def with_r(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with the answers of R's packages as far as they are there."""
    if not R_FILE.exists():
        return rows
    of = rows[rows["method"] == OURS].set_index("set")[["group", "classes"]]
    theirs = read(R_FILE).dropna(subset=["k"])
    theirs = theirs[theirs["set"].isin(of.index)]
    return pd.concat([rows, theirs.join(of, on="set")], ignore_index=True)


def with_two(rows: pd.DataFrame, ours: str = OURS) -> pd.DataFrame:
    """The rows, with the answer 2 to every set that has clusters: what a rule must beat to have seen anything."""
    clustered = rows[(rows["method"] == ours) & (rows["group"] != "shapes")]
    two = clustered[["group", "set", "classes"]].assign(method=TWO, k=2)
    return pd.concat([rows, two], ignore_index=True)


def tally(rows: pd.DataFrame) -> pd.DataFrame:
    """By method: sets, share right and within one, mean |log(k̂/k)|; and the same for more than two classes."""
    off = np.abs(np.log(rows["k"] / rows["classes"]))
    right, several = rows["k"] == rows["classes"], rows["classes"] > 2
    marked = rows.assign(
        right=right,
        within=(rows["k"] - rows["classes"]).abs() <= 1,
        off=off,
        several=several,
        right_of_several=right & several,
        off_of_several=off.where(several),
    )
    by = marked.groupby("method", sort=False)
    return by.agg(
        sets=("set", "size"),
        right=("right", "mean"),
        within=("within", "mean"),
        off=("off", "mean"),
        several=("several", "sum"),
        right_of_several=("right_of_several", "sum"),
        off_of_several=("off_of_several", "mean"),
    )


HEAD = ["right", "within one", "mean abs. log(k̂/k)", "k > 2: right", "log"]


def cells_of(tallied: dict[str, Any]) -> list[str]:
    """The tally of one method as cells under `HEAD`."""
    shares = [f"{tallied['right']:.0%}", f"{tallied['within']:.0%}", f"{tallied['off']:.2f}"]
    several = f"{tallied['right_of_several']} of {tallied['several']}"
    return [*shares, several, f"{tallied['off_of_several']:.2f}"]


def table_of(rows: pd.DataFrame) -> str:
    """The tally as Markdown, the best method first."""
    counts = tally(rows).sort_values("right", ascending=False, kind="stable").to_dict("index")
    lines = [[name, of["sets"], *cells_of(of)] for name, of in counts.items()]
    return markdown(["method", "sets", *HEAD], lines)


def coverage(rows: pd.DataFrame) -> tuple[float, float]:
    """How often the plausible numbers hold the right one, and how many they are in the mean."""
    plausible = [set(map(int, str(text).split())) for text in rows["plausible"]]
    hits = [k in found for k, found in zip(rows["classes"], plausible, strict=True)]
    return float(np.mean(hits)), float(np.mean([len(found) for found in plausible]))


def interval(hits: int, n: int) -> tuple[float, float]:
    """The interval of 95 % for a share (Clopper and Pearson)."""
    low = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


def alarms(rows: pd.DataFrame) -> str:
    """By shape: how often some k stands out where there are no clusters, with an interval of 95 %."""
    mine = rows[rows["method"] == OURS]
    lines = []
    names = mine["set"].str.rsplit(n=1).str[0]
    for name, of in [*mine.groupby(names, sort=False), ("all", mine)]:
        wrong, n = int((of["k"] > 1).sum()), len(of)
        low, high = interval(wrong, n)
        lines.append([name, n, wrong, f"{wrong / n:.2f} ({low:.2f}–{high:.2f})"])
    return markdown(["shape", "sets", "false alarms", "share (95 %)"], lines)


def choices(rows: pd.DataFrame) -> str:
    """The k of every method on the real sets."""
    real = rows[(rows["group"] == "real") & (rows["method"] != TWO)]
    methods = list(dict.fromkeys(real["method"]))
    chosen = real.set_index(["set", "method"])["k"].astype(int).to_dict()
    return markdown(
        ["set", "classes", *methods],
        [
            [name, k, *(chosen.get((name, m), "") for m in methods)]
            for name, k in real[["set", "classes"]].drop_duplicates().itertuples(index=False)
        ],
    )


def page(rows: pd.DataFrame) -> str:
    """The tables as Markdown."""
    parts = []
    planned = {"generated": EACH * len(sets.HELD_OUT), "real": len(heldout.REAL)}
    for group, what in (("generated", "generated sets of other families"), ("real", "real sets")):
        of = rows[rows["group"] == group]
        n = of["set"].nunique()
        if not n:
            continue
        share, size = coverage(of[of["method"] == OURS])
        parts += [
            f"**{n} of {planned[group]} {what}.** Our plausible numbers hold the right one in {share:.0%}, "
            f"and average {size:.1f} values.",
            table_of(of),
        ]
    shapes = rows[rows["group"] == "shapes"]
    if len(shapes):
        parts += ["**Shapes without clusters**, where the right answer is 1.", alarms(shapes)]
    if (rows["group"] == "real").any():
        parts += ["**The k that each chose on the real sets.**", choices(rows)]
    parts.append(
        "Made by `python -m experiments.research.k.run first`, and for mclust and fpc by "
        "`experiments/research/k/rivals.R`."
    )
    return "\n\n".join(parts) + "\n"


def draw(rows: pd.DataFrame) -> Any:
    """Shares of sets in which each method is right, and within one."""
    figure, axes = drawing.grid(1, 2, height=4.0, title="Number of clusters: right, and within one")
    for ax, group in zip(axes[0], ("generated", "real"), strict=True):
        counts = tally(rows[rows["group"] == group]).sort_values("right", kind="stable")
        ax.barh(counts.index, counts["within"], color=drawing.SKY, label="within one")
        ax.barh(counts.index, counts["right"], color=drawing.BLUE, label="right")
        ax.set(xlabel="share of the sets", xlim=(0, 1), title=f"{group} sets")
    axes[0][0].legend(fontsize="small")
    return figure


def write_points(folder: Path) -> None:
    """The points of all sets with clusters, one file a set, for R."""
    folder.mkdir(parents=True, exist_ok=True)
    for group, made in all_sets():
        if group != "shapes":
            np.savetxt(folder / f"{made.name}.csv", made.X, delimiter=",", fmt="%.10g")
