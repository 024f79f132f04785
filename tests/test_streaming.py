"""Data larger than memory: the same labels and scores as in memory, whatever the blocks, the
threads and the file.
"""

import gc
import os
from dataclasses import replace
from math import fsum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from strategies import few, labelings

from clustertrust import CAKE, Ensemble, Runs, confidence
from clustertrust.cells import meet
from clustertrust.distances.moments import cluster_moments
from clustertrust.files.arrow_files import ParquetSource
from clustertrust.files.delimited import EXACT
from clustertrust.files.sources import ArraySource
from clustertrust.files.tables import FORMATS, open_source, read_table, write_table
from clustertrust.geometry import Centroid
from clustertrust.matching import match_runs
from clustertrust.streaming import stream
from clustertrust.streaming.passes import LocalReader, sample_rows, sum_in_pairs
from clustertrust.totals import Totals, total

COLUMNS = ["x", "y", "z"]


@pytest.fixture(scope="module")
def points():
    made = make_blobs(6000, 3, centers=4, cluster_std=2.0, random_state=0)[0]
    made.flags.writeable = False  # shared by the tests of this module
    return made


@pytest.fixture
def small_memory(monkeypatch):
    """Every array on disk is larger than memory, the sample is a small part, and there are several
    blocks.
    """
    monkeypatch.setattr(stream, "SAMPLE_POINTS", 1500)
    with sklearn.config_context(working_memory=0.25):
        yield


BLOCKWISE = [
    suffix for kind in FORMATS.values() if kind.blocks is not None for suffix in kind.suffixes
]


@pytest.fixture(params=["memmap", "folder", *BLOCKWISE])
def source(request, points, tmp_path):
    frame = pd.DataFrame(points, columns=COLUMNS)
    path = tmp_path / f"data{request.param}"
    if request.param in {".npy", "memmap"}:
        path = tmp_path / "data.npy"
        np.save(path, points)
        return np.load(path, mmap_mode="r") if request.param == "memmap" else path
    if request.param == "folder":
        path.mkdir()
        for part, name in enumerate(["0.parquet", "1.pq", "2.PARQUET"]):
            frame[part * 2000 : (part + 1) * 2000].to_parquet(path / name)
    elif request.param in {".parquet", ".pq"}:
        frame.to_parquet(path)
    elif request.param in {".arrow", ".feather"}:
        frame.to_feather(path, chunksize=1700)
    else:
        frame.to_csv(path, index=False, sep="," if ".csv" in request.param else "\t")
    return path


# Sums over blocks


@few
@given(labelings(), st.integers(1, 7))
def test_totals_of_blocks_are_those_of_the_whole(labels, rows):
    X = np.random.default_rng(0).normal(size=(len(labels), 2)) + 1000
    parts = [total(X[low : low + rows], labels[low : low + rows]) for low in range(0, len(X), rows)]
    summed = sum_in_pairs(parts)
    cells = meet(labels)
    for mine, theirs in zip(summed.names, cells.names, strict=True):
        assert_array_equal(mine, theirs)
    means, variances = cluster_moments(X, cells)
    assert_array_equal(summed.sizes, cells.sizes)
    assert_allclose(summed.means, means, rtol=1e-13)
    assert_allclose(summed.variances, variances, atol=1e-9)
    mine, theirs = match_runs(summed), match_runs(cells)
    assert_array_equal(mine.to, theirs.to)
    assert_array_equal(mine.agreement, theirs.agreement)


def test_variances_within_rounding_of_the_mean_are_none():
    """Copies of a point add up to a mean that is a few last digits off."""
    spreads = np.array([1e-12, 1e-11, 1e-10, 1.0])
    sums = Totals(
        names=(np.arange(4),),
        sizes=np.full(4, 2.0),
        means=np.full((4, 1), 1000.0),
        squares=2 * spreads**2,
        tables=np.diag([2] * 4)[None, None],
    )
    assert_allclose(sums.variances, [0.0, 0.0, 1e-20, 1.0], rtol=1e-9, atol=0.0)
    near = replace(sums, means=np.zeros((4, 1)))  # at the origin nothing is rounded
    assert_allclose(near.variances, spreads**2, rtol=1e-9, atol=0.0)


