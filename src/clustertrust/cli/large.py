"""`clustertrust score` on files and folders larger than memory: in blocks of rows, scores written as they come."""

from __future__ import annotations

import contextlib
import gzip
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import CAKE, Confidence
from clustertrust._parallel import memory_budget
from clustertrust.cli.options import Columns, Method
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import ROW, Points, Preparation
from clustertrust.cli.telling import name_of, records, say, settings_of, tell_json
from clustertrust.cli.writing import draw, save, write_page
from clustertrust.files import need
from clustertrust.reasons import REASONS
from clustertrust.sources import (
    SUFFIXES,
    Block,
    FrameSource,
    ParquetSource,
    Source,
    open_source,
    separator_of,
    suffix_of,
)
from clustertrust.streaming import Passes, passes_over
from clustertrust.summary import SHOWN, lay_out, not_kept

__all__ = ["large_source", "score_large"]

BINS = 10_000  # of the scores, for their quantiles
AMBIGUOUS = 5  # points that the summary lists


def large_source(data: str, columns: Columns, *, always: bool = False) -> Source | None:
    """The table in blocks, where DATA is a folder, or a file too large to be loaded, or `always`; else None."""
    path = Path(data)
    if data == "-" or not (path.is_dir() or suffix_of(path) in {*SUFFIXES, ".npy"}):
        return None
    if not always and not path.is_dir() and path.stat().st_size <= memory_budget():
        return None
    source = open_source(data)
    if isinstance(source, FrameSource):
        names = source.columns or []
        expand = partial(_expand, names)
        source = open_source(data, id=columns.id, use=expand(columns.use) or None, drop=[*expand(columns.drop)])
    elif columns.id or columns.use or columns.drop:
        raise ValueError(f"{data} has no named columns; leave out --id, --use and --drop.")
    given = {"--impute": columns.impute, "--drop-missing": columns.drop_missing, "--separator": columns.separator}
    refused = [option for option, value in given.items() if value]
    if columns.header is False:
        refused.append("--no-header")
    if refused:
        raise ValueError(
            f"{data} is larger than --memory allows to load and is gone through in blocks, which {', '.join(refused)} "
            "does not do yet; allow more --memory, or prepare the file first."
        )
    return source


def _expand(names: list[str], given: tuple[str, ...]) -> list[str]:
    """Columns as typed: one name, or several with commas between."""
    return [name for text in given for name in ([text] if text in names else text.split(","))]


class Scaled(Source):
    """A table with columns of mean 0 and standard deviation 1."""

    def __init__(self, source: Source, preparation: Preparation) -> None:
        self.source, self.preparation = source, preparation
        self.columns, self.n_features, self.n_rows = source.columns, source.n_features, source.n_rows

    def read(self, rows: int) -> Iterator[Block]:
        """Scale what the table gives."""
        for block in self.source.read(rows):
            yield block._replace(X=self.preparation.scale(block.X))


def moments(source: Source, method: Method) -> Preparation:
    """Means and standard deviations of the columns, in one pass (Chan's formula)."""
    count, mean, squares = 0, np.zeros(source.n_features), np.zeros(source.n_features)

    def of(block: Block) -> tuple[int, NDArray, NDArray]:
        X = block.X.astype(np.float64)
        middle = X.mean(axis=0)
        return len(X), middle, ((X - middle) ** 2).sum(axis=0)

    for n, middle, around in passes_over(source, method.n_runs, method.n_jobs, True).map(of, "measuring the columns"):
        shift = middle - mean
        squares += around + shift**2 * (count * n / (count + n))
        mean = mean + shift * (n / (count + n))
        count += n
    scales = np.sqrt(squares / max(1, count))
    scales[scales <= 1e-12 * np.abs(mean)] = 1.0  # a column of equal values stays
    return Preparation(mean, scales, False)


