"""What the displays share: axes, colours, names of clusters, samples of points, and notes.

Colours can be distinguished with every kind of colour vision: scores on viridis, and clusters side
by side in two alternating blues, with the name beside each. Nobody could read a legend of 26 hues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clustertrust._palette import BLUE, GREY, MISSING, SKY, VERMILION
from clustertrust._types import Floats, Ints
from clustertrust._validation import check_count
from clustertrust.estimator import CAKE
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Annotation


SCORE_COLORS = "viridis"
CLUSTER_COLORS = (BLUE, SKY)
ALL_COLOR = GREY
MISSING_COLOR = MISSING
LOW_COLOR = VERMILION
NOT_ASSIGNED = "not assigned"

# Above this, PDF and SVG files store points as pixels, and a note mentions overlap
RASTER_POINTS = 5_000
FEW_NAMES = 12  # clusters, up to which their names are in larger letters
MAX_POINTS = 100_000  # above this, points are drawn at random
_LONGEST_NAME = 24
_NOTE = "clustertrust-note"


class Display:
    """Axes and notes of a display; subclasses hold the numbers and draw them."""

    ax_: Axes
    figure_: Figure | SubFigure
    note_: Annotation | None

    def _start(self, ax: Axes | None, figsize: tuple[float, float]) -> Axes:
        """Take the axes given, or make a figure of this size."""
        if ax is None:
            # only here: axes that are given need no pyplot, and change none
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        check_axes(ax)
        self.ax_, self.figure_, self.note_ = ax, ax.figure, None
        return ax

    def _add_notes(self, *notes: str) -> None:
        """Write what the reader must know in small letters below the axis.

        Earlier notes there stay.
        """
        there = next((text for text in self.ax_.texts if text.get_gid() == _NOTE), None)
        lines = [] if there is None else there.get_text().split("\n")
        lines += [note for note in notes if note and note not in lines]
        if not lines:
            return
        if there is None:
            label = self.ax_.xaxis.label
            options: dict[str, Any] = {
                "xycoords": label,
                "textcoords": "offset points",
                "annotation_clip": False,
            }
            there = self.ax_.annotate(
                "",
                (0.5, 0),
                (0, -3),
                ha="center",
                va="top",
                size="small",
                color="0.3",
                gid=_NOTE,
                **options,
            )
        there.set_text("\n".join(lines))
        self.note_ = there  # type: ignore[assignment]


def check_axes(ax: Any) -> None:
    """Raise unless these are axes of matplotlib's.

    Of `plt.subplots(2, 2)` each display takes one.
    """
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        given = f"an array of shape {ax.shape}" if isinstance(ax, np.ndarray) else repr(ax)
        raise TypeError(
            f"ax is {given}; give the axes of one plot, such as plt.subplots()[1], or None."
        )


def require_matplotlib() -> None:
    """Raise with the line that installs it where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Displays are drawn with matplotlib, which is not installed; "
            'pip install "clustertrust[plot]".'
        ) from error


def confidence_of(cake: Any) -> Confidence:
    """Return the record inside a fitted CAKE, in memory."""
    if not isinstance(cake, CAKE):
        raise TypeError(
            f"cake={cake!r} must be a fitted CAKE; for a Pipeline give its last step, "
            "pipeline[-1], and for a Confidence record use from_confidence."
        )
    check_is_fitted(cake)
    return cake.confidence_.compute()


def check_confidence(confidence: Any) -> Confidence:
    """Return the record, in memory; raise if it is something else."""
    if not isinstance(confidence, Confidence):
        raise TypeError(
            f"confidence={confidence!r} must be the record that clustertrust.confidence returns; "
            "for a CAKE use from_estimator."
        )
    return confidence.compute()


@dataclass(frozen=True)
class Group:
    """The points of one consensus cluster.

    Attributes
    ----------
    name : what it is called in the figure
    members : positions of its points
    assigned : False for the points without a cluster
    """

    name: str
    members: Ints
    assigned: bool = True


def groups_of(labels: Ints, label_names: NDArray) -> list[Group]:
    """Return the non-empty clusters by name, and last the points that are not assigned, if any."""
    found = [
        Group(written(label_names[label]), np.flatnonzero(labels == label))
        for label in by_name(label_names)
    ]
    found.append(Group(NOT_ASSIGNED, np.flatnonzero(labels < 0), assigned=False))
    return [group for group in found if group.members.size]


def by_name(names: NDArray) -> list[int]:
    """Return the positions of the names in their order; text where numbers and text are mixed."""
    plain = names.tolist()
    try:
        return sorted(range(len(plain)), key=lambda i: plain[i])
    except TypeError:
        return sorted(range(len(plain)), key=lambda i: str(plain[i]))


