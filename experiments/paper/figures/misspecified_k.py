"""Clustering with too few or too many clusters: ARI of a reference clustering, and AURC of its errors by the score.

The paper shows eight of the fifteen sets. The authors' matching took the position of a class for its label, which is
wrong on S3 alone, whose labels begin at -1; `printed` does so too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import align_labels, confidence
from clustertrust.evaluation import agreement_with_truth, aurc, correctness
from experiments.paper import data, drawing, runs
from experiments.paper.correlation import STYLES, reference
from experiments.paper.data import Case
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, Held, averaged

KEYS = ("dataset", "metric", "k")
METRICS = {"ARI": drawing.BLUE, "AURC": drawing.VERMILION}
SHOWN = ("S1", "S4", "S7", "Ir", "Bc", "Sa", "Ng", "Fm")
RUNS = 30


def positions_as_labels(labels: NDArray, y: NDArray) -> NDArray:
    """Correctness with the place of a class among the classes taken for its label; the same if they are 0, 1, …."""
    aligned = align_labels(np.unique(y, return_inverse=True)[1], labels)
    return (aligned == y) & (aligned >= 0)


def measure(case: Case, k: int, protocol: Protocol, repetition: int) -> tuple[float, float]:
    """ARI and AURC of a reference with k clusters, by scores of 30 runs with as many."""
    method, seeds = protocol.method("kmeans", case.name), protocol.seeds(repetition, size=RUNS)
    ensemble = runs.build(case.X, method, k, seeds)
    found = runs.under(protocol, confidence(case.X, ensemble, geometry="exact"))
    labels = reference(case, protocol.evaluation_seeds()[repetition], k=k)
    if protocol.name == "printed":
        risk = aurc(found.scores, positions_as_labels(labels, case.y), ties="stable")
    else:
        risk = aurc(found.scores, correctness(labels, case.y))
    return agreement_with_truth(labels, case.y, "ari"), risk


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """From two clusters fewer, though at least two, to two more than there are classes."""
    case = protocol.load(name)
    repetitions = range(min(protocol.repetitions(name), 5))
    for k in range(max(2, case.k - 2), case.k + 3):
        found = [measure(case, k, protocol, repetition) for repetition in repetitions]
        for metric, values in zip(METRICS, zip(*found, strict=True), strict=True):
            yield {"dataset": name, "metric": metric, "k": k, **averaged(values), "classes": case.k}


def best(frame: pd.DataFrame) -> pd.DataFrame:
    """For each data set, k at the highest ARI and at the lowest AURC, and the number of classes."""
    rows = frame.dropna(subset=["value"])
    cost = rows["value"].where(rows["metric"] == "AURC", -rows["value"])
    of = rows.loc[cost.groupby([rows["dataset"], rows["metric"]]).idxmin()]
    return of.pivot_table(index="dataset", columns="metric", values="k").join(
        rows.groupby("dataset")["classes"].first()
    )


def draw(frame: pd.DataFrame) -> Any:
    """A panel a data set; a star at the best k."""
    sets = drawing.shown(frame, "dataset", data.ALL)
    columns = min(5, len(sets))
    title = "Too few and too many clusters: ARI (high is good) and AURC (low is good); stars: best"
    figure, axes = drawing.grid(-(-len(sets) // columns), columns, height=2.3, title=title)
    for ax, name in zip(axes.flat, sets, strict=False):
        for protocol, _, rows in drawing.by_protocol(frame[frame["dataset"] == name]):
            stars = best(rows).loc[name]
            for metric, colour in METRICS.items():
                line = rows[rows["metric"] == metric].set_index("k")["value"].sort_index()
                label = f"{metric}, {protocol}"
                ax.plot(
                    line.index,
                    line,
                    STYLES[protocol],
                    marker=".",
                    color=colour,
                    label=label,
                    lw=1.4,
                )
                ax.plot(stars[metric], line[stars[metric]], "*", color=colour, ms=11)
            ax.axvline(stars["classes"], color=drawing.GREY, ls=":", lw=1.2, zorder=0)
        ax.set_title(name if name in SHOWN else f"{name} (not in the paper)", fontsize=9)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylim(0, 1.1 * ax.dataLim.y1)  # room for stars
        ax.tick_params(labelsize=8)
    for ax in list(axes.flat)[len(sets) :]:
        ax.set_axis_off()
    for ax in axes[-1]:
        ax.set_xlabel("clusters (dotted: classes)", fontsize=9)
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    return figure


def at_most_off(metric: str, steps: int) -> Callable[[pd.DataFrame], Held]:
    """Make a check over data sets: the best k by a metric is at most so far from the number of classes."""

    def check(frame: pd.DataFrame) -> Held:
        found = best(frame)
        return int(((found[metric] - found["classes"]).abs() <= steps).sum()), len(found)

    return check


def together(frame: pd.DataFrame) -> Held:
    """Over data sets: the best k by both metrics is the same, or a neighbour."""
    found = best(frame)
    return int(((found["ARI"] - found["AURC"]).abs() <= 1).sum()), len(found)


EXPERIMENT = Experiment(
    title="Misspecified number of clusters",
    run=run,
    keys=KEYS,
    draw=draw,
    see={
        "ARI is highest at the number of classes": at_most_off("ARI", 0),
        "ARI is highest there or one beside": at_most_off("ARI", 1),
        "AURC is lowest at the number of classes": at_most_off("AURC", 0),
        "AURC is lowest there or one beside": at_most_off("AURC", 1),
        "ARI and AURC are best at the same or neighbouring k": together,
    },
)
