"""A table in blocks → its columns as clustered: missing values treated, columns standardised.

`cli.points` does the same to a table in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from clustertrust.cli.scaling import (
    Moments,
    Preparation,
    measured,
    moments_of,
    total_of,
    with_categories,
    with_measures,
    with_ranges,
)
from clustertrust.files.sources import Block, Source
from clustertrust.streaming.passes import reader_of
from clustertrust.tables import TablePlan

FIRST = 5000  # rows that robust scales are measured on


class Ways(NamedTuple):
    """What is done to a table in blocks: rows left out, means filled in, and its plan."""

    drop_missing: bool
    impute: bool
    plan: TablePlan


def prepared(
    source: Source, ways: Ways, n_jobs: int | None, first: pd.DataFrame | None = None
) -> tuple[Source, Preparation | None]:
    """Return the table as clustered, and its preparation; measuring the columns takes a pass.

    `first` are rows that robust scales are measured on; None: the first ones.
    """
    table = Complete(source) if ways.drop_missing else source
    has_categories = any(column.use == "category" for column in ways.plan.used)
    if ways.plan.scale == "none" and not ways.impute and not has_categories:
        return table, None
    passes = reader_of(Unchecked(source) if ways.impute else table, 20, n_jobs, True)
    parts = passes.map(_moments, "measuring the columns")
    names = source.columns or [str(j) for j in range(source.n_features)]
    moments = total_of(parts, names)
    preparation = measured(moments, standardize=ways.plan.scale == "standard", impute=ways.impute)
    if ways.plan.scale == "minmax":
        preparation = with_ranges(preparation, moments)
    if ways.plan.scale == "robust":
        rows = next(source.read(FIRST)).X if first is None else ways.plan.apply(first).to_numpy()
        preparation = with_measures(preparation, ways.plan, rows)
    elif has_categories:
        preparation = with_categories(preparation, ways.plan, moments)
    return Prepared(table, preparation), preparation


def _moments(block: Block) -> Moments:
    return moments_of(block.X)


class _Around(Source):
    """A table that changes the blocks of another."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.columns, self.n_features, self.n_rows = (
            source.columns,
            source.n_features,
            source.n_rows,
        )

    def read(self, rows: int) -> Iterator[Block]:
        """Yield the blocks of the table."""
        yield from self.source.read(rows)


class Unchecked(_Around):
    """A table in which missing values are allowed, to measure it."""

    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield blocks as they are read."""
        yield from self.read(rows)


class Prepared(_Around):
    """A table with missing values filled in and columns standardised, as prepared."""

    def __init__(self, source: Source, preparation: Preparation) -> None:
        super().__init__(source)
        self.preparation = preparation

    def read(self, rows: int) -> Iterator[Block]:
        """Fill in and scale each block."""
        for block in self.source.read(rows):
            X = self.preparation.fill(block.X) if self.preparation.impute else block.X
            yield block._replace(X=self.preparation.scale(X))


class Complete(_Around):
    """The rows of a table without missing values; blocks also hold the names of the others."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.n_rows = None  # known only after reading

    def read(self, rows: int) -> Iterator[Block]:
        """Leave out rows; every block keeps at least one row, unless the table has none."""
        held: Block | None = None
        at = 0
        for block in self.source.read(rows):
            kept = np.all(np.isfinite(block.X), axis=1)
            ids = np.arange(at, at + len(kept)) if block.ids is None else block.ids
            at += len(kept)
            block = Block(block.X[kept], ids, kept=kept)
            if held is not None and len(held.X) and len(block.X):
                yield held
                held = block
            else:
                held = block if held is None else _joined(held, block)
        if held is not None and len(held.X):
            yield held
        elif held is not None:
            raise ValueError("Every row has missing values; try --impute mean, or --drop columns.")


def _joined(one: Block, two: Block) -> Block:
    assert one.ids is not None and two.ids is not None  # noqa: PT018
    assert one.kept is not None and two.kept is not None  # noqa: PT018
    return Block(
        np.concatenate([one.X, two.X]),
        np.concatenate([one.ids, two.ids]),
        kept=np.concatenate([one.kept, two.kept]),
    )
