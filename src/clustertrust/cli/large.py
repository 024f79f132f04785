"""`clustertrust score` for data larger than memory: read and write blocks of rows."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust import CAKE, Confidence
from clustertrust._parallel import memory_budget
from clustertrust.cli.options import Columns
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import TableProblem, check_plan, wishes_of
from clustertrust.cli.points import ROW, Points, check_free
from clustertrust.cli.preparing import Ways, prepared
from clustertrust.cli.printing import (
    name_of,
    plan_of,
    print_json,
    print_summary,
    say,
    score_settings,
    summary_fields,
    watched,
    with_options,
)
from clustertrust.cli.request import ScoreRequest
from clustertrust.cli.scaling import Preparation
from clustertrust.cli.writing import draw_scores, kept_of, write_page, write_plan
from clustertrust.files.appending import Append
from clustertrust.files.columns import check_there, listed
from clustertrust.files.delimited import COMPRESSED, EXACT, as_text
from clustertrust.files.formats import FORMATS, format_of, known_format, need, suffixes
from clustertrust.files.sources import (
    Block,
    CsvSource,
    FrameSource,
    ParquetSource,
    Source,
)
from clustertrust.files.tables import bytes_in_memory, column_names, open_source
from clustertrust.model_files import StoredModel, about_columns, save_model
from clustertrust.scoring.settings import Settings
from clustertrust.streaming.passes import Passes, SampledRows, passes_over
from clustertrust.streaming.stream import fit_stream
from clustertrust.summary import Tally, headline
from clustertrust.tables import ColumnPlan, TablePlan, look
from clustertrust.tables.kinds import COUNTING
from clustertrust.tables.plan import MISSING_VALUES

__all__ = ["large_source", "score_large"]


SAMPLE = 5000  # rows at the start of a table that its plan is made from


def large_source(request: ScoreRequest) -> Planned | None:
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
    names = column_names(path)
    if names is None:
        choice = columns.choice(())
        named = {name: choice[name] for name in ("id", "use", "drop")}
        return Planned(open_source(data, **named), None)
    plan = _look(request, names)
    used = [column.name for column in plan.used]
    return Planned(open_source(data, id=request.columns.id, use=used), plan)


@dataclass(frozen=True)
class Planned:
    """A table in blocks, and what a look at its first rows decided."""

    source: Source
    plan: TablePlan | None


def _look(request: ScoreRequest, names: list[str]) -> TablePlan:
    """The plan of a table in blocks, made from its first rows."""
    data, columns = request.data, request.columns
    choice = columns.choice(names)
    check_there(names, data, id=[] if choice["id"] is None else [choice["id"]])
    others = [name for name in names if name != choice["id"]]
    head = open_source(data, id=choice["id"], use=others)
    assert isinstance(head, FrameSource)
    frame = head.head(SAMPLE)
    plan = look(frame[[name for name in names if name in frame]], wishes_of(columns, choice))
    check_plan(plan, data)
    plan = replace(plan, columns=tuple(_cautious(c, frame[c.name]) for c in plan.columns))
    text = [c.name for c in plan.used if c.use == "category" or not _is_number(frame[c.name], c)]
    if text:
        raise TableProblem(
            f"{data} is read in blocks, where nothing but numbers is clustered: {listed(text)} "
            "would have to be turned into numbers first. Leave them out with --drop, or allow more "
            "--memory.",
            [f"drop={text!r}"],
        )
    return plan


def _cautious(column: ColumnPlan, series: pd.Series) -> ColumnPlan:
    """The plan of a column, where the first rows of sorted ones prove nothing about the others."""
    steps = column.reason == COUNTING[1] and not pd.api.types.is_integer_dtype(series.dtype)
    sorted_rows = column.numeric and (column.kind == "constant" or steps)
    if column.use in ("aside", "id") and sorted_rows and not column.said:
        return replace(column, kind="number", use="number", reason="", otherwise="")
    return column


def _is_number(series: pd.Series, column: ColumnPlan) -> bool:
    return pd.api.types.is_numeric_dtype(series.dtype) and not column.missing


def _check_blockwise(data: str, columns: Columns) -> None:
    """Raise for reading options that do not work with blocks."""
    check_free(columns.id, data)
    given = {
        "--separator": columns.separator,
        "--array": columns.array,
        "--use-rep": columns.use_rep,
        "--plan": columns.plan,
        "--encoding": columns.encoding,
        "--decimal": columns.decimal,
        "--thousands": columns.thousands,
        "--na": columns.na,
        "--skip-rows": columns.skip_rows,
        "--sheet": columns.sheet,
        "--scale": columns.scale in ("robust", "minmax"),
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


def score_large(request: ScoreRequest, planned: Planned) -> None:
    """Score a table in blocks. Page and picture show the sample that the runs were fitted on."""
    source, plan = planned.source, planned.plan
    _check_large(request, plan)
    standardize = request.columns.standardize or request.columns.scale == "standard"
    impute = request.columns.impute is not None
    if plan is not None:
        standardize = plan.scale in ("standard", "robust")
        lost = any(column.n_missing for column in plan.used)
        impute = plan.missing == "mean" or (plan.missing == "auto" and lost)
        plan = replace(
            plan,
            scale="standard" if standardize else "none",
            missing=("mean" if impute else plan.missing),
        )
    data, method, paths = request.data, request.method, request.paths
    table, preparation = prepared(
        source, Ways(request.columns.drop_missing, impute, standardize), method.n_jobs
    )
    params = method.building() | method.scoring()
    settings_of_fit = Settings.of(CAKE(**params, verbose=watched(), checkpoint=request.checkpoint))
    passes: Passes = passes_over(table, method.n_runs, method.n_jobs, watched())
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
        threshold = request.threshold_for(scored.scores)
        tally = Tally(threshold, fitted=request.threshold is None)
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
            if "--save-plan" in at:
                write_plan(at["--save-plan"], points)
            if "--plot" in at:
                draw_scores(at["--plot"], scored, points)
            if "--report" in at:
                shown = (
                    f"a sample of {len(points.ids):,} of the {tally.rows:,} rows of {name_of(data)}"
                )
                write_page(at["--report"], scored, points, settings, request.threshold, shown)
    _print_outcome(request, scored, tally, points, settings)


def _check_large(request: ScoreRequest, plan: TablePlan | None) -> None:
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
    if request.scheduler is not None and plan is not None and plan.scale != "none":
        raise click.UsageError(
            f"--scheduler: {plan.scale_reason}, and columns are not scaled on many machines; scale "
            "them first, or say --scale none."
        )


def write_blocks(
    path: Path | None, name: Any, blocks: Iterable[tuple[Block, Confidence]], tally: Tally
) -> None:
    """Write the results block by block, with empty rows for those left out, and add them up."""
    at = 0
    with _appended(path) as write:
        for block, scored in blocks:
            results = _columns(block, scored.to_columns(tally.threshold))
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
        text += f"\n\n{tally.left_out} of {tally.rows} rows have no score ({MISSING_VALUES})."
    print_summary(request, text, points)


@contextmanager
def on_workers(source: Source, scheduler: str) -> Iterator[Passes]:
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
    from clustertrust.streaming.dask_passes import DaskPasses

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
            sep=source.separator,
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
        yield DaskPasses(frame[columns], id=source.id)


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
    name = source.id if isinstance(source, FrameSource) and source.id else ROW
    ids = pd.Index(sample.names, name=name)
    names = source.columns or [f"column_{j}" for j in range(source.n_features)]
    X = pd.DataFrame(sample.X, columns=names, index=ids)
    unscaled = X if preparation is None else preparation.unscale(X)
    return Points(X, unscaled, ids, np.ones(len(ids), dtype=bool), preparation, sampled=True)
