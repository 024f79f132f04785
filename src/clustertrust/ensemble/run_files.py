"""Runs as arrays and JSON, and the folder in which a build keeps finished runs."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture

from clustertrust._types import Arrays
from clustertrust.distances.metrics import EUCLIDEAN, Metric
from clustertrust.ensemble.fitting import Run, RunWarning
from clustertrust.ensemble.placing import (
    Nearest,
    NearestTrainingPoint,
    Placer,
    PrecomputedNearest,
    Predict,
)
from clustertrust.storage import (
    DAMAGE,
    FARTHEST,
    expect,
    expect_finite,
    leftovers,
    read_arrays,
    write_arrays,
    write_text,
)

__all__ = ["Checkpoint", "can_be_stored", "run_from_arrays", "run_to_arrays"]


_BOUNDS = {"means_": FARTHEST, "precisions_cholesky_": FARTHEST}  # they are squared
_NAMES = r"settings\.json|run-\d+\.npz"  # of the files of a checkpoint
_MIXTURE = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")


def can_be_stored(placer: Placer | None) -> bool:
    """Return whether a stored run can still place unseen points."""
    if isinstance(placer, Nearest | NearestTrainingPoint):
        return isinstance(placer.metric.name, str)
    return isinstance(placer, PrecomputedNearest) or (
        isinstance(placer, Predict) and type(placer.model) is GaussianMixture
    )


def run_to_arrays(run: Run) -> tuple[dict[str, Any], Arrays]:
    """Split a run into JSON and arrays, without the training data."""
    meta: dict[str, Any] = {
        "method": run.method,
        "seed": run.seed,
        "params": {name: _json_value(value) for name, value in run.params.items()},
        "objective": run.objective,
        "iterations": run.iterations,
        "seconds": run.seconds,
        "warnings": [[text, f"{kind.__module__}:{kind.__name__}"] for text, kind in run.warnings],
        "placer": None,
    }
    arrays: Arrays = {"labels": run.labels}
    if run.centers is not None:
        arrays["centers"] = run.centers
    placer = run.placer if can_be_stored(run.placer) else None
    if isinstance(placer, Nearest | NearestTrainingPoint) and not placer.metric.is_euclidean:
        meta["metric"] = _metric_to_json(placer.metric)
    if isinstance(placer, Nearest):
        meta["placer"] = "nearest"
        arrays |= {"nearest_centers": placer.centers, "nearest_labels": placer.labels}
    elif isinstance(placer, NearestTrainingPoint):
        meta["placer"] = "training"
        arrays["training_labels"] = placer.labels
        if placer.rows is not None:
            arrays["training_rows"] = placer.rows
    elif isinstance(placer, PrecomputedNearest):
        meta["placer"] = "columns"
        meta["n"] = placer.n
        arrays["columns_labels"] = placer.labels
        if placer.columns is not None:
            arrays["columns"] = placer.columns
    elif isinstance(placer, Predict):
        meta["placer"] = "mixture"
        meta["covariance_type"] = placer.model.covariance_type
        arrays |= {f"mixture_{name}": getattr(placer.model, name) for name in _MIXTURE}
    return meta, arrays


def run_from_arrays(meta: dict[str, Any], arrays: Arrays, X: Any) -> Run:
    """Put a run together again; X are the training data. Raise if its parts do not fit."""
    expect(arrays, "labels", (None,), "i")
    if "centers" in arrays:
        expect_finite(arrays, "centers", (None, None), FARTHEST)
    if not isinstance(meta["params"], dict) or not isinstance(meta["method"], str):
        raise ValueError(f"its method is {meta['method']!r} and its params {meta['params']!r}")
    placer: Placer | None = None
    d = None if X is None else X.shape[1]
    metric = _metric_from_json(meta["metric"]) if "metric" in meta else EUCLIDEAN
    if meta["placer"] == "nearest":
        check = expect if metric.name == "gower" else partial(expect_finite, largest=FARTHEST)
        centers = check(arrays, "nearest_centers", (None, d))
        placer = Nearest(centers, expect(arrays, "nearest_labels", (len(centers),), "i"), metric)
    elif meta["placer"] == "training" and X is not None:
        placer = _training(arrays, X, metric)
    elif meta["placer"] == "columns":
        placer = _columns(arrays, meta["n"])
    elif meta["placer"] == "mixture":
        placer = Predict(
            _mixture(arrays, meta["covariance_type"], d), None if X is None else X.dtype
        )
    kept = ("method", "seed", "params", "objective", "iterations", "seconds")
    return Run(
        labels=arrays["labels"],
        placer=placer,
        centers=arrays.get("centers"),
        warnings=tuple(map(_warning, meta["warnings"])),
        **{name: meta[name] for name in kept},
    )


def _warning(stored: Any) -> RunWarning:
    """Return a warning of a run, as a UserWarning where nobody has defined its kind by now.

    Nothing is imported because a file names it.
    """
    message, kind = (stored, "") if isinstance(stored, str) else stored  # older files: a text
    module, _, name = str(kind).partition(":")
    category = getattr(sys.modules.get(module), name, None)
    if not (isinstance(category, type) and issubclass(category, Warning)):
        category = UserWarning
    return RunWarning(str(message), category)


def _metric_to_json(metric: Metric) -> dict[str, Any]:
    params = {
        name: value.tolist() if isinstance(value, np.ndarray) else _json_value(value)
        for name, value in metric.params.items()
    }
    return {"name": metric.name, "params": params}


def _metric_from_json(stored: dict[str, Any]) -> Metric:
    params = {
        name: np.array(value, dtype=np.float64) if isinstance(value, list) else value
        for name, value in stored["params"].items()
    }
    if not isinstance(stored["name"], str):
        raise ValueError(f"its metric is {stored['name']!r}")
    return Metric(stored["name"], params)


def _columns(arrays: Arrays, n: Any) -> PrecomputedNearest:
    """Return what places points by given distances to n training points."""
    columns = expect(arrays, "columns", (None,), "i") if "columns" in arrays else None
    count = n if columns is None else len(columns)
    if columns is not None and columns.size and not 0 <= columns.min() <= columns.max() < n:
        raise ValueError(f"the array 'columns' points beyond the {n} training points")
    return PrecomputedNearest(columns, expect(arrays, "columns_labels", (count,), "i"), int(n))


def _training(arrays: Arrays, X: Any, metric: Metric) -> NearestTrainingPoint:
    rows = expect(arrays, "training_rows", (None,), "i") if "training_rows" in arrays else None
    if rows is not None and rows.size and not 0 <= rows.min() <= rows.max() < X.shape[0]:
        raise ValueError(
            f"the array 'training_rows' points beyond the {X.shape[0]} training points"
        )
    count = X.shape[0] if rows is None else len(rows)
    return NearestTrainingPoint(X, rows, expect(arrays, "training_labels", (count,), "i"), metric)


def _mixture(arrays: Arrays, covariance_type: str, n_features: int | None) -> GaussianMixture:
    k, d = expect_finite(arrays, "mixture_means_", (None, n_features), FARTHEST).shape
    shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[covariance_type]
    model = GaussianMixture(k, covariance_type=covariance_type)
    for name in _MIXTURE:
        known = {"weights_": (k,), "means_": (k, d)}.get(name, shape)
        setattr(
            model, name, expect_finite(arrays, f"mixture_{name}", known, _BOUNDS.get(name, np.inf))
        )
    roots = model.precisions_cholesky_
    if covariance_type in {"full", "tied"}:
        roots = np.diagonal(roots, axis1=-2, axis2=-1)
    if min(model.weights_.min(initial=1), roots.min(initial=1)) <= 0:
        raise ValueError("the weights or precisions of its mixture are not all above 0")
    model.n_features_in_ = d
    return model


def _json_value(value: Any) -> Any:
    """Return a parameter as JSON."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


