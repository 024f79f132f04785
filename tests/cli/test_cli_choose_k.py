"""`clustertrust choose-k`: the library's profile in a file, a picture and a few lines.

Nothing half-written.
"""

import inspect
import io
import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import files, process, run, watched
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler
from templates import choose_k

import clustertrust
from clustertrust import Runs
from clustertrust.cli import choosing
from clustertrust.cli.commands import COMMANDS
from clustertrust.files import FORMATS, read_table
from clustertrust.files.delimited import EXACT
from clustertrust.geometry import Kernel
from clustertrust.k_profile.profile import RUNS
from clustertrust.surrogates.families import VERDICT

X = pd.DataFrame(
    make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0], columns=["a", "b"]
)
AS_IS = ["--scale", "none"]
FEW = ["--k", "2:4", "--runs", "3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.to_csv("x.csv", index=False)
    named = X.assign(name=[f"p{i}" for i in range(60)], kind="s")
    named.loc[[3, 7], "b"] = np.nan
    named.to_csv("named.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def profile():
    return choose_k(X, range(2, 5), n_runs=3, random_state=0)


@pytest.fixture(scope="module")
def quick():
    return choose_k(X, range(2, 5), n_runs=3, random_state=0, null=None)


def test_it_says_what_the_library_says(folder, profile):
    result = run("choose-k", "x.csv", *FEW, *AS_IS)
    assert result.stdout.partition("\n\n")[2] == profile.summary() + "\n"
    assert result.stderr == ""
    assert profile.best == 3
    assert "3 clusters (probability " in result.stdout
    assert files(folder) == ["named.csv", "x.csv"]


def test_k_may_be_short_as_in_score(folder, quick):
    result = run("choose-k", "x.csv", "-k", "2:4", "--runs", "3", "--no-null", *AS_IS)
    assert result.stdout.partition("\n\n")[2] == quick.summary() + "\n"


@pytest.mark.parametrize(
    "suffix", [s for kind in FORMATS.values() for s in kind.suffixes if s not in (".h5ad", ".json")]
)
def test_every_format_holds_the_table(folder, quick, suffix):
    run("choose-k", "x.csv", *FEW, *AS_IS, "--no-null", "--out", f"k{suffix}")
    found = read_table(f"k{suffix}").data
    pd.testing.assert_frame_equal(found, quick.to_frame().reset_index(), check_dtype=False)


def test_json_in_a_file_is_what_is_printed(folder, profile):
    typed = ["x.csv", *FEW, *AS_IS, "--json", "--out", "k.json", "--plot", "k.png"]
    told = json.loads(run("choose-k", *typed).stdout)
    assert told == json.loads(Path("k.json").read_text(), parse_constant=pytest.fail)
    assert Path("k.png").read_bytes().startswith(b"\x89PNG")
    assert (told["best"], told["strongest"], told["structured"]) == (3, profile.strongest, True)
    assert told["confidence"] == pytest.approx(profile.confidence)
    assert (told["plausible"], told["choices"]) == (list(profile.plausible), profile.choices)
    assert told["p_value"] == pytest.approx(profile.p_value)
    assert [row["n_clusters"] for row in told["profile"]] == [2, 3, 4]
    assert [row["adjusted"] for row in told["profile"]] == pytest.approx(profile.adjusted.tolist())
    assert told["files"] == {"out": "k.json", "plot": "k.png"}
    assert told["settings"]["ks"] == [2, 3, 4]
    assert told["settings"]["level"] == 0.05
    how = ["--id", "name", "--drop", "kind", *FEW, "--no-null", "--impute", "mean", "--json"]
    settings = json.loads(run("choose-k", "named.csv", *how).stdout)["settings"]
    assert (settings["null"], settings["missing"], settings["rows_left_out"]) == (False, "mean", 0)
    # With --no-null they are refused.
    assert not {"effort", "level", "n_surrogates"} & set(settings)
    assert (told["rows"], told["n_points"], told["version"]) == (60, 60, clustertrust.__version__)


def test_standard_input_and_output(folder, quick):
    typed = ["-", *FEW, *AS_IS, "--no-null", "--out", "-"]
    result = run("choose-k", *typed, stdin=Path("x.csv").read_bytes())
    table = pd.read_csv(io.StringIO(result.stdout), **EXACT)
    assert_allclose(table["score"], quick.mean_score)
    assert "Not compared with data without clusters" in result.stderr


def test_columns_and_missing_values_are_read_as_by_score(folder):
    how = ["--id", "name", "--drop", "kind", "--standardize", "--no-null"]
    assert "Missing values: b 2" in run("choose-k", "named.csv", *FEW, *how).stdout
    result = run("choose-k", "named.csv", *FEW, *how, "--drop-missing", "--out", "k.csv")
    assert "2 of 60 rows have no score (left out: missing values)." in result.stdout
    kept = StandardScaler().fit_transform(X.drop(index=[3, 7]))
    expected = choose_k(kept, range(2, 5), n_runs=3, random_state=0, null=None)
    assert_allclose(read_table("k.csv").data["score"], expected.mean_score, atol=1e-9)
    assert "58 points" in result.stdout


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2:5", [2, 3, 4, 5]),
        ("2,3,5", [2, 3, 5]),
        ("5,2", [2, 5]),
        ("2:4, 8", [2, 3, 4, 8]),
        ("2:3", [2, 3]),
    ],
)
def test_ranges_and_lists(folder, typed, meant):
    run("choose-k", "x.csv", "--k", typed, "--runs", "2", "--no-null", "--out", "k.csv")
    assert read_table("k.csv").data["n_clusters"].tolist() == meant


