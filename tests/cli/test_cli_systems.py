"""What other systems do: code pages without most letters, other shells, files that are locked."""

import io
import json
import os
import shlex
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from command import FAST, NAMED, process, run
from extras import extra

from clustertrust.cli import cli, terminal


@pytest.fixture
def names(folder):
    """A table whose names cp1252 cannot write, which Windows has for files and pipes."""
    table = pd.DataFrame({"名": [f"行{i}" for i in range(12)], "a": range(12), "b": [0, 1, 9] * 4})
    table.to_csv("表.csv", index=False)
    return table["名"].tolist()


SCORE = ["score", "表.csv", *FAST, "--id", "名"]


def test_letters_that_the_output_has_not_are_question_marks(names):
    running = process(*SCORE, "--out", "scores.csv", env={"PYTHONIOENCODING": "cp1252"}, text=False)
    told = running.communicate()[0].decode("cp1252")
    assert "Names the rows: ?." in told
    assert "Wrote scores.csv" in told
    assert pd.read_csv("scores.csv")["名"].tolist() == names


def test_data_are_utf8_whatever_the_system_has(names):
    runner = CliRunner(charset="cp1252")
    table = runner.invoke(cli, [*SCORE, "--out", "-"]).stdout_bytes
    assert pd.read_csv(io.BytesIO(table))["名"].tolist() == names
    assert b"\r" not in table
    told = json.loads(runner.invoke(cli, [*SCORE, "--json"]).stdout_bytes.decode())
    assert {row["id"] for row in told["ambiguous"]} <= set(names)


def test_commands_can_be_pasted_where_names_have_blanks(folder):
    demo = run("demo", "--out", "my demo").stdout.splitlines()[-1]
    run(*shlex.split(demo)[1:])
    Path("my answers.csv").write_bytes(b"")
    scores, asked = str(Path("my demo", "scores.csv")), "my answers.csv"
    words = [str(Path("my demo", "iris.csv")), scores, *NAMED, "--n", "20", "--out", asked]
    decide = run("ask", *words).stdout.splitlines()[-1]
    assert shlex.split(decide)[2:4] == [scores, asked]
    pd.read_csv(asked).assign(answer="right").to_csv(asked, index=False)
    told = run(*shlex.split(decide)[1:]).stdout
    (more,) = [line for line in told.splitlines() if line.startswith("Next: ")]
    assert shlex.split(more)[4:7] == [scores, "--answers", asked]


def test_commands_can_be_pasted_on_windows(folder, monkeypatch):
    """Its shells know double quotes, and have no mark in common that continues a line."""
    monkeypatch.setattr(terminal, "ON_WINDOWS", True)
    monkeypatch.setenv("COLUMNS", "60")
    table = pd.DataFrame({"my rank": np.repeat([7, 8, 9], 111), "n": [f"n{i}" for i in range(333)]})
    table.to_csv("my data.csv", index=False)
    told = CliRunner().invoke(cli, ["score", "my data.csv", *FAST]).stderr.splitlines()[-1]
    assert told == 'Try: clustertrust score "my data.csv" -k 3 --runs 4 --keep "my rank"'
    assert terminal.quote('5" disk') == r'"5\" disk"'
    assert terminal.quote("plain.csv") == "plain.csv"


# Locked files


def in_use():
    """Return the files that this process has open or mapped."""
    opened = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself
            opened.add(os.readlink(f"/proc/self/fd/{number}"))
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return opened | {line.split(maxsplit=5)[5] for line in maps if line.count("/")}


@pytest.fixture
def locked(monkeypatch):
    """Refuse to move or delete a file that is in use, as Windows does; count what was allowed."""
    moved = []

    def guard(name):
        real = getattr(os, name)

        def guarded(*paths, **how):
            folders = [value for key, value in how.items() if key.endswith("dir_fd") and value]
            home = os.readlink(f"/proc/self/fd/{folders[0]}") if folders else os.getcwd()
            full = [os.path.realpath(os.path.join(home, path)) for path in paths]
            if set(full) & in_use():
                raise PermissionError(13, "The file is used by a process", full[-1], 32)
            moved.append(full[-1])
            return real(*paths, **how)

        monkeypatch.setattr(os, name, guarded)

    for name in ("replace", "rename", "unlink", "remove"):
        guard(name)
    return moved


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it says which files are open")
def test_no_command_moves_or_deletes_a_file_that_it_has_open(folder, locked):
    anndata = extra("anndata")
    anndata.AnnData(np.random.default_rng(0).normal(size=(40, 3))).write_h5ad("cells.h5ad")
    score = ["score", "iris.csv", *FAST, *NAMED]
    written = [f"scores.{suffix}" for suffix in ("csv", "json", "xlsx", "ods", "parquet", "npz")]
    for name in (*written, "s.csv", "m", "r.html", "p.png", "p.parquet", "scores.h5ad", "a.npz"):
        Path(name).write_bytes(b"old")
    for name in written:
        run(*score, "--out", name)
        assert str(folder / name) in locked
    run(*score, "--memory", "1", "--out", "s.csv", "--model", "m", "--report", "r.html")
    run("score", "scores.parquet", *FAST, "--memory", "1", "--out", "p.parquet")
    run(*score, "--plot", "p.png", "--checkpoint", "runs", "--seed", "1")
    run(*score, "--plot", "p.png", "--checkpoint", "runs", "--seed", "1")
    run("score", "cells.h5ad", "--use-rep", "X", *FAST, "--out", "scores.h5ad")
    run("predict", "m", "iris.csv", *NAMED, "--out", "a.npz")
    left = [path.name for path in folder.rglob("*") if path.name.startswith(".")]
    assert left == []
    with Path("s.csv").open("rb"):  # another program's
        told = run(*score, "--out", "s.csv", code=1).stderr
    assert "The file is used by a process" in told
