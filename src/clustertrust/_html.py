"""Tables and pictures for notebooks: HTML that shows without trust.

Notebooks that are not trusted take out scripts, style sheets and SVG, but not images.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Sequence

# Has a contrast of more than 4 with white and with black.
INK = "#7A7A7A"
_NUMBER = re.compile(r"[\d,.%–]*")


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table, with columns of text to the left and numbers to the right; all is escaped."""
    body = [[str(cell) for cell in row] for row in rows]
    sides = [
        "right" if all(_NUMBER.fullmatch(cell) for cell in column) else "left"
        for column in zip(*body, strict=True)
    ] or ["left"] * len(head)
    lines = "".join(f"<tr>{_cells('td', row, sides)}</tr>" for row in body)
    return (
        f"<table><thead><tr>{_cells('th', head, sides)}</tr></thead><tbody>{lines}</tbody></table>"
    )


def html_picture(size: tuple[int, int], shapes: str, description: str) -> str:
    """Return shapes of SVG as an image, with letters that are grey on light and dark pages."""
    width, height = size
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="{INK}">'
        f"{shapes}</svg>"
    )
    source = base64.b64encode(svg.encode()).decode()
    return (
        f'<img width="{width}" height="{height}" alt="{html.escape(description)}" '
        f'src="data:image/svg+xml;base64,{source}">'
    )


def _cells(tag: str, texts: Sequence[str], sides: Sequence[str]) -> str:
    return "".join(
        f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag}>'
        for text, side in zip(texts, sides, strict=True)
    )
