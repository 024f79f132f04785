"""Examples run, and say a word on everything they show."""

import importlib.util
import sys
from pathlib import Path

import pytest

from clustertrust.ensemble.clusterers import CLUSTERERS

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


@pytest.mark.parametrize(
    ("name", "shorter"),
    [
        ("plot_null", {"SURROGATES": 19}),
        ("plot_choose_k", {"RUNS": 3}),
        ("plot_ranking", {}),
        ("plot_reasons", {}),
        ("plot_audit", {"MOON": 60}),
        ("plot_answers", {"QUESTIONS": 90}),
        ("plot_graph", {"POINTS": 80}),
        ("plot_grid", {"POINTS": 60, "RUNS": 3}),
        ("plot_cells", {"RUNS": 3}),
        ("plot_distances", {}),
    ],
)
def test_short_forms_of_the_examples_draw_their_picture(
    name, shorter, tmp_path, monkeypatch, capsys
):
    example = load(name)
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(example, "DOCS", tmp_path)
    for option, value in shorter.items():
        assert hasattr(example, option)
        monkeypatch.setattr(example, option, value)
    example.main()
    assert {path.suffix for path in (tmp_path / "images").iterdir()} == {".png"}
    assert capsys.readouterr().out
