"""Has a change moved a number? Results over all options, saved before it and compared after.

`python -m benchmarks.same save FILE` before, `python -m benchmarks.same compare FILE` after, on one
machine. Everything must be equal to the bit. The cases cover fits, audits, answers, tables, files
and the command; `compare FILE 1e-12` allows for that relative difference, and counts what is not
equal to the bit.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons

from clustertrust import CAKE, Metric, Runs, audit, choose_k, confidence, null_reference
from clustertrust.answers import ask, decide
from clustertrust.cli import cli
from clustertrust.columns import FIELDS
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import read_table
from clustertrust.geometry import Graph, Kernel, silhouettes

IRIS, WINE = load_iris().data, load_wine().data
MOONS = make_moons(150, noise=0.1, random_state=0)[0]
GEOMETRIES = ("exact", "centroid", "rms", "sampled", "kernel", "graph")
SCORING = {
    "fusion": ("harmonic", "product", "refined"),
    "agreement": ("matching", "jaccard"),
    "unassigned": ("skip", "disagree"),
    "normalization": ("clip", "affine"),
    "consensus": ("medoid", "best-reference"),
}


def with_kernel(kernel: str, **params: Any) -> dict[str, Any]:
    """Return the options of kernel silhouettes."""
    return {"geometry": Kernel(kernel, **params)}


def with_graph(**params: Any) -> dict[str, Any]:
    """Return the options of graph silhouettes."""
    return {"geometry": Graph(**params)}


def with_metric(metric: str, **params: Any) -> dict[str, Any]:
    """Return the options of a metric with parameters."""
    return {"metric": Metric(metric, params)}


def with_runs(n_runs: Any = 20, **params: Any) -> dict[str, Any]:
    """Return the options of runs: what happens to points that are left out, or to failures."""
    return {"n_runs": Runs(n_runs, **params)}


def fitted(X: Any, new: Any, **settings: Any) -> dict[str, np.ndarray]:
    """All that a fit gives: fields, labels of the runs, and what it says of unseen points."""
    cake = CAKE(random_state=0, **settings).fit(X)
    found = {name: getattr(cake, f"{name}_") for name in FIELDS}
    found |= {"runs": cake.ensemble_.labels, "predict": cake.predict(new)}
    return found | {"score_samples": cake.score_samples(new), "reference": cake.reference_run_}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names, and arrays by name."""
    for name in CLUSTERERS:
        k = None if name in {"hdbscan", "leiden"} else 3
        yield (
            f"clusterer {name}",
            fitted(IRIS, WINE[:9, :4], n_clusters=k, clusterer=name, n_runs=4),
        )
    for geometry in GEOMETRIES:
        yield f"geometry {geometry}", fitted(WINE, WINE[:9] + 1, n_clusters=3, geometry=geometry)
    for metric in ("manhattan", "cosine", "sqeuclidean", "correlation"):
        yield f"metric {metric}", fitted(WINE, WINE[:9], n_clusters=3, metric=metric, n_runs=5)
    for kernel in ("rbf", "linear", "polynomial"):
        how = with_kernel(kernel)
        yield f"kernel {kernel}", fitted(IRIS, IRIS[:9], n_clusters=3, n_runs=5, **how)
    how = with_kernel("polynomial", gamma=0.1, degree=2, coef0=0.5)
    yield "kernel parameters", fitted(IRIS, IRIS[:9], n_clusters=3, n_runs=5, **how)
    how = with_graph(n_neighbors=9, n_steps=3)
    yield "graph parameters", fitted(IRIS, IRIS[:9], n_clusters=3, n_runs=5, **how)
    how = with_metric("minkowski", p=3)
    yield "metric parameters", fitted(IRIS, IRIS[:9], n_clusters=3, n_runs=5, **how)
    for name in ("agglomerative", "hdbscan", "kmedoids", "leiden", "spectral"):
        k = None if name in {"hdbscan", "leiden"} else 3
        how = {"clusterer": name, "metric": "manhattan", "n_clusters": k, "n_runs": 4}
        yield f"by distance {name}", fitted(IRIS, IRIS[:9], **how)
    away = np.abs(IRIS[:, None] - IRIS).sum(axis=2)
    how = {"clusterer": "kmedoids", "metric": "precomputed", "n_clusters": 3, "n_runs": 4}
    yield "distances", fitted(away, away[:9], **how)
    mixed = pd.DataFrame(IRIS, columns=[*"abcd"]).assign(kind=[*"abcde"] * 30)
    how |= with_metric("gower", categorical=["d"]) | {"clusterer": "kmedoids"}
    yield "gower", fitted(mixed, mixed[:9], **how)
    for values in itertools.product(*SCORING.values()):
        how = dict(zip(SCORING, values, strict=True))
        more = {"resample": 0.7, **with_runs(6, left_out="skip")}
        yield f"scoring {values}", fitted(IRIS, IRIS[::9], n_clusters=3, **how, **more)
    yield "auto", fitted(MOONS, MOONS[:9], n_clusters=2, n_runs="auto", geometry="kernel")
    more = {"resample": 0.7, **with_runs(6, left_out="predict", on_failure="drop")}
    yield "left out", fitted(IRIS, IRIS[::9], n_clusters=3, **more)
    yield "bootstrap", fitted(IRIS, IRIS[:9], n_clusters=3, resample="bootstrap", n_runs=5)
    many = {"clusterer": ["kmeans", "gmm"], "vary": {"n_clusters": [2, 3, 4]}}
    yield "vary", fitted(IRIS, IRIS[:9], **many, n_runs=6)
    yield "sparse", fitted(sparse.csr_array(IRIS), sparse.csr_array(IRIS[:9]), n_clusters=3)
    runs = np.random.default_rng(0).integers(-1, 3, size=(150, 4))
    for geometry in GEOMETRIES:
        yield f"silhouettes {geometry}", {"s": silhouettes(IRIS, runs, geometry=geometry)}
        record = confidence(IRIS, runs, geometry=geometry)
        yield f"confidence {geometry}", {name: getattr(record, name) for name in FIELDS}
    with tempfile.TemporaryDirectory() as folder:
        mapped = np.lib.format.open_memmap(Path(folder, "x.npy"), "w+", np.float64, (400_000, 4))
        mapped[:] = np.random.default_rng(0).normal(size=mapped.shape)
        cake = CAKE(3, n_runs=3, random_state=0).fit(Path(folder, "x.npy"))
        names = ("scores", "stability", "geometry", "labels")
        yield "blocks", {name: np.array(getattr(cake, f"{name}_")) for name in names}
    null = null_reference(IRIS, CAKE(3, n_runs=4, random_state=0), n_surrogates=19)
    yield "null", {**null.means, "scores": null.confidence.scores}
    profile = choose_k(IRIS, range(2, 5), CAKE(n_runs=4, random_state=0))
    yield "profile", {"table": profile.to_frame().to_numpy(), "best": profile.best}
    yield from audits()
    yield from answered()
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield from commands()
        finally:
            os.chdir(before)


