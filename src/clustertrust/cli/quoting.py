"""What `choose-k` found for the same data, read from its file and quoted next to the scores."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from clustertrust.cli.request import ScoreRequest
from clustertrust.results import Confidence
from clustertrust.summary import quote

_FIELDS = ("verdict", "structured", "best", "plausible", "n_rows")


@dataclass(frozen=True)
class StoredChoice:
    """The verdict of `choose-k`, as its file has it."""

    text: str
    structured: bool | None
    best: int
    plausible: tuple[int, ...]
    n_rows: int
    source: str = "choose-k"

    def verdict(self) -> str:
        """Return it in words."""
        return self.text


def quoted(request: ScoreRequest, scored: Confidence) -> tuple[str, ...]:
    """Return what the file says, and where it disagrees with these scores; nothing without one."""
    n, k = len(scored.scores), scored.n_clusters
    return quote(scored.cut(request.threshold), read_tests(request, n), n, k)


def read_tests(request: ScoreRequest, n: int) -> list[StoredChoice]:
    """Read what `choose-k --out FILE.json` wrote about these n rows, if a file is given."""
    path = request.tests
    if path is None:
        return []
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        text, structured, best, plausible, n_rows = (content[name] for name in _FIELDS)
        choice = StoredChoice(str(text), structured, int(best), tuple(plausible), int(n_rows))
    except (ValueError, TypeError, KeyError):
        raise ValueError(
            f"--tests {path}: this is not a file that `clustertrust choose-k DATA --out "
            "FILE.json` wrote."
        ) from None
    if choice.n_rows != n:
        raise ValueError(
            f"--tests {path}: it is about {choice.n_rows} rows, but the data have {n}; run "
            "choose-k on the same data."
        )
    return [choice]
