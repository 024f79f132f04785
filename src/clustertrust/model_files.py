"""A fitted CAKE as one file of arrays and JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from clustertrust._validation.arguments import warn_user
from clustertrust.distances.mixed import MixedColumns
from clustertrust.ensemble.placing import place
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.measuring import as_geometry
from clustertrust.records import (
    Record,
    can_be_stored,
    check_finite,
    load_record,
    read_field,
    save_record,
)
from clustertrust.results import Confidence
from clustertrust.scoring.model import Model, match_ensemble, with_geometry
from clustertrust.scoring.settings import Scoring
from clustertrust.streaming.stream import summed_model
from clustertrust.tables import TablePreparer
from clustertrust.totals import Totals


@dataclass(frozen=True)
class ModelFile(Record):
    """The parts of a fitted `CAKE` that a file keeps; the model that scores points follows.

    Attributes
    ----------
    params : the parameters of the estimator
    about : description of the columns: `n_features_in`, `feature_names`, `preparation`, and
        `mixed` for tables with categories
    X : the data of the fit, or the sample that the runs were fitted on
    confidence : the scores of the fit
    totals : sums over more points than X has
    """

    params: dict[str, Any]
    about: dict[str, Any]
    X: Annotated[Any, "f n d", sparse.csr_array]
    confidence: Confidence
    totals: Totals | None = None


def about_columns(n_features: int, names: Any, preparation: Any = None) -> dict[str, Any]:
    """Return the description of the columns that a model was fitted on."""
    about = {
        "n_features_in": n_features,
        "feature_names": [] if names is None else [str(name) for name in names],
    }
    return about if preparation is None else about | {"preparation": preparation}


def save_model(path: str | Path, kept: ModelFile, model: Model) -> None:
    """Write a fitted model; raise first if it cannot be stored."""
    ensemble = kept.confidence.ensemble
    lost = sorted({run.method for run in ensemble.runs or () if not can_be_stored(run.placer)})
    if lost:
        raise ValueError(
            f"This model cannot be stored: runs of {', '.join(lost)} cannot be written as arrays "
            "and JSON. Store only the labels: cake.ensemble_.save(path)."
        )
    params = {
        name: list(ensemble.seeds or ()) if isinstance(value, np.random.RandomState) else value
        for name, value in kept.params.items()
    }
    for name, value in params.items():
        if not can_be_stored(value):
            raise ValueError(
                f"This model cannot be stored: {name}={value!r} is not a name or plain value. Give "
                "clusterers, metric and kernel by name, or store only the labels: "
                "cake.ensemble_.save(path)."
            )
    # Given distances are not needed again, except as links: unseen points bring their own.
    geometry, clusters = model.scoring.geometry, model.clusters
    unused = geometry.is_precomputed and kept.confidence.geometry_method != "graph"
    X = kept.X[:, :0] if unused else kept.X
    totals = clusters if isinstance(clusters, Totals) else None
    save_record(path, replace(kept, params=params, X=X, totals=totals))


def load_model(path: str | Path) -> tuple[ModelFile, Model]:
    """Read what `save_model` wrote."""
    kept, model = load_record(path, ModelFile, lambda kept: (kept, _model(kept)))
    preparation = kept.about.get("preparation") or {}
    if any(value != 1 for value in preparation.get("scales", ())):
        warn_user(
            "This model was fitted on standardised columns: give it "
            "TablePreparer.from_json(read_about(path)['preparation']).transform(table), with "
            "clustertrust.TablePreparer and clustertrust.model_files.read_about, or use "
            "`clustertrust predict`."
        )
    return kept, model


def read_about(path: str | Path) -> dict[str, Any]:
    """Return the description of the columns of a stored model, without reading its arrays."""
    about: dict[str, Any] = read_field(path, ModelFile, "about")
    return about


def _model(kept: ModelFile) -> Model:
    """Build the model again: cells, matchings and geometry follow from labels and data."""
    X, confidence, totals = kept.X, kept.confidence, kept.totals
    scoring = Scoring.from_params(kept.params)
    method, ensemble = confidence.geometry_method, confidence.ensemble
    # What "auto" chose.
    if scoring.geometry.name != method:
        scoring = replace(scoring, geometry=as_geometry(method, scoring.geometry.used_metric))
    if isinstance(X, np.ndarray) and not scoring.geometry.is_mixed:
        check_finite("data", X)
    has_distances = scoring.geometry.is_precomputed
    _check_about(kept.about, X.shape[0] if has_distances else X.shape[1])
    # Runs of other columns cannot place a point of the data.
    place(ensemble.placers, np.zeros((1, X.shape[0])) if has_distances else X[:1])
    reference = confidence.reference_run
    if totals is None:
        model = _model_of_data(X, ensemble, scoring, reference)
    else:
        if not scoring.geometry.takes_totals:
            raise ValueError(f"its geometry {method!r} needs all points at once")
        if len(totals.names) != ensemble.n_runs or totals.means.shape[1] != X.shape[1]:
            raise ValueError("its totals are of other runs or columns")
        model = replace(summed_model(totals, ensemble, scoring), reference=reference)
        model = model.with_components(X)
    if len(model.clusters.names[reference]) != len(confidence.label_names):
        raise ValueError("its votes are for other clusters than those of its reference run")
    return model


def _model_of_data(X: Any, ensemble: Ensemble, scoring: Scoring, reference: int) -> Model:
    geometry, n = scoring.geometry, len(ensemble.labels)
    if not (geometry.is_precomputed or geometry.is_mixed):
        X = scoring.check_points(X, n)
    elif X.shape[0] != n or (
        geometry.is_precomputed and geometry.name == "graph" and X.shape[1] != n
    ):
        raise ValueError(f"its data have the shape {X.shape}, and there are labels of {n}")
    return with_geometry(replace(match_ensemble(ensemble, scoring), reference=reference), X)


def _check_about(about: dict[str, Any], n_features: int) -> None:
    """Raise unless the description of the columns is whole and fits their number."""
    names, preparation = about["feature_names"], about.get("preparation") or {}
    odd = about.keys() - {"n_features_in", "feature_names", "preparation", "mixed"}
    if odd:
        raise ValueError(f"its description of the columns should not have {', '.join(sorted(odd))}")
    if preparation:
        TablePreparer.from_json(preparation)
    if not all(isinstance(name, str) for name in names):
        raise ValueError("its feature_names are not all text")
    counts = {"n_features_in": about["n_features_in"], "feature_names": len(names) or n_features}
    if "mixed" in about:
        counts["mixed"] = len(MixedColumns.from_json(about["mixed"]).names)
    for name in ("means", "centers", "scales", "lows", "highs"):
        values = preparation.get(name)
        if values is not None:
            counts[name] = len(values)
    for name, count in counts.items():
        if count != n_features:
            raise ValueError(
                f"its {name} describe {count!r} columns, but the data have {n_features}"
            )
