"""Against `cake_ensemble`, the package of the paper's authors: the same numbers from the same
partitions.

It works on differences of large squares, so it gets centred data; ours must not care.
"""

from functools import cache

import cake_ensemble as authors
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_moons

from clustertrust import Ensemble, align_labels, build_ensemble, confidence
from clustertrust.geometry import Centroid, silhouettes
from clustertrust.stability import pairwise_stability

R = 8
CLOSE = {"rtol": 0, "atol": 1e-9}
FUSIONS = {"product": "product", "harmonic": "harmonic_mean"}
CONSENSUS = {"medoid": "medoid", "best-reference": "best_ref"}
GEOMETRIES = ["exact", "centroid", "centroid, centres given"]
ODD = np.array([10, 77, 5, 1000003, 42, 9, 11, 64, 3, 28])
TEXT = np.array(["oak", "ash", "elm", "", "Zürich", "10", "b b", "fir", "yew", "box"])


def lonely():
    """Three blobs, two clusters of one point (silhouette 0) and one of two equal points (a = 0)."""
    blobs = make_blobs(120, centers=[(0, 0), (8, 0), (0, 8)], random_state=3)[0]
    return np.vstack([blobs, [(60, 60), (-60, 60), (60, -60), (60, -60)]]), 6


DATA = {
    "blobs": lambda: (make_blobs(600, centers=4, cluster_std=2.0, random_state=1)[0], 4),
    "moons": lambda: (make_moons(500, noise=0.1, random_state=0)[0], 2),
    "moons, k too large": lambda: (make_moons(500, noise=0.1, random_state=0)[0], 5),
    "iris": lambda: (load_iris().data, 3),
    "wine": lambda: (load_wine().data, 3),
    "digits": lambda: (load_digits().data, 10),
    "lonely": lonely,
    "shuffled": lambda: (make_blobs(300, centers=3, random_state=5)[0], 3),
}


@cache
def case(name):
    """Centred points and an ensemble; "shuffled" has a third of each run's labels drawn anew.

    Random labels put silhouettes below 0 and stability well below 1, where k-means seldom goes.
    """
    X, k = DATA[name]()
    X = X - X.mean(axis=0)
    # K-means++ finds the lonely points.
    clusterer = "kmeans" if name == "lonely" else "kmeans-random"
    ensemble = build_ensemble(X, clusterer, n_clusters=k, n_runs=R, random_state=range(R))
    if name != "shuffled":
        return X, ensemble
    # With 0 one pair of runs has two best matchings, and either is right.
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, k, ensemble.labels.shape)
    labels = np.where(rng.random(drawn.shape) < 1 / 3, drawn, ensemble.labels)
    return X, Ensemble.from_labels(labels, centers=ensemble.centers)


def runs(ensemble):
    return list(ensemble.labels.T)


def their_options(ensemble, geometry):
    given = list(ensemble.centers) if geometry.endswith("given") else None
    return {"approximation": geometry != "exact", "centers_list": given}


def our_options(ensemble, geometry):
    if geometry.endswith("given"):
        return {"geometry": Centroid(ensemble.centers)}
    return {"geometry": geometry.split(",")[0]}


@cache
def their_cake(name, geometry, fusion="product", normalization="clip"):
    X, ensemble = case(name)
    options = their_options(ensemble, geometry)
    return authors.cake(
        X, runs(ensemble), method=FUSIONS[fusion], geom_norm=normalization, **options
    )[:3]


@cache
def their_consensus(name, consensus):
    return authors.consensus_labels(runs(case(name)[1]), method=CONSENSUS[consensus])


by_data = pytest.mark.parametrize("name", DATA)
by_geometry = pytest.mark.parametrize("geometry", GEOMETRIES)
by_fusion = pytest.mark.parametrize("fusion", FUSIONS)
by_normalization = pytest.mark.parametrize("normalization", ["clip", "affine"])
by_consensus = pytest.mark.parametrize("consensus", CONSENSUS)


