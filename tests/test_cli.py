"""The command line: the library's numbers in the user's format, nothing lost, and errors that say
what to do.
"""

import ast
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import clustertrust
from clustertrust import CAKE, confidence
from clustertrust.cli import cli, jobs
from clustertrust.cli.commands import COMMANDS
from clustertrust.cli.flags import as_typed
from clustertrust.cli.options import METHOD_OPTIONS, SCORING
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import FORMATS, Reading, read_table
from clustertrust.files.delimited import EXACT
from clustertrust.summary import summarize

NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
X = pd.DataFrame(load_iris().data, columns=NAMES)
IDS = [f"{i:03}" if i % 2 else f"Blüte {i:03}" for i in range(150)]
RESULTS = ["label", "score", "standard_error", "stability", "geometry"]
RESULTS += ["silhouette_mean", "silhouette_std", "consensus_strength", "rival", "margin", "reason"]
FAST = ["-k", "3", "--runs", "4"]
NAMED = ["--id", "flower", "--drop", "species"]


def run(*args, code=0, stdin=None):
    """Run a command in this process and check its exit code; errors are at most two lines."""
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    if code:
        assert 1 <= len(result.stderr.strip().splitlines()) <= 2
        assert result.stderr.startswith("Error: ")
        assert result.stdout == ""
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with iris.csv, which has names and a text column, and plain.csv, which has neither."""
    monkeypatch.chdir(tmp_path)
    X.to_csv("plain.csv", index=False)
    pd.concat(
        [pd.Series(IDS, name="flower"), X, pd.Series(["s"] * 150, name="species")], axis=1
    ).to_csv("iris.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def library():
    return CAKE(3, n_runs=4, random_state=0).fit(X)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_file_has_the_librarys_numbers_and_the_inputs_names(folder, library):
    result = run("score", "iris.csv", *FAST, *NAMED, "--out", "scores.csv")
    table = pd.read_csv("scores.csv", dtype={"flower": str}, **EXACT)
    assert list(table.columns) == ["flower", *NAMES, "species", *RESULTS]
    assert table["flower"].tolist() == IDS
    for name in RESULTS:
        assert_array_equal(table[name], library.to_frame()[name], err_msg=name)
    assert result.stderr == ""
    assert result.stdout.endswith("\nWrote scores.csv.\n")


def test_the_summary_is_the_librarys(folder, library):
    result = run("score", "plain.csv", *FAST, "--threshold", "0.7")
    assert "up to 0.7" in result.stdout
    named = replace(library.confidence_, frame=pd.DataFrame(index=pd.RangeIndex(150, name="row")))
    assert result.stdout == summarize(named, threshold=0.7) + "\n"
    assert files(folder) == ["iris.csv", "plain.csv"]


@pytest.mark.parametrize(
    "suffix", [s for kind in FORMATS.values() for s in kind.suffixes if s != ".h5ad"]
)
def test_every_format_in_and_out(folder, library, suffix):
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
    X.set_axis(pd.Index(IDS, name="plant"), axis=0).to_parquet("x.parquet")
    run("score", "x.parquet", *FAST, "--out", "s.parquet")
    assert pd.read_parquet("s.parquet")["plant"].tolist() == IDS


def test_a_frames_own_index_may_be_named_as_the_id(folder):
    X.set_axis(pd.Index(IDS, name="plant"), axis=0).to_parquet("x.parquet")
    run("score", "x.parquet", *FAST, "--id", "plant", "--out", "s.csv", "--model", "m")
    assert pd.read_csv("s.csv")["plant"].tolist() == IDS
    run("predict", "m", "x.parquet", "--id", "plant", "--out", "p.csv")
    assert pd.read_csv("p.csv")["plant"].tolist() == IDS


def test_one_column_names_the_rows(folder):
    pd.read_csv("plain.csv").assign(name="p", kind="s").to_csv("named.csv", index=False)
    result = run("score", "named.csv", *FAST, "--id", "name,kind", code=1)
    assert (
        result.stderr
        == "Error: --id name,kind names 2 columns; one names the rows, leave out the others.\n"
    )


def test_notes_name_options_that_there_are(folder):
    told = run(
        "score", "plain.csv", "--runs", "2", "--clusterer", "agglomerative", "-k", "3"
    ).stderr
    assert "agree by construction; set --resample to make them differ." in told


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
    assert told["files"] == {"out": "s.csv"}
    assert (told["rows"], told["scored"], told["runs"], told["version"]) == (
        150,
        150,
        4,
        clustertrust.__version__,
    )
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
    Path("runs.csv").write_text("a,b\n-1,-1\n0,-1\n" + "0,0\n" * 70 + "1,1\n" * 78)
    result = run("score", "plain.csv", "--labels", "runs.csv", "--json")
    told = json.loads(result.stdout, parse_constant=pytest.fail)
    assert None in [row["mean_score"] for row in told["clusters"]]
    assert result.stderr.startswith("Note: 2 of 150 points are assigned in fewer than two runs")
    assert len(result.stderr.splitlines()) == 1


# Options


def test_the_librarys_defaults_are_the_commands(folder):
    typed = COMMANDS["score"].make_context("score", ["plain.csv"], obj={}).params
    params = CAKE().get_params(deep=False)
    shared = {name: typed[name] for name in params if name in typed}
    assert len(shared) == len(METHOD_OPTIONS)
    # A file is the same when it is made again, unless another seed is asked for.
    assert shared == {name: params[name] for name in shared} | {
        "clusterer": ("kmeans",),
        "random_state": 0,
    }


def test_every_option_reaches_the_library(folder, monkeypatch):
    typed = "-k 2 --clusterer gmm --clusterer kmeans --runs 5 --seed 7 --resample 0.9 --left-out predict "
    typed += (
        "--on-failure drop --fusion product --geometry kernel --kernel rbf --normalization affine "
    )
    typed += "--agreement jaccard --unassigned disagree --consensus best-reference --jobs 1"
    meant = {
        "n_clusters": 2,
        "clusterer": ["gmm", "kmeans"],
        "n_runs": 5,
        "random_state": 7,
        "resample": 0.9,
    }
    meant |= {
        "left_out": "predict",
        "on_failure": "drop",
        "fusion": "product",
        "geometry": "kernel",
        "kernel": "rbf",
    }
    meant |= {"normalization": "affine", "agreement": "jaccard", "unassigned": "disagree"}
    meant |= {"consensus": "best-reference", "n_jobs": 1}
    seen = {}

    class Recorded(CAKE):
        def fit(self, X, y=None):
            seen.update(self.get_params(deep=False))
            return super().fit(X)

    monkeypatch.setattr(jobs, "CAKE", Recorded)
    run("score", "plain.csv", *typed.split(), "--out", "s.csv")
    assert {name: seen[name] for name in meant} == meant
    assert_allclose(read_table("s.csv").data["score"], CAKE(**meant).fit(X).scores_, atol=1e-12)
    run(
        "score",
        "plain.csv",
        "-k",
        "2",
        "--metric",
        "cosine",
        "--runs",
        "auto",
        "--resample",
        "bootstrap",
    )
    assert (seen["metric"], seen["n_runs"], seen["resample"]) == ("cosine", "auto", "bootstrap")
    assert (
        not set(seen) - set(meant) - {"metric", "metric_params", "kernel_params", "vary", "verbose"}
    )


def test_a_range_of_k_lets_each_run_draw_its_own(folder):
    how = ["--agreement", "jaccard", "--runs", "6", "--out", "s.csv", "--model", "m"]
    run("score", "plain.csv", "-k", "2:4", *how)
    expected = CAKE(
        vary={"n_clusters": range(2, 5)}, agreement="jaccard", n_runs=6, random_state=0
    ).fit(X)
    assert set(expected.ensemble_.n_clusters) == {2, 3, 4}
    assert_allclose(read_table("s.csv").data["score"], expected.scores_, atol=1e-12)
    assert str(CAKE.load("m").explain(0)) == str(expected.explain(0))


def test_matching_runs_of_a_range_of_k_is_told(folder):
    told = run("score", "plain.csv", "-k", "2:4", "--runs", "6").stderr
    assert "between 2 and 4 clusters" in told
    assert "--agreement jaccard is made for" in told


def test_given_partitions_are_scored(folder, library):
    runs = library.ensemble_.labels
    np.save("runs.npy", runs)
    pd.DataFrame(runs).map(lambda label: f"c{label}").to_csv("runs.csv", index=False)
    for path, prefix in (("runs.npy", ""), ("runs.csv", "c")):
        how = ["--fusion", "product", "--geometry", "rms", "--agreement", "jaccard"]
        run("score", "plain.csv", "--labels", path, *how, "--out", "s.csv")
        expected = confidence(X, runs, fusion="product", geometry="rms", agreement="jaccard")
        table = read_table("s.csv").data
        assert_array_equal(table["score"], expected.scores)
        named = {f"{prefix}{name}" for name in np.unique(runs[:, expected.reference_run])}
        assert set(table["label"].astype(str)) <= named
    assert len(SCORING) == 9


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["-k", "3"], "-k"),
        (["--clusterer", "gmm", "--seed", "1"], "--clusterer, --seed"),
        (["--model", "m"], "--model"),
    ],
)
def test_given_partitions_are_not_clustered(folder, library, typed, told):
    np.save("runs.npy", library.ensemble_.labels)
    result = run("score", "plain.csv", "--labels", "runs.npy", *typed, code=2)
    assert f"nothing is clustered; leave out {told}." in result.stderr


def test_partitions_must_fit(folder, library):
    Path("short.csv").write_text("a,b\n0,0\n1,1\n")
    X[["sepal_width"]].round().astype(int).to_csv("one.csv", index=False)
    runs = pd.DataFrame(library.ensemble_.labels).add_prefix("run")
    runs.assign(n=range(150)).to_csv("numbered.csv", index=False)
    for path, told in {
        "short.csv": "short.csv has 2 rows and the data have 150",
        "one.csv": "at least two runs are needed",
        "numbered.csv": "the column 'n' has another value in every row",
    }.items():
        assert told in run("score", "plain.csv", "--labels", path, code=1).stderr
    runs.assign(flower=IDS).to_csv("named.csv", index=False)
    run("score", "iris.csv", *NAMED, "--labels", "named.csv", "--out", "s.csv")
    assert_array_equal(read_table("s.csv").data["score"], library.scores_)
    runs.assign(flower=IDS[::-1]).to_csv("named.csv", index=False)
    told = run("score", "iris.csv", *NAMED, "--labels", "named.csv", code=1).stderr
    assert f"names row 0 {IDS[-1]!r}, and the data {IDS[0]!r}" in told


def test_partitions_follow_the_rows_that_are_left_out(holes, library):
    np.save("runs.npy", library.ensemble_.labels)
    run(
        "score",
        "holes.csv",
        "--id",
        "flower",
        "--labels",
        "runs.npy",
        "--drop-missing",
        "--out",
        "s.csv",
    )
    kept = holes.notna().all(axis=1).to_numpy()
    expected = confidence(holes[kept], library.ensemble_.labels[kept])
    assert_array_equal(read_table("s.csv").data["score"][kept], expected.scores)


def test_how_the_data_are_read_can_be_said(folder, library):
    X.to_csv("semicolon.csv", index=False, sep=";")
    X.to_csv("bare.csv", index=False, header=False)
    X.to_csv("odd.dat", index=False)
    np.savez("two.npz", a=X.to_numpy(), b=X.to_numpy()[:, :1])
    for typed in (
        ["semicolon.csv", "--separator", ";"],
        ["bare.csv", "--no-header"],
        ["odd.dat", "--format", "csv", "--header"],
        ["two.npz", "--array", "a"],
    ):
        run("score", *typed, *FAST, "--out", "s.csv")
        assert_array_equal(read_table("s.csv").data["score"], library.scores_)
    assert (
        "say --no-header if that is the first point"
        in run("score", "bare.csv", *FAST, code=1).stderr
    )
    assert "a semicolon separates the fields" in run("score", "semicolon.csv", *FAST).stdout
    assert "name one, such as --array a" in run("score", "two.npz", *FAST, code=1).stderr


def test_columns_are_found_or_named(folder, library):
    told = run("score", "iris.csv", *FAST, "--out", "found.csv").stdout
    assert "Names the rows: flower." in told
    assert "Set aside: species, all its values are 's'." in told
    assert_array_equal(read_table("found.csv").data["score"], library.scores_)
    run("score", "iris.csv", *FAST, "--drop", "flower,species", "--out", "a.csv")
    run("score", "iris.csv", *FAST, "--use", ",".join(NAMES), "--out", "b.csv")
    assert_array_equal(read_table("a.csv").data["score"], library.scores_)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    run("score", "iris.csv", *FAST, "--use", NAMES[0], "--use", NAMES[3], "--out", "c.csv")
    two = CAKE(3, n_runs=4, random_state=0).fit(X[[NAMES[0], NAMES[3]]])
    assert_array_equal(read_table("c.csv").data["score"], two.scores_)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            ["--id", "nom"],
            "iris.csv: --id nom: there is no such column; it has flower, sepal_length",
        ),
        (["--drop", "flower,what"], "--drop what: there is no such column"),
        (["--use", "sepal_length", "--drop", "sepal_length"], "decide for one"),
        (["--drop", "flower,species," + ",".join(NAMES)], "no column left to cluster"),
    ],
)
def test_columns_that_are_not_there_are_told(folder, typed, told):
    assert told in run("score", "iris.csv", *FAST, *typed, code=1).stderr


def test_odd_column_names(folder):
    X.to_csv("index.csv")  # with a first column that has no name
    assert "Names the rows: Unnamed: 0." in run("score", "index.csv", *FAST).stdout
    run("score", "index.csv", *FAST, "--id", "Unnamed: 0")
    X.rename(columns={NAMES[0]: "a,b"}).to_csv("comma.csv", index=False)
    run("score", "comma.csv", *FAST, "--drop", "a,b")
    X.assign(score=IDS).to_csv("taken.csv", index=False)
    assert (
        "has the name of a result"
        in run("score", "taken.csv", *FAST, "--id", "score", code=1).stderr
    )


def test_a_question_mark_is_a_missing_value(folder):
    lines = Path("plain.csv").read_text().splitlines()
    lines[70] = "5.1,3.5,?,0.2"
    Path("plain.csv").write_text("\n".join(lines))
    told = run("score", "plain.csv", *FAST).stdout
    assert "Missing values: petal_length 1; they take the column's mean" in told


@pytest.fixture
def holes(folder):
    """Points with missing and infinite values in rows 3 and 140."""
    data = X.copy()
    data.loc[3, "sepal_width"] = np.nan
    data.loc[140, ["sepal_width", "petal_width"]] = np.nan, np.inf
    data.assign(flower=IDS).to_csv("holes.csv", index=False)
    return data.replace(np.inf, np.nan)


def test_missing_values_are_counted(holes):
    told = run("score", "holes.csv", *FAST, "--id", "flower").stdout
    assert "Missing values: sepal_width 2, petal_width 1; they take the column's mean" in told
    assert (
        "choose one"
        in run("score", "holes.csv", *FAST, "--impute", "mean", "--drop-missing", code=2).stderr
    )


def test_missing_values_become_the_mean(holes):
    run("score", "holes.csv", *FAST, "--id", "flower", "--impute", "mean", "--out", "s.csv")
    filled = holes.fillna(holes.mean())
    assert_allclose(
        read_table("s.csv").data["score"],
        CAKE(3, n_runs=4, random_state=0).fit(filled).scores_,
        atol=1e-12,
    )
    pd.read_csv("holes.csv").assign(petal_width=np.nan).to_csv("empty.csv", index=False)
    told = run("score", "empty.csv", *FAST, "--id", "flower", "--impute", "mean").stdout
    assert "Set aside: petal_width, it has no values." in told
    told = run("score", "empty.csv", *FAST, "--use", "petal_width,petal_length", code=1).stderr
    assert "--use petal_width: it is empty, it has no values, and cannot be used." in told


def test_no_row_may_be_complete(folder):
    data = X.copy()
    for j, name in enumerate(NAMES):
        data.loc[np.arange(150) % 4 == j, name] = np.nan
    data.to_csv("gaps.csv", index=False)
    told = run("score", "gaps.csv", *FAST, "--drop-missing", code=1).stderr
    assert "no row without missing values; try --impute mean" in told


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz"])
def test_rows_left_out_keep_their_place(holes, suffix):
    out = f"s{suffix}"
    result = run("score", "holes.csv", *FAST, "--id", "flower", "--drop-missing", "--out", out)
    assert "2 of 150 rows have no score (left out: missing values)." in result.stdout
    table = read_table(out, Reading(text=("flower",))).data
    kept = holes.notna().all(axis=1).to_numpy()
    cake = CAKE(3, n_runs=4, random_state=0).fit(holes[kept])
    assert table["flower"].tolist() == IDS
    assert_array_equal(table["score"][kept], cake.scores_)
    assert_array_equal(table["label"][kept], cake.labels_)
    assert table["score"][~kept].isna().all()
    empty = table["label"][~kept]
    assert (empty == -1).all() if suffix.startswith(".np") else empty.isna().all()


# Models


@pytest.mark.parametrize("standardize", [False, True])
def test_a_model_judges_new_rows_as_the_library_does(folder, standardize):
    extra = ["--standardize"] if standardize else []
    run("score", "iris.csv", *FAST, *NAMED, *extra, "--model", "m", "--out", "s.csv")
    scaled = pd.DataFrame(StandardScaler().fit_transform(X), columns=NAMES) if standardize else X
    cake = CAKE(3, n_runs=4, random_state=0).fit(scaled)
    assert_allclose(read_table("s.csv").data["score"], cake.scores_, atol=1e-9)
    shuffled = X.iloc[::-1, ::-1] + 0.01
    shuffled.assign(who=IDS).to_csv("new.csv", index=False)
    result = run("predict", "m", "new.csv", "--id", "who", "--out", "p.csv")
    new = X.iloc[::-1] + 0.01
    new = (
        pd.DataFrame(StandardScaler().fit(X).transform(new), columns=NAMES) if standardize else new
    )
    table = read_table("p.csv", Reading(text=("who",))).data
    assert list(table.columns) == [*NAMES[::-1], "who", *RESULTS]
    assert table["who"].tolist() == IDS
    assert_array_equal(table["label"], cake.predict(new))
    assert_allclose(table["score"], cake.score_samples(new), atol=1e-9)
    assert "150 points, 3 clusters, 4 runs, exact silhouettes; judged by m" in result.stdout
    assert result.stderr == ""
    if standardize:
        with pytest.warns(UserWarning, match="fitted on standardised columns"):
            CAKE.load("m")
    else:
        assert_array_equal(CAKE.load("m").predict(new), cake.predict(new))
    assert (
        len(run("predict", "m", "new.csv", "--id", "who", "--out", "-").stdout.splitlines()) == 151
    )
    told = json.loads(
        run("predict", "m", "new.csv", "--id", "who", "--json", "--threshold", "1").stdout
    )
    assert [row["up_to_threshold"] for row in told["clusters"]] == [1.0] * len(told["clusters"])
    assert sum(row["points"] for row in told["clusters"]) == 150


def test_the_summary_of_predict_is_that_of_score(folder):
    run("score", "iris.csv", *FAST, *NAMED, "--model", "m")
    told = run("predict", "m", "iris.csv", *NAMED, "--threshold", "0.4").stdout
    scored = run("score", "iris.csv", *FAST, *NAMED, "--threshold", "0.4").stdout
    headings = [
        "Scores (0: ambiguous, 1: sure)",
        "By cluster",
        "By reason (core: a score above 0.4)",
    ]
    for text in (told, scored):
        assert [line for line in text.splitlines() if line in headings] == headings
    for column in ("mean stability", "mean geometry", "margin", "reason"):
        assert column in told
    # Points between the clusters: many score 0, and are listed by how little the runs agree on
    # them.
    between = np.random.default_rng(0).uniform(X.min(), X.max(), size=(300, 4))
    new = pd.DataFrame(between, columns=NAMES, index=[f"{i:03}" for i in range(300)])
    new.rename_axis("flower").reset_index().to_csv("new.csv", index=False)
    judged = CAKE.load("m").judge(new, threshold=0.4)
    found = json.loads(
        run("predict", "m", "new.csv", "--id", "flower", "--threshold", "0.4", "--json").stdout
    )
    assert (found["runs"], found["geometry"]) == (4, "exact")
    assert found["quantiles"]["median"] == np.median(judged["score"])
    worst = judged.assign(order=range(300)).sort_values(["score", "stability", "order"]).head(5)
    assert worst.index.tolist() != judged.sort_values("score", kind="stable").head(5).index.tolist()
    assert [point["id"] for point in found["ambiguous"]] == worst.index.tolist()
    assert sum(found["reasons"].values()) == 300


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("fusion='sum' is not known.", "--fusion sum is not known."),
        ("n_clusters=300 is more than the 150 points.", "-k 300 is more than the 150 points."),
        ("say header=False, or header=True.", "say --no-header, or --header."),
        ("separator=';' or separator='\\t'", "--separator ';' or --separator '\\t'"),
        (
            "drop=['Unnamed: 0'], id='Unnamed: 0', use=….",
            "--drop 'Unnamed: 0', --id 'Unnamed: 0', --use.",
        ),
        ("drop=['a', 'b'] or use_rep='X_pca'", "--drop a,b or --use-rep X_pca"),
        ("resample=0.5 leaves too few.", "--resample 0.5 leaves too few."),
        ("embedding='x' has no option", "embedding='x' has no option"),
    ],
)
def test_parameters_of_the_library_become_options(said, typed):
    assert as_typed(said) == typed


def test_the_library_does_not_speak_of_options():
    root, found = Path(clustertrust.__file__).parent, []
    for path in root.rglob("*.py"):
        if path.parent.name != "cli":
            texts = [
                node
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Constant)
            ]
            found += [
                (path.name, node.lineno)
                for node in texts
                if isinstance(node.value, str)
                and re.search(r"(?<!install)(^|[\s(`])--[a-z]", node.value)
            ]
    assert found == []


def test_predict_checks_columns(folder):
    run("score", "plain.csv", *FAST, "--model", "m")
    run("predict", "m", "iris.csv", "--id", "flower", "--out", "p.csv")
    assert list(pd.read_csv("p.csv").columns[:6]) == ["flower", *NAMES, "species"]
    X[NAMES[1:]].to_csv("few.csv", index=False)
    assert (
        "lacks columns that the model was fitted on: sepal_length"
        in run("predict", "m", "few.csv", code=1).stderr
    )
    assert (
        "--use: the model knows its columns"
        in run("predict", "m", "few.csv", "--use", "a", code=2).stderr
    )
    np.save("x.npy", X.to_numpy())
    run("score", "x.npy", *FAST, "--model", "unnamed")
    run("predict", "unnamed", "x.npy")
    run("predict", "unnamed", "plain.csv")  # an array has no names to compare
    assert (
        "has 3 columns to use; the model was fitted on 4"
        in run("predict", "unnamed", "few.csv", code=1).stderr
    )


def test_reasons_follow_the_threshold_and_rows_left_out_say_so(holes):
    how = ["--id", "flower", "--drop-missing"]
    run(
        "score",
        "holes.csv",
        *FAST,
        *how,
        "--threshold",
        "0.7",
        "--out",
        "s.csv",
        "--model",
        "m",
        "--report",
        "r.html",
    )
    run("predict", "m", "holes.csv", *how, "--threshold", "0.7", "--out", "p.csv")
    run("score", "holes.csv", *FAST, *how, "--out", "half.csv")
    for path, threshold in (("s.csv", 0.7), ("p.csv", 0.7), ("half.csv", 0.5)):
        table = read_table(path).data
        assert_array_equal(table["reason"] == "core", table["score"] > threshold)
        left_out = table["reason"] == "left out: missing values"
        assert_array_equal(left_out, table["score"].isna())
        assert table["score"].isna().any()
    told = json.loads(run("predict", "m", "holes.csv", *how, "--threshold", "0.7", "--json").stdout)
    judged = read_table("p.csv").data.dropna(subset="score")
    assert told["reasons"] == judged["reason"].value_counts().to_dict()
    assert {row["reason"] for row in told["ambiguous"]} <= set(judged["reason"])


def test_predict_on_one_row_and_on_missing_values(holes):
    run("score", "plain.csv", *FAST, "--model", "m")
    X.head(1).to_csv("one.csv", index=False)
    run("predict", "m", "one.csv", "--out", "p.csv")
    assert len(read_table("p.csv").data) == 1
    run("predict", "m", "holes.csv", "--id", "flower", "--out", "p.csv")
    assert read_table("p.csv").data["score"].isna().sum() == 0  # as for the fit
    run("predict", "m", "holes.csv", "--id", "flower", "--drop-missing", "--out", "p.csv")
    assert read_table("p.csv").data["score"].isna().sum() == 2
    run("predict", "m", "holes.csv", "--id", "flower", "--impute", "mean", "--out", "p.csv")
    new = holes.fillna(X.mean())  # the means of the rows that the model was fitted on
    assert_allclose(
        read_table("p.csv").data["score"], CAKE.load("m").score_samples(new), atol=1e-12
    )
    run("score", "holes.csv", *FAST, "--id", "flower", "--impute", "mean", "--model", "filled")
    run("predict", "filled", "holes.csv", "--id", "flower", "--out", "p.csv")
    assert read_table("p.csv").data["score"].notna().all()


def test_a_model_without_means_imputes_nothing(holes, library):
    library.save("m")  # by the library, which knows of no preparation
    told = run("predict", "m", "holes.csv", "--id", "flower", "--impute", "mean", code=1).stderr
    assert "keeps no means" in told
    run("predict", "m", "plain.csv", "--out", "p.csv")
    assert_array_equal(read_table("p.csv").data["score"], library.score_samples(X))


def test_names_of_rows_may_be_dates(folder):
    X.set_axis(pd.date_range("2026-01-01", periods=150, name="day"), axis=0).to_parquet("x.parquet")
    told = json.loads(run("score", "x.parquet", *FAST, "--json", "--out", "s.csv").stdout)
    assert told["ambiguous"][0]["id"].startswith("2026-")
    assert read_table("s.csv").data["day"][1] == "2026-01-02"


def test_a_model_that_cannot_be_kept_is_told_first(folder):
    told = run(
        "score", "plain.csv", *FAST, "--clusterer", "bisecting-kmeans", "--model", "m", code=2
    ).stderr
    assert "runs of bisecting-kmeans cannot be kept" in told


@pytest.mark.parametrize(
    "name", sorted(set(CLUSTERERS) - {"agglomerative", "bisecting-kmeans", "hdbscan"})
)
def test_models_of_every_other_method_can_be_kept(folder, name):
    k = [] if name == "leiden" else ["-k", "3"]
    run("score", "plain.csv", *k, "--runs", "2", "--clusterer", name, "--model", "m")
    run("predict", "m", "plain.csv")


# AnnData and sparse data


def test_annotations_of_cells(folder, library):
    cells = anndata.AnnData(X.to_numpy() * 2, obs=pd.DataFrame({"batch": ["a"] * 150}, index=IDS))
    cells.obsm["X_pca"] = X.to_numpy()
    cells.write_h5ad("cells.h5ad")
    run("score", "cells.h5ad", *FAST, "--out", "scored.h5ad", "--model", "m")
    back = anndata.read_h5ad("scored.h5ad")
    assert_array_equal(back.obs["cake_score"], library.scores_)
    assert back.obs["cake_label"].tolist() == library.labels_.astype(str).tolist()
    assert back.obs_names.tolist() == IDS
    assert back.obs["batch"].tolist() == ["a"] * 150
    assert back.uns["cake"]["n_runs"] == 4
    run("score", "cells.h5ad", *FAST, "--use-rep", "X", "--out", "s.csv")
    assert_allclose(
        read_table("s.csv").data["score"],
        CAKE(3, n_runs=4, random_state=0).fit(X * 2).scores_,
        atol=1e-9,
    )
    assert read_table("s.csv", Reading(text=("id",))).data["id"].tolist() == IDS
    run("predict", "m", "cells.h5ad", "--out", "p.h5ad")
    assert_array_equal(
        anndata.read_h5ad("p.h5ad").obs["cake_label"].astype(int), library.predict(X)
    )
    run("report", "scored.h5ad", "--data", "cells.h5ad", "--out", "r.html")
    assert (
        "which has ['X_pca']"
        in run("score", "cells.h5ad", *FAST, "--use-rep", "X_umap", code=1).stderr
    )
    assert (
        "must be an H5AD file too"
        in run("score", "plain.csv", *FAST, "--out", "s.h5ad", code=2).stderr
    )


def test_sparse_matrices_stay_sparse(folder):
    matrix = sparse.csr_array(X.to_numpy())
    sparse.save_npz("x.npz", matrix)
    how = ["--geometry", "rms", "--out", "s.csv", "--model", "m", "--report", "r.html"]
    run("score", "x.npz", *FAST, *how)
    expected = CAKE(3, n_runs=4, geometry="rms", random_state=0).fit(matrix)
    assert_array_equal(read_table("s.csv").data["score"], expected.scores_)
    run("predict", "m", "x.npz", "--out", "p.csv")
    assert_array_equal(read_table("p.csv").data["label"], expected.predict(matrix))
    assert "leave out --standardize" in run("score", "x.npz", *FAST, "--standardize", code=1).stderr
    np.save("dense.npy", X.to_numpy())
    run("score", "dense.npy", *FAST, "--standardize", "--model", "scaled")
    assert "the model standardises columns" in run("predict", "scaled", "x.npz", code=1).stderr
    cells = anndata.AnnData(matrix, obs=pd.DataFrame(index=IDS))
    cells.write_h5ad("cells.h5ad")
    run("score", "cells.h5ad", *FAST, "--use-rep", "X", *how)
    table = read_table("s.csv", Reading(text=("id",))).data
    assert table["id"].tolist() == IDS
    assert_array_equal(table["score"], expected.scores_)


# Pages and pictures


@pytest.fixture
def pages(monkeypatch):
    """What the report was given, in place of a page."""
    from clustertrust import report

    seen = []

    def write_report(path, table, X=None, **how):
        seen.append((table, X, how))
        Path(path).write_text("page")

    monkeypatch.setattr(report, "write_report", write_report)
    return seen


def test_a_page_gets_scores_votes_values_and_settings(folder, library, pages):
    run("score", "iris.csv", *FAST, *NAMED, "--report", "r.html", "--threshold", "0.4")
    ((table, values, how),) = pages
    assert table.index.tolist() == IDS
    assert_array_equal(table["score"], library.scores_)
    assert_array_equal(values, X)
    assert_array_equal(how["votes"], library.votes_)
    assert how["votes"].columns.tolist() == [0, 1, 2]
    assert how["threshold"] == 0.4
    assert how["embedding"] is None
    assert "iris.csv" in how["title"]
    settings = how["settings"]
    assert (settings["input"], settings["rows"], settings["n_clusters"]) == ("iris.csv", 150, 3)
    assert settings["columns"] == ", ".join(NAMES)
    assert Path("r.html").read_text() == "page"


def test_a_page_of_standardised_points_shows_values_as_they_were(folder, pages):
    run("score", "iris.csv", *FAST, *NAMED, "--report", "r.html", "--standardize")
    ((_, values, how),) = pages
    assert_array_equal(values, X)
    expected = PCA(2, random_state=0).fit_transform(StandardScaler().fit_transform(X))
    assert_allclose(how["embedding"], expected, atol=1e-9)


def test_a_page_from_a_file_of_scores(folder, library, pages):
    run("score", "iris.csv", *FAST, *NAMED, "--out", "s.csv")
    pd.read_csv("iris.csv", dtype=str).iloc[::-1].to_csv("reversed.csv", index=False)
    how = ["--out", "r.html", "--threshold", "0.3", "--title", "Flowers"]
    assert (
        run("report", "s.csv", "--data", "reversed.csv", *NAMED, *how).stdout
        == "Wrote r.html: 150 points.\n"
    )
    table, values, told = pages.pop()
    assert table.index.tolist() == IDS[::-1]
    assert_array_equal(table["score"], library.scores_[::-1])
    assert_array_equal(values, X.iloc[::-1])
    assert (told["threshold"], told["title"]) == (0.3, "Flowers")
    run("report", "s.csv", "--data", "plain.csv", "--out", "r.html")  # by place
    assert_array_equal(pages.pop()[0]["score"], library.scores_)
    X.head(9).to_csv("few.csv", index=False)
    assert (
        "150 rows and few.csv has 9"
        in run("report", "s.csv", "--data", "few.csv", "--out", "r.html", code=1).stderr
    )
    X.head(2).assign(flower=["x", "y"]).to_csv("other.csv", index=False)
    told = run(
        "report", "s.csv", "--data", "other.csv", "--id", "flower", "--out", "r.html", code=1
    ).stderr
    assert "no scores for 2 rows of other.csv, such as 'x'" in told
    assert (
        "no columns label and score"
        in run("report", "plain.csv", "--data", "plain.csv", "--out", "r.html", code=1).stderr
    )


def test_a_page_of_scores_leaves_out_rows_that_have_none(holes, pages):
    run("score", "holes.csv", *FAST, "--id", "flower", "--drop-missing", "--out", "s.csv")
    run(
        "report",
        "s.csv",
        "--data",
        "holes.csv",
        "--id",
        "flower",
        "--impute",
        "mean",
        "--out",
        "r.html",
    )
    run(
        "report",
        "s.csv",
        "--data",
        "holes.csv",
        "--id",
        "flower",
        "--drop-missing",
        "--out",
        "r.html",
    )
    for table, values, _ in pages:
        assert len(table) == len(values) == 148


def test_a_real_page_and_real_pictures(folder):
    run(
        "score", "iris.csv", *FAST, *NAMED, "--report", "r.html", "--plot", "p.png", "--standardize"
    )
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    run("score", "iris.csv", *FAST, *NAMED, "--plot", "p.svg", "--report", "r.html")
    assert "<svg" in Path("p.svg").read_text()
    run("score", "iris.csv", *FAST, *NAMED, "--plot", "p.pdf", "--out", "s.csv")
    assert Path("p.pdf").read_bytes().startswith(b"%PDF")
    run("report", "s.csv", "--data", "iris.csv", *NAMED, "--out", "r2.html")
    assert Path("r2.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_missing_plotting_package_is_told_first(folder, monkeypatch):
    find = jobs.importlib.util.find_spec
    monkeypatch.setattr(
        jobs.importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    told = run("score", "plain.csv", *FAST, "--plot", "p.png", code=1)
    assert 'pip install "clustertrust[plot]"' in told.stderr


# Files are safe


def test_nothing_is_written_over_an_input(folder, library):
    np.save("runs.npy", library.ensemble_.labels)
    os.symlink("plain.csv", "link.csv")
    os.link("plain.csv", "hard.csv")
    before = Path("plain.csv").read_bytes()
    for out in ("plain.csv", "./plain.csv", "link.csv", "hard.csv", str(folder / "plain.csv")):
        assert (
            "is the same file as DATA"
            in run("score", "plain.csv", *FAST, "--out", out, code=2).stderr
        )
    assert (
        "same file as DATA"
        in run("score", "link.csv", *FAST, "--model", "plain.csv", code=2).stderr
    )
    told = run("score", "plain.csv", "--labels", "runs.npy", "--out", "runs.npy", code=2).stderr
    assert "is the same file as --labels" in told
    run("score", "plain.csv", *FAST, "--model", "m.npz")
    assert (
        "is the same file as MODEL"
        in run("predict", "m.npz", "plain.csv", "--out", "m.npz", code=2).stderr
    )
    os.symlink("plain.csv", "page.html")
    assert (
        "--data"
        in run("report", "iris.csv", "--data", "plain.csv", "--out", "page.html", code=2).stderr
    )
    assert Path("plain.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["--out", "a.csv", "--model", "a.csv"], "--model a.csv is the same file as --out"),
        (["--out", "no/a.csv"], "there is no folder no; make it first"),
        (["--out", "."], "is a folder; name a file"),
        (["--out", "a.xls"], "--out a.xls has none of the suffixes"),
        (["--plot", "a.gif"], "its suffix must be one of .png, .svg, .pdf"),
        (["--report", "a.pdf"], "its suffix must be one of .html, .htm"),
        (["--out", "-", "--json"], "would both print to standard output"),
    ],
)
def test_outputs_are_checked_before_the_work(folder, monkeypatch, typed, told):
    monkeypatch.setattr(jobs, "read_points", lambda *_, **__: pytest.fail("the work has started"))
    assert told in run("score", "plain.csv", *FAST, *typed, code=2).stderr


def test_all_files_appear_or_none(folder, monkeypatch):
    Path("s.csv").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jobs, "write_page", fail)
    before = files(folder)
    told = run(
        "score", "plain.csv", *FAST, "--out", "s.csv", "--model", "m", "--report", "r.html", code=1
    ).stderr
    assert "No space left on device" in told
    assert files(folder) == before
    assert Path("s.csv").read_text() == "old"


KILLED_BETWEEN_RENAMES = """
import os, signal
from pathlib import Path
from clustertrust.cli import cli
real = Path.replace
def replace(self, target):
    real(self, target)
    if Path(target).name == "{last}":
        os.kill(os.getpid(), signal.SIGKILL)
