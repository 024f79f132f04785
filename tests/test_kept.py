"""Numbers that a first pass keeps on disk: the same blocks again, without another parse."""

import tempfile
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from clustertrust.files import kept
from clustertrust.files.kept import KeptSource
from clustertrust.files.sources import Block, Source

NAMES = ["a", "Ä 'quoted' \"b\"", None, float("nan"), "line\nend", 7]


class Counted(Source):
    """Six rows, and how often they were read."""

    columns, n_features, n_rows = ["x", "y"], 2, 6

    def __init__(self, ids=None, why=None, dtype=np.float64):
        self.X = np.linspace(0, 1, 12).reshape(6, 2).astype(dtype)
        self.ids, self.why, self.times = ids, why, 0

    def read(self, rows):
        self.times += 1
        for low in range(0, 6, rows):
            part = slice(low, low + rows)
            yield Block(
                self.X[part],
                None if self.ids is None else self.ids[part],
                why=None if self.why is None else self.why[part],
            )


def same(left, right):
    if left is None or right is None:
        return left is right
    return left.dtype == right.dtype and repr(left.tolist()) == repr(right.tolist())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ids", [None, np.arange(6), np.array(NAMES, dtype=object)])
@pytest.mark.parametrize("why", [None, np.array(["", "left out", "", "", "", ""], dtype=object)])
def test_later_passes_give_the_same_blocks_without_reading(tmp_path, ids, why, dtype):
    source = Counted(ids, why, dtype)
    table = KeptSource(source, tmp_path)
    first, second, third = (list(table.read(4)) for _ in range(3))
    assert source.times == 1
    for blocks in (second, third):
        for old, new in zip(first, blocks, strict=True):
            assert all(map(same, old[:2], new[:2]))
            assert same(old.why, new.why)
    assert not list(tmp_path.iterdir())


def test_blocks_of_another_size_and_passes_that_ended_early_are_read_again(tmp_path):
    source = Counted()
    table = KeptSource(source, tmp_path)
    next(table.read(2))
    for rows, times in ((2, 2), (2, 2), (3, 3), (3, 3), (2, 4)):
        assert_array_equal(np.concatenate([block.X for block in table.read(rows)]), source.X)
        assert source.times == times


def test_a_temporary_file_with_a_name_serves_too(tmp_path, monkeypatch):
    """Windows has no others."""
    monkeypatch.setattr(kept.tempfile, "TemporaryFile", tempfile.NamedTemporaryFile)
    source = Counted(np.array(NAMES, dtype=object))
    table = KeptSource(source, tmp_path)
    first, second = (list(table.read(4)) for _ in range(2))
    assert source.times == 1
    assert all(map(same, first[1][:2], second[1][:2]))
    del table
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("trouble", ["full", "fails", "no folder"])
def test_without_room_each_pass_reads_the_table(tmp_path, monkeypatch, trouble):
    def disk_usage(folder):
        return namedtuple("Usage", "free")(kept.SPARE)

    def fails(file, part):
        raise OSError(28, "No space left on device")

    if trouble == "full":
        monkeypatch.setattr(kept.shutil, "disk_usage", disk_usage)
    if trouble == "fails":
        monkeypatch.setattr(kept, "_write", fails)
    source = Counted()
    table = KeptSource(source, tmp_path / "none" if trouble == "no folder" else tmp_path)
    for times in (1, 2):
        assert_array_equal(np.concatenate([block.X for block in table.read(4)]), source.X)
        assert source.times == times
    assert not list(tmp_path.iterdir())
