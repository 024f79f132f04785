"""Do scores that learn from a person's answers rank better, and keep more rows with the same guarantee?

One ensemble a set (k-means, 20 runs, exact silhouettes, the refined score), answers drawn at random, 20 draws with 50
answers and 3 with other numbers (also of trees, neighbours and kept shares); AUROC, Brier score and calibration error on points that were not asked about, 2,000 at
most. What is compared: the score of the paper, the refined score, both as they are; the refined score calibrated; learned
scores, with and without the points; the share of right answers among the five nearest; extremely random trees on points,
components and cluster. Then the share of all points that is kept with an error of at most 5 % and 10 % with 95 %
confidence, and how often the error was larger. `chosen` asks only where answers teach most, `plan` asks a third of its questions where they teach most.

The model was developed on the sets of `development` (the paper's and our own) and frozen; then the held-out sets were run
once. `python -m experiments.research.answers.run` does the held-out sets, `… development` the others: half an hour each. Sets
that are done are kept in `--parts FOLDER`, and a second call goes on from there.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier

from clustertrust.answers import Answers, ask, decide, learn
from clustertrust.calibration import (
    Calibrator,
    brier_score,
    expected_calibration_error,
    risk_threshold,
)
from clustertrust.evaluation import correctness
from clustertrust.fusion import harmonic
from clustertrust.results import Confidence
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import folder, heldout, into_page
from experiments.research.heldout import Set
from experiments.research.ranking import run as ranking

RESULTS = folder("answers")
ANSWERS = (10, 20, 50, 100, 200, 400)
MAIN = 50  # the number of answers that the goals are about
DRAWS = {MAIN: 20}
OTHER_DRAWS = 3  # of other numbers, of baselines that take long, and of kept shares
CHOSEN = (10, 20, 50, 100)  # answers, of questions that were chosen
KEPT_FROM = 50  # answers; fewer certify nothing
MOST = 0.6  # of the points may be asked about
EVALUATED = 2000
RISKS = (0.05, 0.1)
DELTA = 0.05

Rows = list[dict[str, Any]]


class Case:
    """A set with its scores, and what is right."""

    def __init__(self, case: Set) -> None:
        self.name, self.X, self.k = case.name, np.asarray(case.X, dtype=np.float64), case.k
        self.found: Confidence = ranking.score(case._replace(X=self.X))
        self.right = correctness(self.found.labels, case.y)
        self.harmonic = harmonic(self.found.stability, self.found.geometry)
        table = self.found.to_frame().select_dtypes("number")
        self.features = np.column_stack([self.X, table.to_numpy()])
        self.planned: dict[tuple[int, int], Answers] = {}  # questions are chosen once for all risks

    def answers(self, asked: NDArray) -> Answers:
        """Answers about some points."""
        return Answers.of(self.found, asked, right=self.right[asked])


def learned(case: Case, asked: NDArray) -> NDArray:
    """Scores learned from answers, points given."""
    return learn(case.found, case.answers(asked), X=case.X).scores


def learned_blind(case: Case, asked: NDArray) -> NDArray:
    """The same from the columns of scores.csv alone."""
    return learn(case.found, case.answers(asked)).scores


def calibrated(case: Case, asked: NDArray) -> NDArray:
    """The refined score through a calibrator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            Calibrator().fit(case.found.scores[asked], case.right[asked]).predict(case.found.scores)
        )


def neighbours(case: Case, asked: NDArray) -> NDArray:
    """The share of right answers among the five nearest."""
    scale = np.maximum(case.X.std(axis=0), 1e-12)
    model = KNeighborsClassifier(min(5, len(asked))).fit(case.X[asked] / scale, case.right[asked])
    return probability(model, case.X / scale)


def trees(case: Case, asked: NDArray) -> NDArray:
    """Extremely random trees on points, components and cluster."""
    model = ExtraTreesClassifier(40, min_samples_leaf=2, random_state=0)
    return probability(model.fit(case.features[asked], case.right[asked]), case.features)


def probability(model: Any, features: NDArray) -> NDArray:
    """Probability of right, also where all answers are the same."""
    if len(model.classes_) == 1:
        return np.full(len(features), float(model.classes_[0]))
    return model.predict_proba(features)[:, 1]


METHODS: dict[str, Callable[[Case, NDArray], NDArray]] = {
    "harmonic": lambda case, asked: case.harmonic,
    "refined": lambda case, asked: case.found.scores,
    "calibrated": calibrated,
    "learned": learned,
    "learned, no points": learned_blind,
    "neighbours": neighbours,
    "trees": trees,
}

