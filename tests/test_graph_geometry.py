"""Silhouettes on a graph of neighbours: a plain version, what holds for every graph, and every way
to give one.
"""

import hypothesis.strategies as st
import numpy as np
import oracles
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from silhouette_cases import FULL, GAPS, X, halved_canberra
from sklearn.datasets import make_moons
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from strategies import few

from clustertrust import CAKE, Runs, audit, build_ensemble, confidence
from clustertrust.distances import graph_shares
from clustertrust.geometry import Graph, silhouettes

MOONS, SIDE = make_moons(200, noise=0.06, random_state=0)


def by_oracle(D, labels, k=15, steps=4):
    return by_links(*oracles.graph_links(D, k), labels, steps)


def by_links(links, scales, labels, steps=4):
    weights = oracles.self_tuned(links, scales)
    return oracles.graph_silhouettes(weights, labels, steps, oracles.stretched(links, weights))


@pytest.mark.parametrize("labels", [FULL, GAPS], ids=["full", "gaps"])
@pytest.mark.parametrize("params", [{}, {"n_neighbors": 4}, {"n_steps": 1}, {"n_steps": 7}])
def test_matches_plain_walks(labels, params):
    ours = silhouettes(X, labels, geometry=Graph(**params))
    plain = {"k": params.get("n_neighbors", 15), "steps": params.get("n_steps", 4)}
    assert_allclose(ours, by_oracle(cdist(X, X).tolist(), labels, **plain), atol=1e-12)


def test_walks_alone():
    ours = silhouettes(X, GAPS, geometry=Graph(paths=False))
    weights = oracles.self_tuned(*oracles.graph_links(cdist(X, X).tolist(), 15))
    assert_allclose(ours, oracles.graph_silhouettes(weights, GAPS, 4), atol=1e-12)


@pytest.mark.parametrize("metric", ["cityblock", "cosine", halved_canberra])
def test_neighbours_by_any_metric(metric):
    ours = silhouettes(X, GAPS, geometry="graph", metric=metric)
    D = cdist(X, X, metric)
    assert_allclose(ours, by_oracle(D.tolist(), GAPS), atol=1e-9)
    given = silhouettes(D, GAPS, geometry="graph", metric="precomputed")
    assert_allclose(given, ours, atol=1e-9)


def test_copies_have_a_scale():
    """Points with eight copies and more have no distance of their own."""
    points = np.repeat(X[:6], 10, axis=0)
    # 9 copies and all 10 of the nearest others: which of equal points are linked does not matter.
    ours = silhouettes(points, FULL, geometry=Graph(n_neighbors=19))
    assert_allclose(ours, by_oracle(cdist(points, points).tolist(), FULL, 19), atol=1e-12)
    assert np.isfinite(silhouettes(np.zeros((60, 2)), FULL, geometry="graph")).all()


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_a_graph_of_distances(container):
    graph = kneighbors_graph(X, 6, mode="distance")
    links = {i: {} for i in range(len(X))}
    for i, j in zip(*graph.nonzero(), strict=True):
        links[i][j] = links[j][i] = graph[i, j]
    scales = {i: sorted(near.values())[min(7, len(near)) - 1] for i, near in links.items()}
    expected = by_links(links, scales, GAPS)
    ours = silhouettes(container(graph), GAPS, geometry="graph", metric="precomputed")
    assert_allclose(ours, expected, atol=1e-12)


def test_a_graph_of_weights():
    weights = sparse.random_array((60, 60), density=0.1, rng=np.random.default_rng(3))
    both = np.maximum(weights.toarray(), weights.toarray().T)
    np.fill_diagonal(both, 0.0)
    plain = {i: {j: both[i, j] for j in np.flatnonzero(both[i])} for i in range(60)}
    lengths = {i: {j: 1 / w for j, w in near.items()} for i, near in plain.items()}
    expected = oracles.graph_silhouettes(plain, GAPS, 4, lengths)
    options = {"geometry": Graph(weights=True)}
    for stored in (weights, weights.toarray(), both):
        assert_allclose(silhouettes(stored, GAPS, **options), expected, atol=1e-12)


