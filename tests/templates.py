"""`null_reference` and `choose_k` with the settings of their estimator as keywords beside their
own.
"""

import clustertrust
from clustertrust import CAKE

OWN = ("families", "null", "effort", "n_surrogates", "level", "max_points")


def null_reference(X, n_clusters=None, **settings):
    own = {name: settings.pop(name) for name in OWN if name in settings}
    return clustertrust.null_reference(X, CAKE(n_clusters, **settings), **own)


def choose_k(X, ks=range(2, 13), **settings):
    own = {name: settings.pop(name) for name in OWN if name in settings}
    return clustertrust.choose_k(X, ks, CAKE(**settings), **own)
