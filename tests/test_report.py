import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from extras import extra
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from unpacking import unpack, unpack_index

from clustertrust import CAKE, confidence
from clustertrust._views import principal_components
from clustertrust.displays import ScoreScatterDisplay
from clustertrust.report import build_report, details, write_report
from clustertrust.report.packing import pack, pack_index

pl, figure = extra("polars"), extra("matplotlib.figure")

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u2028&amp;"


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def cake(iris):
    return CAKE(3, random_state=0).fit(iris)


def table(**columns):
    return pd.DataFrame({"label": [0, 0, 1, 1], "score": [0.9, 0.1, 0.5, np.nan]} | columns)


def points(contents):
    """(n, 2) coordinates of the drawn points, as the page puts them on its axes."""
    view = contents["view"]
    share = np.column_stack([unpack(view["x"]), unpack(view["y"])]).astype(float)
    low, high = np.array(view["low"]), np.array(view["high"])
    return low + share * (high - low)


def embedded(page):
    """The contents that a page holds."""
    return json.loads(re.search(r'id="contents">(.*?)</script>', page, re.DOTALL).group(1))


# Packing


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "u4"])
def test_arrays_come_back(dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    packed = json.loads(json.dumps(pack(array, dtype)))
    assert_array_equal(unpack(packed), array)


@pytest.mark.parametrize(
    ("index", "kind", "names"),
    [
        (pd.RangeIndex(3, 9, 2), "range", ["3", "5", "7"]),
        (pd.Index([10, -4, 2**53 - 1]), "numbers", ["10", "-4", str(2**53 - 1)]),
        # A double cannot tell 2**53 from 2**53 + 1.
        (pd.Index([10, 2**53]), "texts", ["10", str(2**53)]),
        (pd.Index([0, 2**64 - 1], dtype=np.uint64), "texts", ["0", str(2**64 - 1)]),
        (pd.Index(["007", HOSTILE, "ü"]), "texts", ["007", HOSTILE, "ü"]),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), "texts", ["a / 1", "b / 2"]),
    ],
)
def test_names_of_points_come_back(index, kind, names):
    packed = json.loads(json.dumps(pack_index(index)))
    assert packed["kind"] == kind
    assert unpack_index(packed, len(index)) == names


# Contents


def test_contents_are_the_table(cake, iris):
    frame = cake.to_frame()
    contents = build_report(
        frame, iris, votes=pd.DataFrame(cake.votes_), threshold=0.25, title="Iris"
    )
    json.dumps(contents, allow_nan=False)
    assert (contents["n"], contents["threshold"], contents["title"], contents["id_name"]) == (
        150,
        0.25,
        "Iris",
        "id",
    )
    assert contents["clusters"] == ["0", "1", "2"]
    assert contents["drawn"] is None
    assert_array_equal(unpack(contents["labels"]), cake.labels_)
    # Every bit, so that counts agree.
    assert_array_equal(unpack(contents["rows"]["score"]), cake.scores_)
    assert_array_equal(unpack(contents["rows"]["rival"]), cake.rival_)
    for name in (
        "standard_error",
        "stability",
        "geometry",
        "silhouette_mean",
        "silhouette_std",
        "consensus_strength",
    ):
        assert_allclose(unpack(contents["rows"][name]), frame[name], rtol=1e-6, err_msg=name)


def test_the_same_input_gives_the_same_file(cake, iris, tmp_path):
    for name in ("a", "b"):
        cake.report(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_reasons_are_those_of_explain():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 2.5])
    runs = [(X[:, 0] > cut).astype(int) for cut in (1.0, 1.3, 0.2, 2.4, -0.5)]
    runs = np.array(runs).T
    runs[3] = -1  # a point without a score
    with pytest.warns(UserWarning, match="fewer than two runs"):
        result = confidence(X, runs)
    told = build_report(result.to_frame())["reasons"]
    # At a threshold of 1 nothing is kept, and what is told is what would speak against each point.
    assert [told["names"][code] for code in unpack(told["of"])] == [
        result.explain(i, 1).reason for i in range(len(X))
    ]
    assert len(np.unique(unpack(told["of"]))) >= 3


