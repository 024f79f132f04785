"""Audits beside cleanlab and its Datalab: on the 20 sets of `votes`, 25 of `unseen`, and 31 of `further`, on which nothing was chosen.

`python -m experiments.research.audit.rivals` is a trial of a minute and goes to `results/quick`; `--full` takes some hour of one
core. A condition is written as soon as it is measured, and a second call goes on where the first stopped. On the sets of `votes`, our own
figures are those that `votes` measured; with `--ours` the audits of `unseen` are measured again, and the rest stays. It needs cleanlab:
`pip install -r experiments/research/audit/requirements.txt`, and what `unseen.py` and `further.py` name.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from clustertrust import audit
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, into_page, publish
from experiments.research.audit import further, unseen
from experiments.research.audit.run import (
    KINDS,
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
    OURS,
    Condition,
    conditions,
    cross_validated,
    load,
)

KEYS = ["purpose", "dataset", "kind", "share"]
UNSEEN, FURTHER = "unseen", "further"
# Shares of errors on the further sets
SHARES = (FLAGGED_AT, 0.1)
NAMES = {
    "trees": "extra trees",
    "forest": "forest",
    "logistic": "logistic regression",
    "kNN": "kNN",
}


def of_cleanlab(shares: Floats, given: Labels) -> tuple[Floats, Floats]:
    """Label quality by cleanlab's default method, and the labels that it calls issues."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    return get_label_quality_scores(given, shares), find_label_issues(given, shares, n_jobs=1)


def of_datalab(X: Floats, given: Labels, shares: Floats | None) -> tuple[Floats, Floats] | None:
    """Score and flag of Datalab: from probabilities and features, or from features alone; None where it fails.

    From features alone it does where rows are equal: its own probabilities exceed 1 by rounding.
    """
    from cleanlab import Datalab

    lab = Datalab(data={"label": given}, label_name="label", task="classification", verbosity=0)
    # In this process: one of many starts takes longer than the work.
    alone = {"find_label_issues_kwargs": {"n_jobs": 1}}
    wanted = {"label": {"clean_learning_kwargs": alone}}
    lab.find_issues(pred_probs=shares, features=X, issue_types=wanted)
    try:
        found = lab.get_issues("label")
    except ValueError:  # no result, since a check within failed
        return None
    return found["label_score"].to_numpy(), found["is_label_issue"].to_numpy()


def labels_of(condition: Condition) -> tuple[Floats, Labels, Floats]:
    """The points of a condition, the labels that are audited, and which of them are wrong."""
    if condition.purpose == FURTHER:
        X, y = further.load(condition.dataset)
    else:
        X, y = unseen.load(condition.dataset) if condition.purpose == UNSEEN else load(condition)
    if condition.kind == "clean":
        return X, y, np.zeros(len(y), dtype=bool)
    return X, *plant(X, y, condition.share, condition.kind, [20, 0, 7])


def measure_ours(condition: Condition) -> list[dict[str, Any]]:
    """The figures of the audit alone."""
    X, given, planted = labels_of(condition)
    with hushed():
        ours = audit(X, given, random_state=0, n_jobs=1)
    return [condition._asdict() | {"signal": OURS} | judged(ours.scores, ours.issues, planted)]


def measure(condition: Condition) -> list[dict[str, Any]]:
    """AUROC and precision of every signal in one condition, and precision and recall of its flags."""
    X, given, planted = labels_of(condition)
    with hushed():
        ours = audit(X, given, random_state=0, n_jobs=1)
        shares = {name: cross_validated(X, given, of) for name, of in CLASSIFIERS.items()}
        signals: dict[str, tuple[Floats, Floats | None] | None]
        signals = {OURS: (ours.scores, ours.issues)}
        signals |= {
            f"cleanlab, {NAMES[name]}": of_cleanlab(of, given) for name, of in shares.items()
        }
        signals["Datalab, features"] = of_datalab(X, given, None)
        signals["Datalab, logistic regression"] = of_datalab(X, given, shares["logistic"])
        signals["10 nearest neighbours"] = neighbours(X, given), None
        signals["silhouette"] = silhouette(X, given), None
        signals["LOF"] = LocalOutlierFactor(20).fit(X).negative_outlier_factor_, None
    return [
        condition._asdict() | {"signal": name} | judged(*of, planted)
        for name, of in signals.items()
        if of is not None
    ]


def judged(scores: Floats, flags: Floats | None, planted: Floats) -> dict[str, float]:
    """One signal's figures; those that a condition does not have are left out."""
    row = {}
    if planted.any():
        row = {"auroc": roc_auc_score(~planted, scores), "precision": precision(scores, planted)}
    if flags is not None:
        right = int((flags & planted).sum())
        row |= {"flagged": flags.mean(), "flag_precision": right / max(1, flags.sum())}
        row |= {"flag_recall": right / planted.sum()} if planted.any() else {}
    return row


