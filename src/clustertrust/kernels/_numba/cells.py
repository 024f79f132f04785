"""Labels of runs: clusters numbered anew, cells, tables of two runs, matching and agreement."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Bools, Floats, Ints
from clustertrust.kernels._numba.compiling import compiled


@compiled
def _rename(labels, number, names, counts, codes):  # type: ignore[no-untyped-def]
    n, R = labels.shape
    for i in range(n):
        row, coded = labels[i], codes[i]
        for r in range(R):
            label = row[r]
            coded[r] = -1
            if label >= 0:
                code = number[r, label]
                if code < 0:
                    code = counts[r]
                    number[r, label] = code
                    names[r, code] = label
                    counts[r] += 1
                coded[r] = code


def rename(labels: Ints, largest: int) -> tuple[Ints, Ints, Ints]:
    """Clusters of each run (n, R) numbered by first appearance, and the label behind each number:
    (R, largest + 1).

    Labels are at most `largest`; negative ones become -1. O(n R), row by row as the labels lie in
    memory.
    """
    R = labels.shape[1]
    number = np.full((R, largest + 1), -1, dtype=np.int32)
    names = np.full((R, largest + 1), -1, dtype=np.int64)
    counts, codes = np.zeros(R, dtype=np.int32), np.empty(labels.shape, dtype=np.int32)
    _rename(labels, number, names, counts, codes)
    return codes, names, counts


@compiled
def _meet(labels, table, cell_of, first):  # type: ignore[no-untyped-def]
    n, R = labels.shape
    m = 0
    for i in range(n):
        row = labels[i]
        key = np.uint64(14695981039346656037)  # FNV-1a over the labels of the row
        for r in range(R):
            label = row[r] if row[r] >= 0 else -1
            key = (key ^ np.uint64(label + 1)) * np.uint64(1099511628211)
        key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(table.size - 1))
        while True:
            cell = table[slot]
            if cell < 0:
                table[slot] = cell = m
                first[m] = i
                m += 1
                break
            other, same = labels[first[cell]], True
            for r in range(R):
                if other[r] != row[r] and (other[r] >= 0 or row[r] >= 0):
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (table.size - 1)
        cell_of[i] = cell
    return m


def meet(labels: Ints) -> tuple[Ints, Ints]:
    """Cell of each row of `labels` (n, R) and first row of each cell; cells count up by first
    appearance. All negative labels are one.

    O(n R) expected: one look at each row, found again in a hash table that is at most half full.
    """
    n = len(labels)
    table = np.full(max(16, 2 ** (2 * n - 1).bit_length()), -1, dtype=np.int64)
    cell_of, first = np.empty((2, n), dtype=np.int64)
    m = _meet(labels, table, cell_of, first)
    return cell_of, first[:m].copy()


@compiled
def _contingencies(rows, counts, run, others, tables):  # type: ignore[no-untyped-def]
    for j in range(rows.shape[0]):
        row = rows[j]
        own = row[run]
        if own >= 0:
            for t in range(others.size):
                other = row[others[t]]
                if other >= 0:
                    tables[t, own, other] += counts[j]


def contingencies(rows: Ints, counts: Ints, run: int, others: Ints, k: int, k_others: int) -> Ints:
    """Count points by cluster of `run` and of each other run, Eq. (4): (others, k, k_others).

    O(m len(others)): one sweep over the cells serves all other runs.
    """
    tables = np.zeros((others.size, k, k_others), dtype=np.int64)
    _contingencies(rows, counts, run, others, tables)
    return tables


@compiled
def _strict_matches(tables, widths, taken, match, settled):  # type: ignore[no-untyped-def]
    t, k, _ = tables.shape
    for x in range(t):
        fine = True
        for a in range(k):
            row = tables[x, a]
            largest, best, ties = np.int64(-1), 0, 0
            for b in range(widths[x]):
                if row[b] > largest:
                    largest, best, ties = row[b], b, 0
                elif row[b] == largest:
                    ties += 1
            if ties > 0 or largest < 0 or taken[x, best]:
                fine = False
                break
            taken[x, best] = True
            match[x, a] = best
        settled[x] = fine
        if not fine:
            for a in range(k):
                match[x, a] = -1


def strict_matches(tables: Ints, widths: Ints) -> tuple[Ints, Bools]:
    """Best matching of each table (t, k, ·) where it can be read off, and whether it can; -1
    elsewhere.

    Where every row has one largest entry and these lie in different columns, that is the only
    optimum of Eq. (5) and no assignment problem needs solving. Table t has `widths[t]` columns. O(t
    k²).
    """
    t, k, most = tables.shape
    match, settled = np.full((t, k), -1, dtype=np.int64), np.zeros(t, dtype=np.bool_)
    _strict_matches(tables, widths, np.zeros((t, most), dtype=np.bool_), match, settled)
    return match, settled


@compiled
def _agreement_sums(rows, to, sums):  # type: ignore[no-untyped-def]
    m, R = rows.shape
    for j in range(m):
        row = rows[j]
        for r in range(R):
            own = row[r]
            if own >= 0:
                partners, agree = to[r, own], np.int32(-1)  # not with itself
                for q in range(R):
                    agree += np.int32(partners[q] == row[q])
                sums[j, r] = agree


def agreement_sums(rows: Ints, to: Ints) -> Ints:
    """out[j, r] = number of other runs that agree with run r on row j, Eq. (6); `to` is (R, k, R).

    Each pair of runs is looked at from both sides, O(m R²): side by side in memory the comparisons
    fill the vector registers, and nothing is added to the sums of another run.
    """
    sums = np.zeros(rows.shape, dtype=np.int32)
    _agreement_sums(rows, to, sums)
    return sums


@compiled
def _vote(rows, partners, reference, order, runs, votes, names, strength):  # type: ignore[no-untyped-def]
    labels, seconds = names
    m, R = rows.shape
    k = votes.shape[1]
    for j in range(m):
        row, shares = rows[j], votes[j]
        for r in range(R):
            vote = partners[r, row[r]] if row[r] >= 0 else -1
            if vote >= 0:
                shares[vote] += 1.0
        most, label, leaders = 0.0, -1, 0
        for v in range(k):
            if shares[v] > most:
                most, label, leaders = shares[v], v, 1
            elif shares[v] == most:
                leaders += 1
        if label >= 0 and leaders > 1:
            if row[reference] >= 0:
                label = row[reference]
            else:
                for q in range(R):
                    r = order[q]
                    vote = partners[r, row[r]] if row[r] >= 0 else -1
                    if vote >= 0 and shares[vote] == most:
                        label = vote
                        break
        second, next_most = -1, 0.0
        for v in range(k):
            if v != label and shares[v] > next_most:
                second, next_most = v, shares[v]
        for v in range(k):
            shares[v] /= runs[j]
        labels[j], seconds[j] = label, second
        strength[j] = shares[label if label >= 0 else 0]


def vote(
    rows: Ints, partners: Ints, reference: int, order: Ints, runs: Ints, k: int
) -> tuple[Floats, Ints, Ints, Floats]:
    """Shares of `runs` (m,) that vote for each label (m, k), label, runner-up and strength (m,).

    Run r votes for partners[r, rows[j, r]], if that is not negative. The most votes win; a tie goes
    to the reference's own label, or to the leader that the first run in `order` votes for. -1: none
    has a vote. O(m (R + k)).
    """
    m = len(rows)
    votes, strength = np.zeros((m, k)), np.empty(m)
    labels, seconds = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    _vote(rows, partners, reference, order, runs, votes, (labels, seconds), strength)
    return votes, labels, seconds, strength