def test_the_librarys_defaults_are_the_commands(folder):
    typed = COMMANDS["choose-k"].make_context("choose-k", ["x.csv"], obj={}).params
    own = {
        name: param.default
        for name, param in inspect.signature(clustertrust.choose_k).parameters.items()
    }
    defaults = clustertrust.CAKE().get_params() | own
    shared = {name: typed[name] for name in defaults if name in typed}
    assert len(shared) == 19
    theirs = {name: defaults[name] for name in shared}
    # A seed, so that the same file gives the same table, and names as options have them.
    assert shared == theirs | {
        "ks": tuple(defaults["ks"]),
        "clusterer": ("kmeans",),
        "random_state": 0,
        "n_runs": RUNS,
        "null": True,
    }


def test_every_option_reaches_the_library(folder, monkeypatch):
    typed = "--k 2,4 --clusterer gmm --clusterer kmeans --runs 4 --seed 7 --resample 0.9 --left-out predict "
    typed += "--on-failure drop --fusion product --geometry kernel --kernel rbf --normalization affine --jobs 1 "
    typed += "--agreement jaccard --unassigned disagree --consensus best-reference --surrogates 39 --level 0.1 --effort full "
    typed += "--max-points 50"
    meant = {
        "clusterer": ["gmm", "kmeans"],
        "n_runs": Runs(4, left_out="predict", on_failure="drop"),
        "random_state": 7,
        "resample": 0.9,
        "fusion": "product",
        "geometry": Kernel("rbf"),
        "n_jobs": 1,
    }
    meant |= {"normalization": "affine", "agreement": "jaccard", "unassigned": "disagree"}
    meant |= {"consensus": "best-reference", "n_surrogates": 39, "level": 0.1, "max_points": 50}
    meant |= {"effort": "full"}
    seen = {}

    def recorded(data, ks, cake, **how):
        seen.update(cake.get_params(deep=False), ks=ks, **how)
        return clustertrust.choose_k(data, ks, cake, **how | {"null": None})

    monkeypatch.setattr(choosing, "choose_k", recorded)
    run("choose-k", "x.csv", *typed.split())
    assert str({name: seen[name] for name in meant}) == str(meant)
    assert (seen["ks"], seen["null"], seen["verbose"]) == ((2, 4), VERDICT, False)
    no_option = {"vary", "n_clusters"}
    assert set(seen) - set(meant) == {"ks", "null", "verbose", "metric", "device"} | no_option
    run("choose-k", "x.csv", *FEW, "--no-null", "--metric", "cosine")
    assert (seen["null"], seen["metric"]) == (None, "cosine")


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        ("none.csv", 2, "'none.csv' does not exist"),
        (".", 2, "'.' is a folder; name one file"),
        (
            "x.csv --k 3",
            2,
            "'3' gives nothing to choose from; give different numbers from 2 on, at least two",
        ),
        ("x.csv --k 1:4", 2, "give different numbers from 2 on, at least two"),
        ("x.csv --k 2,2", 2, "give different numbers from 2 on, at least two"),
        ("x.csv --k 4:2", 2, "runs from 4 down to 2; write 2:4"),
        ("x.csv --k two", 2, "give a range such as 2:12, or 2,3,5"),
        ("x.csv --k 2:3:4", 2, "give a range such as 2:12"),
        ("x.csv --k 2:99999999999", 2, "names more than 1000 numbers"),
        ("x.csv --k 2:60", 1, "--k goes up to 60; stay below the number of points used, 60"),
        ("x.csv --k 2:30 --max-points 20", 1, "stay below the number of points used, 20"),
        (
            "x.csv --k 2:4 --runs 3 --resample 0.05",
            1,
            "--resample 0.05 leaves each run 3 of 60 points",
        ),
        ("x.csv --level nan", 2, "'nan' is not a number; give one in the range 0<x<1"),
        ("x.csv --runs auto", 2, "'auto' is not a number of runs; give 2 or more."),
        ("x.csv --kernel precomputed", 2, "'precomputed' is not one of"),
        (
            "x.csv --metric precomputed --k 2:4 --runs 3",
            2,
            "to cluster a square table of distances, give --distances.",
        ),
        ("x.csv --distances --null", 2, "--null: surrogates are points with coordinates"),
        ("x.csv --distances --level 0.1", 2, "With --distances there are no surrogates"),
        ("x.csv --metric gower --level 0.1", 2, "With --metric gower there are no"),
        ("x.csv --distances --drop a", 2, "the columns are points"),
        ("x.csv --distances --save-plan p.json", 2, "every column is a point"),
        ("x.csv --distances --k 2:4 --runs 3", 1, "a table of distances is square"),
        ("x.csv --clusterer leiden", 2, "leiden finds the number of clusters itself"),
        ("x.csv --no-null --surrogates 99", 2, "leave out --surrogates"),
        ("x.csv --no-null --level 0.1", 2, "leave out --level"),
        ("x.csv --no-null --effort full", 2, "leave out --effort"),
        ("x.csv --effort some", 2, "'some' is not one of 'full', 'quick'"),
        (
            "x.csv --k 2:4 --runs 3 --surrogates 9",
            1,
            "--surrogates 9 allows no p-value below 0.1, so --level 0.05",
        ),
        ("x.csv --out k.xls", 2, "--out k.xls has none of the known suffixes"),
        ("x.csv --out k.h5ad", 2, "h5ad cannot hold; choose another suffix"),
        ("x.csv --plot k.gif", 2, "its suffix must be one of .png"),
        ("x.csv --out x.csv", 2, "is the same file as DATA"),
        ("x.csv --out - --json", 2, "would both print to standard output"),
        ("named.csv --k 2:4 --runs 3 --id nam", 1, "did you mean 'name'?"),
    ],
)
def test_errors_are_short_and_say_what_to_do(folder, typed, code, told):
    before = files(folder)
    assert told in run("choose-k", *typed.split(), code=code).stderr
    assert files(folder) == before


