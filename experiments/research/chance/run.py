"""Does the default threshold keep few points of data without clusters, and the right ones of others?

Draws of noise of 500 points, clustered with k = 2, 3 and 5, and the sets of `development.py` with k the number of
classes: the share kept by half of the median, the share above chance, and what is right among both; and clusters by the
share above chance, which pages call clear or weak by it. k-means with 20 runs, and mixtures. Then noise of fewer points, and in more clusters.

`python -m experiments.research.chance.run` is a trial, `--full` has 12 draws of each kind and k, and writes the tables.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from clustertrust import CAKE
from clustertrust.evaluation import correctness
from clustertrust.reasons import NO_STRUCTURE, WEAK_STRUCTURE, first_threshold
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import command, folder
from experiments.research.development import sets

N, KS = 500, (2, 3, 5)
# Noise of fewer points, and in more clusters, of kinds for which a level is claimed: k by number of points
FEW, FEW_SETTINGS = {10: (2, 3), 30: (2, 3), 100: (2, 3), N: (10, 20)}, ("harmonic", "combined")
# By name in the tables
SETTINGS: dict[str, dict[str, str]] = {
    "harmonic": {},
    "refined": {"fusion": "refined"},
    "combined": {"fusion": "combined"},
    "harmonic, mixtures": {"clusterer": "gmm"},
}


def ball(rng: Generator, n: int) -> NDArray:
    """Uniform in a ball of three dimensions."""
    X = rng.normal(size=(n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / 3)


def correlated(rng: Generator, n: int) -> NDArray:
    """One Gaussian with a covariance of its own."""
    return rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5))


def likert(rng: Generator, n: int, mood: float = 0.0) -> NDArray:
    """Eight answers from 1 to 5, which a mood of each person may move together."""
    moved = mood * rng.normal(size=(n, 1))
    return np.clip(np.round(3 + moved + rng.normal(size=(n, 8))), 1, 5)


def bent(rng: Generator, n: int, width: float, noise: float) -> NDArray:
    """An arc of this width, in radians."""
    angle = rng.uniform(-width / 2, width / 2, n)
    return 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n, 2))


NOISE: dict[str, Callable[[Generator, int], NDArray]] = {
    "ball": ball,
    "box": lambda rng, n: rng.random((n, 4)),
    "gaussian": lambda rng, n: rng.normal(size=(n, 6)),
    "correlated": correlated,
    "t3": lambda rng, n: rng.standard_t(3, (n, 4)),
    "likert": likert,
    "likert, moods": lambda rng, n: likert(rng, n, 0.7),
    "exponential": lambda rng, n: rng.exponential(size=(n, 3)),
    "log-normal": lambda rng, n: np.exp(rng.normal(size=(n, 3))),
    "banana": lambda rng, n: bent(rng, n, 2.0, 0.4),
    "ring segment": lambda rng, n: bent(rng, n, 4.0, 0.2),
}
# Those for which a level is claimed; skewed and bent shapes, and answers that are cut off at the ends of a scale
# together, are a known weakness.
CLAIMED = ("ball", "box", "gaussian", "correlated", "t3", "likert")
VERDICTS = ["at most 10 % of the points", "called “no structure”", "called “clear”"]


def measure(X: NDArray, k: int, fusion: str, seed: int, y: NDArray | None = None) -> dict[str, Any]:
    """What both rules keep of a data set, and how much of it is right."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    cake = CAKE(k, **SETTINGS[fusion], random_state=seed, n_jobs=1, device="cpu").fit(X)
    fitted = time.process_time()
    cut = cake.confidence_.cut()
    seconds = {"seconds_fit": fitted - began, "seconds_cut": time.process_time() - fitted}
    rules = {
        "median": cake.scores_ > first_threshold(cake.scores_),
        "chance": cake.scores_ > (np.nan if cut.chance is None else cut.chance),
        "default": cake.scores_ > cut.threshold,
    }
    found: dict[str, Any] = {"fusion": fusion, "k": k, "chance": cut.chance}
    found["structure"] = cut.structure
    found |= {f"kept_{rule}": kept.mean() for rule, kept in rules.items()}
    kinds = kinds_of_clusters(cake.labels_, rules["chance"])
    found |= {f"{kind}_clusters": len(labels) for kind, labels in kinds.items()}
    if y is not None:
        right = correctness(cake.labels_, y)
        found |= {
            f"right_in_{kind}": right[np.isin(cake.labels_, labels)].mean() if labels else np.nan
            for kind, labels in kinds.items()
        }
        found["right"] = right.mean()
        found |= {
            f"right_{rule}": right[kept].mean() if kept.any() else np.nan
            for rule, kept in rules.items()
        }
    return found | seconds


def kinds_of_clusters(labels: NDArray, above: NDArray) -> dict[str, list[int]]:
    """Clusters by the share of their points above chance, with the limits of the verdict."""
    shares = {int(label): above[labels == label].mean() for label in np.unique(labels)}
    return {
        "clear": [label for label, share in shares.items() if share > WEAK_STRUCTURE],
        "weak": [
            label for label, share in shares.items() if NO_STRUCTURE < share <= WEAK_STRUCTURE
        ],
        "other": [label for label, share in shares.items() if share <= NO_STRUCTURE],
    }


def noise_row(kind: str, k: int, draw: int, fusion: str, n: int = N) -> dict[str, Any]:
    """One draw of noise."""
    seed = np.random.SeedSequence([list(NOISE).index(kind), k, draw])
    X = NOISE[kind](np.random.default_rng(seed), n)
    return {"kind": kind, "draw": draw} | measure(X, k, fusion, draw)


def few_row(n: int, kind: str, k: int, draw: int, fusion: str) -> dict[str, Any]:
    """One draw of noise of few points, or of many clusters."""
    return {"n": n} | noise_row(kind, k, draw, fusion, n)