@by_data
@by_geometry
@by_fusion
@by_normalization
def test_scores_and_components(name, geometry, fusion, normalization):
    X, ensemble = case(name)
    # Label vectors alone: an Ensemble of k-means runs would bring its centres along.
    ours = confidence(
        X,
        ensemble.labels,
        fusion=fusion,
        normalization=normalization,
        **our_options(ensemble, geometry),
    )
    scores, c, g = their_cake(name, geometry, fusion, normalization)
    assert_allclose(ours.scores, scores, **CLOSE)
    assert_allclose(ours.stability, c, **CLOSE)
    assert_allclose(ours.geometry, g, **CLOSE)


@by_data
def test_ensemble_brings_its_centers(name):
    X, ensemble = case(name)
    scores, *_ = their_cake(name, "centroid, centres given")
    assert_allclose(
        confidence(X, ensemble, fusion="product", geometry="centroid").scores, scores, **CLOSE
    )


@by_data
@by_geometry
def test_silhouettes_their_mean_and_std(name, geometry):
    X, ensemble = case(name)
    ours = our_options(ensemble, geometry)
    theirs = their_options(ensemble, geometry)
    mean, std = authors.sil_samples_stats(X, runs(ensemble), **theirs)
    scored = confidence(X, ensemble.labels, **ours)
    assert_allclose(scored.silhouette_mean, mean, **CLOSE)
    assert_allclose(scored.silhouette_std, std, **CLOSE)

    given = theirs.pop("centers_list") or [None] * R
    by_run = [
        authors.sil_samples(X, run, approximation=theirs["approximation"], centers=centers)
        for run, centers in zip(runs(ensemble), given, strict=True)
    ]
    assert_allclose(silhouettes(X, ensemble.labels, **ours), np.column_stack(by_run), **CLOSE)


@by_data
def test_pairwise_stability(name):
    ensemble = case(name)[1]
    assert_allclose(
        pairwise_stability(ensemble), authors.pairwise_stability(runs(ensemble)), **CLOSE
    )


@by_data
@by_consensus
def test_consensus(name, consensus):
    X, ensemble = case(name)
    labels, strength, reference = their_consensus(name, consensus)
    ours = confidence(X, ensemble, geometry="centroid", consensus=consensus)
    assert ours.reference_run == reference  # both take the first of equally good runs
    named = ours.label_names[ours.labels]

    aligned = np.column_stack(
        [authors.align_labels(ensemble.labels[:, reference], run) for run in runs(ensemble)]
    )
    votes = (aligned[:, :, None] == ours.label_names).mean(axis=1)
    assert_allclose(ours.votes, votes, **CLOSE)
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert_array_equal(named[~tied], labels[~tied])
    assert_allclose(ours.consensus_strength[~tied], strength[~tied], **CLOSE)
    # The authors' package takes the smallest of tied labels; their notebook, like us, the
    # reference's own.
    own = ensemble.labels[tied, reference]
    assert_array_equal(named[tied], own)
    assert_allclose(
        ours.consensus_strength[tied], (aligned[tied] == own[:, None]).mean(axis=1), **CLOSE
    )


def test_ties_and_clear_votes_both_occur():
    """The test above would say nothing of ties where there are none."""
    X, ensemble = case("digits")
    top_two = np.sort(confidence(X, ensemble, geometry="centroid").votes, axis=1)[:, -2:]
    tied = top_two[:, 0] == top_two[:, 1]
    assert 0 < tied.sum() < 0.2 * len(X)


@by_data
@pytest.mark.parametrize("r", [0, R - 1])
def test_align_labels(name, r):
    labels = runs(case(name)[1])
    for source in labels:
        assert_array_equal(align_labels(labels[r], source), authors.align_labels(labels[r], source))


