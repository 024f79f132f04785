"""Disks, files and numbers that go wrong: a right answer or a clear error, and nothing
half-written.

`docs/faults.md` lists all faults with the tests that show them; here are those that no other file
of tests has.
"""

import errno
import gzip
import json
import os
import re
import resource
import warnings
import zipfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from clustertrust import CAKE, Ensemble, build_ensemble, confidence
from clustertrust.cli import cli
from clustertrust.files import TableError, open_source, read_table
from clustertrust.storage import read_arrays, write_arrays
from clustertrust.streaming import passes, stream

ROWS = 8000  # as text more than a quarter of a MiB, which is what --memory 1 loads at most
X = make_blobs(ROWS, 2, centers=2, cluster_std=1.0, random_state=0)[0]
FRAME = pd.DataFrame(X, columns=["a", "b"])
FAST = ["-k", "2", "--runs", "3"]
HOW = {"whole": [], "blocks": ["--memory", "1"]}
both = pytest.mark.parametrize("how", HOW)
GEOMETRIES = ["exact", "centroid", "rms", "kernel"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sklearn.config_context():  # --memory sets it for the process
        yield tmp_path


def score(*typed, code=0):
    """Run `clustertrust score`; an error is one or two lines, and leaves the folder as it was."""
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    done = CliRunner().invoke(cli, ["score", *map(str, typed)])
    assert done.exit_code == code, done.output
    if code:
        assert done.stderr.startswith("Error: ")
        assert len(done.stderr.strip().splitlines()) <= 2
        assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before
    return done


def refused(path, told, how="whole", *more):
    """What the command and the library say to a file."""
    typed = score(path, *FAST, *HOW[how], "--out", "scores.csv", *more, code=1).stderr
    assert re.search(told, typed)
    assert str(path) in typed
    sklearn.set_config(working_memory=1 if how == "blocks" else 1024)
    with pytest.raises((ValueError, OSError), match=told):
        CAKE(2, n_runs=3, random_state=0).fit(path)


# The disk


@contextmanager
def full_disk(size):
    """No file may become larger than so many bytes: the write that would make it so fails, as on a
    full disk.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@both
@pytest.mark.parametrize("out", ["scores.csv", "scores.csv.gz", "scores.parquet", "scores.npz"])
def test_disk_full_while_scores_are_written(folder, how, out):
    out = out.replace("npz", "tsv") if how == "blocks" else out  # blocks do not write NPZ
    FRAME.to_csv("x.csv", index=False)
    typed = ["x.csv", *FAST, *HOW[how], "--geometry", "rms", "--out", out]
    score(
        *typed
    )  # once before: what is compiled or cached on the way would find the disk full as well
    Path(out).write_bytes(b"old")
    with full_disk(20_000):
        told = score(*typed, code=1).stderr
    assert f"File too large: {out} could not be written, and nothing of it is left" in told
    assert Path(out).read_bytes() == b"old"


@pytest.mark.parametrize("kind", ["model", "report", "plot", "checkpoint"])
def test_disk_full_while_other_files_are_written(folder, kind):
    FRAME.to_csv("x.csv", index=False)
    name = {"report": "r.html", "plot": "p.png"}.get(kind, kind)
    typed = ["x.csv", *FAST, "--jobs", "1", "--geometry", "rms", f"--{kind}"]
    score(*typed, f"first-{name}")  # see above
    before = sorted(Path().rglob("*"))
    with full_disk(600 if kind == "checkpoint" else 4000):
        done = CliRunner().invoke(cli, ["score", *typed, name])
    assert done.exit_code == 1
    assert "File too large" in done.stderr
    assert name in done.stderr
    left = sorted(set(Path().rglob("*")) - set(before))
    # A checkpoint keeps what was finished before: its note of the settings. No part of a run is
    # there.
    assert [str(path) for path in left] == (
        ["checkpoint", "checkpoint/settings.json"] if kind == "checkpoint" else []
    )


def test_disk_full_is_no_failed_run_to_be_dropped(folder):
    build_ensemble(
        X, n_clusters=2, n_runs=3, random_state=0, n_jobs=1, checkpoint="first"
    )  # see above
    with full_disk(600), pytest.raises(OSError, match=r"File too large: .*run-0000\d\.npz"):
        build_ensemble(
            X,
            n_clusters=2,
            n_runs=3,
            random_state=0,
            n_jobs=1,
            on_failure="drop",
            checkpoint="runs",
        )
    assert os.listdir("runs") == ["settings.json"]


def test_disk_full_while_a_model_is_saved(folder):
    cake = CAKE(2, n_runs=3, geometry="rms", random_state=0).fit(X)
    cake.save("model")
    old = Path("model").read_bytes()
    with full_disk(4000), pytest.raises(OSError, match="File too large"):
        cake.save("model")
    assert Path("model").read_bytes() == old
    assert os.listdir() == ["model"]


def test_disk_full_where_results_of_blocks_are_kept(folder, monkeypatch):
    """They are mapped into memory: their room is taken before, since a write to such a page cannot
    fail in order.
    """
    np.save("x.npy", X)
    (folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stream.os, "posix_fallocate", full)
    with (
        sklearn.config_context(working_memory=0.1),
        pytest.raises(
            OSError,
            match=r"No space left on device: .* bytes of results are wanted in .*set TMPDIR",
        ),
    ):
        CAKE(2, n_runs=3, random_state=0).fit("x.npy")
    assert not os.listdir("tmp")


# Files that cannot be read


@contextmanager
def nobody():
    """Without the rights of root, to whom every file is open."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@both
def test_no_right_to_read(tmp_path_factory, how):
    import tempfile

    with tempfile.TemporaryDirectory() as name:  # pytest's folders are closed to others as a whole
        path = Path(name) / "x.csv"
        FRAME.to_csv(path, index=False)
        Path(name).chmod(0o755)
        path.chmod(0)
        with nobody(), sklearn.config_context():
            done = CliRunner().invoke(cli, ["score", str(path), *FAST, *HOW[how]])
            with pytest.raises(PermissionError, match=r"Permission denied: .*x\.csv"):
                CAKE(2).fit(path)
    assert done.exit_code in {1, 2}
    assert "is not readable" in done.stderr or "Permission denied" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="a file that exists and fails to be read"
)
@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_disk_that_fails_while_a_file_is_read(folder, suffix):
    os.symlink("/proc/self/mem", f"x{suffix}")
    refused(f"x{suffix}", "Input/output error")


