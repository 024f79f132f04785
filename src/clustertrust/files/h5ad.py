"""AnnData files, and the part of an AnnData object that holds the points."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import InputError, ParameterError, ParameterTypeError, literal, message_of
from clustertrust.files.errors import TableError
from clustertrust.files.memory import check_memory, needed_by_array
from clustertrust.files.reading import Reading, Table


def read_h5ad(source: Any, reading: Reading) -> Table:
    """Read AnnData."""
    if isinstance(source, io.BytesIO):
        raise TableError("is AnnData, which is read from a file, not from standard input.")
    _check_sizes(source)
    adata = importlib.import_module("anndata").read_h5ad(source)
    try:
        X = representation(adata, reading.use_rep)
    except ValueError as error:
        raise TableError(message_of(error).after("cannot be used: ")) from error
    if not sparse.issparse(X):
        X = pd.DataFrame(np.asarray(X), columns=adata.var_names if reading.use_rep == "X" else None)
    return Table(X, adata.obs_names, adata)


def _check_sizes(path: Path) -> None:
    """Raise if the arrays of a file take more memory than is allowed: they may be packed."""
    need = 0

    def add(_: str, item: Any) -> None:
        nonlocal need
        if hasattr(item, "dtype") and item.shape is not None:
            need += needed_by_array(item.shape, item.dtype)

    with importlib.import_module("h5py").File(path, "r") as file:
        file.visititems(add)
    check_memory(need, "its arrays")


def representation(adata: Any, use_rep: str) -> Any:
    """Return the matrix (n, d) that `use_rep` names, a key of `obsm` or "X"; dense or CSR."""
    check_adata(adata)
    if not isinstance(use_rep, str):
        raise ParameterTypeError("use_rep", use_rep, "must be a key of adata.obsm, or 'X'")
    if use_rep != "X" and use_rep not in adata.obsm:
        there = f"has {literal(list(adata.obsm))}" if len(adata.obsm) else "is empty"
        raise ParameterError(
            "use_rep",
            use_rep,
            f"is not in adata.obsm, which {there}",
            "compute it first (X_pca: scanpy.pp.pca(adata)), or name another, or 'X'",
        )
    X = adata.X if use_rep == "X" else adata.obsm[use_rep]
    if X is None:
        raise InputError("{use_rep='X'}, but adata.X is empty; name a key of adata.obsm.")
    if adata.isbacked and use_rep == "X":
        X = X.to_memory() if hasattr(X, "to_memory") else X[()]
    if sparse.issparse(X):
        return X.tocsr()
    return X.to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)


def check_adata(adata: Any) -> None:
    """Raise unless it is an AnnData object."""
    if not isinstance(adata, _anndata().AnnData):
        raise TypeError(f"adata must be an AnnData object, not {type(adata).__name__}.")


def _anndata() -> Any:
    try:
        return importlib.import_module("anndata")
    except ImportError as error:
        raise ImportError('This needs anndata: pip install "clustertrust[anndata]"') from error
