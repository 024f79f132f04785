"""Audits of one given labelling, against slow plain versions that share no code with ours."""

import itertools
import weakref
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as drawn_by
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import mannwhitneyu, norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs, make_circles
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import roc_auc_score, silhouette_samples
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import clustertrust
from clustertrust import Audit, Confidence, audit
from clustertrust.auditing import VERDICTS, default_classifiers, labelling, pairs
from clustertrust.auditing.classifying import cross_validate, folds_of
from clustertrust.auditing.cuts import two_means
from clustertrust.auditing.default_classifiers import DEFAULTS, TREES, Round, Straight, Trees
from clustertrust.auditing.lines import (
    PENALTIES,
    centred,
    contrast,
    depth,
    is_sharp,
    places,
    products_by,
    products_of,
)
from clustertrust.auditing.perturbing import EVERY, PROPAGATED
from clustertrust.auditing.propagating import Neighbourhood, nearest_labelled, propagate
from clustertrust.auditing.spellings import misspellings
from clustertrust.auditing.verdicts import (
    Borders,
    Sample,
    recognised,
    verdicts_of,
)
from clustertrust.auditing.votes import (
    count,
    match_to_given,
    pool,
    standard_errors,
    weights_of,
)
from clustertrust.distances.neighbors import smallest
from clustertrust.ensemble.runs import draw_seeds
from clustertrust.geometry import Graph, Kernel
from clustertrust.geometry.base import Compute
from clustertrust.geometry.measuring import as_geometry
from clustertrust.storage import read_arrays, write_arrays

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
BLOBS, TRUE = make_blobs([60, 70, 80, 90], centers=[(0, 0), (9, 0), (0, 9), (9, 9)], random_state=0)


@pytest.fixture(scope="module")
def found():
    labels = NAMES.astype(object)
    labels[3] = "virginica"
    labels[[60, 61]] = None
    return audit(pd.DataFrame(X, index=[f"f{i}" for i in range(150)]), labels, random_state=0)


# Neighbours and labels that they hand on


def plain_nearest(distances, labelled, depth):
    """The nearest labelled points of each point, itself left out, of equals the first."""
    rows = []
    for i, row in enumerate(distances):
        others = sorted((row[j], j) for j in labelled if j != i)
        rows.append([j for _, j in others[:depth]])
    return np.array(rows)


@pytest.mark.parametrize(
    ("points", "options"),
    [
        (lambda rng: rng.normal(size=(60, 2)), {}),
        (lambda rng: rng.normal(size=(60, 20)), {}),
        (lambda rng: sparse.csr_array(rng.poisson(0.7, size=(60, 9)).astype(float)), {}),
        (lambda rng: rng.normal(size=(60, 3)), {"metric": "manhattan"}),
        (lambda rng: rng.normal(size=(60, 3)), {"geometry": "kernel"}),
    ],
    ids=["tree", "kernel loops", "sparse", "metric", "kernel geometry"],
)
def test_neighbours_are_the_nearest_labelled_points(points, options):
    Z = points(np.random.default_rng(0))
    labelled = np.flatnonzero(np.arange(60) % 4 > 0)
    hood = nearest_labelled(
        Z, labelled, 7, as_geometry(**{"geometry": "auto"} | options), Compute()
    )
    dense = Z.toarray() if sparse.issparse(Z) else Z
    metric = "cityblock" if options.get("metric") == "manhattan" else "euclidean"
    away = cdist(dense, dense, metric)
    expected = plain_nearest(away, labelled, 7)
    if not sparse.issparse(Z):  # integers tie, and products of sparse rows round
        assert_array_equal(hood.of, expected)
    assert_allclose(hood.distances, np.take_along_axis(away, expected, axis=1), atol=1e-7)
    assert not (hood.of == np.arange(60)[:, None]).any()


def test_neighbours_of_a_matrix_are_those_of_its_points():
    Z = np.random.default_rng(1).normal(size=(40, 3))
    labelled = np.arange(0, 40, 2)
    expected = plain_nearest(cdist(Z, Z), labelled, 5)
    by_distance = as_geometry("exact", "precomputed")
    assert_array_equal(
        nearest_labelled(cdist(Z, Z), labelled, 5, by_distance, Compute()).of, expected
    )
    by_kernel = Kernel("precomputed")
    assert_array_equal(nearest_labelled(Z @ Z.T, labelled, 5, by_kernel, Compute()).of, expected)


def test_a_point_among_its_copies_is_no_neighbour_of_its_own():
    Z = np.zeros((9, 2))
    hood = nearest_labelled(Z, np.arange(9), 4, as_geometry("auto"), Compute())
    assert not (hood.of == np.arange(9)[:, None]).any()
    assert hood.of.shape == (9, 4)
    assert [len(set(row)) for row in hood.of.tolist()] == [4] * 9


def test_the_nearest_that_were_drawn():
    rng = np.random.default_rng(2)
    away = cdist(Z := rng.normal(size=(30, 2)), Z)
    hood = nearest_labelled(Z, np.arange(30), 12, as_geometry("auto"), Compute())
    is_drawn = rng.random(30) < 0.4
    near = hood.drawn(is_drawn, 3)
    for i in range(30):
        known = [j for j in plain_nearest(away, range(30), 12)[i] if is_drawn[j]][:3]
        assert near.of[i].tolist() == known + [-1] * (3 - len(known))
        assert_allclose(near.distances[i][: len(known)], away[i, known])
        assert np.isinf(near.distances[i][len(known) :]).all()


@settings(max_examples=60, deadline=None)
@drawn_by(st.data())
def test_a_point_takes_the_label_of_most_neighbours(data):
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=8, max_size=8)))
    rows = data.draw(st.lists(st.permutations(range(8)), min_size=1, max_size=5))
    there = data.draw(st.integers(0, 6))
    near = np.array([list(row[:there]) + [-1] * (6 - there) for row in rows])
    expected = []
    for row in near:
        known = [labels[j] for j in row if j >= 0]
        most = max((known.count(label) for label in known), default=0)
        expected.append(next((label for label in known if known.count(label) == most), -1))
    assert propagate(near, labels, 4).tolist() == expected


# Matching, votes, errors


@settings(max_examples=40, deadline=None)
@drawn_by(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), min_size=1, max_size=12))
def test_a_run_is_matched_as_well_as_can_be(pairs):
    run, given = np.array(pairs).T
    matched = match_to_given(run, given, 3)
    assert_array_equal(matched < 0, run < 0)
    for cluster in np.unique(run[run >= 0]):  # a cluster keeps its points
        assert len(set(matched[run == cluster])) == 1
    assert len(set(matched[run >= 0])) == len(set(run[run >= 0]))
    clusters = np.unique(run[run >= 0])
    best = 0
    for names in itertools.permutations(range(max(3, len(clusters))), len(clusters)):
        renamed = dict(zip(clusters.tolist(), names, strict=True))
        right = sum(
            renamed.get(a, -1) == b
            for a, b in zip(run.tolist(), given.tolist(), strict=True)
            if b >= 0
        )
        best = max(best, right)
    assert ((matched == given) & (given >= 0)).sum() == best


def fused(c, s):
    g = (s + 1) / 2
    return 2 * c * g / (c + g)


def plain_score(share, runs, s):
    return fused((share * runs + 0.5) / (runs + 1), s)


