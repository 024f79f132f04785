"""`clustertrust score` on files larger than memory, and what happens to the files when it is
killed.
"""

import json
import shutil
import signal
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from command import process, run
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from clustertrust import CAKE
from clustertrust.files import open_source
from clustertrust.reasons import REASONS, Cut
from clustertrust.summary import Tally

ROWS = 10_000
OPTIONS = ["-k", "3", "--runs", "4", "--memory", "1", "--id", "name", "--drop", "kind"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Some 1 MiB, of which 0.25 may be loaded, in several kinds of files."""
    folder = tmp_path_factory.mktemp("large")
    X, _ = make_blobs(ROWS, 4, centers=3, cluster_std=2.5, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "name", [f"{i:06}" for i in range(ROWS)])
    frame["kind"] = "x"
    frame.to_csv(folder / "x.csv", index=False)
    frame.to_parquet(folder / "x.parquet")
    (folder / "parts").mkdir()
    frame[:7000].to_csv(folder / "parts" / "1.csv", index=False)
    frame[7000:].to_csv(folder / "parts" / "2.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def expected(table):
    """What the library says, of the same blocks."""
    import sklearn

    with sklearn.config_context(working_memory=1):
        source = open_source(table / "x.parquet")
        source = source.only(set(source.columns) - {"name", "kind"})
        return CAKE(3, n_runs=4, random_state=0).fit(source)


# Each kind of file is read, and each is written; what is written does not depend on what was read
@pytest.mark.parametrize(
    ("data", "out"),
    [
        ("x.csv", "scores.csv"),
        ("x.parquet", "scores.PQ"),
        ("parts", "scores.feather"),
        ("x.parquet", "scores.tsv.xz"),
    ],
)
def test_scores_are_those_of_the_library_row_by_row(table, expected, tmp_path, data, out):
    done = run("score", table / data, *OPTIONS, "--scale", "none", "--out", tmp_path / out)
    scores = {".PQ": pd.read_parquet, ".feather": pd.read_feather}.get((tmp_path / out).suffix)
    if scores is None:
        scores = partial(pd.read_csv, dtype={"name": str}, sep="\t" if "tsv" in out else ",")
    scores = scores(tmp_path / out)
    assert scores["name"].tolist() == [f"{i:06}" for i in range(ROWS)]
    assert_array_equal(scores["label"], expected.labels_)
    assert_allclose(scores["score"], expected.scores_, atol=1e-9)
    assert_allclose(scores["standard_error"], expected.standard_errors_, atol=1e-9)
    at = expected.confidence_.cut().threshold  # here the sample of the fit is all rows
    assert scores["reason"].tolist() == expected.to_frame(at)["reason"].tolist()
    assert_allclose(scores["margin"], expected.to_frame()["margin"], atol=1e-9)
    assert "passes over" in done.output


def test_summary_of_blocks_is_that_of_the_whole(table, expected):
    done = run("score", table / "x.parquet", *OPTIONS, "--scale", "none", "--json")
    told = json.loads(done.output)
    assert told["rows"] == ROWS
    at = {"25%": 0.25, "median": 0.5, "75%": 0.75}
    for name, share in at.items():
        assert told["quantiles"][name] == pytest.approx(
            np.quantile(expected.scores_, share), abs=2e-4
        )
    assert told["quantiles"]["minimum"] == pytest.approx(expected.scores_.min(), abs=1e-4)
    at = expected.confidence_.cut().threshold
    assert told["threshold"] == at
    for cluster in told["clusters"]:
        mine = expected.labels_ == cluster["label"]
        assert cluster["points"] == mine.sum()
        assert cluster["mean_score"] == pytest.approx(expected.scores_[mine].mean())
        assert cluster["up_to_threshold"] == pytest.approx((expected.scores_[mine] <= at).mean())
    counted = expected.to_frame(at)["reason"].value_counts()
    assert told["reasons"] == counted[counted > 0].to_dict()
    worst = [point["score"] for point in told["ambiguous"]]
    assert worst == pytest.approx(np.sort(expected.scores_)[:5])


def test_model_judges_new_rows_as_the_library(table, tmp_path):
    model = tmp_path / "m.model"
    scores, new = tmp_path / "s.csv", tmp_path / "p.csv"
    run("score", table / "x.csv", *OPTIONS, "--standardize", "--out", scores, "--model", model)
    columns = ["--id", "name", "--drop", "kind"]
    run("predict", model, table / "x.parquet", *columns, "--out", new)
    scored, judged = pd.read_csv(scores), pd.read_csv(new)
    # Votes are the same; a new point is no member.
    assert (scored["label"] == judged["label"]).mean() > 0.999
    assert_allclose(scored["score"], judged["score"], atol=5e-3)
    assert (scored["reason"] == judged["reason"]).mean() > 0.99


def test_columns_are_standardised_as_in_memory(table, tmp_path):
    from clustertrust.model_files import read_about

    small = [option if option != "1" else "1024" for option in OPTIONS]
    for name, options in (("blocks", OPTIONS), ("whole", small)):
        run("score", table / "x.csv", *options, "--standardize", "--model", tmp_path / name)
    blocks, whole = (read_about(tmp_path / name)["preparation"] for name in ("blocks", "whole"))
    assert blocks == whole


@pytest.mark.parametrize(
    ("more", "code", "what"),
    [
        (["--separator", ";"], 1, "there is no such column; it has name,a,b,c,d,kind"),
        (["--array", "x"], 1, "--array x is not used for csv files"),
        (["--resample", "0.5"], 1, "set --left-out predict"),
        (["--use", "a", "--drop", "a"], 1, "choose one of these"),
        (["--id", "score"], 1, "there is no such column; it has name, a, b, c, d, kind"),
        (["--out", "scores.npy"], 2, r"need a file of type .csv"),
        (["--out", "-"], 2, "cannot be printed; name a file"),
        (["--geometry", "exact"], 1, "needs all points at once"),
        (["--runs", "auto"], 1, "needs all points at once"),
        (["--device", "cuda"], 2, "is scored on the CPU"),
    ],
)
def test_what_blocks_do_not_do_is_refused_in_a_line_or_two(
    table, tmp_path, monkeypatch, more, code, what
):
    monkeypatch.chdir(tmp_path)
    assert what in run("score", table / "x.csv", *OPTIONS, *more, code=code).stderr
    assert not list(tmp_path.iterdir())


def test_a_format_that_is_named_is_read_in_blocks(table, tmp_path):
    shutil.copy(table / "x.csv", tmp_path / "x.data")
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    run("score", table / "x.csv", *OPTIONS, "--out", one)
    by_name = run("score", tmp_path / "x.data", *OPTIONS, "--format", "csv", "--out", two)
    assert "passes over x.data" in by_name.output
    assert one.read_bytes() == two.read_bytes()


# Missing values


@pytest.fixture(scope="module")
def holes(table, tmp_path_factory):
    """The table with values missing: here and there, in a whole block at either end, and an
    infinite one.
    """
    frame = pd.read_csv(table / "x.csv", dtype={"name": str})
    rng = np.random.default_rng(0)
    for column in "abcd":
        frame.loc[rng.random(ROWS) < 0.02, column] = np.nan
    frame.loc[:1500, "a"] = np.nan
    frame.loc[ROWS - 1500 :, "d"] = np.nan
    frame.loc[7000, "b"] = np.inf
    path = tmp_path_factory.mktemp("holes") / "x.csv"
    frame.to_csv(path, index=False)
    return path, frame


def both_ways(path, tmp_path, *more):
    """Scores in blocks and in memory, and the models.

    The sample is all rows, so that the runs are the same.
    """
    for name, memory in (("blocks", "1"), ("whole", "1024")):
        options = [*OPTIONS, "--geometry", "rms", "--only-scores", *more]
        options[options.index("--memory") + 1] = memory
        scores, model = tmp_path / f"{name}.csv", tmp_path / f"{name}.model"
        done = run("score", path, *options, "--out", scores, "--model", model)
        assert ("passes over" in done.output) == (name == "blocks")
        yield pd.read_csv(scores, dtype={"name": str}), model, done.output


@pytest.mark.parametrize("standardize", [[], ["--standardize"]], ids=["as read", "standardised"])
@pytest.mark.parametrize(
    "missing", [["--impute", "mean"], ["--drop-missing"]], ids=["impute", "drop"]
)
def test_missing_values_are_treated_as_in_memory(holes, tmp_path, missing, standardize):
    path, frame = holes
    (blocks, model, said), (whole, other, also_said) = both_ways(
        path, tmp_path, *missing, *standardize
    )
    pd.testing.assert_frame_equal(blocks, whole, rtol=0, atol=1e-9)
    assert blocks["name"].tolist() == frame["name"].tolist()
    incomplete = ~np.isfinite(frame[list("abcd")]).all(axis=1)
    if missing == ["--drop-missing"]:
        assert_array_equal(blocks["score"].isna(), incomplete)
        told = f"{incomplete.sum()} of {ROWS} rows have no score (left out: missing values)."
        assert told in said
        assert told in also_said
    else:
        assert blocks["score"].notna().all()
    from clustertrust.model_files import read_about

    kept, expected = (read_about(path)["preparation"] for path in (model, other))
    assert kept == expected


def test_rows_that_are_left_out_keep_their_numbers(holes, tmp_path):
    _, frame = holes
    frame.drop(columns=["name", "kind"]).to_parquet(tmp_path / "x.parquet")
    typed = ["-k", "3", "--runs", "4", "--memory", "1", "--drop-missing", "--json"]
    done = run("score", tmp_path / "x.parquet", *typed, "--out", tmp_path / "s.parquet")
    scores, told = pd.read_parquet(tmp_path / "s.parquet"), json.loads(done.output)
    assert_array_equal(scores["row"], np.arange(ROWS))
    incomplete = ~np.isfinite(frame[list("abcd")]).all(axis=1)
    assert_array_equal(scores["label"].isna(), incomplete)
    assert told["rows"] == told["settings"]["rows"] == ROWS
    assert told["rows"] - told["scored"] == told["settings"]["rows_left_out"] == incomplete.sum()
    assert told["settings"]["columns"] == "a, b, c, d"
    assert {point["id"] for point in told["ambiguous"]} <= set(np.flatnonzero(~incomplete))


@pytest.mark.parametrize("missing", [["--impute", "mean"], ["--drop-missing"]])
def test_a_column_without_values_is_set_aside(table, tmp_path, missing):
    frame = pd.read_csv(table / "x.csv").assign(c=np.nan)
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = run("score", tmp_path / "x.csv", *OPTIONS, *missing)
    assert "Not clustered: c, no values." in done.output


PLAIN = ("format", "separator", "header", "array", "use_rep", "impute")


def shop(n):
    """A table with text of all kinds, and gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"c{i:06}" for i in range(n)], "a": rng.normal(size=n)})
    frame["b"] = rng.normal(size=n) * 300
    frame["paid"] = [f"${value:,.2f}" for value in rng.gamma(2, 900, n)]
    frame["member"] = rng.choice(["yes", "no"], n)
    frame["city"] = rng.choice(["Lima", "Oslo", "Rome"], n, p=[0.2, 0.3, 0.5])
    frame["age"] = np.where(rng.random(n) < 0.02, -999, rng.integers(18, 90, n))
    frame.loc[rng.random(n) < 0.01, ["city"]] = np.nan
    return frame


