"""The default threshold: what data without clusters rarely exceed."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import scale

import clustertrust.chance
from clustertrust import CAKE, Combined, Runs, audit, confidence
from clustertrust._notebook import confidence_html
from clustertrust.cli import cli
from clustertrust.reasons import NO_STRUCTURE, Chance, NullScores, cut, first_threshold
from clustertrust.report import build_report

WINE = scale(load_wine().data)
NOISE = np.random.default_rng(0).normal(size=(600, 6))


@pytest.fixture
def asked(monkeypatch):
    """How often chance was computed."""
    calls = []
    level = clustertrust.chance.chance_level

    def count(*args):
        calls.append(args)
        return level(*args)

    monkeypatch.setattr(clustertrust.chance, "chance_level", count)
    return calls


def halves(X, rng):
    """Cut at a random quantile of the first column."""
    return (X[:, 0] > np.quantile(X[:, 0], rng.uniform(0.2, 0.8))).astype(int)


def by_hand(X, k, draws=5):
    """The larger 95 % quantile of scores of Gaussian data and of boxes, made in another way."""
    rng = np.random.default_rng(12)
    mean, spread = X.mean(axis=0), np.cov(X.T)
    values, axes = np.linalg.eigh(spread)
    sides = np.sqrt(12 * np.maximum(values, 0))
    gaussians = [rng.multivariate_normal(mean, spread, len(X)) for _ in range(draws)]
    boxes = [(rng.uniform(-0.5, 0.5, X.shape) * sides) @ axes.T for _ in range(draws)]
    cake = CAKE(k, n_runs=10, random_state=1)
    levels = [
        np.quantile(np.concatenate([cake.fit(drawn).scores_ for drawn in kind]), 0.95)
        for kind in (gaussians, boxes)
    ]
    return max(levels)


def test_chance_is_the_larger_quantile_of_scores_of_data_without_clusters():
    for X, k in ((WINE, 3), (NOISE[:300, :2], 4)):
        found = CAKE(k, n_runs=10, random_state=0).fit(X).confidence_.cut()
        assert found.rule == "chance"
        assert found.chance == pytest.approx(by_hand(X, k), abs=0.08)
        assert round(found.chance, 2) == found.chance


# Shapes without clusters, and those for which the fusion takes more than two components
@pytest.mark.parametrize("fusion", ["harmonic", "refined", "combined"])
def test_noise_is_seldom_kept(fusion):
    rng = np.random.default_rng(3)
    ball = rng.normal(size=(300, 3))
    ball *= rng.uniform(size=(300, 1)) ** (1 / 3) / np.linalg.norm(ball, axis=1, keepdims=True)
    draws = {
        "ball": ball,
        "box": rng.uniform(size=(300, 4)),
        "gaussian": rng.normal(size=(300, 5)),
        "correlated": rng.normal(size=(300, 3)) @ [[1, 0, 0], [0.8, 0.5, 0], [0.2, 0.3, 0.4]],
        "t3": rng.standard_t(3, size=(300, 4)),
        "likert": rng.integers(1, 6, size=(300, 6)).astype(float),
    }
    shares = {
        (name, k): CAKE(k, fusion=fusion, random_state=0).fit(X).confidence_.cut().share
        for name, X in draws.items()
        for k in (2, 4)
    }
    assert np.mean([*shares.values()]) <= 0.1
    # Half of the median keeps three quarters and more of each.
    assert sum(share > NO_STRUCTURE for share in shares.values()) <= 2, shares


def test_nothing_is_core_in_noise_and_the_verdict_comes_first():
    cake = CAKE(3, random_state=0).fit(NOISE)
    assert "core" not in set(cake.to_frame()["reason"])
    assert cake.summary().startswith("No structure: scores are no higher than in data without")
    assert "try choose_k, or another clusterer." in cake.summary()
    assert cake.explain(0).reason != "core"
    assert "; nothing is core, since data without clusters reach" in str(cake.explain(0))
    assert "\nBy reason (nothing is core, since data without clusters reach" in cake.summary()
    assert "up to 1" not in cake.summary()  # the share that is not kept
    flat = CAKE(4, random_state=0).fit(np.random.default_rng(0).uniform(size=(400, 2)))
    fringe = flat.explain(int(np.flatnonzero(flat.to_frame()["reason"] == "fringe")[0]))
    assert str(fringe).endswith("and it lies inside its cluster, but nothing is core.")
    # what was asked for stands
    assert (cake.to_frame(threshold=0)["reason"] == "core").mean() > 0.9


@pytest.mark.parametrize("kind", ["labels", "distances"])
def test_where_there_is_no_verdict_that_comes_first(kind):
    X = NOISE[:150]
    found = (
        confidence(X, [KMeans(3, n_init=1, random_state=r).fit(X).labels_ for r in range(4)])
        if kind == "labels"
        else CAKE(3, clusterer="kmedoids", metric="precomputed", n_runs=4, random_state=0)
        .fit(pairwise_distances(X))
        .confidence_
    )
    assert found.summary().startswith("Not tested for structure: ")
    assert "Not tested for structure: " in confidence_html(found)
    assert found.cut().rule == "median"


def test_a_chance_of_zero_has_no_sign():
    """Nearly every point is alone in its cluster, and scores 0."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    cut = CAKE(30, n_runs=3, random_state=0).fit(X).confidence_.cut()
    assert str(cut.chance) == "0.0"
    assert cut.origin == ", since data without clusters reach 0 too"


