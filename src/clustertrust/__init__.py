"""clustertrust: which of these cluster assignments can I trust?

Public names are imported when they are first used, so that the command line starts fast.
"""

from __future__ import annotations

# type checkers know this name; importing `typing` takes time in which Ctrl-C is not handled yet
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from clustertrust._errors import ParameterError
    from clustertrust.answers import (
        Answers,
        Decision,
        LearnedConfidence,
        Questions,
        ask,
        decide,
        learn,
    )
    from clustertrust.auditing import Audit, audit
    from clustertrust.building import build_ensemble
    from clustertrust.distances.metrics import Metric
    from clustertrust.ensemble import Ensemble, Runs
    from clustertrust.ensemble.clusterers import Clusterer, FittedRun
    from clustertrust.estimator import CAKE, confidence
    from clustertrust.files import read_table, write_table
    from clustertrust.fusion import Combined, Fusion, Harmonic, Product, Refined
    from clustertrust.geometry import Centroid, Exact, Geometry, Graph, Kernel, Rms, Sampled
    from clustertrust.k_profile import KProfile, choose_k
    from clustertrust.matching import align_labels
    from clustertrust.null import NullReference, null_reference
    from clustertrust.results import Confidence, Explanation
    from clustertrust.selection import select_above, select_adaptive, select_top
    from clustertrust.tables import TablePreparer

__version__ = "0.2.0"

__all__ = [
    "CAKE",
    "Answers",
    "Audit",
    "Centroid",
    "Clusterer",
    "Combined",
    "Confidence",
    "Decision",
    "Ensemble",
    "Exact",
    "Explanation",
    "FittedRun",
    "Fusion",
    "Geometry",
    "Graph",
    "Harmonic",
    "KProfile",
    "Kernel",
    "LearnedConfidence",
    "Metric",
    "NullReference",
    "ParameterError",
    "Product",
    "Questions",
    "Refined",
    "Rms",
    "Runs",
    "Sampled",
    "TablePreparer",
    "align_labels",
    "ask",
    "audit",
    "build_ensemble",
    "choose_k",
    "confidence",
    "decide",
    "learn",
    "null_reference",
    "read_table",
    "select_above",
    "select_adaptive",
    "select_top",
    "write_table",
]

_HOMES = {
    "_errors": ("ParameterError",),
    "answers": ("Answers", "Decision", "LearnedConfidence", "Questions", "ask", "decide", "learn"),
    "auditing": ("Audit", "audit"),
    "building": ("build_ensemble",),
    "distances.metrics": ("Metric",),
    "ensemble": ("Ensemble", "Runs"),
    "ensemble.clusterers": ("Clusterer", "FittedRun"),
    "estimator": ("CAKE", "confidence"),
    "files": ("read_table", "write_table"),
    "fusion": ("Combined", "Fusion", "Harmonic", "Product", "Refined"),
    "geometry": ("Centroid", "Exact", "Geometry", "Graph", "Kernel", "Rms", "Sampled"),
    "k_profile": ("KProfile", "choose_k"),
    "matching": ("align_labels",),
    "null": ("NullReference", "null_reference"),
    "results": ("Confidence", "Explanation"),
    "selection": ("select_above", "select_adaptive", "select_top"),
    "tables": ("TablePreparer",),
}


def __getattr__(name: str) -> Any:
    import importlib.util

    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f"clustertrust.{home}"), name)
            globals()[name] = value
            return value
    if not name.startswith("_") and importlib.util.find_spec(f"clustertrust.{name}"):
        return importlib.import_module(f"clustertrust.{name}")
    raise AttributeError(f"module 'clustertrust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
