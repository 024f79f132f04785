"""Cells → stability c: the share of run pairs that agree on a point, Eqs. (6) and (7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clustertrust._errors import Message
from clustertrust._parallel import blocks
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust._validation.arguments import check_choice, check_inside, warn_user
from clustertrust.cells import Clusters, meet
from clustertrust.consensus import most_central
from clustertrust.ensemble.record import as_ensemble
from clustertrust.kernels import backend
from clustertrust.matching import Matchings, contingency_tables, match_runs, tally

__all__ = [
    "AGREEMENTS",
    "UNASSIGNED",
    "Stability",
    "ambiguous_pairs",
    "overlap_sums",
    "pairwise_stability",
    "stability",
]

# Shared points and the sizes of two clusters → [0, 1]
Overlap = Callable[[Array, Array, Array], Floats]


def matching_sums(cells: Clusters, matchings: Matchings, rows: Ints) -> Floats:
    """Σ_q A(r, q), Eq. (6): A(r, q) = 1 where the matching maps label r to label q."""
    return np.asarray(backend().agreement_sums(rows, matchings.to), dtype=np.float64)


def jaccard(shared: Array, first: Array, second: Array) -> Floats:
    """|A ∩ B| / |A ∪ B| from shared points and sizes; 0 where both are empty."""
    union = first + second - shared
    return np.asarray(np.divide(shared, union, out=np.zeros(shared.shape), where=union > 0))


def element_centric(shared: Array, first: Array, second: Array) -> Floats:
    """|A ∩ B| / max(|A|, |B|): the element-centric similarity of Gates et al. (2019) at any point
    that both clusters hold; 0 where both are empty.

    Their 1 - Σ_j |p_j - q_j| / 2α comes to this where clusters do not overlap: p_j is α / |A| on
    the members of A, q_j is α / |B| on those of B, and α cancels.
    """
    larger = np.broadcast_to(np.maximum(first, second), shared.shape)
    return np.asarray(np.divide(shared, larger, out=np.zeros(shared.shape), where=larger > 0))


def overlap_sums(cells: Clusters, rows: Ints, overlap: Overlap) -> Floats:
    """Σ_q A(r, q) for each row and run r, with A(r, q) the `overlap` of the two clusters that hold
    it.

    Sizes count the points assigned in both runs. No matching enters.
    """
    sums = np.zeros(rows.shape)
    for r, others, tables in contingency_tables(cells):
        overlaps = overlap(
            tables, tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
        )
        for q, of_pair in zip(others, overlaps, strict=True):
            both = np.flatnonzero((rows[:, r] >= 0) & (rows[:, q] >= 0))
            agreement = of_pair[rows[both, r], rows[both, q]]
            sums[both, r] += agreement
            sums[both, q] += agreement
    return sums


def jaccard_sums(cells: Clusters, matchings: Matchings, rows: Ints) -> Floats:
    """Σ_q A(r, q), A(r, q) = |C_r ∩ C_q| / |C_r ∪ C_q| of the two clusters that hold the row."""
    return overlap_sums(cells, rows, jaccard)


def element_centric_sums(cells: Clusters, matchings: Matchings, rows: Ints) -> Floats:
    """Σ_q A(r, q) for each row and run r, with A(r, q) the element-centric similarity.

    Their mean over pairs of runs is element-centric consistency.
    """
    return overlap_sums(cells, rows, element_centric)


def reference_sums(cells: Clusters, matchings: Matchings, rows: Ints) -> Floats:
    """Σ_q A(r, q) for each row and run r, with A(r, q) = 1 where both labels have the same partner
    in one run.

    That run is the one which agrees most with all others. The agreements of a run are the other
    votes for what it votes for, so that the sums take O(mR). Two runs that agree by their own
    matching may not do so through a third.
    """
    reference = most_central(matchings)
    vote = matchings.partners(rows, reference)
    votes = tally(vote, max(1, int(cells.n_clusters[reference])))
    alike = np.take_along_axis(votes, np.maximum(vote, 0), axis=1)
    return np.where(vote >= 0, alike - 1.0, 0.0)


AGREEMENTS: dict[str, Callable[[Clusters, Matchings, Ints], Floats]] = {
    "element-centric": element_centric_sums,
    "jaccard": jaccard_sums,
    "matching": matching_sums,
    "reference": reference_sums,
}
# Those that need no matching, and so no equal number of clusters
OVERLAPS = ("element-centric", "jaccard")
UNASSIGNED = ("disagree", "skip")


@dataclass(frozen=True)
class Stability:
    """Stability of some rows of labels, with what the jackknife needs.

    Attributes
    ----------
    c : (m,) share of run pairs that agree, Eq. (7); NaN where fewer than two runs count
    sums : (m, R) T_r, the agreements of run r with all others; their total counts each pair twice
    runs : (m,) R_i, the number of runs that count
    counted : (m, R) whether run r counts
    """

    c: Floats
    sums: Floats
    runs: Ints
    counted: Bools


def pairs(runs: Array) -> Floats:
    """R (R - 1) / 2."""
    halves: Floats = runs * (runs - 1) / 2.0
    return halves


def stability(
    cells: Clusters, matchings: Matchings, rows: Ints, *, agreement: str, unassigned: str
) -> Stability:
    """Return the stability c = Σ_{r<q} A(r, q) / C(R, 2), Eq. (7), for rows (m, R) of labels.

    `skip`: runs that do not assign the row leave both sums. `disagree`: all pairs count, and a pair
    with the row absent from either run agrees on nothing.
    """
    sums = AGREEMENTS[agreement](cells, matchings, rows)
    counted = rows >= 0 if unassigned == "skip" else np.ones(rows.shape, dtype=bool)
    runs = counted.sum(axis=1)
    c = np.full(len(rows), np.nan)
    enough = runs >= 2
    # Never above 1: no agreement is, and a sum of such numbers does not round beyond their number.
    c[enough] = sums[enough].sum(axis=1) / 2 / pairs(runs[enough])
    return Stability(c, sums, runs, counted)


def hint_at_jaccard(cells: Clusters, agreement: str) -> None:
    """Warn once if matching must leave clusters without a partner."""
    k = cells.n_clusters[cells.n_clusters > 0]
    if agreement not in OVERLAPS and k.size and k.min() < k.max():
        warn_user(
            Message(
                f"The runs have between {k.min()} and {k.max()} clusters, and a cluster without a "
                "partner agrees with nothing. {agreement='jaccard'} is made for runs with "
                "different numbers of clusters."
            )
        )


def pairwise_stability(
    labels: Any, *, agreement: str = "matching", unassigned: str = "skip"
) -> Floats:
    """Return the share of run pairs that put a point into the same cluster, Eq. (7).

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Labels of any kind. Negative numbers and missing values mean that the point is not assigned.
    agreement : {"matching", "jaccard", "element-centric", "reference"}
        When two runs agree on a point. "matching": if the best matching pairs its two clusters.
        "jaccard", "element-centric": in proportion to the overlap of its two clusters, as a share
        of their union or of the larger one (as ClustAssess does). "reference": if both clusters
        have the same partner in the run that agrees most with all others.
    unassigned : {"skip", "disagree"}
        Whether a run that does not assign the point is left out or counts against it.

    Returns
    -------
    (n,) array in [0, 1]
        NaN where fewer than two runs assign the point and `unassigned="skip"`.

    Examples
    --------
    >>> from clustertrust.stability import pairwise_stability
    >>> pairwise_stability([[0, 0, 1, 1], [5, 5, 7, 7], [0, 0, 0, 1]]).round(3).tolist()
    [1.0, 1.0, 0.333, 1.0]
    """
    check_choice("agreement", agreement, AGREEMENTS)
    check_choice("unassigned", unassigned, UNASSIGNED)
    cells = meet(as_ensemble(labels, at_least=2).labels)
    hint_at_jaccard(cells, agreement)
    matchings = match_runs(cells)
    by_cell = stability(cells, matchings, cells.rows, agreement=agreement, unassigned=unassigned)
    return by_cell.c[cells.cell_of]


def ambiguous_pairs(labels: Any, *, low: float = 0.1, high: float = 0.9) -> float:
    """Return the proportion of ambiguously clustered pairs (PAC; Șenbabaoğlu et al., 2014).

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Labels of any kind. Negative numbers and missing values mean that the point is not assigned.
    low, high : float
        A pair is ambiguous if more than `low` and fewer than `high` of the runs that assign both
        points put them together.

    Returns
    -------
    float
        Of all pairs of points that some run assigns: 0 where every pair is together, or apart, in
        nearly all runs. NaN if there is no such pair. O(m² K) for m cells and K clusters of all
        runs.

    Examples
    --------
    >>> from clustertrust.stability import ambiguous_pairs
    >>> round(ambiguous_pairs([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]), 3)
    0.5
    """
    low = check_inside("low", low, ends="[]")
    high = check_inside("high", high, low, ends="[]")
    cells = meet(as_ensemble(labels, at_least=2).labels)
    # Counts of runs are exact in float32.
    members = np.asarray(cells.members.toarray(), dtype=np.float32)
    assigned = (cells.rows >= 0).astype(np.float32)
    counts = cells.counts.astype(np.float64)
    total = ambiguous = 0.0
    for rows in blocks(len(counts), 24 * len(counts)):
        together = members[rows] @ members.T
        both = (assigned[rows] @ assigned.T).astype(np.float64)
        is_between = (together > low * both) & (together < high * both)
        total += float(counts[rows] @ ((both > 0) @ counts))
        ambiguous += float(counts[rows] @ (is_between @ counts))
    # A point with itself is no pair, and never counted as ambiguous.
    own = counts[(assigned > 0).any(axis=1)].sum()
    return float(ambiguous / (total - own)) if total > own else float("nan")