# Files that are no tables


def write_lines(path, at, line):
    """The table as text, with one line at a place of its own."""
    lines = FRAME.to_csv(index=False).splitlines()
    text = "\n".join([*lines[:at], line, *lines[at:]]) + "\n"
    path = Path(path)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@both
@pytest.mark.parametrize("at", [1, 2, 1024, 1025, 1026, 5000])  # blocks begin with rows 1, 1025, …
def test_row_with_too_many_fields(folder, how, at, monkeypatch):
    monkeypatch.setattr(passes, "rows_of_block", lambda *_: 1024)
    write_lines("x.csv", at, "1,2,3")
    refused("x.csv", "fields", how)


def refused_by_library(path, told, rows=1000):
    with pytest.raises(ValueError, match=told):
        list(open_source(path).read(rows))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("at", [1, 2, 1000, 1001, 1002, 2001, 7999])
def test_row_with_too_many_fields_at_the_edge_of_a_block(folder, at, suffix):
    """pandas' own blocks drop the surplus field of their first row; so they did here, once."""
    write_lines(f"x{suffix}", at, "1,2,3")
    refused_by_library(f"x{suffix}", "a line with too many fields")


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_quoted_fields_may_hold_line_ends_at_the_edge_of_a_block(folder, rows):
    names = ["one\ntwo", 'say "x"', "\n\n", "plain", 'a\n"b"\nc'] * 4
    frame = pd.DataFrame({"x": np.arange(20.0), "name": names, "y": -np.arange(20.0)})
    frame.to_csv("x.csv", index=False)
    blocks = list(open_source("x.csv", id="name").read(rows))
    assert_array_equal(np.concatenate([block.X for block in blocks]), frame[["x", "y"]])
    assert [name for block in blocks for name in block.ids] == names


def test_blank_lines_and_a_byte_order_mark_are_no_rows(folder):
    Path("x.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4\r\n\r\n\r\n5,6")
    assert_array_equal(
        np.concatenate([block.X for block in open_source("x.csv").read(2)]),
        [[1, 2], [3, 4], [5, 6]],
    )
    Path("x.csv").write_bytes(b"\n\na,b\n1,2\n3,4\n")
    assert_array_equal(
        np.concatenate([block.X for block in open_source("x.csv").read(1)]), [[1, 2], [3, 4]]
    )


@both
def test_quote_that_does_not_close(folder, how):
    write_lines("x.csv", 6000, '"1,2')
    refused("x.csv", "quotes that do not close", how)


