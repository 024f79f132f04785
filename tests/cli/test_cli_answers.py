"""`clustertrust ask` and `decide`: from a table to the rows that can be kept."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command import files, run
from sklearn.datasets import load_breast_cancer
from unpacking import unpack

CANCER = load_breast_cancer(as_frame=True)
DIAGNOSIS = CANCER.target_names[CANCER.target]
PATIENTS = [f"p{i:03}" for i in range(569)]


@pytest.fixture(scope="module")
def scored_once(tmp_path_factory):
    """A table of patients, and its scores."""
    folder = tmp_path_factory.mktemp("scored")
    table = CANCER.data.iloc[:, :8].round(3)
    table.insert(0, "patient", PATIENTS)
    table.to_csv(folder / "cells.csv", index=False)
    run("score", folder / "cells.csv", "-k", 2, "--runs", 6, "--out", folder / "scores.csv")
    return {name: (folder / name).read_bytes() for name in ("cells.csv", "scores.csv")}


@pytest.fixture
def scored(scored_once, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in scored_once.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def fill(path, answers, out=None):
    """Fill in the column answer, by row."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["answer"] = [answers[int(row)] for row in table["row"]]
    table.to_csv(out or path, index=False)


def contents_of(page):
    """The contents that a page holds."""
    return json.loads(re.search(r'id="contents">(.*?)</script>', page, re.DOTALL).group(1))


def right_words():
    labels = pd.read_csv("scores.csv")["label"]
    named = pd.Series(DIAGNOSIS).groupby(labels).agg(lambda kinds: kinds.mode()[0])
    return np.where(named[labels].to_numpy() == DIAGNOSIS, "right", "wrong")


def test_questions_can_be_filled_in_and_give_a_kept_set(scored):
    asked = run("ask", "cells.csv", "scores.csv", "--n", 120, "--out", "questions.csv")
    assert "120 questions about cells.csv: 80 drawn at random, 40 chosen to teach" in asked.stdout
    questions = pd.read_csv("questions.csv")
    assert questions.columns[:9].tolist() == [
        *("row", "patient", "answer", "should_be", "label", "rival"),
        *("asked", "inclusion", "round"),  # no score, which would sway the person
    ]
    assert (
        questions["mean radius"].tolist()
        == CANCER.data["mean radius"].round(3)[questions["row"]].tolist()
    )
    assert (questions["patient"] == np.array(PATIENTS)[questions["row"]]).all()
    assert questions["answer"].isna().all()
    assert (questions["asked"] == "random").sum() == 80
    fill("questions.csv", right_words())
    result = run(
        *("decide", "scores.csv", "questions.csv", "--risk", 0.1),
        *("--out", "kept.csv", "--report", "page.html"),
    )
    kept = pd.read_csv("kept.csv")
    assert (
        f"Of the {len(kept):,} rows kept, at most 10% are wrong, with 95% confidence; 120 answers "
        "used." in result.stdout
    )
    assert "Right, by cluster:" in result.stdout
    at = [PATIENTS.index(patient) for patient in kept["patient"]]
    assert (right_words()[at] == "wrong").mean() < 0.1
    assert {"label", "label_before", "probability", "low", "high", "answer"} <= set(kept)
    assert "learned from 120 answers" in (scored / "page.html").read_text(encoding="utf-8")


