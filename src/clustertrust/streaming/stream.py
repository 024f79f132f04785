"""Runs on data larger than memory, and the model that scores the blocks."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clustertrust._errors import ParameterError
from clustertrust._types import Array, Arrays
from clustertrust._validation.points import check_matrix
from clustertrust.chance import chance_of
from clustertrust.consensus import most_central
from clustertrust.distances.metrics import unit_rows
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.ensemble.fitting import Run
from clustertrust.ensemble.placing import Nearest, place
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.running import build_runs
from clustertrust.ensemble.runs import draw_seeds
from clustertrust.files.sources import Block
from clustertrust.geometry.measuring import GEOMETRIES, warn_of_single_clusters
from clustertrust.matching import match_runs
from clustertrust.reasons import Chance
from clustertrust.results import Confidence
from clustertrust.scoring.model import Model
from clustertrust.scoring.settings import Scoring, Settings
from clustertrust.stability import hint_at_jaccard
from clustertrust.streaming.passes import BlockReader, SampledRows, sample_rows
from clustertrust.streaming.scorers import BlockScorer, PairScorer, block_labels, scorer_on
from clustertrust.tables.rows import in_pieces
from clustertrust.totals import Totals, total

# On which the runs are fitted.
SAMPLE_POINTS = 100_000
# Of k-means over all rows; it starts where the sample's k-means ended.
MOST_STEPS = 10
# Of the mean variance of the columns, as in scikit-learn's KMeans.
SHIFT_TOLERANCE = 1e-4
# Rows of a mini-batch, for blocks of any size.
BATCH_ROWS = 8192


@dataclass(frozen=True)
class Built:
    """Runs of data that were never in memory at once.

    Attributes
    ----------
    ensemble : the runs, with their labels of the sample
    totals : sums over all rows
    sample : the points that the runs were fitted on
    n_rows : rows of the table
    n_passes : passes over the table so far
    """

    ensemble: Ensemble
    totals: Totals
    sample: SampledRows
    n_rows: int
    n_passes: int


@dataclass(frozen=True)
class Streamed:
    """A model of data that were never in memory at once.

    Attributes
    ----------
    built : the runs; scoring takes one or two more passes than they did
    model : the model that scores points
    chance : what data without clusters rarely exceed, from the sample
    device : where blocks are scored
    """

    built: Built
    model: Model
    chance: Chance | None
    device: str = "cpu"

    @property
    def scorer(self) -> BlockScorer:
        """The function that scores blocks."""
        return scorer_on(self.device, self.model, self.built.ensemble.placers)

    @property
    def n_passes(self) -> int:
        """Passes over the table, those that score included."""
        return self.built.n_passes + (2 if isinstance(self.scorer, PairScorer) else 1)

    def scores(self, reader: BlockReader) -> Iterator[tuple[Block, Arrays]]:
        """Yield the blocks of the table, without numbers, with the results of their points."""
        scorer = self.scorer
        yield from reader.map(
            lambda block: (block._replace(X=block.X[:, :0]), scorer(block)), "scoring"
        )

    def confidence(self, fields: dict[str, Any]) -> Confidence:
        """Return the record of these fields."""
        return self.model.confidence(fields, numbered=True, chance=self.chance)


def check_streaming(reader: BlockReader, scoring: Scoring) -> Scoring:
    """Return the scoring options for blocks; raise for options that need all points at once."""
    geometry, metric = scoring.geometry, scoring.geometry.used_metric
    by_name = {name: kind for name, kind in GEOMETRIES.items() if kind.in_blocks}
    by_pairs = geometry.sums_pairs and scoring.compute.on_gpu
    checks = {
        "geometry": (geometry.name, geometry.takes_totals or by_pairs, sorted(by_name)),
        "metric": (metric.given, metric.is_euclidean or metric.is_cosine, ["cosine", "euclidean"]),
        "consensus": (scoring.consensus, scoring.consensus == "medoid", ["medoid"]),
    }
    for name, (value, is_possible, possible) in checks.items():
        if not is_possible:
            raise ParameterError(
                name,
                value,
                "needs all points at once",
                f"choose one of {possible}. {reader.remedy}",
            )
    return replace(scoring, geometry=geometry.resolve_blocks())


def check_left_out(recipe: Recipe) -> None:
    """Raise for left_out="skip": here a run's model places all rows that it was not fitted on."""
    if recipe.drawing.resample is not None and recipe.drawing.left_out == "skip":
        raise ParameterError(
            "left_out",
            recipe.drawing.left_out,
            "with {resample=} needs all points at once: here a run places every row that it was "
            "not fitted on",
            "set {left_out='predict'}",
            resample=recipe.drawing.resample,
        )


