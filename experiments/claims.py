"""The claims of the paper's text, each a count over a table: of the printed numbers, or of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from experiments.results import Held

COMPARED = ["ARI", "AMI", "ACC"]  # the metrics that the claims speak of
CAKE = ["CAKE_PR", "CAKE_HM"]


class Claim(NamedTuple):
    """A sentence, the experiment whose table it is about, and in how many cells it holds."""

    text: str
    experiment: str
    holds: Callable[[pd.DataFrame], Held]


def count(holds: Any) -> Held:
    """True cells, and cells that have a value."""
    values = pd.DataFrame(holds).to_numpy().ravel()
    known = values[~pd.isna(values)]
    return int(known.astype(bool).sum()), len(known)


def wide(table: pd.DataFrame, columns: str, value: str = "value") -> pd.DataFrame:
    """One row for each data set and metric, one column for each subset or signal; incomplete rows left out.

    Rounded as the paper prints, so that a tie is a tie in ours as in theirs.
    """
    if columns == "subset":
        table = table[table["metric"].isin(COMPARED)]
    return table.pivot_table(index=["dataset", "metric"], columns=columns, values=value, sort=False).dropna().round(3)


def above(first: list[str], second: list[str], *, columns: str = "subset", ties: bool = False) -> Any:
    """Make the count of cells in which the best of `first` is above the best of `second`."""

    def holds(table: pd.DataFrame) -> Held:
        by = wide(table, columns)
        difference = by[first].max(axis=1) - by[second].max(axis=1)
        return count(difference > -1e-9 if ties else difference > 1e-9)

    return holds


def both_above_full(table: pd.DataFrame) -> Held:
    """PR and HM, each counted, above the full set."""
    by = wide(table, "subset")
    return count(by[CAKE].gt(by["full"] + 1e-9, axis=0))


def narrower(subset: str) -> Callable[[pd.DataFrame], Held]:
    """Make the count of intervals narrower than those of the full set."""

    def holds(table: pd.DataFrame) -> Held:
        by = wide(table.assign(width=1000 * (table["high"] - table["low"])), "subset", "width")
        return count(by[subset] < by["full"])

    return holds


def only(sets: list[str], holds: Callable[[pd.DataFrame], Held]) -> Callable[[pd.DataFrame], Held]:
    """Restrict a claim to some data sets."""
    return lambda table: holds(table[table["dataset"].isin(sets)])


RIVALS = ["full", "random", "consensus", "C", "S"]
ENSEMBLE_RIVALS = ["entropy", "bootstrap"]

CLAIMS = [
    Claim("Filtering by CAKE improves on the full set (PR and HM)", "filtering_kmeans", both_above_full),
    Claim("… with a narrower interval, HM", "filtering_kmeans", narrower("CAKE_HM")),
    Claim("… with a narrower interval, PR", "filtering_kmeans", narrower("CAKE_PR")),
    Claim("The better of PR and HM is best or tied best", "filtering_kmeans", above(CAKE, RIVALS, ties=True)),
    Claim("HM is best or tied best", "filtering_kmeans", above(["CAKE_HM"], [*RIVALS, "CAKE_PR"], ties=True)),
    Claim("HM is better than geometry alone", "filtering_kmeans", above(["CAKE_HM"], ["S"])),
    Claim("PR is better than geometry alone", "filtering_kmeans", above(["CAKE_PR"], ["S"])),
    Claim("HM is better than stability alone", "filtering_kmeans", above(["CAKE_HM"], ["C"])),
    Claim(
        "CAKE beats both components on S4–S6",
        "filtering_kmeans",
        only(["S4", "S5", "S6"], above(CAKE, ["C", "S"])),
    ),
    Claim(
        "Consensus and stability lead on Bc",
        "filtering_kmeans",
        only(["Bc"], above(["C", "consensus"], ["S", *CAKE])),
    ),
    Claim("Filtering by CAKE improves on the full set, MiniBatchKMeans", "filtering_minibatchkmeans", both_above_full),
    Claim("Filtering by CAKE improves on the full set, mixtures", "filtering_gmm", both_above_full),
    *(
        Claim(
            f"CAKE finds right labels better than entropy and bootstrap, {name}",
            f"correctness_{table}",
            above(CAKE, ENSEMBLE_RIVALS, columns="signal"),
        )
        for name, table in {
            "k-means": "kmeans",
            "MiniBatchKMeans": "minibatchkmeans",
            "mixtures": "gmm",
            "K-Medoids": "kmedoids",
        }.items()
    ),
    Claim(
        "CAKE is the best beside fuzzy c-means and outlier factors",
        "correctness_soft_density",
        above(["CAKE_HM"], ["FCM1", "FCM2", "LOF1", "LOF2"], columns="signal", ties=True),
    ),
    Claim(
        "Outlier factors inside clusters (LOF2) beat global ones (LOF1)",
        "correctness_soft_density",
        above(["LOF2"], ["LOF1"], columns="signal"),
    ),
    Claim(
        "CAKE beats the mixture's own posteriors",
        "gmm_confidence",
        above(["CAKE_HM"], ["GMM1", "GMM2", "GMM3"], columns="signal"),
    ),
    Claim(
        "Adaptive filtering by HM improves on the full set",
        "adaptive_filtering",
        only(["Bc", "Dg", "Ng", "Fm", "Pd", "Sa"], above(["CAKE_HM"], ["full"])),
    ),
    Claim(
        "… also on S2, S4 and S6, which the paper leaves out",
        "adaptive_filtering",
        only(["S2", "S4", "S6"], above(["CAKE_HM"], ["full"])),
    ),
]
