"""Kill -9 at random moments during `clustertrust score` on a large file with a checkpoint, fifty
times in all.

After each kill nothing half-written may be there: every output is missing, or whole. The run that
is let go on to its end must leave the same bytes as one that was never disturbed.

    python -m benchmarks.kill [KILLS]
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.common import HERE, Row, blobs

KILLS = 50
EACH = 5  # kills before a run is let go on to its end
ROWS, COLUMNS = 30_000, 8
OUTPUTS = ("scores.csv", "scores.model")


def start(data: Path, folder: Path) -> subprocess.Popen[bytes]:
    """The command, in a process of its own."""
    folder.mkdir(exist_ok=True)
    typed = [
        "score",
        data,
        "-k",
        "5",
        "--runs",
        "8",
        "--memory",
        "4",
        "--standardize",
        "--checkpoint",
        folder / "runs",
    ]
    typed += ["--out", folder / OUTPUTS[0], "--model", folder / OUTPUTS[1]]
    environment = os.environ | {"PYTHONPATH": str(HERE.parent / "src")}
    command = [sys.executable, "-m", "clustertrust", *map(str, typed)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(data: Path, folder: Path) -> None:
    """Run the command to its end."""
    process = start(data, folder)
    _, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"clustertrust ended with {process.returncode}: {said.decode()}")


def digests(folder: Path) -> dict[str, str]:
    """What there is of the outputs, by name.

    The times that fits took are not part of a model's identity.
    """
    return {name: _digest(folder / name) for name in OUTPUTS if (folder / name).exists()}


def _digest(path: Path) -> str:
    if path.suffix != ".model":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    from clustertrust.storage import read_arrays

    meta, arrays = read_arrays(path, "model")
    for run in meta["confidence"]["Confidence"]["ensemble"]["Ensemble"]["runs"]["tuple"]:
        run["Run"].pop("seconds")
    total = hashlib.sha256(repr(sorted(meta.items())).encode())
    for name in sorted(arrays):
        total.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return total.hexdigest()


def run(kills: int = KILLS) -> Iterator[Row]:
    """Yield two rows: half-written outputs after kills, and finished runs that differ."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data.csv"
        header = ",".join(f"x{j}" for j in range(COLUMNS))
        np.savetxt(
            data, blobs(ROWS, d=COLUMNS, k=5), delimiter=",", header=header, comments="", fmt="%.6f"
        )
        began = time.monotonic()
        finish(data, Path(name) / "whole")
        seconds = time.monotonic() - began
        whole = digests(Path(name) / "whole")
        assert set(whole) == set(OUTPUTS)
        done, half, differing, runs, left = 0, 0, 0, 0, 0
        while done < kills:
            folder = Path(name) / f"killed-{runs}"
            for _ in range(min(EACH, kills - done)):
                process = start(data, folder)
                time.sleep(rng.uniform(0.1, 1.0) * seconds)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                done += process.returncode == -signal.SIGKILL
                found = digests(folder)
                half += any(whole[output] != digest for output, digest in found.items())
                for output in found:  # that run had come to its end; the next shall not find it
                    (folder / output).unlink()
            left += len(
                [path for path in folder.iterdir() if path.name.startswith(".clustertrust-")]
            )
            finish(data, folder)
            runs += 1
            differing += digests(folder) != whole
    told = f"(and {left} hidden folders of killed runs, which hold no result)"
    what = f"{done} kills during `clustertrust score`: half-written outputs {told}"
    yield Row(what, half, "kills", done, half / done, "0", "yes" if half == 0 else "no")
    what = f"{runs} runs finished after up to {EACH} kills each: outputs that differ from an undisturbed run"
    yield Row(
        what, differing, "runs", runs, differing / runs, "0", "yes" if differing == 0 else "no"
    )


if __name__ == "__main__":
    for row in run(*(int(text) for text in sys.argv[1:2])):
        print(f"{row.work}: {row.ours:g} of {row.peer:g} ({row.met})", flush=True)
