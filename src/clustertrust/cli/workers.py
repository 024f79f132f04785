"""A table in files → blocks that the workers of a Dask scheduler read and prepare."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust.cli.planning import named_problems, preparer_for
from clustertrust.cli.request import ScoreRequest
from clustertrust.files.columns import NAMELESS
from clustertrust.files.delimited import COMMA, COMPRESSED, EXACT
from clustertrust.files.file_sources import FrameSource, ParquetSource
from clustertrust.files.lines import UTF8
from clustertrust.files.sources import Source
from clustertrust.files.text_sources import CsvSource
from clustertrust.streaming.passes import BlockReader
from clustertrust.tables import TablePreparer


@contextmanager
def on_workers(
    source: Source, request: ScoreRequest
) -> Iterator[tuple[BlockReader, TablePreparer]]:
    """Let the workers of a Dask scheduler read the files, prepare them, and fit the runs."""
    if not isinstance(source, CsvSource | ParquetSource):
        raise click.UsageError(
            "--scheduler reads CSV, TSV and Parquet files; write the table as one of these."
        )
    if len({path.suffix.lower() for path in source.paths} & COMPRESSED.keys()) > 1:
        raise click.UsageError(
            "--scheduler needs files with the same compression; compress all of them in one way."
        )
    try:
        distributed = importlib.import_module("distributed")
        importlib.import_module("dask.dataframe")
    except ImportError as error:
        raise ImportError('--scheduler needs Dask: pip install "clustertrust[dask]"') from error
    from clustertrust.streaming.dask_passes import DaskReader

    if isinstance(source, CsvSource):
        _check_texts(source)
    data, frame = request.data, _dask_frame(source)
    with distributed.Client(request.scheduler, timeout="10s"):
        with named_problems(data):
            id = source.id if source.id in frame.columns else None
            preparer = preparer_for(replace(request.columns, id=id), list(frame.columns))
            preparer.fit(frame)
        plan = preparer.plan_
        if plan.rows:
            raise ValueError(
                f"{data}: its first row holds units, or its last totals; remove them from the file "
                "for --scheduler."
            )
        if plan.missing == "auto":
            # Workers do not leave rows out.
            preparer.plan_ = replace(plan, missing="mean")
        kinds = dict.fromkeys(preparer.get_feature_names_out(), np.float64)
        kinds |= {} if plan.id is None else {plan.id: frame.dtypes[plan.id]}
        empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in kinds.items()})
        numbers = frame.map_partitions(_with_names, preparer, meta=empty)
        yield DaskReader(numbers, id=plan.id), preparer


def _with_names(part: pd.DataFrame, preparer: TablePreparer) -> pd.DataFrame:
    """Return a part of a table as numbers, with the column that names the rows."""
    names = preparer.get_feature_names_out()
    numbers = pd.DataFrame(preparer.transform(part), part.index, names)
    id = preparer.plan_.id
    return numbers if id is None else numbers.assign(**{id: part[id]})


def _dask_frame(source: FrameSource) -> Any:
    """Return the files as a Dask frame, read as without a scheduler."""
    frames = importlib.import_module("dask.dataframe")
    paths = [str(path.absolute()) for path in source.paths]
    if not isinstance(source, CsvSource):
        # Dask does not find an index without a name.
        named = [name for name in source.wanted if not name.startswith(NAMELESS)]
        return frames.read_parquet(paths, columns=named, index=False)
    options = source.options(source.texts[0])
    kinds = options.pop("dtype", {})
    # Compressed text cannot be split.
    is_packed = source.paths[0].suffix.lower() in COMPRESSED
    size = None if is_packed else "default"
    read = partial(
        frames.read_csv, paths, usecols=source.wanted, blocksize=size, **EXACT, **options
    )
    # A column may start with integers and continue with others, which Dask refuses unless the
    # type is given.
    types = read(dtype=kinds).dtypes.items()
    whole = [name for name, dtype in types if getattr(dtype, "kind", "") in "iu"]
    return read(dtype=kinds | dict.fromkeys(whole, np.float64))


def _check_texts(source: CsvSource) -> None:
    """Raise for files that workers would read in another way."""
    odd = next((t for t in source.texts if t.encoding not in UTF8 or t.layout.skip), None)
    if odd is None and not source.top.as_is:
        odd = source.texts[0]
    if odd is not None:
        raise click.UsageError(
            f"--scheduler reads UTF-8 text with the names in the first line, and {odd.path} is "
            "laid out differently; save it in that format."
        )
    if source.reading.decimal or source.reading.thousands or COMMA in source.notes:
        raise click.UsageError(
            "--scheduler reads numbers such as 1234.5, without other marks; save them in that "
            "format."
        )
    if len({text.layout.separator for text in source.texts}) > 1:
        raise click.UsageError(
            "--scheduler needs files with the same separator; save them all with one."
        )
