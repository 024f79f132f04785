"""What other systems do with text: code pages without most letters, and shells other than bash."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from command import FAST, process

from clustertrust.cli import cli, terminal

CODE_PAGE = {"PYTHONIOENCODING": "cp1252"}  # as in a file or a pipe on Windows


@pytest.fixture
def names(folder):
    """Scores of a table whose names a code page of the west cannot write."""
    table = pd.DataFrame({"名": [f"行{i}" for i in range(12)], "a": range(12), "b": [0, 1, 9] * 4})
    table.to_csv("表.csv", index=False)
    return table["名"].tolist()


def printed(*words):
    running = process("score", "表.csv", *FAST, "--id", "名", *words, env=CODE_PAGE, text=False)
    out, err = running.communicate()
    assert running.returncode == 0, err
    return out, err


def test_letters_that_the_output_has_not_are_question_marks(names):
    told = printed("--out", "scores.csv")[0].decode("cp1252")
    assert "Names the rows: ?." in told
    assert "Wrote scores.csv" in told
    assert pd.read_csv("scores.csv")["名"].tolist() == names


def test_data_are_utf8_whatever_the_system_has(names):
    table, notes = printed("--out", "-")
    assert pd.read_csv(io.BytesIO(table))["名"].tolist() == names
    assert b"\r" not in table
    assert notes.decode("cp1252")
    told = json.loads(printed("--json")[0].decode())
    assert {row["id"] for row in told["ambiguous"]} <= set(names)


def test_commands_can_be_pasted_on_windows(folder, monkeypatch):
    """Its shells know double quotes, and have no mark in common that continues a line."""
    monkeypatch.setattr(terminal, "ON_WINDOWS", True)
    monkeypatch.setenv("COLUMNS", "60")
    table = pd.DataFrame({"my rank": np.repeat([7, 8, 9], 111), "n": [f"n{i}" for i in range(333)]})
    table.to_csv("my data.csv", index=False)
    told = CliRunner().invoke(cli, ["score", "my data.csv", *FAST]).stderr.splitlines()[-1]
    assert told == 'Try: clustertrust score "my data.csv" -k 3 --runs 4 --keep "my rank"'
    assert terminal.quote('5" disk') == r'"5\" disk"'
    assert terminal.quote("plain.csv") == "plain.csv"