Path.replace = replace
cli(["score", "plain.csv", "-k", "3", "--runs", "4", "--seed", "0",
     "--out", "s.csv", "--model", "m", "--report", "r.html"])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("last", ["r.html", "m"])
def test_killed_between_two_renames_each_file_is_whole_and_the_scores_come_last(folder, last):
    for name in ("s.csv", "m", "r.html"):
        Path(name).write_text("old")
    done = process(code=KILLED_BETWEEN_RENAMES.format(last=last), cwd=folder)
    done.communicate(timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert Path("s.csv").read_text() == "old"
    assert Path("r.html").read_text().rstrip().endswith("</html>")
    assert Path("m").read_text() == "old" if last == "r.html" else CAKE.load("m").n_runs_ == 4
    run("score", "plain.csv", *FAST, "--out", "s.csv", "--model", "m", "--report", "r.html")
    assert len(pd.read_csv("s.csv")) == 150
    assert Path("r.html").read_text().rstrip().endswith("</html>")


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_pictures_are_the_same_bytes_each_time(folder, suffix):
    pytest.importorskip("matplotlib")
    for time_of_day, name in (("86400", "a"), ("172800", "b")):
        code = f"import time; time.time = lambda: {time_of_day}.0; from clustertrust.cli import cli; cli()"
        typed = ["score", "plain.csv", *FAST, "--plot", f"{name}.{suffix}"]
        done = process(code=code.replace("cli()", f"cli({typed!r})"), cwd=folder)
        _, err = done.communicate(timeout=300)
        assert (done.returncode, err) == (0, "")
    assert Path(f"a.{suffix}").read_bytes() == Path(f"b.{suffix}").read_bytes()


def test_new_files_have_the_permissions_of_any_file_and_links_stay(folder):
    Path("real").mkdir()
    os.symlink("real/s.csv", "s.csv")
    before = os.umask(0o027)
    try:
        run("score", "plain.csv", *FAST, "--out", "s.csv", "--report", "r.html", "--model", "m")
    finally:
        os.umask(before)
    for name in ("real/s.csv", "r.html", "m"):
        assert Path(name).stat().st_mode & 0o777 == 0o640
    assert Path("s.csv").is_symlink()
    Path("m").chmod(0o600)
    run("score", "plain.csv", *FAST, "--model", "m")
    assert Path("m").stat().st_mode & 0o777 == 0o600


# Errors


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        (["score", "none.csv", "-k", "3"], 2, "'none.csv' does not exist"),
        (["score", ".", "-k", "3"], 1, "files of one kind"),
        (["score", "plain.csv"], 2, "kmeans needs a number of clusters: add -k"),
        (["score", "plain.csv", "-k", "0"], 2, "'0' is no number of clusters; give 1 or more"),
        (["score", "plain.csv", "-k", "2:"], 2, "'2:' is no number of clusters"),
        (["score", "plain.csv", "-k", "2:3:4"], 2, "'2:3:4' is no number of clusters"),
        (
            ["score", "plain.csv", "-k", "5:2"],
            2,
            "'5:2' runs backwards; give the smaller number first, 2:5",
        ),
        (["score", "plain.csv", "-k", "3", "--runs", "1"], 2, "give 2 or more, or auto"),
        (["score", "plain.csv", "-k", "3", "--resample", "2"], 2, "give a number between 0 and 1"),
        (
            ["score", "plain.csv", "-k", "3", "--fusion", "sum"],
            2,
            "'sum' is not one of 'harmonic', 'product'",
        ),
        (["score", "plain.csv", "-k", "3", "--bogus"], 2, "--bogus"),
        (
            ["score", "plain.csv", "-k", "3", "--clusterer", "hdbscan"],
            2,
            "hdbscan finds the number of clusters",
        ),
        (["score", "plain.csv", "-k", "3", "--threshold", "7"], 2, "0<=x<=1"),
        (
            ["score", "plain.csv", "-k", "3", "--threshold", "nan"],
            2,
            "'nan' is no number; give one in the range 0",
        ),
        (
            ["score", "plain.csv", "-k", "3", "--geometry", "kernel", "--kernel", "precomputed"],
            2,
            "Add --labels",
        ),
        (
            ["score", "plain.csv", "-k", "3", "--metric", "precomputed"],
            2,
            "--metric precomputed is for given partitions",
        ),
        (["scor"], 2, "No such command 'scor'"),
        (["score", "plain.csv", "-k", "300"], 1, "-k 300 is more than the 150 points"),
        (
            ["score", "plain.csv", "-k", "3", "--metric", "cosine", "--geometry", "rms"],
            1,
            "leave metric out",
        ),
        (
            ["score", "plain.csv", "-k", "3", "--array", "x"],
            1,
            "--array x means nothing for csv files",
        ),
        (["score", "plain.csv", "-k", "3", "--format", "parquet"], 1, "cannot be read as parquet"),
        (["score", "empty.csv", "-k", "3"], 1, "empty.csv is empty"),
        (["score", "header.csv", "-k", "3"], 1, "has column names but no rows"),
        (["score", "one.csv", "-k", "1"], 1, "has 1 row to cluster; there must be at least 2"),
        (["score", "twice.csv", "-k", "2"], 1, "more than one column of the name 'a'"),
        (["score", "odd.data", "-k", "2"], 2, "Say with --format which it is"),
        (["score", "odd.xls", "--k", "2"], 2, "odd.xls is a spreadsheet; save the sheet as .xlsx"),
        (["predict", "plain.csv", "plain.csv"], 1, "is damaged or was not written by clustertrust"),
    ],
)
def test_errors_are_short_and_say_what_to_do(folder, typed, code, told):
    for name, text in {
        "empty": "",
        "header": "a,b\n",
        "one": "a,b\n1,2\n",
        "twice": "a,a\n1,2\n3,4\n",
    }.items():
        Path(f"{name}.csv").write_text(text)
    Path("odd.data").write_text("a,b\n1,2\n3,4\n")
    Path("odd.xls").write_text("")
    assert told in run(*typed, code=code).stderr


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_traceback_is_shown_when_asked_for(folder, place):
    typed = ["score", "plain.csv", "-k", "300"]
    result = CliRunner().invoke(
        cli, ["--debug", *typed] if place == "before" else [*typed, "--debug"]
    )
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: -k 300 is more")


