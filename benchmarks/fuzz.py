"""Random damage: valid files changed byte by byte and by structure for the readers, random
arguments for `confidence`, and wrong ones for every public function (`benchmarks.fuzz_arguments`).

A result, or an error of a kind that users are told of, is in order. Anything else is a find:
another error, a crash, memory that grows without bound, a call that does not end, a warning of
NumPy's that leaks, a score outside of 0 to 1. Each target runs in processes of its own with a limit
on their memory, so that a crash is counted and the rest goes on. Where atheris is installed (`pip
install atheris`) it guides a share of the changes by the lines of our readers that they reach.

    python -m benchmarks.fuzz [SECONDS] [SEED]
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn

from benchmarks import fuzz_arguments
from benchmarks.common import HERE, Row
from clustertrust import CAKE, Ensemble, build_ensemble, confidence
from clustertrust.files import Reading, open_source, read_table
from clustertrust.storage import checksum

SECONDS = 60.0  # for all targets together; the long form takes an hour
MEMORY = 3 * 2**30  # bytes that a process may take beyond what it starts with
STRETCH = 25.0  # seconds after which a process hands over to a new one
LATEST = 120.0  # seconds by which it may be late before it is ended
IN_ORDER = (ValueError, TypeError, FileNotFoundError, ImportError)
READERS = ("csv", "tsv", "csv.gz", "parquet", "npy", "npz", "ensemble", "model", "blocks")
CALLS = ("confidence", "arguments")
TARGETS = (*READERS, *CALLS)
INSTRUMENTED = [
    "clustertrust.storage",
    "clustertrust.files.errors",
    "clustertrust.files.delimited",
    "clustertrust.files.whole",
    "clustertrust.files.sources",
    "clustertrust.files.formats",
    "clustertrust.files.tables",
    "clustertrust.files",  # last: it takes its names from those above
]


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
        arrays = [
            X,
            X.astype(np.float32),
            np.asfortranarray(X),
            (9 * X).astype(np.int64),
            structured,
        ]
        for array in arrays:
            file = io.BytesIO()
            np.save(file, array, allow_pickle=False)
            found.append(file.getvalue())
    elif target == "npz":
        from scipy import sparse

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
    """The same with a checksum that fits, so that the reader sees the change."""
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
    others: list[Any] = [
        None,
        -1,
        0,
        10**30,
        1e400,
        "x",
        "",
        [],
        {},
        [value],
        True,
        "nearest",
        "precomputed",
    ]
    return others[rng.integers(len(others))]


def changed(target: str, data: bytes, rng: np.random.Generator) -> bytes:
    """One change of the kind that fits the format."""
    if target in {"npz", "ensemble", "model"} and rng.random() < 0.6:
        return change_archive(data, rng)
    if target in {"csv", "tsv", "csv.gz", "blocks"}:
        text = change_lines(data, rng) if rng.random() < 0.5 else change_bytes(data, rng)
        if target != "csv.gz":
            return text
        import gzip

        return gzip.compress(text) if rng.random() < 0.5 else change_bytes(gzip.compress(text), rng)
    return change_bytes(data, rng)


# What is tried


def read(target: str, data: bytes, path: Path) -> None:
    """Read a file as its users do; raise AssertionError for a result that cannot be right."""
    path.write_bytes(data)
    if target == "blocks":
        blocks = list(open_source(path).blocks(7))
        assert all(np.isfinite(block.X).all() for block in blocks), (
            "a block with values that are not finite"
        )
    elif target == "ensemble":
        ensemble = Ensemble.load(path)
        ensemble.summary()
        ensemble.diversity()
        if ensemble.runs is not None and all(run.placer is not None for run in ensemble.runs):
            ensemble.place(np.zeros((3, 3)))
    elif target == "model":
        cake = CAKE.load(path)
        new = np.arange(12.0).reshape(4, 3)
        if hasattr(cake, "feature_names_in_"):
            new = pd.DataFrame(new, columns=cake.feature_names_in_)
        check_scores(cake.score_samples(new))
        assert cake.predict(new).shape == (4,), "labels of another shape"
        cake.to_frame()
        cake.explain(0)
        cake.report(path.with_suffix(".html"))
    else:
        table = read_table(
            path, Reading(text=("name",)) if target in {"csv", "tsv", "parquet"} else None
        )
        assert table.data.shape[0] >= 0, "no table"


def check_scores(scores: np.ndarray) -> None:
    """Raise unless each is in [0, 1] or NaN."""
    known = scores[~np.isnan(scores)]
    assert ((known >= 0) & (known <= 1)).all(), f"scores from {known.min()} to {known.max()}"


def random_call(rng: np.random.Generator) -> None:
    """`confidence` with random points, labels and options."""
    n, d, R, k = (int(rng.integers(low, high)) for low, high in ((0, 40), (0, 5), (0, 6), (1, 8)))
    X: Any = (
        rng.normal(size=(n, d))
        * 10.0 ** rng.integers(-30, 30)
        * rng.choice([1, 1, 1, 1e150, 1e-150])
    )
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.15 and X.size:
        X.flat[rng.integers(X.size)] = rng.choice([np.nan, np.inf, 1e300, -0.0, 5e-324])
    kinds = [float, float, float, np.float32, np.float16, int, np.uint8, bool, complex, object, str]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what becomes of the draw is the question, not how
        X = X.astype(kinds[rng.integers(len(kinds))])
    labels: Any = rng.integers(-1, k, (n, R))
    form = rng.integers(0, 8)
    if form == 0:
        labels = [run.tolist() for run in labels.T]
    elif form == 1:
        labels = [np.array(["a", "b", None, "d"], dtype=object)[run % 4] for run in labels.T]
    elif form == 2:
        labels = pd.DataFrame(labels)
    elif form == 3:
        labels = labels.astype(rng.choice(["f4", "f8", "u8", "i1", "U3"]))
    elif form == 4:
        labels = [run[: n - r % 2] for r, run in enumerate(labels.T)]
    elif form == 5:
        labels = labels * int(rng.choice([1, 10**6, 2**40]))
    frame = rng.random()
    if frame < 0.15 and X.ndim == 2:
        X = pd.DataFrame(X)
    elif frame < 0.25 and X.dtype.kind in "fiub":
        from scipy import sparse

        X = sparse.random_array(
            (n, max(d, 1)), density=0.4, format=rng.choice(["csr", "csc", "coo"]), rng=rng
        )
    elif frame < 0.3:
        X = X.tolist()
    options = {
        "fusion": ["harmonic", "product", "sum"],
        "geometry": ["auto", "exact", "sampled", "centroid", "rms", "kernel", "flat"],
        "metric": [
            "euclidean",
            "cosine",
            "manhattan",
            "precomputed",
            "sqeuclidean",
            "correlation",
            "x",
        ],
        "kernel": ["self-tuning", "rbf", "linear", "polynomial", "precomputed"],
        "normalization": ["clip", "affine"],
        "agreement": ["matching", "jaccard"],
        "unassigned": ["skip", "disagree"],
        "consensus": ["medoid", "best-reference"],
        "n_jobs": [1, 2, None, 0],
    }
    given = {
        name: values[rng.integers(len(values))]
        for name, values in options.items()
        if rng.random() < 0.35
    }
    result = confidence(X, labels, **given)
    for name in ("scores", "stability", "geometry", "consensus_strength"):
        check_scores(getattr(result, name))
    assert len(result.scores) == n, "scores of another length"


def attempt(call: Callable[[], None]) -> str:
    """`accepted`, `refused`, or what was found."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter(
                "error", RuntimeWarning
            )  # NumPy's; ours to the user are of other kinds
            call()
    except IN_ORDER as error:
        return "refused" if str(error).strip() else f"{type(error).__name__} without a word"
    except OSError as error:
        return "refused" if error.strerror or str(error).strip() else "OSError without a word"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        at = traceback.extract_tb(error.__traceback__)
        ours = next((frame for frame in reversed(at) if "clustertrust" in frame.filename), at[-1])
        return (
            f"{type(error).__name__}: {str(error)[:150]} ({Path(ours.filename).name}:{ours.lineno})"
        )
    return "accepted"