@pytest.mark.parametrize("scale", ["auto", "none", "robust", "minmax"])
def test_blocks_hold_what_the_whole_table_would(tmp_path, scale):
    from clustertrust.cli.blocks import open_table, prepare_table
    from clustertrust.cli.options import ReadOptions
    from clustertrust.cli.points import read_points

    frame, path = shop(600), str(tmp_path / "x.csv")
    frame.to_csv(path, index=False)
    columns = ReadOptions(**dict.fromkeys(PLAIN), id="name", scale=scale)
    whole = read_points(path, columns)
    table = prepare_table(open_table(path, columns), path, columns)
    found = np.concatenate([block.X for block in table.blocks(97)])
    assert table.columns == list(whole.X.columns)
    assert {"city=Oslo", "paid", "member"} <= set(table.columns)
    assert_array_equal(found, whole.X.to_numpy())
    assert table.preparer.plan_ == whole.plan


def test_text_in_blocks_is_turned_into_numbers_and_predicted_so(tmp_path):
    frame, path = shop(ROWS), tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    typed = [path, "-k", "3", "--runs", "4", "--id", "name", "--memory", "1"]
    done = run("score", *typed, "--out", tmp_path / "s.csv", "--model", tmp_path / "m")
    assert "As categories: city." in done.output
    assert "they take the column's mean (of categories, their shares); rows" in done.output
    scores = pd.read_csv(tmp_path / "s.csv")
    assert scores["score"].notna().all()
    frame.head(50).to_csv(tmp_path / "new.csv", index=False)
    new = [tmp_path / "new.csv", "--id", "name", "--out", tmp_path / "p.csv"]
    run("predict", tmp_path / "m", *new)
    assert_array_equal(pd.read_csv(tmp_path / "p.csv")["label"], scores["label"][:50])


