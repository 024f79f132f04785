"""Runs in the names of the given clusters → votes, stability, and how far scores would move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clustertrust._types import Array, Floats, Ints
from clustertrust.matching import best_match, count_pairs, tally
from clustertrust.scoring.jackknife import unseen_share

# Of the shares of wrong labels; with 1 or 2 a bad classifier still spoils a good one.
POWER = 4.0


def match_to_given(labels: Ints, given: Ints, k: int) -> Ints:
    """Rename the clusters of a run as the given ones, by the best matching of labels, Eq. (5).

    Those without a partner become k, k + 1, …, names of no given cluster; -1 stays -1. Only
    points that both label count.
    """
    assigned = labels >= 0
    codes = np.full(len(labels), -1)
    # by first appearance, so that the names in a run settle no tie
    codes[assigned], clusters = pd.factorize(labels[assigned])
    partner = best_match(count_pairs(codes, given, (len(clusters), k)))
    alone = partner < 0
    partner[alone] = k + np.arange(alone.sum())
    return np.asarray(np.append(partner, -1)[codes])


@dataclass(frozen=True)
class Ballot:
    """The votes of the runs on each point.

    Attributes
    ----------
    votes : (n, k) share of the runs that assign the point voting for each given cluster
    agree : (n,) number of runs that vote for the given label; 0 where there is none
    runs : (n,) number of runs that assign the point
    """

    votes: Floats
    agree: Ints
    runs: Ints

    @property
    def stability(self) -> Floats:
        """(n,) share of runs that agree with the given label; NaN if no run assigns the point."""
        with np.errstate(invalid="ignore"):
            return self.agree / self.runs


def count(runs: Ints, given: Ints, k: int) -> Ballot:
    """Let each run (n, R), in the names of the given clusters, vote for a label."""
    assigned = (runs >= 0).sum(axis=1)
    counts = tally(runs, k)
    agree = np.where(given >= 0, counts[np.arange(len(runs)), given], 0).astype(np.int64)
    with np.errstate(invalid="ignore"):
        return Ballot(counts / assigned[:, None], agree, assigned)


def smoothed(agree: Array, runs: Array) -> Floats:
    """Return (agree + ½) / (runs + 1): the share of runs as the score uses it.

    Never 0 or 1, so that geometry still ranks points on which all runs agree, for or against.
    """
    return (agree + 0.5) / (runs + 1.0)


def standard_errors(ballot: Ballot, score: Callable[[Floats], Floats]) -> Floats:
    """Return errors (n,), se² = jackknife² + unseen²; NaN if fewer than 3 runs count.

    jackknife² = (R - 1)/R Σ_r (θ₋ᵣ - θ̄)², θ₋ᵣ the score without run r; `score` makes scores of
    shares (n,). It takes two values, without a run that agrees and without one that does not, so
    that it is (R - 1) A (R - A) (θ₁ - θ₀)² / R² with A the runs that agree. That is 0 where all
    runs say the same. Unseen is how far the score moves if the share of runs of a kind not seen
    yet votes against the label, or for it, whichever is farther.
    """
    A, R = ballot.agree.astype(np.float64), ballot.runs.astype(np.float64)
    R[R < 3] = np.nan
    without = score(smoothed(np.maximum(A - 1, 0), R - 1))
    against = score(smoothed(np.minimum(A, R - 1), R - 1))
    jackknife = np.sqrt((R - 1) * A * (R - A)) * np.abs(against - without) / R
    share, q = smoothed(A, R), unseen_share(R)
    now, worse, better = score(share), score((1 - q) * share), score((1 - q) * share + q)
    return np.hypot(jackknife, np.maximum(np.abs(now - worse), np.abs(better - now)))


def margin_of(shares: Floats, labels: Ints) -> Floats:
    """Return the share (n,) of the given label less the largest other, from -1 to 1.

    `shares` (n, k) are votes or probabilities; NaN for points without a label.
    """
    rows = np.arange(len(labels))
    others = shares.copy()
    others[rows, labels] = -np.inf
    return np.where(labels >= 0, shares[rows, labels] - others.max(axis=1), np.nan)


def weights_of(parts: Sequence[Floats], labels: Ints) -> Floats:
    """Return the weights of those that vote, by the labels that each gets wrong; they add up to 1.

    `parts` are the shares or probabilities (n, k) of each. With e = (wrong + 1) / (n + 2), each has
    e⁻⁴ of the sum of all: all the same where they are equally good, nearly nothing for one that is
    clearly worse.
    """
    wrong = [(margin_of(np.nan_to_num(shares), labels) < 0).sum() for shares in parts]
    errors = (np.array(wrong) + 1) / ((labels >= 0).sum() + 2)
    weights = errors**-POWER
    return np.asarray(weights / weights.sum())


def pool(parts: Sequence[Floats], labels: Ints) -> Floats:
    """Return the mean of probabilities (n, k), with the weights of `weights_of`."""
    return np.asarray(
        sum(w * shares for w, shares in zip(weights_of(parts, labels), parts, strict=True))
    )
