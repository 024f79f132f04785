"""Examples run, and say a word on everything they show."""

import importlib.util
import re
import sys
import warnings
from pathlib import Path

from clustertrust.clusterers import CLUSTERERS

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_gallery_draws_every_clusterer(tmp_path, monkeypatch):
    gallery = load("plot_clusterers")
    assert set(gallery.WORDS) == set(CLUSTERERS)
    monkeypatch.setattr(gallery, "DOCS", tmp_path)
    monkeypatch.setattr(gallery, "CLUSTERERS", ["kmeans", "hdbscan"])
    gallery.main()
    page = (tmp_path / "gallery.md").read_text()
    for name in ("kmeans", "hdbscan"):
        assert f"images/clusterers-{name}.png" in page
        assert (tmp_path / "images" / f"clusterers-{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_readme_does_what_it_says(capsys):
    text = (EXAMPLES.parent / "README.md").read_text()
    names = {}
    with warnings.catch_warnings():
        # Spectral clustering says that its graph of Iris is in pieces, and runs drawn by hand differ in k.
        warnings.simplefilter("ignore")
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out
    for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
        assert block in printed
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert [link for link in links if not (EXAMPLES.parent / link).exists()] == []
