"""Runtime against n: times are of other machines, Pearson and MAE between proxy and exact scores can be compared."""

from experiments.results import Experiment
from experiments.runtime import CAUSES, against, kind

EXPERIMENT = Experiment(
    title="Runtime against n, and how near the proxy comes",
    run=against("n"),
    keys=("dataset", "n", "quantity"),
    sets=("blobs",),
    protocols=("printed",),
    causes=CAUSES,
    kind=kind,
    again=True,
)
