"""What a command is asked to do: a record, with the options as fields and the help as docstring.

Nothing heavy is imported here, so help and shell completion stay fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from clustertrust.cli.declaring import argument, count, flag, one_of, option, output, several
from clustertrust.cli.kinds import (
    INPUT,
    NUMBERS,
    STORED,
    TABLE_OR_FOLDER,
    Between,
    TableChoice,
    TableOption,
)
from clustertrust.cli.options import (
    AUDITING,
    BUILDING,
    AuditOptions,
    CakeOptions,
    ProfileOptions,
    ReadOptions,
)
from clustertrust.cli.outputs import STDOUT, check_outputs, typed_files
from clustertrust.cli.sidecar_plan import check_sidecar_plan
from clustertrust.cli.wording import current_wording

SHARE = Between(0, 1, min_open=True, max_open=True)
NAMES = "Names of clusters for the page (JSON by label), as the page saves them."
ONLY_SCORES = "Write the names of the rows and the results, without the other columns of DATA."
SAVE_PLAN = "Write what is done with each column (.json). Edit it, and pass it to --plan."
DISTANCES = "DATA is a square table of distances, with or without names; k-medoids by default."
JSON = ("Print the summary as JSON and nothing else.", "--json")


def threshold(
    without: str = "what data without clusters rarely exceed; for given labels or distances half "
    "of the median.",
) -> Any:
    """Return the option that says which scores are kept, and what is kept without it."""
    return option(
        f"Scores above this are kept; counts and reasons depend on it. Without it: {without}",
        type=Between(0, 1),
        metavar="T",
    )


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request to a command.

    Attributes
    ----------
    typed : parameters that the user typed; the others have their defaults
    """

    typed: frozenset[str] = frozenset()

    def checked(self) -> Self:
        """Return the request as the command gets it; raise for what cannot be done."""
        return self

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise if the user typed one of these parameters, which have no use here."""
        wording = current_wording()
        refused = [wording(name, None) for name in names if name in self.typed]
        if refused:
            raise click.UsageError(f"{why}; leave out {', '.join(refused)}.")


@dataclass(frozen=True, kw_only=True)
class TableRequest(Request):
    """The request to a command that reads a table.

    Attributes
    ----------
    paths : where each output goes, by option
    columns : how the table is read
    """

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
        """Return the request with the paths of its outputs."""
        paths = check_outputs(*typed_files(click.get_current_context()))
        self.columns.check()
        if self.to_stdout and getattr(self, "as_json", False):
            raise click.UsageError(
                "--out - and --json would both print to standard output; choose one."
            )
        from clustertrust.files.memory import allowing

        click.get_current_context().with_resource(allowing(self.columns.memory))
        return replace(self, paths=paths)


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(TableRequest):
    """Cluster the rows of DATA many times and score how much each assignment can be trusted.

    DATA is CSV, TSV (both also .gz, .bz2, .xz), TXT, JSON, JSONL, XLSX, ODS, Parquet, Arrow or
    Feather, NPY, NPZ, H5AD, - for standard input, or a folder of CSV, TSV, Parquet or Arrow files.
    Folders and large files (--memory) are read in blocks. The command inspects the table and
    prints what it does with each column: ids, dates and constants are left out, categories become
    numbers, columns of different ranges are scaled. The suffix of FILE sets the format of --out.
    DATA and --labels are never overwritten. With --distances, DATA holds the distances of all
    pairs of points instead.
    """

    data: str = argument(TABLE_OR_FOLDER)
    out: str | None = output("Write the scores, one row per point; - prints them as CSV.")
    report: str | None = output("Write a page (.html) to explore the scores.")
    names: str | None = option(NAMES, type=STORED, metavar="FILE")
    plot: str | None = output("Draw the scores (.png, .svg, .pdf).")
    model: str | None = output("Save the fitted model, for `clustertrust predict`.")
    only_scores: bool = flag(ONLY_SCORES)
    save_plan: str | None = output(SAVE_PLAN)
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
    distances: bool = flag(DISTANCES)
    checkpoint: str | None = option(
        "Save finished runs in this folder, and resume from them.",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
    )
    scheduler: str | None = option(
        "Run on a Dask cluster whose workers can read the same files.", metavar="ADDRESS"
    )
    method: CakeOptions = field(default_factory=CakeOptions)
    threshold: float | None = threshold()
    tests: str | None = option(
        "Quote what `choose-k --out FILE.json` found for the same data, and say if it disagrees.",
        type=STORED,
        metavar="FILE",
    )
    as_json: bool = flag(*JSON)

    def checked(self) -> Self:
        """Check the plan next to the scores, too, and options that go with given labels."""
        request = super().checked()
        _, read = typed_files(click.get_current_context())
        check_sidecar_plan(request.paths, read, self.columns.plan)
        if self.labels is not None and self.labels_column is not None:
            raise click.UsageError("--labels and --labels-column both give labels; choose one.")
        if self.noise and not self.has_labels:
            raise click.UsageError("--noise is for given labels; add --labels or --labels-column.")
        if self.has_labels:
            # What an audit takes is checked later, when the number of labellings is known.
            others = [name for name in (*BUILDING, "checkpoint", "model") if name not in AUDITING]
            named = "--labels" if self.labels_column is None else "--labels-column"
            self.refuse(others, f"With {named} nothing is clustered")
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
    """Score how much each label in a column of DATA can be trusted, and flag those that look wrong.

    Runs propagate the labels of neighbours and cluster the rows again; classifiers that have not
    seen a row's label predict it. Each row gets a score, a suggested label, and whether the given
    one looks wrong (the column issue); each label gets a verdict: kept together, split, merged with
    another, dissolved or unclear. DATA is read as in `clustertrust score`, and never overwritten.
    """

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
        "Your own out-of-sample probabilities instead: a table with one column named "
        "after each label, or an array (.npy) in the order of the sorted labels.",
        type=STORED,
        metavar="FILE",
    )
    checkpoint: str | None = field(default=None, init=False)
    scheduler: str | None = field(default=None, init=False)
    method: CakeOptions = field(default_factory=AuditOptions)

    def checked(self) -> Self:
        """Check that there are labels, and one way to vote on them."""
        if not self.has_labels:
            raise click.UsageError(
                "There are no labels to audit: name their column with --labels-column, or a file "
                "with --labels."
            )
        if self.pred_probs is not None:
            self.refuse(("classifier",), "--pred-probs takes the place of classifiers")
        return super().checked()


@dataclass(frozen=True, kw_only=True)
class PredictRequest(TableRequest):
    """Label and score the rows of DATA with a MODEL that `clustertrust score --model` saved.

    DATA must have the columns that the model was fitted on, in any order; other columns are copied
    to the output. Columns are read, encoded, scaled and filled in as they were for the fit. Rows of
    the fit are treated as new, so their scores may differ a little.
    """

    model: str = argument(STORED)
    data: str = argument(INPUT)
    out: str | None = output("Write labels, scores and reasons; - prints CSV.")
    only_scores: bool = flag(ONLY_SCORES)
    threshold: float | None = threshold()
    as_json: bool = flag(*JSON)

    def checked(self) -> Self:
        """Refuse options on columns, which the model knows."""
        request = super().checked()
        planned = ("use", "keep", "category", "scale", "standardize", "encode", "plan")
        self.refuse(planned, "The model knows its columns and what was done with them")
        return request


@dataclass(frozen=True, kw_only=True)
class ChooseRequest(TableRequest):
    """Cluster the rows of DATA with each number of clusters, and recommend one.

    Each number gets a probability from two signals, likelihood and stability; separation counts if
    one of them is missing. The recommendation is 1 if no number fits better than it does in data
    without clusters. DATA is read as in `clustertrust score`, but not in blocks. With --distances,
    DATA holds the distances of all pairs of points. The suffix of FILE sets the format of --out and
    --plot; .json holds what --json prints.
    """

    data: str = argument(INPUT)
    ks: tuple[int, ...] = option(
        "Numbers of clusters to try.", "-k", "--k", type=NUMBERS, default="2:12"
    )
    out: str | None = output("Write the table, one row per number; - prints it as CSV.")
    plot: str | None = output("Draw the profile (.png, .svg, .pdf).")
    report: str | None = output("Write a page (.html): the evidence, and the data at each k.")
    save_plan: str | None = output(SAVE_PLAN)
    distances: bool = flag(DISTANCES)
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
    n_surrogates: int = count(
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
    max_points: int = count(
        "If there are more rows, use a random sample of this size.", least=2, default=2000
    )
    method: CakeOptions = field(default_factory=ProfileOptions)
    as_json: bool = flag(*JSON)


@dataclass(frozen=True, kw_only=True)
class DemoRequest(Request):
    """Score three clusters of the 150 Iris flowers, and explain the least sure flower.

    --out FOLDER writes the data as CSV, the scores, a page to explore and the model, so that you
    can try the commands.
    """

    out: str | None = option(
        "Write the example's files there too.", type=click.Path(file_okay=False), metavar="FOLDER"
    )
