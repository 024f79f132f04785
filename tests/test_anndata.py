"""AnnData: results where a scanpy user looks for them, and through a file and back."""

import warnings

import anndata
import numpy as np
import oracles
import pandas as pd
import pytest
from anndata import AnnData
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

import clustertrust.anndata
from clustertrust import CAKE, Ensemble, audit, build_ensemble, confidence
from clustertrust.anndata.data import RESOLUTIONS, cells_of
from clustertrust.cli import cli
from clustertrust.distances.links import as_distances
from clustertrust.ensemble.leiden import Leiden, SharedGraph
from clustertrust.ensemble.runs import draw_seeds
from clustertrust.fusion import harmonic
from clustertrust.geometry import Graph, silhouettes
from clustertrust.stability import pairwise_stability

X = load_iris().data


@pytest.fixture
def adata():
    cells = AnnData(np.abs(X) + 1, obs=pd.DataFrame(index=[f"cell-{i}" for i in range(150)]))
    cells.obsm["X_pca"] = X
    for k in (2, 3, 4):
        cells.obs[f"km{k}"] = pd.Categorical(
            KMeans(k, n_init=1, random_state=k).fit(X).labels_.astype(str)
        )
    return cells


def test_kmeans_scores_are_the_estimators(adata):
    assert clustertrust.anndata.score(adata, n_clusters=3, n_runs=5) is None
    cake = CAKE(3, n_runs=5, random_state=0).fit(X)
    assert_array_equal(adata.obs["cake_score"], cake.scores_)
    assert_array_equal(adata.obs["cake_stability"], cake.stability_)
    assert_array_equal(adata.obs["cake_geometry"], cake.geometry_)
    assert_array_equal(adata.obs["cake_standard_error"], cake.standard_errors_)
    assert_array_equal(adata.obs["cake_consensus_strength"], cake.consensus_strength_)
    assert adata.obs["cake_label"].tolist() == cake.labels_.astype(str).tolist()
    assert adata.obs["cake_rival"].tolist() == cake.rival_.astype(str).tolist()
    assert adata.obs["cake_label"].cat.categories.tolist() == ["0", "1", "2"]
    assert adata.obs_names.tolist() == [f"cell-{i}" for i in range(150)]
    settings = adata.uns["cake"]
    assert settings["clusterer"] == "kmeans"
    assert (settings["n_clusters"], settings["n_runs"], settings["random_state"]) == (3, 5, 0)
    assert (settings["use_rep"], settings["geometry"]) == ("X_pca", "exact")


def test_all_columns_are_there_and_none_of_earlier_scores(adata):
    clustertrust.anndata.score(adata, CAKE(3, n_runs=3, fusion="refined"))
    cake = CAKE(3, n_runs=3, fusion="refined", random_state=0).fit(X)
    assert {name for name in adata.obs if name.startswith("cake_")} == {
        f"cake_{name}" for name in cake.to_frame()
    }
    assert_array_equal(adata.obs["cake_persistence"], cake.persistence_)
    clustertrust.anndata.score(adata, n_clusters=3, n_runs=3)
    assert "cake_persistence" not in adata.obs


def test_leiden_is_the_default(adata):
    clustertrust.anndata.score(adata, n_runs=3)
    how = {"clusterer": "leiden", "vary": {"resolution": RESOLUTIONS}}
    how |= {"agreement": "jaccard", "normalization": "smooth"}
    cake = CAKE(n_runs=3, random_state=0, **how).fit(X)
    assert adata.uns["cake"]["clusterer"] == "leiden"
    assert_array_equal(adata.uns["cake"]["vary"]["resolution"], RESOLUTIONS)
    assert_array_equal(adata.obs["cake_score"], cake.scores_)
    how = {"resample": 0.9, "agreement": "jaccard"}
    clustertrust.anndata.score(adata, CAKE(clusterer="leiden", n_runs=6, **how))
    assert "vary" not in adata.uns["cake"]
    assert adata.uns["cake"]["normalization"] == "clip"
    own = {"agreement": "element-centric", "normalization": "affine"}
    clustertrust.anndata.score(adata, CAKE(clusterer="leiden", n_runs=3, **own))
    assert own.items() <= adata.uns["cake"].items()


@pytest.mark.parametrize(
    ("resolution", "drawn"),
    [(2.0, [2 * step for step in RESOLUTIONS]), ([0.5, 1], [0.5, 1.0]), (1.0, RESOLUTIONS)],
)
def test_resolutions_as_scanpy_users_write_them(adata, resolution, drawn):
    clustertrust.anndata.score(adata, resolution=resolution, n_runs=3)
    assert_allclose(adata.uns["cake"]["vary"]["resolution"], drawn)
    assert adata.uns["cake"]["agreement"] == "jaccard"


