"""Steps of k-means, of all runs at once."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Floats, Ints

TILE = 128  # points a tile


def lay_out(
    X: AnyFloats,
    middle: Floats,
    scale: float,
    part: tuple[int, int],
    tiles: AnyFloats,
    lengths: AnyFloats,
) -> float:
    """tiles[t, :, p] = scale (x - middle) in float32, lengths = their norms; Σ |x - middle|².

    For the tiles part[0]:part[1] of the rows of X.
    """
    low, high = part[0] * TILE, min(part[1] * TILE, len(X))
    apart = np.asarray(X[low:high], dtype=np.float64) - middle
    squares = (apart**2).sum(axis=1)
    lengths[low:high] = scale * np.sqrt(squares)
    for t in range(*part):
        block = scale * apart[t * TILE - low : (t + 1) * TILE - low]
        tiles[t, : X.shape[1], : len(block)] = block.T
    return float(squares.sum())


def own_squares(
    X: AnyFloats,
    middle: Floats,
    own: Ints,
    centers: Floats,
    rows: tuple[int, int],
    out: Floats,
) -> None:
    """out[i] = |X[i] - middle - centers[own[i]]|² for the rows[0]:rows[1] of X."""
    here = slice(*rows)
    apart = np.asarray(X[here], dtype=np.float64) - middle - centers[own[here]]
    out[here] = (apart**2).sum(axis=1)


def assign(
    points: tuple[AnyFloats, AnyFloats, AnyFloats],
    runs: tuple[Ints, AnyFloats, AnyFloats, AnyFloats, Floats, AnyFloats],
    parts: Ints,
    known: tuple[Ints, AnyFloats],
    moved: tuple[Floats, Floats, Ints, Ints],
) -> None:
    """Labels of the nearest centres for the tiles from parts[i, 0] to parts[i, 1], in all active
    runs.

    Centres are read in float64 alone, and features are added one by one, as where the compiled
    kernel compares in float64, and all points are compared. `moved` gathers what clusters gained
    and lost in each part.
    """
    middle, *by_part = moved
    for part, *gathered in zip(parts, *by_part, strict=True):
        _assign_part(points[0], runs, part, known[0], (middle, *gathered))


def _assign_part(
    points: AnyFloats,
    runs: tuple[Ints, AnyFloats, AnyFloats, AnyFloats, Floats, AnyFloats],
    part: Ints,
    labels: Ints,
    moved: tuple[Floats, Floats, Ints, Ints],
) -> None:
    middle, sums, counts, changed = moved
    low = part[0] * TILE
    X = np.asarray(points[low : part[1] * TILE], dtype=np.float64)
    for a, (r, centers) in enumerate(zip(runs[0], runs[4], strict=True)):
        squares = np.zeros((len(centers), len(X)))
        for f, column in enumerate(X.T):
            squares += (column - centers[:, f, None]) ** 2
        new, old = squares.argmin(axis=0), labels[r, low : low + len(X)].copy()
        i = np.flatnonzero(new != old)
        changed[a] += i.size
        labels[r, low + i] = new[i]
        apart = (X[i] - middle)[:, : sums.shape[2]]
        was = old[i] >= 0
        np.add.at(counts[a], new[i], 1)
        np.add.at(sums[a], new[i], apart)
        np.subtract.at(counts[a], old[i][was], 1)
        np.subtract.at(sums[a], old[i][was], apart[was])


def candidate_sums(
    X: AnyFloats,
    middle: Floats,
    centers: tuple[Floats, Floats],
    closest: Floats,
    part: tuple[int, int],
    sums: Floats,
) -> None:
    """One step of k-means++ for all runs and the tiles part[0]:part[1].

    `centers` are, run by run, the one chosen last and the candidates, minus `middle`; `closest`
    (B, n) is brought up to the former, and sums[t, b, j] is Σ of the squared distances to the
    nearest centre if candidate j were one.
    """
    runs, candidates = sums.shape[0], sums.shape[2]
    rows = centers[0][: runs * (1 + candidates), : X.shape[1]]
    for t in range(*part):
        here = slice(t * TILE, min((t + 1) * TILE, len(X)))
        block = np.asarray(X[here], dtype=np.float64) - middle
        squares = np.array([((block - row) ** 2).sum(axis=1) for row in rows])
        squares = squares.reshape(-1, 1 + candidates, len(block))
        closest[:, here] = np.minimum(closest[:, here], squares[:, 0])
        nearer = np.minimum(closest[:, None, here], squares[:, 1:])
        sums[:, t] = nearer.sum(axis=2)


def locate(
    X: AnyFloats, middle: Floats, last: Floats, closest: Floats, sums: Floats, draws: Floats
) -> tuple[Ints, Floats]:
    """Where the squared distances of each run, added up in order, reach the values `draws` (B, c).

    `closest` (B, n) still lacks the centres `last` (B, d). Returns the points (B, c), and by how
    little a value misses another point (B, c).
    """
    out, gap = np.empty(draws.shape, dtype=np.int64), np.empty(draws.shape)
    for b, values in enumerate(draws):
        squares = ((X - middle - last[b]) ** 2).sum(axis=1)
        running = np.cumsum(np.minimum(closest[b], squares))
        out[b] = np.minimum(running.searchsorted(values), len(X) - 1)
        edges = np.concatenate([[-np.inf], running[:-1], [np.inf]])
        gap[b] = np.minimum(values - edges[out[b]], edges[out[b] + 1] - values)
    return out, gap
