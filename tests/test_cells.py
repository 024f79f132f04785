import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal
from strategies import few, labelings

from clustertrust.cells import meet, rename


@few
@given(labelings())
def test_two_points_share_a_cell_iff_no_run_separates_them(labels):
    cells = meet(labels)
    assigned = np.where(labels < 0, -1, labels)
    never_apart = (assigned[:, None] == assigned[None]).all(axis=2)
    assert_array_equal(cells.cell_of[:, None] == cells.cell_of[None], never_apart)


@few
@given(labelings())
def test_meet_is_what_unique_rows_give(labels):
    cells = meet(labels)
    rows, first, counts = np.unique(
        np.maximum(labels, -1), axis=0, return_index=True, return_counts=True
    )
    assert len(cells.rows) == len(rows)
    assert_array_equal(cells.counts[cells.cell_of[first]], counts)
    assert_array_equal(cells.counts, np.bincount(cells.cell_of))


@few
@given(labelings())
def test_rows_say_which_cluster_of_each_run_holds_the_cell(labels):
    cells = meet(labels)
    for r, names in enumerate(cells.names):
        given_back = np.append(names, -1)[cells.rows[cells.cell_of, r]]
        assert_array_equal(given_back, np.maximum(labels[:, r], -1))


@few
@given(labelings())
def test_every_cluster_is_a_union_of_cells(labels):
    cells = meet(labels)
    assert_array_equal(cells.n_clusters, [len(set(run) - {-1}) for run in labels.T.tolist()])
    members = cells.members.toarray()
    for r, names in enumerate(cells.names):
        columns = members[:, cells.start[r] : cells.start[r + 1]]
        assert_array_equal(columns[cells.cell_of], labels[:, [r]] == names)
        assert_array_equal(
            cells.sizes[cells.start[r] : cells.start[r + 1]], (labels[:, [r]] == names).sum(axis=0)
        )
    assert_array_equal(cells.assigned_runs()[cells.cell_of], (labels >= 0).sum(axis=1))


@few
@given(labelings())
def test_order_lists_the_points_cell_by_cell(labels):
    cells = meet(labels)
    for j in range(len(cells.rows)):
        listed = cells.order[cells.bounds[j] : cells.bounds[j + 1]]
        assert_array_equal(listed, np.flatnonzero(cells.cell_of == j))


@few
@given(labelings())
def test_rename_counts_up_by_first_appearance(labels):
    codes, names = rename(labels)
    for r, run in enumerate(labels.T.tolist()):
        appearance = list(dict.fromkeys(label for label in run if label >= 0))
        assert_array_equal(names[r], appearance)
        assert_array_equal(
            codes[:, r], [appearance.index(label) if label >= 0 else -1 for label in run]
        )


@few
@given(labelings())
def test_encode_undoes_the_renaming(labels):
    cells = meet(labels)
    assert_array_equal(cells.encode(labels), cells.rows[cells.cell_of])


def test_encode_gives_minus_1_for_a_label_that_no_training_point_has():
    cells = meet(np.array([[7, 0], [7, -1], [3, -1]]))
    assert_array_equal(
        cells.encode(np.array([[3, 0], [0, 7], [-1, -1]])), [[1, 0], [-1, -1], [-1, -1]]
    )