def test_a_resolution_is_fixed_where_something_else_varies(adata):
    cake = CAKE(clusterer="leiden", vary={"n_neighbors": [9, 12]}, agreement="jaccard", n_runs=3)
    clustertrust.anndata.score(adata, cake, resolution=0.7)
    assert {name: list(of) for name, of in adata.uns["cake"]["vary"].items()} == {
        "n_neighbors": [9, 12],
        "resolution": [0.7],
    }


@pytest.mark.parametrize(
    "how", [{"n_clusters": [2, 3, 5]}, {"resolution": [0.3, 1.5]}, {"features": 0.5}]
)
def test_a_sweep_compares_the_runs_at_each_value(adata, how):
    """Seeds are the same at each value, so each row can be made by hand."""
    if "features" in how:
        how |= {"resolution": [1.0]}
    table = clustertrust.anndata.sweep(adata, use_rep="X_pca", n_runs=4, **how)
    by = next(iter({"n_clusters", "resolution"} & set(how)))
    assert table[by].tolist() == how[by]
    for row, value in enumerate(how[by]):
        if "features" in how:
            labels = []
            for seed in draw_seeds(0, 4)[1]:
                half = np.random.RandomState(seed).choice(
                    X.shape[1], X.shape[1] // 2, replace=False
                )
                labels.append(Leiden(random_state=seed).fit(X[:, np.sort(half)]).labels_)
            assert len({tuple(run) for run in labels}) > 1
        else:
            given = {"vary": {by: [value]}} if by == "resolution" else {by: value}
            name = "leiden" if by == "resolution" else "kmeans"
            labels = build_ensemble(X, name, n_runs=4, random_state=0, **given).labels.T
        ours = table.iloc[row]
        expected = oracles.stability(np.transpose(labels), agreement="element-centric")
        assert ours["consistency"] == pytest.approx(np.mean(expected))
        expected = oracles.ambiguous_pairs(np.transpose(labels), 0.1, 0.9)
        assert ours["ambiguous_pairs"] == pytest.approx(expected)
        assert ours["most"] == max(len(set(run)) for run in labels)
        chosen = adata.obs[f"sweep_{value:g}"].astype(int).tolist()
        assert chosen in [list(run) for run in labels]
    assert_array_equal(adata.uns["sweep"]["consistency"], table["consistency"])


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"resolution": [0.5], "n_clusters": [2]}, "n_clusters"),
        ({"resolution": []}, "resolution"),
        ({"resolution": [1, 1.0]}, "resolution"),
        ({"resolution": [0.0]}, "resolution"),
        ({"n_clusters": [0]}, "n_clusters"),
        ({"features": 1.5}, "features"),
        ({"key_added": "a/b"}, "key_added"),
        ({"features": 0.5, "neighbors_key": "neighbors"}, "neighbors_key"),
    ],
)
def test_a_wrong_sweep_is_an_error_and_leaves_nothing(adata, how, named):
    before = list(adata.obs)
    with pytest.raises(ValueError, match=named):
        clustertrust.anndata.sweep(adata, **how)
    assert list(adata.obs) == before


def test_partitions_that_are_there(adata):
    runs = ["km2", "km3", "km4"]
    with pytest.warns(UserWarning, match="jaccard"):
        clustertrust.anndata.score(adata, labels=runs, key_added="mine")
    with pytest.warns(UserWarning, match="jaccard"):
        expected = confidence(X, adata.obs[runs])
    assert_array_equal(adata.obs["mine_score"], expected.scores)
    assert adata.obs["mine_label"].astype(str).tolist() == expected.to_frame()["label"].tolist()
    assert adata.uns["mine"]["labels"].tolist() == runs
    assert "cake_score" not in adata.obs


def test_one_labelling_is_audited(adata):
    clustertrust.anndata.score(adata, labels="km3", n_runs=8, random_state=2)
    expected = audit(X, adata.obs["km3"], n_runs=8, random_state=2)
    assert_array_equal(adata.obs["cake_score"], expected.scores)
    table = expected.to_frame()
    for name in ("label", "suggested"):
        assert adata.obs[f"cake_{name}"].astype(str).tolist() == table[name].tolist()
    assert adata.uns["cake"]["labels"] == "km3"
    assert adata.uns["cake"]["normalization"] == "affine"
    verdicts = adata.uns["cake"]["verdicts"].set_index("label")["verdict"]
    assert verdicts.to_dict() == {str(one.cluster): str(one) for one in expected.verdicts}
    assert adata.uns["cake"]["wrong_labels"] == str(expected.wrong_labels)
    clustertrust.anndata.score(adata, n_clusters=3, n_runs=3)
    assert "cake_suggested" not in adata.obs


