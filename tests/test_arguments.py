"""Arguments of the wrong type, or beyond any use, are refused with an error that names them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from extras import extra
from fuzz.arguments import strangers
from fuzz.calls import calls
from templates import choose_k, null_reference

from clustertrust import (
    CAKE,
    Metric,
    Runs,
    build_ensemble,
    confidence,
    displays,
    select_top,
)
from clustertrust.answers import ask
from clustertrust.baselines import (
    fuzzy_memberships,
    gmm_confidence,
    membership_confidence,
    rank_average,
)
from clustertrust.calibration import Calibrator, brier_score, reliability
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.evaluation import auroc, risk_coverage_curve, student_interval
from clustertrust.files import Reading, open_source, read_table, write_table
from clustertrust.geometry import Graph, Kernel
from clustertrust.report import build_report
from clustertrust.selection import select_adaptive
from clustertrust.storage import read_arrays, write_arrays

figure = extra("matplotlib.figure")

rng = np.random.default_rng(0)
TRUTH = np.arange(20) % 2
X = rng.normal(size=(20, 3)) + 5.0 * TRUTH[:, None]
SCORES = np.linspace(0.05, 0.95, 20)
FEW = {"n_runs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def cake():
    return CAKE(2, n_runs=3, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("how", "meant"),
    [
        ({"clusterer": "KMeans"}, "kmeans"),
        ({"clusterer": "mini-batch-kmeans"}, "minibatch-kmeans"),
        ({"fusion": "Harmonic"}, "harmonic"),
        ({"unassigned": "skp"}, "skip"),
    ],
)
def test_a_name_that_is_nearly_right_gets_a_suggestion(how, meant):
    with pytest.raises(ValueError, match=f"is not known; choose one of .* Did you mean '{meant}'"):
        CAKE(2, **how).fit(X)
    with pytest.raises(ValueError, match=r"choose one of \[.*\]\.$"):
        CAKE(2, **dict.fromkeys(how, "??")).fit(X)


def test_valid_arguments_of_the_fuzzer_are_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, (function, arguments) in calls().items():
        try:
            function(**arguments())
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error


@pytest.mark.parametrize("kind", ["ax array", "text", "number"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda cake, ax: displays.ScoreBarsDisplay.from_estimator(cake, ax=ax),
        lambda cake, ax: displays.ScoreScatterDisplay.from_estimator(cake, X, ax=ax),
        lambda cake, ax: displays.AlignmentDisplay.from_labels(TRUTH, TRUTH, ax=ax),
        lambda cake, ax: displays.ReliabilityDisplay.from_predictions(SCORES, TRUTH, ax=ax),
    ],
)
def test_axes_that_are_none(draw, kind, cake):
    ax = {"ax array": figure.Figure().subplots(2, 2), "text": "here", "number": 1}[kind]
    with pytest.raises(TypeError, match=r"ax is .*give the axes of one plot"):
        draw(cake, ax)


def test_options_that_scatter_does_not_take(cake):
    for given, kind in (({"colour": "red"}, ValueError), (["red"], TypeError), ({1: 2}, TypeError)):
        with pytest.raises(kind, match="scatter_kw"):
            displays.ScoreScatterDisplay.from_estimator(
                cake, X, ax=figure.Figure().add_subplot(), scatter_kw=given
            )
        with pytest.raises(kind, match="scatter_kw"):
            displays.StabilityGeometryDisplay.from_estimator(
                cake, ax=figure.Figure().add_subplot(), scatter_kw=given
            )


def test_a_calibrator_that_is_none():
    with pytest.raises(TypeError, match="calibrator='logistic' must be a fitted"):
        displays.ReliabilityDisplay.from_calibrator("logistic", SCORES, TRUTH)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "x",
        [1, 2, 3],
        X[0],
        X + 1j,
        X[:, :2],
        np.where(X > 0, np.nan, X),
        pd.DataFrame({"a": ["x"] * 3}),
    ],
)
@pytest.mark.filterwarnings("ignore:agglomerative is deterministic")
@pytest.mark.parametrize("clusterer", ["kmeans", "agglomerative", "gmm"])
def test_points_that_no_run_can_place(bad, clusterer):
    ensemble = build_ensemble(X, clusterer, n_clusters=2, **FEW)
    with pytest.raises((TypeError, ValueError)):
        ensemble.place(bad)
    assert ensemble.place(X[:1].tolist()).shape == (1, 2)


def test_tables_and_formats_that_are_none(tmp_path):
    table = pd.DataFrame({"a": [1, 2]})
    for bad in (X, "x", None, {"a": [1]}):
        with pytest.raises(TypeError, match=r"table is a .*DataFrame"):
            write_table(bad, tmp_path / "x.csv")
    for bad in ("xls", 3, ["csv"]):
        with pytest.raises(ValueError, match=r"format=.* is not known; .*choose one of"):
            write_table(table, tmp_path / "x.csv", format=bad)
        with pytest.raises(ValueError, match=r"format=.* is not known; .*choose one of"):
            read_table(b"a\n1\n", format=bad)
    for bad in ("utf8", {"text": ("a",)}, 0, ()):
        with pytest.raises(TypeError, match=r"reading=.*must be a clustertrust"):
            read_table(b"a\n1\n", bad, format="csv")
    with pytest.raises(TypeError, match=r"source=.*must be a path"):
        read_table(3, format="csv")
    for option in (
        {"text": "id"},
        {"text": (1,)},
        {"separator": 3},
        {"header": "yes"},
        {"use_rep": None},
    ):
        with pytest.raises(TypeError, match=next(iter(option))):
            read_table(b"a\n1\n", Reading(**option), format="csv")


@pytest.mark.parametrize("value", [2**31, 2**63, 10**30, 0, -1, 1.5, None, "x", [1], 1j])
def test_sweeps_of_kmedoids_that_are_none(value):
    kmedoids = CLUSTERERS["kmedoids"].estimator(2)
    with pytest.raises((TypeError, ValueError), match="max_iter="):
        kmedoids.set_params(max_iter=value).fit(X)


@pytest.mark.parametrize("value", [-1, 0, 1.5, "x", None])
def test_samples_and_clusters_of_kmedoids_that_are_none(value):
    for name in ("sample_size", "n_clusters"):
        with pytest.raises((TypeError, ValueError), match=f"{name}="):
            CLUSTERERS["kmedoids"].estimator(2).set_params(**{name: value}).fit(X)


@pytest.mark.parametrize("value", [2**31, 2**63, 10**30, np.uint64(2**63)])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("n_runs", lambda value: CAKE(2, n_runs=value).fit(X)),
        ("n_runs", lambda value: build_ensemble(X, n_runs=value)),
        ("n_runs", lambda value: null_reference(X, 2, n_runs=value, n_surrogates=19)),
        ("n_surrogates", lambda value: null_reference(X, 2, n_surrogates=value, **FEW)),
        ("n_surrogates", lambda value: choose_k(X, [2, 3], n_surrogates=value, **FEW)),
        ("n_init", lambda value: gmm_confidence(X, 2, n_init=value)),
        ("n_restarts", lambda value: select_adaptive(X, SCORES, 2, n_restarts=value)),
        ("n_positions", lambda value: risk_coverage_curve(SCORES, TRUTH, n_positions=value)),
        ("n_bins", lambda value: reliability(SCORES, TRUTH, n_bins=value)),
        ("n_jobs", lambda value: confidence(X, [TRUTH, TRUTH], n_jobs=value)),
        ("fuzziness", lambda value: fuzzy_memberships(X, 2, fuzziness=value)),
    ],
)
def test_sizes_beyond_any_use(name, call, value):
    with pytest.raises(
        ValueError,
        match=rf"{name}={value}|{name}=np.uint64\({value}\)|{name}={float(value)!r}".replace(
            "+", r"\+"
        ),
    ):
        call(value)


@pytest.mark.parametrize("values", [range(2, 10**15), itertools.count(2)])
def test_values_without_end(values):
    with pytest.raises(ValueError, match="ks holds more than 1000000 values"):
        choose_k(X, values, **FEW)
    with pytest.raises(ValueError, match="holds more than 1000000 values"):
        build_ensemble(X, vary={"n_clusters": values}, **FEW)


@pytest.mark.parametrize("kind", [np.asarray, pd.Series, list])
def test_complex_numbers_are_not_cut_in_half(kind):
    numbers = kind(SCORES + 1j)
    for call in (
        lambda: auroc(numbers, TRUTH),
        lambda: select_top(numbers, 0.5),
        lambda: brier_score(numbers, TRUTH),
        lambda: Calibrator().fit(SCORES, TRUTH, numbers),
        lambda: rank_average([SCORES, numbers]),
        lambda: student_interval(numbers),
    ):
        with pytest.raises(ValueError, match="complex"):
            call()
    with pytest.raises(ValueError, match="complex"):
        membership_confidence(np.column_stack([SCORES, 1 - SCORES]) + 0j)


@pytest.mark.parametrize(
    "name", [name for name in strangers() if "polars" in name or "dask" in name or name == "csr"]
)
def test_frames_in_place_of_words(name):
    for argument in ("resample", "metric", "n_runs", "fusion", "geometry"):
        with pytest.raises((TypeError, ValueError), match=argument):
            CAKE(2, **FEW | {argument: strangers()[name]()}).fit(X)
    parts = {
        "left_out": lambda odd: {"n_runs": Runs(2, left_out=odd), "resample": 0.5},
        "on_failure": lambda odd: {"n_runs": Runs(2, on_failure=odd)},
        "checkpoint": lambda odd: {"n_runs": Runs(2, checkpoint=odd)},
        "metric": lambda odd: {"metric": Metric("minkowski", odd)},
        "kernel": lambda odd: {"geometry": Kernel(odd)},
        "gamma": lambda odd: {"geometry": Kernel("rbf", gamma=odd)},
        "n_neighbors": lambda odd: {"geometry": Graph(odd)},
    }
    for argument, given in parts.items():
        with pytest.raises((TypeError, ValueError), match=argument):
            CAKE(2, **FEW | given(strangers()[name]())).fit(X)
    with pytest.raises(TypeError, match="fuzziness"):
        fuzzy_memberships(X, 2, fuzziness=strangers()[name]())
    with pytest.raises(TypeError, match="level"):
        student_interval([1.0, 2.0], level=strangers()[name]())


def test_labels_beyond_whole_numbers():
    for bad in ([1e300, 2.0], [10**30, 1], [float(2**63), 0.0]):
        with pytest.raises(ValueError, match="too large for a label"):
            confidence(X[:2], [bad, bad])


@pytest.mark.parametrize("value", [X, pd.Series([True]), "yes", None])
def test_flags_that_are_none(value, cake):
    with pytest.raises(TypeError, match="verbose="):
        build_ensemble(X, n_clusters=2, verbose=value, **FEW)
    with pytest.raises(TypeError, match="references="):
        displays.RiskCoverageDisplay.from_estimator(
            cake, TRUTH, references=value, ax=figure.Figure().add_subplot()
        )


@pytest.mark.parametrize("value", ["x", 3, [1], X, True])
def test_settings_that_are_none(value, cake, tmp_path):
    for call in (
        lambda: cake.report(tmp_path / "x.html", settings=value),
        lambda: confidence(X, [TRUTH, TRUTH]).report(tmp_path / "x.html", settings=value),
        lambda: build_report(cake.to_frame(), settings=value),
    ):
        with pytest.raises(TypeError, match=r"(?s)settings=.*must be a dict"):
            call()


def test_what_is_no_table_to_open():
    with pytest.raises(TypeError, match="must be an array, or the path"):
        open_source(3)


def test_levels_that_no_p_value_reaches():
    with pytest.raises(ValueError, match="level=5e-324 could never be reached"):
        null_reference(X, 2, level=5e-324, n_surrogates=19, **FEW)


# Values of a stored model that no fit gives


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "model"
    CAKE(2, n_runs=3, random_state=0, fusion="refined").fit(X).save(path)
    return path


def change(path, name, value):
    """Write a value into the first place of an array of a model, or into its JSON."""
    content, arrays = read_arrays(path, "model")
    if name == "sampling_error":
        content["confidence"]["Confidence"][name] = value
    else:
        arrays[f"confidence/{name}"].flat[0] = value
    write_arrays(path, "model", content, arrays)


@pytest.mark.parametrize("value", [1e300, -1e300, np.inf, -np.inf, 1.5e9, -1.01])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "scores",
            "stability",
            "geometry",
            "silhouette_mean",
            "silhouette_std",
            "standard_errors",
        ),
        *("consensus_strength", "votes", "persistence", "sampling_error"),
    ],
)
def test_models_with_values_beyond_their_range_are_damaged(name, value, model, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(model.read_bytes())
    CAKE.load(path)
    change(path, name, value)
    with pytest.raises(ValueError, match=f"damaged.*{name}"):
        CAKE.load(path)


def test_points_without_a_score_are_no_damage(tmp_path):
    cake = CAKE(2, n_runs=2, resample=0.5, random_state=0)
    with pytest.warns(UserWarning, match="fewer than"):
        cake.fit(X)
    assert np.isnan(cake.scores_).any()
    cake.save(tmp_path / "model")
    np.testing.assert_array_equal(CAKE.load(tmp_path / "model").scores_, cake.scores_)


def test_tables_with_values_beyond_their_range_make_no_report(cake):
    for name in ("stability", "silhouette_mean", "standard_error"):
        with pytest.raises(ValueError, match=f"table\\['{name}'\\] is 1e\\+300 in row 0"):
            build_report(cake.to_frame().assign(**{name: 1e300}))


def test_numbers_beyond_all_floats_and_answers_that_are_none():
    cake = CAKE(2, n_runs=3, random_state=0).fit(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(ValueError, match=r"threshold=1000.* is too large for a float"):
        cake.to_frame(10**400)
    with pytest.raises(ValueError, match=r"n=1000.* must be at most 1000000"):
        ask(cake, 10**400)
    with pytest.raises(TypeError, match="answers=3 must be Answers"):
        ask(cake, 5, answers=3)


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.ones((4, 2), dtype=complex), "holds complex numbers"),
        (np.zeros((4, 2), dtype="M8[s]"), "holds dates or times"),
        (np.zeros((4, 2), dtype="m8[s]"), "holds dates or times"),
    ],
)
def test_arrays_of_other_than_real_numbers(tmp_path, array, told):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ValueError, match=f"x.npy {told}; store the columns as real numbers"):
        read_table(tmp_path / "x.npy")
