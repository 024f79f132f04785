"""Stability against geometry, with lines of equal score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._views import round_range
from clustertrust.displays.points import PointsDisplay
from clustertrust.displays.shared import missing_note, scale_top
from clustertrust.fusion import FUSIONS
from clustertrust.results import Confidence

_STABILITY_LABELS = {
    "element-centric": "element-centric consistency of its clusters",
    "given": "share of runs that agree with the given label",
    "jaccard": "overlap of its clusters in two runs",
    "matching": "share of run pairs that agree",
    "reference": "share of run pairs that agree in the terms of one run",
}


def fusion_of(confidence: Confidence) -> str | None:
    """Name of the fusion that gives these scores from their components; None: no fusion does."""
    c, g = confidence.stability, confidence.geometry
    for name, fuse in FUSIONS.items():
        # A third component has no lines in this plane
        if fuse.uses_persistence or fuse.uses_opinions:
            continue
        if np.allclose(fuse()(c, g), confidence.scores, rtol=0, atol=1e-9, equal_nan=True):
            return name
    return None


@dataclass(kw_only=True, eq=False, repr=False)
class StabilityGeometryDisplay(PointsDisplay):
    """Each point at its geometry and stability, with lines of equal score.

    Use :meth:`from_estimator` or :meth:`from_confidence`. Points at the border of their cluster are
    on the left, points on which the runs disagree at the bottom.

    Parameters
    ----------
    stability, geometry, scores : (n,) arrays, NaN: none
    fusion : str or None
        Name of the fusion, for lines of equal score; None: no lines.
    agreement : {"matching", "jaccard", "element-centric", "reference", "given"}
        What stability averages over pairs of runs; "given": over runs, for a given labelling.

    Attributes
    ----------
    points_ : artist of the points
    contours_ : the lines of equal score, or None
    colorbar_ : the scale of scores, or None
    shown_ : positions of the points drawn, in the order they were drawn
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust import confidence
    >>> from clustertrust.displays import StabilityGeometryDisplay
    >>> record = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    >>> StabilityGeometryDisplay.from_confidence(record, ax=Figure().add_subplot()).fusion
    'harmonic'
    """

    stability: Floats
    geometry: Floats
    scores: Floats
    fusion: str | None
    agreement: str = "matching"

    @classmethod
    def _compute(cls, confidence: Confidence) -> Self:
        """Draw the components of a fitted CAKE or a record.

        The other arguments are those of :meth:`plot`.
        """
        return cls(
            stability=confidence.stability,
            geometry=confidence.geometry,
            scores=confidence.scores,
            fusion=fusion_of(confidence),
            agreement=confidence.agreement,
        )

    def _draw_points(self, order: Ints, look: dict[str, Any]) -> None:
        look = {"alpha": 0.7, "zorder": 2} | look
        self.shown_ = order[~np.isnan(self.scores[order])]
        self.points_ = self._scatter(np.c_[self.geometry, self.stability], self.shown_, look)
        fusion = None if self.fusion is None else FUSIONS[self.fusion]()
        self.contours_ = None if fusion is None else self._draw_contours(fusion)
        self.colorbar_ = self._add_colorbar(self.points_)
        if self.colorbar_ is not None and self.colorbar_.solids is not None:
            self.colorbar_.solids.set_alpha(1)
        lines = "" if self.fusion is None else f", lines of equal score ({self.fusion})"
        self.ax_.set(
            xlabel="geometry: how far inside its cluster",
            ylabel=f"stability: {_STABILITY_LABELS[self.agreement]}",
            title=f"Stability and geometry{lines}",
        )
        self._add_notes(missing_note(self.scores))

    def _draw_contours(self, fuse: Callable[[Floats, Floats], Floats]) -> Any:
        """Lines of equal score over the part of the plane that the points take."""
        (left, right), (bottom, top) = map(round_range, (self.geometry, self.stability))
        x, y = np.meshgrid(np.linspace(left, right, 201), np.linspace(bottom, top, 201))
        score = fuse(y, x)
        levels = scale_top(self.scores) * np.arange(1, 10) / 10
        levels = levels[(levels > score.min()) & (levels < score.max())]
        lines = None
        if levels.size:
            lines = self.ax_.contour(x, y, score, levels, colors="0.6", linewidths=0.8, zorder=1)
            self.ax_.clabel(lines, fmt=lambda level: f"{level:.3g}", fontsize=7, colors="0.5")
        across, up = 0.02 * (right - left), 0.02 * (top - bottom)
        self.ax_.set(xlim=(left - across, right + across), ylim=(bottom - up, top + up))
        return lines
