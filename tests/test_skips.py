"""A test that skips is a failure where everything must be there, and only there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = {
    "a_test": "import pytest\ndef test_one():\n    pytest.skip('no data')\n",
    "a_file": "import pytest\npytest.importorskip('no_such_package', reason='no data')\n",
    "extras": "from extras import extra\ncase = extra('no_such_package').Case(1)\n"
    "def test_one():\n    case.do()\ndef test_two():\n    pass\n",
}


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        ({"CLUSTERTRUST_REQUIRE_ALL": "1", "CI": "false"}, "2 failed, 1 passed, 1 error"),
        ({"CLUSTERTRUST_REQUIRE_ALL": "", "CI": "true"}, "1 passed, 3 skipped"),
    ],
    ids=["required", "elsewhere"],
)
def test_a_skip_is_a_failure_where_everything_is_required(tmp_path, settings, counts):
    for name, code in SKIPS.items():
        (tmp_path / f"test_{name}.py").write_text(code)
    (tmp_path / "pytest.ini").touch()
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    paths = {"PYTHONPATH": str(Path(__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    how = ["-q", "-p", "skips", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *how, str(tmp_path)],
        env=plain | paths | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.splitlines()[-1].startswith(counts), done.stdout
