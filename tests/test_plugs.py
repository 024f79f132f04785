"""What users add from outside: a geometry, a clusterer and a fusion of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from clustertrust import CAKE, ParameterError, audit, confidence
from clustertrust.distances.dissimilarity import Centers
from clustertrust.distances.moments import cluster_means
from clustertrust.ensemble.clusterers import CLUSTERERS, Clusterer, FittedRun
from clustertrust.fusion import Fusion
from clustertrust.geometry import Centroid, Exact, Geometry, Graph, Kernel, silhouettes
from clustertrust.geometry.measuring import GEOMETRIES

X = load_iris().data


class Blurred(Geometry):
    """Distances to the means of clusters, plus a width that all clusters share."""

    name = "blurred"

    def __init__(self, width=0.0):
        self.width = width

    def check(self):
        if self.width < 0:
            raise ParameterError("width", self.width, "is below 0", "give a width of at least 0")

    def measure(self, X, cells, ensemble, compute):
        means = cluster_means(X, cells)
        spread = np.full(len(means), self.width**2)
        own = Centers(X, cells, centers=means, spread=spread, root=True, n_jobs=compute.n_jobs)
        own.leaves_self_out = False
        return own


class Halves(Clusterer):
    """Two clusters on both sides of a random plane through the mean."""

    name = "halves"

    def estimator(self, k):
        return KMeans(k, n_init=1)

    def fit(self, model, X, shared=None):
        direction = np.random.default_rng(model.random_state).normal(size=X.shape[1])
        middle = X.mean(axis=0)

        def side(points):
            return ((points - middle) @ direction > 0).astype(np.int64)

        return FittedRun(side(X), side)


class Smaller(Fusion):
    """The smaller of the two components."""

    name = "smaller"

    def __call__(self, c, g, *more):
        return np.minimum(c, g)


def test_a_geometry_of_ones_own_scores_old_and_new_points():
    plain = CAKE(3, geometry=Centroid(), n_runs=4, random_state=0).fit(X)
    own = CAKE(3, geometry=Blurred(), n_runs=4, random_state=0).fit(X)
    assert own.geometry_method_ == "blurred"
    given = silhouettes(X, plain.ensemble_.labels, geometry=Centroid())
    assert_allclose(silhouettes(X, plain.ensemble_.labels, geometry=Blurred()), given, atol=1e-12)
    wide = CAKE(3, geometry=Blurred(width=3.0), n_runs=4, random_state=0).fit(X)
    assert wide.silhouette_mean_.mean() < own.silhouette_mean_.mean()
    assert wide.score_samples(X[:5]).shape == (5,)
    assert wide.fitted_geometry_.get_params() == {"width": 3.0}
    assert confidence(X, wide.ensemble_, geometry=Blurred(1.0)).geometry_method == "blurred"
    assert audit(X, load_iris().target, geometry=Blurred(1.0), n_runs=4).scores.shape == (150,)


def test_a_geometry_of_ones_own_can_get_a_name(monkeypatch):
    monkeypatch.setitem(GEOMETRIES, "blurred", Blurred)
    assert (
        CAKE(3, geometry="blurred", n_runs=3, random_state=0).fit(X).geometry_method_ == "blurred"
    )


def test_a_geometry_checks_its_own_parameters():
    with pytest.raises(ParameterError, match="width=-1 is below 0; give a width"):
        CAKE(3, geometry=Blurred(-1)).fit(X)
    with pytest.raises(
        ParameterError, match="metric='manhattan' is not used by geometry='blurred'"
    ):
        CAKE(3, geometry=Blurred(), metric="manhattan").fit(X)


def test_a_clusterer_of_ones_own_makes_and_places_runs(monkeypatch):
    cake = CAKE(2, clusterer=Halves(), n_runs=6, random_state=0).fit(X)
    assert cake.ensemble_.summary()["method"].unique().tolist() == ["halves"]
    assert_array_equal(cake.predict(X), cake.labels_)
    monkeypatch.setitem(CLUSTERERS, "halves", Halves())
    named = CAKE(2, clusterer=["halves", "kmeans"], n_runs=4, random_state=0).fit(X)
    assert named.ensemble_.summary()["method"].tolist() == ["halves", "kmeans"] * 2


def test_a_fusion_of_ones_own_gives_the_scores():
    cake = CAKE(3, fusion=Smaller(), n_runs=4, random_state=0).fit(X)
    assert_array_equal(cake.scores_, np.minimum(cake.stability_, cake.geometry_))


def test_a_name_is_the_object_with_its_defaults():
    for name, kind in GEOMETRIES.items():
        by_name = CAKE(3, geometry=name, n_runs=3, random_state=0).fit(X)
        by_object = CAKE(3, geometry=kind(), n_runs=3, random_state=0).fit(X)
        assert_array_equal(by_name.scores_, by_object.scores_)


def test_parameters_of_a_geometry_are_reached_from_outside():
    cake = CAKE(3, geometry=Exact(), n_runs=3, random_state=0)
    assert clone(cake).get_params()["geometry__metric"] is None
    search = GridSearchCV(cake, {"geometry__metric": ["euclidean", "manhattan"]}, cv=2).fit(X)
    assert search.best_params_["geometry__metric"] in {"euclidean", "manhattan"}
    assert cake.geometry.metric is None


def test_the_fit_keeps_the_geometry_it_used_and_leaves_the_given_one_alone():
    given = Exact()
    cake = CAKE(3, geometry=given, metric="manhattan", clusterer="kmedoids", n_runs=3).fit(X)
    assert given.metric is None
    assert cake.fitted_geometry_.used_metric.name == "manhattan"
    assert isinstance(CAKE(3, n_runs=3).fit(X).fitted_geometry_, Exact)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"geometry": Exact(metric="cosine"), "metric": "manhattan"},
            r"metric='manhattan' and Exact\(metric='cosine'\) differ; give the metric once",
        ),
        ({"geometry": Kernel("rbf", degree=2)}, "degree=2 is not used by kernel='rbf'"),
        ({"geometry": Kernel("precomputed")}, r"is only for confidence\(X, labels\)"),
        ({"geometry": Graph(weights=True)}, r"is only for confidence\(X, labels\)"),
    ],
)
def test_each_object_refuses_what_it_would_not_use(options, message):
    with pytest.raises(ParameterError, match=message):
        CAKE(3, **options).fit(X)


class Doubled(Centers):
    """Centres from which all is twice as far, by a way of its own."""

    def map(self, X, reduce):
        return super().map(X, lambda points, means: reduce(points, 4 * means))


class Known(Centers):
    """Silhouettes that are known beforehand."""

    def silhouettes(self, own=None, X=None, *, training=False):
        s, nearest = super().silhouettes(own, X, training=training)
        return s / 2, nearest


@pytest.mark.parametrize("kind", [Doubled, Known])
def test_a_subclass_of_a_dissimilarity_measures_in_its_own_way(kind):
    class Own(Geometry):
        name = "own"

        def measure(self, X, cells, ensemble, compute):
            means, jobs = cluster_means(X, cells), compute.n_jobs
            return kind(X, cells, centers=means, spread=np.ones(len(means)), root=True, n_jobs=jobs)

    points = np.random.default_rng(0).normal(size=(9000, 2))
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(points)
    runs = [labels, np.roll(labels, 1)]
    s = silhouettes(points, runs, geometry=Own())
    plain = silhouettes(points, runs, geometry=Blurred(1.0))
    for jobs in (1, 2):
        scored = confidence(points, runs, geometry=Own(), n_jobs=jobs)
        assert_allclose(scored.silhouette_mean, s.mean(axis=1), rtol=1e-12, atol=1e-15)
    assert np.abs(s - plain).max() > 1e-4
    if kind is Known:
        assert np.abs(s).max() <= 0.5
