"""Every public function with arguments that it takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clustertrust import (
    CAKE,
    Ensemble,
    Metric,
    Runs,
    align_labels,
    baselines,
    build_ensemble,
    calibration,
    choose_k,
    confidence,
    displays,
    evaluation,
    null_reference,
    select_adaptive,
    select_top,
    theory,
)
from clustertrust.anndata import annotate, representation, score
from clustertrust.datasets import load
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import Reading, open_source, read_table, write_table
from clustertrust.geometry import Centroid, Geometry, Graph, Kernel, Sampled, silhouettes
from clustertrust.persistence import persistence
from clustertrust.reasons import reasons
from clustertrust.report import build_report, write_report
from clustertrust.selection import select_above
from clustertrust.stability import pairwise_stability

N = 12

Arguments = Callable[[], dict[str, Any]]


class Valid(NamedTuple):
    """What valid arguments are made of: points, true classes, two runs, scores, and what is made of
    them.
    """

    X: np.ndarray
    truth: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    correct: np.ndarray
    memberships: np.ndarray
    cake: CAKE
    record: Any
    calibrator: Any
    profile: Any


@cache
def valid() -> Valid:
    """A dozen points in two groups, and fits to them; made once a process."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 2
    X = rng.normal(size=(N, 3)) + 5.0 * truth[:, None]
    cake = CAKE(2, n_runs=3, random_state=0).fit(X)
    scores = np.linspace(0.05, 0.95, N)
    correct = scores + rng.normal(scale=0.2, size=N) > 0.4
    profile = choose_k(X, [2, 3], CAKE(n_runs=2, random_state=0), null=None)
    labels = np.column_stack([truth, np.roll(truth, 1)])
    memberships = np.column_stack([scores, 1 - scores])
    calibrator = calibration.Calibrator().fit(scores, correct)
    return Valid(
        X, truth, labels, scores, correct, memberships, cake, cake.confidence_, calibrator, profile
    )


def calls() -> dict[str, tuple[Callable[..., Any], Arguments]]:
    """Name → function and the arguments that it takes."""
    v = valid()
    rooms = (_fitting, _reading, _judging, _measuring, _counting, _drawing, _filing, _single_cells)
    return {name: call for room in rooms for name, call in room(v).items()}


def _given(function: Callable[..., Any], /, **arguments: Any) -> tuple[Any, Arguments]:
    return function, lambda: dict(arguments)


def _fitting(v: Valid) -> dict[str, Any]:
    scoring = {"fusion": "harmonic", "geometry": "exact", "metric": "euclidean"}
    scoring |= {"normalization": "clip", "agreement": "matching", "unassigned": "skip"}
    scoring |= {"consensus": "medoid", "n_jobs": 1}
    building = {"clusterer": "kmeans", "n_clusters": 2, "n_runs": 2, "vary": None}
    building |= {"resample": None, "random_state": 0, "verbose": False}
    few = {"n_clusters": 2, "n_runs": 2, "random_state": 0}
    runs = {"n_runs": 2, "left_out": "skip", "on_failure": "raise", "checkpoint": None}
    kernel = {"kernel": "polynomial", "gamma": 0.1, "degree": 2, "coef0": 1.0, "params": None}
    graph = {"n_neighbors": 3, "n_steps": 2, "metric": None, "weights": False}
    return {
        "CAKE.fit": _given(_fit, X=v.X, **building, **scoring),
        "confidence": _given(confidence, X=v.X, labels=v.labels, **scoring),
        "confidence by kernel": _given(_by(v, Kernel), **kernel),
        "confidence by graph": _given(_by(v, Graph), **graph),
        "confidence by centres": _given(_by(v, Centroid), centers=[v.X[:2], v.X[:2]]),
        "confidence by sample": _given(_by(v, Sampled), n_members=9),
        "confidence by metric": _given(_by_metric(v), name="minkowski", params={"p": 3}),
        "build_ensemble": _given(build_ensemble, X=v.X, **building, n_jobs=1),
        "Runs": _given(_runs(v), **runs),
        "KMedoids": _given(_kmedoids, X=v.X, n_clusters=2, max_iter=9, sample_size=50, seed=0),
        "Ensemble.from_labels": _given(Ensemble.from_labels, labels=v.labels, centers=None),
        "Ensemble.with_centers": _given(_ensemble(v).with_centers, centers=[v.X[:2], v.X[:2]]),
        "Ensemble.with_labels": _given(_ensemble(v).with_labels, labels=v.labels),
        "Ensemble.place": _given(v.cake.ensemble_.place, X=v.X),
        "null_reference": _given(
            null_reference,
            X=v.X,
            cake=CAKE(**few, n_jobs=1),
            families=("box",),
            n_surrogates=2,
            level=0.5,
            max_points=10,
        ),
        "choose_k": _given(
            choose_k,
            X=v.X,
            ks=[2, 3],
            cake=CAKE(n_runs=2, random_state=0, n_jobs=1, geometry="rms"),
            null=("box",),
            effort="quick",
            n_surrogates=2,
            level=0.5,
            max_points=10,
        ),
        "silhouettes": _given(
            silhouettes, X=v.X, labels=v.labels, geometry="exact", metric="euclidean", n_jobs=1
        ),
        "pairwise_stability": _given(
            pairwise_stability, labels=v.labels, agreement="matching", unassigned="skip"
        ),
        "persistence": _given(persistence, X=v.X, labels=v.truth, n_steps=2),
        "align_labels": _given(align_labels, target=v.truth, source=v.labels[:, 1]),
    }


