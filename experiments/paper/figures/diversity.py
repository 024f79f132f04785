"""Diversity D of an ensemble and quality Q of its scores, over eight constructions.

Only R = 20, the grid of Q and the names of the constructions are known, so that `printed` is one repetition of what
`fair` repeats. Runs are shared between the constructions of a repetition: "KM" and "KM+GMM" have k-means runs in
common. BIRCH has thresholds from 0.2 to 0.8 times the median distance to the nearest neighbour, rows shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from clustertrust import Ensemble, build_ensemble, confidence
from clustertrust.ensemble.clusterers import ShuffledBirch
from clustertrust.evaluation import agreement_with_truth, score_quality
from experiments.paper import drawing, runs
from experiments.paper.data import Case
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, Held, averaged

KEYS = ("dataset", "construction", "quantity")
SETS = ("S2", "S3", "S7", "Ir", "Bc", "Sa", "Pd")
CONSTRUCTIONS: dict[str, dict[str, int]] = {  # how many runs of which kind
    "KM": {"random": 20},
    "KM (init)": {"random": 10, "k-means++": 10},
    "GMM (full)": {"full": 20},
    "GMM (mix-cov)": {"full": 5, "tied": 5, "diag": 5, "spherical": 5},
    "BIRCH": {"birch": 20},
    "KM+GMM": {"random": 10, "full": 10},
    "KM+BIRCH": {"random": 10, "birch": 10},
    "KM+GMM+BIRCH": {"random": 7, "full": 7, "birch": 6},
}
VARIED = ("KM (init)", "GMM (mix-cov)", "KM+GMM", "KM+BIRCH", "KM+GMM+BIRCH")
OF_ONE_METHOD = ("KM", "KM (init)", "GMM (full)", "GMM (mix-cov)", "BIRCH")
REPETITIONS = {"Sa": 3, "Pd": 3}  # 5 on the others


def all_runs(case: Case, seeds: range) -> dict[str, NDArray]:
    """Labels (n, runs) of each kind, as many as any construction takes."""
    scale = np.median(NearestNeighbors().fit(case.X).kneighbors(n_neighbors=1)[0])
    birch = [ShuffledBirch(threshold=share * scale) for share in np.linspace(0.2, 0.8, 20)]
    kinds = {
        "random": runs.METHODS["kmeans-random"],
        "k-means++": runs.METHODS["kmeans"],
        "birch": birch,
    }
    kinds |= {
        kind: GaussianMixture(covariance_type=kind)
        for kind in ("full", "tied", "diag", "spherical")
    }
    most = {kind: max(made.get(kind, 0) for made in CONSTRUCTIONS.values()) for kind in kinds}
    with runs.hushed():
        return {
            kind: build_ensemble(
                case.X,
                kinds[kind],
                n_clusters=case.k,
                n_runs=most[kind],
                random_state=list(seeds[: most[kind]]),
            ).labels
            for kind in kinds
        }


def chosen(labels: NDArray, count: int) -> NDArray:
    """So many runs, evenly spread over those that there are: BIRCH keeps its range of thresholds."""
    return labels[:, np.linspace(0, labels.shape[1] - 1, count).astype(int)]


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """D, Q by harmonic scores with exact silhouettes, and ARI of the consensus."""
    case, found = protocol.load(name), []
    for repetition in range(min(protocol.repetitions(name), REPETITIONS.get(name, 5))):
        of_kind = all_runs(case, protocol.seeds(repetition))
        for construction, made in CONSTRUCTIONS.items():
            parts = [chosen(of_kind[kind], count) for kind, count in made.items()]
            ensemble = Ensemble.from_labels(np.hstack(parts))
            with runs.hushed():
                scored = confidence(case.X, ensemble, geometry="exact")
            values = {
                "D": ensemble.diversity(),
                "Q": score_quality(scored.scores, scored.labels, case.y, random_state=repetition),
                "ARI": agreement_with_truth(scored.labels, case.y, "ari"),
            }
            found += [(construction, quantity, value) for quantity, value in values.items()]
    table = pd.DataFrame(found, columns=["construction", "quantity", "value"])
    for (construction, quantity), rows in table.groupby(["construction", "quantity"], sort=False):
        yield {
            "dataset": name,
            "construction": construction,
            "quantity": quantity,
            **averaged(rows["value"]),
        }


def draw(frame: pd.DataFrame) -> Any:
    """A panel a data set: Q and ARI of each construction; fair where it was run."""
    if "fair" in set(frame["protocol"]):
        frame = frame[frame["protocol"] == "fair"]
    sets = drawing.shown(frame, "dataset", SETS)
    title = "Quality of the scores (Q) and of the consensus (ARI) by construction; star: highest Q"
    figure, axes = drawing.grid(-(-len(sets) // 2), min(2, len(sets)), height=2.5, title=title)
    y = np.arange(len(CONSTRUCTIONS))[::-1]
    for ax, name in zip(axes.flat, sets, strict=False):
        of = {
            quantity: rows.set_index("construction").reindex(list(CONSTRUCTIONS))
            for quantity, rows in frame[frame["dataset"] == name].groupby("quantity")
        }
        for quantity, marker, colour in (("ARI", "s--", drawing.ORANGE), ("Q", "o-", drawing.BLUE)):
            ax.plot(of[quantity]["value"], y, marker, color=colour, ms=5, lw=1.2, label=quantity)
            ax.hlines(y, of[quantity]["low"], of[quantity]["high"], color=colour, lw=3, alpha=0.3)
        top = int(np.nanargmax(of["Q"]["value"]))
        ax.plot(
            of["Q"]["value"].iloc[top], y[top], "*", color=drawing.BLACK, ms=13, label="highest Q"
        )
        ax.set_yticks(
            y,
            [f"{made}   D {of['D'].loc[made, 'value']:.2f}" for made in CONSTRUCTIONS],
            fontsize=8,
        )
        ax.set_title(name, fontsize=10)
    for ax in list(axes.flat)[len(sets) :]:
        ax.set_axis_off()
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def table_of(frame: pd.DataFrame, quantity: str, sets: tuple[str, ...] = SETS) -> pd.DataFrame:
    """Data sets × constructions."""
    rows = frame[(frame["quantity"] == quantity) & frame["dataset"].isin(sets)]
    return rows.pivot_table(index="dataset", columns="construction", values="value")


def above(frame: pd.DataFrame) -> Held:
    """Over data sets and constructions: Q above the ARI of the consensus."""
    quality, ari = table_of(frame, "Q"), table_of(frame, "ARI")
    return int((quality > ari).to_numpy().sum()), quality.size


def best_among(names: tuple[str, ...], sets: tuple[str, ...]) -> Callable[[pd.DataFrame], Held]:
    """Make a check over some data sets: one of these constructions has the highest Q."""

    def check(frame: pd.DataFrame) -> Held:
        quality = table_of(frame, "Q", sets)
        return int(quality.idxmax(axis=1).isin(names).sum()) if len(quality) else 0, len(quality)

    return check


def harmful(frame: pd.DataFrame) -> Held:
    """On Bc: the most diverse construction has a lower Q, and a lower ARI, than k-means alone."""
    diversity = table_of(frame, "D", ("Bc",))
    if diversity.empty:
        return 0, 0
    most = diversity.loc["Bc"].idxmax()
    tables = [table_of(frame, quantity).loc["Bc"] for quantity in ("Q", "ARI")]
    return sum(bool(of[most] < of["KM"]) for of in tables), 2


EXPERIMENT = Experiment(
    title="Ensemble diversity and score quality",
    run=run,
    keys=KEYS,
    sets=SETS,
    draw=draw,
    see={
        "Q is above the ARI of the whole consensus": above,
        "On S2, S3, Ir and Sa a varied or mixed construction is best": best_among(
            VARIED, ("S2", "S3", "Ir", "Sa")
        ),
        "On S7 and Pd a construction of one method is best": best_among(
            OF_ONE_METHOD, ("S7", "Pd")
        ),
        "On Bc the most diverse construction is worse than k-means, by Q and by ARI": harmful,
    },
)
