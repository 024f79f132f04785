"""Labels of runs: renaming, cells, contingencies and agreement."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Bools, Floats, Ints


def rename(labels: Ints, largest: int) -> tuple[Ints, Ints, Ints]:
    """Clusters of each run (n, R) numbered by first appearance, and the label behind each number:
    (R, largest + 1).
    """
    codes = np.full(labels.shape, -1, dtype=np.int32)
    names = np.full((labels.shape[1], largest + 1), -1, dtype=np.int64)
    counts = np.zeros(labels.shape[1], dtype=np.int32)
    for r, run in enumerate(labels.T):
        clusters, first = np.unique(run[run >= 0], return_index=True)
        counts[r] = clusters.size
        names[r, : clusters.size] = clusters[np.argsort(first)]
        for code in range(clusters.size):
            codes[run == names[r, code], r] = code
    return codes, names, counts


def meet(labels: Ints) -> tuple[Ints, Ints]:
    """Cell of each row of `labels` (n, R) and first row of each cell.

    Cells count up by first appearance. All negative labels are one.
    """
    labels = np.maximum(labels, -1)
    _, first, of = np.unique(labels, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[of.ravel()], first[order]


def contingencies(rows: Ints, counts: Ints, run: int, others: Ints, k: int, k_others: int) -> Ints:
    """Count points by cluster of `run` and of each other run, Eq. (4): (others, k, k_others)."""
    tables = np.zeros((len(others), k, k_others), dtype=np.int64)
    for table, other in zip(tables, others, strict=True):
        both = (rows[:, run] >= 0) & (rows[:, other] >= 0)
        np.add.at(table, (rows[both, run], rows[both, other]), counts[both])
    return tables


def strict_matches(tables: Ints, widths: Ints) -> tuple[Ints, Bools]:
    """Best matching of each table (t, k, ·) where it can be read off, and whether it can.

    -1 elsewhere.
    """
    match = np.full(tables.shape[:2], -1)
    settled = np.zeros(len(tables), dtype=bool)
    for t, width in enumerate(widths):
        table = tables[t, :, :width]
        if table.size > 0 and len(table) <= width:
            top = table.argmax(axis=1)
            strict = (table == table.max(axis=1, keepdims=True)).sum() == len(table)
            settled[t] = strict and np.unique(top).size == len(table)
            match[t] = np.where(settled[t], top, -1)
    return match, settled


def agreement_sums(rows: Ints, to: Ints) -> Ints:
    """out[j, r] = number of runs that agree with run r on row j, Eq. (6); `to` is (R, k, R)."""
    sums = np.zeros(rows.shape, dtype=np.int32)
    for r in range(rows.shape[1]):
        j = np.flatnonzero(rows[:, r] >= 0)
        sums[j, r] = (to[r, rows[j, r]] == rows[j]).sum(axis=1) - 1  # not with itself
    return sums


def vote(
    rows: Ints, partners: Ints, reference: int, order: Ints, runs: Ints, k: int
) -> tuple[Floats, Ints, Ints, Floats]:
    """Shares of `runs` (m,) that vote for each label (m, k), label, runner-up and strength (m,)."""
    m, R = rows.shape
    cast = np.where(rows >= 0, partners[np.arange(R), rows], -1)
    votes = (cast[:, :, None] == np.arange(k)).sum(axis=1)
    most, own = votes.max(axis=1), rows[:, reference]
    leads = votes == most[:, None]
    by_order = cast[:, order]
    leading = (by_order >= 0) & leads[np.arange(m)[:, None], by_order]
    first = by_order[np.arange(m), leading.argmax(axis=1)]
    tied = leads.sum(axis=1) > 1
    labels = np.where(tied, np.where(own >= 0, own, first), votes.argmax(axis=1))
    labels = np.where(most > 0, labels, -1).astype(np.int64)
    others = np.where(np.arange(k) == labels[:, None], 0, votes)
    seconds = np.where(others.max(axis=1) > 0, others.argmax(axis=1), -1)
    with np.errstate(invalid="ignore"):  # no run assigns the row: 0/0 is NaN
        shares = votes / runs[:, None]
    return shares, labels, seconds, shares[np.arange(m), np.maximum(labels, 0)]
