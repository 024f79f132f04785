"""Scores learned from answers: against plain formulas, by simulation, and on disk."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from clustertrust import CAKE
from clustertrust.answers import Answers, LearnedConfidence, ask, learn
from clustertrust.answers import posterior as prior
from clustertrust.answers.features import Features
from clustertrust.calibration import suggest
from clustertrust.evaluation import auroc, correctness
from clustertrust.records import save_record


def table_of(n=600, k=3, seed=0):
    """Scores of points in k clusters, with two components, and the points."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    table = pd.DataFrame(
        {
            "label": labels,
            "rival": (labels + rng.integers(1, k, size=n)) % k,
            "score": rng.beta(2, 1.5, n),
            "stability": rng.beta(4, 1, n),
            "margin": rng.uniform(-0.2, 1, n),
        }
    )
    return table, rng.standard_normal((n, 2)) + 4 * labels[:, None]


def learned_from(cake, positions, right=None, *, level=0.95, X=None, **kinds):
    """What is learned from answers about the points at some positions."""
    return learn(cake, Answers.of(cake, positions, right=right, **kinds), level=level, X=X)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return CAKE(3, geometry="centroid", fusion="refined", random_state=0).fit(X), X, y


def features(m, seed=0):
    rng = np.random.default_rng(seed)
    return Features(
        rng.integers(2, size=m),
        rng.integers(3, size=m),
        rng.normal(0, 1.5, m),
        rng.standard_normal((m, 3)),
        rng.standard_normal((m, 2)),
    )


def plain_covariance(a, b, strength):
    """The prior covariance, pair by pair, as the docstring has it."""
    K = np.zeros((len(a.labels), len(b.labels)))
    for i in range(len(K)):
        for j in range(K.shape[1]):
            x, z = a.logits[i] * b.logits[j], np.mean(a.parts[i] * b.parts[j])
            K[i, j] = 1.5**2 + 0.75**2 * x + (0.3 * strength) ** 2 * z
            if a.labels[i] == b.labels[j]:
                near = np.exp(-np.sum((a.places[i] - b.places[j]) ** 2) / (2 * 0.8**2))
                rival = 0.3**2 * (a.rivals[i] == b.rivals[j])
                K[i, j] += strength**2 * (0.49 + rival + 0.04 * x + 0.09 * z + near)
    return K


@pytest.mark.parametrize("strength", [0.0, 0.7, 2.0])
def test_the_posterior_is_that_of_plain_matrices(strength):
    points, new = features(25), features(12, seed=1).take(slice(None))
    new = new.take(new.labels == 1)
    right = (np.random.default_rng(2).random(25) < 0.6).astype(float)
    K = plain_covariance(points, points, strength) + 1e-10 * np.eye(25)
    mean = 0.5 + 1.5 * points.logits

    def loss(white):
        f = np.linalg.cholesky(K) @ white
        return 0.5 * white @ white + np.logaddexp(0, -(2 * right - 1) * (mean + f)).sum()

    mode = np.linalg.cholesky(K) @ minimize(loss, np.zeros(25), method="BFGS", tol=1e-10).x
    p = expit(mean + mode)
    precision = np.linalg.inv(K) + np.diag(p * (1 - p))
    across = plain_covariance(new, points, strength)
    expected = 0.5 + 1.5 * new.logits + across @ np.linalg.solve(K, mode)
    gain = across @ np.linalg.inv(K)
    variance = (
        np.diag(plain_covariance(new, new, strength))
        - np.diag(gain @ across.T)
        + np.diag(gain @ np.linalg.inv(precision) @ gain.T)
    )
    found = prior.fit_posterior(points, right, strength)
    assert_allclose(found.mean(new), expected, atol=1e-4)
    assert_allclose(found.spread(new), variance, atol=1e-4)
    evidence = -loss(np.linalg.solve(np.linalg.cholesky(K), mode)) - 0.5 * (
        np.linalg.slogdet(K)[1] + np.linalg.slogdet(precision)[1]
    )
    assert found.log_evidence == pytest.approx(evidence, abs=1e-4)


def test_without_answers_scores_are_one_curve_of_the_score():
    table, X = table_of()
    learned = learned_from(table, [], [], X=X)
    x = logit(np.clip(table["score"], 0.02, 0.98))
    assert_allclose(learned.scores, expit(0.5 + 1.5 * x))
    assert learned.learned_share == 0
    assert (learned.interval[:, 0] < learned.scores).all()


