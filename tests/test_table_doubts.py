"""What a person should check: doubtful decisions about columns are printed, with what to say."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from clustertrust import CAKE
from clustertrust.cli import cli
from clustertrust.files import read_table
from clustertrust.tables import ColumnChoices, TablePreparer, look

FAST = ["-k", "3", "--runs", "3"]
N = 72


def run(*args, code=0):
    result = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(**columns):
    """A table of two measurements and what else is given."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    return X.assign(**{name: np.asarray(values) for name, values in columns.items()})


def doubts(frame, **wishes):
    return {
        c.name: c.override_hint for c in look(frame, ColumnChoices(**wishes)).columns if c.check
    }


RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("name", "values", "option"),
    [
        ("habitat", RNG.integers(1, 5, N), "category"),  # few integers
        ("hospital", RNG.integers(1, 30, N), "category"),  # named as a group
        ("tree", np.repeat(np.arange(24), 3)[RNG.permutation(N)], "drop"),  # a balanced panel
        ("herd", RNG.permutation(np.arange(N) % 17) + 1, "category"),  # all of 1 to 17
        ("lot", RNG.integers(10**6, 10**8, N), "drop"),  # far apart, and not round
        ("stand", RNG.permutation(np.arange(N) % 4) + 1, "category"),  # from 1 on
        ("", RNG.uniform(60, 70, N), "drop"),  # no name
        ("fid", RNG.integers(0, 40, N), "drop"),  # named as an id
        ("digits", RNG.permutation(N) + 7, "drop"),  # all different, close together
        ("date", RNG.uniform(60, 70, N), "drop"),  # named as a date
        ("Freq", RNG.integers(0, 400, N), "drop"),  # named as a count
        ("species", RNG.choice(["x", "y"], N), "drop"),  # perhaps the answer
        ("ill", RNG.choice(["yes", "no"], N), "drop"),  # the last column, and the only words
        ("churn", RNG.integers(0, 2, N), "drop"),  # perhaps the answer, in numbers
        ("WeekofPurchase", RNG.integers(227, 279, N), "drop"),  # named as a date
        ("minute", RNG.integers(0, 60, N), "drop"),
        ("sent", RNG.integers(1_500_000_000, 1_600_000_000, N), "drop"),  # seconds since 1970
        ("number", RNG.integers(0, 99, N), "drop"),  # of a player
        ("birthplace", RNG.integers(0, 40, N), "category"),
        ("district", RNG.permutation(np.arange(N) + 100), "drop"),  # too many to be categories
        ("sampling_weight", RNG.uniform(0, 9, N), "drop"),
        ("fnlwgt", RNG.integers(10_000, 90_000, N), "drop"),
        ("iso_num", RNG.integers(4, 60, N), "drop"),
        ("MoSold", RNG.permutation(np.arange(N) % 12) + 1, "drop"),  # named as a month
        ("segment", RNG.integers(0, 3, N), "drop"),
        ("bought", RNG.integers(0, 2, N), "drop"),  # the last column, and the only one of two
        ("dep_time", RNG.choice([h * 100 + m for h in range(24) for m in range(60)], N), "drop"),
        ("weight", RNG.integers(2000, 900_000, N), "drop"),  # of a row
        ("left", RNG.choice([h * 100 + m for h in range(24) for m in range(60)], N), "drop"),
        ("com", RNG.permutation(300)[:N], "drop"),  # amounts would repeat
        (
            "who",
            np.repeat(np.arange(20) ** 2 + 5, [*[4] * 8, *[3] * 8, *[4] * 4])[RNG.permutation(N)],
            "drop",
        ),
    ],
)
def test_a_doubtful_decision_is_pointed_at_until_it_is_decided(name, values, option):
    frame = table(**{name: values})
    assert doubts(frame) == {name: option}
    plan = look(frame)
    assert f"Please check {name or '(no name)'}: " in plan.summary()
    assert plan.summary().endswith(f" If so, use {option}=[{name!r}].")
    assert doubts(frame, **{option: (name,)}) == {}
    assert doubts(frame, keep=(name,)) == {}  # a user who says so is not asked again


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(load_iris().data, columns=[*"abcd"]),
        load_wine(as_frame=True).data,
        table(sex=RNG.integers(1, 3, N)),  # two values weigh the same either way
        table(population=np.exp(12 + table()["a"] + RNG.normal(size=N) / 2).round()),
        table(weight=RNG.uniform(50, 90, N), day_mins=RNG.uniform(0, 300, N)),
        table(**{f"species_{j}": RNG.poisson(0.5, N) for j in range(9)}).drop(columns=["a", "b"]),
        pd.DataFrame(RNG.integers(1, 6, (N, 4)), columns=[*"abcd"]),  # ratings
    ],
)
def test_measurements_raise_no_doubt(frame):
    assert doubts(frame) == {}


@pytest.mark.parametrize(
    "frame",
    [
        table(children=RNG.poisson(1, N), c=RNG.normal(size=N)),  # from 0 on
        table(**{f"2024-01-{j:02}": np.arange(N) ** 2 + j for j in range(1, 9)}),  # a series
        table(birth_year=RNG.integers(1950, 1990, N)),
        table(beds=RNG.integers(1, 5, N), c=RNG.normal(size=N)),  # few things, counted
        table(agpop=RNG.integers(10**6, 10**8, N), c=RNG.normal(size=N)),
        table(left=RNG.choice(np.arange(0, 2400, 50), N), c=RNG.normal(size=N)),  # round
        pd.DataFrame({"x": RNG.normal(size=N), "y": RNG.integers(0, 12, N)}),  # a place
    ],
)
def test_counts_and_marks_raise_no_doubt(frame):
    assert doubts(frame) == {}
    assert not [column.name for column in look(frame).columns if column.use != "number"]


