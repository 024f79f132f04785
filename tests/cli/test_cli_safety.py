"""Files that the command writes are safe, and its errors are short and say what to do."""

import gzip
import os
import signal
import socket
import stat
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from command import FAST, files, process, run

from clustertrust import CAKE, storage
from clustertrust.cli import cli, scoring, writing
from clustertrust.cli.outputs import check_target, staged

# Files are safe


def test_nothing_is_written_over_an_input(folder, library):
    np.save("runs.npy", library.ensemble_.labels)
    os.symlink("plain.csv", "link.csv")
    os.link("plain.csv", "hard.csv")
    before = Path("plain.csv").read_bytes()
    for out in ("plain.csv", "./plain.csv", "link.csv", "hard.csv", str(folder / "plain.csv")):
        told = run("score", "plain.csv", *FAST, "--out", out, code=2).stderr
        assert "is the same file as DATA" in told
    told = run("score", "link.csv", *FAST, "--model", "plain.csv", code=2).stderr
    assert "same file as DATA" in told
    told = run("score", "plain.csv", "--labels", "runs.npy", "--out", "runs.npy", code=2).stderr
    assert "is the same file as --labels" in told
    run("score", "plain.csv", *FAST, "--model", "m.npz")
    told = run("predict", "m.npz", "plain.csv", "--out", "m.npz", code=2).stderr
    assert "is the same file as MODEL" in told
    os.symlink("plain.csv", "page.html")
    told = run("report", "iris.csv", "--data", "plain.csv", "--out", "page.html", code=2).stderr
    assert "--data" in told
    assert Path("plain.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("--out a.csv --model a.csv", "--model a.csv is the same file as --out"),
        ("--out no/a.csv", "there is no folder no; make it first"),
        ("--out .", "is a folder; name a file"),
        ("--out dangling.csv", "dangling.csv: there is no folder"),
        ("--model -", "--model - cannot be printed; name a file"),
        ("--out a.xls", "--out a.xls has none of the known suffixes"),
        ("--plot a.gif", "its suffix must be one of .png, .svg, .pdf"),
        ("--report a.pdf", "its suffix must be one of .html, .htm"),
        ("--out - --json", "would both print to standard output"),
    ],
)
def test_outputs_are_checked_before_the_work(folder, monkeypatch, typed, told):
    os.symlink("nowhere/s.csv", "dangling.csv")
    monkeypatch.setattr(
        scoring, "read_points", lambda *_, **__: pytest.fail("the work has started")
    )
    assert told in run("score", "plain.csv", *FAST, *typed.split(), code=2).stderr


def test_the_plan_beside_the_scores_replaces_no_other_file(folder, monkeypatch):
    pd.read_csv("plain.csv").to_json("z.csv.plan.json", orient="records")
    Path("mine.csv.plan.json").write_text('{"my": "notes"}')
    Path("dir.csv.plan.json").mkdir()
    before = files(folder), Path("z.csv.plan.json").read_bytes()
    typed = ["--drop", "sepal_width"]
    monkeypatch.setattr(
        scoring, "read_points", lambda *_, **__: pytest.fail("the work has started")
    )
    told = run("score", "z.csv.plan.json", *FAST, *typed, "--out", "z.csv", code=2).stderr
    assert "z.csv.plan.json, where the plan of its columns is kept, is DATA" in told
    for name in ("mine", "dir"):
        told = run("score", "plain.csv", *FAST, *typed, "--out", f"{name}.csv", code=2).stderr
        assert f"{name}.csv.plan.json" in told
        assert "exists already and is not a plan; name another file" in told
    assert (files(folder), Path("z.csv.plan.json").read_bytes()) == before
    assert Path("mine.csv.plan.json").read_text() == '{"my": "notes"}'


