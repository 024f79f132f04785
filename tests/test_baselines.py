"""Baselines against other libraries, plain loops, and the numbers that the paper prints for them."""

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import unique_optima
from papersets import NAMES, paper_set
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.stats import entropy
from skfuzzy.cluster import cmeans
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

from clustertrust import align_labels, build_ensemble, confidence
from clustertrust.baselines import (
    bootstrap_stability,
    consensus_agreement,
    entropy_agreement,
    fuzzy_confidence,
    fuzzy_memberships,
    gmm_confidence,
    gmm_memberships,
    local_outlier_confidence,
    membership_confidence,
    outlier_confidence,
    random_confidence,
    rank_average,
    subsample_stability,
)
from clustertrust.evaluation import auprc, auroc, correctness
from clustertrust.stability import pairwise_stability

GOLDEN = Path(__file__).parent / "golden"
HALF_A_DIGIT = 0.0005 + 1e-12  # printed with three decimals
METRICS = {"AUROC": auroc, "AUPRC": auprc}


def printed(table):
    return pd.read_csv(GOLDEN / table).set_index(["dataset", "metric", "signal"])["value"]


KMEANS, SOFT = printed("correctness_kmeans.csv"), printed("correctness_soft_density.csv")

# Two cells differ in the third decimal: what we measure, how far that may move, and why. The pixels
# of Dg are integers, so that 95 points have a 20th neighbour just as near as the 21st; which
# of the two counts is the search's choice. scikit-learn's three searches, on data centred or not,
# give 0.5980 to 0.5986; only the highest, of centred data by brute force, rounds to the printed
# 0.599, so that ties are the likely cause and not a proven one. In two of the 190 pairs of
# subsampled runs two matchings are the best; ours depends on the partitions alone, the authors' on
# what k-means calls its clusters. `test_printed_bootstrap_of_digits_hangs_on_tied_matchings` has
# theirs.
EXCEPTIONS = {
    ("Dg", "AUROC", "LOF1"): (0.5983, 0.0004),
    ("Dg", "AUROC", "bootstrap"): (0.71604, 0.00001),
}


def check_printed(table, name, signal, scores, right):
    for metric, value in METRICS.items():
        expected, allowed = EXCEPTIONS.get(
            (name, metric, signal), (table[name, metric, signal], HALF_A_DIGIT)
        )
        assert value(scores, right) == pytest.approx(expected, abs=allowed), metric


@cache
def ensemble_of(name, first_seed):
    X, y = paper_set(name)
    seeds = range(first_seed, first_seed + 20)
    kmeans = KMeans(init="random", n_init=1)  # the estimator keeps scikit-learn's own runs
    return build_ensemble(X, kmeans, n_clusters=len(np.unique(y)), n_runs=20, random_state=seeds)


@cache
def target(name, first_seed):
    """Whether the consensus label of each point is right."""
    X, y = paper_set(name)
    return correctness(confidence(X, ensemble_of(name, first_seed), geometry="centroid").labels, y)


@pytest.fixture(scope="module")
def blobs():
    """Three overlapping clusters in three dimensions, 80 points."""
    rng = np.random.default_rng(5)
    return np.vstack([rng.normal(at, 1.0, (size, 3)) for at, size in [(0, 30), (2.5, 30), (6, 20)]])


# The printed columns


@cache
def subsampled_runs(name):
    """20 runs in the authors' order of draws: one legacy generator for the points of a run and then
    its seed.
    """
    X, y = paper_set(name)
    rng = np.random.RandomState(42)
    labels = np.full((len(X), 20), -1)
    for run in labels.T:
        points = rng.choice(len(X), round(0.8 * len(X)), replace=False)
        run[points] = (
            KMeans(len(np.unique(y)), n_init=1, random_state=rng.randint(10**9))
            .fit(X[points])
            .labels_
        )
    return labels


@cache
def memberships(name):
    X, y = paper_set(name)
    return fuzzy_memberships(X, len(np.unique(y)), random_state=42)


ENSEMBLE_SIGNALS = {
    "entropy": lambda name: entropy_agreement(ensemble_of(name, 0)),
    "bootstrap": lambda name: subsample_stability(subsampled_runs(name)),
}
SOFT_SIGNALS = {
    "FCM1": lambda name: membership_confidence(memberships(name)),
    "FCM2": lambda name: membership_confidence(memberships(name), "entropy"),
    "LOF1": lambda name: outlier_confidence(paper_set(name)[0]),
    "LOF2": lambda name: local_outlier_confidence(paper_set(name)[0], ensemble_of(name, 42)),
}