def test_zeros_that_cannot_be_are_asked_about_and_can_be_named(folder):
    rng = np.random.default_rng(0)
    insulin = np.where(np.arange(N) % 2, 0, rng.integers(60, 300, N))
    frame = table(insulin=insulin, pregnancies=rng.poisson(2, N), c=rng.normal(size=N))
    frame.to_csv("x.csv", index=False)
    told = run("score", "x.csv", *FAST).stdout
    line = next(line for line in told.splitlines() if line.startswith("Please check"))
    assert "insulin: 0 cannot be measured, and may stand for a missing value" in line
    assert line.endswith("If so, use --na insulin=0.")
    found = json.loads(run("score", "x.csv", *FAST, "--na", "insulin=0", "--json").stdout)
    columns = {column["name"]: column for column in found["plan"]["columns"]}
    assert columns["insulin"]["n_missing"] == 36
    assert not columns["pregnancies"].get("n_missing")  # zeros elsewhere stay
    assert "check" not in columns["insulin"]
    stage = np.where(np.arange(N) % 9, rng.integers(1, 4, N), 99)
    assert doubts(table(stage=stage)) == {"stage": "na=99"}
    assert doubts(table(stage=np.where(stage == 99, 9, stage))) == {}
    told = run("score", "x.csv", *FAST, "--na", "insulim=0", code=1).stderr
    assert "--na insulim=0: there is no such column; did you mean 'insulin'?" in told


