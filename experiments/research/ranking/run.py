"""Does `fusion="refined"` find wrong assignments better than the paper's score, and does it lose anywhere?

Ensembles as in the paper: 20 runs of k-means from random starts, seeds 0 to 19, k the number of classes, exact
silhouettes. AUROC of scores against what is right, once a set. The method was developed on the sets of the paper and on
those of `development.py`, with the variants of `ranking_variants.md`; the claim is made on those of `heldout.py`, which
were first run when the method stood.

`python -m experiments.research.ranking.run` does the held-out sets, `… development` the others with all variants: some
minutes each.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from clustertrust import align_labels, confidence
from clustertrust.evaluation import auroc, correctness
from clustertrust.fusion import harmonic
from clustertrust.persistence import refine
from clustertrust.results import Confidence
from experiments.paper import data, drawing, runs
from experiments.paper.page import markdown, save_figure
from experiments.paper.results import write
from experiments.research import development, folder, heldout, into_page
from experiments.research.heldout import Set

RESULTS = folder("ranking")
PAPER = ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "Ir", "Bc", "Dg", "Pd", "Sa", "Lt")
SEEDS = range(20)
DRAWS = 10_000  # of the bootstrap over sets
TOLERATED = 0.005  # a smaller loss is none
GOAL = 0.02  # of the mean gain

Signal = Callable[[Set, Confidence], NDArray]


def score(case: Set) -> Confidence:
    """The paper's ensemble on a set, with all three components."""
    with runs.hushed():
        ensemble = runs.build(case.X, "kmeans-random", case.k, SEEDS)
        return confidence(case.X, ensemble, geometry="exact", fusion="refined")


def measure(scores: NDArray, right: NDArray) -> float:
    """AUROC; NaN where all are right, or none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return auroc(scores, right)


def row(group: str, case: Set) -> tuple[dict[str, Any], Confidence]:
    """What the table tells of a set, and its scores."""
    began = time.perf_counter()
    found = score(case)
    right = correctness(found.labels, case.y)
    signals = {
        "stability": found.stability,
        "geometry": found.geometry,
        "persistence": found.persistence,
        "harmonic": harmonic(found.stability, found.geometry),
        "refined": found.scores,
    }
    values = {name: measure(scores, right) for name, scores in signals.items()}
    n, d = case.X.shape
    told = {
        "group": group,
        "dataset": case.name,
        "n": n,
        "d": d,
        "k": case.k,
        "accuracy": right.mean(),
        **values,
    }
    told["gain"] = values["refined"] - values["harmonic"]
    print(
        f"{case.name}: {told['gain']:+.4f} ({time.perf_counter() - began:.0f} s)",
        file=sys.stderr,
        flush=True,
    )
    return told, found


def group_of(name: str) -> str:
    """What kind of held-out set it is."""
    if name in heldout.GENERATED:
        return "generated"
    return "simulated by others" if name in heldout.SIMULATED else "real"


def held_out() -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """One row a set, the same of some variants, and the names of sets whose package is not installed."""
    rows, others, missing = [], [], []
    for name, case in heldout.all_sets():
        if case is None:
            missing.append(name)
            continue
        told, found = row(group_of(name), case)
        rows.append(told)
        right = correctness(found.labels, case.y)
        of = {variant: measure(VARIANTS[variant](case, found), right) for variant in AFTERWARDS}
        others.append({"group": told["group"], "dataset": name, **of})
    return pd.DataFrame(rows), pd.DataFrame(others), missing


def with_steps(n_steps: int, mistaken: float | None = None) -> Signal:
    """The score with another number of EM steps, or another bound on the background."""

    def signal(case: Set, found: Confidence) -> NDArray:
        more = {} if mistaken is None else {"mistaken": mistaken}
        p = refine(case.X, found.labels, n_steps, **more).persistence(case.X, found.labels)
        return harmonic(found.stability, found.geometry) + p

    return signal


def third_term(case: Set, found: Confidence) -> NDArray:
    """Harmonic mean of all three."""
    parts = np.array([found.stability, found.geometry, found.persistence])
    with np.errstate(divide="ignore"):
        return 3 / (1 / parts).sum(axis=0)


def rank_mean(case: Set, found: Confidence) -> NDArray:
    """Ranks of the harmonic score and of persistence."""
    return rankdata(harmonic(found.stability, found.geometry)) + rankdata(found.persistence)


def finer(case: Set, found: Confidence) -> NDArray:
    """Purity in finer partitions: share of the own label in the point's cluster of k-means at 2k to 5k, as a factor."""
    shares = np.zeros(len(case.X))
    for times in (2, 3, 4, 5):
        fine = KMeans(times * case.k, n_init=1, random_state=0).fit_predict(case.X)
        table = np.zeros((fine.max() + 1, found.labels.max() + 1))
        np.add.at(table, (fine, found.labels), 1)
        shares += table[fine, found.labels] / table.sum(axis=1)[fine] / 4
    return harmonic(found.stability, found.geometry) * shares