def test_outputs_appear_together_or_not_at_all(folder, monkeypatch):
    Path("k.csv").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(choosing, "draw_profile", fail)
    before = files(folder)
    told = run(
        "choose-k", "x.csv", *FEW, "--no-null", "--out", "k.csv", "--plot", "k.png", code=1
    ).stderr
    assert "No space left on device" in told
    assert files(folder) == before
    assert Path("k.csv").read_text() == "old"


def test_stopped_in_the_middle_nothing_is_left(folder):
    before = files(folder)
    code = """
from clustertrust.cli import choosing, cli
real = choosing.choose_k
def choose_k(*args, **how):
    print("now", flush=True)
    return real(*args, **how)
choosing.choose_k = choose_k
cli(["choose-k", "x.csv", "--surrogates", "100000", "--out", "k.csv"])
"""
    running = process(code=code, cwd=folder)
    assert running.stdout.readline() == "now\n"
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert (running.returncode, err.strip()) == (130, "Stopped; nothing is half-written.")
    assert files(folder) == before


def test_somebody_who_watches_sees_it_move(folder):
    told = watched("choose-k", "x.csv", *FEW, cwd=folder)
    assert told.startswith(b"Scoring 60 points of x.csv with 3 numbers of clusters.")
    assert b"numbers of clusters [##############################] 3/3" in told
    # 19 of each of three families
    assert b"surrogates [##############################] 57/57" in told