def _fit(X: Any, **params: Any) -> Any:
    return CAKE(**params).fit(X)


def _by(v: Valid, kind: type[Geometry]) -> Callable[..., Any]:
    """Return a function of the parameters of a geometry that scores by it."""
    return lambda **params: confidence(v.X, v.labels, geometry=kind(**params))


def _by_metric(v: Valid) -> Callable[..., Any]:
    return lambda **params: confidence(v.X, v.labels, metric=Metric(**params))


def _runs(v: Valid) -> Callable[..., Any]:
    """Return a function of the parameters of `Runs` that makes them."""
    return lambda **params: build_ensemble(v.X, n_clusters=2, n_runs=Runs(**params), n_jobs=1)


def _kmedoids(X: Any, n_clusters: Any, max_iter: Any, sample_size: Any, seed: Any) -> Any:
    made = (
        CLUSTERERS["kmedoids"]
        .estimator(n_clusters)
        .set_params(max_iter=max_iter, sample_size=sample_size, random_state=seed)
    )
    return made.fit(X).predict(X)


def _ensemble(v: Valid) -> Ensemble:
    return Ensemble.from_labels(v.labels)


def _reading(v: Valid) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("predict", "score_samples", "score"):
        found[f"CAKE.{name}"] = _given(getattr(v.cake, name), X=v.X)
    found["CAKE.judge"] = _given(v.cake.judge, X=v.X, threshold=0.5)
    for told, result in (("CAKE", v.cake), ("Confidence", v.record)):
        found[f"{told}.to_frame"] = _given(result.to_frame, threshold=0.5)
        found[f"{told}.summary"] = _given(result.summary, threshold=0.5, points=2)
        found[f"{told}.explain"] = _given(_explainer(result), point=1, threshold=0.5)
        found[f"{told}.report"] = _given(
            result.report,
            path="report.html",
            X=v.X,
            settings={"a": 1},
            title="t",
            threshold=0.5,
            embedding=v.X[:, :2],
        )
    found["Confidence.reasons"] = _given(v.record.reasons, threshold=0.5)
    found["reasons"] = _given(
        reasons,
        labels=v.truth,
        scores=v.scores,
        stability=v.scores,
        silhouette_mean=v.scores,
        silhouette_std=v.scores,
        threshold=0.5,
    )
    return found


def _explainer(result: Any) -> Callable[..., Any]:
    """`explain`, whose IndexError for a point that is not there is in order."""

    def explain(point: Any, threshold: Any) -> Any:
        try:
            return result.explain(point, threshold)
        except IndexError as error:
            raise ValueError(str(error)) from error

    return explain


