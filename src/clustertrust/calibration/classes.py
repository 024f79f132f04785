"""Clusters and some known classes → the class of each cluster, and which assignments are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Array, Bools, Ints
from clustertrust._validation.arguments import check_choice, check_flat, warn_user
from clustertrust._validation.labels import check_label_vector
from clustertrust._validation.rows import check_same_length
from clustertrust.calibration.checks import check_positions
from clustertrust.matching import best_match, count_pairs


def majority(table: Ints) -> Ints:
    """Return the most common class of each cluster, the first seen on ties; clusters may share."""
    return np.where(table.any(axis=1), table.argmax(axis=1), -1)


def matching(table: Ints) -> Ints:
    """Match clusters and classes one to one, with as many labels as possible on matched pairs."""
    partner = best_match(table)
    return np.where((partner >= 0) & table.any(axis=1), partner, -1)


MAPPINGS: dict[str, Callable[[Ints], Ints]] = {"majority": majority, "matching": matching}


@dataclass(frozen=True)
class ClusterMap:
    """The class that each cluster represents.

    Attributes
    ----------
    names : dict, the class of each cluster; clusters without one are not in it
    shares : dict, the share of the cluster's known points that are of that class; empty for a map
        fixed by hand
    used : (u,) positions of the points whose classes made the map: they cannot test it
    """

    names: dict[Any, Any]
    shares: dict[Any, float]
    used: Ints = field(repr=False)
    # Cluster of each point, None where it has none
    labels: tuple[Any, ...] = field(repr=False)

    def assign(self) -> Array:
        """Return the class of each point by its cluster, (n,); None if the cluster has none."""
        out = np.empty(len(self.labels), dtype=object)
        out[:] = [self.names.get(label) for label in self.labels]
        return out

    def correct(self, positions: Any, classes: Any) -> Bools:
        """Return whether the assignment of some points is right.

        Points of a cluster without a class, and points without a cluster, are wrong.

        Parameters
        ----------
        positions : (m,) positions of the points, each once
            Points whose class made the map raise an error: they are right more often than others,
            and would give too low a threshold.
        classes : (m,) their classes, in the same order

        Returns
        -------
        (m,) bool array
        """
        places = check_positions(positions, len(self.labels))
        truth = _check_classes(classes)
        check_same_length("positions", places, "classes", truth)
        missing = np.flatnonzero(np.asarray(pd.isna(truth), dtype=bool))
        if missing.size:
            raise ValueError(
                f"classes is missing for position {places[missing[0]]}; give a class for each "
                "position."
            )
        twice = np.intersect1d(places, self.used)
        if twice.size:
            raise ValueError(
                f"{twice.size} of the positions, such as {twice[0]}, made this map and cannot test "
                "it. Label other points: suggest(scores, n, exclude=cluster_map.used)."
            )
        assigned = self.assign()[places]
        return np.array(
            [name is not None and name == true for name, true in zip(assigned, truth, strict=True)],
            bool,
        )


def map_clusters(
    labels: Any, classes: Any, positions: Any = None, *, method: str = "majority"
) -> ClusterMap:
    """Find the class of each cluster from points whose class is known, or take it from a dict.

    Parameters
    ----------
    labels : (n,) cluster of each point, of any kind
        Negative numbers and missing values mean that the point is not assigned.
    classes : (m,) classes of the points at `positions`, or (n,) of all points; or a dict
        Missing where not known. A dict {cluster: class} sets the map by hand and needs no labels.
    positions : (m,) positions of the points with a known class, optional
    method : {"majority", "matching"}
        The most common class of each cluster, which clusters may share; or one cluster for each
        class, by the matching of the paper's Eq. (5).

    Returns
    -------
    ClusterMap

    Examples
    --------
    >>> from clustertrust.calibration import map_clusters
    >>> labels = [0, 0, 0, 1, 1, 1]
    >>> by_cluster = map_clusters(labels, ["cat", "dog"], positions=[0, 3])
    >>> by_cluster.names, by_cluster.correct([1, 2, 4], ["cat", "dog", "dog"]).tolist()
    ({0: 'cat', 1: 'dog'}, [True, False, True])
    """
    check_choice("method", method, MAPPINGS)
    codes, clusters = check_label_vector("labels", labels)
    own = [*clusters.tolist(), None]
    of_point = tuple(own[code] for code in codes)
    if isinstance(classes, Mapping):
        return _by_hand(classes, own[:-1], of_point, positions, method)
    truth = _check_classes(classes)
    has_class = ~np.asarray(pd.isna(truth), dtype=bool)
    if positions is None:
        check_same_length("labels", codes, "classes", truth)
        used = np.flatnonzero(has_class)
    else:
        places = check_positions(positions, len(codes))
        check_same_length("positions", places, "classes", truth)
        used = places[has_class]
    class_codes, class_names = pd.factorize(truth[has_class])
    table = count_pairs(codes[used], class_codes, (len(clusters), len(class_names)))
    if not table.any():
        raise ValueError(
            "classes is not known for any point that has a cluster; give at least one."
        )
    class_of = MAPPINGS[method](table)
    if (class_of < 0).any():
        lost = [own[c] for c in np.flatnonzero(class_of < 0)]
        warn_user(
            f"Clusters {lost} have no class: none of their points has a known class. Their points "
            "count as wrong; label some."
        )
    named = [(own[c], int(c), int(k)) for c, k in enumerate(class_of) if k >= 0]
    kinds = class_names.tolist() if isinstance(class_names, np.ndarray) else list(class_names)
    shares = {name: float(table[c, k] / table[c].sum()) for name, c, k in named}
    return ClusterMap({name: kinds[k] for name, _, k in named}, shares, np.sort(used), of_point)


def _by_hand(
    names: Mapping[Any, Any],
    clusters: list[Any],
    of_point: tuple[Any, ...],
    positions: Any,
    method: str,
) -> ClusterMap:
    """Return a map that the user set by hand."""
    if positions is not None or method != "majority":
        raise ValueError(
            "classes is a dict, which needs no positions and no method; leave them out."
        )
    unknown = [cluster for cluster in names if cluster not in clusters]
    if unknown:
        raise ValueError(
            f"classes names the cluster {unknown[0]!r}, which labels do not have: {clusters}."
        )
    lost = [cluster for cluster in clusters if cluster not in names]
    if lost:
        warn_user(f"Clusters {lost} have no class in the map given. Their points count as wrong.")
    return ClusterMap(dict(names), {}, np.array([], dtype=np.int64), of_point)


def _check_classes(classes: Any) -> Array:
    """Return one flat array of objects; every value that is not missing is a class."""
    values = np.asarray(
        classes.astype(object) if isinstance(classes, pd.Series | pd.Categorical) else classes,
        object,
    )
    check_flat("classes", values, "classes")
    return values
