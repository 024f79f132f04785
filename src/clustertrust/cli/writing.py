"""The files that commands write: scores, a model, a picture, a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust import Confidence
from clustertrust._types import Ints
from clustertrust._views import View, data_view, principal_view
from clustertrust.cli.points import ROW, Points, name_of
from clustertrust.cli.request import ScoreRequest
from clustertrust.cli.sidecar_plan import SIDECAR
from clustertrust.cli.wording import current_wording
from clustertrust.files import format_of, write_table
from clustertrust.summary import quote

# Prefix of result names in AnnData files.
KEY = "cake"


def write_scores(
    path: Path, table: pd.DataFrame, points: Points, settings: Mapping[str, Any]
) -> None:
    """Write a table of scores, or its columns as annotations of AnnData."""
    if format_of(path) == "h5ad":
        from clustertrust.anndata import annotate

        annotate(points.adata, table, key_added=KEY, settings=settings)
        points.adata.write_h5ad(path)
    else:
        write_table(table, path, dialect=points.dialect)


def write_shown(
    drafts: Mapping[str, Path],
    scored: Confidence,
    points: Points,
    request: ScoreRequest,
    settings: Mapping[str, Any],
) -> None:
    """Write the outputs for people: the plan of the columns, a picture, a page."""
    for option in {"--save-plan", SIDECAR} & drafts.keys():
        write_plan(drafts[option], points)
    if "--plot" in drafts:
        draw_scores(drafts["--plot"], scored, points)
    if "--report" in drafts:
        name = name_of(request.data)
        if points.sampled:
            name = f"a sample of {len(points.ids):,} of the {settings['rows']:,} rows of {name}"
        write_page(
            drafts["--report"],
            scored.to_frame(),
            points,
            votes=votes_of(scored),
            settings=settings,
            title=title_of(name, "labels" if scored.findings() else "clusters"),
            threshold=request.threshold,
            chance=scored.cut().chance,
            null_scores=scored.null_quantiles,
            findings=scored.findings(),
            names=read_names(request.names),
            rows=_places(points),
            quoted=quoted(request, scored),
        )


def write_plan(path: Path, points: Points) -> None:
    """Write what is done with each column, to be edited."""
    if points.plan is None:
        raise ValueError("--save-plan: a sparse matrix has no plan of its columns; leave it out.")
    text = json.dumps(points.plan.to_json(), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def draw_scores(path: Path, scored: Confidence, points: Points) -> None:
    """Draw the scores at the points, and sorted bars of each cluster next to them."""
    # No window, no state.
    from matplotlib.figure import Figure

    from clustertrust.displays import ScoreBarsDisplay, ScoreScatterDisplay

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    if points.view is None:
        shown = points.X if points.drawn is None else points.drawn
        ScoreScatterDisplay.from_confidence(scored, shown, ax=left)
    else:
        ScoreScatterDisplay.from_confidence(scored, embedding=points.view, ax=left)
    ScoreBarsDisplay.from_confidence(scored, ax=right)
    save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """Write a picture, the same bytes each time: without date or random ids."""
    import matplotlib

    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "clustertrust"}):
        figure.savefig(path, dpi=150, metadata=dates.get(path.suffix.lower()))


def title_of(name: str, what: str = "clusters") -> str:
    """Return the headline of a page about a file."""
    return f"How much can the {what} of {name} be trusted?"


def write_page(
    path: Path, table: pd.DataFrame, points: Points, shown: Any = slice(None), **options: Any
) -> None:
    """Write a page about a table of scores, which are those of the points `shown`."""
    from clustertrust.report import write_report

    own, values = own_columns(points), values_shown(points)
    # Distances have no values to show.
    values = None if values is None else values[shown]
    if isinstance(values, pd.DataFrame):
        # Rows were matched by name or by position.
        values = values.set_axis(table.index, axis=0)
    original = None if own is None else own[shown]
    placed = {"embedding": view_of(points, shown), "folder": points.folder}
    placed |= {"plan": points.plan, "wording": current_wording()}
    write_report(path, table, values, original=original, **(placed | options))


def values_shown(points: Points) -> Any:
    """Return the values of a page: numbers, since the user's own table has categories as texts.

    A category of 40 values would fill the page with 40 columns of 0 and 1.
    """
    encoded = points.encoded
    if not encoded:
        return points.unscaled
    numbers = [name for name in points.unscaled.columns if name not in encoded]
    return points.unscaled[numbers] if numbers else points.unscaled


def own_columns(points: Points) -> pd.DataFrame | None:
    """Return the rows of the user's own table that are clustered, where its columns have names."""
    if points.adata is not None:
        from clustertrust.anndata.data import described

        obs = described(points.adata, KEY)
        return None if obs is None else obs[points.kept]
    return None if points.original is None else points.original[points.kept]


