"""The script that measures a GPU runs to its end: with the stand-in, on few points."""

import csv

import pytest
import standin_cupy
from benchmarks import gpu


@pytest.fixture
def few(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "SHRINK", 10**5)
    monkeypatch.setattr(gpu, "TIMES", 1)
    monkeypatch.setattr(gpu, "HERE", tmp_path)
    with standin_cupy.in_place():
        yield tmp_path


def written(folder):
    with (folder / "gpu.csv").open(encoding="utf-8") as file:
        return {row["work"]: row for row in csv.DictReader(file)}


def test_every_part_is_measured(few, monkeypatch):
    for name in ("growth", "profiles"):  # of which the second makes hundreds of fits
        monkeypatch.delitem(gpu.PARTS, name)
    pytest.importorskip("dask.array")
    gpu.main([])
    rows = written(few)
    assert rows["whole fit, rms, on the GPU"]["goal"] == "≤ 0.8"
    assert rows["whole fit, exact, 1,000,000 × 20, k = 50"]["goal"] == "≤ 3.5"
    assert rows["whole fit, exact, 1,000,000 × 20, R = 20"]["card"] == "a stand-in"
    assert sum(work.startswith("step of an exact fit, k = 50") for work in rows) == 6


def test_work_that_fails_leaves_the_rest(few, monkeypatch):
    def broken():
        yield "done", 1.0, "", ""
        raise RuntimeError("out of memory")

    monkeypatch.setattr(gpu, "PARTS", {"broken": broken, "last": lambda: [("last", 2.0, "", "")]})
    with pytest.raises(SystemExit, match="failed: broken"):
        gpu.main([])
    assert [*written(few)] == ["done", "last"]
