"""What is printed keeps within the terminal."""

import shlex

import pytest
from click.testing import CliRunner
from command import FAST, NAMED, run

from clustertrust.cli import cli
from clustertrust.cli.terminal import fit

WIDTH = 60


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def check_width(text):
    assert text.strip()
    assert max(map(len, text.splitlines())) <= WIDTH, text


@pytest.mark.parametrize("command", [None, *cli.commands])
def test_help(command):
    words = ["--help"] if command is None else [command, "--help"]
    result = CliRunner().invoke(cli, words, terminal_width=WIDTH)  # it hides COLUMNS from click
    check_width(result.stdout)
    if cli.commands.get(command, cli).epilog:  # its examples can still be pasted
        given = cli.commands.get(command, cli).epilog.splitlines()
        given = [shlex.split(line) for line in given if line.strip().startswith("clustertrust")]
        pasted = result.stdout.replace("\\\n", " ").splitlines()
        assert [shlex.split(line) for line in pasted if line.startswith("  clustertrust")] == given


@pytest.mark.usefixtures("narrow")
def test_results_notes_and_errors(folder):
    score = ["score", "iris.csv", *FAST, *NAMED, "--fusion", "refined", "--out", "scores.csv"]
    for words in (
        score,
        ["ask", "iris.csv", "scores.csv", "--id", "flower", "--n", "20", "--out", "asked.csv"],
        ["choose-k", "iris.csv", *NAMED, "--k", "2:3", "--runs", "3", "--no-null"],
        ["demo", "--out", "example"],
    ):
        result = run(*words)
        check_width(result.stdout)
        assert "\\\n" not in result.stdout or words[0] in ("ask", "demo")
    check_width(run(*score, "--clusterer", "agglomerative", "--runs", "3").stderr)  # a note
    wrong = CliRunner().invoke(cli, [*score, "--metric", "manhattan"])
    assert wrong.exit_code == 1
    check_width(wrong.stderr)


def test_without_a_terminal_lines_stay_whole(folder):
    told = run("score", "iris.csv", *FAST, *NAMED).stdout
    assert max(map(len, told.splitlines())) > WIDTH


TABLE = "\n".join(
    [
        "       points  mean score  up to 0.23",
        "label                                ",
        "0          62       0.484       0.097",
        "north      65       0.275       0.446",
    ]
)


def test_a_table_is_split_between_its_columns():
    assert fit(TABLE, 40) == TABLE
    rows = [[line.split() for line in part.splitlines()] for part in fit(TABLE, 28).split("\n\n")]
    assert rows == [
        [["points", "mean", "score"], ["label"], ["0", "62", "0.484"], ["north", "65", "0.275"]],
        [["up", "to", "0.23"], ["label"], ["0", "0.097"], ["north", "0.446"]],
    ]


def test_prose_is_wrapped_and_commands_are_continued():
    assert fit("one two three\n  four five six", 10) == "one two\nthree\n  four\n  five six"
    command = "Next: clustertrust ask DATA scores.csv --answers 'my answers.csv' --out more.csv"
    folded = fit(command, 40)
    assert max(map(len, folded.splitlines())) <= 40
    assert shlex.split(folded.replace("\\\n", "")) == shlex.split(command)
    assert fit("a-long-word-that-has-no-blank and", 10) == "a-long-word-that-has-no-blank\nand"