@dataclass
class Summary:
    """What the summary needs of all rows, in little room."""

    threshold: float
    bins: NDArray = field(default_factory=lambda: np.zeros(BINS + 1, dtype=np.int64))
    clusters: pd.DataFrame | None = None
    reasons: NDArray = field(default_factory=lambda: np.zeros(len(REASONS), dtype=np.int64))
    worst: pd.DataFrame | None = None
    rows: int = 0

    def add(self, table: pd.DataFrame) -> None:
        """Take in a block of results, named by their ids."""
        self.rows += len(table)
        known = table["score"].notna()
        self.bins += np.bincount((table.loc[known, "score"] * BINS).round().astype(int), minlength=BINS + 1)
        dropped = not_kept(table["score"], self.threshold).astype(float)
        sums = table.assign(points=1, dropped=dropped).groupby("label")[
            ["points", "score", "stability", "geometry", "dropped"]
        ]
        self.clusters = sums.sum() if self.clusters is None else self.clusters.add(sums.sum(), fill_value=0)
        self.reasons += np.bincount(table["reason"].cat.codes, minlength=len(REASONS))
        both = table.loc[known, SHOWN] if self.worst is None else pd.concat([self.worst, table.loc[known, SHOWN]])
        self.worst = both.sort_values(["score", "stability"], kind="stable").head(AMBIGUOUS)

    def parts(self) -> tuple[pd.Series, pd.DataFrame, pd.Series, pd.DataFrame]:
        """Quantiles (to the width of a bin), tables by cluster and by reason, and the most ambiguous points."""
        assert self.clusters is not None
        assert self.worst is not None
        shares = np.cumsum(self.bins) / max(1, self.bins.sum())
        at = {"minimum": 1e-12, "25%": 0.25, "median": 0.5, "75%": 0.75, "maximum": 1.0 - 1e-12}
        quantiles = pd.Series({name: np.searchsorted(shares, share) / BINS for name, share in at.items()}, name="score")
        means = self.clusters[["score", "stability", "geometry", "dropped"]].div(self.clusters["points"], axis=0)
        means.columns = ["mean score", "mean stability", "mean geometry", f"up to {self.threshold:g}"]
        means.insert(0, "points", self.clusters["points"].astype(int))
        reasons = pd.Series(self.reasons, index=pd.Index(REASONS, name="reason"), name="points")
        return quantiles, means, reasons[reasons > 0], self.worst


