"""How large the report's page is: `python -m benchmarks.pages` prints a line a data set."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE


def megabytes(X: np.ndarray, k: int) -> float:
    """Size of the page of a table that is clustered with few, cheap runs, and shown as a whole."""
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    cake = CAKE(k, n_runs=5, geometry="rms", random_state=0).fit(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        cake.report(path, original=table)
        return path.stat().st_size / 1e6


def main() -> None:
    """Print the sizes of a small page, a large one and a very large one."""
    print(f"Iris: {megabytes(load_iris().data, 3):.2f} MB")
    for n, d in ((100_000, 20), (1_000_000, 6)):
        X = make_blobs(n, d, centers=10, cluster_std=4.0, random_state=0)[0]
        print(f"{n:,} × {d}: {megabytes(X, 10):.1f} MB")


if __name__ == "__main__":
    main()