def fit_stream(reader: BlockReader, settings: Settings) -> Streamed:
    """Fit the model of a table that is read in blocks, without scoring its rows."""
    scoring = check_streaming(reader, settings.scoring)
    built = build_stream(reader, settings.recipe)
    # Here there may be no GPU: only workers use theirs.
    model = model_of(built.totals, built.ensemble, scoring.on("cpu"))
    model = model.with_components(built.sample.X)
    chance = chance_of(built.sample.X, settings.recipe, model)
    return Streamed(built, model, chance, scoring.compute.device)


def collect(streamed: Streamed, reader: BlockReader) -> Confidence:
    """Score all rows; the fields are arrays on disk, each deleted once nothing refers to it."""
    folder = Path(tempfile.mkdtemp(prefix="clustertrust-"))
    try:
        return streamed.confidence(_on_disk(streamed, reader, folder))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _on_disk(streamed: Streamed, reader: BlockReader, folder: Path) -> Arrays:
    """Write the fields of `Confidence` of all rows, each to a file of the folder."""
    fields: Arrays = {}
    for block, scored in streamed.scores(reader):
        for name, values in scored.items():
            if name not in fields:
                shape = (streamed.built.n_rows, *values.shape[1:])
                path = folder / f"{name}.npy"
                fields[name] = np.lib.format.open_memmap(path, "w+", values.dtype, shape)
                # The map, not the array: Windows deletes no file that is still mapped.
                weakref.finalize(fields[name].base, _delete, path)
                _reserve(path)
            fields[name][block.before : block.before + len(values)] = values
    return fields


def _delete(path: Path) -> None:
    """Delete a file, and its folder with the last one."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _reserve(path: Path) -> None:
    """Reserve the space of a file: writing to a mapped page on a full disk kills the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("rb+") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}: {size:,} bytes of results are needed in {path.parent.parent}; "
                "set TMPDIR to a folder with more space",
            ) from error


def build_stream(reader: BlockReader, recipe: Recipe) -> Built:
    """Build runs on a sample, continue k-means over all rows, and sum up."""
    check_left_out(recipe)
    if recipe.runs.checkpoint is not None and recipe.random_state is None:
        raise ParameterError(
            "random_state",
            None,
            "draws another sample each time, and the runs of a checkpoint belong to one sample",
            "give a number",
        )
    entropy, seeds = draw_seeds(recipe.random_state, recipe.count(f"{reader.remedy}."))
    sample, n = sample_rows(reader, SAMPLE_POINTS, seeds[0] if entropy is None else entropy)
    reader.n_rows = n
    with reader.workers():
        runs = list(
            build_runs(check_matrix(sample.X), replace(recipe, random_state=seeds)).runs or ()
        )
    done, directions = 1, recipe.metric.is_cosine
    ways = {method.clusterer.in_blocks for method in recipe.methods}
    if len(sample.X) < n and ways == {"lloyd"}:
        rows = unit_rows(sample.X) if directions else sample.X
        tolerance = SHIFT_TOLERANCE * rows.var(axis=0).mean()
        runs, totals, steps = _step_together(reader, runs, tolerance, directions)
        done += steps
    else:
        if len(sample.X) < n and ways == {"mini-batches"}:
            if not reader.in_turn:
                raise ParameterError(
                    "clusterer",
                    runs[0].method,
                    "takes one mini-batch after the other, but Dask processes blocks in parallel",
                    "choose {clusterer='kmeans'}, or give the path of the files instead of Dask "
                    "data",
                )
            runs = _mini_batches(reader, runs, directions)
            done += 1
        totals = sum_up(reader, _placers(runs), "summing up", directions)
        done += 1
    labels = place(_placers(runs), sample.X)
    runs = [replace(run, labels=labels[:, r]) for r, run in enumerate(runs)]
    return Built(assemble(runs), totals, sample, n, done)


