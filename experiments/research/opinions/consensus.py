"""Are consensus labels of mixed runs right more often than those of k-means alone?

`python -m experiments.research.opinions.consensus` runs the sets of `sets.py` and those of `development.py`: 20 runs of k-means on
all points; 20 on 80 % of them; 10 of k-means and 10 of Gaussian mixtures on 80 %; the same with spectral clustering as well.
"""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pandas as pd

from clustertrust import Runs, build_ensemble, confidence
from clustertrust.evaluation import correctness
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import development, folder
from experiments.research.heldout import Set
from experiments.research.opinions import sets

RECIPES: dict[str, tuple[list[str], float | None]] = {
    "k-means": (["kmeans"], None),
    "k-means, 80 % of the points": (["kmeans"], 0.8),
    "k-means and mixtures, 80 %": (["kmeans", "gmm"], 0.8),
    "k-means, mixtures and spectral, 80 %": (["kmeans", "gmm", "spectral"], 0.8),
}


def row(group: str, case: Set) -> dict[str, Any]:
    """Share of right consensus labels of each recipe."""
    warnings.simplefilter("ignore")
    about: dict[str, Any] = {"group": group, "dataset": case.name}
    for words, (methods, resample) in RECIPES.items():
        runs = Runs(20) if resample is None else Runs(20, left_out="predict")
        ensemble = build_ensemble(
            case.X,
            methods,
            n_clusters=case.k,
            n_runs=runs,
            resample=resample,
            random_state=0,
            n_jobs=1,
            device="cpu",
        )
        scored = confidence(case.X, ensemble, geometry="rms", n_jobs=1)
        about[words] = correctness(scored.labels, case.y).mean()
    return about


def main() -> None:
    """Run, and write the table."""
    cases = [("development", case) for case in development.sets()]
    cases += [("generated", case) for case in sets.generated()]
    cases += [("real", case) for case in sets.real()]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        table = pd.DataFrame(list(pool.map(row, *zip(*cases, strict=True))))
    groups = list(dict.fromkeys(table["group"]))
    lines = []
    for words in RECIPES:
        by = [f"{table.loc[table['group'] == group, words].mean():.1%}" for group in groups]
        gains = table[words] - table["k-means"]
        counts = f"{(gains > 0.01).sum()} : {(gains < -0.01).sum()}"
        lines.append([words, *by, f"{table[words].mean():.1%}", counts])
    head = ["20 runs of", *groups, "all", "better : worse than k-means by more than 0.01"]
    page = f"Share of points with the right consensus label.\n\n{markdown(head, lines)}\n"
    results = folder("opinions")
    write(results / "consensus.csv", table.to_csv(index=False, float_format="%.6g"))
    write(results / "consensus.md", page)
    print(page)


if __name__ == "__main__":
    sys.exit(main())
