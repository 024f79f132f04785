"""Does the guarantee of `risk_threshold` hold on the data sets, and do calibrated probabilities?

`python -m experiments.research.calibration.run` is a trial of a minute or two and goes to `results/quick`; `--full` takes
half an hour. A part (`--part guarantee gain reliability`) can be run again alone.

The guarantee is about the draw of the labels: one ensemble a set, and many draws. A violation is a kept set whose
error, known here, is above alpha. `review` are the least sure points; `same labels` lets the labels that name the
clusters also judge them, which `map_clusters` refuses. Neither carries a guarantee: they show what would happen.
`hidden` is a made set whose surest cluster holds two classes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from clustertrust import CAKE
from clustertrust.calibration import (
    Calibrator,
    RiskThreshold,
    map_clusters,
    reliability,
    risk_threshold,
    suggest,
    thresholds,
)
from clustertrust.calibration.classes import majority
from clustertrust.evaluation import correctness
from experiments.paper import data, drawing
from experiments.paper.page import markdown, save_figure
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, into_page

DELTA = 0.05
ALPHAS = (0.05, 0.1, 0.2)
LABELS = 300  # a third of the points of a small set
NAMING = 100  # labels that name the clusters, where these are not given


class Size(NamedTuple):
    """How much is run."""

    draws: int
    sets: tuple[str, ...]
    fits: int
    labels: tuple[int, ...]


QUICK = Size(40, ("Ir", "Bc", "S4", "hidden"), 4, (50, 200))
FULL = Size(500, (*data.ALL, "hidden"), 20, (25, 50, 100, 200, 500, 1000))


class Scored(NamedTuple):
    """A data set with its consensus: scores, labels, classes, and what is right by the one best matching."""

    scores: NDArray
    labels: NDArray
    classes: NDArray
    right: NDArray


def hidden_class() -> tuple[NDArray, NDArray, int]:
    """Three clusters far apart, the tightest of which holds two classes: its errors are among the surest points."""
    rng = np.random.default_rng(0)
    stds, centers = (1.2, 1.2, 0.2), ((0, 0), (8, 0), (4, 40))
    X = np.vstack(
        [rng.normal(center, std, (600, 2)) for center, std in zip(centers, stds, strict=True)]
    )
    classes = np.repeat([0, 1, 2], 600)
    classes[1200::3] = 3
    return X, classes, 3


# Made scores of 2,000 points: the chance of an error by the share of points that are surer
MADE: dict[str, Callable[[NDArray], NDArray]] = {
    "even": lambda share: np.full_like(share, 0.03),
    "rising": lambda share: 0.25 * share,
}


def made(name: str) -> Scored:
    """Scores alone, with errors as `MADE` says."""
    share = (np.arange(2000) + 0.5) / 2000
    wrong = np.random.default_rng(0).uniform(size=2000) < MADE[name](share)
    return Scored(1 - share, np.zeros(2000, dtype=np.int64), wrong.astype(np.int64), ~wrong)


def scored(name: str) -> Scored:
    """Cluster a set once."""
    if name in MADE:
        return made(name)
    if name == "hidden":
        X, y, k = hidden_class()
    else:
        _, X, y, k = data.load(name, noise_is_class=False)
    with hushed():
        cake = CAKE(k, random_state=0).fit(X)
    return Scored(cake.scores_, cake.labels_, y, correctness(cake.labels_, y))


# The guarantee: each way returns the threshold of one draw and what was right under its map

Outcome = tuple[RiskThreshold, NDArray]


def from_random(of: Scored, n: int, alpha: float, seed: int, design: str = "random") -> Outcome:
    """A random sample; which class a cluster stands for is given."""
    sample = suggest(of.scores, n, design=design, random_state=seed)
    return risk_threshold(
        of.scores, of.right[sample.positions], alpha, DELTA, sample=sample
    ), of.right


def from_one_start(of: Scored, n: int, alpha: float, seed: int) -> Outcome:
    """The same sample, tested in one sequence without a place to begin anew, as before: for comparison."""
    before = thresholds.FORGIVEN
    thresholds.FORGIVEN = before[:1]
    try:
        return from_random(of, n, alpha, seed)
    finally:
        thresholds.FORGIVEN = before


def from_bands(of: Scored, n: int, alpha: float, seed: int) -> Outcome:
    """A sample in bands of the score."""
    return from_random(of, n, alpha, seed, "stratified")


def from_population(of: Scored, n: int, alpha: float, seed: int) -> Outcome:
    """Points drawn one by one with replacement, for points to come; the set itself is the population."""
    at = np.random.default_rng(seed).integers(0, len(of.scores), n)
    return risk_threshold(of.scores[at], of.right[at], alpha, DELTA), of.right


def from_named(of: Scored, n: int, alpha: float, seed: int) -> Outcome:
    """All by labels: some name the clusters by majority, others judge; the error is that of the other points."""
    first = suggest(of.scores, min(NAMING, n // 2), random_state=seed)
    named = map_clusters(of.labels, of.classes[first.positions], first.positions)
    sample = suggest(of.scores, n, exclude=named.used, random_state=seed + 1_000_000)
    judged = named.correct(sample.positions, of.classes[sample.positions])
    right = (named.assign() == of.classes).astype(object)
    right[named.used] = None
    return risk_threshold(of.scores, judged, alpha, DELTA, sample=sample), right


def from_same(of: Scored, n: int, alpha: float, seed: int) -> Outcome:
    """The labels that judge have named the clusters too."""
    sample = suggest(of.scores, n, random_state=seed)
    table = np.zeros((of.labels.max() + 1, len(np.unique(of.classes))), dtype=np.int64)
    kinds, codes = np.unique(of.classes, return_inverse=True)
    np.add.at(table, (of.labels[sample.positions], codes[sample.positions]), 1)
    right = kinds[majority(table)][of.labels] == of.classes
    return risk_threshold(of.scores, right[sample.positions], alpha, DELTA, sample=sample), right


def from_review(of: Scored, n: int, alpha: float, seed: int) -> Outcome:
    """The least sure points; which of those that tie differs from draw to draw."""
    sample = suggest(of.scores, n, "review", random_state=seed)
    return risk_threshold(
        of.scores, of.right[sample.positions], alpha, DELTA, sample=sample
    ), of.right


WAYS: dict[str, tuple[bool, Callable[..., Outcome]]] = {
    "random": (True, from_random),
    "bands": (True, from_bands),
    "population": (True, from_population),
    "named by labels": (True, from_named),
    "same labels": (False, from_same),
    "review": (False, from_review),
}


def interval(hits: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""
    low = beta.ppf(0.025, hits, of - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, of - hits) if hits < of else 1.0
    return float(low), float(high)


def guarantee(size: Size) -> Iterator[dict[str, Any]]:
    """Violations of each way on each set, and how much it kept."""
    for name in size.sets:
        began = time.perf_counter()
        of = scored(name)
        order = np.argsort(-of.scores, kind="stable")
        error = np.cumsum(~of.right[order]) / np.arange(1, len(order) + 1)
        n = min(LABELS, len(order) // 3)
        for alpha in ALPHAS:
            good = np.flatnonzero(error <= alpha)
            for way, (claimed, draw) in WAYS.items():
                draws = size.draws if way != "review" else max(1, size.draws // 20)
                kept, bad = [], 0
                for seed in range(draws):
                    with hushed():
                        found, right = draw(of, n, alpha, seed)
                    mask = found.keep(of.scores)
                    kept.append(mask.mean())
                    spoken_of = right[mask]
                    spoken_of = spoken_of[spoken_of != None].astype(bool)  # noqa: E711
                    bad += spoken_of.size > 0 and (~spoken_of).mean() > alpha
                low, high = interval(bad, draws)
                yield {
                    "dataset": name,
                    "way": way,
                    "claimed": claimed,
                    "alpha": alpha,
                    "labels": n,
                    "violations": bad / draws,
                    "low": low,
                    "high": high,
                    "certified": float(np.mean(np.array(kept) > 0)),
                    "kept": float(np.mean(kept)),
                    "could_be_kept": (good[-1] + 1) / len(order) if good.size else 0.0,
                    "error_of_all": float(error[-1]),
                    "draws": draws,
                }
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)


GAIN_WAYS = {"one start": from_one_start, "now": from_random, "bands": from_bands}
GAIN_SETS = ("S1", "S4", "S6", "Bc", "hidden")


def gain(size: Size) -> Iterator[dict[str, Any]]:
    """Kept share and violations from the same labels: one sequence of tests, the present one, and labels in bands."""
    for name in [*(name for name in size.sets if name in GAIN_SETS), *MADE]:
        of = scored(name)
        for n, alpha in product((100, 300), ALPHAS):
            for way, draw in GAIN_WAYS.items() if n <= len(of.scores) // 2 else ():
                masks = [
                    draw(of, n, alpha, seed)[0].keep(of.scores) for seed in range(size.draws // 10)
                ]
                bad = sum(bool(mask.any() and (~of.right[mask]).mean() > alpha) for mask in masks)
                low, high = interval(bad, len(masks))
                row = {
                    "dataset": name,
                    "labels": n,
                    "alpha": alpha,
                    "way": way,
                    "kept": float(np.mean(masks)),
                }
                certified = float(np.mean([mask.any() for mask in masks]))
                yield row | {
                    "certified": certified,
                    "violations": bad / len(masks),
                    "low": low,
                    "high": high,
                }
        print(f"gain: {name}", flush=True)


def gain_page(table: pd.DataFrame) -> str:
    """Means over the sets by number of labels and alpha, and the most violations."""
    rows = []
    kinds = table["dataset"].where(table["dataset"].isin(list(MADE)), "data sets")
    for (kind, n, alpha), part in table.groupby([kinds, "labels", "alpha"]):
        ways = [part[part["way"] == way] for way in GAIN_WAYS]
        rows.append(
            [
                kind,
                n,
                alpha,
                *(f"{of['kept'].mean():.3f} ({of['violations'].max():.3f})" for of in ways),
            ]
        )
    header = ["of", "labels", "alpha", *(f"{way}: kept (most violations)" for way in GAIN_WAYS)]
    return markdown(header, rows)


def gain_figure(table: pd.DataFrame) -> Any:
    """Kept share now over that of one sequence, a mark a set, number of labels and alpha."""
    figure, axes = drawing.grid(1, 1, height=3.6)
    wide = table.pivot_table(index=["dataset", "labels", "alpha"], columns="way", values="kept")
    axes[0, 0].scatter(wide["one start"], wide["now"], color=drawing.BLUE, s=12)
    axes[0, 0].axline((0, 0), slope=1, color=drawing.BLACK, linewidth=1)
    axes[0, 0].set(xlabel="kept with one sequence of tests", ylabel="kept now")
    return figure


# Calibrated probabilities on points that were not labelled


def calibration(size: Size) -> Iterator[dict[str, Any]]:
    """Expected calibration error and Brier score of each method by number of labels, beside the plain score."""
    for name in size.sets:
        of = scored(name)
        N = len(of.scores)
        for n in (n for n in size.labels if n <= N / 2):
            found: dict[str, list[tuple[float, float]]] = {}
            for seed in range(size.fits):
                order = np.random.default_rng(seed).permutation(N)
                fit, rest = order[:n], order[n : n + 5000]
                s, right = of.scores[rest], of.right[rest]
                with hushed():
                    probabilities = {
                        method: Calibrator(method).fit(of.scores[fit], of.right[fit]).predict(s)
                        for method in ("logistic", "isotonic", "auto")
                    }
                probabilities["one share for all"] = np.full(len(rest), of.right[fit].mean())
                probabilities["the score itself"] = s
                for method, p in probabilities.items():
                    one = reliability(p, right)
                    found.setdefault(method, []).append(
                        (one.expected_calibration_error, one.brier_score)
                    )
            for method, values in found.items():
                error, brier = np.mean(values, axis=0)
                yield {
                    "dataset": name,
                    "labels": n,
                    "method": method,
                    "expected_calibration_error": float(error),
                    "brier_score": float(brier),
                    "fits": size.fits,
                }


# Tables and pictures


def guarantee_page(table: pd.DataFrame) -> str:
    """Worst cases by way, then the sets one by one."""
    rows = []
    for (way, claimed), part in table.groupby(["way", "claimed"], sort=False):
        worst = part.loc[part["violations"].idxmax()]
        above = int((part["low"] > DELTA).sum())
        where = f"{worst['violations']:.3f} ({worst['dataset']}, alpha {worst['alpha']:g})"
        rows.append(
            [
                way,
                "yes" if claimed else "no",
                where,
                f"{above} of {len(part)}",
                f"{part['kept'].mean():.2f}",
            ]
        )
    header = [
        "labels",
        "guaranteed",
        "most violations",
        f"surely above {DELTA:g}",
        "kept on average",
    ]
    parts = [markdown(header, rows)]
    for alpha, part in table.groupby("alpha"):
        lines = []
        for name, of in part.groupby("dataset", sort=False):
            ways = of.set_index("way")
            lines.append(
                [name, f"{of['error_of_all'].iloc[0]:.3f}", f"{of['could_be_kept'].iloc[0]:.2f}"]
                + [
                    f"{ways.loc[way, 'kept']:.2f} ({ways.loc[way, 'violations']:.3f})"
                    for way in WAYS
                ]
            )
        header = ["data set", "error of all", "could be kept", *WAYS]
        parts.append(
            f"Alpha = {alpha:g}: kept on average (violations)\n\n{markdown(header, lines)}"
        )
    return "\n\n".join(parts)


def guarantee_figure(table: pd.DataFrame) -> Any:
    """Violations of each way with their intervals, one mark a set and alpha."""
    figure, axes = drawing.grid(1, 1, height=4.2)
    ax = axes[0, 0]
    for at, way in enumerate(WAYS):
        part = table[table["way"] == way].reset_index(drop=True)
        x = at + np.linspace(-0.35, 0.35, len(part))
        errors = np.abs(part[["low", "high"]].to_numpy().T - part["violations"].to_numpy())
        colour = drawing.BLUE if part["claimed"].iloc[0] else drawing.VERMILION
        ax.errorbar(
            x, part["violations"], errors, fmt="o", color=colour, markersize=3, linewidth=0.6
        )
    ax.axhline(DELTA, color=drawing.BLACK, linewidth=1)
    ax.set_xticks(range(len(WAYS)), list(WAYS))
    ax.set(
        ylabel="share of draws with an error above alpha",
        title=f"blue: guaranteed to be at most {DELTA:g} (line)",
    )
    return figure


def calibration_page(table: pd.DataFrame) -> str:
    """Means over the sets, by number of labels."""
    rows = []
    for n, part in table.groupby("labels"):
        means = part.groupby("method", sort=False)[
            ["expected_calibration_error", "brier_score"]
        ].mean()
        cells = [f"{e:.3f}, {b:.4f}" for e, b in means.to_numpy()]
        rows.append([n, part["dataset"].nunique(), *cells])
    return markdown(["labels", "data sets", *table["method"].unique()], rows)


def calibration_figure(table: pd.DataFrame) -> Any:
    """Calibration error and Brier score over the number of labels, means over the sets that have enough points."""
    figure, axes = drawing.grid(1, 2, height=3.6)
    most = table.groupby("dataset")["labels"].nunique()
    # The same sets at each number of labels.
    complete = table[table["dataset"].isin(most[most == most.max()].index)]
    for ax, measure in zip(axes[0], ("expected_calibration_error", "brier_score"), strict=True):
        for colour, method in zip(drawing.PALETTE, complete["method"].unique(), strict=False):
            mean = complete[complete["method"] == method].groupby("labels")[measure].mean()
            ax.plot(mean.index, mean, marker="o", color=colour, label=method)
        ax.set(xscale="log", xlabel="labels", ylabel=measure.replace("_", " "))
    axes[0, 0].legend(fontsize="small")
    return figure


PARTS: dict[str, tuple[Callable[[Size], Iterator[dict[str, Any]]], Callable, Callable]] = {
    "guarantee": (guarantee, guarantee_page, guarantee_figure),
    "gain": (gain, gain_page, gain_figure),
    "reliability": (calibration, calibration_page, calibration_figure),
}


def main() -> None:
    """Run the parts asked for and write their tables and pictures."""
    parser = command("calibration", __doc__, "all data sets and 500 draws: half an hour")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    chosen = parser.parse_args()
    data.find_data()
    size, out = FULL if chosen.full else QUICK, folder("calibration", full=chosen.full)
    for part in chosen.part:
        run, page, picture = PARTS[part]
        table = pd.DataFrame(list(run(size)))
        stem: Path = out / f"calibration_{part}"
        write(stem.with_suffix(".csv"), table.to_csv(index=False, float_format="%.6g"))
        write(stem.with_suffix(".md"), page(table) + "\n")
        if size is FULL:
            # Without the sets one by one.
            into_page("calibration.md", part, page(table).split("\n\nAlpha")[0])
        save_figure(picture(table), stem.with_suffix(".png"))
        print(page(table))


if __name__ == "__main__":
    sys.exit(main())
