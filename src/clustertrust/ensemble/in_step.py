"""Runs of k-means on the CPU, all in step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clustertrust.ensemble.fitting import Method, Run, draw_params, seeded
from clustertrust.ensemble.lloyd import PreparedData
from clustertrust.ensemble.placing import Nearest


def fit_in_step(
    data: PreparedData,
    jobs: Sequence[tuple[int, Method, int]],
    vary: Any,
    threads: int,
) -> Iterator[tuple[int, Run]]:
    """Fit the runs (r, method, seed) that can be fitted together; yield each when it ends.

    Those that cannot, and those that leave clusters empty, are left to `fit_run`.
    """
    chosen = []
    for r, method, seed in jobs:
        params = draw_params(method.estimator, vary, seed)
        model = seeded(method.estimator, params, seed)
        if data.suits(model):
            chosen.append((r, method, seed, params, model))
    for position, run in data.fit([model for *_, model in chosen], threads):
        r, method, seed, params, _ = chosen[position]
        if run is not None:
            yield (
                r,
                Run(
                    labels=run.labels,
                    placer=Nearest(run.centers, np.arange(len(run.centers))),
                    centers=run.centers,
                    method=method.name,
                    seed=seed,
                    params=params,
                    objective=run.inertia,
                    iterations=float(run.n_iter),
                    seconds=run.seconds,
                ),
            )
