"""Scores → which points to label: a random sample for a guarantee, or the least sure to review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_choice, check_count, check_scores
from clustertrust.calibration.checks import check_positions

PURPOSES = ("review", "threshold")
DESIGNS = ("random", "stratified")
# Bands of a stratified sample
BANDS = 5


@dataclass(frozen=True)
class Sample:
    """Points to label.

    Attributes
    ----------
    positions : (m,) positions of the points; for a review the least sure first, else rising
    inclusion : (n,) probability with which each point was drawn; 0: it could not be
    purpose : "threshold" or "review"
    design : "random" or "stratified"; of a review "lowest"
    """

    positions: Ints
    inclusion: Floats
    purpose: str
    design: str

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        return (
            f"<Sample: {len(self.positions)} of {len(self.inclusion)} points, "
            f"purpose={self.purpose!r}, design={self.design!r}; positions, inclusion, weights>"
        )

    @property
    def guaranteed(self) -> bool:
        """Whether a threshold from these labels has a guarantee: the points are a random sample."""
        return self.purpose == "threshold"

    @property
    def weights(self) -> Floats:
        """(m,) number of points that each label represents: 1 / inclusion; 1 if it was chosen."""
        return 1.0 / self.inclusion[self.positions]


def suggest(
    scores: Any,
    n: int,
    purpose: str = "threshold",
    *,
    design: str = "random",
    exclude: Any = None,
    random_state: Any = 0,
) -> Sample:
    """Choose n points to label.

    Parameters
    ----------
    scores : (N,) numbers, higher is surer
        Points without a score (NaN) are never suggested.
    n : int
        Number of labels that you can get.
    purpose : {"threshold", "review"}
        "threshold": a random sample, for :func:`risk_threshold`. "review": the n points with the
        lowest scores, where most errors are and a label is most informative; they do not represent
        other points, and no threshold from them is guaranteed.
        Points whose answers teach a learned score most come from :func:`clustertrust.answers.ask`.
    design : {"random", "stratified"}
        How to draw a sample for a threshold: "random", all sets of n points are equally likely; or
        "stratified", in five bands of equal size by score, with labels in the ratio
        5 : 4 : 3 : 2 : 1 from the surest down, since the surest are those to be kept. For a
        threshold use "random": its test is exact. Bands keep fewer points, because the guarantee
        must hold where labels are fewest: the lowest band has a third of those of a random sample.
        They give labels to every range of scores, which suits a :class:`Calibrator`.
    exclude : sequence of positions, optional
        Points not to draw, such as those whose known classes named the clusters. The guarantee of
        `risk_threshold` is then about the other points.
    random_state : int, RandomState or None

    Returns
    -------
    Sample

    Examples
    --------
    >>> from clustertrust.calibration import suggest
    >>> suggest([0.9, 0.1, 0.5, 0.7], 2, "review").positions.tolist()
    [1, 2]
    >>> sample = suggest([0.9, 0.1, 0.5, 0.7], 2)
    >>> sample.inclusion.tolist(), sample.guaranteed
    ([0.5, 0.5, 0.5, 0.5], True)
    """
    check_choice("purpose", purpose, PURPOSES)
    check_choice("design", design, DESIGNS)
    values = check_scores(scores)
    m = check_count("n", n, at_least=1)
    left_out = check_positions([] if exclude is None else exclude, len(values), name="exclude")
    there = ~np.isnan(values)
    there[left_out] = False
    pool = np.flatnonzero(there)
    if m > pool.size:
        raise ValueError(
            f"n={m} labels were requested, but only {pool.size} points can be drawn; ask for fewer."
        )
    rng = check_random_state(random_state)
    drawn = rng.permutation(pool)
    # Points of equal score stand in random order.
    by_score = drawn[np.argsort(values[drawn], kind="stable")]
    if purpose == "review":
        if design != "random":
            raise ValueError(
                f"design={design!r} is for purpose='threshold'; a review takes the lowest scores."
            )
        return Sample(by_score[:m], _chances(values, [(by_score[:m], m)]), purpose, "lowest")
    if design == "random":
        return Sample(np.sort(drawn[:m]), _chances(values, [(pool, m)]), purpose, design)
    if m < BANDS:
        raise ValueError(
            f"n={m} labels cannot be divided among {BANDS} bands; use design='random'."
        )
    bands = np.array_split(by_score, BANDS)
    sizes = deal(m, np.arange(1, BANDS + 1), np.array([len(band) for band in bands]))
    chosen = [
        rng.choice(band, size, replace=False) for band, size in zip(bands, sizes, strict=True)
    ]
    dealt = list(zip(bands, sizes.tolist(), strict=True))
    return Sample(np.sort(np.concatenate(chosen)), _chances(values, dealt), purpose, design)


def deal(m: int, shares: Array, room: Array) -> Ints:
    """Distribute m by `shares`, 1 to `room` each; the rest goes to the place with the least."""
    out = np.clip(np.floor(m * shares / shares.sum()).astype(np.int64), 1, room)
    # The minimum of one exceeded m: take from the largest
    while out.sum() > m:
        out[np.argmax(out)] -= 1
    while out.sum() < m:
        behind = np.where(out < room, shares / (out + 1.0), -1.0)
        out[np.argmax(behind)] += 1
    return np.asarray(out)


def _chances(values: Floats, drawn: list[tuple[Ints, int]]) -> Floats:
    """Return inclusion probabilities (n,), from groups of points and how many were drawn."""
    out = np.zeros(len(values))
    for points, size in drawn:
        out[points] = size / len(points)
    return out
