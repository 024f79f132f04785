"""The options that commands share, for click and as the records that commands get.

Nothing heavy is imported here, so help and shell completion stay fast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click

from clustertrust.cli.kinds import ClusterNumber, Resample, Runs, TableChoice, TableOption
from clustertrust.cli.terminal import Examples

__all__ = [
    "Columns",
    "Method",
    "Sections",
    "column_options",
    "method_options",
    "profile_options",
]


class Sections(Examples):
    """A command whose help lists its options under headings; those without one come first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading."""
        headings = {name: heading for heading, names in HEADINGS.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {
            "Options": [],
            **{heading: [] for heading in HEADINGS},
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                found[headings.get(param.name or "", "Options")].append(record)
        for heading, records in found.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


@dataclass(frozen=True)
class Columns:
    """How to read a file of points: its format, its columns, its missing values."""

    format: str | None
    separator: str | None
    header: bool | None
    array: str | None
    use_rep: str | None
    id: str | None
    use: tuple[str, ...]
    drop: tuple[str, ...]
    impute: str | None
    drop_missing: bool
    keep: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    scale: str = "auto"
    standardize: bool = False
    encode: str = "auto"
    na: tuple[str, ...] = ()
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    skip_rows: int | None = None
    sheet: str | None = None
    plan: str | None = None

    def changes(self) -> list[str]:
        """Return the given options that choose columns or change their values."""
        given = {
            "--use": self.use,
            "--drop": self.drop,
            "--keep": self.keep,
            "--category": self.category,
            "--impute": self.impute,
            "--plan": self.plan,
            "--drop-missing": self.drop_missing,
            "--standardize": self.standardize,
            "--scale": self.scale not in ("auto", "none"),
        }
        return [option for option, value in given.items() if value]

    def chooses(self) -> bool:
        """Return whether anything was said about columns that one look could not find out."""
        others = (self.id, self.na, self.decimal, self.thousands)
        return bool(self.changes() or any(others) or self.scale != "auto" or self.encode != "auto")

    def missing_rule(self) -> str | None:
        """Return what was said about missing values, in the words of a plan."""
        if self.drop_missing:
            return "drop"
        return None if self.impute is None else "mean"

    def missing_texts(self) -> tuple[str, ...] | None:
        """Return the texts that were said to stand for a missing value; None: nothing was said.

        They were typed one by one, or several with commas between; none alone stands for no text.
        """
        if not self.na:
            return None
        return tuple(
            part for text in self.na for part in text.split(",") if part.casefold() != "none"
        )

    def choice(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the named columns by option, with names split at commas."""
        known = set(names)

        def expand(typed: Sequence[str]) -> list[str]:
            return [
                name for text in typed for name in ([text] if text in known else text.split(","))
            ]

        ids = [] if self.id is None else expand([self.id])
        if len(ids) > 1:
            raise ValueError(
                f"--id {self.id} names {len(ids)} columns; only one can name the rows, leave out "
                "the others."
            )
        return {
            "id": self.id,
            "use": expand(self.use),
            "drop": expand(self.drop),
            "keep": expand(self.keep),
            "category": expand(self.category),
        }


