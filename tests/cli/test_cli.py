"""The command line: the library's numbers in the user's format, nothing lost, and errors that say
what to do.
"""

import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from command import FAST, IDS, NAMED, NAMES, RESULTS, X, files, run
from extras import need_format
from numpy.testing import assert_allclose, assert_array_equal

import clustertrust
from clustertrust.cli.commands import COMMANDS
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import FORMATS, Reading, read_table
from clustertrust.files.delimited import EXACT
from clustertrust.summary import summarize


def test_the_file_has_the_librarys_numbers_and_the_inputs_names(folder, library):
    result = run("score", "iris.csv", *FAST, *NAMED, "--out", "scores.csv")
    table = pd.read_csv("scores.csv", dtype={"flower": str}, **EXACT)
    assert list(table.columns) == ["flower", *NAMES, "species", *RESULTS]
    assert table["flower"].tolist() == IDS
    expected = library.to_frame()
    for name in RESULTS:
        assert_array_equal(table[name], expected[name], err_msg=name)
    assert result.stderr == ""
    assert result.stdout.endswith("\nWrote scores.csv, scores.csv.plan.json.\n")


# in the note on runs that do not differ
TYPED = ("(resample=0.8", "(--resample 0.8")


def test_the_summary_is_the_librarys(folder, library):
    result = run("score", "plain.csv", *FAST, "--threshold", "0.7")
    assert "up to 0.7" in result.stdout
    named = replace(library.confidence_, frame=pd.DataFrame(index=pd.RangeIndex(150, name="row")))
    expected = summarize(named, threshold=0.7).replace(*TYPED)
    plan, _, summary = result.stdout.partition("\n\n")
    assert plan.splitlines() == [
        "Clustered: 4 of 4 columns (sepal_length, sepal_width, petal_length, petal_width).",
        "Not clustered: none.",
        "Scale: none, all are lengths (--scale standard scales them).",
    ]
    assert summary == expected + "\n"
    assert files(folder) == ["iris.csv", "plain.csv"]
    told = run("score", "plain.csv", *FAST).stdout.partition("\n\n")[2]
    assert told == summarize(named).replace(*TYPED) + "\n"
    at = library.confidence_.cut()
    assert told.startswith(f"{at.verdict}\n")
    assert f"above {at.chance:g}, which data without clusters rarely exceed)" in told


@pytest.mark.parametrize(
    "suffix", [s for kind in FORMATS.values() for s in kind.suffixes if s != ".h5ad"]
)
def test_every_format_in_and_out(folder, library, suffix):
    need_format(suffix)
    text = suffix.startswith((".csv", ".tsv", ".tab", ".txt", ".dat"))
    data = X if suffix in {".npy", ".npz"} else X.assign(flower=IDS)
    path = f"data{suffix}"
    if text:
        data.to_csv(path, index=False, sep="," if ".csv" in suffix else "\t")
    elif suffix in {".parquet", ".pq"}:
        data.to_parquet(path)
    elif suffix in {".arrow", ".feather"}:
        data.to_feather(path)
    elif suffix in {".json", ".jsonl", ".ndjson"}:
        data.to_json(path, orient="records", lines=suffix != ".json")
    elif suffix in {".xlsx", ".ods"}:
        data.to_excel(path, index=False)
    elif suffix == ".npy":
        np.save(path, data.to_numpy())
    else:
        np.savez(path, points=data.to_numpy())
    named = ["--id", "flower"] if "flower" in data else []
    run("score", path, *FAST, *named, "--out", f"scores{suffix}")
    table = read_table(f"scores{suffix}", Reading(text=("flower",))).data
    assert table["flower" if named else "row"].tolist() == (IDS if named else list(range(150)))
    assert list(table.columns) == [*(data.columns if named else ["row"]), *RESULTS]
    digits = 1e-15 if suffix == ".xlsx" else 0  # which holds 16 of them
    assert_allclose(table["score"], library.scores_, rtol=0, atol=digits)
    assert_array_equal(table["label"], library.labels_)


def test_a_frames_own_index_names_the_rows(folder):
    need_format(".parquet")
    X.set_axis(pd.Index(IDS, name="plant"), axis=0).to_parquet("x.parquet")
    run("score", "x.parquet", *FAST, "--out", "s.parquet")
    assert pd.read_parquet("s.parquet")["plant"].tolist() == IDS


def test_a_frames_own_index_may_be_named_as_the_id(folder):
    need_format(".parquet")
    X.set_axis(pd.Index(IDS, name="plant"), axis=0).to_parquet("x.parquet")
    run("score", "x.parquet", *FAST, "--id", "plant", "--out", "s.csv", "--model", "m")
    assert pd.read_csv("s.csv")["plant"].tolist() == IDS
    run("predict", "m", "x.parquet", "--id", "plant", "--out", "p.csv")
    assert pd.read_csv("p.csv")["plant"].tolist() == IDS


def test_one_column_names_the_rows(folder):
    pd.read_csv("plain.csv").assign(name="p", kind="s").to_csv("named.csv", index=False)
    result = run("score", "named.csv", *FAST, "--id", "name,kind", code=1)
    told = "names 2 columns; only one can name the rows, leave out the others."
    assert result.stderr == f"Error: --id name,kind {told}\n"


def test_notes_name_options_that_there_are(folder):
    told = run(
        "score", "plain.csv", "--runs", "2", "--clusterer", "agglomerative", "-k", "3"
    ).stderr
    assert "agree by construction; vary their data (--resample 0.8) or" in told


