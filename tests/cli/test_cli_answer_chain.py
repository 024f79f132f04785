"""From `score` to `ask` to `decide`, on tables as people have them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command import run
from sklearn.datasets import make_blobs

from clustertrust import CAKE, audit
from clustertrust.answers import Answers, ask, decide

ANIMALS = np.array(["ant", "bee", "cat"])


def animals(n=240):
    """Three overlapping kinds of animals; each name is that of two of them."""
    X, kinds = make_blobs(n, 4, centers=3, cluster_std=2.5, random_state=0)
    table = pd.DataFrame(X.round(3), columns=["a", "b", "c", "d"])
    table.insert(0, "name", [f"n{i // 2:03}" for i in range(n)])
    return table.assign(kind=ANIMALS[kinds])


def gaps(table):
    table.loc[[0, 5, 100], "b"] = np.nan
    return table


def odd_rows(table):
    table.loc[[3, 50], "a"] = np.inf
    return table


# What is done to the table, what `score` is told, and how many rows have no score.
TABLES = {
    "missing values": (gaps, ("-k", 3, "--drop", "kind", "--drop-missing"), 3),
    "filled in": (gaps, ("-k", 3, "--drop", "kind", "--impute", "mean"), 0),
    "text labels": (lambda t: t, ("--labels-column", "kind"), 0),
    "text labels and gaps": (gaps, ("--labels-column", "kind", "--drop-missing"), 3),
    "some without a label": (
        lambda t: t.assign(kind=t["kind"].where(t.index % 20 > 0)),
        ("--labels-column", "kind"),
        12,
    ),
    "numbers as labels": (
        lambda t: gaps(t).assign(kind=t["kind"].map({"ant": 1, "bee": 2, "cat": 10})),
        ("--labels-column", "kind", "--drop-missing"),
        3,
    ),
    "duplicate ids": (gaps, ("-k", 3, "--drop", "kind", "--drop-missing", "--id", "name"), 3),
}


def scored(case):
    change, options, _ = TABLES[case]
    change(animals()).to_csv("data.csv", index=False)
    run("score", "data.csv", *options, "--runs", 4, "--out", "scores.csv")
    return ("--id", "name") if "--id" in options else ()


def answer(path, out=None):
    """Fill in classes, by row, as the table of animals has them."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["answer"] = animals()["kind"].to_numpy()[table["row"].astype(int)]
    table.to_csv(out or path, index=False)