def test_numbers_of_groups_in_the_first_columns_are_asked_about():
    rng = np.random.default_rng(0)
    fish = np.repeat(np.cumsum(rng.integers(1, 9, N // 3)) + 4000, 3)
    frame = pd.DataFrame({"fish": fish, **table(speed=rng.normal(size=N))})
    assert doubts(frame) == {"fish": "drop"}


def test_columns_that_belong_together_are_treated_alike():
    rng = np.random.default_rng(0)
    frame = table(pf_rank=rng.permutation(N), ef_rank=rng.integers(0, N, N), c=rng.normal(size=N))
    assert [column.use for column in look(frame).columns[2:4]] == ["id", "ignored"]
    assert "Not clustered: ef_rank, it is treated like pf_rank." in look(frame).summary()
    years = np.tile(np.arange(1, 9), N // 8)
    panel = table(exper=years, expersq=years**2, expert=rng.normal(size=N))
    uses = {column.name: column.use for column in look(panel).columns}
    assert (uses["exper"], uses["expersq"], uses["expert"]) == ("ignored", "ignored", "number")
    kept = look(frame, ColumnChoices(keep=("ef_rank",)))
    assert "ef_rank" in kept.features
    # So it is if another column was decided on.
    for choices in (ColumnChoices(drop=("a",)), ColumnChoices(drop=("pf_rank",))):
        assert "ef_rank" not in look(frame, choices).features


def test_limits_of_detection_are_numbers():
    texts = [f"{value:.3f}" for value in np.linspace(0.006, 0.2, N)]
    lab = [f"<{texts[5]}" if j < 6 else text for j, text in enumerate(texts)]
    plan = look(table(nitrate=lab))
    assert plan.columns[-1].use == "number"
    assert "are taken as the number after it" in plan.summary()
    assert plan.apply(table(nitrate=lab))["nitrate"].iloc[0] == float(texts[5])
    groups = RNG.choice(["<30", ">60"], N)
    assert look(table(age=groups)).columns[-1].use == "category"


def test_dates_written_as_numbers_are_not_clustered():
    days = pd.date_range("2023-11-01", periods=N).strftime("%Y%m%d").astype(int)
    column = look(table(when=RNG.permutation(days))).columns[-1]
    assert (column.kind, column.use) == ("date", "ignored")
    assert look(table(when=RNG.permutation(days) + 50)).columns[-1].kind == "number"
    months = 100 * RNG.integers(1990, 2024, N) + RNG.integers(1, 13, N)
    assert look(table(when=months)).columns[-1].kind == "date"
    assert look(table(when=months + 1)).columns[-1].kind == "number"


def test_links_are_no_categories():
    hosts = RNG.choice(["https://a.org/x", "http://b.de", "www.c.fr/y?z=1"], N)
    people = RNG.choice(["ann@a.org", "bob@b.de", "cat@c.fr"], N)
    columns = look(table(where=hosts, who=people)).columns[-2:]
    assert {(c.kind, c.use, c.reason) for c in columns} == {("id", "ignored", "links or addresses")}
    assert (
        look(table(who=np.char.replace(people.astype(str), "@", " at "))).columns[-1].use
        == "category"
    )


def test_columns_with_gaps_are_used_where_no_other_is_left():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 4)), columns=[*"abcd"])
    frame.iloc[: N * 6 // 10] = np.nan
    frame.loc[: N * 9 // 10, "d"] = np.nan
    assert look(frame).features == ["a", "b", "c"]
    assert look(frame.assign(e=rng.normal(size=N))).features == ["e"]


def test_one_category_alone_can_be_clustered():
    frame = pd.DataFrame({"id": range(N), "line": np.resize([*"abcdefghijklmnop"], N)})
    assert TablePreparer().fit_transform(frame).shape == (N, 16)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("idno", RNG.integers(1, 10**6, N)),
        ("pidnum", RNG.integers(1, 10**6, N)),
        ("tract", RNG.integers(1, 900, N)),
        ("IDunit", RNG.integers(300, 9000, N)),
        ("cust", RNG.integers(1, 900, N)),
        ("zip5", RNG.integers(10_000, 99_999, N)),
        ("peak_hour", RNG.integers(0, 24, N)),
        ("dataset", RNG.choice(["Train", "Test"], N)),
    ],
)
def test_ids_times_and_splits_are_not_clustered(name, values):
    column = look(table(**{name: values})).columns[-1]
    assert (column.use, column.override_hint) in {("ignored", "keep"), ("id", "keep")}
    assert column.reason


def test_columns_that_say_the_same_are_pointed_at():
    rng = np.random.default_rng(0)
    team = rng.choice(["north", "south", "east"], N)
    frame = table(team=team, minutes=rng.uniform(0, 300, N), place=rng.choice(["u", "v"], N))
    frame["team_abbr"] = [name[0].upper() for name in team]
    frame["charge"] = frame["minutes"] * 0.17 + 1e-4 * rng.random(N)
    assert doubts(frame) == {"team_abbr": "drop", "charge": "drop"}
    assert "the same information as minutes, which counts twice" in look(frame).summary()


def test_the_answer_can_be_left_out_or_audited(folder):
    table(species=RNG.choice(["x", "y"], N)).to_csv("x.csv", index=False)
    told = run("score", "x.csv", *FAST).stdout
    assert "use --drop species, or audit it with --labels-column species.\n" in told
    assert "use --drop species.\n" in run("choose-k", "x.csv", "-k", "2:3", "--no-null").stdout
    told = run("audit", "x.csv", "--labels-column", "species").stdout
    assert "Not clustered: species, it holds the labels.\n" in told


def test_at_most_five_lines_ask_to_check_something():
    rng = np.random.default_rng(0)
    frame = table(q=rng.integers(1, 5, N), hospital=rng.integers(1, 30, N))
    frame = frame.assign(date=rng.uniform(60, 70, N), species=rng.choice(["x", "y"], N))
    frame = frame.assign(fid=rng.integers(0, 40, N), perwt=rng.uniform(1, 2, N), twin=frame["a"])
    plan = look(frame)
    lines = plan.to_check()
    assert len({column.check for column in plan.columns if column.check}) == 7
    assert len(lines) == 5
    assert lines[-1] == "Please check fid, perwt, twin as well; the plan says why."


def test_columns_with_the_same_doubt_share_a_line(folder):
    table(p=RNG.integers(1, 5, N), q=RNG.permutation(np.arange(N) % 4) + 1).to_csv(
        "x.csv", index=False
    )
    told = run("score", "x.csv", *FAST).stdout
    line = "Please check p, q: few different integers, which may be codes."
    assert f"{line} If so, use --category p,q." in told.splitlines()
    told = json.loads(run("score", "x.csv", *FAST, "--json").stdout)
    checks = [column.get("check", "") for column in told["plan"]["columns"]]
    assert [bool(check) for check in checks] == [False, False, True, True]


def test_codes_are_clustered_as_categories_when_asked(folder):
    codes = RNG.integers(1, 4, N)
    frame = table(kind=codes)
    frame.to_csv("codes.csv", index=False)
    frame.assign(kind=np.array([*"?xyz"])[codes]).to_csv("texts.csv", index=False)
    run("score", "codes.csv", *FAST, "--category", "kind", "--out", "c.csv", "--model", "m")
    run("score", "texts.csv", *FAST, "--out", "t.csv")
    found, expected = pd.read_csv("c.csv"), pd.read_csv("t.csv")
    assert_allclose(found["score"], expected["score"], atol=1e-12)
    gaps = frame.astype({"kind": float})  # numbers with gaps are read as floats
    gaps.loc[0, "kind"] = np.nan
    gaps.to_csv("gaps.csv", index=False)
    result = run("predict", "m", "gaps.csv", "--out", "p.csv")
    assert "does not know" not in result.output
    assert_array_equal(pd.read_csv("p.csv")["label"][1:], found["label"][1:])
    told = run("score", "codes.csv", *FAST, "--category", "kin", code=1).stderr
    assert "--category kin: there is no such column; did you mean 'kind'?" in told
    assert told.splitlines()[-1].endswith("--category kind")


def test_predict_counts_the_gaps_of_the_new_rows(folder):
    frame = table(c=RNG.normal(size=N) * 50)
    frame.loc[:2, "b"] = np.nan
    frame.to_csv("x.csv", index=False)
    assert "Missing values: b 3;" in run("score", "x.csv", *FAST, "--model", "m").stdout
    frame.iloc[2:].assign(a=lambda X: X["a"].where(X.index != 9)).to_csv("new.csv", index=False)
    told = run("predict", "m", "new.csv").stdout
    assert "Missing values: a 1, b 1; they take the means that the model stored." in told
    assert "Clustered:" not in told  # which the fit said


# Frames in Python


def test_ids_in_a_frame_are_warned_of():
    frame = table(customer_id=RNG.permutation(N) * 3)
    with pytest.warns(UserWarning, match=r"'customer_id' looks like an id.*drop\(columns="):
        CAKE(2, n_runs=2, random_state=0).fit(frame * 1.0)
    counted = table(which=np.arange(N))
    with pytest.warns(UserWarning, match=r"'which' looks like an id \(it counts the rows"):
        CAKE(2, n_runs=2, random_state=0).fit(counted)


@pytest.mark.filterwarnings("error")
def test_measurements_in_a_frame_pass_without_a_word():
    CAKE(2, n_runs=2, random_state=0).fit(table(c=RNG.integers(0, 9, N)))
    CAKE(2, n_runs=2, random_state=0).fit(pd.DataFrame({"time": np.arange(30.0)}))


# Shapes of files


def numbers(rows=40, d=3):
    return pd.DataFrame(np.random.default_rng(2).normal(size=(rows, d)), columns=[*"abcdef"[:d]])


def test_prose_above_the_table_is_left_out(folder):
    prose = [f"Note {i}:,text" for i in range(14)]
    prose.insert(3, 'Description:,"a text\n\nof several lines"')
    Path("x.csv").write_text(
        "\n".join([*prose, "====", numbers(d=6).to_csv(index=False)]), encoding="utf-8"
    )
    result = run("score", "x.csv", *FAST, "--out", "s.csv")
    assert "lines above the names left out" in result.stdout
    assert len(pd.read_csv("s.csv")) == 40


def test_a_first_line_of_decimals_is_a_point(folder):
    frame = numbers()
    frame.to_csv("x.csv", index=False, header=False)
    told = run("score", "x.csv", *FAST, "--out", "s.csv").stdout
    assert told.startswith("Read: the first line as a point (--header takes it as names).\n")
    assert len(pd.read_csv("s.csv")) == len(frame)
    assert "Read:" not in run("score", "x.csv", *FAST, "--no-header").stdout
    assert "40 points" in told
    assert "39 points" in run("score", "x.csv", *FAST, "--header").stdout


def test_a_file_without_names_says_so_with_a_command_to_paste(folder):
    whole = (numbers() * 1000).round().astype(int).abs()
    whole.iloc[0] = [3, 40, 500]  # integers that rise may be names
    whole.to_csv("x.csv", index=False, header=False)
    told = run("score", "x.csv", *FAST, code=1).stderr
    command = told.splitlines()[-1]
    assert command == f"Try: clustertrust score x.csv {' '.join(FAST)} --no-header"
    run(*command.split()[2:])


def test_a_first_point_among_names_is_pointed_at(folder):
    frame = numbers().assign(city=RNG.choice(["Rome", "Oslo"], 40))
    frame.to_csv("x.csv", index=False, header=False)
    told = run("score", "x.csv", *FAST).stdout
    assert "Read: the first line as names (" in told
    assert "Please check: if it is the first point, use --no-header." in told
    years = numbers().set_axis(["1990", "1991", "1992"], axis=1).assign(city="Rome")
    years.to_csv("y.csv", index=False)
    assert "first line" not in run("score", "y.csv", *FAST).stdout
    cities = pd.concat([numbers()] * 2).assign(city=np.repeat(["Rome", "Oslo"], 40))
    cities.columns = ["1", "2", "4", "Rome"]
    cities.to_csv("z.csv", index=False)
    assert "Please check: if it is the first point" in run("score", "z.csv", *FAST).stdout
    cities.columns = ["a", "b", "c", "Rome"]  # words above numbers are names
    cities.to_csv("z.csv", index=False)
    assert "first point" not in run("score", "z.csv", *FAST).stdout


def survey(rows=60):
    """Two clear groups, as a person might have written them down."""
    which = np.arange(rows) % 2
    rng = np.random.default_rng(3)
    size, cost = rng.normal(170, 5, rows) + 40 * which, rng.normal(2e4, 900, rows) + 2e4 * which
    return which, size, cost


def excel(size, cost):
    """Semicolons, decimal commas, amounts, a title, a line of units, a total row."""
    lines = ["Survey 2026;;", ";;", "person;size;cost", ";cm;EUR"]
    for i, (s, c) in enumerate(zip(size, cost, strict=True)):
        amount = f"{c:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")
        lines.append(f"P{i:03};{s:.1f};{amount} €".replace(".", ",", 1))
    return "\n".join([*lines, "Total;;1.800.000,00 €"])