def test_reasons_claim_nothing_that_a_file_does_not_hold():
    columns = {"stability": [1.0, 0.2, 1.0, 1.0], "geometry": [0.9, 0.0, 0.0, 0.7]}
    contents = build_report(table(**columns))
    names = [contents["reasons"]["names"][code] for code in unpack(contents["reasons"]["of"])]
    # S̃ of 0 without silhouettes: mostly a border.
    assert names == ["fringe", "boundary", "boundary", "unassigned"]
    assert build_report(table())["reasons"] is None


def test_the_largest_votes_are_kept_in_order():
    votes = pd.DataFrame(np.eye(4)[:, [0, 1, 2, 3]] * 0.4, columns=["1", "0", "5", "6"])
    votes.loc[0] = [0.1, 0.2, 0.3, 0.4]
    contents = build_report(table(), votes=votes)
    # Columns of a file are text; 0 and 1 are those of the labels.
    assert contents["clusters"] == ["0", "1", "5", "6"]
    assert unpack(contents["votes"]["clusters"])[0].tolist() == [3, 2, 0, 1]
    assert_allclose(unpack(contents["votes"]["shares"])[0], [0.4, 0.3, 0.2, 0.1], rtol=1e-6)
    assert unpack(contents["votes"]["clusters"])[1, 0] == 0


def test_labels_of_a_file_read_back(tmp_path):
    result = confidence(
        [[0.0], [1.0], [5.0], [8.0]],
        [["a", "a", "b", None], ["a", "a", "b", "b"], ["a", "b", "b", "b"]],
    )
    file = tmp_path / "scores.csv"
    result.to_frame().to_csv(file)
    contents = build_report(pd.read_csv(file, index_col=0))
    assert contents["clusters"] == ["a", "b"]
    assert [contents["clusters"][code] for code in unpack(contents["labels"])] == result.to_frame()[
        "label"
    ].tolist()
    gaps = pd.DataFrame(
        {"label": [2.0, np.nan, 10.0], "score": [0.5, np.nan, 1.0], "rival": [10.0, np.nan, np.nan]}
    )
    contents = build_report(gaps)
    assert contents["clusters"] == ["2", "10"]
    assert unpack(contents["labels"]).tolist() == [0, -1, 1]
    assert unpack(contents["rows"]["rival"]).tolist() == [1, -1, -1]


# Where the points are drawn


def test_two_columns_are_drawn_as_they_are():
    X = pd.DataFrame({"time": 1.7e9 + np.array([0.0, 1.0, 2.0, 3.0]), "b": [5.0, 5.0, 5.0, 6.0]})
    contents = build_report(table(), X)
    assert contents["view"]["names"] == ["time", "b"]
    # 32 bits alone would be off by 128.
    assert_allclose(points(contents), X.to_numpy(), rtol=0, atol=1e-6)


def test_more_columns_are_drawn_by_principal_components(cake, iris):
    contents = build_report(cake.to_frame(), iris)
    assert_allclose(points(contents), PCA(2).fit_transform(iris), atol=1e-5)
    assert contents["view"]["names"][0] == "principal component 1 (92% of the variance)"
    assert "principal components of 4 columns" in contents["notes"][0]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_page_and_scatter_place_the_same_data_alike(cake, iris, kind):
    # Far from the origin, where directions through it are not those of the largest variance.
    X = iris.to_numpy() + np.array([0.0, 0.0, 20.0, 0.0])
    data = sparse.csr_array(X) if kind == "sparse" else X
    contents = build_report(cake.to_frame(), data)
    shown = ScoreScatterDisplay.from_estimator(cake, data, ax=figure.Figure().add_subplot())
    expected = PCA(2).fit_transform(X)
    assert_allclose(points(contents), expected, atol=1e-5)
    assert_allclose(shown.points, expected, atol=1e-9)
    assert tuple(contents["view"]["names"]) == shown.axis_names
    assert shown.axis_names[0] == "principal component 1 (92% of the variance)"