def test_clusters_are_found_and_said_to_be_there():
    cake = CAKE(3, random_state=0).fit(WINE)
    found = cake.confidence_.cut()
    kept = cake.scores_ > found.threshold
    assert kept.mean() == found.share > 0.4
    assert cake.summary().startswith(f"Clear structure: {found.share:.0%} of the rows score above")
    right = [np.bincount(load_wine().target[kept & (cake.labels_ == k)]).max() for k in range(3)]
    assert sum(right) / kept.sum() > 0.97
    assert f"above {found.chance:g}, which data without clusters rarely exceed)" in cake.summary()
    assert set(cake.to_frame()["reason"][kept]) == {"core"}


@pytest.mark.parametrize(
    ("share", "said"), [(0.1, "No structure"), (0.11, "Weak structure: 11%"), (0.31, "Clear")]
)
def test_the_verdict_goes_by_the_share_above_chance(share, said):
    scores = np.where(np.arange(100) < round(100 * share), 0.8, 0.2)
    at = cut(scores, chance=0.5)
    assert at.share == share
    assert str(at.verdict).startswith(said)
    assert at.threshold == (1.0 if share <= 0.1 else 0.5)
    assert cut(scores, 0.3, chance=0.5).threshold == 0.3
    assert cut(scores, 0.3, chance=0.5).verdict == at.verdict


def test_a_rare_cluster_is_structure():
    """A tight cluster of 40 in 600 points of noise, which chance keeps: 6 % of all."""
    rng = np.random.default_rng(0)
    rare = rng.normal([6, 0, 0, 0], 0.3, size=(40, 4))
    cake = CAKE(8, random_state=0).fit(np.vstack([rng.normal(size=(600, 4)), rare]))
    found = cake.confidence_.cut()
    assert (found.structure, found.clusters, found.threshold) == ("weak", 1, found.chance)
    assert found.share < NO_STRUCTURE
    said = f"Weak structure: {found.share:.0%} of the rows score above chance ({found.chance:g}), "
    assert cake.summary().startswith(said + "but in 1 cluster most do.")
    assert set(cake.to_frame()["reason"][-40:]) == {"core"}


@pytest.mark.parametrize(
    ("size", "kept", "clusters"), [(10, 6, 1), (10, 5, 0), (9, 9, 0), (20, 20, 1)]
)
def test_a_rare_cluster_has_ten_rows_most_of_them_above_chance(size, kept, clusters):
    scores, labels = np.full(300, 0.2), np.repeat([1, -1, 0], [200, 100 - size, size])
    scores[-kept:] = scores[200:210] = 0.8
    at = cut(scores, chance=0.5, labels=labels)
    assert at.clusters == clusters
    assert at.structure == ("weak" if clusters else "none")
    assert at.threshold == (0.5 if clusters else 1.0)
    assert cut(scores, 0.3, 0.5, labels).verdict == at.verdict
    both = cut(scores, chance=0.5, labels=np.where(labels == -1, 2, labels))
    assert both.clusters == clusters


def test_it_is_computed_once_and_not_by_the_fit(asked):
    cake = CAKE(3, n_runs=4, random_state=0).fit(WINE)
    cake.predict(WINE)
    cake.score_samples(WINE)
    cake.to_frame(threshold=0.5)
    cake.explain(0, threshold=0.5)
    cake.judge(WINE, threshold=0.5)
    assert asked == []
    cake.to_frame()
    cake.summary()
    cake.explain(0)
    cake.judge(WINE)
    cake.confidence_.reasons()
    assert len(asked) == 1


def test_a_stored_model_knows_it(asked, tmp_path):
    cake = CAKE(3, n_runs=4, random_state=0).fit(WINE)
    cake.save(tmp_path / "m")
    assert len(asked) == 1
    again = CAKE.load(tmp_path / "m")
    assert again.confidence_.cut() == cake.confidence_.cut()
    assert again.summary() == cake.summary()
    assert pickle.loads(pickle.dumps(again)).summary() == cake.summary()
    assert len(asked) == 1


