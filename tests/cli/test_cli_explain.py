"""`clustertrust explain`: one row in words, and beside its cluster and its rival."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run
from sklearn.datasets import load_iris
from unpacking import unpack

from clustertrust.cli.explaining import _in_words

IRIS = load_iris(as_frame=True)
NAMES = [f"f{i}" for i in range(150)]


@pytest.fixture
def scored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = IRIS.data.assign(kind=IRIS.target.map({0: "s", 1: "v", 2: "w"}))
    table.insert(0, "flower", NAMES)
    table.to_csv("data.csv", index=False)
    fast = ("-k", "3", "--runs", "4", "--seed", "0", "--drop", "kind")
    run("score", "data.csv", *fast, "--id", "flower", "--out", "scores.csv")
    run("score", "data.csv", *fast, "--drop", "flower", "--out", "numbered.csv")
    return pd.read_csv("scores.csv", index_col="flower")


def test_a_named_row_beside_its_clusters_by_a_plain_mean(scored):
    printed = run("explain", "data.csv", "scores.csv", "f52").stdout
    row = scored.loc["f52"]
    assert f"Row f52: cluster {row['label']}, score {row['score']:.3f} ± " in printed
    assert f"Rival: cluster {row['rival']}." in printed
    assert "Not clustered: flower = f52, kind = v." in printed
    labels = scored["label"].to_numpy()
    for cluster in (row["label"], row["rival"]):
        mean = IRIS.data["petal width (cm)"][labels == cluster].mean()
        assert f"{mean:.4g}" in printed
    order = [line.split("  ")[0] for line in printed.splitlines() if "(cm)" in line]
    own, other = (IRIS.data[labels == cluster].mean() for cluster in (row["label"], row["rival"]))
    values, spread = IRIS.data.iloc[52], IRIS.data.std(ddof=0)
    speaks = ((values - own).abs() - (values - other).abs()) / spread
    assert order == speaks.sort_values(ascending=False).index.tolist()


def test_a_rival_without_a_row_is_not_compared(scored):
    scored.assign(rival=9).to_csv("scores.csv")
    said = run("explain", "data.csv", "scores.csv", "f52").stdout
    assert "No row is in cluster 9: there is nothing to compare with." in said
    assert " nearer to\n" not in said


def test_categories_are_compared_too_and_clusters_have_names(scored):
    table = pd.read_csv("data.csv")
    kinds = table["kind"].where(table.index != 52, "s")
    table.assign(kind=kinds).to_csv("mixed.csv", index=False)
    run("score", "mixed.csv", "-k", "3", "--runs", "4", "--id", "flower", "--out", "mixed.out.csv")
    row = pd.read_csv("mixed.out.csv", index_col="flower").loc["f52"]
    Path("names.json").write_text(json.dumps({str(row["label"]): "light reds"}))
    typed = ("explain", "mixed.csv", "mixed.out.csv", "f52", "--names", "names.json")
    printed = run(*typed).stdout
    assert "Row f52: cluster light reds, score" in printed
    labels = pd.read_csv("mixed.out.csv")["label"]
    share = (kinds[labels == row["label"]] == "s").mean()
    line = next(line for line in printed.splitlines() if line.startswith("kind"))
    assert line.split()[:3] == ["kind", "s", f"{share:.0%}"]
    assert "kind=" not in printed
    for text, problem in (("[1", "is not JSON"), ("[1]", "must be a JSON object"), ('{"9": "x"}', "'9' is not a cluster")):  # fmt: skip
        Path("names.json").write_text(text)
        assert problem in run(*typed, code=1).stderr


def test_names_that_were_found_and_not_given_match_the_rows_too(scored):
    table = pd.read_csv("data.csv").drop(columns="kind")
    table.to_csv("found.csv", index=False)
    said = run("score", "found.csv", "-k", "3", "--runs", "4", "--seed", "0", "--out", "out.csv")
    assert "Names the rows: flower." in said.stdout
    row = pd.read_csv("out.csv", index_col="flower").loc["f52"]
    table[::-1].to_csv("reversed.csv", index=False)
    printed = run("explain", "reversed.csv", "out.csv", "f52").stdout
    assert f"Row f52: cluster {row['label']}, score {row['score']:.3f} ± " in printed
    table.assign(flower=[*NAMES[:-1], "other"]).to_csv("others.csv", index=False)
    failed = run("explain", "others.csv", "out.csv", "f52", code=1).stderr
    assert "out.csv has no scores for 1 row of others.csv, such as 'other'" in failed


def test_a_row_by_its_number(scored):
    printed = run("explain", "data.csv", "numbered.csv", "52").stdout
    assert printed.split("\n")[1].startswith("Row 52: cluster")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("scores.csv", "f520"), "is not the name of a row in the column flower; did you mean"),
        (("numbered.csv", "150"), "has rows 0 to 149"),
        (("numbered.csv", "x"), "has rows 0 to 149"),
    ],
)
def test_a_row_that_is_not_there(scored, typed, message):
    assert message in run("explain", "data.csv", *typed, code=1).stderr


def test_a_row_that_was_left_out(scored):
    table = pd.read_csv("data.csv")
    table.loc[3, "petal width (cm)"] = None
    table.to_csv("gaps.csv", index=False)
    drop = ("--drop", "kind", "--drop-missing")
    run("score", "gaps.csv", "-k", "3", "--runs", "4", "--id", "flower", *drop, "--out", "g.csv")
    printed = run("explain", "gaps.csv", "g.csv", "f3").stdout
    assert "Row f3: no score." in printed
    assert "\nLeft out: missing values.\n" in printed
    # Gaps make floats of the labels in the file.
    assert "Row f1: cluster 0, score" in run("explain", "gaps.csv", "g.csv", "f1").stdout
    Path("names.json").write_text('{"0": "small"}')
    typed = ("explain", "gaps.csv", "g.csv", "f1", "--names", "names.json")
    assert "Row f1: cluster small, score" in run(*typed).stdout


def test_rows_below_the_names_that_are_no_points_need_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"P-{i},{6 + i % 2 * 3 + i / 100},{i % 7 + 0.5}," for i in range(30)]
    Path("lab.csv").write_text("\n".join(["sample,pH,lead,note", ",-,mg/l,", *rows, ",total,,"]))
    run("score", "lab.csv", "-k", "2", "--runs", "4", "--out", "s.csv", "--model", "m")
    printed = run("explain", "lab.csv", "s.csv", "P-3").stdout
    assert "Row P-3: cluster" in printed
    assert "Not clustered: sample = P-3, note = missing." in printed
    told = run("explain", "lab.csv", "s.csv", "nan", code=1).stderr
    assert "they look like 'P-0'" in told
    # Units are left out and no texts among numbers.
    assert run("predict", "m", "lab.csv").stderr == ""


@pytest.mark.parametrize("how", [(), ("--metric", "gower", "--clusterer", "kmedoids")])
def test_a_missing_value_is_shown_as_missing_and_not_as_what_it_took(scored, how):
    table = pd.read_csv("data.csv")
    table.loc[52, "petal width (cm)"] = None
    table.loc[52, "kind"] = "n/a"
    table.to_csv("gaps.csv", index=False)
    fast = ("-k", "3", "--runs", "4", "--seed", "0", "--id", "flower")
    run("score", "gaps.csv", *fast, *how, "--out", "g.csv", "--report", "g.html")
    lines = run("explain", "gaps.csv", "g.csv", "f52").stdout.splitlines()
    (width,) = (line for line in lines if line.startswith("petal width"))
    labels = pd.read_csv("g.csv", index_col="flower")["label"]
    own = table.set_index("flower")["petal width (cm)"][labels == labels["f52"]].mean()
    assert width.split()[3:5] == ["missing", f"{own:.4g}"]
    (kind,) = (line for line in lines if line.startswith("kind "))
    assert kind.split()[1] == "missing"
    taken = f"the column's mean: petal width (cm) {table['petal width (cm)'].mean():.4g}."
    assert any(line.endswith(taken) for line in lines) == (how == ())
    page = re.search(r'id="contents">(.*?)</script>', Path("g.html").read_text("utf-8"), re.DOTALL)
    values = json.loads(page.group(1))["values"]
    at = values["columns"].index("petal width (cm)")
    assert np.flatnonzero(np.isnan(unpack(values["data"])[:, at])).tolist() == [52]


@pytest.mark.parametrize(("error", "shown"), [(1e-5, "0.700 ± 0.001."), (0.0, "0.700.")])
def test_an_error_that_is_not_0_is_not_printed_as_0(error, shown):
    row = pd.Series({"label": "1", "score": 0.7, "standard_error": error}, dtype=object)
    assert _in_words("a", row)[0] == f"Row a: cluster 1, score {shown}"