@st.composite
def graphs(draw):
    """Weights of some links between a few points, and two runs."""
    n = draw(st.integers(3, 9))
    links = draw(
        st.dictionaries(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), st.floats(0.01, 5), max_size=30
        )
    )
    W = np.zeros((n, n))
    for (i, j), weight in links.items():
        W[i, j] = W[j, i] = weight
    labels = np.array(draw(st.lists(st.tuples(*[st.integers(-1, 2)] * 2), min_size=n, max_size=n)))
    return W, labels


def of_weights(W, labels):
    return silhouettes(sparse.csr_array(W), labels, geometry=Graph(weights=True))


@few
@given(graphs(), st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore:.*one cluster")
def test_order_scale_and_range(graph, random):
    """Between -1 and 1, whatever the order of the points, their labels and the unit of weights."""
    W, labels = graph
    s = of_weights(W, labels)
    assert_array_equal(np.isnan(s), labels < 0)
    assert np.nanmax(np.abs(s), initial=0.0) <= 1
    order = np.array(random.sample(range(len(W)), len(W)))
    assert_allclose(of_weights(W[np.ix_(order, order)], labels[order]), s[order], atol=1e-9)
    assert_allclose(of_weights(8 * W, labels), s, atol=1e-9)
    renamed = np.where(labels < 0, -1, 7 - labels)
    assert_allclose(of_weights(W, renamed), s, atol=1e-9)


@few
@given(st.lists(st.integers(2, 6), min_size=2, max_size=4), st.floats(0.1, 9))
def test_cliques_that_no_path_joins_lie_far_apart(sizes, weight):
    run = np.repeat(np.arange(len(sizes)), sizes)
    W = weight * (run[:, None] == run)
    # All paths within are as long; one that is missing counts as ten times as long.
    assert_allclose(of_weights(W, run[:, None]), 0.9)
    # All but one point of the first clique are given to the second.
    wrong = run.copy()
    wrong[: sizes[0] - 1] = 1
    assert (of_weights(W, wrong[:, None])[sizes[0] :] > 0).all()


def test_points_without_links_and_their_neighbours_unassigned():
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = W[2, 3] = W[3, 2] = 1.0
    labels = np.array([[0, 0], [0, -1], [1, 1], [1, 1], [0, 0], [1, 1]])
    s = of_weights(W, labels)
    assert_array_equal(s[4:], 0.0)  # no link
    # The walk stays among them, but of the other three members one cannot be reached either.
    assert (s[2:4] > 0).all()
    # Four steps end where they began: only the other end is not assigned in the second run.
    assert (s[0] >= 0).all()


def test_moons_lie_apart_on_the_graph():
    s = silhouettes(MOONS, SIDE[:, None], geometry="graph")
    exact = silhouettes(MOONS, SIDE[:, None], geometry="exact")
    assert np.median(s) > np.median(exact) + 0.2
    assert np.mean(exact < 0.2) > 0.2
    assert np.mean(s < 0.2) < 0.1
    wrong = SIDE.copy()
    wrong[[3, 50]] = 1 - wrong[[3, 50]]
    assert (silhouettes(MOONS, wrong[:, None], geometry="graph")[[3, 50]] < -0.5).all()


def test_runs_in_groups_are_the_same(monkeypatch):
    whole = silhouettes(X, GAPS, geometry="graph")
    monkeypatch.setattr(graph_shares, "memory_budget", lambda: 1)
    assert_allclose(silhouettes(X, GAPS, geometry="graph"), whole, atol=1e-12)


def test_all_of_an_estimator(tmp_path):
    cake = CAKE(2, clusterer="spectral", geometry="graph", n_runs=5, random_state=0).fit(MOONS)
    assert cake.geometry_method_ == "graph"
    known = silhouettes(MOONS, cake.ensemble_, geometry="graph")
    assert_allclose(cake.silhouette_mean_, known.mean(axis=1), atol=1e-12)
    assert np.isfinite(cake.standard_errors_).all()
    assert cake.explain(0).geometry == pytest.approx(cake.geometry_[0])
    again = CAKE.load(_saved(cake, tmp_path))
    new = MOONS[:50] + 0.01
    assert_array_equal(again.score_samples(new), cake.score_samples(new))
    cake.report(tmp_path / "report.html")


def _saved(cake, folder):
    cake.save(folder / "model")
    return folder / "model"


def test_new_points_walk_on_from_their_neighbours():
    cake = CAKE(2, clusterer="spectral", geometry="graph", n_runs=5, random_state=0, n_jobs=1).fit(
        MOONS
    )
    new = np.array([[0.0, 1.0], [1.0, -0.5], [0.5, 0.25]])
    rows = cake.model_.encode(cake.ensemble_.place(new))
    ours = cake.model_.silhouettes(rows, new)[0]
    labels = cake.ensemble_.labels
    links, scales = oracles.graph_links(cdist(MOONS, MOONS).tolist(), 15)
    weights = oracles.self_tuned(links, scales)
    along = oracles.shortest_paths(oracles.stretched(links, weights))
    for i, point in enumerate(new):
        away = cdist([point], MOONS)[0]
        near = np.argsort(away, kind="stable")[:15]
        first = np.exp(-(away[near] ** 2) / (away[near][6] * np.array([scales[j] for j in near])))
        lengths = (away[near, None] / first[:, None] + along[near]).min(axis=0)
        for r in range(5):
            shares = oracles.walk_shares(weights, labels[:, r].tolist(), 3)
            own = cake.ensemble_.place(new)[i, r]
            share = sum(f * shares[j].get(own, 0.0) for f, j in zip(first, near, strict=True))
            share /= first.sum()
            a, b = 1 - share, share
            walk = (b - a) / max(a, b)
            a, b = (lengths[labels[:, r] == label].mean() for label in (own, 1 - own))
            path = (b - a) / max(a, b)
            expected = walk * path if min(walk, path) > 0 else min(walk, path)
            assert ours[i, r] == pytest.approx(expected, abs=1e-9)


def test_paths_lead_to_some_points_of_every_cluster_where_there_are_many(monkeypatch):
    """The mean over all members, but for chance."""
    whole = silhouettes(MOONS, np.column_stack([SIDE, SIDE]), geometry="graph")
    monkeypatch.setattr(graph_shares, "LANDMARKS", 60)
    labels = np.column_stack([SIDE, SIDE])
    labels[:3, 1] = 2  # a cluster of three
    some = silhouettes(MOONS, labels, geometry="graph")
    assert np.isfinite(some).all()
    assert 0 < np.abs(some[:, 0] - whole[:, 0]).max() < 0.15


def test_a_square_without_clusters_scores_no_higher_than_by_straight_distances():
    square = np.random.default_rng(0).random((400, 2))
    cake = CAKE(4, n_runs=4, random_state=0).fit(square)
    exact, graph = (
        confidence(square, cake.ensemble_, geometry=name).scores for name in ("exact", "graph")
    )
    assert graph.mean() < exact.mean() < 0.6


def test_audit_on_points_and_graphs():
    given = SIDE.copy()
    given[[3, 50]] = 1 - given[[3, 50]]
    graph = kneighbors_graph(MOONS, 10, mode="distance")
    weights = graph.copy()
    weights.data = np.exp(-((weights.data / 0.1) ** 2))
    for data, how in (
        (MOONS, Graph()),
        (graph, Graph(metric="precomputed")),
        (weights, Graph(weights=True)),
    ):
        found = audit(data, given, geometry=how, n_runs=12, random_state=0)
        assert set(np.argsort(found.scores)[:2]) == {3, 50}
        assert_array_equal(found.suggested[[3, 50]], SIDE[[3, 50]])
        expected = silhouettes(data, given[:, None], geometry=how)[:, 0]
        assert_allclose(found.silhouette_mean, expected, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"clusterer": "leiden"},
        {"clusterer": "spectral", "n_clusters": 2},
        {"clusterer": "hdbscan", "geometry": Graph(n_steps=3)},
    ],
    ids=lambda options: options["clusterer"],
)
def test_a_sparse_graph_is_clustered_and_scored(options, tmp_path):
    """Nothing but distances to neighbours, through a file and for new points too."""
    search = NearestNeighbors(n_neighbors=12).fit(MOONS)
    how = {"metric": "precomputed", "resample": 0.8, "n_runs": Runs(4, left_out="predict")}
    how |= {"agreement": "jaccard"}
    cake = CAKE(random_state=0, **how, **options).fit(search.kneighbors_graph(mode="distance"))
    assert cake.geometry_method_ == "graph"
    new = search.kneighbors_graph(MOONS[:30] + 0.01, mode="distance")
    assert_array_equal(cake.predict(new), cake.labels_[:30])
    scores = cake.score_samples(new)
    assert_allclose(scores, cake.scores_[:30], atol=0.35)
    cake.save(tmp_path / "model")
    assert_array_equal(CAKE.load(tmp_path / "model").score_samples(new), scores)
    cake.report(tmp_path / "report.html")


