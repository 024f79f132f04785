"""Models, AnnData, sparse data, pages and pictures from the command line."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import FAST, IDS, NAMED, NAMES, RESULTS, X, run
from extras import extra
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import clustertrust
from clustertrust import CAKE
from clustertrust._errors import Message
from clustertrust.cli import checks
from clustertrust.cli.commands import COMMANDS
from clustertrust.cli.wording import CliWording
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import Reading, read_table

anndata = extra("anndata")

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
    assert "150 points, 3 clusters, 4 runs, exact silhouettes; scored by m" in result.stdout
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
    ("template", "typed"),
    [
        ("{fusion='sum'} is not known.", "--fusion sum is not known."),
        ("{n_clusters=300} is more than the 150 points.", "-k 300 is more than the 150 points."),
        ("say {header=False}, or {header=True}.", "say --no-header, or --header."),
        ("{separator=';'} or {separator='\\t'}", "--separator ';' or --separator '\\t'"),
        (
            "{drop=['Unnamed: 0']}, {id='Unnamed: 0'}, {use}.",
            "--drop 'Unnamed: 0', --id 'Unnamed: 0', --use.",
        ),
        ("{drop=['a', 'b']} or {use_rep='X_pca'}", "--drop a,b or --use-rep X_pca"),
        ("{keep=['Weight [kg]', 'b']}", "--keep 'Weight [kg],b'"),
        ("{keep=['a, b', 'c']}", "--keep 'a, b' --keep c"),
        ("{resample=0.5} leaves too few.", "--resample 0.5 leaves too few."),
        ("{embedding='x'} has no option", "embedding='x' has no option"),
        ("say {metric='precomputed'}.", "say --distances."),
        ("give {Ensemble.from_labels.noise=None}", "give --noise none"),
        ("a {{brace}} stays, as does fusion='sum'", "a {brace} stays, as does fusion='sum'"),
    ],
)
def test_parameters_of_the_library_become_options(template, typed):
    assert Message(template).render(CliWording(COMMANDS["score"])) == typed


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
    told = run("predict", "m", "few.csv", code=1).stderr
    assert "lacks columns that the model was fitted on: sepal_length" in told
    told = run("predict", "m", "few.csv", "--use", "a", code=2).stderr
    assert "The model knows its columns and what was done with them; leave out --use." in told
    np.save("x.npy", X.to_numpy())
    run("score", "x.npy", *FAST, "--model", "unnamed")
    run("predict", "unnamed", "x.npy")
    run("predict", "unnamed", "plain.csv")  # an array has no names to compare
    told = run("predict", "unnamed", "few.csv", code=1).stderr
    assert "has 3 columns to use; the model was fitted on 4" in told


def test_predict_names_values_that_the_model_cannot_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], 20)
    table = pd.DataFrame({"x": rng.normal(size=40) + 9 * side, "y": rng.normal(size=40) + 9 * side})
    table["ill"] = np.where(rng.random(40) < 0.5, "yes", "no")
    table["town"] = np.where(side, "Rome", "Bonn")
    table.to_csv("t.csv", index=False)
    run("score", "t.csv", "-k", "2", "--runs", "4", "--model", "m")
    run("predict", "m", "t.csv", "--out", "same.csv")
    same = pd.read_csv("same.csv")["score"]
    in_order = table[["town", "ill", "y", "x"]]
    for frame in (in_order, table.assign(ill=table["ill"] == "yes"), table.assign(more=1)):
        frame.to_csv("new.csv", index=False)
        told = run("predict", "m", "new.csv", "--out", "out.csv")
        assert told.stderr == ""
        assert_array_equal(pd.read_csv("out.csv")["score"], same)
    odd = {"x": ["1.5 cm"] + ["?"] * 2 + ["off"] * 2, "ill": ["maybe"] * 5, "town": ["Oslo"] * 5}
    head = table.head(5).assign(**odd)
    head.to_csv("new.csv", index=False)
    told = run("predict", "m", "new.csv", "--out", "out.csv")
    assert "'x' has texts that are not numbers (1.5 cm, off) in 3 of 5 rows" in told.stderr
    assert "'ill' has values other than 'no' and 'yes' (maybe) in 5 of 5 rows" in told.stderr
    assert "'town' has categories that its plan does not know (Oslo)" in told.stderr
    assert "Missing values: x 5, ill 5;" in told.stdout


def test_reasons_follow_the_threshold_and_rows_left_out_say_so(holes):
    how = ["--id", "flower", "--drop-missing"]
    outputs = ["--out", "s.csv", "--model", "m", "--report", "r.html"]
    run("score", "holes.csv", *FAST, *how, "--threshold", "0.7", *outputs)
    run("predict", "m", "holes.csv", *how, "--threshold", "0.7", "--out", "p.csv")
    run("score", "holes.csv", *FAST, *how, "--out", "half.csv")
    fitted = CAKE.load("m").confidence_.cut().threshold
    run("predict", "m", "holes.csv", *how, "--out", "new.csv")
    judged = read_table("new.csv").data
    assert_array_equal(judged["reason"] == "core", judged["score"] > fitted)  # that of the fit
    for path, threshold in (("s.csv", 0.7), ("p.csv", 0.7), ("half.csv", fitted)):
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
    assert "has no column means" in told
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
    assert "runs of bisecting-kmeans cannot be saved" in told


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
    told = run("score", "cells.h5ad", *FAST, "--use-rep", "X_umap", code=1).stderr
    assert "which has ['X_pca']" in told
    told = run("score", "plain.csv", *FAST, "--out", "s.h5ad", code=2).stderr
    assert "must be an H5AD file too" in told


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
    assert how["rows"].tolist() == list(range(150))
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
    view = how["embedding"]
    assert_allclose(view.xy, expected, atol=1e-9)
    assert "4 columns as they were clustered" in view.origin
    assert view.names[0] == "principal component 1 (73% of the variance)"


def test_a_page_of_categories_claims_no_scale(folder, pages):
    pd.DataFrame(X, columns=NAMES).assign(kind=np.repeat(["a", "b", "c"], 50)).to_csv(
        "kinds.csv", index=False
    )
    told = run("score", "kinds.csv", *FAST, "--scale", "none", "--report", "r.html")
    assert "As categories: kind." in told.stdout
    ((_, _, how),) = pages
    assert "7 columns as they were clustered" in how["embedding"].origin


@pytest.mark.parametrize("names", [NAMES[:2], NAMES])
def test_a_page_draws_rows_that_miss_a_value(folder, pages, names):
    gaps = pd.DataFrame(X, columns=NAMES)[names]
    gaps.iloc[7, 1] = np.nan
    gaps.to_csv("gaps.csv", index=False)
    run("score", "gaps.csv", *FAST, "--scale", "none", "--report", "r.html")
    ((_, values, how),) = pages
    assert np.isnan(values.iloc[7, 1])
    assert "A missing value is drawn at the column's mean." in how["embedding"].origin
    xy = how["embedding"].xy
    assert np.isfinite(xy).all()
    if len(names) == 2:
        assert_allclose(xy, gaps.fillna(gaps.mean()))


def test_a_page_from_a_file_of_scores(folder, library, pages):
    run("score", "iris.csv", *FAST, *NAMED, "--out", "s.csv")
    pd.read_csv("iris.csv", dtype=str).iloc[::-1].to_csv("reversed.csv", index=False)
    how = ["--out", "r.html", "--threshold", "0.3", "--chance", "0.4", "--title", "Flowers"]
    printed = run("report", "s.csv", "--data", "reversed.csv", *NAMED, *how).stdout
    assert printed == "Wrote r.html: 150 points.\n"
    table, values, told = pages.pop()
    assert table.index.tolist() == IDS[::-1]
    assert_array_equal(table["score"], library.scores_[::-1])
    assert_array_equal(values, X.iloc[::-1])
    assert (told["threshold"], told["title"]) == (0.3, "Flowers")
    assert told["rows"].tolist() == list(range(150))[::-1]  # places in the file of scores
    run("report", "s.csv", "--data", "plain.csv", "--out", "r.html")  # by place
    assert_array_equal(pages.pop()[0]["score"], library.scores_)
    X.head(9).to_csv("few.csv", index=False)
    told = run("report", "s.csv", "--data", "few.csv", "--out", "r.html", code=1).stderr
    assert "150 rows and few.csv has 9" in told
    X.head(2).assign(flower=["x", "y"]).to_csv("other.csv", index=False)
    how = ["--data", "other.csv", "--id", "flower", "--out", "r.html"]
    told = run("report", "s.csv", *how, code=1).stderr
    assert "no scores for 2 rows of other.csv, such as 'x'" in told
    told = run("report", "plain.csv", "--data", "plain.csv", "--out", "r.html", code=1).stderr
    assert "lacks the columns label and score" in told


def test_a_page_of_scores_leaves_out_rows_that_have_none(holes, pages):
    run("score", "holes.csv", *FAST, "--id", "flower", "--drop-missing", "--out", "s.csv")
    page = ["report", "s.csv", "--data", "holes.csv", "--id", "flower", "--out", "r.html"]
    run(*page, "--impute", "mean")
    run(*page, "--drop-missing")
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
    find = checks.importlib.util.find_spec
    monkeypatch.setattr(
        checks.importlib.util,
        "find_spec",
        lambda name: None if name == "matplotlib" else find(name),
    )
    told = run("score", "plain.csv", *FAST, "--plot", "p.png", code=1)
    assert 'pip install "clustertrust[plot]"' in told.stderr
