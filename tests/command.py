"""What the tests of the command share: data, and ways to run it."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
from click.testing import CliRunner
from sklearn.datasets import load_iris

import clustertrust
from clustertrust.cli import cli

NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
X = pd.DataFrame(load_iris().data, columns=NAMES)
IDS = [f"{i:03}" if i % 2 else f"Blüte {i:03}" for i in range(150)]
RESULTS = ["label", "score", "standard_error", "stability", "geometry"]
RESULTS += ["silhouette_mean", "silhouette_std", "consensus_strength", "rival", "margin", "reason"]
FAST = ["-k", "3", "--runs", "4"]
NAMED = ["--id", "flower", "--drop", "species"]


def run(*args, code=0, stdin=None):
    """Run a command in this process and check its exit code; errors are at most two lines."""
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    if code:
        assert 1 <= len(result.stderr.strip().splitlines()) <= 2
        assert result.stderr.startswith("Error: ")
        assert result.stdout == ""
    return result


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


SOURCE = str(Path(clustertrust.__file__).parents[1])


STARTED = []


def process(*args, code=None, **how):
    """Start the command, or other code, in a process of its own, which ends with the test."""
    environment = os.environ | {"PYTHONPATH": SOURCE} | how.pop("env", {})
    start = ["-m", "clustertrust", *args] if code is None else ["-c", code]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
    STARTED.append(subprocess.Popen([sys.executable, *start], env=environment, **how))
    return STARTED[-1]


def watched(*args, **how):
    """What a command says on standard error where that is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    running = process(*args, stderr=theirs, **how)
    os.close(theirs)
    running.communicate(timeout=300)
    told = b""
    while chunk := _read(ours):
        told += chunk
    os.close(ours)
    return told


def _read(terminal):
    try:
        return os.read(terminal, 1000)
    except OSError:  # a terminal whose other end is closed
        return b""