@pytest.mark.parametrize("name", ["blobs", "moons", "iris", "wine", "digits"])
@by_geometry
def test_far_from_the_origin(name, geometry):
    # On a grid of 2⁻²⁰ a shift by 2²⁰ (about 10⁶) loses no digit of the data, and exact silhouettes
    # none at all. Centres out there are rounded to 1e-10, less than 1e-9 of the distances between
    # clusters.
    near, ensemble = case(name)
    near = np.round(near * 2**20) / 2**20
    far = near + 2.0**20
    assert_array_equal(far - 2.0**20, near)

    scores, c, g, _ = authors.cake(near, runs(ensemble), **their_options(ensemble, geometry))
    options = our_options(ensemble, geometry)
    if isinstance(options["geometry"], Centroid):
        moved = [centers + 2.0**20 for centers in options["geometry"].centers]
        options = {"geometry": Centroid(moved)}
    ours = confidence(far, ensemble.labels, fusion="product", **options)
    assert_allclose(ours.scores, scores, **CLOSE)
    assert_allclose(ours.stability, c, **CLOSE)
    assert_allclose(ours.geometry, g, **CLOSE)


@pytest.mark.parametrize("name", ["blobs", "moons, k too large", "iris", "digits", "shuffled"])
@by_consensus
def test_odd_whole_numbers_as_labels(name, consensus):
    X, ensemble = case(name)
    odd = [np.roll(ODD, r)[run] for r, run in enumerate(runs(ensemble))]  # other names in every run
    ours = confidence(X, odd, geometry="centroid", fusion="product", consensus=consensus)
    scores, c, *_ = authors.cake(X, odd, approximation=True)
    assert_allclose(ours.scores, scores, **CLOSE)
    assert_allclose(ours.stability, c, **CLOSE)

    labels, strength, reference = authors.consensus_labels(odd, method=CONSENSUS[consensus])
    assert ours.reference_run == reference
    clear = np.sort(ours.votes, axis=1)[:, -1] > np.sort(ours.votes, axis=1)[:, -2]
    assert clear.mean() > 0.8
    assert_array_equal(ours.label_names[ours.labels][clear], labels[clear])
    assert_allclose(ours.consensus_strength[clear], strength[clear], **CLOSE)
    assert_array_equal(align_labels(odd[0], odd[1]), authors.align_labels(odd[0], odd[1]))


@pytest.mark.parametrize("name", ["blobs", "iris", "digits"])
def test_text_as_labels(name):
    X, ensemble = case(name)
    text = [TEXT[run] for run in runs(ensemble)]
    ours = confidence(X, text, geometry="exact", fusion="product")
    scores, c, g = their_cake(name, "exact")
    assert_allclose(ours.scores, scores, **CLOSE)
    assert_allclose(ours.stability, c, **CLOSE)
    assert_allclose(ours.geometry, g, **CLOSE)

    labels, _, reference = their_consensus(name, "medoid")
    assert ours.reference_run == reference
    clear = np.sort(ours.votes, axis=1)[:, -1] > np.sort(ours.votes, axis=1)[:, -2]
    assert clear.mean() > 0.8
    assert_array_equal(ours.label_names[ours.labels][clear], TEXT[labels[clear]])
    assert_array_equal(align_labels(text[0], text[1]), authors.align_labels(text[0], text[1]))


@pytest.mark.parametrize("name", ["blobs", "iris", "wine", "digits"])
def test_same_partitions_from_the_same_seeds(name):
    X, ensemble = case(name)
    k = int(ensemble.n_clusters[0])
    labels, centers, summary = authors.kmeans_ensemble(X, k, n_runs=4, random_state=1)
    ours = build_ensemble(
        X, "kmeans-random", n_clusters=k, n_runs=4, random_state=summary["Seed"].tolist()
    )
    assert_array_equal(ours.labels, np.column_stack(labels))
    assert_allclose(np.stack(ours.centers), np.stack(centers), **CLOSE)
