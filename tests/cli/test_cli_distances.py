"""`--distances`: square tables with and without names, models of them, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from command import FAST, IDS, X, run
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from clustertrust import CAKE

D = cdist(X, X).round(6)
K = FAST
FILES = {
    "both.csv": {"index": True, "header": True},
    "header.csv": {"index": False, "header": True},
    "rows.csv": {"index": True, "header": False},
    "none.csv": {"index": False, "header": False},
}


@pytest.fixture
def squares(folder):
    table = pd.DataFrame(D, index=IDS, columns=IDS)
    for name, how in FILES.items():
        table.to_csv(name, **how)
    np.save("d.npy", D)
    table[table.columns[::-1]].to_csv("turned.csv")
    table.set_axis(range(1, 151), axis=0).set_axis(range(1, 151), axis=1).to_csv("counted.csv")
    return folder


def scores(path):
    return pd.read_csv(path)["score"].to_numpy()


@pytest.mark.parametrize("name", [*FILES, "d.npy", "turned.csv", "counted.csv"])
def test_a_square_table_is_clustered(squares, name):
    result = run("score", name, "--distances", *K, "--out", "scores.csv", "--json")
    settings = json.loads(result.stdout)["settings"]
    assert (settings["metric"], settings["clusterer"]) == ("precomputed", "kmedoids")
    own = CAKE(
        3, clusterer="kmedoids", metric="precomputed", n_runs=settings["n_runs"], random_state=0
    ).fit(D)
    assert_allclose(scores("scores.csv"), own.scores_, atol=1e-9)
    written = pd.read_csv("scores.csv")
    if name in {"both.csv", "rows.csv", "header.csv", "turned.csv"}:
        assert written["id"].tolist() == list(IDS)
    elif name == "counted.csv":
        assert written["id"].tolist() == list(range(1, 151))
    else:
        assert written["row"].tolist() == list(range(150))


def test_a_model_labels_rows_of_distances(squares):
    options = ("--out", "scores.csv", "--report", "page.html", "--plot", "p.png")
    run("score", "both.csv", "--distances", *K, "--model", "m", *options)
    assert "principal coordinates of their distances" in (squares / "page.html").read_text(
        encoding="utf-8"
    )
    new = pd.DataFrame(D[:5], index=[f"new-{i}" for i in range(5)], columns=IDS)
    new[new.columns[::-1]].to_csv("new.csv")
    run("predict", "m", "new.csv", "--out", "labels.csv")
    found = pd.read_csv("labels.csv")
    assert found["id"].tolist() == list(new.index)
    cake = CAKE.load("m")
    expected = cake.score_samples(new)
    assert_allclose(found["score"], expected, atol=1e-9)
    new.iloc[:, :7].to_csv("few.csv")
    result = run("predict", "m", "few.csv", code=1)
    assert "the model was fitted on 150 points" in result.stderr
    run("score", "none.csv", "--distances", *K, "--model", "bare")
    pd.DataFrame(D[:5]).to_csv("bare.csv", index=False, header=False)
    run("predict", "bare", "bare.csv", "--no-header", "--out", "labels.csv")
    assert_allclose(scores("labels.csv"), expected, atol=1e-9)


def test_labels_are_audited_by_distances(squares):
    given = CAKE(3, clusterer="kmedoids", metric="precomputed", random_state=0).fit(D).labels_
    pd.DataFrame({"label": given}).to_csv("labels.csv", index=False)
    run("score", "both.csv", "--distances", "--labels", "labels.csv", "--out", "scores.csv")
    assert "suggested" in pd.read_csv("scores.csv").columns


def test_another_clusterer(squares):
    result = run("score", "d.npy", "--distances", "--clusterer", "leiden", "--runs", "4", "--json")
    assert json.loads(result.stdout)["settings"]["clusterer"] == "leiden"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("plain.csv", "--distances", *K), 1, "is 150 × 4: a table of distances is square"),
        (("both.csv", "--distances", *K, "--clusterer", "kmeans"), 1, "choose one of"),
        (("both.csv", "--distances", *K, "--metric", "cosine"), 2, "--metric cosine"),
        (("both.csv", "--distances", *K, "--drop", "a"), 2, "leave out --drop"),
        (("both.csv", "--distances", *K, "--category", "a"), 2, "leave out --category"),
        (("both.csv", "--distances", *K, "--scale", "standard"), 2, "leave out --scale"),
        (("both.csv", "--distances", "--labels-column", "a"), 2, "every column is a point"),
        (("bad.csv", "--distances", *K), 1, "same in both directions"),
        (("lost.csv", "--distances", *K), 1, "name the same points"),
        (("long.npy", "--distances", *K), 1, "is 150 × 3: a table of distances is square"),
    ],
)
def test_what_is_refused(squares, arguments, code, message):
    bad = pd.DataFrame(D, index=IDS, columns=IDS)
    bad.iloc[0, 1] += 5
    bad.to_csv("bad.csv")
    pd.DataFrame(D, index=IDS, columns=["other", *IDS[1:]]).to_csv("lost.csv")
    np.save("long.npy", D[:, :3])
    result = run("score", *arguments, code=code)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
