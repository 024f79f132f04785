"""How often does `null_reference` raise a false alarm, can points be flagged, and what does it say of the data sets?

`python -m experiments.research.null.run` is a trial of some minutes and goes to `results/quick`; `--full` takes an hour or
two. A part that is finished (`--part level axes outliers flags sets`) can be run again alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from clustertrust import CAKE, NullReference, null_reference
from clustertrust.null import FAMILIES
from experiments.paper import data, drawing
from experiments.paper.page import markdown, save_figure
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, into_page

LEVEL = 0.05
RATE = 0.1  # the share of false flags that is aimed at
Cloud = Callable[[np.random.Generator, int], NDArray]


class Size(NamedTuple):
    """How much is run."""

    points: int
    runs: int
    surrogates: int
    repetitions: int
    sets: tuple[str, ...]
    clusters: range
    most: int  # points taken of a data set
    axes: int  # repetitions of the part that compares boxes


# 1/20 is 0.05 to the point: with 19 surrogates the level is not blurred by the grid of p-values.
QUICK = Size(200, 5, 19, 20, ("Ir", "S4"), range(2, 5), 500, 20)
FULL = Size(300, 10, 19, 100, data.ALL, range(2, 13), 1000, 200)


# Clouds without clusters, and a k at which k-means cuts them well


def _box(*sides: float) -> Cloud:
    return lambda rng, n: rng.uniform(size=(n, len(sides))) * sides


def _gaussian(*std: float) -> Cloud:
    return lambda rng, n: rng.standard_normal((n, len(std))) * std


def _triangle(rng: np.random.Generator, n: int) -> NDArray:
    return rng.dirichlet([1, 1, 1], n) @ np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])


def _disc(rng: np.random.Generator, n: int) -> NDArray:
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(size=n))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _arc(rng: np.random.Generator, n: int) -> NDArray:
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((n, 2))


def _ring(rng: np.random.Generator, n: int) -> NDArray:
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((n, 2))


def _skewed(rng: np.random.Generator, n: int) -> NDArray:
    return rng.exponential(size=(n, 2))


def _very_skewed(rng: np.random.Generator, n: int) -> NDArray:
    return rng.lognormal(size=(n, 2))


def _heavy(rng: np.random.Generator, n: int) -> NDArray:
    return rng.standard_normal((n, 2)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3)


CLOUDS: dict[str, tuple[str, Cloud, int]] = {
    "square": ("claimed", _box(1, 1), 4),
    "rectangle 3:1": ("claimed", _box(3, 1), 3),
    "cube in 5 dimensions": ("claimed", _box(1, 1, 1, 1, 1), 3),
    "round Gaussian": ("claimed", _gaussian(1, 1), 3),
    "Gaussian 4:1": ("claimed", _gaussian(4, 1), 2),
    "Gaussian in 5 dimensions": ("claimed", _gaussian(3, 2, 1, 1, 1), 3),
    "triangle": ("other", _triangle, 3),
    "disc": ("other", _disc, 3),
    "half ring": ("other", _arc, 3),
    "ring": ("other", _ring, 4),
    "exponential": ("other", _skewed, 3),
    "log-normal": ("other", _very_skewed, 3),
    "Student t, 3 degrees": ("other", _heavy, 3),
}


def ask(X: NDArray, k: int, size: Size, seed: int, **options: Any) -> NullReference:
    """Ask for the null reference at k, without what k-means has to say."""
    with hushed():
        cake = CAKE(k, n_runs=size.runs, random_state=seed)
        return null_reference(X, cake, n_surrogates=size.surrogates, level=LEVEL, **options)


def interval(hits: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""
    low = beta.ppf(0.025, hits, of - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, of - hits) if hits < of else 1.0
    return float(low), float(high)


def flagged(null: NullReference, rate: float = RATE) -> NDArray[np.bool_]:
    """Points that Benjamini and Hochberg would flag by the shares of pooled null scores at or above their own."""
    scores = null.confidence.scores
    p = np.max(
        [
            (1 + len(of) - np.searchsorted(of, scores, side="left")) / (1 + len(of))
            for of in null.pooled.values()
        ],
        axis=0,
    )
    order = np.sort(p)
    below = np.flatnonzero(order <= rate * np.arange(1, len(p) + 1) / len(p))
    return p <= order[below[-1]] if below.size else np.zeros(len(p), dtype=bool)


def level(size: Size) -> Iterator[dict[str, Any]]:
    """Share of data sets without clusters that are called structured, that have a cluster or a point so called."""
    for at, (name, (kind, draw, k)) in enumerate(CLOUDS.items()):
        found = []
        for repetition in range(size.repetitions):
            X = draw(np.random.default_rng([1, at, repetition]), size.points)
            null = ask(X, k, size, repetition)
            found.append(
                {
                    "box": null.p_values["box"] <= LEVEL,
                    "gaussian": null.p_values["gaussian"] <= LEVEL,
                    "structured": null.structured,
                    "some cluster": bool(null.clusters()["structured"].any()),
                    "some point": bool(flagged(null).any()),
                }
            )
        for quantity, alarms in pd.DataFrame(found).items():
            low, high = interval(int(alarms.sum()), len(alarms))
            yield {
                "cloud": name,
                "kind": kind,
                "k": k,
                "quantity": quantity,
                "rate": float(alarms.mean()),
                "low": low,
                "high": high,
                "repetitions": len(alarms),
            }
        tell(f"level: {name}")


def plain_box(X: NDArray) -> Callable[[np.random.Generator], NDArray]:
    """The box that the data fill along their principal axes, as surrogates were drawn before: for comparison."""
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    along = (X - mean) @ axes.T
    return lambda rng: mean + rng.uniform(along.min(axis=0), along.max(axis=0), along.shape) @ axes


# name: cloud, k, and the families whose own null it is
ELONGATED: dict[str, tuple[Cloud, int, tuple[str, ...]]] = {
    "rectangle 2:1": (_box(2, 1), 3, ("box", "plain box")),
    "box 3:2:1:1:1": (_box(3, 2, 1, 1, 1), 3, ("box", "plain box")),
    "Gaussian 2:1": (_gaussian(2, 1), 3, ("gaussian",)),
}
AXES_POINTS, AXES_RUNS = 100, 3


def axes(size: Size) -> Iterator[dict[str, Any]]:
    """False alarms at 5 and 10 % of the family that the data come from, where one axis is longer than another.

    Beside those of the box of the ranges along the axes. The verdict, which takes the larger p-value, has fewer.
    """
    FAMILIES.pop("hull", None)  # seeds follow the order of the table: this keeps those that were
    FAMILIES["plain box"] = plain_box
    small = size._replace(runs=AXES_RUNS)
    for at, (name, (draw, k, families)) in enumerate(ELONGATED.items()):
        found = []
        for repetition in range(size.axes):
            X = draw(np.random.default_rng([3, at, repetition]), AXES_POINTS)
            found.append(ask(X, k, small, repetition, families=families).p_values)
        for family, p in pd.DataFrame(found).items():
            alarms = {allowed: int((p <= allowed + 1e-9).sum()) for allowed in (LEVEL, 2 * LEVEL)}
            row: dict[str, Any] = {"cloud": name, "k": k, "family": family}
            for allowed, hits in alarms.items():
                low, high = interval(hits, len(p))
                row |= {
                    f"at {allowed:g}": hits / len(p),
                    f"low {allowed:g}": low,
                    f"high {allowed:g}": high,
                }
            yield row | {"mean p": float(p.mean()), "repetitions": len(p)}
        tell(f"axes: {name}")


def outliers(size: Size) -> Iterator[dict[str, Any]]:
    """Share called structured of one cloud with six points far out, and again without the points that are named."""
    small = size._replace(runs=AXES_RUNS)
    for at, (name, draw) in enumerate(
        {"square": _box(1, 1), "round Gaussian": _gaussian(1, 1)}.items()
    ):
        found = []
        for repetition in range(max(10, size.axes // 10)):
            rng = np.random.default_rng([4, at, repetition])
            X = draw(rng, AXES_POINTS)
            angle = rng.uniform(0, 2 * np.pi, 6)
            X[:6] = X.mean(axis=0) + 30 * X.std() * np.column_stack([np.cos(angle), np.sin(angle)])
            null = ask(X, 3, small, repetition)
            rest = ask(np.delete(X, null.far_out, axis=0), 3, small, repetition)
            found.append(
                (null.structured, rest.structured, np.array_equal(null.far_out, np.arange(6)))
            )
        shares = dict(
            zip(
                ("structured", "without those named", "the six named"),
                np.mean(found, axis=0),
                strict=True,
            )
        )
        yield {"cloud": name, "k": 3, **shares, "repetitions": len(found)}
        tell(f"outliers: {name}")


def _blobs_in_noise(rng: np.random.Generator, n: int) -> tuple[NDArray, NDArray]:
    half = n // 2
    blobs = 0.05 * rng.standard_normal((half, 2)) + rng.choice([[0.2, 0.2], [0.8, 0.8]], half)
    return np.vstack([blobs, rng.uniform(size=(n - half, 2))]), np.arange(n) >= half


def _blob_beside_square(rng: np.random.Generator, n: int) -> tuple[NDArray, NDArray]:
    third = n // 3
    blob = 0.05 * rng.standard_normal((third, 2)) + [2.0, 0.5]
    return np.vstack([blob, rng.uniform(size=(n - third, 2))]), np.arange(n) >= third


MIXED = {
    "two blobs in uniform noise": (_blobs_in_noise, 2),
    "a blob beside a uniform square": (_blob_beside_square, 3),
}


def flags(size: Size) -> Iterator[dict[str, Any]]:
    """Of the points flagged where half the data have structure: the share that has none, on average."""
    for at, (name, (draw, k)) in enumerate(MIXED.items()):
        shares, kept = [], []
        for repetition in range(size.repetitions):
            X, plain = draw(np.random.default_rng([2, at, repetition]), size.points)
            chosen = flagged(ask(X, k, size, repetition))
            shares.append(float(plain[chosen].mean()) if chosen.any() else 0.0)
            kept.append(float(chosen.mean()))
        error = float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
        yield {
            "data": name,
            "k": k,
            "aimed at": RATE,
            "false share": float(np.mean(shares)),
            "standard error": error,
            "flagged": float(np.mean(kept)),
            "repetitions": len(shares),
        }
        tell(f"flags: {name}")


def sets(size: Size) -> Iterator[dict[str, Any]]:
    """What it says of the paper's data sets, k by k; permuted columns beside the two families of the verdict."""
    for name in size.sets:
        case = data.load(name, noise_is_class=False)
        for k in sorted({*size.clusters, case.k}):
            null = ask(
                case.X, k, size, 0, families=("box", "gaussian", "permuted"), max_points=size.most
            )
            row = {
                "dataset": name,
                "classes": case.k,
                "k": k,
                "mean score": null.mean,
                "excess": null.excess,
            }
            row |= {f"null {family}": float(null.means[family].mean()) for family in null.families}
            row |= {f"p {family}": p for family, p in null.p_values.items()}
            yield row | {
                "structured": null.structured,
                "clusters": int(null.clusters()["structured"].sum()),
            }
        tell(f"sets: {name}")


