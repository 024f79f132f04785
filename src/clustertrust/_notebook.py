"""What a notebook shows of a fitted estimator: its clusters in a table, its scores in a histogram.

Colours of letters are the notebook's own, or grey, so that it can be read on light and dark pages.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clustertrust._html import INK, html_picture, html_table
from clustertrust._palette import LIGHT, MISSING
from clustertrust._types import Floats
from clustertrust._validation.frames import is_dask
from clustertrust.reasons import above

if TYPE_CHECKING:
    from clustertrust.results import Confidence

MOST_CLUSTERS, MOST_SUSPECTS = 12, 5
SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:0 32px;align-items:flex-start"
BINS, WIDTH, HEIGHT = 25, 260, 70


class ScoresInNotebook:
    """A fitted estimator shows its scores below scikit-learn's box."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._scores_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook asks for: text, and HTML unless scikit-learn's box is off."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._scores_html()
        return bundle

    def _scores_html(self) -> str:
        """Return the scores as HTML; nothing before the fit, or if they are not in memory."""
        confidence = getattr(self, "confidence_", None)
        if confidence is None or is_dask(confidence.scores):
            return ""
        return confidence_html(confidence)


def confidence_html(confidence: Confidence, opening: bool = True) -> str:
    """Return the verdict, a table of the clusters and a histogram of the scores as HTML."""
    cut = confidence.cut()
    kept = above(confidence.scores, cut.threshold)
    n, k = len(confidence.scores), confidence.n_clusters
    line = (
        f"{n:,} points in {k} {'cluster' if k == 1 else 'clusters'}, {confidence.n_runs} runs; "
        f"{kept.sum():,} ({kept.mean():.0%}) have a score above {cut.threshold:g}{cut.origin}"
    )
    text = html.escape(str(cut.opening))
    verdict = f"{text if cut.verdict is None else f'<b>{text}</b>'}<br>" if opening else ""
    return (
        f'<div style="{SIDE_BY_SIDE};margin:8px 0">'
        f'<div style="width:100%;margin-bottom:4px">{verdict}{line}</div>'
        f"{_table(confidence, kept)}{_histogram(confidence.scores, cut.threshold)}</div>"
    )


def _table(confidence: Confidence, kept: Any) -> str:
    sizes = np.bincount(confidence.labels[confidence.labels >= 0], minlength=1)
    order = np.argsort(-sizes, kind="stable")
    listed = np.sort(order[sizes[order] > 0][:MOST_CLUSTERS])
    rows = [_row(confidence, kept, label) for label in listed]
    more = int((sizes > 0).sum()) - len(listed)
    if more:
        rows.append((f"and {more} smaller ones", "", "", ""))
    return html_table(("cluster", "points", "mean score", "kept"), rows)


def _row(confidence: Confidence, kept: Any, label: int) -> tuple[str, ...]:
    members = confidence.labels == label
    scores = confidence.scores[members]
    numbers = scores[~np.isnan(scores)]
    mean = f"{numbers.mean():.2f}" if numbers.size else "–"
    name = str(confidence.label_names[label])
    return name, f"{members.sum():,}", mean, f"{kept[members].mean():.0%}"


def _histogram(scores: Floats, threshold: float) -> str:
    """Return the histogram as SVG: a bar that holds the threshold is split there."""
    counts, _ = np.histogram(scores[~np.isnan(scores)], bins=BINS, range=(0.0, 1.0))
    most = max(1, int(counts.max()))
    bars = "".join(
        _bar(j, count / most, part, color)
        for j, count in enumerate(counts)
        for part, color in (((0.0, threshold), LIGHT["dropped"]), ((threshold, 1.0), LIGHT["kept"]))
        if count
    )
    x = threshold * WIDTH
    shapes = (
        f'{bars}<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}" stroke="{INK}"/>'
        f'<text x="0" y="84">0</text><text x="{WIDTH / 2}" y="84" text-anchor="middle">score</text>'
        f'<text x="{WIDTH}" y="84" text-anchor="end">1</text>'
    )
    return html_picture((WIDTH, 90), shapes, "Histogram of the scores")


def _bar(j: int, share: float, part: tuple[float, float], color: str) -> str:
    """Return what a bar has in a part of the axis, as SVG; nothing outside of it."""
    left, right = max(part[0], j / BINS), min(part[1], (j + 1) / BINS)
    if right <= left + 1e-9:
        return ""
    gap = 1.0 if right == (j + 1) / BINS else 0.0
    return (
        f'<rect x="{left * WIDTH:.1f}" y="{HEIGHT * (1 - share):.1f}" '
        f'width="{max(0.5, (right - left) * WIDTH - gap):.1f}" height="{HEIGHT * share:.1f}" '
        f'fill="{color}"/>'
    )


def with_findings(
    page: str,
    found: str,
    suspects: Sequence[tuple[object, ...]],
    verdicts: Iterable[tuple[str, ...]],
) -> str:
    """Return the page of an audit: labels that look wrong, verdicts on clusters, the scores."""
    listed = [*suspects[:MOST_SUSPECTS]]
    if len(suspects) > MOST_SUSPECTS:
        listed.append((f"and {len(suspects) - MOST_SUSPECTS:,} more", "", "", "", ""))
    rows = html_table(("row", "label", "suggested", "votes", "score"), listed) if listed else ""
    table = html_table(("cluster", "points", "look wrong", "verdict"), verdicts)
    return (
        f'<div style="margin:8px 0"><b>Labels that look wrong: {html.escape(found)}</b>'
        f'<div style="{SIDE_BY_SIDE}">{rows}{table}</div></div>{page}'
    )


def profile_html(
    verdict: str, ks: Iterable[int], probability: Iterable[float], plausible: Iterable[int]
) -> str:
    """Return what `choose_k` found: the verdict, and how probable each k is, as bars."""
    likely = set(plausible)
    pairs = [(int(k), float(p)) for k, p in zip(ks, probability, strict=True)]
    step = min(40.0, 2 * WIDTH / max(1, len(pairs)))
    bars = "".join(
        f'<rect x="{j * step:.1f}" y="{14 + HEIGHT * (1 - p):.1f}" width="{step - 4:.1f}" '
        f'height="{HEIGHT * p:.1f}" fill="{LIGHT["kept"] if k in likely else MISSING}"/>'
        f'<text x="{(j + 0.5) * step - 2:.1f}" y="{HEIGHT + 28}" '
        f'text-anchor="middle">{k}</text>'
        for j, (k, p) in enumerate(pairs)
    )
    width = math.ceil(step * len(pairs))
    shares = ", ".join(f"{k}: {p:.2f}" for k, p in pairs)
    described = f"Probability of each number of clusters: {shares}"
    picture = html_picture((width, HEIGHT + 34), bars, described)
    return (
        f'<div style="margin:8px 0"><b>{html.escape(verdict)}</b><br>'
        f"{picture}<br>"
        "Probability of each number of clusters; plausible ones are blue.</div>"
    )