def test_what_an_audit_found_goes_through_a_file_to_the_page(adata, tmp_path, monkeypatch):
    types = np.take(["CD4+/CD8+", "B", "NK"], adata.obs["km3"].astype(int)).astype(object)
    types[::2][types[::2] == "B"] = "B/2"  # half of a cluster, at random
    adata.obs["type"] = types
    clustertrust.anndata.score(adata, labels="type", n_runs=8, random_state=0)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    shown = {}
    monkeypatch.setattr(
        clustertrust.anndata.scoring, "write_report", lambda *_, **options: shown.update(options)
    )
    clustertrust.anndata.report(anndata.read_h5ad(tmp_path / "cells.h5ad"), "page.html")
    found = audit(X, types, n_runs=8, random_state=0).findings()
    assert shown["findings"] == found
    assert found["doubtful"]
    assert "verdicts" not in shown["settings"]


def test_every_parameter_reaches_the_estimator(adata):
    given = {
        "n_clusters": 3,
        "clusterer": "gmm",
        "n_runs": 4,
        "vary": {"n_clusters": [3]},
        "resample": 0.9,
        "fusion": "product",
        "geometry": "exact",
        "metric": "cosine",
        "normalization": "affine",
        "agreement": "jaccard",
        "unassigned": "disagree",
        "consensus": "best-reference",
        "random_state": 7,
        "n_jobs": 1,
        "device": "cpu",
        "verbose": True,
    }
    seen = {}

    class Recorded(CAKE):
        def __init__(self, n_clusters=None, **options):
            super().__init__(n_clusters, **options)

        @classmethod
        def _get_param_names(cls):
            return CAKE._get_param_names()

        def fit(self, X, y=None):
            seen.update(self.get_params(deep=False))
            return super().fit(X)

    given_cake = Recorded(**given)
    clustertrust.anndata.score(adata, given_cake)
    assert seen == given
    assert not hasattr(given_cake, "scores_")


def test_a_file_and_back(adata, tmp_path):
    how = {"vary": {"max_iter": [1, 300]}, "resample": 0.9, "unassigned": "disagree"}
    clustertrust.anndata.score(adata, CAKE(3, n_runs=3, **how))
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = anndata.read_h5ad(tmp_path / "a.h5ad")
    pd.testing.assert_frame_equal(back.obs, adata.obs)
    assert back.uns["cake"]["vary"]["max_iter"].tolist() == [1, 300]
    assert back.uns["cake"]["resample"] == 0.9


def test_a_copy_leaves_the_original_alone(adata):
    before = list(adata.obs)
    copied = clustertrust.anndata.score(adata, n_clusters=3, n_runs=3, copy=True)
    assert list(adata.obs) == before
    assert "cake" not in adata.uns
    assert "cake_score" in copied.obs


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_the_matrix_itself_dense_or_sparse(kind):
    cells = AnnData(kind(X))
    clustertrust.anndata.score(cells, CAKE(3, n_runs=3, geometry="rms"), use_rep="X")
    assert_allclose(
        cells.obs["cake_score"],
        CAKE(3, n_runs=3, geometry="rms", random_state=0).fit(X).scores_,
        atol=1e-9,
    )


