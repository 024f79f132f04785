"""Scores of cells in an AnnData object: written, read again, asked about and decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from clustertrust import answers
from clustertrust._validation.arguments import check_mapping
from clustertrust._validation.rows import check_same_length
from clustertrust.anndata.data import check_target
from clustertrust.answers.scored import scored as scored_points
from clustertrust.answers.tables import SHOWN, answers_table
from clustertrust.columns import COLUMNS
from clustertrust.files.h5ad import representation


def annotate(
    adata: Any, table: pd.DataFrame, *, key_added: str, settings: Mapping[str, Any]
) -> None:
    """Write a table of scores, with the rows of `adata`, into `obs`, and settings into `uns`."""
    check_target(adata, key_added)
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"table is a {type(table).__name__}; give a pandas DataFrame, as Confidence.to_frame() "
            "does."
        )
    check_same_length("table", table, "adata", adata)
    settings = check_mapping("settings", settings)
    for name, column in COLUMNS.items():
        to = f"{key_added}_{name}"
        if name in table:
            adata.obs[to] = (
                _categories(table[name]) if column.kind == "cluster" else table[name].array
            )
        elif to in adata.obs:  # of earlier scores, and no part of these
            del adata.obs[to]
    adata.uns[key_added] = {
        name: kept for name, value in settings.items() if (kept := _storable(value)) is not None
    }


def results_of(adata: Any, key: str) -> pd.DataFrame:
    """Return the results in obs, under the names of `Confidence.to_frame`."""
    check_target(adata, key)
    names = {f"{key}_{name}": name for name in COLUMNS if f"{key}_{name}" in adata.obs}
    table: pd.DataFrame = adata.obs[list(names)].rename(columns=names)
    if not {"label", "score"} <= set(table):
        raise ValueError(
            f"adata.obs has no {key}_label and {key}_score; call clustertrust.anndata.score(adata, "
            f"key_added={key!r}) first."
        )
    return table


def ask(
    adata: Any,
    n: int = 60,
    *,
    n_random: int | None = None,
    use_rep: str = "X_pca",
    key_added: str = "cake",
    random_state: Any = 0,
) -> pd.DataFrame:
    """Choose cells to ask a person about, after :func:`score`.

    Parameters
    ----------
    adata : AnnData
        `obs["cake_asked"]` gets "random" for cells drawn at random and "learn" for those that were
        chosen to teach; missing elsewhere.
    n, n_random, random_state
        See :func:`clustertrust.answers.ask`.
    use_rep, key_added : str
        As they were for `score`.

    Returns
    -------
    DataFrame
        One row per question, by the names of the cells: label and rival. Put the answers into
        `adata.obs["cake_answer"]`.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import clustertrust.anndata
    >>> adata = AnnData(load_iris().data)
    >>> clustertrust.anndata.score(adata, use_rep="X", n_clusters=3)
    >>> asked = clustertrust.anndata.ask(adata, 90, use_rep="X")
    >>> adata.obs["cake_asked"].value_counts().to_dict()
    {'random': 60, 'learn': 30}
    """
    table = results_of(adata, key_added)
    X = representation(adata, use_rep)
    questions = answers.ask(table, n, n_random=n_random, X=X, random_state=random_state)
    asked = pd.Series(None, index=adata.obs_names, dtype=object)
    asked.iloc[questions.positions] = np.where(questions.drawn, "random", "learn")
    adata.obs[f"{key_added}_asked"] = pd.Categorical(asked, categories=["learn", "random"])
    shown = [name for name in SHOWN if name in table]
    return table.iloc[questions.positions][shown]


def decide(
    adata: Any,
    *,
    answers_in: str = "cake_answer",
    risk: float = 0.1,
    delta: float = 0.05,
    use_rep: str = "X_pca",
    key_added: str = "cake",
) -> answers.Decision:
    """Find which cells can be kept with an error of at most `risk`, by answers in `obs`.

    Parameters
    ----------
    adata : AnnData
        Annotated in place: `obs["cake_kept"]`, `obs["cake_probability"]` with `…_low` and
        `…_high`, `obs["cake_corrected"]` (labels as they should be), and the decision in words in
        `uns["cake_decision"]`.
    answers_in : str
        Column of `obs` with the answers: "right", "wrong" or "skip", or the class of the cell, or
        the cluster it should be in; empty or missing where nothing was asked. A guarantee rests on
        cells for which `obs["cake_asked"]` is "random".
    risk, delta
        See :func:`clustertrust.answers.decide`.
    use_rep, key_added : str
        As they were for `score`.

    Returns
    -------
    Decision
        `print` says it in words.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import clustertrust.anndata
    >>> adata = AnnData(load_iris().data)
    >>> clustertrust.anndata.score(adata, use_rep="X", n_clusters=3)
    >>> asked = clustertrust.anndata.ask(adata, 90, use_rep="X")
    >>> adata.obs.loc[asked.index, "cake_answer"] = "right"  # yours
    >>> print(clustertrust.anndata.decide(adata, risk=0.1, use_rep="X"))
    Of the 150 rows kept, at most 10% are wrong, with 95% confidence; 90 answers used.
    """
    table = results_of(adata, key_added)
    if answers_in not in adata.obs:
        raise ValueError(
            f"answers_in={answers_in!r} is not a column of obs; put the answers there, see "
            "clustertrust.anndata.ask."
        )
    source = scored_points(table, representation(adata, use_rep))
    answered = pd.DataFrame(
        {"row": np.arange(adata.n_obs), "answer": adata.obs[answers_in].astype(object)}
    )
    if f"{key_added}_asked" in adata.obs:
        answered["asked"] = adata.obs[f"{key_added}_asked"].astype(object)
    read = answers_table({f"obs[{answers_in!r}]": answered.reset_index(drop=True)}, source)
    decision = answers.decide(source, read, risk=risk, delta=delta)
    decided = decision.to_frame()
    for name in ("kept", "probability"):
        adata.obs[f"{key_added}_{name}"] = decided[name].to_numpy()
    for name in ("low", "high"):
        adata.obs[f"{key_added}_probability_{name}"] = decided[name].to_numpy()
    adata.obs[f"{key_added}_corrected"] = _categories(decided["label"])
    adata.uns[f"{key_added}_decision"] = {
        "statement": str(decision),
        "risk": decision.risk,
        "delta": decision.delta,
        "guaranteed": decision.guaranteed,
        "answers": decision.learned.n_answers,
    }
    return decision


def _categories(labels: pd.Series) -> pd.Categorical:
    """Return clusters as in scanpy: categories of text, numbers in order; -1 is no cluster."""
    there = labels.notna()
    if pd.api.types.is_integer_dtype(labels.dtype):
        there &= labels.fillna(-1) >= 0
    order = [str(name) for name in sorted(labels[there].unique())]
    return pd.Categorical(
        [str(value) if has else None for value, has in zip(labels, there, strict=True)], order
    )


def _storable(value: Any) -> Any:
    """Return a setting as H5AD can hold it; None is left out."""
    if value is None or isinstance(value, bool | int | float | str | pd.DataFrame):
        return value
    if isinstance(value, Mapping):
        return {
            str(name): kept for name, item in value.items() if (kept := _storable(item)) is not None
        }
    if isinstance(value, list | tuple | range | np.ndarray):
        array = np.asarray(value)
        return (
            array
            if array.dtype.kind in "biuf"
            else np.array([str(item) for item in value], dtype=object)
        )
    return repr(value)
