"""What a silhouette compares, and how silhouettes become the geometric component S̃.

A geometry is an object with its own parameters, such as ``Exact(metric="manhattan")``; its name,
such as ``"exact"``, is short for the object with its defaults. A subclass of `Geometry` with a
method `measure` works as well: it returns a `Dissimilarity`, such as `Centers`.
"""

from clustertrust.distances.dissimilarity import Centers, Dissimilarity
from clustertrust.geometry.base import Geometry
from clustertrust.geometry.centroid import Centroid
from clustertrust.geometry.exact import Exact
from clustertrust.geometry.graph import Graph
from clustertrust.geometry.kernel import Kernel
from clustertrust.geometry.measuring import silhouettes
from clustertrust.geometry.rms import Rms
from clustertrust.geometry.sampled import Sampled

__all__ = [
    "Centers",
    "Centroid",
    "Dissimilarity",
    "Exact",
    "Geometry",
    "Graph",
    "Kernel",
    "Rms",
    "Sampled",
    "silhouettes",
]