@pytest.mark.printed
@pytest.mark.parametrize(
    ("signal", "name"),
    # A bootstrap takes seconds; the committed results have it of all sets.
    [*(("entropy", name) for name in NAMES), ("bootstrap", "Ir"), ("bootstrap", "Bc")],
)
def test_signals_of_ensembles_as_printed(name, signal):
    """Columns entropy and bootstrap of correctness_kmeans.csv."""
    check_printed(KMEANS, name, signal, ENSEMBLE_SIGNALS[signal](name), target(name, 0))


@pytest.mark.printed
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("signal", SOFT_SIGNALS)
def test_soft_and_density_signals_as_printed(name, signal):
    """Columns FCM1 to LOF2 of correctness_soft_density.csv.

    The target is the consensus of seeds 42 to 61.
    """
    check_printed(SOFT, name, signal, SOFT_SIGNALS[signal](name), target(name, 42))


def plain_bootstrap(labels):
    """Agreeing pairs over pairs with the point in both, by loops.

    Matchings in the runs' own numbering.
    """
    agreed, pairs = np.zeros(len(labels)), np.zeros(len(labels))
    for a, b in combinations(labels.T, 2):
        both = np.flatnonzero((a >= 0) & (b >= 0))
        table = np.zeros((a.max() + 1, b.max() + 1), dtype=int)
        for i in both:
            table[a[i], b[i]] += 1
        partner = dict(zip(*linear_sum_assignment(-table), strict=True))
        for i in both:
            agreed[i] += partner.get(a[i]) == b[i]
            pairs[i] += 1
    return np.array([share / of if of else 0.0 for share, of in zip(agreed, pairs, strict=True)])


@pytest.mark.printed
def test_printed_bootstrap_of_digits_hangs_on_tied_matchings():
    scores = plain_bootstrap(subsampled_runs("Dg"))
    for metric, value in METRICS.items():
        assert value(scores, target("Dg", 0)) == pytest.approx(
            KMEANS["Dg", metric, "bootstrap"], abs=HALF_A_DIGIT
        )


# gmm_confidence.csv: AUROC and AUPRC of the correctness of the mixture's own labels.
PRINTED_GMM = {
    "Ir": {"maximum": (0.927, 0.997), "margin": (0.927, 0.997), "entropy": (0.927, 0.997)},
    "Bc": {"maximum": (0.641, 0.756), "margin": (0.641, 0.756), "entropy": (0.641, 0.758)},
    "Dg": {"maximum": (0.533, 0.847), "margin": (0.537, 0.848), "entropy": (0.511, 0.841)},
}


@pytest.mark.printed
@pytest.mark.parametrize("name", PRINTED_GMM)
def test_mixtures_as_printed(name):
    X, y = paper_set(name)
    posterior = gmm_memberships(X, len(np.unique(y)), random_state=42)
    right = correctness(posterior.argmax(axis=1), y)
    for signal, expected in PRINTED_GMM[name].items():
        scores = membership_confidence(posterior, signal)
        assert (auroc(scores, right), auprc(scores, right)) == pytest.approx(
            expected, abs=HALF_A_DIGIT
        ), signal


# error_discovery_figure.csv, read off a figure to 0.004: AUPRC of finding errors by CAKE, by a
# mixture, by both.
READ_OFF = 0.004 + 0.0005
PRINTED_ERRORS = {
    "Ir": (0.399, 0.264, 0.433),
    "Bc": (0.382, 0.096, 0.185),
    "Dg": (0.485, 0.282, 0.423),
}


@pytest.mark.printed
@pytest.mark.parametrize("name", PRINTED_ERRORS)
def test_errors_found_as_in_the_figure(name):
    X, y = paper_set(name)
    k = len(np.unique(y))
    right = correctness(KMeans(k, n_init=10, random_state=0).fit(X).labels_, y)
    # By the means of the clusters.
    cake = confidence(X, ensemble_of(name, 0).labels, geometry="centroid").scores
    kind = "full" if X.shape[1] <= 5 else "diag"
    mixture = gmm_confidence(X, k, covariance_type=kind, n_init=1, random_state=0)
    found = [
        auprc(scores, right, positive="error")
        for scores in (cake, mixture, rank_average([cake, mixture]))
    ]
    assert found == pytest.approx(PRINTED_ERRORS[name], abs=READ_OFF)


# Random, and signals of ensembles


def test_random_confidence_is_uniform_and_hangs_on_the_seed():
    X = np.zeros((2000, 1))
    scores = random_confidence(X, random_state=3)
    assert scores.shape == (2000,)
    # Kolmogorov's distance, far above chance.
    assert_allclose(np.sort(scores), np.linspace(0, 1, 2000), atol=0.05)
    assert_array_equal(random_confidence(X, random_state=3), scores)
    assert (random_confidence(X, random_state=4) != scores).any()


