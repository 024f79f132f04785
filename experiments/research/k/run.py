"""How often is `choose_k` right, how were its weights found, and what does it say on sets that it was not fitted to?

Four steps, each of which runs the sets that are missing from its file in `results`:

- `first`: `choose_k` as it was, the usual indices and R's packages on the first held-out sets (`choose_k.csv`; an hour).
  `--points FOLDER` writes the points for R:
  `Rscript experiments/research/k/rivals.R FOLDER experiments/research/k/results/k_rivals.csv`.
- `weights`: the signals on the development sets (`k_development.csv`), and the weights that follow; some minutes.
- `signals`: the signals on all held-out sets (`k_held_out.csv`), by which rules are compared; some minutes.
- `second`: the usual indices on the second held-out sets (`k_second.csv`), and the tables of all rules; some minutes.

`first` and `second` also put their tables into the docs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust.k_profile import committee
from experiments.paper.page import save_figure
from experiments.paper.results import read, write
from experiments.research import into_page
from experiments.research.heldout import Set
from experiments.research.k import again, rivals, second_sets, signals, weights


def run_missing(
    path: Path,
    sets: Iterable[tuple[str, Set]],
    rows_of: Callable[[str, Set, pd.DataFrame], Any],
    form: str | None = None,
) -> pd.DataFrame:
    """Run sets one by one, each stored when it is finished; `rows_of` is given the rows that the set has."""
    rows = read(path)
    for group, made in sets:
        new = pd.DataFrame(
            rows_of(group, made, rows[rows["set"] == made.name] if len(rows) else rows)
        )
        if len(new):
            rows = pd.concat([rows, new], ignore_index=True)
            write(path, rows.to_csv(index=False, float_format=form))
            print(f"{time.strftime('%H:%M:%S')} {made.name}", file=sys.stderr, flush=True)
    return read(path)


def asked(methods: list[str]) -> Callable[[str, Set, pd.DataFrame], Any]:
    """Make the rows of those methods that a set does not have; indices say nothing on shapes without clusters."""

    def rows_of(group: str, made: Set, there: pd.DataFrame) -> list[dict[str, Any]]:
        wanted = [method for method in methods if method == rivals.OURS or group != "shapes"]
        seen = set(there["method"]) if len(there) else set()
        return list(rivals.rows_of(group, made, wanted, seen))

    return rows_of


def first(arguments: argparse.Namespace) -> None:
    """Run rivals on the first held-out sets, and write tables and picture."""
    if arguments.points:
        rivals.write_points(arguments.points)
        return
    sets = rivals.all_sets() if arguments.methods else ()
    rows = run_missing(arguments.out, sets, asked(arguments.methods))
    if arguments.out == rivals.FILE:
        rows = rivals.with_two(rivals.with_r(rows))
        write(rivals.FILE.with_suffix(".md"), rivals.page(rows))
        into_page("choose_k.md", "choices", rivals.page(rows))
        if {"generated", "real"} <= set(rows["group"]):
            save_figure(rivals.draw(rows), rivals.FILE.with_suffix(".png"))


def find_weights(arguments: argparse.Namespace) -> None:
    """Run the signals on development sets, and print weights and mass."""
    rows = run_missing(
        arguments.out,
        weights.all_sets(arguments.each),
        lambda group, made, there: () if len(there) else weights.rows_of(group, made),
        "%.4g",
    )
    cases = weights.cases_of(rows)
    for used in committee.WEIGHTS:
        w = weights.fit_weights(cases, used, arguments.prior)
        print(used, w[[signals.SIGNALS.index(name) for name in used]].round(2))
    w = weights.fit_weights(cases, signals.SIGNALS, arguments.prior)
    for mass in (0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98):
        by_group = {
            group: weights.share_covered(weights.cases_of(of), w, mass, arguments.prior)
            for group, of in rows.groupby("group")
        }
        print(f"mass {mass}: share covered and mean size {by_group}")


def find_signals(arguments: argparse.Namespace) -> None:
    """Run the signals on held-out sets."""
    for name in arguments.rounds:

        def rows_of(group: str, made: Set, there: pd.DataFrame, name: str = name) -> Any:
            if len(there) and name in set(there["round"]):
                return ()
            new = signals.rows_of(group, made)
            new.insert(0, "round", name)
            return new

        sets = (pair for pair in signals.ROUNDS[name]() if pair[0] in arguments.groups)
        run_missing(arguments.out, sets, rows_of, "%.4g")


def second(arguments: argparse.Namespace) -> None:
    """Run rivals on the second held-out sets, and write the tables of all rules."""
    sets = [pair for pair in second_sets.all_sets() if pair[0] != "shapes"]
    sets.sort(key=lambda pair: pair[0] != "real")  # those first
    rows = run_missing(again.FILE, sets if arguments.methods else (), asked(arguments.methods))
    into_page("choose_k.md", "again", again.first_page())
    into_page("choose_k.md", "second", again.second_page(rows))
    write(again.FILE.with_suffix(".md"), again.second_page(rows) + "\n")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.research.k.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(required=True, metavar="STEP")

    def step(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        of = steps.add_parser(name, help=run.__doc__, description=run.__doc__)
        of.set_defaults(run=run)
        return of

    of = step("first", first)
    known = [rivals.OURS, *rivals.INDICES]
    of.add_argument("--methods", nargs="*", choices=known, default=known, help="none: tables alone")
    of.add_argument("--points", type=Path, metavar="FOLDER", help="write the points for R there")
    of.add_argument("--out", type=Path, default=rivals.FILE)
    of = step("weights", find_weights)
    of.add_argument("--each", type=int, default=8, help="sets of each generated family")
    of.add_argument("--prior", type=float, default=1.0, help="p(k) ∝ 1/k^PRIOR; 0 was first")
    of.add_argument("--out", type=Path, default=weights.FILE)
    of = step("signals", find_signals)
    rounds = list(signals.ROUNDS)
    of.add_argument("--rounds", nargs="*", choices=rounds, default=rounds)
    of.add_argument("--groups", nargs="*", default=["real", "generated", "shapes"])
    of.add_argument("--out", type=Path, default=signals.FILE)
    of = step("second", second)
    known = list(rivals.INDICES)
    of.add_argument("--methods", nargs="*", choices=known, default=known, help="none: tables alone")
    return parser.parse_args()


def main() -> None:
    """Run what was asked for."""
    arguments = parse()
    arguments.run(arguments)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    main()
