"""How a silhouette treats the point itself, for all back ends."""

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
