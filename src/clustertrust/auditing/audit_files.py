"""An audit as one file of arrays and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clustertrust._types import Arrays
from clustertrust.auditing.record import Audit
from clustertrust.auditing.verdicts import VERDICTS
from clustertrust.columns import FIELDS
from clustertrust.ensemble.ensemble_files import ensemble_from_arrays, ensemble_to_arrays
from clustertrust.model_files import check_fields, frame_from_arrays, frame_to_arrays
from clustertrust.storage import DAMAGE, expect, read_arrays, write_arrays

__all__ = ["load_audit", "save_audit"]


def save_audit(path: str | Path, audit: Audit) -> None:
    """Write an audit."""
    ensemble_meta, arrays = ensemble_to_arrays(audit.ensemble)
    frame_meta, frame_arrays = frame_to_arrays(audit.frame)
    arrays = {f"ensemble/{name}": array for name, array in arrays.items()} | frame_arrays
    there = [name for name in FIELDS if getattr(audit, name) is not None]
    arrays |= {f"confidence/{name}": getattr(audit, name) for name in there}
    arrays |= {"outcomes": audit.outcomes, "partners": audit.partners}
    meta = {
        "names": audit.label_names.tolist(),
        "geometry_method": audit.geometry_method,
        "sampling_error": audit.sampling_error,
        "reference_run": audit.reference_run,
        "ensemble": ensemble_meta,
        "frame": frame_meta,
    }
    write_arrays(Path(path), "audit", meta, arrays)


def load_audit(path: str | Path) -> Audit:
    """Read what `save_audit` wrote."""
    meta, arrays = read_arrays(Path(path), "audit")
    try:
        return _audit(meta, arrays)
    except DAMAGE as error:
        raise ValueError(f"{str(path)!r} is damaged: {type(error).__name__} {error}.") from error


def _audit(meta: dict[str, Any], arrays: Arrays) -> Audit:
    part = {
        name.removeprefix("ensemble/"): array
        for name, array in arrays.items()
        if name.startswith("ensemble/")
    }
    ensemble = ensemble_from_arrays(meta["ensemble"], part)
    fields = check_fields(meta, arrays, ensemble)
    names = np.array(meta["names"])
    n, k = fields["votes"].shape
    if names.ndim != 1 or names.dtype == object or len(names) != k or k < 2:
        raise ValueError(f"it has votes for {k} clusters, and the names {meta['names']}")
    if len(ensemble.labels) != n or (ensemble.labels[:, 0] != fields["labels"]).any():
        raise ValueError("its labels are not those that its runs were matched to")
    for name, low, high in (("outcomes", 0, len(VERDICTS)), ("partners", -1, k)):
        found = expect(arrays, name, (None, k), "i")
        if not found.size or not low <= found.min() <= found.max() < high:
            raise ValueError(f"its {name} are not all from {low} to {high - 1}")
    if len(arrays["outcomes"]) != len(arrays["partners"]):
        raise ValueError("its outcomes and partners are not of the same runs")
    return Audit(
        **fields,
        label_names=names,
        reference_run=meta["reference_run"],
        geometry_method=str(meta["geometry_method"]),
        ensemble=ensemble,
        n_runs=ensemble.n_runs - 1,
        agreement="given",
        frame=frame_from_arrays(meta["frame"], arrays),
        outcomes=arrays["outcomes"],
        partners=arrays["partners"],
    )
