"""The one record of checked settings: how runs are made, and how they are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clustertrust._types import Ints
from clustertrust._validation import check_choice
from clustertrust.consensus import CONSENSUS
from clustertrust.ensemble.recipe import Recipe
from clustertrust.fusion import FUSIONS, WITH_PERSISTENCE
from clustertrust.geometry import NORMALIZATIONS, GeometryOptions
from clustertrust.persistence import check_coordinates
from clustertrust.stability import AGREEMENTS, UNASSIGNED

__all__ = ["Scoring", "Settings"]


@dataclass(frozen=True)
class Scoring:
    """The checked options of scoring, with those of the geometry."""

    fusion: str = "harmonic"
    normalization: str = "clip"
    agreement: str = "matching"
    unassigned: str = "skip"
    consensus: str = "medoid"
    geometry: GeometryOptions = field(default_factory=GeometryOptions)

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Scoring:
        """Check the parameters of `confidence`, given by name; ignore others."""
        names = ("fusion", "normalization", "agreement", "unassigned", "consensus")
        scoring = cls(**{name: params[name] for name in names if name in params})
        check_choice("fusion", scoring.fusion, FUSIONS)
        check_choice("normalization", scoring.normalization, NORMALIZATIONS)
        check_choice("agreement", scoring.agreement, AGREEMENTS)
        check_choice("unassigned", scoring.unassigned, UNASSIGNED)
        check_choice("consensus", scoring.consensus, CONSENSUS)
        return replace(scoring, geometry=GeometryOptions.of(params))

    @property
    def refines(self) -> bool:
        """Return whether persistence is part of the score."""
        return self.fusion in WITH_PERSISTENCE

    def count_runs(self, rows: Ints) -> Ints:
        """Return the number of runs that count for each row of clusters, (m,)."""
        return (
            np.full(len(rows), rows.shape[1])
            if self.unassigned == "disagree"
            else (rows >= 0).sum(axis=1)
        )

    def on(self, device: str) -> Scoring:
        """The same, with the device settled: "cpu" or "cuda"."""
        return replace(self, geometry=replace(self.geometry, device=device))

    def check_points(self, X: Any, n: int) -> Any:
        """Return X as scoring n labelled points needs it; raise if it cannot be scored."""
        if self.refines:
            check_coordinates(self.geometry.method, self.geometry.metric, X)
        return self.geometry.check_points(X, n)


@dataclass(frozen=True)
class Settings:
    """The checked settings of a `CAKE`."""

    recipe: Recipe
    scoring: Scoring

    @classmethod
    def of(cls, cake: Any) -> Settings:
        """Check the parameters of an estimator."""
        params = cake.get_params(deep=False)
        scoring = Scoring.of(params)
        how = scoring.geometry
        if how.has_weights or (how.method == "kernel" and how.is_precomputed):
            raise ValueError(
                "kernel='precomputed' is only for confidence(X, labels): CAKE clusters the points, "
                "so give the points, or their distances with metric='precomputed'."
            )
        if scoring.refines:  # before the fit, not after all runs
            check_coordinates(scoring.geometry.method, scoring.geometry.metric, None)
        return cls(Recipe.of(params), scoring)

    def check_points(self, X: Any) -> None:
        """Raise if checked points X cannot be clustered or scored with these settings."""
        if self.recipe.is_precomputed:
            self.recipe.check_graph(X)
            self.scoring.geometry.check_given(X)
        self.recipe.check_size(X.shape[0])
        self.scoring.geometry.try_metric(X)
        if self.scoring.refines:
            check_coordinates(self.scoring.geometry.method, self.scoring.geometry.metric, X)

    def on(self, device: str) -> Settings:
        """The same, with the device settled: "cpu" or "cuda"."""
        return Settings(replace(self.recipe, device=device), self.scoring.on(device))

    def alone(self) -> Settings:
        """Return the settings for one of many parallel jobs: one thread, no progress bar."""
        geometry = replace(self.scoring.geometry, n_jobs=1)
        recipe = replace(self.recipe, n_jobs=1, verbose=False)
        return Settings(recipe, replace(self.scoring, geometry=geometry))
