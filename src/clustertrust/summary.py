"""Results → a short text for a person: quantiles, clusters, reasons, the most ambiguous points.

A :class:`Summary` is made from a whole table (:func:`summary_of`), or summed over its blocks
(:class:`Tally`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from clustertrust._errors import Message, ParameterError, ParameterTypeError
from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_count
from clustertrust.columns import COLUMNS
from clustertrust.ensemble.record import Ensemble
from clustertrust.notes import (
    Judged,
    is_stable,
    note_on_lost_clusters,
    note_on_noise,
    note_on_single_points,
    notes_on,
    notes_on_counts,
)
from clustertrust.reasons import Cut, above, cut

if TYPE_CHECKING:
    from clustertrust.results import Confidence

QUANTILE_NAMES = {"minimum": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "maximum": 1.0}
# Points listed.
AMBIGUOUS = 5
# For the quantiles of scores that come in blocks.
BINS = 10_000


class Tested(Protocol):
    """What has tested the same data for structure: a `NullReference` or a `KProfile`."""

    @property
    def structured(self) -> bool | None:
        """Whether there is structure; None if that was not tested."""

    def verdict(self) -> str:
        """Return that in words."""


@dataclass(frozen=True)
class Summary:
    """A few numbers that summarise many points.

    Attributes
    ----------
    scores : quantiles of the scores
    clusters : one row per consensus cluster
    reasons : points by reason
    ambiguous : the points with the lowest scores
    cut : where the scores are cut, and why there
    verdict : whether there is structure, or that this was not tested; None for an audit
    quoted : verdicts of other tests of the same data, and whether they disagree
    notes : what the numbers do not say by themselves
    """

    scores: pd.Series
    clusters: pd.DataFrame
    reasons: pd.Series
    ambiguous: pd.DataFrame
    cut: Cut
    verdict: str | Message | None = None
    notes: tuple[str | Message, ...] = ()
    quoted: tuple[str, ...] = ()

    def text(self, headline: str) -> str:
        """Return the summary in words: the verdict, a headline, and what follows."""

        def text(table: Any) -> str:
            return str(table.to_string(float_format=lambda value: f"{value:.3f}"))

        counted_from = " (rows count from 0)" if self.ambiguous.index.name == "row" else ""
        counted = ", ".join(f"{name} {count:,}" for name, count in self.reasons.items())
        return "\n\n".join(
            [
                *([] if self.verdict is None else [str(self.verdict)]),
                *(["\n".join(self.quoted)] if self.quoted else []),
                headline,
                *(f"Note: {note}" for note in self.notes),
                f"Scores (0: ambiguous, 1: sure)\n{text(self.scores.to_frame().T)}",
                f"By cluster\n{text(self._clusters_shown())}",
                f"By reason ({self.cut.meaning})\n{counted}",
                f"Most ambiguous points{counted_from}\n{text(self.ambiguous)}",
            ]
        )

    def _clusters_shown(self) -> pd.DataFrame:
        """Return the clusters without the share that is not kept if nothing is."""
        nothing = self.cut.rule == "chance" and self.cut.structure == "none"
        return self.clusters.iloc[:, :-1] if nothing else self.clusters


def summary_of(
    table: pd.DataFrame,
    *,
    at: Cut | None = None,
    points: int = AMBIGUOUS,
    notes: tuple[str | Message, ...] = (),
) -> Summary:
    """Summarise a table with the columns of `Confidence.to_frame(at.threshold)`.

    Its index names the points. `notes` come before those on the table.
    """
    scores = table["score"].to_numpy(np.float64)
    at = cut(scores) if at is None else at
    clusters = _means(_sums(table, at.threshold), at.threshold)
    # Given labels may be of single points.
    lone = () if "suggested" in table else note_on_single_points(clusters["points"])
    return Summary(
        _quantiles(scores),
        clusters,
        _present(table["reason"].value_counts(sort=False)),
        _ambiguous(table, check_count("points", points, at_least=0)),
        at,
        # An audit asks about labels, not about structure.
        None if "suggested" in table else at.opening,
        (*notes, *lone, *notes_on(table)),
    )


def summary_of_confidence(
    confidence: Confidence, *, threshold: float | None = None, points: int = AMBIGUOUS
) -> Summary:
    """Summarise a record of scores, for any kind of data."""
    at = confidence.cut(threshold)
    table = pd.DataFrame(confidence.to_columns(at.threshold), index=confidence.row_names())
    return summary_of(table, at=at, points=points, notes=notes_of(confidence, table["label"]))


def notes_of(confidence: Confidence, labels: Iterable[Any]) -> tuple[Message, ...]:
    """Return notes on the clusters of a record whose points have these labels."""
    return (
        *note_on_noise(confidence.ensemble.noise),
        *note_on_lost_clusters(confidence.label_names.tolist(), labels),
    )


def summarize(
    confidence: Confidence,
    *,
    threshold: float | None = None,
    points: int = AMBIGUOUS,
    tests: Iterable[Tested] = (),
) -> str:
    """Write quantiles, a table by cluster, reasons, ambiguous points and `tests` as text."""
    confidence = confidence.compute()
    n, k = len(confidence.scores), confidence.n_clusters
    summary = summary_of_confidence(confidence, threshold=threshold, points=points)
    summary = replace(summary, quoted=quote(summary.cut, tests, n, k))
    return summary.text(headline(n, k, confidence.ensemble, confidence.geometry_method))


def quote(at: Cut, tests: Iterable[Tested], n: int, k: int) -> tuple[str, ...]:
    """Return the verdicts of tests of the same data, each with how it differs from this one."""
    if not isinstance(tests, Iterable):
        raise ParameterTypeError(
            "tests", tests, "must be a list of results of null_reference or choose_k"
        )
    lines: list[str] = []
    for test in tests:
        rows = getattr(test, "n_rows", n)
        if not hasattr(test, "verdict") or not hasattr(test, "structured"):
            raise ParameterError(
                "tests", test, "has no verdict", "give results of null_reference or choose_k"
            )
        if rows != n:
            raise ParameterError(
                "tests", test, f"is about {rows} rows, but the data have {n}", "test the same data"
            )
        kind = type(test).__name__
        source = getattr(test, "source", _NAMES.get(kind, kind))
        lines.append(f"{source}: {test.verdict()}")
        differences = [f"  They disagree: {why}." for why in _differences(at, test, k)]
        lines += ["  They disagree, as above." if one in lines else one for one in differences]
    return tuple(lines)


# The functions whose results are quoted.
_NAMES = {"NullReference": "null_reference", "KProfile": "choose_k"}


def _differences(at: Cut, test: Tested, k: int) -> list[str]:
    """Return how a test contradicts the share of rows above chance, or the number of clusters."""
    differences = []
    if at.share is not None and test.structured is not None:
        some = at.structure != "none"
        if some and not test.structured:
            differences.append(
                f"{at.share:.0%} of the rows score above chance, but data without clusters score "
                "as high on the whole. Look at the clusters before you rely on them"
            )
        elif test.structured and not some:
            differences.append(
                "on the whole the data score higher than data without clusters, but almost no row "
                f"scores above chance. There may be clusters, but not these {k}"
            )
    best = getattr(test, "best", None)
    if best is not None and best not in (1, k) and k not in test.plausible:  # type: ignore[attr-defined]
        differences.append(f"this fit has {k} clusters, which is not among the plausible numbers")
    return differences


def headline(points: int, clusters: int, ensemble: Ensemble, geometry: str) -> str:
    """Return the numbers of points, clusters and runs, and the geometry, as text."""
    counted = "1 cluster" if clusters == 1 else f"{clusters} clusters"
    return f"{points:,} points, {counted}, {runs_of(ensemble)}, {geometry} silhouettes"


def runs_of(ensemble: Ensemble) -> str:
    """Return the number of runs as text, with their numbers of clusters if these differ."""
    k = ensemble.n_clusters
    differ = f" of {k.min()} to {k.max()} clusters" if k.min() < k.max() else ""
    # Of an audit the first is the given labelling, no run of ours.
    n_given = sum(run.method == "given" for run in ensemble.runs or ())
    return f"{ensemble.n_runs - n_given} runs{differ}"


def not_kept(scores: Any, threshold: float) -> Any:
    """Return which points have a score, and one that is not above the threshold."""
    return ~above(scores, threshold) & ~np.isnan(np.asarray(scores))


def _quantiles(scores: Floats) -> pd.Series:
    numbers = scores[~np.isnan(scores)]
    values = (
        np.quantile(numbers, list(QUANTILE_NAMES.values()))
        if numbers.size
        else [np.nan] * len(QUANTILE_NAMES)
    )
    return pd.Series(values, index=list(QUANTILE_NAMES), name="score")


def _sums(table: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Return sums over the points of each cluster, from which `_means` makes a table."""
    averaged = _averaged(table)
    # A point that only one run assigns has a silhouette but no score, so each column has its own
    # count.
    counts = {f"known {name}": table[name].notna().astype(float) for name in averaged}
    dropped = not_kept(table["score"], threshold).astype(float)
    counted = table.assign(points=1, dropped=dropped, **counts).groupby("label", dropna=False)
    return counted[["points", *averaged, *counts, "dropped"]].sum()