@both
@pytest.mark.parametrize("at", [0, 100_000])
def test_bytes_that_are_not_utf8(folder, how, at):
    text = FRAME.to_csv(index=False).encode()
    Path("x.csv").write_bytes(text[:at] + b"\xff" + text[at:])
    if how == "whole":  # then they are taken as Windows' own
        assert "Read: as cp1252 text." in score("x.csv", *FAST).stdout
        return
    refused("x.csv", "is not UTF-8 text", how)
    assert f"at byte {at}" in score("x.csv", *FAST, *HOW[how], code=1).stderr


@pytest.mark.parametrize("exponent", ["999999999999", "99985289539473"])
def test_exponents_without_end_are_told(folder, exponent):
    """pandas' default parser and `to_numeric` die of them, and the process with them: a find of
    benchmarks/fuzz.py.
    """
    Path("x.csv").write_text(f"a,b\n1,2\n3.7e-{exponent},4\n")
    (block,) = open_source("x.csv").read(10)
    assert_array_equal(block.X, [[1, 2], [0, 4]])
    Path("x.csv").write_text(f"a,b\n1,2\n3.7e{exponent},4\n")
    score("x.csv", *FAST)  # to the command it is a text
    with pytest.raises(ValueError, match="not numbers|missing or infinite"):  # from pandas 3.1 on
        CAKE(2, n_runs=3, random_state=0).fit("x.csv")


@both
@pytest.mark.parametrize("damage", ["cut", "hole"])
def test_parquet_file_cut_short_or_overwritten(folder, how, damage):
    rough = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 2)), columns=["a", "b"])
    rough.to_parquet("x.parquet", row_group_size=2000)
    whole = Path("x.parquet").read_bytes()
    middle = len(whole) // 2
    hole = whole[:middle] + bytes(40_000) + whole[middle + 40_000 :]
    Path("x.parquet").write_bytes(whole[:-2000] if damage == "cut" else hole)
    refused("x.parquet", "cannot be read as", how)


def test_parquet_text_that_is_no_text(folder):
    """A find of benchmarks/fuzz.py: Arrow has a kind of error of its own for it."""
    import pyarrow as pa
    import pyarrow.parquet

    offsets, body = pa.py_buffer(np.array([0, 2, 4], dtype=np.int32)), pa.py_buffer(b"\xff\xfeab")
    names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, body])
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "name": names}), "x.parquet")
    with pytest.raises(TableError, match=r"x\.parquet cannot be read as parquet"):
        read_table("x.parquet")
    with pytest.raises(TableError, match=r"x\.parquet cannot be read as parquet"):
        list(open_source("x.parquet", id="name").read(10))


@both
@pytest.mark.parametrize("at", [1, 7999])
def test_column_of_mixed_types(folder, how, at):
    write_lines("x.csv", at, "oops,2")
    if how == "whole":
        told = score("x.csv", *FAST, "--geometry", "rms").stdout
        assert "Note on a: 1 texts such as 'oops' are taken as missing." in told
        return
    told = "nothing but numbers is clustered: a" if at == 1 else "not numbers"
    assert told in score("x.csv", *FAST, *HOW[how], code=1).stderr


def test_column_of_mixed_types_in_a_frame():
    frame = FRAME.astype({"a": object})
    frame.loc[17, "a"] = "oops"
    with pytest.raises(ValueError, match=r"X has columns that are not numbers: \['a'\]"):
        CAKE(2).fit(frame)


@both
@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("a,a", "more than one column of the name 'a'"),
        ("1.5,2", "numbers in its first line"),
    ],
)
def test_first_lines_that_are_no_names(folder, how, first, told):
    lines = FRAME.to_csv(index=False).splitlines()
    Path("x.csv").write_text("\n".join([first, *lines[1:]]))
    assert told in score("x.csv", *FAST, *HOW[how], code=1).stderr
    with pytest.raises(ValueError, match=told):
        CAKE(2).fit("x.csv")


def test_empty_folder(folder):
    Path("data").mkdir()
    refused("data", "holds no files")


