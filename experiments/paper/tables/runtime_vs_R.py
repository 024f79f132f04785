"""Runtime against R: times are of other machines, Pearson and MAE between proxy and exact scores can be compared."""

from experiments.paper.results import Experiment
from experiments.paper.runtime import CAUSES, against, kind

EXPERIMENT = Experiment(
    title="Runtime against R, and how near the proxy comes",
    run=against("R"),
    keys=("dataset", "R", "quantity"),
    sets=("blobs",),
    protocols=("printed",),
    causes=CAUSES,
    kind=kind,
    again=True,
)
