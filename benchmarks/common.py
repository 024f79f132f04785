"""What every benchmark uses: a clock, a ruler for memory, data, and the form of a result."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import datasets

HERE = Path(__file__).parent
RESULTS = HERE / "results.csv"
SLOW = 30.0  # seconds; what takes longer is timed once


class Claim(NamedTuple):
    """What a group of rows shows, its benchmarks, and the pattern of rows it takes from others."""

    words: str
    benchmarks: tuple[str, ...]
    rows: str = ""


CLAIMS = {
    "Speed": Claim(
        "How long our work takes, compared with other packages or with a limit.",
        (
            "stability",
            "score",
            "many_cells",
            "fashion",
            "ensemble",
            "cores",
            "medoids",
            "leiden",
            "learning",
            "reading",
            "command",
            "whole",
            "startup",
            "reasons",
            "opinions",
            "audits",
            "choose_k",
            "tiles",
        ),
    ),
    "Scale": Claim(
        "How time grows with the data, in memory, in blocks and on Dask. In rows of `growth` with "
        "a fitted exponent, *ours* is the time at the largest value, *theirs* that at the smallest, "
        "and *ratio* the exponent.",
        ("million", "growth", "scale", "plan"),
    ),
    "Memory": Claim("What is held at most.", (), r"\b[MG]iB\b|\bpeak\b"),
    "Endurance": Claim(
        "What is left after kills and long runs.",
        ("crash", "kill", "dask_kill", "soak"),
    ),
    "Quality": Claim(
        "How near cheaper ways come to the exact score, and our numbers to the printed ones.",
        ("approximation", "agreement", "settling", "unseen"),
        "^largest difference",
    ),
}
BENCHMARKS = [name for claim in CLAIMS.values() for name in claim.benchmarks]


@dataclass(frozen=True)
class Row:
    """One claim: our median seconds (or MiB) beside a peer's, and their ratio against the goal."""

    work: str
    ours: float
    peer_name: str
    peer: float
    ratio: float
    goal: str
    met: str
    spread: str = ""

    @classmethod
    def faster(
        cls, work: str, ours: Timing, peer_name: str, peer: Timing, at_least: float | None
    ) -> Row:
        """How many times faster than the peer."""
        ratio = peer.median / ours.median
        goal = "" if at_least is None else f"≥ {at_least:g}×"
        met = "" if at_least is None else "yes" if ratio >= at_least else "no"
        return cls(
            work,
            ours.median,
            peer_name,
            peer.median,
            ratio,
            goal,
            met,
            f"{ours.spread}; {peer.spread}",
        )

    @classmethod
    def within(
        cls,
        work: str,
        ours: float,
        peer_name: str,
        peer: float,
        at_most: float | None,
        spread: str = "",
    ) -> Row:
        """What share of the peer's time or of a limit."""
        ratio = ours / peer
        goal = "" if at_most is None else f"≤ {at_most:g}×"
        met = "" if at_most is None else "yes" if ratio <= at_most else "no"
        return cls(work, ours, peer_name, peer, ratio, goal, met, spread)


@dataclass(frozen=True)
class Timing:
    """Seconds of several calls."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return float(np.median(self.seconds))

    @property
    def spread(self) -> str:
        """Smallest and largest."""
        return f"{min(self.seconds):.3g} to {max(self.seconds):.3g} s in {len(self.seconds)}"


def clock(function: Callable[[], Any], *, times: int = 5) -> Timing:
    """Time calls after a first one that compiles and warms up.

    A call of over `SLOW` seconds is timed once.
    """
    began = time.perf_counter()
    function()
    first = time.perf_counter() - began
    if first > SLOW:
        return Timing((first,))
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
        if sum(seconds) > 2 * SLOW:
            break
    return Timing(tuple(seconds))


def clock_in_turn(*functions: Callable[[], Any], times: int = 7) -> list[Timing]:
    """Time several functions by turns, so that what else the machine does falls on all of them
    alike.

    With a pause before each: the threads of a matrix product keep a core busy for a while after it
    has ended.
    """
    seconds: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(times):
        for function, taken in zip(functions, seconds, strict=True):
            time.sleep(0.1)
            began = time.perf_counter()
            function()
            taken.append(time.perf_counter() - began)
    return [Timing(tuple(taken)) for taken in seconds]


def processor_seconds(*functions: Callable[[], Any], times: int) -> list[Timing]:
    """Time several functions by turns, in seconds of the processor, which others hardly change.

    The first one is called before: it compiles.
    """
    seconds: list[list[float]] = [[] for _ in functions]
    functions[0]()
    for _ in range(times):
        for function, taken in zip(functions, seconds, strict=True):
            began = time.process_time()
            function()
            taken.append(time.process_time() - began)
    return [Timing(tuple(taken)) for taken in seconds]


def run_apart(code: str) -> str:
    """Run Python code in a process of its own and return what it prints."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parent / "src")])
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def resident(field: str) -> float:
    """Memory of this process in MiB: `VmRSS` now, `VmHWM` at its peak (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {field}")


def blobs(n: int, *, d: int = 20, k: int = 10, dtype: Any = np.float64) -> np.ndarray:
    """The paper's data for its runtime tables: blobs around k random centres, std 1, seed 0."""
    return make_blobs(n, d, centers=k, random_state=0)[0].astype(dtype)


