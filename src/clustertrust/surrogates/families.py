"""Kinds of data without clusters: data → a function that draws as many points like them.

References
----------
R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set via the
gap statistic", Journal of the Royal Statistical Society B 63 (2001): a box along the principal
axes. C. B. Barber, D. P. Dobkin and H. Huhdanpaa, "The Quickhull algorithm for convex hulls", ACM
Transactions on Mathematical Software 22 (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_choice

Draw = Callable[[np.random.Generator], Array]
# Corrections of the sides of a box, and how close its spread must get to that of the data
ROUNDS, NEAR = 8, 1e-3
# Most axes of a hull: in more, most points are its corners
MOST_AXES = 3


class _Axes(NamedTuple):
    """Mean (d,), principal axes (rank, d), and the data along each (n, rank), centred."""

    mean: Floats
    axes: Floats
    along: Floats


def _principal_axes(X: Floats) -> _Axes:
    """Return the principal axes, without those along which the data have no spread."""
    mean = X.mean(axis=0)
    along, size, axes = np.linalg.svd(X - mean, full_matrices=False)
    rank = int((size > size.max(initial=0.0) * max(X.shape) * np.finfo(np.float64).eps).sum())
    return _Axes(mean, axes[:rank], along[:, :rank] * size[:rank])


def box(X: Floats) -> Draw:
    """Draw uniformly in a box, with the mean of the data and their spread along principal axes.

    The principal axes of a sample are tilted in its box, so ranges along them are not its sides:
    the short ones come out too long. A box with these sides is less elongated than the true one and
    scores lower. So each surrogate is measured as the data were, along its own principal axes, and
    gets the sides for which it has the same standard deviations.
    """
    cloud = _principal_axes(X)
    size = np.linalg.norm(cloud.along, axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(
            cloud.mean + _with_sizes(rng.uniform(size=cloud.along.shape), size) @ cloud.axes
        )

    return draw


def _with_sizes(U: Floats, size: Floats) -> Floats:
    """Return U·sides, centred, along its principal axes, with the given singular values.

    The sides are corrected by the ratio of the values until that is 1. If values are nearly equal,
    no sides may fit, since the axes turn with them; then the closest found are used.
    """
    U = U - U.mean(axis=0)
    # It has the singular values and axes of U, and d rows instead of n.
    R = np.linalg.qr(U, mode="r")
    sides = best = size / np.linalg.norm(U, axis=0)
    nearest, length = np.inf, np.linalg.norm(size)
    for step in range(ROUNDS):
        values = np.linalg.svd(R * sides, compute_uv=False)
        ratio = size / values
        off = float(np.linalg.norm(values - size) / length)
        if off < nearest:
            best, nearest = sides, off
        if off < NEAR:
            break
        # Falling, as the axes are
        sides = -np.sort(-sides * (ratio if step < ROUNDS // 2 else np.sqrt(ratio)))
    axes = np.linalg.svd(R * best, full_matrices=False)[2]
    return np.asarray((U * best) @ axes.T)


def gaussian(X: Floats) -> Draw:
    """Draw from one Gaussian, with exactly the mean and the covariance of the data.

    X - mean = P S Vᵀ, P (n, rank) orthonormal. If X is Gaussian, P is uniform among such matrices
    with columns of mean 0, for any S and V. A surrogate has its own P, and S and V of the
    data, so data and surrogates are exchangeable and the p-value is exact.
    """
    cloud = _principal_axes(X)
    size = np.linalg.norm(cloud.along, axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        Z = rng.standard_normal(cloud.along.shape)
        P, R = np.linalg.qr(Z - Z.mean(axis=0))
        return np.asarray(cloud.mean + (P * np.sign(np.diag(R)) * size) @ cloud.axes)

    return draw


def permuted(X: Floats) -> Draw:
    """Shuffle each column on its own: the marginals stay, with any clusters in them."""
    return lambda rng: rng.permuted(X, axis=0)


class _NoHullError(ValueError):
    """Why a hull says nothing about these points."""


def hull(X: Floats) -> Draw:
    """Keep the corners of the convex hull of the data, and draw all other points uniformly in it.

    If the data are uniform in a convex shape, then given the corners of their hull all other points
    are uniform in the hull: data and surrogates are exchangeable, and the p-value is exact for any
    shape. In a hull drawn anew without these corners it would be too small, since the hull of a
    sample lacks the tips of the shape.
    """
    cloud = _principal_axes(X)
    if len(cloud.axes) > MOST_AXES:
        raise _NoHullError(
            f"it is drawn in at most {MOST_AXES} dimensions, not in {len(cloud.axes)}"
        )
    size = np.linalg.norm(cloud.along, axis=0)
    # Uniform stays uniform, and no hull is too flat to be found
    scaled = cloud.along / size
    corners, simplices = _hull(scaled)
    if len(corners) > len(X) / 2:
        raise _NoHullError(f"{len(corners)} of the {len(X)} points are its corners")
    others = np.setdiff1d(np.arange(len(X)), corners)

    def draw(rng: np.random.Generator) -> Floats:
        made = scaled.copy()
        made[others] = _uniform(rng, simplices, len(others))
        return np.asarray(cloud.mean + (made * size) @ cloud.axes)

    return draw


def _hull(Z: Floats) -> tuple[Ints, Floats]:
    """Return the positions of the corners, and simplices (m, r + 1, r) that fill the hull."""
    if Z.shape[1] < 2:
        corners = np.unique([Z.argmin(), Z.argmax()] if Z.size else [0])
        return corners, Z[corners][None]
    hull = ConvexHull(Z)
    facets = Z[hull.simplices]
    inside = np.broadcast_to(Z[hull.vertices].mean(axis=0), (len(facets), 1, Z.shape[1]))
    return hull.vertices, np.concatenate([inside, facets], axis=1)


def _uniform(rng: np.random.Generator, simplices: Floats, n: int) -> Floats:
    """Draw n points uniformly in the union of simplices (m, r + 1, r) that do not overlap."""
    volumes = np.abs(np.linalg.det(simplices[:, 1:] - simplices[:, :1]))
    where = rng.choice(len(volumes), n, p=volumes / volumes.sum())
    shares = rng.dirichlet(np.ones(simplices.shape[1]), n)
    return np.asarray(np.einsum("nv,nvr->nr", shares, simplices[where]))


# New ones at the end: seeds follow the order.
FAMILIES: dict[str, Callable[[Floats], Draw]] = {
    "box": box,
    "gaussian": gaussian,
    "permuted": permuted,
    "hull": hull,
}
# Those that count; permuted columns test dependence, which is another question.
VERDICT = ("box", "gaussian", "hull")
# What these are, in words
CLOUDS = {"box": "a box", "gaussian": "a Gaussian", "hull": "the hull of the data"}
# Families of a null reference
DEFAULT = ("box", "gaussian")


def check_families(argument: str, families: Any, otherwise: str = "") -> tuple[str, ...]:
    """Return the names of the families, each once, at least one of them in the verdict.

    `otherwise` says what else may be given.
    """
    if isinstance(families, str) or not isinstance(families, Iterable):
        raise TypeError(
            f"{argument}={families!r} must be a sequence of names, such as {DEFAULT}{otherwise}."
        )
    names = tuple(families)
    for name in names:
        check_choice(argument, name, FAMILIES)
    if not set(names) & set(VERDICT):
        raise ValueError(
            f"{argument}={families!r} has no family for the verdict; add one or more of "
            f"{list(VERDICT)}."
        )
    return tuple(dict.fromkeys(names))


def build_draws(X: Array, families: Sequence[str]) -> tuple[dict[str, Draw], dict[str, str]]:
    """Return what draws surrogates of each family, and why others do not apply to these points.

    Raise if none is left that counts in the verdict.
    """
    draws: dict[str, Draw] = {}
    left_out: dict[str, str] = {}
    for name in families:
        try:
            draws[name] = FAMILIES[name](np.asarray(X, dtype=np.float64))
        except _NoHullError as why:
            left_out[name] = str(why)
    if not set(draws) & set(VERDICT):
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ValueError(
            f"No family of surrogates is left to compare these points with ({reasons}); add "
            f"{DEFAULT[0]!r} or {DEFAULT[1]!r}."
        )
    return draws, left_out
