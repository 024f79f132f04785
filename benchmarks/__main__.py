"""`python -m benchmarks [NAME …] [--full]`: measure, print, and write results.csv and the table of
README.md.
"""

from __future__ import annotations

import argparse
import importlib
import time

from benchmarks.common import save

QUICK = [
    "approximation",
    "startup",
    "stability",
    "score",
    "many_cells",
    "tiles",
    "ensemble",
    "cores",
    "medoids",
    "whole",
]
FULL = [
    *QUICK,
    "leiden",
    "million",
    "settling",
    "unseen",
    "reasons",
    "opinions",
    "audits",
    "choose_k",
    "learning",
    "reading",
    "command",
    "agreement",
    "crash",
    "kill",
    "soak",
    "fashion",
]
FULL += ["dask_kill", "growth", "scale", "plan"]


def main() -> None:
    """Run the benchmarks that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(FULL)}")
    parser.add_argument(
        "--full", action="store_true", help="all of them, which takes about an hour"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(FULL))
    if unknown:
        parser.error(f"unknown benchmarks {unknown}; choose from {FULL}")
    for name in arguments.names or (FULL if arguments.full else QUICK):
        began = time.perf_counter()
        rows = []
        for row in importlib.import_module(f"benchmarks.{name}").run():
            rows.append(row)
            print(
                f"{name}: {row.work}: {row.ours:.4g} against {row.peer:.4g} ({row.peer_name}): "
                f"{row.ratio:.3g} "
                f"{row.goal} {row.met}",
                flush=True,
            )
        save({name: rows})
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