# Processes


def _limit_memory() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def stretch(target: str, seed: int, seconds: float, folder: Path) -> None:
    """Try inputs for a while; print counts as JSON.

    The last input lies in the folder, should this process die.
    """
    rng = np.random.default_rng(seed)
    suffix = "csv" if target == "blocks" else target
    files = [] if target in CALLS else valid(target, folder, rng)
    counts: Counter[str] = Counter()
    call = {"confidence": random_call, "arguments": fuzz_arguments.random_call}.get(
        target, random_call
    )
    os.chdir(folder)  # some arguments are taken for names of files
    attempt(lambda: call(np.random.default_rng(0)))  # compiled before memory is limited
    _limit_memory()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        draw = int(rng.integers(2**62))
        (folder / "seed").write_text(str(draw))
        own = np.random.default_rng(draw)
        if target in CALLS:
            outcome = attempt(lambda own=own: call(own))  # type: ignore[misc]
        else:
            data = changed(target, files[int(own.integers(0, len(files)))], own)
            outcome = attempt(lambda data=data: read(target, data, folder / f"input.{suffix}"))  # type: ignore[misc]
            if outcome not in {"accepted", "refused"}:
                (folder / f"find-{draw}.{suffix}").write_bytes(data)
        counts[outcome if outcome in {"accepted", "refused"} else f"{outcome} [{draw}]"] += 1
    print(json.dumps(counts))


