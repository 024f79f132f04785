"""What is tried: a changed file, or a random call; and what counts as a find.

A result, or an error of a kind that users are told of, is in order. Anything else is a find:
another error, a crash, memory that grows without bound, a call that does not end, a warning of
NumPy's that leaks, a score outside of 0 to 1.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust import CAKE, Ensemble, confidence
from clustertrust.files import Reading, open_source, read_table

IN_ORDER = (ValueError, TypeError, FileNotFoundError, ImportError)


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
        X = sparse.random_array(
            (n, max(d, 1)), density=0.4, format=rng.choice(["csr", "csc", "coo"]), rng=rng
        )
    elif frame < 0.3:
        X = X.tolist()
    metrics = ["euclidean", "cosine", "manhattan", "precomputed", "sqeuclidean", "correlation", "x"]
    options = {
        "fusion": ["harmonic", "product", "sum"],
        "geometry": ["auto", "exact", "sampled", "centroid", "rms", "kernel", "flat"],
        "metric": metrics,
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
            # NumPy's; ours to the user are of other kinds.
            warnings.simplefilter("error", RuntimeWarning)
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
