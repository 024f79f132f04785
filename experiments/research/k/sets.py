"""Sets for choosing k: families to develop on, other families to judge by, and shapes without clusters.

Every set follows from its family and number alone. Held-out families and shapes were written down before the rule was
frozen, and nothing was fitted to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from experiments.research.heldout import Set

Xy = tuple[NDArray, NDArray]
Family = Callable[[Generator], Xy]

DEVELOPMENT: dict[str, Family] = {}
HELD_OUT: dict[str, Family] = {}
SHAPES: dict[str, Callable[[Generator], NDArray]] = {}  # to judge it by
POINTS = (300, 500)  # of a set


def entered(table: dict) -> Callable:
    """Enter a function into a table, under its name."""

    def enter(function: Callable) -> Callable:
        table[function.__name__] = function
        return function

    return enter


# What sets are made of


def draw_sizes(rng: Generator, k: int, evenness: float = 20.0, least: int = 12) -> NDArray:
    """Points of each cluster: some hundreds in all, at least `least` each."""
    n = int(rng.integers(*POINTS)) - least * k
    return least + rng.multinomial(n, rng.dirichlet(np.full(k, evenness)))


def draw_centers(rng: Generator, k: int, d: int, gap: float) -> NDArray:
    """Centres (k, d) in a cloud; the nearest two are `gap` apart."""
    centers = rng.standard_normal((k, d))
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(k, 1)]
    return np.asarray(centers * gap / apart.min())


def draw_shape(rng: Generator, d: int, longest: float = 4.0) -> NDArray:
    """A map (d, d) from a sphere to an ellipsoid of the same volume, turned at random."""
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    log = rng.uniform(-np.log(longest) / 2, np.log(longest) / 2, d)
    return np.asarray(axes * np.exp(log - log.mean()))


def draw_k_and_d(rng: Generator) -> tuple[int, int]:
    """2 to 12 clusters in 2 to 50 dimensions."""
    return int(rng.integers(2, 13)), int(rng.choice([2, 3, 5, 10, 20, 50]))


def stack(parts: list[NDArray]) -> Xy:
    """Clusters one after the other, with their numbers."""
    return np.vstack(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


# Families to develop on


@entered(DEVELOPMENT)
def spheres(rng: Generator) -> Xy:
    """Equal spheres."""
    k, d = draw_k_and_d(rng)
    centers = draw_centers(rng, k, d, rng.uniform(3.0, 6.0))
    return stack(
        [c + rng.standard_normal((n, d)) for c, n in zip(centers, draw_sizes(rng, k), strict=True)]
    )


@entered(DEVELOPMENT)
def ellipsoids(rng: Generator) -> Xy:
    """A random shape for each cluster."""
    k, d = draw_k_and_d(rng)
    centers = draw_centers(rng, k, d, rng.uniform(4.0, 8.0))
    return stack(
        [
            c + rng.standard_normal((n, d)) @ draw_shape(rng, d).T
            for c, n in zip(centers, draw_sizes(rng, k), strict=True)
        ]
    )


@entered(DEVELOPMENT)
def spreads(rng: Generator) -> Xy:
    """Spheres from tight to wide."""
    k, d = draw_k_and_d(rng)
    centers = draw_centers(rng, k, d, rng.uniform(4.0, 8.0))
    wide = np.exp(rng.uniform(np.log(0.4), np.log(1.6), k))
    return stack(
        [
            c + s * rng.standard_normal((n, d))
            for c, s, n in zip(centers, wide, draw_sizes(rng, k), strict=True)
        ]
    )


@entered(DEVELOPMENT)
def sizes(rng: Generator) -> Xy:
    """Spheres of very different numbers of points."""
    k, d = draw_k_and_d(rng)
    centers = draw_centers(rng, k, d, rng.uniform(3.5, 7.0))
    parts = zip(centers, draw_sizes(rng, k, 1.0), strict=True)
    return stack([c + rng.standard_normal((n, d)) for c, n in parts])


@entered(DEVELOPMENT)
def tails(rng: Generator) -> Xy:
    """Multivariate t with four degrees of freedom."""
    k, d = draw_k_and_d(rng)
    centers = draw_centers(rng, k, d, rng.uniform(5.0, 10.0))
    return stack(
        [
            c + rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(4, (n, 1)) / 4)
            for c, n in zip(centers, draw_sizes(rng, k), strict=True)
        ]
    )


# Other families, to judge by


@entered(HELD_OUT)
def skewed(rng: Generator) -> Xy:
    """Gamma in every column, in a direction of its own for each cluster."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 4, 8, 16]))
    centers = draw_centers(rng, k, d, rng.uniform(4.5, 8.0))
    parts = []
    for c, n in zip(centers, draw_sizes(rng, k), strict=True):
        towards = rng.choice([-1.0, 1.0], d)
        parts.append(c + towards * (rng.gamma(2.0, 1.0, (n, d)) - 2.0) / np.sqrt(2.0))
    return stack(parts)


