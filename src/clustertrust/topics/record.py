"""The scores of documents in their topics: what a topic model can take back, and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from clustertrust._errors import ParameterError
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust.auditing import Audit
from clustertrust.displays import ScoreScatterDisplay
from clustertrust.ensemble.record import Ensemble
from clustertrust.report import PageOptions
from clustertrust.topics.pictures import OUTLIER, CountDisplay, OutlierDisplay, RivalDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What `TopicScores.columns` has of `Audit.to_frame`
COLUMNS = ("score", "standard_error", "suggested", "suggested_score", "rival", "reason")


@dataclass(frozen=True, repr=False, eq=False)
class TopicScores:
    """How much the topic of each document can be trusted.

    Attributes
    ----------
    audit : Audit, the record behind it: `explain`, `summary`, `verdicts` and `to_frame` are there
    given : (n,) the topics that were scored, -1 for outliers
    names : the name of each topic, where the model has names
    docs : the documents
    X : (n, c) what the topics were judged by: directions of the embeddings
    """

    audit: Audit
    given: Ints
    names: dict[int, str]
    docs: list[str] = field(repr=False)
    X: Floats = field(repr=False)

    def __repr__(self) -> str:
        """Return one line."""
        n, outliers = len(self.given), int((self.given == OUTLIER).sum())
        topics = len(self.audit.label_names)
        return f"<TopicScores: {n} documents, {topics} topics, {outliers} outliers>"

    @property
    def suggested(self) -> Ints:
        """(n,) the topic that is suggested for each document, -1: none."""
        return np.asarray(self.audit.suggested, dtype=np.int64)

    def columns(self, threshold: float | None = None) -> dict[str, Array]:
        """Return one array for each column, for ``get_document_info(docs, metadata=…)``.

        Parameters
        ----------
        threshold : float, optional
            For "reason", see :meth:`clustertrust.Confidence.to_frame`.

        Returns
        -------
        dict
            score and standard_error (NaN for outliers); suggested, a topic; suggested_score, its
            share of the votes; rival, the topic that comes next, -1: none; reason, in a word.
        """
        table = pd.DataFrame(self.audit.to_columns(self.audit.cut(threshold).threshold))
        columns = {name: table[name].to_numpy() for name in COLUMNS}
        for name in ("suggested", "rival"):
            columns[name] = table[name].fillna(OUTLIER).astype(np.int64).to_numpy()
        return columns

    def topics(self, accept: float = 0.5) -> list[int]:
        """Return the topics with outliers reassigned, for ``update_topics(docs, topics=…)``.

        Parameters
        ----------
        accept : float
            From 0 to 1. An outlier takes the suggested topic if its `suggested_score` is at least
            this; with 0 no outlier is left. Other documents keep their topic. It is a share of
            votes, not a probability of being right.

        Returns
        -------
        list of int
        """
        _check_share("accept", accept)
        return [int(topic) for topic in np.where(self._moved(accept), self.suggested, self.given)]

    def _moved(self, accept: float) -> Bools:
        is_sure = (self.audit.suggested_score >= accept) & (self.suggested != OUTLIER)
        return np.asarray((self.given == OUTLIER) & is_sure)

    def merges(self, share: float = 0.5) -> list[list[int]]:
        """Return groups of topics with no gap between them, for ``merge_topics(docs, …)``.

        Parameters
        ----------
        share : float
            From 0 to 1. Two topics belong together if at least this share of the runs finds the
            points of one continued in the other (verdict "merged").

        Returns
        -------
        list of lists of int
            Each with two or more topics; empty if all topics are apart. `merge_topics` of BERTopic
            fails on an empty list.
        """
        _check_share("share", share)
        names = self.audit.label_names.tolist()
        place = {name: number for number, name in enumerate(names)}
        pairs = [
            (place[verdict.cluster], place[verdict.other])
            for verdict in self.audit.verdicts
            if verdict.verdict == "merged" and verdict.share >= share
        ]
        rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        links = sparse.coo_array((np.ones(len(pairs)), (rows, columns)), shape=(len(names),) * 2)
        group = connected_components(links, directed=False)[1]
        groups = [np.flatnonzero(group == number) for number in np.unique(group)]
        return sorted(
            sorted(int(names[i]) for i in members) for members in groups if len(members) > 1
        )

    def name(self, topic: int) -> str:
        """Return the name of a topic; its number where the model has no name for it.

        Parameters
        ----------
        topic : its number

        Returns
        -------
        str
        """
        return self.names.get(topic, f"topic {topic}")

    def plot_map(self, embedding: Any = None, *, ax: Axes | None = None) -> ScoreScatterDisplay:
        """Draw every document at its place, coloured by score; outliers are grey crosses.

        Parameters
        ----------
        embedding : (n, 2) array, optional
            Where to draw them, such as the result of a UMAP to two dimensions; None: two principal
            components.
        ax : matplotlib axes, optional

        Returns
        -------
        ScoreScatterDisplay
        """
        X = self.X if embedding is None else None
        return ScoreScatterDisplay.from_confidence(self.audit, X, embedding=embedding, ax=ax)

    def plot_outliers(
        self, embedding: Any = None, *, accept: float = 0.5, ax: Axes | None = None
    ) -> OutlierDisplay:
        """Draw where the outliers would go: in the colour of the topic that they would take.

        Parameters
        ----------
        embedding : (n, 2) array, optional
            As for :meth:`plot_map`.
        accept : float
            As for :meth:`topics`; outliers below it are grey.
        ax : matplotlib axes, optional

        Returns
        -------
        OutlierDisplay
        """
        _check_share("accept", accept)
        X = self.X if embedding is None else None
        moved = self._moved(accept)
        to = np.where(moved, self.suggested, OUTLIER)
        return OutlierDisplay.at(
            X, embedding, given=self.given, to=to, names={t: self.name(t) for t in set(to.tolist())}
        ).plot(ax)

    def plot_rivals(self, most: int = 30, *, ax: Axes | None = None) -> RivalDisplay:
        """Draw topics against rivals: the mean share of the votes that each topic's documents give
        to every other.

        Parameters
        ----------
        most : int
            Topics drawn, those with the most votes for others first.
        ax : matplotlib axes, optional

        Returns
        -------
        RivalDisplay
        """
        order = np.argsort(self.audit.label_names)
        names = [self.name(int(topic)) for topic in self.audit.label_names[order]]
        # The place of each topic; that of outliers, code -1, stays last.
        place = np.append(np.argsort(order), OUTLIER)
        labels = place[self.audit.labels]
        return RivalDisplay.of(self.audit.evidence[:, order], labels, names, most).plot(ax)

    def plot_counts(self, runs: Ensemble, *, ax: Axes | None = None) -> CountDisplay:
        """Draw the number of topics, and the share of outliers, of each seed.

        Parameters
        ----------
        runs : Ensemble, as :func:`clustertrust.topics.refit` returns it
        ax : matplotlib axes, optional

        Returns
        -------
        CountDisplay
        """
        if not isinstance(runs, Ensemble):
            raise TypeError(f"runs={runs!r} must be an Ensemble, as topics.refit returns it.")
        outliers = np.asarray((runs.labels < 0).mean(axis=0))
        return CountDisplay(counts=np.asarray(runs.n_clusters), outliers=outliers).plot(ax)

    def report(self, path: str | Path, **options: Unpack[PageOptions]) -> None:
        """Write an HTML page to explore documents and scores; a point shows its text.

        Parameters
        ----------
        path : path of the file
        **options
            `embedding` and others, see :func:`clustertrust.report.write_report`.
        """
        if options.get("original") is None:
            options["original"] = pd.DataFrame({"document": self.docs})
        if options.get("names") is None:
            topics = self.audit.label_names.tolist()
            options["names"] = {t: _written(t, self.names[t]) for t in topics if t in self.names}
        X = None if options.get("embedding") is not None else self.X
        self.audit.report(path, X, **options)


def _written(topic: int, name: str) -> str:
    """Return a name as a page shows it: "3: cat, dog", where lines can break, for "3_cat_dog"."""
    words = name.removeprefix(f"{topic}_")
    return name if words == name else f"{topic}: {words.replace('_', ', ')}"


def _check_share(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ParameterError(name, value, "must be a number from 0 to 1", "such as 0.5")
