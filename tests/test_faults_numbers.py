"""Odd shapes and numbers: a right answer or a clear error."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from command import run
from faulty import FAST, FRAME, HOW, ROWS, X, both, refused, score, write_lines
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from clustertrust import CAKE, confidence
from clustertrust.geometry import Kernel

GEOMETRIES = ["exact", "centroid", "rms", "kernel", "graph"]


# Odd shapes


def test_a_hundred_thousand_columns():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(8, 100_000)) + 5.0 * np.repeat([0, 1], 4)[:, None]
    cake = CAKE(2, n_runs=3, random_state=0).fit(wide)
    assert_array_equal(cake.labels_ == cake.labels_[0], np.arange(8) < 4)
    assert (cake.scores_ > 0.5).all()


def test_a_command_takes_many_columns(folder):
    wide = np.random.default_rng(0).normal(size=(8, 20_000)) + 5.0 * np.repeat([0, 1], 4)[:, None]
    cake = CAKE(2, n_runs=3, random_state=0).fit(wide)
    np.save("wide.npy", wide)
    score("wide.npy", *FAST, "--out", "s.csv", "--model", "m")
    assert_allclose(pd.read_csv("s.csv")["score"], cake.scores_, rtol=1e-9)
    run("predict", "m", "wide.npy", "--out", "p.csv")
    assert_array_equal(pd.read_csv("p.csv")["label"], cake.labels_)


@both
def test_one_column(folder, how):
    frame = pd.DataFrame({"a": np.r_[np.linspace(0, 1, 20_000), np.linspace(5, 6, 20_000)]})
    frame.to_csv("x.csv", index=False)
    score("x.csv", *FAST, *HOW[how], "--geometry", "rms", "--out", "s.csv")
    scores = pd.read_csv("s.csv")
    assert scores["label"].nunique() == 2
    assert (scores["label"][:20_000] == scores["label"][0]).all()
    assert scores["score"].between(0.5, 1).all()


def test_one_row_in_blocks(folder):
    """In memory: tests/test_cli.py::test_errors_are_short_and_say_what_to_do."""
    Path("data").mkdir()
    Path("data/x.csv").write_text("a,b\n1,2\n")
    assert "1 row" in score("data", *FAST, code=1).stderr
    np.save("x.npy", np.ones((1, 2)))
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(ValueError, match="X has 1 rows"),
    ):
        CAKE(1).fit("x.npy")


@both
@pytest.mark.parametrize("scaled", [[], ["--standardize"]])
def test_constant_columns_change_nothing(folder, how, scaled):
    apart = FRAME + 9 * (np.arange(ROWS) % 2)[:, None]  # or rounding moves a point at the border
    apart.to_csv("x.csv", index=False)
    apart.assign(c=0.1, d=-7e9, e=0).to_csv("y.csv", index=False)
    for name in "xy":
        score(
            f"{name}.csv", *FAST, *HOW[how], *scaled, "--geometry", "rms", "--out", f"s{name}.csv"
        )
    one, other = (pd.read_csv(f"s{name}.csv") for name in "xy")
    assert_array_equal(one["label"], other["label"])
    assert_allclose(one["score"], other["score"], atol=1e-6)


@both
def test_duplicates_only(folder, how):
    pd.DataFrame({"a": np.full(80_000, 1.5), "b": 2.5}).to_csv("x.csv", index=False)
    told = score("x.csv", *FAST, *HOW[how], "--geometry", "rms", "--out", "s.csv", code=1).stderr
    assert "no column left to cluster (a: all values are 1.5; b: all values are 2.5)" in told
    assert "--keep" not in told  # which would make one cluster of equal points
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cake = CAKE(3, n_runs=3, random_state=0).fit(np.ones((30, 2)))
    assert {warning.category for warning in caught} == {ConvergenceWarning, UserWarning}
    assert_array_equal(cake.scores_, 0.0)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_as_many_clusters_as_points(geometry):
    """Each point is a cluster of its own, whose silhouette is 0; so is the score, however stable."""
    cake = CAKE(6, n_runs=3, geometry=geometry, random_state=0).fit(X[:6])
    assert_array_equal(cake.stability_, 1.0)
    assert_array_equal(cake.scores_, 0.0)


def test_more_clusters_than_rows_in_blocks(folder):
    """In memory: tests/test_ensemble.py::test_errors_name_the_argument_and_the_value."""
    np.save("x.npy", X[:10])
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(ValueError, match="n_clusters=11 is more than the 10"),
    ):
        CAKE(11, n_runs=2).fit("x.npy")


# Odd numbers


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_negative_zero_is_zero(geometry):
    plain = np.where(X[:60] > 2, X[:60], 0.0)
    signed = np.where(plain == 0, -0.0, plain)
    one, other = (
        CAKE(2, n_runs=3, geometry=geometry, random_state=0).fit(data) for data in (plain, signed)
    )
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.scores_, other.scores_)


LABELS = np.repeat([[0, 0, 0], [1, 1, 1]], 30, axis=0)
LABELS[29, 2] = 1


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("unit", [1e300, 1e155, 1e-155, 1e-300])
def test_huge_and_tiny_magnitudes_are_told(geometry, unit):
    """Squares of such numbers are infinite or 0: the scores were all 0, without a word."""
    points = np.r_[X[:30] / 10, X[:30] / 10 + 3] * unit
    told = "too large" if unit > 1 else "too small"
    with pytest.raises(
        ValueError, match=rf"X has values of up to .*{told} for float64 .* divide X by 1e"
    ):
        confidence(points, LABELS, geometry=geometry)
    with pytest.raises(ValueError, match=told):
        CAKE(2, n_runs=2, geometry=geometry).fit(points)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("unit", [1e140, 1e-140, 2.0**-400, 2.0**400])
def test_large_and_small_magnitudes_change_no_score(geometry, unit):
    points = np.r_[X[:30] / 10, X[:30] / 10 + 3]
    scores = confidence(points, LABELS, geometry=geometry).scores
    assert scores.max() > 0.3
    assert_allclose(confidence(points * unit, LABELS, geometry=geometry).scores, scores, rtol=1e-9)


def test_metrics_that_take_no_squares_take_any_magnitude():
    points = np.r_[X[:30] / 10, X[:30] / 10 + 3]
    scores = confidence(points, LABELS, metric="manhattan").scores
    assert_allclose(
        confidence(points * 1e300, LABELS, metric="manhattan").scores, scores, rtol=1e-9
    )
    for metric in ("cosine", "sqeuclidean", "correlation"):
        with pytest.raises(ValueError, match="too large for float64"):
            confidence(points * 1e300, LABELS, metric=metric)


def test_magnitudes_of_short_floats_are_told():
    points = (np.r_[X[:30] / 10, X[:30] / 10 + 3] * 1e25).astype(np.float32)
    with pytest.raises(ValueError, match=r"too large for float32 .* or convert it to float64"):
        CAKE(2, n_runs=2).fit(points)
    whole = CAKE(2, n_runs=2, random_state=0).fit(points.astype(np.float64))
    assert (whole.scores_ > 0.5).all()


def test_kernels_that_leave_the_range_of_numbers_are_told():
    """A find of `make test-fuzz`: a warning of NumPy's, and scores of nothing."""
    with pytest.raises(ValueError, match=r"kernel='polynomial' of some points .*divide X"):
        confidence(np.r_[X[:30], X[:30] + 3] * 1e60, LABELS, geometry=Kernel("polynomial"))
    with pytest.raises(ValueError, match=r"kernel=<lambda> .* with themselves is not finite"):
        confidence(np.r_[X[:30], X[:30] + 3], LABELS, geometry=Kernel(lambda x, y: np.inf))


