"""Runs as arrays and JSON, and the folder in which a build keeps those that are finished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture

from clustertrust.clusterers import Run
from clustertrust.placing import Nearest, Placer, Predict, Training
from clustertrust.storage import read_arrays, write_arrays, write_text

__all__ = ["Checkpoint", "can_be_stored", "run_from_arrays", "run_to_arrays"]

Arrays = dict[str, NDArray]

_MIXTURE = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")


def can_be_stored(placer: Placer | None) -> bool:
    """Whether unseen points can still be placed after the run was stored."""
    return isinstance(placer, Nearest | Training) or (
        isinstance(placer, Predict) and type(placer.model) is GaussianMixture
    )


def run_to_arrays(run: Run) -> tuple[dict[str, Any], Arrays]:
    """What JSON can hold of a run, and its arrays. The training data are not among them."""
    meta: dict[str, Any] = {
        "method": run.method,
        "seed": run.seed,
        "params": {name: _plain(value) for name, value in run.params.items()},
        "objective": run.objective,
        "iterations": run.iterations,
        "seconds": run.seconds,
        "warnings": list(run.warnings),
        "placer": None,
    }
    arrays: Arrays = {"labels": run.labels}
    if run.centers is not None:
        arrays["centers"] = run.centers
    placer = run.placer
    if isinstance(placer, Nearest):
        meta["placer"] = "nearest"
        arrays |= {"nearest_centers": placer.centers, "nearest_labels": placer.labels}
    elif isinstance(placer, Training):
        meta["placer"] = "training"
        arrays["training_labels"] = placer.labels
        if placer.rows is not None:
            arrays["training_rows"] = placer.rows
    elif isinstance(placer, Predict) and can_be_stored(placer):
        meta["placer"] = "mixture"
        meta["covariance_type"] = placer.model.covariance_type
        arrays |= {f"mixture_{name}": getattr(placer.model, name) for name in _MIXTURE}
    return meta, arrays


def run_from_arrays(meta: dict[str, Any], arrays: Arrays, X: Any) -> Run:
    """The run that `run_to_arrays` took apart; X are the training data."""
    placer: Placer | None = None
    if meta["placer"] == "nearest":
        placer = Nearest(arrays["nearest_centers"], arrays["nearest_labels"])
    elif meta["placer"] == "training" and X is not None:
        placer = Training(X, arrays.get("training_rows"), arrays["training_labels"])
    elif meta["placer"] == "mixture":
        means = arrays["mixture_means_"]
        model = GaussianMixture(len(means), covariance_type=meta["covariance_type"])
        for name in _MIXTURE:
            setattr(model, name, arrays[f"mixture_{name}"])
        model.n_features_in_ = means.shape[1]
        placer = Predict(model)
    kept = ("method", "seed", "params", "objective", "iterations", "seconds")
    return Run(
        labels=arrays["labels"],
        placer=placer,
        centers=arrays.get("centers"),
        warnings=tuple(meta["warnings"]),
        **{name: meta[name] for name in kept},
    )


def _plain(value: Any) -> Any:
    """A parameter as JSON knows it."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


class Checkpoint:
    """A folder with one file a finished run, and a note of the data and settings that they belong to."""

    def __init__(self, folder: str | Path, settings: dict[str, Any]) -> None:
        self.folder = Path(folder)
        note = self.folder / "settings.json"
        if not note.exists():
            if self.folder.exists() and any(self.folder.iterdir()):
                raise ValueError(f"checkpoint={str(folder)!r} holds other files; give a new or empty folder.")
            write_text(note, json.dumps(settings, indent=2, sort_keys=True))
            self.settings = settings
            return
        try:
            self.settings = json.loads(note.read_text())
            differing = sorted(
                name for name in settings.keys() | self.settings.keys() if self.settings.get(name) != settings.get(name)
            )
        except (ValueError, AttributeError) as error:
            raise ValueError(f"checkpoint={str(folder)!r} has an unreadable settings.json: {error}.") from error
        differing = [name for name in differing if not (name == "entropy" and settings["random_state"] is None)]
        if differing:
            raise ValueError(
                f"checkpoint={str(folder)!r} was begun with other {' and '.join(differing)}; give another folder, or "
                "the same data and settings."
            )

    def _path(self, r: int) -> Path:
        return self.folder / f"run-{r:05d}.npz"

    def load(self, r: int, X: Any) -> Run | None:
        """Run r if it is finished."""
        if not self._path(r).exists():
            return None
        meta, arrays = read_arrays(self._path(r), "run")
        return run_from_arrays(meta, arrays, X)

    def save(self, r: int, run: Run) -> None:
        """Keep run r."""
        meta, arrays = run_to_arrays(run)
        write_arrays(self._path(r), "run", meta, arrays)
