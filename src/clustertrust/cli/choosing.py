"""`clustertrust choose-k`: read, call `clustertrust.choose_k`, write, print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from clustertrust import CAKE, KProfile, choose_k
from clustertrust._views import data_view
from clustertrust.cli.checks import (
    check_clusters_distances,
    check_matrix,
    check_tools,
    format_of_output,
)
from clustertrust.cli.options import BUILDING, SCORING, CakeOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import for_metric
from clustertrust.cli.points import Points, name_of, read_points
from clustertrust.cli.printing import (
    as_json,
    is_interactive,
    left_out_of,
    plan_of,
    planned_settings,
    print_json,
    print_summary,
    print_table,
    records,
    say,
    unscored,
)
from clustertrust.cli.request import ChooseRequest
from clustertrust.cli.squares import for_distances, for_gower, read_square
from clustertrust.cli.writing import save_figure, write_plan
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.files import FORMATS, write_table
from clustertrust.surrogates.families import VERDICT

# Points in the pictures of a page, and pictures
DRAWN, MOST_CANDIDATES = 1000, 4


def check_null(method: CakeOptions, null: bool, *, typed: bool) -> bool:
    """Return whether there are surrogates to compare with: not without points with coordinates."""
    if method.metric not in ("gower", "precomputed"):
        return null
    if null and typed:
        raise click.UsageError(
            "--null: surrogates are points with coordinates, and distances have none; leave it out."
        )
    return False


def check_choosing_method(method: CakeOptions) -> None:
    """Raise for a clusterer that finds the number of clusters itself."""
    finds = [name for name in method.clusterer if not CLUSTERERS[name].takes_k]
    if finds:
        raise click.UsageError(
            f"{finds[0]} finds the number of clusters itself; use another --clusterer."
        )
    check_clusters_distances(method)


def check_table(out: Path | None) -> None:
    """Raise for a file that cannot hold the table, before the work starts."""
    if out is None or out.suffix.lower() == ".json":
        return
    wanted = format_of_output(out, ", or .json")
    if FORMATS[wanted].write is None:
        raise click.UsageError(
            f"--out {out}: the table has one row per number of clusters, which {wanted} cannot "
            "hold; choose another suffix."
        )


def _checked(request: ChooseRequest) -> ChooseRequest:
    """Return the request with the method for what DATA holds; raise for what cannot be done."""
    method = request.method
    if request.distances:
        request.refuse(("save_plan",), "With --distances every column is a point")
        method = for_distances(request)
    check_matrix(method, request.distances)
    method = for_gower(method, request.typed)
    null = check_null(method, request.null, typed="null" in request.typed)
    if not null:
        without_points = "--distances" if request.distances else "--metric gower"
        why = "--no-null" if "null" in request.typed else without_points
        unused = ("effort", "n_surrogates", "level")
        request.refuse(unused, f"With {why} there are no surrogates")
    check_choosing_method(method)
    check_table(request.paths.get("--out"))
    others = {option: path for option, path in request.paths.items() if option != "--out"}
    check_tools(request.data, request.columns, others)
    return replace(request, method=method, null=null)


def choose(request: ChooseRequest) -> None:
    """Profile a range of k."""
    request = _checked(request)
    data, paths, method, ks = request.data, request.paths, request.method, request.ks
    if request.distances:
        points = read_square(data, request.columns)
    else:
        points = read_points(data, for_metric(request.columns, method.metric), own=False)
    used = min(int(points.kept.sum()), request.max_points)
    if ks[-1] >= used:
        raise ValueError(f"--k goes up to {ks[-1]}; stay below the number of points used, {used}.")
    if isinstance(method.resample, float) and ks[-1] > (left := int(method.resample * used + 1e-9)):
        raise ValueError(
            f"--k goes up to {ks[-1]}, and --resample {method.resample:g} leaves each run "
            f"{left} of {used} points; stay below that, or give a larger share."
        )
    say(f"Scoring {used:,} points of {name_of(data)} with {len(ks)} numbers of clusters.")
    params = method.building() | method.scoring()
    del params["n_clusters"]
    profile = choose_k(
        points.X,
        ks,
        CAKE(**params, verbose=is_interactive()),
        null=VERDICT if request.null else None,
        effort=request.effort,
        n_surrogates=request.n_surrogates,
        level=request.level,
        max_points=request.max_points,
    )
    printed = {"input": data, "rows": len(points.kept)} | profile_fields(profile)
    printed |= {"settings": choice_settings(request, points)} | plan_of(points)
    table = profile.to_frame().reset_index()
    with staged(paths) as drafts:
        if "--out" in drafts and paths["--out"].suffix.lower() == ".json":
            drafts["--out"].write_text(as_json(printed, paths) + "\n", encoding="utf-8")
        elif "--out" in drafts:
            write_table(table, drafts["--out"])
        if "--plot" in drafts:
            draw_profile(drafts["--plot"], profile)
        if "--report" in drafts:
            write_choice_page(drafts["--report"], profile, points, params, name_of(data))
        if "--save-plan" in drafts:
            write_plan(drafts["--save-plan"], points)
    if request.as_json:
        print_json(printed, paths)
        return
    if request.to_stdout:
        print_table(table)
    notes = unscored(left_out_of(points), len(points.kept))
    print_summary(request, profile.summary(), points.plan, notes)


def profile_fields(profile: KProfile) -> dict[str, Any]:
    """Return the profile as JSON."""
    names = ["best", "confidence", "plausible", "strongest", "choices", "structured", "p_value"]
    names += ["level", "left_out", "notes", "n_points", "n_rows", "n_runs"]
    fields = {name: getattr(profile, name) for name in names} | {"verdict": profile.verdict()}
    return fields | {"profile": records(profile.to_frame(), "n_clusters")}


def choice_settings(request: ChooseRequest, points: Points) -> dict[str, Any]:
    """Return all settings that are needed to make the profile again."""
    names = ["ks", "null", "max_points"]
    names += ["effort", "n_surrogates", "level"] if request.null else []
    names += ["distances"] if request.distances else []
    own = {name: getattr(request, name) for name in names}
    return request.method.settings((*BUILDING, *SCORING)) | own | planned_settings(points)


def write_choice_page(
    path: Path, profile: KProfile, points: Points, params: dict[str, Any], name: str
) -> None:
    """Write a page of the profile, with the data at each plausible number side by side."""
    title = f"How many clusters are there in {name}?"
    if points.view is not None or sparse.issparse(points.X) or points.drawn is not None:
        # Distances, sparse data and mixed tables take long to cluster again, or have no axes.
        profile.report(path, title=title)
        return
    X = np.asarray(points.X, dtype=np.float64)
    if len(X) > DRAWN:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), DRAWN, replace=False))]
    # The plausible ones, and at least two to compare.
    most = min(MOST_CANDIDATES, max(2, len(set(profile.plausible) - {1})))
    shown = profile.n_clusters[np.argsort(-profile.probability, kind="stable")[:most]].tolist()
    labels = {k: CAKE(n_clusters=k, **params).fit(X).labels_ for k in shown}
    view = data_view(X, [str(column) for column in points.X.columns], np.zeros(len(X)), "nothing")
    profile.report(path, view=view, labels=labels, title=title)


def draw_profile(path: Path, profile: KProfile) -> None:
    """Draw how probable each k is, and which signals favour it."""
    # No window, no state.
    from matplotlib.figure import Figure

    from clustertrust.displays import KProfileDisplay

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    KProfileDisplay.from_profile(profile, ax=figure.subplots())
    save_figure(figure, path)
