"""Photograph the report on the wines of the tutorial: `python docs/shoot_report.py` writes
`docs/images/report.png`.

Needs playwright and Chromium; the picture is taken again when the report looks different, not by
every build.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from clustertrust import CAKE

PICTURE = Path(__file__).parent / "images" / "report.png"


def main() -> None:
    """Score the wines, open the page at a threshold of 0.3, and take the picture."""
    wine = load_wine(as_frame=True).data
    wine.index = pd.Index([f"wine-{i:03d}" for i in range(1, 179)], name="wine")
    X = pd.DataFrame(
        StandardScaler().fit_transform(wine), index=wine.index, columns=wine.columns
    )
    cake = CAKE(3, random_state=0).fit(X)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        page_file = Path(folder) / "report.html"
        cake.report(
            page_file,
            title="How far can the clusters of wine.csv be trusted?",
            threshold=0.3,
        )
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": 1240, "height": 900}, color_scheme="light"
        )
        page.goto(page_file.as_uri())
        page.wait_for_timeout(1500)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
