"""The kernels in plain NumPy: the oracle for the compiled ones, and the fallback without Numba."""

# The functions are asked for by name, of whatever module `backend` has chosen.
# ruff: noqa: F401
from clustertrust.kernels._numpy.cells import (
    agreement_sums,
    contingencies,
    meet,
    rename,
    strict_matches,
    vote,
)
from clustertrust.kernels._numpy.densities import joint_densities
from clustertrust.kernels._numpy.kmeans import (
    TILE,
    assign,
    candidate_sums,
    lay_out,
    locate,
    own_squares,
)
from clustertrust.kernels._numpy.medoids import fasterpam, try_swaps
from clustertrust.kernels._numpy.mixtures import em, mixture_moments
from clustertrust.kernels._numpy.pairs import gower_distances, squared_distances
from clustertrust.kernels._numpy.scores import (
    cell_squares,
    cell_sums,
    cluster_squares,
    cluster_sums,
    moments,
    moments_without_each,
    score,
)
from clustertrust.kernels._numpy.small import lloyd, plus_plus
from clustertrust.kernels._numpy.stacks import kmeans_each, mean_silhouettes
from clustertrust.kernels._numpy.sums import (
    add_distances,
    cell_silhouettes,
    center_silhouettes,
    cluster_distances,
    matrix_sums,
    silhouettes,
    unite,
)
from clustertrust.kernels._numpy.trees import reachability_tree, rounded_distances
