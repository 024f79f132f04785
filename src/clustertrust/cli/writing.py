"""The files that commands write: scores, a model, a picture, a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust import CAKE, Confidence
from clustertrust._views import principal_components
from clustertrust.cli.points import Points
from clustertrust.cli.scaling import Preparation
from clustertrust.files.tables import format_of, write_table

__all__ = ["draw_scores", "save", "save_figure", "votes_of", "write_page", "write_scores"]

KEY = "cake"  # prefix of result names in AnnData files


def write_scores(
    path: Path, table: pd.DataFrame, points: Points, settings: Mapping[str, Any]
) -> None:
    """Write a table of scores, or its columns as annotations of AnnData."""
    if format_of(path) == "h5ad":
        from clustertrust.anndata import annotate

        annotate(points.adata, table, key=KEY, settings=settings)
        points.adata.write_h5ad(path)
    else:
        write_table(table, path)


def save(path: Path, cake: CAKE, preparation: Preparation | None) -> None:
    """Save a model, with the preparation of its columns in the same file."""
    cake.set_params(verbose=False)  # progress was for this run of the command
    cake.save(path, preparation=None if preparation is None else preparation.to_json())


def draw_scores(path: Path, scored: Confidence, points: Points) -> None:
    """Draw the scores at the points, beside sorted bars of each cluster."""
    from matplotlib.figure import Figure  # no window, no state

    from clustertrust.displays import ScoreBarsDisplay, ScoreScatterDisplay

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    ScoreScatterDisplay.from_confidence(scored, points.X, ax=left)
    ScoreBarsDisplay.from_confidence(scored, ax=right)
    save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """Write a picture, the same bytes each time: without date or random ids."""
    import matplotlib

    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "clustertrust"}):
        figure.savefig(path, dpi=150, metadata=dates.get(path.suffix.lower()))


def write_page(
    path: Path,
    scored: Confidence,
    points: Points,
    settings: Mapping[str, Any],
    threshold: float,
    name: str,
) -> None:
    """Write a page to explore the scores."""
    from clustertrust.report import write_report

    write_report(
        path,
        scored.to_frame(threshold),
        points.unscaled,
        votes=votes_of(scored),
        settings=settings,
        title=f"How far can the clusters of {name} be trusted?",
        threshold=threshold,
        embedding=_standardised_view(points),
    )


def _standardised_view(points: Points) -> pd.DataFrame | None:
    """Return principal components of the standardised columns; the page shows the raw ones."""
    if points.preparation is None or points.preparation.scales is None or points.X.shape[1] < 3:
        return None
    names = [f"principal component {j} of the standardised columns" for j in (1, 2)]
    return pd.DataFrame(principal_components(points.X.to_numpy())[0], columns=names)


def votes_of(scored: Confidence) -> pd.DataFrame:
    """Return the share of runs voting for each cluster, by name."""
    return pd.DataFrame(scored.votes, index=scored.row_names(), columns=scored.label_names.tolist())
