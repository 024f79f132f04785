"""Scores of single cells, stored in AnnData objects as scanpy's functions do.

Needs the package anndata: `pip install "clustertrust[anndata]"`.
"""

from clustertrust.anndata.results import annotate, ask, decide
from clustertrust.anndata.scoring import report, score
from clustertrust.anndata.sweeping import sweep
from clustertrust.files.h5ad import representation

__all__ = [
    "annotate",
    "ask",
    "decide",
    "report",
    "representation",
    "score",
    "sweep",
]
