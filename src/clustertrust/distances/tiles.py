"""Points laid out for the distance kernels, and the order in which they take pairs of blocks."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from clustertrust._parallel import Order, Team
from clustertrust._types import Array, Floats, Ints
from clustertrust.cells import Cells
from clustertrust.kernels import backend

# Blocks of points: so many that sixteen threads seldom wait for each other, and of so many tiles
# that a pair of them is worth a call.
_BLOCKS, _LARGEST_SMALL = (32, 48), 5
# Parts of a round of tiles: at most this many, with at least this many tiles in each
_PARTS, _PART = 64, 8
# Of points: on one thread they are done before others have started.
_FEW_TILES = 4


def in_fours(X: Array, rows: int = 4) -> Array:
    """Points (n, d) → (n', d'), padded with zeros to the next multiples of `rows` and of four
    features.
    """
    n, d = X.shape
    out = np.zeros((-(-n // rows) * rows, -(-d // 4) * 4), dtype=X.dtype)
    out[:n, :d] = X
    return out


def by_point(X: Array) -> Array:
    """Points (n, d) → tiles (t, TILE, d'), padded with zeros; d' is the next multiple of four."""
    tile = backend().TILE
    padded = in_fours(X, tile)
    return padded.reshape(-1, tile, padded.shape[1])


def by_feature(X: Array) -> Array:
    """Points (n, d) → tiles (t, d', TILE): as `by_point`, each tile transposed."""
    tile = backend().TILE
    n, d = X.shape
    whole = n // tile
    out = np.zeros((-(-n // tile), -(-d // 4) * 4, tile), dtype=X.dtype)
    out[:whole, :d] = X[: whole * tile].reshape(whole, tile, d).transpose(0, 2, 1)
    if n % tile:
        out[whole, :d, : n % tile] = X[whole * tile :].T
    return out


def part_size(tiles: int) -> int:
    """Return how many of so many tiles make a part of the points, one thread's work.

    A function of the points alone: what is added up part by part has the same bits for any number
    of threads.
    """
    return max(_PART, -(-tiles // _PARTS))


def tile_parts(tiles: int) -> list[tuple[int, int]]:
    """Cut range(tiles) into parts."""
    size = part_size(tiles)
    return [(low, min(low + size, tiles)) for low in range(0, tiles, size)]


def rounds(n_blocks: int) -> Iterator[Ints]:
    """Yield every pair of blocks once, in rounds in which each block occurs in at most one pair.

    First each block with itself; then as in a tournament, where one stays and the others move round
    a ring.
    """
    yield np.column_stack([np.arange(n_blocks)] * 2)
    # With an odd number one sits out each round.
    ring = list(range(n_blocks + n_blocks % 2))
    for _ in range(len(ring) - 1):
        pairs = [sorted((ring[i], ring[-1 - i])) for i in range(len(ring) // 2)]
        yield np.array([pair for pair in pairs if pair[1] < n_blocks], dtype=np.int64).reshape(
            -1, 2
        )
        ring = [ring[0], ring[-1], *ring[1:-1]]


@functools.lru_cache(maxsize=64)
def _pairs(n_blocks: int) -> tuple[Ints, Order]:
    """Return all pairs of blocks, and in which order they are taken; kept, since there are few."""
    pairs = np.concatenate(list(rounds(n_blocks)))
    return pairs, Order.of(pairs.tolist())


def sums_by_cell(X: Array, cells: Cells, threads: int) -> Floats:
    """Σ of distances from each point to the points of each cell: (m, n), points sorted by cell.

    Each pair of points is computed once, O(n² d / 2) in all. The pairs of blocks and their order
    are a function of n alone, and those that share a block are added one after the other, so that
    sums have the same bits for any number of threads.
    """
    kernel: Any = backend()
    n_tiles = -(-len(X) // kernel.TILE)
    few, many = (-(-n_tiles // blocks) for blocks in _BLOCKS)
    per_block = max(min(few, _LARGEST_SMALL), many)
    out = np.zeros((len(cells.counts), len(X)))
    pairs, order = _pairs(-(-n_tiles // per_block))
    with Team(1 if n_tiles <= _FEW_TILES else threads) as team:
        tiles = _in_tiles(X, cells.order, n_tiles, team)
        cell = cells.cell_of[cells.order]

        def work(some: slice) -> None:
            kernel.add_distances(tiles, (cell, cells.bounds), per_block, pairs[some], out)

        if team.threads == 1:
            work(slice(None))
        else:
            team.run_in_order(lambda i: work(slice(i, i + 1)), order)
    return out


def _in_tiles(X: Array, order: Ints, n_tiles: int, team: Team) -> tuple[Array, Array]:
    """Return the points in this order, by point and by feature."""
    tile, d = backend().TILE, -(-X.shape[1] // 4) * 4
    rows, columns = np.empty((2, n_tiles, tile * d), dtype=X.dtype)
    rows, columns = rows.reshape(-1, tile, d), columns.reshape(-1, d, tile)

    def lay_out(some: slice) -> None:
        points = X[order[some.start * tile : some.stop * tile]]
        rows[some], columns[some] = by_point(points), by_feature(points)

    team.run(lay_out, team.shares(n_tiles))
    return rows, columns
