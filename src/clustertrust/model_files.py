"""A fitted CAKE as one file of arrays and JSON."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Arrays
from clustertrust._validation import warn_user
from clustertrust.columns import FIELDS
from clustertrust.distances.metrics import Metric
from clustertrust.distances.mixed import MixedColumns
from clustertrust.ensemble.ensemble_files import ensemble_from_arrays, ensemble_to_arrays
from clustertrust.ensemble.record import Ensemble
from clustertrust.ensemble.run_files import can_be_stored
from clustertrust.ensemble.runs import Runs
from clustertrust.fusion import FUSIONS
from clustertrust.geometry.measuring import GEOMETRIES, as_geometry
from clustertrust.matching import match_runs
from clustertrust.results import Confidence
from clustertrust.scoring.model import Model, match_ensemble, with_geometry
from clustertrust.scoring.settings import Scoring
from clustertrust.storage import (
    DAMAGE,
    FARTHEST,
    checked_csr,
    expect,
    expect_finite,
    read_arrays,
    read_meta,
    write_arrays,
)
from clustertrust.streaming.stream import summed_model
from clustertrust.totals import Totals

__all__ = [
    "StoredModel",
    "about_columns",
    "check_fields",
    "frame_from_arrays",
    "frame_to_arrays",
    "load_model",
    "read_about",
    "save_model",
]


_OBJECT = "object"  # the key of a parameter that is an object: which one it is
SLACK = 1e-6  # how far rounding may take a share or a silhouette out of its range
# Fields of `Confidence` that are one number per point, by the kind of array in a file.
_KINDS = {name: dtype[0] for name, dtype in FIELDS.items() if name not in {"persistence", "votes"}}


@dataclass(frozen=True)
class StoredModel:
    """The parts of a fitted `CAKE` that a file keeps.

    Attributes
    ----------
    params : the parameters of the estimator
    X : the data of the fit, or the sample that the runs were fitted on
    model : the model that scores points
    confidence : the scores of the fit
    about : description of the columns: `n_features_in`, `feature_names`, `preparation`, and
        `mixed` for tables with categories
    """

    params: dict[str, Any]
    X: Any
    model: Model
    confidence: Confidence
    about: dict[str, Any]


def about_columns(n_features: int, names: Any, preparation: Any = None) -> dict[str, Any]:
    """Return the description of the columns that a model was fitted on."""
    about = {
        "n_features_in": n_features,
        "feature_names": [] if names is None else [str(name) for name in names],
    }
    return about if preparation is None else about | {"preparation": preparation}


def save_model(path: str | Path, stored: StoredModel) -> None:
    """Write a fitted model; raise first if it cannot be stored."""
    confidence = stored.confidence
    ensemble = confidence.ensemble
    lost = sorted({run.method for run in ensemble.runs or () if not can_be_stored(run.placer)})
    if lost:
        raise ValueError(
            f"This model cannot be stored: runs of {', '.join(lost)} cannot be written as arrays "
            "and JSON. Store only the labels: cake.ensemble_.save(path)."
        )
    plain = {name: _storable(name, value, ensemble) for name, value in stored.params.items()}
    ensemble_meta, ensemble_arrays = ensemble_to_arrays(ensemble)
    ensemble_arrays.pop("training", None)  # X is there
    frame_meta, frame_arrays = frame_to_arrays(confidence.frame)
    arrays = {f"ensemble/{name}": array for name, array in ensemble_arrays.items()}
    arrays |= {f"confidence/{name}": getattr(confidence, name) for name in (*_KINDS, "votes")}
    # Given distances are not needed again, except as links: unseen points bring their own.
    given = stored.model.scoring.geometry.is_precomputed and confidence.geometry_method != "graph"
    arrays |= frame_arrays | _data_to_arrays(stored.X[:, :0] if given else stored.X)
    if confidence.persistence is not None:
        arrays["confidence/persistence"] = confidence.persistence
    if isinstance(stored.model.clusters, Totals):  # of more points than X has
        arrays |= _totals_to_arrays(stored.model.clusters)
    meta = {
        "params": plain,
        "about": stored.about,
        "ensemble": ensemble_meta,
        "frame": frame_meta,
        "reference_run": confidence.reference_run,
        "geometry_method": confidence.geometry_method,
        "sampling_error": confidence.sampling_error,
    }
    write_arrays(Path(path), "model", meta, arrays)


def load_model(path: str | Path) -> StoredModel:
    """Read what `save_model` wrote."""
    meta, arrays = read_arrays(Path(path), "model")
    try:
        params = {name: _restored(value) for name, value in meta["params"].items()}
        geometry = Scoring.from_params(params).geometry
        X = _data_from_arrays(arrays, gaps=geometry.is_mixed)
        _check_about(meta["about"], X.shape[0] if geometry.is_precomputed else X.shape[1])
        part = {
            name.removeprefix("ensemble/"): a
            for name, a in arrays.items()
            if name.startswith("ensemble/")
        }
        ensemble = ensemble_from_arrays(meta["ensemble"], part | {"training": X})
        fields = check_fields(meta, arrays, ensemble)
        model = _model(params, meta, arrays, X, ensemble)
        confidence = model.confidence(
            fields, frame=frame_from_arrays(meta["frame"], arrays), numbered=True
        )
        if confidence.votes.shape[1] != max(1, len(confidence.label_names)):
            raise ValueError(
                f"it has votes for {confidence.votes.shape[1]} of {len(confidence.label_names)} "
                "clusters"
            )
    except DAMAGE as error:
        raise ValueError(f"{str(path)!r} is damaged: {type(error).__name__} {error}.") from error
    _warn_of_scales(meta["about"])
    return StoredModel(params, X, model, confidence, meta["about"])


def read_about(path: str | Path) -> dict[str, Any]:
    """Return the description of the columns of a stored model, without reading its arrays."""
    about: dict[str, Any] = read_meta(Path(path), "model")["about"]
    return about


def _check_about(about: dict[str, Any], n_features: int) -> None:
    """Raise unless the description of the columns fits their number."""
    names, preparation = about["feature_names"], about.get("preparation")
    if not all(isinstance(name, str) for name in names):
        raise ValueError("its feature_names are not all text")
    counts = {"n_features_in": about["n_features_in"], "feature_names": len(names) or n_features}
    if "mixed" in about:
        counts["mixed"] = len(MixedColumns.from_json(about["mixed"]).names)
    if preparation is not None:
        for name in ("means", "scales"):
            values = preparation[name]
            if values is not None:
                counts[name] = len(np.array(values, dtype=np.float64).reshape(len(values)))
    for name, count in counts.items():
        if count != n_features:
            raise ValueError(
                f"its {name} describe {count!r} columns, but the data have {n_features}"
            )


def _warn_of_scales(about: dict[str, Any]) -> None:
    """Warn that the model expects standardised columns, as the command saves it."""
    preparation = about.get("preparation")
    if preparation is not None and preparation["scales"] is not None:
        warn_user(
            "This model was fitted on standardised columns: give it (X - means) / scales, with the "
            "means and scales of clustertrust.model_files.read_about(path)['preparation'], or use "
            "`clustertrust predict`."
        )


def check_fields(meta: dict[str, Any], arrays: Arrays, ensemble: Ensemble) -> dict[str, Any]:
    """Return the fields of `Confidence`, checked."""
    votes = expect(arrays, "confidence/votes", (None, None))
    fields: dict[str, Any] = {"votes": votes, "sampling_error": meta["sampling_error"]}
    for name, kind in _KINDS.items():
        fields[name] = expect(arrays, f"confidence/{name}", (len(votes),), kind)
    for name in ("labels", "rival"):
        found = fields[name]
        if found.size and not -1 <= found.min() <= found.max() < votes.shape[1]:
            raise ValueError(
                f"its {name} are not all among the {votes.shape[1]} clusters of its votes"
            )
    if "confidence/persistence" in arrays:
        fields["persistence"] = expect(arrays, "confidence/persistence", (len(votes),))
    _check_ranges(fields, ensemble.n_runs)
    if meta["reference_run"] not in range(ensemble.n_runs):
        raise ValueError(
            f"its reference_run is {meta['reference_run']!r}, of {ensemble.n_runs} runs"
        )
    return fields


def _check_ranges(fields: dict[str, Any], R: int) -> None:
    """Raise for values that no fit gives; NaN is allowed for points without a score."""
    lowest = {"silhouette_mean": -1.0}
    highest = {"standard_errors": float(np.sqrt(R))}
    for name in {*fields} - {"labels", "rival", "sampling_error"}:
        found, low, high = (
            fields[name],
            lowest.get(name, 0.0) - SLACK,
            highest.get(name, 1.0) + SLACK,
        )
        if not ((found >= low) & (found <= high) | np.isnan(found)).all():
            raise ValueError(f"its {name} are not all between {low:.3g} and {high:.3g}")
    error = fields["sampling_error"]
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0 <= error <= 1 + SLACK:
        raise ValueError(f"its sampling_error is {error!r}")


def _model(
    params: dict[str, Any], meta: dict[str, Any], arrays: Arrays, X: Any, ensemble: Ensemble
) -> Model:
    """Build the model again: cells, matchings and geometry follow from labels and data."""
    method, reference = meta["geometry_method"], meta["reference_run"]
    scoring = Scoring.from_params(params)
    if scoring.geometry.name != method:  # what "auto" chose
        scoring = replace(scoring, geometry=as_geometry(method, scoring.geometry.used_metric))
    if "totals/sizes" in arrays:
        if not scoring.geometry.in_blocks:
            raise ValueError(f"its geometry {method!r} needs all points at once")
        totals = _totals_from_arrays(arrays, ensemble.n_runs, X.shape[1])
        return summed_model(totals, ensemble, scoring, match_runs(totals), reference)
    how = scoring.geometry
    if how.is_precomputed or how.is_mixed:  # encoded already, or not stored
        n = len(ensemble.labels)
        if X.shape[0] != n or (how.is_precomputed and method == "graph" and X.shape[1] != n):
            raise ValueError(f"its data have the shape {X.shape}, and there are labels of {n}")
    else:
        X = scoring.check_points(X, len(ensemble.labels))
    return with_geometry(replace(match_ensemble(ensemble, scoring), reference=reference), X)


def _totals_to_arrays(totals: Totals) -> Arrays:
    return {
        "totals/names": np.concatenate(totals.names),
        "totals/clusters": totals.n_clusters,
        **{
            f"totals/{name}": getattr(totals, name)
            for name in ("sizes", "means", "squares", "tables")
        },
    }


def _totals_from_arrays(arrays: Arrays, R: int, d: int) -> Totals:
    clusters = expect(arrays, "totals/clusters", (R,), "i")
    flat = expect(arrays, "totals/names", (int(clusters.sum()),), "i")
    names = np.split(flat, np.cumsum(clusters)[:-1])
    for name, shape in {
        "sizes": (flat.size,),
        "means": (flat.size, d),
        "squares": (flat.size,),
    }.items():
        expect_finite(arrays, f"totals/{name}", shape)
    widest = int(clusters.max(initial=1))
    tables = expect(arrays, "totals/tables", (R, R, widest, widest), "i")
    twice = any(len(np.unique(given)) < len(given) for given in names)
    if clusters.min() < 0 or flat.min(initial=0) < 0 or twice or tables.min(initial=0) < 0:
        raise ValueError("its totals name a cluster twice, or count below 0")
    return Totals(
        tuple(names),
        *(arrays[f"totals/{name}"] for name in ("sizes", "means", "squares", "tables")),
    )


def _storable(name: str, value: Any, ensemble: Ensemble) -> Any:
    """Return a parameter as JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.random.RandomState):
        return list(ensemble.seeds or ())  # what came of it
    if isinstance(value, list | tuple | range | np.ndarray):
        return [_storable(name, item, ensemble) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: _storable(name, item, ensemble) for key, item in value.items()}
    kind = next((kind for kind, own in _objects().items() if type(value) is own), None)
    if kind is not None:
        parts = vars(value) if isinstance(value, Metric) else value.get_params(deep=False)
        return {_OBJECT: kind} | {
            part: _storable(part, item, ensemble) for part, item in parts.items()
        }
    raise ValueError(
        f"This model cannot be stored: {name}={value!r} is not a name or plain value. Give "
        "clusterer, metric and kernel by name, or store only the labels: cake.ensemble_.save(path)."
    )


