"""Disks, files and numbers that go wrong: a right answer or a clear error, and nothing
half-written.

`docs/faults.md` lists all faults with the tests that show them; here are those that no other file
of tests has.
"""

import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from click.testing import CliRunner
from command import run
from faulty import FAST, FRAME, HOW, ROWS, X, both, refused, score, write_lines
from numpy.testing import assert_array_equal

from clustertrust import CAKE, Runs, build_ensemble
from clustertrust.cli import cli
from clustertrust.files import TableError, open_source, read_table
from clustertrust.streaming import passes, stream

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
    # Once before: what is compiled or cached on the way would find the disk full as well.
    score(*typed)
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
        told = run("score", *typed, name, code=1).stderr
    assert "File too large" in told
    assert name in told
    left = sorted(set(Path().rglob("*")) - set(before))
    # A checkpoint keeps what was finished before: its note of the settings. No part of a run is
    # there.
    assert [str(path) for path in left] == (
        ["checkpoint", "checkpoint/settings.json"] if kind == "checkpoint" else []
    )


def test_disk_full_is_no_failed_run_to_be_dropped(folder):
    # See above.
    build_ensemble(X, n_clusters=2, n_runs=Runs(3, checkpoint="first"), random_state=0, n_jobs=1)
    with full_disk(600), pytest.raises(OSError, match=r"File too large: .*run-0000\d\.npz"):
        build_ensemble(
            X,
            n_clusters=2,
            n_runs=Runs(3, on_failure="drop", checkpoint="runs"),
            random_state=0,
            n_jobs=1,
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
            match=r"No space left on device: .* bytes of results are needed in .*set TMPDIR",
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
    blocks = pd.concat(open_source("x.csv").only(["x", "y"], "name").frames(rows))
    assert_array_equal(blocks[["x", "y"]], frame[["x", "y"]])
    assert blocks["name"].tolist() == names


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
    refused("x.csv", "quotes that do not close.*: EOF inside string.* Correct the file there", how)


@both
@pytest.mark.parametrize("at", [0, 100_000])
def test_bytes_that_are_not_utf8(folder, how, at):
    text = FRAME.to_csv(index=False).encode()
    Path("x.csv").write_bytes(text[:at] + b"\xff" + text[at:])
    if how == "whole" or at == 0:  # then they are taken as Windows' own
        assert "Read: as cp1252 text." in score("x.csv", *FAST, *HOW[how]).stdout
        return
    refused("x.csv", "is not UTF-8 text", how)
    assert f"at byte {at}" in score("x.csv", *FAST, *HOW[how], code=1).stderr


@pytest.mark.parametrize("exponent", ["999999999999", "99985289539473"])
def test_exponents_without_end_are_told(folder, exponent):
    """pandas' default parser and `to_numeric` die of them, and the process with them: a find of
    `make test-fuzz`.
    """
    Path("x.csv").write_text(f"a,b\n1,2\n3.7e-{exponent},4\n")
    (block,) = open_source("x.csv").read(10)
    assert_array_equal(block.X, [[1, 2], [0, 4]])
    Path("x.csv").write_text(f"a,b\n1,2\n3.7e{exponent},4\n")
    score("x.csv", *FAST)  # to the command it is a text
    with pytest.raises(ValueError, match=r"not numbers|missing or infinite"):  # from pandas 3.1 on
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
    """A find of `make test-fuzz`: Arrow has a kind of error of its own for it."""
    import pyarrow as pa
    import pyarrow.parquet

    offsets, body = pa.py_buffer(np.array([0, 2, 4], dtype=np.int32)), pa.py_buffer(b"\xff\xfeab")
    names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, body])
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "name": names}), "x.parquet")
    with pytest.raises(TableError, match=r"x\.parquet cannot be read as parquet"):
        read_table("x.parquet")
    with pytest.raises(TableError, match=r"x\.parquet cannot be read as parquet"):
        list(open_source("x.parquet").frames(10))


@both
@pytest.mark.parametrize("at", [1, 7999])
def test_column_of_mixed_types(folder, how, at):
    write_lines("x.csv", at, "oops,2")
    told = score("x.csv", *FAST, *HOW[how], "--geometry", "rms").stdout
    assert "Note on a: 1 text, 'oops', is taken as missing." in told


def test_column_of_mixed_types_in_a_frame():
    frame = FRAME.astype({"a": object})
    frame.loc[17, "a"] = "oops"
    with pytest.raises(ValueError, match=r"X has columns that are not numbers: \['a'\]"):
        CAKE(2).fit(frame)


@both
@pytest.mark.parametrize(("first", "told"), [("2,15", "numbers in its first line")])
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
    typed = ["whole.csv", "--data", "x.csv", "--id", "name", "--out", "r.html"]
    told = run("report", *typed, code=1).stderr  # here they are needed to find the row
    assert "its values occur more than once" in told
    assert not Path("r.html").exists()


@both
def test_columns_that_share_a_name_are_told_apart(folder, how):
    lines = FRAME.to_csv(index=False).splitlines()
    Path("x.csv").write_text("\n".join(["a,a", *lines[1:]]))
    told = score("x.csv", *FAST, *HOW[how], "--geometry", "rms").stdout
    assert "Read: columns that share a name are called a.1." in told
    assert "Clustered: 2 of 2 columns (a, a.1)." in told
