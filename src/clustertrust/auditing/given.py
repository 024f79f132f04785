"""A labelling from a user → checked codes, the names behind them, and what counts as noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clustertrust._errors import InputError, Message
from clustertrust._types import Array, Ints
from clustertrust._validation.arguments import warn_user
from clustertrust._validation.frames import is_dask
from clustertrust._validation.labels import read_label_vector
from clustertrust.auditing.spellings import warn_of_spellings
from clustertrust.ensemble.labels import in_order_of
from clustertrust.ensemble.record import Ensemble
from clustertrust.notes import note_on_noise

# Points of a cluster that a verdict needs; on fewer it is unclear
FEWEST = 3
# Clusters for each point: with more, runs that leave some points out would have fewer points than
# clusters.
MOST_CLUSTERS = 0.8
# Clusters from which on labels may be names of rows, or measurements
MANY = 20


@dataclass(frozen=True)
class Labelling:
    """The given labelling: codes (n,), -1 for none, the name behind each code, and noise."""

    labels: Ints
    names: Array
    noise: Mapping[str, int]

    @property
    def k(self) -> int:
        """How many clusters there are."""
        return len(self.names)

    @property
    def labelled(self) -> Ints:
        """Positions of the points that have a label."""
        return np.flatnonzero(self.labels >= 0)


def read_labelling(X: Any, labels: Any) -> Labelling:
    """Check a labelling."""
    is_read = isinstance(labels, Ensemble)
    ensemble = labels if is_read else Ensemble.from_labels(in_order_of(X, labels))
    if ensemble.n_runs != 1 or is_dask(ensemble.labels):
        raise ValueError(
            f"labels has {ensemble.n_runs} run(s); an audit takes one labelling in memory. Score "
            "several with clustertrust.confidence(X, labels)."
        )
    codes, names, noise = ensemble.labels[:, 0], ensemble.label_names[0], ensemble.noise
    codes = codes.astype(np.int64)
    if names is None:
        codes, names, _ = read_label_vector("labels", codes)
    if len(names) < 2:
        problem = f"labels has {len(names)} cluster(s); an audit compares at least 2. "
        why = note_on_noise(noise) or (Message("Missing values do not count as a cluster."),)
        raise InputError(why[0].after(problem))
    sizes = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    warn_of_spellings(names.tolist(), sizes)
    few = sum(size < FEWEST for size in sizes)
    if len(names) > MOST_CLUSTERS * sum(sizes):
        raise InputError(
            f"labels has {len(names)} clusters of {sum(sizes)} points; give labels that repeat, "
            "not names of the rows."
        )
    if few > len(names) / 2 and len(names) > MANY:
        warn_user(
            f"{few} of the {len(names)} clusters in labels have fewer than {FEWEST} points, and "
            "get no verdict. If these are names or measurements, give other labels."
        )
    if noise and not is_read:
        count = f"{sum(noise.values())} of {len(codes)} points have no score: "
        warn_user(note_on_noise(noise)[0].after(count))
    return Labelling(codes, names, noise)