def written(name: Any) -> str:
    """Return a name as one short line that matplotlib does not read as a formula."""
    text = " ".join(str(name).split())
    if len(text) > _LONGEST_NAME:
        text = text[: _LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$")


def scale_top(scores: Floats) -> float:
    """Where the scale of scores ends: 1, or, where all are below 0.5, the highest with its first
    digit rounded up.

    The scores of kernel silhouettes are small throughout; on a scale to 1 they would all look the
    same.
    """
    known = scores[np.isfinite(scores)]
    highest = float(known.max()) if known.size else 1.0
    if highest >= 0.5 or highest <= 0:
        return 1.0
    digit = 10.0 ** np.floor(np.log10(highest))
    return float(np.ceil(highest / digit - 1e-9) * digit)


def check_max_points(max_points: Any) -> int | None:
    """Return the most points to draw; None: all."""
    return None if max_points is None else check_count("max_points", max_points, at_least=1)


def draw_order(n: int, max_points: int | None) -> Ints:
    """Return the positions of the points to draw, all or `max_points`, in random order.

    Where points lie on one another, what is on top is then a fair sample of what is there; with the
    least sure on top a dense cluster would look as bad as its worst points.
    """
    return np.random.default_rng(0).permutation(n)[:max_points]


def sample_note(n: int, shown: int) -> str:
    """Return the note on the points drawn; empty if they are few."""
    if shown < n:
        return f"{shown:,} of {n:,} points, chosen at random"
    return f"{n:,} points, drawn in random order" if n > RASTER_POINTS else ""


def legend_on_top(ax: Axes, columns: int) -> None:
    """Draw the legend above everything else: the axis goes on upwards until nothing is hidden."""
    low, high = ax.get_ylim()
    ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
    narrow = {"columnspacing": 1.0, "handlelength": 1.4}
    legend = ax.legend(loc="upper center", ncols=columns, fontsize="small", **narrow)
    figure: Any = ax.figure
    figure.figure.draw_without_rendering()  # of a part of a figure, the whole
    box = legend.get_window_extent().transformed(ax.transAxes.inverted())
    free = max(0.2, box.y0 - 0.02)  # axes that are too small for a legend keep a fifth
    ax.set_ylim(low, low + (high - low) / free)
    ax.set_yticks(ticks)


def missing_note(scores: Floats) -> str:
    """Return the note on points without a score, which are left out."""
    missing = int(np.isnan(scores).sum())
    return (
        f"{missing:,} of {scores.size:,} points have no score and are left out" if missing else ""
    )


def marker_area(n: int) -> float:
    """Return the size of a point among n, in square points of print."""
    return float(np.clip(20.0 * np.sqrt(1000.0 / max(n, 1)), 2.0, 25.0))


def scatter_look(scores: Floats, shown: int) -> dict[str, Any]:
    """Return the options of a scatter of this many points, coloured by score."""
    return {
        "cmap": SCORE_COLORS,
        "vmin": 0.0,
        "vmax": scale_top(scores),
        "s": marker_area(shown),
        "rasterized": shown > RASTER_POINTS,
        "linewidths": 0,
    }


def draw_points(ax: Axes, x: Floats, y: Floats, scores: Floats, look: dict[str, Any]) -> Any:
    """Draw points coloured by score.

    What matplotlib does not take is an error that names `scatter_kw`.
    """
    try:
        return ax.scatter(x, y, c=scores, **look)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"scatter_kw has an option that matplotlib's scatter does not accept: {error}."
        ) from error


def check_scatter_kw(scatter_kw: Any) -> dict[str, Any]:
    """Return options of matplotlib's scatter."""
    if scatter_kw is None:
        return {}
    if not isinstance(scatter_kw, dict) or not all(isinstance(name, str) for name in scatter_kw):
        raise TypeError(
            f"scatter_kw={scatter_kw!r} must be a dict of options of matplotlib's scatter, or None."
        )
    return scatter_kw


def keep_apart(positions: Floats, least: float, low: float, high: float) -> Floats:
    """Increasing positions moved as little as it takes for neighbours to be `least` apart, between
    `low` and `high`.

    Positions that are too near form a pile around their mean; piles that touch merge. Where there
    is not enough room, all are evenly spaced.
    """
    least = min(least, (high - low) / max(len(positions), 1))
    piles: list[tuple[list[int], float]] = []  # members, centre
    for i in range(len(positions)):
        pile = [i]
        while True:
            half = least * len(pile) / 2
            center = float(np.clip(np.mean(positions[pile]), low + half, high - half))
            if (
                not piles
                or center - half >= piles[-1][1] + least * len(piles[-1][0]) / 2 - 1e-9 * least
            ):
                break
            pile = piles.pop()[0] + pile
        piles.append((pile, center))
    moved = np.empty(len(positions))
    for pile, center in piles:
        moved[pile] = center + least * (np.arange(len(pile)) - (len(pile) - 1) / 2)
    return moved


def push_apart(places: Floats, sizes: Floats, rounds: int = 200) -> Floats:
    """(k, 2) centres of boxes of these (k, 2) sizes, moved until no two overlap or the rounds are
    over.

    In each round every pair that overlaps parts by half of what it lacks, along the axis that needs
    less.
    """
    moved = np.array(places, dtype=np.float64)
    need = (sizes[:, None] + sizes[None]) / 2
    first = (
        np.arange(len(moved))[:, None] < np.arange(len(moved))[None]
    )  # each pair once; equal places still part
    for _ in range(rounds):
        away = moved[:, None] - moved[None]
        lack = need - np.abs(away)
        overlap = (lack > 1e-6).all(axis=2) & first
        if not overlap.any():
            break
        for a, b in np.argwhere(overlap):
            axis = int(np.argmin(lack[a, b]))
            step = np.sign(away[a, b, axis] or 1.0) * lack[a, b, axis] / 2
            moved[a, axis] += step
            moved[b, axis] -= step
    return moved
