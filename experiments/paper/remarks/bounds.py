"""The bounds of the theory section, compared with simulation: how often what they limit really happens.

Labels are drawn independently for each run, as the theorems assume. `noise`: Pr[c > τ] of a point
whose label is uniform on k labels. `ranking`: Pr[c_i < c_j] of two points that keep a label with
such probabilities that their agreements differ by γ. `geometry`: the 95 % quantile of |S̃ - g| of
silhouettes drawn uniformly from an interval, beside `theory.geometry_deviation`. `noise, S̃`: the
remark that S̃ of noise is rarely high, for silhouettes uniform on [-1, 1], whose μ - σ is -0.58:
Pr[S̃ > τ], beside the δ at which `geometry_deviation`, which holds before the clip too, is τ +
0.58.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust import theory
from clustertrust.geometry.component import clip, mean_and_std
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment

KEYS = ("dataset", "setting", "R", "quantity")
RUNS = (10, 20, 50, 100, 200, 500)
DRAWS = 200_000


def stability_of(counts: NDArray) -> NDArray:
    """C from (draws, k) votes: the share of pairs of runs with the same label."""
    R = counts.sum(axis=1)
    return (counts * (counts - 1)).sum(axis=1) / (R * (R - 1))


def noise(R: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[str, dict[str, float]]]:
    """False stability of uniform labels."""
    for k, tau in ((3, 0.6), (3, 0.8), (10, 0.3), (10, 0.5)):
        c = stability_of(rng.multinomial(R, np.full(k, 1 / k), size=draws))
        bounds = {
            form: theory.false_stability_bound(R, tau, n_clusters=k, form=form)
            for form in theory.TAILS
        }
        yield f"k = {k}, τ = {tau}", {"simulated": float((c > tau).mean()), **bounds}


def ranking(R: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[str, dict[str, float]]]:
    """Two points that keep one of two labels with probabilities p and q, drawn apart."""
    for p, q in ((0.99, 0.8), (0.95, 0.5)):
        gamma = p**2 + (1 - p) ** 2 - q**2 - (1 - q) ** 2
        surer, other = (stability_of(rng.multinomial(R, [at, 1 - at], size=draws)) for at in (p, q))
        bounds = {
            form: theory.mis_ranking_bound(R, gamma, form=form) for form in theory.RANKING_TAILS
        }
        yield f"γ = {gamma:.2f}", {"simulated": float((surer < other).mean()), **bounds}


def geometry(
    R: int, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, float]]]:
    """How far S̃ is from what it estimates, at 95 %."""
    for low, high in ((0.0, 1.0), (0.5, 0.7)):
        g = max(0.0, (low + high) / 2 - (high - low) / np.sqrt(12))
        found = clip(*mean_and_std(rng.uniform(low, high, (draws // 10, R))))
        quantile = float(np.quantile(np.abs(found - g), 0.95))
        setting = f"silhouettes uniform on [{low:g}, {high:g}]"
        yield setting, {"simulated": quantile, "deviation": theory.geometry_deviation(R, 0.05)}


def noise_geometry(
    R: int, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, float]]]:
    """How often S̃ of noise is above a threshold, and the smallest δ that the deviation allows
    there.
    """
    s = clip(*mean_and_std(rng.uniform(-1, 1, (draws // 10, R))))
    for tau in (0.1, 0.3):
        bound = smallest_error(R, tau + 1 / np.sqrt(3))  # σ of silhouettes uniform on [-1, 1]
        yield f"τ = {tau}", {"simulated": float((s > tau).mean()), "deviation": bound}


def smallest_error(R: int, distance: float) -> float:
    """δ with geometry_deviation(R, δ) = distance, by halving; 1 where no δ below 1 is enough."""
    low, high = 1e-300, 1.0 - 1e-12
    if theory.geometry_deviation(R, high) > distance:
        return 1.0
    for _ in range(200):
        middle = np.sqrt(low * high)
        low, high = (
            (low, middle) if theory.geometry_deviation(R, middle) <= distance else (middle, high)
        )
    return float(high)


SIMULATIONS: dict[str, Callable[..., Iterator[tuple[str, dict[str, float]]]]] = {
    "noise": noise,
    "ranking": ranking,
    "geometry": geometry,
    "noise, S̃": noise_geometry,
}


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Simulate one kind of statement at several R."""
    for R in RUNS:
        rng = np.random.default_rng(R)
        for setting, found in SIMULATIONS[name](R, DRAWS // 10 if protocol.quick else DRAWS, rng):
            for quantity, value in found.items():
                yield {
                    "dataset": name,
                    "setting": setting,
                    "R": R,
                    "quantity": quantity,
                    "value": value,
                }


EXPERIMENT = Experiment(
    title="The bounds of the theory section, compared with simulation",
    run=run,
    keys=KEYS,
    sets=tuple(SIMULATIONS),
    protocols=("fair",),
    causes={},
    form=".2g",
)
