"""A refitted estimator equals a fresh one, attribute by attribute, whatever kinds of data the two
fits had.
"""

import copy
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from clustertrust import CAKE
from clustertrust.files import open_source
from clustertrust.reasons import Chance

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pl = pytest.importorskip("polars")

# points; blocks of rows are larger than that, and `streamed` has a budget of next to nothing
N = 48
KINDS = (
    "array",
    "float32",
    "two columns",
    "list",
    "named frame",
    "indexed frame",
    "polars",
    "sparse",
    "small file",
    "small memmap",
    "streamed csv",
    "streamed npy",
    "streamed source",
    "streamed memmap",
    "dask array",
    "dask frame",
)


def points(columns=3):
    return np.random.default_rng(0).normal(size=(N, columns)) + 6.0 * (np.arange(N) % 2)[:, None]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The same points in every kind, two or three columns of them, under other names where they
    have any.
    """
    folder, X = tmp_path_factory.mktemp("refits"), points()
    np.save(folder / "x.npy", X)
    np.save(folder / "two.npy", points(2))
    pd.DataFrame(X, columns=["p", "q", "r"]).to_csv(folder / "x.csv", index=False)
    kinds = {
        "array": X,
        "float32": X.astype(np.float32),
        "two columns": points(2),
        "list": X.tolist(),
        "named frame": pd.DataFrame(X, columns=["a", "b", "c"]),
        "indexed frame": pd.DataFrame(
            X, columns=["u", "v", "w"], index=[f"row {i}" for i in range(N)]
        ),
        "polars": pl.DataFrame(X, schema=["d", "e", "f"]),
        "sparse": sparse.csr_array(np.maximum(X, 0)),
        "small file": folder / "x.csv",
        "small memmap": np.load(folder / "x.npy", mmap_mode="r"),
        "streamed csv": folder / "x.csv",
        "streamed npy": str(folder / "two.npy"),
        "streamed source": open_source(folder / "x.csv"),
        "streamed memmap": np.load(folder / "x.npy", mmap_mode="r"),
        "dask array": da.from_array(points(2), chunks=(20, 2)),
        "dask frame": dd.from_pandas(pd.DataFrame(X, columns=["g", "h", "i"]), npartitions=2),
    }
    assert tuple(kinds) == KINDS
    return kinds


def fit(cake, data, kind):
    with sklearn.config_context(working_memory=1e-4 if kind.startswith("streamed") else 1024):
        return cake.fit(data[kind])


@pytest.fixture(scope="module")
def fresh(data):
    found = {kind: fit(CAKE(2, n_runs=3, random_state=0, n_jobs=1), data, kind) for kind in KINDS}
    streamed = {kind for kind in KINDS if hasattr(found[kind], "n_passes_")}
    # Else nothing is shown here.
    assert streamed == {kind for kind in KINDS if kind.startswith(("streamed", "dask"))}
    return found


@pytest.fixture(scope="module")
def loaded(fresh, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loaded")
    for number, kind in enumerate(KINDS):
        fresh[kind].save(folder / str(number))
    return {kind: CAKE.load(folder / str(number)) for number, kind in enumerate(KINDS)}


def assert_same(found, expected, at):
    """Raise unless both are of the same type and hold the same, all the way down."""
    assert type(found) is type(expected), at
    if hasattr(expected, "dask"):
        found, expected = found.compute(), expected.compute()
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, at
        assert_array_equal(found, expected, err_msg=at)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected)
    elif isinstance(expected, pl.DataFrame):
        assert found.equals(expected), at
    elif sparse.issparse(expected):
        assert_array_equal(found.toarray(), expected.toarray(), err_msg=at)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), at
        for key in expected:
            assert_same(found[key], expected[key], f"{at}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), at
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{at}[{i}]")
    elif isinstance(expected, Chance):  # one may have been asked for it before
        assert found.level == expected.level, at
    elif is_dataclass(expected):
        for name in {f.name for f in fields(expected)} - {"seconds"}:  # that a run took
            assert_same(getattr(found, name), getattr(expected, name), f"{at}.{name}")
    elif type(expected).__module__.startswith("clustertrust"):
        assert_same(vars(found), vars(expected), at)
    else:
        assert found == expected or (found != found and expected != expected), at


@pytest.mark.parametrize("then", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_a_refitted_estimator_equals_a_fresh_one(first, then, data, fresh, loaded, tmp_path):
    cake = fit(copy.copy(fresh[first]), data, then)
    assert_same(vars(cake), vars(fresh[then]), "cake")
    cake.save(tmp_path / "model")
    assert_same(vars(CAKE.load(tmp_path / "model")), vars(loaded[then]), "loaded")
    new = points(cake.n_features_in_)
    if hasattr(cake, "feature_names_in_"):
        new = pd.DataFrame(new, columns=cake.feature_names_in_)
    assert_array_equal(cake.predict(new), fresh[then].predict(new))


@pytest.mark.parametrize(
    ("first", "then"), [("named frame", "streamed npy"), ("named frame", "dask array")]
)
def test_a_refitted_estimator_writes_its_report(first, then, data, fresh, tmp_path):
    fit(copy.copy(fresh[first]), data, then).report(tmp_path / "refitted.html")
    assert (tmp_path / "refitted.html").stat().st_size > 0


@pytest.mark.parametrize("then", ["array", "streamed npy", "dask array"])
def test_a_fit_that_fails_leaves_no_mix_of_two_fits(then, data, fresh):
    cake = copy.copy(fresh["named frame"]).set_params(n_clusters=N + 1)
    with pytest.raises(ValueError, match="n_clusters"):
        fit(cake, data, then)
    for look in (
        cake.to_frame,
        cake.summary,
        lambda: cake.predict(data["array"]),
        lambda: cake.explain(0),
    ):
        with pytest.raises(NotFittedError):
            look()
