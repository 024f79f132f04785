"""Two ways to run an experiment: `printed`, as the authors ran it; `fair`, as the paper tells it, faults removed.

What differs, in one place:

| | printed | fair |
| --- | --- | --- |
| k-means starts | random | random on S1–S7, k-means++ on real sets, as the paper says |
| seeds of the ensemble | 0–19 (or as an experiment says) | blocks of their own, one a repetition |
| seeds of evaluation | 0–9, so that the full set is evaluated by members of the ensemble | 10 others |
| points of equal score | in the order of numpy's unstable sort | at random, averaged over draws |
| mixtures | diagonal or full, by table | full |
| K-Medoids | alternation on 2000 points | FasterPAM |
| consensus, entropy, tied matchings | as the authors' code has them ([authors.py](authors.py)) | the library's |
| Fm | pixels, or 50 principal components, by table | pixels |
| S3 | k = 4: its noise is a class | k = 3, as the paper says; the noise is in the truth, and never right |
| repetitions | 1 | 10, with intervals; on large sets fewer, or ten on a part of the points, drawn anew in each |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.paper import data


@dataclass(frozen=True)
class Protocol:
    """What the experiments ask a protocol."""

    name: str
    noise_is_class: bool
    reduced: bool = (
        False  # Fm as its first 50 principal components, which the authors had in four tables
    )
    part: int | None = (
        None  # of Lt, Ng and Fm: which random part, so that ten repetitions can be had
    )
    quick: bool = False

    def load(self, name: str, dtype: str | None = None) -> data.Case:
        """Load a data set, or a part of it, with the number of clusters to ask for."""
        case = data.load(
            name,
            noise_is_class=self.noise_is_class,
            dtype=dtype,
            reduced=self.reduced and name == "Fm",
        )
        return case if self.part is None else data.part(case, self.part)

    def method(self, family: str, name: str) -> str:
        """Which of `runs.METHODS` stands for kmeans, minibatch, gmm or kmedoids on a data set."""
        raise NotImplementedError

    def seeds(self, repetition: int = 0, *, first: int = 0, size: int = 20) -> Sequence[int]:
        """Seeds of an ensemble; `first` is what the authors began with."""
        raise NotImplementedError

    def evaluation_seeds(self) -> Sequence[int]:
        """Seeds of the runs that a subset is evaluated with."""
        raise NotImplementedError

    def repetitions(self, name: str) -> int:
        """How often the experiment is done."""
        raise NotImplementedError

    def top(self, scores: NDArray, m: int, draws: int) -> list[NDArray]:
        """Positions of the m highest scores, once for each way of breaking ties."""
        raise NotImplementedError


class Printed(Protocol):
    """As the authors ran it."""

    def method(self, family: str, name: str) -> str:
        return {
            "kmeans": "kmeans-random",
            "minibatch": "minibatch-random",
            "gmm": "gmm-full",
            "kmedoids": "kmedoids-sampled",
        }[family]

    def seeds(self, repetition: int = 0, *, first: int = 0, size: int = 20) -> Sequence[int]:
        assert repetition == 0
        return range(first, first + size)

    def evaluation_seeds(self) -> Sequence[int]:
        return range(10)

    def repetitions(self, name: str) -> int:
        return 1

    def top(self, scores: NDArray, m: int, draws: int) -> list[NDArray]:
        return [np.sort(np.argsort(scores)[-m:])]


class Fair(Protocol):
    """As the paper tells it."""

    def method(self, family: str, name: str) -> str:
        if family == "gmm":
            return "gmm-full"
        return f"{family}-random" if family != "kmedoids" and name in data.SYNTHETIC else family

    def seeds(self, repetition: int = 0, *, first: int = 0, size: int = 20) -> Sequence[int]:
        return range(1000 * (repetition + 1), 1000 * (repetition + 1) + size)

    def evaluation_seeds(self) -> Sequence[int]:
        return range(500_000, 500_010)

    def repetitions(self, name: str) -> int:
        return 2 if self.quick else data.REPETITIONS.get(name, 10)

    def top(self, scores: NDArray, m: int, draws: int) -> list[NDArray]:
        at_the_cut = np.sort(scores)[-m]
        sure = (scores > at_the_cut).sum()
        if m - sure == (scores == at_the_cut).sum():
            draws = 1  # nothing to break
        kept = []
        for draw in range(draws):
            shuffled = np.random.default_rng(draw).permutation(len(scores))
            kept.append(np.sort(shuffled[np.argsort(-scores[shuffled], kind="stable")[:m]]))
        return kept


PROTOCOLS = {
    "printed": Printed("printed", noise_is_class=True),
    "fair": Fair("fair", noise_is_class=False),
}
