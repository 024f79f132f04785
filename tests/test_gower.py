"""Gower's distance: tables of numbers and categories, against plain loops over pairs and columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import silhouette_samples
from sklearn.utils import get_tags

from clustertrust import (
    CAKE,
    Metric,
    Runs,
    audit,
    build_ensemble,
    choose_k,
    confidence,
    null_reference,
)
from clustertrust.distances.mixed import MixedColumns, as_mixed
from clustertrust.geometry import silhouettes
from clustertrust.kernels import _numba, _numpy

RNG = np.random.default_rng(0)


def gower(a, b, table):
    """Distance of two rows, column by column, by the ranges of `table`; 1 if they share none."""
    apart = []
    for name in table.columns:
        x, y = a[name], b[name]
        if pd.isna(x) or pd.isna(y):
            continue
        known = table[name].dropna()
        if all(
            isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_)
            for v in known
        ):
            width = max(known) - min(known)
            apart.append(min(1.0, abs(x - y) / width) if width > 0 else 0.0)
        else:
            apart.append(0.0 if x == y else 1.0)
    return sum(apart) / len(apart) if apart else 1.0


def matrix(rows, table):
    return np.array([[gower(a, b, table) for _, b in table.iterrows()] for _, a in rows.iterrows()])


def mixed_table(n=60, missing=0.1, seed=0):
    """Two groups that differ in two numbers and two categories, with gaps."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "age": np.where(group, rng.normal(60, 5, n), rng.normal(30, 5, n)).round(1),
            "city": np.where(
                group, rng.choice(["Rome", "Oslo"], n), rng.choice(["Lima", "Oslo"], n)
            ),
            "member": rng.random(n) < np.where(group, 0.9, 0.1),
            "income": rng.lognormal(group + 1.0, 0.5, n).round(2),
            "same": 7.0,
        }
    )
    gaps = rng.random(table.shape) < missing
    gaps[:, -1] = False  # every row keeps one value at least
    table = table.astype(object).mask(gaps)
    table["age"], table["income"], table["same"] = (
        table[name].astype(float) for name in ("age", "income", "same")
    )
    table["city"] = table["city"].astype("category")
    return table, group


TABLE, GROUP = mixed_table()
EXACT = matrix(TABLE, TABLE) * (1 - np.eye(len(TABLE)))


def cake(**options):
    defaults = {"clusterer": "kmedoids", "metric": "gower", "n_runs": 5, "random_state": 0}
    return CAKE(2, **(defaults | options))


def test_distances_are_those_of_plain_loops():
    _, encoded = as_mixed(TABLE, None)
    found = Metric("gower").between(encoded, encoded)
    assert_allclose(found * (1 - np.eye(len(TABLE))), EXACT, atol=1e-12)


