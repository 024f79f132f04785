"""The one record of checked settings: how runs are made, and how they are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clustertrust._devices import check_device
from clustertrust._errors import ParameterError
from clustertrust._types import Ints
from clustertrust._validation.arguments import check_choice
from clustertrust.consensus import CONSENSUS
from clustertrust.ensemble.recipe import Recipe
from clustertrust.fusion import Fusion, Harmonic, as_fusion
from clustertrust.geometry.auto import Auto
from clustertrust.geometry.base import Compute, Geometry
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.geometry.measuring import as_geometry
from clustertrust.opinions import check_methods
from clustertrust.persistence import check_dense
from clustertrust.stability import AGREEMENTS, UNASSIGNED


@dataclass(frozen=True)
class Scoring:
    """The checked options of scoring, with the objects that they name."""

    fusion: Fusion = field(default_factory=Harmonic)
    normalization: str = "clip"
    agreement: str = "matching"
    unassigned: str = "skip"
    consensus: str = "medoid"
    geometry: Geometry = field(default_factory=Auto)
    compute: Compute = field(default_factory=Compute)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Scoring:
        """Check the parameters of `confidence`, given by name; ignore others.

        The device is settled later, when the data are known.
        """
        names = ("normalization", "agreement", "unassigned", "consensus")
        scoring = cls(**{name: params[name] for name in names if name in params})
        check_choice("normalization", scoring.normalization, NORMALIZATIONS)
        check_choice("agreement", scoring.agreement, AGREEMENTS)
        check_choice("unassigned", scoring.unassigned, UNASSIGNED)
        check_choice("consensus", scoring.consensus, CONSENSUS)
        check_device(params.get("device", "auto"))
        fusion = as_fusion(params.get("fusion", "harmonic"))
        geometry = as_geometry(params.get("geometry", "auto"), params.get("metric", "euclidean"))
        methods = getattr(fusion, "methods", None)
        if fusion.uses_opinions and methods is not None:
            check_methods(methods, geometry.used_metric)
        compute = Compute(params.get("n_jobs"))
        return replace(scoring, fusion=fusion, geometry=geometry, compute=compute)

    @property
    def uses_persistence(self) -> bool:
        """Return whether persistence is part of the score."""
        return self.fusion.uses_persistence and (
            self.fusion.needs_coordinates or self.geometry.why_no_coordinates() is None
        )

    def count_runs(self, rows: Ints) -> Ints:
        """Return the number of runs that count for each row of clusters, (m,)."""
        return (
            np.full(len(rows), rows.shape[1])
            if self.unassigned == "disagree"
            else (rows >= 0).sum(axis=1)
        )

    def on(self, device: str) -> Scoring:
        """The same, with the device settled."""
        return replace(self, compute=replace(self.compute, device=device))

    def check_points(self, X: Any, n: int) -> Any:
        """Return X as scoring n labelled points needs it; raise if it cannot be scored."""
        self.check_persistence(X)
        return self.geometry.check_points(X, n)

    def check_persistence(self, X: Any = None) -> None:
        """Raise if the score uses persistence, and there are no coordinates to fit Gaussians in."""
        if not self.uses_persistence:
            return
        option = self.geometry.why_no_coordinates()
        if option is not None:
            raise ParameterError(
                "fusion",
                self.fusion.name,
                f"fits Gaussians to the coordinates of the points, which {option} does not use",
                "choose {metric='euclidean'} and another geometry, or {fusion='harmonic'}",
            )
        check_dense(X, self.fusion.name)


@dataclass(frozen=True)
class Settings:
    """The checked settings of a `CAKE`."""

    recipe: Recipe
    scoring: Scoring

    @classmethod
    def from_estimator(cls, cake: Any) -> Settings:
        """Check the parameters of an estimator."""
        params = cake.get_params(deep=False)
        scoring = Scoring.from_params(params)
        scoring.geometry.check_fit()
        scoring.check_persistence()
        metric = scoring.geometry.used_metric
        return cls(Recipe.from_params(params | {"metric": metric}), scoring)

    def check_points(self, X: Any) -> None:
        """Raise if checked points X cannot be clustered or scored with these settings."""
        if self.recipe.is_precomputed:
            self.recipe.check_graph(X)
            self.scoring.geometry.check_precomputed(X)
        self.recipe.check_size(X.shape[0])
        self.scoring.geometry.try_on(X)
        self.scoring.check_persistence(X)

    def on(self, device: str) -> Settings:
        """The same, with the device settled."""
        return Settings(replace(self.recipe, device=device), self.scoring.on(device))

    def on_workers(self, device: str) -> Settings:
        """The same for Dask data, with the device on which blocks are scored settled."""
        return Settings(replace(self.recipe, device="cpu"), self.scoring.on(device))

    def alone(self) -> Settings:
        """Return the settings for one of many parallel jobs: one thread, no progress bar."""
        scoring = replace(self.scoring, compute=self.scoring.compute.alone())
        return Settings(replace(self.recipe, n_jobs=1, verbose=False), scoring)
