"""`clustertrust score` for data larger than memory: read and write blocks of rows."""

from __future__ import annotations

import contextlib
import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust import CAKE, Confidence
from clustertrust.cli.blocks import open_table, prepare_table
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import named_problems, preparer_for
from clustertrust.cli.points import ROW, Points, check_free
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
from clustertrust.cli.sidecar_plan import BESIDE, with_plan_beside
from clustertrust.cli.writing import draw_scores, write_page, write_plan
from clustertrust.files.appending import Append
from clustertrust.files.delimited import COMMA, COMPRESSED, EXACT
from clustertrust.files.formats import FORMATS, format_of, known_format, need, suffixes
from clustertrust.files.lines import UTF8
from clustertrust.files.sources import Block, CsvSource, FrameSource, ParquetSource, Source
from clustertrust.files.tables import fits_in_memory
from clustertrust.model_files import StoredModel, about_columns, save_model
from clustertrust.scoring.settings import Settings
from clustertrust.streaming.passes import BlockReader, SampledRows, reader_of
from clustertrust.streaming.stream import fit_stream
from clustertrust.summary import Tally, headline
from clustertrust.tables import TablePreparer


def large_source(request: ScoreRequest) -> Source | None:
    """Open the table in blocks if DATA is a folder, too large, or for a scheduler; else None."""
    data, columns, path = request.data, request.columns, Path(request.data)
    if data == "-":
        return None
    if not path.is_dir():
        format = known_format(path)
        if format is None or FORMATS[format].blocks is None:
            return None
        if request.scheduler is None and fits_in_memory(path):
            return None
    _check_blockwise(data, columns)
    return open_table(data, columns)


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


def score_large(request: ScoreRequest, source: Source) -> None:
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
            name = preparer.plan_.id
        else:
            table = prepare_table(source, data, request.columns)
            preparer, name = table.preparer, table.id
            passes = reader_of(table, method.n_runs, method.n_jobs, is_interactive())
            passes.remedy = "A single file of at most a quarter of --memory is read whole"
        check_free(name, data)
        streamed = fit_stream(passes, settings_of_fit)
        say(f"Scoring {streamed.built.n_rows:,} rows of {name_of(data)}.")
        points = _points(streamed.built.sample, preparer, name, passes.columns)
        scored = streamed.confidence(streamed.scorer(Block(streamed.built.sample.X)))
        # the rows are written as they are scored: the sample stands for all
        tally = Tally(scored.cut(request.threshold))
        paths = with_plan_beside(paths, request.columns, points)
        request = replace(request, paths=paths)
        with staged(paths) as at:
            blocks = (
                (block, streamed.confidence(fields)) for block, fields in streamed.scores(passes)
            )
            left_out = write_blocks(at.get("--out"), points.ids.name, blocks, tally)
            settings = score_settings(request, scored, points)
            settings |= {
                "rows": tally.rows,
                "rows_left_out": tally.left_out,
                "passes": streamed.n_passes,
            }
            if "--model" in at:
                about = about_columns(passes.n_features, passes.columns, preparer.to_json())
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
                write_page(at["--report"], scored, points, request, settings, shown)
    _print_outcome(request, scored, tally, points, settings, left_out)


def _check_large(request: ScoreRequest) -> None:
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
    if request.scheduler is not None and request.columns.drop_missing:
        raise click.UsageError(
            "--scheduler does not work with --drop-missing; prepare the files first."
        )


def write_blocks(
    path: Path | None, name: Any, blocks: Iterable[tuple[Block, Confidence]], tally: Tally
) -> Counter[str]:
    """Write the results block by block, with empty rows for those left out, and add them up.

    Return how many rows are left out, by reason.
    """
    at, left_out = 0, Counter[str]()
    with _appended(path) as write:
        for block, scored in blocks:
            results = _columns(block, scored.to_columns(tally.cut.threshold))
            results.insert(
                0, name, np.arange(at, at + len(results)) if block.ids is None else block.ids
            )
            at += len(results)
            tally.add(results.set_index(name))
            write(_with_why(results, block))
            left_out += Counter(() if block.why is None else block.why[block.why != ""].tolist())
    return left_out


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
    left_out: Mapping[str, int],
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
    for why, count in left_out.items():
        text += f"\n\n{unscored(count, tally.rows, why)}"
    print_summary(request, text, points)


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
            preparer = preparer_for(request.columns, source.wanted, data).fit(frame)
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
        return frames.read_parquet(paths, columns=source.wanted)
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
    return results.assign(reason=results["reason"].astype(object).where(block.kept, block.why))


def _points(
    sample: SampledRows, preparer: TablePreparer, name: str | None, columns: Sequence[str] | None
) -> Points:
    """Return the sample as points, for page and plot."""
    ids = pd.Index(sample.names, name=name or ROW)
    plan = preparer.plan_
    names = list(columns or (f"column_{one}" for one in plan.features))
    X = pd.DataFrame(sample.X, columns=names, index=ids)
    kept = np.ones(len(ids), dtype=bool)
    unscaled = preparer.measures_.unscale(X)
    return Points(X, unscaled, ids, kept, preparer, plan=plan, sampled=True)