def _means(sums: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Return size, means and the share of points that are not kept, one row per cluster."""
    return pd.DataFrame(
        {"points": sums["points"].astype(int)}
        | {f"mean {name}": sums[name] / sums[f"known {name}"] for name in _averaged(sums)}
        | {f"up to {threshold:g}": sums["dropped"] / sums["points"]}
    )


def _present(counts: pd.Series) -> pd.Series:
    """Return the counts of reasons that some point has."""
    return counts[counts > 0].rename("points").rename_axis("reason")


def _ambiguous(table: pd.DataFrame, points: int) -> pd.DataFrame:
    worst = (
        table.dropna(subset="score").sort_values(["score", "stability"], kind="stable").head(points)
    )
    listed = [name for name, column in COLUMNS.items() if column.listed and name in worst]
    # Clusters stand first, side by side.
    first = [name for name in listed if COLUMNS[name].kind == "cluster"]
    return worst[[*first, *(name for name in listed if name not in first)]]


def _averaged(table: pd.DataFrame) -> list[str]:
    """Return the columns of a table whose means are shown for each cluster."""
    return [name for name, column in COLUMNS.items() if column.averaged and name in table]


@dataclass
class Tally:
    """The running totals from which a table that comes in blocks is summarised."""

    cut: Cut
    bins: Ints = field(default_factory=lambda: np.zeros(BINS + 1, dtype=np.int64))
    clusters: pd.DataFrame | None = None
    reasons: pd.Series | None = None
    worst: pd.DataFrame | None = None
    stable: int = 0
    cut_off: int = 0

    def add(self, table: pd.DataFrame) -> None:
        """Add a block of results, indexed by their ids; rows that were left out have no label."""
        scored = table[table["label"].notna()]
        scores = scored["score"].dropna()
        self.bins += np.bincount((scores * BINS).round().astype(int), minlength=BINS + 1)
        self.stable += int(is_stable(scored["stability"]).sum())
        self.cut_off += int((scored["geometry"] == 0).sum())
        sums, counts = _sums(scored, self.cut.threshold), scored["reason"].value_counts(sort=False)
        worst = _ambiguous(scored, AMBIGUOUS)
        if self.clusters is not None and self.reasons is not None and self.worst is not None:
            sums, counts = self.clusters.add(sums, fill_value=0), self.reasons.add(counts)
            worst = _ambiguous(pd.concat([self.worst, worst]), AMBIGUOUS)
        self.clusters, self.reasons, self.worst = sums, counts, worst

    def summary(self) -> Summary:
        """Return the summary so far; quantiles are exact to the width of a bin."""
        assert self.clusters is not None
        assert self.reasons is not None
        assert self.worst is not None
        shares = np.cumsum(self.bins) / max(1, self.bins.sum())
        wanted = np.clip(list(QUANTILE_NAMES.values()), 1e-12, 1.0 - 1e-12)
        values = np.searchsorted(shares, wanted) / BINS if self.bins.any() else np.nan
        return Summary(
            pd.Series(values, index=list(QUANTILE_NAMES), name="score"),
            _means(self.clusters, self.cut.threshold),
            _present(self.reasons),
            self.worst,
            self.cut,
            self.cut.opening,
            (
                *note_on_single_points(self.clusters["points"]),
                *notes_on_counts(
                    Judged(self.stable, int(self.clusters["known stability"].sum())),
                    Judged(self.cut_off, int(self.clusters["known geometry"].sum())),
                    len(self.clusters),
                    self.clusters.columns,
                ),
            ),
        )
