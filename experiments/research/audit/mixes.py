"""Which classifiers vote in an audit, and with which weights: chosen on all sets that were seen before.

`python -m experiments.research.audit.mixes FOLDER` keeps the probabilities of every classifier in FOLDER, so that a second call compares
mixes in a minute; the first takes an hour of one core. The sets are those of `votes`, `unseen` and the tables of `fresh`, and need what
these need.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustertrust import audit
from clustertrust.auditing.classifying import cross_validate
from clustertrust.auditing.default_classifiers import DEFAULTS
from clustertrust.auditing.votes import margin_of, pool, weights_of
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import folder, publish
from experiments.research.audit import fresh, unseen
from experiments.research.audit.run import (
    KINDS,
    SETS,
    TIE,
    Floats,
    Labels,
    neighbours,
    plant,
    precision,
    silhouette,
)
from experiments.research.audit.votes import (
    CLASSIFIERS,
    FLAGGED_AT,
    NEW,
    Condition,
    cross_validated,
    load,
)

# Sources of sets, and the sets of each
SOURCES = {
    "unseen": (*unseen.TABLES, *unseen.DRAWN),
    "fresh": tuple(fresh.TABLES),
    "judged": tuple(NEW),
    "few": unseen.FEW,
    "chosen": SETS,
}
PLANTED = (("clean", 0.0), *((kind, FLAGGED_AT) for kind in KINDS))
# Beside the default ones
OTHERS: dict[str, Any] = {
    "discriminant": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "kNN": KNeighborsClassifier(15),
}
TREES, STRAIGHT, ROUND = DEFAULTS
FOREST, NEAREST, DISCRIMINANT = "forest", *reversed(OTHERS)
MIXES = {
    "trees": (TREES,),
    "trees, logistic": (TREES, STRAIGHT),
    "trees, discriminant": (TREES, DISCRIMINANT),
    "trees, kernel": (TREES, ROUND),
    "trees, logistic, kernel": (TREES, STRAIGHT, ROUND),
    "trees, logistic, kNN": (TREES, STRAIGHT, NEAREST),
    "trees, forest, logistic": (TREES, FOREST, STRAIGHT),
    "trees, forest, logistic, kernel": (TREES, FOREST, STRAIGHT, ROUND),
}
CHOSEN = "trees, logistic, kernel: error⁻⁴, runs as one more"
BEFORE = "trees: error⁻⁴, runs as one more"
RIVALS = ("trees", "forest", "logistic", "kNN")
# Leads of another label that are tried as the limit of flags
LEADS = (0.3, 0.35, 0.4, 0.425, 0.45, 0.475, 0.5, 0.55)
Held = Mapping[str, Any]


def points_of(condition: Condition) -> tuple[Floats, Labels]:
    """The points of a set, and their true classes."""
    if condition.purpose in ("unseen", "few"):
        return unseen.load(condition.dataset)
    return fresh.load(condition.dataset) if condition.purpose == "fresh" else load(condition)


def measure(condition: Condition) -> dict[str, Any]:
    """Everything that mixes are made of and compared with."""
    X, y = points_of(condition)
    given, planted = y, np.zeros(len(y), dtype=bool)
    if condition.kind != "clean":
        given, planted = plant(X, y, condition.share, condition.kind, [20, 0, 7])
    k = int(y.max()) + 1
    with hushed():
        alone = audit(X, given, classifier=None, random_state=0, n_jobs=1)
        seed = alone.ensemble.runs[1].seed
        held = {"given": given, "planted": planted, "runs": alone.scores}
        held["votes"] = alone.votes[:, np.argsort(alone.label_names)]
        voting = dict(zip(DEFAULTS, cross_validate(X, given, k, "auto", seed, 1), strict=True))
        for name, of in OTHERS.items():
            scaled = make_pipeline(StandardScaler(), of)
            voting[name] = cross_validate(X, given, k, scaled, seed, 1)[0]
        rivals = {name: cross_validated(X, given, of) for name, of in CLASSIFIERS.items()}
    held |= {f"P {name}": P for name, P in voting.items()}
    held |= {f"R {name}": P for name, P in rivals.items()}
    held["S 10 nearest neighbours"] = neighbours(X, given)
    held["S silhouette"] = silhouette(X, given)
    return held


def likeliest(parts: list[Floats], labels: Labels) -> Floats:
    """The weights under which the given labels are likeliest: stacking, by EM."""
    k, weights = parts[0].shape[1], np.full(len(parts), 1 / len(parts))
    own = np.array([P[np.arange(len(labels)), labels] for P in parts]).T * 0.999 + 0.001 / k
    for _ in range(100):
        shares = own * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


def equal(parts: list[Floats], labels: Labels) -> Floats:
    """The same weight for all."""
    return np.full(len(parts), 1 / len(parts))


WEIGHTS: dict[str, Callable[[list[Floats], Labels], Floats]] = {
    "equal": equal,
    "error⁻⁴": weights_of,
    "likeliest": likeliest,
}


def scores_of(held: Held) -> dict[str, Floats]:
    """The scores of each mix, with runs as half of it, as one more, and without runs."""
    given, votes = held["given"], np.nan_to_num(held["votes"])
    found = {}
    for name, members in MIXES.items():
        parts = [held["R forest" if of == FOREST else f"P {of}"] for of in members]
        for way, weigh in WEIGHTS.items():
            if len(parts) == 1 and way != "error⁻⁴":
                continue
            pooled = sum(w * P for w, P in zip(weigh(parts, given), parts, strict=True))
            margin = (1 + margin_of(pooled, given)) / 2
            # The runs have the same rule whatever weighs the classifiers
            more = weights_of([*parts, votes], given)[-1]
            half = weights_of([pooled, votes], given)[-1]
            for part, runs in (("one more", more), ("one of two", half), ("none", 0.0)):
                label = "without runs" if part == "none" else f"runs as {part}"
                found[f"{name}: {way}, {label}"] = (1 - runs) * margin + runs * held["runs"]
    return found


def rivals_of(held: Held) -> dict[str, Floats]:
    """The scores of rivals: label quality as cleanlab has it, neighbours, silhouette."""
    given = held["given"]
    own = {f"cleanlab, {of}": held[f"R {of}"][np.arange(len(given)), given] for of in RIVALS}
    return own | {key[2:]: held[key] for key in held if key.startswith("S ")}


def lead_of(held: Held) -> Floats:
    """By how much another label leads the given one, in the votes of the chosen mix."""
    given, votes = held["given"], np.nan_to_num(held["votes"])
    parts = [held[f"P {of}"] for of in DEFAULTS]
    runs = weights_of([*parts, votes], given)[-1]
    return -margin_of((1 - runs) * pool(parts, given) + runs * votes, given)


def judged(condition: Condition, held: Held) -> list[dict[str, Any]]:
    """Figures of all signals and limits of flags in one condition."""
    rows, planted = [], held["planted"]
    keys = condition._asdict()
    if planted.any():
        for is_rival, of in ((False, scores_of(held)), (True, rivals_of(held))):
            rows += [
                keys
                | {"signal": signal, "rival": is_rival}
                | {
                    "auroc": roc_auc_score(~planted, values),
                    "precision": precision(values, planted),
                }
                for signal, values in of.items()
            ]
    lead = lead_of(held)
    for limit in LEADS:
        flagged = lead > limit
        row = keys | {"signal": f"lead {limit:g}", "flagged": flagged.mean()}
        if planted.any():
            right = (flagged & planted).sum()
            row |= {"flag_precision": right / max(1, flagged.sum())}
            row |= {"flag_recall": right / planted.sum()}
        rows.append(row)
    return rows


def all_conditions() -> list[Condition]:
    """Each set with clean labels, and with errors of both kinds."""
    return [
        Condition(source, name, *one)
        for source, names in SOURCES.items()
        for name in names
        for one in PLANTED
    ]


def path_of(condition: Condition, kept: Path) -> Path:
    """The file of a condition."""
    return kept / f"{'_'.join(map(str, condition)).replace(' ', '-')}.npz"


def kept_conditions(kept: Path) -> Iterator[Held]:
    """What was measured in each condition."""
    for condition in all_conditions():
        with np.load(path_of(condition, kept)) as held:
            yield dict(held)


def figures(condition: Condition, kept: Path) -> list[dict[str, Any]]:
    """The figures of one condition, from the file in `kept` if there is one."""
    data.find_data()
    path = path_of(condition, kept)
    if not path.exists():
        np.savez(path, **measure(condition))
        print(*condition, file=sys.stderr, flush=True)
    with np.load(path) as held:
        return judged(condition, dict(held))


def by_set(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """AUROC by set and mix, and the best rival's."""
    keys = ["purpose", "dataset"]
    rows = rows[rows["auroc"].notna()]
    is_rival = rows["rival"] == True  # noqa: E712
    table = {
        which: part.pivot_table(index=keys, columns="signal", values="auroc")
        for which, part in rows.groupby(is_rival)
    }
    return table[False], table[True].max(axis=1)


