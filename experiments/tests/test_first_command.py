"""The first command on real tables: its pages beside their records, and the comparisons in small."""

import re

import numpy as np
import pandas as pd
import pytest
from experiments.research import DOCS
from experiments.research.tables_in_the_wild import count, repeats, scales
from experiments.research.tables_in_the_wild.decisions import decided_as, read
from experiments.research.tables_in_the_wild.judge import compared, judge, judged
from experiments.research.tables_in_the_wild.run import HERE
from sklearn.datasets import load_iris, load_wine

KINDS = {
    "before": "_before",
    "rules of before": "_before",
    "unseen": "_unseen",
    "rules of today": "",
}


def verdict(name, decisions):
    right, again = judged(f"judged_{name}.csv"), compared(f"repeats_{name}.csv")
    return judge(read(f"decisions_{name}{decisions}.csv"), right, again)


def records():
    text = (HERE / "new_tables.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*{0,2}(\w+), ([\w ]+?)\*{0,2} \|(.*)\|$", text, re.MULTILINE)
    assert len(rows) == 22
    return rows


def test_counts_of_lists_are_those_of_their_records():
    for name, kind, cells in records():
        found = verdict(name, KINDS[kind])
        silent = len(found.silent)
        told = [int(re.match(r"\d+", cell.strip())[0]) for cell in cells.split("|")]
        expected = [len(found.tables), len(found.tables) - len(found.refused), found.columns]
        expected += [len(found.wrong), silent, found.questions["asked"], found.questions["right"]]
        assert told == expected, (name, kind)
        share = re.search(r"\(([\d.]+) in 1,000\)", cells)
        assert (float(share[1]) if share else 0.0) == pytest.approx(
            1000 * silent / found.columns, abs=0.5
        )


def unseen(name):
    found = verdict(name, "_before" if name == "drawn" else "_unseen")
    results = len(found.tables) - len(found.refused)
    return [
        f"| {len(found.tables)} ",
        f"| {'all' if not found.refused else results}",
        f"{len(found.silent)} of {found.columns:,}",
        f"| {found.questions['right']} of {found.questions['asked']}",
    ]


LISTS = tuple("drawn last more third fourth fifth sixth seventh eighth ninth".split())  # noqa: SIM905


def test_the_evidence_repeats_the_records():
    text = (DOCS / "tables.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    for name in LISTS:
        parts = unseen(name)
        assert any(all(part in line for part in parts) for line in lines), parts
    today = [verdict(name, "") for name in LISTS]
    silent, columns = sum(len(v.silent) for v in today), sum(v.columns for v in today)
    assert f"{silent} of {columns:,} ({1000 * silent / columns:.0f} in 1,000)" in text
    right, asked = (sum(v.questions[what] for v in today) for what in ("right", "asked"))
    assert f"| {right} of {asked} |" in text
    held = [verdict(name, "_unseen") for name in LISTS[6:]]
    results = [len([t for t in v.held if t not in v.refused]) for v in held]
    for v, n_results in zip(held, results, strict=True):
        assert f"; {n_results} of {len(v.held)}" in text
    assert f"({sum(results)} of {sum(len(v.held) for v in held)})" in text


def test_the_readme_repeats_the_records():
    text = (HERE / "README.md").read_text(encoding="utf-8")
    page = " ".join((DOCS / "tables.md").read_text(encoding="utf-8").split())
    for which, name in (("", "the first"), ("_fresh", "fresh")):
        rows, wrong = count.read(f"results{which}.csv"), count.read(f"wrong{which}.csv")
        results = [row for row in rows if row["outcome"] == "result"]
        columns = sum(map(count.columns_of, results))
        silent = sum(not count.is_pointed_at(row, rows) for row in wrong)
        asked = [count.named_in(row["check"]) for row in results if row["check"]]
        cells = [name, len(rows), len(results), columns]
        cells += [f"{len(wrong)} in {len({row['table'] for row in wrong})} tables", silent]
        cells += [f"{sum(map(len, asked))} in {len(asked)} tables"]
        assert f"| {' | '.join(map(str, cells))} |" in text
        assert f"{silent} of {columns:,}; " in page
    for name in LISTS[1:]:
        found = verdict(name, "_unseen")
        results = len(found.tables) - len(found.refused)
        start = (
            f"| {name} | {len(found.tables)} | {results} | {found.columns} | {len(found.wrong)} "
        )
        end = f" | {found.questions['asked']} | {found.questions['right']} |"
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} "))
        assert row.startswith(f"{start}| {len(found.silent)}")
        assert row.endswith(end)


def test_figures_on_scales_are_those_of_their_record():
    rows = pd.read_csv(HERE / "scales.csv", dtype=str, keep_default_na=False).to_dict("records")
    text = " ".join((DOCS / "tables.md").read_text(encoding="utf-8").split())
    lines = scales.summary(rows).splitlines()
    for line in lines[:5]:
        assert line in text
    better, worse = re.findall(r"\d+", lines[5])[:2]
    assert f"no scaling in {better} tables and worse in {worse} " in text
    better, worse = re.findall(r"\d+", lines[6])[:2]
    assert f"better in {better}, worse in {worse}. It leaves {lines[7].split()[-3]} tables" in text
    assert f"{len(rows)} of these tables have a known answer" in text


def named(data, answer="kind"):
    return data.frame.rename(columns={"target": answer})


def test_the_rule_leaves_lengths_and_scales_mixed_units():
    iris = scales.measure(named(load_iris(as_frame=True)), "kind")
    assert iris["rule"] == "none"
    assert iris["ari_auto"] == iris["ari_none"]
    wine = scales.measure(named(load_wine(as_frame=True)), "kind")
    assert wine["rule"] == "standard"
    assert float(wine["ari_auto"]) > 2 * float(wine["ari_none"])
    assert scales.measure(named(load_iris(as_frame=True)).head(40), "kind") is None


def test_columns_that_repeat_others_are_listed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "one": 1})
    frame["sum"] = frame["a"] + frame["b"]
    frame["exp"] = np.exp(frame["a"])
    frame["town"] = rng.choice(["x", "y", "z"], 60)
    frame["code"] = frame["town"].map({"x": 7, "y": 1, "z": 3})
    found = repeats.repeats(frame.assign(other=rng.normal(size=60)))
    assert set(found) == {"a", "exp", "sum", "town", "code"}
    assert repeats.repeats(frame.head(5)) == {}


def test_decisions_are_compared_whatever_their_words():
    assert decided_as(("id", "id", "why", "")) == decided_as(("id", "id", "because", ""))
    assert decided_as(("id", "id", "why", "so?")) != decided_as(("id", "id", "why", ""))
    assert decided_as(None) is None