def test_runs_that_do_not_differ_are_noted(folder, library):
    assert (library.stability_ == 1).mean() > 0.9
    printed = run("score", "plain.csv", *FAST).stdout
    assert (
        "so the score there is geometry alone. Vary the data of the runs (--resample 0.8" in printed
    )
    (note,) = json.loads(run("score", "plain.csv", *FAST, "--json").stdout)["notes"]
    assert f"Note: {note}\n" in printed
    run("score", "plain.csv", *FAST, "--model", "model")
    assert "Note: " not in run("predict", "model", "plain.csv").stdout


def test_standard_input_and_output(folder, library):
    result = run("score", "-", *FAST, *NAMED, "--out", "-", stdin=Path("iris.csv").read_bytes())
    table = pd.read_csv(io.StringIO(result.stdout), **EXACT)
    assert_array_equal(table["score"], library.scores_)
    assert "By cluster" in result.stderr
    tsv = X.to_csv(index=False, sep="\t")
    assert "150 points" in run("score", "-", *FAST, "--format", "tsv", stdin=tsv).stdout
    assert "150 points" in run("score", "-", *FAST, stdin=tsv).stdout


def test_json_is_all_there_is(folder, library):
    result = run(
        "score", "iris.csv", *FAST, *NAMED, "--json", "--out", "s.csv", "--threshold", "0.6"
    )
    told = json.loads(result.stdout)
    assert result.stderr == ""
    assert told["files"] == {"out": "s.csv", "plan": "s.csv.plan.json"}
    assert (told["rows"], told["scored"], told["runs"]) == (150, 150, 4)
    assert told["version"] == clustertrust.__version__
    assert told["quantiles"]["median"] == np.median(library.scores_)
    for row in told["clusters"]:
        scores = library.scores_[library.labels_ == row["label"]]
        assert row["points"] == len(scores)
        assert row["mean_score"] == pytest.approx(scores.mean())
        assert row["up_to_threshold"] == pytest.approx((scores <= 0.6).mean())
    worst = told["ambiguous"][0]
    assert library.scores_[IDS.index(worst["id"])] == library.scores_.min()
    assert told["settings"]["random_state"] == 0


def test_missing_numbers_are_null_in_json(folder):
    Path("runs.csv").write_text(
        "a,b\n-1,-1\n0,-1\n" + "0,0\n" * 70 + "1,1\n" * 78, encoding="utf-8"
    )
    result = run("score", "plain.csv", "--labels", "runs.csv", "--json")
    told = json.loads(result.stdout, parse_constant=pytest.fail)
    assert None in [row["mean_score"] for row in told["clusters"]]
    assert result.stderr.startswith("Note: 2 of 150 points are assigned in fewer than two runs")
    assert len(result.stderr.splitlines()) == 1


# Help, version, completion, demo


def test_help_reads_the_librarys_tables(folder):
    # A name may be broken at its hyphen, where a line ends.
    text = re.sub(r"-\n +", "-", run("score", "--help").stdout)
    for name in CLUSTERERS:
        assert name in text
    for heading in ("How points are clustered:", "How they are scored:", "How the data are read:"):
        assert heading in text
    options = [param.opts[0] for param in COMMANDS["score"].params if param.opts[0].startswith("-")]
    for option in options:
        assert option in text
    assert "_CLUSTERTRUST_COMPLETE=bash_source" in run().stdout
    assert run("--version").stdout == f"clustertrust {clustertrust.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_the_short_help_option_by_itself(command):
    context = click.Context(COMMANDS[command], **COMMANDS[command].context_settings)
    assert context.help_option_names == ["-h", "--help"]


def test_demo(folder):
    told = run("demo").stdout
    assert "150 points, 3 clusters" in told
    assert "Why did flower-051 score as it did?\nPoint flower-051 (its label" in told
    told = run("demo", "--out", "d/e").stdout
    assert files(Path("d/e")) == ["iris.csv", "iris.model", "report.html", "scores.csv"]
    command = told.strip().splitlines()[-1].split()
    assert "the file iris.csv exists already" in run("demo", "--out", "d/e", code=2).stderr
    # A name that is not UTF-8, as Python reads it from the system; others refuse such names.
    if sys.platform == "linux":
        assert "Wrote x?" in run("demo", "--out", "x\udcff").stdout
    before = Path("d/e/scores.csv").read_bytes()
    run(*command[1:])  # the command that it prints makes the same scores
    assert Path("d/e/scores.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("cluster", "`clustertrust score DATA -k 3` clusters a table"),
        ("scores", "Did you mean score?"),
        ("xyz", "No such command 'xyz'.\n"),
    ],
)
def test_an_unknown_command_points_to_what_does_that(typed, hint):
    assert hint in run(typed, "data.csv", code=2).stderr


def test_messages_speak_of_what_the_command_has(folder):
    square = pd.DataFrame(np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))))
    square.add_prefix("p").to_csv("square.csv", index=False)
    told = run("score", "square.csv", "-k", 2, "--runs", 3).stderr
    assert "If they are distances, use --distances." in told
    told = run("score", "plain.csv", "-k", 151, code=1).stderr
    assert "-k 151 is more than the 150 points to cluster" in told
    told = run("score", "plain.csv", "-k", 2, "--metric", "gower", "--clusterer", "gmm", code=1)
    assert "function" not in told.stderr
    out = run("score", "plain.csv", "-k", 2, "--runs", 3).stdout
    assert "Vary the data of the runs (--resample 0.8, or less) for a stricter test." in out
    run("score", "plain.csv", "-k", 2, "--runs", 3, "--out", "scores.csv")
    told = run("ask", "plain.csv", "scores.csv", "--n", 300, "--out", "q.csv", code=1).stderr
    assert "--n 300 is more than the 150 points" in told
