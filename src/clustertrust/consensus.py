"""Matchings → one labelling for all runs, how strongly they back it, and the runner-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clustertrust._types import Bools, Floats, Ints
from clustertrust.cells import Cells, Clusters
from clustertrust.matching import Matchings, tally


@dataclass(frozen=True)
class Votes:
    """What the runs say of some rows of labels, in the names of the reference run.

    Attributes
    ----------
    labels : (m,) consensus label, -1 where no run has a vote
    votes : (m, k) share of the runs that count voting for each label; rows may sum below 1
    strength : (m,) share of the consensus label
    """

    labels: Ints
    votes: Floats
    strength: Floats


def count_votes(
    cells: Clusters, matchings: Matchings, reference: int, rows: Ints, runs: Ints
) -> Votes:
    """Let each run vote for the reference's cluster that its own is matched to.

    The most votes win. A tie for the first place goes to the reference's own label; where the
    reference does not assign the row, to the vote of the run that agrees most with it. `runs` (m,)
    is the number of runs that count.
    """
    partners = matchings.partners(rows, reference)
    counts = tally(partners, max(1, int(cells.n_clusters[reference])))
    labels = counts.argmax(axis=1)
    most = counts.max(axis=1)
    own = rows[:, reference]
    leaders = counts == most[:, None]
    tied = (leaders.sum(axis=1) > 1) & (most > 0)
    labels[tied] = own[tied]
    alone = np.flatnonzero(tied & (own < 0))
    by_agreement = np.argsort(-matchings.agreement[reference], kind="stable")
    labels[alone] = _first_leader(partners[np.ix_(alone, by_agreement)], leaders[alone])
    # No run assigns the row: 0/0 is NaN
    with np.errstate(invalid="ignore"):
        votes = counts / runs[:, None]
        strength = votes[np.arange(len(rows)), labels]
    return Votes(np.where(most > 0, labels, -1), votes, strength)


def _first_leader(votes: Ints, leaders: Bools) -> Ints:
    """Of the `leaders` (m, k) of each row the one that the first run votes for that votes for any.

    `votes` (m, R) are in the order of the runs, the run most like the reference first. A run votes
    once, so that this settles every tie, and neither names nor the order of rows have a part in it.
    """
    rows = np.arange(len(votes))
    leads = (votes >= 0) & leaders[rows[:, None], votes]
    return np.asarray(votes[rows, leads.argmax(axis=1)])


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
