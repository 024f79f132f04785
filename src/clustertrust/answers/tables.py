"""Questions and answers as tables: what a person fills in in a spreadsheet, and what comes back.

Columns of questions: `row` (position, from 0), the names of the rows if they have any, `answer` and
`should_be` (empty), `label`, `rival`, `asked` ("random" or "learn"), `inclusion`, `round`, then the
columns of the data. Answers need `answer`, and `row` or the names of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._errors import InputError, literal
from clustertrust._types import Array, Ints
from clustertrust._validation.arguments import check_choice, warn_user
from clustertrust.answers.judging import Answers, check_drawn
from clustertrust.answers.questions import Questions
from clustertrust.answers.scored import Scored
from clustertrust.columns import beside_results

RESERVED = (
    *("row", "answer", "should_be", "label", "rival", "score", "reason"),
    *("asked", "inclusion", "round"),
)
# Columns of results that a person sees; a score would sway them
SHOWN = ("label", "rival")
# Columns that a table of answers may lack
OPTIONAL = ("asked", "should_be", "round", "label")
# What names in `answer` are
KINDS = ("auto", "classes", "labels")
WORDS = {
    **dict.fromkeys(("right", "yes", "true", "correct"), "right"),
    **dict.fromkeys(("wrong", "no", "false", "incorrect"), "wrong"),
    **dict.fromkeys(("", "skip", "skipped"), "skip"),
}


def questions_table(
    questions: Questions, data: pd.DataFrame | None, names: Any = None
) -> pd.DataFrame:
    """Return questions as a table to fill in.

    Parameters
    ----------
    questions : Questions
    data : DataFrame of all rows that a person sees, or None
    names : Series of the names of all rows, or None
    """
    positions = questions.positions
    out = pd.DataFrame({"row": positions})
    if names is not None:
        out[str(names.name)] = names.iloc[positions].to_numpy()
    out["answer"], out["should_be"] = "", ""
    source = questions.source
    for name in SHOWN:
        if name in source.columns:
            codes = source.columns[name][positions]
            out[name] = np.where(codes < 0, "", source.named(codes).astype(object))
    out["asked"] = np.where(questions.drawn, "random", "learn")
    out["inclusion"], out["round"] = questions.inclusion, questions.round
    if data is not None:
        own = data.iloc[positions].reset_index(drop=True)
        if names is not None:
            own = own.drop(
                columns=[name for name in own if beside_results(str(name)) == names.name]
            )
        taken = {name: f"{name}_input" for name in own if name in out}
        out = pd.concat([out, own.rename(columns=taken)], axis=1)
    return out


def answers_table(
    tables: Mapping[str, pd.DataFrame],
    source: Scored,
    *,
    names: pd.Series | None = None,
    kind: str = "auto",
    drawn: bool = False,
    force: bool = False,
) -> Answers:
    """Return what tables of answers say, by the name of their files.

    Parameters
    ----------
    tables : tables by name, all of their columns text
    source : what was scored
    names : names of all rows, under the name of their column; None: rows are known by position
    kind : what names in `answer` are: "classes", "labels" (of clusters), or found out
    drawn : whether rows were drawn at random of which the tables do not say how they were asked
    force : accept such rows even if they were probably not drawn
    """
    check_choice("kind", kind, KINDS)
    rows = pd.concat(
        [
            _rows(table, name, source, names, i + 1, drawn)
            for i, (name, table) in enumerate(tables.items())
        ],
        ignore_index=True,
    )
    if not force:
        check_drawn(source.scores, np.unique(rows.loc[rows["claimed"], "position"]))
    rows = _once(rows)
    judged = rows["word"].isin(["right", "wrong"])
    named = rows["word"] == ""
    if not (judged | named | (rows["should_be"] >= 0)).any():
        raise ValueError(
            f"{', '.join(tables)}: no question is answered. Write right, wrong or skip into the "
            "column answer."
        )
    positions = rows["position"].to_numpy(np.int64)
    labels, codes = source.labels[positions], rows["should_be"].to_numpy(np.int64)
    right = np.where(judged, rows["word"] == "right", np.nan)
    kinds = _classes(rows, named, source, kind)
    if kinds is None and named.any():
        codes = codes.copy()
        codes[named] = source.codes_of(rows.loc[named, "answer"].tolist(), "answer")
    elif kinds is not None and (judged.any() or (codes >= 0).any()):
        raise ValueError(_mixed(rows[judged | (codes >= 0)], rows[named]))
    right = np.where(np.isnan(right) & (codes >= 0), codes == labels, right)
    _check_contradictions(rows, right, codes, labels)
    codes = np.where((codes < 0) & (right == 1), labels, codes)
    random = rows["drawn"].to_numpy(bool)
    return Answers(positions, right, kinds, codes, random, int(rows["round"].max()), labels)


def _rows(
    table: pd.DataFrame, file: str, source: Scored, names: pd.Series | None, round: int, drawn: bool
) -> pd.DataFrame:
    """Return the lines of one table that count, checked.

    `drawn`: lines that do not say how they were asked are about rows drawn at random, except where
    the answer is empty: a table may have more lines than were asked about.
    """
    if "answer" not in table:
        raise ValueError(
            f"{file} has no column 'answer'; give a table that `clustertrust ask` wrote, filled in."
        )
    text = table.apply(lambda column: column.fillna("").astype(str).str.strip())
    positions = _positions(text, file, len(source), names)
    text = text.assign(**{name: "" for name in OPTIONAL if name not in text})
    answer, should_be = text["answer"], text["should_be"]
    word = answer.str.lower().map(WORDS).fillna("")
    asked = text["asked"].str.lower()
    odd = ~asked.isin(["", "random", "learn"])
    if odd.any():
        raise ValueError(
            f"{file}: column 'asked' has {asked[odd].iloc[0]!r}; write random or learn."
        )
    filled = (answer != "") | (should_be != "")
    claimed = drawn & filled & (asked == "")
    chosen = positions[(asked == "learn") & filled & (word != "skip")]
    if drawn and chosen.size:
        raise InputError(
            f"{{drawn=True}}: {literal(file)} says of row {chosen[0]} that it was asked to learn "
            "from, so it was chosen, not drawn, and a guarantee would not hold. Leave out "
            "{drawn=True}; rows whose column asked says random count without it."
        )
    rounds = pd.to_numeric(text["round"], errors="coerce").fillna(round)
    out = pd.DataFrame(
        {
            "file": file,
            "position": positions,
            "answer": answer,
            "word": word,
            "should_be": source.codes_of(should_be.replace("", None), f"{file}: should_be"),
            "drawn": (asked == "random") | claimed,
            "claimed": claimed,
            "round": rounds.clip(lower=1).astype(int),
        }
    )
    without = positions[np.isnan(source.scores[positions])]
    if without.size:
        raise ValueError(f"{file} is about row {without[0]}, which has no score; remove that line.")
    labels = text["label"].to_numpy()
    ours = source.labels[positions]
    differ = np.flatnonzero((labels != "") & (source.find_codes(labels) != ours))
    if differ.size:
        i = differ[0]
        raise ValueError(
            f"{file} says that row {positions[i]} is in cluster {labels[i]}, and it was scored "
            f"in {source.named(ours[i])}: these answers belong to another clustering."
        )
    # A row that was not answered and not drawn says nothing.
    return out[out["drawn"] | (out["word"] != "skip") | (out["should_be"] >= 0)]


def _positions(text: pd.DataFrame, file: str, n: int, names: pd.Series | None) -> Ints:
    """Return the positions of the rows that a table names."""
    all_names: pd.Index = pd.Index([])
    row_names = all_names
    if names is not None and names.name in text:
        all_names, row_names = pd.Index(names.map(str).str.strip()), pd.Index(text[names.name])
        unknown = row_names[~row_names.isin(all_names)]
        if len(unknown):
            raise ValueError(
                f"{file} is about {unknown[0]!r}, which is not among the rows that were scored."
            )
        if "row" not in text and not all_names.is_unique:
            raise ValueError(
                f"The names in column {names.name!r} occur more than once, so they do not identify "
                f"rows; {file} needs the column row."
            )
    if "row" not in text:
        if all_names.empty:
            raise ValueError(
                f"{file} has no column 'row', nor one that names the rows; give a table that "
                "`clustertrust ask` wrote, or say which column has the names."
            )
        return np.asarray(all_names.get_indexer(row_names), dtype=np.int64)
    numbers = pd.to_numeric(text["row"], errors="coerce")
    odd = numbers.isna() | (numbers != numbers.round()) | (numbers < 0) | (numbers >= n)
    if odd.any():
        raise ValueError(
            f"{file} is about row {text['row'][odd].iloc[0]!r}, and the rows that were scored run "
            f"from 0 to {n - 1}."
        )
    positions = numbers.to_numpy(np.int64)
    if not all_names.empty:
        differ = np.flatnonzero(all_names[positions] != row_names)
        if differ.size:
            i = differ[0]
            raise ValueError(
                f"{file}: row {positions[i]} is not {row_names[i]!r} in the scores; these "
                "answers belong to other rows."
            )
    return positions


def _once(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each row once; the same answer twice is one, different ones are an error."""
    answered = rows[(rows["word"] != "skip") | (rows["should_be"] >= 0)]
    several = answered[answered["position"].duplicated(keep=False)]
    for position, group in several.groupby("position"):
        words = {(row["word"] or row["answer"], row["should_be"]) for _, row in group.iterrows()}
        if len(words) > 1:
            first, second = (group.iloc[0], group.iloc[-1])
            raise ValueError(
                f"Row {position} is answered twice: {_shown(first)} in {first['file']} and "
                f"{_shown(second)} in {second['file']}. Keep one."
            )
    repeated = int(answered["position"].duplicated().sum())
    if repeated:
        rows_are = "1 row is" if repeated == 1 else f"{repeated} rows are"
        warn_user(f"{rows_are} answered twice with the same answer, which counts once.")
    drawn = rows.groupby("position")["drawn"].transform("any")
    rounds = rows.groupby("position")["round"].transform("max")
    # An answer goes before a skipped question about the same row.
    order = rows.assign(drawn=drawn, round=rounds).sort_values(
        "word", key=lambda word: word == "skip", kind="stable"
    )
    return order.drop_duplicates("position").sort_values("position").reset_index(drop=True)