def test_scores_follow_from_runs_silhouettes_and_the_classifier(found):
    labels, runs = found.labels, found.ensemble.labels[:, 1:]
    assert_array_equal(found.ensemble.labels[:, 0], labels)
    assert runs.shape == (150, 40) == (150, found.n_runs)
    has = labels >= 0
    s = silhouette_samples(X[has], labels[has])
    assert_allclose(found.silhouette_mean[has], s, atol=1e-12)
    assert_allclose(
        found.stability[has], [(r == a).mean() for r, a in zip(runs[has], labels[has], strict=True)]
    )
    P, own = found.probabilities[has], labels[has]
    margins = [row[a] - max(np.delete(row, a)) for row, a in zip(P, own, strict=True)]
    assert_allclose(found.classifier_margin[has], margins)
    by_runs, w = plain_score(found.stability[has], 40, s), found.classifier_weight
    expected = w * (1 + np.array(margins)) / 2 + (1 - w) * by_runs
    assert_allclose(found.scores[has], expected, atol=1e-12)
    alone = audit(X[has], NAMES[has], classifier=None, n_runs=8, random_state=0)
    assert (alone.probabilities, alone.classifier, alone.classifier_weight) == (None, None, 0)
    by_runs = plain_score(alone.stability, 8, alone.silhouette_mean)
    assert_allclose(alone.scores, by_runs, atol=1e-12)
    votes = np.array([[(row == a).mean() for a in range(3)] for row in runs])
    assert_allclose(found.votes, votes)


def test_standard_errors_are_of_other_runs(found):
    runs, labels = found.ensemble.labels[:, 1:], found.labels
    assert np.nanmax(found.standard_errors) > 0.01
    for i in np.flatnonzero(labels >= 0)[::7]:
        agree = runs[i] == labels[i]
        without = [
            plain_score(np.delete(agree, r).mean(), 39, found.silhouette_mean[i]) for r in range(40)
        ]
        jackknife = np.sqrt(39 / 40 * ((np.array(without) - np.mean(without)) ** 2).sum())
        s, share = found.silhouette_mean[i], (agree.sum() + 0.5) / 41
        # of 42 runs one was of a kind not seen
        now, worse, better = (fused(p, s) for p in (share, share * 41 / 42, (share * 41 + 1) / 42))
        error = np.hypot(jackknife, max(now - worse, better - now))
        # The classifier's part does not change with the runs
        error *= 1 - found.classifier_weight
        assert found.standard_errors[i] == pytest.approx(error, abs=1e-12)


def test_runs_that_do_not_assign_a_point_do_not_count():
    runs = np.array([[0, 0, -1, -1, 1], [-1, -1, -1, -1, -1], [5, 1, 1, 1, 1]])
    ballot = count(runs, np.array([0, 0, 1]), 2)
    assert ballot.runs.tolist() == [3, 0, 5]
    assert_allclose(ballot.stability, [2 / 3, np.nan, 4 / 5])
    assert_allclose(ballot.votes, [[2 / 3, 1 / 3], [np.nan] * 2, [0, 4 / 5]])
    errors = standard_errors(ballot, lambda share: share)
    assert_array_equal(np.isnan(errors), [False, True, False])


# What an audit says of points


def test_an_error_is_found_and_put_right(found):
    assert found.scores[3] == np.nanmin(found.scores) < 0.1
    assert found.to_frame().loc["f3", ["label", "suggested"]].tolist() == ["virginica", "setosa"]
    right = np.delete(np.arange(50), 3)
    assert (found.to_frame()["suggested"].iloc[right] == "setosa").all()
    told = str(found.explain(3))
    assert "Suggested: cluster setosa" in told
    assert "setosa is suggested instead" in told
    assert f"Classifier {found.classifier_margin[3]:+.3f}" in told
    assert "share of the runs that agree with the given label" in told


def test_a_point_is_explained_by_its_own_probabilities(found):
    table = found.to_frame()
    for i in (*range(0, 150, 13), 60):
        told, row = found.explain(i), table.iloc[i]
        assert told.suggested == row["suggested"]
        assert told.suggested_score == pytest.approx(row["suggested_score"])
        if i != 60:
            assert told.classifier_margin == pytest.approx(found.classifier_margin[i])


def test_points_without_a_label_get_a_suggestion_and_no_score(found):
    table = found.to_frame()
    assert table["label"].iloc[[60, 61]].isna().all()
    assert table["suggested"].iloc[[60, 61]].tolist() == ["versicolor"] * 2
    assert table[["score", "stability", "standard_error"]].iloc[[60, 61]].isna().all(axis=None)
    assert (table["reason"].iloc[[60, 61]] == "unassigned").all()
    assert "given no label" in str(found.explain(60))
    numbers = np.where(np.arange(150) % 10, Y, -1)
    with pytest.warns(UserWarning, match="15 of 150 points have no score: Taken as noise"):
        scores = audit(X, numbers, n_runs=8, random_state=0).scores
    assert_array_equal(np.isnan(scores), numbers < 0)


def test_names_do_not_matter():
    first = audit(X, Y, random_state=1, n_runs=8)
    second = audit(X, [f"c{2 - label}" for label in Y], random_state=1, n_runs=8)
    assert_array_equal(first.scores, second.scores)
    assert_array_equal(first.outcomes, second.outcomes)


def test_seeds_make_the_runs_and_threads_do_not():
    one = audit(X, Y, random_state=3, n_runs=8, n_jobs=1)
    more = audit(X, Y, random_state=3, n_runs=16, n_jobs=2)
    other = audit(X, Y, random_state=4, n_runs=8)
    assert_array_equal(one.ensemble.labels, more.ensemble.labels[:, :9])
    assert (one.ensemble.labels != other.ensemble.labels).any()


def test_runs_are_of_both_kinds(found):
    methods = found.ensemble.summary()["method"].tolist()
    assert methods[0] == "given"
    assert [r % EVERY == 0 for r in range(40)] == [name == "kmeans" for name in methods[1:]]
    near = found.ensemble.summary()["n_neighbors"].dropna().astype(int)
    assert set(near) == set(PROPAGATED)
    named = audit(X, Y, clusterer=["gmm", "hdbscan"], n_runs=8, random_state=0).ensemble
    assert named.summary()["method"].tolist()[1::4] == ["gmm", "hdbscan"]


def test_shapes_that_no_clusterer_of_centres_finds():
    rings, y = make_circles(300, noise=0.05, factor=0.4, random_state=0)
    wrong = y.copy()
    wrong[::10] = 1 - y[::10]
    found = audit(rings, wrong, random_state=0)
    assert (found.suggested == y).mean() > 0.98


def test_a_matrix_of_distances_propagates_alone():
    found = audit(cdist(X, X), Y, metric="precomputed", n_runs=8, random_state=0)
    assert set(found.ensemble.summary()["method"]) == {"given", "propagation"}
    points = audit(X, Y, geometry="exact", n_runs=8, random_state=0)
    assert_allclose(found.silhouette_mean, points.silhouette_mean, atol=1e-9)
    manhattan = audit(X, Y, metric="manhattan", n_runs=8, random_state=0)
    assert set(manhattan.ensemble.summary()["method"]) == {"given", "propagation"}


@pytest.mark.parametrize("geometry", ["kernel", "rms", "centroid", "graph"])
def test_geometries(geometry):
    found = audit(X, Y, geometry=geometry, n_runs=4, random_state=0)
    expected = clustertrust.geometry.silhouettes(X, Y[:, None], geometry=geometry)[:, 0]
    assert found.geometry_method == geometry
    assert_allclose(found.silhouette_mean, expected, atol=1e-12)
    assert_allclose(found.geometry, (expected + 1) / 2, atol=1e-12)


def test_fusions_and_normalizations():
    way = {"classifier": None, "n_runs": 8, "random_state": 0}
    product = audit(X, Y, fusion="product", normalization="clip", **way)
    s = silhouette_samples(X, Y)
    assert_allclose(product.geometry, np.maximum(s, 0), atol=1e-12)
    assert_allclose(
        product.scores, (8 * product.stability + 0.5) / 9 * product.geometry, atol=1e-12
    )
    refined = audit(X, Y, fusion="refined", n_runs=8, random_state=0)
    assert refined.persistence is not None
    assert_allclose(refined.persistence, clustertrust.persistence.persistence(X, Y), atol=1e-9)


