# SPDX-License-Identifier: Apache-2.0
"""Every effort model on the same free motion: fitted, timed and scored alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from na_core.features import MotorModel
from na_core.features.rigid import reduced_model
from na_core.robot_spec import RobotSpec
from na_core.robot_urdf import urdf_string
from na_training.classical.actuator_network import ActuatorNetwork, fit_actuator_network
from na_training.classical.deep_lagrangian import fit_deep_lagrangian
from na_training.classical.gaussian_process import fit_gaussian_process
from na_training.classical.physical import PhysicalModel, fit_physical
from na_training.classical.regressor import Regressor
from na_training.classical.residual_network import fit_residual_network
from na_training.classical.rigid_body import RigidBodyModel, fit_rigid_body
from na_training.classical.samples import FitError, Samples, differentiated, joined
from na_training.classical.torch_fit import FitSettings
from na_training.data import Episode

Array = NDArray[np.float64]

SMOOTH = 0.14  # s, filter without delay behind velocities and accelerations
MAXIMUM = 9000
"""Rows that the fits get; more changes nothing but the time."""

HISTORIES = ((0, 1, 2), (0, 8, 16))
"""Histories that the MLP actuator network may see [ticks back]."""

T = TypeVar("T")
Estimate = Callable[[Sequence[Episode]], Array]


@dataclass(frozen=True)
class EffortModel:
    """A fitted model.

    Attributes:
        name: for tables.
        estimate: efforts of all rows of some episodes (N, n) [N·m], in the order of `rows_of`.
        seconds: wall-clock of the fit, sub-models included [s].
        tick: microseconds per tick, one tick at a time, NaN where not measured.
    """

    name: str
    estimate: Estimate
    seconds: float
    tick: float


class EffortBench:
    """Samples of the arm's joints (grippers left out) with motor effort K (i − i₀) as the target.

    Args:
        spec: the robot.
        motor: fitted constants.
        dt: seconds per tick.
    """

    def __init__(self, spec: RobotSpec, motor: MotorModel, dt: float) -> None:
        self.arm = [i for i, joint in enumerate(spec.joints) if joint.role == "arm"]
        if self.arm != list(range(len(self.arm))):
            raise FitError(f"robot {spec.robot}: expected the arm's joints before the gripper")
        self.motor = motor
        self.dt = dt
        names = tuple(spec.names[i] for i in self.arm)
        model = reduced_model(urdf_string(spec), names)
        self.regressor = Regressor(model, motor.sign_speed[self.arm])

    def pieces(self, episodes: Sequence[Episode]) -> list[tuple[Samples, Array, Array]]:
        """Per usable segment: samples, and position error and speed as telemetry has them."""
        out = []
        for episode in episodes:
            effort = self.motor.effort(episode.ticks.current)[:, self.arm]
            for start, stop in episode.segments:
                q = episode.ticks.position[start:stop, self.arm]
                if len(q) < 64:
                    continue
                samples = differentiated(q, effort[start:stop], self.dt, SMOOTH)
                lost = (len(q) - len(samples)) // 2
                cut = slice(start + lost, start + lost + len(samples))
                error = (episode.ticks.goal - episode.ticks.position)[cut, self.arm]
                out.append((samples, error, episode.ticks.velocity[cut, self.arm]))
        return out

    def samples(self, episodes: Sequence[Episode]) -> Samples:
        """All samples of some episodes."""
        return joined([piece[0] for piece in self.pieces(episodes)])

    # ------------------------------------------------------------------ fits

    def fit(self, training: Sequence[Episode], seed: int = 0) -> tuple[list[EffortModel], Facts]:
        """Fit every model on free-motion episodes; returns them and what was identified."""
        everything = self.samples(training)
        some = everything[:: max(len(everything) // MAXIMUM, 1)]
        models: list[EffortModel] = []
        prior = self.regressor.prior()
        self._add(
            models, "robot file, no friction", 0.0, lambda s: self.regressor.matrix(s) @ prior
        )
        rigid, first = _timed(lambda: fit_rigid_body(self.regressor, some))
        self._add(models, "identification, base parameters", first, rigid.predict)
        body, second = _timed(lambda: fit_physical(self.regressor, some, rigid.noise))
        self._add(models, "identification, possible bodies", first + second, body.predict)
        network, third = _timed(lambda: fit_residual_network(body.predict, some))
        self._add(models, "possible bodies + residual network", first + second + third,
                  network.predict)  # fmt: skip
        process, third = _timed(lambda: fit_gaussian_process(some, body.predict, seed=seed))
        self._add(models, "possible bodies + Gaussian process", first + second + third,
                  process.predict)  # fmt: skip
        lagrangian, third = _timed(lambda: fit_deep_lagrangian(some))
        self._add(models, "Deep Lagrangian network", third, lagrangian.predict)
        for kind in ("mlp", "lstm"):
            self._add_actuator(models, kind, training)
        value, sigma = process.predict_with_deviation(some[::10])
        inside = float((np.abs(value - some.effort[::10]) <= 1.96 * sigma).mean())
        return models, Facts(rigid, body, inside)

    def _add(
        self,
        models: list[EffortModel],
        name: str,
        seconds: float,
        predict: Callable[[Samples], Array],
    ) -> None:
        one = self.regressor.random(np.random.default_rng(0), 1)
        predict(one)
        spent = []
        for _ in range(30):
            started = time.perf_counter()
            predict(one)
            spent.append(time.perf_counter() - started)

        def estimate(episodes: Sequence[Episode]) -> Array:
            return predict(self.samples(episodes))

        models.append(EffortModel(name, estimate, seconds, float(np.median(spent) * 1e6)))

    def _add_actuator(
        self, models: list[EffortModel], kind: str, training: Sequence[Episode]
    ) -> None:
        """One network per joint: their loads, and so what an error means, differ too much."""
        recordings = [(e, v, s.effort) for s, e, v in self.pieces(training)]
        keep = max(sum(len(r[0]) for r in recordings) // (3 * MAXIMUM), 1)
        some = recordings[::keep]
        joints = range(len(self.arm))
        networks, seconds = _timed(
            lambda: [self._actuator(kind, [_joint(r, j) for r in some]) for j in joints]
        )

        def estimate(episodes: Sequence[Episode]) -> Array:
            rows = []
            for _, error, speed in self.pieces(episodes):
                one = [
                    network.predict(error[:, j : j + 1], speed[:, j : j + 1])
                    for j, network in enumerate(networks)
                ]
                rows.append(np.concatenate(one, axis=1))
            return np.concatenate(rows)

        row = np.zeros((1, 1))
        _, spent = _timed(
            lambda: [network.predict(row, row) for _ in range(50) for network in networks]
        )
        name = f"actuator networks ({kind.upper()})"
        models.append(EffortModel(name, estimate, seconds, spent / 50 * 1e6))

    def _actuator(self, kind: str, recordings: list[tuple[Array, Array, Array]]) -> ActuatorNetwork:
        """One network; of the MLP's histories the one that does best on every fifth recording."""
        if kind == "lstm":
            return fit_actuator_network(kind, recordings, self.dt)
        held = recordings[::5]
        rest = [r for i, r in enumerate(recordings) if i % 5] or held

        def error(network: ActuatorNetwork) -> float:
            return float(np.mean([np.abs(network.predict(e, v) - f).mean() for e, v, f in held]))

        tried = [
            fit_actuator_network(kind, rest, self.dt, input_idx=index, settings=FitSettings(20))
            for index in HISTORIES
        ]
        return min(tried, key=error)

    def score(self, models: Sequence[EffortModel], episodes: Sequence[Episode]) -> dict[str, float]:
        """RMSE over the deviation of the target [1], mean over joints, trivial ones too."""
        target = self.samples(episodes).effort
        spread = np.maximum(target.std(axis=0), 1e-9)
        out = {
            "mean of the test": 1.0,
            "always zero": _share(np.zeros_like(target), target, spread),
        }
        for model in models:
            out[model.name] = _share(model.estimate(episodes), target, spread)
        return out


@dataclass(frozen=True)
class Facts:
    """What the identification found, and the share of values within the process's 95 % band."""

    rigid: RigidBodyModel
    body: PhysicalModel
    inside: float


def _joint(recording: tuple[Array, Array, Array], joint: int) -> tuple[Array, Array, Array]:
    error, speed, effort = (part[:, joint : joint + 1] for part in recording)
    return error, speed, effort


def _share(estimate: Array, target: Array, spread: Array) -> float:
    return float(np.mean(np.sqrt(((estimate - target) ** 2).mean(axis=0)) / spread))


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    value = make()
    return value, time.perf_counter() - started
