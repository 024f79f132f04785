from itertools import combinations
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import oracles
import pandas as pd
import pytest
from extras import extra
from hypothesis import given
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from strategies import few, labelings, unique_runs

from clustertrust import align_labels, matching
from clustertrust.cells import meet
from clustertrust.matching import best_match, contingency_tables, match_runs

pl = extra("polars")

shapes = st.tuples(st.integers(1, 4), st.integers(1, 4))
tables = shapes.flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(0, 6)))


def total(table, match):
    return sum(table[a, b] for a, b in match.items())


def all_matchings(table):
    return oracles.matchings(range(table.shape[0]), range(table.shape[1]))


def tables_by_pair(cells):
    """{(r, q): table} with a row for each cluster of run r and a column for each of run q."""
    found = {}
    for r, others, counts in contingency_tables(cells):
        for q, table in zip(others.tolist(), counts, strict=True):
            assert (r, q) not in found
            assert not table[:, cells.n_clusters[q] :].any()  # columns beyond the clusters of run q
            found[r, q] = table[:, : cells.n_clusters[q]]
    return found


@few
@given(labelings())
def test_contingency_tables(labels):
    cells = meet(labels)
    found = tables_by_pair(cells)
    assert set(found) == set(combinations(range(labels.shape[1]), 2))
    for (r, q), table in found.items():
        expected = oracles.contingency(labels[:, r].tolist(), labels[:, q].tolist())
        assert table.shape == (len(cells.names[r]), len(cells.names[q]))
        assert table.sum() == expected.total()
        for (a, b), count in expected.items():
            assert table[cells.names[r] == a, cells.names[q] == b] == count


def test_contingency_tables_held_one_at_a_time_are_the_same(monkeypatch):
    cells = meet(np.random.default_rng(0).integers(-1, 4, size=(30, 6)))
    together = tables_by_pair(cells)
    monkeypatch.setattr(matching, "_TABLE_BYTES", 1)
    assert all(len(others) == 1 for _, others, _ in contingency_tables(cells))
    apart = tables_by_pair(cells)
    assert set(apart) == set(together)
    for pair, table in apart.items():
        assert_array_equal(table, together[pair])


@few
@given(tables)
def test_best_match_reaches_the_largest_total(table):
    match = best_match(table)
    found = {a: int(b) for a, b in enumerate(match) if b >= 0}
    assert match.shape == (len(table),)
    assert len(found) == len(set(found.values())) == min(table.shape)
    assert total(table, found) == max(total(table, other) for other in all_matchings(table))


class SolvedError(Exception):
    pass


def match_without_solver(table):
    """The matching of two runs with this contingency table.

    SolvedError where it cannot be read off.
    """
    a, b = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    with patch.object(matching, "linear_sum_assignment", side_effect=SolvedError):
        cells = meet(np.column_stack([a, b]))
        partners = match_runs(cells).to[0, :, 1]
    return (
        a,
        b,
        {
            int(x): int(cells.names[1][y])
            for x, y in zip(cells.names[0], partners, strict=False)
            if y >= 0
        },
    )


@few
@given(tables.filter(np.any))
def test_the_shortcut_is_taken_only_where_the_optimum_is_unique(table):
    try:
        a, b, match = match_without_solver(table)
    except SolvedError:
        return  # no shortcut here; what the solver finds is tested below
    assert [match] == oracles.optima(a.tolist(), b.tolist())


def test_the_shortcut_is_taken_at_all():
    assert match_without_solver(np.array([[1, 5, 0], [4, 3, 1]]))[2] == {0: 1, 1: 0}


@pytest.mark.parametrize(
    "table",
    [
        # The first largest entries lie in different columns, yet row 0 has two.
        [[5, 5, 0], [0, 5, 0], [0, 0, 5]],
        [[5, 1], [4, 3]],  # two rows want one column
        [[5, 1], [1, 5], [2, 2]],  # more rows than columns
    ],
)
def test_the_shortcut_is_not_taken(table):
    with pytest.raises(SolvedError):
        match_without_solver(np.array(table))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_best_match_without_clusters(shape):
    assert_array_equal(best_match(np.zeros(shape, dtype=np.int64)), np.full(shape[0], -1))


@few
@given(labelings())
def test_the_inverse_serves_the_other_direction(labels):
    cells = meet(labels)
    found = match_runs(cells)
    assert_array_equal(found.agreement, found.agreement.T)
    for r, q in np.ndindex(found.agreement.shape):
        for a, b in enumerate(found.to[r, :, q]):
            assert b < 0 or found.to[q, b, r] == a
        assert (found.to[r, :, q] >= 0).sum() == min(cells.n_clusters[r], cells.n_clusters[q])


@few
@given(unique_runs())
def test_match_runs_finds_the_one_optimum(labels):
    cells = meet(labels)
    found = match_runs(cells)
    for r, q in combinations(range(labels.shape[1]), 2):
        first, second = labels[:, r].tolist(), labels[:, q].tolist()
        names = [[*map(int, cells.names[run]), None] for run in (r, q)]
        partners = {names[0][a]: names[1][b] for a, b in enumerate(found.to[r, :, q]) if b >= 0}
        assert partners == oracles.optima(first, second)[0]
        agreed = [value for value in oracles.matching_agreement(first, second) if value is not None]
        assert found.agreement[r, q] == pytest.approx(np.mean(agreed) if agreed else 0.0)


