"""Labels of runs: clusters numbered anew, cells, tables of two runs, matching and agreement."""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import compiled


@compiled
def rename(labels, largest):  # type: ignore[no-untyped-def]
    """Clusters of each run (n, R) numbered by first appearance, and the label behind each number:
    (R, largest + 1).

    Labels are at most `largest`; negative ones become -1. O(n R), row by row as the labels lie in
    memory.
    """
    n, R = labels.shape
    number = np.full((R, largest + 1), -1, dtype=np.int32)
    names = np.full((R, largest + 1), -1, dtype=np.int64)
    counts = np.zeros(R, dtype=np.int32)
    codes = np.full((n, R), -1, dtype=np.int32)
    for i in range(n):
        for r in range(R):
            label = labels[i, r]
            if label >= 0:
                code = number[r, label]
                if code < 0:
                    code = counts[r]
                    number[r, label] = code
                    names[r, code] = label
                    counts[r] += 1
                codes[i, r] = code
    return codes, names, counts


@compiled
def meet(labels):  # type: ignore[no-untyped-def]
    """Cell of each row of `labels` (n, R) and first row of each cell; cells count up by first
    appearance.

    O(n R) expected: one look at each row, found again in a hash table that is at most half full.
    """
    n, R = labels.shape
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    of = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    m = 0
    for i in range(n):
        key = np.uint64(14695981039346656037)  # FNV-1a over the labels of the row
        for r in range(R):
            key = (key ^ np.uint64(labels[i, r] + 1)) * np.uint64(1099511628211)
        key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(size - 1))
        while True:
            cell = table[slot]
            if cell < 0:
                table[slot] = m
                of[i] = m
                first[m] = i
                m += 1
                break
            same = True
            for r in range(R):
                if labels[first[cell], r] != labels[i, r]:
                    same = False
                    break
            if same:
                of[i] = cell
                break
            slot = (slot + 1) & (size - 1)
    return of, first[:m].copy()


@compiled
def contingencies(rows, counts, run, others, k, k_others):  # type: ignore[no-untyped-def]
    """Count points by cluster of `run` and of each other run, Eq. (4): (others, k, k_others).

    O(m len(others)): one sweep over the cells serves all other runs.
    """
    tables = np.zeros((others.size, k, k_others), dtype=np.int64)
    for j in range(rows.shape[0]):
        own = rows[j, run]
        if own >= 0:
            for t in range(others.size):
                other = rows[j, others[t]]
                if other >= 0:
                    tables[t, own, other] += counts[j]
    return tables


@compiled
def strict_matches(tables, widths):  # type: ignore[no-untyped-def]
    """Best matching of each table (t, k, ·) where it can be read off, and whether it can; -1
    elsewhere.

    Where every row has one largest entry and these lie in different columns, that is the only
    optimum of Eq. (5) and no assignment problem needs solving. Table t has `widths[t]` columns. O(t
    k²).
    """
    t, k, _ = tables.shape
    match = np.full((t, k), -1, dtype=np.int64)
    settled = np.zeros(t, dtype=np.bool_)
    for x in range(t):
        taken = np.zeros(widths[x], dtype=np.bool_)
        fine = True
        for a in range(k):
            largest, best, ties = np.int64(-1), 0, 0
            for b in range(widths[x]):
                if tables[x, a, b] > largest:
                    largest, best, ties = tables[x, a, b], b, 0
                elif tables[x, a, b] == largest:
                    ties += 1
            if ties > 0 or largest < 0 or taken[best]:
                fine = False
                break
            taken[best] = True
            match[x, a] = best
        settled[x] = fine
        if not fine:
            for a in range(k):
                match[x, a] = -1
    return match, settled


@compiled
def agreement_sums(rows, to):  # type: ignore[no-untyped-def]
    """out[j, r] = number of other runs that agree with run r on row j, Eq. (6); `to` is (R, k, R).

    Each pair of runs is looked at from both sides, O(m R²): side by side in memory the comparisons
    fill the vector registers, and nothing is added to the sums of another run.
    """
    m, R = rows.shape
    sums = np.zeros((m, R), dtype=np.int32)
    for j in range(m):
        for r in range(R):
            own = rows[j, r]
            if own >= 0:
                agree = np.int32(-1)  # not with itself
                for q in range(R):
                    agree += np.int32(to[r, own, q] == rows[j, q])
                sums[j, r] = agree
    return sums
