"""The framework as one drawing: data, ensemble, stability and geometry, fusion. Points, runs and
scores are real.

Run from a checkout: `python examples/plot_framework.py` writes `docs/images/framework.svg`, legible
on light and dark.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import CAKE, align_labels

DOCS = Path(__file__).parent.parent / "docs"
SIDE = 92  # of a panel with points

# The drawing brings its own ground, so that it is legible where a page and its reader differ on
# light or dark.
STYLE = """
  .ground { fill: #ffffff; stroke: #d5dbe3 }
  .panel { fill: #f4f6f9; stroke: #c3ccd8 }
  .box { fill: #eef4fb; stroke: #7fa8d4 }
  .head { font: 600 17px system-ui, sans-serif; fill: #16202c }
  .text { font: 13px system-ui, sans-serif; fill: #3a4756 }
  .formula { font: italic 15px Georgia, serif; fill: #16202c }
  .small { font: 12px system-ui, sans-serif; fill: #556373 }
  .arrow { stroke: #66758a; stroke-width: 1.8; fill: none; marker-end: url(#tip) }
  .tip { fill: #66758a }
  .p { fill: #66758a } .a { fill: #0072b2 } .b { fill: #e69f00 } .c { fill: #009e73 }
  .s0 { fill: #d55e00 } .s1 { fill: #e0a070 } .s2 { fill: #a9b4c0 } .s3 { fill: #6ba3cf } .s4 { fill: #0072b2 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #141a21; stroke: #323d4a }
    .panel { fill: #1c242e; stroke: #3d4a5a }
    .box { fill: #19293b; stroke: #40648c }
    .head, .formula { fill: #eef3f8 }
    .text { fill: #c5d0dc }
    .small { fill: #a3b1c1 }
    .arrow { stroke: #93a3b5 }
    .tip, .p { fill: #93a3b5 }
    .a { fill: #4aa8e0 } .b { fill: #f0b429 } .c { fill: #2cc39a }
    .s0 { fill: #f5793a } .s1 { fill: #c98f6b } .s2 { fill: #7d8996 } .s3 { fill: #4b83ad } .s4 { fill: #56b4f0 }
  }
"""


def fitted() -> tuple[np.ndarray, CAKE]:
    """Three groups of points, two of them close together, and their scores."""
    X, _ = make_blobs(
        [26, 26, 22], centers=[[0, 0], [2.6, 0.4], [1.2, 4.2]], cluster_std=0.85, random_state=4
    )
    return X, CAKE(3, clusterer="kmeans-random", n_runs=30, random_state=11).fit(X)


def shown(cake: CAKE) -> tuple[int, int, int]:
    """Three runs to draw: the reference, one that calls its clusters otherwise, and the one that
    differs most.
    """
    runs = cake.ensemble_.labels.T
    reference = runs[cake.reference_run_]
    agreement = [(align_labels(reference, run) == reference).mean() for run in runs]
    names = [(run == reference).mean() for run in runs]
    renamed = [r for r in np.argsort(names) if agreement[r] > 0.9]
    return cake.reference_run_, int(renamed[0]), int(np.argmin(agreement))


def text(x: float, y: float, words: str, kind: str = "text", anchor: str = "middle") -> str:
    """One line of words."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Draw a frame."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="9" class="{kind}"/>'
    )


def arrow(*points: tuple[float, float]) -> str:
    """Draw a line through the points with a tip at its end."""
    return '<polyline class="arrow" points="' + " ".join(f"{x:g},{y:g}" for x, y in points) + '"/>'


def panel(x: float, y: float, X: np.ndarray, kinds: list[str], side: float = SIDE) -> str:
    """Draw the points in a frame, each of its kind."""
    low, span = X.min(axis=0), np.ptp(X, axis=0).max()
    margin = 9
    at = (X - (low + np.ptp(X, axis=0) / 2)) / span * (side - 2 * margin) + side / 2
    dots = "".join(
        f'<circle cx="{x + px:.1f}" cy="{y + side - py:.1f}" r="{side / 36:.2g}" class="{kind}"/>'
        for (px, py), kind in zip(at, kinds, strict=True)
    )
    return box(x, y, side, side, "panel") + dots


def drawing(X: np.ndarray, cake: CAKE) -> str:
    """Return the picture as SVG."""
    runs = [["abc"[label] for label in cake.ensemble_.labels[:, r]] for r in shown(cake)]
    top = cake.scores_.max()
    sure = [f"s{min(4, int(score / top * 5))}" for score in cake.scores_]
    parts = [
        box(1, 1, 938, 408, "ground"),
        text(90, 44, "Data", "head"),
        panel(34, 130, X, ["p"] * len(X), 112),
        text(90, 266, "n points", "small"),
        arrow((150, 186), (192, 186)),
        text(254, 44, "Ensemble", "head"),
        text(254, 64, "cluster R times", "small"),
    ]
    for row, kinds in enumerate(runs):
        parts += [panel(208, 78 + 98 * row, X, kinds)]
        parts += [
            text(308, 128 + 98 * row, f"run {row + 1}" if row < 2 else "run R", "small", "start")
        ]
    parts += [
        arrow((352, 221), (376, 221), (376, 112), (398, 112)),
        arrow((376, 221), (376, 262), (398, 262)),
        arrow((90, 276), (90, 389), (384, 389), (384, 316), (398, 316)),
        box(404, 44, 262, 136, "box"),
        text(535, 74, "Stability c", "head"),
        text(535, 98, "Do the runs agree on the point,"),
        text(535, 116, "once their labels are matched?"),
        text(535, 150, "share of run pairs that agree", "formula"),
        box(404, 204, 262, 152, "box"),
        text(535, 234, "Geometry S̃", "head"),
        text(535, 258, "Does it lie well inside its cluster"),
        text(535, 276, "in every run?"),
        text(535, 308, "mean − spread of its silhouette", "formula"),
        text(535, 332, "over the runs, at least 0", "small"),
        arrow((666, 112), (690, 112), (690, 172), (712, 172)),
        arrow((666, 280), (690, 280), (690, 218), (712, 218)),
        text(816, 44, "Fusion", "head"),
        text(816, 64, "high only where both are", "small"),
        text(816, 92, "2 c S̃ / (c + S̃)   or   c S̃", "formula"),
        panel(728, 108, X, sure, 176),
        text(816, 310, "a score from 0 to 1", "text"),
        text(816, 328, "for every point", "text"),
    ]
    parts += [
        f'<circle cx="{784 + 14 * step}" cy="348" r="5" class="s{step}"/>' for step in range(5)
    ]
    parts += [
        text(772, 352.5, "unsure", "small", "end"),
        text(852, 352.5, "sure", "small", "start"),
    ]
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 410" role="img" aria-labelledby="t d">
<title id="t">How the score is made</title>
<desc id="d">The data are clustered R times. Stability is the share of run pairs that agree on a point; geometry is the
mean less the spread of its silhouette over the runs. Fused, they are a score from 0 to 1 for every point.</desc>
<style>{STYLE}</style>
<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6.5" markerHeight="6.5" orient="auto">
<path d="M0 0 10 5 0 10z" class="tip"/></marker></defs>
{body}
</svg>
"""


def main() -> None:
    """Write the picture."""
    path = DOCS / "images" / "framework.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawing(*fitted()))


if __name__ == "__main__":
    main()
