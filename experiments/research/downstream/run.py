"""Is a classifier trained on the sure points better than one trained on all?

Clusters of a training part are handed to a classifier as labels: all of them, the surest share of each cluster, a
random share (does less data alone do it?), or all with their scores as weights. What counts is its accuracy on other
points, clusters named by one best matching with the classes of the training part.

`python -m experiments.research.downstream.run` is a trial of a minute and goes to `results/quick`; `--full` takes half an
hour.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clustertrust import CAKE
from clustertrust.calibration import map_clusters, pseudo_labels, sample_weight
from clustertrust.evaluation import student_interval
from experiments.paper import data, drawing
from experiments.paper.page import markdown, save_figure
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder

MOST = 3000  # training points, and test points: support vector machines are slow on more
SHARES = (0.8, 0.6, 0.4)
SHOWN = 0.6  # of the figure

CLASSIFIERS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "nearest 15": KNeighborsClassifier(15),
    "support vectors": make_pipeline(StandardScaler(), SVC()),
}
WEIGHTS = {  # how each takes weights; nearest neighbours do not
    "naive Bayes": "sample_weight",
    "logistic": "logisticregression__sample_weight",
    "support vectors": "svc__sample_weight",
}


class Size(NamedTuple):
    """How much is run."""

    repetitions: int
    sets: tuple[str, ...]


QUICK = Size(3, ("S2", "S6", "S7", "Bc"))
FULL = Size(5, data.ALL)


def fitted_on(
    X: NDArray, labels: NDArray, scores: NDArray, seed: int
) -> Iterator[tuple[str, NDArray]]:
    """Name and mask of each choice of training points."""
    yield "all", np.ones(len(X), dtype=bool)
    rng = np.random.default_rng(seed)
    for share in SHARES:
        yield f"surest {share:.0%}", pseudo_labels(labels, scores, share=share) >= 0
        yield (
            f"random {share:.0%}",
            pseudo_labels(labels, rng.uniform(size=len(X)), share=share) >= 0,
        )


def accuracies(name: str, seed: int) -> Iterator[tuple[str, str, float]]:
    """Classifier, training points, accuracy on the test part."""
    _, X, y, k = data.load(name, noise_is_class=False)
    train, test = (
        part[:MOST]
        for part in train_test_split(np.arange(len(X)), test_size=0.3, random_state=seed)
    )
    with hushed():
        cake = CAKE(k, random_state=seed).fit(X[train])
        named = map_clusters(cake.labels_, y[train], method="matching")
        # -2: of no class, never right.
        as_class = np.array([-2 if name is None else name for name in named.assign()])
        placed = [named.names.get(cluster) for cluster in cake.predict(X[test]).tolist()]
        yield (
            "",
            "cluster itself",
            float(np.mean([name == true for name, true in zip(placed, y[test], strict=True)])),
        )
        for classifier, model in CLASSIFIERS.items():
            for how, kept in fitted_on(X[train], cake.labels_, cake.scores_, seed):
                predicted = clone(model).fit(X[train][kept], as_class[kept]).predict(X[test])
                yield classifier, how, float(np.mean(predicted == y[test]))
            if classifier in WEIGHTS:
                weights = {WEIGHTS[classifier]: sample_weight(cake.scores_)}
                predicted = clone(model).fit(X[train], as_class, **weights).predict(X[test])
                yield classifier, "weighted", float(np.mean(predicted == y[test]))


def run(size: Size) -> Iterator[dict[str, Any]]:
    """Mean accuracies, and their gain over training on all, with an interval over repetitions."""
    for name in size.sets:
        began = time.perf_counter()
        rows = [
            {"repetition": seed, "classifier": classifier, "trained_on": how, "accuracy": value}
            for seed in range(size.repetitions)
            for classifier, how, value in accuracies(name, seed)
        ]
        wide = pd.DataFrame(rows).pivot_table(
            index="repetition", columns=["classifier", "trained_on"], values="accuracy", sort=False
        )
        for classifier, how in wide.columns:
            values = wide[classifier, how]
            gain = values - wide[classifier, "all"] if classifier else values * np.nan
            interval = student_interval(gain) if classifier and how != "all" else None
            yield {
                "dataset": name,
                "classifier": classifier,
                "trained_on": how,
                "accuracy": values.mean(),
                "gain": interval.mean if interval else np.nan,
                "low": interval.low if interval else np.nan,
                "high": interval.high if interval else np.nan,
                "repetitions": size.repetitions,
            }
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)


def page(table: pd.DataFrame) -> str:
    """Wins and losses, then every set."""
    gains = table[table["gain"].notna()]
    rows = []
    for how, part in gains.groupby("trained_on", sort=False):
        won, lost = int((part["low"] > 0).sum()), int((part["high"] < 0).sum())
        rows.append([how, len(part), won, lost, f"{part['gain'].mean():+.3f}"])
    parts = [
        markdown(
            ["trained on", "cases", "surely better than all", "surely worse", "mean gain"], rows
        )
    ]
    hows = [how for how in table["trained_on"].unique() if how not in ("all", "cluster itself")]
    lines = []
    for (name, classifier), part in table[table["classifier"] != ""].groupby(
        ["dataset", "classifier"], sort=False
    ):
        by = part.set_index("trained_on")
        cells = [
            f"{by.loc[how, 'gain']:+.3f}" + _sure(by.loc[how]) if how in by.index else ""
            for how in hows
        ]
        lines.append([name, classifier, f"{by.loc['all', 'accuracy']:.3f}", *cells])
    parts.append(
        "Accuracy on other points when trained on all, and the gain of other choices; * a 95 % interval without 0\n\n"
        + markdown(["data set", "classifier", "all", *hows], lines)
    )
    return "\n\n".join(parts)


def _sure(row: pd.Series) -> str:
    return "*" if row["low"] > 0 or row["high"] < 0 else ""


def picture(table: pd.DataFrame) -> Any:
    """Gain of the surest share over all, by set and classifier."""
    figure, axes = drawing.grid(1, 1, height=4.2)
    ax = axes[0, 0]
    names = list(table["dataset"].unique())
    for c, (classifier, colour) in enumerate(zip(CLASSIFIERS, drawing.PALETTE, strict=False)):
        part = table[
            (table["classifier"] == classifier) & (table["trained_on"] == f"surest {SHOWN:.0%}")
        ]
        x = [names.index(name) + 0.18 * (c - 1.5) for name in part["dataset"]]
        errors = np.abs(part[["low", "high"]].to_numpy().T - part["gain"].to_numpy())
        ax.errorbar(
            x,
            part["gain"],
            errors,
            fmt="o",
            color=colour,
            markersize=4,
            linewidth=0.8,
            label=classifier,
        )
    ax.axhline(0, color=drawing.BLACK, linewidth=1)
    ax.set_xticks(range(len(names)), names)
    ax.set(ylabel=f"accuracy gained by training on the surest {SHOWN:.0%}")
    ax.legend(fontsize="small")
    return figure


def main() -> None:
    """Run, and write the table and the picture."""
    parser = command("downstream", __doc__, "all data sets, 5 repetitions: half an hour")
    chosen = parser.parse_args()
    data.find_data()
    size, out = FULL if chosen.full else QUICK, folder("downstream", full=chosen.full)
    table = pd.DataFrame(list(run(size)))
    write(out / "downstream.csv", table.to_csv(index=False, float_format="%.6g"))
    write(out / "downstream.md", page(table) + "\n")
    save_figure(picture(table), out / "downstream.png")
    print(page(table))


if __name__ == "__main__":
    sys.exit(main())
