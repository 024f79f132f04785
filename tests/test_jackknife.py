from itertools import combinations, product

import numpy as np
import oracles
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from clustertrust import build_ensemble, confidence
from clustertrust.ensemble.record import as_ensemble
from clustertrust.fusion import Combined, Fusion, Harmonic, Product, Refined
from clustertrust.geometry.base import Compute
from clustertrust.scoring.jackknife import jackknife
from clustertrust.scoring.model import build_model
from clustertrust.scoring.points import standard_errors
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import Stability

# Some of the runs drawn below have a cluster more than others, and some points are in fewer than
# two runs.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The runs have between:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*fewer than two runs:UserWarning"),
]
OPTIONS = [
    dict(zip(("fusion", "normalization", "agreement", "unassigned"), chosen, strict=True))
    for chosen in product(
        ("product", "harmonic"),
        ("clip", "affine", "smooth"),
        ("matching", "jaccard"),
        ("skip", "disagree"),
    )
]


def draw(seed, *, R=5, missing=0.15, moved=0.2):
    """Points and noisy runs on them, some points in too few runs.

    Every pair of runs has one best matching.
    """
    rng = np.random.default_rng(seed)
    while True:
        partition = np.repeat([0, 1, 2], [7, 6, 5])
        X = rng.normal(size=(18, 2)) + 2.5 * partition[:, None]
        labels = np.tile(partition[:, None], R)
        move = rng.random(labels.shape) < moved
        labels[move] = rng.integers(0, 4, size=move.sum())
        labels[rng.random(labels.shape) < missing] = -1
        labels[0, 1:], labels[1, 2:] = -1, -1  # in one run, in two
        if oracles.unique_optima(labels):
            return X, labels


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
def test_as_if_all_were_computed_again(options):
    X, labels = draw(0)
    result = confidence(X, labels, geometry="exact", **options)
    expected = oracles.standard_errors(X, labels, **options)
    assert_allclose(result.scores, oracles.scores(X, labels, **options), rtol=1e-10, atol=1e-12)
    assert_allclose(result.standard_errors, expected, rtol=1e-9, atol=1e-12)
    assert np.nanmax(expected) > 0.05  # the comparison is about something
    assert np.isnan(expected).sum() == (
        0 if options["unassigned"] == "disagree" else ((labels >= 0).sum(1) < 3).sum()
    )


@pytest.mark.parametrize("seed", range(1, 5))
def test_other_ensembles(seed):
    X, labels = draw(seed, R=3 + seed)
    options = OPTIONS[5 * seed % len(OPTIONS)]
    errors = confidence(X, labels, geometry="exact", **options).standard_errors
    assert_allclose(errors, oracles.standard_errors(X, labels, **options), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unassigned", ["skip", "disagree"])
def test_the_reference_of_agreement_stays_when_runs_are_left_out(unassigned):
    X, labels = draw(1, R=6)
    found = confidence(
        X, labels, geometry="exact", fusion="product", agreement="reference", unassigned=unassigned
    )
    named = oracles.in_terms_of(labels, found.reference_run)
    g = [[oracles.silhouette(X, run, i) for run in labels.T.tolist()] for i in range(len(X))]
    expected = [leave_out_each(*point, unassigned) for point in zip(named.tolist(), g, strict=True)]
    assert_allclose(found.standard_errors, expected, rtol=1e-9, atol=1e-12)
    assert np.nanmax(expected) > 0.05


def leave_out_each(names, s, unassigned):
    """Error of c · S̃ of one point from its names in each run, in one run's terms, and its
    silhouettes.
    """
    runs = [r for r, name in enumerate(names) if name >= 0 or unassigned == "disagree"]
    if len(runs) < 3:
        return np.nan

    def parts(of):
        c = np.mean([names[a] == names[b] and names[a] >= 0 for a, b in combinations(of, 2)])
        kept = [s[r] or 0.0 for r in of]
        return c, np.mean(kept) - np.std(kept)

    c, low = np.array([parts([r for r in runs if r != left]) for left in runs]).T
    among = len(runs) - 1
    jackknife = np.sqrt(among * np.var(c * np.maximum(low, 0)))
    all_c, all_low = parts(runs)
    if all_low <= 0:
        high = all_low + 1.96 * np.sqrt(among * np.var(low))
        return max(jackknife, all_c * max(high, 0) / 1.96)
    return np.hypot(jackknife, all_c * all_low * (1 - (1 - 2 / (len(runs) + 2)) ** 2))


def test_fewer_than_three_runs_give_no_error_estimate():
    X, labels = draw(0, missing=0.0)
    errors = confidence(X, labels).standard_errors
    assert_array_equal(np.isnan(errors), (labels >= 0).sum(axis=1) < 3)
    assert np.isnan(confidence(X[2:], labels[2:, :2]).standard_errors).all()
    assert np.isnan(confidence(X, labels[:, :2], unassigned="disagree").standard_errors).all()


@pytest.mark.parametrize("fusion", ["harmonic", "product"])
def test_runs_that_say_the_same_may_have_missed_a_kind(fusion):
    X, labels = draw(0, missing=0.0, moved=0.0)
    result = confidence(X[2:], np.repeat(labels[2:, :1], 6, axis=1), fusion=fusion)
    assert np.median(result.scores) > 0.5
    share = 2 / 8 if fusion == "harmonic" else 1 - (6 / 8) ** 2
    assert_allclose(result.standard_errors, share * result.scores, rtol=1e-12, atol=1e-14)


def test_no_error_where_no_run_could_lift_a_score_of_0():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [9.5]])
    labels = np.array([[0, 0, 1, 1, 0]] * 4).T  # point 4 is put into the wrong cluster by all
    result = confidence(X, labels)
    assert result.scores[4] == 0
    assert result.standard_errors[4] == 0
    assert " ± " not in str(result.explain(4))


