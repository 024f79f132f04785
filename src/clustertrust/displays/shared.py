"""What several displays share: colours, names of clusters, scales, notes, and places of names.

Colours can be distinguished with every kind of colour vision: scores from orange to blue, and
clusters side by side in two alternating blues, with the name next to each. Nobody could read a
legend of 26 hues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from clustertrust._palette import BLUE, DARK_SCORES, LIGHT_SCORES, MISSING, SKY, VERMILION
from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_flag
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

CLUSTER_COLORS = (BLUE, SKY)
# Between light and dark grounds
ALL_COLOR = "#777777"
MISSING_COLOR = MISSING
LOW_COLOR = VERMILION
NOT_ASSIGNED = "not assigned"

# Above this, PDF and SVG files store points as pixels, and a note mentions overlap
RASTER_POINTS = 5_000
_LONGEST_NAME = 24
# Clusters, up to which their names are in larger letters
_FEW_NAMES = 12


def score_colors(*, dark: bool = False) -> Colormap:
    """Return the colours of scores, orange for low and blue for high, as on the page.

    Each has a contrast of at least 3 to 1 with the background, and they can be told apart with
    every kind of colour vision.

    Parameters
    ----------
    dark : bool
        For a dark background.

    Returns
    -------
    matplotlib Colormap

    Examples
    --------
    >>> from clustertrust.displays import score_colors
    >>> score_colors().name
    'clustertrust'
    """
    from matplotlib.colors import LinearSegmentedColormap

    stops = DARK_SCORES if check_flag("dark", dark) else LIGHT_SCORES
    return LinearSegmentedColormap.from_list("clustertrust", stops)


def is_dark(ax: Axes) -> bool:
    """Return whether the ground of these axes is dark."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.get_facecolor())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5


def ink(ax: Axes) -> str:
    """Return the colour of letters on these axes."""
    from matplotlib.colors import to_hex

    return to_hex(ax.xaxis.label.get_color())


def halo(ax: Axes, width: float) -> list[Any]:
    """Return the effect that keeps letters legible on points and lines."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=ax.get_facecolor())]


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


def groups_of(labels: Ints, label_names: NDArray[Any]) -> list[Group]:
    """Return the non-empty clusters by name, and last the points that are not assigned, if any."""
    groups = [
        Group(written(label_names[label]), np.flatnonzero(labels == label))
        for label in by_name(label_names)
    ]
    groups.append(Group(NOT_ASSIGNED, np.flatnonzero(labels < 0), assigned=False))
    return [group for group in groups if group.members.size]


def scored_groups(confidence: Confidence) -> tuple[Floats, list[Group]]:
    """Return the scores that are numbers, and their clusters as positions among these points."""
    is_scored = ~np.isnan(confidence.scores)
    groups = groups_of(confidence.labels[is_scored], confidence.label_names)
    return confidence.scores[is_scored], groups


def by_name(names: NDArray[Any]) -> list[int]:
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


def letter_size(n_names: int) -> float:
    """Return the size of letters for this many names in one plot, in points of print."""
    return 10.0 if n_names <= _FEW_NAMES else 8.0


def without_nan(values: Floats) -> Floats:
    """Return the values that are numbers; one NaN where none is, so that their mean is NaN too."""
    numbers = values[~np.isnan(values)]
    return numbers if numbers.size else np.array([np.nan])


def scale_top(scores: Floats) -> float:
    """Where the scale of scores ends: 1, or, where all are below 0.5, the highest with its first
    digit rounded up.

    The scores of kernel silhouettes are small throughout; on a scale to 1 they would all look the
    same.
    """
    highest = float(np.max(scores[np.isfinite(scores)], initial=0.0))
    if highest >= 0.5 or highest <= 0:
        return 1.0
    digit = 10.0 ** np.floor(np.log10(highest))
    return float(np.ceil(highest / digit - 1e-9) * digit)


def missing_note(scores: Floats) -> str:
    """Return the note on points without a score, which are left out; empty if there are none."""
    missing = int(np.isnan(scores).sum())
    note = f"{missing:,} of {scores.size:,} points have no score and are left out"
    return note if missing else ""


def check_one_given(remedy: str, **arguments: Any) -> None:
    """Raise unless one of two arguments is given, the other None."""
    is_given = [value is not None for value in arguments.values()]
    if sum(is_given) != 1:
        state = "given" if any(is_given) else "missing"
        raise ValueError(f"{' and '.join(arguments)} are both {state}; {remedy}")


def keep_apart(positions: Floats, least: float, low: float, high: float) -> Floats:
    """Increasing positions moved as little as it takes for neighbours to be `least` apart, between
    `low` and `high`.

    Less the room that those before take, they may not fall: isotonic regression. Where there is not
    enough room, all are evenly spaced.
    """
    n = len(positions)
    least = min(least, (high - low) / max(n, 1))
    taken = least * (np.arange(n) + 0.5)
    rising = isotonic_regression(positions - taken).x
    return np.asarray(np.clip(rising, low, high - n * least) + taken)


def push_apart(places: Floats, sizes: Floats, rounds: int = 200) -> Floats:
    """(k, 2) centres of boxes of these (k, 2) sizes, moved until no two overlap or the rounds are
    over.

    In each round every pair that overlaps parts by half of what it lacks, along the axis that needs
    less.
    """
    moved = np.array(places, dtype=np.float64)
    need = (sizes[:, None] + sizes[None]) / 2
    # Each pair once, so that boxes at the same place part too
    first = np.triu(np.ones((len(moved), len(moved)), dtype=bool), 1)
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
