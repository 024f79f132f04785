"""What the tests of Dask share: blocks of rows, and small fits."""

import pytest
import sklearn

from clustertrust import CAKE
from clustertrust.files.sources import ArraySource

ROWS = 1500  # of a block
ON_A_CLUSTER = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.xdist_group("dask"),  # one cluster
]


class SameBlocks(ArraySource):
    """The blocks that Dask has."""

    def read(self, rows):
        return super().read(ROWS)


def fit(X, **options):
    return CAKE(4, **{"n_runs": 5, "random_state": 0} | options).fit(X)


def fit_out_of_core(points, **options):
    with sklearn.config_context(working_memory=0.01):
        return fit(SameBlocks(points), **options)