def uneven(n: int) -> np.ndarray:
    """Some of n points, on which results are compared.

    The blobs have equal sizes, so that two merged ones tie exactly for a partner and the authors'
    package may settle it otherwise than we do; a random sample of them has unequal sizes.
    """
    return np.sort(np.random.default_rng(0).choice(n, n // 5, replace=False))


def numpy_pass(X: np.ndarray, rows: int = 1000) -> None:
    """The yardstick: all distances once, by matrix products and square roots in blocks of rows."""
    squares = (X * X).sum(axis=1)
    for low in range(0, len(X), rows):
        block = X[low : low + rows] @ X.T
        block *= -2
        block += squares
        block += squares[low : low + rows, None]
        np.maximum(block, 0, out=block)
        np.sqrt(block, out=block)


def load(name: str, *, raw: bool = False) -> datasets.Dataset:
    """One of the paper's data sets.

    The large ones also from `../shared/data`, where that folder is there.
    """
    folder = HERE.parent.parent / "shared" / "data"
    if folder.is_dir():
        os.environ.setdefault("CLUSTERTRUST_DATA", str(folder))
    return datasets.load(name, raw=raw)


def save(results: dict[str, list[Row]]) -> None:
    """Replace the rows of these benchmarks in results.csv, and write the tables of README.md."""
    rows = read()
    for name, new in results.items():
        rows[name] = [asdict(row) for row in new]
    header = ["benchmark", *(field.name for field in fields(Row))]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, header)
        writer.writeheader()
        for name in sorted(rows):
            writer.writerows({"benchmark": name, **row} for row in rows[name])
    _write_tables(read())


def read() -> dict[str, list[dict[str, Any]]]:
    """The rows of results.csv by benchmark."""
    rows: dict[str, list[dict[str, Any]]] = {}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            for row in csv.DictReader(file):
                rows.setdefault(row.pop("benchmark"), []).append(row)
    return rows


def _write_tables(rows: dict[str, list[dict[str, Any]]]) -> None:
    page = HERE / "README.md"
    before, marker, _ = page.read_text().partition("<!-- tables -->\n")
    page.write_text(before + marker + "\n" + tables(rows))


def tables(rows: dict[str, list[dict[str, Any]]]) -> str:
    """Return the rows as Markdown, one section and one table per claim."""
    claimed: dict[str, list[str]] = {claim: [] for claim in CLAIMS}
    for name in sorted(rows, key=BENCHMARKS.index):
        for row in rows[name]:
            claimed[claim_of(name, row["work"])].append(_line(name, row))
    head = "| benchmark | work | ours | compared with | theirs | ratio | goal | met |"
    sections = [
        "\n".join([f"## {claim}", "", CLAIMS[claim].words, "", head, "| --- " * 8 + "|", *lines])
        for claim, lines in claimed.items()
        if lines
    ]
    return "\n\n".join(sections) + "\n"


def claim_of(name: str, work: str) -> str:
    """Return the claim that a row of a benchmark belongs to, by its work or else its benchmark."""
    home = next(claim for claim in CLAIMS if name in CLAIMS[claim].benchmarks)
    if home == "Endurance":  # that a long run holds no more and more is no claim about a peak
        return home
    others = [claim for claim, (_, _, rows) in CLAIMS.items() if rows and re.search(rows, work)]
    return others[0] if others else home


def _line(name: str, row: dict[str, Any]) -> str:
    ours, peer, ratio = (f"{float(row[column]):.3g}" for column in ("ours", "peer", "ratio"))
    cells = [name, row["work"], ours, row["peer_name"], peer, ratio, row["goal"], row["met"]]
    return "| " + " | ".join(cells) + " |"