@pytest.mark.parametrize("name", ["Ir", "Dg", "S6"])
def test_consensus_agreement_is_the_strength_of_the_consensus(name):
    X, _ = paper_set(name)
    ensemble = ensemble_of(name, 0)
    assert_array_equal(
        consensus_agreement(ensemble),
        confidence(X, ensemble, geometry="centroid").consensus_strength,
    )


def test_consensus_agreement_by_hand():
    runs = [[0, 0, 1, 1, 2], [7, 7, 5, 5, -1], ["a", "a", "a", "b", None]]
    assert_allclose(consensus_agreement(runs), [1, 1, 2 / 3, 1, 1])


@pytest.mark.parametrize("name", ["Ir", "Dg", "S6"])
def test_entropy_agreement_by_loops(name):
    X, _ = paper_set(name)
    ensemble = ensemble_of(name, 0)
    consensus = confidence(X, ensemble, geometry="centroid").labels
    k = len(set(consensus))
    aligned = np.column_stack([align_labels(consensus, run) for run in ensemble.labels.T])
    expected = [1 - entropy(np.unique(row, return_counts=True)[1]) / np.log(k) for row in aligned]
    assert_allclose(entropy_agreement(ensemble), np.clip(expected, 0, 1), atol=1e-12)


def test_entropy_agreement_ties_where_votes_are_the_same_but_for_names():
    scores = entropy_agreement(ensemble_of("Dg", 0))
    values = np.unique(scores)
    assert (np.diff(values) > 1e-9).all()


def test_votes_for_no_consensus_label_lower_the_entropy_agreement():
    runs = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 2, 1, 1, 1]]).T
    left = entropy_agreement(runs)
    assert left[2] == pytest.approx(1 - entropy([2, 1]) / np.log(2))
    assert_array_equal(left[[0, 1, 3, 4, 5]], 1.0)


@pytest.mark.parametrize("signal", [consensus_agreement, entropy_agreement])
def test_runs_without_the_point_have_no_vote(signal):
    runs = np.array([[0, 0, 1, 1, -1], [0, 0, 1, 1, -1], [0, 0, -1, 0, -1]]).T
    scores = signal(runs)
    assert scores[2] == 1.0
    assert 0 <= scores[3] < 1
    assert np.isnan(scores[4])


def test_one_cluster_for_all_is_agreement():
    runs = np.zeros((4, 3), dtype=int)
    assert_array_equal(entropy_agreement(runs), 1.0)
    assert_array_equal(consensus_agreement(runs), 1.0)


# Bootstrap


def test_bootstrap_stability_by_loops():
    X, _ = paper_set("Ir")
    options = {"n_clusters": 4, "n_runs": 8, "random_state": 2}
    labels = build_ensemble(X, "kmeans-random", resample=0.8, **options).labels
    assert_array_equal((labels >= 0).sum(axis=0), 120)
    assert unique_optima(labels)  # else the loop may take another matching that is just as good
    scores = bootstrap_stability(X, "kmeans-random", **options)
    assert len(np.unique(scores)) > 20
    assert_allclose(scores, plain_bootstrap(labels), rtol=1e-12)
    assert_array_equal(scores, np.nan_to_num(pairwise_stability(labels)))


def test_bootstrap_of_points_that_no_pair_has_is_0():
    # With two runs on a fifth of the points each, most points are in fewer than two.
    X = np.linspace(0, 1, 40)[:, None]
    labels = build_ensemble(X, n_clusters=2, n_runs=2, resample=0.2, random_state=0).labels
    scores = bootstrap_stability(X, n_clusters=2, n_runs=2, resample=0.2, random_state=0)
    alone = (labels >= 0).sum(axis=1) < 2
    assert 0 < alone.sum() < 40
    assert_array_equal(scores[alone], 0.0)
    assert_allclose(scores, plain_bootstrap(labels))


def test_bootstrap_takes_any_clusterer_and_an_ensemble(blobs):
    assert bootstrap_stability(blobs, GaussianMixture(3), n_runs=3, random_state=0).shape == (80,)
    drawn = bootstrap_stability(blobs, n_clusters=3, n_runs=3, resample="bootstrap", random_state=0)
    ensemble = build_ensemble(blobs, n_clusters=3, n_runs=3, resample="bootstrap", random_state=0)
    assert_array_equal(subsample_stability(ensemble), drawn)
    with pytest.raises(ValueError, match="resample=None is not a subsample"):
        bootstrap_stability(blobs, n_clusters=3, resample=None)