def test_a_pickled_model_computes_it_too():
    cake = CAKE(3, n_runs=4, random_state=0).fit(WINE)
    assert pickle.loads(pickle.dumps(cake)).confidence_.cut() == cake.confidence_.cut()


def test_it_follows_from_the_seed_alone():
    levels = [CAKE(3, random_state=0, n_jobs=n).fit(WINE).confidence_.cut() for n in (1, 2, None)]
    assert levels[0] == levels[1] == levels[2]


def test_many_points_and_a_checkpoint_cost_no_more(asked, tmp_path):
    X = make_blobs(5000, 3, centers=4, random_state=0)[0]
    runs = Runs(12, checkpoint=tmp_path / "runs")
    cake = CAKE(4, n_runs=runs, geometry="rms", random_state=0).fit(X)
    before = sorted((tmp_path / "runs").iterdir())
    assert cake.confidence_.cut().share > 0.3
    ((points, settings, _, draws),) = asked
    assert points.shape == (1000, 3)
    assert draws == 3
    assert settings.recipe.count() == 10
    assert settings.scoring.geometry.name == "rms"
    assert sorted((tmp_path / "runs").iterdir()) == before


@pytest.mark.parametrize(
    ("options", "runs", "draws", "opinions"),
    [
        ({"clusterer": "gmm"}, 4, 2, None),
        ({"fusion": "combined"}, 10, 1, 2),
        ({"fusion": Combined(n_runs=1), "clusterer": ["gmm", "kmeans"]}, 4, 1, 1),
    ],
)
def test_what_takes_long_is_done_fewer_times(asked, options, runs, draws, opinions):
    cake = CAKE(3, n_runs=12, random_state=0, **options).fit(NOISE)
    cake.confidence_.cut()
    ((_, settings, _, drawn),) = asked
    assert drawn == draws
    assert settings.recipe.count() == runs
    assert settings.scoring.fusion.get_params().get("n_runs") == opinions
    assert cake.get_params()["fusion"] == options.get("fusion", "harmonic")


@pytest.mark.parametrize("fusion", ["harmonic", "combined"])
@pytest.mark.parametrize(("n", "draws"), [(8, 15), (100, 5)])
def test_of_few_points_more_are_drawn(asked, fusion, n, draws):
    CAKE(2, fusion=fusion, n_runs=4, random_state=0).fit(NOISE[:n]).confidence_.cut()
    assert asked[0][3] == draws


def test_nothing_is_said_about_data_that_nobody_has_seen(recwarn):
    """Small runs of surrogates fail here, in threads; those of the data do not."""

    def refuses(X, rng):
        if not (X == -1.0).any():
            raise ValueError("not my data")
        return (X[:, 0] > 0).astype(int)

    X = np.vstack([NOISE[:100, :2], [-1.0, -1.0]])
    fusion = Combined(methods=[refuses, "kmeans"], n_runs=1)
    cake = CAKE(2, fusion=fusion, n_runs=4, random_state=3, n_jobs=2).fit(X)
    said = len(recwarn)
    assert cake.confidence_.cut().rule == "chance"
    assert len(recwarn) == said


def test_it_works_for_runs_that_vary_and_for_any_method():
    pytest.importorskip("igraph")
    X = make_blobs(150, centers=[[0, 0, 0], [4, 0, 0], [1, 4, 0]], random_state=0)[0]
    options = [
        {"n_runs": "auto"},
        {"resample": 0.8},
        {"vary": {"n_clusters": range(2, 5)}, "agreement": "jaccard", "n_clusters": None},
        {"clusterer": ["kmeans", "gmm"]},
        {"clusterer": "leiden", "n_clusters": None, "agreement": "jaccard"},
        {"metric": "manhattan", "clusterer": "kmedoids"},
        {"clusterer": halves, "n_clusters": None},
        {"geometry": "graph"},
        {"fusion": "combined"},
        {"fusion": Combined(methods=["gmm"])},
    ]
    for option in options:
        cake = CAKE(**{"n_clusters": 3, "n_runs": 6, "random_state": 0} | option).fit(X)
        assert cake.confidence_.cut().rule == "chance", option