FAR = np.random.default_rng(5).normal(size=(100_000, 2)) + np.arange(100_000)[:, None] % 3 + 1e8
FAR_LABELS = np.column_stack([np.arange(100_000) % 3, np.arange(100_000) % 2])


def exact_means(X, labels):
    """Means of clusters whose sums are rounded once."""
    return np.array(
        [
            [fsum(column) / len(column) for column in X[labels == label].T]
            for label in np.unique(labels)
        ]
    )


def test_means_far_from_the_origin_lose_no_digits():
    """Numbers near 1e8 are 1.5e-8 apart; sums of 100,000 of them lost another two digits."""
    whole = cluster_moments(FAR, meet(FAR_LABELS))[0]
    parts = [
        total(FAR[low : low + 30_000], FAR_LABELS[low : low + 30_000])
        for low in range(0, len(FAR), 30_000)
    ]
    expected = np.vstack([exact_means(FAR, run) for run in FAR_LABELS.T])
    assert_allclose(whole, expected, rtol=0, atol=3e-8)
    assert_allclose(sum_in_pairs(parts).means, expected, rtol=0, atol=3e-8)


def test_means_of_clusters_far_apart_lose_no_digits():
    X = FAR - 1e8
    X[::2] += 2.0**20
    means = cluster_moments(X, meet(FAR_LABELS))[0]
    expected = np.vstack([exact_means(X, run) for run in FAR_LABELS.T])
    assert_allclose(means, expected, rtol=0, atol=3e-10)


def centroid_oracle(X, labels):
    """Mean over two runs of two clusters of (b - a) / max(a, b), with distances to the means."""
    s = []
    for run in labels.T:
        d = np.linalg.norm(
            X[:, None] - np.array([X[run == label].mean(axis=0) for label in (0, 1)]), axis=2
        )
        a, b = np.where(run == 0, d.T, d.T[::-1])
        s.append((b - a) / np.maximum(a, b))
    return np.mean(s, axis=0)


@pytest.mark.parametrize("kind", ["memory", "dask"])
def test_centroid_silhouettes_do_not_move_with_the_origin(kind):
    """Multiples of 2**-20 stay the same to the last digit when 1e8 is added.

    The sums of so many did not.
    """
    X = np.round(np.random.default_rng(6).normal(size=(120_000, 2)) * 2**20) / 2**20
    labels = (X + np.random.default_rng(7).normal(size=X.shape) > 0).astype(int)
    moved, runs = X + 1e8, labels
    if kind == "dask":
        array = pytest.importorskip("dask.array")
        moved, runs = (
            array.from_array(moved, chunks=(60_000, 2)),
            array.from_array(labels, chunks=(60_000, 2)),
        )
    found = confidence(moved, runs, geometry="centroid").silhouette_mean
    assert_allclose(np.asarray(found), centroid_oracle(X, labels), rtol=0, atol=1e-7)


@pytest.mark.parametrize("size", [10, 999, 1000, 5000])
def test_sample_is_the_same_for_any_blocks_and_in_the_order_of_the_rows(size):
    X = np.arange(1000.0)[:, None]

    def draw(rows):
        return sample_rows(LocalReader(ArraySource(X), rows, 1), size, seed=0)

    sample, n = draw(7)
    assert n == 1000
    assert len(sample.X) == min(size, 1000)
    assert (np.diff(sample.X[:, 0]) > 0).all()
    assert_array_equal(sample.names, sample.X[:, 0])
    assert_array_equal(sample.X, draw(333)[0].X)


