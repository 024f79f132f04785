"""The kernels compiled by Numba: plain loops, no options, no locks.

Each releases the GIL, so callers hand blocks of rows to threads. A block is one thread's own work,
so the result has the same bits for any number of threads. Numba's own threads are not used: its
OpenMP layer dies in a forked child, its workqueue when two threads enter at once.
"""

# The functions are asked for by name, of whatever module `backend` has chosen.
# ruff: noqa: F401
from clustertrust.kernels._numba.cells import (
    agreement_sums,
    contingencies,
    meet,
    rename,
    strict_matches,
    vote,
)
from clustertrust.kernels._numba.compiling import TILE
from clustertrust.kernels._numba.densities import joint_densities
from clustertrust.kernels._numba.kmeans import assign, candidate_sums, lay_out, locate, own_squares
from clustertrust.kernels._numba.medoids import fasterpam, try_swaps
from clustertrust.kernels._numba.mixtures import em, mixture_moments
from clustertrust.kernels._numba.pairs import (
    distances,
    gower_distances,
    squared_distances,
    squares,
)
from clustertrust.kernels._numba.scores import (
    cell_squares,
    cell_sums,
    cluster_squares,
    cluster_sums,
    moments,
    moments_without_each,
    score,
)
from clustertrust.kernels._numba.small import lloyd, plus_plus
from clustertrust.kernels._numba.stacks import kmeans_each, mean_silhouettes
from clustertrust.kernels._numba.sums import (
    add_distances,
    cell_silhouettes,
    center_silhouettes,
    cluster_distances,
    matrix_sums,
    silhouettes,
    unite,
)
from clustertrust.kernels._numba.trees import (
    reachability_tree,
    rounded_distances,
)
