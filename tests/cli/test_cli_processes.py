"""The command as a real process: completion, interrupts, a terminal."""

import importlib
import os
import signal
import time
import tomllib
from pathlib import Path

import pytest
from command import FAST, NAMED, SOURCE, files, process, watched
from numpy.testing import assert_array_equal

from clustertrust.cli import cli
from clustertrust.cli.kinds import TableChoice, names_in
from clustertrust.files import read_table
from clustertrust.stability import UNASSIGNED


def test_as_a_module(folder, library):
    done = process("score", "iris.csv", *FAST, *NAMED, "--out", "s.csv", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert (done.returncode, err) == (0, "")  # no progress bar where there is no terminal
    assert "By cluster" in out
    assert_array_equal(read_table("s.csv").data["score"], library.scores_)
    done = process("score", "none.csv", "-k", "3", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert (done.returncode, out) == (2, "")
    assert err.startswith("Error: ")


def test_completion():
    words = {
        "_CLUSTERTRUST_COMPLETE": "bash_complete",
        "COMP_WORDS": "clustertrust score --fus",
        "COMP_CWORD": "2",
    }
    start = "from clustertrust.cli import cli; cli(prog_name='clustertrust')"
    assert process(code=start, env=words).communicate(timeout=300)[0].split() == ["plain,--fusion"]
    words |= {"COMP_WORDS": "clustertrust score --fusion ", "COMP_CWORD": "3"}
    assert process(code=start, env=words).communicate(timeout=300)[0].split() == [
        "plain,combined",
        "plain,harmonic",
        "plain,product",
        "plain,refined",
    ]


@pytest.mark.parametrize("command", [None, *cli.commands])
def test_help_loads_nothing_heavy(command):
    # Each of them takes longer to import than all of the help may take, 0.3 s of CPU.
    heavy = "{'numpy', 'pandas', 'scipy', 'sklearn', 'joblib', 'numba', 'matplotlib', 'anndata'}"
    words = ["--help"] if command is None else [command, "--help"]
    code = (
        "import atexit, sys\nfrom clustertrust.cli import cli\n"
        f"atexit.register(lambda: print(sorted({heavy} & set(sys.modules))))\ncli({words})"
    )
    out, err = process(code=code).communicate(timeout=300)
    assert out.startswith("Usage: "), err
    assert out.splitlines()[-1] == "[]"


TABLES = sorted(
    {
        param.type.table
        for command in cli.commands.values()
        for param in command.params
        if isinstance(param.type, TableChoice)
    }
)


@pytest.mark.parametrize("table", TABLES)
def test_names_that_can_be_typed_are_those_of_the_library(table, monkeypatch, tmp_path):
    module, name = table.split(":")
    values = getattr(importlib.import_module(f"clustertrust.{module}"), name)
    assert names_in(table) == list(values)
    # Those that know their own name are listed under it.
    assert all(getattr(value, "name", key) == key for key, value in values.items())
    monkeypatch.setattr("clustertrust.cli.kinds.PACKAGE", tmp_path)  # no sources are installed
    assert names_in(table) == list(values)


def test_names_for_points_without_a_run_are_those_of_the_library():
    (option,) = (param for param in cli.commands["score"].params if param.name == "unassigned")
    assert set(option.type.choices) == set(UNASSIGNED)


WITHOUT_NUMBA = "import sys\nsys.modules['numba'] = None\nfrom clustertrust.cli import cli\ncli({})"


def test_without_numba_the_command_says_so_once(folder):
    words = ["score", "plain.csv", "-k", "3", "--runs", "3"]
    out, err = process(code=WITHOUT_NUMBA.format(words), cwd=folder).communicate(timeout=300)
    assert "By cluster" in out
    (note,) = [line for line in err.splitlines() if "Numba" in line]
    assert note.startswith("Note: Numba cannot be imported")
    assert "pip install" in note


SLOWLY = """
import sys, time
from clustertrust.cli import cli, scoring
real_read, real_write = scoring.read_points, scoring.write_scores
def read_points(*args, **how):
    points = real_read(*args, **how)
    if "{where}" == "fit":
        print("now", flush=True)
    return points
def write_scores(*args):
    real_write(*args)
    print("now", flush=True)
    time.sleep(600)
scoring.read_points, scoring.write_scores = read_points, write_scores
cli(["score", "plain.csv", "-k", "3", "--runs", "{runs}", "--out", "s.csv", "--model", "m"])
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("where", ["fit", "write"])
def test_stopped_in_the_middle_nothing_is_left(folder, where, sent, code):
    Path("s.csv").write_text("old")
    before = files(folder)
    running = process(
        code=SLOWLY.format(where=where, runs=1_000_000 if where == "fit" else 3), cwd=folder
    )
    assert running.stdout.readline() == "now\n"
    if where == "fit":
        time.sleep(1.0)
    else:
        assert files(folder) != before  # a stand-in is there
    running.send_signal(sent)
    _, err = running.communicate(timeout=120)
    assert running.returncode == code
    assert files(folder) == before
    assert Path("s.csv").read_text() == "old"
    assert err.strip() == "Stopped; nothing is half-written."


STUBBORN = """
import sys, threading, time
from clustertrust.cli import cli, scoring
def write_scores(*args):
    try:
        threading.Thread(target=time.sleep, args=(600,)).start()  # Python waits for it at the end
        print("now", flush=True)
        time.sleep(600)
    except SystemExit:
        time.sleep(600)
scoring.write_scores = write_scores
cli(["score", "plain.csv", "-k", "3", "--runs", "3", "--out", "s.csv"])
"""


def test_a_request_to_end_is_met_by_whatever_waits(folder):
    before = files(folder)
    running = process(code=STUBBORN, cwd=folder)
    assert running.stdout.readline() == "now\n"
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err.strip()) == (143, "Stopped; nothing is half-written.")
    assert files(folder) == before


INTERRUPTED_AT_AN_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize(
    "module",
    [
        "clustertrust.cli",
        "click",
        "clustertrust.cli.options",
        "clustertrust.cli.scoring",
        "clustertrust.displays",
    ],
)
def test_stopped_while_modules_load(folder, tmp_path_factory, module):
    """The last is loaded when a stand-in is there already, which has to go."""
    pytest.importorskip("matplotlib")
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(INTERRUPTED_AT_AN_IMPORT.format(module=module))
    before = files(folder)
    path = os.pathsep.join([str(site), SOURCE])
    typed = ["score", "plain.csv", *FAST, "--out", "s.csv", "--plot", "p.svg"]
    done = process(*typed, cwd=folder, env={"PYTHONPATH": path})
    out, err = done.communicate(timeout=300)
    assert (done.returncode, out, err.strip()) == (130, "", "Stopped; nothing is half-written.")
    assert files(folder) == before


def test_the_command_starts_where_it_looks_after_ctrl_c():
    told = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert told["project"]["scripts"] == {"clustertrust": "clustertrust.__main__:main"}


def test_somebody_who_watches_is_told_what_happens(folder):
    told = watched("score", "plain.csv", *FAST, "--out", "s.csv", cwd=folder)
    assert told.startswith(b"Scoring 150 points of plain.csv.")
    assert b"4/4" in told
    assert b"Writing s.csv." in told
