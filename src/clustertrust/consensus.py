"""Matchings → one labelling for all runs, how strongly they back it, and the runner-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.cells import Cells, Clusters
from clustertrust.kernels import backend
from clustertrust.matching import Matchings


@dataclass(frozen=True)
class Votes:
    """What the runs say of some rows of labels, in the names of the reference run.

    Attributes
    ----------
    labels : (m,) consensus label, -1 where no run has a vote
    votes : (m, k) share of the runs that count voting for each label; rows may sum below 1
    strength : (m,) share of the consensus label
    second : (m,) label with the second most votes; -1: no other has any
    """

    labels: Ints
    votes: Floats
    strength: Floats
    second: Ints


def count_votes(
    cells: Clusters, matchings: Matchings, reference: int, rows: Ints, runs: Ints
) -> Votes:
    """Let each run vote for the reference's cluster that its own is matched to.

    The most votes win. A tie for the first place goes to the reference's own label; where the
    reference does not assign the row, to the leader that the run votes for which agrees most with
    the reference and votes for one: neither names nor the order of rows have a part in it. `runs`
    (m,) is the number of runs that count.
    """
    by_agreement = np.argsort(-matchings.agreement[reference], kind="stable")
    partners = np.ascontiguousarray(matchings.to[:, :, reference])
    k = max(1, int(cells.n_clusters[reference]))
    votes, labels, second, strength = backend().vote(
        rows, partners, reference, by_agreement, runs, k
    )
    return Votes(labels, votes, strength, second)


def runner_up(votes: Floats, labels: Ints) -> Ints:
    """(m,) label with the most votes (m, k) except the row's own; -1: none has any."""
    others = np.nan_to_num(votes)
    labelled = np.flatnonzero(labels >= 0)
    others[labelled, labels[labelled]] = 0.0
    return np.where(others.max(axis=1) > 0, others.argmax(axis=1), -1)


def most_central(matchings: Matchings) -> int:
    """Run whose summed disagreement with all others is smallest; the first on ties."""
    # Rounded, so that sums that differ only in the order of additions tie.
    return int(np.argmin(np.round((1.0 - matchings.agreement).sum(axis=1), 10)))


def medoid(cells: Cells, matchings: Matchings, runs: Ints) -> int:
    """Return the most central run, as a rule to choose the reference by."""
    return most_central(matchings)


def best_reference(cells: Cells, matchings: Matchings, runs: Ints) -> int:
    """Run that, as the reference, gives the highest mean strength; the first on ties."""
    weight = np.where(runs > 0, cells.counts, 0)
    means = []
    for reference in range(cells.n_runs):
        strength = count_votes(cells, matchings, reference, cells.rows, runs).strength
        means.append(np.where(weight > 0, strength, 0.0) @ weight / max(1, weight.sum()))
    return int(np.argmax(np.round(means, 10)))


CONSENSUS: dict[str, Callable[[Cells, Matchings, Ints], int]] = {
    "best-reference": best_reference,
    "medoid": medoid,
}
