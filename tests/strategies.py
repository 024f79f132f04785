"""What hypothesis draws: ensembles of a few small runs."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings
from hypothesis.extra.numpy import arrays
from oracles import unique_optima

# The first example may compile a kernel.
few = settings(max_examples=60, deadline=None, derandomize=True)


def labelings(*, unassigned=True, max_runs=5):
    """(n, R) labels without any order in them: ties, runs of different k, runs without a cluster."""
    shape = st.tuples(st.integers(2, 10), st.integers(2, max_runs))
    return shape.flatmap(
        lambda size: arrays(np.int64, size, elements=st.integers(-1 if unassigned else 0, 3))
    )


@st.composite
def noisy_runs(draw, *, unassigned=True, min_runs=2):
    """(n, R) runs that are one partition with some points moved or left out.

    Every pair has one best matching.
    """
    sizes = draw(st.lists(st.integers(2, 5), min_size=2, max_size=3))
    partition = np.repeat(np.arange(len(sizes)), sizes)
    R = draw(st.integers(min_runs, 5))
    labels = np.tile(partition[:, None], R)
    place = st.tuples(st.integers(0, len(partition) - 1), st.integers(0, R - 1))
    moved = draw(st.dictionaries(place, st.integers(-1 if unassigned else 0, 3), max_size=2 * R))
    for at, label in moved.items():
        labels[at] = label
    return labels


def unique_runs(**options):
    """`noisy_runs` for which the oracle knows which matchings the package takes."""
    return noisy_runs(**options).filter(unique_optima)


@st.composite
def renamings(draw, runs):
    """Labels from `runs`, and the same partitions under other names: other numbers, other negative
    numbers.
    """
    labels = draw(runs)
    renamed = np.empty_like(labels)
    for r, run in enumerate(labels.T):
        names = np.array(draw(st.permutations([0, 1, 2, 3, 7, 40])))
        renamed[:, r] = np.where(run >= 0, names[run], draw(st.integers(-9, -1)))
    return labels, renamed