def test_given_distances_with_a_graph_through_a_file(tmp_path):
    D = cdist(MOONS, MOONS)
    how = {"clusterer": "spectral", "metric": "precomputed", "geometry": "graph"}
    cake = CAKE(2, n_runs=3, random_state=0, **how).fit(D)
    known = silhouettes(MOONS, cake.ensemble_, geometry="graph")
    assert_allclose(cake.silhouette_mean_, known.mean(axis=1), atol=1e-9)
    cake.save(tmp_path / "model")
    again = CAKE.load(tmp_path / "model")
    assert_array_equal(again.score_samples(D[:9]), cake.score_samples(D[:9]))


def test_confidence_takes_a_graph():
    runs = build_ensemble(MOONS, "spectral", n_clusters=2, n_runs=4, random_state=0)
    graph = kneighbors_graph(MOONS, 15, mode="distance")
    given = confidence(graph, runs, geometry="graph", metric="precomputed")
    assert_allclose(given.scores, confidence(MOONS, runs, geometry="graph").scores, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"geometry": Graph(n_neighbors=0)}, "n_neighbors=0 must be at least 1"),
        ({"geometry": Graph(n_steps=0)}, "n_steps=0 must be at least 1"),
        (
            {"geometry": Graph(weights=True), "metric": "manhattan"},
            r"metric='manhattan' is not used where X holds weights \(weights=True\)",
        ),
        (
            {"geometry": Graph(weights=True, metric="manhattan")},
            r"metric='manhattan' is not used where X holds weights \(weights=True\)",
        ),
        (
            {"geometry": Graph(5, weights=True)},
            "n_neighbors=5 is not used where X holds the weights of all links",
        ),
        ({"fusion": "refined"}, "geometry='graph' does not use"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        confidence(X, FULL, **{"geometry": "graph"} | options)


def test_weights_are_given_or_not():
    with pytest.raises(TypeError, match="weights='yes' must be True or False"):
        confidence(X, FULL, geometry=Graph(weights="yes"))


def test_bad_graphs():
    graph = sparse.csr_array(kneighbors_graph(X, 5, mode="distance"))
    options = {"geometry": "graph", "metric": "precomputed"}
    with pytest.raises(ValueError, match="not used where X is a sparse graph"):
        confidence(graph, FULL, geometry=Graph(n_neighbors=5), metric="precomputed")
    with pytest.raises(ValueError, match=r"shape \(60, 59\)"):
        confidence(graph[:, :59], FULL, **options)
    with pytest.raises(TypeError, match="geometry='graph'"):
        confidence(graph, FULL, geometry="exact", metric="precomputed")
    for bad in (-1.0, np.nan, np.inf):
        wrong = graph.copy()
        wrong.data[7] = bad
        place = f"X[1, {wrong.indices[7]}] = {bad}".replace("[", r"\[").replace("]", r"\]")
        with pytest.raises(ValueError, match=place):
            confidence(wrong, FULL, **options)
        with pytest.raises(ValueError, match="not a valid weight"):
            confidence(wrong, FULL, geometry=Graph(weights=True))
        dense = wrong.toarray()
        with pytest.raises(ValueError, match="not a valid distance"):
            confidence(dense, FULL, **options)


def test_a_small_cluster_apart_scores_high():
    """Six points have their 7th neighbours elsewhere, and their walks stay among them still."""
    rng = np.random.default_rng(0)
    points = np.vstack(
        [rng.normal((x, y), 0.5, (n, 2)) for x, y, n in ((0, 0, 80), (8, 0, 80), (4, 20, 6))]
    )
    labels = np.repeat([0, 1, 2], [80, 80, 6])
    assert confidence(points, [labels] * 3, geometry="graph").scores[-6:].min() > 0.9
