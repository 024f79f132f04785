"""Runtime against n: times are of other machines, Pearson and MAE between proxy and exact scores can be compared."""

from experiments.paper.results import Experiment
from experiments.paper.runtime import CAUSES, against, kind

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
