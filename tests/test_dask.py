"""On Dask: the same labels to the bit as the out-of-core path of one machine on the same blocks."""

import json
import os
import signal
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from command import run
from dask_fits import ON_A_CLUSTER, ROWS, fit, fit_out_of_core
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clustertrust import CAKE, build_ensemble, confidence
from clustertrust.files import open_source

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = ON_A_CLUSTER


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"geometry": "centroid"},
        {"clusterer": "gmm"},
        {"agreement": "jaccard"},
        {"agreement": "reference"},
    ],
    ids=str,
)
def test_same_as_out_of_core_without_a_cluster(points, options):
    cake, expected = (
        fit(da.from_array(points, chunks=(ROWS, 3)), **options),
        fit_out_of_core(points, **options),
    )
    assert isinstance(cake.scores_, da.Array)
    assert isinstance(cake.labels_, da.Array)
    assert cake.n_passes_ == expected.n_passes_
    assert_array_equal(cake.labels_.compute(), expected.labels_)
    assert_allclose(cake.scores_.compute(), expected.scores_, atol=1e-12)
    assert_allclose(cake.votes_.compute(), expected.votes_, atol=1e-12)


@pytest.mark.usefixtures("small_sample")
def test_same_on_worker_processes(points, client):
    cake, expected = fit(da.from_array(points, chunks=(ROWS, 3))), fit_out_of_core(points)
    assert_array_equal(cake.labels_.compute(), expected.labels_)
    assert_allclose(cake.scores_.compute(), expected.scores_, atol=1e-12)
    assert_array_equal(cake.predict(points[:50]), expected.predict(points[:50]))


@pytest.mark.usefixtures("small_sample")
def test_frames_keep_their_columns(points, client):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(points, columns=list("xyz")), npartitions=6)
    cake = fit(frame)
    assert cake.feature_names_in_.tolist() == ["x", "y", "z"]
    # Six partitions of 1500 rows.
    assert_array_equal(cake.labels_.compute(), fit_out_of_core(points).labels_)


@pytest.mark.usefixtures("small_sample")
def test_a_worker_that_dies_changes_nothing(points, cluster, client):
    killed = []

    def slow(block):
        """The block; a worker that gets the fourth one dies, once."""
        from pathlib import Path

        flag = Path(folder) / "killed"
        if np.array_equal(block[0], points[3 * ROWS]) and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        X = da.from_array(points, chunks=(ROWS, 3)).map_blocks(slow, dtype=float)
        cake = fit(X)
        labels, scores = dask.compute(cake.labels_, cake.scores_)
        killed.append(os.path.exists(os.path.join(folder, "killed")))
    assert killed == [True]
    expected = fit_out_of_core(points)
    assert_array_equal(labels, expected.labels_)
    assert_allclose(scores, expected.scores_, atol=1e-12)


def test_joblib_spreads_the_runs_of_an_ensemble_in_memory(points, client):
    with joblib.parallel_config(backend="dask"):
        spread = build_ensemble(points, n_clusters=4, n_runs=4, random_state=0)
    assert_array_equal(
        spread.labels, build_ensemble(points, n_clusters=4, n_runs=4, random_state=0).labels
    )


def test_rows_may_be_cut_into_columns(points):
    whole, cut = (fit(da.from_array(points[:3000], chunks=(ROWS, width))) for width in (3, 1))
    assert_array_equal(whole.scores_.compute(), cut.scores_.compute())


# Beside the fit in memory


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    ("spread", "ari", "mean", "largest"),
    [(0.5, 1.0, 1e-12, 1e-12), (1.0, 0.99, 1e-3, 0.03), (2.0, 0.97, 0.01, 0.2)],
    ids=["apart", "touching", "overlapping"],
)
def test_near_the_fit_in_memory(spread, ari, mean, largest):
    """Runs that start on a sample may end elsewhere, as those of another seed may.

    Not where clusters are apart.
    """
    points, _ = make_blobs(9000, 3, centers=4, cluster_std=spread, random_state=0)
    cake, expected = fit(da.from_array(points, chunks=(ROWS, 3))), fit(points, geometry="rms")
    labels, scores = dask.compute(cake.labels_, cake.scores_)
    assert adjusted_rand_score(labels, expected.labels_) >= ari
    assert np.abs(scores - expected.scores_).mean() <= mean
    assert np.abs(scores - expected.scores_).max() <= largest