def test_ids_that_occur_twice_stay_as_they_are(folder):
    frame = FRAME.assign(name=["x", "y"] * (ROWS // 2))
    frame.to_csv("x.csv", index=False)
    for how, more in HOW.items():
        score("x.csv", *FAST, *more, "--id", "name", "--geometry", "rms", "--out", f"{how}.csv")
        assert pd.read_csv(f"{how}.csv")["name"].tolist() == frame["name"].tolist()
    done = CliRunner().invoke(
        cli, ["report", "whole.csv", "--data", "x.csv", "--id", "name", "--out", "r.html"]
    )
    assert done.exit_code == 1  # here they are needed to find the row
    assert "its values occur more than once" in done.stderr
    assert not Path("r.html").exists()


# Odd shapes


def test_a_hundred_thousand_columns(folder):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(8, 100_000)) + 5.0 * np.repeat([0, 1], 4)[:, None]
    cake = CAKE(2, n_runs=3, random_state=0).fit(wide)
    assert_array_equal(cake.labels_ == cake.labels_[0], np.arange(8) < 4)
    assert (cake.scores_ > 0.5).all()
    np.save("wide.npy", wide)
    score("wide.npy", *FAST, "--out", "s.csv", "--model", "m")
    assert_allclose(pd.read_csv("s.csv")["score"], cake.scores_, rtol=1e-9)
    done = CliRunner().invoke(cli, ["predict", "m", "wide.npy", "--out", "p.csv"])
    assert done.exit_code == 0, done.output
    assert_array_equal(pd.read_csv("p.csv")["label"], cake.labels_)


@both
def test_one_column(folder, how):
    frame = pd.DataFrame({"a": np.r_[np.linspace(0, 1, 20_000), np.linspace(5, 6, 20_000)]})
    frame.to_csv("x.csv", index=False)
    score("x.csv", *FAST, *HOW[how], "--geometry", "rms", "--out", "s.csv")
    scores = pd.read_csv("s.csv")
    assert scores["label"].nunique() == 2
    assert (scores["label"][:20_000] == scores["label"][0]).all()
    assert scores["score"].between(0.5, 1).all()


def test_one_row_in_blocks(folder):
    """In memory: tests/test_cli.py::test_errors_are_short_and_say_what_to_do."""
    Path("data").mkdir()
    Path("data/x.csv").write_text("a,b\n1,2\n")
    assert "1 row" in score("data", *FAST, code=1).stderr
    np.save("x.npy", np.ones((1, 2)))
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(ValueError, match="X has 1 rows"),
    ):
        CAKE(1).fit("x.npy")


@both
@pytest.mark.parametrize("scaled", [[], ["--standardize"]])
def test_constant_columns_change_nothing(folder, how, scaled):
    apart = FRAME + 9 * (np.arange(ROWS) % 2)[:, None]  # or rounding moves a point at the border
    apart.to_csv("x.csv", index=False)
    apart.assign(c=0.1, d=-7e9, e=0).to_csv("y.csv", index=False)
    for name in "xy":
        score(
            f"{name}.csv", *FAST, *HOW[how], *scaled, "--geometry", "rms", "--out", f"s{name}.csv"
        )
    one, other = (pd.read_csv(f"s{name}.csv") for name in "xy")
    assert_array_equal(one["label"], other["label"])
    assert_allclose(one["score"], other["score"], atol=1e-6)


@both
def test_duplicates_only(folder, how):
    pd.DataFrame({"a": np.full(80_000, 1.5), "b": 2.5}).to_csv("x.csv", index=False)
    done = score("x.csv", *FAST, *HOW[how], "--geometry", "rms", "--out", "s.csv")
    assert "fewer than the 2 clusters asked for" in done.stderr
    assert_array_equal(pd.read_csv("s.csv")["score"], 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cake = CAKE(3, n_runs=3, random_state=0).fit(np.ones((30, 2)))
    assert {warning.category for warning in caught} == {ConvergenceWarning, UserWarning}
    assert_array_equal(cake.scores_, 0.0)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_as_many_clusters_as_points(geometry):
    """Each point is a cluster of its own, whose silhouette is 0; so is the score, however stable."""
    cake = CAKE(6, n_runs=3, geometry=geometry, random_state=0).fit(X[:6])
    assert_array_equal(cake.stability_, 1.0)
    assert_array_equal(cake.scores_, 0.0)


def test_more_clusters_than_rows_in_blocks(folder):
    """In memory: tests/test_edges.py::test_more_clusters_than_points."""
    np.save("x.npy", X[:10])
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(ValueError, match="n_clusters=11 is more than the 10"),
    ):
        CAKE(11, n_runs=2).fit("x.npy")


# Odd numbers


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_negative_zero_is_zero(geometry):
    plain = np.where(X[:60] > 2, X[:60], 0.0)
    signed = np.where(plain == 0, -0.0, plain)
    one, other = (
        CAKE(2, n_runs=3, geometry=geometry, random_state=0).fit(data) for data in (plain, signed)
    )
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.scores_, other.scores_)


