"""Does an ensemble over several k rank points better than one k, and which agreement suits it?

What is ranked is the same for all: the consensus labels of twenty runs of k-means with one k, right or wrong against
the classes. The scores come from those runs, or from twenty whose numbers of clusters are drawn around k or from k to
2k; also crossed, stability of the latter with geometry of the former. Then the same with k too small or too large by
some: for the labels of the k asked for, which are what a user would have, and for those of the right k.

Two clusters A and B of two runs that hold a point agree on it by

- matching: 1 where they are partners (the paper),
- jaccard: |A ∩ B| / |A ∪ B|,
- element-centric: |A ∩ B| / max(|A|, |B|),
- containment: |A ∩ B| / min(|A|, |B|), which is 1 where one only cuts the other finer.

`python -m experiments.research.several_k.run` is a trial of seconds and goes to `results/quick`; `--full` takes some ten
minutes on one core. A data set that is finished is not run again: delete its rows, or the file, to run it anew.

References
----------
A. J. Gates, I. B. Wood, W. P. Hetrick, Y.-Y. Ahn, "Element-centric clustering comparison unifies overlaps and
hierarchy", Scientific Reports 9 (2019) 8574.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import Ensemble, build_ensemble, confidence
from clustertrust.cells import meet
from clustertrust.evaluation import auroc, correctness, student_interval
from clustertrust.fusion import harmonic
from clustertrust.stability import jaccard, overlap_sums
from experiments.paper import data, drawing
from experiments.paper.page import markdown, save_figure
from experiments.paper.protocols import PROTOCOLS
from experiments.paper.results import read, write
from experiments.paper.runs import METHODS, hushed
from experiments.research import command, folder, into_page

FAIR = PROTOCOLS["fair"]
RUNS = 20
KEYS = ["dataset", "off", "mixture", "target", "agreement", "signal"]
OFF = (0, -1, 1, 2)  # the k that is asked for, less the number of classes
TARGETS = ("right k", "asked k")
PAPER = ("one k", "matching")  # what others are compared with


def mixtures(k: int) -> dict[str, range]:
    """The numbers of clusters that runs draw from; at least two, since one cluster says nothing."""
    return {
        "one k": range(k, k + 1),
        "k-2 to k+2": range(max(2, k - 2), k + 3),
        "k to 2k": range(k, 2 * k + 1),
    }


def element_centric(shared: NDArray, first: NDArray, second: NDArray) -> NDArray:
    """S_i of Gates et al. (2019) for a point i of A and B: |A ∩ B| / max(|A|, |B|).

    By definition S_i = 1 - Σ_j |p_j - q_j| / (2α), where p_j = α/|A| for j in A, and 1 - α more at i itself; q is the
    same of B. What is added at i cancels. The m = |A ∩ B| common points add α m |1/|A| - 1/|B||, the others of A
    α (1 - m/|A|), those of B α (1 - m/|B|). So S_i = (m/|A| + m/|B| - m |1/|A| - 1/|B||) / 2 = m min(1/|A|, 1/|B|),
    whatever α is.
    """
    return shared / np.maximum(np.maximum(first, second), 1)


def containment(shared: NDArray, first: NDArray, second: NDArray) -> NDArray:
    """|A ∩ B| / min(|A|, |B|): 1 where one cluster lies in the other."""
    return shared / np.maximum(np.minimum(first, second), 1)


OVERLAPS = {"jaccard": jaccard, "element-centric": element_centric, "containment": containment}
AGREEMENTS = ("matching", *OVERLAPS)
CROSSED = (
    "stability with geometry of one k"  # harmonic mean of c of these runs and S̃ of those of one k
)
BESIDE = {
    "stability": "stability",
    "harmonic": "harmonic",
    CROSSED: "harmonic",
}  # signal of one k to compare with
SIGNALS = ("stability", "harmonic", CROSSED, "geometry")


class Size(NamedTuple):
    """How much is run."""

    repetitions: int  # at most; large sets have fewer
    sets: tuple[str, ...]


QUICK = Size(3, ("S4", "S5", "Ir", "Bc"))
FULL = Size(10, tuple(name for name in data.ALL if name not in ("Ng", "Fm")))


def build(case: data.Case, ks: range, repetition: int) -> Ensemble:
    """Twenty runs of k-means, each with a number of clusters drawn from `ks`."""
    method = METHODS[FAIR.method("kmeans", case.name)]
    seeds = list(FAIR.seeds(repetition, size=RUNS))
    return build_ensemble(
        case.X, method, vary={"n_clusters": ks}, n_runs=RUNS, random_state=seeds, n_jobs=1
    )


def signals(X: NDArray, ensemble: Ensemble) -> tuple[dict[tuple[str, str], NDArray], NDArray]:
    """Signals by (agreement, signal), and the consensus labels."""
    found = confidence(X, ensemble, geometry="exact", n_jobs=1)
    cells = meet(ensemble.labels)
    c = {"matching": found.stability}
    for name, overlap in OVERLAPS.items():
        c[name] = overlap_sums(cells, cells.rows, overlap).sum(axis=1)[cells.cell_of] / (
            RUNS * (RUNS - 1)
        )
    scores = {("", "geometry"): found.geometry}
    for name, values in c.items():
        scores[name, "stability"] = values
        scores[name, "harmonic"] = harmonic(np.minimum(values, 1.0), found.geometry)
    return scores, found.labels


def measure(case: data.Case, repetition: int) -> Iterator[dict[str, Any]]:
    """AUROC of every signal of every ensemble, against the labels of the right k and of the k asked for."""
    scored = {
        (off, name): signals(case.X, build(case, ks, repetition))
        for off in OFF
        if case.k + off >= 2
        for name, ks in mixtures(case.k + off).items()
    }
    for off, name in scored:
        if name != "one k":
            g = scored[off, "one k"][0]["", "geometry"]
            some = scored[off, name][0]
            some |= {
                (how, CROSSED): harmonic(np.minimum(some[how, "stability"], 1.0), g)
                for how in AGREEMENTS
            }
    right = {
        off: correctness(labels, case.y)
        for (off, name), (_, labels) in scored.items()
        if name == "one k"
    }
    for (off, name), (some, _) in scored.items():
        for target, truth in zip(TARGETS, (right[0], right[off]), strict=True):
            if off == 0 and target == "asked k":  # the same
                continue
            for (agreement, signal), scores in some.items():
                keys = dict(
                    zip(KEYS, (case.name, off, name, target, agreement, signal), strict=True)
                )
                yield keys | {"repetition": repetition, "auroc": auroc(scores, truth)}


def run(name: str, size: Size) -> pd.DataFrame:
    """Mean AUROC over repetitions on one data set, with an interval."""
    case = FAIR.load(name)
    repetitions = min(size.repetitions, FAIR.repetitions(name))
    with hushed():
        rows = pd.DataFrame(
            [row for repetition in range(repetitions) for row in measure(case, repetition)]
        )
    table = []
    for key, values in rows.groupby(KEYS, sort=False)["auroc"]:
        found = student_interval(values)
        table.append([*key, found.mean, found.low, found.high, repetitions])
    return pd.DataFrame(table, columns=[*KEYS, "auroc", "low", "high", "repetitions"])


def gains(table: pd.DataFrame, off: int, target: str, signal: str) -> pd.DataFrame:
    """AUROC of each way to score, (mixture, agreement), a column each, a row a data set."""
    part = table[(table["off"] == off) & (table["target"] == target) & (table["signal"] == signal)]
    return part.pivot_table(
        index="dataset", columns=["mixture", "agreement"], values="auroc", sort=False
    )


def compared(values: pd.Series, base: pd.Series) -> list[str]:
    """Mean, mean gain with its interval over data sets, and in how many it is up or down by more than 0.005."""
    gain = values - base
    cells = [f"{values.mean():.3f}"]
    if np.abs(gain).max() == 0:
        return [*cells, "", "", ""]
    up, down = int((gain > 0.005).sum()), int((gain < -0.005).sum())
    return [*cells, interval(gain, 3), str(up), str(down)]


def interval(values: pd.Series, digits: int) -> str:
    """A mean and its interval as text."""
    found = student_interval(values)
    return f"{found.mean:+.{digits}f} ({found.low:+.{digits}f} to {found.high:+.{digits}f})"


HEADER = ["mean AUROC", "gain over one k with matching (95 %)", "sets up", "sets down"]


def over_sets(table: pd.DataFrame, off: int, target: str) -> str:
    """Means over data sets of every way to score, beside one k with matching."""
    lines = []
    for signal in SIGNALS:
        wide = gains(table, off, target, signal)
        base = (
            wide["one k", ""]
            if signal == "geometry"
            else gains(table, off, target, BESIDE[signal])[PAPER]
        )
        for mixture, agreement in wide.columns:
            lines.append([signal, mixture, agreement, *compared(wide[mixture, agreement], base)])
    return markdown(["signal", "runs", "agreement", *HEADER], lines)


def misspecified(table: pd.DataFrame) -> str:
    """Harmonic scores where k is off, for the agreements that suit the runs."""
    lines = []
    for off in OFF:
        for target in TARGETS if off else TARGETS[:1]:
            base = gains(table, off, target, "harmonic")[PAPER]
            lines.append([f"{off:+d}", target, "harmonic", *PAPER, *compared(base, base)])
            for signal in ("harmonic", CROSSED):
                wide = gains(table, off, target, signal)
                for mixture in ("k-2 to k+2", "k to 2k"):
                    key = mixture, "jaccard"
                    lines.append([f"{off:+d}", target, signal, *key, *compared(wide[key], base)])
    return markdown(["k off by", "labels judged", "signal", "runs", "agreement", *HEADER], lines)


def by_set(table: pd.DataFrame) -> str:
    """Harmonic AUROC at the right k on each data set; * where the interval lies apart from that of one k."""
    part = table[(table["off"] == 0) & (table["signal"] == "harmonic")].set_index(
        ["dataset", "mixture", "agreement"]
    )
    shown = [
        PAPER,
        *(
            (mixture, name)
            for mixture in ("k-2 to k+2", "k to 2k")
            for name in ("matching", *OVERLAPS)
        ),
    ]
    lines = []
    for name in table["dataset"].unique():
        base = part.loc[(name, *PAPER)]
        rows = [part.loc[(name, *key)] for key in shown]
        cells = [
            f"{row.auroc:.3f}{'*' if row.low > base.high or row.high < base.low else ''}"
            for row in rows
        ]
        lines.append([name, *cells])
    return markdown(["data set", *(", ".join(key) for key in shown)], lines)


def head_to_head(table: pd.DataFrame) -> str:
    """Element-centric agreement and containment less jaccard, on the same runs."""
    lines = []
    for signal in BESIDE:
        wide = gains(table, 0, "right k", signal)
        for mixture in wide.columns.unique("mixture"):
            for name in ("element-centric", "containment"):
                gain = wide[mixture, name] - wide[mixture, "jaccard"]
                lines.append([signal, mixture, name, interval(gain, 4), f"{gain.abs().max():.3f}"])
    return markdown(
        ["signal", "runs", "agreement", "AUROC less that of jaccard (95 %)", "largest difference"],
        lines,
    )


def _gained(values: pd.Series, base: pd.Series) -> str:
    """A mean and its gain; * where the interval of the gain over data sets is without 0."""
    gain = values - base
    if np.abs(gain).max() == 0:
        return f"{values.mean():.3f}"
    found = student_interval(gain)
    return (
        f"{values.mean():.3f} ({gain.mean():+.3f}{'*' if found.low > 0 or found.high < 0 else ''})"
    )


def in_short(table: pd.DataFrame, size: Size) -> str:
    """Two tables for the docs: every way to score at the right k, and harmonic scores where k is off."""
    wide = {signal: gains(table, 0, "right k", signal) for signal in BESIDE}
    first = [
        [
            *key,
            *(
                _gained(wide[s][key], wide[BESIDE[s]][PAPER]) if key in wide[s] else ""
                for s in BESIDE
            ),
        ]
        for key in wide["harmonic"].columns
    ]
    ways = (PAPER, ("k-2 to k+2", "jaccard"), ("k to 2k", "jaccard"))
    second = []
    for off in sorted(OFF):
        for target in TARGETS if off else TARGETS[:1]:
            at = gains(table, off, target, "harmonic")
            second.append(
                [
                    f"{off:+d}" if off else "0",
                    target,
                    *(_gained(at[way], at[PAPER]) for way in ways),
                ]
            )
    return "\n\n".join(
        [
            how(table, size),
            markdown(["runs", "agreement", *BESIDE], first),
            "The harmonic score with k too small or too large:",
            markdown(["k off by", "labels judged", *(", ".join(way) for way in ways)], second),
        ]
    )


def how(table: pd.DataFrame, size: Size) -> str:
    """What was run, in a sentence."""
    few, most = table["repetitions"].min(), table["repetitions"].max()
    return (
        f"{table['dataset'].nunique()} data sets, {RUNS} runs of k-means, exact silhouettes, "
        f"{few if few == most else f'{few} to {most}'} repetitions a set; intervals over data sets. "
        f"Made by `python -m experiments.research.several_k.run{' --full' if size is FULL else ''}`."
    )


def page(table: pd.DataFrame, size: Size) -> str:
    """All tables as Markdown."""
    return "\n\n".join(
        [
            how(table, size),
            "## At the right k\n\n" + over_sets(table, 0, "right k"),
            "## Data set by data set: harmonic score at the right k\n\n"
            "* the interval over repetitions lies apart from that of one k.\n\n" + by_set(table),
            "## Other agreements against jaccard, at the right k\n\n" + head_to_head(table),
            "## k too small or too large: harmonic score\n\n" + misspecified(table),
        ]
    )


def draw(table: pd.DataFrame) -> Any:
    """Gain of each way over one k with matching: a dot a data set, the mean as a bar."""
    figure, axes = drawing.grid(
        1, 3, height=4.2, sharey=True, title="AUROC gained over one k with matching, at the right k"
    )
    ways = [key for key in gains(table, 0, "right k", "harmonic").columns if key != PAPER][::-1]
    for ax, signal in zip(axes[0], BESIDE, strict=True):
        wide, base = (
            gains(table, 0, "right k", signal),
            gains(table, 0, "right k", BESIDE[signal])[PAPER],
        )
        for at, way in enumerate(ways):
            if way not in wide:
                continue
            gain = wide[way] - base
            ax.plot(gain, np.full(len(gain), at), "o", color=drawing.SKY, markersize=4)
            ax.plot(gain.mean(), at, "|", color=drawing.VERMILION, markersize=16, markeredgewidth=3)
        ax.set_title(signal, fontsize=10)
        ax.axvline(0, color=drawing.GREY, linewidth=0.8)
        ax.set(
            xlabel="gain in AUROC",
            yticks=range(len(ways)),
            yticklabels=[", ".join(way) for way in ways],
        )
    return figure


def read_back(path: Path) -> pd.DataFrame:
    """The stored rows, as `run` gave them but for rounding; geometry has no agreement."""
    table = read(path)
    return table.fillna({"agreement": ""}) if len(table) else table


def main() -> None:
    """Run what was asked for."""
    parser = command("several_k", __doc__, "some ten minutes instead of seconds")
    size = FULL if parser.parse_args().full else QUICK
    data.find_data()
    out = folder("several_k", full=size is FULL)
    table = read_back(out / "several_k.csv")
    for name in size.sets:
        if len(table) and name in set(table["dataset"]):
            continue
        began = time.perf_counter()
        table = pd.concat([table, run(name, size)], ignore_index=True)
        write(out / "several_k.csv", table.to_csv(index=False, float_format="%.5f"))
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    table = read_back(out / "several_k.csv")
    write(out / "several_k.md", page(table, size))
    if size is FULL:
        into_page("several_k.md", "measured", in_short(table, size))
    save_figure(draw(table), out / "several_k.png")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    main()
