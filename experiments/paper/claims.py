"""The claims of the paper's text, each a count over a table: of the printed numbers, or of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.paper.data import REAL, SYNTHETIC
from experiments.paper.results import Held

COMPARED = ["ARI", "AMI", "ACC"]  # the metrics that most claims speak of
OTHERS = ["Silhouette", "NMI"]
LINEAR = 1.25  # the largest exponent that passes for roughly linear
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


def wide(
    table: pd.DataFrame, columns: str, value: str = "value", metrics: Sequence[str] = COMPARED
) -> pd.DataFrame:
    """One row for each data set and metric, one column for each subset or signal; incomplete rows left out.

    Rounded as the paper prints, so that a tie is a tie in ours as in theirs.
    """
    if columns == "subset":
        table = table[table["metric"].isin(metrics)]
    return (
        table.pivot_table(index=["dataset", "metric"], columns=columns, values=value, sort=False)
        .dropna()
        .round(3)
    )


def above(
    first: list[str], second: list[str], *, columns: str = "subset", ties: bool = False
) -> Any:
    """Make the count of cells in which the best of `first` is above the best of `second`."""

    def holds(table: pd.DataFrame) -> Held:
        by = wide(table, columns)
        difference = by[first].max(axis=1) - by[second].max(axis=1)
        return count(difference > -1e-9 if ties else difference > 1e-9)

    return holds


def surely_above(first: list[str], second: list[str]) -> Callable[[pd.DataFrame], Held]:
    """Make the count of cells in which the interval of the best of `first` is above those of all of `second`."""

    def holds(table: pd.DataFrame) -> Held:
        low, high = wide(table, "signal", "low"), wide(table, "signal", "high")
        return count(low[first].max(axis=1) > high[second].max(axis=1))

    return holds


def both_above(rival: str, metrics: Sequence[str] = COMPARED) -> Callable[[pd.DataFrame], Held]:
    """Make the count of cells in which PR, or HM, each counted, is above another rule."""

    def holds(table: pd.DataFrame) -> Held:
        by = wide(table, "subset", metrics=metrics)
        return count(by[CAKE].gt(by[rival] + 1e-9, axis=0))

    return holds


def best_in_both_metrics(table: pd.DataFrame) -> Held:
    """Data sets on which HM is best or tied best in both metrics, beside soft and density signals."""
    by = wide(table, "signal")
    best = by["CAKE_HM"] > by[["FCM1", "FCM2", "LOF1", "LOF2"]].max(axis=1) - 1e-9
    return count(best.groupby(level="dataset").all())


def equal(first: str, second: str) -> Callable[[pd.DataFrame], Held]:
    """Make the count of cells in which two rules tie."""

    def holds(table: pd.DataFrame) -> Held:
        by = wide(table, "subset")
        return count((by[first] - by[second]).abs() < 1e-9)

    return holds


def linear(size: str, quantity: str) -> Callable[[pd.DataFrame], Held]:
    """Make the check that seconds grow with a power of at most 1.25."""

    def holds(table: pd.DataFrame) -> Held:
        of = table[table["quantity"] == quantity]
        if of.empty:
            raise KeyError(quantity)
        slope = np.polyfit(np.log(of[size].astype(float)), np.log(of["value"].astype(float)), 1)[0]
        return int(slope <= LINEAR), 1

    return holds


def near(table: pd.DataFrame) -> Held:
    """Rows in which proxy and exact scores correlate by 0.9 or more."""
    values = table.loc[table["quantity"] == "pearson", "value"]
    return count(values >= 0.9)


def narrower(subset: str) -> Callable[[pd.DataFrame], Held]:
    """Make the count of intervals narrower than those of the full set."""

    def holds(table: pd.DataFrame) -> Held:
        # Over ten ensembles the interval is one over ensembles; the spread over runs of evaluation stands apart.
        width = table["spread"] if "spread" in table else table["high"] - table["low"]
        by = wide(table.assign(width=1000 * width), "subset", "width")
        return count(by[subset] < by["full"])

    return holds


def only(sets: list[str], holds: Callable[[pd.DataFrame], Held]) -> Callable[[pd.DataFrame], Held]:
    """Restrict a claim to some data sets."""
    return lambda table: holds(table[table["dataset"].isin(sets)])


RIVALS = ["full", "random", "consensus", "C", "S"]
ENSEMBLE_RIVALS = ["entropy", "bootstrap"]

CLAIMS = [
    Claim(
        "Filtering by CAKE improves on the full set (PR and HM)",
        "filtering_kmeans",
        both_above("full"),
    ),
    Claim("… also in silhouette and NMI", "filtering_kmeans", both_above("full", OTHERS)),
    Claim("… with a narrower interval, HM", "filtering_kmeans", narrower("CAKE_HM")),
    Claim("… with a narrower interval, PR", "filtering_kmeans", narrower("CAKE_PR")),
    Claim(
        "The better of PR and HM is best or tied best",
        "filtering_kmeans",
        above(CAKE, RIVALS, ties=True),
    ),
    Claim(
        "HM is best or tied best",
        "filtering_kmeans",
        above(["CAKE_HM"], [*RIVALS, "CAKE_PR"], ties=True),
    ),
    Claim("HM is better than geometry alone", "filtering_kmeans", above(["CAKE_HM"], ["S"])),
    Claim("PR is better than geometry alone", "filtering_kmeans", above(["CAKE_PR"], ["S"])),
    Claim("HM is better than stability alone", "filtering_kmeans", above(["CAKE_HM"], ["C"])),
    Claim(
        "CAKE beats both components on S4–S6",
        "filtering_kmeans",
        only(["S4", "S5", "S6"], above(CAKE, ["C", "S"])),
    ),
    Claim(
        "HM is best or tied best on Dg, Fm, Pd and Lt",
        "filtering_kmeans",
        only(["Dg", "Fm", "Pd", "Lt"], above(["CAKE_HM"], [*RIVALS, "CAKE_PR"], ties=True)),
    ),
    Claim(
        "PR is best or tied best on Ng",
        "filtering_kmeans",
        only(["Ng"], above(["CAKE_PR"], [*RIVALS, "CAKE_HM"], ties=True)),
    ),
    Claim(
        "Geometry alone is best or tied best on S3 and Sa",
        "filtering_kmeans",
        only(["S3", "Sa"], above(["S"], ["full", "random", "consensus", "C", *CAKE], ties=True)),
    ),
    Claim(
        "Consensus and stability lead on Bc",
        "filtering_kmeans",
        only(["Bc"], above(["C", "consensus"], ["S", *CAKE])),
    ),
    Claim(
        "Filtering by CAKE improves on the full set, MiniBatchKMeans",
        "filtering_minibatchkmeans",
        both_above("full"),
    ),
    Claim(
        "Filtering by CAKE improves on the full set, mixtures", "filtering_gmm", both_above("full")
    ),
    *(
        claim
        for name, table in {
            "k-means": "kmeans",
            "MiniBatchKMeans": "minibatchkmeans",
            "mixtures": "gmm",
            "K-Medoids": "kmedoids",
        }.items()
        for claim in (
            Claim(
                f"CAKE finds right labels better than entropy and bootstrap, {name}",
                f"correctness_{table}",
                above(CAKE, ENSEMBLE_RIVALS, columns="signal"),
            ),
            Claim(
                f"… with intervals that do not meet, {name}",
                f"correctness_{table}",
                surely_above(CAKE, ENSEMBLE_RIVALS),
            ),
        )
    ),
    Claim(
        "CAKE is the best, compared with fuzzy c-means and outlier factors",
        "correctness_soft_density",
        above(["CAKE_HM"], ["FCM1", "FCM2", "LOF1", "LOF2"], columns="signal", ties=True),
    ),
    Claim(
        "… with intervals that do not meet, compared with fuzzy c-means and outlier factors",
        "correctness_soft_density",
        surely_above(["CAKE_HM"], ["FCM1", "FCM2", "LOF1", "LOF2"]),
    ),
    Claim(
        "… in both metrics, sets among S1–S7 (the text: 4 of 7)",
        "correctness_soft_density",
        only(list(SYNTHETIC), best_in_both_metrics),
    ),
    Claim(
        "… in both metrics, real sets (the text: 5 of 8)",
        "correctness_soft_density",
        only(list(REAL), best_in_both_metrics),
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
        "… with intervals that do not meet, compared with posteriors",
        "gmm_confidence",
        surely_above(["CAKE_HM"], ["GMM1", "GMM2", "GMM3"]),
    ),
    Claim(
        "… on Bc, Dg, Ng, Fm, Pd and Sa, which the text names",
        "gmm_confidence",
        only(
            ["Bc", "Dg", "Ng", "Fm", "Pd", "Sa"],
            above(["CAKE_HM"], ["GMM1", "GMM2", "GMM3"], columns="signal"),
        ),
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
    Claim(
        "… HM is best on Dg and Pd",
        "adaptive_filtering",
        only(["Dg", "Pd"], above(["CAKE_HM"], [*RIVALS, "CAKE_PR"], ties=True)),
    ),
    Claim(
        "… PR is best on Ng and Fm",
        "adaptive_filtering",
        only(["Ng", "Fm"], above(["CAKE_PR"], [*RIVALS, "CAKE_HM"], ties=True)),
    ),
    Claim(
        "… HM is best on Sa (the text: in two metrics of three)",
        "adaptive_filtering",
        only(["Sa"], above(["CAKE_HM"], [*RIVALS, "CAKE_PR"], ties=True)),
    ),
    Claim("… HM and geometry tie on Bc", "adaptive_filtering", only(["Bc"], equal("CAKE_HM", "S"))),
    Claim(
        "… CAKE is above a random subset of the same size (PR and HM)",
        "adaptive_filtering",
        only(["Bc", "Dg", "Ng", "Fm", "Pd", "Sa"], both_above("random")),
    ),
    Claim(
        "Time grows roughly linearly with R, exact silhouettes",
        "runtime_vs_R",
        linear("R", "cake_exact_s"),
    ),
    Claim(
        "Time grows roughly linearly with R, centroid proxy",
        "runtime_vs_R",
        linear("R", "cake_approx_s"),
    ),
    Claim(
        "Time grows roughly linearly with n, centroid proxy",
        "runtime_vs_n",
        linear("n", "cake_approx_s"),
    ),
    Claim(
        "Scores by the proxy correlate with exact ones (0.9 or more), against R",
        "runtime_vs_R",
        near,
    ),
    Claim(
        "Scores by the proxy correlate with exact ones (0.9 or more), against n",
        "runtime_vs_n",
        near,
    ),
]
