"""`clustertrust score` on files and folders larger than memory: in blocks of rows, scores written as they come."""

from __future__ import annotations

import contextlib
import gzip
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import CAKE, Confidence
from clustertrust._parallel import memory_budget
from clustertrust.cli.options import Columns, Method
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import RESULTS, ROW, Points, Preparation
from clustertrust.cli.preparing import prepared
from clustertrust.cli.telling import name_of, records, say, settings_of, tell_json, tell_left_out
from clustertrust.cli.writing import draw, write_page
from clustertrust.files.delimited import EXACT, as_text
from clustertrust.files.sources import (
    SUFFIXES,
    Block,
    FrameSource,
    ParquetSource,
    Source,
    bytes_in_memory,
    column_names,
    open_source,
    separator_of,
    suffix_of,
)
from clustertrust.files.tables import format_of, need
from clustertrust.model_files import StoredModel, about_columns, save_model
from clustertrust.reasons import REASONS
from clustertrust.scoring.settings import Settings
from clustertrust.streaming.passes import Passes, Sample, passes_over
from clustertrust.streaming.stream import fit_stream
from clustertrust.summary import SHOWN, clusters_of, lay_out, not_kept, runs_of

__all__ = ["large_source", "score_large"]

BINS = 10_000  # of the scores, for their quantiles
AMBIGUOUS = 5  # points that the summary lists
PARTS = ["score", "stability", "geometry"]  # whose means it tells


def large_source(data: str, columns: Columns, *, always: bool = False) -> Source | None:
    """The table in blocks, where DATA is a folder, or a file too large to be loaded, or `always`; else None."""
    path = Path(data)
    if data == "-" or not (path.is_dir() or suffix_of(path) in {*SUFFIXES, ".npy"}):
        return None
    if not always and not path.is_dir() and bytes_in_memory(path) <= memory_budget():
        return None
    _check_reading(data, columns)
    names = column_names(path)
    if names is not None:
        expand = partial(_expand, names)
        return open_source(data, id=columns.id, use=expand(columns.use) or None, drop=expand(columns.drop))
    if columns.id or columns.use or columns.drop:
        raise ValueError(f"{data} has no named columns; leave out --id, --use and --drop.")
    return open_source(data)


def _check_reading(data: str, columns: Columns) -> None:
    """Raise for ways of reading that blocks do not know."""
    if columns.id in RESULTS:
        raise ValueError(f"The column {columns.id!r} of {data} has the name of a result; rename it to use it as --id.")
    given = {"--separator": columns.separator, "--array": columns.array, "--use-rep": columns.use_rep}
    refused = [option for option, value in given.items() if value]
    if columns.header is False:
        refused.append("--no-header")
    if columns.format is not None and (Path(data).is_dir() or columns.format != format_of(data)):
        refused.append(f"--format {columns.format}")
    if refused:
        raise ValueError(
            f"{data} is gone through in blocks, as its suffix tells it is written, which leaves no room for "
            f"{', '.join(refused)}; allow more --memory, or prepare the file first."
        )


def _expand(names: list[str], given: tuple[str, ...]) -> list[str]:
    """Columns as typed: one name, or several with commas between."""
    return [name for text in given for name in ([text] if text in names else text.split(","))]


@dataclass
class Summary:
    """What the summary needs of all rows, in little room."""

    threshold: float
    bins: NDArray = field(default_factory=lambda: np.zeros(BINS + 1, dtype=np.int64))
    clusters: pd.DataFrame | None = None
    reasons: NDArray = field(default_factory=lambda: np.zeros(len(REASONS), dtype=np.int64))
    worst: pd.DataFrame | None = None
    rows: int = 0
    left_out: int = 0

    def add(self, table: pd.DataFrame) -> None:
        """Take in a block of results, named by their ids; rows without a label were left out."""
        self.rows += len(table)
        self.left_out += int(table["label"].isna().sum())
        known = table["score"].notna()
        self.bins += np.bincount((table.loc[known, "score"] * BINS).round().astype(int), minlength=BINS + 1)
        dropped = not_kept(table["score"], self.threshold).astype(float)
        # A point that one run alone assigns has a silhouette and no score: each column has a count of its own.
        counts = {f"known {name}": table[name].notna().astype(float) for name in PARTS}
        counted = table.assign(points=1, dropped=dropped, **counts).groupby("label")
        sums = counted[["points", *PARTS, *counts, "dropped"]].sum()
        self.clusters = sums if self.clusters is None else self.clusters.add(sums, fill_value=0)
        scored = table.loc[table["label"].notna(), "reason"].cat.codes
        self.reasons += np.bincount(scored, minlength=len(REASONS))
        rows = table.loc[known, [name for name in SHOWN if name in table]]
        both = rows if self.worst is None else pd.concat([self.worst, rows])
        self.worst = both.sort_values(["score", "stability"], kind="stable").head(AMBIGUOUS)

    def parts(self) -> tuple[pd.Series, pd.DataFrame, pd.Series, pd.DataFrame]:
        """Quantiles (to the width of a bin), tables by cluster and by reason, and the most ambiguous points."""
        assert self.clusters is not None
        assert self.worst is not None
        shares = np.cumsum(self.bins) / max(1, self.bins.sum())
        at = {"minimum": 1e-12, "25%": 0.25, "median": 0.5, "75%": 0.75, "maximum": 1.0 - 1e-12}
        found = {name: np.searchsorted(shares, share) / BINS for name, share in at.items()}
        quantiles = pd.Series(found if self.bins.any() else dict.fromkeys(at, np.nan), name="score")
        sums = self.clusters
        means = pd.DataFrame({"points": sums["points"].astype(int)})
        means = means.assign(**{f"mean {name}": sums[name] / sums[f"known {name}"] for name in PARTS})
        means[f"up to {self.threshold:g}"] = sums["dropped"] / sums["points"]
        reasons = pd.Series(self.reasons, index=pd.Index(REASONS, name="reason"), name="points")
        return quantiles, means, reasons[reasons > 0], self.worst


