"""An ensemble as one file of arrays and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._types import Arrays
from clustertrust.ensemble.placing import NearestTrainingPoint
from clustertrust.ensemble.record import Ensemble
from clustertrust.ensemble.run_files import run_from_arrays, run_to_arrays
from clustertrust.storage import DAMAGE, expect, read_arrays, write_arrays

__all__ = ["ensemble_from_arrays", "ensemble_to_arrays", "load_ensemble", "save_ensemble"]


def save_ensemble(path: str | Path, ensemble: Ensemble) -> None:
    """Write an ensemble whose labels are in memory."""
    meta, arrays = ensemble_to_arrays(ensemble)
    write_arrays(Path(path), "ensemble", meta, arrays)


def load_ensemble(path: str | Path) -> Ensemble:
    """Read what `save_ensemble` wrote."""
    meta, arrays = read_arrays(Path(path), "ensemble")
    try:
        return ensemble_from_arrays(meta, arrays)
    except DAMAGE as error:
        raise ValueError(f"{str(path)!r} is damaged: {type(error).__name__} {error}.") from error


def ensemble_to_arrays(ensemble: Ensemble) -> tuple[dict[str, Any], Arrays]:
    """Split an ensemble into JSON and arrays; training data of its runs are stored once."""
    arrays: Arrays = {"labels": ensemble.labels}
    meta: dict[str, Any] = {"names": [], "runs": None, "centers": ensemble.centers is not None}
    meta["noise"] = dict(ensemble.noise)
    for r, names in enumerate(ensemble.label_names):
        meta["names"].append(None if names is None else names.tolist())
        if ensemble.centers is not None:
            arrays[f"{r}/centers"] = ensemble.centers[r]
    if ensemble.runs is not None:
        meta["runs"] = []
        for r, run in enumerate(ensemble.runs):
            run_meta, run_arrays = run_to_arrays(run)
            meta["runs"].append(run_meta)
            run_arrays.pop("labels")
            arrays |= {f"{r}/run/{name}": array for name, array in run_arrays.items()}
            if isinstance(run.placer, NearestTrainingPoint):
                arrays["training"] = (
                    run.placer.X.toarray() if sparse.issparse(run.placer.X) else run.placer.X
                )
    return meta, arrays


def ensemble_from_arrays(meta: dict[str, Any], arrays: Arrays) -> Ensemble:
    """Put an ensemble together again. Raise if its parts do not fit."""
    labels = expect(arrays, "labels", (None, None), "i")
    if not labels.size:
        raise ValueError(f"its labels have shape {labels.shape}, which holds no points or no runs")
    R = labels.shape[1]
    listed = {"names": meta["names"], "runs": [None] * R if meta["runs"] is None else meta["runs"]}
    for name, given in listed.items():
        if len(given) != R:
            raise ValueError(f"it has {name} of {len(given)} runs, and labels of {R}")
    if "training" in arrays:
        training = arrays["training"]
        if training.ndim != 2 or training.dtype.kind != "f":
            raise ValueError(
                f"the training data have shape {training.shape} and type {training.dtype}"
            )
    runs = None
    if meta["runs"] is not None:
        runs = tuple(
            run_from_arrays(
                run_meta,
                {"labels": labels[:, r]}
                | {
                    name.removeprefix(f"{r}/run/"): a
                    for name, a in arrays.items()
                    if name.startswith(f"{r}/run/")
                },
                arrays.get("training"),
            )
            for r, run_meta in enumerate(meta["runs"])
        )
    names = tuple(None if given is None else np.array(given) for given in meta["names"])
    for given, largest in zip(names, labels.max(axis=0, initial=-1), strict=True):
        if given is not None and (
            given.ndim != 1 or given.dtype == object or len(given) <= largest
        ):
            raise ValueError(f"a run has labels up to {largest}, and names {given.tolist()}")
    noise = {str(label): int(count) for label, count in meta.get("noise", {}).items()}
    ensemble = Ensemble(labels, names, None, runs, noise)
    if not meta["centers"]:
        return ensemble
    return ensemble.with_centers([expect(arrays, f"{r}/centers", (None, None)) for r in range(R)])
