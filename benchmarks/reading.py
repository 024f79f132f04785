"""A CSV file in blocks, parsed by pyarrow and by pandas: how fast, and the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import Row, clock_in_turn
from clustertrust.files import open_source, text_sources

PARTS, ROWS, COLUMNS = 16, 50_000, 20
BLOCK = 8192


def run() -> Iterator[Row]:
    """Yield the row: a pass over 314 MB of text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.csv"
        rng = np.random.default_rng(0)
        with path.open("w") as file:
            for part in range(PARTS):
                frame = pd.DataFrame(rng.normal(size=(ROWS, COLUMNS)))
                frame.to_csv(file, header=part == 0, index=False)
        if not all((a == b).all() for a, b in zip(_blocks(path), _by_pandas(path), strict=True)):
            raise AssertionError("pyarrow and pandas read other numbers")
        ours, theirs = clock_in_turn(
            lambda: _exhausted(_blocks(path)), lambda: _exhausted(_by_pandas(path)), times=3
        )
        work = f"reading {path.stat().st_size / 1e6:.0f} MB of CSV in blocks, the same to the bit"
        yield Row.faster(work, ours, "without pyarrow", theirs, 4)


def _blocks(path: Path) -> Iterator[np.ndarray]:
    for block in open_source(path).blocks(BLOCK):
        yield block.X


def _by_pandas(path: Path) -> Iterator[np.ndarray]:
    """Yield the blocks as where pyarrow is not installed."""
    parser = text_sources.arrow_parser
    text_sources.arrow_parser = lambda *_: None
    source = open_source(path).blocks(BLOCK)
    while True:
        text_sources.arrow_parser = lambda *_: None
        try:
            block = next(source, None)
        finally:
            text_sources.arrow_parser = parser
        if block is None:
            return
        yield block.X


def _exhausted(blocks: Iterator[np.ndarray]) -> None:
    for _ in blocks:
        pass
