"""Profiles over k against plain scores at each k, and the rule on numbers made by hand."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.datasets import load_iris, make_blobs
from templates import choose_k, null_reference

from clustertrust import CAKE, build_ensemble, confidence
from clustertrust.displays import KProfileDisplay
from clustertrust.k_profile import QUANTILES, Signal
from clustertrust.k_profile.combine import WEIGHTS
from clustertrust.k_profile.null_test import EFFORTS, any_k_p_value, spread_out

BLOBS = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
SQUARE = np.random.default_rng(3).uniform(size=(150, 2))
FEW = {"n_runs": 4, "random_state": 0}


@pytest.fixture(scope="module")
def blobs():
    return choose_k(BLOBS, range(2, 6), **FEW)


@pytest.fixture(scope="module")
def full():
    return choose_k(BLOBS, range(2, 6), effort="full", **FEW)


def test_three_blobs_are_three(blobs):
    assert blobs.best == blobs.strongest == 3
    assert blobs.structured
    assert blobs.p_value == pytest.approx(1 / 20)
    assert blobs.plausible == (3,)
    assert blobs.choices == {"separation": 3, "likelihood": 3, "stability": 3}
    assert blobs.confidence == blobs.probability[1] > 0.9
    assert_array_equal(blobs.n_clusters, [2, 3, 4, 5])


def test_a_square_is_one():
    profile = choose_k(SQUARE, [4, 2, 3], **FEW)
    assert profile.best == profile.plausible[0] == 1
    assert not profile.structured
    assert profile.confidence is None
    assert profile.strongest in (2, 3, 4)
    assert profile.mean_score.max() > 0.5  # high, and yet nothing
    assert_array_equal(profile.n_clusters, [2, 3, 4])
    assert "1 cluster: data without clusters score as high" in profile.summary()


def test_each_row_is_what_the_estimator_gives():
    X = load_iris().data
    profile = choose_k(X, range(2, 5), null=None, geometry="rms", **FEW)
    for at, k in enumerate(profile.n_clusters):
        cake = CAKE(int(k), geometry="rms", **FEW).fit(X)
        assert profile.mean_score[at] == pytest.approx(cake.scores_.mean(), abs=1e-14)
        assert profile.mean_stability[at] == pytest.approx(cake.stability_.mean(), abs=1e-14)
        assert profile.mean_geometry[at] == pytest.approx(cake.geometry_.mean(), abs=1e-14)
        assert_allclose(profile.quantiles[at], np.quantile(cake.scores_, QUANTILES))
        by_cluster = cake.to_frame().groupby("label")["score"].mean()
        assert profile.weakest_score[at] == pytest.approx(by_cluster.min())
        assert profile.weakest_label[at] == by_cluster.idxmin()
        assert profile.weakest_points[at] == (cake.labels_ == by_cluster.idxmin()).sum()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fusion": "product", "normalization": "affine"},
        {"agreement": "jaccard"},
        {"resample": 0.8},
    ],
)
def test_errors_are_those_of_leaving_each_run_out(settings):
    X, R = load_iris().data, 6
    profile = choose_k(
        X, [4, 5], clusterer="kmeans-random", null=None, n_runs=R, random_state=0, **settings
    )
    how = {name: value for name, value in settings.items() if name != "resample"}
    ensemble = build_ensemble(
        X,
        "kmeans-random",
        n_clusters=5,
        n_runs=R,
        random_state=0,
        resample=settings.get("resample"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # without a run some points have no score; their absence has to agree too
        left = [confidence(X, np.delete(ensemble.labels, r, axis=1), **how) for r in range(R)]
    for name, error in (
        ("scores", "score_error"),
        ("stability", "stability_error"),
        ("geometry", "geometry_error"),
    ):
        means = np.array([np.nanmean(getattr(of, name)) for of in left])
        expected = np.sqrt((R - 1) / R * ((means - means.mean()) ** 2).sum())
        assert expected > 1e-4
        assert getattr(profile, error)[1] == pytest.approx(expected, rel=1e-9)


def test_two_runs_have_no_error():
    profile = choose_k(BLOBS, [2, 3], null=None, n_runs=2, random_state=0)
    assert np.isnan(profile.score_error).all()


def test_the_full_excess_is_that_of_the_null_reference(full):
    families = ("box", "gaussian", "hull")
    null = null_reference(BLOBS, 4, n_surrogates=19, families=families, **FEW)
    at = 2  # k = 4
    for family in families:
        assert_allclose(full.null_means[family][:, at], null.means[family])
    assert full.mean_score[at] == pytest.approx(null.mean)
    assert full.excess[at] == pytest.approx(null.excess)
    higher = max(families, key=lambda family: null.means[family].mean())
    assert full.excess_error[at] == pytest.approx(
        null.means[higher].std(ddof=1) * np.sqrt(1 + 1 / 19)
    )
    assert full.adjusted[at] == pytest.approx(null.excess / (1 - null.means[higher].mean()))


def test_a_profile_is_shown_on_one_line(blobs):
    assert repr(blobs).startswith("<KProfile: best 3 of k from 2 to ")
    assert "\n" not in repr(blobs)


def test_no_comparison_is_asked_for_by_none():
    with pytest.raises(TypeError, match=r"null=False .* or None for no comparison"):
        choose_k(BLOBS, [2, 3], null=False, **FEW)


def test_without_a_null_nothing_else_is_run(monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("surrogates were drawn")

    for compare in ("quick", "full"):
        monkeypatch.setitem(EFFORTS, compare, never)
    profile = choose_k(BLOBS, range(2, 6), null=None, **FEW)
    assert profile.best == profile.strongest == 3
    assert (
        profile.null_score is profile.excess is profile.adjusted is profile.adjusted_error is None
    )
    assert profile.p_value is profile.structured is profile.excess_error is None
    assert "excess" not in profile.to_frame()
    assert "Not compared with data without clusters" in profile.summary()
    with pytest.raises(AssertionError, match="surrogates were drawn"):
        choose_k(BLOBS, range(2, 6), **FEW)


# The rule


def made(blobs, **behind):
    """A profile whose signals are behind by so many errors at each k."""
    signals = {
        name: Signal(name, -np.asarray(t, float), np.ones(4), np.asarray(t, float))
        for name, t in behind.items()
    }
    return replace(blobs, signals=signals)


def test_the_probability_is_the_product_over_signals(blobs):
    t = {"separation": [0, 1, 4, 9], "likelihood": [3, 0, 1, 2], "stability": [0, 0, 2, 5]}
    plain = 1 / np.array([2.0, 3.0, 4.0, 5.0])  # the prior
    for behind, w in zip(t.values(), WEIGHTS[tuple(t)], strict=True):
        plain *= (1.0 + np.array(behind)) ** -w
    profile = made(blobs, **t)
    assert_allclose(profile.probability, plain / plain.sum())
    assert profile.choices == {"separation": 2, "likelihood": 3, "stability": 2}
    assert profile.best == profile.strongest == 3


def test_where_signals_say_nothing_the_prior_is_uniform_in_log_k(blobs):
    """Half as many clusters are twice as probable; sharp signals are stronger."""
    flat = made(blobs, separation=[0] * 4, likelihood=[0] * 4, stability=[0] * 4)
    assert flat.probability[0] / flat.probability[2] == pytest.approx(2)  # 2 and 4
    assert flat.strongest == 2
    sharp = made(blobs, separation=[9] * 3 + [0], likelihood=[9] * 3 + [0], stability=[9] * 3 + [0])
    assert sharp.strongest == 5
    assert_allclose(flat.support["prior"], [1, 2 / 3, 1 / 2, 2 / 5])


def test_members_that_disagree_leave_doubt(blobs):
    sure = made(blobs, separation=[9, 0, 9, 9], likelihood=[9, 0, 9, 9], stability=[9, 0, 9, 9])
    torn = made(blobs, separation=[0, 9, 9, 9], likelihood=[2, 0, 9, 9], stability=[0, 2, 9, 9])
    assert sure.plausible == (3,)
    assert torn.confidence < sure.confidence
    assert {2, 3} <= set(torn.plausible)
    bars = (
        torn.summary().split("with their probabilities:\n")[1].splitlines()[: len(torn.plausible)]
    )
    p = dict(zip(torn.n_clusters.tolist(), torn.probability, strict=True))
    for bar in bars:
        k, probability, length = bar.split()
        assert float(probability) == pytest.approx(p[int(k)], abs=0.006)
        assert len(length) == max(1, round(40 * p[int(k)]))
    assert {int(bar.split()[0]) for bar in bars} == set(torn.plausible)
    assert "with their probabilities" not in sure.summary()


def test_the_summary_says_which_signals_count(blobs):
    flat, late = [0] * 4, [3, 2, 1, 0]
    full = made(blobs, separation=late, likelihood=flat, stability=flat)
    assert "Each signal alone: likelihood 2, stability 2. Not counted: separation 5. Pl" in (
        full.summary()
    )
    assert set(full.support) == {"prior", "likelihood", "stability"}
    fewer = made(blobs, separation=late, stability=flat)
    assert "Each signal alone: separation 5, stability 2. Pl" in fewer.summary()


def test_a_range_that_may_end_too_early_is_noted(blobs):
    """3 of 2 to 5 is the recommendation here, so that it is neither first nor last."""
    flat, late = [0] * 4, [9, 8, 7, 0]
    note = "is the {} number tried; a {} one may be more probable."
    largest, smallest = note.format("largest", "larger"), note.format("smallest", "smaller")
    assert "number tried" not in blobs.summary()
    last = made(blobs, separation=flat, likelihood=late, stability=late)
    assert last.best == 5
    assert f"5 {largest}" in last.summary()
    first = made(blobs, separation=flat, likelihood=flat, stability=flat)
    assert first.best == 2
    # One cluster is another question.
    assert "number tried" not in first.summary()
    from_three = replace(first, n_clusters=np.arange(3, 7), null_test=None)
    assert f"3 {smallest}" in from_three.summary()


def test_where_the_higher_family_explains_it_no_k_is_recommended(blobs, tmp_path):
    wave = np.where(np.arange(20) % 2, 0.03, -0.03)[:, None] + np.full((20, 4), 0.4)
    null_test = replace(
        blobs.null_test, data=np.full(4, 0.41), means={"box": wave, "gaussian": wave - 0.05}
    )
    profile = replace(blobs, null_test=null_test)
    assert any_k_p_value(null_test.data, null_test.means["gaussian"]) <= 0.05
    assert profile.p_value > 0.05
    assert (profile.best, profile.strongest) == (1, 3)
    assert profile.plausible == (1, 3)
    assert "1 cluster: data without clusters score as high" in profile.summary()
    profile.report(tmp_path / "k.html")
    page = (tmp_path / "k.html").read_text(encoding="utf-8")
    for evidence in (
        "Evidence for 1: at none of the numbers compared do the data score clearly higher than ",
        f"Evidence for {profile.strongest}: the most probable of the others, chosen by ",
    ):
        assert f"\n{evidence}" in profile.summary()
        assert evidence in page
    assert "If there are several, most likely 3 clusters" in profile.summary()


def test_of_many_k_six_are_compared():
    assert_array_equal(np.arange(2, 13)[spread_out(np.arange(2, 13))], [2, 3, 4, 6, 8, 12])
    assert_array_equal(spread_out(np.arange(2, 8)), np.arange(6))
    profile = choose_k(BLOBS, range(2, 10), **FEW)
    compared = np.isfinite(profile.to_frame()["adjusted"])
    assert compared.sum() == 6
    assert_array_equal(profile.n_clusters[compared], profile.null_test.n_clusters)
    assert "The column adjusted compares k = 2, 3, 4, 5, 7, 9 with data" in profile.summary()
    assert "The column adjusted" not in choose_k(BLOBS, range(2, 4), null=None, **FEW).summary()


@pytest.mark.parametrize("seed", range(5))
def test_few_points_in_clear_clusters_are_not_called_one(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) + 5 * np.repeat([[0, 0], [1, 0], [2, 0]], 20, axis=0)
    assert choose_k(X, n_runs=10, random_state=seed).best == 3


def test_one_cloud_is_called_structured_no_more_often_than_the_level_allows():
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        X = rng.uniform(size=(60, 2)) if seed % 2 else rng.standard_normal((60, 2)) * (1, 3)
        profile = choose_k(X, [2, 4], n_runs=2, random_state=seed)
        alarms += profile.structured
    assert alarms <= binom.ppf(0.999, 10, 0.05)


def test_the_search_over_k_keeps_its_level():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(2000):
        noise = rng.standard_normal((20, 1)) + rng.standard_normal((20, 8))
        values = np.linspace(0.7, 0.3, 8) + noise * np.geomspace(0.001, 0.05, 8)
        p.append(any_k_p_value(values[0], values[1:]))
    for level in (0.05, 0.25, 0.5):
        low, high = binom.ppf([0.001, 0.999], len(p), level)
        assert low <= (np.array(p) <= level + 1e-9).sum() <= high
    flat = np.ones((5, 2))
    assert any_k_p_value(flat[0], flat[1:]) == 1.0


def test_data_and_surrogates_are_exchangeable():
    """Whichever of them is taken for the data, the p-values are 1/20, 2/20, …, 1: each once."""
    values = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((20, 3))
    p = [any_k_p_value(values[i], np.delete(values, i, axis=0)) for i in range(20)]
    assert_allclose(np.sort(p), np.arange(1, 21) / 20)


def test_what_stands_out_is_measured_by_the_room_that_is_left():
    """From 0.9 to 0.95 is half of the way; the surrogates differ more where there is more room."""
    wave = np.where(np.arange(19) % 2, 0.3, -0.3)
    null = np.column_stack([0.2 + wave, np.full(19, 0.9)])
    assert any_k_p_value(np.array([0.2, 0.95]), null) == pytest.approx(1 / 20)
    assert any_k_p_value(np.array([0.25, 0.9]), null) > 0.4
    perfect = np.column_stack([0.2 + wave, np.ones(19)])  # no room at all
    assert any_k_p_value(np.array([0.9, 1.0]), perfect) == pytest.approx(1 / 20)


def test_a_lucky_surrogate_does_not_hide_structure():
    null = np.full((19, 2), 0.4)
    null[:, 0] += np.linspace(-0.05, 0.05, 19)
    null[7, 1] = 0.43  # far out for its k, where all others are equal, and yet not high
    assert any_k_p_value(np.array([0.7, 0.4]), null) == pytest.approx(1 / 20)
    assert any_k_p_value(np.array([0.42, 0.4]), null) > 0.05


# Seeds, samples, forms


def test_a_seed_fixes_everything():
    how = {**FEW, "n_surrogates": 19, "max_points": 60}
    one, again = (choose_k(SQUARE, [2, 3], n_jobs=n_jobs, **how) for n_jobs in (1, 2))
    assert (one.n_points, one.n_rows) == (60, 150)
    assert "A random sample of 60 of 150 points" in one.summary()
    assert_array_equal(one.to_frame(), again.to_frame())
    other = choose_k(SQUARE, [2, 3], **{**how, "random_state": 1})
    assert not np.isclose(one.mean_score, other.mean_score).any()


def test_the_frame_has_a_row_for_each_k(blobs):
    frame = blobs.to_frame()
    assert frame.index.tolist() == [2, 3, 4, 5]
    assert frame.index.name == "n_clusters"
    assert frame.loc[3, "score"] == blobs.mean_score[1]
    assert frame.loc[3, "score_50%"] == blobs.quantiles[1, 2]
    assert {
        "null_box",
        "null_gaussian",
        "probability",
        "separation",
        "likelihood_error",
        "likelihood_behind",
        "stability_rank",
        "excess",
        "excess_error",
        "adjusted",
        "weakest_cluster",
    } <= set(frame)
    assert frame.loc[3, "stability"] == pytest.approx(blobs.mean_stability[1])
    assert frame.loc[3, "separation_rank"] == 1
    assert "3 clusters (probability " in blobs.summary()


def test_permuted_columns_are_told_and_decide_nothing(blobs):
    profile = choose_k(BLOBS, range(2, 6), null=("box", "gaussian", "hull", "permuted"), **FEW)
    assert "null_permuted" in profile.to_frame()
    assert profile.p_value == blobs.p_value
    assert_array_equal(profile.adjusted, blobs.adjusted)


def test_the_display_draws_what_is_there(blobs):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3)
    shown = KProfileDisplay.from_profile(blobs, ax=axes[0])
    assert shown.ax_ is axes[0]
    assert shown.figure_ is figure
    assert_allclose([bar.get_height() for bar in shown.bars_], blobs.probability)
    product = np.ones(4)
    assert set(blobs.support) == {"prior", "likelihood", "stability"}
    for name in blobs.support:
        product *= shown.lines_[name].get_ydata()
    assert_allclose(product / product.sum(), blobs.probability)  # the picture shows why
    assert_array_equal(shown.lines_["weakest"].get_ydata(), blobs.weakest_score)
    assert_array_equal(shown.lines_["beyond"].get_ydata(), np.maximum(blobs.adjusted, 0))
    assert shown.best_.get_x() + shown.best_.get_width() / 2 == pytest.approx(3)
    assert axes[0].get_title().startswith("Recommended: 3 (probability ")
    bare = KProfileDisplay.from_profile(choose_k(BLOBS, [2, 3], null=None, **FEW), ax=axes[1])
    assert "beyond" not in bare.lines_
    numbers = KProfileDisplay.numbers(blobs) | {"best": 1, "plausible": (1, 3), "p_value": 0.4}
    nothing = KProfileDisplay(**numbers).plot(axes[2])
    assert nothing.best_ is None
    assert axes[2].get_title() == "Recommended: 1, no clear clusters (p = 0.4), or perhaps 3"
    figure.canvas.draw()
    plt.close(figure)
    with pytest.raises(TypeError, match="must be a KProfile"):
        KProfileDisplay.from_profile(blobs.to_frame())


def test_the_display_makes_a_figure_of_its_own(blobs, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    there = plt.figure().add_subplot()
    shown = KProfileDisplay.from_profile(blobs)
    assert shown.ax_ is not there
    assert there.lines[:] == []
    plt.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "clustertrust\[plot\]"'):
        KProfileDisplay.from_profile(blobs)


@pytest.mark.parametrize(
    ("ks", "kind", "message"),
    [
        (5, TypeError, "ks=5 must be a range or a list"),
        ("2:12", TypeError, "ks='2:12' must be a range"),
        (range(2, 2), ValueError, "at least two different numbers"),
        ([3], ValueError, "at least two different numbers"),
        ([2, 3, 3], ValueError, "each once"),
        ([1, 2], ValueError, "ks=1 must be at least 2"),
        ([2, 2.5], TypeError, "ks=2.5 must be an integer"),
        ([2, 150], ValueError, "goes up to 150; stay below the number of points, 150"),
    ],
)
def test_bad_ranges(ks, kind, message):
    with pytest.raises(kind, match=message):
        choose_k(BLOBS, ks)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vary": {"n_clusters": [2, 3]}}, r"vary\['n_clusters'\] cannot be combined"),
        ({"clusterer": "hdbscan"}, "has no n_clusters or n_components"),
        ({"null": ("permuted",)}, "has no family for the verdict"),
        ({"null": ("none",)}, "null='none' is not known"),
        ({"effort": "some"}, "effort='some' is not known"),
        ({"n_surrogates": 9}, "n_surrogates=9 allows no p-value below 0.1"),
        ({"agreement": "kappa"}, "agreement='kappa' is not known"),
        ({"metric": "nearness"}, "nearness"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        choose_k(BLOBS, range(2, 5), **settings)


def test_the_legend_hides_no_line():
    """Every line stays below the legend, whatever the axes."""
    from matplotlib.figure import Figure

    k = np.arange(2, 8)
    support = {name: np.ones(6) for name in ("likelihood", "stability")}
    numbers = {"probability": np.full(6, 1 / 6), "support": support, "weakest": np.ones(6)}
    figure = Figure(figsize=(10, 4), layout="constrained")
    for ax in figure.subplots(1, 2):
        shown = KProfileDisplay(
            n_clusters=k, **numbers, beyond=np.full(6, 0.99), best=3, plausible=(3, 4)
        ).plot(ax)
        figure.draw_without_rendering()
        box = ax.get_legend().get_window_extent().transformed(ax.transData.inverted())
        assert box.y0 > 1.0
        assert max(ax.get_yticks()) <= 1.02  # a score is at most 1
        assert shown.lines_["stability"].get_ydata().max() == 1
