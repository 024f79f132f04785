"""The options that commands share, as the records that commands get.

Nothing heavy is imported here, so help and shell completion stay fast.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import click

from clustertrust.cli.declaring import flag, one_of, option, several
from clustertrust.cli.kinds import CLUSTERS, RESAMPLE, RUNS, RUNS_OR_AUTO, TableChoice, TableOption
from clustertrust.cli.terminal import Examples


class Sections(Examples):
    """A command whose help lists its options under headings; those without one come first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading."""
        headings = {name: heading for heading, names in HEADINGS.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {
            "Options": [],
            **{heading: [] for heading in HEADINGS},
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections[headings.get(param.name or "", "Options")].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file of points: its format, its columns, its missing values."""

    id: str | None = option(
        "Column that names the rows. Kept as text: 007 stays 007.", metavar="COL"
    )
    drop: tuple[str, ...] = several("Columns to leave out. Repeat it, or use commas.", "COL")
    use: tuple[str, ...] = several(
        "Columns to use instead of all. Repeat it, or use commas.", "COL"
    )
    keep: tuple[str, ...] = several(
        "Columns to use even if they look like ids or dates, or most values are missing.", "COL"
    )
    category: tuple[str, ...] = several(
        "Columns of numbers to use as categories, because they are codes.", "COL"
    )
    scale: str = one_of(
        "How columns are made comparable; auto: standard, unless they share a visible unit.",
        ["auto", "none", "standard", "robust", "minmax"],
    )
    standardize: bool = flag("The same as --scale standard.")
    encode: str = one_of(
        "auto: categories with up to 50 values become one column per value; onehot: with any"
        " number; drop: none do.",
        ["auto", "onehot", "drop"],
    )
    na: tuple[str, ...] = several(
        "More texts that mean a missing value, such as 'x,-1'. age=0: 0 is missing in the column "
        "age. none: only empty fields are missing.",
        "TEXT",
    )
    plan: str | None = option(
        "Treat the columns as this file says; --save-plan writes one.",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
    )
    impute: str | None = option(
        "Replace missing values by the mean of the column.", type=click.Choice(["mean"])
    )
    drop_missing: bool = flag("Leave out rows with missing values; they get no score.")
    format: str | None = option(
        "Format of the data, if the suffix does not show it; for standard input it is csv.",
        cls=TableOption,
        type=TableChoice("files.formats:FORMATS"),
        metavar="NAME",
    )
    separator: str | None = option(
        "Separator of fields in text, such as ';' or tab.  [default: detected]", metavar="CHAR"
    )
    encoding: str | None = option(
        "Encoding of text, such as cp1252.  [default: detected]", metavar="NAME"
    )
    decimal: str | None = option(
        "Decimal mark of numbers.  [default: detected]", type=click.Choice([".", ","])
    )
    thousands: str | None = option(
        "Mark between thousands of numbers.  [default: detected]", metavar="CHAR"
    )
    skip_rows: int | None = option(
        "Lines above the column names.  [default: detected]",
        type=click.IntRange(min=0),
        metavar="N",
    )
    sheet: str | None = option("Which sheet of a spreadsheet, if not the first.", metavar="NAME")
    header: bool | None = option(
        "Whether the first line of a text file holds column names.",
        "--header/--no-header",
        show_default=False,
        default=None,
    )
    array: str | None = option("Which array of an NPZ file.", metavar="NAME")
    use_rep: str | None = option(
        "Which part of an H5AD file: a key of obsm, or X.  [default: X_pca]", metavar="KEY"
    )

    memory: int | None = option(
        "Memory limit for the data. `score` reads files larger than a quarter of it (256 MiB "
        "without this option) in blocks. Files that must be read whole and need more are refused."
        "  [default: half of the machine's]",
        type=click.IntRange(min=1),
        metavar="MIB",
    )

    def check(self) -> None:
        """Raise for options that exclude each other."""
        if self.impute is not None and self.drop_missing:
            raise click.UsageError(
                "--impute and --drop-missing are two ways to treat missing values; choose one."
            )
        if self.standardize and self.scale not in ("auto", "standard"):
            raise click.UsageError(
                f"--standardize means --scale standard, but --scale {self.scale} is given; choose "
                "one."
            )
        if self.plan is not None and (self.use or self.drop or self.keep or self.id):
            raise click.UsageError(
                "--plan says what is done with each column; edit it, and leave out --id, --use, "
                "--drop and --keep."
            )

    def format_of(self, data: str) -> str:
        """Return the format of the data, by their suffix if none is given."""
        from clustertrust.files import format_of

        return self.format or ("csv" if data == "-" else format_of(data))

    def changes(self) -> list[str]:
        """Return the given options that choose columns or change their values."""
        names = ("use", "drop", "keep", "category", "impute", "plan", "drop_missing", "standardize")
        options = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        options["--scale"] = self.scale not in ("auto", "none")
        return [option for option, value in options.items() if value]

    def chooses(self) -> bool:
        """Return whether options were given that a look at the table could not replace."""
        others = (self.id, self.na, self.decimal, self.thousands)
        return bool(self.changes() or any(others) or self.scale != "auto" or self.encode != "auto")

    def missing_rule(self) -> str | None:
        """Return the rule for missing values, as plans write it; None: not given."""
        if self.drop_missing:
            return "drop"
        return None if self.impute is None else "mean"

    def missing_texts(self) -> tuple[str, ...] | None:
        """Return the texts that stand for a missing value; None: not given.

        They were typed one by one, or several with commas between; none alone stands for no text.
        """
        if not self.na:
            return None
        parts = [part for text in self.na for part in text.split(",")]
        return tuple(part for part in parts if part.casefold() != "none")

    def choice(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the named columns by option, with names split at commas."""
        there = set(names)

        def expand(typed: Sequence[str]) -> list[str]:
            return [
                name for text in typed for name in ([text] if text in there else text.split(","))
            ]

        ids = [] if self.id is None else expand([self.id])
        if len(ids) > 1:
            raise ValueError(
                f"--id {self.id} names {len(ids)} columns; only one can name the rows, leave out "
                "the others."
            )
        several = {
            name: expand(getattr(self, name)) for name in ("use", "drop", "keep", "category")
        }
        return {"id": self.id, **several}


def _named(help: str, table: str, default: str, without: Sequence[str] = ()) -> Any:
    """Return an option whose values are the names in a table of the library."""
    return option(help, type=TableChoice(table, without), default=default)


def _clusterers(help: str, **settings: Any) -> Any:
    """Return the option of the methods of the runs."""
    kind = TableChoice("ensemble.clusterers:CLUSTERERS")
    settings = {"cls": TableOption, "metavar": "NAME", "type": kind, "multiple": True} | settings
    return option(help, default=("kmeans",), **settings)


KERNEL = ("Kernel for kernel silhouettes.", "geometry.kernel:KERNELS", "self-tuning")
NORMALIZATION = (
    "How silhouettes become a component between 0 and 1.",
    "geometry.component:NORMALIZATIONS",
)


@dataclass(frozen=True)
class CakeOptions:
    """How points are clustered and scored: the parameters of CAKE, under their names."""

    n_clusters: int | range | None = option(
        "Number of clusters. 8:12 lets each run draw its own from 8 to 12"
        " (then --agreement jaccard).",
        "-k",
        "--k",
        "--clusters",
        type=CLUSTERS,
    )
    clusterer: tuple[str, ...] = _clusterers(
        "Method of the runs. Repeat it for a mix: runs take the methods in turn."
    )
    n_runs: int | str = option("Number of runs.", "--runs", type=RUNS_OR_AUTO, default=20)
    random_state: int = option(
        "The same seed gives the same file.",
        "--seed",
        metavar="N",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
    )
    resample: float | str | None = option(
        "Fit each run on a share of the points, or a bootstrap.", type=RESAMPLE
    )
    left_out: str = one_of(
        "What happens to points that a resampled run left out: they are not assigned, or its model "
        "labels them.",
        ["skip", "predict"],
    )
    on_failure: str = one_of(
        "What happens if a run fails: the command stops, or the run is dropped.", ["raise", "drop"]
    )
    fusion: str = _named(
        "How the components are combined; refined adds persistence, combined also second opinions "
        "of other methods.",
        "fusion:FUSIONS",
        "harmonic",
    )
    geometry: str = _named(
        "How the distance from a point to a cluster is measured.",
        "geometry.measuring:GEOMETRIES",
        "auto",
    )
    metric: str = option(
        "Distance for exact silhouettes, and for runs of agglomerative, hdbscan, kmedoids, "
        "leiden and spectral: any metric of scikit-learn, or gower.",
        default="euclidean",
    )
    kernel: str = _named(*KERNEL)
    normalization: str = _named(*NORMALIZATION, "clip")
    agreement: str = _named("When two runs agree on a point.", "stability:AGREEMENTS", "matching")
    unassigned: str = option(
        "Runs that do not assign a point: ignore them, or count them against the point.",
        type=click.Choice(["disagree", "skip"]),
        default="skip",
    )
    consensus: str = _named(
        "Which run gives the consensus its labels.", "consensus:CONSENSUS", "medoid"
    )
    n_jobs: int | None = option(
        "Number of threads; default: one per core. It does not change the result.",
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
    )
    device: str = one_of(
        "Where to compute: cuda is an NVIDIA GPU, cuda-double in double precision.",
        ["auto", "cpu", "cuda", "cuda-double"],
    )

    def scoring(self) -> dict[str, Any]:
        """Return the parameters of `confidence`."""
        names = [name for name in SCORING if name not in ("geometry", "kernel")]
        return {name: getattr(self, name) for name in names} | {"geometry": self._geometry()}

    def _geometry(self) -> Any:
        """Return the geometry with the options that are its own."""
        if self.kernel == "self-tuning":
            return self.geometry
        from clustertrust.geometry import Graph, Kernel

        if self.geometry == "kernel":
            return Kernel(self.kernel)
        if self.geometry == "graph" and self.kernel == "precomputed":
            return Graph(weights=True)
        raise click.UsageError(
            f"--kernel {self.kernel} is not used by --geometry {self.geometry}; leave it out, or "
            "add --geometry kernel."
        )

    def auditing(self, typed: Collection[str]) -> dict[str, Any]:
        """Return the parameters of `audit`; those with another default there only if `typed`."""
        params = self.building() | self.scoring()
        return {name: params[name] for name in params if name in audited(typed)}

    def building(self, checkpoint: str | None = None) -> dict[str, Any]:
        """Return the parameters that make the runs."""
        params = self.described(("n_clusters", "clusterer", "random_state", "resample"))
        params["n_runs"] = self.n_runs
        if self.left_out != "skip" or self.on_failure != "raise" or checkpoint is not None:
            from clustertrust.ensemble.runs import Runs

            params["n_runs"] = Runs(
                self.n_runs,
                left_out=self.left_out,
                on_failure=self.on_failure,
                checkpoint=checkpoint,
            )
        return params

    def described(self, names: Collection[str]) -> dict[str, Any]:
        """Return options by name, as they were typed; a range of clusters is drawn by each run."""
        values = {name: getattr(self, name) for name in names}
        if "clusterer" in values:
            names_of_clusterers = list(self.clusterer)
            is_one = len(names_of_clusterers) == 1
            values["clusterer"] = names_of_clusterers[0] if is_one else names_of_clusterers
        if isinstance(values.get("n_clusters"), range):
            values |= {"n_clusters": None, "vary": {"n_clusters": list(values["n_clusters"])}}
        return values

    def settings(self, names: Collection[str]) -> dict[str, Any]:
        """Return the same without those that are unset, or only say where work is done."""
        values = self.described(names).items()
        return {name: value for name, value in values if value is not None and name not in WHERE}


@dataclass(frozen=True)
class ProfileOptions(CakeOptions):
    """The same where each number of clusters is tried: points and a fixed number of runs."""

    n_clusters: int | range | None = field(default=None, init=False)
    n_runs: int | str = option("Number of runs.", "--runs", type=RUNS, default=10)
    kernel: str = _named(*KERNEL, without=("precomputed",))


@dataclass(frozen=True)
class AuditOptions(CakeOptions):
    """The same where one given labelling is audited: nothing sets a number of clusters."""

    n_clusters: int | range | None = field(default=None, init=False)
    clusterer: tuple[str, ...] = _clusterers(
        "Method of the runs that cluster again. Repeat it for a mix.  [default: kmeans if "
        "distances are Euclidean, otherwise none]",
        show_default=False,
    )
    n_runs: int | str = option("Number of runs.", "--runs", type=RUNS, default=40)
    resample: float | str | None = field(default=None, init=False)
    left_out: str = field(default="skip", init=False)
    on_failure: str = field(default="raise", init=False)
    normalization: str = _named(*NORMALIZATION, "affine")
    agreement: str = field(default="matching", init=False)
    unassigned: str = field(default="skip", init=False)
    consensus: str = field(default="medoid", init=False)


def audited(typed: Collection[str]) -> tuple[str, ...]:
    """Return the options of an audit; those with another default there only if they are typed."""
    always = ("fusion", "geometry", "metric", "kernel", "random_state", "n_jobs", "device")
    return (*always, *(name for name in ("clusterer", "n_runs", "normalization") if name in typed))


METHOD = tuple(part.name for part in fields(CakeOptions))
# The options that make the runs come first.
BUILDING, SCORING = METHOD[: METHOD.index("fusion")], METHOD[METHOD.index("fusion") :]
# Those of BUILDING that an audit has too.
AUDITING = ("clusterer", "n_runs", "random_state")
# Parameters of scoring that an audit does not have.
NOT_AUDITING = ("agreement", "unassigned", "consensus")
# These say where work is done, not what is done.
WHERE = ("n_jobs", "device")

HEADINGS = {
    "How points are clustered": BUILDING,
    "How they are scored": SCORING,
    "How the data are read": tuple(part.name for part in fields(ReadOptions)),
}