def test_what_should_not_happen_is_told_too(folder, monkeypatch):
    def fail(*_, **__):
        raise KeyError("x")

    monkeypatch.setattr(jobs, "read_points", fail)
    assert (
        "KeyError: 'x'\nThis should not have happened; --debug"
        in run("score", "plain.csv", *FAST, code=1).stderr
    )


# Help, version, completion, demo


def test_help_reads_the_librarys_tables(folder):
    text = run("score", "--help").stdout
    for name in CLUSTERERS:
        assert name in text
    for heading in ("How points are clustered:", "How they are scored:", "How the data are read:"):
        assert heading in text
    options = [param.opts[0] for param in COMMANDS["score"].params if param.opts[0].startswith("-")]
    for option in options:
        assert option in text
    assert "_CLUSTERTRUST_COMPLETE=bash_source" in run().stdout
    assert run("--version").stdout == f"clustertrust {clustertrust.__version__}\n"


def test_demo(folder):
    told = run("demo").stdout
    assert "150 points, 3 clusters" in told
    assert "Why did flower-051 score as it did?\nflower-051: cluster" in told
    told = run("demo", "--out", "d/e").stdout
    assert {path.name for path in Path("d/e").iterdir()} == {
        "iris.csv",
        "scores.csv",
        "iris.model",
        "report.html",
    }
    command = told.strip().splitlines()[-1].split()
    assert "there is a file iris.csv already" in run("demo", "--out", "d/e", code=2).stderr
    before = Path("d/e/scores.csv").read_bytes()
    run(*command[1:])  # the command that it prints makes the same scores
    assert Path("d/e/scores.csv").read_bytes() == before


