"""What every display does: take its arguments and axes, draw, and write notes below the plot.

A display is a dataclass of numbers. Its method `_draw` draws them on `ax_`, and `_compute` makes
them from a record. All public methods are made of these two: they are here, once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clustertrust.estimator import CAKE
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Annotation

_NOTE = "clustertrust-note"
# Of new figures: a width of 6.4 inches has 1,024 pixels
DPI = 160


def show_arguments(cls: type, name: str, *receivers: Callable[..., Any]) -> None:
    """Give this class its own method `name`, with the arguments that it passes to `receivers`.

    Help, editors and the reference show them, with the description of the first receiver where it
    has one. An argument that none of them takes is an error before anything is computed.
    """
    inherited = inspect.getattr_static(cls, name)
    of_class = isinstance(inherited, classmethod)
    function = inspect.unwrap(inherited.__func__ if of_class else inherited)
    own = inspect.signature(function)
    fixed = [p for p in own.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    parameters = {p.name: p for p in fixed}
    for receiver in receivers:
        # Without the first, which is the record, the CAKE or the display itself
        received = list(inspect.signature(receiver).parameters.values())[1:]
        parameters |= {p.name: p for p in received}
    signature = own.replace(parameters=sorted(parameters.values(), key=lambda p: p.kind))

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{method.__qualname__}: {error}.") from None
        return function(*args, **kwargs)

    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = receivers[0].__doc__ or function.__doc__
    method.__qualname__ = f"{cls.__name__}.{name}"
    setattr(cls, name, classmethod(method) if of_class else method)


class Display:
    """Numbers that can be drawn; the options of `plot` are those of the method `_draw`."""

    ax_: Axes
    figure_: Figure | SubFigure
    note_: Annotation | None
    # Note on points that are left out
    missing = ""

    def __init_subclass__(cls) -> None:
        """Let `plot` show the options of this display."""
        super().__init_subclass__()
        show_arguments(cls, "plot", cls._draw)

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        if ax is not None:
            check_axes(ax)
            return self._draw_on(ax, options)
        # Only here: axes of the caller need no pyplot, and change none
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=self._figsize(), dpi=DPI, layout="constrained")
        try:
            return self._draw_on(ax, options)
        except Exception:
            plt.close(figure)
            raise

    def _draw_on(self, ax: Axes, options: dict[str, Any]) -> Self:
        self.ax_, self.figure_, self.note_ = ax, ax.figure, None
        ax.spines[["top", "right"]].set_visible(False)
        self._draw(**options)
        ax.title.set_fontweight("bold")
        self._add_notes(self.missing)
        return self

    def _figsize(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.4, 4.8

    # Draws the numbers on `ax_` and keeps the artists; its docstring, if any, is that of `plot`.
    def _draw(self, *data: Any, **options: Any) -> None:
        raise NotImplementedError

    def _add_notes(self, *notes: str) -> None:
        """Add what the reader must know to the notes below the axis, in small letters."""
        note = next((text for text in self.ax_.texts if text.get_gid() == _NOTE), None)
        lines = [] if note is None else note.get_text().split("\n")
        lines += [line for line in notes if line and line not in lines]
        if not lines:
            return
        if note is None:
            below: dict[str, Any] = {"xycoords": self.ax_.xaxis.label, "annotation_clip": False}
            below |= {"xytext": (0, -3), "textcoords": "offset points", "ha": "center", "va": "top"}
            note = self.ax_.annotate("", (0.5, 0), size="small", alpha=0.75, gid=_NOTE, **below)
        note.set_text("\n".join(lines))
        self.note_ = note  # type: ignore[assignment]


class ConfidenceDisplay(Display):
    """A display of scores; its arguments are those of the methods `_compute` and `_draw`."""

    def __init_subclass__(cls) -> None:
        """Let the public methods show the arguments of this display."""
        super().__init_subclass__()
        if "_compute_from_cake" not in vars(cls):
            show_arguments(cls, "_compute_from_cake", cls._compute)
        show_arguments(cls, "from_estimator", cls._compute_from_cake, cls._draw)
        show_arguments(cls, "from_confidence", cls._compute, cls._draw)

    @classmethod
    def from_estimator(cls, cake: Any, *data: Any, ax: Axes | None = None, **options: Any) -> Self:
        """Draw a fitted CAKE."""
        for_drawing = cls._take_drawing(options)
        return cls._compute_from_cake(cake, *data, **options).plot(ax, **for_drawing)

    @classmethod
    def from_confidence(
        cls, confidence: Confidence, *data: Any, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the record that `confidence` returns."""
        for_drawing = cls._take_drawing(options)
        return cls._compute(check_confidence(confidence), *data, **options).plot(ax, **for_drawing)

    @classmethod
    def _take_drawing(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Take the options of `plot` out of these, and return them."""
        names = inspect.signature(cls._draw).parameters.keys() & options.keys()
        return {name: options.pop(name) for name in names}

    @classmethod
    def _compute(cls, confidence: Confidence, *data: Any, **options: Any) -> Self:
        """Return the display of a checked record, not yet drawn."""
        raise NotImplementedError

    @classmethod
    def _compute_from_cake(cls, cake: Any, *data: Any, **options: Any) -> Self:
        """Return the display of a CAKE, not yet drawn: that of its record, unless overridden."""
        return cls._compute(confidence_of(cake), *data, **options)


def check_axes(ax: Any) -> None:
    """Raise unless these are axes of matplotlib's; of `plt.subplots(2, 2)`, one."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        shown = f"an array of shape {ax.shape}" if isinstance(ax, np.ndarray) else repr(ax)
        raise TypeError(
            f"ax is {shown}; give the axes of one plot, such as plt.subplots()[1], or None."
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
