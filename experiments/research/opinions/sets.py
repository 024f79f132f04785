"""Data sets that second opinions are judged on: written down before any of them was clustered.

Twenty-six generated ones, of families that neither `development.py` nor `heldout.py` has, each with a seed of its own,
and twenty-five real ones from R packages of Debian that neither of them used (`export.R` writes them as CSV files; the folder
is that of CLUSTERTRUST_OPINIONS). Columns of real sets are standardised, constant ones dropped; of more than 3,000 rows a
seeded draw of 3,000 is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import qr
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA

from experiments.research.heldout import NOISE, Set, stack

Xy = tuple[NDArray, NDArray]
MOST = 3000
FOLDER = "CLUSTERTRUST_OPINIONS"

REAL = (
    *("Shuttle", "banknote", "biomed", "bloodtransfusion", "cells", "credit_data", "diabetes"),
    *("ecoli_cpvsim", "fruit", "gemsen_MvsF", "groessen_MvsF", "haberman", "heart", "hpc_data"),
    *("indian_liver_patient_1vs2", "mnist_27", "oils", "olitos", "olive", "salmon", "tae"),
    *("thyroid", "tissue_gene_expression", "two_class_dat", "vertebral_column"),
)


def rotation(rng: Generator, d: int) -> NDArray:
    """A random orthogonal matrix."""
    return np.asarray(qr(rng.standard_normal((d, d)))[0])


def ellipsoid(rng: Generator, d: int, eccentricity: float) -> NDArray:
    """A covariance with standard deviations from 1 down to 1 / eccentricity, in random directions."""
    Q = rotation(rng, d)
    return np.asarray((Q * np.geomspace(1, 1 / eccentricity, d) ** 2) @ Q.T)


def apart(rng: Generator, k: int, d: int, sizes: list[int], eccentricity: float, gap: float) -> Xy:
    """Ellipsoids of which each pair is about `gap` pooled standard deviations apart, or more."""
    covariances = [ellipsoid(rng, d, eccentricity) for _ in range(k)]
    centers = [np.zeros(d)]
    while len(centers) < k:
        step = rng.standard_normal(d)
        step *= 0.2 / np.linalg.norm(step)
        start = centers[rng.integers(len(centers))]
        for reach in range(1, 500):
            center = start + reach * step
            new = covariances[len(centers)]
            near = min(
                (center - c) @ np.linalg.solve((C + new) / 2, center - c)
                for c, C in zip(centers, covariances, strict=False)
            )
            if near >= gap**2:
                break
        centers.append(center)
    parts = [
        rng.multivariate_normal(c, C, n)
        for c, C, n in zip(centers, covariances, sizes, strict=True)
    ]
    return stack(parts)


def overlap_3d(rng: Generator) -> Xy:
    """Ellipsoids that overlap much."""
    return apart(rng, 4, 3, [300] * 4, 4.0, 2.2)


def overlap_8d(rng: Generator) -> Xy:
    """The same in eight dimensions."""
    return apart(rng, 5, 8, [250] * 5, 6.0, 2.6)


def overlap_15d(rng: Generator) -> Xy:
    """Six of them, of unequal sizes."""
    return apart(rng, 6, 15, [500, 300, 200, 150, 100, 60], 5.0, 3.0)


def eccentric_2d(rng: Generator) -> Xy:
    """Needles in all directions."""
    return apart(rng, 5, 2, [250] * 5, 12.0, 4.0)


def vertices_10d(rng: Generator) -> Xy:
    """Scikit-learn's classification sets: corners of a cube, with useless columns."""
    X, y = make_classification(
        1200, 10, n_informative=4, n_redundant=2, n_classes=4, n_clusters_per_class=1,
        class_sep=1.6, flip_y=0.0, random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    return np.asarray(X), np.asarray(y)


def few_columns_25d(rng: Generator) -> Xy:
    """Three columns that matter, twenty-two that do not."""
    centers = rng.uniform(-4, 4, (4, 3))
    y = np.repeat(np.arange(4), 300)
    return np.hstack(
        [centers[y] + rng.standard_normal((1200, 3)), rng.standard_normal((1200, 22))]
    ), y


def crossed_2d(rng: Generator) -> Xy:
    """Two long clusters that cross."""
    long = rng.standard_normal((2, 500, 2)) * (4.0, 0.4)
    return stack([long[0], long[1] @ np.array([[0.5, 0.87], [-0.87, 0.5]])])


def waves_2d(rng: Generator) -> Xy:
    """Three ribbons, one above the other."""
    t = rng.uniform(0, 4 * np.pi, (3, 350))
    parts = [
        np.column_stack([t[j], 1.5 * np.sin(t[j]) + 2.2 * j + 0.3 * rng.standard_normal(350)])
        for j in range(3)
    ]
    return stack(parts)


def helices_3d(rng: Generator) -> Xy:
    """Two that wind around one axis."""
    parts = []
    for start in (0, np.pi):
        t = rng.uniform(0, 3 * np.pi, 450)
        helix = np.column_stack([2 * np.cos(t + start), 2 * np.sin(t + start), t])
        parts.append(helix + 0.35 * rng.standard_normal((450, 3)))
    return stack(parts)


def boomerangs_4d(rng: Generator) -> Xy:
    """Bent in one direction each, thick in the others."""
    parts = []
    for center in rng.uniform(-5, 5, (4, 4)):
        Z = rng.standard_normal((300, 4))
        Z[:, 1] += Z[:, 0] ** 2 - 1
        parts.append(center + Z @ rotation(rng, 4))
    return stack(parts)


def subspaces_12d(rng: Generator) -> Xy:
    """Each cluster is spread over two directions of its own."""
    parts = []
    for _ in range(4):
        directions = rotation(rng, 12)[:2]
        parts.append(
            3 * rng.standard_normal((300, 2)) @ directions + 0.6 * rng.standard_normal((300, 12))
        )
    return stack(parts)


def factor_analysers_30d(rng: Generator) -> Xy:
    """Correlated in other ways in each cluster."""
    parts = []
    for center in rng.standard_normal((5, 30)) * 0.7:
        loadings = rng.standard_normal((3, 30))
        parts.append(
            center + rng.standard_normal((220, 3)) @ loadings + rng.standard_normal((220, 30))
        )
    return stack(parts)


def tree_4d(rng: Generator) -> Xy:
    """Three groups of three."""
    leaves = np.repeat(rng.standard_normal((3, 4)) * 6, 3, axis=0) + rng.standard_normal((9, 4)) * 2
    return stack([leaf + rng.standard_normal((140, 4)) for leaf in leaves])


def grid_2d(rng: Generator) -> Xy:
    """Sixteen in rows and columns, shifted a little."""
    corners = np.array([(i, j) for i in range(4) for j in range(4)]) * 3.4 + rng.uniform(
        -0.5, 0.5, (16, 2)
    )
    return stack(
        [corner + rng.standard_normal((90, 2)) * rng.uniform(0.4, 1.0) for corner in corners]
    )


def rare_6d(rng: Generator) -> Xy:
    """One large cluster and three of a fiftieth of its size."""
    centers = [np.zeros(6), *(4.5 * v / np.linalg.norm(v) for v in rng.standard_normal((3, 6)))]
    sizes, spreads = (1500, 30, 30, 30), (1.0, 0.5, 0.5, 0.5)
    parts = [
        c + s * rng.standard_normal((n, 6)) for c, n, s in zip(centers, sizes, spreads, strict=True)
    ]
    return stack(parts)


def lognormal_10d(rng: Generator) -> Xy:
    """Exponentials of Gaussians, as amounts of money are."""
    return stack(
        [
            np.exp(c + 0.6 * rng.standard_normal((300, 10)))
            for c in rng.standard_normal((4, 10)) * 0.5
        ]
    )


def logs_of_amounts_10d(rng: Generator) -> Xy:
    """Their logarithms with some amounts that are 0, as log(1 + x)."""
    X, y = stack([np.exp(c + rng.standard_normal((300, 10))) for c in rng.standard_normal((4, 10))])
    return np.log1p(np.where(rng.random(X.shape) < 0.2, 0.0, X)), y


def cauchy_3d(rng: Generator) -> Xy:
    """Tails so heavy that they have no mean, in one point of ten."""
    X, y = stack([c + rng.standard_normal((350, 3)) for c in rng.uniform(-6, 6, (4, 3))])
    wild = rng.random(len(X)) < 0.1
    X[wild] += np.clip(rng.standard_cauchy((int(wild.sum()), 3)), -30, 30)
    return X, y


def likert_15d(rng: Generator) -> Xy:
    """Answers from 1 to 5 to fifteen questions, of four kinds of people."""
    leanings = rng.standard_normal((4, 15))
    y = np.repeat(np.arange(4), 280)
    habits = 0.6 * rng.standard_normal((len(y), 1))
    return np.clip(np.round(3 + leanings[y] + habits + rng.standard_normal((len(y), 15))), 1, 5), y


def gene_counts_50d(rng: Generator) -> Xy:
    """Overdispersed counts of 300 genes in five kinds of cells, logs, 50 principal components."""
    base = rng.gamma(0.6, 2.0, 300)
    parts = []
    for size in (500, 300, 200, 120, 80):
        rates = base * np.where(rng.random(300) < 0.12, rng.lognormal(0, 1.0, 300), 1.0)
        depth = rng.lognormal(0, 0.3, (size, 1))
        parts.append(rng.poisson(rng.gamma(1.5, rates * depth / 1.5)))
    X, y = stack(parts)
    return PCA(50, random_state=0).fit_transform(np.log1p(X)), y


def words_40d(rng: Generator) -> Xy:
    """Counts of 400 words in texts about six subjects, root shares, 40 principal components."""
    common = rng.dirichlet(np.full(400, 0.3))
    parts = []
    for _ in range(6):
        subject = 0.72 * common + 0.28 * rng.dirichlet(np.full(400, 0.05))
        parts.append(np.array([rng.multinomial(n, subject) for n in rng.integers(40, 160, 200)]))
    X, y = stack(parts)
    return PCA(40, random_state=0).fit_transform(np.sqrt(X / X.sum(axis=1, keepdims=True))), y


def curves_60d(rng: Generator) -> Xy:
    """Noisy curves of five shapes, shifted a little."""
    t = np.linspace(0, 1, 60)
    shapes = (
        lambda u: np.sin(2 * np.pi * u), lambda u: np.sin(4 * np.pi * u), lambda u: 2 * u - 1,
        lambda u: np.exp(-((u - 0.5) ** 2) / 0.02), lambda u: np.sign(u - 0.5),
    )  # fmt: skip
    parts = [
        np.array([shape(t + s) for s in rng.normal(0, 0.06, 180)]) * rng.uniform(0.6, 1.4, (180, 1))
        for shape in shapes
    ]
    X, y = stack(parts)
    return X + 0.5 * rng.standard_normal(X.shape), y


def bars_64d(rng: Generator) -> Xy:
    """Small pictures of bars, crosses and squares."""
    pictures = np.zeros((4, 8, 8))
    pictures[0, 3:5] = pictures[1, :, 3:5] = pictures[2, 1:7, 1:7] = 1
    pictures[3] = np.maximum(pictures[0], pictures[1])
    y = np.repeat(np.arange(4), 250)
    moved = np.array([np.roll(pictures[j], rng.integers(-1, 2, 2), (0, 1)) for j in y])
    return (moved + 0.6 * rng.standard_normal(moved.shape)).reshape(len(y), -1), y


def noisy_needles_4d(rng: Generator) -> Xy:
    """Ellipsoids in noise, a quarter of them."""
    X, y = apart(rng, 4, 4, [250] * 4, 6.0, 5.0)
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), (250, 4))
    return np.vstack([X, noise]), np.append(y, np.full(250, NOISE))