def _places(points: Points) -> Ints | None:
    """Return where each point stands in the file of scores; None: its name says it."""
    if points.ids.name == ROW:
        return None
    places = np.flatnonzero(points.kept)
    return np.full(len(places), -1) if points.sampled else places


def view_of(points: Points, shown: Any = slice(None)) -> Any:
    """Return where to draw the points `shown`: the UMAP of cells, or principal components."""
    if points.adata is not None:
        from clustertrust.anndata.data import placed

        xy = placed(points.adata)
        return None if xy is None else xy[points.kept][shown]
    view = _clustered_view(points) if points.view is None else points.view
    return None if view is None else replace(view, xy=view.xy[shown])


def _clustered_view(points: Points) -> View | None:
    """Return principal components of what was clustered; the page shows raw columns."""
    drawn = points.drawn
    if drawn is None and points.preparer is not None and points.preparer.measures_.is_scaled:
        drawn = points.X
    if drawn is None or drawn.shape[1] < 3:
        return _view_of_gaps(values_shown(points))
    return principal_view(drawn.to_numpy(), f"{drawn.shape[1]} columns as they were clustered")


def _view_of_gaps(values: Any) -> View | None:
    """Return the columns as a page draws them, if it would leave out rows that miss a value."""
    if not isinstance(values, pd.DataFrame) or values.shape[1] < 2:
        return None
    if not values.isna().any(axis=None):
        return None
    filled = values.fillna(values.mean()).to_numpy(np.float64)
    view = data_view(filled, [str(name) for name in values], np.zeros(len(filled)), "")
    return replace(view, origin=f"{view.origin} A missing value is drawn at the column's mean.")


def read_names(path: str | None) -> dict[str, str] | None:
    """Read names of clusters, a JSON object by label, as the page saves them."""
    if path is None:
        return None
    try:
        names = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"--names {path}: it is not JSON ({error}).") from error
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError(
            f'--names {path}: it must be a JSON object of names by label, such as {{"0": "light"}}.'
        )
    return names


def votes_of(scored: Confidence) -> pd.DataFrame:
    """Return the share of runs voting for each cluster, by name."""
    return pd.DataFrame(scored.votes, index=scored.row_names(), columns=scored.label_names.tolist())


_FIELDS = ("verdict", "structured", "best", "plausible", "n_rows")


@dataclass(frozen=True)
class StoredChoice:
    """The verdict of `choose-k`, as its file has it."""

    text: str
    structured: bool | None
    best: int
    plausible: tuple[int, ...]
    n_rows: int
    source: str = "choose-k"

    def verdict(self) -> str:
        """Return it in words."""
        return self.text


def quoted(request: ScoreRequest, scored: Confidence) -> tuple[str, ...]:
    """Return what the file says, and where it disagrees with these scores; nothing without one."""
    n, k = len(scored.scores), scored.n_clusters
    return quote(scored.cut(request.threshold), read_tests(request, n), n, k)


def read_tests(request: ScoreRequest, n: int) -> list[StoredChoice]:
    """Read what `choose-k --out FILE.json` wrote about these n rows, if a file is given."""
    path = request.tests
    if path is None:
        return []
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        text, structured, best, plausible, n_rows = (content[name] for name in _FIELDS)
        choice = StoredChoice(str(text), structured, int(best), tuple(plausible), int(n_rows))
    except (ValueError, TypeError, KeyError):
        raise ValueError(
            f"--tests {path}: this is not a file that `clustertrust choose-k DATA --out "
            "FILE.json` wrote."
        ) from None
    if choice.n_rows != n:
        raise ValueError(
            f"--tests {path}: it is about {choice.n_rows} rows, but the data have {n}; run "
            "choose-k on the same data."
        )
    return [choice]