def mixes_table(rows: pd.DataFrame) -> str:
    """Each mix: mean AUROC, sets near the best rival, how far below it, precision."""
    ours, best = by_set(rows)
    means = rows.groupby("signal")["precision"].mean()
    near = (ours.ge(best - TIE, axis=0)).sum()
    below = (-ours.sub(best, axis=0)).clip(lower=0)
    order = sorted(ours, key=lambda name: (-near[name], below[name].mean()))
    shown = [name for name in order if "error" in name or "trees, logistic, kernel" in name]
    lines = [
        [
            f"**{name}**" if name == CHOSEN else name,
            f"{ours[name].mean():.3f}",
            f"{near[name]} of {len(ours)}",
            f"{below[name].mean():.4f}",
            f"{below[name].max():.3f}",
            f"{means[name]:.3f}",
        ]
        for name in shown
    ]
    heads = ["mix", "AUROC", f"sets not more than {TIE:g} below the best rival"]
    return markdown([*heads, "mean below it", "most below it", "precision"], lines)


def left_out(rows: pd.DataFrame) -> str:
    """How the mix that is best on four sources does on the fifth, beside the chosen and the former."""
    ours, best = by_set(rows)
    near = ours.ge(best - TIE, axis=0)
    below = (-ours.sub(best, axis=0)).clip(lower=0)
    lines, total = [], np.zeros(4, dtype=int)
    for source in SOURCES:
        at = ours.index.get_level_values("purpose") == source
        if not at.any():
            continue
        name = max(ours, key=lambda one: (near[one][~at].sum(), -below[one][~at].mean()))
        counts = [int(near[one][at].sum()) for one in (name, CHOSEN, BEFORE)] + [int(at.sum())]
        total += counts
        lines.append([source, name, *(f"{count} of {counts[-1]}" for count in counts[:-1])])
    lines.append(["all", "", *(f"{count} of {total[-1]}" for count in total[:-1])])
    return markdown(["left out", "best on the others", "it there", "chosen", "before"], lines)


