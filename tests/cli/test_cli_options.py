"""Options of the command: all reach the library, and columns are named, not guessed."""

import inspect
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import FAST, IDS, NAMED, NAMES, X, run
from numpy.testing import assert_allclose, assert_array_equal

from clustertrust import CAKE, Runs, audit, confidence
from clustertrust.cli import scoring
from clustertrust.cli.commands import COMMANDS
from clustertrust.cli.options import METHOD, SCORING
from clustertrust.files import Reading, read_table
from clustertrust.geometry import Kernel


def test_the_librarys_defaults_are_the_commands(folder):
    typed = COMMANDS["score"].make_context("score", ["plain.csv"], obj={}).params
    params = CAKE().get_params(deep=False)
    shared = {name: typed[name] for name in params if name in typed}
    # The others are parameters of `Kernel` and of `Runs`.
    parts = {"kernel": Kernel().kernel, **Runs().get_params()}
    assert {name: typed[name] for name in parts} == parts
    assert len(shared | parts) == len(METHOD) + 1  # and the checkpoint
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
        "n_runs": Runs(5, left_out="predict", on_failure="drop"),
        "random_state": 7,
        "resample": 0.9,
        "fusion": "product",
        "geometry": Kernel("rbf"),
    }
    meant |= {"normalization": "affine", "agreement": "jaccard", "unassigned": "disagree"}
    meant |= {"consensus": "best-reference", "n_jobs": 1}
    seen = {}

    class Recorded(CAKE):
        def fit(self, X, y=None):
            seen.update(self.get_params(deep=False))
            return super().fit(X)

    monkeypatch.setattr(scoring, "CAKE", Recorded)
    run("score", "plain.csv", *typed.split(), "--out", "s.csv")
    assert str({name: seen[name] for name in meant}) == str(meant)
    assert_allclose(read_table("s.csv").data["score"], CAKE(**meant).fit(X).scores_, atol=1e-12)
    more = ["--metric", "cosine", "--runs", "auto", "--resample", "bootstrap"]
    run("score", "plain.csv", "-k", "2", *more)
    assert (seen["metric"], seen["n_runs"], seen["resample"]) == ("cosine", "auto", "bootstrap")
    no_option = {"vary", "verbose"}
    elsewhere = {"metric", "device"}
    assert not set(seen) - set(meant) - no_option - elsewhere


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
    assert len(SCORING) == 10


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
    pd.DataFrame({"flower": IDS}).to_csv("none.csv", index=False)
    runs = pd.DataFrame(library.ensemble_.labels).add_prefix("run")
    runs.assign(n=range(150)).to_csv("numbered.csv", index=False)
    for path, told in {
        "short.csv": "short.csv has 2 rows and the data have 150",
        "numbered.csv": "the column 'n' has a different value in every row",
    }.items():
        assert told in run("score", "plain.csv", "--labels", path, code=1).stderr
    told = run("score", "iris.csv", *NAMED, "--labels", "none.csv", code=1).stderr
    assert "none.csv has no column of labels besides the names of the rows" in told
    runs.assign(flower=IDS).to_csv("named.csv", index=False)
    run("score", "iris.csv", *NAMED, "--labels", "named.csv", "--out", "s.csv")
    assert_array_equal(read_table("s.csv").data["score"], library.scores_)
    runs.assign(flower=IDS[::-1]).to_csv("named.csv", index=False)
    told = run("score", "iris.csv", *NAMED, "--labels", "named.csv", code=1).stderr
    assert f"names row 0 {IDS[-1]!r}, and the data {IDS[0]!r}" in told


def audited(labels, **how):
    return audit(X, labels, random_state=0, **how)


def test_one_labelling_is_audited(folder, library):
    labels = pd.Series([f"c{label}" for label in library.labels_], name="mine")
    labels[4] = None
    labels.to_csv("mine.csv", index=False)
    X.assign(mine=labels).to_csv("both.csv", index=False)
    expected = audited(labels)
    for typed in (["plain.csv", "--labels", "mine.csv"], ["both.csv", "--labels-column", "mine"]):
        told = run("score", *typed, "--out", "s.csv", "--report", "r.html").stdout
        assert expected.verdicts_as_text().splitlines()[-1] in told
        table = read_table("s.csv").data
        assert_array_equal(table["score"], expected.scores)
        assert_array_equal(table["suggested"], expected.to_frame()["suggested"])
        assert str(expected.verdicts[0]) in Path("r.html").read_text(encoding="utf-8")
    data = Path("both.csv").read_bytes()
    told = run("score", "-", "--labels-column", "mine", "--out", "-", stdin=data).stdout
    assert told.encode() == Path("s.csv").read_bytes()
    how = ["--clusterer", "gmm", "--runs", "8", "--normalization", "clip"]
    told = json.loads(run("score", "both.csv", "--labels-column", "mine", *how, "--json").stdout)
    named = audited(labels, clusterer="gmm", n_runs=8, normalization="clip")
    assert told["verdicts"] == json.loads(json.dumps([vars(one) for one in named.verdicts]))
    assert told["settings"]["clusterer"] == "gmm"
    assert told["settings"]["labels"] == "column mine"
    assert told["runs"] == 8


