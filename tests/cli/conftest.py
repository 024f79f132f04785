"""Fixtures that several files of tests share."""

import numpy as np
import pandas as pd
import pytest
from command import IDS, STARTED, X

from clustertrust import CAKE


@pytest.fixture(autouse=True)
def no_process_stays():
    """A test that fails before its command has ended must not leave it running."""
    yield
    while STARTED:
        with STARTED.pop() as running:  # its pipes are closed, too
            running.kill()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with iris.csv, which has names and a text column, and plain.csv, which has neither."""
    monkeypatch.chdir(tmp_path)
    X.to_csv("plain.csv", index=False)
    pd.concat(
        [pd.Series(IDS, name="flower"), X, pd.Series(["s"] * 150, name="species")], axis=1
    ).to_csv("iris.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def library():
    return CAKE(3, n_runs=4, random_state=0).fit(X)


@pytest.fixture
def holes(folder):
    """Points with missing and infinite values in rows 3 and 140."""
    data = X.copy()
    data.loc[3, "sepal_width"] = np.nan
    data.loc[140, ["sepal_width", "petal_width"]] = np.nan, np.inf
    data.assign(flower=IDS).to_csv("holes.csv", index=False)
    return data.replace(np.inf, np.nan)