@pytest.mark.parametrize("told", [True, False])
def test_answers_that_are_all_the_same_keep_the_order(told):
    table, X = table_of()
    learned = learned_from(table, np.arange(40), [told] * 40, X=X)
    by_score = np.argsort(table["score"])
    assert (np.diff(learned.scores[by_score]) >= 0).all()
    before = learned_from(table, [], []).scores.mean()
    assert (learned.scores.mean() > before) == told


def test_one_answer_moves_scores_little():
    table, X = table_of()
    before = learned_from(table, [], [], X=X).scores
    for right in ([True, True], [True, False]):
        after = learned_from(table, [3, 4], right, X=X).scores
        assert np.abs(after - before).mean() < 0.15


def test_a_wrong_cluster_is_learned():
    table, _X = table_of(n=900)
    right = (table["label"] != 1).to_numpy() & (np.random.default_rng(1).random(900) < 0.95)
    at = np.random.default_rng(2).permutation(900)[:40]
    learned = learned_from(table, at, right[at])
    assert auroc(table["score"], right) < 0.6
    assert auroc(learned.scores, right) > 0.85
    assert learned.learned_share > 0.9
    accuracy = learned.by_cluster
    assert accuracy.loc[1, "high"] < 0.4 < 0.5 < accuracy.loc[0, "low"]
    assert accuracy["answers"].sum() == 40
    assert_array_equal(accuracy["points"], np.bincount(table["label"]))


def test_a_wrong_part_of_a_cluster_is_learned_from_its_places():
    table, X = table_of(n=900, seed=3)
    right = X[:, 0] - 4 * table["label"].to_numpy() < 0.8
    at = np.random.default_rng(2).permutation(900)[:80]
    blind = learned_from(table, at, right[at])
    seeing = learned_from(table, at, right[at], X=X)
    assert auroc(blind.scores, right) < 0.65
    assert auroc(seeing.scores, right) > 0.9


def test_where_the_score_is_right_its_order_stays():
    losses = []
    for seed in range(10):
        table, X = table_of(seed=seed)
        rng = np.random.default_rng(seed)
        right = rng.random(len(table)) < expit(3 * logit(np.clip(table["score"], 0.02, 0.98)))
        at = rng.permutation(len(table))[:50]
        learned = learned_from(table, at, right[at], X=X)
        losses.append(auroc(table["score"], right) - auroc(learned.scores, right))
    assert np.mean(losses) < 0.005


def test_intervals_cover_what_they_say():
    """Truth drawn from the prior, with each strength as probable as the prior says."""
    covered, clusters = [], []
    weights = np.array(prior.PRIOR_WEIGHTS) / sum(prior.PRIOR_WEIGHTS)
    for seed in range(25):
        table, X = table_of(n=150, seed=seed)
        rng = np.random.default_rng([seed, 1])
        learned = learned_from(table, [], [], X=X)
        points = learned.features(np.arange(150))
        strength = rng.choice(prior.STRENGTHS, p=weights)
        K = prior.covariance(points, points, strength)
        f = rng.multivariate_normal(0.5 + 1.5 * points.logits, K, method="eigh")
        right = rng.random(150) < expit(f)
        at = rng.permutation(150)[:40]
        learned = learned_from(table, at, right[at], X=X, level=0.9)
        low, high = learned.interval.T
        covered.append(((low <= expit(f)) & (expit(f) <= high)).mean())
        truth = pd.Series(right).groupby(table["label"]).mean()
        by = learned.by_cluster
        clusters.append(((by["low"] <= truth) & (truth <= by["high"])).mean())
    assert 0.85 < np.mean(covered) <= 0.97
    assert np.mean(clusters) > 0.82


def test_limits_of_a_cluster_cover_what_is_right_in_real_data():
    """Limits of 95 %. The model alone covers 75 %: where all are right, it ends below 1."""
    covered, all_right, widths = [], [], []
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        k = len(np.unique(y))
        cake = CAKE(k, n_runs=6, fusion="refined", random_state=0).fit(scale(X))
        right = correctness(cake.labels_, y)
        truth = pd.Series(right).groupby(cake.labels_).mean()
        for seed in range(15):
            at = ask(cake, 45, n_random=45, random_state=seed).positions
            by = learned_from(cake, at, right[at]).by_cluster
            inside = (by["low"] <= truth + 1e-12) & (truth <= by["high"] + 1e-12)
            covered += inside.tolist()
            all_right += inside[by["right"] == by["answers"]].tolist()
            widths += (by["high"] - by["low"]).tolist()
            assert (by["low"] <= by["accuracy"]).all()
            assert (by["accuracy"] <= by["high"]).all()
    assert len(covered) == 120
    assert np.mean(covered) >= 0.93
    assert len(all_right) > 30
    assert np.mean(all_right) >= 0.93
    assert np.mean(widths) < 0.25  # the answers alone give wider ones


