"""One row of a table and its scores → why it scored as it did, compared with its clusters."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._shares import percents
from clustertrust.cli.checks import check_tools
from clustertrust.cli.points import ROW, Points, name_of
from clustertrust.cli.reviews import ExplainRequest
from clustertrust.cli.scored_files import read_scored_points, texts_of
from clustertrust.cli.sidecar_plan import notes_on_columns, read_as_scored
from clustertrust.cli.terminal import echo
from clustertrust.cli.writing import read_names
from clustertrust.columns import COLUMNS
from clustertrust.reasons import SENTENCES, error_text
from clustertrust.tables.values import as_categories

# Columns that are compared.
LISTED = 12
# What is shown for a value that the file does not have.
MISSING = "missing"
COMPONENTS = ("stability", "geometry", "persistence", "second_opinions")


def explain(request: ExplainRequest) -> None:
    """Print why a row scored as it did."""
    check_tools(request.data, request.columns, {})
    columns = read_as_scored(request.scores, request.columns)
    points, table, _ = read_scored_points(request.scores, request.data, columns)
    position = _position(request.row, points.ids, name_of(request.data))
    table = _with_names(table, read_names(request.names), request.names)
    row = table.iloc[position]
    lines = [*notes_on_columns(request.columns, columns, None), *_in_words(request.row, row)]
    if not points.kept[position]:
        why = "" if points.why is None else points.why[position]
        lines.append(f"{why.capitalize() or 'Left out'}.")
    else:
        lines += _compared_with_clusters(points, table, position)
    lines += _other_values(points, position)
    echo("\n".join(lines))


def _with_names(
    table: pd.DataFrame, names: dict[str, str] | None, path: str | None
) -> pd.DataFrame:
    """Return the table with clusters as integers, or under the names that a person gave them.

    Gaps had made floats of integers.
    """
    columns = [name for name in table if name in COLUMNS and COLUMNS[name].kind == "cluster"]
    clusters = table[columns].convert_dtypes().astype(object)
    clusters = clusters.where(clusters.notna(), None)
    if names:
        labels = {str(label) for name in columns for label in clusters[name].dropna()}
        lost = next((label for label in names if label not in labels), None)
        if lost is not None:
            raise ValueError(f"--names {path}: {lost!r} is not a cluster of these scores.")
        clusters = clusters.map(lambda label: names.get(str(label)) or label, na_action="ignore")
    return table.assign(**{name: clusters[name] for name in columns})


def _position(name: str, ids: pd.Index, source: str) -> int:
    """Return where the row stands that the user named, or whose number was given."""
    if ids.name == ROW:
        if name.isdecimal() and int(name) < len(ids):
            return int(name)
        raise ValueError(
            f"ROW {name!r}: {source} has rows 0 to {len(ids) - 1}. Give such a number, or name the "
            "rows by a column with --id."
        )
    texts = texts_of(ids)
    places = np.flatnonzero((texts == name) & (texts != ""))
    if places.size == 1:
        return int(places[0])
    if places.size:
        raise ValueError(
            f"ROW {name!r} names {places.size} rows; name another column with --id, or drop it."
        )
    near = difflib.get_close_matches(name, texts[:100_000], 1)
    first = next(filter(None, texts), "")
    hint = f"did you mean {near[0]!r}?" if near else f"they look like {first!r}."
    raise ValueError(f"ROW {name!r} is not the name of a row in the column {ids.name}; {hint}")


def _in_words(name: str, row: pd.Series) -> list[str]:
    """Return label, score, rival, components and reason, as far as the file has them."""
    if pd.isna(row["score"]):
        return [f"Row {name}: no score."]
    error = row.get("standard_error", np.nan)
    error = "" if pd.isna(error) else error_text(error)
    lines = [f"Row {name}: cluster {row['label']}, score {row['score']:.3f}{error}."]
    parts = [part for part in COMPONENTS if pd.notna(row.get(part, np.nan))]
    if parts:
        components = ", ".join(f"{part.replace('_', ' ')} {row[part]:.3f}" for part in parts)
        lines.append(f"{components[0].upper()}{components[1:]}.")
    if pd.notna(row.get("rival")):
        lines.append(f"Rival: cluster {row['rival']}.")
    votes, margin = row.get("consensus_strength", np.nan), row.get("margin", np.nan)
    if pd.notna(votes) and pd.notna(margin):
        ours, theirs = percents([float(votes), max(0.0, float(votes - margin))])
        lines.append(f"Votes of the runs: {ours} for its cluster, {theirs} for the rival.")
    choice = row.get("second_choice")
    if pd.notna(choice) and choice != row["label"]:
        lines.append(f"Most runs of other methods put it into cluster {choice}.")
    suggested = row.get("suggested")
    if pd.notna(suggested) and suggested != row["label"]:
        lines.append(f"Suggested: cluster {suggested}.")
    reason = row.get("reason")
    if reason in SENTENCES:
        lines.append(f"{reason.capitalize()}: {SENTENCES[reason]}")
    return lines


def _compared_with_clusters(points: Points, table: pd.DataFrame, position: int) -> list[str]:
    """Return the row next to its cluster and its rival: means, and shares of its categories."""
    row = table.iloc[position]
    if not isinstance(points.unscaled, pd.DataFrame) or pd.isna(row["label"]):
        return []
    labels = table["label"][points.kept].to_numpy()
    at = int(points.kept[:position].sum())
    rivals = [row["rival"]] if pd.notna(row.get("rival")) else []
    # The consensus may leave a cluster of some runs without a row.
    lost = [rival for rival in rivals if not (labels == rival).any()]
    clusters = [row["label"], *(rival for rival in rivals if rival not in lost)]
    numbers = points.unscaled.select_dtypes("number")
    numbers = numbers[[name for name in numbers if name not in points.encoded]]
    values = numbers.iloc[at]
    compared: dict[str, Any] = {"this row": values}
    for cluster in clusters:
        compared[f"cluster {cluster}"] = numbers[labels == cluster].mean()
    shown = pd.DataFrame(compared)
    if len(clusters) == 2:
        # Distances in standard deviations: the columns that favour the rival most come first.
        spread = numbers.std(ddof=0).replace(0.0, np.nan)
        own, other = (
            (shown["this row"] - shown[name]).abs() / spread for name in shown.columns[1:]
        )
        nearer = np.where(other < own, str(clusters[1]), str(clusters[0]))
        shown["nearer to"] = np.where(shown["this row"].isna(), "", nearer)
        shown = shown.loc[(own - other).sort_values(ascending=False, kind="stable").index]
    lines = [f"No row is in cluster {rival}: there is nothing to compare with." for rival in lost]
    if len(shown):
        more = f"\n… and {len(shown) - LISTED} more columns" if len(shown) > LISTED else ""
        shown = shown.head(LISTED)
        text = shown.to_string(float_format=lambda value: f"{value:.4g}", na_rep=MISSING)
        lines += ["\nIts values, and the means of the clusters:", f"{text}{more}"]
        lines += _filled_in(points, list(shown.index[shown["this row"].isna()]))
    return lines + _compared_categories(points, labels, at, clusters)


def _filled_in(points: Points, names: list[str]) -> list[str]:
    """Return what these columns of a row took for their missing value, if they took one."""
    if not names or points.plan is None or points.plan.is_mixed or points.preparer is None:
        return []
    means = dict(zip(points.unscaled.columns, points.preparer.measures_.means, strict=True))
    taken = ", ".join(f"{name} {means[name]:.4g}" for name in names)
    return [f"In place of a missing value, the clustering took the column's mean: {taken}."]


def _compared_categories(points: Points, labels: Any, at: int, clusters: list[Any]) -> list[str]:
    """Return its categories, and how much of each cluster has the same."""
    if points.original is None or points.plan is None or not points.categories:
        return []
    own = points.original[points.kept]
    rows = {}
    for column in points.categories[:LISTED]:
        texts = as_categories(own[column.name], points.plan.na).fillna(MISSING)
        same = (texts == texts.iloc[at]).to_numpy()
        shares = {f"cluster {one}": f"{same[labels == one].mean():.0%}" for one in clusters}
        rows[column.name] = {"this row": texts.iloc[at]} | shares
    text = pd.DataFrame.from_dict(rows, orient="index").to_string()
    return ["\nIts categories, and how many of each cluster have the same:", text]


def _other_values(points: Points, position: int) -> list[str]:
    """Return the values of columns that were not clustered."""
    if points.original is None or points.plan is None:
        return []
    used = {column.name for column in points.plan.used}
    others = [name for name in map(str, points.original) if name not in used]
    own = points.original.iloc[position]
    texts = {name: "" if pd.isna(own[name]) else str(own[name]) for name in others[:LISTED]}
    values = ", ".join(f"{name} = {text or MISSING}" for name, text in texts.items())
    return [f"\nNot clustered: {values}."] if others else []
