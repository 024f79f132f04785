"""A browser for the tests of the report, and what they read from its pages."""

import os
import shutil
from contextlib import contextmanager
from importlib.resources import files

import pandas as pd
import pytest
from extras import extra

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@contextmanager
def chromium_or_skip():
    """Chromium, driven by Playwright; without them the tests are skipped."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if sync_playwright is None or CHROMIUM is None:
        what = "Playwright" if sync_playwright is None else "Chromium"
        pytest.skip(f"{what} is not installed")
    with sync_playwright() as playwright:
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Windows has no such number
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if is_root else []
        )
        yield browser
        browser.close()


def number(page, selector):
    return int(page.locator(selector).inner_text().replace(",", ""))


def settle(page):
    """Wait for the frame in which the page follows."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def slide(page, threshold):
    page.locator("#slider").fill(str(threshold))
    settle(page)


def column(page, key):
    """A column of the page of the table of points that is shown."""
    place = (
        page.locator("#points th")
        .evaluate_all("(cells) => cells.map((cell) => cell.dataset.key)")
        .index(key)
    )
    cells = f"#points tbody tr td:nth-child({place + 1})"
    # A name may have a text below it.
    return page.locator(f"{cells} button" if key == "id" else cells).all_inner_texts()


def download(page, button):
    with page.expect_download() as waiting:
        page.locator(button).click()
    return pd.read_csv(waiting.value.path())


def violations(page):
    """What axe-core finds wrong for people with disabilities, but for minor rules."""
    axe = extra("axe_playwright_python")
    source = files(axe.__name__).joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(f"() => {{ {source} }}")
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [
        (one["id"], node["html"][:120], node["failureSummary"][:300])
        for one in found
        if one["impact"] in ("moderate", "serious", "critical")
        for node in one["nodes"]
    ]