def _judging(v: Valid) -> dict[str, Any]:
    c = calibration
    sample = c.suggest(v.scores, 6)
    classes = np.array(["a", "b"])[v.truth]
    mapped = c.map_clusters(v.truth, classes[:6], np.arange(6))
    threshold = c.risk_threshold(v.scores, v.correct, 0.5, 0.5)
    return {
        "Calibrator.fit": _given(
            _calibrate, method="auto", scores=v.scores, correct=v.correct, w=None
        ),
        "Calibrator.predict": _given(v.calibrator.predict, scores=v.scores),
        "brier_score": _given(c.brier_score, probability=v.scores, correct=v.correct),
        "expected_calibration_error": _given(
            c.expected_calibration_error,
            probability=v.scores,
            correct=v.correct,
            n_bins=3,
            strategy="quantile",
        ),
        "reliability": _given(
            c.reliability, probability=v.scores, correct=v.correct, n_bins=3, strategy="quantile"
        ),
        "map_clusters": _given(
            c.map_clusters,
            labels=v.truth,
            classes=classes[:6],
            positions=np.arange(6),
            method="majority",
        ),
        "ClusterMap.correct": _given(
            mapped.correct, positions=np.arange(6, N), classes=classes[6:]
        ),
        "pseudo_labels": _given(
            c.pseudo_labels,
            labels=v.truth,
            scores=v.scores,
            threshold=0.5,
            share=None,
            random_state=0,
        ),
        "risk_threshold": _given(
            c.risk_threshold,
            scores=v.scores,
            correct=v.correct[sample.positions],
            alpha=0.5,
            delta=0.5,
            sample=sample,
            inclusion=None,
        ),
        "RiskThreshold.keep": _given(threshold.keep, scores=v.scores),
        "sample_weight": _given(c.sample_weight, scores=v.scores),
        "suggest": _given(
            c.suggest,
            scores=v.scores,
            n=4,
            purpose="threshold",
            design="random",
            exclude=[1],
            random_state=0,
        ),
        "select_top": _given(select_top, scores=v.scores, share=0.5, random_state=0),
        "select_above": _given(select_above, scores=v.scores, threshold=0.5),
        "select_adaptive": _given(
            select_adaptive,
            X=v.X,
            scores=v.scores,
            cake=2,
            coverages=(0.3, 0.5, 0.9),
            n_restarts=1,
            average="plain",
        ),
    }


def _calibrate(method: Any, scores: Any, correct: Any, w: Any) -> Any:
    return calibration.Calibrator(method).fit(scores, correct, w).predict([0.5])


def _measuring(v: Valid) -> dict[str, Any]:
    b, e = baselines, evaluation
    pair = {"labels": v.labels[:, 1], "truth": v.truth}
    judged = {"scores": v.scores, "correct": v.correct}
    mixture = {"n_clusters": 2, "random_state": 0}
    return {
        "bootstrap_stability": _given(
            b.bootstrap_stability,
            X=v.X,
            clusterer="kmeans",
            **mixture,
            n_runs=3,
            resample=0.8,
            n_jobs=1,
        ),
        "consensus_agreement": _given(b.consensus_agreement, labels=v.labels),
        "entropy_agreement": _given(b.entropy_agreement, labels=v.labels),
        "subsample_stability": _given(b.subsample_stability, labels=v.labels),
        "fuzzy_confidence": _given(
            b.fuzzy_confidence, X=v.X, **mixture, signal="maximum", fuzziness=2.0
        ),
        "fuzzy_memberships": _given(
            b.fuzzy_memberships, X=v.X, **mixture, fuzziness=2.0, max_iter=5, tol=0.1
        ),
        "gmm_confidence": _given(
            b.gmm_confidence, X=v.X, **mixture, signal="maximum", covariance_type="diag", n_init=1
        ),
        "gmm_memberships": _given(
            b.gmm_memberships, X=v.X, **mixture, covariance_type="diag", n_init=1
        ),
        "local_outlier_confidence": _given(
            b.local_outlier_confidence, X=v.X, labels=v.truth, n_neighbors=3
        ),
        "outlier_confidence": _given(b.outlier_confidence, X=v.X, n_neighbors=3),
        "membership_confidence": _given(
            b.membership_confidence, memberships=v.memberships, signal="maximum"
        ),
        "random_confidence": _given(b.random_confidence, X=v.X, random_state=0),
        "rank_average": _given(b.rank_average, signals=[v.scores, v.scores]),
        "accuracy": _given(e.accuracy, **pair),
        "correctness": _given(e.correctness, **pair),
        "agreement_with_truth": _given(e.agreement_with_truth, **pair, metric="ari"),
        "accuracy_by_bin": _given(e.accuracy_by_bin, **judged, n_bins=3, ties="average"),
        "auprc": _given(e.auprc, **judged, positive="correct"),
        "aurc": _given(e.aurc, **judged, n_positions=9, ties="average"),
        "auroc": _given(e.auroc, **judged),
        "risk_coverage_curve": _given(
            e.risk_coverage_curve, **judged, n_positions=9, ties="average"
        ),
        "error_precision": _given(e.error_precision, **judged, share=0.2, ties="average"),
        "percentile_correlation": _given(
            e.percentile_correlation, **judged, n_bins=3, ties="average"
        ),
        "coverage_accuracy_curve": _given(
            e.coverage_accuracy_curve,
            scores=v.scores,
            **pair,
            coverages=[0.5, 1.0],
            alignment="global",
        ),
        "score_quality": _given(
            e.score_quality, scores=v.scores, **pair, coverages=[0.5, 0.9], random_state=0
        ),
        "student_interval": _given(e.student_interval, values=[1.0, 2.0, 4.0], level=0.9),
        "subset_silhouette": _given(
            e.subset_silhouette, X=v.X, labels=v.truth, kept=v.scores > 0.2
        ),
    }


