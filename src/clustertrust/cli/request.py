"""What the user asked a command to do, as one record; its fields are the command's options.

Nothing heavy is imported here, so help and shell completion stay fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from clustertrust.cli.declaring import argument, flag, one_of, option, several
from clustertrust.cli.kinds import (
    INPUT,
    NUMBERS,
    OUTPUT,
    STORED,
    TABLE_OR_FOLDER,
    Between,
    TableChoice,
    TableOption,
)
from clustertrust.cli.options import AuditOptions, CakeOptions, ProfileOptions, ReadOptions
from clustertrust.cli.outputs import check_outputs, check_plan_beside
from clustertrust.cli.wording import current_wording

# The same as -
STDOUT = "/dev/stdout"
SHARE = Between(0, 1, min_open=True, max_open=True)


def _json() -> Any:
    return flag("Print the summary as JSON and nothing else.", "--json")


def _threshold(
    without: str = "what data without clusters rarely exceed; for given labels or distances half "
    "of the median.",
) -> Any:
    return option(
        f"Scores above this are kept; counts and reasons depend on it. Without it: {without}",
        type=Between(0, 1),
        metavar="T",
    )


def _names() -> Any:
    return option(
        "Names of clusters for the page (JSON by label), as the page saves them.",
        type=STORED,
        metavar="FILE",
    )


def _only_scores() -> Any:
    return flag("Write the names of the rows and the results, without the other columns of DATA.")


def _save_plan() -> Any:
    return _output("Write what is done with each column (.json). Edit it, and pass it to --plan.")


def _distances() -> Any:
    return flag("DATA is a square table of distances, with or without names; k-medoids by default.")


def _output(help: str, **settings: Any) -> Any:
    return option(help, type=OUTPUT, metavar="FILE", **settings)


def _count(help: str, *names: str, least: int = 1, metavar: str = "N", **settings: Any) -> Any:
    return option(help, *names, type=click.IntRange(min=least), metavar=metavar, **settings)


def _files(context: click.Context) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files to write and those to read, by what is typed for them."""
    written: dict[str, str] = {}
    read: dict[str, str] = {}
    for param in context.command.params:
        value = context.params.get(param.name or "")
        if param.type is OUTPUT and value is not None:
            written[param.opts[0]] = "-" if value == STDOUT else value
        elif isinstance(param.type, click.Path) and param.type.exists and value is not None:
            is_option = isinstance(param, click.Option)
            typed = param.opts[0] if is_option else param.human_readable_name
            several = isinstance(value, tuple)
            read |= {f"{typed} {path}": path for path in value} if several else {typed: value}
    return written, read


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request to a command that reads a table.

    Attributes
    ----------
    typed : parameters that the user typed; the others have their defaults
    paths : where each output goes, by option
    columns : how the table is read
    """

    typed: frozenset[str] = frozenset()
    paths: Mapping[str, Path] = field(default_factory=dict)
    columns: ReadOptions = field(default_factory=ReadOptions)

    # Commands declare them where their help lists them.
    if TYPE_CHECKING:
        out: str | None = None

    @property
    def to_stdout(self) -> bool:
        """Whether the table of results is printed."""
        return getattr(self, "out", None) in ("-", STDOUT)

    def checked(self) -> Self:
        """Return the request with the paths of its outputs; raise for what cannot be done."""
        paths = check_outputs(*_files(click.get_current_context()))
        self.columns.check()
        if self.to_stdout and getattr(self, "as_json", False):
            raise click.UsageError(
                "--out - and --json would both print to standard output; choose one."
            )
        from clustertrust.files.memory import allowing

        click.get_current_context().with_resource(allowing(self.columns.memory))
        return replace(self, paths=paths)

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise if the user typed one of these parameters, which have no use here."""
        wording = current_wording()
        refused = [wording(name, None) for name in names if name in self.typed]
        if refused:
            raise click.UsageError(f"{why}; leave out {', '.join(refused)}.")