# Votes of classifiers


def test_probabilities_are_those_of_cross_validation():
    forest = RandomForestClassifier(20)
    codes = np.unique(Y, return_inverse=True)[1]
    seed = draw_seeds(3, 8)[1][0]
    fold = folds_of(codes, seed)
    sizes = np.array([np.bincount(fold[codes == a], minlength=5) for a in range(3)])
    assert_array_equal(sizes, 10)
    near = KNeighborsClassifier(4)
    expected = cross_val_predict(near, X, Y, cv=PredefinedSplit(fold), method="predict_proba")
    found = audit(X, Y, classifier=near, n_runs=8, random_state=3)
    assert_allclose(found.probabilities, expected)
    assert found.classifier == "KNeighborsClassifier"
    # A random one is seeded anew: the same for the same seed, and the one given is not touched
    one, again = (
        audit(X, Y, classifier=forest, n_runs=8, random_state=3).probabilities for _ in range(2)
    )
    assert_array_equal(one, again)
    assert not hasattr(forest, "classes_")
    assert forest.random_state is None


def test_no_point_is_judged_by_its_own_label():
    labels = Y.copy()
    labels[3] = 2
    nearest = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
    found = audit(X, labels, classifier=nearest, n_runs=8, random_state=0)
    assert found.probabilities[3].tolist() == [1, 0, 0]
    assert found.suggested[3] == 0
    assert found.issues[3]


def test_three_classifiers_are_the_default_where_there_are_points(found):
    three = "extra trees + logistic regression + kernel logistic regression"
    assert found.classifier == three
    assert_allclose(found.probabilities.sum(axis=1), 1)
    threads = [audit(X, Y, n_runs=4, random_state=0, n_jobs=jobs) for jobs in (1, 2)]
    assert_array_equal(threads[0].scores, threads[1].scores)
    more = audit(X, Y, n_runs=8, random_state=0)
    assert_array_equal(more.probabilities, threads[0].probabilities)
    away = audit(cdist(X, X), Y, metric="precomputed", n_runs=4, random_state=0)
    assert away.classifier is None
    rows = sparse.csr_array(X)
    assert audit(rows, Y, n_runs=4, random_state=0).classifier == three


def test_default_probabilities_are_averaged_by_what_each_gets_wrong():
    labels = Y.copy()
    labels[1::10] = (labels[1::10] + 1) % 3  # the first row has label 0, as in `three`
    seed = draw_seeds(3, 8)[1][0]
    three = cross_validate(X, labels, 3, "auto", seed, 1)
    found = audit(X, labels, n_runs=8, random_state=3)
    wrong = [sum(P[i].argmax() != labels[i] for i in range(150)) for P in [*three, found.votes]]
    assert len(set(wrong)) > 2
    shares = np.array([((count + 1) / 152) ** -4 for count in wrong])
    weights = shares[:3] / shares[:3].sum()
    expected = weights[0] * three[0] + weights[1] * three[1] + weights[2] * three[2]
    assert_allclose(found.probabilities, expected, rtol=1e-12)
    assert found.classifier_weight == pytest.approx(shares[:3].sum() / shares.sum())


@settings(max_examples=40, deadline=None)
@drawn_by(st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_who_errs_less_has_more_weight(wrong):
    labels = np.zeros(40, dtype=int)
    errs = [np.arange(40) < count for count in wrong]
    parts = [np.column_stack([~of, of]).astype(float) for of in errs]
    weights = weights_of(parts, labels)
    assert weights.sum() == pytest.approx(1)
    for a, b in itertools.combinations(range(len(wrong)), 2):
        assert weights[a] / weights[b] == pytest.approx(((wrong[b] + 1) / (wrong[a] + 1)) ** 4)
    assert_allclose(pool(parts, labels), np.average(parts, axis=0, weights=weights))


@pytest.mark.parametrize("kind", ["straight", "round"])
def test_each_border_has_a_classifier_that_finds_it(kind):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 8 if kind == "straight" else 2))
    side = Z.sum(axis=1) if kind == "straight" else (Z**2).sum(axis=1) - 1.4
    y = (side > 0).astype(int)
    trees, straight, curved = (
        (P.argmax(axis=1) == y).mean() for P in cross_validate(Z, y, 2, "auto", 0, 1)
    )
    if kind == "straight":
        assert straight > max(0.97, trees + 0.05)
    else:
        assert curved > max(0.94, straight + 0.2)


def test_regressions_are_those_of_scikit_learn():
    pipe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    ours, theirs = Straight(0).fit(X[::2], Y[::2]), pipe.fit(X[::2], Y[::2])
    assert_allclose(ours.predict_proba(X[1::2]), theirs.predict_proba(X[1::2]), atol=2e-3)
    near = Nystroem(n_components=75, random_state=5)
    pipe = make_pipeline(StandardScaler(), near, LogisticRegression(max_iter=1000))
    ours, theirs = Round(5).fit(X[::2], Y[::2]), pipe.fit(X[::2], Y[::2])
    assert_allclose(ours.predict_proba(X[1::2]), theirs.predict_proba(X[1::2]), atol=2e-3)


@pytest.mark.parametrize("make", DEFAULTS.values())
def test_default_classifiers_bear_what_they_may_meet(make, recwarn):
    constant = np.column_stack([X, np.ones(150)])
    for Z, y in ((constant, Y), (sparse.csr_array(X), Y), (X[:3], Y[:3]), (1e9 * X, Y)):
        model = make(0).fit(Z, y)
        P = model.predict_proba(Z)
        assert P.shape == (Z.shape[0], len(set(y.tolist())))
        assert_allclose(P.sum(axis=1), 1)
    assert not recwarn.list
    # Wide data with many classes are fitted to by fewer rows.
    wide = np.broadcast_to(0.0, (10**6, 2000))
    assert 500 < Straight.most_rows(wide, 20) < 2000
    assert Trees.most_rows(wide, 20) == Round.most_rows(X, 3) == 20_000
    assert Straight.most_rows(sparse.csr_array((10**6, 2000)), 2) == 20_000


@pytest.mark.parametrize("as_frame", [False, True])
def test_given_probabilities_are_in_the_sorted_order_of_labels(as_frame):
    labels = NAMES[::-1].astype(object)  # virginica appears first
    labels[5] = "setosa"
    trees = ExtraTreesClassifier(30, random_state=0)
    P = cross_val_predict(trees, X[::-1], labels.astype(str), cv=5, method="predict_proba")
    names = np.unique(labels.astype(str))
    given = pd.DataFrame(P, columns=names)[names[[2, 0, 1]]] if as_frame else P
    found = audit(X[::-1], labels, pred_probs=given, n_runs=8, random_state=0)
    assert found.classifier == "given probabilities"
    place = [names.tolist().index(name) for name in labels]
    for i, a in enumerate(place):
        assert found.classifier_margin[i] == pytest.approx(P[i, a] - np.delete(P[i], a).max())
    assert found.issues[5]
    assert found.suggested[5] == "virginica"


def test_the_better_side_has_the_weight():
    right = np.eye(3)[Y] * 0.7 + 0.1
    good = audit(X, Y, pred_probs=right, n_runs=8, random_state=0)
    bad = audit(X, Y, pred_probs=right[::-1], n_runs=8, random_state=0)
    assert good.classifier_weight > 0.9
    assert bad.classifier_weight < 0.1
    runs = audit(X, Y, classifier=None, n_runs=8, random_state=0)
    assert_allclose(bad.scores, runs.scores, atol=0.1)


