"""Scores → one HTML page to explore them: which points to keep, which to look at, and why.

:func:`write_report` writes it, :func:`build_report` gives all that it shows as a plain dict.
"""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from clustertrust._errors import rendered
from clustertrust._validation.arguments import check_mapping
from clustertrust._views import View
from clustertrust.columns import COLUMNS
from clustertrust.notes import notes_on
from clustertrust.reasons import NO_STRUCTURE, WEAK_STRUCTURE, Cut
from clustertrust.report.cards import column_cards, count_roles
from clustertrust.report.contents import LOWEST, fingerprint, pack_questions, pack_row_numbers
from clustertrust.report.details import (
    choose_view,
    pack_original,
    pack_reasons,
    pack_values,
    pack_view,
    pack_votes,
)
from clustertrust.report.examples import cluster_examples, nearest_rivals, text_column
from clustertrust.report.material import Material, PageOptions, gather
from clustertrust.report.opening import (
    above_chance,
    audit_verdict,
    next_steps,
    pack_audit,
    score_shares,
)
from clustertrust.report.packing import pack, pack_codes, pack_index
from clustertrust.report.page import render
from clustertrust.report.pictures import pack_pictures
from clustertrust.report.profiles import cluster_profiles, without_labels
from clustertrust.storage import write_text

__all__ = ["PageOptions", "build_report", "write_report"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "numba")