SLOW = ("neighbours", "trees")


def kept_plain(scores: NDArray, case: Case, asked: NDArray, risk: float) -> NDArray:
    """What a threshold on a score keeps, all answers in the bound."""
    told = np.full(len(scores), np.nan)
    told[asked] = case.right[asked]
    return risk_threshold(scores, told, alpha=risk, delta=DELTA).keep(scores)


def kept_learned(case: Case, asked: NDArray, risk: float) -> NDArray:
    """What `decide` keeps, all answers drawn at random."""
    answers = Answers.of(case.found, asked, right=case.right[asked], drawn=True, force=True)
    return decide(case.found, answers, risk=risk, delta=DELTA, X=case.X).kept


def kept_planned(case: Case, asked: NDArray, risk: float) -> NDArray:
    """What `decide` keeps, a third of the questions chosen to teach."""
    key = (len(asked), int(asked[0]))
    if key not in case.planned:
        questions = ask(case.found, len(asked), X=case.X, random_state=key[1])
        case.planned[key] = questions.answered(case.right[questions.positions])
    return decide(case.found, case.planned[key], risk=risk, delta=DELTA, X=case.X).kept


KEEPERS: dict[str, Callable[[Case, NDArray, float], NDArray]] = {
    "harmonic": lambda case, asked, risk: kept_plain(case.harmonic, case, asked, risk),
    "refined": lambda case, asked, risk: kept_plain(case.found.scores, case, asked, risk),
    "learned": kept_learned,
    "plan": kept_planned,
}


def draw(case: Case, m: int, t: int) -> Rows:
    """All methods with one draw of m answers."""
    order = np.random.default_rng([2026, m, t]).permutation(len(case.right))
    asked, rest = order[:m], order[m : m + EVALUATED]
    right, rows = case.right[rest], []
    for name, method in METHODS.items():
        if name in SLOW and t >= OTHER_DRAWS:
            continue
        p = method(case, asked)[rest]
        row = {"method": name, "measure": "auroc", "value": ranking.measure(p, right)}
        rows += [row, {**row, "measure": "brier", "value": brier_score(p, right)}]
        error = expected_calibration_error(p, right)
        rows.append({**row, "measure": "calibration error", "value": error})
    for risk in RISKS if m >= KEPT_FROM and t < OTHER_DRAWS else ():
        for name, keep in KEEPERS.items():
            kept = keep(case, asked, risk)
            error = float((~case.right[kept]).mean()) if kept.any() else 0.0
            row = {"method": name, "measure": f"kept at {risk:g}", "value": float(kept.mean())}
            rows += [row, {**row, "measure": f"violation at {risk:g}", "value": error > risk}]
    return [{"dataset": case.name, "answers": m, "draw": t, **row} for row in rows]


def measure_set(case: Case, m: int) -> pd.DataFrame:
    """All draws of a set with m answers, averaged."""
    rows = [row for t in range(DRAWS.get(m, OTHER_DRAWS)) for row in draw(case, m, t)]
    return (
        pd.DataFrame(rows)
        .groupby(["dataset", "answers", "method", "measure"], sort=False)["value"]
        .mean()
        .reset_index()
    )


def measure_chosen(case: Case) -> pd.DataFrame:
    """Learned scores from questions that were all chosen to teach, none at random."""
    rows = []
    for m in CHOSEN:
        if m <= MOST * len(case.right):
            for t in range(OTHER_DRAWS):
                questions = ask(case.found, m, n_random=0, X=case.X, random_state=t)
                asked = questions.positions
                rest = np.setdiff1d(np.arange(len(case.right)), asked)
                p = learned(case, asked)[rest]
                value = ranking.measure(p, case.right[rest])
                rows.append({"answers": m, "value": value})
    table = pd.DataFrame(rows).groupby("answers", sort=False)["value"].mean().reset_index()
    return table.assign(dataset=case.name, method="learned, chosen", measure="auroc")


def sets_of(which: str) -> Iterator[tuple[str, Set | None]]:
    """Held-out or development sets by name."""
    if which == "held-out":
        yield from heldout.all_sets()
    else:
        yield from ((case.name, case) for _, case in ranking.development_sets())


