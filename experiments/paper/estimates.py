"""How long items will take that were never timed: as the timed ones of their experiment, by the size of the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.paper import data, results

Key = tuple[str, str, str]  # experiment, data set, protocol
LEAST = 0.1  # seconds; what is shorter says nothing of the data
QUICK_TIMES = {"printed": 1, "fair": 5}  # a quick run has two repetitions of ten, or one of one
# The power of the size that seconds grow with beyond the largest set that was timed. From sets of thousands of points
# to some of tens of thousands it was 0.5 to 0.85; among small ones it is less, since starting counts.
BEYOND = 2 / 3
# These take parts of large sets.
IN_PARTS = ("filtering_ensembles", "affine", "reference_alignment")


class Size(NamedTuple):
    """Points, columns and clusters of a data set."""

    n: int
    d: int
    k: int

    @property
    def work(self) -> float:
        """What a run costs, some steps of k-means over all points, and its silhouettes beside it."""
        return 50.0 * self.n * self.d * self.k + self.n**2 * self.d / 20.0


def sizes(folder: Path) -> dict[str, Size]:
    """Sizes of the data sets, as they were loaded."""
    table = results.read(folder / "datasets.csv")
    if table.empty:
        return {}
    by = table[table["protocol"] == "printed"].pivot_table(
        index="dataset", columns="quantity", values="value"
    )
    return {
        str(name): Size(int(row["n"]), int(row["d"]), int(row["k"])) for name, row in by.iterrows()
    }


class Estimates:
    """Core seconds of items, measured where they are known.

    Parameters
    ----------
    timed, quick : core seconds of items, and of their quick forms
    sizes : of the data sets
    """

    def __init__(
        self, timed: Mapping[Key, float], quick: Mapping[Key, float], sizes: Mapping[str, Size]
    ) -> None:
        self.timed, self.quick, self.sizes = timed, quick, sizes
        self.power = self._growth()

    def weight(self, key: Key) -> float:
        """Size of what an experiment takes of a data set."""
        size = self.sizes.get(key[1])
        if size is None:
            return 1.0  # drawn for one figure
        if key[0].startswith(IN_PARTS):
            size = size._replace(n=min(size.n, data.LARGE.get(key[1], size.n)))
        return size.work

    def _alike(self, known: Mapping[Key, float], key: Key) -> dict[Key, float]:
        return {of: known[of] for of in known if (of[0], of[2]) == (key[0], key[2])}

    def _growth(self) -> float:
        """The power of the size that seconds grow with, over all experiments timed on several data sets."""
        across, along = 0.0, 0.0
        for key in {(of[0], of[2]): of for of in self.timed}.values():
            alike = self._alike(self.timed, key)
            x = np.log([self.weight(of) for of in alike])
            y = np.log(np.maximum(list(alike.values()), LEAST))
            across += float(((x - x.mean()) * (y - y.mean())).sum())
            along += float(((x - x.mean()) ** 2).sum())
        return across / along if along else BEYOND

    def __call__(self, key: Key) -> float | None:
        """Core seconds by other sets of the same experiment, else by its quick form; None: nothing is known."""
        alike = self._alike(self.timed, key) or {
            of: QUICK_TIMES[key[2]] * seconds
            for of, seconds in self._alike(self.quick, key).items()
        }
        if not alike:
            return None
        weights = np.array([self.weight(of) for of in alike])
        seconds = np.maximum(list(alike.values()), LEAST)
        rate = np.mean(np.log(seconds) - self.power * np.log(weights))
        inside = min(self.weight(key), weights.max())
        return float(np.exp(rate) * inside**self.power * (self.weight(key) / inside) ** BEYOND)
