"""AnnData objects → scores of their cells in place, and a page to explore them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from clustertrust._validation.arguments import check_names, warn_user
from clustertrust._validation.rows import check_same_length
from clustertrust.anndata.data import (
    SCORED_BY,
    cells_of,
    check_target,
    described,
    placed,
    taken_by,
    with_variation,
)
from clustertrust.anndata.results import annotate, results_of
from clustertrust.auditing import audit
from clustertrust.auditing.labelling import N_RUNS
from clustertrust.ensemble.record import Ensemble
from clustertrust.estimator import CAKE, confidence
from clustertrust.notes import noise_text, note_on_noise
from clustertrust.report import write_report
from clustertrust.results import Confidence

# Parameters that say where work is done, not what is done
WHERE = ("n_jobs", "device", "verbose")
# What an audit found: the names of it in the settings, as in `Audit.findings`
WRONG_LABELS, VERDICTS, DOUBTFUL = "wrong_labels", "verdicts", "doubtful"

# Numbers are a measurement, not clusters, if more than FEW differ, and more than MANY or than this
# SHARE of the cells.
FEW, MANY, SHARE = 20, 200, 0.1


def score(
    adata: Any,
    cake: CAKE | None = None,
    *,
    n_clusters: int | None = None,
    resolution: float | Sequence[float] | None = None,
    n_runs: int | None = None,
    labels: str | Sequence[str] | Ensemble | None = None,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    key_added: str = "cake",
    threshold: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    copy: bool = False,
) -> Any:
    """Cluster the cells many times, or take partitions that are there, and score every assignment.

    Parameters
    ----------
    adata : AnnData
        Annotated in place: `obs["cake_score"]` (0 to 1, higher is surer), `obs["cake_label"]` (the
        consensus, categories of text as scanpy has them; missing where there is none),
        `obs["cake_reason"]` (why a cell is kept, or why it is doubtful, see
        :mod:`clustertrust.reasons`), the other columns of `Confidence.to_frame` under names of the
        same kind, and the settings in `uns["cake"]`.
    cake : CAKE, optional
        An estimator whose settings are used, such as ``CAKE(10, clusterer="gmm")``; it is not
        fitted. With "leiden" and neither `vary` nor `resample`, each run draws its
        resolution from 0.5 to 1.5: other seeds alone barely change the communities. Since the runs
        differ in their number of clusters, `agreement` is "jaccard" and `normalization` "smooth"
        then, in place of CAKE's defaults. None: such runs of "leiden", or runs of "kmeans" if
        `n_clusters` is given.
    resolution : float or sequence of float, optional
        Resolution of Leiden: each run draws its own, from 0.5 to 1.5 times this value, or from the
        values of a sequence. None: the same as 1.0. :func:`sweep` compares resolutions.
    n_clusters, n_runs : int, optional
        Number of clusters, and of runs, if `cake` is None. `n_runs` None: 20, and 40 for one column
        of labels.
    labels : str, sequence of str, or Ensemble, optional
        One column of `obs`, such as "louvain": its labels are scored by
        :func:`clustertrust.audit`, which takes those of its parameters that `cake` has from there,
        and `obs["cake_suggested"]` is the label that the runs suggest. Or several columns
        that hold partitions, at least two, such as ``["leiden_0.5", "leiden_1.0"]``: nothing is
        clustered then, and the parameters of clustering are left out. An `Ensemble` gives labels
        of the cells directly: one run is audited. :meth:`clustertrust.Ensemble.from_labels` says
        which labels are noise, and its option changes that. A column of counts is refused.
    use_rep : str, optional
        Where distances are taken: a key of `obsm`, or "X". None: the graph of neighbours where
        there is one and no setting needs coordinates; otherwise "X_pca".
    neighbors_key : str, optional
        The key of `uns` at which `scanpy.pp.neighbors` described the graph. None: "neighbors" if it
        is there. Leiden clusters its connectivities. Silhouettes are the mean of those along them
        and of those by straight distances in the representation that the graph was made from; with
        `geometry="graph"`, for given labels, and where `obsm` does not hold it, along them alone.
    key_added : str
        What the names of the results begin with.
    threshold : float, optional
        Cells with a score above this have the reason "core". None: see
        :meth:`clustertrust.Confidence.cut`.
    random_state, n_jobs, verbose
        See :class:`clustertrust.CAKE`. Values that `cake` sets take precedence.
    copy : bool
        Annotate a copy and return it.

    Returns
    -------
    AnnData or None
        The copy, with `copy=True`.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import clustertrust.anndata
    >>> adata = AnnData(load_iris().data)
    >>> clustertrust.anndata.score(adata, use_rep="X", n_clusters=3)
    >>> adata.obs["cake_label"].dtype.name, bool(adata.obs["cake_score"].iloc[0] > 0.8)
    ('category', True)
    """
    check_target(adata, key_added)
    partitions = None if labels is None else _partitions(adata, labels)
    is_one = isinstance(labels, str) or (isinstance(labels, Ensemble) and labels.n_runs == 1)
    # What scores the cells takes some or all of the parameters of CAKE.
    by: Callable[..., Any] = CAKE
    default = CAKE(clusterer="leiden") if n_clusters is None else CAKE()
    if is_one:
        by, default = audit, CAKE(n_runs=N_RUNS, normalization="affine")
    elif partitions is not None:
        by, default = confidence, CAKE()
    options = {"n_clusters": n_clusters, "n_runs": n_runs, "random_state": random_state}
    template = _template(cake, default, options | {"n_jobs": n_jobs, "verbose": verbose})
    if partitions is None:
        _let_leiden_vary(template, resolution)
    else:
        _refuse({"resolution": resolution}, "labels are given")
        _refuse_unused(template, n_runs, by)
        if template.clusterer == "kmeans":
            # An audit takes k-means where it can; it has to be able to do without.
            template.clusterer = None
    cells = cells_of(adata, template, use_rep, neighbors_key)
    scored = (
        cells.cluster(template) if partitions is None else cells.score(partitions, template, by)
    )
    at = scored.cut(threshold)
    taken = {name: value for name, value in taken_by(by, template).items() if name not in WHERE}
    settings = cells.named | taken | _described(labels, scored) | {"threshold": at.threshold}
    settings |= {} if at.chance is None else {"chance": at.chance}
    target = adata.copy() if copy else adata
    annotate(target, scored.to_frame(at.threshold), key_added=key_added, settings=settings)
    return target if copy else None


def _template(cake: Any, default: CAKE, options: Mapping[str, Any]) -> CAKE:
    """Return all settings as an estimator: a copy of the given one, or the default with options."""
    own: CAKE
    if cake is None:
        own = default.set_params(
            **{name: value for name, value in options.items() if value is not None}
        )
        return own
    if not isinstance(cake, CAKE):
        raise TypeError(
            f"cake={cake!r} must be an estimator, such as CAKE(10, clusterer='gmm'); a number of "
            "clusters is given as n_clusters."
        )
    twice = {name: options[name] for name in ("n_clusters", "n_runs")}
    _refuse(twice, "cake says how the cells are clustered")
    unset = {
        name: options[name] for name in ("random_state", "n_jobs") if getattr(cake, name) is None
    }
    own = clone(cake).set_params(**unset, verbose=cake.verbose or options["verbose"])
    return own


def _let_leiden_vary(cake: CAKE, resolution: Any) -> None:
    """Let runs of Leiden draw resolutions, and so differ in their clusters, if nothing varies."""
    vary = with_variation(cake.get_params(deep=False), resolution)["vary"]
    if vary is not cake.vary:
        usual = CAKE().get_params(deep=False)
        own = {name for name in SCORED_BY if getattr(cake, name) != usual[name]}
        scored_by = {name: value for name, value in SCORED_BY.items() if name not in own}
        cake.set_params(vary=vary, **scored_by)


def _refuse_unused(cake: CAKE, n_runs: int | None, by: Callable[..., Any]) -> None:
    """Raise for settings that given labels leave no use for."""
    params, usual = (one.get_params(deep=False) for one in (cake, CAKE(random_state=0)))
    unused = {
        name: value
        for name, value in params.items()
        if name not in {*taken_by(by, cake), *WHERE}
        and (isinstance(value, np.ndarray) or value != usual[name])
    }
    if by is audit:
        _refuse(unused, "one labelling is audited")
    else:
        unused |= {"n_runs": unused.get("n_runs", n_runs)}
        _refuse(unused, "labels are given, so that nothing is clustered")


def report(
    adata: Any,
    path: str | Path,
    *,
    key_added: str = "cake",
    basis: str | None = None,
    title: str | None = None,
    threshold: float | None = None,
) -> None:
    """Write an HTML page to explore the scores that `score` left in an AnnData object.

    Parameters
    ----------
    adata : AnnData
        With the results of :func:`score`.
    path : path of the file
    key_added : str
        What the names of the results begin with.
    basis : str, optional
        The key of `obsm` whose first two columns place the cells. None: "X_umap", "X_tsne" or
        "X_pca", the first that is there; without any, stability and geometry are the axes.
    title, threshold
        See :func:`clustertrust.report.write_report`. The page shows the other columns of `obs` for
        a selected cell.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import clustertrust.anndata
    >>> adata = AnnData(load_iris().data)
    >>> clustertrust.anndata.score(adata, use_rep="X", n_clusters=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clustertrust.anndata.report(adata, Path(folder, "cells.html"), title="Cells")
    """
    stored = dict(adata.uns.get(key_added, {}))
    findings = _findings(stored.pop(VERDICTS, None), stored.get(WRONG_LABELS))
    write_report(
        path,
        results_of(adata, key_added),
        settings=stored,
        title=title,
        threshold=threshold,
        chance=stored.get("chance"),
        findings=findings,
        embedding=placed(adata, basis),
        original=described(adata, key_added),
    )


def _findings(verdicts: Any, wrong_labels: Any) -> dict[str, Any] | None:
    """Return what `Audit.findings` gave, from what the settings have of it; None: nothing."""
    if not isinstance(verdicts, pd.DataFrame):
        return None
    doubtful = verdicts[DOUBTFUL].astype(bool)
    return {
        WRONG_LABELS: str(wrong_labels),
        VERDICTS: dict(zip(verdicts["label"].astype(str), verdicts["verdict"], strict=True)),
        DOUBTFUL: verdicts.loc[doubtful, "label"].astype(str).tolist(),
    }


def _described(labels: Any, scored: Confidence) -> dict[str, Any]:
    """Return what the settings say of given labels, and of the outcome."""
    from clustertrust import __version__

    facts: dict[str, Any] = {
        "geometry": scored.geometry_method,
        "n_runs": scored.n_runs,
        "clustertrust": __version__,
    }
    if isinstance(labels, Ensemble):
        facts["labels"] = f"an Ensemble of {labels.n_runs} runs"
    elif labels is not None:
        facts["labels"] = labels if isinstance(labels, str) else list(labels)
    if scored.ensemble.noise:
        facts["taken_as_noise"] = noise_text(scored.ensemble.noise)
    findings = scored.findings()
    if findings:
        # A table: in an H5AD file, "CD4+/CD8+" as a key would be two.
        verdicts = pd.DataFrame(findings[VERDICTS].items(), columns=["label", "verdict"])
        verdicts[DOUBTFUL] = verdicts["label"].isin(findings[DOUBTFUL])
        facts |= {WRONG_LABELS: findings[WRONG_LABELS], VERDICTS: verdicts}
    return facts


def _partitions(adata: Any, labels: Any) -> Ensemble:
    """Return the labels of the cells: an ensemble as it is, or columns of obs."""
    if isinstance(labels, Ensemble):
        check_same_length("labels", labels.labels, "adata", adata)
        return labels
    columns = [labels] if isinstance(labels, str) else labels
    names = check_names("labels", columns, "columns of adata.obs, at least two")
    missing = [name for name in names if name not in adata.obs]
    if missing:
        raise ValueError(
            f"labels names {missing}, not in adata.obs, which has {list(adata.obs.columns)}."
        )
    for name in names:
        _refuse_measurement(name, adata.obs[name])
    partitions = Ensemble.from_labels(adata.obs[names])
    # As in an audit: those cells get no score.
    if isinstance(labels, str):
        for note in note_on_noise(partitions.noise):
            warn_user(note)
    return partitions


def _refuse_measurement(name: str, column: pd.Series) -> None:
    """Raise for a column of numbers with so many values that they cannot be clusters."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or column.dtype == bool:
        return
    values, n = column.nunique(), len(column)
    is_fraction = pd.api.types.is_float_dtype(column.dtype) and bool((column.dropna() % 1).any())
    if is_fraction or (values > FEW and (values > MANY or values > SHARE * n)):
        raise ValueError(
            f"labels names {name!r}, a column of numbers with {values} different values in {n} "
            "cells: a count or a measurement, not clusters. If they are clusters, make them "
            f"categories: adata.obs[{name!r}] = adata.obs[{name!r}].astype('category')."
        )


def _refuse(params: Mapping[str, Any], why: str) -> None:
    named = [name for name, value in params.items() if value is not None]
    if named:
        raise ValueError(f"{why}: leave out {', '.join(named)}.")