@dataclass(frozen=True, kw_only=True)
class ScoredRequest(Request):
    """The request to a command that shows scores against a threshold."""

    if TYPE_CHECKING:
        data: str = ""
        threshold: float | None = None
        as_json: bool = False


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(ScoredRequest):
    """The request to `score`."""

    data: str = argument(TABLE_OR_FOLDER)
    out: str | None = _output("Write the scores, one row per point; - prints them as CSV.")
    report: str | None = _output("Write a page (.html) to explore the scores.")
    names: str | None = _names()
    plot: str | None = _output("Draw the scores (.png, .svg, .pdf).")
    model: str | None = _output("Save the fitted model, for `clustertrust predict`.")
    only_scores: bool = _only_scores()
    save_plan: str | None = _save_plan()
    labels: str | None = option(
        "Score these partitions instead: one column per run. A single column is audited.",
        type=STORED,
        metavar="FILE",
    )
    labels_column: str | None = option(
        "Audit the labels in this column of DATA: how much to trust each.", metavar="COL"
    )
    noise: tuple[str, ...] = several(
        "Label of rows that are in no cluster; repeat it for several. none: every label is a "
        "cluster."
        "  [default: negative numbers, and text such as -1_the_of]",
        "LABEL",
    )
    distances: bool = _distances()
    checkpoint: str | None = option(
        "Save finished runs in this folder, and resume from them.",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
    )
    scheduler: str | None = option(
        "Run on a Dask cluster whose workers can read the same files.", metavar="ADDRESS"
    )
    method: CakeOptions = field(default_factory=CakeOptions)
    threshold: float | None = _threshold()
    tests: str | None = option(
        "Quote what `choose-k --out FILE.json` found for the same data, and say if it disagrees.",
        type=STORED,
        metavar="FILE",
    )
    as_json: bool = _json()

    def checked(self) -> Self:
        """Check the plan next to the scores, too."""
        request = super().checked()
        _, read = _files(click.get_current_context())
        check_plan_beside(request.paths, read, self.columns.plan)
        return request

    @property
    def has_labels(self) -> bool:
        """Whether labels are given, so that nothing is clustered."""
        return self.labels is not None or self.labels_column is not None

    @property
    def noise_rule(self) -> str | tuple[str, ...] | None:
        """Return labels that mean noise; "auto": by the rule; None: every label is a cluster."""
        if not self.noise:
            return "auto"
        return None if self.noise == ("none",) else self.noise


@dataclass(frozen=True, kw_only=True)
class AuditRequest(ScoreRequest):
    """The request to `audit`: that to `score`, for one given labelling."""

    data: str = argument(INPUT)
    model: str | None = field(default=None, init=False)
    labels: str | None = option(
        "A file with the labels in one column, in place of --labels-column.",
        type=STORED,
        metavar="FILE",
    )
    labels_column: str | None = option("The column of DATA that holds the labels.", metavar="COL")
    classifier: str = one_of(
        "Whether classifiers that have not seen a row's label vote on it. auto: if rows have "
        "coordinates.",
        ["auto", "none"],
    )
    pred_probs: str | None = option(
        "Your own out-of-sample probabilities, in place of theirs: a table with one column named "
        "after each label.",
        type=STORED,
        metavar="FILE",
    )
    checkpoint: str | None = field(default=None, init=False)
    scheduler: str | None = field(default=None, init=False)
    method: CakeOptions = field(default_factory=AuditOptions)

    def checked(self) -> Self:
        """Return the request with the paths of its outputs; raise for what cannot be done."""
        if not self.has_labels:
            raise click.UsageError(
                "There are no labels to audit: name their column with --labels-column, or a file "
                "with --labels."
            )
        if self.pred_probs is not None:
            self.refuse(("classifier",), "--pred-probs takes the place of classifiers")
        return super().checked()


