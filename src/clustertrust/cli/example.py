"""The example of the command: Iris scored, explained, and written as files to try."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from clustertrust import CAKE
from clustertrust.cli.outputs import staged
from clustertrust.cli.printing import with_options
from clustertrust.cli.request import DemoRequest
from clustertrust.cli.terminal import echo, quote
from clustertrust.cli.writing import votes_of
from clustertrust.files import write_table
from clustertrust.summary import headline, summary_of


def demo(request: DemoRequest) -> None:
    """Score Iris, and explain the least sure point."""
    from sklearn.datasets import load_iris

    from clustertrust.report import write_report

    files = {} if request.out is None else _demo_files(Path(request.out))
    iris = load_iris(as_frame=True)
    names = pd.Index([f"flower-{i:03}" for i in range(1, len(iris.data) + 1)], name="flower")
    X = iris.data.set_axis(
        [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.data.columns], axis=1
    )
    X = X.set_axis(names, axis=0)
    cake = CAKE(n_clusters=3, random_state=0).fit(X)
    worst = int(cake.scores_.argmin())
    table, at = cake.to_frame(), cake.confidence_.cut()
    shown = with_options(summary_of(table, at=at))
    echo("How much can each assignment of 150 Iris flowers to 3 clusters be trusted?\n")
    echo(shown.text(headline(150, 3, cake.ensemble_, cake.geometry_method_)))
    echo(f"\nWhy did {names[worst]} score as it did?\n{cake.explain(names[worst])}\n")
    if not files:
        echo("clustertrust demo --out FOLDER writes this example as files to try the commands on.")
        return
    with staged(files) as drafts:
        write_table(X.assign(species=iris.target_names[iris.target]).reset_index(), drafts["data"])
        write_table(table.reset_index(), drafts["--out"])
        cake.save(drafts["--model"])
        write_report(
            drafts["--report"],
            table,
            X,
            votes=votes_of(cake.confidence_),
            settings={"n_clusters": 3, "random_state": 0},
            chance=at.chance,
            title="Iris: which flowers can be trusted to belong to their cluster?",
        )
    echo(
        f"Wrote {', '.join(str(path) for path in files.values())}. The same from the command "
        "line:\n"
    )
    typed = {option: quote(str(path)) for option, path in files.items()}
    outputs = " ".join(f"{option} {typed[option]}" for option in files if option != "data")
    options = "-k 3 --id flower --drop species --only-scores"
    echo(f"  clustertrust score {typed['data']} {options} {outputs}")


def _demo_files(folder: Path) -> dict[str, Path]:
    """Return the paths of the example's files; raise if one exists."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "data": "iris.csv",
        "--out": "scores.csv",
        "--model": "iris.model",
        "--report": "report.html",
    }
    for name in files.values():
        if (folder / name).exists():
            raise click.UsageError(
                f"--out {folder}: the file {name} exists already; name another folder."
            )
    return {option: folder / name for option, name in files.items()}