@entered(HELD_OUT)
def bricks(rng: Generator) -> Xy:
    """Uniform in turned boxes."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 3, 6, 12]))
    centers = draw_centers(rng, k, d, rng.uniform(4.5, 7.0))
    return stack(
        [
            c + rng.uniform(-np.sqrt(3), np.sqrt(3), (n, d)) @ draw_shape(rng, d, 3.0).T
            for c, n in zip(centers, draw_sizes(rng, k), strict=True)
        ]
    )


@entered(HELD_OUT)
def balls(rng: Generator) -> Xy:
    """Uniform in balls of different radii."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 3, 6]))
    centers = draw_centers(rng, k, d, rng.uniform(3.5, 5.0))
    parts = []
    for c, n in zip(centers, draw_sizes(rng, k), strict=True):
        u = rng.standard_normal((n, d))
        far = rng.random((n, 1)) ** (1 / d) * rng.uniform(0.7, 1.6)
        parts.append(c + far * u / np.linalg.norm(u, axis=1, keepdims=True))
    return stack(parts)


@entered(HELD_OUT)
def idle_columns(rng: Generator) -> Xy:
    """Clusters in a few columns, and others that know nothing of them."""
    k, d = int(rng.integers(2, 9)), int(rng.choice([2, 3, 4]))
    centers = draw_centers(rng, k, d, rng.uniform(5.0, 8.0))
    n = draw_sizes(rng, k)
    X, y = stack([c + rng.standard_normal((m, d)) for c, m in zip(centers, n, strict=True)])
    return np.hstack([X, rng.standard_normal((len(X), int(rng.choice([2, 5, 10]))))]), y


@entered(HELD_OUT)
def background(rng: Generator) -> Xy:
    """Spheres in uniform noise, one point of it to ten or twenty others; noise counts as no cluster."""
    k, d = int(rng.integers(2, 9)), int(rng.choice([2, 3, 5]))
    centers = draw_centers(rng, k, d, rng.uniform(6.0, 9.0))
    n = draw_sizes(rng, k)
    X, y = stack([c + rng.standard_normal((m, d)) for c, m in zip(centers, n, strict=True)])
    m = round(len(X) * rng.uniform(0.05, 0.1))
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), (m, d))
    return np.vstack([X, noise]), np.append(y, np.full(m, -1))


@entered(HELD_OUT)
def lattice(rng: Generator) -> Xy:
    """Centres on a grid, all at the same distance from their neighbours."""
    rows, columns = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    gap, d = rng.uniform(4.0, 6.0), int(rng.choice([2, 3, 6]))
    centers = np.zeros((rows * columns, d))
    centers[:, :2] = gap * np.array([(i, j) for i in range(rows) for j in range(columns)])
    n = draw_sizes(rng, len(centers))
    return stack([c + rng.standard_normal((m, d)) for c, m in zip(centers, n, strict=True)])