@pytest.mark.parametrize("case", TABLES)
def test_labels_stay_as_they_are_from_score_to_ask_to_decide(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = scored(case)
    before = pd.read_csv("scores.csv", dtype=str, keep_default_na=False)
    without = before["score"] == ""
    assert without.sum() == TABLES[case][2]
    run("ask", "data.csv", "scores.csv", "--n", 90, *named, "--out", "q.csv")
    asked = pd.read_csv("q.csv", dtype=str, keep_default_na=False)
    rows = asked["row"].astype(int)
    assert not without[rows].any()
    for column in ("label", "rival"):
        assert asked[column].tolist() == before[column][rows].tolist()
    answer("q.csv")
    printed = run(
        *("decide", "scores.csv", "q.csv", "--risk", 0.2, "--answers-are", "classes", *named),
        *("--all-rows", "--out", "kept.csv", "--report", "page.html"),
    ).stdout
    kept = pd.read_csv("kept.csv", dtype=str, keep_default_na=False)
    assert kept["label_before"].tolist() == before["label"].tolist()
    assert set(kept["label"]) <= set(before["label"])
    assert (kept["label"][without] == before["label"][without]).all()
    assert not (kept["kept"] == "True")[without].any()
    changed = (kept["label"] != kept["label_before"]).sum()
    found = re.search(r"(\d+) labels are corrected", printed)
    assert int(found.group(1) if found else 0) == changed < 100
    # a table that pandas or a spreadsheet wrote anew, with integers as 1.0
    again = pd.read_csv("q.csv")
    whole = [name for name in ("label", "rival") if again[name].dtype.kind == "i"]
    again = again.astype(dict.fromkeys(whole, float))
    again.to_csv("again.csv", index=False)
    options = ("--risk", 0.2, "--answers-are", "classes", *named, "--json")
    one, other = (run("decide", "scores.csv", n, *options).stdout for n in ("q.csv", "again.csv"))
    assert json.loads(one)["by_cluster"] == json.loads(other)["by_cluster"]


def test_duplicate_ids_need_the_column_row_and_are_compared_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scored("duplicate ids")
    run("ask", "data.csv", "scores.csv", "--n", 30, "--id", "name", "--out", "q.csv")
    answer("q.csv")
    table = pd.read_csv("q.csv")
    table.drop(columns="row").to_csv("named.csv", index=False)
    result = run("decide", "scores.csv", "named.csv", "--id", "name", code=1)
    assert "occur more than once" in result.stderr
    assert "named.csv needs the column row" in result.stderr
    table.assign(row=(table["row"] + 20) % 240, label="").to_csv("moved.csv", index=False)
    result = run("decide", "scores.csv", "moved.csv", "--id", "name", code=1)
    assert "these answers belong to other rows" in result.stderr


@pytest.mark.parametrize("labels", ["runs", "text", "numbers"])
def test_the_chain_in_python_takes_tables_with_rows_left_out(labels):
    table = gaps(animals()).set_index("name")  # each name twice
    there = table["b"].notna().to_numpy()
    X = table.loc[there, ["a", "b", "c", "d"]]
    given = table.loc[there, "kind"]
    if labels == "numbers":
        given = given.map({"ant": 1, "bee": 2, "cat": 10})
    if labels == "runs":
        found = CAKE(3, n_runs=4, random_state=0).fit(X).to_frame()
    else:
        found = audit(X, given, n_runs=4, random_state=0).to_frame()
    whole = found.set_axis(np.flatnonzero(there), axis=0).reindex(range(len(table)))
    whole.index = table.index
    questions = ask(whole, 90)
    assert there[questions.positions].all()
    answers = questions.answered(classes=table["kind"].to_numpy()[questions.positions])
    whole_decision = decide(whole, answers, risk=0.2)
    at = np.searchsorted(np.flatnonzero(there), questions.positions)
    same = Answers.of(found, at, classes=answers.classes, drawn=answers.drawn, rounds=2)
    part = decide(found, same, risk=0.2)
    assert whole_decision.kept[there].tolist() == part.kept.tolist()
    assert not whole_decision.kept[~there].any()
    assert whole_decision.labels[there].tolist() == part.labels.tolist()
    assert whole_decision.learned.by_cluster.equals(part.learned.by_cluster)


@pytest.mark.parametrize("said", [0, 6, 12])
def test_the_next_command_asks_about_rows_that_are_left(said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    animals(60).to_csv("data.csv", index=False)
    run("score", "data.csv", "-k", 3, "--drop", "kind", "--runs", 4, "--out", "scores.csv")
    run("ask", "data.csv", "scores.csv", "--n", 24, "--random", 24, "--out", "q.csv")
    table = pd.read_csv("q.csv", dtype=str, keep_default_na=False)
    table["answer"] = ["right"] * (24 - said) + ["skip"] * said
    table.to_csv("q.csv", index=False)
    printed = run("decide", "scores.csv", "q.csv", "--risk", 0.05).stdout
    command = re.search(r"Next: clustertrust (ask DATA .*)", printed).group(1)
    run(*command.replace("DATA", "data.csv").split())
    more = pd.read_csv("more.csv")
    assert 0 < len(more) <= 36
    assert not set(more["row"]) & set(table["row"].astype(int))


def test_nothing_more_is_asked_where_every_row_is_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    animals(30).to_csv("data.csv", index=False)
    run("score", "data.csv", "-k", 3, "--drop", "kind", "--runs", 4, "--out", "scores.csv")
    run("ask", "data.csv", "scores.csv", "--n", 30, "--random", 30, "--out", "q.csv")
    table = pd.read_csv("q.csv", dtype=str, keep_default_na=False)
    table.assign(answer=["right"] * 20 + ["skip"] * 10).to_csv("q.csv", index=False)
    printed = run("decide", "scores.csv", "q.csv", "--risk", 0.05).stdout
    assert "Next:" not in printed
    assert "Every row with a score was asked about" in printed


def german(table):
    """The table as text, as spreadsheets write it in German."""
    amounts = table[["a", "b", "c", "d"]].mul(1000).round(2)
    texts = amounts.map(lambda value: f"{value:,.2f}".translate(str.maketrans(",.", ".,")))
    return table.assign(**texts)


def test_a_german_table_comes_back_in_its_dialect_all_along_the_chain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = animals()
    amounts = table[["a", "b", "c", "d"]].mul(1000).round(2)
    table.assign(**amounts).to_csv("plain.csv", index=False)
    german(table).to_csv("data.csv", index=False, sep=";")
    base = ("-k", 3, "--drop", "kind", "--runs", 4)
    run("score", "plain.csv", *base, "--out", "expected.csv")
    run("score", "data.csv", *base, "--out", "scores.csv")
    expected = pd.read_csv("expected.csv")
    found = pd.read_csv("scores.csv", sep=";", decimal=",", thousands=".")
    pd.testing.assert_frame_equal(found, expected)
    written = pd.read_csv("scores.csv", sep=";", dtype=str)
    assert written[["a", "b"]].equals(german(table)[["a", "b"]])
    assert '"' not in (tmp_path / "scores.csv").read_text(encoding="utf-8")
    run("ask", "data.csv", "scores.csv", "--n", 60, "--out", "q.csv")
    asked = pd.read_csv("q.csv", sep=";", decimal=",", dtype={"a": str})
    assert asked["a"].tolist() == german(table)["a"][asked["row"]].tolist()
    assert asked["inclusion"].dropna().between(0, 1).all()
    asked["answer"] = table["kind"].to_numpy()[asked["row"]]
    asked.to_csv("q.csv", sep=";", index=False)
    run("decide", "scores.csv", "q.csv", "--risk", 0.2, "--all-rows", "--out", "kept.csv")
    kept = pd.read_csv("kept.csv", sep=";", decimal=",", thousands=".")
    assert kept["label_before"].tolist() == expected["label"].tolist()
    assert kept["probability"].between(0, 1).all()
    printed = run("score", "data.csv", *base, "--out", "-").stdout
    assert printed == (tmp_path / "scores.csv").read_text(encoding="utf-8")
    run("score", "data.csv", *base, "--model", "m.cake")
    run("predict", "m.cake", "data.csv", "--out", "new.csv")
    assert pd.read_csv("new.csv", sep=";", decimal=",")["score"].dtype == float