def test_classes_labels_and_words_of_answers(scored):
    run("ask", "cells.csv", "scores.csv", "--n", 120, "--out", "q.csv")
    fill("q.csv", DIAGNOSIS, "classes.csv")
    by_class = run("decide", "scores.csv", "classes.csv", "--risk", 0.1, "--json")
    told = json.loads(by_class.stdout)
    assert told["guaranteed"]
    assert told["answers_used"] >= 110
    words = right_words()
    labels = pd.read_csv("scores.csv")["label"].to_numpy()
    fill("q.csv", np.where(words == "right", labels, 1 - labels), "labels.csv")
    fill("q.csv", np.where(words == "right", " YES", "no "), "words.csv")
    by_label, by_word = (
        json.loads(run("decide", "scores.csv", name, "--risk", 0.1, "--json").stdout)
        for name in ("labels.csv", "words.csv")
    )
    assert by_label["by_cluster"] == by_word["by_cluster"]
    run("decide", "scores.csv", "labels.csv", "--risk", 0.1, "--out", "kept.csv", "--all-rows")
    table = pd.read_csv("kept.csv")
    assert len(table) == 569
    asked = pd.read_csv("labels.csv")
    assert (table["label"].to_numpy()[asked["row"]] == asked["answer"]).all()
    assert table["kept"].sum() == by_label["kept"]


def test_the_page_is_about_the_labels_that_were_scored(scored):
    run("ask", "cells.csv", "scores.csv", "--n", 120, "--out", "q.csv")
    fill("q.csv", DIAGNOSIS)
    run(
        *("decide", "scores.csv", "q.csv", "--risk", 0.1),
        *("--out", "kept.csv", "--all-rows", "--report", "page.html"),
    )
    page = contents_of((scored / "page.html").read_text(encoding="utf-8"))
    table = pd.read_csv("kept.csv", keep_default_na=False)
    changed = table["label"] != table["label_before"]
    assert changed.any()
    assert unpack(page["labels"]).tolist() == table["label_before"].tolist()
    assert (unpack(page["rows"]["rival"]) != unpack(page["labels"])).all()
    added = [column["name"] for column in page["original"]][-3:]
    assert added == ["kept", "corrected", "answer"]
    # they would sway whoever reviews again
    assert [column["name"] for column in page["original"] if column["unasked"]] == added
    assert "standard_error" not in page["rows"]  # that of another score
    # a column of large numbers would be the first component, were they not standardised
    assert any("8 columns as they were clustered" in note for note in page["notes"])
    assert not any("geometry alone" in note for note in page["notes"])
    assert page["threshold"] == pytest.approx(0.9)


def test_names_match_rows_where_there_are_no_positions(scored):
    run("ask", "cells.csv", "scores.csv", "--n", 100, "--out", "q.csv")
    fill("q.csv", right_words())
    whole = json.loads(run("decide", "scores.csv", "q.csv", "--json").stdout)
    table = pd.read_csv("q.csv").drop(columns="row").sample(frac=1, random_state=0)
    table.to_csv("named.csv", index=False)
    named = json.loads(run("decide", "scores.csv", "named.csv", "--json").stdout)
    assert named["by_cluster"] == whole["by_cluster"]


def test_a_second_round_goes_on_from_the_first(scored):
    run("ask", "cells.csv", "scores.csv", "--n", 30, "--out", "first.csv")
    fill("first.csv", right_words())
    result = run("decide", "scores.csv", "first.csv", "--out", "kept.csv")
    assert "Nothing is kept" in result.stdout
    assert "Next: clustertrust ask DATA scores.csv --answers first.csv --n" in result.stdout
    assert pd.read_csv("kept.csv").empty
    run(
        *("ask", "cells.csv", "scores.csv", "--answers", "first.csv"),
        *("--n", 200, "--random", 200, "--out", "more.csv"),
    )
    first, more = pd.read_csv("first.csv"), pd.read_csv("more.csv")
    assert (more["round"] == 2).all()
    drawn = first.loc[first["asked"] == "random", "row"]
    assert not set(drawn) & set(more["row"])
    again = more["row"].isin(first["row"])  # asked before to teach, and now drawn
    assert (more["answer"].notna() == again).all()
    fill("more.csv", right_words())
    both = run("decide", "scores.csv", "first.csv", "more.csv", "--risk", 0.1)
    assert "This is decision 2 about these rows" in both.stdout