# Real processes

SOURCE = str(Path(clustertrust.__file__).parents[1])


def process(*args, code=None, **how):
    environment = os.environ | {"PYTHONPATH": SOURCE} | how.pop("env", {})
    start = ["-m", "clustertrust", *args] if code is None else ["-c", code]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
    return subprocess.Popen([sys.executable, *start], env=environment, **how)


def test_as_a_module(folder, library):
    done = process("score", "iris.csv", *FAST, *NAMED, "--out", "s.csv", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert (done.returncode, err) == (0, "")  # no progress bar where there is no terminal
    assert "By cluster" in out
    assert_array_equal(read_table("s.csv").data["score"], library.scores_)
    done = process("score", "none.csv", "-k", "3", cwd=folder)
    out, err = done.communicate(timeout=300)
    assert (done.returncode, out) == (2, "")
    assert err.startswith("Error: ")


def test_completion():
    words = {
        "_CLUSTERTRUST_COMPLETE": "bash_complete",
        "COMP_WORDS": "clustertrust score --fus",
        "COMP_CWORD": "2",
    }
    start = "from clustertrust.cli import cli; cli(prog_name='clustertrust')"
    assert process(code=start, env=words).communicate(timeout=300)[0].split() == ["plain,--fusion"]
    words |= {"COMP_WORDS": "clustertrust score --fusion ", "COMP_CWORD": "3"}
    assert process(code=start, env=words).communicate(timeout=300)[0].split() == [
        "plain,harmonic",
        "plain,product",
        "plain,refined",
    ]


def test_the_command_line_alone_loads_nothing_heavy():
    # The names that the package itself offers are another matter: this is what the command line
    # adds to them.
    heavy = "{'matplotlib', 'anndata', 'clustertrust.files', 'clustertrust.cli.jobs', 'clustertrust.report'}"
    code = f"import sys, clustertrust.cli; print(sorted({heavy} & set(sys.modules)))"
    assert process(code=code).communicate(timeout=300)[0].strip() == "[]"


SLOWLY = """
import sys, time
from clustertrust.cli import cli, jobs
real_read, real_write = jobs.read_points, jobs.write_scores
def read_points(*args, **how):
    points = real_read(*args, **how)
    if "{where}" == "fit":
        print("now", flush=True)
    return points
def write_scores(*args):
    real_write(*args)
    print("now", flush=True)
    time.sleep(600)
jobs.read_points, jobs.write_scores = read_points, write_scores
cli(["score", "plain.csv", "-k", "3", "--runs", "{runs}", "--out", "s.csv", "--model", "m"])
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("where", ["fit", "write"])
def test_stopped_in_the_middle_nothing_is_left(folder, where, sent, code):
    Path("s.csv").write_text("old")
    before = files(folder)
    running = process(
        code=SLOWLY.format(where=where, runs=2_000_000 if where == "fit" else 3), cwd=folder
    )
    assert running.stdout.readline() == "now\n"
    if where == "fit":
        time.sleep(1.0)
    else:
        assert files(folder) != before  # a stand-in is there
    running.send_signal(sent)
    _, err = running.communicate(timeout=120)
    assert running.returncode == code
    assert files(folder) == before
    assert Path("s.csv").read_text() == "old"
    if sent == signal.SIGINT:
        assert err.strip() == "Stopped; nothing is half-written."


INTERRUPTED_AT_AN_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize(
    "module",
    [
        "clustertrust.cli",
        "click",
        "clustertrust.cli.options",
        "clustertrust.cli.jobs",
        "clustertrust.displays",
    ],
)
def test_stopped_while_modules_load(folder, tmp_path_factory, module):
    """The last is loaded when a stand-in is there already, which has to go."""
    pytest.importorskip("matplotlib")
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(INTERRUPTED_AT_AN_IMPORT.format(module=module))
    before = files(folder)
    path = os.pathsep.join([str(site), SOURCE])
    typed = ["score", "plain.csv", *FAST, "--out", "s.csv", "--plot", "p.svg"]
    done = process(*typed, cwd=folder, env={"PYTHONPATH": path})
    out, err = done.communicate(timeout=300)
    assert (done.returncode, out, err.strip()) == (130, "", "Stopped; nothing is half-written.")
    assert files(folder) == before


def test_the_command_starts_where_it_looks_after_ctrl_c():
    told = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert told["project"]["scripts"] == {"clustertrust": "clustertrust.__main__:main"}


def watched(*args, **how):
    """What a command says on standard error where that is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    running = process(*args, stderr=theirs, **how)
    os.close(theirs)
    running.communicate(timeout=300)
    told = b""
    while chunk := _read(ours):
        told += chunk
    os.close(ours)
    return told


def test_somebody_who_watches_is_told_what_happens(folder):
    told = watched("score", "plain.csv", *FAST, "--out", "s.csv", cwd=folder)
    assert told.startswith(b"Scoring 150 points of plain.csv.")
    assert b"4/4" in told
    assert b"Writing s.csv." in told


def _read(terminal):
    try:
        return os.read(terminal, 1000)
    except OSError:  # a terminal whose other end is closed
        return b""
