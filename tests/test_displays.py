"""What displays draw is what the numbers say: artists against records, by hand or by another route."""

import importlib.util
import inspect
import sys
import warnings
from dataclasses import is_dataclass, replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawing import GAPPY, IRIS, NAN, drawn, new_ax, record
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from clustertrust import CAKE, confidence, displays
from clustertrust.displays import (
    AlignmentDisplay,
    ConvergenceDisplay,
    CoverageAccuracyDisplay,
    DecileDisplay,
    KProfileDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    ScoreBarsDisplay,
    ScoreDistributionDisplay,
    ScoreScatterDisplay,
    StabilityGeometryDisplay,
    shared,
)
from clustertrust.displays.components import fusion_of
from clustertrust.fusion import FUSIONS

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("no_figure_stays_open")

OF_TRUTH = {CoverageAccuracyDisplay, DecileDisplay, RiskCoverageDisplay}
OF_DATA = {ConvergenceDisplay, ScoreScatterDisplay}
OF_SCORES = {AlignmentDisplay, ScoreBarsDisplay, ScoreDistributionDisplay, StabilityGeometryDisplay}
EVERY = sorted(OF_TRUTH | OF_DATA | OF_SCORES, key=lambda display: display.__name__)
every_display = pytest.mark.parametrize("display", EVERY, ids=lambda cls: cls.__name__)


def from_estimator(display, cake, y, ax=None):
    return display.from_estimator(cake, *([y] if display in OF_TRUTH else []), ax=ax)


def from_confidence(display, scored, X, y, ax=None):
    more = [y] if display in OF_TRUTH else [X] if display in OF_DATA else []
    return display.from_confidence(scored, *more, ax=ax)


def assert_same(value, expected):
    if is_dataclass(expected):
        value, expected = list(vars(value).values()), list(vars(expected).values())
    if isinstance(expected, list | tuple):
        for one, other in zip(value, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray | float):
        assert_allclose(value, expected, atol=1e-12)
    else:
        assert value == expected


PLANE = np.arange(16.0).reshape(8, 2) ** 1.5


# All displays


def test_the_list_of_names_is_sorted_and_complete():
    assert displays.__all__ == sorted(displays.__all__)
    others = {KProfileDisplay, ReliabilityDisplay, displays.score_colors}  # tested elsewhere
    every = {getattr(displays, name) for name in displays.__all__}
    assert every - others == set(EVERY)


@every_display
def test_axes_given_are_used_and_pyplot_is_left_alone(display, iris):
    ax = new_ax()
    shown = drawn(from_estimator(display, iris, IRIS.target, ax))
    assert isinstance(shown, display)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert plt.get_fignums() == []
    again = new_ax()
    assert shown.plot(again) is shown
    assert shown.ax_ is again
    assert again.get_xlabel() == ax.get_xlabel() != ""


@every_display
def test_without_axes_one_figure_is_made(display, iris):
    shown = from_estimator(display, iris, IRIS.target)
    assert plt.get_fignums() == [shown.figure_.number]
    assert drawn(shown).ax_.get_title() != ""


@every_display
def test_estimator_and_record_give_the_same_numbers(display, iris):
    y = IRIS.target.to_numpy()
    one = from_estimator(display, iris, y, new_ax())
    # Else the reference's own names.
    scored = replace(confidence(IRIS.data, iris.ensemble_), label_names=np.arange(3))
    other = from_confidence(display, scored, IRIS.data, y, new_ax())
    numbers = [name for name in vars(one) if not name.endswith("_")]
    assert numbers
    for name in numbers:
        assert_same(getattr(other, name), getattr(one, name))


@every_display
def test_what_is_no_fitted_cake_is_turned_away(display):
    y = IRIS.target
    with pytest.raises(NotFittedError):
        from_estimator(display, CAKE(3), y)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        from_estimator(display, make_pipeline(CAKE(3)), y)
    with pytest.raises(TypeError, match="from_estimator"):
        from_confidence(display, CAKE(3), IRIS.data, y)
    assert plt.get_fignums() == []