# Memberships


def fuzzy_start(n, k, seed):
    u = np.random.default_rng(seed).random((n, k))
    return u / u.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("fuzziness", [2.0, 1.3])
@pytest.mark.parametrize("max_iter", [1, 7])
def test_fuzzy_steps_are_those_of_scikit_fuzzy(blobs, fuzziness, max_iter):
    start = fuzzy_start(len(blobs), 3, seed=4)
    expected = cmeans(blobs.T, 3, fuzziness, 1e-300, max_iter, init=start.T)[1].T
    with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter}"):
        found = fuzzy_memberships(blobs, 3, fuzziness=fuzziness, max_iter=max_iter, random_state=4)
    assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("name", ["Ir", "Bc", "S4"])
def test_fuzzy_memberships_settle_where_scikit_fuzzy_does(name):
    X, y = paper_set(name)
    k = len(np.unique(y))
    expected = cmeans(X.T, k, 2.0, 1e-10, 2000, init=fuzzy_start(len(X), k, seed=42).T)[1].T
    # Stopped when no membership moves by 1e-5.
    assert_allclose(memberships(name), expected, atol=1e-3)
    assert_allclose(
        fuzzy_memberships(X, k, tol=1e-11, max_iter=2000, random_state=42), expected, atol=1e-7
    )


def test_fuzzy_memberships_on_a_centre_and_near_crisp():
    X = np.array([[0.0], [0.0], [5.0], [10.0], [10.0]])
    u = fuzzy_memberships(X, 2, fuzziness=1.001, random_state=0)  # powers of 2000
    assert np.isfinite(u).all()
    assert_allclose(u.sum(axis=1), 1.0)
    assert_allclose(u.max(axis=1)[[0, 1, 3, 4]], 1.0)


def test_fuzzy_memberships_fall_together_on_digits_unless_m_is_near_1():
    X, _ = paper_set("Dg")
    assert memberships("Dg").max() < 0.11
    assert fuzzy_memberships(X, 10, fuzziness=1.2, random_state=42).max(axis=1).mean() > 0.7


@pytest.mark.parametrize("signal", ["maximum", "margin", "entropy"])
def test_mixture_is_scikit_learns_called_by_hand(blobs, signal):
    for kind in ("full", "tied", "diag", "spherical"):
        mixture = GaussianMixture(
            3, covariance_type=kind, n_init=2, reg_covar=1e-6, random_state=7
        ).fit(blobs)
        by_hand = []
        for row in mixture.predict_proba(blobs):
            first, second, _ = sorted(row, reverse=True)
            by_hand.append(
                {
                    "maximum": first,
                    "margin": first - second,
                    "entropy": 1 - entropy(row) / np.log(3),
                }[signal]
            )
        found = gmm_confidence(
            blobs, 3, signal=signal, covariance_type=kind, n_init=2, random_state=7
        )
        assert_allclose(found, by_hand, atol=1e-9)
        assert len(np.unique(found)) > 40


def test_defaults_are_the_papers(blobs):
    mixture = GaussianMixture(6, n_init=3, random_state=42).fit(blobs)
    assert_allclose(gmm_memberships(blobs, 6, random_state=42), mixture.predict_proba(blobs))
    assert not np.allclose(
        gmm_memberships(blobs, 6, n_init=1, random_state=42), mixture.predict_proba(blobs)
    )
    u = fuzzy_memberships(blobs, 3, fuzziness=2, max_iter=200, tol=1e-5, random_state=1)
    assert_array_equal(fuzzy_confidence(blobs, 3, random_state=1), u.max(axis=1))
    assert_array_equal(
        fuzzy_confidence(blobs, 3, signal="entropy", random_state=1),
        membership_confidence(u, "entropy"),
    )
    lof = LocalOutlierFactor(n_neighbors=20).fit(blobs)
    assert_array_equal(outlier_confidence(blobs), lof.negative_outlier_factor_)


def test_membership_signals_at_their_ends():
    u = [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]]
    assert_allclose(membership_confidence(u, "maximum"), [1, 1 / 3, 0.5])
    assert_allclose(membership_confidence(u, "margin"), [1, 0, 0.5 - 0.5])
    assert_allclose(
        membership_confidence(u, "entropy"), [1, 0, 1 - np.log(2) / np.log(3)], atol=1e-9
    )
    # Posteriors below 1e-12 count as 1e-12: no order among those that are all but certain.
    nearly = membership_confidence([[1 - 1e-14, 1e-14], [1.0, 0.0], [1 - 1e-6, 1e-6]], "entropy")
    assert nearly[0] == nearly[1] > nearly[2]


