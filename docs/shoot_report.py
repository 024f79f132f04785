"""Photograph pages of real tables: `python docs/shoot_report.py` writes `report*.png` and
`notebook.png` in `docs/images`.

Wines with their cultivar (mixed columns), paragraphs of scikit-learn's documentation (text with its
embedding), an audit of Iris with three wrong labels, and noise. Needs playwright and Chromium; the
pictures are taken again when the page looks different, not by every build.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from clustertrust import CAKE
from clustertrust.cli import cli

IMAGES = Path(__file__).parent / "images"
WIDTH = 1120  # of a window in which nothing of the page wraps
# Right but for two, as a person would answer who knows the three cultivars.
ANSWERS = "rrrrrrrrwrrrrrrrrrrsrrrrrwrr"
MODULES = ("sklearn.cluster", "sklearn.linear_model", "sklearn.tree", "numpy.linalg")


def wines() -> pd.DataFrame:
    """Return the wines, with names and the cultivar in words."""
    data = load_wine(as_frame=True)
    table = data.data.assign(cultivar=np.take(["first", "second", "third"], data.target))
    table.insert(0, "wine", [f"wine-{i:03d}" for i in range(1, 179)])
    return table


def flowers() -> pd.DataFrame:
    """Return Iris with three wrong labels."""
    data = load_iris(as_frame=True)
    table = data.data.assign(species=np.take(data.target_names, data.target))
    table.loc[[3, 60, 120], "species"] = ["virginica", "setosa", "setosa"]
    table.insert(0, "flower", [f"flower-{i:03d}" for i in range(1, 151)])
    return table


def paragraphs() -> pd.DataFrame:
    """Return paragraphs of docstrings, with an embedding of 40 numbers each."""
    found: dict[str, str] = {}
    for module in MODULES:
        loaded = importlib.import_module(module)
        for name in dir(loaded):
            text = getattr(getattr(loaded, name), "__doc__", None) or ""
            for part in re.split(r"\n\s*\n", text):
                words = " ".join(part.split())
                if 80 < len(words) < 400 and not re.search(r">>>|---|::|`", words):
                    found.setdefault(words, f"{module}.{name}")
    weights = TfidfVectorizer(stop_words="english", min_df=3).fit_transform(found)
    X = normalize(TruncatedSVD(40, random_state=0).fit_transform(weights))
    table = pd.DataFrame(X, columns=[f"e{j}" for j in range(40)])
    table.insert(0, "paragraph", list(found))
    table.insert(0, "id", [f"p{i:04d}" for i in range(len(table))])
    return table.assign(module=[name.rpartition(".")[0] for name in found.values()])


def write_pages() -> None:
    """Write the tables and their pages into the current folder, as a person would."""
    noise = np.random.default_rng(0).normal(size=(600, 6))
    tables = {"wine": wines(), "iris": flowers(), "text": paragraphs()}
    tables["noise"] = pd.DataFrame(noise, columns=list("abcdef"))
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    commands = (
        "score wine.csv -k 3 --report review.html",
        "audit iris.csv --labels-column species --report audit.html",
        "score text.csv -k 6 --drop module --id id --report text.html",
        "score noise.csv -k 3 --report noise.html",
        "choose-k wine.csv --drop cultivar --k 2:8 --report choose-k.html",
    )
    for typed in commands:
        CliRunner().invoke(cli, typed.split(), catch_exceptions=False)


def shoot(browser: Any, name: str, height: int, *acts: Callable[[Any], None]) -> None:
    """Open a page, do something on it, and take its picture."""
    page = visit(browser, name, WIDTH, height)
    for act in acts:
        act(page)
    page.wait_for_timeout(300)
    page.screenshot(path=IMAGES / f"report-{name}.png")
    page.close()


def visit(browser: Any, name: str, width: int, height: int, **look: Any) -> Any:
    """Open a page in a window of this size."""
    size = {"width": width, "height": height}
    page = browser.new_page(viewport=size, **{"color_scheme": "light"} | look)
    page.goto(Path(f"{name}.html").resolve().as_uri())
    page.wait_for_timeout(800)
    return page


def shoot_row(browser: Any) -> None:
    """Take the picture of the panel on the most doubtful row."""
    page = visit(browser, "review", WIDTH, 720)
    page.locator("#points tbody button").first.click()
    page.locator("#scatter-title").evaluate("(title) => title.scrollIntoView()")
    page.wait_for_timeout(300)
    page.screenshot(path=IMAGES / "report-row.png")
    page.close()


def shoot_simulations(browser: Any) -> None:
    """Take the points and clusters as colour-blind people see them, simulated by Chromium."""
    page = visit(browser, "review", WIDTH, 720)
    page.locator("#scatter-title").evaluate("(title) => title.scrollIntoView()")
    session = page.context.new_cdp_session(page)
    screens = []
    for kind in ("protanopia", "deuteranopia", "tritanopia", "achromatopsia"):
        session.send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
        page.wait_for_timeout(300)
        screens.append(Image.open(io.BytesIO(page.screenshot())))
    page.close()
    paste(screens, 2).reduce(2).save(IMAGES / "report-colour-blind.png")


def paste(screens: list[Any], columns: int) -> Any:
    """Return pictures of one size side by side, in rows of this many, on grey."""
    (width, height), gap = screens[0].size, 24
    rows = -(-len(screens) // columns)
    size = (columns * (width + gap) - gap, rows * (height + gap) - gap)
    sheet = Image.new("RGB", size, "#808995")
    for place, screen in enumerate(screens):
        row, column = divmod(place, columns)
        sheet.paste(screen, (column * (width + gap), row * (height + gap)))
    return sheet


def shoot_phones(browser: Any) -> None:
    """Take three screens of a phone in the dark, side by side."""
    page = visit(browser, "review", 390, 800, color_scheme="dark")
    screens = []
    for heading in ("title", "columns-title", "clusters-title"):
        page.locator(f"#{heading}").evaluate(
            "(one) => one.scrollIntoView({ block: 'start' })"
        )
        page.wait_for_timeout(300)
        screens.append(Image.open(io.BytesIO(page.screenshot())))
    page.close()
    paste(screens, 3).save(IMAGES / "report-phone.png")


def answer(page: Any) -> None:
    """Take a picture of the page, and answer some questions of its review."""
    page.screenshot(path=IMAGES / "report.png")
    page.locator("#review-open").click()
    for key in ANSWERS:
        page.keyboard.press(key)
    page.set_viewport_size({"width": WIDTH, "height": 720})


# A cell as Jupyter shows it: the code, and what its last line gives.
CELL = """<style>
body { font: 13px sans-serif; margin: 14px; }
pre { font: 13px monospace; background: #f5f5f5; border: 1px solid #e0e0e0; margin: 0; padding: 8px; }
.row { display: grid; grid-template-columns: 62px 1fr; gap: 8px; margin-bottom: 8px; }
.prompt { color: #307fc1; font: 13px monospace; padding-top: 9px; text-align: right; }
.out { color: #bf5b3d; }
table { border-collapse: collapse; font-size: 12px; }
th, td { padding: 5px 9px; text-align: right; }
tr:nth-child(even) { background: #f5f5f5; }
</style>
<div class="row"><span class="prompt">In [2]:</span><pre>cake = CAKE(n_clusters=3, random_state=0).fit(X)
cake</pre></div>
<div class="row"><span class="prompt out">Out[2]:</span><div>%s</div></div>"""


def shoot_notebook(browser: Any) -> None:
    """Take the picture of a fitted CAKE at the end of a cell."""
    wine = load_wine(as_frame=True).data
    cake = CAKE(3, random_state=0).fit((wine - wine.mean()) / wine.std(ddof=0))
    page = browser.new_page(viewport={"width": 700, "height": 345}, device_scale_factor=1.5)
    page.set_content(CELL % cake._repr_html_())
    page.screenshot(path=IMAGES / "notebook.png")
    page.close()


def choose_second(page: Any) -> None:
    """Choose the second cluster, and scroll to what it is about."""
    page.locator("#clusters tbody button").nth(1).click()
    page.locator("#clusters-title").evaluate("(title) => title.scrollIntoView()")


def main() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        os.chdir(folder)
        write_pages()
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        shoot(browser, "review", 1000, answer)
        shoot(browser, "audit", 620)
        shoot(browser, "text", 900, choose_second)
        shoot(browser, "noise", 560)
        shoot(browser, "choose-k", 860)
        shoot_row(browser)
        shoot_phones(browser)
        shoot_simulations(browser)
        shoot_notebook(browser)
        browser.close()
        os.chdir(Path(__file__).parent)


if __name__ == "__main__":
    main()