COLUMN_OPTIONS = [
    click.option(
        "--id", metavar="COL", help="Column that names the rows. Kept as text: 007 stays 007."
    ),
    click.option(
        "--drop",
        multiple=True,
        metavar="COL",
        help="Columns to leave out. Repeat it, or use commas.",
    ),
    click.option(
        "--use",
        multiple=True,
        metavar="COL",
        help="Columns to use instead of all. Repeat it, or use commas.",
    ),
    click.option(
        "--keep",
        multiple=True,
        metavar="COL",
        help="Columns to use although they look like ids or dates, or miss most values.",
    ),
    click.option(
        "--category",
        multiple=True,
        metavar="COL",
        help="Columns of numbers that are codes, to use as categories.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["auto", "none", "standard", "robust", "minmax"]),
        default="auto",
        show_default=True,
        help="How columns are made comparable; auto: only where their ranges differ fivefold.",
    ),
    click.option("--standardize", is_flag=True, help="The same as --scale standard."),
    click.option(
        "--encode",
        type=click.Choice(["auto", "onehot", "drop"]),
        default="auto",
        show_default=True,
        help="Categories: one column each where there are up to 50, all of them, or left out.",
    ),
    click.option(
        "--na",
        multiple=True,
        metavar="TEXT",
        help="More texts that mean a missing value, such as 'x,-1'; none: only empty fields do.",
    ),
    click.option(
        "--plan",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Do with each column what this file says, which --save-plan wrote.",
    ),
    click.option(
        "--impute",
        type=click.Choice(["mean"]),
        help="Replace missing values by the mean of the column.",
    ),
    click.option(
        "--drop-missing",
        is_flag=True,
        help="Leave out rows with missing values; they get no score.",
    ),
    click.option(
        "--format",
        cls=TableOption,
        type=TableChoice("files:FORMATS"),
        metavar="NAME",
        help="Format of the data, if the suffix does not show it; for standard input it is csv.",
    ),
    click.option(
        "--separator",
        metavar="CHAR",
        help="What separates the fields of text, such as ';' or tab.  [default: found]",
    ),
    click.option("--encoding", metavar="NAME", help="Of text, such as cp1252.  [default: found]"),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Mark before the decimals of numbers.  [default: found]",
    ),
    click.option("--thousands", metavar="CHAR", help="Mark between thousands.  [default: found]"),
    click.option(
        "--skip-rows",
        type=click.IntRange(min=0),
        metavar="N",
        help="Lines above the one with the names.  [default: found]",
    ),
    click.option("--sheet", metavar="NAME", help="Which sheet of a spreadsheet, if not the first."),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of CSV holds names (it should).",
    ),
    click.option("--array", metavar="NAME", help="Which array of an NPZ file."),
    click.option(
        "--use-rep",
        metavar="KEY",
        help="Which part of an H5AD file: a key of obsm, or X.  [default: X_pca]",
    ),
]


@dataclass(frozen=True)
class Method:
    """How points are clustered and scored: the parameters of CAKE, under their names."""

    n_clusters: int | range | None
    clusterer: tuple[str, ...]
    n_runs: int | str
    random_state: int
    resample: float | str | None
    left_out: str
    on_failure: str
    fusion: str
    geometry: str
    metric: str
    kernel: str
    normalization: str
    agreement: str
    unassigned: str
    consensus: str
    n_jobs: int | None
    device: str

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
        return {name: params[name] for name in params if name in _audited(typed)}

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
        if "clusterer" in values and len(self.clusterer) == 1:
            values["clusterer"] = self.clusterer[0]
        elif "clusterer" in values:
            values["clusterer"] = list(self.clusterer)
        if isinstance(values.get("n_clusters"), range):
            values |= {"n_clusters": None, "vary": {"n_clusters": list(values["n_clusters"])}}
        return values

    def described_audit(self, typed: Collection[str]) -> dict[str, Any]:
        """Return the options of an audit by name, as they were typed."""
        return self.described(_audited(typed))


def _audited(typed: Collection[str]) -> tuple[str, ...]:
    """Return the options of an audit; those with another default there only if they are typed."""
    always = ("fusion", "geometry", "metric", "kernel", "random_state", "n_jobs", "device")
    return (*always, *(name for name in ("clusterer", "n_runs", "normalization") if name in typed))


BUILDING = (
    "n_clusters",
    "clusterer",
    "n_runs",
    "random_state",
    "resample",
    "left_out",
    "on_failure",
)
AUDITING = ("clusterer", "n_runs", "random_state")  # those that an audit has too
# Parameters of scoring that an audit does not have.
NOT_AUDITING = ("agreement", "unassigned", "consensus")
SCORING = tuple(field.name for field in fields(Method) if field.name not in BUILDING)

WHERE = ("n_jobs", "device")  # say where work is done, not what is done

CLUSTERS_OPTION = click.option(
    "-k",
    "--k",
    "--clusters",
    "n_clusters",
    type=ClusterNumber(),
    help="Number of clusters. 8:12 lets each run draw its own from 8 to 12"
    " (then --agreement jaccard).",
)


