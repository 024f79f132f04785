"""Valid files, and changes to them byte by byte and by structure."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from scipy import sparse

from clustertrust import CAKE, Ensemble, build_ensemble
from clustertrust.storage import checksum

# Valid files to begin with


def valid(target: str, folder: Path, rng: np.random.Generator) -> list[bytes]:
    """A few files that the reader takes."""
    X = rng.normal(size=(30, 3)) + 5 * rng.integers(0, 2, 30)[:, None]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(name=[f"row {i}" for i in range(30)])
    numbers = frame[["a", "b", "c"]]
    path = folder / "valid"
    if target in {"csv", "csv.gz", "blocks"}:
        quoted = frame.assign(name='say "x",\nand y')
        return [
            numbers.to_csv(index=False).encode(),
            frame.to_csv(index=False).encode(),
            quoted.to_csv().encode(),
        ]
    if target == "tsv":
        return [frame.to_csv(index=False, sep="\t").encode()]
    if target == "parquet":
        return [
            frame.to_parquet(index=False),
            frame.astype({"name": "category"}).to_parquet(compression="gzip"),
        ]
    found = []
    if target == "npy":
        structured = frame.drop(columns="name").to_records(index=False)
        whole = (9 * X).astype(np.int64)
        for array in (X, X.astype(np.float32), np.asfortranarray(X), whole, structured):
            file = io.BytesIO()
            np.save(file, array, allow_pickle=False)
            found.append(file.getvalue())
    elif target == "npz":
        for write in (np.savez, np.savez_compressed):
            file = io.BytesIO()
            write(file, X=X)
            found.append(file.getvalue())
        for format in ("csr", "csc", "coo", "bsr", "dia"):
            file = io.BytesIO()
            sparse.save_npz(file, sparse.csr_array(np.maximum(X, 0)).asformat(format))
            found.append(file.getvalue())
    elif target == "ensemble":
        for ensemble in (
            Ensemble.from_labels([["a", "b", "a"], ["x", "y", None]]),
            build_ensemble(
                X, ["kmeans", "gmm", "agglomerative"], n_clusters=2, n_runs=3, random_state=0
            ),
        ):
            ensemble.save(path)
            found.append(path.read_bytes())
    else:
        for data in (X, numbers):
            CAKE(2, clusterer=["kmeans", "gmm", "spectral"], n_runs=3, random_state=0).fit(
                data
            ).save(path)
            found.append(path.read_bytes())
        np.save(folder / "large.npy", np.tile(X, (50, 1)))
        with sklearn.config_context(working_memory=0.01):
            CAKE(2, n_runs=3, random_state=0).fit(folder / "large.npy").save(path)
        found.append(path.read_bytes())
    return found


# Changes


def change_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, cut, repeat, insert or overwrite."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(out) + 1))
        size = int(min(len(out) - at, rng.integers(1, 40)))
        how = rng.integers(0, 6)
        if how == 0 and size:
            out[at] ^= 1 << int(rng.integers(0, 8))
        elif how == 1:
            del out[at : at + size]
        elif how == 2:
            out[at:at] = out[at : at + size]
        elif how == 3:
            out[at : at + size] = rng.bytes(size)
        elif how == 4:
            tokens = [
                b",",
                b"\n",
                b'"',
                b"\t",
                b"\x00",
                b"\xff",
                b"1e999",
                b"nan",
                b"-",
                b"99999999999999999999",
                b"\r",
            ]
            out[at:at] = tokens[rng.integers(len(tokens))]
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def change_lines(data: bytes, rng: np.random.Generator) -> bytes:
    """Lines dropped, doubled, moved or with other fields."""
    lines = data.split(b"\n")
    at = int(rng.integers(0, len(lines)))
    fields = [
        b"",
        b"x",
        b"1e308",
        b"-0.0",
        b"1e-320",
        b"inf",
        b"NA",
        b"True",
        b'"',
        b"9" * 30,
        b"0x1F",
        b"1_000",
        b"1,5",
    ]
    how = rng.integers(0, 5)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(at, lines[int(rng.integers(0, len(lines)))])
    elif how == 2:
        lines[at] += b"," + fields[rng.integers(len(fields))]
    elif how == 3:
        parts = lines[at].split(b",")
        parts[int(rng.integers(0, len(parts)))] = fields[rng.integers(len(fields))]
        lines[at] = b",".join(parts)
    else:
        lines = lines[: int(rng.integers(0, 4))]
    return b"\n".join(lines)


def change_archive(data: bytes, rng: np.random.Generator) -> bytes:
    """Members of a zip file dropped, renamed, with another array, or with other JSON."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    name = list(members)[int(rng.integers(0, len(members)))]
    how = rng.integers(0, 4)
    if name == "meta.json.npy" or ("meta.json.npy" in members and how == 0):
        meta = json.loads(bytes(np.load(io.BytesIO(members["meta.json.npy"]))))
        text = np.frombuffer(json.dumps(change_json(meta, rng)).encode(), dtype=np.uint8)
        members["meta.json.npy"] = _packed(text)
    elif how == 0:
        del members[name]
    elif how == 1:
        members[["../x.npy", "/x.npy", "x", "X.npy", "labels.npy"][rng.integers(5)]] = members.pop(
            name
        )
    elif how == 2:
        members[name] = change_bytes(members[name], rng)
    else:
        members[name] = _packed(change_array(np.load(io.BytesIO(members[name])), rng))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for member, body in (_resealed(members) if rng.random() < 0.9 else members).items():
            new.writestr(member, body)
    return file.getvalue()