def _classes(rows: pd.DataFrame, named: pd.Series, source: Scored, kind: str) -> Array | None:
    """Return the class of each row, None where there is none; None if answers are no classes."""
    classes = rows.loc[named, "answer"]
    if kind == "labels" or not len(classes):
        return None
    if kind == "auto" and (source.find_codes(classes.tolist()) >= 0).all():
        return None
    out = np.full(len(rows), None, dtype=object)
    out[named.to_numpy()] = classes.to_numpy(dtype=object)
    return out


def _mixed(judged: pd.DataFrame, named: pd.DataFrame) -> str:
    """Return what is wrong with answers of two kinds; the rarer kind is taken for the mistake."""
    one, other = judged.iloc[0], named.iloc[0]
    if len(named) < len(judged):
        return (
            f"{other['file']} has {other['answer']!r} for row {other['position']}, and others are "
            "answered by right and wrong; write right, wrong or skip there too."
        )
    return (
        f"{one['file']} has {_shown(one)} for row {one['position']}, but others have classes "
        f"such as {other['answer']!r}; give classes for all rows, or right and wrong."
    )


def _check_contradictions(rows: pd.DataFrame, right: Any, codes: Ints, labels: Ints) -> None:
    """Raise where a row is called right and should be elsewhere, or wrong and should be there."""
    odd = np.flatnonzero((codes >= 0) & (right != (codes == labels)))
    if odd.size:
        row = rows.iloc[odd[0]]
        raise ValueError(
            f"{row['file']}: row {row['position']} is called {row['word']}, and should_be says "
            f"otherwise. Correct one of the two."
        )


def _shown(row: pd.Series) -> str:
    return repr(row["answer"]) if row["answer"] else "an entry in should_be"