@few
@given(unique_runs(min_runs=2))
def test_align_labels_renames_by_the_one_optimum(labels):
    target, source = labels[:, 0].tolist(), labels[:, 1].tolist()
    match = oracles.optima(source, target)[0]
    assert align_labels(target, source).tolist() == [match.get(label, -1) for label in source]


KINDS = {
    "int": ([5, 5, 2, 2, -1], [5, 5, 2, 2, 2], -1),
    "int8": (np.array([5, 5, 2, 2, -3], dtype=np.int8), [5, 5, 2, 2, 2], -1),
    "uint8": (np.array([5, 5, 2, 2, 2], dtype=np.uint8), [5, 5, 2, 2, 2], -1),
    "float": ([5.0, 5.0, 2.0, 2.0, np.nan], [5, 5, 2, 2, 2], -1),
    "float, negative": ([5.0, 5.0, 2.0, 2.0, -1.0], [5, 5, 2, 2, 2], -1),
    "int and None": ([5, 5, 2, 2, None], [5, 5, 2, 2, 2], -1),
    "bool": ([True, True, False, False, False], [True, True, False, False, False], None),
    "bool and None": ([True, True, False, False, None], [True, True, False, False, False], None),
    "text": (["b", "b", "a", "a", "a"], ["b", "b", "a", "a", "a"], None),
    "text and None": (["b", "b", "a", "a", None], ["b", "b", "a", "a", "a"], None),
    "Series": (
        pd.Series(["b", "b", "a", "a", None], index=[9, 8, 7, 6, 5]),
        ["b", "b", "a", "a", "a"],
        None,
    ),
    "categories": (
        pd.Categorical(["b", "b", "a", "a", None], categories=list("abc")),
        list("bbaaa"),
        None,
    ),
    "categories of numbers": (pd.Series([5, 5, 2, 2, -1], dtype="category"), [5, 5, 2, 2, 2], -1),
    "Int64": (pd.array([5, 5, 2, 2, None], dtype="Int64"), [5, 5, 2, 2, 2], -1),
    "polars text": (pl.Series(["b", "b", "a", "a", None]), ["b", "b", "a", "a", "a"], None),
    "polars categories": (
        pl.Series(["b", "b", "a", "a", None], dtype=pl.Categorical),
        list("bbaaa"),
        None,
    ),
    "polars int": (pl.Series([5, 5, 2, 2, None]), [5, 5, 2, 2, 2], -1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_align_labels_into_any_kind_of_name(kind):
    target, names, nothing = KINDS[kind]
    aligned = align_labels(target, [0, 0, 1, 1, 1])
    assert aligned.tolist() == names
    assert [type(name) for name in aligned.tolist()] == [type(name) for name in names]
    assert align_labels(target, [0, 0, 1, 1, -1]).tolist() == [*names[:4], nothing]


@pytest.mark.parametrize("kind", KINDS)
def test_align_labels_from_any_kind_of_name(kind):
    source = KINDS[kind][0]
    expected = [0, 0, 1, 1, 1] if kind in {"uint8", "bool", "text"} else [0, 0, 1, 1, -1]
    assert align_labels([0, 0, 1, 1, 1], source).tolist() == expected


def test_align_labels_keeps_uint64_whole():
    aligned = align_labels(np.array([1, 1, 2], dtype=np.uint64), [0, 0, 1])
    assert aligned.tolist() == [1, 1, 2]
    assert aligned.dtype.kind != "f"


@pytest.mark.parametrize("kind", [int, str])
def test_source_clusters_without_a_partner(kind):
    target = [kind(label) for label in [0, 0, 0, 1, 1, 1]]
    nothing = -1 if kind is int else None
    assert align_labels(target, ["x", "x", "z", "y", "y", "y"]).tolist() == [
        *target[:2],
        nothing,
        *target[3:],
    ]


def test_target_clusters_without_a_partner_go_unused():
    assert align_labels([0, 0, 0, 1, 1, 2], list("xxxyyy")).tolist() == [0, 0, 0, 1, 1, 1]


def test_points_that_target_does_not_assign_get_the_name_of_their_cluster():
    assert align_labels([3, 3, -1, 8, -1], [1, 1, 1, 0, 0]).tolist() == [3, 3, 3, 8, 8]


def test_align_labels_without_any_assigned_point():
    assert align_labels([-1, -1], [0, 1]).tolist() == [-1, -1]
    assert align_labels([0, 1], [-1, -1]).tolist() == [-1, -1]


def test_align_labels_of_different_lengths():
    with pytest.raises(ValueError, match=r"target has 3 points and source has 2"):
        align_labels([0, 1, 1], [0, 1])


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        (3, [0, 1], r"target must be one flat sequence.*shape is \(\)"),
        ([0, 1], [[0, 1], [1, 0]], r"source must be one flat sequence.*shape is \(2, 2\)"),
        ([0.5, 1.0], [0, 1], r"target contains .*0\.5"),
        ([0, 1], [0.0, np.inf], r"source contains .*inf"),
    ],
)
def test_align_labels_refuses_what_is_no_label(target, source, message):
    with pytest.raises(ValueError, match=message):
        align_labels(target, source)
