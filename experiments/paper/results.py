"""What an experiment is, and its CSV: our numbers and the printed ones, one finished data set at a time."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

from clustertrust.evaluation import student_interval
from experiments.paper.data import ALL
from experiments.paper.protocols import Protocol

HERE = Path(__file__).parent
PRINTED = HERE / "printed"
RESULTS = HERE / "results"
SECONDS = {False: "seconds.csv", True: "seconds_quick.csv"}  # by whether it was a quick run
LEFT_OUT = "left out: "  # how the note of a cell begins that can be run and was not, for its time
PINNED = HERE / "requirements-printed.txt"
PROCESSORS = "processors.csv"

# Numbers of the paper by where they come from. Kinds are counted apart: one sum would mix digits that can be checked
# with readings off a picture and with the speed of a machine.
KINDS = {
    "table": "printed in tables",
    "notebook": "in the authors' notebooks alone",
    "figure": "read off figures, or stated in the text",
    "time": "seconds on another machine",
}

Held = tuple[int, int]  # in how many cases something holds, of how many


COMMON_CAUSES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "S3 has uniform noise from a generator that was not seeded, and no draw that was tried gives these rows.": (
        lambda rows: rows["dataset"] == "S3"
    ),
    "Ng is open. The authors' notebook itself differs from the paper here, by up to 0.02 in ARI and 0.04 in ACC, "
    "so that their embeddings or versions changed between the two. Ours cannot be far off: the mixtures' "
    "confidence on Ng comes out in 8 of 8 cells. Runs from random starts may end elsewhere after a change in the "
    "last digits.": (lambda rows: rows["dataset"] == "Ng"),
    "Fm is open. The rows of all points and of a random subset agree to the digit, rows of a ranking do not. "
    "One other point at the cut gives the fits other starts; perhaps silhouettes in single precision tie there.": (
        lambda rows: rows["dataset"] == "Fm"
    ),
}


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Attributes
    ----------
    title : what it shows, for a heading
    run : data set, protocol → rows of `keys`, value, low, high; a note where a cell was not run
    keys : the columns that tell rows apart, those of the printed table first
    sets : data sets, one call of `run` each
    protocols : which of the two there are
    truncated : whether the printed numbers are cut, not rounded
    draw : rows of all protocols → figure
    see : what the paper says one should see → in how many cases it is so, among the rows of one protocol
    causes : why cells under `printed` are not the paper's: a text, and which rows it explains
    kind : rows → which of `KINDS` their number in the paper is; empty: not counted
    again : whether it is run each time, since it measures the machine
    form : how numbers are written that have no printed counterpart
    package, about : the folder that it is in and what its module says, filled in where experiments are found
    """

    title: str
    run: Callable[[str, Protocol], Iterable[dict[str, Any]]]
    keys: tuple[str, ...]
    sets: tuple[str, ...] = ALL
    protocols: tuple[str, ...] = ("printed", "fair")
    truncated: bool = False
    draw: Callable[[pd.DataFrame], Any] | None = None
    see: Mapping[str, Callable[[pd.DataFrame], Held]] = field(default_factory=dict)
    causes: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = field(
        default_factory=lambda: COMMON_CAUSES
    )
    kind: Callable[[pd.DataFrame], pd.Series] = lambda rows: pd.Series("table", rows.index)
    again: bool = False
    form: str = ".3f"
    package: str = "tables"
    about: str = ""


def all_are(kind: str) -> Callable[[pd.DataFrame], pd.Series]:
    """Make the `kind` of an experiment whose numbers are all of one kind."""
    return lambda rows: pd.Series(kind, rows.index)


def stack() -> str:
    """`pinned` where the authors' versions are installed, else `current`."""
    pins = [line.strip().split("==") for line in PINNED.read_text().splitlines() if "==" in line]
    return (
        "pinned"
        if all(importlib.metadata.version(name) == version for name, version in pins)
        else "current"
    )


def printed_numbers(name: str, keys: tuple[str, ...]) -> pd.DataFrame | None:
    """The printed table as text, with its columns value, ci_low and ci_high called paper, paper_low, paper_high."""
    path = PRINTED / f"{name}.csv"
    if not path.exists():
        return None
    table = pd.read_csv(path, dtype=str)
    # Run by the authors, and left out of the paper.
    unprinted = PRINTED / f"{name}_notebook_only.csv"
    if unprinted.exists():
        table = pd.concat([table, pd.read_csv(unprinted, dtype=str)], ignore_index=True)
    table = table.rename(columns={"value": "paper", "ci_low": "paper_low", "ci_high": "paper_high"})
    wanted = [
        *(key for key in keys if key in table),
        *(c for c in ("paper", "paper_low", "paper_high") if c in table),
    ]
    return table[wanted] if "paper" in table else None