def test_new_points_next_to_zero_are_judged_and_huge_ones_told():
    cake = CAKE(2, n_runs=3, random_state=0).fit(X[:200])
    assert_array_equal(cake.predict(np.full((2, 2), 1e-300)), cake.predict(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="too large"):
        cake.predict(np.full((1, 2), 1e300))


@both
@pytest.mark.parametrize("value", ["1e300", "-1e200"])
def test_huge_magnitudes_in_a_file(folder, how, value):
    write_lines("x.csv", 7000, f"{value},2")
    as_is = [*FAST, *HOW[how], "--geometry", "rms", "--scale", "none"]
    assert "squares are beyond 64-bit floats" in score("x.csv", *as_is, code=1).stderr


def test_a_huge_magnitude_leaves_the_line_on_scales_short(folder):
    write_lines("x.csv", 4000, "1e300,2")
    (line,) = [line for line in score("x.csv", *FAST).stdout.splitlines() if "Scale:" in line]
    assert len(line) < 140


@both
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_integers_beyond_2_to_the_53(folder, how, suffix):
    values = 2**60 + np.arange(40_000) % 7
    frame = pd.DataFrame({"a": values, "b": np.arange(40_000) * 7919 % 40_009})
    if suffix == "npy":
        np.save("x.npy", np.ascontiguousarray(frame))
    else:
        getattr(frame, f"to_{suffix}")(f"x.{suffix}", index=False)
    if suffix == "npy":
        refused("x.npy", "integers beyond", how)
        return
    told = score(f"x.{suffix}", *FAST, *HOW[how], "--geometry", "rms").stdout
    assert "Not clustered: a, integers of more digits than floats can hold" in told
    assert "integers beyond" in score(f"x.{suffix}", *FAST, *HOW[how], "--keep", "a", code=1).stderr


@pytest.mark.parametrize(
    ("suffix", "how"), [("csv", "whole"), ("csv", "blocks"), ("jsonl", "whole")]
)
def test_integers_from_2_to_the_64_up(folder, suffix, how):
    rows = [(2**64 + 1000 + i % 7, i * 7919 % 40_009) for i in range(40_000)]
    if suffix == "csv":
        lines = ["a,b", *(f"{a},{b}" for a, b in rows)]
    else:
        lines = [f'{{"a": {a}, "b": {b}}}' for a, b in rows]
    Path(f"x.{suffix}").write_text("\n".join(lines) + "\n")
    told = score(f"x.{suffix}", *FAST, *HOW[how], "--geometry", "rms").stdout
    assert "Not clustered: a, integers of more digits than floats can hold" in told
    told = score(f"x.{suffix}", *FAST, *HOW[how], "--keep", "a", code=1).stderr
    assert f"x.{suffix}: X has integers beyond 2**53 in column 'a', such as 184467440" in told


@pytest.mark.parametrize("how", ["whole", "blocks"])
def test_one_integer_that_floats_cannot_hold_is_no_reason_to_leave_a_column_out(folder, how):
    rows = [f"{i * 31 % 97 if i % 1000 else 2**53 + 1},{i * 7919 % 40_009}" for i in range(40_000)]
    Path("x.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    told = score("x.csv", *FAST, *HOW[how], code=1).stderr
    assert "x.csv: X has integers beyond 2**53 in column 'a', such as 9007199254740993" in told


def test_long_numbers_that_name_rows_or_are_categories_stay(folder):
    rows = [f"{2**64 + i},{2**70 + i % 2},{i % 3 * 10},{i % 5}" for i in range(60)]
    Path("x.csv").write_text("\n".join(["key,code,a,b", *rows]))
    score("x.csv", "-k", "3", "--runs", "3", "--id", "key", "--category", "code")


@pytest.mark.parametrize("make", [list, pd.DataFrame, lambda rows: np.array(rows, dtype=object)])
def test_integers_from_2_to_the_64_up_in_memory(make):
    with pytest.raises(ValueError, match=r"such as 18446744073709551617.* Subtract"):
        confidence(make([[2**64 + i, i] for i in range(3)]), [[0, 0, 1], [0, 1, 1]])
    confidence(make([[2**64, 1], [2**65, 2], [2**66, 3]]), [[0, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize("make", [np.array, list, pd.DataFrame, "polars"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_beyond_2_to_the_53_in_memory(make, dtype):
    values = np.array([[1, 2**60], [2, 2**60 + 1], [3, 2**60 + 2]], dtype=dtype)
    if make is list:
        data = values.tolist()
    elif make == "polars":
        data = pytest.importorskip("polars").DataFrame(values)
    else:
        data = make(values)
    with pytest.raises(
        ValueError, match=r"beyond 2\*\*53 in column .*such as 1152921504606846977.* Subtract"
    ):
        confidence(data, [[0, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**60, -(2**63), 2**53 + 2])
def test_integers_that_floats_hold_are_taken(value):
    data = np.array([[value], [value], [0]])
    whole = confidence(data, [[0, 0, 1], [0, 0, 1]]).scores
    assert_array_equal(whole, confidence(data.astype(float), [[0, 0, 1], [0, 0, 1]]).scores)


@pytest.mark.parametrize("value", [2**63 - 1, 2**64 - 1, -(2**63) + 1])
def test_the_largest_integers_are_told(value):
    data = np.array([[value], [1], [0]], dtype=np.uint64 if value > 2**63 else np.int64)
    with pytest.raises(ValueError, match=f"such as {value}"):
        confidence(data, [[0, 0, 1], [0, 0, 1]])
