"""The numbers that the paper prints, to the digit, and its two moons."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from papersets import MOON_NOISE, NAMES, moons_with_outliers, paper_set
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import kneighbors_graph

from clustertrust import align_labels, build_ensemble, confidence

HALF_A_DIGIT = 0.0005 + 1e-12  # printed with three decimals
METRICS = {"AUROC": roc_auc_score, "AUPRC": average_precision_score}
FUSIONS = {"CAKE_PR": "product", "CAKE_HM": "harmonic"}

PRINTED = pd.read_csv(Path(__file__).parent / "golden" / "correctness_kmeans.csv").set_index(
    ["dataset", "metric", "signal"]
)["value"]


@cache
def ensemble_of(name):
    X, y = paper_set(name)
    kmeans = KMeans(init="random", n_init=1)  # the estimator keeps scikit-learn's own runs
    return build_ensemble(
        X, kmeans, n_clusters=len(np.unique(y)), n_runs=20, random_state=range(20)
    )


@pytest.mark.printed
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("signal", FUSIONS)
def test_scores_tell_right_from_wrong_as_printed(name, signal):
    """How well the score ranks points by whether their consensus label is right;
    correctness_kmeans.csv.

    The authors ran scikit-learn 1.6.1 and numpy 2.0.2. Every cell is the same, to six decimals,
    with these and with 1.9 and 2.4, so there is nothing to allow for but rounding.
    """
    X, y = paper_set(name)
    scored = confidence(X, ensemble_of(name), geometry="exact", fusion=FUSIONS[signal])
    right = align_labels(y, scored.labels) == y
    for metric, value in METRICS.items():
        assert value(right, scored.scores) == pytest.approx(
            PRINTED[name, metric, signal], abs=HALF_A_DIGIT
        ), metric


# Two moons and outliers, spectral partitions, kernel silhouette: a figure of the paper, so what is
# tested is what it shows.


@pytest.fixture(scope="module")
def moons():
    """Points, their moon, and 25 partitions, each from a graph of 10 to 15 neighbours."""
    rng = np.random.default_rng(7)
    X, y = moons_with_outliers(rng)
    partitions = []
    for seed in range(25):
        graph = kneighbors_graph(X, int(rng.integers(10, 16)), include_self=True)
        spectral = SpectralClustering(2, affinity="precomputed", n_init=1, random_state=seed)
        partitions.append(spectral.fit((graph + graph.T) / 2).labels_)
    return X, y, partitions


@pytest.fixture(scope="module")
def scored(moons):
    X, _, partitions = moons
    return confidence(X, partitions, geometry="kernel", fusion="product")


@pytest.fixture(scope="module")
def regions(moons):
    """Where points lie, told from their distances to the two arcs that the moons are drawn around."""
    X, y, _ = moons
    angle = np.linspace(0, np.pi, 1000)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    away = [np.linalg.norm(X[:, None] - arc, axis=2).min(axis=1) for arc in (upper, lower)]
    near, far = np.minimum(*away), np.maximum(*away)
    outlier = np.arange(len(X)) >= len(y)
    return {
        "core": ~outlier & (near < MOON_NOISE),
        "outlier": outlier,
        "astray": outlier
        & (near > 3 * MOON_NOISE),  # an outlier that falls on a moon looks like any other point
        "between": near > far / 2,
    }


def core_above(scores, regions, region):
    """Chance that a point of the core scores above one of the region (AUROC)."""
    core, other = scores[regions["core"]], scores[regions[region]]
    return roc_auc_score([1] * core.size + [0] * other.size, [*core, *other])


def test_consensus_of_spectral_runs_is_the_moons(moons, scored):
    y = moons[1]
    assert np.mean(align_labels(y, scored.labels[: len(y)]) == y) > 0.99


@pytest.mark.parametrize("region", ["outlier", "astray", "between"])
def test_typical_outlier_scores_below_nearly_all_of_the_core(scored, regions, region):
    assert regions[region].sum() >= 5
    assert np.median(scored.scores[regions[region]]) < np.quantile(
        scored.scores[regions["core"]], 0.05
    )


# A third of the outliers are not astray; if these scored like the core, all outliers would come to
# about 0.8.
@pytest.mark.parametrize(
    ("region", "at_least"), [("outlier", 0.8), ("astray", 0.95), ("between", 0.95)]
)
def test_core_of_the_moons_ranks_above(scored, regions, region, at_least):
    assert core_above(scored.scores, regions, region) > at_least


def test_euclidean_silhouette_is_blind_to_outliers_of_the_moons(moons, scored, regions):
    X, _, partitions = moons
    euclidean = confidence(X, partitions, geometry="exact", fusion="product")
    assert (
        core_above(euclidean.scores, regions, "outlier")
        < 0.8
        < core_above(scored.scores, regions, "outlier")
    )
