"""Hostile files: models, ensembles, checkpoints and archives whose parts do not fit are refused."""

import json
import resource
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import sklearn
from command import run
from faulty import FAST, FRAME, X, other, refused, score
from scipy import sparse

from clustertrust import CAKE, Ensemble, Runs, build_ensemble
from clustertrust.files import TableError, read_table
from clustertrust.storage import read_arrays, write_arrays

NAMES = ("model", "blocks", "sparse", "resampled")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A model of each kind of run, and one fitted in blocks, as (meta, arrays)."""
    folder = tmp_path_factory.mktemp("stored")
    cake = CAKE(2, clusterer=["kmeans", "gmm", "spectral"], n_runs=3, random_state=0).fit(X[:60])
    cake.save(folder / "model")
    np.save(folder / "x.npy", X)
    with sklearn.config_context(working_memory=0.1):
        CAKE(2, n_runs=3, random_state=0).fit(folder / "x.npy").save(folder / "blocks")
    CAKE(2, n_runs=3, random_state=0).fit(sparse.csr_array(np.maximum(X[:60], 0))).save(
        folder / "sparse"
    )
    made = {"clusterer": ["kmeans", "gmm", "spectral"], "n_runs": 3, "random_state": 0}
    resampled = made | {"n_runs": Runs(3, left_out="predict")}
    CAKE(2, resample=0.9, **resampled).fit(X[:60]).save(folder / "resampled")
    return {name: read_arrays(folder / name, "model") for name in NAMES}


def changed(stored, name, change):
    """Write the stored model with one thing changed, and a checksum that fits."""
    meta, arrays = json.loads(json.dumps(stored[name][0])), dict(stored[name][1])
    change(meta, arrays)
    write_arrays(Path("bad"), "model", meta, arrays)


def put(*path, value):
    """Change a value of the JSON; the tags of records, tuples and dicts need not be named."""

    def untagged(at):
        while isinstance(at, dict) and len(at) == 1 and next(iter(at)) in TAGS:
            (at,) = at.values()
        return at

    def change(meta, _):
        at = meta
        for key in path[:-1]:
            at = untagged(at[key])
        at[path[-1]] = value

    return change


TAGS = {
    "Confidence",
    "Ensemble",
    "Run",
    "Nearest",
    "Training",
    "Predict",
    "Metric",
    "tuple",
    "dict",
}
TAGS |= {"GaussianMixture"}
RUNS = "confidence/ensemble/runs"
CHANGES = {
    "labels of text": ("model", other("confidence/ensemble/labels", lambda a: a.astype(str))),
    "labels of another length": ("model", other("confidence/ensemble/labels", lambda a: a[:-1])),
    "labels in a line": ("model", other("confidence/ensemble/labels", lambda a: a.ravel())),
    "centres of fewer columns": ("model", other(f"{RUNS}/0/placer/centers", lambda a: a[:, :1])),
    "fewer centres than labels": ("model", other(f"{RUNS}/0/placer/centers", lambda a: a[:1])),
    "labels of centres as floats": ("model", other(f"{RUNS}/0/placer/labels", lambda a: a + 0.5)),
    "mixture of another shape": (
        "model",
        other(f"{RUNS}/1/placer/model/precisions_cholesky_", lambda a: a[:, :1]),
    ),
    "mixture of other columns": (
        "model",
        other(f"{RUNS}/1/placer/model/means_", lambda a: a[:, :1]),
    ),
    "fewer training labels": ("model", other(f"{RUNS}/2/placer/labels", lambda a: a[:5])),
    "training rows beyond": ("resampled", other(f"{RUNS}/2/placer/rows", lambda a: a + 10**6)),
    "data of three axes": ("model", other("X", lambda a: a[..., None])),
    "data of text": ("model", other("X", lambda a: a.astype(str))),
    "votes in a line": ("model", other("confidence/votes", lambda a: a.ravel())),
    "scores of another length": ("model", other("confidence/scores", lambda a: a[1:])),
    "labels without votes": ("model", other("confidence/labels", lambda a: a + 7)),
    "no scores": ("model", lambda _, a: a.pop("confidence/scores")),
    "no runs": ("model", put("confidence", "ensemble", "runs", value=[])),
    "runs of another kind": ("model", put("confidence", "ensemble", "runs", value=7)),
    "names of fewer runs": ("model", put("confidence", "ensemble", "label_names", value=[None])),
    "names that are too few": (
        "model",
        put("confidence", "ensemble", "label_names", value={"tuple": [{"array": "X"}, None, None]}),
    ),
    "unknown covariance": (
        "model",
        put(
            "confidence", "ensemble", "runs", 1, "placer", "model", "covariance_type", value="round"
        ),
    ),
    "reference run beyond": ("model", put("confidence", "reference_run", value=3)),
    "negative reference run": ("model", put("confidence", "reference_run", value=-1)),
    "unknown geometry": ("model", put("confidence", "geometry_method", value="flat")),
    "unknown fusion": ("model", put("params", "fusion", value="sum")),
    "unknown parameter": ("model", put("params", "shape", value=1)),
    "centres at infinity": ("model", other(f"{RUNS}/0/placer/centers", lambda a: a + np.inf)),
    "centres beyond bounds": ("model", other(f"{RUNS}/0/placer/centers", lambda a: a + 1e300)),
    "weights below 0": ("model", other(f"{RUNS}/1/placer/model/weights_", lambda a: -a)),
    "precisions below 0": (
        "model",
        other(f"{RUNS}/1/placer/model/precisions_cholesky_", lambda a: -a),
    ),
    "precisions that are missing": (
        "model",
        other(f"{RUNS}/1/placer/model/precisions_cholesky_", lambda a: a * np.nan),
    ),
    "data that are missing": ("model", other("X", lambda a: a * np.nan)),
    "no points": ("model", other("confidence/ensemble/labels", lambda a: a[:0])),
    "parameters of a run as text": (
        "model",
        put("confidence", "ensemble", "runs", 0, "params", value="x"),
    ),
    "means at infinity": ("blocks", other("totals/means", lambda a: a + np.inf)),
    "no parameters": ("model", put("params", value=None)),
    "other number of columns": ("model", put("about", "n_features_in", value=3)),
    "names of other columns": ("model", put("about", "feature_names", value=["a"])),
    "names that are no text": ("model", put("about", "feature_names", value=[1, 2])),
    "means of other columns": (
        "model",
        put(
            "about", "preparation", value={"dict": {"means": [1], "scales": None, "impute": False}}
        ),
    ),
    "scales that are lists": (
        "model",
        put("about", "preparation", value={"dict": {"means": [1, 2], "scales": [[1], [2, 3]]}}),
    ),
    "clusters that do not add up": ("blocks", other("totals/names/0", lambda a: a[:1])),
    "negative clusters": ("blocks", other("totals/names/0", lambda a: a - 2)),
    "clusters named twice": ("blocks", other("totals/names/0", lambda a: a * 0)),
    "negative tables": ("blocks", other("totals/tables", lambda a: a - 10**6)),
    "narrow tables": ("blocks", other("totals/tables", lambda a: a[..., :1])),
    "means of fewer columns": ("blocks", other("totals/means", lambda a: a[:, :1])),
    "exact from totals": ("blocks", put("confidence", "geometry_method", value="exact")),
    "columns beyond the matrix": ("sparse", other("X/indices", lambda a: a + 10**6)),
    "negative columns": ("sparse", other("X/indices", lambda a: a - 10)),
    "rows that go back": ("sparse", other("X/indptr", lambda a: np.r_[a[0], a[1:-1][::-1], a[-1]])),
    "a shape of three": ("sparse", put("X", "csr", "shape", value={"tuple": [60, 2, 1]})),
    "a shape that is no tuple": ("sparse", put("X", "csr", "shape", value=[60, 2])),
    "a record that no file holds": ("model", put("confidence", value={"Popen": {"args": "ls"}})),
    "an estimator that is not registered": (
        "model",
        put("confidence", "ensemble", "runs", 1, "placer", "model", value={"KMeans": {}}),
    ),
    "a parameter that its estimator lacks": (
        "model",
        put("confidence", "ensemble", "runs", 1, "placer", "model", "shape", value=1),
    ),
    "another record in place of one": (
        "model",
        put("confidence", "ensemble", value={"Metric": {"name": "l1", "params": {"dict": {}}}}),
    ),
    "an object with two tags": ("model", put("confidence", value={"dict": {}, "tuple": []})),
    "an array that is not there": ("model", put("X", value={"array": "Y"})),
    "a tuple of nothing": ("model", put("confidence", "ensemble", "runs", value={"tuple": 3})),
    "a boolean for a number": ("model", put("confidence", "n_runs", value=True)),
}


@pytest.mark.parametrize("case", CHANGES)
def test_models_whose_parts_do_not_fit_are_refused(folder, stored, case):
    name, change = CHANGES[case]
    changed(stored, name, change)
    with pytest.raises(ValueError, match="'bad' is damaged"):
        CAKE.load("bad")


@pytest.mark.parametrize("name", NAMES)
def test_models_whose_parts_fit_are_read(folder, stored, name):
    changed(stored, name, lambda *_: None)
    assert CAKE.load("bad").predict(X[:5]).shape == (5,)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other("labels", lambda a: a.astype(float)), r"Ensemble.labels is .* of float64"),
        (other("labels", lambda a: a[:, 0]), r"Ensemble.labels is an array \(50,\) of int"),
        (lambda _, a: a.pop("labels"), "holds array 'labels', which is unknown or not in the file"),
        (put("label_names", value={"tuple": [None] * 9}), "names of 9 runs"),
        (other("centers/0", lambda a: a * np.nan), "finite"),
        (lambda m, _: m.pop("runs"), "lacks, or should not have, runs"),
        (put("runs", 0, "placer", value={"Metric": {"name": "l1", "params": {"dict": {}}}}), "Run"),
    ],
)
def test_ensembles_whose_parts_do_not_fit_are_refused(folder, change, told):
    build_ensemble(X[:50], n_clusters=2, n_runs=3, random_state=0).save("e")
    meta, arrays = read_arrays(Path("e"), "ensemble")
    change(meta, arrays)
    write_arrays(Path("e"), "ensemble", meta, arrays)
    with pytest.raises(ValueError, match=f"'e' is damaged.*{told}"):
        Ensemble.load("e")


@pytest.mark.parametrize(
    "change",
    [
        lambda a: {"labels": a["labels"][:9]},
        lambda a: {"placer/centers": a["placer/centers"][:, :1]},
        lambda a: {"placer/labels": a["placer/labels"][:1]},
    ],
)
def test_runs_of_a_checkpoint_that_do_not_fit_are_refused(folder, change):
    build_ensemble(X[:50], n_clusters=2, n_runs=Runs(3, checkpoint="runs"), random_state=0)
    path = Path("runs/run-00001.npz")
    meta, arrays = read_arrays(path, "run")
    write_arrays(path, "run", meta, arrays | change(arrays))
    with pytest.raises(ValueError, match=r"run-00001\.npz' is damaged.*Remove it"):
        build_ensemble(
            X[:50],
            n_clusters=2,
            n_runs=Runs(3, on_failure="drop", checkpoint="runs"),
            random_state=0,
        )


def test_new_points_of_other_columns_are_refused():
    ensemble = build_ensemble(X[:50], n_clusters=2, n_runs=2, random_state=0)
    with pytest.raises(ValueError, match="X has 1 columns; the runs were fitted on 2"):
        ensemble.place(X[:5, :1])


def npy(shape, dtype="<f8", body=b""):
    """An array file that claims a shape, whatever it holds."""
    file = BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + body


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in members:
            file.writestr(name, body)


META = npy((2,), "|u1", b"{}")
BOMBS = {
    "an array that claims more than there is": [("a.npy", npy((10**12,)))],
    "a shape that overflows": [("a.npy", npy((2**32, 2**32)))],
    "a negative shape": [("a.npy", npy((-1, 5)))],
    "an object": [("a.npy", npy((1,), "|O", b"\x80\x04N."))],
    "an absolute name": [("/escaped.npy", npy((0,)))],
    "a name that leads out": [("../escaped.npy", npy((0,)))],
    "a name that leads out in another way": [("a/..\\..\\escaped.npy", npy((0,)))],
}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("case", BOMBS)
def test_hostile_archives_are_refused(folder, case):
    archive("bad.npz", [("meta.json.npy", META), *BOMBS[case]])
    with pytest.raises(
        ValueError, match=r"bad\.npz' is damaged or was not written by clustertrust"
    ):
        Ensemble.load("bad.npz")
    with pytest.raises(ValueError, match="is damaged"):
        CAKE.load("bad.npz")
    with pytest.raises(TableError, match=r"bad\.npz"):
        read_table("bad.npz")
    assert sorted(path.name for path in folder.rglob("*")) == ["bad.npz"]
    assert not Path("/escaped.npy").exists()
    assert not (folder.parent / "escaped.npy").exists()


def test_zip_bombs_are_refused_before_they_unpack(folder):
    """Packed 200-fold: 2.1 GiB of zeros in 10 MiB."""
    with zipfile.ZipFile("bad.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("meta.json.npy", META)
        with file.open("a.npy", "w", force_zip64=True) as member:
            member.write(npy((17 * 2**24,)))
            for _ in range(17 * 2**3):
                member.write(bytes(2**24))
    before = peak()
    for read in (Ensemble.load, CAKE.load, read_table):
        with pytest.raises(ValueError, match=r"claim to unpack to 2,28.*, more than is trusted"):
            read(Path("bad.npz"))
    assert peak() < before + 200


def test_what_packs_well_is_still_read(folder):
    Ensemble.from_labels(np.arange(2).repeat(2 * 10**6).reshape(-1, 2)).save("e")
    assert Path("e").stat().st_size * 100 < 16 * 10**6
    assert Ensemble.load("e").labels.shape == (2 * 10**6, 2)


@pytest.mark.parametrize("shape", [(10**12, 2), (2**32, 2**32), (-5, 2)])
def test_arrays_that_claim_more_than_their_file_holds_are_refused(folder, shape):
    Path("x.npy").write_bytes(npy(shape, body=bytes(800)))
    refused("x.npy", "claims to have shape|cut short|must be")


def test_sparse_files_with_positions_outside_are_refused(folder):
    matrix = sparse.csr_array(np.eye(5))
    for name, values in {"indices": matrix.indices + 10**6, "indptr": matrix.indptr[::-1]}.items():
        for format in ("csr", "csc"):
            parts = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data} | {
                name: values
            }
            np.savez("x.npz", format=np.array(format), shape=np.array([5, 5]), **parts)
            with pytest.raises(TableError, match=r"x\.npz cannot be read as npz"):
                read_table("x.npz")


def test_sparse_files_with_positions_that_are_no_whole_numbers_are_refused(folder):
    matrix = sparse.csr_array(np.eye(5))
    parts = {
        "indices": matrix.indices.astype(complex),
        "indptr": matrix.indptr,
        "data": matrix.data,
    }
    np.savez("x.npz", format=np.array("csr"), shape=np.array([5, 5]), **parts)
    with pytest.raises(
        TableError, match=r"x\.npz holds a sparse matrix whose indices are not integers"
    ):
        read_table("x.npz")


def test_json_that_nests_without_end_is_refused(folder):
    deep = b"[" * 10**5
    archive("bad.npz", [("meta.json.npy", npy((len(deep),), "|u1", deep))])
    with pytest.raises(ValueError, match="is damaged"):
        CAKE.load("bad.npz")


@pytest.mark.parametrize("part", ["params", "about", "preparation"])
def test_keys_that_a_model_lacks_are_named(folder, part):
    """By the command, too, which reads what the library does not."""
    FRAME[:60].to_csv("x.csv", index=False)
    score("x.csv", *FAST, "--model", "m")
    meta, arrays = read_arrays(Path("m"), "model")

    def keys(content):
        held = content["params" if part == "params" else "about"]["dict"]
        return held["preparation"]["dict"] if part == "preparation" else held

    for key in sorted(keys(meta)):
        if key == "preparation":  # models that the library saves have none
            continue
        for change in ("lacks", "odd"):
            edited = json.loads(json.dumps(meta))
            if change == "lacks":
                del keys(edited)[key]
            else:
                keys(edited)[key] = {"array": "nope"}
            write_arrays(Path("bad"), "model", edited, arrays)
            told = run("predict", "bad", "x.csv", code=1).stderr
            assert told.startswith("Error: 'bad' is damaged: "), told
            assert change == "odd" or key in told, told