def questions(size, cost):
    """Question marks, dashes and n/a among the numbers, and a column of remarks."""
    rows = [
        f"{i},{s:.2f},{c:.0f},said no {i}" for i, (s, c) in enumerate(zip(size, cost, strict=True))
    ]
    rows[4], rows[9], rows[30] = "4,?,20100,", "9,171.2,-,said", "30,n/a,20100,none"
    return "\n".join(["id,size,cost,remark", *rows])


def sentinels(size, cost):
    """-999 for a size, 999999 for a cost."""
    rows = [f"{s:.2f}\t{c:.0f}" for s, c in zip(size, cost, strict=True)]
    rows[4], rows[9] = "-999\t20100", "171.2\t999999"
    return "\n".join(["size\tcost", *rows])


def rownames(size, cost):
    """Names of rows without a name of their own, as R writes them."""
    rows = [f'"{i}" {s:.2f} {c:.0f}' for i, (s, c) in enumerate(zip(size, cost, strict=True), 1)]
    return "\n".join(['"size" "cost"', *rows])


def dollars(size, cost):
    """Dollars with commas, quoted; shares; a date; a constant; an empty column."""
    rows = [
        f'{i % 28 + 1}/3/2026,{s:.2f},"${c:,.0f}",{s / 4:.1f}%,cm,'
        for i, (s, c) in enumerate(zip(size, cost, strict=True))
    ]
    return "\n".join(["date,size,cost,share,unit,comment", *rows])


def bars(size, cost):
    """Bars, blanks around the fields, yes and no, a column of codes."""
    rows = [
        f" {s:.2f} | {c:.0f} | {'yes' if i % 2 else 'no'} | {i * 7 % 4}"
        for i, (s, c) in enumerate(zip(size, cost, strict=True))
    ]
    return "\n".join([" size | cost | member | code ", *rows])


def windows(size, cost):
    """Windows line ends, blank lines, a byte-order mark, umlauts in names."""
    rows = [f"{s:.2f},{c:.0f},Zürich" for s, c in zip(size, cost, strict=True)]
    return "\ufeff" + "\r\n".join(["größe,kosten,ort", *rows, "", ""])


@pytest.mark.parametrize(
    "shape",
    [excel, questions, sentinels, rownames, dollars, bars, windows],
    ids=lambda f: f.__name__,
)
def test_files_as_people_write_them_give_their_groups_at_the_first_command(folder, shape):
    which, size, cost = survey()
    Path("x.csv").write_bytes(shape(size, cost).encode())
    run("score", "x.csv", "-k", "2", "--runs", "3", "--out", "s.csv")
    found = read_table("s.csv").data.dropna(subset="score")
    assert len(found) == 60
    assert adjusted_rand_score(which, found["label"]) > 0.85
    assert found["score"].mean() > 0.4


# Gower's distance


def mixed_table():
    """Numbers in two units, a category, yes and no, and gaps in all of them."""
    frame = table(c=RNG.normal(size=N) * 500, kind=np.array([*"xyz"])[np.arange(N) % 3])
    frame["paid"] = np.where(RNG.random(N) < 0.5, "yes", "no")
    for j, name in enumerate(frame.columns):
        frame.loc[[2 + j, 20 + 2 * j], name] = np.nan
    frame.insert(0, "name", [f"n{i}" for i in range(N)])
    return frame


