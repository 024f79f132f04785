"""What the tests of displays share: records to draw, and every display."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from clustertrust import Confidence, Ensemble

mpl.use("Agg")

IRIS = load_iris(as_frame=True)
NAN = np.nan


def new_ax():
    return Figure(layout="constrained").add_subplot()


def drawn(display):
    """Draw for real: a canvas finds what no artist knows before."""
    display.figure_.canvas.draw()
    return display


def record(scores, labels, names=None, *, stability=None, geometry=None, n_runs=2):
    """A Confidence by hand; the runs are the labels, again and again."""
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels)
    k = max(labels.max(initial=-1) + 1, 1)
    return Confidence(
        scores=scores,
        stability=scores if stability is None else stability,
        geometry=scores if geometry is None else geometry,
        silhouette_mean=scores,
        silhouette_std=np.zeros(len(scores)),
        standard_errors=np.zeros(len(scores)),
        labels=labels,
        label_names=np.arange(k) if names is None else np.array(names, dtype=object),
        consensus_strength=np.ones(len(scores)),
        votes=np.ones((len(scores), k)),
        rival=np.full(len(scores), -1),
        reference_run=0,
        geometry_method="exact",
        ensemble=Ensemble(np.repeat(labels[:, None], n_runs, axis=1), (None,) * n_runs),
        n_runs=n_runs,
    )


GAPPY = record(
    scores=[0.96, 0.2, NAN, 0.4, 0.0, 0.7, NAN, 0.5],
    labels=[0, 0, 0, 1, -1, 1, -1, -1],
    names=["zebra", "ant"],
)