def audits() -> Iterator[tuple[str, dict[str, Any]]]:
    """Audits of given labels, with some of them wrong or missing."""
    X, y = load_wine(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y.astype(object)
    y[::17], y[5::31] = 1, None
    ways = {
        "plain": {},
        "refined": {"fusion": "refined"},
        "hdbscan": {"clusterer": "agglomerative"},
        "manhattan": {"metric": "manhattan"},
        "graph": with_graph(n_neighbors=9),
        "kernel": with_kernel("rbf", gamma=0.1),
    }
    ways = {name: {"classifier": None} | way for name, way in ways.items()}
    for name, way in (ways | {"trees": {}}).items():
        record = audit(X, y, n_runs=12, random_state=0, **way)
        parts = {field: getattr(record, field) for field in FIELDS}
        verdicts = pd.DataFrame(record.verdicts).astype(str).to_numpy(dtype=str)
        yield f"audit {name}", {**parts, "issues": record.issues, "verdicts": verdicts}


def answered() -> Iterator[tuple[str, dict[str, Any]]]:
    """Questions, learned scores and decisions, with classes in place of a person."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    cake = CAKE(2, n_runs=8, random_state=0, fusion="refined").fit(X)
    questions = ask(cake, 80, random_state=0)
    yield "ask", {"positions": questions.positions, "inclusion": questions.inclusion}
    answers = questions.answered(classes=y[questions.positions])
    decision = decide(cake, answers, risk=0.1)
    interval = decision.learned.interval
    yield "learned", {"scores": decision.learned.scores, "interval": interval}
    yield "decide", {"kept": decision.kept, "table": _as_text(decision.to_frame())}


def messy() -> pd.DataFrame:
    """A table as people have it: names, money, categories, missing values, codes, a date."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(load_wine().data[:, :4], columns=["alcohol", "acid", "ash", "alkali"])
    table.insert(0, "wine", [f"w{i:03}" for i in range(len(table))])
    table["price"] = [f"${1000 * value:,.0f}" for value in rng.gamma(2, size=len(table))]
    table["colour"] = rng.choice(["red", "white", "rosé"], len(table))
    table["zip"] = rng.integers(10000, 99999, len(table))
    table["tasted"] = pd.date_range("2024-01-01", periods=len(table)).strftime("%d.%m.%Y")
    table.loc[rng.choice(len(table), 9, replace=False), "ash"] = np.nan
    return table


def commands() -> Iterator[tuple[str, dict[str, Any]]]:
    """What commands write, as text: tables, models, plans and questions."""
    messy().to_csv("messy.csv", index=False)
    messy().to_csv("german.csv", index=False, sep=";", decimal=",")
    pd.DataFrame(WINE).to_parquet("wine.parquet")
    np.save("wine.npy", WINE)
    pd.DataFrame(IRIS[:9] + 0.01).to_csv("new.csv", index=False)
    pd.DataFrame(IRIS).to_csv("iris.csv", index=False)
    for name in ("messy.csv", "german.csv", "wine.parquet", "wine.npy", "iris.csv"):
        yield f"read {name}", {"rows": _as_text(read_table(name).data)}
        _run("score", name, "-k", "3", "--runs", "5", "--out", "out.csv")
        yield f"score {name}", _file("out.csv")
    ways = {
        "encoded": ("messy.csv", "--scale", "robust", "--encode", "onehot", "--impute", "mean"),
        "minmax": ("messy.csv", "--scale", "minmax", "--drop", "zip,price", "--drop-missing"),
        "gower": ("messy.csv", "--metric", "gower", "--clusterer", "kmedoids"),
        "kernel": ("iris.csv", "--geometry", "kernel", "--kernel", "rbf"),
        "resampled": ("iris.csv", "--resample", "0.7", "--left-out", "predict"),
        "refined": ("iris.csv", "--fusion", "refined", "--normalization", "affine"),
    }
    for name, way in ways.items():
        _run("score", *way, "-k", "3", "--runs", "5", "--out", "out.csv")
        yield f"score {name}", _file("out.csv")
    _run("score", "iris.csv", "-k", "3", "--runs", "5", "--out", "out.csv", "--model", "model")
    _run("predict", "model", "new.csv", "--out", "placed.csv")
    yield "predict", _file("placed.csv")
    _run("ask", "iris.csv", "out.csv", "--n", "40", "--out", "questions.csv")
    yield "command ask", _file("questions.csv")
    questions = pd.read_csv("questions.csv")
    questions["answer"] = np.where(load_iris().target[questions["row"]] == 0, "right", "wrong")
    questions.to_csv("answers.csv", index=False)
    _run("decide", "out.csv", "answers.csv", "--risk", "0.2", "--out", "kept.csv", "--all-rows")
    yield "command decide", _file("kept.csv")
    _run("choose-k", "iris.csv", "-k", "2:4", "--runs", "4", "--out", "k.csv")
    yield "command choose-k", _file("k.csv")


def _run(*args: str) -> None:
    done = CliRunner().invoke(cli, args)
    assert done.exit_code == 0, (args, done.output)


def _file(name: str) -> dict[str, np.ndarray]:
    """Return the columns of a written table as text, digit by digit."""
    table = pd.read_csv(name, dtype=str, keep_default_na=False)
    return {str(column): table[column].to_numpy(dtype=str) for column in table}


def _as_text(value: Any) -> np.ndarray:
    """Return a table with all its digits, whatever its columns are."""
    return pd.DataFrame(value).map(repr).to_numpy(dtype=str)


def arrays() -> dict[str, np.ndarray]:
    """Every result under its name; persistence is there for one fusion only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            f"{case}/{name}": np.asarray(value)
            for case, found in cases()
            for name, value in found.items()
            if value is not None
        }


def same(one: np.ndarray, other: np.ndarray, tolerance: float = 0.0) -> bool:
    """Return whether two results are equal, or within a relative tolerance."""
    if tolerance and one.dtype.kind == "U" and one.shape == other.shape:
        pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        return all(_same_text(*pair, tolerance) for pair in pairs)
    if one.dtype.kind != "f" or not tolerance:
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return one.shape == other.shape and np.allclose(one, other, tolerance, 1e-12, equal_nan=True)


def _same_text(one: str, other: str, tolerance: float) -> bool:
    try:
        return bool(np.isclose(float(one), float(other), tolerance, 1e-12, equal_nan=True))
    except ValueError:
        return one == other


def main() -> None:
    """Save, or compare and exit with 1 where a number moved."""
    what, path, *rest = sys.argv[1:]
    tolerance = float(rest[0]) if rest else 0.0
    after = arrays()
    if what == "save":
        np.savez_compressed(path, **after)
        print(f"{len(after)} arrays saved")
        return
    with np.load(path) as before:
        both = sorted(set(after) & set(before.files))
        touched = [name for name in both if not same(after[name], before[name])]
        moved = [name for name in touched if not same(after[name], before[name], tolerance)]
        missing = sorted(set(after) ^ set(before.files))
    print(
        f"{len(both)} arrays compared, {len(moved)} moved, {len(touched) - len(moved)} within "
        f"{tolerance:g}, {len(missing)} on one side only"
    )
    for name in [*moved, *missing]:
        print(f"  {name}")
    sys.exit(bool(moved or missing))


if __name__ == "__main__":
    main()
