"""Scores → one HTML page to explore them: which points to keep, which to look at, and why.

:func:`write_report` writes it, :func:`build_report` gives all that it shows as a plain dict.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from clustertrust._errors import Wording, as_python, rendered
from clustertrust._types import Ints
from clustertrust._validation.arguments import check_mapping, check_option_names
from clustertrust._views import View
from clustertrust.columns import COLUMNS
from clustertrust.notes import notes_on
from clustertrust.reasons import Cut, check_threshold, cut
from clustertrust.report.cards import column_cards, count_roles
from clustertrust.report.contents import ClusterNames, read_data, read_scores, read_votes
from clustertrust.report.details import (
    LOWEST,
    check_original,
    check_unasked,
    choose_view,
    pack_original,
    pack_reasons,
    pack_values,
    pack_view,
    pack_votes,
    sample,
)
from clustertrust.report.examples import (
    center_distances,
    cluster_examples,
    nearest_rivals,
    text_column,
)
from clustertrust.report.opening import audit_verdict, next_steps, score_shares, structure, verdict
from clustertrust.report.packing import pack, pack_codes, pack_index
from clustertrust.report.page import render
from clustertrust.report.pictures import pack_pictures
from clustertrust.report.profiles import cluster_profiles, moments_of, without_labels
from clustertrust.report.questions import (
    fingerprint,
    pack_questions,
    pack_row_numbers,
    question_order,
)
from clustertrust.report.suspects import pack_audit, suspected
from clustertrust.storage import write_text
from clustertrust.tables.plan import TablePlan

__all__ = ["PageOptions", "build_report", "write_report"]

# Points in the plots and in the table of points; the rest are counted and can be downloaded.
MOST_DRAWN = 100_000
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "numba")


class PageOptions(TypedDict, total=False):
    """What can be asked of a page; :func:`write_report` says what each option means."""

    settings: Mapping[str, Any] | None
    title: str | None
    threshold: float | None
    chance: float | None
    embedding: Any
    original: pd.DataFrame | None
    folder: str | Path | None
    rows: Any
    unasked: Sequence[str]
    null_scores: Any
    plan: TablePlan | None
    wording: Wording
    names: Mapping[Any, str] | None
    findings: Mapping[str, Any] | None
    quoted: Sequence[str]


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
    check_option_names("a page", options, PageOptions.__annotations__)
    title, threshold = options.get("title"), options.get("threshold")
    original = options.get("original")
    settings = check_mapping("settings", options.get("settings"))
    if threshold is not None and not 0 <= check_threshold(threshold) <= 1:
        raise ValueError(
            f"threshold={threshold!r} must be a number from 0 to 1, the range of the page's slider."
        )
    points = read_scores(table)
    numeric = points.numbers
    check_original(original, numeric)
    hidden = check_unasked(options.get("unasked", ()), original)
    plan, wording = options.get("plan"), options.get("wording", as_python)
    matrix, columns = (None, []) if X is None else read_data(X, numeric)
    shares, voted = (None, []) if votes is None else read_votes(votes, numeric)
    named = [*points.labels[1], *(name for _, others in points.others.values() for name in others)]
    # Columns of a file are text, also where labels are numbers.
    by_text = {str(name): name for name in named}
    voted = [by_text.get(str(name), name) for name in voted]
    clusters = ClusterNames([*named, *voted])
    k = len(clusters)

    codes = clusters.code(*points.labels)
    moments = None if matrix is None else moments_of(matrix, codes, k)
    view = choose_view(matrix, columns, options.get("embedding"), numeric, codes)
    scores = numeric["score"].to_numpy()
    at = cut(scores, threshold, options.get("chance"))
    questions = question_order(scores, codes, MOST_DRAWN)
    drawn = sample(scores, MOST_DRAWN, np.concatenate(questions))
    shown = np.arange(len(numeric)) if drawn is None else drawn
    ids, labels = pack_index(numeric.index), pack_codes(codes, k)
    packed = {
        name: pack(numeric[name].to_numpy(), "f8" if name == "score" else "f4")
        for name in numeric.columns
    }
    others = {name: clusters.code(*other) for name, other in points.others.items()}
    packed |= {name: pack_codes(other, k) for name, other in others.items()}
    suspects = None
    if {"issue", "suggested"} <= set(table.columns):
        suspects = suspected(table, scores)
        packed["issue"] = pack(np.isin(np.arange(len(scores)), suspects), "u1")
    plain = None if original is None else without_labels(original, codes, clusters.texts)
    cards = column_cards(
        (matrix, columns, moments),
        original,
        (plan, wording),
        (codes, k),
        shown,
    )
    distances = None
    if moments is not None:
        scaled = plan is not None and plan.scale != "none"
        distances = center_distances(matrix, codes, moments, scaled=scaled)
    examples = cluster_examples(distances, scores, codes, k, shown)
    rows = [row for example in examples for part in example.values() for row in part]
    looked_at = np.array([*rows, *([] if suspects is None else suspects)], dtype=np.int64)
    values = None if moments is None else pack_values(matrix, columns, moments, codes, shown)
    everywhere = [] if values is None or drawn is not None else values["columns"]
    clustered = {*columns, *(card["name"] for card in cards if card["used"])}
    own = [] if original is None else pack_original(original, hidden, everywhere, clustered)
    audit = pack_audit(suspects, codes, clusters.texts, options.get("findings"))
    return {
        "title": "Which assignments can be trusted?" if title is None else str(title),
        "threshold": at.threshold,
        "threshold_origin": _origin(at),
        "verdict": verdict(at, wording)
        if suspects is None
        else audit_verdict(len(suspects), len(scores)),
        "structure": structure(at) if suspects is None else "audit",
        "quoted": [str(text) for text in options.get("quoted", ())],
        "chance": at.chance,
        "score_shares": score_shares(scores, options.get("null_scores")),
        "steps": next_steps(at, scores, codes, clusters.texts, cards, audit),
        "audit": audit,
        "cards": cards,
        "roles": count_roles(plan, columns, original),
        "examples": examples,
        "rivals": nearest_rivals(others.get("rival"), codes, k),
        "text_column": text_column(original, {column["name"] for column in own}),
        "names": clusters.rename(options.get("names")),
        "n": len(numeric),
        "clusters": clusters.texts,
        "unassigned": points.unassigned,
        "id_name": points.id_name,
        "ids": ids,
        "labels": labels,
        "rows": packed,
        "columns": [name for name in COLUMNS if name in packed or name in ("label", "reason")],
        "drawn": None if drawn is None else pack(drawn, "u4"),
        "view": pack_view(view, shown, codes, k),
        "votes": None
        if shares is None
        else pack_votes(shares[shown], clusters.code(np.arange(len(voted)), voted), k),
        "reasons": pack_reasons(numeric, codes),
        "questions": pack_questions(questions, int((~np.isnan(scores)).sum())),
        "row_numbers": pack_row_numbers(options.get("rows"), numeric.index),
        "pictures": None
        if original is None
        else pack_pictures(original, [*questions, looked_at], options.get("folder")),
        "profiles": cluster_profiles(moments, columns, plain, codes, k),
        "fingerprint": fingerprint([clusters.texts, ids, labels]),
        "values": values,
        "original": own,
        "settings": [[str(name), str(value)] for name, value in settings.items()],
        "versions": [["python", platform.python_version()], *_versions()],
        "notes": [
            *(rendered(note, wording) for note in notes_on(table)),
            *_notes(view, drawn, shown, len(numeric)),
            *_left_out(original, own),
        ],
    }


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


def _notes(view: View, drawn: Ints | None, shown: Ints, n: int) -> list[str]:
    """Return notes on the plots for the reader."""
    notes = [view.origin]
    if drawn is not None:
        notes.append(
            f"The plots and the table of points show {len(shown):,} of {n:,} points: the "
            f"{len(shown) // LOWEST:,} with the lowest scores, and a random sample of the others. "
            "Counts, clusters, the histogram and the download take all."
        )
    missing = int((~np.isfinite(view.xy[shown])).any(axis=1).sum())
    if missing:
        notes.append(f"{missing:,} points have missing coordinates and are not in the scatter.")
    return notes