def test_a_score_of_0_may_rise_although_leaving_out_a_run_leaves_it_at_0():
    s = 0.18 + 0.2 * np.tile([1.0, -1.0], 10)[None]
    sums = np.full((1, 20), 19.0)
    stability = Stability(np.ones(1), sums, np.array([20]), np.ones((1, 20), dtype=bool))
    lows = [np.mean(rest) - np.std(rest) for rest in (np.delete(s, r) for r in range(20))]
    assert max(lows) < 0
    (error,) = standard_errors(np.array([0]), stability, s, Scoring(Product()))
    high = -0.02 + 1.96 * np.sqrt(19 * np.var(lows))
    assert error == pytest.approx(high / 1.96)
    assert error > 0.01


def seven_blobs(rng):
    """Random starts share centres among neighbours in many ways."""
    return np.repeat(6 * rng.normal(size=(7, 2)), 30, axis=0) + rng.normal(size=(210, 2))


def two_pairs(rng):
    """Starts rarely cut one pair in three and leave the other whole."""
    centers = np.repeat([[0, 0], [6, 0], [0, 30], [6, 30]], 30, axis=0)
    return centers + rng.normal(size=(120, 2))


@pytest.mark.parametrize(
    ("draw", "k", "init", "seed"),
    [(seven_blobs, 7, "random", seed) for seed in (1, 2, 5)]
    + [(two_pairs, 4, "k-means++", seed) for seed in (0, 1, 4)],
)
def test_the_interval_holds_the_score_of_many_runs(draw, k, init, seed):
    X = draw(np.random.default_rng(seed))
    clusterer = KMeans(k, init=init, n_init=1)
    ensemble = build_ensemble(X, clusterer, n_runs=320, random_state=seed, n_jobs=1)
    few, many = confidence(X, ensemble.labels[:, :20]), confidence(X, ensemble.labels[:, 20:])
    off = np.abs(few.scores - many.scores)
    assert (off <= 1.96 * few.standard_errors + 1e-9).mean() >= 0.9
    unseen = 2 * few.scores / 22
    jackknife = np.sqrt(np.maximum(few.standard_errors**2 - unseen**2, 0))
    assert (off <= 1.96 * jackknife + 1e-9).mean() < 0.85  # so the other part is needed


def test_silhouettes_far_from_0_lose_no_digits():
    # Spread of 1e-8 around 0.99: a variance by mean of squares less square of mean would be noise.
    s = 0.99 + 1e-8 * np.arange(6.0)[None]
    sums = np.full((1, 6), 5.0)  # every pair agrees
    stability = Stability(np.ones(1), sums, np.array([6]), np.ones((1, 6), dtype=bool))
    found, _ = jackknife(np.array([0]), stability, s, Scoring(Product()))
    steps = np.array([np.delete(np.arange(6.0), r) for r in range(6)])
    theta = steps.mean(axis=1) - steps.std(axis=1)  # in units of 1e-8
    assert found == pytest.approx(1e-8 * np.sqrt(5 * theta.var()), rel=1e-6)


def test_the_same_in_blocks_of_few_rows():
    X, labels = draw(2)
    whole = confidence(X, labels).standard_errors
    with sklearn.config_context(working_memory=0.001):
        assert_array_equal(confidence(X, labels).standard_errors, whole)


def test_stability_without_a_run_stays_a_share():
    """Of three runs the last two agree fully, or not at all; their sums may round beyond it."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 1000))
    last = np.arange(1000) % 2.0
    sums = np.column_stack([a + b, a + last, b + last])
    given = Stability(sums.sum(axis=1) / 6, sums, np.full(1000, 3), np.ones((1000, 3), bool))
    plain = (sums.sum(axis=1, keepdims=True) / 2 - sums)[:, 0]
    assert plain.min() < 0.0  # by rounding
    assert plain.max() > 1.0
    seen = []

    class Seen(Fusion):
        def __call__(self, c, g, *more):
            seen.append(c)
            return c

    standard_errors(np.arange(1000), given, np.zeros((1000, 3)), Scoring(Seen()))
    assert sum(len(c) for c in seen if c.shape[1] == 3) == 1000
    assert min(c.min() for c in seen) == 0.0
    assert max(c.max() for c in seen) == 1.0


@pytest.mark.parametrize("fusion", [Refined(), Combined(), Product()], ids=lambda own: own.name)
def test_the_kernel_gives_what_any_fusion_gets(fusion):
    X, labels = draw(3)
    X, labels = X.repeat(50, axis=0), labels.repeat(50, axis=0)
    rng = np.random.default_rng(0)
    parts = tuple(rng.random((fusion.uses_persistence + fusion.uses_opinions, len(X))))
    for part in parts:
        part[-1] = np.nan

    class Same(type(fusion)):
        """Another class, of which nothing is known but how it is called."""

    model = build_model(X, as_ensemble(labels), Scoring(Harmonic()))
    cells = model.cells
    given = cells.cell_of, model.stability(cells.rows), model.silhouettes()[0]
    one, two, other = (
        standard_errors(*given, Scoring(own, compute=Compute(n_jobs=jobs)), parts)
        for own, jobs in ((fusion, 1), (fusion, 2), (Same(), 1))
    )
    assert_array_equal(one, two)
    assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert np.isnan(one[-1]) == bool(parts)