def read(path: Path) -> pd.DataFrame:
    """Read results, printed numbers as text; empty where there are none."""
    if not path.exists():
        return pd.DataFrame()
    table = pd.read_csv(
        path, dtype={"paper": str, "paper_low": str, "paper_high": str, "note": str, "stack": str}
    )
    return table if "note" not in table else table.assign(note=table["note"].fillna(""))


def note_seconds(
    folder: Path, key: tuple[str, str, str], seconds: float, *, quick: bool = False
) -> None:
    """Keep how many core seconds an experiment took for a data set under a protocol, on this stack."""
    path = folder / SECONDS[quick]
    table = known_seconds(folder, quick=quick)
    table[(*key, stack())] = seconds
    lines = [",".join([*at, f"{taken:.1f}"]) for at, taken in sorted(table.items())]
    write(path, "\n".join(["experiment,dataset,protocol,stack,core_seconds", *lines]) + "\n")


def known_seconds(folder: Path, *, quick: bool = False) -> dict[tuple[str, str, str, str], float]:
    """Core seconds by experiment, data set, protocol and stack."""
    path = folder / SECONDS[quick]
    if not path.exists():
        return {}
    rows = [line.rsplit(",", 1) for line in path.read_text().splitlines()[1:]]
    return {_key(at): float(taken) for at, taken in rows}


def _key(text: str) -> tuple[str, str, str, str]:
    """Experiment, data set (which may hold a comma), protocol, stack."""
    experiment, rest = text.split(",", 1)
    data_set, protocol, of = rest.rsplit(",", 2)
    return experiment, data_set, protocol, of


def is_done(table: pd.DataFrame, data_set: str, protocol: str) -> bool:
    """Whether a data set was run to its end under a protocol, on this stack."""
    if table.empty:
        return False
    mine = table[(table["dataset"] == data_set) & (table["protocol"] == protocol)]
    mine = mine[~mine["note"].str.startswith(LEFT_OUT)]
    ran_here = (
        mine["stack"] == "pinned"
        if stack() == "pinned"
        else mine["current"].notna() | (mine["note"] != "")
    )
    return bool(len(mine) and ran_here.any())


def add(
    path: Path, experiment: Experiment, data_set: str, protocol: str, rows: Iterable[dict[str, Any]]
) -> pd.DataFrame:
    """Write the rows of one data set into the table, beside what the other stack gave, and the printed numbers."""
    new = pd.DataFrame(list(rows))
    for column, default in {"low": np.nan, "high": np.nan, "note": ""}.items():
        new[column] = new[column].fillna(default) if column in new else default
    new.insert(len(experiment.keys), "protocol", protocol)
    new["stack"] = stack()
    new["current"] = new["value"] if stack() == "current" else np.nan
    table = read(path)
    if len(table):
        same = (table["dataset"] == data_set) & (table["protocol"] == protocol)
        new = _beside(new, table[same], [*experiment.keys, "protocol"])
        table = table[~same]
    paper = printed_numbers(path.stem, experiment.keys)
    if paper is not None:
        on = [key for key in experiment.keys if key in paper]
        new = new.drop(columns=[c for c in paper if c.startswith("paper") and c in new])
        new = new.astype(dict.fromkeys(on, str)).merge(paper, how="left", on=on)
    else:
        new["paper"] = (
            new["paper"] if "paper" in new else pd.Series(np.nan, new.index, dtype=object)
        )
    table = pd.concat([part for part in (table, new) if len(part)], ignore_index=True)
    order = {name: at for at, name in enumerate([*ALL, "printed", "fair"])}
    table = table.sort_values(
        ["protocol", "dataset"],
        key=lambda column: column.map(order).fillna(-1),
        kind="stable",
        ignore_index=True,
    )
    first = [*experiment.keys, "protocol", "value", "low", "high", "paper"]
    table = table[[*first, *(column for column in table if column not in first)]]
    write(path, table.to_csv(index=False, float_format="%.6g"))
    return table


