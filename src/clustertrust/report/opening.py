"""What a page says first: whether there is structure, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_floats, check_mapping
from clustertrust.reasons import Cut, above

# Rows that a person looks at in ten minutes
REVIEWED = 30
# Bars of the small picture
BINS = 40
# Clusters and columns that are named in a step
NAMED = 3


def above_chance(at: Cut, scores: Floats, codes: Ints, k: int) -> list[float] | None:
    """Return the share of the rows of each cluster that score above chance.

    Clusters are called clear or weak by the limits of the verdict: where the data are clear, some
    cluster is. None where chance is not known.
    """
    if at.chance is None:
        return None
    own = codes >= 0
    sizes = np.bincount(codes[own], minlength=k)
    counts = np.bincount(codes[own & above(scores, at.chance)], minlength=k)
    return [round(float(share), 6) for share in counts / np.maximum(sizes, 1)]


def audit_verdict(n_suspected: int, n: int) -> str:
    """Return how many of n labels look wrong, in words: what an audit asks instead."""
    if n_suspected == 0:
        return "No label looks wrong."
    look = "looks" if n_suspected == 1 else "look"
    return f"{n_suspected:,} of {n:,} labels {look} wrong."


def score_shares(scores: Floats, null_scores: Any) -> dict[str, list[float]] | None:
    """Return shares of scores in `BINS` bars, of these and without clusters (None: not known)."""
    if null_scores is None or len(null_scores) == 0:
        return None
    null = check_floats("null_scores", null_scores, "a flat sequence of numbers")
    if null.ndim != 1:
        raise ValueError(f"null_scores has shape {null.shape}; give a flat sequence of numbers.")
    return {"data": _shares(scores), "null": _shares(null)}


def _shares(scores: Floats) -> list[float]:
    there = scores[~np.isnan(scores)]
    counts, _ = np.histogram(there, bins=BINS, range=(0.0, 1.0))
    return [round(float(count) / max(1, there.size), 6) for count in counts]


def next_steps(
    at: Cut,
    scores: Floats,
    codes: Ints,
    clusters: Sequence[str],
    cards: Sequence[Mapping[str, Any]],
    audit: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return what to do next, the most urgent first: a text, and where the page leads.

    `to` is the part of the page that helps: "columns", "clusters", "suspects", "review" (of so many
    `rows`); empty: none does. `audit` is what `pack_audit` returns.
    """
    steps = []
    n_suspected = 0 if audit is None else len(audit["rows"])
    if n_suspected:
        rows = "row" if n_suspected == 1 else f"{n_suspected:,} rows"
        steps.append(_step(f"Look at the {rows} whose label looks wrong.", "suspects"))
    if audit is not None and audit["doubtful"]:
        names = _listed(audit["doubtful"])
        one = len(audit["doubtful"]) == 1
        text = f"Read the {'verdict' if one else 'verdicts'} on {names}: "
        text += "it may not be a cluster." if one else "they may not be separate clusters."
        steps.append(_step(text, "suspects"))
    doubted = [card["name"] for card in cards if card["role"] == "check"]
    if doubted:
        what, drop = (
            ("the column", "drop it if it should not")
            if len(doubted) == 1
            else ("the columns", "drop those that should not")
        )
        steps.append(_step(f"Check {what} {_listed(doubted)}: {drop} count.", "columns"))
    if at.structure in ("none", "weak"):
        steps.append(
            _step("Try other numbers of clusters, with choose_k or clustertrust choose-k.")
        )
    sizes = np.bincount(codes[codes >= 0], minlength=len(clusters))
    single = [name for name, size in zip(clusters, sizes, strict=True) if size == 1]
    if single:
        one = len(single) == 1
        what = f"Cluster {single[0]} holds" if one else f"Clusters {_listed(single)} hold"
        each, them = ("", "it") if one else (" each", "them")
        remedy = f"look at {them}, or use fewer clusters"
        if audit is not None:
            remedy = f"check whether {'its name is' if one else 'their names are'} misspelt"
        steps.append(_step(f"{what} one row{each}: {remedy}.", "clusters"))
    n = min(REVIEWED, int((~np.isnan(scores)).sum()))
    if at.structure != "none" and n and not n_suspected:
        text = f"Review {n} rows by hand, drawn at random, to see what share is right."
        steps.append(_step(text, "review", n))
    return steps


def _step(text: str, to: str = "", rows: int = 0) -> dict[str, Any]:
    return {"text": text, "to": to, "rows": rows}


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    last = f"{len(names) - NAMED} more" if len(names) > NAMED else names[-1]
    return f"{', '.join(names[: min(NAMED, len(names) - 1)])} and {last}"


def suspected(table: pd.DataFrame, scores: Any) -> Ints:
    """Return positions of the rows whose label looks wrong, the least trusted first."""
    flags = table["issue"].map(lambda flag: str(flag).strip().lower() in ("true", "1", "1.0"))
    rows = np.flatnonzero(flags.to_numpy(bool))
    by = [np.nan_to_num(np.asarray(scores)[rows])]
    if "suggested_score" in table:
        by.append(-table["suggested_score"].to_numpy(np.float64, na_value=0.0)[rows])
    return rows[np.lexsort(by)]


def pack_audit(
    rows: Ints | None, codes: Ints, clusters: list[str], findings: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return what the page of an audit begins with; None if there is no audit.

    `findings` are what `Audit.findings` gives: how many labels look wrong, verdicts by name of the
    cluster, and the clusters to doubt.
    """
    of_audit = check_mapping("findings", findings)
    if rows is None and not of_audit:
        return None
    verdicts = {str(name): str(text) for name, text in of_audit.get("verdicts", {}).items()}
    at = np.empty(0, dtype=np.int64) if rows is None else rows
    issues = np.bincount(codes[at][codes[at] >= 0], minlength=len(clusters))
    sizes = np.bincount(codes[codes >= 0], minlength=len(clusters))
    return {
        "rows": at.tolist(),
        "found": str(of_audit.get("wrong_labels", "")),
        "verdicts": [
            [name, int(sizes[j]), int(issues[j]), verdicts.get(name, "")]
            for j, name in enumerate(clusters)
            if sizes[j]
        ],
        "doubtful": [str(name) for name in of_audit.get("doubtful", ())],
    }
