"""Neighbours that users have beside us: scikit-learn's routing, joblib, skops, dask-ml, Arrow tables.

`neighbours.py` has those that take an environment of their own (make test-neighbours).
"""

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from extras import extra
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from clustertrust import CAKE, TablePreparer

polars, pyarrow = extra("polars"), extra("pyarrow")
FLOWERS = load_iris(as_frame=True).data
OURS = ("clustertrust.", "functools.partial", "numpy.dtype", "scipy.sparse.")


@pytest.fixture(scope="module")
def cake():
    return CAKE(3, n_runs=4, random_state=0).fit(FLOWERS)


def with_text():
    """Numbers with a gap, and text."""
    frame = FLOWERS.assign(kind=np.where(FLOWERS.iloc[:, 0] > 6, "large", "small"))
    frame.iloc[3, 1] = np.nan
    return frame


def fitted(X, **options):
    cake = CAKE(3, n_runs=4, random_state=0, **options)
    if "kind" in X:
        cake = make_pipeline(TablePreparer(missing="mean"), cake)
    return cake.fit(X), X


MODELS = {
    "frame": lambda: fitted(FLOWERS),
    "array": lambda: fitted(FLOWERS.to_numpy()),
    "text": lambda: fitted(with_text()),
    "refined": lambda: fitted(FLOWERS, fusion="refined"),
    "gmm": lambda: fitted(FLOWERS, clusterer="gmm"),
}


@pytest.mark.parametrize("name", MODELS)
def test_skops_and_joblib_keep_a_fitted_model(name, tmp_path):
    skops = pytest.importorskip("skops.io")
    model, X = MODELS[name]()
    data = skops.dumps(model)
    untrusted = skops.get_untrusted_types(data=data)
    assert [name for name in untrusted if not name.startswith(OURS)] == []
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (
        skops.loads(data, trusted=untrusted),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
    ):
        assert_array_equal(again.predict(X), model.predict(X))
        assert_array_equal(again.score_samples(X), model.score_samples(X))
        one, other = (each[-1] if name == "text" else each for each in (again, model))
        pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
        assert one.explain(3) == other.explain(3)


@pytest.mark.filterwarnings("default")  # theirs are not ours
def test_dask_ml_predicts_in_parallel(cake):
    da = pytest.importorskip("dask.array")
    wrappers = pytest.importorskip("dask_ml.wrappers")
    points = FLOWERS.to_numpy()
    model = wrappers.ParallelPostFit(CAKE(3, n_runs=4, random_state=0)).fit(points)
    labels = model.predict(da.from_array(points, chunks=(40, 4)))
    assert isinstance(labels, da.Array)
    assert_array_equal(labels.compute(), cake.predict(FLOWERS))


def test_metadata_routing_finds_nothing_to_route(cake):
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(MinMaxScaler(), CAKE(3, n_runs=4, random_state=0)).fit(FLOWERS)
        assert pipeline.score_samples(FLOWERS).shape == (150,)
        with pytest.raises(TypeError, match="sample_weight"):
            pipeline.fit(FLOWERS, sample_weight=np.ones(150))


def in_polars(frame):
    return polars.from_pandas(frame)


def in_arrow(frame):
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def in_arrow_dtypes(frame):
    table = in_arrow(frame)
    return table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("form", [in_polars, in_arrow, in_arrow_dtypes])
def test_tables_of_other_libraries_give_the_same_scores(form):
    frame = with_text()
    model = make_pipeline(TablePreparer(missing="mean"), CAKE(3, n_runs=4, random_state=0))
    expected = model.fit(frame)[-1].scores_
    assert_array_equal(model.fit(form(frame))[-1].scores_, expected)
    numbers = CAKE(3, n_runs=4, random_state=0)
    assert_array_equal(
        numbers.fit(form(FLOWERS)).scores_, CAKE(3, n_runs=4, random_state=0).fit(FLOWERS).scores_
    )
