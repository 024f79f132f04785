"""The whole library on its plain NumPy kernels, as where Numba cannot be imported."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fits import GEOMETRIES, NEW, fitted
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs

import clustertrust
from clustertrust import CAKE, Runs, audit, choose_k, null_reference
from clustertrust.kernels import _announce_compiling, backend

POINTS, GROUPS = make_blobs(60, centers=3, cluster_std=1.5, random_state=0)
UNSEEN = POINTS[::7] + 0.1
TABLE = pd.DataFrame({"x": POINTS[:, 0], "group": np.where(GROUPS == 0, "a", "b")})
# Each clusterer or option that reaches a kernel of its own
FITS = {
    "kmedoids": {"clusterer": "kmedoids"},
    "hdbscan": {"clusterer": "hdbscan", "n_clusters": None, "resample": 0.8},
    "spectral": {"clusterer": "spectral", "metric": "manhattan"},
    "jaccard": {"agreement": "jaccard", "vary": {"n_clusters": [2, 3, 4]}},
    "reference": {"agreement": "reference", "resample": 0.8, "n_runs": Runs(4, left_out="predict")},
    "refined": {"fusion": "refined"},
}


def of_fit(cake, new):
    return {
        "scores": cake.scores_,
        "errors": cake.standard_errors_,
        "votes": cake.votes_,
        "predicted": cake.predict(new),
        "unseen": cake.score_samples(new),
    }


def results():
    """Arrays by name: fits and what they say of unseen points, an audit, choose_k, a null test."""
    found = {f"fit {options}": of_fit(fitted(**options), NEW) for options in GEOMETRIES}
    for name, options in FITS.items():
        options = {"n_clusters": 3, "n_runs": 4, "random_state": 0} | options
        found[name] = of_fit(CAKE(**options).fit(POINTS), UNSEEN)
    gower = CAKE(3, clusterer="kmedoids", metric="gower", n_runs=4, random_state=0).fit(TABLE)
    found["gower"] = of_fit(gower, TABLE[::5])
    audited = audit(POINTS, GROUPS, random_state=0)
    found["audit"] = {"scores": audited.scores, "suggested": audited.suggested}
    cake = CAKE(n_runs=3, random_state=0)
    profile = choose_k(POINTS, range(2, 5), cake, n_surrogates=19)
    found["choose_k"] = {"table": profile.to_frame().to_numpy(), "best": profile.best}
    null = null_reference(POINTS, cake.set_params(n_clusters=3), n_surrogates=19)
    found["null"] = {**null.means, "scores": null.confidence.scores}
    return {
        f"{case}: {name}": np.asarray(value)
        for case, arrays in found.items()
        for name, value in arrays.items()
    }


def save_results(path):
    """Called in a child, where `import numba` raises ImportError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arrays = results()
    messages = [f"{one.category.__name__}: {one.message}" for one in caught]
    np.savez(path, kernels=backend().__name__, messages=messages, **arrays)


IN_A_CHILD = """
import sys
sys.modules["numba"] = None
sys.path.insert(0, sys.argv[1])
import test_without_numba
test_without_numba.save_results(sys.argv[2])
"""


@pytest.fixture(scope="module")
def without_numba(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "without_numba.npz"
    command = [sys.executable, "-c", IN_A_CHILD, str(Path(__file__).parent), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.mark.filterwarnings("ignore")
def test_all_numbers_are_those_of_the_compiled_kernels(without_numba):
    assert without_numba["kernels"] == "clustertrust.kernels._numpy"
    assert backend().__name__ == "clustertrust.kernels._numba"
    with_numba = results()
    assert set(without_numba) - set(with_numba) == {"kernels", "messages"}
    for name, values in with_numba.items():
        # Errors come from differences, of the refined score from small steps: rounding is divided.
        atol = 1e-8 if name.endswith("errors") else 1e-12
        assert_allclose(without_numba[name], values, rtol=1e-11, atol=atol, err_msg=name)


def test_one_warning_says_so(without_numba):
    messages = [message for message in without_numba["messages"] if "Numba" in message]
    assert len(messages) == 1
    assert messages[0].startswith("UserWarning: Numba cannot be imported")
    assert "pip install" in messages[0]


def test_a_person_is_told_once_that_kernels_are_compiled(monkeypatch, capsys, tmp_path):
    lay_out = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    _announce_compiling(SimpleNamespace(lay_out=lay_out))  # nobody is watching
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("os.isatty", lambda _: True)
    _announce_compiling(SimpleNamespace(lay_out=lay_out))
    assert "compiling the inner loops, once on this computer" in capsys.readouterr().err
    nowhere = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    _announce_compiling(SimpleNamespace(lay_out=nowhere))
    told = capsys.readouterr().err
    assert "only once, set NUMBA_CACHE_DIR" in told
    assert "once on this computer" not in told
    (tmp_path / "meet.nbi").touch()
    _announce_compiling(SimpleNamespace(lay_out=lay_out))
    assert capsys.readouterr().err == ""


MOMENTS = """
import numpy as np
from clustertrust.kernels._numba import scores
scores.moments(np.ones((2, 3)))
kept = scores._moments.stats
print(sum(kept.cache_hits.values()), kept.cache_path)
"""


def test_environments_share_machine_code_while_the_kernels_are_the_same(tmp_path):
    found = []
    for name, added in {"one": "", "two": "", "changed": "# another line"}.items():
        shutil.copytree(Path(clustertrust.__file__).parent, tmp_path / name / "clustertrust")
        with (tmp_path / name / "clustertrust/kernels/_numba/cells.py").open("a") as file:
            file.write(added)
        setting = {"PYTHONPATH": str(tmp_path / name), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", MOMENTS],
            env=os.environ | setting,
            check=True,
            capture_output=True,
            text=True,
        )
        found.append(done.stdout.split())
    (first, folder), (second, same), (third, other) = found
    assert (first, second, third) == ("0", "1", "0")
    assert folder == same != other
    assert Path(folder).parent == tmp_path / "cache"
