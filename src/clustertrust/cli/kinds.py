"""The kinds of values that can be typed, as types of click: names of a table, numbers, ranges."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import click

# The library's tables of names, which cannot be imported here: that takes a second, and help and
# shell completion should not. A test compares them.
TABLES = {
    "consensus:CONSENSUS": ("best-reference", "medoid"),
    "ensemble.clusterers:CLUSTERERS": (
        "agglomerative",
        "birch",
        "bisecting-kmeans",
        "gmm",
        "hdbscan",
        "kmeans",
        "kmeans-random",
        "kmedoids",
        "leiden",
        "minibatch-kmeans",
        "spectral",
    ),
    "files:FORMATS": (
        "arrow",
        "csv",
        "h5ad",
        "json",
        "jsonl",
        "npy",
        "npz",
        "ods",
        "parquet",
        "tsv",
        "txt",
        "xlsx",
    ),
    "fusion:FUSIONS": ("harmonic", "product", "refined"),
    "geometry.kernel:KERNELS": ("linear", "polynomial", "precomputed", "rbf", "self-tuning"),
    "geometry.measuring:GEOMETRIES": (
        "auto",
        "centroid",
        "exact",
        "graph",
        "kernel",
        "rms",
        "sampled",
    ),
    "geometry.component:NORMALIZATIONS": ("affine", "clip"),
    "k_profile.null_test:EFFORTS": ("full", "quick"),
    "stability:AGREEMENTS": ("jaccard", "matching", "reference"),
    "stability:UNASSIGNED": ("disagree", "skip"),
}


class TableChoice(click.Choice[str]):
    """A choice among the names of one of the library's tables, with a few added or removed."""

    def __init__(self, where: str, *more: str, without: Sequence[str] = ()) -> None:
        super().__init__(sorted({*TABLES[where], *more} - {*without}))


class TableOption(click.Option):
    """An option whose help lists the names of a table."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Add the names to the help."""
        record = super().get_help_record(ctx)
        assert record is not None
        assert isinstance(self.type, TableChoice)
        return record[0], f"{record[1]}  One of: {', '.join(self.type.choices)}."


class Between(click.FloatRange):
    """A number in a range; `nan` is in none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return what was typed as a number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(
                f"{value!r} is not a number; give one in the range {self._describe_range()}.",
                param,
                ctx,
            )
        return number


class Numbers(click.ParamType[Any]):
    """Numbers of clusters to try: 2:12 is from 2 to 12, 2,3,5 are these three."""

    name = "numbers"
    most = 1000  # so that a typing error does not fill the memory

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "LOW:HIGH|K,K,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return what was typed as integers, rising."""
        if isinstance(value, tuple):
            return value
        found: list[int] = []
        for part in str(value).split(","):
            ends = part.strip().split(":")
            if len(ends) > 2 or not all(end.strip().isdecimal() for end in ends):
                self.fail(
                    f"{value!r} is not a list of numbers; give a range such as 2:12, or 2,3,5.",
                    param,
                    ctx,
                )
            low, high = int(ends[0]), int(ends[-1])
            if high < low:
                self.fail(
                    f"{value!r} runs from {low} down to {high}; write {high}:{low}.", param, ctx
                )
            if high - low >= self.most:
                self.fail(f"{value!r} names more than {self.most} numbers; give fewer.", param, ctx)
            found += range(low, high + 1)
        if min(found) < 2 or len(found) < 2 or len(set(found)) < len(found):
            self.fail(
                f"{value!r} must name at least two different numbers, each once and 2 or more.",
                param,
                ctx,
            )
        return tuple(sorted(found))


class Runs(click.ParamType[Any]):
    """A number of runs, or auto if the library can find it."""

    name = "runs"

    def __init__(self, *, auto: bool = True) -> None:
        self.auto = auto

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "N|auto" if self.auto else "N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return what was typed as the library takes it."""
        if isinstance(value, int):
            return value
        if value == "auto" and self.auto:
            return "auto"
        if not str(value).isdecimal() or int(value) < 2:
            or_auto = ", or auto" if self.auto else ""
            self.fail(f"{value!r} is not a number of runs; give 2 or more{or_auto}.", param, ctx)
        return int(value)


class ClusterNumber(click.ParamType[Any]):
    """A number of clusters, or the first and last of a range from which each run draws its own."""

    name = "clusters"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "K|FIRST:LAST"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | range:
        """Return what was typed: a number, or a range."""
        if isinstance(value, int | range):
            return value
        typed = str(value).split(":")
        if len(typed) > 2 or not all(part.isdecimal() and int(part) >= 1 for part in typed):
            self.fail(
                f"{value!r} is not a number of clusters; give 1 or more, such as 3, or a range "
                "such as 8:12.",
                param,
                ctx,
            )
        first, last = int(typed[0]), int(typed[-1])
        if last < first:
            self.fail(
                f"{value!r} runs backwards; give the smaller number first, {last}:{first}.",
                param,
                ctx,
            )
        return first if len(typed) == 1 else range(first, last + 1)


class Resample(click.ParamType[Any]):
    """A share of the points, or bootstrap."""

    name = "resample"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "SHARE|bootstrap"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """Return what was typed as the library takes it."""
        if value == "bootstrap":
            return "bootstrap"
        try:
            share = float(value)
        except ValueError:
            share = 0.0
        if not 0 < share < 1:
            self.fail(
                f"{value!r} is not a share; give a number between 0 and 1, such as 0.8, or "
                "bootstrap.",
                param,
                ctx,
            )
        return share


class OneFile(click.Path):
    """An existing file; the error for a folder says what to do."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if os.path.isdir(value):
            self.fail(
                f"{value!r} is a folder; name one file (`clustertrust score` alone takes folders).",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


# What commands read and write; - is standard input.
TABLE_OR_FOLDER = click.Path(exists=True, allow_dash=True)
INPUT = OneFile(exists=True, allow_dash=True)
STORED = OneFile(exists=True)
OUTPUT = click.Path()