@dataclass(frozen=True, kw_only=True)
class PredictRequest(ScoredRequest):
    """The request to `predict`."""

    model: str = argument(STORED)
    data: str = argument(INPUT)
    out: str | None = _output("Write labels, scores and reasons; - prints CSV.")
    only_scores: bool = _only_scores()
    threshold: float | None = _threshold()
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class ReportRequest(ScoredRequest):
    """The request to `report`."""

    scores: str = argument(STORED)
    data: str = option("The table that was scored.", type=INPUT, required=True, metavar="FILE")
    out: str = _output("The page to write (.html).", required=True)
    title: str | None = option("Headline of the page.", metavar="TEXT")
    names: str | None = _names()
    threshold: float | None = _threshold("the rows that are core in SCORES are kept.")
    chance: float | None = option(
        "What data without clusters rarely exceed, as `clustertrust score` printed it: the page "
        "begins with the verdict.",
        type=Between(0, 1),
        metavar="C",
    )

    def checked(self) -> Self:
        """Refuse to print the page."""
        if self.to_stdout:
            raise click.UsageError(f"--out {self.out}: a page cannot be printed; name a file.")
        return super().checked()


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(Request):
    """The request to `explain`."""

    data: str = argument(INPUT)
    scores: str = argument(STORED)
    row: str = argument(click.STRING)
    names: str | None = option(
        "Names of clusters (JSON by label), as the page saves them.", type=STORED, metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class ChooseRequest(Request):
    """The request to `choose-k`."""

    data: str = argument(INPUT)
    ks: tuple[int, ...] = option(
        "Numbers of clusters to try.", "-k", "--k", type=NUMBERS, default="2:12"
    )
    out: str | None = _output("Write the table, one row per number; - prints it as CSV.")
    plot: str | None = _output("Draw the profile (.png, .svg, .pdf).")
    report: str | None = _output("Write a page (.html): the evidence, and the data at each k.")
    save_plan: str | None = _save_plan()
    distances: bool = _distances()
    null: bool = option(
        "Compare with data without clusters. With --no-null, --distances or --metric gower the "
        "answer is never 1.",
        "--null/--no-null",
        default=True,
    )
    effort: str = option(
        "How data without clusters are scored. full: like your data, which takes about forty times"
        " as long.",
        cls=TableOption,
        metavar="NAME",
        type=TableChoice("k_profile.null_test:EFFORTS"),
        default="quick",
    )
    n_surrogates: int = _count(
        "Number of data sets without clusters, for each of three kinds.",
        "--surrogates",
        least=2,
        metavar="B",
        default=19,
    )
    level: float = option(
        "Largest p-value at which a number of clusters beats data without clusters.",
        type=SHARE,
        metavar="P",
        default=0.05,
    )
    max_points: int = _count(
        "If there are more rows, use a random sample of this size.", least=2, default=2000
    )
    method: CakeOptions = field(default_factory=ProfileOptions)
    as_json: bool = _json()


@dataclass(frozen=True, kw_only=True)
class AskRequest(Request):
    """The request to `ask`."""

    data: str = argument(INPUT)
    scores: str = argument(STORED)
    n: int = _count("Number of questions.", "--n", "-n", default=60)
    n_random: int | None = _count(
        "How many of them to draw at random; only these count for the guarantee.  [default: two "
        "thirds]",
        "--random",
        least=0,
    )
    answers: tuple[str, ...] = several(
        "Earlier answers; repeat it for several files.", "FILE", type=STORED
    )
    seed: int = _count("Seed of the random draws.", least=0, metavar="S", default=0)
    out: str = _output(
        "Write the questions, a table to fill in; - prints it as CSV.", required=True
    )


@dataclass(frozen=True, kw_only=True)
class DecideRequest(Request):
    """The request to `decide`."""

    scores: str = argument(STORED)
    answers: tuple[str, ...] = argument(STORED, nargs=-1, required=True)
    risk: float = option(
        "Largest share of wrong rows among those kept.", type=SHARE, default=0.05, metavar="P"
    )
    confidence: float = option(
        "Probability that this holds.", type=SHARE, default=0.95, metavar="P"
    )
    out: str | None = _output("Write the rows kept, with corrected labels; - prints them as CSV.")
    all_rows: bool = flag("Write all rows, with a column kept.")
    report: str | None = _output("Write a page (.html) of the learned scores.")
    kind: str = one_of(
        "What names in the column answer stand for. auto: clusters, if all of them are clusters.",
        ["auto", "classes", "labels"],
        "--answers-are",
    )
    drawn: bool = flag(
        "Treat rows of ANSWERS as drawn at random if the table does not say how they were chosen.",
        "--drawn-at-random",
    )
    force: bool = flag(
        "Trust --drawn-at-random even if the scores of these rows suggest otherwise."
    )
    as_json: bool = _json()