@contextmanager
def csv_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write frames one below the other, as text."""
    separator = "\t" if ".tsv" in path.suffixes else ","
    first = True

    def write(frame: pd.DataFrame) -> None:
        nonlocal first
        frame.to_csv(opened, index=False, sep=separator, header=first, lineterminator="\n")
        first = False

    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as opened:
        yield write


@contextmanager
def parquet_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write frames as row groups."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        table = pa.Table.from_pandas(frame, preserve_index=False)
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
    if scheduler is not None and standardize:
        raise click.UsageError("--scheduler: columns are not standardised on many machines; prepare the files first.")
    preparation = moments(source, method) if standardize else None
    table = source if preparation is None else Scaled(source, preparation)
    cake = CAKE(**method.building(), **method.scoring(), verbose=True)
    passes: Passes = passes_over(table, method.n_runs, method.n_jobs, True)
    with contextlib.ExitStack() as connected:
        if scheduler is not None:
            passes = connected.enter_context(on_workers(source, scheduler))
        _score(cake, passes, source, data, method, paths, standardize, threshold, as_json, checkpoint, preparation)


@contextmanager
def on_workers(source: Source, scheduler: str) -> Iterator[Passes]:
    """The same files, read by the workers of a Dask scheduler; the runs on the sample go to them too."""
    if not isinstance(source, FrameSource):
        raise click.UsageError("--scheduler reads CSV and Parquet files; write the array as one of these.")
    try:
        distributed, frames = importlib.import_module("distributed"), importlib.import_module("dask.dataframe")
    except ImportError as error:
        raise ImportError('--scheduler needs Dask: pip install "clustertrust[dask]"') from error
    from clustertrust.dask_passes import DaskPasses

    paths = [str(path.absolute()) for path in source.paths]
    columns = [*(source.columns or ()), *([] if source.id is None else [source.id])]
    if isinstance(source, ParquetSource):
        frame = frames.read_parquet(paths, columns=columns)
    else:
        compressed = paths[0].endswith(".gz")
        frame = frames.read_csv(
            paths,
            sep=separator_of(source.paths[0]),
            usecols=columns,
            dtype={} if source.id is None else {source.id: str},
            blocksize=None if compressed else "default",  # compressed text cannot be cut
        )
    with distributed.Client(scheduler, timeout="10s"), joblib.parallel_config(backend="dask"):
        yield DaskPasses(frame, id=source.id)


def _score(
    cake: CAKE,
    passes: Passes,
    source: Source,
    data: str,
    method: Method,
    paths: Mapping[str, Path],
    standardize: bool,
    threshold: float,
    as_json: bool,
    checkpoint: str | None,
    preparation: Preparation | None,
) -> None:
    streamed = cake._stream(passes, checkpoint)
    cake._keep(streamed.sample, streamed.model, streamed.confidence(streamed.judge(Block(streamed.sample))))
    say(f"Scoring {streamed.n_rows:,} rows of {name_of(data)}.")
    summary = Summary(threshold)
    with staged(paths) as at:
        writer = WRITERS[suffix_of(at["--out"])](at["--out"]) if "--out" in at else _nowhere()
        with writer as write:
            for block, judged in streamed.scores(passes):
                results = _columns(source, block, streamed.confidence(judged), threshold)
                write(results)
                summary.add(results.set_index(results.columns[0]))
        settings = _settings(cake, method, data, source, streamed.sample, standardize)
        if "--model" in at:
            save(at["--model"], cake, preparation)
        if "--plot" in at:
            draw(at["--plot"], cake._confidence, _points(source, streamed.sample))
        if "--report" in at:
            shown = f"a sample of {len(streamed.sample):,} of the {streamed.n_rows:,} rows of {name_of(data)}"
            write_page(at["--report"], cake._confidence, _points(source, streamed.sample), settings, threshold, shown)
    scores, clusters, reasons, worst = summary.parts()
    if as_json:
        told = {"input": data, "rows": summary.rows, "scored": summary.rows, "runs": cake.n_runs_}
        told |= {"geometry": streamed.geometry_method, "threshold": threshold, "passes": cake.n_passes_}
        told |= {"quantiles": scores.to_dict(), "clusters": records(clusters, "label"), "reasons": reasons.to_dict()}
        tell_json(told | {"ambiguous": records(worst, "id"), "settings": settings}, paths)
        return
    headline = (
        f"{summary.rows} points, {len(clusters)} clusters, {cake.n_runs_} runs, {streamed.geometry_method} "
        f"silhouettes; {cake.n_passes_} passes over {name_of(data)}"
    )
    click.echo(lay_out(headline, scores, clusters, reasons, worst, threshold))
    if paths:
        click.echo(f"\nWrote {', '.join(str(path) for path in paths.values())}.")


@contextmanager
def _nowhere() -> Iterator[Callable[[pd.DataFrame], None]]:
    yield lambda frame: None


def _columns(source: Source, block: Block, scored: Confidence, threshold: float) -> pd.DataFrame:
    """The columns that `score --out` writes, of some rows."""
    name = source.id if isinstance(source, FrameSource) and source.id else ROW
    ids = np.arange(block.before, block.before + len(block.X)) if block.ids is None else block.ids
    return pd.DataFrame({name: ids, **scored.to_columns(threshold)})


def _points(source: Source, sample: NDArray) -> Points:
    """The sample as points, for what shows them."""
    names = source.columns or [f"column_{j}" for j in range(source.n_features)]
    frame = pd.DataFrame(sample, columns=names)
    return Points(frame, frame, pd.RangeIndex(len(sample), name=ROW), np.ones(len(sample), dtype=bool), None)


def _settings(
    cake: CAKE, method: Method, data: str, source: Source, sample: NDArray, standardize: bool
) -> dict[str, Any]:
    scored: Confidence = cake._confidence
    settings = settings_of(method.building() | method.scoring(), scored, data, _points(source, sample), standardize)
    return settings | {"passes": cake.n_passes_}
