"""TablePreparer: a scikit-learn transformer, the same in memory, in blocks and on Dask."""

import json

import numpy as np
import pandas as pd
import pytest
import sklearn.utils._indexing
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from clustertrust import CAKE, TablePreparer
from clustertrust.tables import rows

SCALES = ("auto", "none", "standard", "robust", "minmax")


def shop(n=600):
    """A table with text of all kinds, gaps, and a name for each row."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"c{i:06}" for i in range(n)], "a": rng.normal(size=n)})
    frame["b"] = rng.normal(size=n) * 300
    frame["paid"] = [f"${value:,.2f}" for value in rng.gamma(2, 900, n)]
    frame["member"] = rng.choice(["yes", "no"], n)
    frame["city"] = rng.choice(["Lima", "Oslo", "None"], n, p=[0.2, 0.3, 0.5])
    frame["since"] = pd.date_range("2020-01-01", periods=n, freq="h").astype(str)
    frame["words"] = [f"{rng.choice(['red', 'blue'])} {rng.integers(n // 3)}" for _ in range(n)]
    frame["age"] = np.where(rng.random(n) < 0.02, -999, rng.integers(18, 90, n))
    frame.loc[::40, "a"] = np.nan
    frame.loc[5, ["a", "b", "paid", "city", "age"]] = np.nan
    return frame


def in_blocks(frame, size):
    return lambda: (frame.iloc[low : low + size] for low in range(0, len(frame), size))


@parametrize_with_checks([TablePreparer()])
def test_it_is_an_estimator_as_scikit_learn_wants_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("size", [37, 5000])
def test_blocks_of_any_size_give_the_same_bits(monkeypatch, scale, size):
    for name in ("HEAD", "DRAWN"):
        monkeypatch.setattr(rows, name, 100)
    monkeypatch.setattr("clustertrust.tables.scales.PIECE", 64)
    frame = shop()
    whole = TablePreparer(scale=scale).fit(frame)
    parts = TablePreparer(scale=scale).fit_blocks(in_blocks(frame, size))
    assert parts.plan_ == whole.plan_
    assert json.dumps(parts.to_json()) == json.dumps(whole.to_json())
    assert_array_equal(parts.transform(frame), whole.transform(frame))


def test_numbers_are_those_of_pandas():
    frame = shop()
    preparer = TablePreparer(scale="standard").set_output(transform="pandas").fit(frame)
    X, used = preparer.transform(frame), frame.drop(index=5)
    assert list(X.columns) == list(preparer.get_feature_names_out())
    filled = used["a"].fillna(used["a"].mean())
    expected = (filled - filled.mean()) / filled.std(ddof=0)
    assert_allclose(X["a"].drop(index=5), expected, atol=1e-12)
    paid = used["paid"].str.replace("[$,]", "", regex=True).astype(float)
    assert_allclose(X["paid"].drop(index=5), StandardScaler().fit_transform(paid.to_frame())[:, 0])
    assert X.drop(index=5).notna().all(axis=None)
    # Two random rows differ in a category as much as in a number.
    cities = X.drop(index=5).filter(like="city=").var(ddof=0).sum()
    assert_allclose(cities, 1, rtol=0.02)  # gaps are filled with means, which vary less


@pytest.mark.parametrize("size", [40, 10_000])
def test_values_whose_squares_overflow_are_refused_by_name(size):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(size, 2)), columns=["x", "y"])
    table["x"] *= 1e307
    with pytest.raises(ValueError, match=r"The column 'x' has values so large .* drop"):
        TablePreparer().fit(table)


def test_rows_that_are_no_points_are_named():
    frame = shop()
    total = dict.fromkeys(frame.columns) | {"name": "Total", "a": 12.0, "b": 3.0, "age": 9}
    frame.loc[len(frame)] = total
    why = TablePreparer().fit(frame).left_out(frame)
    assert why[len(frame) - 1] == "left out: total row"
    assert why[5] == "left out: missing values"
    assert (why != "").sum() == 2


def test_blocks_one_by_one_learn_what_a_table_shows():
    # What stands for a missing value has to be in the first block.
    frame, preparer = shop().drop(columns="age"), TablePreparer(scale="standard")
    frame.loc[500, "city"] = "Rome"
    for low in range(0, 600, 100):
        preparer.partial_fit(frame[low : low + 100])
    whole = TablePreparer(scale="standard").fit(frame)
    assert "city=Rome" in preparer.get_feature_names_out()
    assert preparer.plan_.n_rows == 600
    assert_allclose(preparer.transform(frame), whole.transform(frame), atol=1e-12)


def test_what_few_rows_have_is_seen_by_all_of_them(monkeypatch):
    """The rows that are looked at decide what a column is, and all rows which categories it has."""
    for name in ("HEAD", "DRAWN"):
        monkeypatch.setattr(rows, name, 20)
    frame = shop()
    frame["kind"] = ["p", "q"] * 300
    frame.loc[100:170, "kind"] = [f"k{i}" for i in range(71)]
    frame.loc[300, "city"] = "Rome"
    preparer = TablePreparer().fit(frame)
    columns = {column.name: column for column in preparer.plan_.columns}
    assert columns["city"].levels == ("Lima", "None", "Oslo", "Rome")
    assert columns["kind"].use == "ignored"
    assert columns["kind"].reason == "73 categories, more than 50"
    assert columns["a"].n_missing == frame["a"].isna().sum()


def test_the_rows_looked_at_are_the_first_some_others_and_the_last(monkeypatch):
    monkeypatch.setattr(rows, "HEAD", 10)
    monkeypatch.setattr(rows, "DRAWN", 7)
    frame = pd.DataFrame({"x": np.arange(1000)})
    looked = rows.draw_rows([frame])
    assert_array_equal(looked.positions[:10], np.arange(10))
    assert_array_equal(looked.positions[-3:], [997, 998, 999])
    assert_array_equal(looked.frame["x"], looked.positions)
    assert 17 <= len(looked.positions) <= 20
    assert looked.n_rows == 1000
    again = rows.draw_rows(in_blocks(frame, 13)())
    assert_array_equal(again.positions, looked.positions)


def test_text_and_dates_are_encoded_by_transformers_of_the_user():
    frame = shop()
    hours = FunctionTransformer(lambda X: X.iloc[:, 0].dt.hour.to_numpy()[:, None])
    preparer = TablePreparer(text=TfidfVectorizer(max_features=5), dates=hours).fit(frame)
    names = list(preparer.get_feature_names_out())
    assert names[-6:] == ["since_0", "words_0", "words_1", "words_2", "words_3", "words_4"]
    X = pd.DataFrame(preparer.transform(frame), columns=names)
    assert_allclose(X["since_0"].corr(pd.Series(pd.to_datetime(frame["since"]).dt.hour)), 1)
    assert_array_equal(preparer.rows_of(frame).X, X[preparer.left_out(frame) == ""])
    assert "Encoded: since, words." in str(preparer.plan_)
    with pytest.raises(ValueError, match="cannot be stored"):
        preparer.to_json()
    assert len(TablePreparer().fit(frame).get_feature_names_out()) == len(names) - 6


def test_comments_that_all_differ_are_texts_for_a_transformer():
    frame = shop(60)[["a", "paid"]].assign(
        said=[f"came {j} minutes late" for j in range(60)], who=[f"Ann {j}" for j in range(60)]
    )
    plain = TablePreparer().fit(frame).plan_
    assert [column.kind for column in plain.columns[2:]] == ["id", "id"]
    preparer = TablePreparer(text=TfidfVectorizer(max_features=3)).fit(frame)
    assert "Encoded: said." in str(preparer.plan_)
    assert list(preparer.encoders_) == ["said"]
    assert preparer.transform(frame).shape == (60, len(plain.features) + 3)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_other_frames_are_read_as_pandas_are(kind):
    frame = shop()
    module = pytest.importorskip(kind)
    pytest.importorskip("pyarrow")
    make = {"polars": "from_pandas", "pyarrow": "Table"}[kind]
    made = getattr(module, make)
    table = made(frame) if kind == "polars" else made.from_pandas(frame)
    assert_array_equal(TablePreparer().fit_transform(table), TablePreparer().fit_transform(frame))


def test_a_pipeline_is_what_the_command_runs():
    frame = shop(150)
    model = make_pipeline(TablePreparer(), CAKE(3, n_runs=3, random_state=0)).fit(frame)
    assert model.predict(frame.iloc[::-1, ::-1].assign(more="text")).shape == (150,)
    search = GridSearchCV(model, {"tablepreparer__scale": ["none", "standard"]}, cv=2).fit(frame)
    assert search.best_params_["tablepreparer__scale"] in {"none", "standard"}
    assert clone(model[0]).get_params() == TablePreparer().get_params()


@pytest.mark.filterwarnings("ignore:More than 5%")
@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_a_search_takes_other_frames(kind):
    frame = shop(90)
    module = pytest.importorskip(kind)
    pytest.importorskip("pyarrow")
    if kind == "pyarrow" and not hasattr(sklearn.utils._indexing, "is_pyarrow_data"):
        pytest.skip("this scikit-learn does not take rows of pyarrow tables")
    table = module.from_pandas(frame) if kind == "polars" else module.Table.from_pandas(frame)
    model = make_pipeline(TablePreparer(), CAKE(2, n_runs=2, random_state=0))
    grid = {"cake__n_clusters": [2, 3]}
    found = GridSearchCV(model, grid, cv=2, error_score="raise").fit(table)
    expected = GridSearchCV(model, grid, cv=2, error_score="raise").fit(frame)
    assert_array_equal(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_a_path_is_no_table():
    with pytest.raises(TypeError, match=r"X='x.csv' is a path; give a table, such as pd.read_csv"):
        TablePreparer().fit("x.csv")


def test_one_column_needs_no_list():
    frame = shop()
    plan = TablePreparer(drop="age", na="-9").fit(frame).plan_
    assert plan == TablePreparer(drop=["age"], na=["-9"]).fit(frame).plan_


def test_an_edited_plan_is_given_back():
    frame = shop()
    plan = TablePreparer(drop=["age"]).fit(frame).plan_
    again = TablePreparer(plan=plan).fit(frame)
    assert again.plan_ == plan
    with pytest.raises(ValueError, match=r"drop=\('a',\) is not used with plan"):
        TablePreparer(plan=plan, drop=["a"]).fit(frame)
    with pytest.raises(ValueError, match="lacks columns of plan: b"):
        TablePreparer(plan=plan).fit(frame.drop(columns="b"))
    kept = json.loads(json.dumps(again.to_json()))
    assert_array_equal(TablePreparer.from_json(kept).transform(frame), again.transform(frame))


def test_on_dask_it_learns_and_does_the_same():
    frames = pytest.importorskip("dask.dataframe")
    frame = shop()
    lazy = frames.from_pandas(frame, npartitions=7)
    whole = TablePreparer(scale="standard").fit(frame)
    far = TablePreparer(scale="standard").fit(lazy)
    assert far.plan_ == whole.plan_
    found = far.transform(lazy)
    assert list(found.columns) == list(whole.get_feature_names_out())
    assert_allclose(found.compute().to_numpy(), whole.transform(frame), atol=1e-9)
