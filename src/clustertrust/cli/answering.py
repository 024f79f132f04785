"""The work of `ask` and `decide`: read, one library call, write, print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust.answers import Answers, Decision, ask, decide
from clustertrust.answers.tables import RESERVED, answers_table, questions_table
from clustertrust.cli.checks import check_tools
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import name_of, read_points
from clustertrust.cli.printing import print_json, print_table
from clustertrust.cli.reviews import AskRequest, DecideRequest
from clustertrust.cli.scored_files import ScoredFile, read_scored_file
from clustertrust.cli.sidecar_plan import notes_on_columns, read_as_scored, retyped
from clustertrust.cli.terminal import echo, quote
from clustertrust.columns import COLUMNS
from clustertrust.files import Reading, read_table, write_table

# Clusters in a printed table.
LISTED = 12
# Columns of the page, which a second review does not show.
DECIDED = ("kept", "corrected", "answer")


def ask_questions(request: AskRequest) -> None:
    """Choose questions about a table and its scores, and write them."""
    check_tools(request.data, request.columns, request.paths)
    columns = read_as_scored(request.scores, request.columns)
    points = read_points(request.data, columns)
    file = read_scored_file(request.scores, columns, points)
    earlier = _answers(request.answers, file, "auto") if request.answers else None
    questions = ask(
        file.source,
        request.n,
        n_random=request.n_random,
        answers=earlier,
        random_state=request.seed,
    )
    table = questions_table(questions, points.original, file.names)
    if earlier is not None:
        table = _with_earlier(table, earlier)
    with staged(request.paths) as drafts:
        if "--out" in drafts:
            write_table(table, drafts["--out"], dialect=points.dialect)
    if request.to_stdout:
        print_table(table, points.dialect)
    for line in notes_on_columns(request.columns, columns, points):
        echo(line, err=request.to_stdout)
    drawn = int(questions.drawn.sum())
    out = request.paths.get("--out", "QUESTIONS.csv")
    files = " ".join(map(quote, (request.scores, *request.answers, str(out))))
    echo(
        f"{len(table)} questions about {name_of(request.data)}: {drawn} drawn at random, "
        f"{len(table) - drawn} chosen to teach.\n"
        f"Write right, wrong or skip into the column answer of {out}, or the class of the row;\n"
        "or, into should_be, the cluster that it should be in. The column row counts from 0.\n"
        "Then:\n"
        f"  clustertrust decide {files}{retyped(request.columns)} --out kept.csv",
        err=request.to_stdout,
    )


def decide_rows(request: DecideRequest) -> None:
    """Find which rows can be kept, and write them."""
    columns = read_as_scored(request.scores, request.columns)
    file = read_scored_file(request.scores, columns, None)
    answers = _answers(
        request.answers, file, request.kind, drawn=request.drawn, force=request.force
    )
    decision = decide(file.source, answers, risk=request.risk, delta=1 - request.confidence)
    decided = _decided(file, decision)
    written = decided if request.all_rows else decided[decided["kept"]].drop(columns="kept")
    with staged(request.paths) as drafts:
        if "--out" in drafts:
            write_table(written, drafts["--out"], dialect=file.dialect)
        if "--report" in drafts:
            _write_page(drafts["--report"], request, file, decision)
    if request.as_json:
        print_json(_as_json(request, decision), request.paths)
        return
    if request.to_stdout:
        print_table(written, file.dialect)
    how_columns = (
        notes_on_columns(request.columns, columns, None) if file.points is not None else []
    )
    lines = [*how_columns, str(decision), "", _by_cluster(decision)]
    same = written["label"].eq(written["label_before"]) | written["label"].isna()
    changed = int((~same).sum())
    if changed:
        lines.append(f"\n{changed} labels are corrected; label_before has the old ones.")
    if decision.more:
        answered = " ".join(f"--answers {quote(path)}" for path in request.answers)
        lines.append(
            f"\nNext: clustertrust ask DATA {quote(request.scores)} {answered} --n {decision.more} "
            f"--random {decision.more}{retyped(request.columns)} --out more.csv"
        )
    echo("\n".join(lines), err=request.to_stdout)
    for option, path in request.paths.items():
        what = (
            f"{decision.n_kept} rows" if option == "--out" and not request.all_rows else "all rows"
        )
        echo(f"Wrote {path}: {what}.", err=request.to_stdout)


def _answers(
    paths: Sequence[str], file: ScoredFile, kind: str, *, drawn: bool = False, force: bool = False
) -> Answers:
    """Read answers from files."""
    tables = {}
    for path in paths:
        read = read_table(path, Reading(as_written=True, na=())).data
        if not isinstance(read, pd.DataFrame):
            raise ValueError(f"{path} holds a sparse matrix; give a table of answers.")
        tables[path] = read
    return answers_table(tables, file.source, names=file.names, kind=kind, drawn=drawn, force=force)


def _with_earlier(table: pd.DataFrame, earlier: Answers) -> pd.DataFrame:
    """Fill in what was answered before about rows that were now drawn at random."""
    if earlier.classes is not None:
        words = dict(zip(earlier.positions.tolist(), earlier.classes, strict=True))
    else:
        named = {1.0: "right", 0.0: "wrong"}
        answers = [named.get(value, "") for value in earlier.right.tolist()]
        words = dict(zip(earlier.positions.tolist(), answers, strict=True))
    answer = [words.get(row) or "" for row in table["row"].tolist()]
    return table.assign(answer=answer)


def _decided(file: ScoredFile, decision: Decision) -> pd.DataFrame:
    """Return the table of scores with the decision."""
    result = decision.to_frame().reset_index(drop=True)
    table = file.table.reset_index(drop=True)
    # A row without a label has none here either.
    for name in ("label", "label_before"):
        whole: Any = "Int64" if result[name].dtype.kind in "iu" else object
        result[name] = result[name].astype(whole).mask(table["label"].isna())
    out = table.assign(label=result["label"])
    added = result.drop(columns=["label", "answer"]).assign(answer=result["answer"])
    taken = {name: f"{name}_input" for name in added if name in out}
    return pd.concat([out.rename(columns=taken), added], axis=1)


def _by_cluster(decision: Decision) -> str:
    """Return the accuracy of each cluster as text."""
    table = decision.learned.by_cluster.head(LISTED)
    level = f"{100 * decision.learned.level:g}%"
    lines = ["Right, by cluster:"]
    for cluster, row in table.iterrows():
        lines.append(
            f"  {cluster}: {row['accuracy']:.0%} ({row['low']:.0%} to {row['high']:.0%}, {level} "
            f"interval) of {int(row['points'])} rows; {int(row['right'])} of "
            f"{int(row['answers'])} answers right"
        )
    left = len(decision.learned.by_cluster) - len(table)
    return "\n".join([*lines, f"  and {left} more"] if left else lines)


def _as_json(request: DecideRequest, decision: Decision) -> dict[str, Any]:
    table = decision.learned.by_cluster.reset_index()
    return {
        "scores": request.scores,
        "answers": list(request.answers),
        "answers_used": decision.learned.n_answers,
        "risk": decision.risk,
        "confidence": request.confidence,
        "guaranteed": decision.guaranteed,
        "kept": decision.n_kept,
        "rows": len(decision.kept),
        "ask_next": decision.more,
        "statement": str(decision),
        "by_cluster": table.to_dict("records"),
    }


def _write_page(path: Path, request: DecideRequest, file: ScoredFile, decision: Decision) -> None:
    """Write a page to explore, with learned probabilities as scores.

    Labels are those that were scored: probabilities, rivals and votes are about these. What was
    decided is shown next to the user's own columns.
    """
    from clustertrust.cli.writing import values_shown, view_of
    from clustertrust.report import write_report

    there = file.table["score"].notna().to_numpy()
    decided = decision.to_frame().reset_index(drop=True)
    # The standard error is that of the first score, not of what was learned.
    kept = [name for name in file.table if name in COLUMNS and name != "standard_error"]
    table = file.table[kept].assign(
        score=decision.learned.scores,
        # This column says that these scores are learned.
        probability=decision.learned.scores,
        label=decided["label_before"].to_numpy(),
    )
    if file.names is not None:
        table = table.set_axis(pd.Index(file.names), axis=0)
    own = file.table[[name for name in file.table if name not in (*COLUMNS, *RESERVED)]]
    values = view = None
    if file.points is not None and file.points.kept[there].all():
        scored_rows = there[file.points.kept]
        values = values_shown(file.points)[scored_rows]
        view = view_of(file.points, scored_rows)
    shown = table[there]
    write_report(
        path,
        shown,
        None if values is None else values.set_axis(shown.index, axis=0),
        settings={
            "scores": Path(request.scores).name,
            "answers": ", ".join(Path(name).name for name in request.answers),
            "decision": str(decision),
        },
        title=f"{name_of(request.scores)}: learned from {decision.learned.n_answers} answers",
        # Half of a median says nothing about probabilities.
        threshold=1 - request.risk,
        embedding=view,
        original=_with_decision(own, decided)[there].set_axis(shown.index, axis=0),
        rows=np.flatnonzero(there),
        unasked=DECIDED,
    )


def _with_decision(own: pd.DataFrame, decided: pd.DataFrame) -> pd.DataFrame:
    """Return the user's own columns, and what was decided of each row."""
    corrected = decided["label"].where(decided["label"] != decided["label_before"], "")
    values = (np.where(decided["kept"], "yes", "no"), corrected, decided["answer"])
    added: dict[str, Any] = dict(zip(DECIDED, values, strict=True))
    own = own.rename(columns={name: f"{name}_input" for name in added if name in own})
    return own.reset_index(drop=True).assign(**added)
