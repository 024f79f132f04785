"""How often is `choose_k` right about the number of classes, or within one, beside the usual indices?

`python -m experiments.beyond.choose_k` is a trial of some minutes and goes to `results/quick`; `--full` takes an hour
or two. A data set that is finished is not run again: delete its rows, or the file, to run it anew.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_score

from clustertrust import CAKE, KProfile, choose_k
from clustertrust._parallel import one_thread
from clustertrust.baselines import bootstrap_stability
from clustertrust.null.surrogates import box
from experiments import data, drawing
from experiments.beyond import command, folder, into_page
from experiments.page import markdown, save_figure
from experiments.results import read, write
from experiments.runs import hushed

# What the tables call each way to choose, in their order.
OURS = ("choose_k", "choose_k, strongest", "largest excess", "choose_k, null=None")
RIVALS = (
    "mean silhouette",
    "Calinski–Harabasz",
    "Davies–Bouldin",
    "gap statistic",
    "subsample stability",
)


class Size(NamedTuple):
    """How much is run."""

    points: int
    runs: int
    surrogates: int
    repetitions: int
    sets: tuple[str, ...]


QUICK = Size(300, 5, 19, 1, ("S1", "S2", "S4", "S5", "Ir", "Bc"))
FULL = Size(1000, 10, 19, 1, data.CHEAPEST_FIRST)


def by_cake(profile: KProfile) -> dict[str, int]:
    """What our profile recommends, and what other readings of it would."""
    assert profile.excess is not None
    best_of = lambda values: int(profile.n_clusters[int(np.argmax(values))])  # noqa: E731
    choices = (
        profile.best,
        profile.strongest,
        best_of(profile.excess),
        best_of(profile.mean_score),
    )
    return dict(zip(OURS, choices, strict=True))


def gap(X: NDArray, inertias: list[float], ks: list[int], surrogates: int, seed: int) -> int:
    """The gap statistic (Tibshirani, Walther and Hastie 2001): k from 1 on, box along the principal axes.

    The smallest k with gap(k) ≥ gap(k + 1) - s(k + 1); the largest k where there is none.
    """
    draw, rng = box(X), np.random.default_rng([3, seed])
    null = np.array(
        [
            [np.log(fit(draw_, k, seed).inertia_) for k in ks]
            for draw_ in (draw(rng) for _ in range(surrogates))
        ]
    )
    gaps = null.mean(axis=0) - np.log(inertias)
    s = null.std(axis=0) * np.sqrt(1 + 1 / surrogates)
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - s[1:])
    return ks[int(enough[0])] if enough.size else ks[-1]


def fit(X: NDArray, k: int, seed: int) -> KMeans:
    """The best of ten k-means, as one would use for an index."""
    with one_thread():  # many small fits: threads would cost more than they gain
        return KMeans(k, n_init=10, random_state=seed).fit(X)


def by_indices(X: NDArray, ks: list[int], size: Size, seed: int) -> dict[str, int]:
    """What the usual indices choose."""
    models = {k: fit(X, k, seed) for k in [1, *ks]}
    labels = [models[k].labels_ for k in ks]
    stable = [
        float(bootstrap_stability(X, n_clusters=k, n_runs=size.runs, random_state=seed).mean())
        for k in ks
    ]
    values = (
        [silhouette_score(X, of) for of in labels],
        [calinski_harabasz_score(X, of) for of in labels],
        [-davies_bouldin_score(X, of) for of in labels],
    )
    silhouette, variance_ratio, similarity = (ks[int(np.argmax(of))] for of in values)
    by_gap = gap(X, [models[k].inertia_ for k in [1, *ks]], [1, *ks], size.surrogates, seed)
    return dict(
        zip(
            RIVALS,
            (silhouette, variance_ratio, similarity, by_gap, ks[int(np.argmax(stable))]),
            strict=True,
        )
    )


def run(name: str, size: Size) -> Iterator[dict[str, Any]]:
    """Every choice on one data set, from 2 to at least 12 clusters, and past the number of classes."""
    case = data.load(name, noise_is_class=False)
    ks = list(range(2, max(12, case.k + 4) + 1))
    for repetition in range(size.repetitions):
        rows = np.random.default_rng([4, repetition]).permutation(len(case.X))[: size.points]
        X = np.asarray(case.X[rows], dtype=np.float64)
        with hushed():
            profile = choose_k(
                X, ks, CAKE(n_runs=size.runs, random_state=repetition), n_surrogates=size.surrogates
            )
            chosen = by_cake(profile) | by_indices(X, ks, size, repetition)
        for method, k in chosen.items():
            yield {
                "dataset": name,
                "classes": case.k,
                "repetition": repetition,
                "method": method,
                "k": k,
            }
        print(f"{time.strftime('%H:%M:%S')} {name} {repetition}", file=sys.stderr, flush=True)


def tally(rows: pd.DataFrame) -> pd.DataFrame:
    """For each method the share of data sets in which it is right and within one, each set counting once."""
    off = (rows["k"] - rows["classes"]).abs()
    marked = rows.assign(right=off == 0, within=off <= 1, off=off)
    by_set = marked.groupby(["method", "dataset"], sort=False)[["right", "within", "off"]].mean()
    return by_set.groupby("method", sort=False).agg(
        {"right": "mean", "within": "mean", "off": "median"}
    )


def page(rows: pd.DataFrame, size: Size) -> str:
    """The tables as Markdown."""
    methods = list(dict.fromkeys(rows["method"]))
    counts = tally(rows)
    first = markdown(
        ["method", "right", "within one", "median distance"],
        [
            [m, f"{counts.right[m]:.0%}", f"{counts.within[m]:.0%}", f"{counts.off[m]:g}"]
            for m in methods
        ],
    )
    chosen = rows.groupby(["dataset", "classes", "method"], sort=False)["k"].apply(
        lambda ks: "/".join(map(str, dict.fromkeys(ks)))
    )
    second = markdown(
        ["data set", "classes", *methods],
        [
            [name, k, *(chosen[(name, k, m)] for m in methods)]
            for name, k in rows[["dataset", "classes"]].drop_duplicates().itertuples(index=False)
        ],
    )
    how = (
        f"{rows['dataset'].nunique()} data sets, at most {size.points} points, {size.runs} runs, {size.surrogates} "
        f"surrogates of each family, {size.repetitions} repetitions. Made by `python -m experiments.beyond.choose_k"
        f"{' --full' if size is FULL else ''}`."
    )
    return f"{how}\n\n{first}\n\nThe k that each chose (where repetitions differ: all that occurred).\n\n{second}\n"


def draw(rows: pd.DataFrame) -> Any:
    """Shares of data sets in which each method is right, and within one."""
    counts = tally(rows).iloc[::-1]
    figure, axes = drawing.grid(
        1, 1, height=3.6, title="Number of classes found: right, and within one"
    )
    ax = axes[0, 0]
    ax.barh(counts.index, counts["within"], color=drawing.SKY, label="within one")
    ax.barh(counts.index, counts["right"], color=drawing.BLUE, label="right")
    ax.set(xlabel="share of the data sets", xlim=(0, 1))
    ax.legend()
    return figure


def main() -> None:
    """Run what was asked for."""
    parser = command("choose_k", __doc__, "an hour or two instead of minutes")
    parser.add_argument("--data", nargs="+", choices=data.ALL, help="only these data sets")
    arguments = parser.parse_args()
    data.find_data()
    size: Size = FULL if arguments.full else QUICK
    out = folder(full=arguments.full)
    rows = read(out / "choose_k.csv")
    for name in arguments.data or size.sets:
        if len(rows) and name in set(rows["dataset"]):
            continue
        rows = pd.concat([rows, pd.DataFrame(list(run(name, size)))], ignore_index=True)
        order = {known: at for at, known in enumerate(data.ALL)}
        rows = rows.sort_values(
            "dataset", key=lambda names: names.map(order), kind="stable", ignore_index=True
        )
        write(out / "choose_k.csv", rows.to_csv(index=False))
    write(out / "choose_k.md", page(rows, size))
    if size is FULL:
        into_page("choose_k.md", "choices", page(rows, size))
    save_figure(draw(rows), out / "choose_k.png")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    main()