# What a fit leaves behind


def test_tables_have_the_row_names_of_the_frame(points):
    given = pd.DataFrame(
        points[:3000], columns=list("xyz"), index=pd.Index([f"cell {i:04}" for i in range(3000)])
    )
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(given, npartitions=3)
    cake = fit(frame)
    assert cake.to_frame().index.tolist() == given.index.tolist()
    assert confidence(frame, cake.ensemble_).to_frame().index.equals(frame.compute().index)
    assert cake.explain(2500).point == 2500


def test_table_summary_reasons_and_file_of_a_fit(points, tmp_path):
    X = da.from_array(points[:3000], chunks=(ROWS, 3))
    cake, expected = fit(X), fit(points[:3000], geometry="rms")  # the sample is all of the data
    pd.testing.assert_frame_equal(cake.to_frame(), expected.to_frame(), atol=1e-12, rtol=0)
    assert cake.summary() == expected.summary()
    assert str(cake.explain(-7)) == str(expected.explain(-7))
    cake.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    cake.save(tmp_path / "cake.model")
    loaded = CAKE.load(tmp_path / "cake.model")
    assert_allclose(loaded.scores_, expected.scores_, atol=1e-12)
    assert_array_equal(loaded.score_samples(points[:50]), cake.score_samples(points[:50]))


@pytest.mark.usefixtures("small_sample")
def test_a_model_of_many_rows_keeps_the_scores_of_its_sample(points, tmp_path):
    cake = fit(da.from_array(points, chunks=(ROWS, 3)))
    cake.save(tmp_path / "cake.model")
    loaded = CAKE.load(tmp_path / "cake.model")
    assert len(loaded.scores_) == 2000
    assert_array_equal(loaded.predict(points), cake.predict(points))


def test_unseen_points_of_another_type_in_blocks(points):
    cake = CAKE(4, clusterer="bisecting-kmeans", n_runs=3, geometry="rms", random_state=0).fit(
        points[:2000]
    )
    single = points.astype(np.float32)
    new, by_hand = da.from_array(single, chunks=(ROWS, 3)), single.astype(np.float64)
    assert_array_equal(cake.predict(new).compute(), cake.predict(by_hand))
    assert_allclose(cake.score_samples(new).compute(), cake.score_samples(by_hand), atol=1e-12)


@pytest.mark.parametrize("geometry", ["rms", "exact"])
def test_unseen_points_in_blocks(points, geometry):
    cake = CAKE(4, n_runs=5, geometry=geometry, random_state=0).fit(
        pd.DataFrame(points[:2000], columns=list("xyz"))
    )
    new = da.from_array(points, chunks=(ROWS, 2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        labels, scores = cake.predict(points), cake.score_samples(points)
    assert isinstance(cake.predict(new), da.Array)
    assert_array_equal(cake.predict(new).compute(), labels)
    assert_allclose(cake.score_samples(new).compute(), scores, atol=1e-12)
    assert cake.score(new) == pytest.approx(scores.mean())
    with pytest.raises(ValueError, match="X has 2 columns; this model was fitted on 3"):
        cake.predict(new[:, :2])
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(points, columns=list("zyx")), npartitions=2)
    with pytest.raises(ValueError, match=r"fitted on \['x', 'y', 'z'\], in this order"):
        cake.predict(frame)


# What data may be like


@pytest.mark.usefixtures("small_sample")
def test_empty_partitions_change_nothing(points):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(points, columns=list("xyz")), npartitions=6)
    gaps = frames.concat([frame[frame.x > 1e9], frame, frame[frame.x > 1e9]])
    assert gaps.npartitions == 18
    cake, expected = fit(gaps), fit(frame)
    assert_array_equal(cake.scores_.compute(), expected.scores_.compute())
    with pytest.raises(ValueError, match="X has 0 rows"):
        fit(frame[frame.x > 1e9])


def test_types_of_pandas_own_are_numbers_too(points):
    frames = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(points[:3000], columns=list("xyz"))
    own = frames.from_pandas(frame.astype("Float64"), npartitions=2)
    assert_array_equal(
        fit(own).scores_.compute(), fit(frames.from_pandas(frame, npartitions=2)).scores_.compute()
    )
    with pytest.raises(ValueError, match=r"X has columns that are not numbers: \['kind'\]"):
        fit(frames.from_pandas(frame.assign(kind="a"), npartitions=2))
    with pytest.raises(ValueError, match=r"missing or infinite .* \('y'\)"):
        fit(
            frames.from_pandas(
                frame.astype("Float64").assign(y=pd.NA).astype("Float64"), npartitions=2
            )
        )