def with_truth(case: Set, found: Confidence) -> NDArray:
    """A ceiling: share of the true class among 25 neighbours, labels known, out of fold."""
    y = np.unique(case.y, return_inverse=True)[1]
    p = cross_val_predict(KNeighborsClassifier(25), case.X, y, method="predict_proba")
    named = align_labels(y, found.labels)
    return np.where(named >= 0, p[np.arange(len(y)), np.maximum(named, 0)], 0.0)


def best_of_components(*names: str) -> Signal:
    """A ceiling: boosted trees on the components, told what is right, out of fold and shuffled."""

    def signal(case: Set, found: Confidence) -> NDArray:
        right = correctness(found.labels, case.y)
        order = np.random.default_rng(0).permutation(len(right))
        features = np.column_stack([getattr(found, name) for name in names])[order]
        model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
        out = np.empty(len(right))
        out[order] = cross_val_predict(model, features, right[order], method="predict_proba")[:, 1]
        return out

    return signal


VARIANTS: dict[str, Signal] = {
    "harmonic (paper)": lambda case, found: harmonic(found.stability, found.geometry),
    "refined": lambda case, found: found.scores,
    "persistence alone": lambda case, found: np.asarray(found.persistence),
    "as a factor": lambda case, found: (
        harmonic(found.stability, found.geometry) * found.persistence
    ),
    "as a third term": third_term,
    "mean of ranks": rank_mean,
    "1 step": with_steps(1),
    "3 steps": with_steps(3),
    "10 steps": with_steps(10),
    "20 steps": with_steps(20),
    "no background": with_steps(5, 0.0),
    "background unbounded": with_steps(5, 1.0),
    "purity in finer partitions": finer,
    "ceiling: trees on c, S̃": best_of_components("stability", "silhouette_mean", "silhouette_std"),
    "ceiling: trees on c, S̃, p": best_of_components(
        "stability", "silhouette_mean", "silhouette_std", "persistence"
    ),
    "ceiling: classes known": with_truth,
}


AFTERWARDS = (  # of the held-out sets too, looked at when the claim had been made
    *(
        "harmonic (paper)",
        "refined",
        "persistence alone",
        "as a factor",
        "as a third term",
        "mean of ranks",
    ),
    *(
        "no background",
        "ceiling: trees on c, S̃",
        "ceiling: trees on c, S̃, p",
        "ceiling: classes known",
    ),
)
ACCURATE = 0.8  # share of right points from which on clusters are said to be near the classes


def development_sets() -> Iterator[tuple[str, Set]]:
    """The paper's but the two of a hundred columns and more, which take long; S3 once more, noise a class; our own."""
    for name in PAPER:
        yield "paper", Set(*data.load(name, noise_is_class=False))
    yield "paper", Set(*data.load("S3", noise_is_class=True))._replace(name="S3, k = 4")
    for case in development.sets():
        yield "own", case


def variants() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of development sets, and the AUROC of every variant on them."""
    rows, others = [], []
    for group, case in development_sets():
        case = case._replace(X=np.asarray(case.X, dtype=np.float64))
        told, found = row(group, case)
        rows.append(told)
        right = correctness(found.labels, case.y)
        of = {name: measure(signal(case, found), right) for name, signal in VARIANTS.items()}
        others.append({"group": group, "dataset": case.name, **of})
    return pd.DataFrame(rows), pd.DataFrame(others)


def interval(gains: NDArray) -> tuple[float, float]:
    """95 % interval of the mean gain, sets drawn anew."""
    drawn = np.random.default_rng(0).choice(gains, (DRAWS, len(gains)))
    low, high = np.quantile(drawn.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def summary(table: pd.DataFrame) -> str:
    """Mean gain, wins and losses, by group and together."""
    groups = [
        *((group, part) for group, part in table.groupby("group", sort=False)),
        ("all", table),
    ]
    lines = []
    for group, part in groups:
        gains = part["gain"].dropna()
        low, high = interval(gains.to_numpy())
        worst = part.loc[gains.idxmin()]
        lines.append(
            [
                group,
                len(gains),
                f"{part.loc[gains.index, 'harmonic'].mean():.3f}",
                f"{part.loc[gains.index, 'refined'].mean():.3f}",
                f"{gains.mean():+.4f} ({low:+.4f} to {high:+.4f})",
                f"{gains.median():+.4f}",
                int((gains > TOLERATED).sum()),
                int((gains.abs() <= TOLERATED).sum()),
                int((gains < -TOLERATED).sum()),
                f"{worst['gain']:+.4f} ({worst['dataset']})",
            ]
        )
    head = ["sets", "number", "harmonic", "refined", "mean gain (95 %)", "median gain"]
    return markdown(
        [*head, f"gain > {TOLERATED}", "between", f"loss > {TOLERATED}", "worst"], lines
    )


def details(table: pd.DataFrame) -> str:
    """Every set."""
    head = [
        "data set",
        "n",
        "d",
        "k",
        "accuracy",
        "stability",
        "geometry",
        "persistence",
        "harmonic",
        "refined",
        "gain",
    ]
    lines = [
        [
            r["dataset"],
            r["n"],
            r["d"],
            r["k"],
            *(f"{r[name]:.3f}" for name in head[4:-1]),
            f"{r['gain']:+.4f}",
        ]
        for _, r in table.iterrows()
    ]
    return markdown(head, lines)


def variants_summary(table: pd.DataFrame) -> str:
    """Gain of every variant over the paper's score: means, losses and the worst."""
    names = [name for name in VARIANTS if name in table]
    groups = list(dict.fromkeys(table["group"]))
    usable = table.dropna()
    base = usable[names[0]]
    lines = []
    for name in names[1:]:
        gains = usable[name] - base
        by = [f"{gains[usable['group'] == group].mean():+.4f}" for group in groups]
        losses = int((gains < -TOLERATED).sum())
        lines.append(
            [name, *by, losses, f"{gains.min():+.4f} ({usable.loc[gains.idxmin(), 'dataset']})"]
        )
    head = [
        "variant",
        *(f"mean gain, {group}" for group in groups),
        f"losses > {TOLERATED}",
        "worst",
    ]
    return markdown(head, lines)


