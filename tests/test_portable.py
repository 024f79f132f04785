"""The quick part of `make test-portable`: what is known to move, under two other processors."""

import json
import os
import subprocess
import sys

import portable
import pytest

SETTINGS = portable.settings()
WHOLE = [name for name in SETTINGS if name.startswith("like ")]
PAGE = "tests/test_docs.py::test_the_code_of_a_page_runs_and_prints_what_the_page_says[docs/howto/clusterer.md]"
# Several names of kernels that are the same code.
KERNELS = {"Prescott": {"Prescott", "Katmai"}, "Haswell": {"Haswell"}}


@pytest.mark.skipif(sys.platform == "win32", reason="the shell blocks of the pages are for bash")
@pytest.mark.parametrize("name", WHOLE)
def test_what_once_moved_is_the_same_on_another_processor(name):
    """HDBSCAN's ties fell with NumPy's sort, and the page shows how many clusters its runs find."""
    # Numba stays as it is here: compiling for another processor would take longer than all the rest.
    setting = {key: value for key, value in SETTINGS[name].items() if key != "NUMBA_CPU_NAME"}
    done = portable.run_tests(setting, ["-n", "0", PAGE])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def under(setting, code):
    """What code prints as JSON in a process with a setting."""
    path = os.pathsep.join([str(portable.ROOT / "tests"), str(portable.ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | setting | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", WHOLE)
def test_settings_are_in_force(name):
    used = under(SETTINGS[name], "import json, portable; print(json.dumps(portable.in_use()))")
    switched_off = SETTINGS[name]["NPY_DISABLE_CPU_FEATURES"].split()
    assert switched_off
    assert not set(switched_off) & set(used["numpy"])
    assert set(used["openblas"]) <= KERNELS[SETTINGS[name]["OPENBLAS_CORETYPE"]]
    assert used["numba"] == SETTINGS[name].get("NUMBA_CPU_NAME", "host")


def test_there_are_settings_for_this_processor():
    features = portable.numpy_features()
    assert {"numba generic"} <= set(SETTINGS)
    if features.get("X86_V3"):
        assert {"NumPy without AVX2", "OpenBLAS Haswell", "OpenBLAS Prescott", *WHOLE} <= set(SETTINGS)
        assert "like plain x86-64" in WHOLE
    if features.get("X86_V4"):
        assert "like AVX2" in WHOLE