@every_display
def test_methods_show_and_describe_the_arguments_that_they_take(display):
    of_plot = set(inspect.signature(display.plot).parameters)
    assert {"self", "ax"} <= of_plot
    for make, first in ((display.from_estimator, "cake"), (display.from_confidence, "confidence")):
        names = inspect.signature(make).parameters
        assert next(iter(names)) == first
        assert of_plot - {"self"} <= set(names)
        described = make.__doc__ + display.plot.__doc__
        assert all(name in described for name in set(names) - {first, "ax"})


def test_arguments_of_a_display_are_those_of_its_numbers_and_its_drawing():
    shown = inspect.signature(CoverageAccuracyDisplay.from_estimator).parameters
    assert set(shown) == {"cake", "y", "coverages", "alignment", "ax", "name", "references"}
    assert "X" not in inspect.signature(ConvergenceDisplay.from_estimator).parameters
    assert list(inspect.signature(DecileDisplay).parameters) == [
        "accuracies",
        "highest",
        "accuracy",
        "missing",
    ]


@every_display
def test_options_that_a_display_does_not_have_are_errors(display, iris):
    message = rf"(?=.*'colour').*{display.__name__}\.(from_estimator|from_confidence|plot)\b"
    for make, source in ((display.from_estimator, iris), (display.from_confidence, GAPPY)):
        y = [IRIS.target] if "y" in inspect.signature(make).parameters else []
        with pytest.raises(TypeError, match=message):
            make(source, *y, colour="red")
    with pytest.raises(TypeError, match=message):
        from_estimator(display, iris, IRIS.target, new_ax()).plot(colour="red")
    assert plt.get_fignums() == []


def test_a_figure_that_cannot_be_drawn_is_closed(iris):
    with pytest.raises(ValueError, match="scatter_kw"):
        ScoreScatterDisplay.from_estimator(iris, scatter_kw={"colour": "red"})
    assert plt.get_fignums() == []