def _counting(v: Valid) -> dict[str, Any]:
    t = theory
    rates = {"threshold": 0.8, "n_clusters": 3, "expected_agreement": None, "form": "paper"}
    noise = {"n_noise": 10}
    return {
        "expected_false_positives": _given(t.expected_false_positives, n_runs=20, **noise, **rates),
        "false_stability_bound": _given(t.false_stability_bound, n_runs=20, **rates),
        "geometry_deviation": _given(t.geometry_deviation, n_runs=20, error=0.1),
        "mis_ranking_bound": _given(t.mis_ranking_bound, n_runs=20, margin=0.2, form="paper"),
        "runs_for_false_positives": _given(
            t.runs_for_false_positives, number=1.0, **noise, **rates
        ),
        "runs_for_false_stability": _given(t.runs_for_false_stability, error=0.1, **rates),
        "runs_for_geometry": _given(t.runs_for_geometry, deviation=0.1, error=0.1),
        "runs_for_mis_ranking": _given(t.runs_for_mis_ranking, error=0.1, margin=0.2, form="paper"),
    }


def _axes() -> Any:
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def _drawing(v: Valid) -> dict[str, Any]:
    d = displays
    how: dict[type, dict[str, Any]] = {
        d.AlignmentDisplay: {"runs": (0, 1)},
        d.ConvergenceDisplay: {"n_runs": [2, 3], "quantity": "errors"},
        d.CoverageAccuracyDisplay: {
            "y": v.truth,
            "coverages": [0.5, 1.0],
            "alignment": "global",
            "name": "a",
            "references": True,
        },
        d.DecileDisplay: {"y": v.truth, "n_bins": 3},
        d.RiskCoverageDisplay: {"y": v.truth, "name": "a", "references": True},
        d.ScoreBarsDisplay: {},
        d.ScoreDistributionDisplay: {"n_bins": 3},
        d.ScoreScatterDisplay: {
            "X": None,
            "embedding": v.X[:, :2],
            "max_points": 9,
            "scatter_kw": {"alpha": 0.5},
        },
        d.StabilityGeometryDisplay: {"max_points": 9, "scatter_kw": {"alpha": 0.5}},
    }
    of_record = {
        d.ConvergenceDisplay: {
            "X": v.X,
            "silhouettes": None,
            "fusion": "harmonic",
            "agreement": "matching",
        }
    }
    found: dict[str, Any] = {}
    for kind, given in how.items():
        name, more = kind.__name__, of_record.get(kind, {})
        found[f"{name}.from_estimator"] = (
            kind.from_estimator,  # type: ignore[attr-defined]
            lambda given=given: {"cake": v.cake, **given, "ax": _axes()},
        )
        found[f"{name}.from_confidence"] = (
            kind.from_confidence,  # type: ignore[attr-defined]
            lambda given=given, more=more: {"confidence": v.record, **more, **given, "ax": _axes()},
        )
    reliability = d.ReliabilityDisplay
    record = calibration.reliability(v.scores, v.correct, n_bins=3)
    judged = {"correct": v.correct, "n_bins": 3}
    found |= {
        "AlignmentDisplay.from_labels": (
            d.AlignmentDisplay.from_labels,
            lambda: {
                "first": v.truth,
                "second": v.labels[:, 1],
                "row_title": "a",
                "column_title": "b",
                "ax": _axes(),
            },
        ),
        "KProfileDisplay.from_profile": (
            d.KProfileDisplay.from_profile,
            lambda: {"profile": v.profile, "ax": _axes()},
        ),
        "ReliabilityDisplay.from_reliability": (
            reliability.from_reliability,
            lambda: {"record": record, "name": "a", "ax": _axes()},
        ),
        "ReliabilityDisplay.from_predictions": (
            reliability.from_predictions,
            lambda: {
                "probability": v.scores,
                **judged,
                "strategy": "quantile",
                "name": "a",
                "ax": _axes(),
            },
        ),
        "ReliabilityDisplay.from_calibrator": (
            reliability.from_calibrator,
            lambda: {"calibrator": v.calibrator, "scores": v.scores, **judged, "ax": _axes()},
        ),
    }
    return found