def test_audit_is_a_command(folder, library):
    labels = pd.Series([f"c{label}" for label in library.labels_], name="mine")
    labels[[4, 70]] = "c0", None
    X.assign(mine=labels).to_csv("both.csv", index=False)
    labels.to_csv("mine.csv", index=False)
    typed = ["both.csv", "--labels-column", "mine"]
    run("score", *typed, "--out", "before.csv")
    told = run("audit", *typed, "--out", "s.csv", "--report", "r.html").stdout
    expected = audited(labels)
    assert f"Labels that look wrong: {expected.wrong_labels}" in told
    assert expected.verdicts_as_text() in told
    assert str(expected.wrong_labels) in Path("r.html").read_text(encoding="utf-8")
    assert Path("s.csv").read_bytes() == Path("before.csv").read_bytes()
    table = read_table("s.csv").data
    assert_array_equal(table["issue"], expected.issues)
    assert_array_equal(table["suggested_score"], expected.suggested_score)
    told = json.loads(run("audit", "plain.csv", "--labels", "mine.csv", "--json").stdout)
    assert told["wrong_labels"] == expected.wrong_labels._asdict()
    assert told["settings"]["classifier"] == expected.classifier
    how = ["--classifier", "none", "--runs", "8", "--clusterer", "gmm", "--out", "s.csv"]
    run("audit", *typed, *how)
    alone = audited(labels, classifier=None, n_runs=8, clusterer="gmm")
    assert_array_equal(read_table("s.csv").data["score"], alone.scores)


def test_the_command_takes_probabilities(folder, library):
    pd.Series(library.labels_, name="mine").to_csv("mine.csv", index=False)
    shares = pd.DataFrame(np.eye(3)[library.labels_] * 0.7 + 0.1)
    shares[[2, 0, 1]].to_csv("P.csv", index=False)
    typed = ["audit", "plain.csv", "--labels", "mine.csv", "--pred-probs", "P.csv"]
    run(*typed, "--out", "s.csv")
    expected = audited(library.labels_, pred_probs=shares)
    assert_array_equal(read_table("s.csv").data["score"], expected.scores)
    assert "takes the place of classifiers" in run(*typed, "--classifier", "auto", code=2).stderr
    # Files that hold names need no --header, and an array has the sorted order of the labels.
    shares.rename(columns=str)[["1", "0", "2"]].to_parquet("P.parquet")
    np.save("P.npy", shares.to_numpy())
    for other in ("P.parquet", "P.npy"):
        run(*typed[:-1], other, "--out", "s.csv")
        assert_array_equal(read_table("s.csv").data["score"], expected.scores)
    (shares / 2).to_csv("P.csv", index=False)
    assert "--pred-probs: row 0 adds up to 0.5, not to 1" in run(*typed, code=1).stderr
    shares[:9].to_csv("P.csv", index=False)
    assert "P.csv has 9 rows and the data have 150" in run(*typed, code=1).stderr
    named = shares.assign(id=np.arange(150).astype(str)[::-1])
    named.to_csv("P.csv", index=False)
    pd.read_csv("plain.csv").assign(id=np.arange(150).astype(str)).to_csv("named.csv", index=False)
    typed[1] = "named.csv"
    assert "P.csv names row 0 '149', and the data '0'" in run(*typed, "--id", "id", code=1).stderr


def test_the_librarys_defaults_of_an_audit_are_the_commands(folder):
    typed = ["plain.csv", "--labels-column", "x"]
    params = COMMANDS["audit"].make_context("audit", typed, obj={}).params
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(audit).parameters.items()
        if name in params and name not in {"labels", "clusterer", "random_state"}
    }
    assert {name: params[name] for name in defaults} == defaults
    assert {"n_runs", "normalization", "classifier", "pred_probs"} <= set(defaults)


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        ("", 2, "There are no labels to audit: name their column with --labels-column"),
        ("--labels mine.csv -k 3", 2, "No such option"),
        ("--labels runs.csv", 1, "runs.csv has 2 columns; an audit takes one, of labels"),
        ("--labels plain.csv", 1, "plain.csv has 4 columns; an audit takes one, of labels"),
    ],
)
def test_what_the_command_cannot_audit_is_told(folder, library, typed, code, told):
    pd.Series(library.labels_, name="mine").to_csv("mine.csv", index=False)
    pd.DataFrame(library.ensemble_.labels[:, :2]).to_csv("runs.csv", index=False)
    assert told in run("audit", "plain.csv", *typed.split(), code=code).stderr


