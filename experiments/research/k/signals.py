"""What the signals of `choose_k` say on held-out sets, so that rules can be compared on them without new runs.

Stored are how much each k is behind by each signal, and the p-value of the comparison with one cloud.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clustertrust import CAKE, choose_k
from clustertrust.k_profile import combine
from clustertrust.k_profile.null_test import any_k_p_value
from experiments.paper.runs import hushed
from experiments.research import folder
from experiments.research.heldout import Set
from experiments.research.k import second_sets
from experiments.research.k.rivals import KS, all_sets

FILE = folder("k") / "k_held_out.csv"
SIGNALS = ("separation", "likelihood", "stability")
LEVEL = 0.05
ROUNDS: dict[str, Callable[[], Iterator[tuple[str, Set]]]] = {
    "first": all_sets,
    "second": second_sets.all_sets,
}


class Rule(NamedTuple):
    """Exponents by the signals that apply, and the exponent of the prior: p(k) ∝ 1 / k^prior."""

    weights: Mapping[tuple[str, ...], tuple[float, ...]]
    prior: float


# As it was when the first held-out sets were looked at.
FROZEN = Rule({SIGNALS: (0.0, 1.48, 0.64), SIGNALS[:2]: (0.41, 1.59)}, 0.0)
# Errors count by their ratio, so k is a scale: the prior is uniform in log k. Weights fitted to the development sets with it,
# by `python -m experiments.research.k.run weights`.
SCALE = Rule({SIGNALS: (0.0, 1.54, 0.48), SIGNALS[:2]: (0.26, 1.60)}, 1.0)


def rows_of(group: str, made: Set) -> pd.DataFrame:
    """One row a k; a signal that does not apply is empty."""
    began = time.process_time()
    with hushed():
        profile = choose_k(made.X, KS, CAKE(n_runs=10, random_state=0, n_jobs=1))
    assert profile.null_test is not None
    null_test = profile.null_test
    columns: dict[str, Any] = {"group": group, "set": made.name, "classes": made.k}
    columns |= {"seconds": round(time.process_time() - began, 2), "n_clusters": profile.n_clusters}
    columns |= {
        f"p_{name}": any_k_p_value(null_test.data, null_test.means[name])
        if name in null_test.means
        else np.nan
        for name in ("box", "gaussian", "hull")
    }
    columns |= {
        f"{name}_behind": profile.signals[name].behind if name in profile.signals else np.nan
        for name in SIGNALS
    }
    return pd.DataFrame(columns)


def answer(of: pd.DataFrame, rule: Rule, *, hull: bool = True) -> dict[str, Any]:
    """What a rule says about one set."""
    behind = {name: of[f"{name}_behind"].to_numpy() for name in SIGNALS}
    used = tuple(name for name in SIGNALS if not np.isnan(behind[name]).any())
    logs = -rule.prior * np.log(of["n_clusters"].to_numpy())
    for name, w in zip(used, rule.weights[used], strict=True):
        logs = logs - w * np.log1p(behind[name])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    ks = of["n_clusters"].to_numpy()
    strongest = int(ks[int(np.argmax(p))])
    families = ["p_box", "p_gaussian", "p_hull"] if hull else ["p_box", "p_gaussian"]
    p_value = float(of[families].iloc[0].max())
    structured = p_value <= LEVEL + 1e-9
    held = [int(k) for k in ks[combine.plausible(p)]]
    return {
        "k": strongest if structured else 1,
        "strongest": strongest,
        "probability": float(p.max()),
        "p_value": p_value,
        "plausible": " ".join(map(str, held if structured else [1, *held])),
    }


def answers(rows: pd.DataFrame, method: str, rule: Rule, *, hull: bool = True) -> pd.DataFrame:
    """What a rule says about every set, as rows of the tables of `choose_k`."""
    return pd.DataFrame(
        [
            {"group": group, "set": name, "classes": of["classes"].iloc[0], "method": method}
            | answer(of, rule, hull=hull)
            for (group, name), of in rows.groupby(["group", "set"], sort=False)
        ]
    )
