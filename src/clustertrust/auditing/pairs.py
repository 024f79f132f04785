"""Verdicts of runs, and the points of each two clusters → is it one cloud that was cut?

Runs see whether there is a valley where two clusters meet. Without one, a piece of a cloud that was
cut off looks like a class that overlaps with another. The cut is sharp, though: hardly a point is
on the wrong side of it, however many lie beside it. Two bell-shaped classes that are told apart as
well have a valley between them. So clusters are merged if they were cut along a line, or if nothing
tells them apart; otherwise they are classes that overlap, and nothing is said.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clustertrust._types import Floats, Ints
from clustertrust.auditing.given import Labelling
from clustertrust.auditing.lines import (
    EXACT,
    Contrast,
    Products,
    contrast,
    probability_above,
    products_by,
    products_of,
)
from clustertrust.auditing.perturbing import Propagated
from clustertrust.auditing.propagating import distances_between
from clustertrust.auditing.verdicts import (
    ABOVE_CHANCE,
    DISSOLVED,
    MAJORITY,
    MERGED,
    SMALLEST_PART,
    UNCLEAR,
    error_by_chance,
    members_of,
)
from clustertrust.distances.metrics import unit_rows
from clustertrust.scoring.settings import Scoring

# AUROC of probabilities from which on a classifier tells two clusters apart as well as two pieces
# of one cloud: as exactly as along a line. Classes in two or three columns that touch reach 0.9988.
KNOWN = EXACT
# Columns up to which neighbours see every valley themselves, also of a cut through an arc
FEW_COLUMNS = 3
# Clusters that each is compared with, those that most of its neighbours have
COMPARED = 3


class Space(NamedTuple):
    """Where clusters are compared along lines.

    Attributes
    ----------
    products : of points, or by distances; None: only links between neighbours are known
    is_wide : whether clusters may have valleys that neighbours do not see
    """

    products: Products | None
    is_wide: bool


def space_of(X: Any, scoring: Scoring) -> Space:
    """Return the space of checked data."""
    geometry, metric = scoring.geometry, scoring.geometry.used_metric
    if geometry.has_weights or (geometry.is_precomputed and sparse.issparse(X)):
        return Space(None, True)
    if geometry.is_precomputed or metric.is_coordinate_free:
        return Space(products_by(partial(distances_between, X, geometry=geometry)), True)
    rows = unit_rows(X) if metric.is_cosine else X
    return Space(products_of(rows), X.shape[1] > FEW_COLUMNS)


def reconsider(
    space: Space, labelling: Labelling, made: Propagated, probabilities: Floats, seed: int
) -> tuple[Ints, Ints]:
    """Return outcomes and partners (V, k) of the runs after a look at pairs of clusters.

    A run that merges or dissolves a cluster that was cut off from another merges it with that one.
    A run that merges it with one that it overlaps with gets no verdict.
    """
    pairs = _Pairs(space, labelling, made.near, probabilities, seed)
    outcomes, partners = made.outcomes.copy(), made.partners.copy()
    for a in range(labelling.k):
        merged = made.outcomes[:, a] == MERGED
        lost = merged | (made.outcomes[:, a] == DISSOLVED)
        partner = _most_frequent(made.partners[merged, a], MAJORITY * len(merged))
        cut = pairs.cut_from(a, partner) if lost.any() else None
        if cut is not None:
            outcomes[lost, a], partners[lost, a] = MERGED, cut
        elif partner is not None and not pairs.may_be_one(a, partner):
            overlaps = merged & (made.partners[:, a] == partner)
            outcomes[overlaps, a], partners[overlaps, a] = UNCLEAR, -1
    return outcomes, partners


def _most_frequent(partners: Ints, least: float) -> int | None:
    """Return the partner that at least so many runs have; None if there is none."""
    values, counts = np.unique(partners, return_counts=True)
    return int(values[counts.argmax()]) if counts.size and counts.max() >= least else None


class _Pairs:
    """The points of each two clusters, compared once."""

    def __init__(
        self, space: Space, labelling: Labelling, near: Ints, probabilities: Floats, seed: int
    ) -> None:
        self.space, self.near, self.probabilities, self.seed = space, near, probabilities, seed
        self.k, self.members = labelling.k, members_of(labelling.labels, labelling.k)
        self.compared: dict[tuple[int, int], Contrast] = {}

    def cut_from(self, a: int, merged_with: int | None) -> int | None:
        """Return the cluster that `a` was cut off from; None if there is none."""
        if self.space.products is None:
            return None
        counts = np.bincount(self.near[self.members[a]].ravel() + 1, minlength=self.k + 1)[1:]
        counts[a] = 0
        most = [b for b in np.argsort(-counts, kind="stable")[:COMPARED].tolist() if counts[b]]
        near = set(most) if merged_with is None else {*most, merged_with}
        least = SMALLEST_PART * len(self.members[a])
        seen = {b: self._contrast(a, b) for b in sorted(near) if len(self.members[b]) >= least}
        cut = {b: found.cut for b, found in seen.items() if found.cut is not None}
        return max(cut, key=cut.__getitem__, default=None)

    def may_be_one(self, a: int, b: int) -> bool:
        """Return whether two that runs merge may be one: nothing tells them apart.

        In a few columns runs see valleys themselves, and a classifier may tell them apart. Of so
        few points that nothing could tell them apart, that is no evidence.
        """
        error = error_by_chance(len(self.members[a]), len(self.members[b]))
        chance = 0.5 + ABOVE_CHANCE * error
        if chance >= 1:
            return False
        auroc = self._known(a, b)
        if not self.space.is_wide:
            return not chance < auroc < KNOWN
        by_line = 0.0 if self.space.products is None else self._contrast(a, b).auroc
        return max(by_line, auroc) <= chance

    def _contrast(self, a: int, b: int) -> Contrast:
        pair = min(a, b), max(a, b)
        if pair not in self.compared:
            assert self.space.products is not None
            first, second = (self.members[one] for one in pair)
            self.compared[pair] = contrast(self.space.products, first, second, self.seed)
        return self.compared[pair]

    def _known(self, a: int, b: int) -> float:
        """Return the AUROC by which a classifier tells the two apart."""
        of_a, of_b = self.probabilities[:, a], self.probabilities[:, b]
        share = of_a / np.maximum(of_a + of_b, np.finfo(float).tiny)
        return probability_above(share[self.members[a]], np.sort(share[self.members[b]]))