def test_a_cluster_without_right_or_without_wrong_answers_may_be_all_wrong_or_all_right():
    table, _ = table_of(300)
    members = [np.flatnonzero(table["label"] == code) for code in range(3)]
    at = np.concatenate([rows[:10] for rows in members[:2]])
    by = learned_from(table, at, [True] * 10 + [False] * 10).by_cluster
    assert by["high"].tolist() == [1, pytest.approx(by["high"][1]), 1]
    assert by["low"][1] == 0
    assert by["low"][0] > 0
    assert by["high"][1] < 1
    # no answer: what the others teach is all that is known from below
    assert by["low"][2] > 0


def test_the_three_kinds_of_answers_agree(iris):
    cake, _, y = iris
    names = {0: "setosa", 1: "versicolor", 2: "virginica"}
    of_cluster = pd.Series(y).groupby(cake.labels_).agg(lambda c: c.mode()[0])
    at = np.arange(0, 150, 3)
    right = of_cluster[cake.labels_[at]].to_numpy() == y[at]
    rather = pd.Series(of_cluster.index, index=of_cluster.to_numpy())[y[at]].to_numpy()
    expected = learned_from(cake, at, right).scores
    by_class = learned_from(cake, at, classes=[names[c] for c in y[at]])
    by_label = learned_from(cake, at, should_be=rather)
    assert_allclose(by_class.scores, expected)
    assert_allclose(by_label.scores, expected)
    assert_array_equal(by_label.answers.should_be, rather)


def test_answers_that_are_missing_do_not_count(iris):
    cake, _, _ = iris
    some = learned_from(cake, [5, 60, 70, 110], [True, None, False, True])
    same = learned_from(cake, [5, 70, 110], [True, False, True])
    assert some.n_answers == 3
    assert_allclose(some.scores, same.scores)
    alone = learned_from(cake, [5, 60], classes=["a", "b"])
    assert alone.n_answers == 0  # each is the only one of its cluster


def test_new_points_score_like_the_points_of_the_fit(iris):
    cake, X, y = iris
    at = np.arange(0, 150, 4)
    learned = learned_from(cake, at, y[at] != 1)
    assert_allclose(learned.score_samples(X[40:120]), learned.scores[40:120], atol=1e-6)


def test_confidence_and_table_give_what_the_estimator_gives(iris):
    cake, X, y = iris
    at = np.arange(0, 150, 4)
    expected = learned_from(cake, at, y[at] != 1).scores
    for source in (cake.confidence_, cake.to_frame()):
        assert_allclose(learned_from(source, at, y[at] != 1, X=X).scores, expected)


def test_text_labels_and_empty_cells_in_a_table():
    table, _ = table_of(60)
    table["label"] = table["label"].map({0: "a", 1: "b", 2: "c"}).astype(object)
    table["rival"] = table["rival"].map({0: "a", 1: "b", 2: "c"})
    table.loc[5, ["label", "score"]] = [None, np.nan]
    learned = learned_from(table, [0, 1, 2], should_be=["a", "b", None])
    assert np.isnan(learned.scores[5])
    assert np.isnan(learned.interval[5]).all()
    assert np.isfinite(np.delete(learned.scores, 5)).all()
    assert learned.by_cluster.index.tolist() == ["a", "b", "c"]
    whole = table.assign(label=table["label"].map({"a": 0.0, "b": 1.0, "c": 2.0}))
    assert learned_from(whole, [0], [True]).by_cluster.index.tolist() == [0, 1, 2]


