"""Checks of what was typed that need the library, made before anything is read."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import click

from clustertrust.cli.options import CakeOptions, ReadOptions
from clustertrust.cli.wording import current_wording
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import FORMATS, format_of
from clustertrust.files.formats import need


def check_tools(data: str, columns: ReadOptions, paths: Mapping[str, Path]) -> None:
    """Raise for a file whose format is unknown, unsuitable, or needs a missing package."""
    # The files in a folder show the format.
    if data != "-" and Path(data).is_dir():
        return
    try:
        read = columns.format_of(data)
    except ValueError as error:
        if Path(data).suffix.lower() in {".xls", ".numbers"}:
            raise click.UsageError(
                f"{data} is a spreadsheet; save the sheet as .xlsx, .ods or CSV."
            ) from error
        raise click.UsageError(f"{error} Name its format, such as --format csv.") from error
    need(read)
    out = paths.get("--out")
    if out is not None:
        wanted = format_of_output(out)
        if FORMATS[wanted].write is None and read != wanted:
            raise click.UsageError(
                f"--out {out}: scores go into the obs of AnnData; DATA must be an H5AD file too."
            )
    if "--plot" in paths and importlib.util.find_spec("matplotlib") is None:
        raise ImportError('--plot needs matplotlib: pip install "clustertrust[plot]"')


def format_of_output(out: Path, or_another: str = "") -> str:
    """Return the format of a table to write; raise if it is unknown or needs a missing package."""
    try:
        wanted = format_of(out)
    except ValueError as error:
        raise click.UsageError(f"--out {error} Choose one{or_another}.") from error
    need(wanted)
    return wanted


def check_method(method: CakeOptions, *, for_model: bool) -> None:
    """Raise if a number of clusters is missing or unwanted, or if a model cannot be saved."""
    takes = [name for name in method.clusterer if CLUSTERERS[name].takes_k]
    if takes and method.n_clusters is None:
        raise click.UsageError(
            f"{takes[0]} needs a number of clusters: add -k, such as -k 3. `clustertrust choose-k` "
            "finds one."
        )
    finds = [name for name in method.clusterer if name not in takes]
    if finds and method.n_clusters is not None:
        raise click.UsageError(f"{finds[0]} finds the number of clusters; leave out -k.")
    check_clusters_distances(method)
    lost = [name for name in method.clusterer if not CLUSTERERS[name].storable]
    if for_model and lost:
        raise click.UsageError(
            f"--model: runs of {lost[0]} cannot be saved; use another --clusterer."
        )


def check_matrix(method: CakeOptions, distances: bool) -> None:
    """Raise for a matrix in place of points where something is clustered."""
    if method.metric == "precomputed" and not distances:
        raise click.UsageError(
            "--metric precomputed: to cluster a square table of distances, give --distances."
        )
    if method.kernel == "precomputed":
        raise click.UsageError(
            "--kernel precomputed is for given partitions: clusterers need the points. Add "
            "--labels."
        )


def check_clusters_distances(method: CakeOptions) -> None:
    """Raise for a clusterer that needs coordinates where there are only distances."""
    if method.metric not in ("gower", "precomputed"):
        return
    by_distance = sorted(name for name, own in CLUSTERERS.items() if own.takes_distances)
    refused = [name for name in method.clusterer if name not in by_distance]
    if refused:
        raise ValueError(
            f"--clusterer {refused[0]} needs points with coordinates, which "
            f"{current_wording()('metric', repr(method.metric))} does not give; choose one of "
            f"{by_distance}, or leave it out."
        )