LAYOUTS = {
    "semicolon": (";", "utf-8", "", ["--separator", ";"], "semicolons between the fields"),
    "utf-16": (",", "utf-16", "", ["--encoding", "utf-16"], "as utf-16 text"),
    "windows": ("|", "cp1252", "", ["--encoding", "cp1252"], "as cp1252 text; bars between"),
    "title": (",", "utf-8", "Sales of 2024\n\n", ["--skip-rows", "2"], "2 lines above the names"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_text_in_blocks_is_laid_out_as_it_is(tmp_path, layout):
    separator, encoding, title, typed, told = LAYOUTS[layout]
    frame = shop(600).rename(columns={"city": "größe"})  # not the same in all encodings
    options = ["-k", "3", "--runs", "2", "--id", "name", "--drop", "paid"]
    for name in ("plain", "other"):  # folders, which are read in blocks
        (tmp_path / name).mkdir()
    (tmp_path / "plain" / "x.csv").write_bytes(frame.to_csv(index=False).encode())
    text = title + frame.to_csv(index=False, sep=separator)
    (tmp_path / "other" / "x.csv").write_bytes(text.encode(encoding))
    written = []
    for name, more in (("plain", ()), ("other", ()), ("other", typed)):
        done = run("score", tmp_path / name, *options, *more, "--out", tmp_path / "s.csv")
        assert "passes over" in done.output  # in blocks
        assert (told in done.output) == (name == "other" and not more)
        # Results are written as the data are.
        mark = "," if name == "plain" else separator
        written.append((tmp_path / "s.csv").read_text(encoding="utf-8").replace(mark, ","))
    assert written[0] == written[1] == written[2]


def _as_r_writes(table):
    """A table whose rows have names, and the names no column name."""
    names, *lines = table.to_csv(index=False).splitlines()
    return "\n".join([names, *(f"r{i},{line}" for i, line in enumerate(lines))])


FORMS = {
    "blanks": lambda table: table.rename(columns={"a": " a ", "b": "b "}).to_csv(index=False),
    "no names": lambda table: table[["a", "b"]].to_csv(index=False, header=False),
    "names of rows": _as_r_writes,
    "tabs": lambda table: table.to_csv(index=False, sep="\t"),
    "decimal commas": lambda table: table.to_csv(index=False, sep=";", decimal=","),
    "byte order mark": lambda table: f"\ufeff{table.to_csv(index=False)}",
    "windows": lambda table: table.to_csv(index=False, lineterminator="\r\n"),
    "quotes": lambda table: table.to_csv(index=False, quoting=1),
    "late texts": lambda table: table.assign(
        b=[*table["b"].astype(str)[:-3], "n/a", "?", "-"]
    ).to_csv(index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_large_text_is_read_as_a_small_one(tmp_path, form):
    rng = np.random.default_rng(0)
    side = rng.integers(3, size=6000)
    table = pd.DataFrame(rng.normal(size=(6000, 2)) + 9 * side[:, None], columns=["a", "b"])
    table["town"] = np.array(["Bonn", "Rome", "Oslo"])[side]
    (tmp_path / "x.csv").write_bytes(FORMS[form](table).encode())
    plans, tops = [], []
    for memory in ("1000", "1"):
        out = tmp_path / f"{memory}.csv"
        options = ["-k", "3", "--runs", "2", "--geometry", "rms", "--only-scores", "--json"]
        done = run("score", tmp_path / "x.csv", *options, "--memory", memory, "--out", out)
        found = json.loads(done.stdout)
        assert ("passes" in found) == (memory == "1")
        plans.append(json.dumps(found["plan"]).replace("Unnamed: 0", "id"))
        tops.append(out.read_text(encoding="utf-8").splitlines()[0].replace("Unnamed: 0", "id"))
        assert len(out.read_text(encoding="utf-8").splitlines()) == 6001
    if form != "names of rows":  # which are called id in a small one
        assert plans[0] == plans[1]
    assert tops[0] == tops[1]


def test_a_wrong_encoding_in_blocks_says_what_to_name(tmp_path):
    (tmp_path / "parts").mkdir()
    shop(50).to_csv(tmp_path / "parts" / "x.csv", index=False, encoding="utf-16")
    told = run("score", tmp_path / "parts", "-k", "3", "--encoding", "utf-8", code=1).stderr
    assert "x.csv" in told
    assert "--encoding" in told


def test_robust_scales_of_an_array_in_blocks_are_measured(tmp_path):
    from clustertrust.cli.blocks import open_table, prepare_table
    from clustertrust.cli.options import ReadOptions

    X = np.random.default_rng(0).normal(5, [1, 100], (300, 2))
    np.save(tmp_path / "x.npy", X)
    path = str(tmp_path / "x.npy")
    columns = ReadOptions(**dict.fromkeys(PLAIN), scale="robust")
    table = prepare_table(open_table(path, columns), path, columns)
    found = np.concatenate([block.X for block in table.blocks(97)])
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    assert_allclose(
        found, np.clip((X - np.median(X, axis=0)) / (high - low) * 1.349, -5, 5), rtol=1e-3
    )


def test_the_page_shows_the_sample_under_its_names_and_as_it_was_read(table, tmp_path, monkeypatch):
    from clustertrust.cli import writing

    monkeypatch.setattr("clustertrust.streaming.stream.SAMPLE_POINTS", 1000)
    seen = {}

    def write_page(path, scores, points, *, title, **options):
        seen.update(
            ids=points.ids, unscaled=points.unscaled, X=points.X, rows=scores.index, title=title
        )
        path.write_text("")

    monkeypatch.setattr(writing, "write_page", write_page)
    run("score", table / "x.csv", *OPTIONS, "--standardize", "--report", tmp_path / "r.html")
    frame = pd.read_csv(table / "x.csv", dtype={"name": str}).set_index("name")
    assert len(seen["ids"]) == 1000
    assert seen["rows"].equals(seen["ids"])
    assert_allclose(seen["unscaled"], frame.loc[seen["ids"], list("abcd")], atol=1e-9)
    assert not np.allclose(seen["X"], seen["unscaled"], atol=0.1)
    assert f"a sample of 1,000 of the {ROWS:,} rows of x.csv" in seen["title"]


# What files may be like


def test_a_column_without_a_name_can_name_the_rows(table, tmp_path):
    frame = pd.read_csv(table / "x.csv").drop(columns=["name", "kind"])
    frame.to_csv(tmp_path / "x.csv")  # row numbers in front
    typed = [tmp_path / "x.csv", "-k", "3", "--runs", "2", "--memory", "1"]
    typed += ["--only-scores", "--out", tmp_path / "s.csv"]
    for told in ([], ["--id", "Unnamed: 0"], ["--drop", "Unnamed: 0"]):
        run("score", *typed, *told)
        assert_array_equal(pd.read_csv(tmp_path / "s.csv").iloc[:, 0], np.arange(ROWS))


def test_names_of_rows_may_be_missing_in_a_later_block(table, tmp_path):
    frame = pd.read_csv(table / "x.csv").drop(columns="kind")
    frame["name"] = frame["name"].astype("float64").where(np.arange(ROWS) != ROWS - 1)
    path = tmp_path / "x.parquet"
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = pa.array(frame["name"], from_pandas=True).cast(pa.int64())
    parquet.write_table(pa.table({"name": names} | {c: frame[c] for c in "abcd"}), path)
    typed = ["-k", "3", "--runs", "4", "--memory", "1", "--id", "name"]
    run("score", path, *typed, "--out", tmp_path / "s.parquet")
    names = parquet.read_table(tmp_path / "s.parquet")["name"]
    assert names.type == pa.int64()
    assert names.to_pylist() == [*range(ROWS - 1), None]


def test_text_in_the_last_block_is_told(table, tmp_path):
    text = (table / "x.csv").read_text().rstrip("\n")
    (tmp_path / "x.csv").write_text(text[: text.rindex(",")] + ",x\n000000,1,2,oops,4,x\n")
    done = run("score", tmp_path / "x.csv", *OPTIONS, "--out", tmp_path / "s.csv")
    assert "Note on c: 1 text, 'oops', is taken as missing." in done.output
    assert "Missing values: c 1;" in done.output


def test_summary_counts_ties_and_a_cluster_that_comes_late():
    tally = Tally(Cut(0.5, "given"))
    for label in (0, 0, 1):
        block = pd.DataFrame(
            {
                "label": [label] * 2,
                "rival": 0,
                "score": [0.2, 0.8],
                "stability": 1.0,
                "geometry": 0.5,
            }
        )
        reason = pd.Categorical(["boundary", "core"], categories=REASONS)
        tally.add(block.assign(margin=1.0, reason=reason))
    found = tally.summary()
    clusters, scores = found.clusters, found.scores
    assert found.reasons.to_dict() == {"core": 3, "boundary": 3}
    assert clusters["points"].tolist() == [4, 2]
    assert clusters["up to 0.5"].tolist() == [0.5, 0.5]
    assert scores[["minimum", "maximum"]].tolist() == [0.2, 0.8]
    assert found.ambiguous["score"].tolist()[:3] == [0.2] * 3


def test_summary_leaves_points_without_a_score_out_of_the_means():
    tally = Tally(Cut(0.5, "given"))
    block = pd.DataFrame(
        {"label": [0, 0], "rival": 0, "score": [0.2, np.nan], "stability": [0.4, np.nan]}
    )
    reason = pd.Categorical(["fringe", "unassigned"], categories=REASONS)
    tally.add(
        block.assign(geometry=[0.1, np.nan], consensus_strength=1.0, margin=1.0, reason=reason)
    )
    found = tally.summary()
    assert found.clusters.loc[0].round(6).tolist() == [2, 0.2, 0.4, 0.1, 0.5]
    assert found.reasons.to_dict() == {"fringe": 1, "unassigned": 1}


def test_summary_takes_each_mean_over_what_is_known():
    # One run alone assigns the second point: it has a silhouette, and no score.
    tally = Tally(Cut(0.5, "given"))
    block = pd.DataFrame(
        {"label": [0, 0], "rival": 0, "score": [0.2, np.nan], "stability": [0.4, np.nan]}
    )
    reason = pd.Categorical(["fringe", "unassigned"], categories=REASONS)
    tally.add(block.assign(geometry=[0.1, 0.5], consensus_strength=1.0, margin=1.0, reason=reason))
    assert tally.summary().clusters.loc[0].round(6).tolist() == [2, 0.2, 0.4, 0.3, 0.5]


@pytest.mark.parametrize("memory", [["--memory", "1"], []])
def test_clusters_that_the_consensus_leaves_empty_are_named(tmp_path, memory):
    """A few points far out, which runs join to different clusters, or make a cluster of."""
    X = make_blobs(9990, 4, centers=3, cluster_std=1, random_state=0)[0]
    X = np.vstack([X, np.random.default_rng(0).uniform(-60, 60, size=(10, 4))])
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "x.csv", index=False)
    typed = ["-k", "4", "--runs", "8", "--geometry", "rms", "--scale", "none", *memory]
    done = run("score", tmp_path / "x.csv", *typed)
    assert "Note: Cluster 3 has no point: some runs found such a cluster" in done.stdout
    assert (" passes over " in done.stdout) == bool(memory)


def test_runs_of_several_k_are_told_as_in_memory(table):
    done = run("score", table / "x.csv", *OPTIONS, "-k", "2:4", "--agreement", "jaccard")
    assert ", 4 runs of 2 to 3 clusters, rms silhouettes; " in done.stdout


def test_summary_of_nothing_but_points_without_a_score():
    tally = Tally(Cut(0.5, "given"))
    block = pd.DataFrame(
        {"label": [0, 0], "rival": 0, "score": np.nan, "stability": np.nan, "geometry": np.nan}
    )
    reason = pd.Categorical(["unassigned"] * 2, categories=REASONS)
    tally.add(block.assign(consensus_strength=1.0, margin=1.0, reason=reason))
    assert tally.summary().scores.isna().all()


# Killed


def test_killed_twice_leaves_no_half_file_and_ends_with_the_same_bytes(table, tmp_path):
    """While runs are fitted, and while scores are written."""
    typed = ["score", str(table / "x.csv"), *OPTIONS, "--jobs", "1", "--out", "s.csv"]
    typed += ["--model", "m.model", "--checkpoint", "runs"]
    whole, killed = tmp_path / "whole.csv", tmp_path / "killed"
    run(*typed[:-6], "--out", whole)
    killed.mkdir()
    for begun in ("runs/run-*", ".clustertrust-*/s.csv"):
        running = process(*typed, cwd=killed)
        while not list(killed.glob(begun)) and running.poll() is None:
            time.sleep(0.005)
        running.kill()
        assert running.wait() == -signal.SIGKILL
        assert not (killed / "s.csv").exists()
    _, said = process(*typed, cwd=killed).communicate(timeout=300)
    assert said == ""
    assert (killed / "s.csv").read_bytes() == whole.read_bytes()
    assert list(killed.glob("runs/run-*"))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("levels", [["who"], [None], ["plot", "place"], ["score"]])
def test_the_index_of_a_file_is_treated_in_blocks_as_in_memory(table, tmp_path, suffix, levels):
    pa = pytest.importorskip("pyarrow")
    frame = pd.read_csv(table / "x.csv", usecols=list("abcd"))
    parts = np.random.default_rng(0).permutation(ROWS) if len(levels) == 1 else np.arange(ROWS)
    keys = [parts] if len(levels) == 1 else [parts // 50, parts % 50]
    arrow = pa.Table.from_pandas(frame.set_index(pd.MultiIndex.from_arrays(keys, names=levels)))
    if len(levels) == 1:
        arrow = pa.Table.from_pandas(frame.set_index(pd.Index(parts, name=levels[0])))
    path = tmp_path / f"x.{suffix}"
    if suffix == "parquet":
        pa.parquet.write_table(arrow, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, arrow.schema) as writer:
            writer.write_table(arrow, max_chunksize=2000)
    plans, scores = [], []
    for memory in ("1", "1024"):
        out = tmp_path / f"{memory}.csv"
        typed = ["-k", "3", "--runs", "4", "--geometry", "rms", "--json", "--only-scores"]
        typed = typed[:-1] if memory == "1" else typed
        done = run("score", path, *typed, "--memory", memory, "--out", out)
        columns = json.loads(done.output)["plan"]["columns"]
        plans.append([(c["name"], c["use"]) for c in columns if c["use"] not in ("id", "ignored")])
        scores.append(pd.read_csv(out))
    assert plans[0] == plans[1]
    blocks, whole = scores
    assert list(blocks.columns) == list(whole.columns)
    first = {"who": "who", None: "id", "plot": "row", "score": "score_input"}[levels[0]]
    assert blocks.columns[0] == first
    assert_array_equal(blocks[first], np.arange(ROWS) if first == "row" else parts)
    assert_array_equal(blocks[first], whole[first])
