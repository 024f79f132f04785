"""Random command lines: options, values and files, of every command.

A result or an error of one or two lines is in order. A find is a traceback, "a bug", a line that
takes longer than `LIMIT`, an input that changed, or a draft that is left. What would reach for a
network (`--scheduler`) is left out, and counts stay small: a million runs are allowed, and long.

    PYTHONPATH=tests:src python -m fuzz.commands SEED

prints the command line of a seed and what came of it.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from click.testing import CliRunner

from clustertrust.cli import cli
from fuzz.arguments import LIMIT, in_time
from fuzz.damage import change_archive, change_bytes, change_json, change_lines

# --debug shows tracebacks.
SKIPPED = ("scheduler", "debug", "help", "version")
COUNTS = ["-1", "0", "1", "2", "3", "4", "x", "", "1.5", "1e3", "9" * 30, "nan", "2:3", "2,3", "-0"]
WORDS = ["", "x", "a", "b", "name", "label", "score", "a,b", "nope", "none", " ", "-", "é", "\t"]
WORDS += [";", "auto", "0", "-1", "\udcff", "{a}", "%s", "../x", "a" * 300, "'", '"', "None"]
WORDS += ["=1+1"]
REALS = ["0", "1", "0.5", "-1", "2", "nan", "inf", "x", "", "1e-300", "0,5"]
PROCESSES = 0.005  # share of lines that run in a process of their own


@functools.cache
def pool() -> Path:
    """Return a folder with the files that commands read, some of them damaged."""
    folder = Path(tempfile.mkdtemp(prefix="clustertrust-fuzz-"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + 4 * (np.arange(30) % 3)[:, None]
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        name=[f"r{i}" for i in range(30)], g=np.array(["u", "v", "w"])[np.arange(30) % 3]
    )
    where = os.getcwd()
    os.chdir(folder)
    try:
        _write(frame)
        typed = ["score", "x.csv", "-k", "3", "--runs", "2", "--geometry", "rms"]
        _must([*typed, "--out", "scores.csv", "--model", "model", "--save-plan", "plan.json"])
        _must(["ask", "x.csv", "scores.csv", "-n", "9", "--out", "answers.csv"])
        asked = pd.read_csv("answers.csv", dtype=str)
        asked.assign(answer="right").to_csv("answers.csv", index=False)
        for seed in range(3):
            own = np.random.default_rng(seed)
            model = change_archive(Path("model").read_bytes(), own)
            Path(f"bad{seed}.model").write_bytes(model)
            Path(f"bad{seed}.csv").write_bytes(change_lines(Path("x.csv").read_bytes(), own))
            Path(f"bad{seed}.xlsx").write_bytes(change_bytes(Path("x.xlsx").read_bytes(), own))
            plan = change_json(json.loads(Path("plan.json").read_text()), own)
            Path(f"bad{seed}.json").write_text(json.dumps(plan))
    finally:
        os.chdir(where)
    return folder


def _write(frame: pd.DataFrame) -> None:
    from clustertrust.files import write_table

    for suffix in ("csv", "tsv", "csv.gz", "json", "jsonl", "xlsx", "ods", "parquet", "feather"):
        write_table(frame, f"x.{suffix}")
    numbers = frame[list("abc")].to_numpy()
    np.save("x.npy", numbers)
    np.savez("x.npz", X=numbers, Y=numbers)
    np.savetxt("square.csv", np.abs(numbers[:, :1] - numbers[:, :1].T), delimiter=",")
    pd.DataFrame({"run1": range(30), "run2": [0, 1] * 15}).to_csv("labels.csv", index=False)
    frame.assign(b=frame["b"].where(frame["b"] > 0)).to_csv("gaps.csv", index=False)
    frame[["name", "g"]].to_csv("words.csv", index=False)
    Path("empty.csv").write_bytes(b"")
    Path("names.csv").write_text("a,b\n")
    Path("bytes.csv").write_bytes(bytes(range(256)))
    Path("folder").mkdir()
    frame.to_csv("folder/x.csv", index=False)
    Path("none").mkdir()


def _must(typed: list[str]) -> None:
    done = CliRunner().invoke(cli, typed)
    assert done.exit_code == 0, done.output


def command_line(rng: np.random.Generator) -> list[str]:
    """Return what is typed."""

    def one(choices: Any) -> Any:
        choices = list(choices)
        return choices[int(rng.integers(len(choices)))]

    files = sorted(path.name for path in pool().iterdir())
    files += ["nope.csv", "x.unknown", "-", "x.csv", "x.csv", "x.csv"]
    name = one(cli.commands)
    command = cli.commands[name]
    usual = {"model": "model", "scores": "scores.csv", "answers": "answers.csv", "row": "0"}
    typed = [name]
    for param in command.params:
        if isinstance(param, click.Argument) and rng.random() < 0.97:
            plain = usual.get(param.name or "", "x.csv")
            typed.append(plain if rng.random() < 0.6 else one(files))
    options = [p for p in command.params if isinstance(p, click.Option) and p.name not in SKIPPED]
    chosen = [p for p in options if p.required and rng.random() < 0.97]
    # Small work, unless something else is drawn for it.
    chosen += [p for p in options if p.name in ("n_clusters", "k") and rng.random() < 0.9]
    chosen += [one(options) for _ in range(int(rng.integers(0, 5)))]
    for param in chosen:
        option = one([*param.opts, *param.secondary_opts])
        typed.append(option if rng.random() < 0.98 else option[:-1])
        if not param.is_flag and rng.random() < 0.98:
            typed.append(_value(param, one, rng, files))
    return typed


def _value(param: click.Option, one: Any, rng: np.random.Generator, files: list[str]) -> str:
    if rng.random() < 0.08:
        return str(one(WORDS))
    kind = param.type
    if param.name in ("n_clusters", "k") and rng.random() < 0.8:
        return str(one(["2", "3", "2:3", "2,3"]))
    if isinstance(kind, click.Choice):
        return str(one([*kind.choices, "x"]))
    if isinstance(kind, click.Path):
        kinds = ("csv", "xlsx", "html", "png", "svg", "npz", "json")
        outputs = [*(f"o.{kind}" for kind in kinds), "o", "-", "none"]
        suffix = {"report": "o.html", "plot": "o.svg"}.get(param.name or "", "o.csv")
        return str(one([*files, *outputs, suffix, suffix, suffix, "no/o.csv", "folder"]))
    if isinstance(kind, click.types.IntParamType):
        return str(one(COUNTS))
    if isinstance(kind, click.types.FloatParamType):
        return str(one(REALS))
    return str(one([*WORDS, *COUNTS[:6], "kmeans", "gmm", "rms", "exact", "harmonic", "euclidean"]))


def random_call(rng: np.random.Generator) -> None:
    """Run a random command line; ValueError: it was refused as it should be."""
    typed = command_line(rng)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(pool(), folder, dirs_exist_ok=True)
        before, where = _contents(folder), os.getcwd()
        os.chdir(folder)
        try:
            code, told = _run(typed, in_process=rng.random() >= PROCESSES)
        finally:
            os.chdir(where)
        after = _contents(folder)
    line = " ".join(typed)
    assert code in (0, 1, 2), f"{line}: exit code {code}: {told[-300:]}"
    assert "Traceback" not in told, f"{line}: {told[-500:]}"
    assert "a bug" not in told, f"{line}: {told[-300:]}"
    left = [path for path in after if ".clustertrust-" in path or path.endswith(".part")]
    assert not left, f"{line}: left {left}"
    if code:
        changed = [path for path in before | after if before.get(path) != after.get(path)]
        changed = [path for path in changed if "--checkpoint" not in typed]
        assert not changed, f"{line}: an error, and {changed} changed"
        raise ValueError(told)


def _run(typed: list[str], *, in_process: bool) -> tuple[int, str]:
    began = time.process_time()
    # Others may be busy on this machine; what hangs takes no time of the processor.
    with in_time(6 * LIMIT):
        if not in_process:
            words = [word.encode("utf-8", "surrogateescape") for word in typed]
            done = subprocess.run(
                [sys.executable, "-m", "clustertrust", *words],
                capture_output=True,
                input=b"a,b\n1,2\n",
            )
            return done.returncode, done.stderr.decode(errors="replace")
        result = CliRunner().invoke(cli, typed, input="a,b\n1,2\n3,4\n5,7\n")
    took = time.process_time() - began
    assert took <= LIMIT, f"{' '.join(typed)}: {took:.0f} s"
    odd = result.exception
    if odd is not None and not isinstance(odd, SystemExit):
        raise AssertionError(f"{' '.join(typed)}: {type(odd).__name__}: {odd}") from odd
    return result.exit_code, result.stderr


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def main(seed: str) -> None:
    """Try one."""
    rng = np.random.default_rng(int(seed))
    print("clustertrust", " ".join(command_line(np.random.default_rng(int(seed)))))
    random_call(rng)


if __name__ == "__main__":
    main(*sys.argv[1:])