LABELS = np.repeat([[0, 0, 0], [1, 1, 1]], 30, axis=0)
LABELS[29, 2] = 1


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("unit", [1e300, 1e155, 1e-155, 1e-300])
def test_huge_and_tiny_magnitudes_are_told(geometry, unit):
    """Squares of such numbers are infinite or 0: the scores were all 0, without a word."""
    points = np.r_[X[:30] / 10, X[:30] / 10 + 3] * unit
    told = "too large" if unit > 1 else "too small"
    with pytest.raises(
        ValueError, match=rf"X has values of up to .*{told} for float64 .* divide X by 1e"
    ):
        confidence(points, LABELS, geometry=geometry)
    with pytest.raises(ValueError, match=told):
        CAKE(2, n_runs=2, geometry=geometry).fit(points)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("unit", [1e140, 1e-140, 2.0**-400, 2.0**400])
def test_large_and_small_magnitudes_change_no_score(geometry, unit):
    points = np.r_[X[:30] / 10, X[:30] / 10 + 3]
    scores = confidence(points, LABELS, geometry=geometry).scores
    assert scores.max() > 0.3
    assert_allclose(confidence(points * unit, LABELS, geometry=geometry).scores, scores, rtol=1e-9)


def test_metrics_that_take_no_squares_take_any_magnitude():
    points = np.r_[X[:30] / 10, X[:30] / 10 + 3]
    scores = confidence(points, LABELS, metric="manhattan").scores
    assert_allclose(
        confidence(points * 1e300, LABELS, metric="manhattan").scores, scores, rtol=1e-9
    )
    for metric in ("cosine", "sqeuclidean", "correlation"):
        with pytest.raises(ValueError, match="too large for float64"):
            confidence(points * 1e300, LABELS, metric=metric)


def test_magnitudes_of_short_floats_are_told():
    points = (np.r_[X[:30] / 10, X[:30] / 10 + 3] * 1e25).astype(np.float32)
    with pytest.raises(ValueError, match=r"too large for float32 .* or convert it to float64"):
        CAKE(2, n_runs=2).fit(points)
    whole = CAKE(2, n_runs=2, random_state=0).fit(points.astype(np.float64))
    assert (whole.scores_ > 0.5).all()


def test_kernels_that_leave_the_range_of_numbers_are_told():
    """A find of benchmarks/fuzz.py: a warning of NumPy's, and scores of nothing."""
    with pytest.raises(ValueError, match=r"kernel='polynomial' of some points .*divide X"):
        confidence(np.r_[X[:30], X[:30] + 3] * 1e60, LABELS, geometry="kernel", kernel="polynomial")
    with pytest.raises(ValueError, match=r"kernel=<function .* no finite number"):
        confidence(np.r_[X[:30], X[:30] + 3], LABELS, geometry="kernel", kernel=lambda x, y: np.inf)


