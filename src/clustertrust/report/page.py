"""The contents of a report → one HTML file that needs no network and runs no text of the user's."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from clustertrust._palette import css_variables
from clustertrust.reasons import INSIDE, STABLE

# In the order in which they use each other; together they are one script.
SCRIPTS = (
    "data.js",
    "theme.js",
    "scatter.js",
    "gestures.js",
    "clusters.js",
    "histogram.js",
    "points.js",
    "point.js",
    "coloring.js",
    "address.js",
    "interval.js",
    "answers.js",
    "review_card.js",
    "profile.js",
    "review_clusters.js",
    "review_map.js",
    "review_done.js",
    "review.js",
    "main.js",
)
STYLES = ("report.css", "review.css")


def render(contents: dict[str, Any]) -> str:
    """Fill the template.

    The script and the style sheet are ours, and the page allows nothing else: their digests
    stand in its content security policy, which forbids every request as well; pictures are data of
    the page itself. The contents are JSON
    in an element that browsers do not run, and the script puts them on the page as text, never as
    markup.
    """
    style = "\n".join([css_variables(), *(_asset(name) for name in STYLES)])
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "})();\n"
    allowed = f"script-src {_digest(script)}; style-src {_digest(style)}; img-src data:"
    parts = {
        "policy": f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        "title": html.escape(contents["title"]),
        "stable": f"{STABLE:g}",
        "inside": f"{INSIDE:g}",
        "style": style,
        "contents": _harmless_json(contents),
        "script": script,
    }
    page = _asset("template.html")
    before, *pieces = page.split("{{")
    filled = [before]
    for piece in pieces:  # one pass, so that inserted text is not filled in again
        name, rest = piece.split("}}", 1)
        filled += [parts[name], rest]
    return "".join(filled)


def _asset(name: str) -> str:
    return files("clustertrust.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _harmless_json(contents: dict[str, Any]) -> str:
    """JSON in ASCII without <, > and &: no text in it can end the element that holds it."""
    text = json.dumps(contents, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