def sectors_2d(rng: Generator) -> Xy:
    """A ring of five arcs with gaps between them."""
    parts = []
    for j in range(5):
        angle = 2 * np.pi * (j + rng.uniform(0.08, 0.92, 220)) / 5
        radius = rng.uniform(2.0, 3.0, 220)
        parts.append(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    return stack(parts)


def triangles_2d(rng: Generator) -> Xy:
    """Uniform triangles of other sizes that meet at corners."""
    corners = rng.uniform(-5, 5, (5, 3, 2))
    parts = []
    for triangle in corners:
        weights = rng.dirichlet(np.ones(3), 240)
        parts.append(weights @ triangle)
    return stack(parts)


GENERATED = (
    *(overlap_3d, overlap_8d, overlap_15d, eccentric_2d, vertices_10d, few_columns_25d, crossed_2d),
    *(waves_2d, helices_3d, boomerangs_4d, subspaces_12d, factor_analysers_30d, tree_4d, grid_2d),
    *(rare_6d, lognormal_10d, logs_of_amounts_10d, cauchy_3d, likert_15d, gene_counts_50d),
    *(words_40d, curves_60d, bars_64d, noisy_needles_4d, sectors_2d, triangles_2d),
)


def generated() -> Iterator[Set]:
    """The generated sets, in order."""
    for position, draw in enumerate(GENERATED):
        X, y = draw(np.random.default_rng([31, position]))
        yield Set(draw.__name__, np.asarray(X, dtype=np.float64), y, len(np.unique(y[y != NOISE])))


def real() -> Iterator[Set]:
    """The real sets, in order; none where their folder is not named."""
    if FOLDER not in os.environ:
        return
    for name in REAL:
        table = pd.read_csv(Path(os.environ[FOLDER]) / f"{name}.csv")
        if len(table) > MOST:
            table = table.sample(MOST, random_state=0)
        X = table.iloc[:, :-1].to_numpy(np.float64)
        X = X[:, X.std(axis=0) > 0]
        y = np.unique(table.iloc[:, -1].astype(str).to_numpy(), return_inverse=True)[1]
        yield Set(name, (X - X.mean(axis=0)) / X.std(axis=0), y, int(y.max()) + 1)