def test_sample_is_uniform():
    X = np.arange(200.0)[:, None]
    passes = LocalReader(ArraySource(X), 16, 1)
    hits = np.zeros(200)
    for seed in range(400):
        hits[sample_rows(passes, 50, seed)[0].X[:, 0].astype(int)] += 1
    assert hits.sum() == 400 * 50
    assert hits.min() > 60  # 100 expected, a standard deviation of 8.7
    assert hits.max() < 140


# Whole fits


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("clusterer", ["kmeans", "minibatch-kmeans", "gmm"])
@pytest.mark.parametrize("geometry", ["rms", "centroid"])
def test_scores_are_those_of_the_runs_in_memory(points, tmp_path, clusterer, geometry):
    np.save(tmp_path / "x.npy", points)
    cake = CAKE(4, clusterer=clusterer, n_runs=6, geometry=geometry, random_state=0).fit(
        tmp_path / "x.npy"
    )
    ensemble = Ensemble.from_labels(cake.ensemble_.place(points))
    same = Centroid(cake.ensemble_.centers) if geometry == "centroid" else geometry
    expected = confidence(points, ensemble, geometry=same)
    assert_array_equal(cake.labels_, expected.labels)
    assert_array_equal(cake.rival_, expected.rival)
    for name in (
        "scores",
        "stability",
        "geometry",
        "standard_errors",
        "consensus_strength",
        "votes",
    ):
        assert_allclose(
            getattr(cake, f"{name}_"), getattr(expected, name), atol=1e-12, err_msg=name
        )


@pytest.mark.usefixtures("small_memory")
def test_runs_of_different_k(points, tmp_path):
    np.save(tmp_path / "x.npy", points)
    how = {"vary": {"n_clusters": range(3, 6)}, "n_runs": 6, "random_state": 0}
    with pytest.warns(UserWarning, match="between 3 and 5 clusters.*agreement='jaccard'"):
        CAKE(**how).fit(tmp_path / "x.npy")
    cake = CAKE(agreement="jaccard", **how).fit(tmp_path / "x.npy")  # and nothing is told
    expected = confidence(
        points,
        Ensemble.from_labels(cake.ensemble_.place(points)),
        agreement="jaccard",
        geometry="rms",
    )
    assert_array_equal(cake.labels_, expected.labels)
    assert_allclose(cake.scores_, expected.scores, atol=1e-12)
    assert "overlap, on average" in str(cake.explain(0))


@pytest.mark.usefixtures("small_memory")
def test_every_kind_of_file_gives_the_same(points, source, tmp_path):
    np.save(tmp_path / "reference.npy", points)
    reference = CAKE(4, n_runs=5, random_state=0).fit(tmp_path / "reference.npy")
    cake = CAKE(4, n_runs=5, random_state=0).fit(source)
    assert cake.n_passes_ == reference.n_passes_
    assert_array_equal(cake.labels_, reference.labels_)
    assert_allclose(cake.scores_, reference.scores_, atol=1e-12)  # text may lose a last digit


@pytest.mark.usefixtures("small_memory")
def test_threads_change_no_bit_and_blocks_only_the_last(points, tmp_path):
    np.save(tmp_path / "x.npy", points)

    def fit(memory=0.25, n_jobs=1):
        with sklearn.config_context(working_memory=memory):
            return CAKE(4, n_runs=5, random_state=0, n_jobs=n_jobs).fit(tmp_path / "x.npy")

    one, two, other = fit(), fit(n_jobs=2), fit(memory=0.5)
    assert_array_equal(one.scores_, two.scores_)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.scores_, other.scores_, atol=1e-9)


@pytest.mark.usefixtures("small_memory")
def test_k_means_goes_on_where_the_sample_ended(points, tmp_path):
    """After the passes each centre is the mean of its points, as no sample alone would have it."""
    np.save(tmp_path / "x.npy", points)
    cake = CAKE(4, n_runs=3, random_state=0).fit(tmp_path / "x.npy")
    for run, centers in zip(cake.ensemble_.place(points).T, cake.ensemble_.centers, strict=True):
        means = np.array([points[run == label].mean(axis=0) for label in range(4)])
        assert ((means - centers) ** 2).sum() <= stream.SHIFT_TOLERANCE * points.var(
            axis=0
        ).mean() * 1.1


