"""`python -m experiments`: run the paper's experiments, and compare our numbers with the printed ones."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib

from experiments.paper import data, figures, remarks, results, runs, tables
from experiments.paper.checking import check
from experiments.paper.estimates import Estimates, sizes
from experiments.paper.protocols import PROTOCOLS, Protocol
from experiments.paper.results import Experiment

Todo = list[tuple[str, str, Protocol]]  # data set, experiment, protocol


def experiments() -> dict[str, Experiment]:
    """All experiments by name, tables first."""
    found = {}
    for package in (tables, figures, remarks):
        for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
            module = importlib.import_module(f"{package.__name__}.{name}")
            folder = package.__name__.rpartition(".")[2]
            found[name] = replace(module.EXPERIMENT, package=folder, about=module.__doc__ or "")
    return found


def parse(known: dict[str, Experiment]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run the experiments of the paper and compare our numbers with the printed ones. "
        "A data set that is finished is not run again: delete its rows, or the file, to run it anew.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, or all")
    parser.add_argument(
        "--list", action="store_true", help="list the experiments and what is done, and run nothing"
    )
    parser.add_argument(
        "--protocol",
        choices=list(PROTOCOLS),
        help="as the authors ran it, or as it should be; both",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small part: two small sets, two repetitions"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="run again what is finished, write nothing, and say which numbers move",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="of a check, only as many items as take this long by the times of earlier runs",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        default=[],
        metavar="SET",
        help="only these data sets; or a folder of them",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help=f"folder of the results; default {results.RESULTS.name} next to the code",
    )
    arguments = parser.parse_args()
    sets = dict.fromkeys(data_set for experiment in known.values() for data_set in experiment.sets)
    for name in [name for name in arguments.data if name not in sets]:
        if not Path(name).is_dir():
            parser.error(f"--data {name!r} is neither a data set ({', '.join(sets)}) nor a folder")
        os.environ["CLUSTERTRUST_DATA"] = name
        arguments.data.remove(name)
    if arguments.check and arguments.quick:
        parser.error("--check runs what is committed, of which --quick is a part; leave one out")
    if arguments.minutes is not None and not arguments.check:
        parser.error("--minutes belongs to --check")
    unknown = sorted(set(arguments.names) - {*known, "all"})
    if unknown:
        parser.error(f"unknown experiments {unknown}; see --list")
    if not arguments.names and not arguments.list:
        parser.error("name some experiments, or all; see --list")
    return arguments


def work(known: dict[str, Experiment], arguments: argparse.Namespace, out: Path) -> Todo:
    """What is left to do, or to check, the cheapest data sets first: data set, experiment, protocol."""
    chosen = list(known) if "all" in arguments.names else arguments.names
    # The fair protocol has nothing to do with the authors' versions.
    allowed = ["printed"] if results.stack() == "pinned" else list(PROTOCOLS)
    protocols = [
        replace(PROTOCOLS[name], quick=arguments.quick)
        for name in allowed
        if arguments.protocol in (None, name)
    ]
    todo = []
    done = {name: results.read(out / f"{name}.csv") for name in chosen}
    # Made for one figure.
    drawn = dict.fromkeys(s for name in chosen for s in known[name].sets if s not in data.ALL)
    for data_set in [*drawn, *data.CHEAPEST_FIRST]:
        for name in chosen:
            quick = data.QUICK if set(data.QUICK) & set(known[name].sets) else known[name].sets[:1]
            if data_set not in known[name].sets or data_set not in (
                arguments.data or known[name].sets
            ):
                continue
            if arguments.quick and data_set not in quick:
                continue
            todo += [
                (data_set, name, protocol)
                for protocol in protocols
                if protocol.name in known[name].protocols
                and _is_due(known[name], done[name], data_set, protocol, check=arguments.check)
            ]
    return todo


def _is_due(
    experiment: Experiment, done: Any, data_set: str, protocol: Protocol, *, check: bool
) -> bool:
    """Whether an item is to be run: not finished yet, or for a check finished and no time of a machine."""
    finished = results.is_done(done, data_set, protocol.name)
    return finished and not experiment.again if check else experiment.again or not finished


def show_list(known: dict[str, Experiment], out: Path) -> None:
    """Print a line for each experiment."""
    for name, experiment in known.items():
        table = results.read(out / f"{name}.csv")
        finished = [
            f"{protocol} {sum(results.is_done(table, data_set, protocol) for data_set in experiment.sets)}"
            for protocol in experiment.protocols
        ]
        print(
            f"{name:28} {experiment.title}\n{'':28} done of {len(experiment.sets)}: {', '.join(finished)}"
        )


def known_times(folder: Path, *, quick: bool) -> dict[tuple[str, str, str], float]:
    """Core seconds of items; what ran here, and on this stack, counts more than what the committed results took."""
    measured: dict[tuple[str, str, str, str], float] = {}
    for known in (results.RESULTS, folder):
        measured |= results.known_seconds(known, quick=quick)
    by_key: dict[tuple[str, str, str], float] = {}
    for (name, data_set, protocol, stack), seconds in measured.items():
        if stack == results.stack() or (name, data_set, protocol) not in by_key:
            by_key[name, data_set, protocol] = seconds
    return by_key


class Progress:
    """What is left to do in core seconds, measured by earlier runs or estimated; printed before and between items."""

    def __init__(self, todo: Todo, folder: Path):
        quick = bool(todo) and todo[0][2].quick
        measured, short = known_times(folder, quick=quick), known_times(folder, quick=True)
        estimate = Estimates(measured, short, sizes(results.RESULTS))
        items = [(name, data_set, protocol.name) for data_set, name, protocol in todo]
        self.expected = [measured.get(item) or estimate(item) for item in items]
        self.timed = [item in measured for item in items]
        self.cores = joblib.cpu_count()
        self.done = 0

    def left(self) -> str:
        """Time for the rest, in words."""
        rest, timed = self.expected[self.done :], self.timed[self.done :]
        known = [seconds for seconds in rest if seconds is not None]
        if not known:
            return "no time known"
        minutes = sum(known) / 60
        estimated = sum(
            seconds is not None and not is_timed
            for seconds, is_timed in zip(rest, timed, strict=True)
        )
        more = f"; {estimated} items estimated" if estimated else ""
        more += f"; {len(rest) - len(known)} items not timed yet" if len(known) < len(rest) else ""
        return f"about {minutes:.0f} core minutes left ({minutes / self.cores:.0f} to {minutes:.0f} here{more})"

    def tell(self, text: str) -> None:
        """Show a bar where somebody is looking, else a line."""
        of = len(self.expected)
        if sys.stderr.isatty():
            filled = round(30 * self.done / max(1, of))
            bar = f"[{'#' * filled}{'.' * (30 - filled)}]"
            print(
                f"\r\033[K{bar} {self.done}/{of} {text}; {self.left()}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        else:
            print(f"{self.done}/{of} {text}; {self.left()}", file=sys.stderr, flush=True)


def within(todo: Todo, minutes: float, folder: Path) -> Todo:
    """Return the items that fit into a time, the shortest first; print which, and what is left.

    An item counts if it was timed with these versions of the libraries.
    """
    stack = results.stack()
    taken = {
        key[:3]: seconds
        for key, seconds in results.known_seconds(folder, quick=False).items()
        if key[3] == stack
    }
    timed = [item for item in todo if (item[1], item[0], item[2].name) in taken]
    timed.sort(key=lambda item: taken[item[1], item[0], item[2].name])
    chosen, total = [], 0.0
    for item in timed:
        total += taken[item[1], item[0], item[2].name]
        if total > 60 * minutes:
            break
        chosen.append(item)
    names: dict[str, list[str]] = {}
    for data_set, name, protocol in chosen:
        names.setdefault(name, []).append(f"{data_set} ({protocol.name})")
    print(f"In {minutes:g} core minutes these can be checked, {len(chosen)} of {len(todo)} items:")
    for name, sets in sorted(names.items()):
        print(f"  {name}: {', '.join(sets)}")
    longer, untimed = len(timed) - len(chosen), len(todo) - len(timed)
    print(f"Not checked: {longer} items that take longer, and {untimed} that were never timed.")
    return chosen


def run_all(known: dict[str, Experiment], todo: Todo, out: Path) -> None:
    """Run items one by one, each stored when it is finished, so that an interrupted job goes on where it was."""
    progress = Progress(todo, out)
    print(f"{len(todo)} items to run, {progress.left()}.", file=sys.stderr)
    for data_set, name, protocol in todo:
        progress.tell(f"{name} {data_set} {protocol.name}")
        began = time.process_time()
        try:
            rows = list(known[name].run(data_set, protocol))
        except runs.TooCostly as why:
            rows = results.not_run(name, known[name], data_set, f"not run: {why}")
        results.add(out / f"{name}.csv", known[name], data_set, protocol.name, rows)
        taken = time.process_time() - began
        results.note_seconds(out, (name, data_set, protocol.name), taken, quick=protocol.quick)
        progress.done += 1
    progress.tell("done")


def main() -> None:
    """Run what was asked for."""
    known = experiments()
    arguments = parse(known)
    data.find_data()
    out = arguments.out or (results.HERE / "quick" if arguments.quick else results.RESULTS)
    if arguments.list:
        show_list(known, out)
        return
    todo = work(known, arguments, out)
    if arguments.check:
        if arguments.minutes is not None:
            todo = within(todo, arguments.minutes, out)
        sys.exit(1 if check(known, todo, out) else 0)
    run_all(known, todo, out)
    if results.stack() == "current":
        draw(
            known,
            {name for _, name, _ in todo} or set(arguments.names) - {"all"} or set(known),
            out,
        )


def draw(known: dict[str, Experiment], names: set[str], out: Path) -> None:
    """Draw the figures anew, and write the page where the results are the committed ones."""
    from experiments.paper import page  # matplotlib is not needed to run

    for name in sorted(names):
        table = results.read(out / f"{name}.csv")
        if known[name].draw is not None and len(table):
            page.save_figure(known[name].draw(table), out / f"{name}.png")
    page.write_page(known, out)
    print(f"\nResults: {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