@contextmanager
def csv_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write frames one below the other, as text."""
    first = True

    def write(frame: pd.DataFrame) -> None:
        nonlocal first
        frame.to_csv(opened, index=False, sep=separator_of(path), header=first, lineterminator="\n")
        first = False

    open_text: Callable[..., Any] = gzip.open if path.suffix == ".gz" else Path.open
    with open_text(path, "wt", newline="", encoding="utf-8") as opened:
        yield write


@contextmanager
def parquet_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write frames as row groups."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        # Names of rows that are whole numbers come as floats in a block where one is missing: the first block decides.
        schema = None if writer is None else writer.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        writer = parquet.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


WRITERS = {
    ".csv": csv_writer,
    ".tsv": csv_writer,
    ".csv.gz": csv_writer,
    ".tsv.gz": csv_writer,
    ".parquet": parquet_writer,
}


def score_large(
    source: Source,
    columns: Columns,
    data: str,
    method: Method,
    paths: Mapping[str, Path],
    standardize: bool,
    threshold: float,
    as_json: bool,
    checkpoint: str | None,
    scheduler: str | None = None,
) -> None:
    """Score a table in blocks. Page and picture show the sample that the runs were fitted on."""
    out = paths.get("--out")
    if out is not None and suffix_of(out) not in WRITERS:
        raise click.UsageError(f"--out {out}: scores of data larger than memory go to {', '.join(WRITERS)}.")
    if out is not None and suffix_of(out) == ".parquet":
        need("parquet")
    given = {"--standardize": standardize, "--impute": columns.impute, "--drop-missing": columns.drop_missing}
    refused = [option for option, value in given.items() if value]
    if scheduler is not None and refused:
        raise click.UsageError(
            f"--scheduler: {', '.join(refused)} is not done on many machines; prepare the files first."
        )
    table, preparation = prepared(source, columns, standardize, method.n_jobs)
    params = method.building() | method.scoring()
    settings_of_fit = Settings.of(CAKE(**params, verbose=True, checkpoint=checkpoint))
    passes: Passes = passes_over(table, method.n_runs, method.n_jobs, True)
    with contextlib.ExitStack() as connected:
        if scheduler is not None:
            passes = connected.enter_context(on_workers(source, scheduler))
            passes.remedy = "Without --scheduler a file of at most a quarter of --memory is judged whole"
        else:
            passes.remedy = "A single file of at most a quarter of --memory is judged whole"
        streamed = fit_stream(passes, settings_of_fit)
        say(f"Scoring {streamed.built.n_rows:,} rows of {name_of(data)}.")
        summary = Summary(threshold)
        points = _points(source, streamed.built.sample, preparation)
        scored = streamed.confidence(streamed.judge(Block(streamed.built.sample.X)))
        with staged(paths) as at:
            blocks = ((block, streamed.confidence(judged)) for block, judged in streamed.scores(passes))
            write_blocks(at.get("--out"), points.ids.name, blocks, summary)
            settings = settings_of(params, scored, data, points, standardize)
            settings |= {"rows": summary.rows, "rows_left_out": summary.left_out, "passes": streamed.n_passes}
            if "--model" in at:
                kept = None if preparation is None else preparation.to_json()
                about = about_columns(source.n_features, source.columns, kept)
                stored = StoredModel(
                    CAKE(**params).get_params(), streamed.built.sample.X, streamed.model, scored, about
                )
                save_model(at["--model"], stored)
            scored = replace(scored, frame=pd.DataFrame(index=points.ids))
            if "--plot" in at:
                draw(at["--plot"], scored, points)
            if "--report" in at:
                shown = f"a sample of {len(points.ids):,} of the {summary.rows:,} rows of {name_of(data)}"
                write_page(at["--report"], scored, points, settings, threshold, shown)
    _tell(data, scored, summary, settings, paths, as_json)


def write_blocks(path: Path | None, name: Any, blocks: Iterable[tuple[Block, Confidence]], summary: Summary) -> None:
    """Write the results of the blocks one below the other, rows that were left out empty, and sum them up."""
    at = 0
    with _nowhere() if path is None else WRITERS[suffix_of(path)](path) as write:
        for block, scored in blocks:
            results = _columns(block, scored.to_columns(summary.threshold))
            results.insert(0, name, np.arange(at, at + len(results)) if block.ids is None else block.ids)
            at += len(results)
            write(results)
            summary.add(results.set_index(name))


def _tell(
    data: str,
    scored: Confidence,
    summary: Summary,
    settings: Mapping[str, Any],
    paths: Mapping[str, Path],
    as_json: bool,
) -> None:
    scores, clusters, reasons, worst = summary.parts()
    points, passes = summary.rows - summary.left_out, settings["passes"]
    if as_json:
        told = {"input": data, "rows": summary.rows, "scored": points, "runs": scored.n_runs}
        told |= {"geometry": scored.geometry_method, "threshold": summary.threshold, "passes": passes}
        told |= {"quantiles": scores.to_dict(), "clusters": records(clusters, "label"), "settings": settings}
        tell_json(told | {"reasons": reasons.to_dict(), "ambiguous": records(worst, "id")}, paths)
        return
    headline = (
        f"{points} points, {clusters_of(len(clusters))}, {runs_of(scored)}, {scored.geometry_method} "
        f"silhouettes; {passes} passes over {name_of(data)}"
    )
    click.echo(lay_out(headline, scores, clusters, reasons, worst, summary.threshold))
    tell_left_out(summary.left_out, summary.rows, paths)


@contextmanager
def on_workers(source: Source, scheduler: str) -> Iterator[Passes]:
    """The same files, read by the workers of a Dask scheduler; the runs on the sample go to them too."""
    if not isinstance(source, FrameSource):
        raise click.UsageError("--scheduler reads CSV and Parquet files; write the array as one of these.")
    try:
        distributed, frames = importlib.import_module("distributed"), importlib.import_module("dask.dataframe")
    except ImportError as error:
        raise ImportError('--scheduler needs Dask: pip install "clustertrust[dask]"') from error
    from clustertrust.streaming.dask_passes import DaskPasses

    paths = [str(path.absolute()) for path in source.paths]
    columns = [*(source.columns or ()), *([] if source.id is None else [source.id])]
    if isinstance(source, ParquetSource):
        frame = frames.read_parquet(paths, columns=columns)
    else:
        text = as_text([] if source.id is None else [source.id], source.columns or ())
        kinds = text.pop("dtype", {})
        read = partial(
            frames.read_csv,
            paths,
            sep=separator_of(source.paths[0]),
            usecols=columns,
            blocksize=None if paths[0].endswith(".gz") else "default",  # compressed text cannot be cut
            **EXACT,  # as without a scheduler
            **text,
        )
        # A column that begins with whole numbers may go on with others, which Dask refuses unless it is told.
        whole = [name for name, dtype in read(dtype=kinds).dtypes.items() if getattr(dtype, "kind", "") in "iu"]
        frame = read(dtype=kinds | dict.fromkeys(whole, np.float64))
    with distributed.Client(scheduler, timeout="10s"):
        yield DaskPasses(frame[columns], id=source.id)


@contextmanager
def _nowhere() -> Iterator[Callable[[pd.DataFrame], None]]:
    yield lambda frame: None


def _columns(block: Block, columns: dict[str, Any]) -> pd.DataFrame:
    """The columns that `score --out` writes, of some rows; those that were left out are empty."""
    table = pd.DataFrame(columns)
    if block.kept is None:
        return table
    table = table.astype({"label": "Int64", "rival": "Int64"}).set_axis(np.flatnonzero(block.kept), axis=0)
    return table.reindex(range(len(block.kept))).fillna({"reason": "unassigned"})


def _points(source: Source, sample: Sample, preparation: Preparation | None) -> Points:
    """The sample as points, for what shows them."""
    name = source.id if isinstance(source, FrameSource) and source.id else ROW
    ids = pd.Index(sample.names, name=name)
    names = source.columns or [f"column_{j}" for j in range(source.n_features)]
    X = pd.DataFrame(sample.X, columns=names, index=ids)
    scales = None if preparation is None else preparation.scales
    unscaled = X if preparation is None or scales is None else X * scales + preparation.means
    return Points(X, unscaled, ids, np.ones(len(ids), dtype=bool), preparation)
