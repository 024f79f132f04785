"""`clustertrust score` on a CSV file of five million rows, in blocks: CPU seconds and memory.

The peer is the same command with pandas as the parser of every pass or, where the variable OLDER
names the `src` folder of an older checkout, that one's.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as text

from benchmarks.common import Row, Timing

PARTS, ROWS, COLUMNS, CLUSTERS = 100, 50_000, 20, 10
MEMORY = 1024
COMMAND = "import sys; from clustertrust.cli import main; main()"
BY_PANDAS = f"""
from clustertrust.cli import large
from clustertrust.files import text_sources
text_sources.arrow_parser = lambda *_: None
large.KeptSource = lambda table, folder: table
{COMMAND}
"""


def run() -> Iterator[Row]:
    """Yield the rows: time and memory of the whole command."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.csv"
        write_points(path)
        older = os.environ.get("OLDER")
        seconds, mebibytes = score(path, COMMAND)
        theirs, _ = score(path, COMMAND if older else BY_PANDAS, older)
        n = PARTS * ROWS
        what = f"the command on {n:,} × {COLUMNS} rows of CSV ({path.stat().st_size / 1e9:.1f} GB)"
    peer = "an older checkout" if older else "parsed by pandas in each pass"
    times = Timing((seconds,)), Timing((theirs,))
    yield Row.faster(f"{what}: CPU seconds", times[0], peer, times[1], 1.5)
    yield Row.within(f"{what}: peak MiB", mebibytes, f"--memory {MEMORY}", MEMORY, 1)


def write_points(path: Path) -> None:
    """Write points around ten centres, which overlap a little."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(CLUSTERS, COLUMNS))
    with path.open("wb") as file:
        for part in range(PARTS):
            X = centers[rng.integers(CLUSTERS, size=ROWS)] + rng.normal(size=(ROWS, COLUMNS))
            table = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)})
            text.write_csv(table, file, text.WriteOptions(include_header=part == 0))


def score(path: Path, code: str, src: str | None = None) -> tuple[float, float]:
    """Return the CPU seconds and the peak MiB of the command in a process of its own.

    A short run first compiles what is compiled at first use.
    """
    few = path.with_name("few.csv")
    with path.open("rb") as file:
        few.write_bytes(b"".join(file.readline() for _ in range(20_000)))
    environment = os.environ | ({"PYTHONPATH": src} if src else {})
    for data, memory in ((few, 1), (path, MEMORY)):
        typed = ["score", str(data), "-k", str(CLUSTERS), "--memory", str(memory)]
        typed += ["--out", str(path.with_name("scores.csv"))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code, *typed]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, after.ru_maxrss / 1024
