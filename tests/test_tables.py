"""Tables as people have them: what a look at one decides, and that nothing is silently wrong."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from clustertrust import CAKE
from clustertrust.cli import cli
from clustertrust.files import read_table
from clustertrust.files.delimited import EXACT
from clustertrust.model_files import read_about
from clustertrust.tables import ColumnChoices, TablePlan, TablePreparer, look
from clustertrust.tables.values import as_numbers, decimal_of, is_date, sentinels_in

FAST = ["-k", "3", "--runs", "4"]
RNG = np.random.default_rng(0)


def run(*args, code=0, stdin=None):
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def clouds(n=60, d=3):
    """Three clouds, row by row in turn, and which is which."""
    which = np.arange(n) % 3
    X = pd.DataFrame(RNG.normal(size=(n, d)) + 8 * which[:, None], columns=[*"abcdefgh"[:d]])
    return X, which


def results(path, **dialect):
    return pd.read_csv(path, **EXACT, **dialect)


def uses(plan):
    return {column.name: column.use for column in plan.columns}


def kinds(plan):
    return {column.name: column.kind for column in plan.columns}


# The cases that were silently wrong


def test_wine_is_standardised_by_itself_and_said(folder):
    wine = load_wine(as_frame=True)
    wine.data.to_csv("wine.csv", index=False)
    result = run("score", "wine.csv", "-k", "3", "--runs", "6", "--out", "s.csv")
    found = pd.read_csv("s.csv")
    assert adjusted_rand_score(wine.target, found["label"]) > 0.85
    assert found["score"].mean() < 0.5
    assert "Scale: standard, since their ranges differ by a factor of" in result.stdout
    result = run("score", "wine.csv", "-k", "3", "--runs", "6", "--scale", "none", "--out", "n.csv")
    assert adjusted_rand_score(wine.target, pd.read_csv("n.csv")["label"]) < 0.5


def test_a_column_of_ids_is_no_feature(folder):
    X, which = clouds()
    X.insert(0, "id", [f"{i:03}" for i in range(1, 61)])
    X.to_csv("x.csv", index=False)
    run("score", "x.csv", *FAST, "--out", "s.csv")
    found = pd.read_csv("s.csv", dtype={"id": str})
    assert adjusted_rand_score(which, found["label"]) == 1
    assert found["id"].tolist() == X["id"].tolist()  # as written, in the first column
    run("score", "x.csv", *FAST, "--keep", "id", "--scale", "none", "--out", "k.csv")
    assert adjusted_rand_score(which, pd.read_csv("k.csv")["label"]) < 1


def test_one_column_of_few_values_gets_a_word_and_no_scores(folder):
    years = pd.DataFrame({"rank": np.repeat([7, 8, 9], 111), "name": [f"n{i}" for i in range(333)]})
    years.to_csv("x.csv", index=False)
    told = run("score", "x.csv", *FAST, code=1).stderr
    assert "Only the column 'rank' with 3 different values is left" in told
    assert told.splitlines()[-1] == "Try: clustertrust score x.csv -k 3 --runs 4 --keep rank"
    run(*told.splitlines()[-1].split()[2:])  # it works when pasted


def test_a_column_that_misses_most_is_set_aside_unless_asked_for(folder):
    X, _ = clouds()
    X["budget"] = np.where(np.arange(60) < 5, np.arange(60.0), np.nan)
    X.to_csv("x.csv", index=False)
    told = run("score", "x.csv", *FAST, "--json")
    plan = TablePlan.from_json(json.loads(told.stdout)["plan"])
    assert uses(plan)["budget"] == "ignored"
    assert "more than half of the values are missing" in plan.summary()
    result = run("score", "x.csv", *FAST, "--impute", "mean")
    assert "Note: More than 5% of the values are missing in budget (92%)" in result.stderr


@pytest.mark.parametrize("sentinel", [-999, 9999, -99.9])
def test_sentinels_are_missing_values(folder, sentinel):
    X, _ = clouds()
    X.loc[[3, 8], "b"] = sentinel
    X.to_csv("x.csv", index=False)
    result = run("score", "x.csv", *FAST, "--scale", "none", "--out", "s.csv")
    assert f"Note on b: {sentinel:g} in 2 rows is taken as missing" in result.stdout
    filled = X.assign(b=X["b"].replace(sentinel, X["b"][X["b"] != sentinel].mean()))
    expected = CAKE(3, n_runs=4, random_state=0).fit(filled)
    assert_allclose(results("s.csv")["score"], expected.scores_, atol=1e-9)
    told = run("score", "x.csv", *FAST, "--na", "none").stdout
    assert "taken as missing" not in told
    b = np.where(np.arange(20_000) % 50, np.random.default_rng(0).normal(size=20_000), sentinel)
    (_, column) = TablePreparer().fit(pd.DataFrame({"a": b[::-1] ** 2, "b": b})).plan_.columns
    assert " rows of those looked at is taken as missing" in column.reason
    assert column.n_missing == 400


def test_a_frame_is_only_warned_of(folder):
    wine = load_wine(as_frame=True).data
    with pytest.warns(UserWarning, match=r"'proline' makes up 99.8% of the squared distances"):
        cake = CAKE(3, n_runs=4, random_state=0).fit(wine)
    assert_array_equal(cake.scores_, CAKE(3, n_runs=4, random_state=0).fit(wine.to_numpy()).scores_)


# What columns are


def frame(n=40):
    X, which = clouds(n)
    return X.assign(
        **{
            "Unnamed: 0": range(1, n + 1),
            "customerID": RNG.permutation(n) + 7000,
            "uuid": [f"{i:032x}" for i in RNG.permutation(n)],
            "when": pd.date_range("2026-01-01", periods=n).strftime("%d.%m.%Y"),
            "year": RNG.integers(2007, 2010, n),
            "share": [f"{value:.1f}%" for value in RNG.uniform(0, 100, n)],
            "price": [f"${value:,}" for value in RNG.integers(1000, 99_999, n)],
            "sold": [f"{value:,}" for value in RNG.integers(10_000, 99_999, n)],
            "weight": [
                f"{v:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")
                for v in RNG.uniform(1000, 9000, n)
            ],
            "loyal": np.where(which == 0, "Yes", "no"),
            "city": np.array(["Rome", "Oslo", "Lima"])[RNG.integers(0, 3, n)],
            "comment": [f"something else {i}" for i in range(n)],
            "unit": "cm",
            "nothing": np.nan,
        }
    )


def test_each_kind_is_known():
    plan = look(frame())
    assert kinds(plan) == {
        **dict.fromkeys("abc", "number"),
        "Unnamed: 0": "id",
        "customerID": "id",
        "uuid": "id",
        "when": "date",
        "year": "date",
        "share": "number",
        "price": "number",
        "sold": "number",
        "weight": "number",
        "loyal": "boolean",
        "city": "category",
        "comment": "id",
        "unit": "constant",
        "nothing": "empty",
    }
    used = ["a", "b", "c", "share", "price", "sold", "weight", "loyal"]
    assert [column.name for column in plan.used] == [*used, "city"]
    assert plan.id == "uuid"
    for column in plan.columns:
        assert column.use in ("number", "category", "id") or column.reason


def test_numbers_mean_what_is_written():
    data = frame()
    found = look(data).apply(data)
    assert_allclose(found["price"], data["price"].str.replace(r"[$,]", "", regex=True).astype(int))
    assert_allclose(found["sold"], data["sold"].str.replace(",", "").astype(int))
    german = data["weight"].str.replace(".", "").str.replace(",", ".").astype(float)
    assert_allclose(found["weight"], german)
    assert_allclose(found["share"], data["share"].str.rstrip("%").astype(float))
    assert_array_equal(found["loyal"], data["loyal"] == "Yes")
    for city in ("Rome", "Oslo", "Lima"):
        assert_array_equal(found[f"city={city}"], data["city"] == city)


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("14,990", ".", 14990),
        ("82.1%", ".", 82.1),
        ("$34,453", ".", 34453),
        ("€ 1.234,56", ",", 1234.56),
        ("(1,200)", ".", -1200),
        ("−3.5", ".", -3.5),
        ("1e3", ".", 1000),
        ("12 345", ".", 12345),
        ("1e99999", ".", np.nan),
        ("12,34,5", ".", np.nan),
        ("3 apples", ".", np.nan),
        ("", ".", np.nan),
    ],
)
def test_texts_as_numbers(text, decimal, number):
    assert_array_equal(as_numbers(pd.Series([text], dtype=object), decimal), [number])


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["14,990", "3,120"], None),
        (["1,5", "14,990"], ","),
        (["1.234,56"], ","),
        (["1,234.56"], "."),
        (["abc"], None),
    ],
)
def test_what_proves_a_decimal_mark(texts, mark):
    assert decimal_of(texts) == mark


def test_dates_and_no_dates():
    dates = ["2026-01-02", "2/3/99", "3 Mar 2020", "Jan 5, 2020", "12:30", "2001-02-03T04:05:06Z"]
    dates += ["03-Jan-2024", "3 Jan, 2024", "2020Q1", "1999-07"]
    assert [text for text in dates if not is_date(text)] == []
    others = ["3.14", "12-inch", "", "May be", "1.234,56", "100", "3 Jan!!2024", "3 Jan+2024"]
    assert [text for text in others if is_date(text)] == []


def test_sentinels_lie_far_away():
    assert sentinels_in(np.array([1.0, 2, 3, -999])) == [-999]
    assert sentinels_in(np.array([900.0, 950, 999, 1000])) == []
    assert sentinels_in(np.array([-1000.0, -999, 0, 5])) == []
    assert sentinels_in(np.array([1.0, 2, 5, -999, 9999])) == [9999, -999]


def test_none_is_a_word_among_words():
    data = pd.DataFrame(
        {"pain": ["None", "some", "much"] * 20, "x": ["None", *map(str, range(59))]}
    )
    plan = look(data)
    assert plan.columns[0].levels == ("None", "much", "some")
    assert (kinds(plan)["x"], plan.columns[1].n_missing) == ("number", 1)


def test_numbers_that_count_rows_of_groups_are_ids():
    data = pd.DataFrame(
        {"no": [*range(1, 51)] * 2, "x": RNG.normal(size=100), "y": 1 - RNG.random(100)}
    )
    assert kinds(look(data))["no"] == "id"


def test_long_texts_do_not_name_rows():
    long = [f"{i}: {'a paragraph about nothing in particular, ' * 2}" for i in range(9)]
    frame = pd.DataFrame({"text": long, "name": list("abcdefghi"), "value": range(9)})
    plan = look(frame)
    assert plan.id == "name"
    assert look(frame[["text", "value"]]).id is None


def test_more_texts_can_be_missing(folder):
    X, _ = clouds()
    X = X.assign(d=["gone", *map(str, range(59))])
    X.loc[1, "a"] = 77
    X.to_json("x.json", orient="records")
    told = json.loads(run("score", "x.json", *FAST, "--na", "gone,77", "--json").stdout)
    found = {column["name"]: column.get("n_missing", 0) for column in told["plan"]["columns"]}
    assert found == {"a": 1, "b": 0, "c": 0, "d": 1}


def test_what_was_said_counts():
    data = frame()
    plan = look(data, ColumnChoices(use=("a", "city"), id="comment"))
    assert [column.name for column in plan.used] == ["a", "city"]
    assert plan.id == "comment"
    plan = look(data, ColumnChoices(drop=("a",), keep=("year",), encode="drop"))
    assert uses(plan) | {"a": "ignored", "year": "number", "city": "ignored"} == uses(plan)
    assert look(data, ColumnChoices(scale="minmax")).scale == "minmax"


def columns_of(names, *ranges):
    """Columns of these names, whose ranges are given, else 1."""
    rng = np.random.default_rng(0)
    ranges = [*ranges, *[1.0] * (len(names) - len(ranges))]
    made = {name: r * rng.permutation(41) / 40 for name, r in zip(names, ranges, strict=True)}
    return pd.DataFrame(made)


COUNTS = np.random.default_rng(0).poisson(0.4, (90, 12)) * [1, 50, *[1] * 10]
ZEROS = dict.fromkeys("abcdefghijkl", 0)
UNITS = {
    "named": (columns_of(["price", "age"]), "standard", "since their units may differ"),
    "far apart": (columns_of([*"abcdef"], 472), "standard", "ranges differ by a factor of 472"),
    "in brackets": (columns_of(["x (cm)", "y (cm)"], 3), "none", "one unit, cm"),
    "other brackets": (columns_of(["x (cm)", "y (kg)"], 3), "standard", "a factor of 3"),
    "words": (columns_of(["bill_mm", "wing_mm"], 3), "none", "one unit, mm"),
    "lengths": (columns_of(["petal length", "petal.width"], 3), "none", "all are lengths"),
    "far apart in one unit": (columns_of(["x (cm)", "y (cm)"], 30), "standard", "a factor of 30"),
    "ratings": (columns_of(["q", "r", "s"]).mul(4).round() + 1, "none", "between 1 and 5"),
    "numbered": (columns_of([f"pixel_{j}" for j in range(8)], 4), "none", "numbered columns"),
    "few numbered": (columns_of([f"x{j}" for j in range(7)], 4), "standard", "a factor of 4"),
    "numbered apart": (columns_of([f"x{j}" for j in range(8)], 9), "standard", "a factor of 9"),
    "without names": (columns_of(["0", "2"], 4), "none", "no names"),
    "counts": (pd.DataFrame(COUNTS, columns=[*"abcdefghijkl"]), "none", "columns of counts"),
    "counts and an age": (
        pd.DataFrame(COUNTS, columns=[*"abcdefghijkl"]).add({**ZEROS, "a": 20, "b": 70}),
        "standard",
        "a factor of",
    ),
    "a number and a category": (
        columns_of(["x"]).assign(kind=["p", "q"] * 20 + ["p"]),
        "standard",
        "a number counts as much as a category",
    ),
    "one column": (columns_of(["x"]), "none", ""),
}


@pytest.mark.parametrize("case", UNITS)
def test_named_columns_are_standardised_unless_they_share_a_visible_unit(case):
    table, scale, reason = UNITS[case]
    plan = look(table)
    assert plan.scale == scale
    assert reason in plan.scale_reason
    if plan.scale_reason:
        other = {"none": "standard", "standard": "none"}[scale]
        assert f"(scale='{other}' " in plan.summary()
        wording = plan.summary(wording=lambda name, value: f"--{name} {value}")
        assert f"(--scale '{other}' " in wording


def test_outliers_of_one_column_are_clipped_and_the_others_stay():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(500, 3)), columns=[*"abc"])
    table["b"] = np.exp(4 * table["b"])
    table["d"] = np.where(np.arange(500) == 7, 1e6, rng.random(500) < 0.1)
    plan = look(table)
    assert plan.scale == "standard"
    assert plan.scale_reason.endswith("clipped, since they have outliers: b, d")
    assert [column.name for column in plan.columns if column.clipped] == ["b", "d"]
    X = TablePreparer().set_output(transform="pandas").fit_transform(table)
    assert_allclose(X["a"], (table["a"] - table["a"].mean()) / table["a"].std(ddof=0))
    low, high = table["b"].quantile([0.25, 0.75])
    reach = 5 * (high - low) / 1.349
    clipped = table["b"].clip(table["b"].median() - reach, table["b"].median() + reach)
    assert_allclose(X["b"], (clipped - clipped.mean()) / clipped.std(ddof=0))
    assert_allclose(X.std(ddof=0), 1)
    again = TablePreparer(plan=TablePlan.from_json(json.loads(json.dumps(plan.to_json()))))
    assert_array_equal(again.fit_transform(table), X)


def test_rows_that_are_no_points():
    data, _ = clouds(12)
    data = data.round(2).astype(object)
    data.insert(0, "item", [f"i{j}" for j in range(12)])
    units = pd.DataFrame([["", "cm", "kg", "s"]], columns=data.columns)
    total = pd.DataFrame([["Total", 1e3, 2e3, 3e3]], columns=data.columns)
    table = pd.concat([units, data, total], ignore_index=True)
    plan = look(table)
    assert plan.rows == ((0, "left out: units"), (13, "left out: total row"))
    why = plan.rows_out(plan.read(table))
    assert why.tolist() == ["left out: units", *[""] * 12, "left out: total row"]


def test_rows_below_the_names_that_belong_to_them_are_no_points():
    data, _ = clouds(12)
    data = data.round(2).astype(object).assign(kind=["x", "y"] * 6)
    questions = pd.DataFrame(
        [["how a?", "b?", "c?", "kind?"], ["id1", "", "id3", "id4"]], columns=data.columns
    )
    plan = look(pd.concat([questions, data], ignore_index=True))
    assert plan.rows == ((0, "left out: header"), (1, "left out: header"))
    assert plan.columns[3].levels == ("x", "y")
    # A text in one column may stand for a missing value, and a number is part of a point.
    lost = data.copy()
    lost.loc[1, "a"] = "late"
    assert look(lost).rows == ()
    questions = questions.astype(object)
    questions.loc[0, "c"] = 4.5
    assert look(pd.concat([questions, data], ignore_index=True)).rows == ()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("reading", "precomputed", "a list of texts"),
        ("na", "x", "a list of texts"),
        ("rows", [[1]], "a list of pairs of a row and a reason"),
        ("n_rows", "12", "an integer"),
        ("decimal", 3, "a text"),
        ("thousands", 3, "a text"),
    ],
)
def test_a_plan_with_a_value_of_another_type_is_refused(key, value, told):
    kept = look(frame()).to_json()
    with pytest.raises(ValueError, match=f"The plan has .* as '{key}'; it must be {told}"):
        TablePlan.from_json(kept | {key: value})
    TablePlan.from_json(kept | {"thousands": None, "na": None})


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("levels", "abc", "a list of texts"),
        ("missing", ["x"], "a list of numbers"),
        ("numeric", 1, "true or false"),
        ("kind", None, "a text"),
    ],
)
def test_a_column_of_a_plan_with_a_value_of_another_type_is_refused(key, value, told):
    kept = look(frame()).to_json()
    kept["columns"][0][key] = value
    with pytest.raises(
        ValueError, match=f"column 'a' of the plan has .*'{key}'; it must be {told}"
    ):
        TablePlan.from_json(kept)


def test_a_plan_survives_json_and_names_what_is_wrong():
    plan = look(frame())
    kept = json.loads(json.dumps(plan.to_json()))
    assert TablePlan.from_json(kept) == plan
    data = frame()
    pd.testing.assert_frame_equal(TablePlan.from_json(kept).apply(data), plan.apply(data))
    kept["columns"][0]["use"] = "twice"
    with pytest.raises(ValueError, match=r"column 'a' of the plan: use='twice' is not known"):
        TablePlan.from_json(kept)
    with pytest.raises(ValueError, match="has 'colums', which is not known"):
        TablePlan.from_json({"columns": [], "colums": []})
    with pytest.raises(ValueError, match="JSON object with a list of columns"):
        TablePlan.from_json([1])


# Scales


def scored(*options):
    run("score", "x.csv", *FAST, *options, "--out", "s.csv")
    return results("s.csv")["score"]


@pytest.mark.parametrize(
    ("name", "scaler"), [("standard", StandardScaler()), ("minmax", MinMaxScaler())]
)
def test_scales_are_scikit_learns(folder, name, scaler):
    X = pd.DataFrame(load_iris().data, columns=[*"abcd"])
    X.to_csv("x.csv", index=False)
    expected = CAKE(3, n_runs=4, random_state=0).fit(scaler.fit_transform(X))
    assert_allclose(scored("--scale", name), expected.scores_, atol=1e-9)


def test_robust_scales_hold_outliers(folder):
    X, which = clouds(90)
    X["b"] *= 100
    X.loc[5, "b"] = 1e9
    X.to_csv("x.csv", index=False)
    assert "outliers: b." in run("score", "x.csv", *FAST).stdout
    run("score", "x.csv", *FAST, "--scale", "robust", "--out", "s.csv")
    found = pd.read_csv("s.csv")
    others = np.arange(90) != 5
    assert adjusted_rand_score(which[others], found["label"][others]) == 1
    middle = X.median()
    spread = (X.quantile(0.75) - X.quantile(0.25)) / 1.349
    expected = CAKE(3, n_runs=4, random_state=0).fit(((X - middle) / spread).clip(-5, 5))
    assert_allclose(found["score"], expected.scores_, atol=1e-9)


def test_columns_in_one_unit_stay(folder):
    X = load_iris(as_frame=True).data
    X.to_csv("x.csv", index=False)
    assert_array_equal(scored(), CAKE(3, n_runs=4, random_state=0).fit(X).scores_)


def test_a_category_weighs_as_much_as_a_number(folder):
    n = 600
    X = pd.DataFrame({"a": RNG.normal(size=n) * 50, "b": RNG.normal(size=n)})
    X["c"] = np.array([*"pqrst"])[RNG.integers(0, 5, n)]
    X.to_csv("x.csv", index=False)
    from clustertrust.cli.options import ReadOptions
    from clustertrust.cli.points import read_points

    plain = dict.fromkeys(("format", "separator", "header", "array", "use_rep", "id", "impute"))
    points = read_points("x.csv", ReadOptions(**plain))
    squares = {
        name: points.X.filter(regex=f"^{name}").var(ddof=0).sum() for name in ("a", "b", "c")
    }
    assert squares == pytest.approx({"a": 1, "b": 1, "c": 1})


# Models and plans do the same again


def mixed(n=90):
    X, which = clouds(n)
    X["b"] *= 1000
    X["kind"] = np.array(["x", "y", "z"])[which]
    X["paid"] = [f"${value:,}" for value in RNG.integers(1000, 9999, n)]
    X["name"] = [f"n{i}" for i in range(n)]
    X.loc[4, "a"] = np.nan
    return X


def test_predict_does_what_score_did(folder):
    data = mixed()
    data.to_csv("x.csv", index=False)
    run("score", "x.csv", *FAST, "--model", "m", "--out", "s.csv")
    data.iloc[::-1, ::-1].assign(more="text").to_csv("new.csv", index=False)
    run("predict", "m", "new.csv", "--out", "p.csv")
    score, judged = pd.read_csv("s.csv"), pd.read_csv("p.csv").iloc[::-1].reset_index(drop=True)
    assert_array_equal(judged["name"], score["name"])
    assert_array_equal(judged["label"], score["label"])
    assert set(judged["more"]) == {"text"}
    assert run("predict", "m", "new.csv", "--scale", "none", code=2)
    data.drop(columns="kind").to_csv("few.csv", index=False)
    assert "fitted on: kind" in run("predict", "m", "few.csv", code=1).stderr
    data.assign(kind="w").to_csv("odd.csv", index=False)
    assert "categories that its plan does not know (w)" in run("predict", "m", "odd.csv").stderr


def test_a_plan_is_written_edited_and_given_back(folder):
    mixed().to_csv("x.csv", index=False)
    run("score", "x.csv", *FAST, "--save-plan", "plan.json", "--out", "a.csv")
    run("score", "x.csv", *FAST, "--plan", "plan.json", "--out", "b.csv")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    for column in plan["columns"]:
        column["use"] = "number" if column["name"] in "abc" else "ignored"
    Path("plan.json").write_text(json.dumps(plan | {"scale": "none"}), encoding="utf-8")
    run("score", "x.csv", *FAST, "--plan", "plan.json", "--out", "c.csv")
    data = mixed_numbers("x.csv")
    expected = CAKE(3, n_runs=4, random_state=0).fit(data.to_numpy())
    assert_allclose(results("c.csv")["score"], expected.scores_, atol=1e-9)
    assert "leave out --id" in run("score", "x.csv", *FAST, "--plan", "plan.json", "--id", "name", code=2).stderr  # fmt: skip
    Path("plan.json").write_text("{}", encoding="utf-8")
    assert "cannot be used" in run("score", "x.csv", *FAST, "--plan", "plan.json", code=1).stderr


def mixed_numbers(path):
    X = pd.read_csv(path)[[*"abc"]]
    return X.fillna(X.mean())


# What comes out


def test_the_users_columns_come_first_and_as_they_were(folder):
    lines = ["id,size,note,label", *(f'{i:03},{i % 7}.50,"n, {i}",x{i % 2}' for i in range(30))]
    Path("x.csv").write_text("\n".join(lines), encoding="utf-8")
    run("score", "x.csv", "-k", "2", "--runs", "3", "--keep", "size", "--out", "s.csv")
    found = pd.read_csv("s.csv", dtype=str)
    assert list(found.columns[:5]) == ["id", "size", "note", "label_input", "label"]
    assert found["id"][7] == "007"
    assert found["size"][1] == "1.50"
    assert found["note"][3] == "n, 3"
    run("score", "x.csv", "-k", "2", "--runs", "3", "--keep", "size", "--only-scores", "--out", "o.csv")  # fmt: skip
    assert list(pd.read_csv("o.csv").columns[:3]) == ["note", "label", "score"]


def test_the_page_has_the_users_columns(folder):
    from unpacking import unpack_index

    from clustertrust.report import build_report

    data = mixed(30)
    data.to_csv("x.csv", index=False)
    run("score", "x.csv", *FAST, "--out", "s.csv", "--report", "r.html")
    run("report", "s.csv", "--data", "x.csv", "--out", "again.html")
    pages = []
    for page in ("r.html", "again.html"):
        text = Path(page).read_text(encoding="utf-8")
        packed = json.loads(re.search(r'id="contents"[^>]*>(.*?)</script>', text, re.S)[1])
        own = {column["name"]: column["texts"] for column in packed["original"]}
        assert list(own) == list(data.columns)
        assert unpack_index(own["paid"], 30) == data["paid"].tolist()
        assert packed["id_name"] == "name"
        # a category is shown as it was written, not as columns of 0 and 1
        assert packed["values"]["columns"] == [*"abc", "paid"]
        pages.append(packed)
    assert pages[0]["view"] == pages[1]["view"]
    table = pd.DataFrame({"label": [0, 1], "score": [0.9, 0.2]})
    with pytest.raises(ValueError, match="original"):
        build_report(table, original=data)
    with pytest.raises(TypeError, match="original is a list"):
        build_report(table, original=[1, 2])


def test_rows_left_out_say_why(folder):
    X, _ = clouds()
    X.loc[7, ["a", "b"]] = np.nan
    X.to_csv("x.csv", index=False)
    result = run("score", "x.csv", *FAST, "--out", "s.csv")
    found = pd.read_csv("s.csv")
    assert found["reason"][7] == "left out: missing values"
    assert np.isnan(found["score"][7])
    assert found["score"].notna().sum() == 59
    assert "1 of 60 rows has no score (left out: missing values)." in result.stdout


# All problems at once


def test_all_problems_are_in_one_message(folder):
    mixed().to_csv("x.csv", index=False)
    told = run("score", "x.csv", *FAST, "--id", "nane", "--drop", "kinds,b", code=1).stderr
    assert "(1) --id nane: there is no such column; did you mean 'name'?" in told
    assert "(2) --drop kinds: there is no such column; did you mean 'kind'?" in told
    command = told.splitlines()[-1]
    assert command == "Try: clustertrust score x.csv -k 3 --runs 4 --id name --drop kind,b"
    run(*command.split()[2:])


# Reading


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings_are_found(folder, encoding):
    X, _ = clouds()
    X = X.assign(Größe=[f"Maß {i} é" for i in range(60)])
    X.to_csv("x.csv", index=False, encoding=encoding)
    run("score", "x.csv", *FAST, "--out", "s.csv")
    assert pd.read_csv("s.csv")["Größe"][3] == "Maß 3 é"
    run("score", "x.csv", *FAST, "--encoding", encoding)
    assert "'nonsense' is not known" in run("score", "x.csv", *FAST, "--encoding", "nonsense", code=1).stderr.replace("nonsense is", "'nonsense' is")  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_separators_are_found(folder, separator, suffix):
    X, _ = clouds()
    X.to_csv(f"x{suffix}", index=False, sep=separator)
    run("score", f"x{suffix}", *FAST, "--scale", "none", "--out", "s.csv")
    written = separator if suffix == ".csv" and separator != " " else ","
    found = results("s.csv", sep=written)["score"]
    assert_array_equal(found, CAKE(3, n_runs=4, random_state=0).fit(X).scores_)
    name = {"\t": "tab", " ": "space"}.get(separator, separator)
    run("score", f"x{suffix}", *FAST, "--separator", name)


def test_a_semicolon_wins_over_commas_inside_amounts(folder):
    X, _ = clouds()
    X["a"] = [f"${30_000 + 1_000 * a:,.0f}" for a in X["a"]]
    X.to_csv("x.csv", index=False, sep=";")
    assert "semicolons between the fields" in run("score", "x.csv", *FAST).stdout


def test_a_missing_category_is_said_to_take_shares(folder):
    X, which = clouds()
    X["kind"] = np.array(["red", "green", "blue"])[which]
    X.loc[5, "kind"] = None
    assert "(of categories, their shares)" in look(X).summary()
    X.loc[5, "kind"], X.loc[5, "a"] = "red", np.nan
    assert "they take the column's mean; rows" in look(X).summary()


def test_row_numbers_are_not_proposed_for_clustering(folder):
    pd.DataFrame({"year": np.repeat([2007, 2008, 2009], 20)}).to_csv("x.csv")
    assert run("score", "x.csv", *FAST, code=1).stderr.rstrip().endswith("--keep year")


def test_decimal_commas_are_found_and_thousands_stay(folder):
    X, _ = clouds()
    X["n"] = RNG.integers(10_000, 99_999, 60)
    text = X.assign(n=[f"{n:,}".replace(",", ".") for n in X["n"]])
    text.to_csv("x.csv", index=False, sep=";", decimal=",")
    run("score", "x.csv", *FAST, "--scale", "none", "--out", "s.csv")
    expected = CAKE(3, n_runs=4, random_state=0).fit(X.to_numpy())
    found = results("s.csv", sep=";", decimal=",")["score"]
    assert_allclose(found, expected.scores_, atol=1e-9)


def test_titles_and_names_of_rows(folder):
    X, _ = clouds()
    text = "Clouds of 2026\nmeasured by us\n\n" + X.to_csv(index=False)
    Path("x.csv").write_text(text, encoding="utf-8")
    result = run("score", "x.csv", *FAST, "--out", "s.csv")
    assert "Read: 3 lines above the names left out." in result.stdout
    assert len(pd.read_csv("s.csv")) == 60
    run("score", "x.csv", *FAST, "--skip-rows", "3", "--out", "s.csv")
    assert len(pd.read_csv("s.csv")) == 60
    body = X.to_csv(header=False)
    Path("r.csv").write_text("a,b,c\n" + body, encoding="utf-8")  # as R's write.table has it
    run("score", "r.csv", *FAST, "--scale", "none", "--out", "s.csv")
    assert_array_equal(results("s.csv")["score"], CAKE(3, n_runs=4, random_state=0).fit(X).scores_)  # fmt: skip


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".xlsx", ".ods"])
def test_records_and_spreadsheets(folder, suffix):
    X, _ = clouds()
    X = X.assign(name=[f"n{i}" for i in range(60)])
    path = f"x{suffix}"
    if suffix.startswith(".json"):
        X.to_json(path, orient="records", lines=suffix == ".jsonl", double_precision=15)
    else:
        pytest.importorskip({".xlsx": "openpyxl", ".ods": "odf"}[suffix])
        title = pd.DataFrame([["Clouds", *[None] * 3], [None] * 4])
        cells = pd.concat([title, pd.DataFrame([X.columns, *X.to_numpy()])])
        cells.to_excel(path, index=False, header=False)
    run("score", path, *FAST, "--scale", "none", "--out", f"s{suffix}", "--model", "m")
    run("predict", "m", path, "--out", "p.csv")
    assert pd.read_csv("p.csv")["name"].tolist() == X["name"].tolist()
    expected = CAKE(3, n_runs=4, random_state=0).fit(X[[*"abc"]]).score_samples(X[[*"abc"]])
    assert_allclose(results("p.csv")["score"], expected, atol=1e-9)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_lists_and_records_in_columns_are_texts(folder, suffix):
    X, _ = clouds()
    tags = [["red"], ["red", "round"]] * 30
    X = X.assign(tags=tags, place=[{"x": j} for j in range(60)], label=[f"n{j}" for j in range(60)])
    path = f"x{suffix}"
    if suffix == ".jsonl":
        X.to_json(path, orient="records", lines=True)
    else:
        pytest.importorskip("pyarrow")
        X.to_parquet(path)
    plan = look(read_table(path).data)
    assert uses(plan) == {
        **dict.fromkeys("abc", "number"), "tags": "category", "place": "id", "label": "ignored"
    }  # fmt: skip
    run("score", path, *FAST, "--out", "s.csv")
    assert len(results("s.csv")) == 60


def test_an_error_about_columns_says_how_the_file_was_read(folder):
    text = "word;wort\n" + "".join(f"a{j};b{j}\n" for j in range(30))
    Path("x.csv").write_text(text, encoding="utf-8")
    told = run("score", "x.csv", *FAST, code=1).stderr
    assert "There is no column left to cluster (word: another text in every row; wort" in told
    assert "Read: semicolons between the fields." in told


def test_sentences_above_a_sheet_are_no_names(folder):
    pytest.importorskip("openpyxl")
    X, _ = clouds(d=5)
    X["b"] = [f"t{j % 4}" for j in range(60)]
    titles = [
        ["Lots of people", *[None] * 4],
        ["at", "the", "top", "of", None],
        ["or", "merging", None, None, "cells"],
    ]
    ends = [["signing off", *[None] * 4]]
    cells = pd.DataFrame([*titles, [*"abcde"], *X.to_numpy(object), *ends])
    cells.to_excel("x.xlsx", index=False, header=False)
    read = read_table("x.xlsx")
    assert list(read.data.columns) == [*"abcde"]
    assert_allclose(read.data["c"][:60].to_numpy(float), X["c"])
    assert read.notes == ("3 lines above the names left out",)
    full, gap = [[*"vwxyz"]], [[None] * 5]
    cells = pd.DataFrame([*titles, *full, *gap, [*"abcde"], *X.to_numpy(object)])
    cells.to_excel("gap.xlsx", index=False, header=False)
    assert list(read_table("gap.xlsx").data.columns) == [*"abcde"]
    X.to_excel("plain.xlsx", index=False)
    assert list(read_table("plain.xlsx").data.columns) == [*"abcde"]
    X.to_excel("named.xlsx")
    assert list(read_table("named.xlsx").data.columns) == ["Unnamed: 0", *"abcde"]


def sheet(*rows):
    frame = pd.DataFrame([*rows])
    frame.to_excel("x.xlsx", index=False, header=False)
    return read_table("x.xlsx")


def test_names_of_a_sheet_may_take_two_rows(folder):
    pytest.importorskip("openpyxl")
    names = [
        ["Branch", "Sales", None, "Costs", None, "Staff"],
        [None, "Q1", "Q2", "Q1", "Q2", None],
    ]
    values = [[f"b{j}", *np.random.default_rng(j).normal(size=4), j % 7] for j in range(20)]
    title, gap = ["Branches"], [None]
    expected = ["Branch", "Sales Q1", "Sales Q2", "Costs Q1", "Costs Q2", "Staff"]
    for above in ([], [title], [title, gap], [gap, title, gap, gap]):
        read = sheet(*above, *names, *values)
        assert list(read.data) == expected
        assert len(read.data) == 20
    full = [["Branch", "Q1", "Q2", "Q1", "Q2", "Staff"]]
    assert list(sheet([None, "Sales", None, "Costs"], *full, *values).data) == expected
    # A title beside the table is not a part of its names.
    read = sheet(["by", "region", None, None, None, None, "2024"], *full, *values)
    assert read.data.columns[0] == "Branch"


def test_notes_below_a_sheet_are_left_out_after_an_empty_row(folder):
    pytest.importorskip("openpyxl")
    values = [[f"b{j}", j / 4, j % 3] for j in range(20)]
    gap, notes = [None], [["Source: own", None, None], ["preliminary", None, None]]
    read = sheet(["who", "a", "b"], *values, gap, *notes)
    assert read.data["a"].tolist() == [j / 4 for j in range(20)]
    assert read.notes == ("2 lines below the table left out",)
    assert len(sheet(["who", "a", "b"], *values, *notes).data) == 22
    assert len(sheet(["who", "a", "b"], *values, gap, ["b20", 1, 2], *notes).data) == 23


def test_no_message_has_a_temporary_name(folder):
    Path("x.csv").write_bytes(b"a,b\n\x00\x01,2\n")
    told = run("score", "x.csv", *FAST, code=1).stderr
    assert told.startswith("Error: x.csv holds bytes that are not text")
    assert not re.search("BytesIO|object at|clustertrust-", told)


def test_floats_taken_at_once_are_those_taken_column_by_column(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    frame.loc[3, "a"], frame.loc[5, "b"] = np.inf, np.nan
    plan = look(frame)
    assert plan._takes_as_is(frame)
    at_once = plan.apply(frame)
    assert at_once.isna().sum().tolist() == [1, 1, 0]
    for other in (frame.assign(c=frame["c"].astype("float32")), frame.assign(c=range(40))):
        assert not plan._takes_as_is(other)  # each column keeps its way to a float
    monkeypatch.setattr(TablePlan, "_takes_as_is", lambda self, chosen: False)
    pd.testing.assert_frame_equal(at_once, plan.apply(frame))


@pytest.mark.parametrize("typed", [(), ("--decimal", ",", "--thousands", ".")])
def test_dates_with_points_stay_dates_beside_decimal_commas(folder, typed):
    X, which = clouds()
    table = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-25", periods=len(X)).strftime("%d.%m.%Y"),
            "price": [f"{value:.2f}".replace(".", ",") for value in X["a"]],
            "sold": [f"{3 + k}.{100 + i}" for i, k in enumerate(which)],
        }
    )
    table.to_csv("x.csv", index=False, sep=";")
    Path("parts").mkdir()  # a folder is read in blocks
    table.to_csv("parts/x.csv", index=False, sep=";")
    means = []
    for data in ("x.csv", "parts"):
        out = run("score", data, *FAST, *typed, "--scale", "standard", "--model", "m").stdout
        assert "Clustered: 2 of 3 columns (price, sold)." in out
        assert "Not clustered: day, dates or times." in out
        assert ("decimal commas" in out) == (not typed)
        means.append(read_about("m")["preparation"]["means"])
    sold = [1000 * (3 + k) + 100 + i for i, k in enumerate(which)]
    assert_allclose(means, [[X["a"].round(2).mean(), np.mean(sold)]] * 2)


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f", "'"])
def test_blanks_between_thousands_hide_no_decimal_comma(folder, blank):
    X, _ = clouds()
    amounts = 12_345.5 + 1000 * X["a"].round(1)
    texts = [f"{value:,.1f}".replace(",", blank).replace(".", ",") for value in amounts]
    found = look(pd.DataFrame({"amount": texts, "b": X["b"]}))
    assert [column.name for column in found.used] == ["amount", "b"]
    assert_allclose(found.apply(pd.DataFrame({"amount": texts, "b": X["b"]}))["amount"], amounts)


def test_columns_set_aside_for_further_reasons_are_counted_not_the_reasons(folder):
    table, _ = clouds(60)
    frame = table.set_axis(["x", "y", "z"], axis=1)
    for j in range(13):  # 13 reasons: the value that a column repeats
        for copy in range(3):
            frame[f"c{j}_{copy}"] = float(j)
    printed = str(look(frame))
    assert printed.count("Not clustered: ") == 12
    assert "Not clustered for other reasons: 3 more columns." in printed
    one = str(look(frame.drop(columns=["c12_0", "c12_1"])))
    assert "Not clustered for other reasons: 1 more column." in one


@pytest.mark.parametrize("names", ["numbers", "text"])
def test_a_first_column_without_a_name_is_called_id_all_along(folder, names):
    points, kinds = clouds(60)
    frame = points.set_axis(["x", "y", "z"], axis=1).assign(kind=kinds)
    if names == "text":
        frame.index = [f"row {i}" for i in frame.index]
    frame.to_csv("index.csv")
    base = ("score", "index.csv", *FAST, "--drop", "kind")
    printed = run(*base, "--out", "scores.csv", "--report", "page.html", "--model", "m").stdout
    assert "Names the rows: id." in printed
    assert "the first column, which has no name, is called id" in printed
    run("ask", "index.csv", "scores.csv", "--n", 9, "--out", "q.csv")
    asked = pd.read_csv("q.csv")
    assert asked.columns[1] == "id"
    assert asked["id"].tolist() == frame.index[asked["row"]].tolist()
    asked.assign(answer="right").to_csv("q.csv", index=False)
    said = run("decide", "scores.csv", "q.csv", "--out", "kept.csv", "--all-rows").stdout
    new = run("predict", "m", "index.csv", "--out", "new.csv").stdout
    assert pd.read_csv("new.csv")["id"].tolist() == frame.index.tolist()
    pages = [Path(name).read_text(encoding="utf-8") for name in ("scores.csv", "kept.csv")]
    for text in (printed, said, new, *pages, Path("page.html").read_text(encoding="utf-8")):
        assert "Unnamed" not in text


def test_a_first_column_without_a_name_that_names_nothing_keeps_its_place(folder):
    points, _ = clouds(60)
    frame = points.set_axis(["", "y", "z"], axis=1)
    frame.to_csv("values.csv", index=False)  # the name of a column of values was forgotten
    printed = json.loads(run("score", "values.csv", *FAST, "--json").stdout)
    assert [column["use"] for column in printed["plan"]["columns"]] == ["number"] * 3
    frame = points.set_axis(["x", "y", "id"], axis=1)  # the name is taken
    frame.to_csv("taken.csv")
    run("score", "taken.csv", *FAST, "--out", "scores.csv")
    assert pd.read_csv("scores.csv").columns[:4].tolist() == ["Unnamed: 0", "x", "y", "id"]


def test_it_is_said_that_rows_count_from_0(folder):
    points, _ = clouds(60)
    points.set_axis(["x", "y", "z"], axis=1).to_csv("table.csv", index=False)
    printed = run("score", "table.csv", *FAST, "--out", "scores.csv").stdout
    assert "Most ambiguous points (rows count from 0)" in printed
    asked = run("ask", "table.csv", "scores.csv", "--n", 9, "--out", "q.csv").stdout
    assert "The column row counts from 0" in asked


def test_points_beside_decimal_commas_are_decimals_unless_three_digits_follow(folder):
    X, which = clouds()
    table = pd.DataFrame({"age": 30.0 + which, "price": X["a"].map("{:.2f}".format)})
    table["price"] = table["price"].str.replace(".", ",")
    table["size"] = which
    table.to_csv("x.csv", index=False, sep=";")
    run("score", "x.csv", *FAST, "--scale", "standard", "--model", "m")
    assert_allclose(read_about("m")["preparation"]["means"][0], table["age"].mean())


def test_a_number_named_as_missing_is_not_said_to_be_kept_by_none(folder):
    X, _ = clouds()
    X.loc[3:5, "a"] = 0
    X.to_csv("x.csv", index=False)
    assert "Note on a: 0 in 3 rows is taken as missing.\n" in run("score", "x.csv", *FAST, "--na", "a=0").stdout  # fmt: skip


@pytest.mark.parametrize(
    ("form", "unit"),
    [("{:,.0f} sq ft", "sq ft"), ("{:.0f}kg", "kg"), ("{:.1f} zł", "zł"), ("{:.1f} m²", "m²")],
)
def test_a_unit_behind_all_numbers_of_a_column_is_left_out(form, unit):
    values = np.random.default_rng(0).normal(900, 99, 40).round(1)
    texts = [form.format(value) for value in values]
    table = pd.DataFrame({"size": texts, "a": np.arange(40) % 7})
    table.loc[3, "size"] = None
    plan = look(table)
    assert (plan.columns[0].use, plan.columns[0].unit) == ("number", unit)
    assert f"Note on size: '{unit}' behind its numbers is left out." in plan.summary()
    again = TablePlan.from_json(json.loads(json.dumps(plan.to_json())))
    expected = [float(form.format(value).split(unit)[0].replace(",", "")) for value in values]
    expected[3] = np.nan
    assert_array_equal(again.apply(table)["size"], expected)
    # Nothing else is a number then.
    other = pd.DataFrame({"size": ["12 miles", f"7 {unit}", "9"], "a": 1})
    assert_array_equal(again.apply(other)["size"], [np.nan, 7, 9])


def test_one_plural_is_no_other_unit():
    hours = [f"{j % 9} hour{'s' * (j % 9 != 1)}" for j in range(40)]
    assert_array_equal(look(pd.DataFrame({"t": hours})).columns[0].unit, "hour")


@pytest.mark.parametrize("end", [["A", "B"], ["st floor", "nd floor"], ["F"], [" Oak Street 1"]])
def test_letters_behind_numbers_that_differ_or_are_capitals_are_no_unit(end):
    texts = [f"{100 + 7 * j}{end[j % len(end)]}" for j in range(40)]
    assert look(pd.DataFrame({"where": texts, "a": np.arange(40) % 7})).columns[0].use != "number"


def test_multiples_are_numbers_and_codes_are_not():
    texts = pd.Series(["€110.5M", "500K", "1,2k", "3 bn", "79323B", "12M30", "M"])
    found = [110.5e6, 500e3, np.nan, 3e9, np.nan, np.nan, np.nan]
    assert_allclose(as_numbers(texts), found)
    assert_allclose(as_numbers(texts[[2]], ","), [1200])


@pytest.mark.parametrize("words", [["n.d."], ["late", "lost"]])
def test_one_word_among_many_numbers_stands_for_a_missing_value(words):
    values = np.random.default_rng(0).normal(9, 2, 60).round(2).astype(str).astype(object)
    values[::4] = [words[j % len(words)] for j in range(15)]
    column = look(pd.DataFrame({"crp": values, "a": np.arange(60) % 7})).columns[0]
    assert (column.use, column.n_missing) == ("number", 15)
    assert "15 texts such as" in column.reason
    values[::4] = [f"{word} {j}" for j, word in enumerate(["late"] * 15)]
    assert look(pd.DataFrame({"crp": values, "a": np.arange(60) % 7})).columns[0].use != "number"


def test_a_column_of_numbers_and_many_texts_is_noted():
    visits = [i % 7 + 1 if i % 3 else "many" for i in range(60)]
    frame = pd.DataFrame({"visits": visits, "price": np.arange(60) ** 2 % 61})
    plan = look(frame)
    assert plan.columns[0].use == "category"
    reason = (
        "a category, since 20 of 60 values are the text 'many' (na=['many'] makes them missing)"
    )
    assert plan.columns[0].reason == reason
    assert look(frame, ColumnChoices(na=("many",))).columns[0].use == "number"


def test_fields_that_hold_blanks_and_are_separated_by_blanks_are_told():
    lines = [f"John Smith {170 + i}" if i % 2 else f"Ann {160 + i}" for i in range(30)]
    (problem,) = look(pd.DataFrame({"name height": lines})).problems
    assert str(problem.text).startswith("The table was read as one column, 'name height'.")
    assert "commas or tabs" in str(problem.text)