def test_saved_and_loaded(iris, tmp_path):
    cake, X, y = iris
    at = np.arange(0, 150, 4)
    learned = learned_from(cake, at, y[at] != 1, level=0.8)
    learned.save(tmp_path / "learned")
    again = LearnedConfidence.load(tmp_path / "learned", cake)
    assert again.level == 0.8
    assert_array_equal(again.scores, learned.scores)
    assert_array_equal(again.interval, learned.interval)
    assert_allclose(again.score_samples(X[:9]), learned.score_samples(X[:9]))
    pd.testing.assert_frame_equal(again.by_cluster, learned.by_cluster)
    with pytest.raises(ValueError, match=r"load\(path, cake\)"):
        LearnedConfidence.load(tmp_path / "learned").score_samples(X)
    other = CAKE(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="other results"):
        LearnedConfidence.load(tmp_path / "learned", other)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("answers", {"positions": np.array([0, 150])}, "points that it does not have"),
        ("answers", {"should_be": np.array([0, 3])}, "clusters that it does not have"),
        ("answers", {"right": np.array([0.0, 0.5])}, "not all right or wrong"),
        ("source", {"names": np.array([0, 1])}, "clusters that it does not have"),
        ("source", {"columns": {}}, "lacks, or should not have, label, score"),
        ("scales", {"names": ("stability",)}, "its scales are of"),
        ("points", {"logits": np.array([0.0, np.nan])}, "not finite"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_an_error(iris, tmp_path, part, change, message):
    learned = learned_from(iris[0], [0, 1], [True, False])
    stored = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "clustertrust.answers.learned.save_record", lambda _, file: stored.append(file)
        )
        learned.save("here")
    odd = replace(stored[0], **{part: replace(getattr(stored[0], part), **change)})
    save_record(tmp_path / "odd", odd)
    with pytest.raises(ValueError, match=f"odd' is damaged: .*{message}"):
        LearnedConfidence.load(tmp_path / "odd")


def test_more_answers_do_no_harm():
    X, y = make_blobs(1500, centers=4, cluster_std=2.5, random_state=0)
    cake = CAKE(4, n_runs=4, random_state=0).fit(X)
    right = pd.Series(y).groupby(cake.labels_).transform(lambda c: c == c.mode()[0]).to_numpy()
    few = learned_from(cake, np.arange(150), right[:150])
    many = learned_from(cake, np.arange(500), right[:500])
    rest = slice(500, None)
    assert auroc(many.scores[rest], right[rest]) > auroc(few.scores[rest], right[rest]) - 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": [0, 1]}, "Give one of right"),
        ({"positions": [0], "right": [True], "classes": ["a"]}, "right, classes given"),
        ({"positions": [0, 0], "right": [True, True]}, "more than once"),
        ({"positions": [0, 150], "right": [True, True]}, "has 150"),
        ({"positions": [0, 1], "right": [True]}, "positions"),
        ({"positions": [0], "right": ["yes"]}, "True or False"),
        ({"positions": [0], "should_be": ["x"]}, "not a cluster; clusters are 0, 1, 2"),
    ],
)
def test_wrong_answers_are_errors(iris, arguments, message):
    with pytest.raises(ValueError, match=message):
        learned_from(iris[0], **arguments)


def test_other_wrong_arguments_are_errors(iris):
    cake, X, _ = iris
    with pytest.raises(TypeError, match="fitted CAKE"):
        learned_from([1, 2], [0], [True])
    with pytest.raises(NotFittedError):
        learned_from(CAKE(3), [0], [True])
    with pytest.raises(TypeError, match="'rigth' is not an option of an answer; choose from right"):
        Answers.of(cake, [0], rigth=[True])
    with pytest.raises(TypeError, match=r"answers=list must be Answers: ask"):
        learn(cake, [True])
    with pytest.raises(AttributeError):
        learned_from(cake, [0], [True]).answers = None
    with pytest.raises(ValueError, match="level=2"):
        learned_from(cake, [0], [True], level=2)
    with pytest.raises(ValueError, match="X has 10 points"):
        learned_from(cake.confidence_, [0], [True], X=X[:10])
    table, _ = table_of(20)
    table.loc[3, "score"] = np.nan
    with pytest.raises(ValueError, match="position 3 has no score"):
        learned_from(table, [3], [True])
    with pytest.raises(ValueError, match="no column 'score'"):
        learned_from(table.drop(columns="score"), [3], [True])


def test_questions_and_samples_are_shown_on_one_line():
    cake = CAKE(3, n_runs=3, random_state=0).fit(load_iris().data)
    questions = ask(cake, 30)
    assert (
        repr(questions)
        == "<Questions: 30 points, 20 drawn at random; positions, drawn, answered(), …>"
    )
    sample = suggest(cake.scores_, 12)
    assert repr(sample).startswith("<Sample: 12 of 150 points, purpose='threshold'")
    assert "\n" not in repr(sample)
