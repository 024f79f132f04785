"""What the two scatters share: which points are drawn, how, and the scale of their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_count
from clustertrust.displays.base import ConfidenceDisplay
from clustertrust.displays.shared import RASTER_POINTS, is_dark, scale_top, score_colors

# Above this, points are drawn at random
MAX_POINTS = 100_000


class PointsDisplay(ConfidenceDisplay):
    """A scatter of the points, coloured by score."""

    scores: Floats
    shown_: Ints

    def _draw(
        self, *, max_points: int | None = MAX_POINTS, scatter_kw: dict[str, Any] | None = None
    ) -> None:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None: a new figure.
        max_points : int, optional
            If there are more points, a random sample of this size is drawn, and a note says so.
            None: all.
        scatter_kw : dict, optional
            For the `scatter` of matplotlib, such as ``{"s": 5, "vmax": 0.5}``.

        Returns
        -------
        Display
            Itself.
        """
        self._draw_points(*self._sample(max_points, scatter_kw))

    # Draws the points at these positions, which look like this.
    def _draw_points(self, order: Ints, look: dict[str, Any]) -> None:
        raise NotImplementedError

    def _sample(
        self, max_points: int | None, scatter_kw: dict[str, Any] | None
    ) -> tuple[Ints, dict[str, Any]]:
        """Return the positions of the points to draw, in random order, and how to draw them.

        Where points lie on one another, what is on top is then a fair sample of what is there; with
        the least sure on top a dense cluster would look as bad as its worst points. A note tells
        if points are left out, or are so many that they overlap.
        """
        if max_points is not None:
            max_points = check_count("max_points", max_points, at_least=1)
        options = check_scatter_kw(scatter_kw)
        n = len(self.scores)
        order = np.random.default_rng(0).permutation(n)[:max_points]
        if order.size < n:
            self._add_notes(f"{order.size:,} of {n:,} points, chosen at random")
        elif n > RASTER_POINTS:
            self._add_notes(f"{n:,} points, drawn in random order")
        colors = score_colors(dark=is_dark(self.ax_))
        by_score = {"cmap": colors, "vmin": 0.0, "vmax": scale_top(self.scores)}
        # Square points of print
        area = float(np.clip(20.0 * np.sqrt(1000.0 / max(order.size, 1)), 2.0, 25.0))
        plain = {"s": area, "rasterized": order.size > RASTER_POINTS, "linewidths": 0}
        return order, by_score | plain | options

    def _scatter(self, xy: Floats, positions: Ints, look: dict[str, Any]) -> Any:
        """Draw the points at these positions in the colours of their scores."""
        x, y = xy[positions].T
        try:
            return self.ax_.scatter(x, y, c=self.scores[positions], **look)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"scatter_kw has an option that matplotlib's scatter does not accept: {error}."
            ) from error

    def _add_colorbar(self, points: Any) -> Any:
        """Draw the scale of scores; None where no point that is drawn has one."""
        if np.isnan(self.scores[self.shown_]).all():
            return None
        return self.figure_.colorbar(points, ax=self.ax_, label="score")


def check_scatter_kw(scatter_kw: Any) -> dict[str, Any]:
    """Return options of matplotlib's scatter."""
    if scatter_kw is None:
        return {}
    if not isinstance(scatter_kw, dict) or not all(isinstance(name, str) for name in scatter_kw):
        raise TypeError(
            f"scatter_kw={scatter_kw!r} must be a dict of options of matplotlib's scatter, or None."
        )
    return scatter_kw
