"""The contents of a report → one HTML file that needs no network and runs no text of the user's."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from clustertrust._palette import css_variables
from clustertrust.reasons import INSIDE, NO_STRUCTURE, RARE_ROWS, STABLE, WEAK_STRUCTURE


def render(contents: dict[str, Any]) -> str:
    """Fill the template.

    The script and the style sheet are ours, and the page allows nothing else: their digests
    stand in its content security policy, which forbids every request as well; pictures are data of
    the page itself. The contents are JSON in an element that browsers do not run, and the script
    puts them on the page as text, never as markup.
    """
    script = '"use strict";\n(() => {\n' + "\n".join(_assets(".js")) + "})();\n"
    parts = {
        "title": html.escape(contents["title"]),
        "stable": f"{STABLE:g}",
        "inside": f"{INSIDE:g}",
        "weak": f"{NO_STRUCTURE:.0%}",
        "clear": f"{WEAK_STRUCTURE:.0%}",
        "rare": str(RARE_ROWS),
        "contents": _harmless_json(contents),
    }
    (template,) = _assets(".html")
    return fill(template, _assets(".css"), script, parts)


def fill(template: str, styles: Sequence[str], script: str, parts: dict[str, str]) -> str:
    """Put parts, which are HTML, into a template, with a policy that allows no script."""
    style = "\n".join([css_variables(), *styles])
    scripts = f"script-src {_digest(script)}; " if script else ""
    allowed = f"{scripts}style-src {_digest(style)}; img-src data:"
    parts = parts | {
        "policy": f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
    }
    # One pass, so that inserted text is not filled in again
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def read_asset(name: str) -> str:
    """Return the text of a file that pages are made of."""
    return files("clustertrust.report").joinpath("assets", name).read_text(encoding="utf-8")


def _assets(suffix: str) -> list[str]:
    """Return the texts of all files with this suffix, in the order of their names.

    Scripts only declare things until the page has been read, so that few need to follow another:
    `scatter_gestures.js` adds to the class of `scatter.js`.
    """
    folder = files("clustertrust.report").joinpath("assets")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(suffix))
    return [folder.joinpath(name).read_text(encoding="utf-8") for name in names]


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _harmless_json(contents: dict[str, Any]) -> str:
    """JSON in ASCII without <, > and &: no text in it can end the element that holds it."""
    text = json.dumps(contents, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