def model_of(totals: Totals, ensemble: Ensemble, scoring: Scoring) -> Model:
    """Return the model that follows from sums over all rows, and hint at what may surprise."""
    hint_at_jaccard(totals, scoring.agreement)
    warn_of_single_clusters(totals)
    return summed_model(totals, ensemble, scoring)


def summed_model(totals: Totals, ensemble: Ensemble, scoring: Scoring) -> Model:
    """Return the model of sums, without hints."""
    matchings, geometry = match_runs(totals), scoring.geometry
    reference = most_central(matchings)
    by_sums = geometry.measure_totals(totals, ensemble)
    return Model(scoring, ensemble, totals, matchings, reference, geometry, by_sums)


def _centers(run: Run) -> Array:
    # k-means has them.
    assert isinstance(run.placer, Nearest)
    return run.placer.centers


def _placers(runs: Iterable[Run]) -> list[Any]:
    placers = [run.placer for run in runs]
    assert all(placer is not None for placer in placers)
    return placers


def sum_up(
    reader: BlockReader, placers: list[Any] | None, what: str, directions: bool = False
) -> Totals:
    """Sum over all rows: the labels that the placers give, else those that the blocks bring.

    `directions`: means and spreads are those of the rows scaled to unit length.
    """
    return reader.sum(partial(_total, placers, directions), what)


def _total(placers: list[Any] | None, directions: bool, block: Block) -> Totals:
    X = unit_rows(block.X) if directions else block.X
    return total(X, block_labels(placers, block))


def _moved(run: Run, centers: Array) -> Run:
    assert isinstance(run.placer, Nearest)
    placer = replace(run.placer, centers=centers, labels=np.arange(len(centers)))
    return replace(run, placer=placer, centers=None if run.centers is None else centers)


def _step_together(
    reader: BlockReader, runs: list[Run], tolerance: float, directions: bool
) -> tuple[list[Run], Totals, int]:
    """Lloyd's iterations of all runs, one pass each; the sums are of the centres returned."""
    for step in range(1, MOST_STEPS + 1):
        totals = sum_up(reader, _placers(runs), f"k-means, pass {step}", directions)
        moved = [_to_means(run, totals, r) for r, run in enumerate(runs)]
        shift = max(
            ((_centers(new) - _centers(old)) ** 2).sum()
            for new, old in zip(moved, runs, strict=True)
        )
        if shift <= tolerance:
            break
        if step < MOST_STEPS:
            runs = moved
    return runs, totals, step


def _to_means(run: Run, totals: Totals, r: int) -> Run:
    """Move each centre to the mean of its points; one without points stays."""
    centers = np.array(_centers(run), dtype=np.float64)
    centers[totals.names[r]] = totals.means[totals.start[r] : totals.start[r + 1]]
    return _moved(run, centers)


def _mini_batches(reader: BlockReader, runs: list[Run], directions: bool) -> list[Run]:
    """Move the centres towards the means of each batch in one pass, less for larger clusters."""
    counts = [
        np.bincount(run.labels[run.labels >= 0], minlength=len(_centers(run))).astype(float)
        for run in runs
    ]
    blocks = (block.X for block in reader.map(lambda block: block, "mini-batches"))
    for X in in_pieces(blocks, BATCH_ROWS):
        sums = total(unit_rows(X) if directions else X, place(_placers(runs), X))
        for r, run in enumerate(runs):
            names, part = sums.names[r], slice(sums.start[r], sums.start[r + 1])
            centers = np.array(_centers(run), dtype=np.float64)
            counts[r][names] += sums.sizes[part]
            centers[names] += (sums.sizes[part] / counts[r][names])[:, None] * (
                sums.means[part] - centers[names]
            )
            runs[r] = _moved(run, centers)
    return runs