def not_run(name: str, experiment: Experiment, data_set: str, why: str) -> list[dict[str, Any]]:
    """Rows without a value for the printed cells of a data set."""
    paper = printed_numbers(name, experiment.keys)
    keys = (
        paper.loc[paper["dataset"] == data_set, list(experiment.keys)]
        if paper is not None
        else pd.DataFrame()
    )
    return [{**row, "value": np.nan, "note": why} for row in keys.to_dict("records")] or [
        {**dict.fromkeys(experiment.keys, ""), "dataset": data_set, "value": np.nan, "note": why}
    ]


def _beside(new: pd.DataFrame, old: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The pinned stack's numbers stand as value, low and high; the current one's as `current`."""
    if old.empty:
        return new
    old = old.astype({key: new[key].dtype for key in keys})
    if stack() == "pinned":
        return new.drop(columns="current").merge(old[[*keys, "current"]], how="left", on=keys)
    if (old["stack"] == "pinned").all():
        return old.drop(columns="current").merge(new[[*keys, "current"]], how="left", on=keys)
    return new


def averaged(values: Iterable[float]) -> dict[str, float]:
    """Mean over repetitions as `value`, with a Student interval if there are some; NaN is left out."""
    known = np.asarray(list(values), dtype=float)
    known = known[np.isfinite(known)]
    if len(known) < 2:
        return {"value": float(known[0]) if len(known) else np.nan, "low": np.nan, "high": np.nan}
    interval = student_interval(known)
    return {"value": interval.mean, "low": interval.low, "high": interval.high}


def averaged_rows(
    found: Iterable[Mapping[Hashable, float]],
    keys: tuple[str, ...],
    paper: Mapping[Hashable, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of what each repetition found, by the values of `keys`."""
    for at, values in pd.DataFrame(list(found)).items():
        of = dict(zip(keys, at if isinstance(at, tuple) else (at,), strict=True))
        yield {**of, **averaged(values), "paper": (paper or {}).get(at, np.nan)}


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all; beside a table, note the processor that it was made on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text)
    part.replace(path)
    if path.suffix == ".csv" and path.name != PROCESSORS:
        noted = processors(path.parent) | {path.name: processor()}
        table = pd.DataFrame(sorted(noted.items()), columns=["file", "processor"])
        write(path.with_name(PROCESSORS), table.to_csv(index=False))


def processors(folder: Path) -> dict[str, str]:
    """The processor that the last rows of each table in a folder were made on."""
    path = folder / PROCESSORS
    return dict(pd.read_csv(path, dtype=str).itertuples(index=False)) if path.exists() else {}


def processor() -> str:
    """What decides last digits here: machine, newest instructions of NumPy, OpenBLAS' kernels."""
    import scipy.linalg  # noqa: F401 - loads its own OpenBLAS
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    newest = [name for name in __cpu_dispatch__ if __cpu_features__[name]][-1:] or ["baseline"]
    found = threadpool_info()
    kernels = {one["architecture"] for one in found if one["internal_api"] == "openblas"}
    blas = " and ".join(sorted(kernels)) or "none"
    return f"{platform.machine()}, NumPy {newest[0]}, OpenBLAS {blas}"


def digits(paper: str) -> int:
    """Decimals of a printed number."""
    return len(paper.partition(".")[2])


def agrees(value: float, paper: str, *, truncated: bool = False) -> bool:
    """Whether a value gives the printed number when it is rounded, or cut, to its digits."""
    unit = 10.0 ** -digits(paper)
    off = (value - float(paper)) / unit
    return bool(-1e-6 <= off < 1 + 1e-6) if truncated else bool(abs(off) <= 0.5 + 1e-6)


def verdicts(table: pd.DataFrame, experiment: Experiment) -> pd.Series:
    """Of each row: `equal`, `inside` (our interval or the printed one), `off`, `not run`; empty: nothing printed."""

    def verdict(row: pd.Series) -> str:
        if not isinstance(row["paper"], str):
            return ""
        if np.isnan(row["value"]):
            return "not run"
        if agrees(row["value"], row["paper"], truncated=experiment.truncated):
            return "equal"
        paper, half = float(row["paper"]), 0.5 * 10.0 ** -digits(row["paper"])
        if row["low"] - half <= paper <= row["high"] + half:
            return "inside"
        if isinstance(row.get("paper_low"), str) and float(row["paper_low"]) <= row[
            "value"
        ] <= float(row["paper_high"]):
            return "inside"
        return "off"

    return table.apply(verdict, axis=1)