def to_measure(*, full: bool) -> list[Condition]:
    """Sets of `votes` with all shares of errors, the unseen ones with 5 %, but for pictures, spectra, series and cells, the further ones.

    Those that are left out have hundreds of columns, and the rivals' classifiers take long there.
    """
    judged = [one for one in conditions(full=full) if one.purpose == "judged"]
    names = [*unseen.TABLES, *unseen.DRAWN] if full else list(unseen.DRAWN)[:1]
    sets = [(UNSEEN, name) for name in names]
    sets += [(FURTHER, name) for name in (further.FURTHER if full else ["shares"])]
    kinds = [("clean", 0.0), *((kind, FLAGGED_AT) for kind in KINDS)]
    more = [
        Condition(FURTHER, name, kind, SHARES[1])
        for purpose, name in sets
        for kind in KINDS
        if purpose == FURTHER
    ]
    return [*judged, *(Condition(*named, *planted) for named in sets for planted in kinds), *more]


def measured(out: Path, *, full: bool, jobs: int, again: bool) -> pd.DataFrame:
    """All conditions: those in the file, and the rest, each written as it comes; `again`: the audits of `unseen` anew."""
    path = out / "audit_rivals.csv"
    rows = pd.read_csv(path) if full and path.exists() else pd.DataFrame(columns=KEYS)
    done = set(rows[KEYS].itertuples(index=False, name=None))
    wanted = [one for one in to_measure(full=full) if tuple(one) not in done]
    seen = [one for one in to_measure(full=full) if one.purpose == UNSEEN] if again else []
    # Processes share the cores; started anew, since threads of ours may run in this one
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        if seen:
            new = pd.DataFrame([row for part in pool.map(measure_ours, seen) for row in part])
            old = (rows["purpose"] == UNSEEN) & (rows["signal"] == OURS)
            rows = pd.concat([new, rows[~old]], ignore_index=True)[rows.columns]
            write(path, rows.to_csv(index=False, float_format="%.6g"))
        for part in pool.map(measure, wanted):
            rows = pd.concat([rows, pd.DataFrame(part)], ignore_index=True)
            write(path, rows.to_csv(index=False, float_format="%.6g"))
            print(*part[0].values(), file=sys.stderr, flush=True)
    return rows


def with_ours(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Put our figures on the sets of `votes` from its file in place of older ones."""
    of = pd.read_csv(path)
    scores, flags = (of[of["signal"] == name] for name in (OURS, f"flags: {OURS}"))
    ranked = scores[[*KEYS, "auroc", "precision"]]
    flagged = flags[[*KEYS, "flagged", "flag_precision", "flag_recall"]]
    ours = ranked.merge(flagged, on=KEYS, how="outer").assign(signal=OURS)
    ours = ours[ours["purpose"] == "judged"]
    old = (rows["purpose"] == "judged") & (rows["signal"] == OURS)
    return pd.concat([ours, rows[~old]], ignore_index=True)[rows.columns]


def rivals_table(rows: pd.DataFrame) -> str:
    """Mean figures of each signal, and on how many sets its AUROC is the best or close to it."""
    by_set = rows.pivot_table(index="dataset", columns="signal", values="auroc")
    best = by_set.max(axis=1)
    lines = []
    for name, of in rows.groupby("signal", sort=False):
        wrong, clean = of[of["share"] == FLAGGED_AT], of[of["kind"] == "clean"]
        cells = [
            f"{of['auroc'].mean():.3f}",
            f"{(by_set[name] >= best - TIE).sum()} of {len(best)}",
            f"{of['precision'].mean():.3f}",
        ]
        flags = ["", "", ""]
        if of["flagged"].notna().any():
            flags = [
                f"{clean['flagged'].mean():.1%}",
                f"{wrong['flag_precision'].mean():.2f}",
                f"{wrong['flag_recall'].mean():.2f}",
            ]
        lines.append([name, *cells, *flags])
    heads = ["signal", "AUROC", f"sets within {TIE:g} of the best", "precision"]
    heads += ["clean labels flagged", "precision of flags, 5 % wrong", "recall of flags, 5 % wrong"]
    most = rows[KEYS].drop_duplicates()
    failed = {name: len(most) - len(of) for name, of in rows.groupby("signal", sort=False)}
    notes = [
        f"{name} failed in {lost} of {len(most)} conditions."
        for name, lost in failed.items()
        if lost
    ]
    return "\n\n".join([markdown(heads, lines), *notes])


def main() -> None:
    """Measure what is missing, and write the table."""
    parser = command("audit", __doc__, "all conditions: an hour")
    parser.add_argument("--ours", action="store_true", help="also the audits of `unseen` again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    chosen = parser.parse_args()
    data.find_data()
    out = folder("audit", full=chosen.full)
    rows = measured(out, full=chosen.full, jobs=chosen.jobs, again=chosen.ours)
    if chosen.full:
        rows = with_ours(rows, out / "audit_votes.csv")
        write(out / "audit_rivals.csv", rows.to_csv(index=False, float_format="%.6g"))
    tables = {
        name: rivals_table(rows[rows["purpose"] == purpose])
        for name, purpose in (
            ("further", FURTHER),
            ("judged", "judged"),
            ("unseen", UNSEEN),
        )
    }
    publish(tables, out / "audit_rivals.md")
    if chosen.full:
        into_page("audit.md", "rivals further", tables["further"])


if __name__ == "__main__":
    main()
