"""Photograph the report on the wines of the tutorial: `python docs/shoot_report.py` writes
`report.png`, `report-review.png` and `notebook.png` in `docs/images`.

Needs playwright and Chromium; the pictures are taken again when the report looks different, not by
every build.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine

from clustertrust import CAKE
from clustertrust._views import principal_view
from clustertrust.report import write_report

IMAGES = Path(__file__).parent / "images"
# Right but for two, as a person would answer who knows the three cultivars.
ANSWERS = "rrrrrrrrwrrrrrrrrrrsrrrrrwrr"


def main() -> None:
    """Score the wines, open the page, and take its picture and one of its review."""
    wine = load_wine(as_frame=True).data
    wine.index = pd.Index([f"wine-{i:03d}" for i in range(1, 179)], name="wine")
    X = (wine - wine.mean()) / wine.std(ddof=0)
    cake = CAKE(3, random_state=0).fit(X)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        page_file = Path(folder) / "report.html"
        title = "How far can the clusters of wine.csv be trusted?"
        votes = pd.DataFrame(cake.votes_, index=X.index)
        view = principal_view(X.to_numpy(), "13 standardised columns")
        write_report(
            page_file, cake.to_frame(), wine, votes=votes, title=title, embedding=view
        )
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": 1240, "height": 900}, color_scheme="light"
        )
        page.goto(page_file.as_uri())
        page.wait_for_selector("body.ready")
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / "report.png")
        page.locator("#review-open").click()
        for key in ANSWERS:
            page.keyboard.press(key)
        page.set_viewport_size({"width": 1240, "height": 720})
        page.screenshot(path=IMAGES / "report-review.png")
        page.set_viewport_size({"width": 700, "height": 260})
        page.set_content(f'<body style="font: 14px sans-serif">{cake._repr_html_()}')
        page.screenshot(path=IMAGES / "notebook.png")
        browser.close()


if __name__ == "__main__":
    main()