def test_a_file_that_fits_into_memory_is_loaded(points, tmp_path):
    pd.DataFrame(points, columns=COLUMNS).to_csv(tmp_path / "x.csv", index=False)
    cake = CAKE(4, n_runs=5, random_state=0).fit(tmp_path / "x.csv")
    expected = CAKE(4, n_runs=5, random_state=0).fit(pd.read_csv(tmp_path / "x.csv", **EXACT))
    assert_array_equal(cake.scores_, expected.scores_)
    assert cake.geometry_method_ == "exact"
    assert cake.feature_names_in_.tolist() == COLUMNS


WRITTEN = [
    suffix for kind in FORMATS.values() if kind.write is not None for suffix in kind.suffixes
]


@pytest.mark.parametrize("suffix", [*WRITTEN, ".CSV", ".Parquet", ".csv.GZ"])
def test_fit_reads_every_format_that_read_table_reads(points, tmp_path, suffix):
    frame, path = pd.DataFrame(points[:300], columns=COLUMNS), tmp_path / f"x{suffix}"
    if suffix == ".npy":
        np.save(path, frame.to_numpy())
    else:
        write_table(frame, path)
    expected = CAKE(4, n_runs=3, random_state=0).fit(read_table(path).data.to_numpy())
    assert_array_equal(CAKE(4, n_runs=3, random_state=0).fit(path).scores_, expected.scores_)
    assert_array_equal(CAKE(4, n_runs=3, random_state=0).fit(str(path)).labels_, expected.labels_)


def test_fit_reads_sparse_matrices_and_cells(points, tmp_path):
    import anndata

    matrix = sparse.csr_array(np.where(points[:300] > 0, points[:300], 0.0))
    sparse.save_npz(tmp_path / "x.npz", matrix)
    cake = CAKE(4, n_runs=3, geometry="rms", random_state=0)
    expected = clone(cake).fit(matrix).scores_
    assert_array_equal(clone(cake).fit(tmp_path / "x.npz").scores_, expected)
    cells = anndata.AnnData(np.zeros((300, 1)))
    cells.obsm["X_pca"] = points[:300]
    cells.write_h5ad(tmp_path / "x.h5ad")
    assert_array_equal(
        clone(cake).fit(tmp_path / "x.h5ad").scores_, clone(cake).fit(points[:300]).scores_
    )


def test_columns_are_chosen_alike_in_blocks_and_whole(tmp_path):
    frame = pd.DataFrame({"name": [1.0, 2.0, 3.0], "x": [0.5, 1.5, 2.5], "y": [3.0, 2.0, 1.0]})
    for suffix in (".csv", ".tab", ".pq", ".feather"):
        path = tmp_path / f"x{suffix}"
        write_table(frame, path)
        whole, source = open_source(path), open_source(path).only(["x"], "name")
        assert whole.columns == ["name", "x", "y"]
        assert source.columns == ["name", "x"]
        part = pd.concat(source.frames(2), ignore_index=True).astype(float)
        pd.testing.assert_frame_equal(part, frame[["name", "x"]])
        pd.testing.assert_frame_equal(pd.concat(whole.frames(2), ignore_index=True), frame)


def test_a_file_with_a_column_without_a_name_is_refused(points, tmp_path):
    for suffix in ("csv", "json"):
        path = tmp_path / f"x.{suffix}"
        write_table(pd.DataFrame(points[:20], columns=["Unnamed: 0", "x", "y"]), path)
        with pytest.raises(ValueError, match="has a column without a name, 'Unnamed: 0'"):
            CAKE(2, n_runs=3).fit(path)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"geometry": "exact"}, "geometry='exact' needs all points at once"),
        ({"geometry": "kernel"}, "geometry='kernel' needs all points at once"),
        ({"metric": "manhattan"}, "metric='manhattan' needs all points at once"),
        ({"consensus": "best-reference"}, "consensus='best-reference' needs all points at once"),
        ({"n_runs": "auto"}, "n_runs='auto' needs all points at once"),
    ],
)
def test_what_needs_all_points_at_once_is_refused(points, tmp_path, params, what):
    np.save(tmp_path / "x.npy", points)
    with pytest.raises(ValueError, match=what):
        CAKE(4, **params).fit(tmp_path / "x.npy")


