"""Memory: files that would take gigabytes are refused in one line, within what is allowed."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import hostile
import numpy as np
import pandas as pd
import pytest
from extras import need_format

from clustertrust.files import TableError, read_table, write_table
from clustertrust.files.arrow_files import arrow_size
from clustertrust.files.memory import allowed, allowing
from clustertrust.files.sheets import _extent_of_ods, _extent_of_xlsx

MEMORY = 128  # MiB


def _is_installed(name):
    needs = {"ods": "odf", "xlsx": "openpyxl", "feather": "pyarrow", "parquet": "pyarrow"}
    module = (needs | {"h5ad": "anndata"}).get(name.rpartition(".")[2])
    try:
        return module is None or importlib.import_module(module) is not None
    except ImportError:
        return False


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are Linux' own")
def test_hostile_files_take_no_more_memory_than_is_allowed(tmp_path):
    """Nothing but imports, and what is allowed: some of these took 3 GB."""
    made = {name: make for name, make in hostile.FILES.items() if _is_installed(name)}
    for name, make in made.items():
        make(tmp_path / name)
    source = str(Path(sys.modules["clustertrust"].__file__).parents[1])
    done = subprocess.run(
        [sys.executable, hostile.__file__, str(tmp_path), str(MEMORY)],
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) >= 2 * len(made) - len(hostile.IN_BLOCKS)
    for what, (code, told, peak) in found.items():
        assert code == 1, f"{what}: {told}"
        assert len(told.splitlines()) == 1, told
        assert "a bug" not in told
        assert what.split()[1] in told
        assert peak <= MEMORY + 300, f"{what}: {peak:.0f} MiB"


TOLD = {
    "letters.npy": r"its arrays \(the array \(400000000,\) of \|S0\) take about .* 128 MiB may be",
    "sparse.npz": "400,000,000 rows and 1 columns take about",
    "rows.ods": r"the cells of its sheet 'S', which reach to J50000000, take about",
    "column.xlsx": r"the cells of its sheet 'Sheet', which reach to XFD20001, take about",
    "row.xlsx": r"has row 99,999,999 in its sheet 'Sheet', and sheets have at most 1,048,576",
    "nothing.json": r"its records take about .* or allow more \(memory\)",
    "keys.json": "20,000 keys take about",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_too_large_is_told(tmp_path, name):
    need_format(Path(name).suffix)
    hostile.FILES[name](tmp_path / name)
    with allowing(MEMORY), pytest.raises(TableError, match=TOLD[name]):
        read_table(tmp_path / name)


def test_half_of_the_machine_is_allowed_unless_another_share_is():
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < allowed() <= whole / 2
    with allowing(1):
        assert allowed() == 2**20
    assert allowed() > 2**20


@pytest.mark.parametrize("suffix", [".csv", ".json", ".xlsx", ".ods", ".npz", ".parquet", ".arrow"])
def test_honest_files_fit_into_little_memory(tmp_path, suffix):
    """A table of a hundred kilobytes is read within a few megabytes."""
    need_format(suffix)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 3)), columns=list("abc"))
    write_table(frame, tmp_path / f"x{suffix}")
    with allowing(16):
        read = read_table(tmp_path / f"x{suffix}").data
    np.testing.assert_allclose(read.to_numpy(float), frame.to_numpy())
    with allowing(8):
        (tmp_path / "large.csv").write_text("a\n" + "1\n" * 100_000)
        with pytest.raises(TableError, match="too large to be read whole"):
            read_table(tmp_path / "large.csv")


@pytest.mark.parametrize("packed", [None, "zstd", "lz4"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_files_say_how_large_they_become(tmp_path, packed, kind):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.ipc as ipc

    words = pd.Categorical(["u", "v"] * 5000)
    table = pa.table({"a": np.zeros(10_000), "s": ["x" * 10] * 10_000, "d": words})
    options = ipc.IpcWriteOptions(compression=packed)
    with getattr(ipc, f"new_{kind}")(tmp_path / "t.arrow", table.schema, options=options) as file:
        file.write_table(table, max_chunksize=3000)
    size = arrow_size(tmp_path / "t.arrow")
    assert (size.rows, size.columns) == (10_000, 3)
    # Buffers of plain files are padded.
    assert size.bytes == pytest.approx(table.nbytes, rel=0.01)
    assert size.largest == pytest.approx(table.nbytes * 0.3, rel=0.05)


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_the_extent_of_a_sheet_is_that_of_its_values(tmp_path, suffix):
    need_format(suffix)
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", None]})
    path = tmp_path / f"x{suffix}"
    with pd.ExcelWriter(path, engine="openpyxl" if suffix == ".xlsx" else "odf") as writer:
        pd.DataFrame({"other": range(50)}).to_excel(writer, sheet_name="first", index=False)
        frame.to_excel(writer, sheet_name="second", index=False)
    extent = (_extent_of_xlsx if suffix == ".xlsx" else _extent_of_ods)(path, "second")
    assert (extent.rows, extent.columns) == (4, 2)
    # pandas writes gaps into .ods files as empty text.
    assert extent.filled == (6 if suffix == ".xlsx" else 8)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_too_few_addresses_are_refused_before_anything_is_loaded(tmp_path):
    """OpenBLAS would spin for ever, and SIGTERM would not end it."""
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20));"
        "from clustertrust.__main__ import main; main()"
    )
    source = str(Path(sys.modules["clustertrust"].__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", limited, "score", "data.csv", "-k", "3"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "limited to 400 MiB (ulimit -v), and 1000 are needed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
