"""How large the report's page is, and when a browser shows it: `python -m benchmarks.pages` prints a
line a data set. Needs playwright and Chromium for the times.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE

# Notes when the page is ready, and when the frame after that has been drawn.
WATCH = """new MutationObserver(() => {
  if (window.seen === undefined && document.body?.classList.contains("ready")) {
    window.seen = null;
    requestAnimationFrame(() => requestAnimationFrame(() => { window.seen = performance.now(); }));
  }
}).observe(document, { subtree: true, attributes: true, childList: true });"""


def opening(browser: Any, path: Path) -> float:
    """Return the seconds from the request to the first frame that shows all: the best of three."""
    seconds = []
    for _ in range(3):
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.add_init_script(WATCH)
        page.goto(path.as_uri())
        page.wait_for_selector("body.ready")
        page.wait_for_timeout(1000)
        seconds.append(page.evaluate("window.seen") / 1000)
        page.close()
    return min(seconds)


def measure(browser: Any, name: str, X: np.ndarray, k: int) -> None:
    """Print a line on the page of a table, clustered with few, cheap runs, and shown as a whole."""
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    cake = CAKE(k, n_runs=5, geometry="rms", random_state=0).fit(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        cake.report(path, original=table)
        size = path.stat().st_size / 1e6
        print(f"{name}: {size:.2f} MB, shown after {opening(browser, path):.1f} s")


def main() -> None:
    """Measure a small page, a large one and a very large one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        measure(browser, "Iris", load_iris().data, 3)
        for n, d in ((100_000, 20), (1_000_000, 6)):
            X = make_blobs(n, d, centers=10, cluster_std=4.0, random_state=0)[0]
            measure(browser, f"{n:,} × {d}", X, 10)
        browser.close()


if __name__ == "__main__":
    main()