# Local outlier factors


def test_local_outlier_confidence_is_scikit_learns_cluster_by_cluster(blobs):
    labels = build_ensemble(
        blobs, "kmeans-random", n_clusters=4, n_runs=5, random_state=0
    ).labels.astype(int)
    labels[[3, 50], 2] = 9  # a cluster of two
    labels[7, 4] = 9  # a cluster of one
    labels[[5, 6], 1] = -1
    labels[11] = -1
    sums, counts = np.zeros(80), np.zeros(80)
    for run in labels.T:
        for label in set(run[run >= 0]):
            members = np.flatnonzero(run == label)
            counts[members] += 1
            if len(members) < 3:
                sums[members] += 0.5
                continue
            lof = LocalOutlierFactor(n_neighbors=min(20, len(members) - 1)).fit(blobs[members])
            sums[members] += [1 / max(1, -factor) for factor in lof.negative_outlier_factor_]
    found = local_outlier_confidence(blobs, labels)
    known = counts > 0
    assert_array_equal(np.flatnonzero(~known), [11])
    assert np.isnan(found[11])
    assert_allclose(found[known], sums[known] / counts[known], rtol=1e-12)
    assert_allclose(local_outlier_confidence(csr_matrix(blobs), labels), found, rtol=1e-6)


def test_outliers_are_told_in_the_whole_set_and_in_their_cluster():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(20, 1, (60, 2)), [[6.0, 6.0]]])
    labels = np.repeat([0, 1, 0], [60, 60, 1])
    assert outlier_confidence(X).argmin() == 120
    assert local_outlier_confidence(X, [labels, labels]).argmin() == 120
    assert outlier_confidence(X[:4]).shape == (4,)  # fewer than 20 neighbours


# Fusion of ranks


def test_rank_average_is_the_mean_of_percentage_ranks():
    rng = np.random.default_rng(2)
    signals = [
        rng.integers(0, 6, 50).astype(float),
        rng.normal(size=50),
        -(10 ** rng.normal(size=50)),
    ]
    signals[1][:3] = np.nan
    expected = np.mean([pd.Series(signal).rank(pct=True) for signal in signals], axis=0)
    assert_allclose(rank_average(signals), expected)
    assert np.isnan(rank_average(signals)[:3]).all()
    # Scales do not matter.
    assert_allclose(rank_average([np.exp(signals[2]), *signals[:2]]), expected)


# Errors


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda X: random_confidence(X, random_state=-1), r"random_state=-1 must be at least 0"),
        (lambda X: consensus_agreement([[0, 1, 1]]), r"labels holds 1 run"),
        (lambda X: entropy_agreement([[0, 1, 1]]), r"labels holds 1 run"),
        (lambda X: fuzzy_memberships(X, 1), r"n_clusters=1 must be at least 2"),
        (lambda X: fuzzy_memberships(X, 99), r"n_clusters=99 is more than the 80 points"),
        (lambda X: fuzzy_memberships(X, 3, fuzziness=1.0), r"fuzziness=1.0 must be above 1"),
        (lambda X: fuzzy_memberships(X, 3, tol=0), r"tol=0 must be above 0"),
        (lambda X: fuzzy_memberships(X, 3, max_iter=0), r"max_iter=0 must be at least 1"),
        (
            lambda X: fuzzy_confidence(X, 3, signal="max"),
            r"signal='max' is not known; choose one of",
        ),
        (lambda X: gmm_confidence(X, 3, signal="max"), r"signal='max' is not known; choose one of"),
        (lambda X: gmm_memberships(X, 3, covariance_type="f"), r"covariance_type='f' is not known"),
        (lambda X: membership_confidence([[1.0]]), r"shape \(1, 1\)"),
        (lambda X: membership_confidence([[0.5, 0.6]]), r"memberships\[0\].* must sum to 1"),
        (lambda X: outlier_confidence(X, n_neighbors=0), r"n_neighbors=0 must be at least 1"),
        (lambda X: local_outlier_confidence(X, [[0, 1, 1]]), r"X has 80 points and labels has 3"),
        (lambda X: rank_average([]), r"signals is empty"),
        (lambda X: rank_average([[1, 2], [1, 2, 3]]), r"shapes \[\(2,\), \(3,\)\]"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(blobs, call, match):
    with pytest.raises(ValueError, match=match):
        call(blobs)


def test_sparse_points_are_refused_with_a_remedy(blobs):
    with pytest.raises(TypeError, match="toarray"):
        fuzzy_memberships(csr_matrix(blobs), 3)