class Checkpoint:
    """A folder with one file per finished run, and a note of their data and settings."""

    def __init__(self, folder: str | Path, settings: dict[str, Any]) -> None:
        if not isinstance(folder, str | Path):
            raise TypeError(f"checkpoint={folder!r} must be the path of a folder.")
        self.folder = Path(folder).absolute()  # workers may have another working directory
        note = self.folder / "settings.json"
        left = leftovers(self.folder, _NAMES)
        if not note.exists():
            if self.folder.exists() and set(self.folder.iterdir()) - set(left):
                raise ValueError(
                    f"checkpoint={str(folder)!r} holds other files; give a new or empty folder."
                )
            _remove(left)
            write_text(note, json.dumps(settings, indent=2, sort_keys=True))
            self.settings = settings
            return
        try:
            self.settings = json.loads(note.read_text())
            differing = sorted(
                name
                for name in settings.keys() | self.settings.keys()
                if self.settings.get(name) != settings.get(name)
            )
        except (ValueError, AttributeError) as error:
            raise ValueError(
                f"checkpoint={str(folder)!r} has an unreadable settings.json: {error}."
            ) from error
        differing = [
            name
            for name in differing
            if not (name == "entropy" and settings["random_state"] is None)
        ]
        if differing:
            raise ValueError(
                f"checkpoint={str(folder)!r} was begun with other {' and '.join(differing)}; give "
                "another folder, or the same data and settings."
            )
        _remove(left)

    def _path(self, r: int) -> Path:
        return self.folder / f"run-{r:05d}.npz"

    def load(self, r: int, X: Any) -> Run | None:
        """Return run r, if it is finished."""
        if not self._path(r).exists():
            return None
        meta, arrays = read_arrays(self._path(r), "run")
        try:
            expect(arrays, "labels", (X.shape[0],), "i")
            return run_from_arrays(meta, arrays, X)
        except DAMAGE as error:
            raise ValueError(
                f"{str(self._path(r))!r} is damaged: {error}. Remove it, and the run is made again."
            ) from error

    def save(self, r: int, run: Run) -> None:
        """Keep run r."""
        meta, arrays = run_to_arrays(run)
        write_arrays(self._path(r), "run", meta, arrays)