def run(which: str, parts: Path, numbers: Sequence[int]) -> tuple[pd.DataFrame, list[str]]:
    """Measure every set, or read what was measured before; and the sets that are not installed."""
    tables, missing = [], []
    parts.mkdir(parents=True, exist_ok=True)
    for name, found in sets_of(which):
        if found is None:
            missing.append(name)
            continue
        files = {m: parts / f"{which}_{name}_{m}.csv" for m in numbers if m <= MOST * len(found.X)}
        left = [m for m, path in files.items() if not path.exists()]
        chosen = parts / f"{which}_{name}_chosen.csv"
        case = Case(found) if left or not chosen.exists() else None
        if not chosen.exists():
            assert case is not None
            write(chosen, measure_chosen(case).to_csv(index=False, float_format="%.6g"))
        for m in left:
            assert case is not None
            began = time.perf_counter()
            write(files[m], measure_set(case, m).to_csv(index=False, float_format="%.6g"))
            print(f"{name}, {m}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        tables += [pd.read_csv(path) for path in (*files.values(), chosen)]
    return pd.concat(tables, ignore_index=True), missing


def means(table: pd.DataFrame, measure: str) -> str:
    """Mean over sets by method and number of answers, over sets where the measure is defined."""
    part = table[table["measure"] == measure]
    wide = part.pivot_table(index="method", columns="answers", values="value", sort=False)
    rows = [
        [name, *("" if np.isnan(value) else f"{value:.3f}" for value in row)]
        for name, row in wide.iterrows()
    ]
    return markdown([measure, *(f"{m} answers" for m in wide.columns)], rows)


def against(table: pd.DataFrame, base: str, measure: str = "auroc") -> pd.DataFrame:
    """Learned minus a base, by set and number of answers."""
    part = table[table["measure"] == measure]
    wide = part.pivot_table(
        index=["dataset", "answers"], columns="method", values="value", sort=False
    )
    gain = (wide["learned"] - wide[base]).rename("gain").reset_index()
    return gain.pivot_table(index="dataset", columns="answers", values="gain", sort=False)


def losses(table: pd.DataFrame) -> str:
    """Mean gain of learned scores, and the sets that lose."""
    rows = []
    for base in ("harmonic", "refined"):
        for m, gain in against(table, base).items():
            gain = gain.dropna()
            worst = gain.nsmallest(3)
            rows.append(
                [
                    base,
                    m,
                    f"{gain.mean():+.4f}",
                    f"{int((gain < -0.01).sum())} of {len(gain)}",
                    ", ".join(f"{name} {value:+.3f}" for name, value in worst.items()),
                ]
            )
    return markdown(
        ["learned against", "answers", "mean gain", "sets that lose more than 0.01", "worst"], rows
    )


def violations(table: pd.DataFrame) -> str:
    """How often the error of the kept points was above the risk: on the worst set, and over all."""
    rows = []
    for risk in RISKS:
        part = table[table["measure"] == f"violation at {risk:g}"]
        for name in KEEPERS:
            found = part[part["method"] == name]
            worst = found.loc[found["value"].idxmax()]
            place = f"{worst['value']:.2f} ({worst['dataset']}, {worst['answers']} answers)"
            rows.append([f"{risk:g}", name, f"{found['value'].mean():.4f}", place])
    return markdown(["risk", "method", "violations, all sets", "most on a set"], rows)


def page(table: pd.DataFrame) -> dict[str, str]:
    """Every table of the page by name."""
    kept = "\n\n".join(means(table, f"kept at {risk:g}") for risk in RISKS)
    return {
        "answers-auroc": means(table, "auroc"),
        "answers-losses": losses(table),
        "answers-probabilities": f"{means(table, 'brier')}\n\n{means(table, 'calibration error')}",
        "answers-kept": f"{kept}\n\n{violations(table)}",
    }


def main() -> None:
    """Run, and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.answers.run", description=__doc__
    )
    parser.add_argument("sets", nargs="?", choices=["held-out", "development"], default="held-out")
    parser.add_argument("--answers", type=int, nargs="+", default=list(ANSWERS))
    parser.add_argument("--parts", type=Path, default=RESULTS / "quick")
    chosen = parser.parse_args()
    data.find_data()
    table, missing = run(chosen.sets, chosen.parts, chosen.answers)
    name = "answers" if chosen.sets == "held-out" else "answers_development"
    tables = page(table)
    text = "\n\n".join(tables.values())
    if missing:
        text += f"\n\nNot installed, and not run: {', '.join(missing)}."
    if chosen.answers != list(ANSWERS):
        print(text)
        return
    write(RESULTS / f"{name}.csv", table.to_csv(index=False, float_format="%.6g"))
    write(RESULTS / f"{name}.md", text + "\n")
    if chosen.sets == "held-out" and chosen.answers == list(ANSWERS):
        for place, shown in tables.items():
            into_page("answers.md", place, shown)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
