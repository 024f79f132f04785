"""`clustertrust score` for data larger than memory: read and write blocks of rows."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust import CAKE, Confidence
from clustertrust._parallel import memory_budget
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.planned_blocks import Encoded, PlannedTable, plan_blocks, refuse_encoding
from clustertrust.cli.points import ROW, Points, check_free, reading_of
from clustertrust.cli.preparing import Ways, prepared
from clustertrust.cli.printing import (
    is_interactive,
    name_of,
    plan_of,
    print_json,
    print_summary,
    say,
    score_settings,
    summary_fields,
    unscored,
    with_options,
)
from clustertrust.cli.request import ScoreRequest
from clustertrust.cli.scaling import Preparation
from clustertrust.cli.sidecar_plan import BESIDE, with_plan_beside
from clustertrust.cli.writing import draw_scores, kept_of, write_page, write_plan
from clustertrust.files.appending import Append
from clustertrust.files.delimited import COMMA, COMPRESSED, EXACT, as_text
from clustertrust.files.formats import FORMATS, format_of, known_format, need, suffixes
from clustertrust.files.lines import UTF8
from clustertrust.files.sources import (
    Block,
    CsvSource,
    ParquetSource,
    Source,
)
from clustertrust.files.tables import bytes_in_memory, column_names, open_source
from clustertrust.model_files import StoredModel, about_columns, save_model
from clustertrust.scoring.settings import Settings
from clustertrust.streaming.passes import BlockReader, SampledRows, reader_of
from clustertrust.streaming.stream import fit_stream
from clustertrust.summary import Tally, headline
from clustertrust.tables import TablePlan
from clustertrust.tables.plan import MISSING_VALUES


def large_source(request: ScoreRequest) -> PlannedTable | None:
    """Open the table in blocks if DATA is a folder, too large, or for a scheduler; else None."""
    data, columns, path = request.data, request.columns, Path(request.data)
    if data == "-":
        return None
    if not path.is_dir():
        format = known_format(path)
        if format is None or FORMATS[format].blocks is None:
            return None
        if request.scheduler is None and bytes_in_memory(path) <= memory_budget():
            return None
    _check_blockwise(data, columns)
    names = column_names(path, reading_of(columns))
    if names is None:
        choice = columns.choice(())
        return PlannedTable(
            open_source(data, **{name: choice[name] for name in ("id", "use", "drop")})
        )
    return plan_blocks(data, columns, names)


def _check_blockwise(data: str, columns: ReadOptions) -> None:
    """Raise for reading options that do not work with blocks."""
    check_free(columns.id, data)
    given = {
        "--array": columns.array,
        "--use-rep": columns.use_rep,
        "--sheet": columns.sheet,
    }
    refused = [option for option, value in given.items() if value]
    if columns.header is False:
        refused.append("--no-header")
    if columns.format is not None and (Path(data).is_dir() or columns.format != format_of(data)):
        refused.append(f"--format {columns.format}")
    if refused:
        raise ValueError(
            f"{data} is read in blocks, in the format of its suffix, which does not allow "
            f"{', '.join(refused)}; allow more --memory, or prepare the file first."
        )


def score_large(request: ScoreRequest, planned: PlannedTable) -> None:
    """Score a table in blocks. Page and picture show the sample that the runs were fitted on."""
    _check_large(request, planned)
    data, method, paths = request.data, request.method, request.paths
    source, way = planned.source, _plan_in_blocks(planned, request.columns)
    plan = None if planned.plan is None else way
    ways = Ways(request.columns.drop_missing, way.missing == "mean", way)
    table, preparation = prepared(source, ways, method.n_jobs, planned.first)
    params = method.building(request.checkpoint) | method.scoring()
    settings_of_fit = Settings.from_estimator(CAKE(**params, verbose=is_interactive()))
    passes: BlockReader = reader_of(table, method.n_runs, method.n_jobs, is_interactive())
    with contextlib.ExitStack() as connected:
        if request.scheduler is not None:
            passes = connected.enter_context(on_workers(source, request.scheduler))
            passes.remedy = (
                "Without --scheduler, a file of at most a quarter of --memory is read whole"
            )
        else:
            passes.remedy = "A single file of at most a quarter of --memory is read whole"
        streamed = fit_stream(passes, settings_of_fit)
        say(f"Scoring {streamed.built.n_rows:,} rows of {name_of(data)}.")
        points = replace(_points(source, streamed.built.sample, preparation), plan=plan)
        scored = streamed.confidence(streamed.scorer(Block(streamed.built.sample.X)))
        # the rows are written as they are scored: the sample stands for all
        tally = Tally(scored.cut(request.threshold))
        paths = with_plan_beside(paths, request.columns, points)
        request = replace(request, paths=paths)
        with staged(paths) as at:
            blocks = (
                (block, streamed.confidence(fields)) for block, fields in streamed.scores(passes)
            )
            write_blocks(at.get("--out"), points.ids.name, blocks, tally)
            settings = score_settings(request, scored, points)
            settings |= {
                "rows": tally.rows,
                "rows_left_out": tally.left_out,
                "passes": streamed.n_passes,
            }
            if "--model" in at:
                kept = kept_of(preparation, plan)
                about = about_columns(source.n_features, source.columns, kept)
                stored = StoredModel(
                    CAKE(**params).get_params(),
                    streamed.built.sample.X,
                    streamed.model,
                    scored,
                    about,
                )
                save_model(at["--model"], stored)
            scored = replace(scored, frame=pd.DataFrame(index=points.ids))
            for option in {"--save-plan", BESIDE} & at.keys():
                write_plan(at[option], points)
            if "--plot" in at:
                draw_scores(at["--plot"], scored, points)
            if "--report" in at:
                shown = (
                    f"a sample of {len(points.ids):,} of the {tally.rows:,} rows of {name_of(data)}"
                )
                write_page(at["--report"], scored, points, settings, request.threshold, shown)
    _print_outcome(request, scored, tally, points, settings)


def _plan_in_blocks(planned: PlannedTable, columns: ReadOptions) -> TablePlan:
    """Return the plan with what happens to missing values in blocks, where no row is left out."""
    plan = planned.plan
    if plan is None:
        scale = "standard" if columns.standardize else columns.scale
        scale = "none" if scale == "auto" else scale
        return TablePlan((), scale=scale, missing=columns.missing_rule() or "auto")
    # The means of numbers that are whole in the first rows would take a pass of their own.
    gaps = any(column.n_missing for column in plan.used) or isinstance(planned.source, Encoded)
    return replace(plan, missing="mean") if plan.missing == "auto" and gaps else plan


def _check_large(request: ScoreRequest, planned: PlannedTable) -> None:
    """Raise for options that do not work in blocks, or not on many machines."""
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
    columns = request.columns
    given = {
        "--standardize": columns.standardize or columns.scale == "standard",
        "--impute": columns.impute,
        "--drop-missing": columns.drop_missing,
    }
    refused = [option for option, value in given.items() if value]
    if request.scheduler is not None and refused:
        raise click.UsageError(
            f"--scheduler does not work with {', '.join(refused)}; prepare the files first."
        )
    plan = planned.plan
    if request.scheduler is None or plan is None:
        return
    assert planned.first is not None
    refuse_encoding(plan, planned.first, request.data)
    if plan.scale != "none":
        raise click.UsageError(
            "--scheduler: the ranges of the columns differ, and columns are not scaled on many "
            "machines; scale them first, or say --scale none."
        )


def write_blocks(
    path: Path | None, name: Any, blocks: Iterable[tuple[Block, Confidence]], tally: Tally
) -> None:
    """Write the results block by block, with empty rows for those left out, and add them up."""
    at = 0
    with _appended(path) as write:
        for block, scored in blocks:
            results = _columns(block, scored.to_columns(tally.cut.threshold))
            results.insert(
                0, name, np.arange(at, at + len(results)) if block.ids is None else block.ids
            )
            at += len(results)
            tally.add(results.set_index(name))
            write(_with_why(results, block))


def _appended(path: Path | None) -> AbstractContextManager[Append]:
    """Return a context that writes frames to a file, or nowhere."""
    if path is None:
        return contextlib.nullcontext(lambda frame: None)
    append = FORMATS[format_of(path)].append
    assert append is not None
    return append(path)


def _print_outcome(
    request: ScoreRequest,
    scored: Confidence,
    tally: Tally,
    points: Points,
    settings: Mapping[str, Any],
) -> None:
    summary = with_options(tally.summary())
    scores, passes = tally.rows - tally.left_out, settings["passes"]
    if request.as_json:
        printed = {
            "input": request.data,
            "rows": tally.rows,
            "scored": scores,
            "runs": scored.n_runs,
        }
        printed |= {"geometry": scored.geometry_method, "passes": passes}
        printed |= summary_fields(summary) | {"settings": settings} | plan_of(points)
        print_json(printed, request.paths)
        return
    line = headline(scores, len(summary.clusters), scored.ensemble, scored.geometry_method)
    line += f"; {passes} passes over {name_of(request.data)}"
    text = summary.text(line)
    if tally.left_out:
        text += f"\n\n{unscored(tally.left_out, tally.rows, MISSING_VALUES)}"
    print_summary(request, text, points)


@contextmanager
def on_workers(source: Source, scheduler: str) -> Iterator[BlockReader]:
    """Let the workers of a Dask scheduler read the files and fit the runs on the sample."""
    if not isinstance(source, CsvSource | ParquetSource):
        raise click.UsageError(
            "--scheduler reads CSV, TSV and Parquet files; write the table as one of these."
        )
    if len({path.suffix.lower() for path in source.paths} & COMPRESSED.keys()) > 1:
        raise click.UsageError(
            "--scheduler needs files with the same compression; compress all of them in one way."
        )
    try:
        distributed, frames = (
            importlib.import_module("distributed"),
            importlib.import_module("dask.dataframe"),
        )
    except ImportError as error:
        raise ImportError('--scheduler needs Dask: pip install "clustertrust[dask]"') from error
    from clustertrust.streaming.dask_passes import DaskReader

    if isinstance(source, CsvSource):
        _check_texts(source)
    paths = [str(path.absolute()) for path in source.paths]
    columns = source.wanted
    if isinstance(source, ParquetSource):
        frame = frames.read_parquet(paths, columns=columns)
    else:
        text = as_text([] if source.id is None else [source.id], source.columns or (), ("None",))
        kinds = text.pop("dtype", {})
        read = partial(
            frames.read_csv,
            paths,
            sep=source.texts[0].layout.separator,
            usecols=columns,
            blocksize=None
            if source.paths[0].suffix.lower() in COMPRESSED
            else "default",  # it cannot be split
            **EXACT,  # as without a scheduler
            **text,
        )
        # A column may start with whole numbers and continue with others, which Dask refuses unless
        # the type is given.
        whole = [
            name
            for name, dtype in read(dtype=kinds).dtypes.items()
            if getattr(dtype, "kind", "") in "iu"
        ]
        frame = read(dtype=kinds | dict.fromkeys(whole, np.float64))
    with distributed.Client(scheduler, timeout="10s"):
        yield DaskReader(frame[columns], id=source.id)


def _check_texts(source: CsvSource) -> None:
    """Raise for files that workers would read in another way."""
    odd = next((t for t in source.texts if t.encoding not in UTF8 or t.layout.skip), None)
    if odd is not None:
        raise click.UsageError(
            f"--scheduler reads UTF-8 text with the names in the first line, and {odd.path} is "
            "laid out otherwise; save it in that format."
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


def _columns(block: Block, columns: dict[str, Any]) -> pd.DataFrame:
    """Return the columns that `score --out` writes for a block, empty where rows are left out."""
    table = pd.DataFrame(columns)
    if block.kept is None:
        return table
    table = table.astype({"label": "Int64", "rival": "Int64"}).set_axis(
        np.flatnonzero(block.kept), axis=0
    )
    return table.reindex(range(len(block.kept))).fillna({"reason": "unassigned"})


def _with_why(results: pd.DataFrame, block: Block) -> pd.DataFrame:
    """Return the results with the reason of rows that were left out."""
    if block.kept is None:
        return results
    reason = results["reason"].cat.add_categories([MISSING_VALUES])
    return results.assign(reason=reason.where(block.kept, MISSING_VALUES))


def _points(source: Source, sample: SampledRows, preparation: Preparation | None) -> Points:
    """Return the sample as points, for page and plot."""
    name = getattr(source, "id", None) or ROW
    ids = pd.Index(sample.names, name=name)
    names = source.columns or [f"column_{j}" for j in range(source.n_features)]
    X = pd.DataFrame(sample.X, columns=names, index=ids)
    unscaled = X if preparation is None else preparation.unscale(X)
    return Points(X, unscaled, ids, np.ones(len(ids), dtype=bool), preparation, sampled=True)