def test_gowers_distance_gets_categories_and_gaps_as_they_are(folder):
    frame = mixed_table()
    frame.to_csv("x.csv", index=False)
    how = ["--clusterer", "kmedoids", "--metric", "gower"]
    files = ["--out", "s.csv", "--model", "m", "--report", "r.html", "--save-plan", "p.json"]
    told = run("score", "x.csv", *FAST, *how, *files).stdout
    assert "Missing values: a 2, b 2, c 2, kind 2, paid 2; distances skip them" in told
    assert "Scale: none, Gower's distance divides numbers by their ranges." in told
    X = frame[["a", "b", "c", "kind"]].assign(paid=frame["paid"].map({"yes": 1.0, "no": 0.0}))
    expected = CAKE(3, clusterer="kmedoids", metric="gower", n_runs=3, random_state=0).fit(X)
    found = pd.read_csv("s.csv")
    assert_allclose(found["score"], expected.scores_, atol=1e-12)
    assert_array_equal(found["label"], expected.labels_)
    run("predict", "m", "x.csv", "--out", "again.csv")  # without a word about the metric
    assert_allclose(pd.read_csv("again.csv")["score"], expected.score_samples(X), atol=1e-12)
    run("score", "x.csv", *FAST, *how, "--plan", "p.json", "--out", "planned.csv")
    assert Path("planned.csv").read_bytes() == Path("s.csv").read_bytes()
    told = run("choose-k", "x.csv", "--k", "2,3", *how, "--null", code=2).stderr
    assert "surrogates are points with coordinates, and distances have none" in told
    told = run("choose-k", "x.csv", "--k", "2,3", *how, "--runs", "3").stdout
    assert "Not compared with data without clusters." in told
    assert told == run("choose-k", "x.csv", "--k", "2,3", *how, "--runs", "3", "--no-null").stdout


@pytest.mark.parametrize("scale", ["auto", "none", "robust", "minmax"])
def test_a_table_prepared_in_python_is_what_the_command_clusters(folder, scale):
    frame = mixed_table()
    frame.loc[5, ["a", "b", "c"]] = np.nan
    frame.loc[5, "kind"] = None
    frame.to_csv("x.csv", index=False)
    run("score", "x.csv", *FAST, "--scale", scale, "--out", "s.csv")
    found = pd.read_csv("s.csv").set_index("name")
    assert found.loc["n5", "reason"] == "left out: missing values"
    preparer = TablePreparer(scale=scale).set_output(transform="pandas").fit(frame)
    X = preparer.transform(frame)[preparer.left_out(frame) == ""]
    scored = CAKE(3, n_runs=3, random_state=0).fit(X)
    names = frame["name"][X.index]
    assert names.tolist() == [name for name in frame["name"] if name != "n5"]
    assert_allclose(scored.scores_, found.loc[names, "score"], atol=1e-12)


def test_a_preparer_says_what_stands_against_a_table():
    with pytest.raises(ValueError, match="no column"):
        TablePreparer().fit(pd.DataFrame({"id": [*"abc"]}))


def test_a_plan_is_printed_in_a_few_lines():
    plan = look(mixed_table())
    assert str(plan) == plan.summary()


def test_gowers_distance_clusters_by_medoids_unless_another_is_named(folder):
    mixed_table().to_csv("x.csv", index=False)
    run("score", "x.csv", *FAST, "--metric", "gower", "--out", "s.csv")
    run("score", "x.csv", *FAST, "--metric", "gower", "--clusterer", "kmedoids", "--out", "m.csv")
    assert Path("s.csv").read_bytes() == Path("m.csv").read_bytes()
    run("choose-k", "x.csv", "--k", "2,3", "--metric", "gower", "--runs", "3", "--no-null")
    how = ["--metric", "gower", "--clusterer", "kmeans"]
    assert "--clusterer kmeans needs points" in run("score", "x.csv", *FAST, *how, code=1).stderr


@pytest.mark.parametrize(
    "typed",
    [["--scale", "robust"], ["--standardize"], ["--impute", "mean"], ["--encode", "onehot"]],
)
def test_what_gowers_distance_does_itself_is_refused(folder, typed):
    mixed_table().to_csv("x.csv", index=False)
    how = ["--clusterer", "kmedoids", "--metric", "gower"]
    told = run("score", "x.csv", *FAST, *how, *typed, code=2).stderr
    assert f"skips missing values; leave out {typed[0]}." in told


def test_codes_of_groups_are_told_from_amounts_by_how_often_values_occur():
    rng = np.random.default_rng(3)
    # Years of school, one peak at 12 with a heap at 16; wards of random sizes, 1 to 20.
    years = np.clip(np.round(rng.normal(12, 3, 600)), 1, 20)
    years[:40] = 16
    wards = rng.choice(np.arange(1, 21), 600, p=rng.dirichlet(np.ones(20) * 3))
    pay = years + rng.normal(size=600)
    frame = pd.DataFrame({"a": rng.normal(size=600), "pay": pay, "yy": years, "ww": wards})
    assert doubts(frame) == {"ww": "category"}
    assert doubts(frame.rename(columns={"yy": "miles.city"})) == {"ww": "category"}
    assert set(doubts(frame.rename(columns={"ww": "home.city"}))) == {"home.city"}


def test_a_table_sorted_by_a_count_does_not_make_it_an_id():
    rng = np.random.default_rng(4)
    art = np.sort(rng.poisson(1.7, 400))
    frame = pd.DataFrame({"art": art, "b": rng.normal(size=400), "c": rng.normal(size=400)})
    assert doubts(frame) == {}
    households = np.repeat(np.arange(70, 150), 5)
    assert doubts(frame.assign(art=households)) == {"art": "drop"}