def test_sparse_data_of_many_columns_and_of_none_that_differ():
    dense = np.random.default_rng(0).poisson(0.2, size=(400, 60)).astype(float)
    dense[:200, :20] += 2
    xy, shares = principal_components(sparse.csr_array(dense))
    pca = PCA(2).fit(dense)
    # The second is noise, and not sought to the end.
    assert_allclose(xy[:, 0], pca.transform(dense)[:, 0], atol=1e-6)
    assert_allclose(shares, pca.explained_variance_ratio_, rtol=0.02)
    for same in (np.ones((5, 3)), np.zeros((5, 3)), np.ones((2, 3))):
        xy, shares = principal_components(sparse.csr_array(same))
        assert_allclose(xy, 0.0, atol=1e-12)
        assert_array_equal(shares, 0.0)


def test_an_embedding_goes_before_the_data(cake, iris):
    xy = np.random.default_rng(0).normal(size=(150, 2))
    contents = build_report(cake.to_frame(), iris, embedding=pd.DataFrame(xy, columns=["u", "v"]))
    assert_allclose(points(contents), xy, atol=1e-5)
    assert contents["view"]["names"] == ["u", "v"]
    assert contents["values"]["columns"] == list(iris.columns)


def test_without_data_the_plane_is_drawn(cake):
    contents = build_report(cake.to_frame())
    assert contents["view"]["is_plane"]
    assert_allclose(points(contents), np.column_stack([cake.geometry_, cake.stability_]), atol=1e-6)
    assert "The data were not given" in contents["notes"][0]


def test_with_labels_and_scores_alone_there_is_a_band_for_each_cluster():
    contents = build_report(pd.DataFrame({"label": [0, 1, 1], "score": [0.2, 0.4, 0.6]}))
    xy = points(contents)
    assert_allclose(xy[:, 0], [0.2, 0.4, 0.6], atol=1e-6)
    assert_array_equal(np.round(xy[:, 1]), [0, 1, 1])


def test_rows_with_missing_values_are_told_and_not_drawn():
    X = np.array([[0.0, 1, 2], [1, 2, 0], [np.nan, 1, 1], [3, 1, 4]])
    contents = build_report(table(), X)
    assert np.isnan(points(contents)).any(axis=1).tolist() == [False, False, True, False]
    assert "1 points have missing coordinates" in contents["notes"][-1]
    means = unpack(contents["values"]["means"])
    assert_allclose(means, [[0.5, 1.5, 1.0], [3.0, 1.0, 2.5]])


def test_sparse_data_give_the_same_values():
    X = np.array([[0.0, 1, 2], [1, 2, 0], [0, 0, 1], [3, 1, 4]])
    dense, thin = (build_report(table(), data)["values"] for data in (X, sparse.csr_matrix(X)))
    for name in ("data", "means"):
        assert_array_equal(unpack(dense[name]), unpack(thin[name]))


def test_the_most_telling_columns_are_shown(monkeypatch):
    monkeypatch.setattr(details, "MOST_COLUMNS", 2)
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 6)) * [1, 100, 1, 1, 1, 1]
    X[:, 2] += 5 * labels
    X[:, 4] -= 50 * (labels == 1)
    frame = pd.DataFrame({"label": labels, "score": rng.random(60)})
    for data in (X, sparse.csr_matrix(X)):
        values = build_report(frame, data)["values"]
        assert (values["columns"], values["of"]) == (["column 2", "column 4"], 6)
        assert_allclose(unpack(values["data"]), X[:, [2, 4]], rtol=1e-6)


def test_too_many_points_are_sampled(monkeypatch):
    monkeypatch.setattr("clustertrust.report.material.MOST_DRAWN", 100)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"label": rng.integers(0, 3, 1000), "score": rng.random(1000)})
    frame.loc[5, "score"] = np.nan
    contents = build_report(frame, rng.normal(size=(1000, 2)))
    drawn = unpack(contents["drawn"])
    assert len(np.unique(drawn)) == 100
    assert (np.diff(drawn.astype(int)) > 0).all()
    assert set(np.argsort(frame["score"].to_numpy())[:10]) <= set(drawn.tolist())
    assert len(unpack(contents["view"]["x"])) == 100
    assert len(unpack(contents["rows"]["score"])) == 1000  # the download needs them all
    assert "show 100 of 1,000 points: the 10 with the lowest scores" in contents["notes"][1]


# The file