def test_new_points_next_to_zero_are_judged_and_huge_ones_told():
    cake = CAKE(2, n_runs=3, random_state=0).fit(X[:200])
    assert_array_equal(cake.predict(np.full((2, 2), 1e-300)), cake.predict(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="too large"):
        cake.predict(np.full((1, 2), 1e300))


@both
@pytest.mark.parametrize("value", ["1e300", "-1e200"])
def test_huge_magnitudes_in_a_file(folder, how, value):
    write_lines("x.csv", 7000, f"{value},2")
    told = score("x.csv", *FAST, *HOW[how], "--geometry", "rms", code=1).stderr
    assert "too large for float64" in told


@both
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_integers_beyond_2_to_the_53(folder, how, suffix):
    values = 2**60 + np.arange(40_000) % 7
    frame = pd.DataFrame({"a": values, "b": np.arange(40_000)})
    if suffix == "npy":
        np.save("x.npy", np.ascontiguousarray(frame))
    else:
        getattr(frame, f"to_{suffix}")(f"x.{suffix}", index=False)
    refused(f"x.{suffix}", "whole numbers beyond", how)


@pytest.mark.parametrize("make", [np.array, list, pd.DataFrame, "polars"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_beyond_2_to_the_53_in_memory(make, dtype):
    values = np.array([[1, 2**60], [2, 2**60 + 1], [3, 2**60 + 2]], dtype=dtype)
    if make is list:
        data = values.tolist()
    elif make == "polars":
        data = pytest.importorskip("polars").DataFrame(values)
    else:
        data = make(values)
    with pytest.raises(
        ValueError, match=r"beyond 2\*\*53 in column .*such as 1152921504606846977.* Subtract"
    ):
        confidence(data, [[0, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**60, -(2**63), 2**53 + 2])
def test_integers_that_floats_hold_are_taken(value):
    data = np.array([[value], [value], [0]])
    whole = confidence(data, [[0, 0, 1], [0, 0, 1]]).scores
    assert_array_equal(whole, confidence(data.astype(float), [[0, 0, 1], [0, 0, 1]]).scores)


@pytest.mark.parametrize("value", [2**63 - 1, 2**64 - 1, -(2**63) + 1])
def test_the_largest_integers_are_told(value):
    data = np.array([[value], [1], [0]], dtype=np.uint64 if value > 2**63 else np.int64)
    with pytest.raises(ValueError, match=f"such as {value}"):
        confidence(data, [[0, 0, 1], [0, 0, 1]])


# Hostile files


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A model of each kind of run, and one fitted in blocks, as (meta, arrays)."""
    folder = tmp_path_factory.mktemp("stored")
    cake = CAKE(2, clusterer=["kmeans", "gmm", "spectral"], n_runs=3, random_state=0).fit(X[:60])
    cake.save(folder / "model")
    np.save(folder / "x.npy", X)
    with sklearn.config_context(working_memory=0.1):
        CAKE(2, n_runs=3, random_state=0).fit(folder / "x.npy").save(folder / "blocks")
    CAKE(2, n_runs=3, random_state=0).fit(sparse.csr_array(np.maximum(X[:60], 0))).save(
        folder / "sparse"
    )
    return {name: read_arrays(folder / name, "model") for name in ("model", "blocks", "sparse")}


def changed(stored, name, change):
    """Write the stored model with one thing changed."""
    meta, arrays = json.loads(json.dumps(stored[name][0])), dict(stored[name][1])
    change(meta, arrays)
    write_arrays(
        Path("bad"),
        "model",
        {key: meta[key] for key in meta if key not in {"format", "kind", "version"}},
        arrays,
    )


def other(name, make):
    """Change an array."""

    def change(_, arrays):
        arrays[name] = make(arrays[name])

    return change


def put(*path, value):
    """Change a value of the JSON."""

    def change(meta, _):
        at = meta
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


CHANGES = {
    "labels of text": ("model", other("ensemble/labels", lambda a: a.astype(str))),
    "labels of another length": ("model", other("ensemble/labels", lambda a: a[:-1])),
    "labels in a line": ("model", other("ensemble/labels", lambda a: a.ravel())),
    "centres of fewer columns": (
        "model",
        other("ensemble/0/run/nearest_centers", lambda a: a[:, :1]),
    ),
    "fewer centres than labels": (
        "model",
        other("ensemble/0/run/nearest_centers", lambda a: a[:1]),
    ),
    "labels of centres as floats": (
        "model",
        other("ensemble/0/run/nearest_labels", lambda a: a + 0.5),
    ),
    "mixture of another shape": (
        "model",
        other("ensemble/1/run/mixture_precisions_cholesky_", lambda a: a[:, :1]),
    ),
    "mixture of other columns": (
        "model",
        other("ensemble/1/run/mixture_means_", lambda a: a[:, :1]),
    ),
    "fewer training labels": ("model", other("ensemble/2/run/training_labels", lambda a: a[:5])),
    "training rows beyond": (
        "model",
        lambda _, a: a.update({"ensemble/2/run/training_rows": np.array([0, 10**6])}),
    ),
    "data of three axes": ("model", other("X", lambda a: a[..., None])),
    "data of text": ("model", other("X", lambda a: a.astype(str))),
    "votes in a line": ("model", other("confidence/votes", lambda a: a.ravel())),
    "scores of another length": ("model", other("confidence/scores", lambda a: a[1:])),
    "labels without votes": ("model", other("confidence/labels", lambda a: a + 7)),
    "no scores": ("model", lambda _, a: a.pop("confidence/scores")),
    "no runs": ("model", put("ensemble", "runs", value=[])),
    "runs of another kind": ("model", put("ensemble", "runs", value=7)),
    "names of fewer runs": ("model", put("ensemble", "names", value=[None])),
    "names that are too few": ("model", put("ensemble", "names", value=[["a"], None, None])),
    "unknown covariance": ("model", put("ensemble", "runs", 1, "covariance_type", value="round")),
    "reference run beyond": ("model", put("reference_run", value=3)),
    "negative reference run": ("model", put("reference_run", value=-1)),
    "unknown geometry": ("model", put("geometry_method", value="flat")),
    "unknown fusion": ("model", put("params", "fusion", value="sum")),
    "unknown parameter": ("model", put("params", "shape", value=1)),
    "centres at infinity": ("model", other("ensemble/0/run/nearest_centers", lambda a: a + np.inf)),
    "centres beyond bounds": ("model", other("ensemble/0/run/centers", lambda a: a + 1e300)),
    "weights below 0": ("model", other("ensemble/1/run/mixture_weights_", lambda a: -a)),
    "precisions below 0": (
        "model",
        other("ensemble/1/run/mixture_precisions_cholesky_", lambda a: -a),
    ),
    "precisions that are missing": (
        "model",
        other("ensemble/1/run/mixture_precisions_cholesky_", lambda a: a * np.nan),
    ),
    "data that are missing": ("model", other("X", lambda a: a * np.nan)),
    "no points": ("model", other("ensemble/labels", lambda a: a[:0])),
    "parameters of a run as text": ("model", put("ensemble", "runs", 0, "params", value="x")),
    "means at infinity": ("blocks", other("totals/means", lambda a: a + np.inf)),
    "no parameters": ("model", put("params", value=None)),
    "other number of columns": ("model", put("about", "n_features_in", value=3)),
    "names of other columns": ("model", put("about", "feature_names", value=["a"])),
    "names that are no text": ("model", put("about", "feature_names", value=[1, 2])),
    "means of other columns": (
        "model",
        put("about", "preparation", value={"means": [1], "scales": None, "impute": False}),
    ),
    "scales that are lists": (
        "model",
        put("about", "preparation", value={"means": [1, 2], "scales": [[1], [2, 3]]}),
    ),
    "clusters that do not add up": ("blocks", other("totals/clusters", lambda a: a + 1)),
    "negative clusters": ("blocks", other("totals/clusters", lambda a: np.array([-2, 4, 4]))),
    "clusters named twice": ("blocks", other("totals/names", lambda a: a * 0)),
    "negative tables": ("blocks", other("totals/tables", lambda a: a - 10**6)),
    "narrow tables": ("blocks", other("totals/tables", lambda a: a[..., :1])),
    "means of fewer columns": ("blocks", other("totals/means", lambda a: a[:, :1])),
    "exact from totals": ("blocks", put("geometry_method", value="exact")),
    "columns beyond the matrix": ("sparse", other("X/indices", lambda a: a + 10**6)),
    "negative columns": ("sparse", other("X/indices", lambda a: a - 10)),
    "rows that go back": ("sparse", other("X/indptr", lambda a: np.r_[a[0], a[1:-1][::-1], a[-1]])),
    "a shape of three": ("sparse", other("X/shape", lambda a: np.append(a, 1))),
}


@pytest.mark.parametrize("case", CHANGES)
def test_models_whose_parts_do_not_fit_are_refused(folder, stored, case):
    name, change = CHANGES[case]
    changed(stored, name, change)
    with pytest.raises(ValueError, match="'bad' is damaged"):
        CAKE.load("bad")


@pytest.mark.parametrize("name", ["model", "blocks", "sparse"])
def test_models_whose_parts_fit_are_read(folder, stored, name):
    changed(stored, name, lambda *_: None)
    assert CAKE.load("bad").predict(X[:5]).shape == (5,)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other("labels", lambda a: a.astype(float)), "'labels' is float64"),
        (other("labels", lambda a: a[:, 0]), "'labels' is int"),
        (lambda _, a: a.pop("labels"), "KeyError"),
        (put("names", value=[None] * 9), "names of 9 runs"),
        (other("0/centers", lambda a: a * np.nan), "finite"),
        (lambda m, _: m.pop("runs"), "KeyError"),
    ],
)
def test_ensembles_whose_parts_do_not_fit_are_refused(folder, change, told):
    build_ensemble(X[:50], n_clusters=2, n_runs=3, random_state=0).save("e")
    meta, arrays = read_arrays(Path("e"), "ensemble")
    change(meta, arrays)
    write_arrays(
        Path("e"),
        "ensemble",
        {key: meta[key] for key in meta if key not in {"format", "kind", "version"}},
        arrays,
    )
    with pytest.raises(ValueError, match=f"'e' is damaged.*{told}"):
        Ensemble.load("e")


def test_runs_of_a_checkpoint_that_do_not_fit_are_refused(folder):
    build_ensemble(X[:50], n_clusters=2, n_runs=3, random_state=0, checkpoint="runs")
    meta, arrays = read_arrays(Path("runs/run-00001.npz"), "run")
    write_arrays(
        Path("runs/run-00001.npz"),
        "run",
        {"placer": meta["placer"]},
        arrays | {"labels": arrays["labels"][:9]},
    )
    with pytest.raises(ValueError, match=r"run-00001\.npz' is damaged.*Remove it"):
        build_ensemble(
            X[:50], n_clusters=2, n_runs=3, random_state=0, checkpoint="runs", on_failure="drop"
        )


def test_new_points_of_other_columns_are_refused():
    ensemble = build_ensemble(X[:50], n_clusters=2, n_runs=2, random_state=0)
    with pytest.raises(ValueError, match="X has 1 columns; the runs were fitted on 2"):
        ensemble.place(X[:5, :1])


def npy(shape, dtype="<f8", body=b""):
    """An array file that claims a shape, whatever it holds."""
    file = BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + body


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in members:
            file.writestr(name, body)


META = npy((2,), "|u1", b"{}")
BOMBS = {
    "an array that claims more than there is": [("a.npy", npy((10**12,)))],
    "a shape that overflows": [("a.npy", npy((2**32, 2**32)))],
    "a negative shape": [("a.npy", npy((-1, 5)))],
    "an object": [("a.npy", npy((1,), "|O", b"\x80\x04N."))],
    "an absolute name": [("/escaped.npy", npy((0,)))],
    "a name that leads out": [("../escaped.npy", npy((0,)))],
    "a name that leads out in another way": [("a/..\\..\\escaped.npy", npy((0,)))],
}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("case", BOMBS)
def test_hostile_archives_are_refused(folder, case):
    archive("bad.npz", [("meta.json.npy", META), *BOMBS[case]])
    with pytest.raises(
        ValueError, match=r"bad\.npz' is damaged or was not written by clustertrust"
    ):
        Ensemble.load("bad.npz")
    with pytest.raises(ValueError, match="is damaged"):
        CAKE.load("bad.npz")
    with pytest.raises(TableError, match=r"bad\.npz"):
        read_table("bad.npz")
    assert sorted(path.name for path in folder.rglob("*")) == ["bad.npz"]
    assert not Path("/escaped.npy").exists()
    assert not (folder.parent / "escaped.npy").exists()


def test_zip_bombs_are_refused_before_they_unpack(folder):
    """A thousandfold packed: 3 GiB of zeros in 3 MiB."""
    with zipfile.ZipFile("bad.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("meta.json.npy", META)
        with file.open("a.npy", "w", force_zip64=True) as member:
            member.write(npy((3 * 2**27,)))
            for _ in range(3 * 2**6):
                member.write(bytes(2**24))
    before = peak()
    for read in (Ensemble.load, CAKE.load, read_table):
        with pytest.raises(ValueError, match=r"claim to unpack to 3,22.*, more than is trusted"):
            read(Path("bad.npz"))
    assert peak() < before + 200


def test_what_packs_well_is_still_read(folder):
    Ensemble.from_labels(np.arange(2).repeat(2 * 10**6).reshape(-1, 2)).save("e")
    assert Path("e").stat().st_size * 100 < 16 * 10**6
    assert Ensemble.load("e").labels.shape == (2 * 10**6, 2)


@pytest.mark.parametrize("shape", [(10**12, 2), (2**32, 2**32), (-5, 2)])
def test_arrays_that_claim_more_than_their_file_holds_are_refused(folder, shape):
    Path("x.npy").write_bytes(npy(shape, body=bytes(800)))
    refused("x.npy", "claims to have shape|cut short|must be")


def test_sparse_files_with_positions_outside_are_refused(folder):
    matrix = sparse.csr_array(np.eye(5))
    for name, values in {"indices": matrix.indices + 10**6, "indptr": matrix.indptr[::-1]}.items():
        for format in ("csr", "csc"):
            parts = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data} | {
                name: values
            }
            np.savez("x.npz", format=np.array(format), shape=np.array([5, 5]), **parts)
            with pytest.raises(TableError, match=r"x\.npz cannot be read as npz"):
                read_table("x.npz")


def test_sparse_files_with_positions_that_are_no_whole_numbers_are_refused(folder):
    matrix = sparse.csr_array(np.eye(5))
    parts = {
        "indices": matrix.indices.astype(complex),
        "indptr": matrix.indptr,
        "data": matrix.data,
    }
    np.savez("x.npz", format=np.array("csr"), shape=np.array([5, 5]), **parts)
    with pytest.raises(
        TableError, match=r"x\.npz holds a sparse matrix whose indices are not whole numbers"
    ):
        read_table("x.npz")


def test_json_that_nests_without_end_is_refused(folder):
    deep = b"[" * 10**5
    archive("bad.npz", [("meta.json.npy", npy((len(deep),), "|u1", deep))])
    with pytest.raises(ValueError, match="is damaged"):
        CAKE.load("bad.npz")