@pytest.mark.parametrize(
    ("name", "values", "is_doubted"),
    [
        ("cp", np.repeat([0, 1, 2, 3], [143, 50, 87, 23]), True),  # kinds of pain
        ("kids", np.repeat([0, 1, 2, 3], [143, 87, 50, 23]), False),
        ("visits", np.repeat([0, 1, 2, 3, 4], [200, 60, 30, 6, 7]), False),  # no more than chance
    ],
)
def test_integers_from_0_on_are_codes_where_a_value_between_is_rare(name, values, is_doubted):
    rng = np.random.default_rng(5)
    n = len(values)
    frame = pd.DataFrame({"a": rng.normal(size=n), name: rng.permutation(values)})
    assert (name in doubts(frame.assign(b=rng.normal(size=n)))) == is_doubted


def test_items_on_one_scale_are_marks_and_not_codes():
    rng = np.random.default_rng(6)
    items = {name: rng.choice([1, 2, 3, 4, 5], 200, p=[0.3, 0.1, 0.2, 0.1, 0.3]) for name in "pqr"}
    frame = pd.DataFrame({"a": rng.normal(size=200), **items})
    assert doubts(frame) == {}
    assert set(doubts(frame.drop(columns="r"))) == {"p", "q"}
    moods = {f"mood{c}": rng.choice(4, 200, p=[0.4, 0.1, 0.1, 0.4]) for c in "abcdefghi"}
    assert doubts(frame.assign(**moods)[["a", *moods]]) == {}
    assert set(doubts(frame.assign(**moods)[["a", "moodb"]])) == {"moodb"}


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        (lambda frame: np.log(frame["size"]), "the same information as size"),
        (lambda frame: frame["town"].map({"x": 3, "y": 1, "z": 2}), "the same information as town"),
        (lambda frame: frame["size"] + frame["a"], "the sum of a to size"),
    ],
)
def test_what_says_again_what_others_say_is_asked_about(again, reason):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"a": rng.normal(size=N), "size": rng.lognormal(size=N)})
    frame["town"] = rng.choice(["x", "y", "z"], N)
    column = look(frame.assign(again=again(frame))).columns[-1]
    assert reason in column.check
    assert column.override_hint == "drop"


def test_series_that_both_rise_do_not_say_the_same():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(np.cumsum(rng.exponential(size=(N, 2)), axis=0), columns=["gdp", "pop"])
    assert doubts(frame) == {}


@pytest.mark.parametrize("name", ["hhid", "provnum", "distcod"])
def test_ids_whose_names_are_one_word_are_asked_about(name):
    rng = np.random.default_rng(9)
    assert doubts(table(**{name: rng.integers(30_000, 31_000, N)})) == {name: "drop"}


def test_weights_of_rows_are_1_in_the_mean():
    rng = np.random.default_rng(10)
    weights = rng.uniform(0.2, 3, N)
    assert doubts(table(weight=weights / weights.mean())) == {"weight": "drop"}
    assert doubts(table(weight=60 * weights)) == {}


def test_comments_that_are_mostly_equal_are_not_clustered():
    texts = ["ok"] * (N - 6) + [f"the sensor was off at {hour} o'clock" for hour in range(6)]
    for name in ("comment", "x"):
        column = look(table(**{name: texts})).columns[-1]
        assert (column.kind, column.use) == ("text", "ignored")
        assert "free text" in column.reason
    few = look(table(x=["red", "green"] * (N // 2))).columns[-1]
    assert few.use == "category"


def test_rows_that_repeat_others_are_counted():
    frame = table()
    (warning,) = look(pd.concat([frame, frame.head(5)], ignore_index=True)).warnings
    assert "5 of 77 rows repeat another row in all columns" in warning
    assert look(frame).warnings == ()
    numbers = pd.DataFrame({"a": np.arange(12_000.0) ** 1.5, "b": np.sin(np.arange(12_000.0))})
    with pytest.warns(UserWarning, match="rows that were looked at repeat another row"):
        TablePreparer().fit(pd.concat([numbers, numbers.head(2000)], ignore_index=True))
    # A price occurs twice.
    assert look(pd.concat([frame, frame.head(5)], ignore_index=True)[["a"]]).warnings == ()
    # Rows of a few answers are equal by chance.
    answers = pd.DataFrame(RNG.integers(1, 4, (200, 4)), columns=list("abcd"))
    assert not any("repeat another" in text for text in look(answers).warnings)


def doubts_of(frame):
    return {column.name: column.check for column in look(frame).columns if column.check}


def test_all_hours_of_a_day_are_asked_about_whatever_their_name():
    rng = np.random.default_rng(0)
    hours = np.tile(np.arange(24), 20)
    frame = pd.DataFrame({"x": rng.normal(size=480), "uhr": rng.permutation(hours)})
    assert "clock" in doubts_of(frame)["uhr"]
    frame["uhr"] = np.minimum(rng.poisson(3, 480), 23)  # a count is rarer at its end
    assert "uhr" not in doubts_of(frame)


@pytest.mark.parametrize("place", [0, 64])
def test_codes_at_an_end_of_a_table_of_pixels_may_be_the_answer(place):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 256, (200, 64)))
    frame.insert(place, "digit", rng.integers(0, 10, 200))
    frame.columns = [str(j) for j in range(65)]
    assert list(doubts_of(frame)) == [str(place)]
    assert "known answer" in doubts_of(frame)[str(place)]
    marks = pd.DataFrame(rng.integers(1, 6, (200, 20)))  # a table of marks has no such column
    assert not doubts_of(marks.set_axis([f"item{j}" for j in range(20)], axis=1))


def test_integers_that_only_rise_in_the_first_column_are_asked_about():
    rng = np.random.default_rng(0)
    rising = np.cumsum(rng.integers(1, 90, 60))
    frame = pd.DataFrame({"first": rising, "x": rng.normal(size=60), "y": rng.normal(size=60)})
    assert doubts_of(frame) == {"first": "integers like those of an id"}
    assert not doubts_of(frame.sample(frac=1, random_state=0))


def test_few_comments_of_several_words_are_asked_about():
    rng = np.random.default_rng(0)
    comment = np.array(["ok", "fine, thanks", "late delivery again"])[np.arange(60) % 3]
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60), "comment": comment})
    assert "free text" in doubts_of(frame)["comment"]
    assert "known answer" in doubts_of(frame.rename(columns={"comment": "mood"})).popitem()[1]