@pytest.mark.usefixtures("small_memory")
def test_arrays_on_disk_go_when_they_are_needed_no_more(points, tmp_path):
    np.save(tmp_path / "x.npy", points)
    cake = CAKE(4, n_runs=3, random_state=0)
    folders = [Path(cake.fit(tmp_path / "x.npy").scores_.filename).parent for _ in range(2)]
    assert [folder.exists() for folder in folders] == [False, True]
    del cake
    gc.collect()
    assert not folders[1].exists()


@pytest.mark.usefixtures("small_memory")
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="it says which files are mapped")
def test_no_file_is_deleted_while_it_is_mapped(points, tmp_path, monkeypatch):
    """Windows refuses that, and the file would stay for good."""
    np.save(tmp_path / "x.npy", points)
    real = os.unlink

    def unlink(path, **how):
        if str(path) in Path("/proc/self/maps").read_text():
            raise PermissionError(13, "in use", str(path))
        real(path, **how)

    monkeypatch.setattr(os, "unlink", unlink)
    cake = CAKE(4, n_runs=3, random_state=0).fit(tmp_path / "x.npy")
    scores = cake.scores_
    folder = Path(scores.filename).parent
    del cake
    gc.collect()
    assert [path.name for path in folder.iterdir()] == [Path(scores.filename).name]
    del scores
    gc.collect()
    assert not folder.exists()


@pytest.mark.usefixtures("small_memory")
def test_a_run_with_one_cluster_is_told(points, tmp_path):
    np.save(tmp_path / "x.npy", points)
    with pytest.warns(UserWarning, match="have one cluster"):
        CAKE(1, n_runs=3).fit(tmp_path / "x.npy")


@pytest.mark.usefixtures("small_memory")
def test_points_left_out_of_a_run_cannot_be_skipped(points, tmp_path):
    np.save(tmp_path / "x.npy", points)
    with pytest.raises(
        ValueError, match=r"left_out='skip' with resample=0\.5 needs all points at once"
    ):
        CAKE(4, resample=0.5).fit(tmp_path / "x.npy")
    cake = CAKE(4, resample=0.5, n_runs=Runs(3, left_out="predict"), random_state=0).fit(
        tmp_path / "x.npy"
    )
    assert np.isfinite(cake.scores_).all()


# Files with nothing in places


