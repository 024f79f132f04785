"""`clustertrust choose-k`: read, `clustertrust.choose_k`, write, tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from clustertrust import CAKE, KProfile, choose_k
from clustertrust.cli.options import Method
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import Points, read_points
from clustertrust.cli.request import Request
from clustertrust.cli.telling import as_json as told_as_json
from clustertrust.cli.telling import (
    name_of,
    plan_of,
    planned_settings,
    print_table,
    records,
    say,
    tell,
    tell_json,
)
from clustertrust.cli.writing import save_figure, write_plan
from clustertrust.ensemble.clusterers import CLUSTERERS, cluster_parameter
from clustertrust.files import FORMATS, format_of, write_table
from clustertrust.files.formats import need
from clustertrust.null.reference import VERDICT

__all__ = ["Asked", "check_method", "check_table", "choose"]


@dataclass(frozen=True)
class Asked:
    """What the command asks beside the method: the numbers of clusters, and what they are compared
    with.
    """

    ks: tuple[int, ...]
    null: bool
    n_surrogates: int
    level: float
    max_points: int


def check_method(method: Method) -> None:
    """Raise for a clusterer that finds the number of clusters itself."""
    finds = [name for name in method.clusterer if cluster_parameter(CLUSTERERS[name](2)) is None]
    if finds:
        raise click.UsageError(
            f"{finds[0]} finds the number of clusters itself; take another --clusterer."
        )


def check_table(out: Path | None) -> None:
    """Raise for a file that cannot hold the table, before the work."""
    if out is None or out.suffix.lower() == ".json":
        return
    try:
        wanted = format_of(out)
    except ValueError as error:
        raise click.UsageError(f"--out {error} Choose one, or .json.") from error
    need(wanted)
    if FORMATS[wanted].write is None:
        raise click.UsageError(
            f"--out {out}: one row a number of clusters is no {wanted}; choose another suffix."
        )


def choose(request: Request, method: Method, asked: Asked) -> None:
    """Profile a range of k."""
    data, paths = request.data, request.paths
    points = read_points(data, request.columns)
    judged = min(int(points.kept.sum()), asked.max_points)
    if asked.ks[-1] >= judged:
        raise ValueError(
            f"--k goes up to {asked.ks[-1]}; stay below the number of points to judge, {judged}."
        )
    if isinstance(method.resample, float) and asked.ks[-1] > (
        left := int(method.resample * judged + 1e-9)
    ):
        raise ValueError(
            f"--k goes up to {asked.ks[-1]}, and --resample {method.resample:g} leaves each run "
            f"{left} of {judged} "
            "points; stay below that, or give a larger share."
        )
    say(f"Judging {judged:,} points of {name_of(data)} with {len(asked.ks)} numbers of clusters.")
    how = method.building() | method.scoring()
    del how["n_clusters"]
    profile = choose_k(
        points.X,
        asked.ks,
        CAKE(**how, verbose=True),
        null=VERDICT if asked.null else None,
        n_surrogates=asked.n_surrogates,
        level=asked.level,
        max_points=asked.max_points,
    )
    told = {"input": data, "rows": len(points.kept)} | numbers_of(profile)
    told |= {"settings": settings_of(how, asked, points)} | plan_of(points)
    table = profile.to_frame().reset_index()
    with staged(paths) as at:
        if "--out" in at and paths["--out"].suffix.lower() == ".json":
            at["--out"].write_text(told_as_json(told, paths) + "\n", encoding="utf-8")
        elif "--out" in at:
            write_table(table, at["--out"])
        if "--plot" in at:
            draw(at["--plot"], profile)
        if "--save-plan" in at:
            write_plan(at["--save-plan"], points)
    if request.as_json:
        tell_json(told, paths)
        return
    if request.to_stdout:
        print_table(table)
    tell(request, profile.summary(), points)


def numbers_of(profile: KProfile) -> dict[str, Any]:
    """The profile as JSON has it."""
    names = ("best", "strongest", "structured", "p_value", "level", "n_points", "n_runs")
    return {name: getattr(profile, name) for name in names} | {
        "profile": records(profile.to_frame(), "n_clusters")
    }


def settings_of(how: Mapping[str, Any], asked: Asked, points: Points) -> dict[str, Any]:
    """All that is needed to make the profile again."""
    settings = {
        name: value for name, value in how.items() if value is not None and name != "n_jobs"
    }
    settings |= asdict(asked)
    if not asked.null:  # then they are not options that could be given again
        del settings["n_surrogates"], settings["level"]
    return settings | planned_settings(points)


def draw(path: Path, profile: KProfile) -> None:
    """Scores over k, beside those of data without clusters."""
    from matplotlib.figure import Figure  # no window, no state

    from clustertrust.displays import KProfileDisplay

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    KProfileDisplay.from_profile(profile, ax=figure.subplots())
    save_figure(figure, path)