class Answers(ClassifierMixin, BaseEstimator):
    """A classifier with the same answer for every class, or row."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        size = np.size(self.answer) if np.ndim(self.answer) else len(self.classes_)
        return np.tile(self.answer, (len(X), size // np.size(self.answer)))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pred_probs": np.full((150, 2), 0.5)}, r"shape \(150, 2\).*labels \[0, 1, 2\] need 150"),
        ({"pred_probs": np.full((9, 3), 1 / 3)}, r"shape \(9, 3\)"),
        ({"pred_probs": np.eye(3)[Y] * 0.5}, "row 0 adds up to 0.5, not to 1"),
        ({"pred_probs": np.eye(3)[Y] * 3 - 1}, "row 0, column 0 is 2, not from 0 to 1"),
        ({"pred_probs": np.full((150, 3), np.nan)}, "row 0, column 0 is nan"),
        ({"pred_probs": pd.DataFrame(np.eye(3)[Y], columns=[0, 1, 5])}, "name one column after"),
        ({"pred_probs": [["a"] * 3] * 150}, "pred_probs must be probabilities"),
        (
            {"pred_probs": np.eye(3)[Y], "classifier": KNeighborsClassifier()},
            "and pred_probs both give probabilities",
        ),
        ({"classifier": "forest"}, "classifier='forest' must be 'auto'"),
        ({"classifier": KMeans(3)}, "a scikit-learn classifier with predict_proba"),
        ({"classifier": RidgeClassifier()}, "a scikit-learn classifier with predict_proba"),
        ({"classifier": LogisticRegression}, "a scikit-learn classifier with predict_proba"),
        ({"classifier": KNeighborsClassifier(200)}, "fails on 120 of the points: ValueError: Exp"),
        ({"classifier": Answers(np.nan)}, "does not return probabilities: the value in row 0"),
        ({"classifier": Answers(0.5)}, "row 0 adds up to 1.5, not to 1"),
        ({"classifier": Answers(np.ones(2))}, r"its shape is \(30, 2\)"),
    ],
)
def test_classifiers_that_cannot_vote_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        audit(X, Y, **given)


def test_a_classifier_needs_points():
    with pytest.raises(ValueError, match="needs points with coordinates; leave classifier out"):
        audit(cdist(X, X), Y, metric="precomputed", classifier=KNeighborsClassifier())
    P = np.eye(3)[Y]
    found = audit(cdist(X, X), Y, metric="precomputed", pred_probs=P, n_runs=4, random_state=0)
    assert_allclose(found.classifier_margin, 1)


def test_labels_of_several_kinds_have_no_order():
    labels = np.array(["a", 1, 2], dtype=object)[Y]
    with pytest.raises(ValueError, match="of several kinds, which have no order for the columns"):
        audit(X, labels, pred_probs=np.eye(3)[Y])


def test_a_given_classifier_can_choose_columns_by_name():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.array(["x", "y"])[np.arange(150) % 2])
    by_name = make_pipeline(
        make_column_transformer((StandardScaler(), ["c", "d"]), (OneHotEncoder(), ["kind"])),
        LogisticRegression(),
    )
    found = audit(frame, Y, metric="gower", classifier=by_name, n_runs=4, random_state=0)
    assert found.classifier == "Pipeline"
    assert (found.probabilities.argmax(axis=1) == Y).mean() > 0.9
    numbers = audit(
        frame[list("abcd")], Y, classifier=LogisticRegression(max_iter=1000), random_state=0
    )
    plain = audit(X, Y, classifier=LogisticRegression(max_iter=1000), random_state=0)
    assert_allclose(numbers.probabilities, plain.probabilities)


def test_rows_of_given_probabilities_follow_the_index():
    frame = pd.DataFrame(X, index=[f"f{i}" for i in range(150)])
    P = pd.DataFrame(np.eye(3)[Y] * 0.7 + 0.1, index=frame.index)
    first = audit(frame, Y, pred_probs=P, n_runs=4, random_state=0)
    with pytest.warns(UserWarning, match="pred_probs has the index of X in another order"):
        second = audit(frame, Y, pred_probs=P[::-1], n_runs=4, random_state=0)
    assert_array_equal(first.probabilities, second.probabilities)


# Which labels are wrong


def test_issues_are_the_planted_errors():
    labels, rng = TRUE.copy(), np.random.default_rng(0)
    wrong = rng.choice(300, 15, replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, 4, 15)) % 4
    found = audit(BLOBS, labels, random_state=0)
    flagged = np.flatnonzero(found.issues)
    assert set(flagged) <= set(wrong)
    assert flagged.size >= 13
    assert_array_equal(found.suggested[flagged], TRUE[flagged])
    assert found.wrong_labels.estimate == flagged.size
    assert found.wrong_labels.low <= 15 <= found.wrong_labels.high
    assert f"Labels that look wrong: {found.wrong_labels}" in found.summary()
    table = found.to_frame()
    assert_array_equal(table["issue"], found.issues)
    assert found.clusters()["issues"].sum() == flagged.size
    assert audit(BLOBS, TRUE, random_state=0).wrong_labels == (0, 0, 0)


def test_few_labels_are_flagged_where_they_are_right_and_most_where_they_are_not():
    clean, precision, recall = [], [], []
    for load in (load_iris, load_wine, load_breast_cancer):
        Z, y = load(return_X_y=True)
        Z = StandardScaler().fit_transform(Z)
        clean.append(audit(Z, y, n_runs=8, random_state=0).issues.mean())
        rng = np.random.default_rng(1)
        planted = rng.permutation(len(y)) < 0.05 * len(y)
        k = y.max() + 1
        labels = np.where(planted, (y + rng.integers(1, k, len(y))) % k, y)
        flagged = audit(Z, labels, n_runs=8, random_state=0).issues
        precision.append(planted[flagged].mean())
        recall.append(flagged[planted].mean())
    assert np.mean(clean) <= 0.02
    assert np.mean(precision) >= 0.6
    assert np.mean(recall) >= 0.8


@settings(max_examples=25, deadline=None)
@drawn_by(st.data())
def test_what_is_suggested_has_the_most_votes(data):
    n, k = 12, 3
    shares = st.lists(st.integers(0, 5), min_size=k, max_size=k).filter(any)
    P = np.array([data.draw(shares) for _ in range(n)], dtype=float)
    P /= P.sum(axis=1, keepdims=True)
    labels = np.array([*range(k), *data.draw(st.lists(st.integers(0, 2), min_size=9, max_size=9))])
    Z = np.random.default_rng(0).normal(size=(n, 2))
    found = audit(Z, labels, pred_probs=P, n_runs=4, random_state=0)
    w = found.classifier_weight
    votes = np.array(
        [[(row == a).mean() for a in range(k)] for row in found.ensemble.labels[:, 1:]]
    )
    both = w * P + (1 - w) * votes
    assert_allclose(found.suggested_score, both.max(axis=1))
    for i, name in enumerate(found.suggested):
        assert both[i, name] == pytest.approx(both[i].max())
        own, others = both[i, labels[i]], np.delete(both[i], labels[i])
        alone = (labels == labels[i]).sum() == 1
        assert found.issues[i] == (own - others.max() < -0.45 and not alone)
    assert np.all((found.scores >= 0) & (found.scores <= 1))


def test_points_without_a_label_get_a_suggested_score(found):
    assert found.suggested[[60, 61]].tolist() == ["versicolor"] * 2
    assert (found.suggested_score[[60, 61]] > 0.8).all()
    assert not found.issues[[60, 61]].any()
    assert found.to_frame()["suggested_score"].notna().all()


def test_the_only_point_of_a_label_is_no_issue():
    labels = TRUE.copy()
    labels[10] = 9
    found = audit(BLOBS, labels, n_runs=8, random_state=0)
    assert found.suggested[10] == TRUE[10]
    assert not found.issues[10]
    (verdict,) = (one for one in found.verdicts if one.cluster == 9)
    assert (verdict.verdict, verdict.other) == ("unclear", None)


def test_names_of_rows_and_measurements_are_no_labels():
    rows = [f"row {i}" for i in range(len(BLOBS))]
    with pytest.raises(ValueError, match="300 clusters of 300 points; give labels that repeat"):
        audit(BLOBS, rows, random_state=0)
    # A run that leaves some points out could not have as many clusters.
    with pytest.raises(ValueError, match="9 clusters of 10 points; give labels that repeat"):
        audit(BLOBS[:10], [*range(9), 8], random_state=0)
    eight = audit(BLOBS[:10], [*range(8), 7, 7], classifier=None, random_state=0)
    assert np.isfinite(eight.scores).all()
    with pytest.warns(UserWarning, match="150 of the 150 clusters in labels have fewer than 3"):
        audit(BLOBS, np.arange(300) // 2, classifier=None, n_runs=4, random_state=0)


def test_spellings_of_one_label_are_named():
    labels = np.array(["cat", "dog", "Bird", "fish"], dtype=object)[TRUE]
    labels[[3, 5]] = " Cat"
    labels[9] = "bird  "
    message = (
        r"different clusters: 'cat' \(60 points\) and ' Cat' \(2 points\); "
        r"'Bird' \(80 points\) and 'bird  ' \(1 point\)\. If they mean the same"
    )
    with pytest.warns(UserWarning, match=message):
        audit(BLOBS, labels, n_runs=4, random_state=0)


def test_rare_labels_with_a_typing_error_are_named():
    labels = np.array(["kettle", "toaster", "Desk lamp", "type A"], dtype=object)[TRUE]
    labels[np.flatnonzero(TRUE == 0)[:2]] = "kettel"
    labels[np.flatnonzero(TRUE == 3)[:1]] = "type B"
    message = (
        r"may be misspellings of others are different clusters: "
        r"'kettle' \(58 points\) and 'kettel' \(2 points\)\. If they mean the same"
    )
    with pytest.warns(UserWarning, match=message):
        audit(BLOBS, labels, n_runs=4, random_state=0)


@pytest.mark.parametrize(
    ("rare", "common", "is_error"),
    [
        ("kettel", "kettle", True),
        ("ketle", "kettle", True),
        ("kettlle", "kettle", True),
        ("kattle", "kettle", True),
        ("desk lanterm", "desk lantern", True),
        ("ettlek", "kettle", False),
        ("kattla", "kettle", False),
        ("lettke", "kettle", False),
        ("cat", "car", False),
        ("type a", "type b", False),
        ("model1", "model2", False),
        ("desk", "desk lamp", False),
        ("kettel" + 60 * " on", "kettle" + 60 * " on", False),
    ],
)
def test_typing_errors_are_one_letter_of_a_word(rare, common, is_error):
    expected = [(rare, common)] if is_error else []
    assert misspellings({rare: 2, common: 20, "toaster": 50}) == expected
    assert misspellings({rare: 3, common: 20}) == []


# What an audit says of clusters


def expected_verdicts(labels, changed):
    return {name: changed.get(name, ("kept together", None)) for name in np.unique(labels).tolist()}


@pytest.mark.parametrize("case", ["true", "split", "merged", "random"])
def test_verdicts_where_clusters_are_apart(case):
    labels, changed = TRUE.copy(), {}
    if case == "split":
        # Across the longest direction of the cluster
        centred = BLOBS - BLOBS[TRUE == 0].mean(axis=0)
        axis = np.linalg.svd(centred[TRUE == 0])[2][0]
        labels[(TRUE == 0) & (centred @ axis > 0)] = 4
        changed = {0: ("merged", 4), 4: ("merged", 0)}
    elif case == "merged":
        labels[TRUE == 1] = 0
        changed = {0: ("split", None)}
    elif case == "random":
        labels[::7] = 4
        changed = {4: ("dissolved", None)}
    found = audit(BLOBS, labels, random_state=0, n_runs=20)
    told = {one.cluster: (one.verdict, one.other) for one in found.verdicts}
    assert told == expected_verdicts(labels, changed)
    for one in found.verdicts:
        assert one.verdict in VERDICTS
        assert one.low <= one.share <= one.high
        assert one.points == (labels == one.cluster).sum()


def test_a_split_accuses_no_label():
    (one, *_) = audit(BLOBS, np.where(TRUE == 1, 0, TRUE), random_state=0, n_runs=8).verdicts
    assert str(one).startswith("in parts that lie apart, perhaps subgroups, in 100% of the runs (")


def test_verdicts_need_no_coordinates():
    labels = np.where(TRUE == 1, 0, TRUE)
    found = audit(cdist(BLOBS, BLOBS), labels, metric="precomputed", n_runs=12, random_state=0)
    told = {one.cluster: one.verdict for one in found.verdicts}
    assert told == {0: "split", 2: "kept together", 3: "kept together"}


MATRIX = {"metric": "precomputed"}


@pytest.mark.parametrize(
    ("given", "options"),
    [(cdist(X, X), MATRIX), (X, {"classifier": None}), (X, {"metric": "manhattan"})],
    ids=["distances", "runs alone", "another metric"],
)
def test_classes_that_overlap_are_not_merged_without_points_or_classifier(given, options):
    verdicts = audit(given, NAMES, n_runs=20, random_state=0, **options).verdicts
    assert [one.verdict for one in verdicts] == ["kept together", "unclear", "unclear"]


def test_links_alone_show_no_cut():
    Z = np.random.default_rng(0).uniform(size=(400, 2)) * [9, 1]
    near, along = kneighbors_graph(Z, 15), Graph(weights=True)
    # Told apart as well as can be, and no width of links shows a valley.
    found = audit(near.maximum(near.T), Z[:, 0] > 4.5, geometry=along, n_runs=20, random_state=0)
    assert [one.verdict for one in found.verdicts] == ["unclear", "unclear"]


@pytest.mark.parametrize("metric", ["precomputed", "manhattan", "cosine"])
def test_a_cloud_cut_in_two_is_merged_by_any_distance(metric):
    Z, is_a = two_clouds(12, 200)
    Z[:, 1] *= 3
    Z += 60 * (metric == "cosine") * np.eye(20)[2]  # where directions are nearly straight
    cut = is_a & (Z[:, 1] > np.quantile(Z[is_a, 1], 0.8))
    given = cdist(Z, Z) if metric == "precomputed" else Z
    verdicts = audit(given, np.where(cut, 2, is_a), metric=metric, n_runs=20, random_state=0)
    told = {one.cluster: (one.verdict, one.other) for one in verdicts.verdicts}
    assert told == {0: ("kept together", None), 1: ("merged", 2), 2: ("merged", 1)}


def test_a_cluster_at_random_is_dissolved_by_distances_too():
    labels = TRUE.copy()
    labels[np.random.default_rng(1).choice(300, 40, replace=False)] = 9
    found = audit(cdist(BLOBS, BLOBS), labels, **MATRIX, n_runs=20, random_state=0)
    told = {one.cluster: one.verdict for one in found.verdicts}
    assert told == dict.fromkeys(range(4), "kept together") | {9: "dissolved"}


def test_products_by_distances_are_those_of_the_points():
    Z = np.random.default_rng(0).normal(size=(30, 4))
    some = np.array([3, 5, 8, 20])
    by = products_by(lambda a, b: cdist(Z[a], Z[b]))
    assert_allclose(centred(by(some)), centred(products_of(Z)(some)), atol=1e-12)
    middle = Z[some] - Z[some].mean(axis=0)
    assert_allclose(centred(by(some)), middle @ middle.T, atol=1e-12)


def two_clouds(apart, n=80):
    """Two clouds of n points in 20 dimensions, so far apart along the first."""
    Z = np.random.default_rng(0).normal(size=(2 * n, 20))
    Z[:n, 0] += apart
    return Z, np.repeat([True, False], n)


def test_clusters_with_a_valley_along_a_line_are_not_merged(monkeypatch):
    settings = {"n_runs": 20, "random_state": 0}
    assert [one.verdict for one in audit(X, NAMES, **settings).verdicts].count("unclear") == 2
    # Neighbours alone see one cloud.
    monkeypatch.setattr(pairs, "FEW_COLUMNS", X.shape[1])
    monkeypatch.setattr(pairs, "KNOWN", 0.95)
    assert [one.verdict for one in audit(X, NAMES, **settings).verdicts].count("merged") == 2


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_cloud_cut_in_two_is_merged_in_many_dimensions(share):
    Z, is_a = two_clouds(12, 200)
    Z[:, 1] *= 3
    cut = is_a & (Z[:, 1] > np.quantile(Z[is_a, 1], 1 - share))
    found = audit(Z, np.where(cut, 2, is_a), n_runs=20, random_state=0)
    told = {one.cluster: (one.verdict, one.other) for one in found.verdicts}
    assert told == {0: ("kept together", None), 1: ("merged", 2), 2: ("merged", 1)}
    assert found.findings()["doubtful"] == ["1", "2"]
    said = found.verdicts_by_name()
    assert said["verdict on 1"].startswith("merged with 2 in ")
    assert list(said) == [f"verdict on {name}" for name in found.label_names]


@pytest.mark.parametrize("columns", [2, 8])
def test_classes_that_overlap_are_not_merged(columns, monkeypatch):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(400, columns)), np.repeat([0, 1], 200)
    Z[y == 1, 0] += 1.5  # no valley, and told apart with AUROC 0.86
    assert [one.verdict for one in audit(Z, y, n_runs=20, random_state=0).verdicts] == [
        "unclear"
    ] * 2
    # Half of one class at random: nothing tells the halves apart.
    halves = np.where((y == 1) & (rng.random(400) < 0.5), 2, y)
    by = {one.cluster: one for one in audit(Z, halves, n_runs=20, random_state=0).verdicts}
    assert {by[1].verdict, by[2].verdict} <= {"merged", "dissolved", "unclear"}
    assert {by[1].other, by[2].other} <= {None, 1, 2}


def ridge_line(Z, is_a):
    return places(*np.linalg.eigh(centred(products_of(Z)(np.arange(Z.shape[0])))), is_a)


def test_contrast_is_that_of_the_better_line():
    Z, is_a = two_clouds(8)
    a, b = np.flatnonzero(is_a), np.flatnonzero(~is_a)
    along = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[0][:, 0]
    along *= np.sign(along[a].mean() - along[b].mean())
    # A valley, so no cut
    assert contrast(products_of(Z), a, b, 0) == (roc_auc_score(is_a, along), None) == (1, None)
    # The longest direction says nothing here.
    Z[:, 1] *= 100
    by_ridge = ridge_line(Z, is_a)
    assert contrast(products_of(Z), a, b, 0) == (pytest.approx(roc_auc_score(is_a, by_ridge)), None)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_an_exact_cut_along_a_component_is_found(column):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(150, 12)) * np.r_[8, 5, 3, np.ones(9)]
    line = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[0][:, column]
    fifth = line > np.quantile(line, 0.8)
    cut = contrast(products_of(Z), *(np.flatnonzero(side) for side in (fifth, ~fifth)), 0).cut
    # The line of the regression may show it as well, and denser
    assert cut.auroc == 1
    assert cut.depth >= depth(line, fifth) - 1e-9
    # Two points on the wrong side of thirty, and it is none
    fifth[np.argsort(line)[[0, 1]]] = True
    assert (
        contrast(products_of(Z), *(np.flatnonzero(side) for side in (fifth, ~fifth)), 0).cut is None
    )


def test_a_few_points_at_one_end_are_no_cut():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 5)) * [5, 1, 1, 1, 1]
    order = np.argsort(Z @ np.linalg.svd(Z - Z.mean(axis=0))[2][0])
    assert contrast(products_of(Z), np.sort(order[:6]), np.sort(order[6:]), 0).cut is not None
    assert contrast(products_of(Z), np.sort(order[:5]), np.sort(order[5:]), 0).cut is None


def test_a_sharp_border_has_fewer_points_on_the_wrong_side_than_two_bells():
    grid = norm.ppf((np.arange(200) + 0.5) / 200)
    half = grid > 0

    def by_simulation(place, is_a):
        """Share of pairs of bells that are no easier to tell apart, by drawing them."""
        rng = np.random.default_rng(0)
        sides = [place[is_a], place[~is_a]]

        def wrong(a, b):
            return min((a <= at).sum() + (b > at).sum() for at in np.append(a, b))

        drawn = [
            wrong(*(rng.normal(side.mean(), side.std(), side.size) for side in sides))
            for _ in range(200)
        ]
        return np.mean(np.array(drawn) <= wrong(*sides))

    assert is_sharp(grid, half)
    assert by_simulation(grid, half) == 0
    bells, is_a = np.append(grid, grid + 3), np.repeat([False, True], 200)
    assert not is_sharp(bells, is_a)
    assert by_simulation(bells, is_a) > 0.05
    # A few on the wrong side are still fewer than bells have, many are not
    blurred = half.copy()
    blurred[[98, 101]] ^= True
    assert is_sharp(grid, blurred)
    blurred[80:120] = np.arange(40) % 2 == 0
    assert not is_sharp(grid, blurred)
    # All at one place
    assert not is_sharp(np.repeat([0.0, 1.0], 20), np.repeat([False, True], 20))


def test_a_cloud_cut_along_any_line_is_merged():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 6))
    side = Z @ [1, -1, 1, -1, 0.5, 0.5] > 0
    Z = np.vstack([Z, rng.normal(size=(200, 6)) + 12])
    labels = np.append(side, np.full(200, 2))
    told = {one.cluster: one.other for one in audit(Z, labels, n_runs=12, random_state=0).verdicts}
    assert told == {0: 1, 1: 0, 2: None}


def test_large_clusters_are_thinned_by_one_share():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4000, 5)) * [3, 1, 1, 1, 1]
    fifth = Z[:, 0] > np.quantile(Z[:, 0], 0.8)
    cut = contrast(products_of(Z), np.flatnonzero(fifth), np.flatnonzero(~fifth), 0).cut
    # As dense as the whole: 1.6 by the densities of a normal distribution at its quantiles
    assert cut.depth == pytest.approx(norm.pdf(norm.ppf(0.8)) / norm.pdf(norm.ppf(0.9)), abs=0.3)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("some", [slice(50, 110), slice(74, 86)])  # in 20 columns
def test_places_on_the_line_are_those_of_ridge_without_the_point(as_given, some):
    Z, is_a = two_clouds(2)
    Z, is_a = Z[some], is_a[some]
    y, everyone = np.where(is_a, 1.0, -1.0), np.arange(len(Z))

    def left_out(alpha):
        return np.array(
            [
                Ridge(alpha).fit(Z[everyone != i], y[everyone != i]).predict(Z[[i]])[0]
                for i in everyone
            ]
        )

    ways = [left_out(alpha) for alpha in PENALTIES * Z.var(axis=0).sum()]
    best = min(ways, key=lambda way: ((y - way) ** 2).sum())
    assert_allclose(ridge_line(as_given(Z), is_a), best, atol=1e-8)


def test_points_that_are_all_the_same_have_no_line(recwarn):
    is_a = np.arange(20) < 8
    assert_allclose(ridge_line(np.ones((20, 3)), is_a), np.full(20, 0.0), atol=1.2)
    contrast(products_of(np.ones((20, 3))), np.flatnonzero(is_a), np.flatnonzero(~is_a), 0)
    assert not recwarn.list


def test_the_line_finds_nothing_in_labels_at_random():
    rng = np.random.default_rng(0)
    Z, is_a = rng.standard_normal((60, 300)), np.arange(60) < 30
    assert roc_auc_score(is_a, ridge_line(Z, is_a)) < 0.7


def test_depth_of_a_cut_and_of_two_clouds():
    grid = norm.ppf((np.arange(400) + 0.5) / 400)
    # A cloud cut at its middle is densest there; at a fifth it is denser than in the fifth's middle
    assert depth(grid, grid > 0) > 1.1
    assert depth(grid, grid > norm.ppf(0.2)) > 1.1
    both, is_a = np.append(grid, grid + 4), np.repeat([False, True], 400)
    # By the densities of two normal distributions, smoothed by 0.35
    wide = np.hypot(1, 0.35)
    at = [norm.pdf(x, 0, wide) + norm.pdf(x, 4, wide) for x in (2, 0)]
    assert depth(both, is_a) == pytest.approx(at[0] / at[1], rel=0.05)
    # A line that has the two the wrong way round tells nothing
    assert depth(both, ~is_a) == 1


def test_a_cluster_that_one_classifier_recognises_is_not_dissolved(monkeypatch):
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(300) < 0.13, 9, TRUE)
    blind = rng.dirichlet(np.ones(5), 300)

    def told(sighted):
        answers = [blind, sighted, sighted]
        monkeypatch.setattr(labelling, "cross_validate", lambda *asked: answers)
        found = audit(BLOBS, labels, n_runs=20, random_state=0)
        return {one.cluster: one.verdict for one in found.verdicts}[9]

    assert told(blind) == "dissolved"
    by_name = {name: code for code, name in enumerate(pd.unique(labels))}
    assert told(0.8 * np.eye(5)[[by_name[label] for label in labels]] + 0.04) == "unclear"


def test_a_recognised_cluster_is_not_ranked_by_chance():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, 400)
    P = rng.dirichlet(np.ones(4), 400)
    P[labels == 1] = rng.dirichlet([1, 2, 1, 1], (labels == 1).sum())
    # Always below what others get: between them, perhaps, but not at random
    P[labels == 2] = rng.dirichlet([1, 1, 0.5, 1], (labels == 2).sum())
    has = labels >= 0
    ranked = [mannwhitneyu(P[labels == a, a], P[has & (labels != a), a]) for a in range(4)]
    assert recognised(P, labels).tolist() == [test.pvalue < 0.0455 for test in ranked]
    assert recognised(P, labels).tolist() == [False, True, True, False]


def test_a_cluster_of_copies_is_kept():
    Z = np.vstack([np.zeros((40, 2)), BLOBS[TRUE == 3]])
    found = audit(Z, np.append(np.zeros(40, int), np.ones(90, int)), n_runs=8, random_state=0)
    assert [one.verdict for one in found.verdicts] == ["kept together"] * 2


@settings(max_examples=30, deadline=None)
@drawn_by(st.integers(0, 10**6), st.integers(2, 5))
def test_the_valley_is_a_probability_over_pairs(seed, k):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, k, 60)
    labels[:k] = range(k)
    near = np.array([rng.permutation(60)[:3] for _ in range(60)])
    near[rng.random(near.shape) < 0.3] = -1
    width = rng.integers(1, 9, 60).astype(float)
    borders = Borders.between(Sample(near, width, labels, None), k)
    seen = [{labels[j] for j in row if j >= 0} - {-1} for row in near]
    inside = []
    for a in range(k):
        own = [i for i in range(60) if labels[i] == a]
        inner = [i for i in own if not seen[i] - {a}]
        inside.append([width[i] for i in inner or own])
    for a, b in itertools.permutations(range(k), 2):
        pairs = ((a, b), (b, a))
        edge = [i for i in range(60) for x, y in pairs if labels[i] == x and y in seen[i]]
        sparser = max(inside[a], inside[b], key=np.median)
        above = [(width[i] > y) + (width[i] == y) / 2 for i in edge for y in sparser]
        assert borders.valley(a, b) == pytest.approx(np.mean(above) if above else 1)
        assert borders.is_thin(a, b, [np.nan] * k) is False
        assert borders.is_thin(a, b, [len(edge) / 0.6 + 0.01] * k)
        assert borders.is_thin(a, b, [len(edge) / 0.6 - 0.01] * k) is False
        beside = any(labels[i] == a and b in seen[i] for i in range(60))
        assert (b in borders.beside().get(a, [])) == beside


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_cuts_in_two_are_those_of_k_means(make):
    Z, y = make_blobs([40, 70], centers=[(0, 0, 0), (6, 0, 2)], random_state=0)
    labels = two_means(make(Z), 0)
    assert max((labels == y).mean(), (labels != y).mean()) == 1
    noise = np.random.default_rng(0).normal(size=(200, 3))
    labels = two_means(make(noise), 0)
    centers = np.array([noise[labels == part].mean(axis=0) for part in (0, 1)])
    assert_array_equal(cdist(noise, centers).argmin(axis=1), labels)
    assert_array_equal(two_means(make(np.ones((9, 2))), 0), 0)


def test_neighbours_in_long_rows_are_those_of_a_sort():
    values = np.random.default_rng(0).integers(0, 400, (5, 1001)).astype(float)
    away, near = smallest(values, 4)
    expected = np.argsort(values, axis=1, kind="stable")[:, :4]
    assert_array_equal(near, expected)
    assert_array_equal(away, np.take_along_axis(values, expected, axis=1))


def test_the_verdict_is_that_of_most_runs():
    outcomes = np.array([[2, 0], [2, 0], [2, 1], [0, 1]])
    partners = np.array([[1, -1], [1, -1], [1, -1], [-1, -1]])
    first, second = verdicts_of(outcomes, partners, np.array([5, 6]), ["a", "b"])
    assert (first.verdict, first.other, first.share) == ("merged", "b", 0.75)
    assert (second.verdict, second.other, second.share) == ("kept together", None, 0.5)
    assert str(first).startswith("merged with b in 75% of the runs (30% to 95%)")


def test_verdicts_without_a_majority_are_unclear():
    outcomes = np.array([[2, 3], [2, 3], [2, 3], [0, 3], [1, 0]])
    partners = np.array([[1, -1], [2, -1], [2, -1], [-1, -1], [-1, -1]])
    sizes, names = np.array([5, 6, 7]), ["a", "b", "c"]
    outcomes, partners = (np.column_stack([part, part[:, 1]]) for part in (outcomes, partners))
    by_runs = verdicts_of(outcomes, partners, sizes, names)
    assert [one.verdict for one in by_runs] == ["unclear", "dissolved", "dissolved"]
    assert (str(by_runs[0]), by_runs[0].other, by_runs[0].share) == ("unclear", None, 0.4)
    # A classifier tells b from the others, so that its label means something.
    known = verdicts_of(outcomes, partners, sizes, names, np.array([True, True, False]))
    assert [one.verdict for one in known] == ["unclear", "unclear", "dissolved"]


def test_a_piece_that_others_absorb_is_merged_with_them():
    labels = TRUE.copy()
    inside = np.flatnonzero(TRUE == 2)
    labels[inside[::9]] = 9  # a few points of one cluster, here and there
    told = {one.cluster: one for one in audit(BLOBS, labels, random_state=0, n_runs=20).verdicts}
    assert (told[9].verdict, told[9].other) == ("merged", 2)
    # The splinter does not hide what there is to say of the whole.
    assert told[2].verdict == "kept together"


@pytest.mark.parametrize("columns", [2, 6])
def test_a_cluster_too_small_to_be_told_apart_is_not_merged(columns):
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(243, columns)), np.repeat([0, 1, 2], [120, 120, 3])
    Z[labels == 1, 0] += 20
    Z[labels == 2] = [2, 2] + [0] * (columns - 2)  # beside the first; each run draws one or two
    found = audit(Z, labels, n_runs=20, random_state=0)
    assert (found.outcomes[:, 2] != 2).all()
    assert [one.verdict for one in found.verdicts] == ["kept together"] * 2 + ["unclear"]


@pytest.mark.parametrize(("k", "n"), [(3, 5), (7, 10), (30, 30)])
def test_intervals_are_wilsons(k, n):
    outcomes = np.repeat([0, 1], [k, n - k])[:, None]
    (verdict,) = verdicts_of(outcomes, np.full((n, 1), -1), np.array([5]), ["a"])
    z, p = norm.ppf(0.975), k / n
    # Where the score test of a share just rejects: (p - q)² = z² q (1 - q) / n
    roots = np.roots([1 + z**2 / n, -2 * p - z**2 / n, p**2])
    assert_allclose([verdict.low, verdict.high], np.sort(roots), atol=1e-12)


# What takes an audit


def test_it_is_a_confidence(found, tmp_path):
    assert isinstance(found, Confidence)
    assert "Verdicts on the given clusters" in found.summary()
    assert "40 runs" in found.summary()
    assert repr(found).startswith("<Audit: 150 points, 3 clusters, 40 runs")
    found.report(tmp_path / "page.html", X, threshold=0.4)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert str(found.wrong_labels) in page
    assert all(str(verdict) in page for verdict in found.verdicts)
    table = found.clusters()
    assert table["other label suggested"].loc["virginica"] >= 1
    assert table["mean score"].loc["setosa"] == pytest.approx(
        np.nanmean(found.scores[found.to_frame()["label"] == "setosa"])
    )


def test_displays_take_it(found):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from clustertrust import displays

    for display in (
        displays.ScoreBarsDisplay,
        displays.StabilityGeometryDisplay,
        displays.AlignmentDisplay,
    ):
        display.from_confidence(found, ax=Figure().add_subplot())
    frame = pd.DataFrame(X, index=found.row_names())
    displays.ScoreScatterDisplay.from_confidence(found, frame, ax=Figure().add_subplot())
    with pytest.raises(ValueError, match="is an Audit"):
        displays.ConvergenceDisplay.from_confidence(found, X=X)


def test_a_file_gives_it_back(found, tmp_path):
    found.save(tmp_path / "a.audit")
    back = Audit.load(tmp_path / "a.audit")
    for field in fields(Audit):
        if field.name not in {"ensemble", "frame", "label_names"}:
            assert_array_equal(
                getattr(back, field.name), getattr(found, field.name), err_msg=field.name
            )
    assert back.label_names.tolist() == found.label_names.tolist()
    assert back.verdicts == found.verdicts
    assert str(back.explain(3)) == str(found.explain(3))
    pd.testing.assert_frame_equal(back.to_frame(), found.to_frame(), check_dtype=False)
    plain = audit(X, Y, n_runs=4, random_state=0)
    plain.save(tmp_path / "b.audit")
    assert Audit.load(tmp_path / "b.audit").label_names.dtype.kind == "i"


@pytest.mark.parametrize(
    "name", ["outcomes", "partners", "labels", "ensemble/labels", "probabilities"]
)
def test_a_damaged_file_is_refused(found, tmp_path, name):
    path = tmp_path / "a.audit"
    found.save(path)
    content, arrays = read_arrays(path, "audit")
    arrays[name] = arrays[name] + 7
    write_arrays(path, "audit", content, arrays)
    with pytest.raises(ValueError, match="is damaged"):
        Audit.load(path)
    with pytest.raises(ValueError):
        Audit.load(__file__)


@pytest.mark.parametrize(
    ("labels", "given", "error", "told"),
    [
        (Y[45:54], {}, ValueError, "X has 150 points and labels has 9"),
        (np.zeros(150), {}, ValueError, r"labels has 1 cluster\(s\); an audit compares at least 2"),
        (np.full(150, -1), {}, ValueError, r"labels has 0 cluster\(s\)"),
        (np.column_stack([Y, Y]), {}, ValueError, r"labels has 2 run\(s\); an audit takes one"),
        (Y, {"n_runs": 3}, ValueError, "n_runs=3"),
        (Y, {"clusterer": "kmean"}, ValueError, "clusterer='kmean' is not known"),
        (Y, {"fusion": "sum"}, ValueError, "fusion='sum' is not known"),
        (
            Y,
            {"metric": "manhattan", "geometry": "rms"},
            ValueError,
            "metric='manhattan' is not used by geometry='rms'",
        ),
    ],
)
def test_what_cannot_be_audited_is_told(labels, given, error, told):
    with pytest.raises(error, match=told):
        audit(X, labels, **given)


def test_a_clusterer_needs_points():
    with pytest.raises(ValueError, match="clusterer='kmeans' needs points with coordinates"):
        audit(cdist(X, X), Y, metric="precomputed", clusterer="kmeans")
    with pytest.raises(
        ValueError, match="needs points or distances, and X holds similarities; leave clusterer out"
    ):
        audit(X @ X.T, Y, geometry=Kernel("precomputed"), clusterer="kmeans")


def test_rows_that_are_named_otherwise_are_refused():
    frame = pd.DataFrame(X, index=[f"f{i}" for i in range(150)])
    with pytest.raises(ValueError, match="Row 149 of labels is 'other'"):
        audit(frame, pd.Series(Y, index=[*frame.index[:-1], "other"]))


def test_neighbourhood_of_few_points():
    hood = Neighbourhood(np.array([[1, -1]]), np.array([[2.0, np.inf]]))
    near = hood.drawn(np.array([True, True]), 2)
    assert near.of.tolist() == [[1, -1]]
    few = audit([[0.0], [0.1], [5.0], [5.1]], ["a", "a", "b", "b"], n_runs=4, random_state=0)
    assert few.scores.shape == (4,)


def test_trees_are_those_of_the_forest():
    X, y = load_iris(return_X_y=True)
    ours = Trees(7).fit(X[::2], y[::2]).predict_proba(X[1::2])
    theirs = ExtraTreesClassifier(TREES, random_state=7).fit(X[::2], y[::2])
    assert_array_equal(ours, theirs.predict_proba(X[1::2]))


def test_grown_trees_are_not_kept(monkeypatch):
    alive, most = weakref.WeakSet(), []

    class Watched(default_classifiers.ExtraTreeClassifier):
        def fit(self, X, y):
            alive.add(self)
            most.append(len(alive))
            return super().fit(X, y)

    monkeypatch.setattr(default_classifiers, "ExtraTreeClassifier", Watched)
    Trees(0).fit(BLOBS, TRUE).predict_proba(BLOBS)
    assert len(most) == TREES
    assert max(most) <= 2


def test_the_summary_says_where_no_given_cluster_holds_together():
    X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    whole = audit(X, y, random_state=0)
    said = "these labels look no better than random ones"
    assert said not in whole.summary()
    nowhere = np.full_like(whole.partners, -1)
    dissolved = np.full_like(whole.outcomes, VERDICTS.index("dissolved"))
    gone = replace(whole, outcomes=dissolved, partners=nowhere, recognised=None)
    assert said in gone.summary()
    dissolved[:, 0] = VERDICTS.index("kept together")
    assert said not in replace(gone, outcomes=dissolved).summary()