def write_report(
    path: str | Path,
    table: pd.DataFrame,
    X: Any = None,
    *,
    votes: pd.DataFrame | None = None,
    **options: Unpack[PageOptions],
) -> None:
    """Write a page to explore scores: one self-contained HTML file, written whole or not at all.

    Parameters
    ----------
    path : path of the file
    table : pandas DataFrame
        One row per point, as `Confidence.to_frame()` gives it; its index names the points. The
        columns "label" and "score" are needed; "standard_error", "stability", "geometry",
        "persistence", "silhouette_mean", "silhouette_std", "consensus_strength", "rival" and
        "margin" are shown if present, other columns are not. The page derives the reasons for its
        own threshold.
    X : (n, d) array, CSR matrix or frame, optional
        The data. The scatter shows two columns as they are, or the first two principal components
        of more. A selected point is shown with its values, in up to 50 columns in which the
        clusters differ most.
    votes : (n, k) pandas DataFrame, optional
        Share of the runs voting for each cluster, one column per cluster by its name.
    settings : dict, optional
        Names and values to print at the end of the page, to reproduce the scores.
    title : str, optional
    threshold : float, optional
        The initial threshold of the page: points with a score above this are kept. None: `chance`,
        or 1 if barely more scores are above it than in data without clusters; without it half of
        the median score, :func:`clustertrust.reasons.first_threshold`.
    chance : float, optional
        What data without clusters rarely exceed, as `Confidence.cut` gives it. The page begins with
        what follows from it.
    embedding : (n, 2) array or frame, optional
        Coordinates for the scatter, instead of those from X.
    original : (n, c) pandas DataFrame, optional
        Columns of the table that the points come from, text too: a selected point is shown with
        them, they are searched, and the downloads have them.
        A column with paths of pictures (PNG, JPEG, GIF, WebP) is shown as pictures for the points
        that the review asks about; they are stored in the page.
    folder : path, optional
        Folder that paths of pictures are relative to; None: the current one.
    rows : (n,) integers, optional
        Position of each point in the file of scores, from 0, for the answers that the page writes;
        negative: not known. None: the index if it is called "row", else the position in `table`.
    unasked : names of columns of `original`, optional
        The review does not show them, since they would bias the person who answers.
    null_scores : numbers, optional
        Scores of data without clusters, or quantiles of them: the page draws them below its own.
    plan : TablePlan, optional
        What was done with each column of `original`, as `TablePreparer.plan_` says: the page has a
        card for each. `wording` writes the parameters that it names, as in Python by default.
    names : dict, optional
        Names that a person gave to clusters, by label, such as the page saves as JSON.
    findings : dict, optional
        What an audit found, as `Audit.findings` gives it: the page begins with it.
    quoted : texts, optional
        Verdicts of other tests of the same data, shown next to that of the scores.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.report import write_report
    >>> X = load_iris(as_frame=True).data
    >>> cake = CAKE(3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     write_report(path, cake.to_frame(), X, title="Iris")
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    write_text(Path(path), render(build_report(table, X, votes=votes, **options)))


def build_report(
    table: pd.DataFrame,
    X: Any = None,
    *,
    votes: pd.DataFrame | None = None,
    **options: Unpack[PageOptions],
) -> dict[str, Any]:
    """Return the contents of the page as a JSON-able dict, with arrays packed.

    The parameters are those of :func:`write_report`.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustertrust.report import build_report
    >>> build_report(pd.DataFrame({"label": ["a", "b"], "score": [0.9, 0.2]}))["clusters"]
    ['a', 'b']
    """
    page = gather(table, X, votes, options)
    settings = check_mapping("settings", options.get("settings"))
    view = choose_view(page, options.get("embedding"))
    cards, values, examples = column_cards(page), pack_values(page), cluster_examples(page)
    own = pack_original(page, values, [card["name"] for card in cards if card["used"]])
    return {
        **_opening(page, cards, options),
        **_clusters(page, examples, options),
        **_points(page, options),
        "view": pack_view(page, view),
        "values": values,
        "original": own,
        "text_column": text_column(page.original, {column["name"] for column in own}),
        "pictures": _pictures(page, examples, options.get("folder")),
        "settings": [[str(name), str(value)] for name, value in settings.items()],
        "versions": [["python", platform.python_version()], *_versions()],
        "notes": [
            *(rendered(note, page.wording) for note in notes_on(table)),
            *_notes(page, view),
            *_left_out(page.original, own),
        ],
    }


def _opening(page: Material, cards: list[dict[str, Any]], options: PageOptions) -> dict[str, Any]:
    """Return the verdict, what to do next, and a card for each column."""
    at, suspects, scores, clusters = page.at, page.suspects, page.scores, page.clusters.texts
    audit = pack_audit(suspects, page.codes, clusters, options.get("findings"))
    asked = "Which assignments" if audit is None else "Which of these labels"
    title = options.get("title")
    return {
        "title": f"{asked} can be trusted?" if title is None else str(title),
        "threshold": at.threshold,
        "threshold_origin": _origin(at),
        "verdict": at.opening.render(page.wording)
        if suspects is None
        else audit_verdict(len(suspects), int((page.codes >= 0).sum())),
        "structure": at.structure if suspects is None else "audit",
        "quoted": [str(text) for text in options.get("quoted", ())],
        "chance": at.chance,
        "above_chance": above_chance(at, scores, page.codes, len(clusters)),
        "limits": {"weak": NO_STRUCTURE, "clear": WEAK_STRUCTURE},
        "score_shares": score_shares(scores, options.get("null_scores")),
        "steps": next_steps(at, scores, page.codes, clusters, cards, audit),
        "audit": audit,
        "cards": cards,
        "roles": count_roles(page),
    }


def _clusters(
    page: Material, examples: list[dict[str, list[int]]], options: PageOptions
) -> dict[str, Any]:
    """Return names of the clusters, what sets each apart, its rival and rows to look at."""
    codes, k, original = page.codes, page.k, page.original
    moments = None if page.data is None else page.data.moments
    plain = None if original is None else without_labels(original, codes, page.clusters.texts)
    return {
        "clusters": page.clusters.texts,
        "names": page.clusters.rename(options.get("names")),
        "unassigned": page.unassigned,
        "examples": examples,
        "rivals": nearest_rivals(page.others.get("rival"), codes, k),
        "profiles": cluster_profiles(moments, page.columns, plain, codes, k),
    }


def _points(page: Material, options: PageOptions) -> dict[str, Any]:
    """Return what the page holds of each point, packed, and the questions about them."""
    numbers, codes, k = page.numbers, page.codes, page.k
    ids, labels = pack_index(numbers.index), pack_codes(codes, k)
    rows = {
        name: pack(numbers[name].to_numpy(), "f8" if name == "score" else "f4")
        for name in numbers.columns
    }
    rows |= {name: pack_codes(other, k) for name, other in page.others.items()}
    if page.suspects is not None:
        rows["issue"] = pack(np.isin(np.arange(len(numbers)), page.suspects), "u1")
    return {
        "n": len(numbers),
        "id_name": page.id_name,
        "ids": ids,
        "labels": labels,
        "rows": rows,
        "columns": [name for name in COLUMNS if name in rows or name in ("label", "reason")],
        "drawn": None if page.drawn is None else pack(page.drawn, "u4"),
        "votes": pack_votes(page),
        "reasons": pack_reasons(page),
        "questions": pack_questions(page.questions, int((~np.isnan(page.scores)).sum())),
        "row_numbers": pack_row_numbers(options.get("rows"), numbers.index),
        "fingerprint": fingerprint([page.clusters.texts, ids, labels]),
    }


def _pictures(
    page: Material, examples: list[dict[str, list[int]]], folder: str | Path | None
) -> dict[str, Any] | None:
    """Return pictures of the rows that a person looks at; None if no column names any."""
    if page.original is None:
        return None
    rows = [row for example in examples for part in example.values() for row in part]
    suspects = () if page.suspects is None else page.suspects.tolist()
    looked_at = np.array([*rows, *suspects], dtype=np.int64)
    return pack_pictures(page.original, [*page.questions, looked_at], folder)


def _origin(at: Cut) -> str:
    """Return where the threshold of the page starts, in words."""
    if at.rule == "given":
        return ""
    if at.rule == "median":
        return "the threshold starts at half the median"
    return f"the threshold starts at {at.threshold:g}{at.origin}"


def _versions() -> list[list[str]]:
    from clustertrust import __version__

    versions = [["clustertrust", __version__]]
    for name in PACKAGES:
        # numba may be missing
        with suppress(PackageNotFoundError):
            versions.append([name, version(name)])
    return versions


def _left_out(original: pd.DataFrame | None, own: list[dict[str, Any]]) -> list[str]:
    """Return a note if the page does not hold the whole table of the user."""
    of = 0 if original is None else original.shape[1]
    if len(own) == of:
        return []
    return [
        f"The page and its downloads hold {len(own)} of the {of} columns of your table; join them "
        "by the names of the rows."
    ]


def _notes(page: Material, view: View) -> list[str]:
    """Return notes on the plots for the reader."""
    notes, shown, n = [view.origin], page.shown, len(page.numbers)
    if page.drawn is not None:
        notes.append(
            f"The plots and the table of points show {len(shown):,} of {n:,} points: the "
            f"{len(shown) // LOWEST:,} with the lowest scores, and a random sample of the others. "
            "Counts, clusters, the histogram and the download take all."
        )
    missing = int((~np.isfinite(view.xy[shown])).any(axis=1).sum())
    if missing:
        notes.append(f"{missing:,} points have missing coordinates and are not in the scatter.")
    return notes