@pytest.mark.usefixtures("small_memory")
def test_empty_files_and_lines_change_nothing(points, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = pd.DataFrame(points, columns=COLUMNS)
    (folder / "0.csv").write_text("x,y,z\n")
    (folder / "1.csv").write_text(frame.to_csv(index=False) + "\n" * 20_000)
    (folder / "2.csv").write_text("x,y,z\n\n")
    frame.to_csv(tmp_path / "x.csv", index=False)
    cake, expected = (
        CAKE(4, n_runs=3, random_state=0).fit(path) for path in (folder, tmp_path / "x.csv")
    )
    assert_array_equal(cake.scores_, expected.scores_)


@pytest.mark.usefixtures("small_memory")
def test_files_without_rows_are_told(tmp_path):
    (tmp_path / "x.csv").write_text("x,y\n" + "\n" * 100_000)
    with pytest.raises(ValueError, match="X has 0 rows"):
        CAKE(4).fit(tmp_path / "x.csv")


@pytest.mark.usefixtures("small_memory")
def test_types_of_pandas_own_are_numbers_too(points, tmp_path):
    frame = pd.DataFrame(points.round(), columns=COLUMNS)
    frame.astype("Int64").to_parquet(tmp_path / "own.parquet")
    frame.to_parquet(tmp_path / "plain.parquet")
    own, plain = (
        CAKE(4, n_runs=3, random_state=0).fit(tmp_path / f"{name}.parquet")
        for name in ("own", "plain")
    )
    assert_array_equal(own.scores_, plain.scores_)
    frame.astype("Int64").drop(index=5000).reindex(range(6000)).to_parquet(tmp_path / "own.parquet")
    with pytest.raises(ValueError, match=r"X contains 3 value\(s\) that are missing"):
        CAKE(4).fit(tmp_path / "own.parquet")


def test_compressed_files_count_as_what_they_hold(tmp_path):
    frame = pd.DataFrame({"x": np.zeros(100_000)})
    frame.to_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 80_000
    assert ParquetSource.size_of(tmp_path / "x.parquet") == 800_000


# Files that cannot be read


@pytest.mark.usefixtures("small_memory")
def test_a_missing_value_is_told_with_its_place(points, tmp_path):
    frame = pd.DataFrame(points, columns=COLUMNS, copy=True)
    frame.loc[4321, "y"] = np.nan
    frame.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(
        ValueError, match=r"rows from \d+ on: X contains 1 value\(s\) .* column 1 \('y'\)"
    ):
        CAKE(4).fit(tmp_path / "x.csv")


def test_a_file_cut_short_is_told(points, tmp_path):
    np.save(tmp_path / "x.npy", points)
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-100])
    with pytest.raises(ValueError, match="is cut short"):
        open_source(tmp_path / "x.npy")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([["a", {}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"must be .* numbers"):
        open_source(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "holds no files"),
        ({"a.csv": "x\n1\n", "b.parquet": ""}, "a folder of one format"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x\n1\n"}, "make them the same"),
        ({"a.txt": "1"}, "a folder of one format"),
    ],
)
def test_folders_that_are_no_table_are_told(tmp_path, files, what):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=what):
        open_source(tmp_path)


def test_text_columns_are_told_and_can_be_left_out(tmp_path):
    (tmp_path / "x.csv").write_text("id,x,kind\n007,1,a\nNA,2,b\n")
    source = open_source(tmp_path / "x.csv")
    with pytest.raises(ValueError, match=r"not numbers: .*kind"):
        list(source.read(10))
    assert_array_equal(next(source.only(["x"]).read(10)).X, [[1.0], [2.0]])
    (frame,) = source.only(["x"], "id").frames(10)
    assert frame["id"].tolist() == ["007", "NA"]


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_every_pass_tells_how_far_it_is(points, tmp_path, monkeypatch, capsys, suffix):
    file = tmp_path / f"x.{suffix}"
    np.save(file, points) if suffix == "npy" else pd.DataFrame(points, columns=list("abc")).to_csv(
        file, index=False
    )
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with sklearn.config_context(working_memory=0.1):
        cake = CAKE(3, n_runs=3, random_state=0, verbose=True).fit(file)
    n = len(points)
    told = [line.split("\r")[-1] for line in capsys.readouterr().err.split("\n")]
    bar = f"[{'#' * 30}] {n}/{n}"
    # Of a CSV only reading tells how many rows there are.
    assert told[0] == f"sampling {bar if suffix == 'npy' else n}"
    assert sum(line.endswith(bar) for line in told[1:]) == cake.n_passes_ - 1


def test_an_array_stored_column_by_column_reads_as_one_stored_row_by_row(points, tmp_path):
    for name, order in (("rows", "C"), ("columns", "F")):
        np.save(tmp_path / f"{name}.npy", np.array(points, order=order))
    by_rows, by_columns = (open_source(tmp_path / f"{name}.npy") for name in ("rows", "columns"))
    for one, other in zip(by_rows.read(700), by_columns.read(700), strict=True):
        assert_array_equal(other.X, one.X)
        assert other.X.flags.c_contiguous