def test_ends_of_links_are_asked_about_and_places_on_a_grid_are_not():
    rng = np.random.default_rng(0)
    links = rng.permutation(30 * 30)[:300]
    frame = pd.DataFrame({"0": links // 30 + 1, "1": links % 30 + 1, "2": rng.normal(size=300)})
    assert list(doubts_of(frame)) == ["0", "1"]
    grid = rng.permutation(900)[:850]
    height = grid % 30 + grid // 30 + rng.normal(size=850)
    frame = pd.DataFrame({"0": grid // 30 + 1, "1": grid % 30 + 1, "2": height})
    assert not {"integers like those of an id"} & set(doubts_of(frame).values())


def test_numbers_of_which_some_have_letters_are_codes():
    rng = np.random.default_rng(0)
    invoices = [f"C{489449 + i}" if i % 20 == 0 else str(489449 + i // 3) for i in range(200)]
    frame = pd.DataFrame({"x": rng.normal(size=200), "Invoice": invoices})
    column = look(frame).columns[1]
    assert (column.kind, column.use) == ("id", "ignored")
    assert "have letters, such as 'C489449', as codes do" in column.reason
    amounts = [f"{i}k" if i % 20 == 0 else str(i * 31 % 97) for i in range(200)]
    assert look(frame.assign(Invoice=amounts)).columns[1].use == "number"


OUTCOMES = "status status2 hospdead decision placed fustat Fail readmitted loan_default delta fraud"


@pytest.mark.parametrize("name", OUTCOMES.split())
def test_outcomes_are_asked_about_wherever_they_stand(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["x", "y", "z"])
    frame.insert(1, name, rng.integers(0, 2, 60))
    frame.insert(2, "smoker", rng.integers(0, 2, 60))
    assert "known answer" in doubts_of(frame)[name]


@pytest.mark.parametrize("name", ["charge_failure_to_pay_a_taxi", "number_failed", "x_y", "wired"])
def test_outcomes_in_other_names_are_not_asked_about(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["x", "y", "z"])
    frame.insert(1, name, rng.integers(0, 2, 60))
    frame.insert(2, "smoker", rng.integers(0, 2, 60))
    assert doubts_of(frame) == {}


def test_a_frequent_number_below_0_may_stand_for_missing_values(folder):
    rng = np.random.default_rng(0)
    days = np.where(np.arange(N) % 3, rng.integers(1, 300, N), -1)
    frame = table(days=days, c=rng.normal(size=N))
    frame.to_csv("x.csv", index=False)
    told = run("score", "x.csv", *FAST).stdout
    line = "Please check days: -1 is frequent, and may stand for a missing value."
    assert f"{line} If so, use --na days=-1." in told.splitlines()
    found = json.loads(run("score", "x.csv", *FAST, "--na", "days=-1", "--json").stdout)
    columns = {column["name"]: column for column in found["plan"]["columns"]}
    assert columns["days"]["n_missing"] == 24
    for others in (days - 40, rng.integers(-1, 40, N), rng.poisson(9, N)):
        assert "missing" not in doubts_of(frame.assign(days=others)).get("days", "")


@pytest.mark.parametrize(
    "months",
    [
        ["Januar", "Februar", "März", "Mai", "Oktober", "Dezember"],
        ["janvier", "février", "mai", "août", "octobre", "décembre"],
        ["enero", "marzo", "mayo", "agosto", "octubre", "diciembre"],
    ],
)
def test_months_of_several_languages_are_a_series(months):
    rng = np.random.default_rng(0)
    load = rng.uniform(10, 20, N)
    again = [f"{month}.1" for month in months]
    frame = pd.DataFrame(dict.fromkeys([*months, *again], load))
    assert doubts(frame) == {}
    assert "numbered columns" in look(frame).scale_reason or "between" in look(frame).scale_reason
    texts = look(table(when=np.resize(months, N))).columns[-1]
    assert (texts.kind, texts.use) == ("date", "ignored")
    days = look(table(when=[f"{i % 28 + 1}. {months[i % 6]} 2024" for i in range(N)])).columns[-1]
    assert days.kind == "date"


def test_one_copied_row_of_a_small_table_is_counted():
    frame = table()
    (warning,) = look(pd.concat([frame, frame.head(1)], ignore_index=True)).warnings
    assert "1 of 73 rows repeats another row in all columns" in warning
    large = pd.concat([frame + j for j in range(3)], ignore_index=True)
    assert look(pd.concat([large, large.head(1)], ignore_index=True)).warnings == ()


def test_a_frequency_is_a_weight_in_a_small_table_only():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N), "frequency": rng.integers(1, 90, N) / 4})
    assert "weight of a row" in doubts_of(frame)["frequency"]
    wide = frame.assign(**{f"x{j}y": rng.normal(size=N) for j in range(5)})
    assert doubts_of(wide) == {}


@pytest.mark.parametrize("first", ["2091294", "31,7", "5,9,2"])
def test_a_first_line_of_numbers_that_do_not_rise_is_a_point(folder, first):
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 900, (40, first.count(",") + 1))
    text = "\n".join([first, *(",".join(map(str, row)) for row in rows)])
    Path("x.csv").write_text(text, encoding="utf-8")
    told = run("score", "x.csv", *FAST, "--out", "s.csv").stdout
    assert "the first line as a point (--header takes it as names)" in told
    assert len(pd.read_csv("s.csv")) == 41


def test_codes_behind_pixels_of_few_values_may_be_the_answer():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 7, (200, 40)))
    frame[40] = rng.integers(0, 10, 200)
    assert list(doubts_of(frame.rename(columns=str))) == ["40"]