def test_the_download_of_a_review_is_read(scored):
    words = right_words()
    labels = pd.read_csv("scores.csv")["label"]
    rows = np.random.default_rng(0).permutation(569)[:120]
    table = pd.DataFrame({"row": rows, "patient": np.array(PATIENTS)[rows]})
    table["answer"] = words[rows]
    table["should_be"] = np.where(words[rows] == "wrong", 1 - labels[rows], "")
    table["label"], table["asked"] = labels[rows].to_numpy(), "random"
    table["inclusion"], table["round"] = 120 / 569, 1
    table.loc[0, ["answer", "should_be"]] = ["skip", ""]
    table.to_csv("answers.csv", index=False)
    told = json.loads(run("decide", "scores.csv", "answers.csv", "--risk", 0.15, "--json").stdout)
    assert told["guaranteed"]
    assert told["answers_used"] == 119


def test_without_random_rows_nothing_is_guaranteed_unless_one_says_so(scored):
    rows = np.random.default_rng(0).permutation(569)[:100]
    pd.DataFrame({"row": rows, "answer": "right"}).to_csv("mine.csv", index=False)
    result = run("decide", "scores.csv", "mine.csv", "--out", "kept.csv")
    assert "none of the answers is about rows drawn at random" in result.stdout
    base = ("decide", "scores.csv", "mine.csv", "--risk", 0.1, "--drawn-at-random", "--json")
    assert json.loads(run(*base).stdout)["guaranteed"]
    # a row that was drawn and skipped counts as wrong; an empty line was not asked about
    said = ["right"] * 80 + ["skip"] * 20
    pd.DataFrame({"row": rows, "answer": said}).to_csv("mine.csv", index=False)
    assert not json.loads(run(*base).stdout)["guaranteed"]
    said = ["right"] * 80 + [""] * 20
    pd.DataFrame({"row": rows, "answer": said}).to_csv("mine.csv", index=False)
    assert json.loads(run(*base).stdout)["guaranteed"]


def test_rows_that_were_chosen_are_not_taken_for_drawn_ones(scored):
    run("ask", "cells.csv", "scores.csv", "--n", 90, "--out", "q.csv")
    fill("q.csv", right_words())
    base = ("decide", "scores.csv", "q.csv", "--risk", 0.1, "--drawn-at-random")
    table = pd.read_csv("q.csv")
    first = table.loc[table["asked"] == "learn", "row"].iloc[0]
    before = files(scored)
    for options in ((), ("--force",)):
        result = run(*base, *options, "--out", "kept.csv", code=1)
        assert f"--drawn-at-random: q.csv says of row {first}" in result.stderr
        assert files(scored) == before
    # what was asked to learn, and not answered, does no harm
    table.loc[table["asked"] == "learn", "answer"] = np.nan
    table.to_csv("q.csv", index=False)
    with_option = run(*base, "--json").stdout
    assert (
        json.loads(with_option)["by_cluster"]
        == json.loads(run("decide", "scores.csv", "q.csv", "--risk", 0.1, "--json").stdout)[
            "by_cluster"
        ]
    )


def test_rows_whose_scores_are_unlike_the_others_were_not_drawn(scored):
    order = np.argsort(pd.read_csv("scores.csv")["score"].to_numpy())
    pd.DataFrame({"row": order[-60:], "answer": "right"}).to_csv("mine.csv", index=False)
    base = ("decide", "scores.csv", "mine.csv", "--risk", 0.1, "--drawn-at-random")
    result = run(*base, "--out", "kept.csv", code=1)
    assert "--drawn-at-random: the scores of these 60 points are not distributed" in result.stderr
    assert "--force" in result.stderr
    assert not (scored / "kept.csv").exists()
    assert json.loads(run(*base, "--force", "--json").stdout)["guaranteed"]
    run("decide", "scores.csv", "mine.csv")  # no one says that they were drawn
    usage = run("decide", "scores.csv", "mine.csv", "--force", code=2)
    assert "--force needs --drawn-at-random" in usage.stderr


