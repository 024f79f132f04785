"""X, a clusterer and seeds → an ensemble: R runs, each a labelling of the same n points."""

from clustertrust.ensemble.record import Ensemble, as_ensemble, assemble
from clustertrust.ensemble.runs import Runs

__all__ = ["Ensemble", "Runs", "as_ensemble", "assemble"]
