"""What the authors' code does where the paper is silent and the printed numbers depend on it.

The library makes other choices on purpose: its scores do not change with the names of clusters, and
its K-Medoids is FasterPAM. These are for the printed protocol alone.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClusterMixin


def matched(first: NDArray, second: NDArray) -> NDArray:
    """Label of `second` matched to each label of `first`, in their own numbering; -1 where there is
    none.

    Where two matchings are equally good, the solver's choice depends on the numbering, and on which
    of the two runs has the rows.
    """
    shape = first.max() + 1, second.max() + 1
    counts = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)
    partner = np.full(len(counts), -1)
    rows, columns = linear_sum_assignment(-counts)
    partner[rows] = columns
    return partner


def aligned(target: NDArray, source: NDArray) -> NDArray:
    """Labels of `source` in the names of `target`, whose clusters are the rows of the table.

    -1 without a partner.
    """
    name = np.full(max(target.max(), source.max()) + 2, -1)
    partner = matched(target, source)
    name[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    return name[source]


def stability(labels: NDArray) -> NDArray:
    """Stability c, Eq. (7), with clusters matched in the runs' own numbering.

    -1 is not assigned; points that no pair of runs assigns get 0.
    """
    agreed, pairs = np.zeros(len(labels)), np.zeros(len(labels))
    for first, second in combinations(labels.T, 2):
        both = (first >= 0) & (second >= 0)
        a, b = first[both], second[both]
        agreed[both] += matched(a, b)[a] == b
        pairs += both
    return np.divide(agreed, pairs, out=np.zeros(len(labels)), where=pairs > 0)


class Consensus(NamedTuple):
    """Consensus labels in the names of the medoid run, and the share of aligned runs that have
    them.
    """

    labels: NDArray
    strength: NDArray


def consensus(labels: NDArray) -> Consensus:
    """Most frequent label after every run is aligned to the medoid run, whose own label wins ties
    of votes.

    The medoid has the smallest sum of disagreements. The disagreement of two runs is the mean of
    both directions, each with its own matching: with ties the two can differ.
    """
    n, R = labels.shape
    disagreement = np.zeros((R, R))
    for r, q in combinations(range(R), 2):
        there = 1.0 - (aligned(labels[:, r], labels[:, q]) == labels[:, r]).mean()
        back = 1.0 - (aligned(labels[:, q], labels[:, r]) == labels[:, q]).mean()
        disagreement[r, q] = disagreement[q, r] = 0.5 * (there + back)
    medoid = labels[:, disagreement.sum(axis=1).argmin()]
    renamed = np.column_stack([aligned(medoid, run) for run in labels.T])
    votes = np.column_stack([(renamed == label).sum(axis=1) for label in range(medoid.max() + 1)])
    top = votes.max(axis=1)
    tied = (votes == top[:, None]).sum(axis=1) > 1
    chosen = np.where(tied, medoid, votes.argmax(axis=1))
    return Consensus(chosen, votes[np.arange(n), chosen] / R)


def entropy(labels: NDArray, chosen: NDArray) -> NDArray:
    """1 - H(p) / log k, the runs aligned to the consensus; shares are summed in the order of the
    labels.

    Equal votes in another order give other bits, and the printed ranks depend on them.
    """
    votes = np.zeros((len(labels), max(labels.max(), chosen.max()) + 1), dtype=int)
    for run in labels.T:
        name = aligned(chosen, run)
        votes[np.flatnonzero(name >= 0), name[name >= 0]] += 1
    shares = votes / labels.shape[1]
    H = -(shares * np.log(shares + 1e-12)).sum(axis=1)
    return np.clip(1 - H / np.log(max(2, len(np.unique(chosen)))), 0.0, 1.0)


class KMedoids(ClusterMixin, BaseEstimator):
    """K-Medoids by alternation on a sample of at most 2000 points, at most 10 steps, from random
    medoids.

    Distances are sqrt(max(|a|² + |b|² - 2ab, 0)) with a diagonal that rounding leaves above zero:
    it decides ties.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sample: int = 2000,
        max_iter: int = 10,
        random_state: Any = None,
    ):
        self.n_clusters, self.sample = n_clusters, sample
        self.max_iter, self.random_state = max_iter, random_state

    def fit(self, X: NDArray, y: None = None) -> KMedoids:
        """Find medoids among the sample, and give every point the nearest."""
        rng = np.random.RandomState(self.random_state)
        sample = X[rng.choice(len(X), min(len(X), self.sample), replace=False)]
        D = distances(sample, sample)
        medoids = rng.choice(len(sample), self.n_clusters, replace=False)
        for _ in range(self.max_iter):
            nearest, before = D[:, medoids].argmin(axis=1), medoids.copy()
            for j in range(self.n_clusters):
                members = np.flatnonzero(nearest == j)
                if len(members):
                    medoids[j] = members[D[np.ix_(members, members)].sum(axis=1).argmin()]
            if (medoids == before).all():
                break
        self.labels_ = distances(X, sample[medoids]).argmin(axis=1)
        return self


def distances(A: NDArray, B: NDArray) -> NDArray:
    """Euclidean distances by the product form; points equal to each other may get one above zero."""
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :] - 2 * (A @ B.T)
    return np.sqrt(np.maximum(squares, 0))