def _restored(value: Any) -> Any:
    """Return the parameter that `_storable` wrote."""
    if isinstance(value, dict):
        parts = {name: _restored(item) for name, item in value.items() if name != _OBJECT}
        return _objects()[value[_OBJECT]](**parts) if _OBJECT in value else parts
    return value


def _objects() -> dict[str, type[Any]]:
    """Return the objects that a parameter can be, by the names that they have in files."""
    geometries = {f"geometry {name}": own for name, own in GEOMETRIES.items()}
    fusions = {f"fusion {name}": own for name, own in FUSIONS.items()}
    return {**geometries, **fusions, "metric": Metric, "runs": Runs}


def _data_to_arrays(X: Any) -> Arrays:
    if sparse.issparse(X):
        return {
            "X/data": X.data,
            "X/indices": X.indices,
            "X/indptr": X.indptr,
            "X/shape": np.array(X.shape),
        }
    return {"X": X}


def _data_from_arrays(arrays: Arrays, *, gaps: bool) -> Any:
    """Return the data of the fit; `gaps` allows missing values."""
    if "X" in arrays and gaps:
        return expect(arrays, "X", (None, None))
    if "X" in arrays:
        return expect_finite(arrays, "X", (None, None), FARTHEST)
    data = expect_finite(arrays, "X/data", (None,), FARTHEST)
    parts = (data, *(expect(arrays, f"X/{name}", (None,), "i") for name in ("indices", "indptr")))
    return checked_csr(
        sparse.csr_array(parts, shape=tuple(expect(arrays, "X/shape", (2,), "i").tolist()))
    )


def frame_to_arrays(frame: Any) -> tuple[str | None, Arrays]:
    """Return the kind of frame and, for pandas, its index: numbers, or anything else as text."""
    if frame is None:
        return None, {}
    if not isinstance(frame, pd.DataFrame):
        return "polars", {}
    index = frame.index.to_numpy()
    return "pandas", {"index": index if index.dtype.kind in "iuf" else index.astype(str)}


def frame_from_arrays(kind: str | None, arrays: Arrays) -> Any:
    """The frame without columns that `frame_to_arrays` took apart."""
    if kind == "polars":
        return importlib.import_module("polars").DataFrame()
    return None if kind is None else pd.DataFrame(index=expect(arrays, "index", (None,), "iufUS"))
