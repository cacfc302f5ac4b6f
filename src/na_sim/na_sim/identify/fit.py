# SPDX-License-Identifier: Apache-2.0
"""Fits a servo model to pendulum runs: seeded global search, then bounded least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import differential_evolution, least_squares

from na_sim.identify.model import our_model
from na_sim.identify.parameters import Parameter, from_unit, parameters_of
from na_sim.identify.recordings import PendulumRun

Array = NDArray[np.float64]

STRIDE = 8  # every eighth sample enters the least squares
SOFT_SCALE = 0.02  # rad, beyond which residuals count linearly
BOUND_MARGIN = 0.01  # of the range; closer counts as lying on the bound
POPULATION = 6  # members per parameter in the global search
SPREAD_LIMIT = 0.02  # relative spread of the population's costs that counts as settled


@dataclass(frozen=True)
class FitResult:
    """Outcome of a fit.

    Attributes:
        family: friction family.
        parameters: what was fitted, with units and bounds.
        values: fitted values by name.
        cost: mean absolute position error over the training runs [rad].
        evaluations: simulations of the whole training set.
        converged: whether search and least squares both settled.
        message: how they ended.
        on_bounds: parameters that ended on a bound.
        deviation: standard deviation by name from the Jacobian, NaN where it is singular.
        condition: condition number of the scaled normal matrix.
        seed: seed of the search.
        training: names of the runs fitted on.
    """

    family: str
    parameters: tuple[Parameter, ...]
    values: dict[str, float]
    cost: float
    evaluations: int
    converged: bool
    message: str
    on_bounds: tuple[str, ...]
    deviation: dict[str, float]
    condition: float
    seed: int
    training: tuple[str, ...] = field(default_factory=tuple)


def fit(
    runs: Sequence[PendulumRun],
    family: str = "m6",
    *,
    names: Sequence[str] | None = None,
    seed: int = 0,
    generations: int = 150,
    progress: Callable[[int, float], None] | None = None,
) -> FitResult:
    """Fit the parameters of `family` (or those in `names`) to `runs`.

    The cost is the mean absolute position error of an open-loop simulation, runs weighted alike.
    `generations` bounds the global search; `progress` is called with (generation, spread).
    """
    if not runs:
        raise ValueError("no runs to fit; expected at least one")
    chosen = parameters_of(family, names)

    def residuals(unit: Array) -> Array:
        model = our_model(from_unit(chosen, unit), family)
        parts = []
        for run in runs:
            error = run.error(model.predict(run))[::STRIDE]
            parts.append(np.clip(error, -10.0, 10.0) / np.sqrt(len(error) * len(runs)))
        return np.concatenate(parts)

    def cost(unit: Array) -> float:
        model = our_model(from_unit(chosen, unit), family)
        return float(np.mean([model.mean_absolute_error(run) for run in runs]))

    counter = iter(range(1, 10**9))

    def report(_: Array, convergence: float) -> None:
        number = next(counter)
        if progress is not None:
            progress(number, convergence)

    search = differential_evolution(
        cost,
        [(0.0, 1.0)] * len(chosen),
        seed=np.random.default_rng([seed, 0x1DE7]),
        popsize=POPULATION,
        maxiter=generations,
        tol=SPREAD_LIMIT,
        polish=False,
        callback=report,
    )
    scale = SOFT_SCALE / np.sqrt(len(residuals(search.x)))
    polished = least_squares(
        residuals,
        np.clip(search.x, 1e-6, 1.0 - 1e-6),
        bounds=(0.0, 1.0),
        loss="soft_l1",
        f_scale=max(scale, 1e-6),
        diff_step=1e-4,
        max_nfev=40,
    )
    best, ending = (search.x, float(search.fun)), cost(polished.x)
    evaluations = int(search.nfev) + int(polished.nfev) * (len(chosen) + 1)
    if ending < best[1]:
        best = (polished.x, ending)
    deviation, condition = _uncertainty(polished, chosen)
    unit = best[0]
    on_bounds = tuple(
        p.name
        for p, u in zip(chosen, unit, strict=True)
        if u < BOUND_MARGIN or u > 1.0 - BOUND_MARGIN
    )
    spread = _spread(search)
    converged = bool(polished.status > 0) and (bool(search.success) or spread < 5 * SPREAD_LIMIT)
    message = (
        f"search: {search.message} (spread of costs {spread:.3f}); "
        f"least squares: status {polished.status}"
    )
    return FitResult(
        family=family,
        parameters=chosen,
        values=from_unit(chosen, unit),
        cost=best[1],
        evaluations=evaluations,
        converged=converged,
        message=message,
        on_bounds=on_bounds,
        deviation=deviation,
        condition=condition,
        seed=seed,
        training=tuple(run.name for run in runs),
    )


def _spread(search: object) -> float:
    energies = np.asarray(getattr(search, "population_energies", [0.0]))
    return float(np.std(energies) / max(abs(np.mean(energies)), 1e-12))


def _uncertainty(solution: object, chosen: Sequence[Parameter]) -> tuple[dict[str, float], float]:
    """Standard deviations and condition number from the last Jacobian of the least squares."""
    jacobian = np.asarray(getattr(solution, "jac"))  # noqa: B009 - scipy carries no types
    residual = np.asarray(getattr(solution, "fun"))  # noqa: B009
    normal = jacobian.T @ jacobian
    condition = float(np.linalg.cond(normal))
    spans = np.array([p.high - p.low for p in chosen])
    if not np.isfinite(condition) or condition > 1e14:
        return {p.name: float("nan") for p in chosen}, condition
    freedom = max(len(residual) - len(chosen), 1)
    variance = float(residual @ residual) / freedom
    deviations = np.sqrt(np.maximum(np.diag(np.linalg.inv(normal)) * variance, 0.0)) * spans
    return {p.name: float(d) for p, d in zip(chosen, deviations, strict=True)}, condition