def variants_page(table: pd.DataFrame) -> str:
    """The same, and set by set."""
    names = [name for name in VARIANTS if name in table]
    second = markdown(
        ["data set", *names],
        [
            [
                r["dataset"],
                f"{r[names[0]]:.3f}",
                *(f"{r[name] - r[names[0]]:+.3f}" for name in names[1:]),
            ]
            for _, r in table.dropna().iterrows()
        ],
    )
    return f"{variants_summary(table)}\n\nAUROC of the paper's score, and the gain of each variant\n\n{second}"


def picture(table: pd.DataFrame) -> Any:
    """Gains, sorted, one bar a set."""
    shown = table.dropna(subset="gain").sort_values("gain")
    figure, axes = drawing.grid(1, 1, height=0.17 * len(shown) + 1)
    ax = axes[0, 0]
    colours = {
        "generated": drawing.BLUE,
        "simulated by others": drawing.SKY,
        "real": drawing.ORANGE,
    }
    ax.barh(shown["dataset"], shown["gain"], color=[colours[group] for group in shown["group"]])
    for group, colour in colours.items():
        ax.barh([0], [0], color=colour, label=group)
    ax.axvline(0, color=drawing.BLACK, linewidth=1)
    ax.axvline(GOAL, color=drawing.GREY, linewidth=1, linestyle="--", label="goal of the mean")
    ax.tick_params(axis="y", labelsize=7)
    ax.margins(y=0.01)
    ax.set(xlabel="AUROC gained over the harmonic score")
    ax.legend(fontsize="small")
    return figure


def main() -> None:
    """Run, and write tables and picture."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.ranking.run", description=__doc__
    )
    parser.add_argument("sets", nargs="?", choices=["held-out", "development"], default="held-out")
    chosen = parser.parse_args()
    data.find_data()
    if chosen.sets == "development":
        table, others = variants()
        write(RESULTS / "ranking_variants.csv", others.to_csv(index=False, float_format="%.6g"))
        write(
            RESULTS / "ranking_variants.md",
            f"Development sets: the paper's, and our own.\n\n{variants_page(others)}\n",
        )
        write(RESULTS / "ranking_development.csv", table.to_csv(index=False, float_format="%.6g"))
        print(summary(table))
        return
    table, others, missing = held_out()
    near = np.where(
        table["accuracy"] >= ACCURATE, f"accuracy ≥ {ACCURATE}", f"accuracy < {ACCURATE}"
    )
    split = summary(table.assign(group=near))
    write(RESULTS / "ranking_afterwards.csv", others.to_csv(index=False, float_format="%.6g"))
    write(
        RESULTS / "ranking_afterwards.md",
        "Held-out sets, looked at when the claim had been made: nothing was chosen by these.\n\n"
        f"{split}\n\n{variants_page(others)}\n",
    )
    page = f"{summary(table)}\n\n{details(table)}"
    if missing:
        page += f"\n\nNot installed, and not run: {', '.join(missing)}."
    write(RESULTS / "ranking.csv", table.to_csv(index=False, float_format="%.6g"))
    write(RESULTS / "ranking.md", page + "\n")
    save_figure(picture(table), RESULTS / "ranking.png")
    into_page("ranking.md", "held-out", summary(table))
    into_page("ranking.md", "split", split)
    into_page("ranking.md", "variants", variants_summary(others))
    print(page)


if __name__ == "__main__":
    sys.exit(main())
