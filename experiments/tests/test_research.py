"""The scripts of the research questions, in small."""

import numpy as np
import pandas as pd
import pytest
from experiments.research import heldout
from experiments.research.answers import run as answers
from experiments.research.audit import equal_flags, further, limits, mixes, votes
from experiments.research.audit import run as audit
from experiments.research.chance import hull
from experiments.research.heldout import Set
from experiments.research.k import again, rivals, signals
from experiments.research.opinions import rules, sets
from experiments.research.opinions import run as opinions
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from clustertrust import CAKE, choose_k
from clustertrust.evaluation import correctness

# Answers


def test_answers_are_measured_by_every_method():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 2)) + 3 * np.repeat([[0], [1], [2]], 80, axis=0)
    y = np.repeat([0, 1, 2], 80)
    case = answers.Case(answers.Set("blobs", X, y, 3))
    rows = pd.DataFrame(answers.draw(case, 50, 0))
    assert set(rows.loc[rows["measure"] == "auroc", "method"]) == set(answers.METHODS)
    assert set(rows.loc[rows["measure"] == "kept at 0.1", "method"]) == set(answers.KEEPERS)
    assert rows["value"].astype(float).between(0, 1).all()
    later = pd.DataFrame(answers.draw(case, 50, answers.OTHER_DRAWS))
    assert not set(answers.SLOW) & set(later["method"])
    table = answers.measure_set(case, 20)
    assert "learned" in answers.means(table, "auroc")


# Second opinions


def test_second_opinions_are_measured_beside_every_rival():
    names = [draw.__name__ for draw in sets.GENERATED]
    assert len({*names, *sets.REAL, *heldout.GENERATED, *heldout.REAL}) == (
        len(names) + len(sets.REAL) + len(heldout.GENERATED) + len(heldout.REAL)
    )
    X, y = sets.eccentric_2d(np.random.default_rng(0))
    measured = opinions.row("generated", Set("needles", X[::4], y[::4], 5))
    table = pd.DataFrame([measured])
    assert all(words in opinions.summary(table) for words in opinions.SIGNALS.values())
    assert measured["combined"] > measured["harmonic"]


def test_every_rule_for_the_consensus_finds_blobs_that_most_runs_find():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.standard_normal((90, 2)) + 9.0 * np.array([(0, 0), (1, 0), (0, 1)])[y]
    runs = np.array([(y + r) % 3 for r in range(7)] + [rng.integers(3, size=90)]).T
    for name, rule in rules.RULES.items():
        assert correctness(rule(X, runs, 3), y).all(), name
    table = pd.DataFrame([rules.row("generated", Set("blobs", X, y, 3))])
    assert all(name in rules.summary(table) for name in rules.RULES)


# The threshold above chance


def test_a_third_kind_of_surrogates_keeps_no_more():
    X, y = make_blobs(120, centers=[[0, 0], [9, 0]], random_state=0)
    measured = hull.measure(X, 2, 0, y)
    assert measured["with_hull"] >= measured["chance"]
    assert measured["kept_three"] <= measured["kept_two"]
    assert measured["right_two"] == 1


# The number of clusters


def test_the_answer_two_stands_beside_every_rule_for_k():
    rows = pd.DataFrame(
        [
            ("real", "a", 2, "choose_k", 2),
            ("real", "b", 4, "choose_k", 4),
            ("real", "c", 8, "choose_k", 2),
            ("shapes", "d", 1, "choose_k", 1),
        ],
        columns=["group", "set", "classes", "method", "k"],
    )
    counts = rivals.tally(rivals.with_two(rows).query("group == 'real'"))
    ours, two = counts.loc["choose_k"], counts.loc["always 2"]
    assert (two["sets"], two["several"], two["right_of_several"]) == (3, 2, 0)
    assert (ours["several"], ours["right_of_several"]) == (2, 1)
    assert two["right"] == pytest.approx(1 / 3)
    assert two["off"] == pytest.approx((np.log(2) + np.log(4)) / 3)
    assert two["off_of_several"] == pytest.approx((np.log(2) + np.log(4)) / 2)
    assert ours["off_of_several"] == pytest.approx(np.log(4) / 2)


def test_a_rule_on_stored_signals_is_the_rule_of_choose_k():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((60, 2)) + 3.0 * j for j in range(3)])
    profile = choose_k(X, signals.KS, CAKE(n_runs=10, random_state=0, n_jobs=1))
    stored = signals.rows_of("generated", Set("three", X, np.zeros(180), 3))
    found = signals.answer(stored, signals.SCALE)
    assert (found["k"], found["strongest"]) == (profile.best, profile.strongest)
    assert found["probability"] == pytest.approx(profile.probability.max())
    assert found["p_value"] == pytest.approx(profile.p_value)
    assert found["plausible"] == " ".join(map(str, profile.plausible))
    assert signals.answer(stored, signals.FROZEN)["probability"] != found["probability"]


def test_the_second_held_out_compares_methods_on_the_same_sets():
    sets = [("real", "a", 2, 2), ("real", "b", 3, 2), ("shapes", "ball 0", 1, 1)]
    rows = pd.DataFrame(
        [
            {"group": group, "set": name, "classes": classes, "method": method, "k": k}
            for method in (again.OLD, again.NOW)
            for group, name, classes, k in sets
        ]
    ).assign(plausible="2 3")
    late = {"group": "real", "set": "a", "classes": 2, "method": "late", "k": 2}
    rows = pd.concat([rows, pd.DataFrame([late])], ignore_index=True)
    rows.loc[(rows["method"] == again.OLD) & (rows["group"] == "shapes"), "k"] = 4
    page = "\n".join(again.sections(rivals.with_two(rows, again.NOW)))
    assert f"| {again.NOW} | 50% | 100% | 0.20 | 0 of 1 | 0.41 | 100% | 2.0 |" in page
    assert "| always 2 | 50% |" in page
    assert "late" not in page
    assert "| ball | 1 | 1 (0.03–1.00) | 0 (0.00–0.97) |" in page