def leads_table(rows: pd.DataFrame) -> str:
    """Limits of flags: clean labels flagged, precision and recall."""
    rows = rows[rows["signal"].str.startswith("lead ")]
    lines = []
    for signal, of in rows.groupby("signal", sort=False):
        clean = of[of["kind"] == "clean"]["flagged"]
        lines.append(
            [
                signal.removeprefix("lead "),
                f"{clean.mean():.1%}",
                f"{of['flag_precision'].mean():.2f}",
                f"{of['flag_recall'].mean():.2f}",
            ]
        )
    return markdown(["lead", "of clean labels", "precision", "recall"], lines)


def main() -> None:
    """Measure what is missing, compare, and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.audit.mixes",
        description=(__doc__ or "").split("\n", maxsplit=1)[0],
    )
    parser.add_argument("folder", type=Path, help="keeps the probabilities")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    chosen = parser.parse_args()
    chosen.folder.mkdir(exist_ok=True)
    # Processes share the cores; started anew, since threads of ours may run in this one
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with get_context("spawn").Pool(chosen.jobs) as processes:
        of_each = processes.imap(
            partial(figures, kept=chosen.folder), all_conditions(), chunksize=1
        )
        rows = [row for part in of_each for row in part]
    table = pd.DataFrame(rows)
    out = folder("audit")
    write(out / "audit_mixes.csv", table.to_csv(index=False, float_format="%.6g"))
    tables = {
        "mixes": mixes_table(table),
        "mixes left out": left_out(table),
        "leads": leads_table(table),
    }
    publish(tables, out / "audit_mixes.md")


if __name__ == "__main__":
    main()