def test_text_of_the_user_cannot_leave_its_place(tmp_path):
    frame = pd.DataFrame(
        {"label": [HOSTILE, "b"], "score": [0.1, 0.9]}, index=pd.Index([HOSTILE, "x"], name=HOSTILE)
    )
    X = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[HOSTILE, "b"])
    file = tmp_path / "report.html"
    write_report(file, frame, X, settings={HOSTILE: HOSTILE}, title=HOSTILE)
    page = file.read_text(encoding="utf-8")
    assert len(re.findall("<script", page)) == 2  # the contents and our own
    assert "<img" not in page
    assert "\u2028" not in embedded_text(page)
    contents = embedded(page)
    assert (
        contents["title"]
        == contents["id_name"]
        == contents["clusters"][0]
        == contents["settings"][0][0]
        == HOSTILE
    )


def embedded_text(page):
    return re.search(r'id="contents">(.*?)</script>', page, re.DOTALL).group(1)


def test_the_policy_allows_this_script_alone(cake, tmp_path):
    cake.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none';")
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        text = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text[-1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert "http" not in re.sub(
        r"http://www.w3.org/2000/svg|http-equiv", "", page.split('id="contents"')[0]
    )


def test_a_failed_write_leaves_the_old_file(cake, tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    file.write_text("old", encoding="utf-8")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        cake.report(file)
    assert file.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


# The methods


def test_the_report_of_an_estimator_knows_data_and_settings(cake, iris, tmp_path):
    cake.report(tmp_path / "report.html", threshold=0.3, settings={"file": "iris.csv"})
    contents = embedded((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert contents["values"]["columns"] == list(iris.columns)
    assert_allclose(unpack(contents["values"]["data"]), iris, rtol=1e-6)
    assert_allclose(unpack(contents["votes"]["shares"])[50], [0.55, 0.45, 0.0], rtol=1e-6)
    settings = dict(contents["settings"])
    expected = {
        "clusterer": "kmeans",
        "n_runs": "20",
        "random_state": "0",
        "silhouettes": "exact",
        "file": "iris.csv",
    }
    assert settings.items() >= expected.items()
    assert "seeds" not in settings
    assert contents["threshold"] == 0.3
    assert dict(contents["versions"])["numpy"] == np.__version__


def test_seeds_are_told_where_nothing_else_makes_the_runs_again(iris, tmp_path):
    cake = CAKE(3, n_runs=3).fit(iris)
    cake.report(tmp_path / "report.html")
    settings = dict(embedded((tmp_path / "report.html").read_text(encoding="utf-8"))["settings"])
    assert settings["seeds"] == ", ".join(map(str, cake.ensemble_.seeds))


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "array"])
def test_every_kind_of_data_has_a_report(kind, iris, tmp_path):
    X = {
        "pandas": iris.set_axis([f"flower {i}" for i in range(150)]),
        "polars": pl.DataFrame(iris.to_numpy(), schema=list(iris.columns)),
        "sparse": sparse.csr_matrix(iris),
        "array": iris.to_numpy(),
    }[kind]
    cake = CAKE(3, n_runs=3, random_state=0).fit(X)
    cake.report(tmp_path / "a.html")
    cake.report(tmp_path / "b.html", X)
    a, b = (embedded((tmp_path / f"{name}.html").read_text(encoding="utf-8")) for name in "ab")
    assert a == b
    assert unpack_index(a["ids"], 150)[7] == ("flower 7" if kind == "pandas" else "7")
    assert len(a["values"]["columns"]) == 4


def test_the_report_of_a_record_without_data_says_so(tmp_path):
    result = confidence([[0.0], [1.0], [5.0]], [["a", "a", "b"], ["x", "x", "y"]])
    result.report(tmp_path / "report.html")
    contents = embedded((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert contents["clusters"] == ["a", "b"]
    assert contents["view"]["is_plane"]
    told = {"runs": "2", "silhouettes": "exact", "reference run": "0", "agreement": "matching"}
    assert dict(contents["settings"]) == told


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": {"label": [1]}}, r"table is a dict; give a pandas DataFrame"),
        (
            {"table": pd.DataFrame({"label": [1]})},
            r"table has no column 'score'; its columns are \['label'\]",
        ),
        ({"table": pd.DataFrame({"label": [], "score": []})}, "table has no rows"),
        (
            {"table": pd.DataFrame([[1, 0.5, 0.5]], columns=["label", "score", "score"])},
            "more than one column",
        ),
        (
            {"table": table(score=[0.1, 1.5, 0, 0])},
            r"table\['score'\] is 1.5 in row 1; scores lie between 0 and 1",
        ),
        (
            {"table": table(score=["a", "b", "c", "d"])},
            r"table\['score'\] must be a column of numbers",
        ),
        (
            {"table": table(label=[0.5, 1, 2, 3])},
            r"table\['label'\] contains .*0.5.*, which is not a label",
        ),
        ({"threshold": 1.2}, "threshold=1.2 must be a number from 0 to 1"),
        ({"threshold": "0.5"}, "threshold='0.5' must be a number, such as 0.5"),
        ({"threshold": True}, "threshold=True must be a number, such as 0.5"),
        ({"threshold": float("nan")}, "threshold=nan keeps nothing; give a number"),
        ({"X": [[1.0], [2.0]]}, "X has 2 points and table has 4"),
        ({"X": pd.DataFrame({"a": list("abcd")})}, r"X has columns that are not numbers: \['a'\]"),
        ({"votes": np.ones((4, 2))}, "votes is a ndarray; give a pandas DataFrame"),
        ({"votes": pd.DataFrame(np.ones((3, 2)))}, "votes has 3 points and table has 4"),
        ({"votes": pd.DataFrame(np.full((4, 2), 7))}, "divide counts by the number of runs"),
        ({"votes": pd.DataFrame({"a": list("abcd")})}, "votes must be shares between 0 and 1"),
        ({"embedding": np.ones((4, 3))}, r"embedding has shape \(4, 3\); give an \(n, 2\) array"),
        ({"embedding": np.ones((3, 2))}, "embedding has 3 points and table has 4"),
        ({"embedding": [["a", "b"]] * 4}, r"embedding must be an \(n, 2\) array of numbers"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        build_report(**{"table": table()} | arguments)


def test_rows_in_another_order_are_found_out():
    named = table().set_axis(list("abcd"))
    X = pd.DataFrame(np.eye(4), index=list("abdc"))
    with pytest.raises(
        ValueError, match=r"Row 2 of X is 'd' and row 2 of table is 'c'.*X.loc\[table.index\]"
    ):
        build_report(named, X)
    build_report(named, X.loc[named.index])
    build_report(named, X.reset_index(drop=True))
    with pytest.raises(ValueError, match="Row 2 of votes"):
        build_report(named, votes=X)
    with pytest.raises(
        ValueError, match=r"Row 2 of embedding is 'd'.*embedding.loc\[table.index\]"
    ):
        build_report(named, embedding=X.iloc[:, :2])
    build_report(named, embedding=X.iloc[:, :2].loc[named.index])


def test_clusters_come_in_the_order_of_a_person():
    names = ["group 10", "group 2", "a", "group 1", 3, 20]
    frame = pd.DataFrame({"label": names, "score": 0.5})
    expected = ["3", "20", "a", "group 1", "group 2", "group 10"]
    assert build_report(frame)["clusters"] == expected


def test_text_in_the_data_is_shown_by_original(tmp_path):
    table = pd.DataFrame({"label": [0, 1], "score": [0.5, 0.6]})
    X = pd.DataFrame({"size": [1.0, 2.0], "city": ["Rome", "Oslo"]})
    with pytest.raises(ValueError, match=r"not numbers: \['city'\]\. Show .* original=…"):
        write_report(tmp_path / "page.html", table, X)
    write_report(tmp_path / "page.html", table, X[["size"]], original=X)


def test_an_option_that_a_page_does_not_have_is_an_error(tmp_path):
    with pytest.raises(TypeError, match=r"'titel' is not an option of a page; choose from .*title"):
        build_report(table(), titel="Iris")
    cake = CAKE(3, n_runs=3, random_state=0).fit(load_iris().data)
    for source in (cake, cake.confidence_):
        with pytest.raises(TypeError, match="'titel' is not an option"):
            source.report(tmp_path / "page.html", titel="Iris")
    assert not (tmp_path / "page.html").exists()