def test_the_command_says_what_is_noise_and_takes_another_rule(folder, library):
    X.assign(sign=library.labels_ - 1).to_csv("signs.csv", index=False)
    score = ("score", "signs.csv", "--labels-column", "sign", "--runs", "8", "--out", "s.csv")
    noise = int((library.labels_ == 0).sum())
    done = run(*score)
    told = (
        f"Note: Taken as noise, not as a cluster: label '-1' ({noise} times). If it is a cluster,"
    )
    assert f"{told} give --noise none." in done.stdout
    assert "noise" not in done.stderr  # once is enough
    assert read_table("s.csv").data["score"].isna().sum() == noise
    assert "noise" not in run(*score, "--noise", "none").stdout
    table = read_table("s.csv").data
    assert_array_equal(table["score"], audited(library.labels_, n_runs=8).scores)
    assert set(map(str, table["label"])) == {"cluster -1", "0", "1"}
    assert "label '1' (" in run(*score, "--noise", "1").stdout
    assert read_table("s.csv").data["score"].isna().sum() == (library.labels_ == 2).sum()
    assert "--noise 7 is not one of the labels" in run(*score, "--noise", "7", code=1).stderr
    alone = run("score", "plain.csv", "-k", "3", "--noise", "none", code=2).stderr
    assert "--noise is for given labels" in alone


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        ("--labels-column nobody", 1, "there is no such column; it has sepal_length"),
        ("--labels-column sepal_width -k 3", 2, "leave out -k."),
        ("--labels mine.csv --agreement jaccard", 2, "is audited; leave out --agreement."),
        ("--labels mine.csv --unassigned skip", 2, "is audited; leave out --unassigned."),
        ("--labels mine.csv --labels-column x", 2, "both give labels; choose one"),
        ("--labels mine.csv --runs 2", 1, "--runs 2"),
    ],
)
def test_what_an_audit_does_not_take_is_told(folder, library, typed, code, told):
    pd.Series(library.labels_, name="mine").to_csv("mine.csv", index=False)
    assert told in run("score", "plain.csv", *typed.split(), code=code).stderr


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
    told = run("score", "bare.csv", *FAST).stdout
    assert "Read: the first line as a point (--header takes it as names)." in told
    assert "semicolons between the fields" in run("score", "semicolon.csv", *FAST).stdout
    assert "name one, such as --array a" in run("score", "two.npz", *FAST, code=1).stderr


def test_columns_are_found_or_named(folder, library):
    told = run("score", "iris.csv", *FAST, "--out", "found.csv").stdout
    assert "Names the rows: flower." in told
    assert "Not clustered: species, all values are 's'." in told
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
        (["--use", "sepal_length", "--drop", "sepal_length"], "choose one of these"),
        (["--drop", "flower,species," + ",".join(NAMES)], "no column left to cluster"),
    ],
)
def test_columns_that_are_not_there_are_told(folder, typed, told):
    assert told in run("score", "iris.csv", *FAST, *typed, code=1).stderr


def test_odd_column_names(folder):
    X.to_csv("index.csv")  # with a first column that has no name
    run("score", "index.csv", *FAST, "--id", "Unnamed: 0")  # as pandas calls it
    X.rename(columns={NAMES[0]: "a,b"}).to_csv("comma.csv", index=False)
    run("score", "comma.csv", *FAST, "--drop", "a,b")


@pytest.mark.parametrize("taken", ["score", "geometry", "label"])
def test_rows_may_be_named_by_a_column_called_like_a_result(folder, taken):
    X.assign(**{taken: IDS}).to_csv("taken.csv", index=False)
    printed = run("score", "taken.csv", *FAST, "--out", "all.csv").stdout
    assert f"Names the rows: {taken}." in printed
    scores = pd.read_csv("all.csv")
    assert scores[f"{taken}_input"].tolist() == IDS
    assert scores["score"].between(0, 1).all()
    run("score", "taken.csv", *FAST, "--drop", NAMES[0], "--only-scores", "--out", "only.csv")
    assert pd.read_csv("only.csv").columns[0] == f"{taken}_input"
    # Whatever reads the scores finds the rows by their names again.
    for more in ([], ["--id", taken]):
        told = run("explain", "taken.csv", "only.csv", IDS[3], *more).stdout
        assert f"Row {IDS[3]}: cluster" in told
    run("ask", "taken.csv", "all.csv", "--n", "5", "--out", "questions.csv")
    asked = pd.read_csv("questions.csv")
    assert set(asked[f"{taken}_input"]) <= set(IDS)
    assert asked.columns.is_unique
    told = run("explain", "taken.csv", "only.csv", IDS[3], "--id", f"{taken}s", code=1).stderr
    assert "there is no such column; did you mean" in told


def test_a_question_mark_is_a_missing_value(folder):
    lines = Path("plain.csv").read_text().splitlines()
    lines[70] = "5.1,3.5,?,0.2"
    Path("plain.csv").write_text("\n".join(lines))
    told = run("score", "plain.csv", *FAST).stdout
    assert "Missing values: petal_length 1; they take the column's mean" in told


def test_missing_values_are_counted(holes):
    told = run("score", "holes.csv", *FAST, "--id", "flower").stdout
    assert "Missing values: sepal_width 2, petal_width 1; they take the column's mean" in told
    told = run("score", "holes.csv", *FAST, "--impute", "mean", "--drop-missing", code=2).stderr
    assert "choose one" in told


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
    assert "Not clustered: petal_width, no values." in told
    told = run("score", "empty.csv", *FAST, "--use", "petal_width,petal_length", code=1).stderr
    assert "--use petal_width: it is empty, no values, and cannot be used." in told


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
