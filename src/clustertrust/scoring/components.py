"""What a fusion needs besides stability and geometry: persistence and second opinions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clustertrust._parallel import one_blas_thread
from clustertrust._types import Floats, Ints
from clustertrust.opinions import Opinions, gather_opinions
from clustertrust.persistence import Refinement, refine
from clustertrust.scoring.settings import Scoring


@dataclass(frozen=True)
class Components:
    """Persistence and second opinions, fitted to points with labels.

    Attributes
    ----------
    used : names of those that the fusion takes
    refinement : mixtures for persistence; None where it is not used, or no point has a label
    opinions : runs of other methods, likewise
    threads : that work on blocks of points
    """

    used: tuple[str, ...] = ()
    refinement: Refinement | None = None
    opinions: Opinions | None = None
    threads: int = 1

    def of(self, X: Any, labels: Ints) -> dict[str, Any]:
        """Return the fields of `Confidence` that they are, for points with these labels."""
        if not self.used:
            return {}
        none = np.zeros(len(labels))
        parts: dict[str, Any] = {}
        # Once for all: setting it for each takes longer than placing few points.
        with one_blas_thread:
            if "persistence" in self.used:
                by = self.refinement
                kept = none if by is None else by.persistence(X, labels, self.threads)
                parts["persistence"] = kept
            if "second_opinions" in self.used:
                asked = self.opinions
                share, choice = (none, labels) if asked is None else asked.of(X, labels)
                parts |= {"second_opinions": share, "second_choice": choice}
        return parts


def fused_parts(parts: Mapping[str, Any]) -> tuple[Floats, ...]:
    """Return the components that are called with, in the order in which a fusion takes them."""
    return tuple(parts[name] for name in ("persistence", "second_opinions") if name in parts)


def used_components(scoring: Scoring) -> tuple[str, ...]:
    """Return the names of the components that a score uses besides stability and geometry."""
    flags = {
        "persistence": scoring.uses_persistence,
        "second_opinions": scoring.fusion.uses_opinions,
    }
    return tuple(name for name, is_used in flags.items() if is_used)


def fit_components(X: Any, labels: Ints, scoring: Scoring, seed: int | None = 0) -> Components:
    """Fit what the fusion needs besides c and S̃ to points X with labels; -1: none."""
    used = used_components(scoring)
    if not used or labels.max(initial=-1) < 0:
        return Components(used)
    opinions = None
    with one_blas_thread:
        refinement = refine(X, labels) if "persistence" in used else None
        if "second_opinions" in used:
            params = scoring.fusion.get_params(deep=False)
            opinions = gather_opinions(
                X,
                labels,
                **{name: params[name] for name in ("methods", "n_runs") if name in params},
                metric=scoring.geometry.used_metric,
                seed=seed or 0,
                n_jobs=scoring.compute.n_jobs,
            )
    return Components(used, refinement, opinions, scoring.compute.threads)
