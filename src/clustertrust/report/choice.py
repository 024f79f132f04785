"""What `choose_k` found → one HTML page: the evidence by k, the data at each candidate, the gate.

The page is plain HTML and SVG without a script; all text of the user's is escaped.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust._views import View
from clustertrust.report.page import fill, read_asset
from clustertrust.storage import write_text

# Points of a small picture, and clusters with a colour of their own
MOST_POINTS, COLORS = 1000, 8
# The chart on a wide screen, a tablet and a phone: letters are as large on all
SCREENS = {"wide": (1180, 300), "middle": (720, 280), "narrow": (330, 240)}
LEFT, BOTTOM, TOP, RIGHT = 34, 42, 10, 6
SIDE = 260


@dataclass(frozen=True)
class Candidate:
    """The data at one number of clusters.

    Attributes
    ----------
    n_clusters : the number
    labels : (n,) clusters of the points, negative: none
    caption : the text below the picture
    """

    n_clusters: int
    labels: Ints
    caption: str


@dataclass(frozen=True)
class Choice:
    """What the page shows.

    Attributes
    ----------
    verdict, gate : the recommendation, and whether data without clusters score as high, in words
    n_clusters, probability : (q,) the numbers tried, and how probable each is
    support : by kind of evidence, (q,) between 0 and 1
    plausible, best : numbers that may well be right, and the recommended one
    table : one row per number
    notes : what else to know
    view : where the points are drawn; None: they are not
    candidates : the data at the most probable numbers
    """

    verdict: str
    gate: str
    n_clusters: Ints
    probability: Floats
    support: Mapping[str, Floats]
    plausible: Sequence[int]
    best: int
    table: pd.DataFrame
    notes: Sequence[str] = ()
    view: View | None = None
    candidates: Sequence[Candidate] = field(default=())


def write_choice(path: str | Path, choice: Choice, title: str) -> None:
    """Write the page, whole or not at all."""
    write_text(Path(path), render_choice(choice, title))


def render_choice(choice: Choice, title: str) -> str:
    """Return the page."""
    parts = {
        "title": html.escape(title),
        "verdict": html.escape(choice.verdict),
        "gate": html.escape(choice.gate),
        "evidence": _legend(choice)
        + "".join(_evidence(choice, screen, *size) for screen, size in SCREENS.items()),
        "candidates": _side_by_side(choice),
        "table": _table(choice.table),
        "notes": "".join(f'<p class="hint">{html.escape(note)}</p>' for note in choice.notes),
    }
    styles = [read_asset("report.css"), read_asset("choice/choice.css")]
    return fill(read_asset("choice/choice.html"), styles, "", parts)


def _legend(choice: Choice) -> str:
    """Return the names of the bars and of the lines, each with its look."""
    bars = [("best", "recommended")] * (choice.best in choice.n_clusters)
    bars += [("plausible", "plausible")] * (len(set(choice.plausible) - {choice.best, 1}) > 0)
    marks = [(f'<rect class="{kind}" width="14" height="10" y="1"/>', name) for kind, name in bars]
    marks += [
        (f'<line class="l{j % 4} d{j % 4}" stroke-width="2" x2="30" y1="6" y2="6"/>', name)
        for j, name in enumerate(choice.support)
    ]
    items = "".join(
        f'<li><svg width="{14 if mark.startswith("<rect") else 30}" height="12" aria-hidden="true">'
        f"{mark}</svg> {html.escape(name)}</li>"
        for mark, name in marks
    )
    return f'<ul class="chart-legend">{items}</ul>'


def _evidence(choice: Choice, screen: str, width: int, height: int) -> str:
    """Draw probabilities as bars and kinds of evidence as lines; the style shows one `screen`."""
    ks = [int(k) for k in choice.n_clusters]
    step = (width - LEFT - RIGHT) / len(ks)
    base = height - BOTTOM
    named = max(1, math.ceil(22 / step))

    def x(j: int) -> float:
        return LEFT + (j + 0.5) * step

    def y(share: float) -> float:
        return base - share * (base - TOP)

    parts = [
        f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:g}</text>'
        f'<line class="frame" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(share):.1f}" '
        f'y2="{y(share):.1f}"/>'
        for share in (0, 0.5, 1)
    ]
    for j, (k, p) in enumerate(zip(ks, choice.probability, strict=True)):
        kind = "plausible" if k in choice.plausible else "other"
        kind = "best" if k == choice.best else kind
        parts.append(
            f'<rect class="{kind}" x="{x(j) - 0.38 * step:.1f}" y="{y(p):.1f}" '
            f'width="{0.76 * step:.1f}" height="{base - y(p):.1f}"><title>k = {k}: probability '
            f"{p:.2f}</title></rect>"
        )
        if j % named == 0:
            parts.append(f'<text x="{x(j):.1f}" y="{base + 18}" text-anchor="middle">{k}</text>')
    for place, values in enumerate(choice.support.values()):
        at = " ".join(f"{x(j):.1f},{y(float(v)):.1f}" for j, v in enumerate(values))
        parts.append(f'<polyline class="l{place % 4} d{place % 4}" points="{at}"/>')
    middle = (LEFT + width - RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{height - 6}" text-anchor="middle">number of clusters</text>'
    )
    listed = ", ".join(f"{k}: {p:.2f}" for k, p in zip(ks, choice.probability, strict=True))
    chart = _svg(width, height, f"Probability of each number of clusters: {listed}", parts)
    return f'<div class="chart-of-evidence {screen}">{chart}</div>'


def _side_by_side(choice: Choice) -> str:
    """Draw the data at each candidate."""
    if choice.view is None or not choice.candidates:
        return ""
    xy = choice.view.xy
    there = np.flatnonzero(np.isfinite(xy).all(axis=1))
    if len(there) > MOST_POINTS:
        there = np.sort(np.random.default_rng(0).choice(there, MOST_POINTS, replace=False))
    low, high = xy[there].min(axis=0), xy[there].max(axis=0)
    share = (xy[there] - low) / np.where(high > low, high - low, 1.0)
    at = np.column_stack([8 + share[:, 0] * (SIDE - 16), SIDE - 8 - share[:, 1] * (SIDE - 16)])
    figures = []
    for one in choice.candidates:
        colors = np.where(one.labels[there] < 0, -1, one.labels[there] % COLORS)
        dots = [f'<rect class="frame" x="0.5" y="0.5" width="{SIDE - 1}" height="{SIDE - 1}"/>']
        for color in np.unique(colors):
            marks = "".join(
                f'<circle cx="{left:.1f}" cy="{top:.1f}" r="2.6"/>'
                for left, top in at[colors == color]
            )
            dots.append(f'<g class="c{color}">{marks}</g>')
        description = f"The data in {one.n_clusters} clusters"
        picture = _svg(SIDE, SIDE, description, dots)
        caption = f"<b>{one.n_clusters} clusters</b> {html.escape(one.caption)}"
        figures.append(f"<figure>{picture}<figcaption>{caption}</figcaption></figure>")
    most = max(one.n_clusters for one in choice.candidates)
    repeat = f" Colours repeat after {COLORS} clusters." if most > COLORS else ""
    return (
        '<section class="card" aria-labelledby="side-title">'
        '<h2 id="side-title">The data at the most probable numbers</h2>'
        f'<div class="side">{"".join(figures)}</div>'
        f'<p class="hint">{html.escape(choice.view.origin)}{repeat}</p>'
        "</section>"
    )


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _table(table: pd.DataFrame) -> str:
    names = [str(name).replace("_", " ") for name in ["k", *table]]
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(str(k))}</th>'
        f"{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for k, row in zip(table.index, table.to_numpy(), strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