def test_whole_numbers_that_floats_cannot_tell_apart_are_told():
    X = da.from_array(np.arange(40).reshape(20, 2) + 2**60, chunks=(10, 2))
    with pytest.raises(ValueError, match="beyond 2\\*\\*53"):
        fit(X)


def test_missing_values_are_told_with_their_place(points):
    broken = points[:3000].copy()
    broken[2500, 1] = np.nan
    with pytest.raises(ValueError, match=r"rows from 1500 on: X contains 1 value"):
        fit(da.from_array(broken, chunks=(ROWS, 3)))


def test_text_is_told():
    X = da.from_array(np.array([["a", "b"]] * 10), chunks=(5, 2))
    with pytest.raises(ValueError, match="must hold numbers"):
        fit(X)


def test_mini_batches_go_one_after_the_other_and_are_refused(points, small_sample):
    with pytest.raises(
        ValueError, match=r"'minibatch-kmeans' takes one mini-batch after the other.*'kmeans'"
    ):
        fit(da.from_array(points, chunks=(ROWS, 3)), clusterer="minibatch-kmeans")


def test_workers_prepare_a_table_as_one_machine_does(points, cluster, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(points * [1, 100, 1], columns=list("xyz"))
    frame["kind"] = rng.choice(["p", "q"], len(frame))
    frame["paid"] = [f"${value:,.0f}" for value in rng.gamma(2, 900, len(frame))]
    frame.loc[::100, "x"] = np.nan
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    typed = ["score", path, "-k", "4", "--runs", "3", "--geometry", "rms", "--only-scores"]
    found = []
    for more in ([], ["--scheduler", cluster.scheduler_address]):
        done = run(*typed, *more, "--out", tmp_path / "s.csv")
        assert "As categories: kind." in done.output
        assert "Scale: standard" in done.output
        found.append(pd.read_csv(tmp_path / "s.csv"))
    assert_array_equal(found[0]["label"], found[1]["label"])
    assert_allclose(found[0]["score"], found[1]["score"], atol=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_the_command_runs_on_a_scheduler(points, cluster, tmp_path, suffix):
    frame = pd.DataFrame(points, columns=list("xyz"))
    # Written as integers until the last few rows.
    frame.loc[:8990, "z"] = frame.loc[:8990, "z"].round()
    frame.insert(0, "name", [f"{i:05}" for i in range(len(frame))])
    path = tmp_path / f"x.{suffix}"
    text = frame.assign(
        z=[f"{z:.0f}" if i <= 8990 else repr(z) for i, z in enumerate(frame["z"].tolist())]
    )
    writers = {
        "csv": lambda: text.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path, row_group_size=2000),
        "feather": lambda: frame.to_feather(path),
    }
    writers[suffix]()
    typed = ["score", path, "-k", "4", "--runs", "5", "--id", "name", "--geometry", "rms"]
    typed += ["--scale", "none", "--scheduler", cluster.scheduler_address]
    run(*typed, "--out", tmp_path / "s.csv")
    scores = pd.read_csv(tmp_path / "s.csv", dtype={"name": str})
    expected = CAKE(4, n_runs=5, random_state=0, geometry="rms").fit(frame[["x", "y", "z"]])
    assert scores["name"].tolist() == frame["name"].tolist()
    assert_array_equal(scores["label"], expected.labels_)  # the sample is all of the data
    assert_allclose(scores["score"], expected.scores_, atol=1e-12)


@pytest.mark.parametrize(
    ("encoding", "above", "options"),
    [
        ("utf-8", "", {}),
        ("cp1252", "", {"sep": ";", "decimal": ","}),
        ("utf-16", "Größen\n\n", {"sep": ";"}),
        ("utf-8-sig", "", {"header": False}),
    ],
)
def test_text_on_a_scheduler_is_read_as_in_blocks(
    points, cluster, tmp_path, monkeypatch, encoding, above, options
):
    monkeypatch.setattr("clustertrust.files.lines.PART", 50_000)
    frame = pd.DataFrame(points, columns=["größe", "y", "z"])
    frame["kind"] = np.where(points[:, 0] > 0, "über", "unter")
    path = tmp_path / "x.csv"
    path.write_bytes((above + frame.to_csv(index=False, **options)).encode(encoding))
    typed = ["score", path, "-k", "4", "--runs", "3", "--memory", "1"]
    tables = []
    for name, more in (("here", []), ("there", ["--scheduler", cluster.scheduler_address])):
        done = run(*typed, *more, "--out", tmp_path / f"{name}.csv")
        text = (tmp_path / f"{name}.csv").read_text()
        marks = {"sep": ";", "decimal": ","} if "decimal" in options else {"sep": text[3]}
        tables.append((pd.read_csv(tmp_path / f"{name}.csv", **marks), done.output.split("passes")))
    (here, told), (there, told_there) = tables
    assert told[0] == told_there[0]
    assert_array_equal(here["label"], there["label"])
    assert_allclose(here["score"], there["score"], atol=1e-9)


def test_line_ends_inside_quotes_at_the_cut_between_parts_are_an_error(tmp_path, monkeypatch):
    frame = pd.DataFrame({"x": np.arange(90.0), "words": ["one\ntwo", "three", "four"] * 30})
    frame.to_csv(tmp_path / "x.csv", index=False)
    refused, n_read = [], 0
    for size in range(100, 400, 7):
        monkeypatch.setattr("clustertrust.files.lines.PART", size)
        source = open_source(tmp_path / "x.csv")
        try:
            parts = [part for part in map(source.part, source.parts()) if len(part)]
        except ValueError as error:
            refused.append(str(error))
        else:
            whole = pd.concat(parts, ignore_index=True)
            pd.testing.assert_frame_equal(whole, frame, check_dtype=False)
            n_read += 1
    assert refused
    assert n_read
    told = "line ends inside quotes can only be read without a scheduler"
    assert all(told in message for message in refused)


@pytest.mark.parametrize("more", [[], ["--drop-missing"]])
def test_rows_that_are_left_out_are_the_same_on_a_scheduler(
    points, cluster, tmp_path, monkeypatch, more
):
    monkeypatch.setattr("clustertrust.files.lines.PART", 20_000)
    frame = pd.DataFrame(points, columns=list("xyz")).astype(object)
    frame.loc[::7, "x"] = np.nan
    frame.loc[2000:3000, ["x", "y"]] = np.nan  # parts without a row
    units = pd.DataFrame([["cm", "cm", "kg"]], columns=list("xyz"))
    pd.concat([units, frame]).to_csv(tmp_path / "x.csv", index=False)
    tables = []
    for name, where in (("here", []), ("there", ["--scheduler", cluster.scheduler_address])):
        typed = ["score", tmp_path / "x.csv", "-k", "4", "--runs", "3", "--memory", "1", *more]
        typed += [*where, "--out", tmp_path / f"{name}.csv", "--json"]
        told = json.loads(run(*typed).stdout)
        assert told["rows"] - told["scored"] == (1002 if not more else 2145)
        tables.append(pd.read_csv(tmp_path / f"{name}.csv"))
    here, there = tables
    assert here["row"].equals(there["row"])
    assert here["reason"].equals(there["reason"])
    assert here["reason"][0] == "left out: units"
    assert_array_equal(here["label"], there["label"])
    assert_allclose(here["score"], there["score"], atol=1e-9)


@pytest.mark.parametrize("name", ["who", None])
def test_the_index_of_a_parquet_file_names_the_rows_on_a_scheduler(points, cluster, tmp_path, name):
    keys = pd.Index(np.random.default_rng(0).permutation(len(points)), name=name)
    frame = pd.DataFrame(points, columns=list("xyz"), index=keys)
    frame.to_parquet(tmp_path / "x.parquet")
    typed = ["score", tmp_path / "x.parquet", "-k", "4", "--runs", "3", "--geometry", "rms"]
    typed += ["--scale", "none", "--out", tmp_path / "s.csv"]
    typed += ["--scheduler", cluster.scheduler_address]
    run(*typed)
    scores = pd.read_csv(tmp_path / "s.csv")
    assert_array_equal(scores[name or "id"], keys)
    whole = CAKE(4, n_runs=3, random_state=0, geometry="rms").fit(points)
    assert_array_equal(scores["label"], whole.labels_)