@every_display
def test_without_matplotlib_the_message_says_how_to_get_it(display, iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "clustertrust\[plot\]"'):
        from_estimator(display, iris, IRIS.target)


@pytest.mark.parametrize(
    "display",
    [cls for cls in EVERY if cls is not AlignmentDisplay],
    ids=lambda cls: cls.__name__,
)
def test_points_without_a_score_are_told_of(display):
    rng = np.random.default_rng(0)
    X, y = make_blobs(60, centers=3, random_state=0)
    runs = [np.where(rng.random(60) < 0.5, -1, y) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that scores are missing is the point here
        scored = confidence(X, runs)
    missing = int(np.isnan(scored.scores).sum())
    assert missing > 5
    shown = drawn(from_confidence(display, scored, X, y, new_ax()))
    if display is ScoreScatterDisplay:
        assert f"no score ({missing})" in [
            text.get_text() for text in shown.ax_.get_legend().get_texts()
        ]
    else:
        assert f"{missing} of 60 points have no score" in shown.note_.get_text()


@pytest.mark.parametrize(
    "display", [ScoreBarsDisplay, ScoreDistributionDisplay, ScoreScatterDisplay]
)
def test_records_without_any_score_are_drawn_too(display):
    nothing = record(np.full(5, NAN), [-1, -1, -1, -1, -1])
    drawn(from_confidence(display, nothing, PLANE[:5], None, new_ax()))


@pytest.mark.parametrize("display", [CoverageAccuracyDisplay, DecileDisplay, RiskCoverageDisplay])
def test_the_truth_must_fit_the_points(display):
    with pytest.raises(
        ValueError, match=r"y has shape \(3,\); give the true class of each of the 8 points"
    ):
        from_confidence(display, GAPPY, None, [0, 1, 2])
    with pytest.raises(ValueError, match="no score that is a number"):
        from_confidence(display, record([NAN, NAN], [0, 1]), None, [0, 1])
    with pytest.raises(ValueError, match="truth is missing"):
        from_confidence(display, record([0.1, 0.2], [0, 1]), None, [0, None])


# Scatter


def test_scatter_draws_each_point_at_its_place_in_its_colour():
    shown = drawn(ScoreScatterDisplay.from_confidence(GAPPY, PLANE, ax=new_ax()))
    where = {tuple(place): float(score) for place, score in zip(PLANE, GAPPY.scores, strict=True)}

    def of(artist):
        return {
            tuple(at): value
            for at, value in zip(artist.get_offsets().data, artist.get_array(), strict=True)
        }

    assert of(shown.points_) == {tuple(PLANE[i]): where[tuple(PLANE[i])] for i in (0, 1, 3, 5)}
    assert of(shown.not_assigned_) == {tuple(PLANE[i]): where[tuple(PLANE[i])] for i in (4, 7)}
    assert {tuple(at) for at in shown.missing_.get_offsets().data} == {
        tuple(PLANE[i]) for i in (2, 6)
    }
    legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert legend == ["not assigned (2)", "no score (2)"]
    assert (shown.points_.norm.vmin, shown.points_.norm.vmax) == (0, 1)
    assert shown.points_.get_cmap().name == "clustertrust"
    names = {text.get_text(): text.xy for text in shown.cluster_texts_}
    assert set(names) == {"ant", "zebra"}
    assert tuple(names["zebra"]) in {tuple(PLANE[i]) for i in (0, 1, 2)}
    assert shown.note_ is None


def test_scatter_without_gaps_needs_no_legend(iris):
    shown = ScoreScatterDisplay.from_estimator(iris, ax=new_ax())
    assert (shown.not_assigned_, shown.missing_, shown.ax_.get_legend()) == (None, None, None)
    assert_array_equal(np.sort(shown.shown_), np.arange(150))
    assert_array_equal(shown.points_.get_offsets(), shown.points[shown.shown_])
    assert_array_equal(shown.points_.get_array(), iris.scores_[shown.shown_])


def test_scatter_says_what_its_axes_are(iris):
    shown = ScoreScatterDisplay.from_estimator(iris, ax=new_ax())
    centred = IRIS.data.to_numpy() - IRIS.data.to_numpy().mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert_allclose(np.abs(shown.points), np.abs(u[:, :2] * s[:2]), atol=1e-9)
    share = s[0] ** 2 / (s**2).sum()
    assert shown.ax_.get_xlabel() == f"principal component 1 ({share:.0%} of the variance)"

    two = IRIS.data.iloc[:, [2, 0]]
    plain = ScoreScatterDisplay.from_estimator(iris, two, ax=new_ax())
    assert_array_equal(plain.points, two)
    assert (plain.ax_.get_xlabel(), plain.ax_.get_ylabel()) == tuple(two.columns)
    own = CAKE(3, n_runs=3, random_state=0).fit(two)
    assert ScoreScatterDisplay.from_estimator(own, ax=new_ax()).axis_names == tuple(two.columns)
    bare = ScoreScatterDisplay.from_estimator(iris, two.to_numpy(), ax=new_ax())
    assert bare.axis_names == ("feature 0", "feature 1")

    umap = ScoreScatterDisplay.from_estimator(iris, embedding=np.ones((150, 2)), ax=new_ax())
    assert umap.axis_names == ("embedding 1", "embedding 2")
    named = pd.DataFrame(np.ones((150, 2)), columns=["UMAP1", "UMAP2"])
    assert ScoreScatterDisplay.from_estimator(iris, embedding=named, ax=new_ax()).axis_names == (
        "UMAP1",
        "UMAP2",
    )


def test_scatter_of_one_column_sparse_and_constant_data(iris):
    line = ScoreScatterDisplay.from_estimator(iris, IRIS.data.iloc[:, :1], ax=new_ax())
    assert_array_equal(line.points[:, 0], IRIS.data.iloc[:, 0])
    assert line.axis_names[1] == "random height (X has one column)"
    rows = sparse.csr_array(IRIS.data.to_numpy())
    dense = ScoreScatterDisplay.from_estimator(iris, ax=new_ax())
    assert_allclose(
        np.abs(ScoreScatterDisplay.from_estimator(iris, rows, ax=new_ax()).points),
        np.abs(dense.points),
        atol=1e-6,
    )
    flat = ScoreScatterDisplay.from_estimator(iris, rows[:, :2], ax=new_ax())
    assert_array_equal(flat.points, IRIS.data.iloc[:, :2])
    same = ScoreScatterDisplay.from_estimator(iris, np.ones((150, 3)), ax=new_ax())
    assert same.axis_names[0] == "principal component 1 (0% of the variance)"
    drawn(same)


def test_scatter_asks_for_data_that_fit():
    make = ScoreScatterDisplay.from_confidence
    with pytest.raises(ValueError, match="both missing"):
        make(GAPPY)
    with pytest.raises(ValueError, match="both given"):
        make(GAPPY, PLANE, embedding=PLANE)
    with pytest.raises(
        ValueError, match=r"X has 7 points and to_frame\(\) has 8; both must describe the same"
    ):
        make(GAPPY, PLANE[:7])
    with pytest.raises(ValueError, match=r"embedding has shape \(8, 3\)"):
        make(GAPPY, embedding=np.ones((8, 3)))
    with pytest.raises(ValueError, match="embedding is missing or infinite in row 5"):
        make(GAPPY, embedding=np.where(np.arange(16).reshape(8, 2) == 11, np.inf, PLANE))
    with pytest.raises(ValueError, match="embedding must be"):
        make(GAPPY, embedding=[["a", "b"]] * 8)
    named = replace(GAPPY, frame=pd.DataFrame(index=list("abcdefgh")))
    mixed = pd.DataFrame(PLANE, index=list("bacdefgh"))
    for how in ({"X": mixed}, {"embedding": mixed}):
        with pytest.raises(
            ValueError, match=r"Row 0 of (X|embedding) is 'b' and row 0 of to_frame\(\) is 'a'"
        ):
            make(named, **how)
    with pytest.raises(ValueError, match="max_points=0"):
        make(GAPPY, PLANE, max_points=0)
    with pytest.raises(TypeError, match=r"max_points=1\.5"):
        make(GAPPY, PLANE, max_points=1.5)
    assert plt.get_fignums() == []


def test_options_reach_the_scatter(iris):
    options = {"s": 3.0, "vmax": 0.25, "cmap": "cividis"}
    shown = ScoreScatterDisplay.from_estimator(iris, ax=new_ax(), scatter_kw=options)
    assert_array_equal(shown.points_.get_sizes(), [3.0])
    assert (shown.points_.norm.vmax, shown.points_.get_cmap().name) == (0.25, "cividis")
    other = StabilityGeometryDisplay.from_estimator(iris, ax=new_ax(), scatter_kw=options)
    assert_array_equal(other.points_.get_sizes(), [3.0])


@pytest.mark.parametrize("display", [ScoreScatterDisplay, StabilityGeometryDisplay])
def test_many_points_are_pixels_and_more_are_sampled_and_it_is_said(display):
    rng = np.random.default_rng(0)
    n = 100_001
    scored = record(rng.uniform(size=n), rng.integers(0, 4, n))
    X = (rng.normal(size=(n, 2)),) if display is ScoreScatterDisplay else ()
    shown = display.from_confidence(scored, *X, ax=new_ax())
    assert shown.points_.get_rasterized()
    assert len(shown.shown_) == len(np.unique(shown.shown_)) == 100_000
    assert_array_equal(shown.points_.get_array(), scored.scores[shown.shown_])
    assert shown.note_.get_text() == "100,000 of 100,001 points, chosen at random"
    every = display.from_confidence(scored, *X, ax=new_ax(), max_points=None)
    assert len(every.shown_) == n
    assert every.note_.get_text() == "100,001 points, drawn in random order"
    few = drawn(display.from_confidence(scored, *X, ax=new_ax(), max_points=500))
    assert few.note_.get_text() == "500 of 100,001 points, chosen at random"
    assert not few.points_.get_rasterized()
    assert few.points_.get_sizes()[0] > every.points_.get_sizes()[0]


def test_small_scores_get_a_scale_of_their_own():
    assert shared.scale_top(np.array([0.1, NAN, 0.0312])) == pytest.approx(0.1)
    assert shared.scale_top(np.array([0.0312])) == pytest.approx(0.04)
    assert shared.scale_top(np.array([0.5])) == shared.scale_top(np.array([NAN, 0.0])) == 1
    shown = ScoreScatterDisplay.from_confidence(
        record([0.01, 0.03], [0, 1]), PLANE[:2], ax=new_ax()
    )
    assert shown.points_.norm.vmax == pytest.approx(0.03)


# Stability against geometry


@pytest.mark.parametrize("fusion", ["harmonic", "product"])
def test_components_are_where_they_are_and_lines_have_equal_score(fusion):
    cake = CAKE(3, clusterer="kmeans-random", n_runs=8, fusion=fusion, random_state=0).fit(
        IRIS.data
    )
    shown = drawn(StabilityGeometryDisplay.from_estimator(cake, ax=new_ax()))
    assert shown.fusion == fusion
    assert_array_equal(
        shown.points_.get_offsets(), np.c_[cake.geometry_, cake.stability_][shown.shown_]
    )
    assert_array_equal(shown.points_.get_array(), cake.scores_[shown.shown_])
    # The plane is no larger than what it shows, and has the lines that cross it.
    for (low, high), values in zip(
        (shown.ax_.get_xlim(), shown.ax_.get_ylim()), (cake.geometry_, cake.stability_), strict=True
    ):
        assert low < values.min() < low + 0.15
        assert high - 0.15 < values.max() < high
    levels = np.arange(1, 10) / 10
    top = FUSIONS[fusion]()(np.array([1.0]), np.ceil(10 * cake.geometry_.max()) / 10)
    assert_allclose(shown.contours_.levels, levels[levels < top])
    for level, path in zip(shown.contours_.levels, shown.contours_.get_paths(), strict=True):
        g, c = path.vertices.T
        assert len(g) > 10
        assert_allclose(c * g if fusion == "product" else 2 * c * g / (c + g), level, atol=2e-3)


def test_scores_that_no_fusion_gives_have_no_lines():
    odd = record([0.3, 0.4], [0, 1], stability=np.array([0.9, 0.9]), geometry=np.array([0.1, 0.1]))
    assert fusion_of(odd) is None
    shown = drawn(StabilityGeometryDisplay.from_confidence(odd, ax=new_ax()))
    assert shown.contours_ is None
    assert shown.ax_.get_title() == "Stability and geometry"


# The example


def test_the_example_draws_every_display(tmp_path, monkeypatch):
    path = Path(__file__).parent.parent / "examples" / "plot_displays.py"
    spec = importlib.util.spec_from_file_location("plot_displays", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "DOCS", tmp_path)
    cake = CAKE(3, n_runs=4, random_state=0).fit(IRIS.data)
    page, shown = (path.parents[1] / "docs" / "plots.md").read_text(encoding="utf-8"), {}
    for name, show in (example.BLOBS | example.MANY).items():

        def remember(*args, name=name, show=show):
            shown[name] = show(*args)
            return shown[name]

        saved = example.draw(name, remember, cake, IRIS.target.to_numpy())
        assert saved.read_bytes().startswith(b"\x89PNG")
        assert f"images/{saved.name}" in page
    assert {type(shown[name]) for name in example.BLOBS} == set(EVERY)
    assert example.many_clusters()[0].shape[1] == 6


@pytest.mark.parametrize(("dark", "ground"), [(False, "#ffffff"), (True, "#191f28")])
def test_scores_of_any_height_can_be_seen(dark, ground):
    """WCAG 2: graphics need a contrast of 3 to 1 with what is next to them."""

    def luminance(colors):
        linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722] + 0.05

    ramp = luminance(displays.score_colors(dark=dark)(np.linspace(0, 1, 101))[:, :3])
    back = luminance(np.array(mpl.colors.to_rgb(ground)))
    assert (np.maximum(ramp, back) / np.minimum(ramp, back)).min() >= 3


def test_a_new_figure_is_wide_enough_and_colours_follow_its_ground(iris):
    wide = ScoreScatterDisplay.from_estimator(iris).figure_
    assert wide.get_figwidth() * wide.dpi >= 1000
    plt.close(wide)
    ax = new_ax()
    ax.set_facecolor("#191f28")
    shown = ScoreScatterDisplay.from_estimator(iris, ax=ax)
    assert shown.points_.get_cmap()(1.0) == displays.score_colors(dark=True)(1.0)