def test_a_file_that_stays_on_disk(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert_array_equal(clustertrust.anndata.representation(backed, "X"), adata.X)
    backed.file.close()


@pytest.mark.parametrize(
    "values", [np.arange(150) * 7 % 61, np.arange(150) / 7, np.arange(150) * 1000.0]
)
def test_a_column_of_counts_or_measurements_is_refused(adata, values):
    adata.obs["n_genes"] = values
    told = r"'n_genes', a column of numbers with \d+ different values in 150 cells: a count or a"
    with pytest.raises(ValueError, match=told):
        clustertrust.anndata.score(adata, labels="n_genes")
    with pytest.raises(ValueError, match=r"\.astype\('category'\)"):
        clustertrust.anndata.score(adata, labels=["km3", "n_genes"])


def test_many_clusters_of_numbers_are_scored_as_categories(adata):
    adata.obs["fine"] = pd.Categorical(np.arange(150) // 5)
    clustertrust.anndata.score(adata, labels="fine", n_runs=4)
    adata.obs["three"] = adata.obs["km3"].astype(float)  # as a column with a gap would be
    clustertrust.anndata.score(adata, labels="three", n_runs=4)


def test_noise_in_a_column_is_said_and_can_be_a_cluster(adata):
    adata.obs["topic"] = ["-1_the_of"] * 50 + ["0_cat"] * 50 + ["1_dog"] * 50
    with pytest.warns(UserWarning, match=r"noise, not as a cluster: label '-1_the_of' \(50 times"):
        clustertrust.anndata.score(adata, labels="topic", n_runs=4)
    assert adata.obs["cake_score"].isna().sum() == 50
    assert adata.uns["cake"]["taken_as_noise"] == "label '-1_the_of' (50 times)"
    given = Ensemble.from_labels(adata.obs["topic"], noise=None)
    clustertrust.anndata.score(adata, labels=given, n_runs=4)
    assert adata.obs["cake_score"].notna().all()
    assert adata.uns["cake"]["labels"] == "an Ensemble of 1 runs"
    several = Ensemble.from_labels(adata.obs[["topic", "km3"]], noise=None)
    clustertrust.anndata.score(adata, labels=several)
    assert adata.obs["cake_label"].notna().all()
    with pytest.raises(ValueError, match="labels has 149 points and adata has 150"):
        clustertrust.anndata.score(adata, labels=Ensemble.from_labels(adata.obs["topic"][1:]))


def test_cells_without_a_cluster_have_a_missing_label(adata):
    adata.obs["a"] = [-1, -1] + [0] * 74 + [1] * 74
    adata.obs["b"] = [-1, -1] + [0] * 75 + [1] * 73
    with pytest.warns(UserWarning, match="fewer than two runs"):
        clustertrust.anndata.score(adata, labels=["a", "b"])
    assert adata.obs["cake_label"].isna().tolist() == [True, True] + [False] * 148
    assert adata.obs["cake_label"].cat.categories.tolist() == ["0", "1"]


def test_categories_of_numbers_are_in_their_order(adata):
    clustertrust.anndata.score(adata, n_clusters=12, n_runs=3)
    assert adata.obs["cake_label"].cat.categories.tolist() == [str(i) for i in range(12)]


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        (
            {"use_rep": "X_umap"},
            ValueError,
            r"use_rep='X_umap' is not in adata.obsm, which has \['X_pca'\]",
        ),
        (
            {"labels": ["km2", "km9"]},
            ValueError,
            r"labels names \['km9'\], not in adata.obs, which has \['km2', 'km3'",
        ),
        ({"labels": "km9"}, ValueError, r"labels names \['km9'\], not in adata.obs"),
        (
            {"labels": "km2", "n_clusters": 3},
            ValueError,
            "one labelling is audited: leave out n_cl",
        ),
        ({"labels": "km2", "cake": CAKE(agreement="jaccard")}, ValueError, "leave out agreement"),
        ({"labels": ["km2", "km3"], "cake": CAKE(vary={"n": [1]})}, ValueError, "leave out vary"),
        ({"labels": ["km2", "km3"], "n_runs": 20}, ValueError, "leave out n_runs"),
        ({"cake": CAKE(3), "n_clusters": 4}, ValueError, "cake says how .* leave out n_clusters"),
        ({"cake": CAKE(3), "n_runs": 4}, ValueError, "cake says how .* leave out n_runs"),
        ({"cake": 3}, TypeError, "cake=3 must be an estimator"),
        ({"resolution": -1.0}, ValueError, "resolution=-1.0"),
        ({"resolution": 1.0, "n_clusters": 3}, ValueError, "resolution=1.0 is for runs of Leiden"),
        ({"resolution": 1.0, "labels": "km2"}, ValueError, "labels are given: leave out resol"),
        ({"labels": ["km2"]}, ValueError, "at least 2"),
        (
            {"labels": ["km2", "km3"], "n_clusters": 3, "n_runs": 5},
            ValueError,
            "leave out n_clusters, n_runs",
        ),
        ({"labels": ["km2", "km3"], "random_state": 7}, ValueError, "leave out random_state"),
        ({"key_added": "a/b"}, ValueError, "key_added='a/b' must be a name without '/'"),
        ({"cake": CAKE(clusterer="kmean")}, ValueError, "clusterer='kmean' is not known"),
    ],
)
def test_wrong_use_is_told(adata, given, error, told):
    with pytest.raises(error, match=told):
        clustertrust.anndata.score(adata, **given)


