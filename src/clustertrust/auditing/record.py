"""The result of an audit: the record of scores, with a verdict on each given cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import pandas as pd

from clustertrust._notebook import confidence_html, with_findings
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust.auditing.verdicts import (
    DISSOLVED,
    MERGED,
    VERDICTS,
    Verdict,
    verdicts_of,
)
from clustertrust.auditing.votes import margin_of
from clustertrust.records import load_record, save_record
from clustertrust.results import Confidence

# A label is an issue where another one leads it by more than this, in votes of runs and classifier.
LEAD = 0.45
# Leads of the labels that are surely wrong, and of those that may be.
SURE, DOUBTFUL = 0.8, 0.2
# Where every given cluster is dissolved
NO_BETTER = (
    "No given cluster holds together: these labels look no better than random ones, and core means "
    "little here."
)


class WrongLabels(NamedTuple):
    """How many labels are wrong: an estimate, and its interval."""

    estimate: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.estimate} ({self.low} to {self.high})"


@dataclass(frozen=True, repr=False, kw_only=True)
class Audit(Confidence):
    """How much each label of one given labelling can be trusted.

    It is a :class:`clustertrust.Confidence`, so that tables, plots, pages and explanations take it;
    a page also lists the verdicts.
    Its `labels` are the given ones and `label_names` their names; `stability` is the share of runs
    that agree with the given label, `geometry` comes from its silhouette among the given clusters,
    `votes` and `rival` use the given names. The given labelling comes first in `ensemble`, before
    the `n_runs` runs, and is the `reference_run`.

    Attributes
    ----------
    outcomes : (V, k) verdict of each run that propagated labels on each cluster: numbers of
        `clustertrust.auditing.VERDICTS`
    partners : (V, k) the cluster that each was merged with, -1: none
    probabilities : (n, k) of the labels, in the order of `label_names`, by a classifier that has
        not seen the point; None where there was none
    classifier : what made them; None likewise
    classifier_weight : its weight in scores and suggestions; the runs have the rest
    recognised : (k,) whether the classifiers (the runs where there is none) see more in each
        cluster than chance, so that it is not dissolved; None: not known
    """

    outcomes: Annotated[Ints, "i V k"]
    partners: Annotated[Ints, "i V k"]
    probabilities: Annotated[Floats, "f n k"] | None = None
    classifier: str | None = None
    classifier_weight: float = 0.0
    recognised: Annotated[Bools, "b k"] | None = None

    def __repr__(self) -> str:
        """Return one line: all arrays would fill a screen."""
        sizes = f"{len(self.scores)} points, {len(self.label_names)} clusters, {self.n_runs} runs"
        parts = "scores, suggested, verdicts, to_frame(), …"
        return f"<Audit: {sizes}, {self.geometry_method} silhouettes; {parts}>"

    def compute(self, rows: slice = slice(None)) -> Self:
        """Return the record, or some of its `rows`."""
        some = super().compute(rows)
        if self.probabilities is None:
            return some
        return replace(some, probabilities=self.probabilities[rows])

    @property
    def evidence(self) -> Floats:
        """(n, k) the votes of the runs and the probabilities of the classifier, averaged.

        0 for all labels where no run has a vote and there is no classifier.
        """
        votes = np.nan_to_num(self.votes)
        if self.probabilities is None:
            return votes
        w = self.classifier_weight
        return np.asarray(w * self.probabilities + (1 - w) * votes)

    @property
    def _suggested(self) -> Ints:
        """(n,) positions of the suggested labels in `label_names`, -1: none."""
        shares = self.evidence
        most = shares.max(axis=1)
        own = shares[np.arange(len(shares)), self.labels]
        kept = (self.labels >= 0) & (own == most)
        return np.where(most > 0, np.where(kept, self.labels, shares.argmax(axis=1)), -1)

    @property
    def suggested(self) -> Array:
        """(n,) the label, by its name, that runs and classifier favour; the given one on ties.

        None, or -1 among numbers, where there is no evidence for any. Points without a label have a
        suggestion too.
        """
        return self._named(self._suggested)

    @property
    def suggested_score(self) -> Floats:
        """(n,) share of the votes of runs and classifier for the suggested label."""
        return np.asarray(self.evidence.max(axis=1))

    @property
    def classifier_margin(self) -> Floats | None:
        """(n,) probability of the given label by the classifier, less the largest other."""
        return None if self.probabilities is None else margin_of(self.probabilities, self.labels)

    @property
    def issues(self) -> Bools:
        """(n,) the labels that look wrong; `suggested` says what they should be.

        Another label leads by more than 0.45 in the votes of runs and classifier. The only point
        of a label is never one: nothing else could vote for it.
        """
        return self._led_by(LEAD)

    @property
    def wrong_labels(self) -> WrongLabels:
        """How many labels are wrong: the number of `issues`, with an interval.

        The interval is from those that another label leads by more than 0.8 to those led by more
        than 0.2. It covers what can be seen in the data, not classes that overlap by nature.
        """
        return WrongLabels(*(int(self._led_by(lead).sum()) for lead in (LEAD, SURE, DOUBTFUL)))

    def _led_by(self, lead: float) -> Bools:
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.label_names))
        checked = (self.labels >= 0) & (sizes[self.labels] > 1)
        return np.asarray(checked & (margin_of(self.evidence, self.labels) < -lead))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each given cluster, in the order of `label_names`."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.label_names))
        names = self.label_names.tolist()
        return verdicts_of(self.outcomes, self.partners, sizes, names, self.recognised)

    def clusters(self) -> pd.DataFrame:
        """Return one row per given cluster: points, mean score, issues, verdict and others."""
        rows = pd.DataFrame([vars(verdict) for verdict in self.verdicts]).set_index("cluster")
        rows = rows.rename_axis("label").rename(columns={"other": "with"})
        others = self._suggested != self.labels
        points = pd.DataFrame({"score": self.scores, "other": others, "issue": self.issues})
        by_label = points[self.labels >= 0].groupby(self.labels[self.labels >= 0])
        rows.insert(1, "mean score", by_label["score"].mean().to_numpy())
        rows.insert(2, "other label suggested", by_label["other"].sum().to_numpy())
        rows.insert(3, "issues", by_label["issue"].sum().to_numpy())
        return rows

    def summary(self, threshold: float | None = None, points: int = 5) -> str:
        """Return the summary of the scores, and below it the verdict on each cluster."""
        return f"{super().summary(threshold, points)}\n\n{self.verdicts_as_text()}"

    def verdicts_as_text(self) -> str:
        """Return how many labels look wrong, and the verdict on each given cluster."""
        table = self.clusters()[["points", "issues"]].astype(str)
        table["verdict"] = [str(verdict) for verdict in self.verdicts]
        wrong = f"Labels that look wrong: {self.wrong_labels}"
        if all(verdict.verdict == VERDICTS[DISSOLVED] for verdict in self.verdicts):
            wrong += f"\n{NO_BETTER}"
        return f"{wrong}\n\nVerdicts on the given clusters\n{table.to_string()}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        table = self.clusters()[["points", "issues"]].astype(str)
        verdicts = [
            (str(verdict.cluster), *counts, str(verdict))
            for verdict, counts in zip(self.verdicts, table.itertuples(index=False), strict=True)
        ]
        frame = self.to_frame()
        worst = frame[frame["issue"]].sort_values("score", kind="stable")
        suspects = [
            (name, row.label, row.suggested, f"{row.suggested_score:.0%}", f"{row.score:.2f}")
            for name, row in zip(worst.index, worst.itertuples(), strict=True)
        ]
        scores = confidence_html(self, opening=False)
        return with_findings(scores, str(self.wrong_labels), suspects, verdicts)

    def verdicts_by_name(self) -> dict[str, str]:
        """Return the verdict on each given cluster in words."""
        return {f"verdict on {verdict.cluster}": str(verdict) for verdict in self.verdicts}

    def _page_settings(self) -> dict[str, Any]:
        made = {} if self.classifier is None else {"classifier": self.classifier}
        return super()._page_settings() | made

    def findings(self) -> dict[str, Any]:
        """Return what pages begin with: how many labels look wrong, verdicts on clusters, and the
        clusters that the runs merge or dissolve.
        """
        doubts = (VERDICTS[MERGED], VERDICTS[DISSOLVED])
        return {
            "wrong_labels": str(self.wrong_labels),
            "verdicts": {str(verdict.cluster): str(verdict) for verdict in self.verdicts},
            "doubtful": [str(v.cluster) for v in self.verdicts if v.verdict in doubts],
        }

    def save(self, path: str | Path) -> None:
        """Write the record to one file of arrays and JSON (never pickle), whole or not at all.

        Parameters
        ----------
        path : where to; an existing file is replaced
        """
        save_record(path, self)

    @classmethod
    def load(cls, path: str | Path) -> Audit:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path of the file

        Returns
        -------
        Audit

        Raises
        ------
        ValueError
            If the file is damaged, of another version, or no audit.
        """
        return load_record(path, Audit, lambda audit: audit)

    def _from_stored(self) -> Self:
        """Return it; raise if its parts do not go together."""
        k, labels = len(self.label_names), self.ensemble.labels
        if k < 2 or not np.array_equal(labels[:, 0], self.labels):
            raise ValueError("its labels are not those that its runs were matched to")
        for name, low, high in (("outcomes", 0, len(VERDICTS)), ("partners", -1, k)):
            values = getattr(self, name)
            if not values.size or not low <= values.min() <= values.max() < high:
                raise ValueError(f"its {name} are not all from {low} to {high - 1}")
        shares = np.empty(0) if self.probabilities is None else self.probabilities
        if not (np.all((shares >= 0) & (shares <= 1.01)) and 0 <= self.classifier_weight <= 1):
            raise ValueError("its probabilities and their weight are not all from 0 to 1")
        return super()._from_stored()