def test_a_plan_beside_earlier_scores_is_replaced(folder):
    run("score", "plain.csv", *FAST, "--drop", "sepal_width", "--out", "s.csv")
    first = Path("s.csv.plan.json").read_text()
    run("score", "plain.csv", *FAST, "--drop", "petal_width", "--out", "s.csv")
    assert Path("s.csv.plan.json").read_text() != first
    run("score", "plain.csv", *FAST, "--plan", "s.csv.plan.json", "--out", "s.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_stay_what_they_are(folder):
    os.mkfifo("pipe.csv")
    read: list[bytes] = []
    take = lambda: read.append(Path("pipe.csv").read_bytes())  # noqa: E731
    reader = threading.Thread(target=take, daemon=True)
    reader.start()
    typed = ["score", "plain.csv", *FAST, "--drop", "sepal_width"]
    run(*typed, "--out", "pipe.csv")
    reader.join(timeout=60)
    run(*typed, "--out", "s.csv")
    assert read == [Path("s.csv").read_bytes()]
    assert stat.S_ISFIFO(Path("pipe.csv").stat().st_mode)
    assert not Path("pipe.csv.plan.json").exists()
    assert run(*typed, "--out", "/dev/stdout").stdout == run(*typed, "--out", "-").stdout
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("s.sock")
        told = run(*typed, "--model", "s.sock", code=2).stderr
    assert "--model s.sock is not a regular file; name another" in told


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_devices_stay_what_they_are(folder):
    # A terminal: nobody can make a file where it is, so that nothing is lost if this fails.
    ours, theirs = os.openpty()
    device = Path(os.ttyname(theirs))
    check_target("--model", device)
    with staged({"--model": device, "--out": Path("s.csv")}) as drafts:
        drafts["--model"].write_bytes(b"model")
        drafts["--out"].write_text("scores")
    assert os.read(ours, 100) == b"model"
    assert stat.S_ISCHR(device.stat().st_mode)
    assert Path("s.csv").read_text() == "scores"
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("fails", range(1, 4))
@pytest.mark.parametrize("there", [(), ("s.csv", "r.html"), ("s.csv", "m", "r.html")])
def test_a_rename_that_fails_leaves_all_as_it_was(folder, monkeypatch, fails, there):
    for name in there:
        Path(name).write_text(f"old {name}")
    before = files(folder)
    real, calls = os.replace, iter(range(1, 100))

    def replace(draft, target):
        if Path(target).parent == folder and next(calls) == fails:
            raise OSError(13, "Permission denied", str(target))
        return real(draft, target)

    monkeypatch.setattr(os, "replace", replace)
    typed = ["--out", "s.csv", "--model", "m", "--report", "r.html"]
    assert "Permission denied" in run("score", "plain.csv", *FAST, *typed, code=1).stderr
    assert files(folder) == before
    assert all(Path(name).read_text() == f"old {name}" for name in there)


@pytest.mark.parametrize("opened", ["s.csv", "m", "r.html"])
def test_a_file_that_is_open_on_windows_leaves_all_as_it_was(folder, monkeypatch, opened):
    """There it can neither be replaced nor put back."""
    for name in ("s.csv", "m", "r.html"):
        Path(name).write_text(f"old {name}")
    before, real = files(folder), os.replace

    def replace(draft, target):
        if Path(target) == folder / opened:
            raise PermissionError(13, "Access is denied", str(draft), 5, str(target))
        return real(draft, target)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(storage, "ON_WINDOWS", True)
    monkeypatch.setattr(storage, "WAITS", (0.0,))
    typed = ["--out", "s.csv", "--model", "m", "--report", "r.html"]
    told = run("score", "plain.csv", *FAST, *typed, code=1).stderr
    assert f"{folder / opened}: It cannot be replaced; close it in other programs." in told
    assert files(folder) == before
    assert all(Path(name).read_text() == f"old {name}" for name in ("s.csv", "m", "r.html"))


def test_folders_are_synced_after_the_renames(folder, monkeypatch):
    Path("other").mkdir()
    steps = []
    replace, sync = os.replace, os.fsync

    def note_sync(number):
        steps.append(("sync", os.fstat(number).st_ino))
        return sync(number)

    def note_replace(draft, target):
        steps.append(("rename", str(target)))
        return replace(draft, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    run("score", "plain.csv", *FAST, "--out", "s.csv", "--report", "other/r.html")
    last = max(i for i, (what, _) in enumerate(steps) if what == "rename")
    synced = {number for what, number in steps[last:] if what == "sync"}
    assert synced == {folder.stat().st_ino, (folder / "other").stat().st_ino}


def test_all_files_appear_or_none(folder, monkeypatch):
    Path("s.csv").write_text("old")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "write_page", fail)
    before = files(folder)
    told = run(
        "score", "plain.csv", *FAST, "--out", "s.csv", "--model", "m", "--report", "r.html", code=1
    ).stderr
    assert "No space left on device" in told
    assert files(folder) == before
    assert Path("s.csv").read_text() == "old"


KILLED_BETWEEN_RENAMES = """
import os, signal
from pathlib import Path
from clustertrust.cli import cli
real = os.replace
def replace(draft, target):
    real(draft, target)
    if Path(target) == Path("{last}").resolve():
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
cli(["score", "plain.csv", "-k", "3", "--runs", "4", "--seed", "0",
     "--out", "s.csv", "--model", "m", "--report", "r.html"])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("last", ["r.html", "m"])
def test_killed_between_two_renames_each_file_is_whole_and_the_scores_come_last(folder, last):
    for name in ("s.csv", "m", "r.html"):
        Path(name).write_text("old")
    done = process(code=KILLED_BETWEEN_RENAMES.format(last=last), cwd=folder)
    done.communicate(timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert Path("s.csv").read_text() == "old"
    assert Path("r.html").read_text().rstrip().endswith("</html>")
    assert Path("m").read_text() == "old" if last == "r.html" else CAKE.load("m").n_runs_ == 4
    run("score", "plain.csv", *FAST, "--out", "s.csv", "--model", "m", "--report", "r.html")
    assert len(pd.read_csv("s.csv")) == 150
    assert Path("r.html").read_text().rstrip().endswith("</html>")


PICTURES = """
import time
time.time = lambda: {time_of_day}
from clustertrust.cli import cli
for suffix in ("svg", "pdf", "png"):  # in one process: starting it costs more than a picture
    try:
        cli({typed!r} + ["--plot", "{name}." + suffix])
    except SystemExit as end:
        assert end.code == 0
"""


def test_pictures_are_the_same_bytes_each_time(folder):
    pytest.importorskip("matplotlib")
    typed = ["score", "plain.csv", *FAST]
    for time_of_day, name in ((86400.0, "a"), (172800.0, "b")):
        code = PICTURES.format(time_of_day=time_of_day, typed=typed, name=name)
        done = process(code=code, cwd=folder)
        _, err = done.communicate(timeout=300)
        assert (done.returncode, err) == (0, "")
    for suffix in ("svg", "pdf", "png"):
        assert Path(f"a.{suffix}").read_bytes() == Path(f"b.{suffix}").read_bytes()


def test_new_files_have_the_permissions_of_any_file_and_links_stay(folder):
    Path("real").mkdir()
    os.symlink("real/s.csv", "s.csv")
    before = os.umask(0o027)
    try:
        run("score", "plain.csv", *FAST, "--out", "s.csv", "--report", "r.html", "--model", "m")
    finally:
        os.umask(before)
    for name in ("real/s.csv", "r.html", "m"):
        assert Path(name).stat().st_mode & 0o777 == 0o640
    assert Path("s.csv").is_symlink()
    Path("m").chmod(0o600)
    run("score", "plain.csv", *FAST, "--model", "m")
    assert Path("m").stat().st_mode & 0o777 == 0o600


# Errors


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        ("score none.csv -k 3", 2, "'none.csv' does not exist"),
        ("score . -k 3", 1, "(.csv, .data, .gz, .xls, without"),
        ("score plain.csv", 2, "kmeans needs a number of clusters: add -k"),
        ("score plain.csv -k 0", 2, "'0' is not a number of clusters; give 1 or more"),
        ("score plain.csv -k 2:", 2, "'2:' is not a number of clusters"),
        ("score plain.csv -k 2:3:4", 2, "'2:3:4' is not a number of clusters"),
        ("score plain.csv -k 5:2", 2, "'5:2' runs backwards; give the smaller number first, 2:5"),
        ("score plain.csv -k 3 --runs 1", 2, "give 2 or more, or auto"),
        ("score plain.csv -k 3 --resample 2", 2, "give a number between 0 and 1"),
        (
            "score plain.csv -k 3 --fusion sum",
            2,
            "'sum' is not one of 'combined', 'harmonic', 'product'",
        ),
        ("score plain.csv -k 3 --bogus", 2, "--bogus"),
        ("score plain.csv -k 3 --clusterer hdbscan", 2, "hdbscan finds the number of clusters"),
        ("score plain.csv -k 3 --threshold 7", 2, "0<=x<=1"),
        (
            "score plain.csv -k 3 --threshold nan",
            2,
            "'nan' is not a number; give one in the range 0",
        ),
        ("score plain.csv -k 3 --geometry kernel --kernel precomputed", 2, "Add --labels"),
        (
            "score plain.csv -k 3 --metric precomputed",
            2,
            "--metric precomputed: to cluster a square table of distances, give --distances",
        ),
        ("scor", 2, "No such command 'scor'"),
        ("score plain.csv -k 300", 1, "-k 300 is more than the 150 points"),
        ("score plain.csv -k 3 --metric cosine --geometry rms", 1, "leave one of the two out"),
        ("score plain.csv -k 3 --array x", 1, "--array x is not used for csv files"),
        ("score plain.csv -k 3 --format parquet", 1, "cannot be read as parquet"),
        ("score empty.csv -k 3", 1, "empty.csv is empty"),
        ("score header.csv -k 3", 1, "has column names but no rows"),
        ("score one.csv -k 1", 1, "has 1 row to cluster; there must be at least 2"),
        ("score odd.data -k 2", 2, "Name its format, such as --format csv"),
        ("score odd.xls --k 2", 2, "odd.xls is a spreadsheet; save the sheet as .xlsx"),
        ("score plain.csv --clusterer k-means", 2, "Did you mean 'kmeans'?"),
        ("score plain.csv -k 3 --device gpu", 2, "Did you mean 'cuda'?"),
        ("score odd -k 2", 2, "odd has none of the known suffixes"),
        ("predict plain.csv iris.csv", 2, "plain.csv is a table; give MODEL, which"),
        ("predict odd.data plain.csv", 1, "was not written by clustertrust"),
        ("score https://a.org/x.csv -k 3", 2, "is an address, and only files are read"),
        ("score plain.csv -k 3 --separator ;;", 1, "is not one character; try"),
        ("score plain.csv -k 3 --skip-rows 999", 1, "no line below those that"),
        ("score plain.csv -k 3 --separator ;", 1, "what separates them with --sep"),
        ("score short.csv.gz -k 3", 1, "short.csv.gz is cut short; copy or download it"),
    ],
)
def test_errors_are_short_and_say_what_to_do(folder, typed, code, told):
    for name, text in {"empty": "", "header": "a,b\n", "one": "a,b\n1,2\n"}.items():
        Path(f"{name}.csv").write_text(text)
    Path("odd.data").write_text("a,b\n1,2\n3,4\n")
    Path("odd.xls").write_text("")
    Path("odd").write_text("")
    Path("short.csv.gz").write_bytes(gzip.compress(Path("plain.csv").read_bytes())[:-200])
    assert told in run(*typed.split(), code=code).stderr


def test_errors_of_the_system_name_the_file_and_no_number(folder, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied", "/root/x.csv")

    monkeypatch.setattr(scoring, "read_points", fail)
    told = run("score", "plain.csv", *FAST, code=1).stderr
    assert told == "Error: /root/x.csv: Permission denied.\n"


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_traceback_is_shown_when_asked_for(folder, place):
    typed = ["score", "plain.csv", "-k", "300"]
    result = CliRunner().invoke(
        cli, ["--debug", *typed] if place == "before" else [*typed, "--debug"]
    )
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: -k 300 is more")


def test_out_of_memory_is_told_in_one_line_with_a_remedy(folder, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(scoring, "read_points", fail)
    told = run("score", "plain.csv", *FAST, code=1).stderr
    assert told == (
        "Error: Out of memory.\n"
        "Use fewer rows or columns; `score --memory` reads a large file in blocks.\n"
    )


def test_what_should_not_happen_is_told_too(folder, monkeypatch):
    def fail(*_, **__):
        raise KeyError("x")

    monkeypatch.setattr(scoring, "read_points", fail)
    told = run("score", "plain.csv", *FAST, code=1).stderr
    assert "KeyError: 'x'\nThis is a bug in clustertrust; --debug" in told
