"""Records in files: what is stored comes back, and only what is registered is ever built."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

from clustertrust import CAKE, build_ensemble
from clustertrust._types import Floats
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.records import Record, can_be_stored, load_record, register, save_record
from clustertrust.storage import read_arrays, write_arrays

X = load_iris().data


@register
class Bent(BaseEstimator):
    """A small object with parameters, as geometries are."""

    def __init__(self, by=1.0, inner=None):
        self.by, self.inner = by, inner


class Unknown(BaseEstimator):
    """The same, but not registered."""


@dataclass(frozen=True)
class Pair(Record):
    """Arrays of one length, and anything."""

    one: Annotated[Floats, "f n"]
    two: Annotated[Floats, "f! n d"] | None
    more: Any = None


def back(path, record):
    save_record(path, record)
    return load_record(path, type(record), lambda record: record)


@pytest.mark.parametrize(
    "more",
    [
        *(None, True, 3, 2.5, "text", [1, [2]], (1, ("a", None)), {"a": {"array": 1}}, np.int64(3)),
        *({"dict": (1,), "Pair": []}, Bent(2.0, Bent()), {"a/b": 1, "a": {"b": 2}}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back_as_they_were(tmp_path, more):
    found = back(tmp_path / "x", Pair(np.arange(3.0), None, more)).more
    assert repr(found) == repr(more.item() if isinstance(more, np.generic) else more)
    assert type(found) is type(more) or isinstance(more, np.generic)


def test_arrays_come_back_as_they_were_and_are_stored_once(tmp_path):
    one, two = np.arange(3.0), np.ones((3, 2), dtype=np.float32, order="F")
    days = np.array(["2026-01-01"], dtype="M8[D]")
    more = {"again": [one, one], "csr": sparse.csr_matrix(np.eye(3)), "days": days, "a/b": two}
    found = back(tmp_path / "x", Pair(one, two, more | {"a": {"b": two + 1}}))
    assert found.more["again"][0] is found.one
    assert found.two.dtype == np.float32
    assert_array_equal(found.more["days"], days)
    assert_array_equal(found.more["csr"].toarray(), np.eye(3))
    assert_array_equal(found.more["a/b"], two)
    assert_array_equal(found.more["a"]["b"], two + 1)
    _, arrays = read_arrays(tmp_path / "x", "pair")
    assert len(arrays) == 7


@pytest.mark.parametrize(
    "value",
    [Unknown(), KMeans(), print, object(), {1: 2}, np.array([object()]), Bent(by=Unknown()), {1}],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_registered_is_not_stored(tmp_path, value):
    assert not can_be_stored(value)
    with pytest.raises(TypeError, match="cannot be stored"):
        save_record(tmp_path / "x", Pair(np.arange(3.0), None, value))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"Unknown": {}}, "holds Unknown"),
        ({"KMeans": {}}, "holds KMeans"),
        ({"Bent": {"over": 1}}, "over"),
        ({"Bent": {"fit": 1}}, "fit"),
        ({"array": "missing"}, "not in the file"),
        ({"tuple": 1}, "int"),
        ({}, "values to unpack"),
        ({"Pair": {"one": None}}, "lacks, or should not have, more, two"),
    ],
)
def test_only_what_is_registered_is_built(tmp_path, stored, told):
    save_record(tmp_path / "x", Pair(np.arange(3.0), None))
    content, arrays = read_arrays(tmp_path / "x", "pair")
    write_arrays(tmp_path / "x", "pair", content | {"more": stored}, arrays)
    with pytest.raises(ValueError, match=f"x' is damaged: .*{told}"):
        load_record(tmp_path / "x", Pair, lambda record: record)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (np.arange(3), None),
        (np.arange(3.0)[:, None], None),
        (None, None),
        (np.arange(3.0), np.zeros((2, 2))),
        (np.arange(3.0), np.full((3, 2), np.nan)),
        (np.arange(3.0), np.full((3, 2), 1e160)),
        (np.arange(3.0), "text"),
    ],
)
def test_fields_are_what_their_annotations_say(tmp_path, one, two):
    save_record(tmp_path / "x", Pair(one, two))
    with pytest.raises(ValueError, match=r"x' is damaged: its Pair\.(one|two) is"):
        load_record(tmp_path / "x", Pair, lambda record: record)


def test_a_name_stays_with_the_module_that_had_it():
    class GaussianMixture(BaseEstimator):  # not scikit-learn's
        pass

    register(GaussianMixture)
    assert not can_be_stored(GaussianMixture())


@pytest.mark.parametrize("change", ["array", "json"])
def test_what_was_edited_is_refused(tmp_path, change):
    path = tmp_path / "e.npz"
    ensemble = build_ensemble(X, n_clusters=3, n_runs=2, random_state=0)
    ensemble.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    if change == "array":
        arrays["centers/0"][0, 0] += 1e-9
    else:
        text = bytes(arrays["meta.json"]).replace(b'"kmeans"', b'"kmeanS"')
        arrays["meta.json"] = np.frombuffer(text, dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"e\.npz' is damaged: .* do not match their checksum"):
        type(ensemble).load(path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLUSTERERS)
def test_whether_runs_can_be_stored_is_known_before_the_fit(name):
    if name == "leiden":
        pytest.importorskip("igraph")
    k = None if name in {"hdbscan", "leiden"} else 2
    run = build_ensemble(X[::3], name, n_clusters=k, n_runs=2, random_state=0).runs[0]
    assert CLUSTERERS[name].storable == can_be_stored(run.placer)
    assert CLUSTERERS[name].storable == (name != "bisecting-kmeans")


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_a_model_keeps_a_registered_estimator_and_its_data_once(tmp_path):
    mixture = GaussianMixture(3, n_init=2, covariance_type="tied")
    cake = CAKE(3, clusterer=[mixture, "spectral"], n_runs=6, random_state=0).fit(X)
    cake.save(tmp_path / "model")
    found = CAKE.load(tmp_path / "model")
    assert str(found.get_params()) == str(cake.get_params())
    assert_array_equal(found.predict(X + 0.1), cake.predict(X + 0.1))
    _, arrays = read_arrays(tmp_path / "model", "model")
    assert sum(array.shape == X.shape for array in arrays.values()) == 1
    assert arrays["confidence/ensemble/runs/0/labels"].size == 0  # they are in the ensemble's