def _filing(v: Valid) -> dict[str, Any]:
    table, votes = v.record.to_frame(), pd.DataFrame(v.record.votes)
    page = {
        "X": v.X,
        "votes": votes,
        "settings": {"a": 1},
        "title": "t",
        "threshold": 0.5,
        "embedding": v.X[:, :2],
        "unasked": (),
    }
    text = b"id,x\n007,1.5\n008,2.5\n"
    options = {"text": ("id",), "separator": ",", "header": True, "array": None, "use_rep": "X_pca"}
    return {
        "build_report": _given(build_report, table=table, **page),
        "write_report": _given(write_report, path="page.html", table=table, **page),
        "read_table": _given(read_table, source=text, reading=Reading(text=("id",)), format="csv"),
        "Reading": _given(_read, **options),
        "write_table": _given(write_table, table=table, path="table.csv", format="csv"),
        "write_table as npz": _given(write_table, table=table, path="table.npz", format="npz"),
        "open_source": _given(_open, X=Path("source.csv"), reading=Reading(separator=",")),
        "CAKE.save": _given(v.cake.save, path="model"),
        "CAKE.load": _given(CAKE.load, path="model"),
        "Ensemble.save": _given(_ensemble(v).save, path="ensemble"),
        "Ensemble.load": _given(Ensemble.load, path="ensemble"),
        "load": _given(load, name="Ir", raw=False, block=1),
    }


def _read(**options: Any) -> Any:
    return read_table(b"id,x\n007,1.5\n008,2.5\n", Reading(**options), format="csv")


def _open(X: Any, **options: Any) -> Any:
    pd.DataFrame(valid().X, columns=["a", "b", "c"]).to_csv("source.csv", index=False)
    return list(open_source(X, **options).blocks(7))


def _single_cells(v: Valid) -> dict[str, Any]:
    from anndata import AnnData

    def cells() -> Any:
        return AnnData(v.X.copy(), obsm={"X_pca": v.X.copy()})

    few = {"n_clusters": 2, "n_runs": 2, "random_state": 0}
    return {
        "anndata.score": (
            score,
            lambda: {
                "adata": cells(),
                "use_rep": "X_pca",
                "key_added": "cake",
                "labels": None,
                **few,
            },
        ),
        "anndata.annotate": (
            annotate,
            lambda: {
                "adata": cells(),
                "table": v.record.to_frame(),
                "key_added": "cake",
                "settings": {},
            },
        ),
        "anndata.representation": (representation, lambda: {"adata": cells(), "use_rep": "X_pca"}),
    }