@given(st.integers(1, 7), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_compiled_and_plain_kernels_agree(n, d, seed):
    rng = np.random.default_rng(seed)
    A, B = (rng.integers(-1, 4, (m, d)) * rng.choice([1.0, 0.3], d) for m in (n, n + 2))
    A[rng.random(A.shape) < 0.3] = np.nan
    B[rng.random(B.shape) < 0.3] = np.nan
    assert_allclose(
        _numba.gower_distances(A, B), _numpy.gower_distances(A, B), rtol=1e-13, atol=1e-15
    )


def test_runs_and_silhouettes_are_those_of_the_matrix():
    found = cake().fit(TABLE)
    given_matrix = cake(metric="precomputed").fit(EXACT)
    assert_array_equal(found.ensemble_.labels, given_matrix.ensemble_.labels)
    assert_allclose(found.scores_, given_matrix.scores_, atol=1e-9)
    assert (found.labels_ == GROUP).mean() in (0.0, 1.0) or abs(
        (found.labels_ == GROUP).mean() - 0.5
    ) > 0.4
    s = silhouettes(TABLE, found.ensemble_, metric="gower")
    assert_allclose(
        s[:, 0],
        silhouette_samples(EXACT, found.ensemble_.labels[:, 0], metric="precomputed"),
        atol=1e-9,
    )
    scored = confidence(TABLE, found.ensemble_, metric="gower")
    assert_array_equal(scored.scores, found.scores_)


@pytest.mark.parametrize("clusterer", ["agglomerative", "hdbscan", "spectral", "leiden"])
def test_other_clusterers_take_it_too(clusterer):
    k = None if clusterer in {"hdbscan", "leiden"} else 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*deterministic.*|.*jaccard.*|.*unassigned.*")
        warnings.filterwarnings("ignore", message=".*have one cluster.*|.*fully connected.*")
        options = {"n_clusters": k, "clusterer": clusterer, "n_runs": 2}
        found = cake().set_params(**options).fit(TABLE)
        same = cake(metric="precomputed").set_params(**options).fit(EXACT)
    assert_array_equal(found.ensemble_.labels, same.ensemble_.labels)


def test_unseen_rows():
    found = cake().fit(TABLE)
    new = pd.DataFrame(
        {
            "age": [31.0, np.nan, 500.0, -10.0],
            "city": ["Lima", "Oslo", "Paris", None],  # Paris is not in the training data
            "member": [False, True, None, True],
            "income": [2.0, np.nan, 9.0, 1e9],
            "same": [7.0, 7.0, 8.0, np.nan],
        }
    )
    distances = matrix(new, TABLE)
    run = found.ensemble_.runs[0]
    medoids = [
        int(
            np.flatnonzero(
                (found.X_fit_ == center).all(axis=1)
                | np.array([_equal(r, center) for r in found.X_fit_])
            )[0]
        )
        for center in run.placer.centers
    ]
    placed = distances[:, medoids].argmin(axis=1)
    assert_array_equal(run.placer(found.mixed_columns_.encode(new)), placed)
    labels = found.ensemble_.labels
    if (labels == labels[:, :1]).all():  # all runs agree: one silhouette says it all
        means = np.array([[row[labels[:, 0] == c].mean() for c in (0, 1)] for row in distances])
        own = placed[:, None] == np.arange(2)
        a, b = means[own], means[~own]
        s = (b - a) / np.maximum(a, b)
        g = np.maximum(s, 0)
        assert_allclose(found.score_samples(new), 2 * g / (1 + g), atol=1e-9)
    assert_array_equal(found.predict(TABLE), found.labels_)


def _equal(a, b):
    return bool(((a == b) | (np.isnan(a) & np.isnan(b))).all())


def test_rows_that_share_no_column_are_as_far_as_can_be():
    table = pd.DataFrame({"x": [0.0, 1.0, np.nan, np.nan], "c": [None, None, "a", "b"]})
    _, encoded = as_mixed(table, None)
    found = Metric("gower").between(encoded, encoded)
    assert found[0, 2] == found[1, 3] == 1.0
    assert found[2, 2] == 0.0


def test_kinds_of_columns():
    table = pd.DataFrame(
        {
            "text": pd.Series(["a", "b", None], dtype="string"),
            "object": pd.Series(["a", 1, None], dtype=object),
            "category": pd.Categorical([1, 2, 2]),
            "truth": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "whole": [1, 2, 3],
            "gaps": pd.array([1, None, 3], dtype="Int64"),
            "numbers": pd.Series([1, 2.5, None], dtype=object),
            "empty": [np.nan] * 3,
        }
    )
    columns = MixedColumns.from_table(table)
    is_category = {
        name: known is not None
        for name, known in zip(columns.names, columns.categories, strict=True)
    }
    assert [name for name, is_one in is_category.items() if is_one] == [
        "text",
        "object",
        "category",
        "truth",
        "maybe",
    ]
    forced = MixedColumns.from_table(table, ["whole"])
    assert forced.categories[5] == (1, 2, 3)
    dates = table.assign(when=pd.to_datetime("2020-01-01"))
    with pytest.raises(ValueError, match="dates in column 'when'"):
        MixedColumns.from_table(dates)


def test_polars_gives_the_same():
    polars = pytest.importorskip("polars")
    plain = TABLE.assign(city=TABLE["city"].astype(object))
    frame = polars.DataFrame(
        {name: [None if pd.isna(v) else v for v in plain[name]] for name in plain.columns}
    )
    found = cake().fit(frame)
    assert_array_equal(found.scores_, cake().fit(TABLE).scores_)
    assert type(found.to_frame()).__module__.startswith("polars")


def test_arrays_and_categories_by_position():
    numbers = np.column_stack([RNG.integers(0, 3, 40), RNG.normal(size=40)])
    found = cake(metric=Metric("gower", {"categorical": [0]})).fit(numbers)
    table = pd.DataFrame({"a": numbers[:, 0].astype(str), "b": numbers[:, 1]})
    assert_array_equal(found.scores_, cake().fit(table).scores_)
    as_numbers = cake().fit(numbers)
    assert not np.array_equal(as_numbers.scores_, found.scores_)
    with pytest.raises(ValueError, match=r"names 'z', which is not a column"):
        cake(metric=Metric("gower", {"categorical": ["z"]})).fit(numbers)
    with pytest.raises(ValueError, match="'weights', which metric='gower' does not take"):
        cake(metric=Metric("gower", {"weights": [1]})).fit(numbers)


def test_resampling_keeps_the_ranges_of_all_rows():
    found = cake(resample=0.6, n_runs=Runs(4, left_out="predict")).fit(TABLE)
    same = cake(metric="precomputed", resample=0.6, n_runs=Runs(4, left_out="predict")).fit(EXACT)
    assert_array_equal(found.ensemble_.labels, same.ensemble_.labels)


def test_a_stored_model_takes_tables(tmp_path):
    found = cake().fit(TABLE)
    found.save(tmp_path / "model")
    again = CAKE.load(tmp_path / "model")
    assert_array_equal(again.score_samples(TABLE), found.score_samples(TABLE))
    assert_array_equal(again.predict(TABLE), found.labels_)
    assert again.judge(TABLE).equals(found.judge(TABLE))
    found.report(tmp_path / "page.html")
    assert "principal coordinates" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_audit_takes_tables():
    wrong = GROUP.copy()
    slip = int(np.argmax(cake().fit(TABLE).scores_))
    wrong[slip] = 1 - wrong[slip]
    found = audit(TABLE, wrong, metric="gower", n_runs=12, random_state=0)
    assert found.suggested[slip] == GROUP[slip] != wrong[slip]
    assert found.classifier is None
    with_runs = audit(TABLE, wrong, metric="gower", clusterer="kmedoids", n_runs=12, random_state=0)
    assert with_runs.suggested[slip] == found.suggested[slip]


def test_what_cannot_be():
    with pytest.raises(ValueError, match=r"clusterer='kmeans' needs points.*'kmedoids'"):
        CAKE(2, metric="gower").fit(TABLE)
    with pytest.raises(ValueError, match="fits Gaussians"):
        cake(fusion="refined").fit(TABLE)
    with pytest.raises(ValueError, match=r"1 row\(s\) without any value; the first is row 3"):
        cake().fit(TABLE.mask(np.repeat(np.arange(60)[:, None] == 3, 5, axis=1)))
    with pytest.raises(ValueError, match="infinite values in column 'age'"):
        cake().fit(TABLE.assign(age=np.inf))
    with pytest.raises(ValueError, match="null=None"):
        choose_k(TABLE, range(2, 4), cake().set_params(n_clusters=None))
    with pytest.raises(ValueError, match="Surrogates are points"):
        null_reference(TABLE, cake())
    with pytest.raises(TypeError, match=r"pd\.read_csv"):
        cake().fit("table.csv")
    found = cake().fit(TABLE)
    with pytest.raises(ValueError, match=r"columns|feature names"):
        found.predict(TABLE[TABLE.columns[::-1]])
    with pytest.raises(ValueError, match="column 'age', which held numbers"):
        found.predict(TABLE.assign(age="old"))
    assert get_tags(cake()).input_tags.categorical
    profile = choose_k(TABLE, range(2, 4), cake().set_params(n_clusters=None), null=None)
    assert profile.mean_score[0] == pytest.approx(found.scores_.mean(), rel=1e-9)
    runs = build_ensemble(TABLE, "kmedoids", n_clusters=2, n_runs=5, metric="gower", random_state=0)
    assert_array_equal(runs.labels, found.ensemble_.labels)


def test_without_the_matrix(monkeypatch):
    import sklearn

    whole = cake().fit(TABLE)
    with sklearn.config_context(working_memory=0.01):
        pieces = cake(n_jobs=1).fit(TABLE)
    assert_array_equal(pieces.ensemble_.labels, whole.ensemble_.labels)
    assert_allclose(pieces.scores_, whole.scores_, atol=1e-12)