def _shared_options(*, whole: bool) -> list[Callable]:
    """Return the options of clustering and scoring.

    `whole`: for commands that need points and a fixed number of runs.
    """
    return [
        click.option(
            "--clusterer",
            cls=TableOption,
            metavar="NAME",
            type=TableChoice("ensemble.clusterers:CLUSTERERS"),
            multiple=True,
            default=("kmeans",),
            show_default=True,
            help="Method of the runs. Repeat it for a mix: runs take the methods in turn.",
        ),
        click.option(
            "--runs",
            "n_runs",
            type=Runs(auto=not whole),
            default=10 if whole else 20,
            show_default=True,
            help="Number of runs.",
        ),
        click.option(
            "--seed",
            "random_state",
            metavar="N",
            type=click.IntRange(0, 2**32 - 1),
            default=0,
            show_default=True,
            help="The same seed gives the same file.",
        ),
        click.option(
            "--resample",
            type=Resample(),
            help="Fit each run on a share of the points, or a bootstrap.",
        ),
        click.option(
            "--left-out",
            type=click.Choice(["skip", "predict"]),
            default="skip",
            show_default=True,
            help="Points that a resampled run left out: not assigned, or placed by its model.",
        ),
        click.option(
            "--on-failure",
            type=click.Choice(["raise", "drop"]),
            default="raise",
            show_default=True,
            help="Whether a failing run stops the work.",
        ),
        click.option(
            "--fusion",
            type=TableChoice("fusion:FUSIONS"),
            default="harmonic",
            show_default=True,
            help="How the components are combined; refined adds a third, persistence.",
        ),
        click.option(
            "--geometry",
            type=TableChoice("geometry.measuring:GEOMETRIES"),
            default="auto",
            show_default=True,
            help="What silhouettes compare.",
        ),
        click.option(
            "--metric",
            default="euclidean",
            show_default=True,
            help="Distance of exact silhouettes, and of the runs of agglomerative, hdbscan, "
            "kmedoids, leiden and spectral: any that scikit-learn has, or gower.",
        ),
        click.option(
            "--kernel",
            type=TableChoice("geometry.kernel:KERNELS", without=("precomputed",) if whole else ()),
            default="self-tuning",
            show_default=True,
            help="Kernel for kernel silhouettes.",
        ),
        click.option(
            "--normalization",
            type=TableChoice("geometry.component:NORMALIZATIONS"),
            default="clip",
            show_default=True,
            help="How silhouettes become a component between 0 and 1.",
        ),
        click.option(
            "--agreement",
            type=TableChoice("stability:AGREEMENTS"),
            default="matching",
            show_default=True,
            help="When two runs agree on a point.",
        ),
        click.option(
            "--unassigned",
            type=TableChoice("stability:UNASSIGNED"),
            default="skip",
            show_default=True,
            help="Runs that do not assign a point: ignored, or counted against it.",
        ),
        click.option(
            "--consensus",
            type=TableChoice("consensus:CONSENSUS"),
            default="medoid",
            show_default=True,
            help="Which run gives the consensus its labels.",
        ),
        click.option(
            "--jobs",
            "n_jobs",
            type=click.IntRange(min=1),
            metavar="N",
            help="Number of threads; default: one per core. It does not change the result.",
        ),
        click.option(
            "--device",
            type=click.Choice(["auto", "cpu", "cuda", "cuda-double"]),
            default="auto",
            show_default=True,
            help="Where to compute: cuda is an NVIDIA GPU, cuda-double in double precision.",
        ),
    ]


METHOD_OPTIONS = [CLUSTERS_OPTION, *_shared_options(whole=False)]
PROFILE_OPTIONS = _shared_options(whole=True)

HEADINGS = {
    "How points are clustered": BUILDING,
    "How they are scored": SCORING,
    "How the data are read": tuple(field.name for field in fields(Columns)),
}


def _bundled(
    name: str, record: type, options: Sequence[Callable], **fixed: Any
) -> Callable[[Callable], Callable]:
    """Give a command these options, and pass them to it as one record, with `fixed` values."""

    def decorate(command: Callable) -> Callable:
        @functools.wraps(command)
        def with_record(*args: Any, **given: Any) -> Any:
            values = {
                field.name: given.pop(field.name)
                for field in fields(record)
                if field.name not in fixed
            }
            return command(*args, **given, **{name: record(**values, **fixed)})

        for option in reversed(options):
            option(with_record)
        return with_record

    return decorate


column_options = _bundled("columns", Columns, COLUMN_OPTIONS)
method_options = _bundled("method", Method, METHOD_OPTIONS)
profile_options = _bundled("method", Method, PROFILE_OPTIONS, n_clusters=None)
