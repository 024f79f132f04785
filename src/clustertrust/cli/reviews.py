"""Requests to commands that review scores which were written before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import click

from clustertrust.cli.declaring import argument, count, flag, one_of, option, output, several
from clustertrust.cli.kinds import INPUT, STORED, Between
from clustertrust.cli.outputs import PAGES, check_suffix
from clustertrust.cli.request import JSON, NAMES, SHARE, TableRequest, threshold


@dataclass(frozen=True, kw_only=True)
class ReportRequest(TableRequest):
    """Make a page to explore, from SCORES that `clustertrust score --out` wrote, and the data.

    Rows are matched by name if --id says which column of the data has the names, otherwise by
    position.
    """

    scores: str = argument(STORED)
    data: str = option("The table that was scored.", type=INPUT, required=True, metavar="FILE")
    out: str = output("The page to write (.html).", required=True)
    title: str | None = option("Headline of the page.", metavar="TEXT")
    names: str | None = option(NAMES, type=STORED, metavar="FILE")
    threshold: float | None = threshold("the rows that are core in SCORES are kept.")
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
        request = super().checked()
        check_suffix("--out", request.paths["--out"], PAGES)
        return request


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(TableRequest):
    """Explain the score of ROW: its parts, and its values next to those of its cluster and rival.

    SCORES is what `clustertrust score --out` wrote. ROW is the name of a row, or its number,
    counted from 0, where rows have no names.
    """

    data: str = argument(INPUT)
    scores: str = argument(STORED)
    row: str = argument(click.STRING)
    names: str | None = option(
        "Names of clusters (JSON by label), as the page saves them.", type=STORED, metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class AskRequest(TableRequest):
    """Choose rows of DATA to ask a person about, given SCORES from `clustertrust score --out`.

    Some rows are drawn at random: they show how many of all rows are right. The others are chosen
    where an answer teaches most. Fill in the column answer of the table: right, wrong, skip, or
    the class of the row; or, in should_be, the cluster that it should be in. Then run
    `clustertrust decide`. Columns are used as in `clustertrust score`, if its plan is next to
    SCORES.
    """

    data: str = argument(INPUT)
    scores: str = argument(STORED)
    n: int = count(
        "Number of questions. A risk of 0.1 needs about 60, 0.05 about 120.",
        "--n",
        "-n",
        default=60,
    )
    n_random: int | None = count(
        "How many of them to draw at random; only these count for the guarantee.  [default: two "
        "thirds]",
        "--random",
        least=0,
    )
    answers: tuple[str, ...] = several(
        "Earlier answers; repeat it for several files.", "FILE", type=STORED
    )
    seed: int = count("Seed of the random draws.", least=0, metavar="S", default=0)
    out: str = output("Write the questions, a table to fill in; - prints it as CSV.", required=True)

    def checked(self) -> Self:
        """Check the numbers of questions."""
        request = super().checked()
        if self.n_random is not None and self.n_random > self.n:
            raise click.UsageError(f"--random {self.n_random} is more than --n {self.n}.")
        return request


@dataclass(frozen=True, kw_only=True)
class DecideRequest(TableRequest):
    """Find which rows of SCORES can be kept with few errors, from ANSWERS to `clustertrust ask`.

    ANSWERS are tables with the column answer: questions that a person filled in, or the answers
    downloaded from a report. All answers train the scores; the rows drawn at random guarantee the
    error rate of the rows kept. Random rows that were skipped count as wrong. Columns are used as
    in `clustertrust score`, if its plan is next to SCORES.
    """

    scores: str = argument(STORED)
    answers: tuple[str, ...] = argument(STORED, nargs=-1, required=True)
    risk: float = option(
        "Largest share of wrong rows among those kept.", type=SHARE, default=0.1, metavar="P"
    )
    confidence: float = option(
        "Probability that this holds.", type=SHARE, default=0.95, metavar="P"
    )
    out: str | None = output("Write the rows kept, with corrected labels; - prints them as CSV.")
    all_rows: bool = flag("Write all rows, with a column kept.")
    report: str | None = output("Write a page (.html) of the learned scores.")
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
    as_json: bool = flag(*JSON)

    def checked(self) -> Self:
        """Check options that need another."""
        request = super().checked()
        if self.all_rows and self.out is None:
            raise click.UsageError("--all-rows needs a table to write; add --out FILE.")
        if self.force and not self.drawn:
            raise click.UsageError(
                "--force needs --drawn-at-random; add that, or leave out --force."
            )
        return request
