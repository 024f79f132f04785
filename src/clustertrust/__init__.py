"""clustertrust: which of these cluster assignments can I trust?

Public names are imported when they are first used, so that the command line starts fast.
"""

from __future__ import annotations

# type checkers know this name; importing `typing` takes time in which Ctrl-C is not handled yet
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from clustertrust._errors import ParameterError
    from clustertrust.answers import LearnedConfidence
    from clustertrust.auditing import Audit, audit
    from clustertrust.building import build_ensemble
    from clustertrust.distances.metrics import Metric
    from clustertrust.ensemble import Ensemble, Runs
    from clustertrust.estimator import CAKE, confidence
    from clustertrust.k_profile.profile import KProfile, choose_k
    from clustertrust.matching import align_labels
    from clustertrust.null.reference import NullReference, null_reference
    from clustertrust.results import Confidence, Explanation
    from clustertrust.selection import select_adaptive, select_top

__version__ = "0.1.0"

__all__ = [
    "CAKE",
    "Audit",
    "Confidence",
    "Ensemble",
    "Explanation",
    "KProfile",
    "LearnedConfidence",
    "Metric",
    "NullReference",
    "ParameterError",
    "Runs",
    "align_labels",
    "audit",
    "build_ensemble",
    "choose_k",
    "confidence",
    "null_reference",
    "select_adaptive",
    "select_top",
]

_HOMES = {
    "_errors": ("ParameterError",),
    "answers": ("LearnedConfidence",),
    "auditing": ("Audit", "audit"),
    "distances.metrics": ("Metric",),
    "building": ("build_ensemble",),
    "ensemble": ("Ensemble", "Runs"),
    "estimator": ("CAKE", "confidence"),
    "k_profile": ("KProfile", "choose_k"),
    "matching": ("align_labels",),
    "null": ("NullReference", "null_reference"),
    "results": ("Confidence", "Explanation"),
    "selection": ("select_adaptive", "select_top"),
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
