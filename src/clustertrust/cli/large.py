"""`clustertrust score` for data larger than memory: read and write blocks of rows."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust import CAKE, Confidence
from clustertrust._devices import GPU
from clustertrust.cli.blocks import on_workers, open_table, prepare_table
from clustertrust.cli.outputs import is_special, staged
from clustertrust.cli.points import ROW, Points, name_of, row_name, with_left_out
from clustertrust.cli.printing import (
    Outcome,
    is_interactive,
    print_scores,
    say,
    score_settings,
    with_options,
)
from clustertrust.cli.request import ScoreRequest
from clustertrust.cli.sidecar_plan import with_sidecar_plan
from clustertrust.cli.writing import write_shown
from clustertrust.files.formats import FORMATS, format_of, need, suffixes
from clustertrust.files.kept import KeptSource
from clustertrust.files.reading import Append
from clustertrust.files.sources import Block, FileSource, Source
from clustertrust.files.tables import append_table, fits_in_memory
from clustertrust.files.text_sources import CsvSource
from clustertrust.model_files import ModelFile, about_columns, save_model
from clustertrust.scoring.settings import Settings
from clustertrust.streaming.passes import BlockReader, SampledRows, reader_of
from clustertrust.streaming.stream import fit_stream
from clustertrust.summary import Tally, notes_of
from clustertrust.tables import TablePreparer


def large_source(request: ScoreRequest) -> FileSource | None:
    """Open the table in blocks if DATA is a folder, too large, or for a scheduler; else None."""
    data, columns, path = request.data, request.columns, Path(request.data)
    if data == "-":
        return None
    if not path.is_dir():
        format = columns.format_of(data)
        is_whole = FORMATS[format].blocks is None
        if is_whole or (request.scheduler is None and fits_in_memory(path, format)):
            return None
    return open_table(data, columns)


def score_large(request: ScoreRequest, source: FileSource) -> None:
    """Score a table in blocks. Page and picture show the sample that the runs were fitted on."""
    _check_large(request)
    data, method, paths = request.data, request.method, request.paths
    params = method.building(request.checkpoint) | method.scoring()
    settings_of_fit = Settings.from_estimator(CAKE(**params, verbose=is_interactive()))
    with contextlib.ExitStack() as connected:
        passes: BlockReader
        if request.scheduler is not None:
            passes, preparer = connected.enter_context(on_workers(source, request))
            passes.remedy = (
                "Without --scheduler, a file of at most a quarter of --memory is read whole"
            )
        else:
            table = prepare_table(source, data, request.columns)
            preparer = table.preparer
            passes = reader_of(
                _kept_on_disk(table, source, paths), method.n_runs, method.n_jobs, is_interactive()
            )
            passes.remedy = "A single file of at most a quarter of --memory is read whole"
        streamed = fit_stream(passes, settings_of_fit)
        say(f"Scoring {streamed.built.n_rows:,} rows of {name_of(data)}.")
        points = _points(streamed.built.sample, preparer, passes.columns)
        scored = streamed.confidence(streamed.scorer(Block(streamed.built.sample.X)))
        # the rows are written as they are scored: the sample stands for all
        tally = Tally(scored.cut(request.threshold))
        paths = with_sidecar_plan(paths, request.columns, points)
        request = replace(request, paths=paths)
        with staged(paths) as drafts:
            blocks = (
                (block, streamed.confidence(fields)) for block, fields in streamed.scores(passes)
            )
            out = drafts.get("--out")
            written = contextlib.nullcontext() if out is None else append_table(out, source.dialect)
            left_out = write_blocks(written, points.ids.name, blocks, tally)
            rows = left_out.total()
            del left_out[""]
            settings = score_settings(request, scored, points) | {
                "rows": rows,
                "rows_left_out": left_out.total(),
                "passes": streamed.n_passes,
            }
            if "--model" in drafts:
                about = about_columns(passes.n_features, passes.columns, preparer.to_json())
                all_params = CAKE(**params).get_params()
                file = ModelFile(all_params, about, streamed.built.sample.X, scored)
                save_model(drafts["--model"], file, streamed.model)
            shown = replace(scored, frame=pd.DataFrame(index=points.ids))
            write_shown(drafts, shown, points, request, settings)
    total = tally.summary()
    notes = (*notes_of(scored, total.clusters.index), *total.notes)
    summary = with_options(replace(total, notes=notes))
    outcome = Outcome(request, points, scored, summary, left_out, rows, streamed.n_passes)
    print_scores(outcome, settings)


def _kept_on_disk(table: Source, source: Source, paths: Mapping[str, Path]) -> Source:
    """Return the table so that text is parsed by one pass of the fit, if there are outputs.

    The numbers lie where the results will, for the length of the command.
    """
    folder = next((path.resolve().parent for path in paths.values() if not is_special(path)), None)
    if folder is None or not isinstance(source, CsvSource):
        return table
    return KeptSource(table, folder)


def _check_large(request: ScoreRequest) -> None:
    """Raise for options that do not work in blocks, or not on many machines."""
    if request.tests is not None:
        raise click.UsageError(
            "--tests: of data larger than memory choose-k sees only a sample; leave it out."
        )
    if request.method.device in GPU:
        raise click.UsageError(
            f"--device {request.method.device}: a table that is read in blocks is scored on the "
            "CPU; leave it out, or allow more --memory."
        )
    if request.to_stdout:
        raise click.UsageError(
            "--out -: scores of data larger than memory cannot be printed; name a file."
        )
    out = request.paths.get("--out")
    if out is not None:
        if FORMATS[format_of(out)].append is None:
            raise click.UsageError(
                f"--out {out}: scores of data larger than memory need a file of type "
                f"{suffixes('append')}."
            )
        need(format_of(out))


def write_blocks(
    appended: AbstractContextManager[Append | None],
    name: Any,
    blocks: Iterable[tuple[Block, Confidence]],
    tally: Tally,
) -> Counter[str]:
    """Write the results block by block, with empty rows for those left out, and add them up.

    Return how many rows have no score, by reason; those that have one under an empty text.
    """
    counts = Counter[str]()
    with appended as write:
        for block, scored in blocks:
            results = pd.DataFrame(scored.to_columns(tally.cut.threshold))
            rows = len(results) if block.why is None else len(block.why)
            before = counts.total()
            ids = np.arange(before, before + rows) if block.ids is None else block.ids
            kept = slice(None) if block.kept is None else block.kept
            tally.add(results.set_axis(pd.Index(ids[kept], name=name), axis=0))
            if block.why is not None:
                results = with_left_out(results, block.why)
            results.insert(0, name, ids)
            if write is not None:
                write(results)
            counts.update({"": rows} if block.why is None else Counter(block.why.tolist()))
    return counts


def _points(sample: SampledRows, preparer: TablePreparer, columns: Sequence[str] | None) -> Points:
    """Return the sample as points, for page and plot."""
    plan = preparer.plan_
    ids = pd.Index(sample.names, name=ROW if plan.id is None else row_name(plan.id))
    names = list(columns or (f"column_{one}" for one in plan.features))
    X = pd.DataFrame(sample.X, columns=names, index=ids)
    kept = np.ones(len(ids), dtype=bool)
    unscaled = preparer.measures_.unscale(X)
    return Points(X, unscaled, ids, kept, preparer, sampled=True)
