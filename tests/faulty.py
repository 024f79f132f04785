"""What the tests of faults share: data, and ways to run `clustertrust score`."""

import gzip
import re
from pathlib import Path

import pandas as pd
import pytest
import sklearn
from command import run
from sklearn.datasets import make_blobs

from clustertrust import CAKE

ROWS = 8000  # as text more than a quarter of a MiB, which is what --memory 1 loads at most
X = make_blobs(ROWS, 2, centers=2, cluster_std=1.0, random_state=0)[0]
FRAME = pd.DataFrame(X, columns=["a", "b"])
FAST = ["-k", "2", "--runs", "3"]
HOW = {"whole": [], "blocks": ["--memory", "1"]}
both = pytest.mark.parametrize("how", HOW)


def score(*typed, code=0):
    """Run `clustertrust score`; an error is one or two lines, and leaves the folder as it was."""
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    done = run("score", *typed, code=code)
    if code:
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


def write_lines(path, at, line):
    """The table as text, with one line at a place of its own."""
    lines = FRAME.to_csv(index=False).splitlines()
    text = "\n".join([*lines[:at], line, *lines[at:]]) + "\n"
    path = Path(path)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def other(name, make):
    """Change an array."""

    def change(_, arrays):
        arrays[name] = make(arrays[name])

    return change
