"""What a silhouette compares, and how silhouettes become the geometric component S̃.

A geometry is an object with parameters of its own, such as ``Exact(metric="manhattan")``; its name,
such as ``"exact"``, is short for the object with its defaults. A subclass of `Geometry` with a
method `measure` works as well.
"""

from clustertrust.geometry.base import Geometry
from clustertrust.geometry.centroid import Centroid
from clustertrust.geometry.exact import Exact
from clustertrust.geometry.graph import Graph
from clustertrust.geometry.kernel import Kernel
from clustertrust.geometry.measuring import silhouettes
from clustertrust.geometry.rms import Rms
from clustertrust.geometry.sampled import Sampled

__all__ = [
    "Centroid",
    "Exact",
    "Geometry",
    "Graph",
    "Kernel",
    "Rms",
    "Sampled",
    "silhouettes",
]
