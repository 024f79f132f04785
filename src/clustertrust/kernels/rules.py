"""How silhouettes and scores are computed, for all back ends."""

from __future__ import annotations

from typing import NamedTuple


class Rules(NamedTuple):
    """What all silhouettes of one call have in common.

    Attributes
    ----------
    leaves_out : whether the mean over the own cluster leaves the point out
    lone_zero : whether a point alone in its cluster has silhouette 0
    root : whether dissimilarities are squares, whose roots are compared
    """

    leaves_out: bool
    lone_zero: bool
    root: bool


class Fusing(NamedTuple):
    """How stability c and silhouettes become a score.

    Attributes
    ----------
    harmonic : whether the score is the harmonic mean of c and g, else their product
    affine : whether g maps mean less std to [0, 1], else it clips it at 0
    z : standard errors to either side of a normal value that hold 95 %
    """

    harmonic: bool
    affine: bool
    z: float
