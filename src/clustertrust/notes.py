"""Results → notes for the reader: what the numbers do not say by themselves.

The summary, the command and the report all take their notes from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from clustertrust._errors import Message, literal

# Share of points with stability 1 from which on the runs barely differ.
ALIKE = 0.9
ROUNDING = 1e-9
# Share of points whose geometry is cut off at 0, from which on many cannot be ranked.
CUT_OFF = 0.25
# Points from which on a cluster of one is odd.
ENOUGH = 20


def notes_on(table: pd.DataFrame) -> tuple[Message, ...]:
    """Return notes on a table with the columns of `Confidence.to_frame`.

    The runs of one given labelling ("suggested" is a column then) are compared with it and not with
    each other, so that their agreement says something. A score that was learned ("probability" is a
    column then) is never geometry alone.
    """
    if "stability" not in table or {"suggested", "probability"} & set(table):
        return ()
    stability = pd.to_numeric(table["stability"], errors="coerce")
    geometry = pd.to_numeric(table.get("geometry", pd.Series(dtype=float)), errors="coerce")
    stable = Judged(int(is_stable(stability).sum()), int(stability.notna().sum()))
    cut_off = Judged(int((geometry == 0).sum()), int(geometry.notna().sum()))
    n_labels = table["label"].nunique() if "label" in table else 2
    return notes_on_counts(stable, cut_off, n_labels, table.columns)


class Judged(NamedTuple):
    """How many points a note is about, of how many that were judged."""

    points: int
    judged: int


def notes_on_counts(
    stable: Judged, cut_off: Judged, n_labels: int, columns: Iterable[Any]
) -> tuple[Message, ...]:
    """Return notes on points with stability 1, and on those whose geometry is cut off at 0.

    One cluster gets none: there is nothing to compare it with. `columns` are those of the table.
    """
    if n_labels == 1:
        return ()
    alone = {"persistence", "second_opinions"}.isdisjoint(columns)
    return (*note_on_runs(*stable, alone), *note_on_cut(*cut_off))


def note_on_cut(cut: int, judged: int) -> tuple[Message, ...]:
    """Return a note if the geometry of many of the judged points was cut off at 0."""
    if judged == 0 or cut < CUT_OFF * judged:
        return ()
    text = (
        f"Geometry is exactly 0 on {cut:,} of {judged:,} points, whose silhouettes do not "
        "exceed their spread, so they cannot be ranked. {normalization='affine'} ranks them too."
    )
    return (Message(text),)


def note_on_noise(noise: Mapping[str, int]) -> tuple[Message, ...]:
    """Return a note on given labels that were taken as noise, with how often each occurs."""
    if not noise:
        return ()
    text = (
        f"Taken as noise, not as a cluster: {literal(noise_text(noise))}. If it is a cluster, give "
        "{Ensemble.from_labels.noise=None}."
    )
    return (Message(text),)


def noise_text(noise: Mapping[str, int]) -> str:
    """Return the labels that mean noise and how often each occurs, as text."""
    times = {label: "once" if count == 1 else f"{count} times" for label, count in noise.items()}
    shown = [f"label {label!r} ({often})" for label, often in list(times.items())[:5]]
    more = [f"{len(noise) - 5} more labels"] if len(noise) > 5 else []
    return ", ".join([*shown, *more])


def is_stable(stability: pd.Series) -> pd.Series:
    """Return which points have stability 1."""
    return stability > 1 - ROUNDING


def note_on_single_points(sizes: pd.Series) -> tuple[Message, ...]:
    """Return a note on clusters of one point; `sizes` are points by label, where -1 is noise."""
    if sizes.sum() < ENOUGH:
        return ()
    alone = [label for label, size in sizes.items() if size == 1 and label != -1]
    if not alone:
        return ()
    n_clusters = sum(label != -1 for label in sizes.index)
    if len(alone) > n_clusters / 2:
        text = f"{len(alone)} of {n_clusters} clusters have a single point; try fewer clusters."
        return (Message(text),)
    text = (
        f"{_they_have(alone)} a single point, which may be an outlier. To clip outliers, use "
        "{TablePreparer.scale='robust'}."
    )
    return (Message(text),)


def _they_have(names: list[Any]) -> str:
    """Return the first names of clusters, and what begins a sentence about them."""
    shown = ", ".join(map(str, names[:5])) + ", …" * (len(names) > 5)
    return literal(f"Cluster {shown} has" if len(names) == 1 else f"Clusters {shown} have")


def note_on_lost_clusters(names: Iterable[Any], present: Iterable[Any]) -> tuple[Message, ...]:
    """Return a note on clusters of the reference run in which the consensus has no point."""
    there = set(present)
    lost = [name for name in names if name not in there]
    if not lost:
        return ()
    text = (
        f"{_they_have(lost)} no point: some runs found such a cluster, but most put its points "
        "elsewhere. They may be outliers, or another number of clusters may suit the data better."
    )
    return (Message(text),)


def note_on_runs(alike: int, judged: int, alone: bool = True) -> tuple[Message, ...]:
    """Return a note if nearly all points have stability 1 and nothing but geometry adds to it."""
    if judged == 0 or alike < ALIKE * judged:
        return ()
    where, there = "", ""
    if alike < judged:
        where, there = f" on {alike:,} of {judged:,} points", " there"
    so = f"the score{there} is geometry alone" if alone else f"stability says nothing{there}"
    text = (
        f"The runs do not differ{where} (stability 1), so {so}. Vary the data of the runs "
        "({resample=0.8}, or less) for a stricter test."
    )
    return (Message(text),)