# Audits


X, Y = load_iris(return_X_y=True)
BLOBS, TRUE = make_blobs([60, 70, 80, 90], centers=[(0, 0), (9, 0), (0, 9), (9, 9)], random_state=0)


@pytest.mark.parametrize("kind", ["random", "neighbour"])
def test_errors_are_planted_as_told(kind):
    given, planted = audit.plant(X, Y, 0.1, kind, [1])
    assert planted.sum() == 15
    assert_array_equal(given != Y, planted)
    if kind == "neighbour":
        away = cdist(X, X) + np.where(Y[:, None] == Y, np.inf, 0)
        assert_array_equal(given[planted], Y[away.argmin(axis=1)][planted])


def test_precision_counts_planted_errors_among_the_lowest():
    planted = np.array([True, True, False, False, True])
    assert audit.precision(np.array([0.1, 0.9, 0.2, 0.8, 0.15]), planted) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "name", ["one split in two", "two merged into one", "one of random points"]
)
def test_labellings_are_changed_as_told(name):
    given, expected = audit.PLANTED[name](BLOBS, TRUE, np.random.default_rng(0))
    changed = {"one split in two": TRUE == 0, "two merged into one": TRUE == 1}
    where = changed.get(name, np.ones(len(TRUE), dtype=bool))
    assert_array_equal(given[~where], TRUE[~where])
    assert (given != TRUE).any()
    assert set(expected) <= set(given.tolist())


def test_votes_are_measured_in_one_condition():
    rows = pd.DataFrame(votes.measure(votes.Condition("judged", "uneven blobs", "random", 0.05)))
    by_signal = rows.set_index("signal")
    assert {votes.OURS, "runs", *votes.RIVALS} <= set(by_signal.index)
    assert by_signal.loc[votes.OURS, "auroc"] > 0.95
    assert by_signal.loc["flags: audit", "flag_recall"] > 0.7
    assert "| audit |" in votes.ranking_table(rows, "judged", (votes.OURS, "runs"))
    assert "in 1 of 1 conditions" in votes.flags_table(rows, "judged")


def test_likeliest_weights_are_those_of_the_better_half():
    labels = np.arange(200) % 2
    right, wrong = np.eye(2)[labels] * 0.8 + 0.1, np.full((200, 2), 0.5)
    assert mixes.likeliest([right, wrong], labels)[0] > 0.99
    half = np.where(np.arange(200)[:, None] < 100, right, np.eye(2)[1 - labels])
    other = np.where(np.arange(200)[:, None] < 100, np.eye(2)[1 - labels], right)
    assert_allclose(mixes.likeliest([half, other], labels), 0.5, atol=1e-6)


def test_the_limit_of_flags_holds_in_the_mean_of_sets():
    rng = np.random.default_rng(0)
    clean = [rng.random(100), rng.random(400) ** 2]
    limit = equal_flags.limit_at(0.05, clean)
    shares = [np.mean([(scores < at).mean() for scores in clean]) for at in (limit, limit + 0.01)]
    assert shares[0] <= 0.05 < shares[1]


@pytest.mark.parametrize("by_class", [False, True])
def test_em_finds_how_many_labels_are_wrong(by_class):
    rng = np.random.default_rng(0)
    true, planted = rng.integers(0, 3, 900), rng.random(900) < 0.1
    evidence = np.full((900, 3), 0.05)
    evidence[np.arange(900), true] = 0.9
    given = np.where(planted, (true + 1) % 3, true)
    wrong, share = limits.mistaken(evidence, given, by_class=by_class)
    assert share == pytest.approx(planted.mean(), abs=0.01)
    assert wrong[planted].min() > 0.5 > wrong[~planted].max()


def test_a_dear_flag_of_a_clean_label_buys_fewer_errors():
    lead, planted = np.array([0.9, 0.5, 0.1, -1.0]), np.array([True, True, False, False])
    clean = np.array([0.3, -1.0, -1.0, -1.0])
    of_set = [(clean, np.zeros(4, dtype=bool)), (np.where(planted, lead - 0.3, lead), planted)]
    assert limits._best(of_set, price=1.0) == (0.25, 1.0)
    assert limits._best(of_set, price=3.0) == (0.0, 0.5)


@pytest.mark.parametrize("name", further.DRAWN)
def test_drawn_sets_have_classes_that_a_classifier_sees(name):
    X, y = further.load(name)
    again, _ = further.load(name)
    assert_array_equal(X, again)
    assert X.shape[0] == y.size == 600
    assert np.bincount(y).min() >= 30
    P = cross_val_predict(RandomForestClassifier(30, random_state=0), X, y, cv=3)
    assert (y == P).mean() > np.bincount(y).max() / 600 + 0.05


def test_new_sets_share_no_row_with_the_sets_to_choose_on():
    assert len(votes.NEW) >= 20
    chosen = audit.points_of("Dg", audit.FULL, 0)[0]
    new = votes.part("Dg", tuple(range(10)))[0]
    assert not {row.tobytes() for row in chosen} & {row.tobytes() for row in new}
