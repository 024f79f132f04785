"""Questions, and decisions whose guarantee is checked by simulation."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs
from sklearn.preprocessing import StandardScaler
from test_answers import table_of

from clustertrust import CAKE
from clustertrust.answers import Answers, ask, decide, learn
from clustertrust.answers.deciding import spent_on_learning
from clustertrust.answers.judging import draw_p_value
from clustertrust.answers.posterior import covariance
from clustertrust.answers.questions import most_instructive
from clustertrust.evaluation import auroc, correctness


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data)
    cake = CAKE(2, n_runs=10, fusion="refined", random_state=0).fit(X)
    return cake, correctness(cake.labels_, data.target), data.target_names[data.target]


# What to ask


def test_a_plan_asks_two_thirds_at_random_and_the_others_where_they_teach(cancer):
    cake, _, _ = cancer
    questions = ask(cake, 60)
    assert len(np.unique(questions.positions)) == 60
    assert questions.drawn.tolist() == [True] * 40 + [False] * 20
    assert_allclose(questions.inclusion[:40], 40 / 569)
    assert np.isnan(questions.inclusion[40:]).all()
    again, other = ask(cake, 60), ask(cake, 60, random_state=1)
    assert_array_equal(questions.positions, again.positions)
    assert set(questions.positions) != set(other.positions)
    assert ask(cake, 30, n_random=30).drawn.all()
    assert not ask(cake, 30, n_random=0).drawn.any()


def test_random_questions_are_a_simple_random_sample_also_in_later_rounds():
    table, _ = table_of(30)
    right = np.ones(30, dtype=bool)
    counts = np.zeros(30)
    for seed in range(150):
        first = ask(table, 9, n_random=6, random_state=seed)
        answers = first.answered(right[first.positions])
        second = ask(table, 9, n_random=6, answers=answers, random_state=seed + 1000)
        assert second.round == 2
        drawn = np.concatenate([first.positions[first.drawn], second.positions[second.drawn]])
        assert len(np.unique(drawn)) == 12
        counts[drawn] += 1
    expected = 150 * 12 / 30
    assert np.abs(counts - expected).max() < 4.5 * np.sqrt(expected * 0.6)


def test_answers_of_random_points_do_not_say_what_else_is_asked(cancer):
    cake, right, _ = cancer
    first = ask(cake, 60)
    other = np.where(first.drawn, ~right[first.positions], right[first.positions])
    rounds = [
        ask(cake, 30, answers=first.answered(told), random_state=1)
        for told in (right[first.positions], other)
    ]
    assert_array_equal(rounds[0].positions, rounds[1].positions)
    chosen = first.answered(np.where(first.drawn, right[first.positions], ~right[first.positions]))
    assert (ask(cake, 30, answers=chosen, random_state=1).positions != rounds[0].positions).any()


def test_points_that_teach_lower_the_variance_as_the_docstring_says():
    table, X = table_of(40)
    learned = learn(table, Answers.of(table, [], right=[]), X=X)
    points, p = learned.features(np.arange(40)), learned.scores
    h = p * (1 - p)
    C = covariance(points, points, 2.0)
    chosen = most_instructive(points, p, 3, np.array([5]))
    known = [5]
    for found in chosen:
        totals = []
        for i in range(40):
            if i in known:
                totals.append(np.inf)
                continue
            at = [*known, i]
            S = np.linalg.inv(C[np.ix_(at, at)] + np.diag(1 / h[at]))
            totals.append(np.sum(h**2 * np.diag(C - C[:, at] @ S @ C[at])))
        assert found == np.argmin(totals)
        known.append(int(found))


def test_questions_that_teach_spread_over_clusters_and_avoid_what_is_known(cancer):
    cake, right, _ = cancer
    questions = ask(cake, 20, n_random=0)
    positions = questions.positions
    assert not questions.drawn.any()
    assert len(np.unique(positions)) == 20
    assert np.bincount(cake.labels_[positions], minlength=2).min() >= 5
    more = ask(cake, 20, n_random=0, answers=questions.answered(right[positions]))
    assert not set(more.positions) & set(positions)


def test_chosen_questions_teach_more_than_random_ones(cancer):
    cake, right, _ = cancer
    gains = []
    for seed in range(6):
        values = []
        for n_random in (20, 0):
            at = ask(cake, 20, n_random=n_random, random_state=seed).positions
            rest = np.setdiff1d(np.arange(569), at)
            scores = learn(cake, Answers.of(cake, at, right=right[at])).scores
            values.append(auroc(scores[rest], right[rest]))
        gains.append(values[1] - values[0])
    assert np.mean(gains) > 0


# What to keep


def test_a_decision_says_what_it_keeps(cancer):
    cake, right, _ = cancer
    questions = ask(cake, 150)
    found = decide(cake, questions.answered(right[questions.positions]), risk=0.1)
    assert found.guaranteed
    assert repr(found) == f"<Decision: {found.n_kept} of 569 kept; str() says on what evidence>"
    assert found.more == 0
    assert str(found) == (
        f"Of the {found.n_kept:,} rows kept, at most 10% are wrong, with 95% confidence; "
        "150 answers used."
    )
    assert found.n_kept > 300
    assert (~right[found.kept]).mean() < 0.1
    asked = questions.positions
    assert found.kept[asked[right[asked]]].all()
    assert not found.kept[asked[~right[asked]]].any()
    table = found.to_frame()
    assert table["kept"].sum() == found.n_kept
    assert (table["answer"] != "").sum() == 150
    assert ((table["low"] <= table["probability"]) & (table["probability"] <= table["high"])).all()


def test_too_few_answers_keep_nothing_and_say_what_to_ask(cancer):
    cake, right, _ = cancer
    questions = ask(cake, 30)
    found = decide(cake, questions.answered(right[questions.positions]))
    assert not found.guaranteed
    assert not found.kept.any()
    assert found.more
    assert f"Ask about at least {found.more} more rows, drawn at random." in str(found)
    chosen = ask(cake, 30, n_random=0)
    nothing = decide(cake, chosen.answered(right[chosen.positions]))
    assert nothing.cut is None
    assert not nothing.kept.any()
    assert "none of the answers is about rows drawn at random" in str(nothing)


@pytest.mark.parametrize(("risk", "about"), [(0.05, 120), (0.1, 60)])
def test_as_many_questions_are_needed_as_the_pages_say(cancer, risk, about):
    digits = StandardScaler().fit_transform(load_digits().data)
    fewest = []
    for cake in (cancer[0], CAKE(10, n_runs=5, random_state=0).fit(digits)):
        for n in range(20, 200, 10):
            if decide(cake, ask(cake, n).answered(np.ones(n, dtype=bool)), risk=risk).guaranteed:
                fewest.append(n)
                break
    assert 0.7 * about <= min(fewest) <= max(fewest) <= 1.35 * about, fewest


def test_of_a_small_table_no_more_is_asked_than_its_rows_need():
    # If all answers are right, so many of 150 rows show that at most 7 are wrong.
    X = make_blobs(150, 2, centers=3, random_state=1)[0]
    cake = CAKE(3, random_state=0).fit(X)
    few, enough = (ask(cake, m) for m in (40, 100))
    more = decide(cake, few.answered(right=np.ones(40)), risk=0.05).more
    assert decide(cake, enough.answered(right=np.ones(100)), risk=0.05).guaranteed
    assert 0 < more <= 60


def test_where_all_are_wrong_more_answers_do_not_help():
    table, _ = table_of(300)
    questions = ask(table, 60)
    found = decide(table, questions.answered(np.arange(60) % 2 == 0))
    assert found.more is None
    assert "Allow a larger risk" in str(found)


def test_a_second_round_says_that_it_is_a_second_look(cancer):
    cake, right, _ = cancer
    first = ask(cake, 60)
    answers = first.answered(right[first.positions])
    second = ask(cake, 60, answers=answers)
    at = np.union1d(first.positions, second.positions)
    drawn = np.isin(at, [*first.positions[first.drawn], *second.positions[second.drawn]])
    both = Answers.of(cake, at, right=right[at], drawn=drawn, rounds=2)
    assert "decision 2 about these rows: for all decisions together the confidence is 90%" in str(
        decide(cake, both, risk=0.15)
    )


def test_skipped_questions_count_as_wrong_in_the_guarantee(cancer):
    cake, _, _ = cancer
    questions = ask(cake, 60, n_random=60)
    right = np.ones(60, dtype=object)
    assert decide(cake, questions.answered(right), risk=0.1).guaranteed
    right[:20] = None
    found = decide(cake, questions.answered(right), risk=0.1)
    assert found.learned.n_answers == 40
    assert found.cut.errors[-1] == 20
    assert not found.guaranteed


def test_classes_name_the_clusters_and_correct_labels(cancer):
    cake, right, classes = cancer
    questions = ask(cake, 150)
    found = decide(cake, questions.answered(classes=classes[questions.positions]), risk=0.1)
    assert found.guaranteed
    assert sorted(found.class_names.values()) == ["benign", "malignant"]
    assert (~right[found.kept]).mean() < 0.1
    table = found.to_frame()
    wrong = questions.positions[~right[questions.positions]]
    changed = table["label"].to_numpy() != table["label_before"].to_numpy()
    assert changed[wrong].mean() > 0.8
    assert (table["class"][wrong] == classes[wrong]).mean() > 0.8
    named = pd.Series(found.class_names)[cake.labels_].to_numpy()
    assert (table["class"] == classes).mean() >= (named == classes).mean()


def test_points_like_those_corrected_are_corrected_too():
    table, _X = table_of(600)
    right = (table["label"] != 1).to_numpy()
    at = np.random.default_rng(0).permutation(600)[:80]
    should_be = np.where(right[at], table["label"][at], 2)
    found = decide(table, Answers.of(table, at, should_be=should_be, drawn=True), risk=0.2)
    assert (found.labels[~right & ~found.kept] == 2).mean() > 0.95
    assert (found.labels[right] == table["label"][right]).all()


def test_answers_that_teach_are_spent_only_where_enough_are_left():
    assert spent_on_learning(50, 0.1, 0.05) == 0
    assert spent_on_learning(100, 0.1, 0.05) == 25
    assert spent_on_learning(100, 0.05, 0.05) == 0
    assert spent_on_learning(400, 0.05, 0.05) == 100


@pytest.mark.parametrize("kind", ["right", "classes"])
def test_the_error_exceeds_the_risk_in_no_more_draws_than_allowed(kind):
    """Many draws of answers about one set; fifteen other answers teach.

    With delta 0.2, 25 or more violations in 60 draws would happen by chance with a probability
    below 0.001.
    """
    table, _X = table_of(500, seed=4)
    rng = np.random.default_rng(0)
    x = logit(np.clip(table["score"].to_numpy(), 0.02, 0.98))
    right = rng.random(500) < expit(2.2 + 0.5 * x - (table["label"].to_numpy() == 2))
    classes = np.where(right, table["label"], (table["label"] + 1) % 3)
    lowest = np.argsort(table["score"].to_numpy())[:15]
    violated = kept = 0
    for _ in range(60):
        drawn = rng.permutation(500)[:100]
        at = np.union1d(drawn, lowest)
        given = {"right": right[at]} if kind == "right" else {"classes": classes[at]}
        answers = Answers.of(table, at, **given, drawn=np.isin(at, drawn))
        found = decide(table, answers, risk=0.15, delta=0.2)
        kept += found.kept.any()
        violated += found.kept.any() and (~right[found.kept]).mean() > 0.15
    assert kept > 15
    assert violated < 25


# Whether points can have been drawn at random


@pytest.mark.parametrize(("n", "m"), [(60, 12), (200, 100), (500, 40), (500, 480), (3000, 60)])
def test_honest_draws_are_hardly_ever_refused(n, m):
    """More than 8 of 2,000 at a rate of 0.001 would happen with a probability of 0.0002."""
    scores, _ = table_of(n)
    scores = scores["score"].round(1 if n == 500 else 6).to_numpy()  # tenths have many ties
    rng = np.random.default_rng(n + m)
    p = [draw_p_value(scores, rng.permutation(n)[:m]) for _ in range(2000)]
    assert np.less(p, 0.001).sum() <= 8
    assert 0.02 < np.less(p, 0.05).mean() < 0.08  # and it is a p-value, not always 1


def chosen_sets(cake):
    """Points that people answer first, by what they go by."""
    order = np.argsort(cake.scores_, kind="stable")
    rng = np.random.default_rng(0)
    return {
        "surest": order[-60:],
        "least sure": order[:60],
        "both ends": np.concatenate([order[:30], order[-30:]]),
        "middle": order[255:315],
        "those that teach": ask(cake, 60, n_random=0).positions,
        "upper half": rng.permutation(order[284:])[:60],
    }


def test_chosen_points_are_refused_as_drawn_ones(cancer):
    cake, right, _ = cancer
    for name, at in chosen_sets(cake).items():
        assert draw_p_value(cake.scores_, at) < 0.001, name
        with pytest.raises(ValueError, match=r"drawn=True: the scores of these 60 .* force=True"):
            Answers.of(cake, at, right=right[at], drawn=True)
        assert Answers.of(cake, at, right=right[at], drawn=True, force=True).drawn.all()
        assert not Answers.of(cake, at, right=right[at]).drawn.any()
    with pytest.raises(TypeError, match="force='yes'"):
        Answers.of(cake, at, right=right[at], drawn=True, force="yes")


def test_draws_of_everything_of_few_or_of_equal_scores_are_not_refused(cancer):
    cake, right, _ = cancer
    assert Answers.of(cake, np.arange(569), right=right, drawn=True).drawn.all()
    few = np.argsort(cake.scores_)[:9]
    assert Answers.of(cake, few, right=right[few], drawn=True).drawn.all()
    assert draw_p_value(np.ones(100), np.arange(50)) == 1


# Edges


def test_wrong_answers_to_decide_are_errors(cancer):
    cake, _, _ = cancer
    with pytest.raises(TypeError, match="must be Answers"):
        decide(cake, [True, False])
    skipped = Answers.of(cake, [0, 1], right=[None, None])
    with pytest.raises(ValueError, match="No question was answered"):
        decide(cake, skipped)
    answers = Answers.of(cake, [0, 1], right=[True, False], drawn=True)
    with pytest.raises(ValueError, match="risk=5"):
        decide(cake, answers, risk=5)
    with pytest.raises(ValueError, match="ask about fewer"):
        ask(cake, 570)
    with pytest.raises(ValueError, match="n_random"):
        ask(cake, 10, n_random=11)
