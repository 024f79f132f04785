"""Checks of what was typed that need the library, made before anything is read."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import click

from clustertrust.cli.options import Columns, Method
from clustertrust.files import FORMATS, format_of
from clustertrust.files.formats import need

__all__ = ["check_method", "check_tools"]


def check_tools(data: str, columns: Columns, paths: Mapping[str, Path]) -> None:
    """Raise for a file whose format is unknown, unsuitable, or needs a missing package."""
    if data != "-" and Path(data).is_dir():  # its files show the format
        return
    try:
        given = columns.format or ("csv" if data == "-" else format_of(data))
    except ValueError as error:
        if Path(data).suffix.lower() in {".xls", ".numbers"}:
            raise click.UsageError(
                f"{data} is a spreadsheet; save the sheet as .xlsx, .ods or CSV."
            ) from error
        raise click.UsageError(f"{error} Name it with --format.") from error
    need(given)
    out = paths.get("--out")
    if out is not None:
        try:
            wanted = format_of(out)
        except ValueError as error:
            raise click.UsageError(f"--out {error} Choose one.") from error
        need(wanted)
        if FORMATS[wanted].write is None and given != wanted:
            raise click.UsageError(
                f"--out {out}: scores go into the obs of AnnData; DATA must be an H5AD file too."
            )
    if "--plot" in paths and importlib.util.find_spec("matplotlib") is None:
        raise ImportError('--plot needs matplotlib: pip install "clustertrust[plot]"')


def check_method(method: Method, *, for_model: bool) -> None:
    """Raise if a number of clusters is missing or unwanted, or if a model cannot be saved."""
    from clustertrust.ensemble.clusterers import CLUSTERERS, cluster_parameter, runs_can_be_stored

    takes = [
        name for name in method.clusterer if cluster_parameter(CLUSTERERS[name](2)) is not None
    ]
    if takes and method.n_clusters is None:
        raise click.UsageError(f"{takes[0]} needs a number of clusters: add -k, such as -k 3.")
    finds = [name for name in method.clusterer if name not in takes]
    if finds and method.n_clusters is not None:
        raise click.UsageError(f"{finds[0]} finds the number of clusters; leave out -k.")
    for name in method.clusterer if for_model else ():
        if not runs_can_be_stored(CLUSTERERS[name](2)):
            raise click.UsageError(
                f"--model: runs of {name} cannot be saved; use another --clusterer."
            )
