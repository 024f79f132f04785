"""Every step at which a disk can fail: the outputs of a command are the old ones or the new ones.

Here some steps of each command; `make test-faults` takes one after the other.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from extras import need_format
from failing import failing, scarce
from sklearn.datasets import load_iris

from clustertrust.cli import cli
from clustertrust.files import write_table

ALL = os.environ.get("CLUSTERTRUST_ALL_FAULTS") == "1"
SOME = 4  # steps of a command in `make test`
FAST = ["--runs", "2", "--geometry", "rms", "--threshold", "0.2"]
SCORE = ["score", "x.csv", *FAST, "-k"]
OUTPUTS = ["--report", "r.html", "--plot", "p.svg", "--model", "m", "--save-plan", "plan.json"]
# What is typed, without the number that makes old and new differ, and where that goes.
COMMANDS = {
    "score": (*SCORE, "{k}", "--out", "s.csv", *OUTPUTS),
    "score in blocks": ("score", "long.csv", *SCORE[2:], "{k}", "--memory", "1", "--out", "b.csv"),
    "predict": ("predict", "model-{k}", "x.csv", "--threshold", "0.2", "--out", "o.csv"),
    "report": ("report", "scores-{k}.csv", "--data", "x.csv", "--out", "r.html"),
    "audit": ("audit", "x.csv", "--labels-column", "g{k}", "--runs", "4", "--out", "s.csv"),
    "choose-k": ("choose-k", "x.csv", "-k", "{k}:4", "--no-null", "--runs", "2", "--out", "k.csv"),
    "ask": ("ask", "x.csv", "scores-{k}.csv", "-n", "5", "--out", "q.csv"),
    "decide": (
        *("decide", "scores-{k}.csv", "answers-{k}.csv"),
        *("--out", "kept.csv", "--report", "d.html"),
    ),
}
for suffix in ("csv.gz", "json", "npy", "npz", "xlsx", "ods", "parquet", "feather", "tsv"):
    COMMANDS[f"score to .{suffix}"] = (*SCORE, "{k}", "--out", f"o.{suffix}")


def run(typed):
    return CliRunner().invoke(cli, typed)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files that the commands read."""
    folder = tmp_path_factory.mktemp("made")
    iris = load_iris(as_frame=True)
    frame = iris.data.iloc[::3].set_axis(list("abcd"), axis=1)
    frame["g2"] = np.where(iris.target[::3] == 0, "u", "v")
    frame["g3"] = np.array(["u", "v", "w"])[iris.target[::3]]
    frame.to_csv(folder / "x.csv", index=False)
    # More than --memory 1 reads whole.
    pd.concat([frame[list("abcd")]] * 20).to_csv(folder / "long.csv", index=False)
    where = os.getcwd()
    os.chdir(folder)
    try:
        for k in (2, 3):
            typed = [*SCORE, str(k), "--out", f"scores-{k}.csv", "--model", f"model-{k}"]
            assert run(typed).exit_code == 0
            asked = run(["ask", "x.csv", f"scores-{k}.csv", "-n", "12", "--out", "q.csv"])
            assert asked.exit_code == 0, asked.output
            questions = pd.read_csv("q.csv", dtype=str, keep_default_na=False)
            questions["answer"] = "right"
            questions.to_csv(f"answers-{k}.csv", index=False)
        Path("q.csv").unlink()
    finally:
        os.chdir(where)
    return folder


def contents():
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


CASES = [(command, there) for command in COMMANDS for there in ("new", "replaced")]
if not ALL:
    QUICK = ("score", "score in blocks", "predict", "decide", "score to .xlsx", "score to .parquet")
    CASES = [("predict", "new"), *((command, "replaced") for command in QUICK)]


@pytest.mark.parametrize(("command", "there"), CASES)
def test_outputs_are_old_or_new(command, there, made, tmp_path, monkeypatch):
    if command.startswith("score to"):
        need_format(command.split()[-1])
    monkeypatch.chdir(tmp_path)
    inputs = {path.name: path.read_bytes() for path in made.iterdir()}
    typed = {k: [word.format(k=k) for word in COMMANDS[command]] for k in (2, 3)}
    for name, content in inputs.items():
        Path(name).write_bytes(content)
    if there == "replaced":
        assert run(typed[2]).exit_code == 0, run(typed[2]).output
    before = contents()
    with failing(tmp_path) as steps:
        done = run(typed[3])
    assert done.exit_code == 0, done.output
    written = {name for name, content in contents().items() if before.get(name) != content}
    assert written
    count = len(steps.done)
    # Arrow writes by itself.
    writes = set() if command.endswith((".parquet", ".feather")) else {"write"}
    assert {step.split()[0] for step in steps.done} >= writes | {"open", "fsync", "os.rename"}
    chosen = range(1, count + 1)
    if not ALL:
        chosen = np.linspace(1, count, SOME).astype(int).tolist()
    for n in chosen:
        for path in Path().iterdir():
            if str(path) not in before:
                path.unlink()
        for name, content in before.items():
            Path(name).write_bytes(content)
        with failing(tmp_path, n) as steps:
            done = run(typed[3])
        after, place = contents(), f"step {n} of {count}, {steps.done[n - 1]}: {done.output}"
        changed = {name for name in written if before.get(name) != after.get(name)}
        assert changed == (written if done.exit_code == 0 else set()), place
        assert after.keys() == (before.keys() | changed), place
        assert [path for path in Path().iterdir() if path.is_dir()] == [], place
        if done.exit_code:
            assert done.exit_code == 1, place
            assert done.stderr.splitlines()[-1].startswith("Error: "), place
            assert "a bug" not in done.stderr, place


# Memory that runs out


# Where a call that finds no memory is made while an object is collected, Python says so itself.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.npz", "x.xlsx", "x.parquet"])
def test_a_reader_without_memory_says_so(name, made, tmp_path, monkeypatch):
    """At the n-th call that a reader makes, for one n after the other."""
    need_format(Path(name).suffix)
    monkeypatch.chdir(tmp_path)
    write_table(pd.read_csv(made / "x.csv"), name)
    typed = [*SCORE, "2", "--out", "o.csv"]
    typed[1] = name
    with scarce() as count:
        assert run(typed).exit_code == 0
    for path in Path().glob("o.*"):
        path.unlink()
    assert count[0] > 30
    for n in np.linspace(1, count[0], 100 if ALL else 3).astype(int).tolist():
        with scarce(n):
            done = run(typed)
        # An object that is collected takes its error along, and less is done the second time.
        if done.exit_code == 0:
            assert pd.read_csv("o.csv")["score"].notna().all()
            for path in Path().glob("o.*"):
                path.unlink()
            continue
        assert done.exit_code == 1, f"{n} of {count[0]}: {done.output}"
        assert done.stderr.startswith("Error: Out of memory."), f"{n} of {count[0]}: {done.stderr}"
        assert len(done.stderr.splitlines()) <= 2
        assert [path.name for path in Path().iterdir()] == [name]
