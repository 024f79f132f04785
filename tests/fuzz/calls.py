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


def _fitting(v: Valid) -> dict[str, Any]:
    scoring = {
        "fusion": "harmonic",
        "geometry": "exact",
        "metric": "euclidean",
        "normalization": "clip",
        "agreement": "matching",
        "unassigned": "skip",
        "consensus": "medoid",
        "n_jobs": 1,
    }
    building = {
        "clusterer": "kmeans",
        "n_clusters": 2,
        "n_runs": 2,
        "vary": None,
        "resample": None,
        "random_state": 0,
        "verbose": False,
    }
    few = {"n_clusters": 2, "n_runs": 2, "random_state": 0}
    runs = {"n_runs": 2, "left_out": "skip", "on_failure": "raise", "checkpoint": None}
    kernel = {"kernel": "polynomial", "gamma": 0.1, "degree": 2, "coef0": 1.0, "params": None}
    graph = {"n_neighbors": 3, "n_steps": 2, "metric": None, "weights": False}
    return {
        "CAKE.fit": (_fit, lambda: {"X": v.X, **building, **scoring}),
        "confidence": (confidence, lambda: {"X": v.X, "labels": v.labels, **scoring}),
        "confidence by kernel": (_by(v, Kernel), lambda: kernel),
        "confidence by graph": (_by(v, Graph), lambda: graph),
        "confidence by centres": (_by(v, Centroid), lambda: {"centers": [v.X[:2], v.X[:2]]}),
        "confidence by sample": (_by(v, Sampled), lambda: {"n_members": 9}),
        "confidence by metric": (_by_metric(v), lambda: {"name": "minkowski", "params": {"p": 3}}),
        "build_ensemble": (build_ensemble, lambda: {"X": v.X, **building, "n_jobs": 1}),
        "Runs": (_runs(v), lambda: runs),
        "KMedoids": (
            _kmedoids,
            lambda: {"X": v.X, "n_clusters": 2, "max_iter": 9, "sample_size": 50, "seed": 0},
        ),
        "Ensemble.from_labels": (
            Ensemble.from_labels,
            lambda: {"labels": v.labels, "centers": None},
        ),
        "Ensemble.with_centers": (
            _ensemble(v).with_centers,
            lambda: {"centers": [v.X[:2], v.X[:2]]},
        ),
        "Ensemble.with_labels": (_ensemble(v).with_labels, lambda: {"labels": v.labels}),
        "Ensemble.place": (v.cake.ensemble_.place, lambda: {"X": v.X}),
        "null_reference": (
            null_reference,
            lambda: {
                "X": v.X,
                "cake": CAKE(**few, n_jobs=1),
                "families": ("box",),
                "n_surrogates": 2,
                "level": 0.5,
                "max_points": 10,
            },
        ),
        "choose_k": (
            choose_k,
            lambda: {
                "X": v.X,
                "ks": [2, 3],
                "cake": CAKE(n_runs=2, random_state=0, n_jobs=1, geometry="rms"),
                "null": ("box",),
                "effort": "quick",
                "n_surrogates": 2,
                "level": 0.5,
                "max_points": 10,
            },
        ),
        "silhouettes": (
            silhouettes,
            lambda: {
                "X": v.X,
                "labels": v.labels,
                "geometry": "exact",
                "metric": "euclidean",
                "n_jobs": 1,
            },
        ),
        "pairwise_stability": (
            pairwise_stability,
            lambda: {"labels": v.labels, "agreement": "matching", "unassigned": "skip"},
        ),
        "persistence": (persistence, lambda: {"X": v.X, "labels": v.truth, "n_steps": 2}),
        "align_labels": (align_labels, lambda: {"target": v.truth, "source": v.labels[:, 1]}),
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
        found[f"CAKE.{name}"] = (getattr(v.cake, name), lambda: {"X": v.X})
    found["CAKE.judge"] = (v.cake.judge, lambda: {"X": v.X, "threshold": 0.5})
    for told, result in (("CAKE", v.cake), ("Confidence", v.record)):
        found[f"{told}.to_frame"] = (result.to_frame, lambda: {"threshold": 0.5})
        found[f"{told}.summary"] = (result.summary, lambda: {"threshold": 0.5, "points": 2})
        found[f"{told}.explain"] = (_explainer(result), lambda: {"point": 1, "threshold": 0.5})
        found[f"{told}.report"] = (
            result.report,
            lambda: {
                "path": "report.html",
                "X": v.X,
                "settings": {"a": 1},
                "title": "t",
                "threshold": 0.5,
                "embedding": v.X[:, :2],
            },
        )
    found["Confidence.reasons"] = (v.record.reasons, lambda: {"threshold": 0.5})
    found["reasons"] = (
        reasons,
        lambda: {
            "labels": v.truth,
            "scores": v.scores,
            "stability": v.scores,
            "silhouette_mean": v.scores,
            "silhouette_std": v.scores,
            "threshold": 0.5,
        },
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
        "Calibrator.fit": (
            _calibrate,
            lambda: {"method": "auto", "scores": v.scores, "correct": v.correct, "w": None},
        ),
        "Calibrator.predict": (v.calibrator.predict, lambda: {"scores": v.scores}),
        "brier_score": (c.brier_score, lambda: {"probability": v.scores, "correct": v.correct}),
        "expected_calibration_error": (
            c.expected_calibration_error,
            lambda: {
                "probability": v.scores,
                "correct": v.correct,
                "n_bins": 3,
                "strategy": "quantile",
            },
        ),
        "reliability": (
            c.reliability,
            lambda: {
                "probability": v.scores,
                "correct": v.correct,
                "n_bins": 3,
                "strategy": "quantile",
            },
        ),
        "map_clusters": (
            c.map_clusters,
            lambda: {
                "labels": v.truth,
                "classes": classes[:6],
                "positions": np.arange(6),
                "method": "majority",
            },
        ),
        "ClusterMap.correct": (
            mapped.correct,
            lambda: {"positions": np.arange(6, N), "classes": classes[6:]},
        ),
        "pseudo_labels": (
            c.pseudo_labels,
            lambda: {
                "labels": v.truth,
                "scores": v.scores,
                "threshold": 0.5,
                "share": None,
                "random_state": 0,
            },
        ),
        "risk_threshold": (
            c.risk_threshold,
            lambda: {
                "scores": v.scores,
                "correct": v.correct[sample.positions],
                "alpha": 0.5,
                "delta": 0.5,
                "sample": sample,
                "inclusion": None,
            },
        ),
        "RiskThreshold.keep": (threshold.keep, lambda: {"scores": v.scores}),
        "sample_weight": (c.sample_weight, lambda: {"scores": v.scores}),
        "suggest": (
            c.suggest,
            lambda: {
                "scores": v.scores,
                "n": 4,
                "purpose": "threshold",
                "design": "random",
                "exclude": [1],
                "random_state": 0,
            },
        ),
        "select_top": (select_top, lambda: {"scores": v.scores, "share": 0.5, "random_state": 0}),
        "select_above": (select_above, lambda: {"scores": v.scores, "threshold": 0.5}),
        "select_adaptive": (
            select_adaptive,
            lambda: {
                "X": v.X,
                "scores": v.scores,
                "cake": 2,
                "coverages": (0.3, 0.5, 0.9),
                "n_restarts": 1,
                "average": "plain",
            },
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
        "bootstrap_stability": (
            b.bootstrap_stability,
            lambda: {
                "X": v.X,
                "clusterer": "kmeans",
                **mixture,
                "n_runs": 3,
                "resample": 0.8,
                "n_jobs": 1,
            },
        ),
        "consensus_agreement": (b.consensus_agreement, lambda: {"labels": v.labels}),
        "entropy_agreement": (b.entropy_agreement, lambda: {"labels": v.labels}),
        "subsample_stability": (b.subsample_stability, lambda: {"labels": v.labels}),
        "fuzzy_confidence": (
            b.fuzzy_confidence,
            lambda: {"X": v.X, **mixture, "signal": "maximum", "fuzziness": 2.0},
        ),
        "fuzzy_memberships": (
            b.fuzzy_memberships,
            lambda: {"X": v.X, **mixture, "fuzziness": 2.0, "max_iter": 5, "tol": 0.1},
        ),
        "gmm_confidence": (
            b.gmm_confidence,
            lambda: {
                "X": v.X,
                **mixture,
                "signal": "maximum",
                "covariance_type": "diag",
                "n_init": 1,
            },
        ),
        "gmm_memberships": (
            b.gmm_memberships,
            lambda: {"X": v.X, **mixture, "covariance_type": "diag", "n_init": 1},
        ),
        "local_outlier_confidence": (
            b.local_outlier_confidence,
            lambda: {"X": v.X, "labels": v.truth, "n_neighbors": 3},
        ),
        "outlier_confidence": (b.outlier_confidence, lambda: {"X": v.X, "n_neighbors": 3}),
        "membership_confidence": (
            b.membership_confidence,
            lambda: {"memberships": v.memberships, "signal": "maximum"},
        ),
        "random_confidence": (b.random_confidence, lambda: {"X": v.X, "random_state": 0}),
        "rank_average": (b.rank_average, lambda: {"signals": [v.scores, v.scores]}),
        "accuracy": (e.accuracy, lambda: dict(pair)),
        "correctness": (e.correctness, lambda: dict(pair)),
        "agreement_with_truth": (e.agreement_with_truth, lambda: {**pair, "metric": "ari"}),
        "accuracy_by_bin": (e.accuracy_by_bin, lambda: {**judged, "n_bins": 3, "ties": "average"}),
        "auprc": (e.auprc, lambda: {**judged, "positive": "correct"}),
        "aurc": (e.aurc, lambda: {**judged, "n_positions": 9, "ties": "average"}),
        "auroc": (e.auroc, lambda: dict(judged)),
        "risk_coverage_curve": (
            e.risk_coverage_curve,
            lambda: {**judged, "n_positions": 9, "ties": "average"},
        ),
        "error_precision": (e.error_precision, lambda: {**judged, "share": 0.2, "ties": "average"}),
        "percentile_correlation": (
            e.percentile_correlation,
            lambda: {**judged, "n_bins": 3, "ties": "average"},
        ),
        "coverage_accuracy_curve": (
            e.coverage_accuracy_curve,
            lambda: {"scores": v.scores, **pair, "coverages": [0.5, 1.0], "alignment": "global"},
        ),
        "score_quality": (
            e.score_quality,
            lambda: {"scores": v.scores, **pair, "coverages": [0.5, 0.9], "random_state": 0},
        ),
        "student_interval": (e.student_interval, lambda: {"values": [1.0, 2.0, 4.0], "level": 0.9}),
        "subset_silhouette": (
            e.subset_silhouette,
            lambda: {"X": v.X, "labels": v.truth, "kept": v.scores > 0.2},
        ),
    }


def _counting(v: Valid) -> dict[str, Any]:
    t = theory
    rates = {"threshold": 0.8, "n_clusters": 3, "expected_agreement": None, "form": "paper"}
    noise = {"n_noise": 10}
    return {
        "expected_false_positives": (
            t.expected_false_positives,
            lambda: {"n_runs": 20, **noise, **rates},
        ),
        "false_stability_bound": (t.false_stability_bound, lambda: {"n_runs": 20, **rates}),
        "geometry_deviation": (t.geometry_deviation, lambda: {"n_runs": 20, "error": 0.1}),
        "mis_ranking_bound": (
            t.mis_ranking_bound,
            lambda: {"n_runs": 20, "margin": 0.2, "form": "paper"},
        ),
        "runs_for_false_positives": (
            t.runs_for_false_positives,
            lambda: {"number": 1.0, **noise, **rates},
        ),
        "runs_for_false_stability": (t.runs_for_false_stability, lambda: {"error": 0.1, **rates}),
        "runs_for_geometry": (t.runs_for_geometry, lambda: {"deviation": 0.1, "error": 0.1}),
        "runs_for_mis_ranking": (
            t.runs_for_mis_ranking,
            lambda: {"error": 0.1, "margin": 0.2, "form": "paper"},
        ),
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
        "build_report": (build_report, lambda: {"table": table, **page}),
        "write_report": (write_report, lambda: {"path": "page.html", "table": table, **page}),
        "read_table": (
            read_table,
            lambda: {"source": text, "reading": Reading(text=("id",)), "format": "csv"},
        ),
        "Reading": (_read, lambda: dict(options)),
        "write_table": (
            write_table,
            lambda: {"table": table, "path": "table.csv", "format": "csv"},
        ),
        "write_table as npz": (
            write_table,
            lambda: {"table": table, "path": "table.npz", "format": "npz"},
        ),
        "open_source": (
            _open,
            lambda: {
                "X": Path("source.csv"),
                "reading": Reading(separator=","),
            },
        ),
        "CAKE.save": (v.cake.save, lambda: {"path": "model"}),
        "CAKE.load": (CAKE.load, lambda: {"path": "model"}),
        "Ensemble.save": (_ensemble(v).save, lambda: {"path": "ensemble"}),
        "Ensemble.load": (Ensemble.load, lambda: {"path": "ensemble"}),
        "load": (load, lambda: {"name": "Ir", "raw": False, "block": 1}),
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
