"""The score of one point, explained: its values, and what they say in words."""

from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from clustertrust._shares import percents
from clustertrust.columns import COLUMNS
from clustertrust.reasons import OF_NO_STRUCTURE, SENTENCES, error_text, lies_near

# What stability is, by agreement; {} is what was counted.
STABILITY = {
    "element-centric": "overlap of its clusters in two runs, as a share of the larger one, on "
    "average over {}",
    "given": "share of {} that agree with the given label",
    "jaccard": "how much its clusters in two runs overlap, on average over {}",
    "matching": "share of {} that put it into the same cluster",
    "reference": "share of {} that put it into the same cluster of the run that agrees most with "
    "all others",
}
# Why votes and stability may count differently.
_PAIRS_ALONE = (
    " Votes compare each run with one reference run, stability compares the runs in pairs, and two "
    "runs do not agree where a cluster has no partner in the other."
)
# Reasons that name a component.
_WEAK = {"stable but isolated": "geometry", "compact but unstable": "stability"}
# Half of the last digit that is printed
ROUNDED = 0.0005
# Components that no reason names.
OTHER_COMPONENTS = ("persistence", "second_opinions")


@dataclass(frozen=True)
class Explanation:
    """The explanation of one point's score; `str()` puts it into words.

    Attributes
    ----------
    point : position of the point
    label, score, standard_error, stability, geometry, silhouette_mean, silhouette_std : its values
    votes : share of the runs voting for each label, largest first; labels without votes are omitted
    rival : the label with the second most votes, or, where all votes agree, the nearest other
        cluster of the reference run; None where there is no other cluster
    margin : votes for the label minus votes for the rival
    reason : one of :data:`clustertrust.reasons.REASONS`, at this `threshold`
    threshold : above this a score is kept
    origin : where the threshold comes from, in words; empty if it was given
    weak : "stability", "geometry" or, where it is a part of the score, "persistence": as the reason
        says, else the smallest; None for core and unassigned points
    agreement : what stability averages over pairs of runs: a name of AGREEMENTS;
        "given": the share of runs that agree with a given label
    persistence : its persistence; None where that is no part of the score
    second_opinions : share of the runs of other methods that give it this label, likewise
    second_choice : the label that most of these runs give, likewise
    name : the point's label in the index of the pandas frame; None if that only counts rows
    suggested : the label that is suggested for a point of a given labelling; else None
    suggested_score : share of the votes of runs and classifier for it, likewise
    classifier_margin : probability of the given label by a classifier, less the largest other;
        None where there was no classifier
    n_runs : number of runs
    assigned : number of runs that assign the point; None if that is not known
    unassigned : "skip": only runs that assign the point count; "disagree": all count
    by_name : whether the point was asked for by its label in the index, not by its position
    """

    point: int
    label: Any
    score: float
    standard_error: float
    stability: float
    geometry: float
    silhouette_mean: float
    silhouette_std: float
    votes: dict[Any, float]
    rival: Any
    margin: float
    reason: str
    threshold: float
    weak: str | None
    origin: str = ""
    agreement: str = "matching"
    persistence: float | None = None
    second_opinions: float | None = None
    second_choice: Any = None
    name: Any = None
    suggested: Any = None
    suggested_score: float | None = None
    classifier_margin: float | None = None
    n_runs: int = 0
    assigned: int | None = None
    unassigned: str = "skip"
    by_name: bool = field(default=False, compare=False)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same sentences."""
        lines = "<br>".join(map(html.escape, str(self).splitlines()))
        return f'<div style="max-width:78ch">{lines}</div>'

    def __str__(self) -> str:
        label = "no cluster" if self.label is None else f"cluster {self.label}"
        scored = not np.isnan(self.score)
        lines = [f"{self._called()}: {label}, {self._scored() if scored else 'no score'}."]
        votes = dict(self.votes)
        left = 1 - sum(votes.values())
        # Their cluster has no partner in the reference run, or they do not have the point.
        if votes and left > 1e-9:
            votes["none"] = left
        each = zip(percents(list(votes.values())), votes, strict=True)
        shares = [f"{share} for {label}" for share, label in each]
        lines.append(f"Votes of {self._runs()}: {', '.join(shares) or 'none'}.")
        if self.suggested not in (None, self.label):
            lines.append(f"Suggested: cluster {self.suggested}{self._sureness()}.")
        elif self.rival is not None:
            kind = "runner-up in the votes" if self.rival in self.votes else "nearest other cluster"
            lines.append(f"Rival: cluster {self.rival}, the {kind}.")
        return "\n".join([*lines, *(self._components() if scored else ()), self._verdict()])

    def _called(self) -> str:
        """Return what the point is called, and whether that is its position or its index label."""
        if self.name is None:
            return f"Point {self.point}"
        if self.by_name:
            return f"Point {self.name} (its label in the index; position {self.point})"
        return f"Point {self.point} (its position; label {self.name} in the index)"

    def _scored(self) -> str:
        """Return the score with its error, and the threshold if it is not kept."""
        error = error_text(self.standard_error)
        below = ""
        if self._nothing_is_core:
            below = f"; nothing is core{self.origin}"
        elif not self.score > self.threshold:
            below = f", not above the threshold of {self.threshold:g}{self.origin}"
        return f"score {self.score:.3f}{error}{below}"

    @property
    def _nothing_is_core(self) -> bool:
        """Whether the data have no structure, so that even a high score keeps no point."""
        return bool(self.origin) and self.threshold >= 1

    @property
    def _is_left_out(self) -> bool:
        """Whether some runs do not assign the point."""
        return self.assigned is not None and self.assigned < self.n_runs

    @property
    def _counted(self) -> int:
        """The runs that count."""
        if self.assigned is None or self.unassigned == "disagree":
            return self.n_runs
        return self.assigned

    def _runs(self) -> str:
        """Return the runs that vote, in words."""
        if not self._is_left_out or not self.votes:
            return "the runs"
        if self.unassigned == "skip":
            return f"the {self.assigned} of {self.n_runs} runs that assign it"
        return f"all {self.n_runs} runs, of which {self.assigned} assign it"

    def _stability(self) -> str:
        """Return what stability counts, and why it may differ from the votes."""
        if self.agreement == "given":
            return STABILITY["given"].format(self._runs()) + "."
        pairs = self._counted * (self._counted - 1) // 2
        which = f"the {pairs} pairs of runs" if pairs > 1 else "the one pair of runs"
        if self._is_left_out:
            skips = self.unassigned == "skip"
            which += " that assign it" if skips else ", those without it included,"
        sentence = STABILITY[self.agreement].format(which) + "."
        voters = np.array([*self.votes.values()]) * self._counted
        by_votes = float((voters * (voters - 1)).sum() / 2)
        differs = abs(by_votes - self.stability * pairs) > 0.5
        return sentence + (_PAIRS_ALONE if self.agreement == "matching" and differs else "")

    def _components(self) -> list[str]:
        """Return the components of the score, one line each."""
        left = self.silhouette_mean - self.silhouette_std
        scaled = ""
        if abs(self.geometry - left) > ROUNDED:
            scaled = ", but at least 0" if self.geometry == 0 else ", scaled to lie between 0 and 1"
        placed = [
            f"Geometry {self.geometry:.3f}: silhouette {self.silhouette_mean:.3f} on average over "
            f"the runs, less its spread of {self.silhouette_std:.3f}{scaled}."
        ]
        if self.agreement == "given":
            own = f"silhouette {self.silhouette_mean:.3f} among the given clusters"
            placed = [f"Geometry {self.geometry:.3f}: {own}."]
        lines = [f"Stability {self.stability:.3f}: {self._stability()}", *placed]
        if self.persistence is not None:
            lines.append(
                f"Persistence {self.persistence:.3f}: share of its posterior that the label keeps "
                "when each cluster may take its own spread."
            )
        if self.classifier_margin is not None:
            lines.append(
                f"Classifier {self.classifier_margin:+.3f}: the probability of the given label "
                "less the largest other."
            )
        if self.second_opinions is not None:
            lines.append(f"Second opinions {self.second_opinions:.3f}: {self._opinions()}")
        return lines

    def _sureness(self) -> str:
        """Return the share of the votes for the suggested label."""
        share = self.suggested_score
        if share is None:
            return ""
        by = "votes" if self.classifier_margin is None else "votes of runs and classifier"
        return f", with {share:.0%} of the {by}"

    def _opinions(self) -> str:
        """Return what the runs of other methods say."""
        share = f"{self.second_opinions:.0%} of the runs of other methods put it there"
        if self.second_choice in (None, self.label):
            return f"{share}."
        return f"{share}; more put it into {self.second_choice}."

    def _between(self) -> str:
        """Return how a boundary arises: by votes that are divided, or by distances alone."""
        name = f"Boundary between {self.label} and {self.rival}"
        ours, theirs = (self.votes.get(cluster, 0.0) for cluster in (self.label, self.rival))
        if lies_near(self.stability, ours):
            votes = "all votes are" if ours == 1 else f"{ours:.0%} of the votes are"
            other = "another cluster" if theirs > 0 else self.rival
            return f"{name}: {votes} for {self.label}, but {other} lies about as near."
        shares = f"{' and '.join(percents([ours, theirs]))} of the votes"
        if theirs == 0:
            shares = f"no run votes for {self.rival}, which lies about as near"
        return f"{name} ({shares}): {SENTENCES['boundary']}"

    def _verdict(self) -> str:
        """Return the reason as a sentence, with the names of the clusters."""
        if self.agreement == "given" and self.label is None:
            return "Unassigned: no score, because the point was given no label."
        if np.isnan(self.score):
            return "Unassigned: no score, because fewer than two runs assign this point."
        if self.label is None:
            return "Unassigned: no cluster, because no run votes on this point."
        name = self.reason.capitalize()
        if self.reason == "core":
            return (
                f"{name} of {self.label}: its score is above the threshold of "
                f"{self.threshold:g}{self.origin}."
            )
        sentences = OF_NO_STRUCTURE if self._nothing_is_core else SENTENCES
        sentence = f"{name}: {sentences[self.reason]}"
        if self.reason == "boundary" and self.rival is not None:
            sentence = self._between()
        if self.suggested not in (None, self.label):
            name = sentence.partition(":")[0]
            sentence = f"{name}: {self.suggested} is suggested instead."
        if self.reason == "stable but isolated" and self.rival is None:
            sentence = (
                f"{name}: the runs agree on it, and there is no other cluster to compare its own "
                "with."
            )
        if self.weak == "persistence":
            sentence += (
                " Persistence is weakest: a cluster of another spread or shape explains it better, "
                "or none does."
            )
        if self.weak == "second_opinions":
            sentence += f" Other methods disagree: {self._opinions()}"
        return sentence


# Columns of `Confidence.to_frame` that an explanation has too.
EXPLAINED = {part.name for part in fields(Explanation)} & COLUMNS.keys()


def weakest(reason: str, components: dict[str, float]) -> str | None:
    """Return the weak component: the one that the reason names, else the smallest."""
    if reason in {"core", "unassigned"}:
        return None
    weakest = min(reversed(components), key=components.__getitem__)
    return weakest if weakest in OTHER_COMPONENTS else _WEAK.get(reason, weakest)