BAD = {
    "no column": ({"row": [1], "said": ["right"]}, "has no column 'answer'"),
    "none": ({"row": [1, 2], "answer": ["", "skip"], "asked": ["random"] * 2}, "no question is an"),
    "outside": ({"row": [569], "answer": ["right"]}, "'569', and the rows that were scored run"),
    "no number": ({"row": ["x"], "answer": ["right"]}, "is about row 'x'"),
    "unknown": ({"patient": ["p999"], "answer": ["right"]}, "'p999', which is not among the rows"),
    "others": ({"row": [3], "patient": ["p004"], "answer": ["right"]}, "belong to other rows"),
    "twice": ({"row": [3, 3], "answer": ["right", "wrong"]}, "Row 3 is answered twice: 'right'"),
    "clustering": ({"row": [3], "answer": ["right"], "label": [7]}, "belong to another clustering"),
    "cluster": ({"row": [3], "answer": ["wrong"], "should_be": [7]}, "'7' at position 0, which is"),
    "contrary": ({"row": [3], "answer": ["right"], "should_be": ["other"]}, "should_be says other"),
    "mixed": (
        {"row": [3, 4], "answer": ["right", "benign"]},
        "but others have classes such as 'benign'",
    ),
    "slip": (
        {"row": [3, 4, 5], "answer": ["right", "rihgt", "wrong"]},
        "has 'rihgt' for row 4, and others are answered by right and wrong",
    ),
    "asked": ({"row": [3], "answer": ["right"], "asked": ["chance"]}, "write random or learn"),
    "nameless": ({"answer": ["right"]}, "has no column 'row', nor one that names the rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_answers_get_one_clear_message_and_nothing_is_written(scored, case):
    columns, message = BAD[case]
    table = pd.DataFrame(columns)
    if case == "contrary":
        label = pd.read_csv("scores.csv")["label"][3]
        table["should_be"] = 1 - label
    table.to_csv("answers.csv", index=False)
    before = files(scored)
    result = run("decide", "scores.csv", "answers.csv", "--out", "kept.csv", code=1)
    assert message in result.stderr
    assert "answers.csv" in result.stderr
    assert files(scored) == before


def test_the_same_answer_twice_counts_once(scored):
    table = pd.DataFrame({"row": [3, 3, 5], "answer": ["right", "right", "wrong"]})
    table.to_csv("answers.csv", index=False)
    result = run("decide", "scores.csv", "answers.csv", "--json")
    assert json.loads(result.stdout)["answers_used"] == 2
    assert "1 row is answered twice with the same answer" in result.stderr


def test_rows_without_a_score_and_wrong_use(scored):
    table = pd.read_csv("scores.csv")
    table.loc[3, ["score", "label"]] = np.nan
    table.to_csv("holes.csv", index=False)
    pd.DataFrame({"row": [3], "answer": ["right"]}).to_csv("answers.csv", index=False)
    result = run("decide", "holes.csv", "answers.csv", code=1)
    assert "row 3, which has no score" in result.stderr
    assert "lacks the columns" in run("decide", "cells.csv", "answers.csv", code=1).stderr
    told = run("decide", "scores.csv", "answers.csv", "--out", "scores.csv", code=2).stderr
    assert "same file" in told
    assert "add --out" in run("decide", "scores.csv", "answers.csv", "--all-rows", code=2).stderr
    usage = run("ask", "cells.csv", "scores.csv", "--n", 5, "--random", 9, "--out", "q.csv", code=2)
    assert "--random 9 is more than --n 5" in usage.stderr
    many = run("ask", "cells.csv", "scores.csv", "--n", 600, "--out", "q.csv", code=1)
    assert "--n 600 is more than the 569 points that have a score" in many.stderr
    short = pd.read_csv("scores.csv").head(20)
    short.to_csv("short.csv", index=False)
    result = run("ask", "cells.csv", "short.csv", "--out", "q.csv", code=1)
    assert "short.csv has 20 rows and the data have 569" in result.stderr


def test_data_in_another_order_than_their_scores_are_refused(scored):
    pd.read_csv("cells.csv")[::-1].to_csv("reversed.csv", index=False)
    for named in ([], ["--id", "patient"]):
        told = run("ask", "reversed.csv", "scores.csv", *named, "--out", "q.csv", code=1).stderr
        assert "scores.csv names row 0 'p000', and the data 'p568'; give the data in" in told


def test_tables_can_be_printed(scored):
    result = run("ask", "cells.csv", "scores.csv", "--n", 6, "--out", "-")
    assert len(result.stdout.strip().splitlines()) == 7
    assert "6 questions" in result.stderr


def test_ask_and_decide_use_the_columns_that_score_used(scored):
    table = pd.read_csv("cells.csv").assign(diagnosis=DIAGNOSIS)
    table = table.rename(columns={"mean radius": "score"})  # the name of a result
    table.to_csv("table.csv", index=False)
    base = ("score", "table.csv", "-k", 2, "--runs", 3)
    out = run(*base, "--drop", "diagnosis", "--out", "s.csv").stdout
    assert "Wrote s.csv, s.csv.plan.json." in out
    typed = ("--drop", "diagnosis")
    # what lies beside the scores gives the questions that the option gives, and other ones
    # than with the diagnosis among the columns
    found = {}
    for name, options in (("found", ()), ("typed", typed), ("wrong", ("--scale", "standard"))):
        said = run("ask", "table.csv", "s.csv", "--out", f"{name}.csv", *options).stdout
        found[name] = pd.read_csv(f"{name}.csv")["row"].tolist()
        assert ("Columns are used as s.csv.plan.json says" in said) == (name == "found")
        assert ("q.csv --drop diagnosis" in said.replace("typed.csv", "q.csv")) == (name == "typed")
    assert found["found"] == found["typed"] != found["wrong"]
    said = run("ask", "table.csv", "s.csv", "--out", "q.csv", "--impute", "mean").stdout
    assert "q.csv --impute mean --out kept.csv" in said
    fill("found.csv", DIAGNOSIS, "a.csv")
    kept = {}
    for name, options in (("found", ()), ("typed", (*typed, "--drop", "score"))):
        command = ("decide", "s.csv", "a.csv", "--risk", 0.2, "--all-rows", *options)
        run(*command, "--out", "kept.csv")
        kept[name] = pd.read_csv("kept.csv")["probability"]
    assert np.allclose(kept["found"], kept["typed"])
    again = run(
        *base, "--plan", "s.csv.plan.json", "--save-plan", "p.csv.plan.json", "--out", "p.csv"
    )
    assert "Wrote p.csv, p.csv.plan.json." in again.stdout  # once
    run(*base, "--drop", "diagnosis", "--only-scores", "--out", "bare.csv")  # no columns to use
    assert "Columns are used" not in run("decide", "bare.csv", "a.csv").stdout
    # scores that were written anew without options have a plan of their own
    run(*base, "--out", "s.csv")
    plan = json.loads((scored / "s.csv.plan.json").read_text(encoding="utf-8"))
    assert {c["use"] for c in plan["columns"] if c["name"] == "diagnosis"} == {"category"}


def test_corrected_labels_are_counted_in_the_rows_that_are_written(scored):
    run("ask", "cells.csv", "scores.csv", "--n", 30, "--out", "q.csv")
    fill("q.csv", DIAGNOSIS)
    few = run("decide", "scores.csv", "q.csv", "--out", "kept.csv").stdout
    assert pd.read_csv("kept.csv").empty
    assert "corrected" not in few
    every = run("decide", "scores.csv", "q.csv", "--out", "kept.csv", "--all-rows").stdout
    table = pd.read_csv("kept.csv")
    changed = (table["label"] != table["label_before"]).sum()
    assert changed > 0
    assert f"{changed} labels are corrected" in every