def guided(target: str, seed: int, seconds: float, folder: Path) -> None:
    """The same, the changes guided by atheris. A find ends it, since atheris stops there."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        for name in INSTRUMENTED:
            sys.modules.pop(name, None)
            importlib.import_module(name)
    globals()["read_table"] = sys.modules["clustertrust.files"].read_table
    globals()["open_source"] = sys.modules["clustertrust.files"].open_source
    (folder / "corpus").mkdir(exist_ok=True)
    for i, data in enumerate(valid(target, folder, np.random.default_rng(seed))):
        (folder / "corpus" / str(i)).write_bytes(data)
    counts: Counter[str] = Counter()
    suffix = "csv" if target == "blocks" else target

    def once(data: bytes) -> None:
        outcome = attempt(lambda: read(target, data, folder / f"input.{suffix}"))
        counts[outcome] += 1
        (folder / "counts.json").write_text(json.dumps(counts)) if sum(
            counts.values()
        ) % 50 == 0 else None
        if outcome not in {"accepted", "refused"}:
            (folder / f"find-guided-{seed}.{suffix}").write_bytes(data)
            (folder / "counts.json").write_text(json.dumps(counts))
            raise RuntimeError(outcome)

    options = [
        f"-seed={seed % 2**31 + 1}",
        f"-max_total_time={int(seconds)}",
        "-rss_limit_mb=4096",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], once)
    atheris.Fuzz()


def _ended(
    command: list[str], environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a process to its end, or end it when the time is up."""
    try:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -9, "", f"no end within {seconds:.0f} s")


def run_target(target: str, seconds: float, seed: int, finds: Path) -> dict[str, Any]:
    """Stretches one after the other until the time is up."""
    has_atheris = importlib.util.find_spec("atheris") is not None and target in READERS
    began, counts, number = time.monotonic(), Counter[str](), 0
    while (left := seconds - (time.monotonic() - began)) > 0:
        how = "guided" if has_atheris and number % 2 else "stretch"
        span = max(1.0, min(STRETCH, left))
        with tempfile.TemporaryDirectory() as name:
            code = f"from pathlib import Path; from benchmarks.fuzz import {how} as go; go({target!r}, {seed + number}, "
            code += f"{span}, Path({name!r}))"
            environment = os.environ | {
                "PYTHONPATH": os.pathsep.join([str(HERE.parent / "src"), str(HERE.parent)])
            }
            done = _ended([sys.executable, "-c", code], environment, span + LATEST)
            written = Path(name) / "counts.json"
            if how == "guided" and written.exists():
                counts.update(json.loads(written.read_text()))
            elif how == "stretch" and done.returncode == 0:
                counts.update(json.loads(done.stdout.splitlines()[-1]))
            if done.returncode and (how == "stretch" or not written.exists()):
                draw = (Path(name) / "seed").read_text() if (Path(name) / "seed").exists() else "?"
                counts[
                    f"the process ended with {done.returncode} [{draw}]: "
                    f"{done.stderr.strip()[-300:]}"
                ] += 1
            for find in [
                *Path(name).glob("find-*"),
                *(Path(name).glob("input.*") if done.returncode else []),
            ]:
                finds.mkdir(exist_ok=True)
                (finds / f"{target}-{find.name}").write_bytes(find.read_bytes())
        number += 1
    found = {what: times for what, times in counts.items() if what not in {"accepted", "refused"}}
    for what, times in found.items():
        print(f"{target}: {times} × {what}", flush=True)
    return {
        "target": target,
        "seconds": round(time.monotonic() - began),
        "inputs": sum(counts.values()),
        "accepted": counts["accepted"],
        "refused": counts["refused"],
        "finds": sum(found.values()),
    }


def run(seconds: float = SECONDS, seed: int = 0) -> Iterator[Row]:
    """Each target for its share of the time.

    Finds are printed, and their files kept in `benchmarks/finds`.
    """
    rows = []
    for target in TARGETS:
        row = run_target(target, seconds / len(TARGETS), seed, HERE / "finds")
        rows.append(row)
        what = f"{target}: finds among {row['inputs']:,} changed inputs ({row['accepted']:,} taken)"
        yield Row(
            what,
            row["finds"],
            "inputs",
            row["inputs"],
            row["finds"] / max(1, row["inputs"]),
            "0",
            _met(row),
        )
    with (HERE / "fuzz.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _met(row: dict[str, Any]) -> str:
    return "yes" if row["finds"] == 0 and row["inputs"] > 0 else "no"


if __name__ == "__main__":
    for row in run(*(kind(text) for kind, text in zip((float, int), sys.argv[1:], strict=False))):
        print(f"{row.work}: {row.met}", flush=True)