def test_a_table_of_kinds_is_told_from_one_of_counts():
    rng = np.random.default_rng(0)
    kinds = {f"{name}part": rng.choice(3, 300, p=[0.4, 0.1, 0.5]) for name in "abcdefghi"}
    flags = {f"{name}flag": rng.integers(0, 2, 300) for name in "jklmnopqrstuv"}
    found = doubts_of(pd.DataFrame({**kinds, **flags, "date": rng.integers(0, 7, 300)}))
    assert set(found) == {*kinds, "date"}
    assert found["date"] == "named like a date"
    counts = {name: rng.poisson(0.7, 300) for name in kinds}
    assert doubts_of(pd.DataFrame({**counts, **flags})) == {}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("CID_Ex1", RNG.integers(10**6, 10**8, N)),
        ("sample", np.repeat(np.arange(1, 61), np.r_[np.ones(48, int), np.full(12, 2)])),
        ("target_binary", RNG.integers(0, 2, N)),
        ("psuid", RNG.integers(1, 6, N)),
        ("weightsEmployers", RNG.uniform(1, 20, N)),
        ("growth", RNG.choice(["absent", "present"], N)),
    ],
)
def test_ids_and_targets_are_seen_in_the_first_word_and_in_order(name, values):
    frame = table(other=RNG.normal(size=N), flag=RNG.integers(0, 2, N), end=RNG.normal(size=N))
    frame.insert(2, name, values)
    assert doubts(frame) == {name: "drop"}


def test_places_of_a_grid_in_equal_steps_are_not_ids():
    grid = np.stack(np.meshgrid(np.arange(-20, 60, 10), np.arange(0, 500, 25)), -1).reshape(-1, 2)
    frame = pd.DataFrame({"temperature": np.sort(grid[:, 0]), "current": grid[:, 1]})
    frame = frame.assign(ohm=RNG.normal(size=len(grid)))
    assert doubts(frame) == {}
    codes = np.sort(RNG.permutation(900)[:8])[
        np.searchsorted(np.unique(grid[:, 0]), np.sort(grid[:, 0]))
    ]
    assert doubts(frame.assign(temperature=codes)) == {"temperature": "drop"}


def test_a_class_of_many_words_may_be_the_answer():
    words = np.array([f"kind {j}" for j in range(19)])[np.arange(190) % 19]
    frame = pd.DataFrame({"Class": words, "x": RNG.normal(size=190), "y": RNG.normal(size=190)})
    assert "known answer" in doubts_of(frame.assign(town=np.resize(["a", "b"], 190)))["Class"]


def test_a_first_column_without_a_name_that_rises_counts_the_rows():
    quarters = [year + quarter / 10 for year in range(1959, 1977) for quarter in range(1, 5)]
    frame = table()
    frame.insert(0, "", quarters)
    assert look(frame).columns[0].use == "id"


def test_the_answer_goes_with_most_other_columns():
    rng = np.random.default_rng(0)
    n = 300
    chd69 = rng.integers(0, 2, n)
    risks = {name: rng.normal(size=n) + chd69 for name in ("chol", "sbp", "bmi")}
    flags = {name: rng.integers(0, 2, n) for name in ("smoker", "left_handed", "sex")}
    frame = pd.DataFrame({**risks, "chd69": chd69, **flags, "z": rng.normal(size=n)})
    assert doubts_of(frame) == {"chd69": "possibly the known answer, yet clustered like the others"}
    shuffled = frame.assign(chd69=rng.permutation(chd69))  # then no column goes with others
    assert doubts_of(shuffled) == {}
    assert set(doubts_of(frame.assign(died=flags["sex"]))) == {
        "died"
    }  # one that is named is enough


def test_two_values_at_an_end_may_be_the_answer_where_few_columns_have_two():
    rng = np.random.default_rng(0)
    others = pd.DataFrame(rng.normal(size=(80, 3)), columns=["x", "y", "z"])
    frame = others.assign(capsule=rng.integers(0, 2, 80))
    assert list(doubts_of(frame)) == ["capsule"]
    assert list(doubts_of(frame[["capsule", "x", "y", "z"]])) == ["capsule"]
    assert not doubts_of(frame[["x", "capsule", "y", "z"]])
    assert not doubts_of(frame.assign(**{f"f{c}": rng.integers(0, 2, 80) for c in "abc"}))


def test_what_is_written_as_an_amount_is_no_id():
    offer = RNG.integers(40_000, 90_000, N)
    assert doubts(table(offer=offer)) == {"offer": "drop"}
    for form in ("{:,}", "${}", "{} kr"):
        assert doubts(table(offer=[form.format(value) for value in offer])) == {}


def test_counts_among_other_columns_are_not_asked_about():
    kind = RNG.integers(0, 3, 300)
    species = {f"sp{j}": RNG.poisson(1 + 2 * (kind == j % 3)) for j in range(9)}
    places = {name: RNG.normal(size=300) for name in ("ph", "depth", "light")}
    assert doubts(pd.DataFrame(places | species)) == {}
    kinds = {f"k{j}": RNG.integers(0, 3 + j % 2, 300) for j in range(9)}
    assert set(doubts(pd.DataFrame(places | kinds))) == set(kinds)


def test_columns_beside_an_end_of_the_table_are_no_answers():
    flag = RNG.choice(["yes", "no"], N, p=[0.3, 0.7])
    assert doubts(table(flag=flag)) == {"flag": "drop"}
    words = [f"said {j} words" for j in (*range(N - 2), 3, 4)]
    assert doubts(table(flag=flag, words=words)) == {}
    assert doubts(table(flag=flag, no=np.ones(N))) == {"flag": "drop"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("order_dow", np.arange(N) % 7),
        ("mnth", 1 + np.arange(N) % 12),
        ("leiden", np.arange(N) % 9),
    ],
)
def test_days_of_the_week_and_clusters_are_not_clustered(name, values):
    plan = look(table(**{name: RNG.permutation(values)}))
    assert plan.columns[2].use == "ignored"
    # Without their names, all days of a week are asked about.
    if name == "order_dow":
        assert doubts(table(k=RNG.permutation(values), c=1)) == {"k": "drop"}