def set_row(position: int, fusion: str) -> dict[str, Any]:
    """One set of known classes."""
    case = sets()[position]
    return {"dataset": case.name, "n": len(case.X)} | measure(case.X, case.k, fusion, 0, case.y)


def percent(value: float) -> str:
    """A share as a percentage, or a dash."""
    return "–" if np.isnan(value) else f"{value:.0%}"


def table_of_noise(rows: pd.DataFrame) -> str:
    """Mean share kept of each kind of noise, and how often it is more than that without structure."""
    claimed = rows[rows["kind"].isin(CLAIMED)]
    groups = [(kind, rows[rows["kind"] == kind]) for kind in NOISE] + [("the first six", claimed)]
    lines = [
        [
            fusion,
            kind,
            str(len(some)),
            percent(some["kept_median"].mean()),
            percent(some["kept_chance"].mean()),
            percent((some["kept_chance"] <= NO_STRUCTURE).mean()),
            percent((some["structure"] == "none").mean()),
            percent((some["structure"] == "clear").mean()),
        ]
        for fusion in rows["fusion"].unique()
        for kind, group in groups
        for some in [group[group["fusion"] == fusion]]
    ]
    head = ["fusion", "data without clusters", "draws", "kept by half of the median"]
    return markdown([*head, "above chance", *VERDICTS], lines)


def table_of_few(rows: pd.DataFrame) -> str:
    """The level of the cut on noise of few points, and of many clusters."""
    lines = [
        [
            str(fusion),
            str(n),
            " and ".join(map(str, FEW[n])),
            str(len(some)),
            percent(some["kept_chance"].mean()),
            percent((some["kept_chance"] <= NO_STRUCTURE).mean()),
            percent((some["structure"] == "none").mean()),
            percent((some["structure"] == "clear").mean()),
        ]
        for (fusion, n), some in rows.groupby(["fusion", "n"], sort=False)
    ]
    return markdown(["fusion", "points", "k", "draws", "above chance", *VERDICTS], lines)


def table_of_sets(rows: pd.DataFrame) -> str:
    """What both rules keep of each set, and how much of that is right."""
    shares = ["right", "kept_median", "right_median", "kept_chance", "right_chance"]
    lines = []
    for fusion in rows["fusion"].unique():
        some = rows[rows["fusion"] == fusion]
        lines += [
            [fusion, r["dataset"], f"{r['chance']:g}", *(percent(r[name]) for name in shares)]
            for _, r in some.iterrows()
        ]
        lines.append([fusion, "**mean**", "", *(percent(some[name].mean()) for name in shares)])
    head = ["fusion", "dataset", "chance", "right", "kept by half of the median", "right of these"]
    return markdown([*head, "above chance", "right of these"], lines)


def table_of_clusters(noise: pd.DataFrame, known: pd.DataFrame) -> str:
    """How many clusters are called clear, weak or neither, and how much of these is right."""
    noise = noise[noise["kind"].isin(CLAIMED)]
    lines = [
        [
            fusion,
            {"clear": "clear", "weak": "weak", "other": "no clearer than chance"}[kind],
            f"{of_noise[f'{kind}_clusters'].sum()} of {of_noise['k'].sum()}",
            f"{of_sets[f'{kind}_clusters'].sum()} of {of_sets['k'].sum()}",
            percent(of_sets[f"right_in_{kind}"].mean()),
        ]
        for fusion in noise["fusion"].unique()
        for of_noise in [noise[noise["fusion"] == fusion]]
        for of_sets in [known[known["fusion"] == fusion]]
        for kind in ("clear", "weak", "other")
    ]
    head = ["fusion", "clusters", "in noise, the first six", "in the sets", "right in these"]
    return markdown(head, lines)


def main() -> None:
    """Run, and write tables."""
    full = command("chance", __doc__, "all draws: some minutes on 16 cores").parse_args().full
    fusions, draws = (list(SETTINGS), 12) if full else (["harmonic"], 1)
    noise = [(kind, k, d, f) for f in fusions for kind in NOISE for k in KS for d in range(draws)]
    few = [
        (n, kind, k, d, f)
        for f in fusions
        if f in FEW_SETTINGS
        for n, ks in FEW.items()
        for kind in CLAIMED
        for k in ks
        for d in range(draws)
    ]
    known = [(i, f) for f in fusions for i in range(len(sets()))]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        of_sets = pool.map(set_row, *zip(*known, strict=True))
        of_noise = pool.map(noise_row, *zip(*noise, strict=True), chunksize=4)
        of_few = pool.map(few_row, *zip(*few, strict=True), chunksize=4)
        found = {"noise": of_noise, "sets": of_sets, "few": of_few}
        tables = {name: pd.DataFrame(list(rows)) for name, rows in found.items()}
    results = folder("chance", full=full)
    for name, rows in tables.items():
        write(results / f"chance_{name}.csv", rows.to_csv(index=False, float_format="%.6g"))
    times = pd.concat([tables["noise"], tables["sets"]])
    ratio = (times["seconds_cut"] / times["seconds_fit"]).median()
    page = (
        f"{table_of_noise(tables['noise'])}\n\n{table_of_sets(tables['sets'])}\n\n"
        f"{table_of_few(tables['few'])}\n\n{table_of_clusters(tables['noise'], tables['sets'])}\n\n"
        f"Time of the threshold, CPU: median {times['seconds_cut'].median():.2f} s, largest "
        f"{times['seconds_cut'].max():.2f} s; {ratio:.1f} times that of the fit.\n"
    )
    write(results / "chance.md", page)
    print(page)


if __name__ == "__main__":
    sys.exit(main())
