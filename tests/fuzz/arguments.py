"""Wrong arguments: a call of `calls` with one or two of its arguments replaced by something else.

`strangers` is the table of values which may stand in their place: other types, other shapes,
numbers beyond any use. `fuzz` draws from both tables; every pair of an argument and a stranger can
also be tried in turn:

    PYTHONPATH=tests:src python -m fuzz.arguments [PART OF A NAME]
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust import CAKE, calibration
from fuzz.attempts import attempt
from fuzz.calls import N, calls, valid

LIMIT = 20.0  # seconds of a call on a dozen points, after which it is said never to end


def strangers() -> dict[str, Callable[[], Any]]:
    """What may stand in place of any argument, by name; made anew for each call."""
    return {**_scalars(), **_collections(), **_arrays(), **_objects()}


def _scalars() -> dict[str, Callable[[], Any]]:
    plain: list[Any] = [None, True, False, -1, 0, 1, 2, 5, 2**31, 2**63, 2**64, 10**30, -(10**30)]
    plain += [0.5, -0.5, 1.5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324, 1j]
    plain += ["x", "", "auto", "\x00", "\ud800", b"x"]
    others = {
        "np.bool_": lambda: np.True_,
        "np.int8": lambda: np.int8(3),
        "np.uint64": lambda: np.uint64(2**63),
        "np.float16": lambda: np.float16(0.5),
        "np.str_": lambda: np.str_("x"),
        "np.complex128": lambda: np.complex128(1j),
        "datetime64": lambda: np.datetime64("2020-01-01"),
        "datetime": lambda: datetime.datetime(2020, 1, 1),
        "Decimal": lambda: decimal.Decimal("0.5"),
        "Fraction": lambda: fractions.Fraction(1, 2),
        "pd.NA": lambda: pd.NA,
        "pd.NaT": lambda: pd.NaT,
    }
    return {repr(value): (lambda value=value: value) for value in plain} | others


def _collections() -> dict[str, Callable[[], Any]]:
    return {
        "[]": list,
        "[[]]": lambda: [[]],
        "ragged": lambda: [[1], [1, 2]],
        "[None] * N": lambda: [None] * N,
        "words": lambda: ["a", "b"] * (N // 2),
        "large numbers": lambda: [10**30] * N,
        "numbers and words": lambda: [1, "a"] * (N // 2),
        "dicts": lambda: [{}] * N,
        "two floats": lambda: [0.5, 0.7],
        "()": lambda: (),
        "{}": dict,
        "dict": lambda: {"a": 1},
        "dict of lists": lambda: {"n_clusters": [2, "x"]},
        "dict of numbers": lambda: {0: 1},
        "set": lambda: {1, 2},
        "range": lambda: range(N),
        "generator": lambda: (i for i in range(3)),
        "bytearray": lambda: bytearray(b"x"),
        "deep": lambda: _deep(),
    }


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100):
        value = [value]
    return value


def _arrays() -> dict[str, Callable[[], Any]]:
    import dask.array as da
    import polars as pl

    flat, matrix = np.linspace(0, 1, N), np.random.default_rng(1).normal(size=(N, 3))
    whole = np.arange(N) % 3
    return {
        "0-d": lambda: np.array(0.5),
        "0-d of text": lambda: np.array("x"),
        "empty array": lambda: np.empty(0),
        "no rows": lambda: np.empty((0, 3)),
        "no columns": lambda: np.empty((N, 0)),
        "flat": lambda: flat.copy(),
        "matrix": lambda: matrix.copy(),
        "float32": lambda: matrix.astype(np.float32),
        "3-d": lambda: np.ones((N, 3, 2)),
        "codes": lambda: whole.copy(),
        "two runs": lambda: np.column_stack([whole, whole]),
        "bools": lambda: whole > 0,
        "complex": lambda: matrix + 1j,
        "flat complex": lambda: flat + 1j,
        "objects": lambda: np.array([object()] * N, dtype=object),
        "texts": lambda: np.array(["a", "b", "c"])[whole],
        "bytes": lambda: np.array([b"a", b"b", b"c"])[whole],
        "dates": lambda: np.array(["2020-01-01"] * N, dtype="datetime64[D]"),
        "records": lambda: np.zeros(N, dtype=[("a", "f8"), ("b", "i4")]),
        "masked": lambda: np.ma.masked_less(flat, 0.5),
        "unsigned": lambda: np.full(N, 2**64 - 1, dtype=np.uint64),
        "huge floats": lambda: np.full(N, 1e300),
        "np.matrix": lambda: np.asmatrix(matrix),
        "Series": lambda: pd.Series(flat, index=list("abcdefghijkl")),
        "Series of text": lambda: pd.Series(["a", None] * (N // 2)),
        "nullable Series": lambda: pd.Series([1, None] * (N // 2), dtype="Int64"),
        "Categorical": lambda: pd.Categorical(["a", "b"] * (N // 2)),
        "DataFrame": lambda: pd.DataFrame(matrix, columns=["a", "b", "c"]),
        "DataFrame of text": lambda: pd.DataFrame({"a": ["x"] * N}),
        "DataFrame of complex": lambda: pd.DataFrame(matrix + 1j),
        "empty DataFrame": lambda: pd.DataFrame(),
        "columns of two levels": lambda: pd.DataFrame(
            matrix, columns=pd.MultiIndex.from_tuples(["ab", "ac", "bc"])
        ),
        "MultiIndex": lambda: pd.MultiIndex.from_product([[1, 2], ["a", "b"]]),
        "polars frame": lambda: pl.DataFrame(matrix, schema=["a", "b", "c"]),
        "polars text": lambda: pl.DataFrame({"a": ["x"] * N}),
        "polars Series": lambda: pl.Series(flat),
        "polars lazy": lambda: pl.LazyFrame({"a": [1.0, 2.0]}),
        "csr": lambda: sparse.csr_array(matrix),
        "coo": lambda: sparse.coo_matrix(matrix),
        "sparse complex": lambda: sparse.csr_array(matrix + 1j),
        "dask": lambda: da.from_array(matrix, chunks=(5, 3)),
        "flat dask": lambda: da.from_array(flat, chunks=5),
    }


def _objects() -> dict[str, Callable[[], Any]]:
    v = valid()
    return {
        "object": object,
        "type": lambda: int,
        "function": lambda: lambda *_: None,
        "module": lambda: np,
        "Ellipsis": lambda: ...,
        "slice": lambda: slice(2),
        "Path": lambda: Path("missing"),
        "folder": lambda: Path(),
        "RandomState": lambda: np.random.RandomState(0),
        "Generator": lambda: np.random.default_rng(0),
        "CAKE": lambda: CAKE(2),
        "fitted CAKE": lambda: v.cake,
        "Confidence": lambda: v.record,
        "Ensemble": lambda: v.cake.ensemble_,
        "Calibrator": calibration.Calibrator,
        "KProfile": lambda: v.profile,
    }


def random_call(rng: np.random.Generator) -> None:
    """One of the calls with one or two of its arguments replaced."""
    table, others = calls(), strangers()
    name = list(table)[int(rng.integers(len(table)))]
    function, arguments = table[name]
    given = arguments()
    for _ in range(1 if rng.random() < 0.7 else 2):
        argument = list(given)[int(rng.integers(len(given)))]
        given[argument] = others[list(others)[int(rng.integers(len(others)))]]()
    with in_time():
        function(**given)


@contextmanager
def in_time(seconds: float = LIMIT) -> Iterator[None]:
    """Raise where the call takes longer, and close the figures that it opened.

    Compiled code is not interrupted; its process ends at a limit of its own.
    """

    def stop(*_: Any) -> None:
        raise AssertionError(f"no end within {seconds:.0f} s")

    before = signal(SIGALRM, stop)
    setitimer(ITIMER_REAL, seconds)
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


def every_pair(part: str = "") -> Iterator[tuple[str, str]]:
    """Yield what was called and what came of it: each argument of each call whose name has this
    part, each stranger.
    """
    for name, (function, arguments) in calls().items():
        if part not in name:
            continue
        for argument in arguments():
            for stranger, make in strangers().items():

                def call() -> None:
                    with in_time():
                        function(**(arguments() | {argument: make()}))  # noqa: B023

                yield f"{name}({argument}={stranger})", attempt(call)


def main(part: str = "") -> None:
    """Try every pair; print the finds and how many calls were made."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some strangers are taken for names of files
        for call, outcome in every_pair(part):
            counts[outcome if outcome in {"accepted", "refused"} else "finds"] += 1
            if outcome not in {"accepted", "refused"}:
                print(f"{call}: {outcome}", flush=True)
        os.chdir(os.sep)
    print(dict(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
