"""The experiment on tables of numbers and categories, in small; and its page beside its numbers."""

import numpy as np
import pandas as pd
import pytest
from experiments.paper.results import read
from experiments.research import DOCS, folder
from experiments.research.mixed import run as mixed
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score


def small_case(n=60):
    rng = np.random.default_rng(0)
    group = np.arange(n) % 2
    table = pd.DataFrame(
        {
            "size": rng.normal(10.0 * group, 1.0),
            "colour": pd.Categorical(np.where(rng.random(n) < 0.97, group, 1 - group).astype(str)),
            "gaps": pd.Series(rng.normal(6.0 * group, 1.0)).where(rng.random(n) > 0.1),
        }
    )
    return mixed.Case(table, group, 2)


def test_a_category_weighs_as_much_as_a_number():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.normal(3, 7, 300),
            "two": pd.Categorical(rng.choice(["a", "b"], 300, p=[0.8, 0.2])),
            "many": pd.Categorical(rng.choice(list("abcdef"), 300)),
        }
    )
    X = mixed.one_hot(table)
    parts = np.split(X, [1, 3], axis=1)
    n = len(table)
    # over all pairs, a row with itself included, as the shares count them
    means = [2 * (pdist(part) ** 2).sum() / n**2 for part in parts]
    assert_allclose(means, 2.0, rtol=1e-9)


@pytest.mark.parametrize("method", sorted(mixed.METHODS))
def test_every_method_finds_two_clear_groups(method):
    case = small_case()
    found = mixed.METHODS[method](case, 0)
    assert adjusted_rand_score(case.classes, found.labels) > 0.8
    assert np.isfinite(found.scores).all()


def test_a_table_of_results(monkeypatch):
    monkeypatch.setattr(mixed, "load", lambda name, rows: small_case())
    table = mixed.run("penguins", mixed.QUICK)
    assert table["method"].tolist() == list(mixed.METHODS)
    assert table["auroc"].dropna().between(0, 1).all()  # NaN: all labels are right
    assert (table["seconds"] > 0).all()
    assert table["k"].tolist() == [2, 2, 2]
    assert mixed.page(table, mixed.QUICK).count("penguins") == 1


def test_tables_have_both_kinds_of_columns_and_no_class():
    for name, source in mixed.TABLES.items():
        case = mixed.load(name, 100)
        if case is None:  # its package is not installed
            continue
        kinds = {str(dtype) for dtype in case.table.dtypes}
        assert "category" in kinds
        assert kinds - {"category"}
        assert source.target not in case.table.columns
        assert case.k == len(np.unique(case.classes)) >= 2


@pytest.mark.printed
def test_the_page_says_what_the_table_says():
    table = read(folder("mixed") / "mixed.csv")
    assert set(table["dataset"]) == set(mixed.FULL.sets)
    assert mixed.page(table, mixed.FULL) == (folder("mixed") / "mixed.md").read_text()
    assert mixed.in_short(table, mixed.FULL).strip() in (DOCS / "distances.md").read_text()