def test_help_lists_it(folder):
    assert "choose-k" in run().stdout
    text = run("choose-k", "--help").stdout
    options = [
        param.opts[0] for param in COMMANDS["choose-k"].params if param.opts[0].startswith("-")
    ]
    for option in options:
        assert option in text
    assert "precomputed" not in text


def test_distances_are_profiled_as_the_library_does(folder):
    square = pd.DataFrame(pairwise_distances(X)).add_prefix("p")
    square.to_csv("square.csv", index=False)
    result = run("choose-k", "square.csv", "--distances", *FEW, "--json")
    found = json.loads(result.stdout)
    how = {"n_runs": 3, "random_state": 0, "clusterer": "kmedoids", "metric": "precomputed"}
    there = choose_k(square.to_numpy(), range(2, 5), **how, null=None)
    assert found["best"] == there.best == 3
    probabilities = [row["probability"] for row in found["profile"]]
    assert_allclose(probabilities, there.probability, atol=1e-9)
    assert found["settings"]["distances"] is True
    told = run("choose-k", "square.csv", "--distances", *FEW).stdout
    assert "Not compared with data without clusters." in told
    assert "Without likelihood: there are no coordinates" in told
    told = run("choose-k", "x.csv", "--metric", "gower", *FEW).stdout
    assert "Not compared with data without clusters." in told


def test_scores_quote_it_and_say_where_it_disagrees(folder):
    run("choose-k", "x.csv", *AS_IS, *FEW, "--out", "k.json")
    said = json.loads(Path("k.json").read_text(encoding="utf-8"))["verdict"]
    plain = ["score", "x.csv", *AS_IS]
    agreed = run(*plain, "-k", "3", "--tests", "k.json", "--json")
    assert json.loads(agreed.stdout)["tests"] == [f"choose-k: {said}"]
    other = run(*plain, "-k", "9", "--tests", "k.json", "--report", "page.html")
    printed = " ".join(other.stdout.split())
    assert f"choose-k: {said}" in printed
    assert "They disagree: this fit has 9 clusters" in printed
    assert "this fit has 9 clusters" in Path("page.html").read_text(encoding="utf-8")
    assert json.loads(run(*plain, "-k", "3", "--json").stdout)["tests"] == []


def test_scores_refuse_what_is_about_other_rows_or_no_choice(folder):
    run("choose-k", "x.csv", *AS_IS, *FEW, "--out", "k.json")
    X[:50].to_csv("fewer.csv", index=False)
    before = files(folder)
    scored = ["-k", "3", "--tests", "k.json", "--out", "s.csv"]
    other = run("score", "fewer.csv", *scored, code=1)
    assert "--tests k.json: it is about 60 rows, but the data have 50; run choose-k" in other.stderr
    assert files(folder) == before
    for text in ("{}", "[1]", "not JSON", '{"verdict": 1}'):
        Path("k.json").write_text(text, encoding="utf-8")
        wrong = run("score", "x.csv", *scored, code=1)
        assert "--tests k.json: this is not a file that `clustertrust choose-k" in wrong.stderr