def _resealed(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return the same with a checksum that fits, so that the reader sees the change."""
    try:
        arrays = {name: np.load(io.BytesIO(body)) for name, body in members.items()}
        meta = json.loads(bytes(arrays.pop("meta.json.npy")))
        named = {name.removesuffix(".npy"): array for name, array in arrays.items()}
        meta["sha256"] = checksum(meta["content"], named)
    except Exception:  # what cannot be read has no checksum
        return members
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    return members | {"meta.json.npy": _packed(text)}


def _packed(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def change_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another shape, type or other values."""
    how = rng.integers(0, 7)
    if how == 0:
        return array.ravel()
    if how == 1:
        return array[: int(rng.integers(0, 3))] if array.ndim else array
    if how == 2:
        return array[..., None]
    if how == 3:
        return (
            array.astype(["U5", "f4", "i8", "u1", "c16", "?"][rng.integers(6)])
            if array.dtype.kind in "iuf"
            else array
        )
    if how == 4:
        return array.T
    if how == 5:
        return np.concatenate([array, array]) if array.ndim else array
    out = array.copy()
    if out.size and out.dtype.kind in "iuf":
        values = (
            [-1, 0, 127, 10**9]
            if out.dtype.kind in "iu"
            else [np.nan, np.inf, -np.inf, 1e300, -1.0]
        )
        with np.errstate(all="ignore"):
            out.flat[int(rng.integers(0, out.size))] = np.array(
                values[rng.integers(len(values))]
            ).astype(out.dtype)
    return out


def change_json(value: Any, rng: np.random.Generator) -> Any:
    """Something somewhere inside replaced, dropped or wrapped."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[int(rng.integers(0, len(keys)))]
        if rng.random() < 0.1:
            return (
                {k: v for k, v in value.items() if k != key}
                if isinstance(value, dict)
                else value[:key]
            )
        out = dict(value) if isinstance(value, dict) else list(value)
        out[key] = change_json(out[key], rng)
        return out
    others: list[Any] = [None, -1, 0, 10**30, 1e400, "x", "", [], {}, [value], True]
    others += ["nearest", "precomputed"]
    return others[rng.integers(len(others))]


def changed(target: str, data: bytes, rng: np.random.Generator) -> bytes:
    """One change of the kind that fits the format."""
    if target in {"npz", "ensemble", "model"} and rng.random() < 0.6:
        return change_archive(data, rng)
    if target in {"csv", "tsv", "csv.gz", "blocks"}:
        text = change_lines(data, rng) if rng.random() < 0.5 else change_bytes(data, rng)
        if target != "csv.gz":
            return text
        return gzip.compress(text) if rng.random() < 0.5 else change_bytes(gzip.compress(text), rng)
    return change_bytes(data, rng)
