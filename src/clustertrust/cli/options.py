"""The options that commands share, for click and as the records that commands get.

Nothing heavy is imported here, so help and shell completion stay fast. Names of methods come from
the library's own tables when they are first needed.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click

__all__ = [
    "Between",
    "Columns",
    "Method",
    "Numbers",
    "Sections",
    "TableChoice",
    "TableOption",
    "column_options",
    "method_options",
    "profile_options",
]


class TableChoice(click.Choice):
    """A choice among the names of one of the library's tables, with a few added or removed."""

    def __init__(self, where: str, *more: str, without: Sequence[str] = ()) -> None:
        self.where, self.more, self.without, self.case_sensitive = where, more, without, True

    @functools.cached_property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names, read at first use."""
        module, table = self.where.split(":")
        names = getattr(importlib.import_module(f"clustertrust.{module}"), table)
        return tuple(sorted({*names, *self.more} - {*self.without}))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check a name; shell completion reads half-typed commands and skips the table."""
        return (
            value
            if ctx is not None and ctx.resilient_parsing
            else super().convert(value, param, ctx)
        )


class TableOption(click.Option):
    """An option whose help lists the names of a table."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Add the names to the help."""
        record = super().get_help_record(ctx)
        assert record is not None
        assert isinstance(self.type, TableChoice)
        return record[0], f"{record[1]}  One of: {', '.join(self.type.choices)}."


class Sections(click.Command):
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


class Numbers(click.ParamType):
    """Numbers of clusters to try: 2:12 is from 2 to 12, 2,3,5 are these three."""

    name = "numbers"
    most = 1000  # so that a typing error does not fill the memory

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return "LOW:HIGH|K,K,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return what was typed as whole numbers, rising."""
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


class Runs(click.ParamType):
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
        if isinstance(value, int) or (value == "auto" and self.auto):
            return value
        if not str(value).isdecimal() or int(value) < 2:
            or_auto = ", or auto" if self.auto else ""
            self.fail(f"{value!r} is not a number of runs; give 2 or more{or_auto}.", param, ctx)
        return int(value)


class ClusterNumber(click.ParamType):
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


class Resample(click.ParamType):
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
            return value
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
        """Return the parameters that `confidence` has too."""
        return {name: getattr(self, name) for name in SCORING}

    def auditing(self, typed: Collection[str]) -> dict[str, Any]:
        """Return the parameters of `audit`; those with another default there only if `typed`."""
        always = ("fusion", "geometry", "metric", "kernel", "random_state", "n_jobs", "device")
        others = (name for name in ("clusterer", "n_runs", "normalization") if name in typed)
        known = self.building() | self.scoring()
        return {name: known[name] for name in (*always, *others)}

    def building(self) -> dict[str, Any]:
        """Return the parameters that make the runs."""
        one = self.clusterer[0] if len(self.clusterer) == 1 else list(self.clusterer)
        made = {name: getattr(self, name) for name in BUILDING} | {"clusterer": one}
        if isinstance(self.n_clusters, range):
            made |= {"n_clusters": None, "vary": {"n_clusters": list(self.n_clusters)}}
        return made


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
            type=TableChoice("geometry:GEOMETRIES", "auto"),
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
            type=TableChoice("geometry:KERNELS", without=("precomputed",) if whole else ()),
            default="self-tuning",
            show_default=True,
            help="Kernel for kernel silhouettes.",
        ),
        click.option(
            "--normalization",
            type=TableChoice("geometry:NORMALIZATIONS"),
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
            type=click.Choice(["auto", "cpu", "cuda"]),
            default="auto",
            show_default=True,
            help="Where to compute: cuda is an NVIDIA GPU.",
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
