"""The result of an audit: the record of scores, with a verdict on each given cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd

from clustertrust._types import Ints
from clustertrust.auditing.verdicts import VERDICTS, Verdict, verdicts_of
from clustertrust.records import load_record, save_record
from clustertrust.results import Confidence


@dataclass(frozen=True, repr=False, kw_only=True)
class Audit(Confidence):
    """How far each label of one given labelling can be trusted.

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
    """

    outcomes: Annotated[Ints, "i V k"]
    partners: Annotated[Ints, "i V k"]

    def __repr__(self) -> str:
        """Return one line: all arrays would fill a screen."""
        sizes = f"{len(self.scores)} points, {len(self.label_names)} clusters, {self.n_runs} runs"
        parts = "scores, suggested, verdicts, to_frame(), …"
        return f"<Audit: {sizes}, {self.geometry_method} silhouettes; {parts}>"

    @property
    def suggested(self) -> Ints:
        """(n,) the label that most runs vote for, the given one on ties; -1: no run has a vote.

        Where it differs from `labels`, it is the label that the runs suggest instead.
        """
        votes = np.nan_to_num(self.votes)
        most = votes.max(axis=1)
        own = votes[np.arange(len(votes)), self.labels]
        kept = (self.labels >= 0) & (own == most)
        return np.where(most > 0, np.where(kept, self.labels, votes.argmax(axis=1)), -1)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the runs make of each given cluster, in the order of `label_names`."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.label_names))
        return verdicts_of(self.outcomes, self.partners, sizes, self.label_names.tolist())

    def clusters(self) -> pd.DataFrame:
        """Return one row per given cluster: points, mean score, other labels suggested, verdict."""
        rows = pd.DataFrame([vars(verdict) for verdict in self.verdicts]).set_index("cluster")
        rows = rows.rename_axis("label").rename(columns={"other": "with"})
        points = pd.DataFrame({"score": self.scores, "other": self.suggested != self.labels})
        by_label = points[self.labels >= 0].groupby(self.labels[self.labels >= 0])
        rows.insert(1, "mean score", by_label["score"].mean().to_numpy())
        rows.insert(2, "other label suggested", by_label["other"].sum().to_numpy())
        return rows

    def summary(self, threshold: float | None = None, points: int = 5) -> str:
        """Return the summary of the scores, and below it the verdict on each cluster."""
        return f"{super().summary(threshold, points)}\n\n{self.verdicts_as_text()}"

    def verdicts_as_text(self) -> str:
        """Return the verdict on each given cluster, one line each."""
        table = self.clusters()[["points", "other label suggested"]].astype(str)
        table["verdict"] = [str(verdict) for verdict in self.verdicts]
        return f"Verdicts on the given clusters\n{table.to_string()}"

    def verdicts_by_name(self) -> dict[str, str]:
        """Return the verdict on each given cluster in words, as pages list it with settings."""
        return {f"verdict on {verdict.cluster}": str(verdict) for verdict in self.verdicts}

    def _page_settings(self) -> dict[str, Any]:
        return super()._page_settings() | self.verdicts_by_name()

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
        return super()._from_stored()
