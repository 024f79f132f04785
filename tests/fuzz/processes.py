"""Each target runs in processes of its own with a limit on their memory, so that a crash is counted
and the rest goes on.

Where atheris is installed (`pip install atheris`) it guides a share of the changes by the lines of
our readers that they reach.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import arguments, attempts, commands
from fuzz.damage import changed, valid

TESTS = Path(__file__).parents[1]
MEMORY = 3 * 2**30  # bytes that a process may take beyond what it starts with
STRETCH = 25.0  # seconds after which a process hands over to a new one
STRETCHES = {"commands": 300.0}  # it takes a while to make the files that they read
LATEST = 120.0  # seconds by which it may be late before it is ended
READERS = ("csv", "tsv", "csv.gz", "parquet", "npy", "npz", "ensemble", "model", "blocks")
CALLS = {
    "confidence": attempts.random_call,
    "arguments": arguments.random_call,
    "commands": commands.random_call,
}
TARGETS = (*READERS, *CALLS)
INSTRUMENTED = [
    "clustertrust.storage",
    "clustertrust.files.errors",
    "clustertrust.files.reading",
    "clustertrust.files.delimited",
    "clustertrust.files.sources",
    "clustertrust.files.json_files",
    "clustertrust.files.numpy_files",
    "clustertrust.files.text_sources",
    "clustertrust.files.formats",
    "clustertrust.files.tables",
    "clustertrust.files",  # last: it takes its names from those above
]


def _limit_memory() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def stretch(target: str, seed: int, seconds: float, folder: Path) -> None:
    """Try inputs for a while; print counts as JSON.

    The last input lies in the folder, should this process die.
    """
    rng = np.random.default_rng(seed)
    suffix = "csv" if target == "blocks" else target
    files = [] if target in CALLS else valid(target, folder, rng)
    counts: Counter[str] = Counter()
    call = CALLS.get(target, attempts.random_call)
    os.chdir(folder)  # some arguments are taken for names of files
    attempts.attempt(lambda: call(np.random.default_rng(0)))  # compiled before memory is limited
    _limit_memory()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        draw = int(rng.integers(2**62))
        (folder / "seed").write_text(str(draw))
        own = np.random.default_rng(draw)
        if target in CALLS:
            outcome = attempts.attempt(lambda own=own: call(own))  # type: ignore[misc]
        else:
            data = changed(target, files[int(own.integers(0, len(files)))], own)
            outcome = attempts.attempt(
                lambda data=data: attempts.read(target, data, folder / f"input.{suffix}")
            )  # type: ignore[misc]
            if outcome not in {"accepted", "refused"}:
                (folder / f"find-{draw}.{suffix}").write_bytes(data)
        counts[outcome if outcome in {"accepted", "refused"} else f"{outcome} [{draw}]"] += 1
    print(json.dumps(counts))


def guided(target: str, seed: int, seconds: float, folder: Path) -> None:
    """The same, the changes guided by atheris. A find ends it, since atheris stops there."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        for name in INSTRUMENTED:
            sys.modules.pop(name, None)
            importlib.import_module(name)
    attempts.read_table = sys.modules["clustertrust.files"].read_table
    attempts.open_source = sys.modules["clustertrust.files"].open_source
    (folder / "corpus").mkdir(exist_ok=True)
    for i, data in enumerate(valid(target, folder, np.random.default_rng(seed))):
        (folder / "corpus" / str(i)).write_bytes(data)
    counts: Counter[str] = Counter()
    suffix = "csv" if target == "blocks" else target

    def once(data: bytes) -> None:
        outcome = attempts.attempt(lambda: attempts.read(target, data, folder / f"input.{suffix}"))
        counts[outcome] += 1
        (folder / "counts.json").write_text(json.dumps(counts)) if sum(
            counts.values()
        ) % 50 == 0 else None
        if outcome not in {"accepted", "refused"}:
            (folder / f"find-guided-{seed}.{suffix}").write_bytes(data)
            (folder / "counts.json").write_text(json.dumps(counts))
            raise RuntimeError(outcome)

    options = [
        f"-seed={seed % 2**31 + 1}",
        f"-max_total_time={int(seconds)}",
        "-rss_limit_mb=4096",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], once)
    atheris.Fuzz()


def _ended(
    command: list[str], environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a process to its end, or end it when the time is up."""
    try:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -9, "", f"no end within {seconds:.0f} s")


def run_target(target: str, seconds: float, seed: int, finds: Path) -> dict[str, Any]:
    """Stretches one after the other until the time is up."""
    has_atheris = importlib.util.find_spec("atheris") is not None and target in READERS
    began, counts, number = time.monotonic(), Counter[str](), 0
    while (left := seconds - (time.monotonic() - began)) > 0:
        how = "guided" if has_atheris and number % 2 else "stretch"
        span = max(1.0, min(STRETCHES.get(target, STRETCH), left))
        with tempfile.TemporaryDirectory() as name:
            code = f"from pathlib import Path; from fuzz.processes import {how} as go; go({target!r}, {seed + number}, "
            code += f"{span}, Path({name!r}))"
            environment = os.environ | {
                "PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
            }
            done = _ended([sys.executable, "-c", code], environment, span + LATEST)
            written = Path(name) / "counts.json"
            if how == "guided" and written.exists():
                counts.update(json.loads(written.read_text()))
            elif how == "stretch" and done.returncode == 0:
                counts.update(json.loads(done.stdout.splitlines()[-1]))
            if done.returncode and (how == "stretch" or not written.exists()):
                draw = (Path(name) / "seed").read_text() if (Path(name) / "seed").exists() else "?"
                counts[
                    f"the process ended with {done.returncode} [{draw}]: "
                    f"{done.stderr.strip()[-300:]}"
                ] += 1
            for find in [
                *Path(name).glob("find-*"),
                *(Path(name).glob("input.*") if done.returncode else []),
            ]:
                finds.mkdir(exist_ok=True)
                (finds / f"{target}-{find.name}").write_bytes(find.read_bytes())
        number += 1
    found = {what: times for what, times in counts.items() if what not in {"accepted", "refused"}}
    for what, times in found.items():
        print(f"{target}: {times} × {what}", flush=True)
    return {
        "target": target,
        "seconds": round(time.monotonic() - began),
        "inputs": sum(counts.values()),
        "accepted": counts["accepted"],
        "refused": counts["refused"],
        "finds": sum(found.values()),
    }