@entered(HELD_OUT)
def pairs(rng: Generator) -> Xy:
    """Clusters in pairs: near within a pair, far between pairs."""
    k, d = 2 * int(rng.integers(1, 6)), int(rng.choice([2, 4, 10]))
    middles = draw_centers(rng, k // 2, d, rng.uniform(10.0, 15.0)) if k > 2 else np.zeros((1, d))
    parts = []
    sizes = iter(draw_sizes(rng, k))
    for middle in middles:
        u = rng.standard_normal(d)
        half = u / np.linalg.norm(u) * rng.uniform(2.2, 3.0)
        parts += [middle + at * half + rng.standard_normal((next(sizes), d)) for at in (-1, 1)]
    return stack(parts)


@entered(HELD_OUT)
def stretched(rng: Generator) -> Xy:
    """Spheres seen through a linear map that all clusters share, as in correlated columns."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 4, 8, 16]))
    centers = draw_centers(rng, k, d, rng.uniform(5.0, 8.0))
    n = draw_sizes(rng, k)
    X, y = stack([c + rng.standard_normal((m, d)) for c, m in zip(centers, n, strict=True)])
    return X @ draw_shape(rng, d, 5.0).T, y


@entered(HELD_OUT)
def counts(rng: Generator) -> Xy:
    """Poisson counts with rates of their own, as square roots."""
    k, d = int(rng.integers(2, 9)), int(rng.choice([5, 10, 30]))
    roots = 3.0 + draw_centers(rng, k, d, rng.uniform(2.0, 3.5))
    n = draw_sizes(rng, k)
    X, y = stack([rng.poisson(r**2, (m, d)) for r, m in zip(roots, n, strict=True)])
    return np.sqrt(X), y


@entered(HELD_OUT)
def bows(rng: Generator) -> Xy:
    """Bent clusters: an arc of a circle, thick and turned at random."""
    k, d = int(rng.integers(2, 8)), int(rng.choice([2, 3]))
    centers = draw_centers(rng, k, d, rng.uniform(6.0, 9.0))
    parts = []
    for c, n in zip(centers, draw_sizes(rng, k), strict=True):
        angle, arc = rng.uniform(0, 2 * np.pi), rng.uniform(-1.0, 1.0, n)
        bow = np.zeros((n, d))
        bow[:, 0], bow[:, 1] = 2 * np.cos(angle + arc), 2 * np.sin(angle + arc)
        parts.append(c + bow - bow.mean(axis=0) + 0.4 * rng.standard_normal((n, d)))
    return stack(parts)


# Shapes without clusters, to judge the answer none by


@entered(SHAPES)
def ball(rng: Generator) -> NDArray:
    """Uniform in a ball."""
    d, n = int(rng.choice([2, 3, 5])), int(rng.integers(*POINTS))
    u = rng.standard_normal((n, d))
    return u / np.linalg.norm(u, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


@entered(SHAPES)
def rectangle(rng: Generator) -> NDArray:
    """Uniform, one side up to five times the other."""
    return rng.uniform(size=(int(rng.integers(*POINTS)), 2)) * (1.0, rng.uniform(1.0, 5.0))


@entered(SHAPES)
def normal(rng: Generator) -> NDArray:
    """One Gaussian in up to twenty dimensions, with the spreads of its axes falling."""
    d = int(rng.choice([2, 5, 20]))
    return rng.standard_normal((int(rng.integers(*POINTS)), d)) * np.arange(
        1, d + 1
    ) ** -rng.uniform(0, 1)


@entered(SHAPES)
def t10(rng: Generator) -> NDArray:
    """Multivariate t with ten degrees of freedom."""
    d, n = int(rng.choice([2, 5, 10])), int(rng.integers(*POINTS))
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(10, (n, 1)) / 10)


@entered(SHAPES)
def leaning(rng: Generator) -> NDArray:
    """Gamma of shape six in every column: a little skewed."""
    return rng.gamma(6.0, 1.0, (int(rng.integers(*POINTS)), int(rng.choice([2, 5, 10]))))


@entered(SHAPES)
def mixed_columns(rng: Generator) -> NDArray:
    """Independent columns, some Gaussian and some uniform."""
    n, d = int(rng.integers(*POINTS)), int(rng.choice([4, 8]))
    X = rng.standard_normal((n, d))
    X[:, ::2] = rng.uniform(-np.sqrt(3), np.sqrt(3), (n, len(range(0, d, 2))))
    return X


@entered(SHAPES)
def triangle(rng: Generator) -> NDArray:
    """Uniform in a triangle."""
    return np.asarray(rng.dirichlet(np.ones(3), int(rng.integers(*POINTS)))[:, :2])


@entered(SHAPES)
def arc(rng: Generator) -> NDArray:
    """A bent cloud, a sixth of a circle."""
    n = int(rng.integers(*POINTS))
    angle = rng.uniform(0, np.pi / 3, n)
    far = 5 + 0.8 * rng.standard_normal(n)
    return np.column_stack([far * np.cos(angle), far * np.sin(angle)])


# All sets of a table


def draw(table: dict, seed: int, name: str, number: int) -> Set:
    """Set `number` of a family; 1 is the k of shapes without clusters."""
    made = table[name](np.random.default_rng([seed, list(table).index(name), number]))
    X, y = made if isinstance(made, tuple) else (made, np.zeros(len(made), dtype=int))
    rows = np.random.default_rng([seed, number]).permutation(len(X))
    return Set(f"{name} {number}", X[rows], y[rows], int(y.max()) + 1)


def development(each: int = 48) -> Iterator[Set]:
    """Sets to develop on, a family at a time."""
    return (draw(DEVELOPMENT, 22, name, b) for name in DEVELOPMENT for b in range(each))


def held_out(each: int = 12) -> Iterator[Set]:
    """Sets to judge by."""
    return (draw(HELD_OUT, 24, name, b) for name in HELD_OUT for b in range(each))


def shapes(each: int = 25) -> Iterator[Set]:
    """Shapes without clusters to judge by."""
    return (draw(SHAPES, 25, name, b) for name in SHAPES for b in range(each))