def test_without_it_half_of_the_median_is_named():
    distances = squareform(pdist(WINE))
    labels = CAKE(3, n_runs=4, random_state=0).fit(WINE).ensemble_
    table = pd.DataFrame({"a": WINE[:, 0], "b": np.where(WINE[:, 1] > 0, "x", "y")})

    def of_these(X, rng):
        if len(X) == len(WINE) and np.array_equal(X, WINE):
            return rng.permuted(labels.labels[:, 0])
        raise ValueError("no other data")

    results = [
        confidence(WINE, labels),
        audit(WINE, labels.labels[:, 0], n_runs=4, random_state=0),
        CAKE(3, clusterer="kmedoids", metric="precomputed").fit(distances).confidence_,
        CAKE(3, clusterer="kmedoids", metric="gower").fit(table).confidence_,
        CAKE(3, n_runs=3).fit(sparse.csr_array(WINE)).confidence_,
        CAKE(n_runs=3, clusterer=of_these).fit(WINE).confidence_,
    ]
    for result in results:
        at = result.cut()
        assert (at.rule, at.verdict) == ("median", None)
        assert at.threshold == first_threshold(result.scores)
        assert f"above {at.threshold:g}, half of the median)" in result.summary()


def test_memory_mapped_data_have_the_cut_of_the_sample(tmp_path):
    from sklearn import config_context

    X = make_blobs(3000, 4, centers=3, random_state=1)[0]
    np.save(tmp_path / "x.npy", X)
    with config_context(working_memory=0.1):
        cake = CAKE(3, n_runs=4, random_state=0).fit(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert cake.n_passes_ > 1
    at = cake.confidence_.cut()
    assert (at.rule, at.share > 0.9) == ("chance", True)


def test_the_command_says_the_same(tmp_path):
    path = tmp_path / "noise.csv"
    X = pd.DataFrame(NOISE, columns=list("abcdef"))
    X.to_csv(path, index=False)
    typed = ["score", str(path), "-k", "3", "--runs", "8", "--seed", "0", "--scale", "none"]
    told = CliRunner().invoke(cli, typed).output
    assert told.partition("\n\n")[2].startswith("No structure: ")
    assert "try choose-k, or another clusterer." in told
    CliRunner().invoke(cli, [*typed, "--report", str(tmp_path / "page.html")])
    assert "try choose-k, or another clusterer." in (tmp_path / "page.html").read_text("utf-8")
    printed = json.loads(CliRunner().invoke(cli, [*typed, "--json"]).output)
    at = CAKE(3, n_runs=8, random_state=0).fit(pd.read_csv(path)).confidence_.cut()
    assert (printed["chance"], printed["threshold"]) == (at.chance, at.threshold)
    assert (printed["above_chance"], printed["threshold_rule"]) == (at.share, "chance")
    assert printed["verdict"].startswith("No structure")
    assert "core" not in printed["reasons"]
    missing = CliRunner().invoke(cli, ["score", str(path)])
    assert missing.exit_code == 2
    assert "choose-k" in missing.stderr


def test_the_page_begins_with_it(tmp_path):
    scores = np.linspace(0, 1, 101)
    table = pd.DataFrame({"label": 0, "score": scores})
    page = build_report(table, chance=0.4)
    assert page["verdict"].startswith("Clear structure: 59% ")
    assert page["threshold"] == 0.4
    assert page["threshold_origin"] == (
        "the threshold starts at 0.4, which data without clusters rarely exceed"
    )
    assert build_report(table, chance=0.95)["threshold"] == 1
    assert build_report(table)["verdict"].startswith("Not tested for structure: ")
    cake = CAKE(3, n_runs=4, random_state=0).fit(WINE)
    cake.report(tmp_path / "page.html")
    assert str(cake.confidence_.cut().verdict) in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("k", [2, 3])
def test_a_page_of_written_scores_keeps_the_rows_that_are_core_in_them(tmp_path, k):
    X = pd.DataFrame(WINE if k == 3 else NOISE)
    X.to_csv(tmp_path / "x.csv", index=False)
    typed = ["score", str(tmp_path / "x.csv"), "-k", str(k), "--runs", "4", "--out"]
    assert CliRunner().invoke(cli, [*typed, str(tmp_path / "s.csv")]).exit_code == 0
    typed = ["report", str(tmp_path / "s.csv"), "--data", str(tmp_path / "x.csv"), "--out"]
    assert CliRunner().invoke(cli, [*typed, str(tmp_path / "r.html")]).exit_code == 0
    page = (tmp_path / "r.html").read_text("utf-8")
    threshold = float(re.search(r'"threshold": ?([0-9.]+)', page)[1])
    scores = pd.read_csv(tmp_path / "s.csv")
    kept = scores["score"] > threshold
    assert (kept == (scores["reason"] == "core")).all()
    assert kept.any() == (k == 3)


def test_a_known_level_is_not_computed():
    assert Chance(known=0.3).level == 0.3
    assert Chance(lambda: NullScores(0.2, (0.1, 0.3))).level == 0.2