PARTS: dict[str, Callable[[Size], Iterator[dict[str, Any]]]] = {
    "level": level,
    "axes": axes,
    "outliers": outliers,
    "flags": flags,
    "sets": sets,
}


def tell(what: str) -> None:
    """Say on standard error what is done, and when."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def table(part: str, rows: pd.DataFrame) -> str:
    """The rows of a part as Markdown."""
    if part == "level":
        return markdown(
            ["cloud", "kind", "k", *dict.fromkeys(rows["quantity"])],
            [
                [*names, *(f"{r.rate:.3f} ({r.low:.3f}–{r.high:.3f})" for r in of.itertuples())]
                for names, of in rows.groupby(["cloud", "kind", "k"], sort=False)
            ],
        )
    if part == "axes":
        levels = (LEVEL, 2 * LEVEL)
        return markdown(
            [
                "cloud",
                "k",
                "family",
                *(f"false alarms at {100 * at:g} %" for at in levels),
                "mean p (uniform: 0.525)",
            ],
            [
                [r["cloud"], r["k"], r["family"]]
                + [
                    f"{r[f'at {at:g}']:.3f} ({r[f'low {at:g}']:.3f}–{r[f'high {at:g}']:.3f})"
                    for at in levels
                ]
                + [f"{r['mean p']:.3f}"]
                for r in rows.to_dict("records")
            ],
        )
    if part == "sets":
        return markdown(
            [
                "data set",
                "classes",
                "structured at k =",
                "not at k =",
                "permuted as high (p > 0.05) at k =",
            ],
            [
                [
                    name,
                    of["classes"].iloc[0],
                    *(
                        ", ".join(map(str, of.loc[chosen, "k"])) or "–"
                        for chosen in (
                            of["structured"],
                            ~of["structured"],
                            of["p permuted"] > LEVEL,
                        )
                    ),
                ]
                for name, of in rows.groupby("dataset", sort=False)
            ],
        )
    return markdown(
        list(rows),
        [[f"{v:.3f}" if isinstance(v, float) else v for v in row] for row in rows.to_numpy()],
    )


def draw_level(rows: pd.DataFrame) -> Any:
    """False-alarm rates with their intervals."""
    figure, axes = drawing.grid(
        1, 1, height=4.2, title="Clouds without clusters that are called structured"
    )
    ax = axes[0, 0]
    rows = rows[rows["quantity"] == "structured"].iloc[::-1]
    colours = [drawing.BLUE if kind == "claimed" else drawing.VERMILION for kind in rows["kind"]]
    ax.hlines(rows["cloud"], rows["low"], rows["high"], colors=colours)
    ax.scatter(rows["rate"], rows["cloud"], c=colours, zorder=3)
    ax.axvline(LEVEL, color=drawing.GREY, linestyle="--")
    ax.set(
        xlabel="share called structured, with its 95 % interval (blue: claimed, red: other shapes)",
        xlim=(-0.01, 1),
    )
    return figure


def draw_sets(rows: pd.DataFrame) -> Any:
    """Mean score against k beside the two families, one panel a data set."""
    names = list(dict.fromkeys(rows["dataset"]))
    title = "Mean score of the data and of data without clusters, k by k (dots: called structured)"
    figure, axes = drawing.grid(-(-len(names) // 5), 5, height=1.9, title=title)
    for ax, name in zip(axes.flat, names, strict=False):
        of = rows[rows["dataset"] == name]
        ax.plot(of["k"], of["mean score"], color=drawing.BLUE, label="data")
        for family, colour in (
            ("box", drawing.ORANGE),
            ("gaussian", drawing.GREEN),
            ("permuted", drawing.GREY),
        ):
            ax.plot(of["k"], of[f"null {family}"], color=colour, label=family, linewidth=1)
        there = of[of["structured"]]
        ax.scatter(there["k"], there["mean score"], color=drawing.BLUE, s=16)
        ax.set_title(f"{name} ({of['classes'].iloc[0]} classes)", fontsize=9)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("clusters, k", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("mean score", fontsize=9)
    axes[0, 0].legend(fontsize=7)
    return figure


DRAWINGS = {"level": draw_level, "sets": draw_sets}


def write_part(part: str, size: Size, out: Path) -> None:
    """Run a part and write its rows, table and picture."""
    rows = pd.DataFrame(list(PARTS[part](size)))
    write(out / f"null_{part}.csv", rows.to_csv(index=False, float_format="%.6g"))
    drawn = f"{size.points} points, {size.repetitions} repetitions"
    points = f"at most {size.most} points" if part == "sets" else drawn
    runs = size.runs
    if part in {"axes", "outliers"}:
        runs, points = (
            AXES_RUNS,
            f"{AXES_POINTS} points, {int(rows['repetitions'].iloc[0])} repetitions",
        )
    how = (
        f"{runs} runs, {size.surrogates} surrogates of each family, {points}. "
        f"Made by `python -m experiments.research.null.run{' --full' if size is FULL else ''}`."
    )
    text = f"{how}\n\n{table(part, rows)}\n"
    write(out / f"null_{part}.md", text)
    if size is FULL:
        into_page("null.md", part, text)
    if part in DRAWINGS:
        save_figure(DRAWINGS[part](rows), out / f"null_{part}.png")


def main() -> None:
    """Run what was asked for."""
    parser = command("null", __doc__, "an hour or two instead of minutes")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    data.find_data()
    for part in arguments.part:
        size, out = FULL if arguments.full else QUICK, folder("null", full=arguments.full)
        write_part(part, size, out)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    main()