def test_something_else_than_anndata_is_told():
    with pytest.raises(TypeError, match="must be an AnnData object, not ndarray"):
        clustertrust.anndata.score(X)
    with pytest.raises(ValueError, match=r"adata.X is empty"):
        clustertrust.anndata.score(AnnData(obs=pd.DataFrame(index=["a", "b"])), use_rep="X")


def test_a_missing_package_is_told(monkeypatch, adata):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    with pytest.raises(ImportError, match=r'pip install "clustertrust\[anndata\]"'):
        clustertrust.anndata.score(adata)


# --- real cells, with the graph that scanpy made ---


@pytest.fixture(scope="module")
def blood():
    """700 cells that ship with scanpy, which is needed by the tests alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scanpy's own dependencies
        scanpy = pytest.importorskip("scanpy", reason="pip install scanpy")
        return scanpy.datasets.pbmc68k_reduced()


def weights_of(cells):
    return sparse.csr_array(cells.obsp["connectivities"])


def smooth_mean(W, cells, runs):
    """S̃ of silhouettes that are half along the graph and half by coordinates, over all runs."""
    how = {"geometry": Graph(weights=True, paths=False, n_steps=2)}
    along = silhouettes(W, runs, **how)
    points = cells.obsm["X_pca"].astype(float)
    mean = (along + silhouettes(points, runs, geometry="rms")).mean(axis=1) / 2
    return (mean + np.sqrt(mean**2 + 0.02**2)) / (1 + np.sqrt(1 + 0.02**2))


def test_the_graph_of_neighbours_is_used_where_it_is_there(blood):
    cells = clustertrust.anndata.score(blood, n_runs=6, threshold=0.5, copy=True)
    settings = cells.uns["cake"]
    assert settings["geometry"] == "graph and points"
    assert settings["neighbors_key"] == "neighbors"
    assert (settings["agreement"], settings["normalization"]) == ("jaccard", "smooth")
    assert "use_rep" not in settings
    W = weights_of(cells)
    leiden = Leiden(n_neighbors=None, weighted=True, metric="precomputed")
    how = {"metric": "precomputed", "n_runs": 6, "random_state": 0}
    runs = build_ensemble(as_distances(W), leiden, vary={"resolution": RESOLUTIONS}, **how)
    c = pairwise_stability(runs, agreement="jaccard")
    assert_allclose(cells.obs["cake_score"], harmonic(c, smooth_mean(W, blood, runs)))
    how = {"vary": {"resolution": RESOLUTIONS}, "agreement": "jaccard"}
    alone = CAKE(n_runs=6, clusterer="leiden", geometry="graph", **how)
    again = clustertrust.anndata.score(blood, alone, copy=True)
    how = {"geometry": Graph(weights=True, paths=False), "agreement": "jaccard"}
    expected = confidence(W, runs, **how)
    assert_array_equal(again.obs["cake_score"], expected.scores)
    # Half of the cells were called isolated by straight distances.
    assert (cells.obs["cake_reason"] == "stable but isolated").mean() < 0.1
    how = {"n_runs": 6, "threshold": 0.5, "copy": True}
    straight = clustertrust.anndata.score(blood, use_rep="X_pca", **how)
    assert straight.uns["cake"]["geometry"] == "exact"
    assert (straight.obs["cake_reason"] == "stable but isolated").mean() > 0.3


def linked(points, k=10, **params):
    """Cells with a graph of their nearest neighbours, as scanpy describes it."""
    cells = AnnData(np.ones((len(points), 1)), obsm={"X_pca": points})
    cells.obsp["connectivities"] = kneighbors_graph(points, k - 1, include_self=False)
    cells.uns["neighbors"] = {
        "connectivities_key": "connectivities",
        "params": {"n_neighbors": k, **params},
    }
    return cells


def test_cells_of_one_cloud_have_no_core():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(300, 5))
    core = {}
    for apart in (0, 12):
        points = cloud + apart * np.repeat([0, 1], 150)[:, None]
        cells = linked(points)
        clustertrust.anndata.score(cells, resolution=0.5, n_runs=6)
        settings = cells.uns["cake"]
        assert 0 < settings["chance"] < 1
        core[apart] = (cells.obs["cake_reason"] == "core").mean()
        if apart:
            assert settings["threshold"] == settings["chance"]
    assert core[0] == 0
    assert core[12] > 0.5


@pytest.mark.parametrize(
    ("params", "used"),
    [
        ({}, lambda X: X),
        ({"n_pcs": 2}, lambda X: X[:, :2]),
        ({"n_pcs": np.array([2])}, lambda X: X[:, :2]),  # as files hold it
        ({"metric": "cosine"}, normalize),
        ({"use_rep": "X_other"}, lambda X: X[:, ::-1] ** 3),
        ({"use_rep": "X"}, None),
        ({"use_rep": "X_gaps"}, None),
        ({"use_rep": "X_sparse"}, None),
    ],
)
def test_straight_distances_are_those_of_what_the_graph_was_made_from(params, used):
    cells = linked(X, **params)
    cells.obsm["X_other"] = X[:, ::-1] ** 3
    cells.obsm["X_gaps"] = np.where(X > 7, np.nan, X)
    cells.obsm["X_sparse"] = sparse.csr_matrix(X)
    data = cells_of(cells, CAKE(clusterer="leiden"))
    assert data.n_neighbors == 9
    if used is None:
        assert data.points is None
        assert type(data.geometry) is Graph
        clustertrust.anndata.score(cells, n_runs=3)
        assert "chance" not in cells.uns["cake"]
        assert cells.uns["cake"]["geometry"] == "graph"
    else:
        assert_array_equal(data.points, used(X))
        some = data.rows(np.arange(150) < 100)
        assert some.X.shape == (100, 100)
        assert_array_equal(some.points, used(X)[:100])


@pytest.mark.parametrize(
    ("described", "k"), [(None, 15), (np.array([12]), 11), ("many", 15), (1, 1), (-3, 15)]
)
def test_an_odd_description_of_a_graph_is_no_error(described, k):
    cells = linked(X)
    cells.uns["neighbors"]["params"]["n_neighbors"] = described
    assert cells_of(cells, CAKE(clusterer="leiden")).n_neighbors == k


def test_runs_share_a_graph_and_are_those_of_single_fits(blood, monkeypatch):
    made = []
    graph = Leiden.graph
    monkeypatch.setattr(Leiden, "graph", lambda self, X: made.append(1) or graph(self, X))
    points = blood.obsm["X_pca"][:, :10].astype(float)
    runs = build_ensemble(points, "leiden", n_runs=4, random_state=0)
    assert len(made) == 1
    for seed, labels in zip(runs.seeds, runs.labels.T, strict=True):
        assert_array_equal(labels, Leiden(random_state=seed).fit(points).labels_)
    shared, few, many = SharedGraph(), Leiden(n_neighbors=5), Leiden(n_neighbors=30)
    sizes = [len(set(shared.fit(model, points).labels_)) for model in (few, many, few)]
    assert min(sizes[0], sizes[2]) > sizes[1]


def test_leiden_on_connectivities_is_scanpys(blood):
    """The same weights, method and resolution; another package, so nearly the same communities."""
    igraph, leidenalg = pytest.importorskip("igraph"), pytest.importorskip("leidenalg")
    W = weights_of(blood).tocoo()
    upper = W.row < W.col
    graph = igraph.Graph(W.shape[0], np.column_stack([W.row, W.col])[upper].tolist())
    ours = Leiden(n_neighbors=None, weighted=True, metric="precomputed", random_state=0)
    found = ours.fit(as_distances(weights_of(blood))).labels_
    kind = leidenalg.RBConfigurationVertexPartition
    quality = [
        kind(graph, labels.tolist(), weights=W.data[upper].tolist()).quality()
        for labels in (found, Leiden(random_state=0).fit(blood.obsm["X_pca"]).labels_)
    ]
    best = leidenalg.find_partition(graph, kind, weights=W.data[upper].tolist(), seed=3).quality()
    assert quality[0] == pytest.approx(best, rel=0.01)
    assert quality[1] < quality[0]
    other = clone(ours).set_params(flavor="leidenalg").fit(as_distances(weights_of(blood)))
    assert other.quality_ == pytest.approx(ours.quality_, rel=0.01)
    for model in (ours, other):
        assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    with pytest.raises(ValueError, match=r"flavor='louvain' is not known; choose one of"):
        Leiden(flavor="louvain").fit(X)


def test_weights_become_distances_and_weights_again(blood):
    W = weights_of(blood)
    D = as_distances(W)
    again = D.copy()
    again.data = np.exp(-(D.data**2)) * W.data.max()
    assert_allclose(again.toarray(), W.toarray(), atol=1e-7)


def test_labels_along_the_graph(blood):
    cells = clustertrust.anndata.score(blood, labels="louvain", n_runs=8, copy=True)
    how = {"geometry": Graph(weights=True, paths=False), "n_runs": 8, "random_state": 0}
    expected = audit(weights_of(blood), blood.obs["louvain"], **how)
    assert_array_equal(cells.obs["cake_score"], expected.scores)
    several = ["louvain", "bulk_labels"]
    how = {"geometry": Graph(weights=True, paths=False), "agreement": "jaccard"}
    expected = confidence(weights_of(blood), blood.obs[several], **how)
    cells = clustertrust.anndata.score(
        blood, CAKE(agreement="jaccard"), labels=several, key_added="two", copy=True
    )
    assert_array_equal(cells.obs["two_score"], expected.scores)


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 5, "n_runs": 2},
        {"use_rep": "X_pca", "n_runs": 2},
        {"cake": CAKE(clusterer="leiden", geometry="rms", n_runs=2)},
        {"cake": CAKE(clusterer="leiden", geometry=Graph(10), n_runs=2)},
        {"cake": CAKE(n_runs=2)},
    ],
    ids=str,
)
def test_what_needs_coordinates_takes_them(blood, options):
    cells = blood.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clustertrust.anndata.score(cells, **options)
    assert cells.uns["cake"]["use_rep"] == "X_pca"
    with pytest.raises(ValueError, match=r"neighbors_key='neighbors' names a graph, and .*needs"):
        clustertrust.anndata.score(cells, neighbors_key="neighbors", **options)


def test_settings_of_a_graph_come_from_the_estimator(blood):
    leiden = CAKE(clusterer="leiden", n_runs=4, fusion="product", geometry=Graph(n_steps=2))
    cells = clustertrust.anndata.score(blood, leiden, random_state=3, copy=True)
    assert cells.uns["cake"]["fusion"] == "product"
    assert (cells.uns["cake"]["agreement"], cells.uns["cake"]["random_state"]) == ("jaccard", 3)
    other = leiden.set_params(geometry=Graph(n_steps=5), random_state=3)
    again = clustertrust.anndata.score(blood, other, copy=True)
    assert_array_equal(again.obs["cake_stability"], cells.obs["cake_stability"])
    assert (again.obs["cake_geometry"] != cells.obs["cake_geometry"]).any()


def test_settings_of_an_audit_come_from_the_estimator(blood):
    settings = CAKE(n_runs=8, fusion="product", normalization="clip", random_state=0)
    cells = clustertrust.anndata.score(blood, settings, labels="louvain", copy=True)
    how = {
        "geometry": Graph(weights=True, paths=False),
        "fusion": "product",
        "normalization": "clip",
    }
    expected = audit(weights_of(blood), blood.obs["louvain"], n_runs=8, random_state=0, **how)
    assert_array_equal(cells.obs["cake_score"], expected.scores)


def test_another_graph_by_its_key(blood):
    cells = blood.copy()
    cells.obsp["near"] = cells.obsp["connectivities"]
    cells.uns["mine"] = {"connectivities_key": "near"}
    del cells.uns["neighbors"]
    clustertrust.anndata.score(cells, n_runs=2)
    assert cells.uns["cake"]["use_rep"] == "X_pca"  # none at the usual place
    clustertrust.anndata.score(cells, n_runs=2, neighbors_key="mine")
    assert cells.uns["cake"]["neighbors_key"] == "mine"
    with pytest.raises(ValueError, match=r"neighbors_key='other' is not in adata\.uns"):
        clustertrust.anndata.score(cells, neighbors_key="other")


def test_pages_place_cells_and_show_what_is_known_of_them(blood, tmp_path, monkeypatch):
    shown = {}
    monkeypatch.setattr(
        clustertrust.anndata.scoring,
        "write_report",
        lambda path, table, **how: shown.update(how | {"table": table}),
    )
    cells = clustertrust.anndata.score(blood, n_runs=3, copy=True)
    clustertrust.anndata.report(cells, "page.html")
    assert_array_equal(shown["embedding"], blood.obsm["X_umap"])
    assert shown["original"].columns.tolist() == blood.obs.columns.tolist()
    assert_array_equal(shown["table"]["score"], cells.obs["cake_score"])
    assert shown["settings"]["geometry"] == "graph and points"
    clustertrust.anndata.report(cells, "page.html", basis="X_pca")
    assert_array_equal(shown["embedding"], blood.obsm["X_pca"][:, :2])
    del cells.obsm["X_umap"]
    clustertrust.anndata.report(cells, "page.html")
    assert_array_equal(shown["embedding"], blood.obsm["X_pca"][:, :2])
    del cells.obsm["X_pca"]
    clustertrust.anndata.report(cells, "page.html")
    assert shown["embedding"] is None
    with pytest.raises(ValueError, match=r"use_rep='X_pca' is not in adata.obsm, which is empty"):
        clustertrust.anndata.score(cells, use_rep="X_pca")
    monkeypatch.undo()
    cells.obsm["X_pca"] = blood.obsm["X_pca"]
    with pytest.raises(ValueError, match="basis='X_tsne' is not in"):
        clustertrust.anndata.report(cells, tmp_path / "page.html", basis="X_tsne")
    with pytest.raises(ValueError, match=r"other_score; call clustertrust\.anndata\.score"):
        clustertrust.anndata.report(cells, tmp_path / "page.html", key_added="other")
    clustertrust.anndata.report(cells, tmp_path / "page.html")
    assert "bulk_labels" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("labels", [None, "louvain"])
def test_the_command_has_the_same_defaults(blood, tmp_path, labels):
    cells = blood.copy()
    cells.write_h5ad(tmp_path / "cells.h5ad")
    typed = [] if labels is None else ["--labels-column", labels]
    out = tmp_path / "scored.h5ad"
    page = tmp_path / "page.html"
    command = ["score", str(tmp_path / "cells.h5ad"), "--runs", "4", "--out", str(out), *typed]
    command += ["--report", str(page)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    clustertrust.anndata.score(cells, n_runs=4, labels=labels)
    written = anndata.read_h5ad(out)
    assert_allclose(written.obs["cake_score"], cells.obs["cake_score"], atol=1e-12)
    assert written.uns["cake"]["geometry"] == ("graph and points" if labels is None else "graph")
    assert_array_equal(written.obs["cake_reason"], cells.obs["cake_reason"])
    assert "bulk_labels" in page.read_text()


# Answers


def test_ask_and_decide_by_answers_in_obs(adata):
    species = load_iris().target_names[load_iris().target]
    clustertrust.anndata.score(adata, n_clusters=3, n_runs=5)
    questions = clustertrust.anndata.ask(adata, 90, n_random=60)
    assert list(questions.columns) == ["label", "rival"]
    assert adata.obs["cake_asked"].value_counts().to_dict() == {"random": 60, "learn": 30}
    assert set(questions.index) == set(adata.obs_names[adata.obs["cake_asked"].notna()])
    asked = adata.obs["cake_asked"].notna()
    adata.obs["cake_answer"] = pd.Series(species, index=adata.obs_names).where(asked)
    found = clustertrust.anndata.decide(adata, risk=0.2)
    assert found.guaranteed
    assert adata.obs["cake_kept"].sum() == found.n_kept
    assert adata.obs["cake_probability"].between(0, 1).all()
    assert (adata.obs["cake_probability_low"] <= adata.obs["cake_probability_high"]).all()
    assert adata.obs["cake_corrected"].cat.categories.tolist() == ["0", "1", "2"]
    assert adata.uns["cake_decision"]["statement"] == str(found)
    named = pd.Series(found.class_names)[adata.obs["cake_label"]].to_numpy()
    assert (named != species)[adata.obs["cake_kept"].to_numpy()].mean() < 0.2


def test_decisions_survive_a_file(adata, tmp_path):
    clustertrust.anndata.score(adata, n_clusters=3, n_runs=5)
    adata.obs["mine"] = pd.Categorical(["right"] * 20 + [None] * 130)
    found = clustertrust.anndata.decide(adata, answers_in="mine")
    assert not found.guaranteed
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["cake_decision"]["answers"] == 20
    assert_allclose(again.obs["cake_probability"], adata.obs["cake_probability"])


def test_answers_without_scores_or_column_are_errors(adata):
    with pytest.raises(ValueError, match=r"call clustertrust\.anndata\.score\(adata"):
        clustertrust.anndata.ask(adata)
    clustertrust.anndata.score(adata, n_clusters=3, n_runs=3)
    with pytest.raises(ValueError, match="answers_in='cake_answer' is not a column of obs"):
        clustertrust.anndata.decide(adata)


def test_an_object_in_place_of_a_matrix_is_pointed_to_what_takes_it():
    cells = AnnData(np.arange(12.0).reshape(6, 2))
    for call in (CAKE(2).fit, lambda X: audit(X, [0, 1] * 3)):
        with pytest.raises(TypeError, match=r"clustertrust\.anndata\.score .*X_pca"):
            call(cells)
