"""What the rule for scaling changes: tables with known classes, clustered on three scales.

    python -m experiments.research.tables_in_the_wild.scales PACKAGES ...

`PACKAGES` are the folders in which the packages of the lists lie. The tables are those in which the
command asked about a column that may be the answer, and the person who judged it agreed; and
some of the first two lists (`KNOWN`). The answer is left out, and the rest clustered into as many
clusters as there are classes: as it is, standardised, and by the rule. `scales.csv` gets
for each the ARI of the labels with the classes, and the median score.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clustertrust import CAKE, TablePreparer
from clustertrust.files import read_table
from experiments.research.tables_in_the_wild.decisions import read, short
from experiments.research.tables_in_the_wild.judge import judged
from experiments.research.tables_in_the_wild.run import HERE, fetch, tables

KNOWN = {
    "datasets/iris.csv": "Species",
    "data/penguins.csv": "species",
    "MASS/fgl.csv": "type",
    "MASS/Pima.tr.csv": "type",
    "MASS/painters.csv": "School",
    "COUNT/titanic.csv": "survived",
    "HSAUR/plasma.csv": "ESR",
    "car/Prestige.csv": "type",
    "src/anes96.csv": "vote",
}
JUDGED = {
    "drawn": "decisions_drawn_before.csv",
    **{
        name: f"decisions_{name}_unseen.csv"
        for name in ("last", "more", "third", "fourth", "fifth", "sixth", "seventh")
    },
}
SCALES = ("none", "standard", "auto")
FIELDS = ("table", "answer", "rows", "classes", "rule", "why")
FIELDS += tuple(f"{what}_{scale}" for what in ("ari", "score") for scale in SCALES)
FEWEST_ROWS, MOST_ROWS, FEWEST_OF_A_CLASS, MOST_CLASSES = 60, 2000, 5, 10


def answers() -> dict[str, str]:
    """Return the answer of each table that has one, the first of several."""
    found = dict(KNOWN)
    for name, decisions in JUDGED.items():
        right = judged(f"judged_{name}.csv")
        for (table, column), (*_, check) in read(decisions).items():
            fits = right.get((table, column), "")
            if "known answer" in check and (fits == "o" or "?" in fits):
                found.setdefault(table, column)
    return found


def frames(packages: list[Path]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the tables with their answers, as far as their packages are there."""
    wanted = answers()
    with tempfile.TemporaryDirectory() as folder:
        for table in [
            line for name in ("tables", "fresh", *JUDGED) for line in tables(f"{name}.txt")
        ]:
            homes = [home for home in packages if (home / table.split(":")[0]).exists()]
            if short(table) in wanted and homes:
                answer = wanted.pop(short(table))
                yield short(table), answer, read_table(fetch(table, homes[0], Path(folder))).data
    print(f"not found: {sorted(wanted)}")


def measure(frame: pd.DataFrame, answer: str) -> dict[str, Any] | None:
    """Return ARI and median score on each scale; None where there are too few rows or classes."""
    frame = frame.rename(columns=lambda name: str(name).strip()).dropna(subset=[answer])
    sizes = frame[answer].map(str).value_counts()
    frame = frame[frame[answer].map(str).isin(sizes.index[sizes >= FEWEST_OF_A_CLASS])]
    y = frame[answer].map(str).to_numpy()
    k = len(np.unique(y))
    if len(frame) < FEWEST_ROWS or not 2 <= k <= MOST_CLASSES:
        return None
    if len(frame) > MOST_ROWS:
        kept = np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS]
        frame, y = frame.iloc[kept], y[kept]
    row: dict[str, Any] = {"answer": answer, "rows": len(frame), "classes": k}
    for scale in SCALES:
        preparer = TablePreparer(drop=[answer], scale=scale).fit(frame)
        is_kept = preparer.left_out(frame) == ""
        X = np.asarray(preparer.transform(frame[is_kept]), dtype=np.float64)
        fit = CAKE(k, n_runs=20, random_state=0).fit(X)
        row[f"ari_{scale}"] = f"{adjusted_rand_score(y[is_kept], fit.labels_):.3f}"
        row[f"score_{scale}"] = f"{np.median(fit.scores_):.3f}"
    plan = preparer.plan_
    return row | {"rule": plan.scale, "why": plan.scale_reason.partition(" (scale=")[0]}


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the means, and how often the rule gains or loses against the others."""
    table = pd.DataFrame(rows).astype(dict.fromkeys(FIELDS[6:], float))
    lines = ["| scale | mean ARI | median of the median scores |", "| --- | --- | --- |"]
    names = {"none": "as they are", "standard": "standardised", "auto": "the rule"}
    for scale, words in names.items():
        ari, score = table[f"ari_{scale}"].mean(), table[f"score_{scale}"].median()
        lines.append(f"| {words} | {ari:.3f} | {score:.2f} |")
    for scale in SCALES[:2]:
        gain = table["ari_auto"] - table[f"ari_{scale}"]
        better, worse = (gain > 0.02).sum(), (gain < -0.02).sum()
        lines.append(f"against {names[scale]}: better in {better}, worse in {worse} of {len(gain)}")
    kept = (table["rule"] == "none").sum()
    return "\n".join([*lines, f"left as they are by the rule: {kept} of {len(table)}"])


def main(packages: list[Path]) -> None:
    """Measure all tables and write `scales.csv`."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table, answer, frame in frames(packages):
            try:
                row = measure(frame, answer)
            except ValueError as error:
                print(table, answer, str(error)[:100])
                continue
            if row is not None:
                rows.append({"table": table} | row)
                print(*rows[-1].values(), flush=True)
    with (HERE / "scales.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(summary(rows))


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
