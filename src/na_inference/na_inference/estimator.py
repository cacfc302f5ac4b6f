# SPDX-License-Identifier: Apache-2.0
"""The live estimate: one tick in, one set of outputs or the reason for silence out. No ROS."""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_core.features import State, Ticks
from na_core.kinematics import Kinematics
from na_core.wrench import base_to_frame
from na_inference.contact_gate import ContactGate, sigmoid
from na_inference.estimate import Estimate
from na_inference.input_distance import InputDistance
from na_inference.model_file import Model
from na_inference.reading import Reading, between_ticks
from na_inference.tare import Tare, TareResult
from na_inference.tick_window import Arrival, TickWindow
from na_inference.validity import Validity

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EstimatorSettings:
    """What a user may choose.

    Attributes:
        max_temperature: servo temperature above which nothing is said [°C].
        min_observability: smallest singular value of the Jacobian below which a force cannot be
            told from joint efforts [m].
        max_age: age of a tick at its arrival above which it is stale [s]; 0: not checked (replay).
        gap: step from which ticks are missing [ticks].
        bridge: missing ticks that may be filled in within a window; more break it.
        gate: (on, off, dwell in ticks); None: the model's own.
        gate_clear: force over its predicted deviation that the gate asks for; 0: none.
        tare_seconds: rest that a tare is taken over [s].
        tare_largest: largest bias that is believed [N].
        tare_reach: servo travel over which a bias fades to nothing [rad]; 0: it holds everywhere.
    """

    max_temperature: float = 70.0
    min_observability: float = 0.01
    max_age: float = 0.1
    gap: float = 1.8
    bridge: int = 3
    gate: tuple[float, float, int] | None = None
    gate_clear: float = 0.0
    tare_seconds: float = 1.0
    tare_largest: float = 1.5
    tare_reach: float = 0.0


class Estimator:
    """Window, features, network, gate, tare and validity of one arm. One thread.

    Args:
        spec: the robot.
        model: from `load_model` for the same robot.
        settings: the user's choices.
    """

    def __init__(
        self, spec: RobotSpec, model: Model, settings: EstimatorSettings | None = None
    ) -> None:
        self.spec = spec
        self.settings = settings or EstimatorSettings()
        self.counters: Counter[str] = Counter()
        self.kinematics = Kinematics(spec)
        self.out = Estimate(spec.n)
        self._install(model)

    def _install(self, model: Model) -> None:
        metadata = model.metadata
        ratio = np.array([joint.ratio for joint in self.spec.joints])
        self.model = model
        self.window = TickWindow(
            metadata.window, metadata.dt, self.settings.gap, self.settings.bridge
        )
        on, off, dwell = self.settings.gate or (
            metadata.gate_on,
            metadata.gate_off,
            metadata.gate_dwell,
        )
        self.gate = ContactGate(on, off, dwell, self.settings.gate_clear)
        self.tare = Tare(
            ratio,
            seconds=self.settings.tare_seconds,
            dt=metadata.dt,
            largest=self.settings.tare_largest,
            reach=self.settings.tare_reach,
        )
        self._distance = InputDistance(metadata)
        #: Score of each tick of the window, and what lay farthest away when one was too far.
        self._scores: deque[float] = deque(maxlen=metadata.window)
        self._outlier = ""
        self._memory: State | None = None
        self._last: Ticks | None = None
        self._supervised = np.array(
            [name in metadata.supervised_joints for name in metadata.joint_order]
        )
        self._raw_force = np.zeros(3)

    # -- requests ------------------------------------------------------------------------

    def swap(self, model: Model) -> None:
        """Use another model from the next tick on; window, gate and tare start anew."""
        self._install(model)
        self.out.withhold(Validity.WARMING_UP, "model replaced")
        self.counters["models swapped"] += 1

    def request_tare(self) -> TareResult:
        """Take the present force at rest as the bias, or say why not."""
        return self.tare.request()

    def set_gate(self, on: float, off: float, dwell_s: float) -> None:
        """Change the gate; raises ValueError when the values make no sense."""
        if not 0.0 <= dwell_s <= 5.0:
            raise ValueError(f"gate dwell {dwell_s} s: expected 0 to 5")
        self.gate.set(on, off, round(dwell_s / self.model.metadata.dt))

    # -- the tick ------------------------------------------------------------------------

    def step(self, reading: Reading, now_ns: int) -> Estimate | None:
        """Take one tick into account.

        Args:
            reading: the tick.
            now_ns: the present, on the clock of the stamps.

        Returns:
            The outputs, in memory that the next call overwrites; None for a duplicate.
        """
        out = self.out
        if reading.trouble:
            # A tick that cannot be used leaves a pause, and the pause breaks the window.
            return self._withheld(reading, Validity.BAD_INPUT, reading.trouble)
        if reading.stale:
            return self._withheld(reading, Validity.STALE, "the servos did not all answer")
        age = 1e-9 * (now_ns - reading.stamp_ns)
        if self.settings.max_age > 0.0 and abs(age) > self.settings.max_age:
            side = "old" if age > 0.0 else "in the future"
            text = f"the tick is {abs(age):.3f} s {side} (allowed {self.settings.max_age:g} s)"
            return self._withheld(reading, Validity.STALE, text)
        arrival = self.window.add(reading.stamp_ns)
        if arrival is Arrival.DUPLICATE:
            self.counters["duplicates"] += 1
            return None
        if arrival in (Arrival.BACKWARD, Arrival.GAP, Arrival.BRIDGED):
            self.counters[arrival.value] += 1
        if arrival not in (Arrival.TAKEN, Arrival.BRIDGED):
            self._forget()
        self._bridge(reading.ticks, self.window.missing)
        features = self._features(reading.ticks)
        self._last = reading.ticks
        self.model.runner.push(features)
        score = self._distance.score(features)
        self._scores.append(score)
        if score >= 1.0:
            self._outlier = self._distance.worst(features)
        out.distance = max(self._scores)
        problem = self._judge(reading, arrival)
        if problem is not None:
            out = self._withheld(reading, *problem)
        else:
            out.stamp_ns, out.sequence = reading.stamp_ns, reading.sequence
            out.validity, out.reason = Validity.VALID, ""
            self._read_outputs(reading.ticks.position)
            self.counters["valid"] += 1
        self.tare.observe(
            reading.stamp_ns,
            self._raw_force,
            reading.ticks.position,
            reading.ticks.velocity,
            reading.ticks.goal,
            contact=out.in_contact,
            trouble="" if problem is None else problem[0].text,
        )
        return out

    def silent(self, stamp_ns: int, seconds: float) -> Estimate:
        """What to say when no tick has come for `seconds`; the window starts anew."""
        self.window.clear()
        self._forget()
        out = self.out
        out.stamp_ns = stamp_ns
        out.withhold(Validity.STALE, f"no tick for {seconds:.2f} s")
        return out

    def _forget(self) -> None:
        self.model.runner.reset()
        self.gate.reset()
        self.tare.interrupt()
        self._scores.clear()
        self._memory = None
        self._last = None

    def _bridge(self, ticks: Ticks, missing: int) -> None:
        """Fill in ticks that did not come: measurements on a line, the goal as it was."""
        if self._last is None:
            return
        for index in range(1, missing + 1):
            between = between_ticks(self._last, ticks, index / (missing + 1))
            features = self._features(between)
            self._scores.append(self._distance.score(features))
            self.model.runner.push(features)

    def _features(self, ticks: Ticks) -> Array:
        batch = ticks[None]
        if self._memory is None:
            self._memory = self.model.features.start(batch)
        values, self._memory = self.model.features.step(self._memory, batch)
        return np.asarray(values[0])

    def _judge(self, reading: Reading, arrival: Arrival) -> tuple[Validity, str] | None:
        """The first reason not to speak, or None."""
        window, settings, out = self.window, self.settings, self.out
        ticks = reading.ticks
        if not window.full:
            fresh = arrival in (Arrival.TAKEN, Arrival.BRIDGED)
            why = "" if fresh else f" after: {arrival}"
            return Validity.WARMING_UP, f"{window.count} of {window.size} ticks{why}"
        if window.rate_is_wrong():
            return Validity.RATE_MISMATCH, (
                f"ticks come every {1e3 * window.mean_step:.2f} ms, the model was trained for "
                f"{1e3 * window.dt:.2f} ms (5 % off at most)"
            )
        hottest = int(ticks.temperature.argmax())
        if ticks.temperature[hottest] > settings.max_temperature:
            return Validity.OVER_TEMPERATURE, (
                f"{self.spec.names[hottest]} is at {ticks.temperature[hottest]:.0f} °C "
                f"(allowed {settings.max_temperature:g} °C)"
            )
        if out.distance >= 1.0:
            return Validity.OUT_OF_DISTRIBUTION, self._outlier
        jacobian = self.kinematics.jacobian(ticks.position)
        square = float(np.linalg.eigvalsh(jacobian @ jacobian.T)[0])
        out.observability = float(np.sqrt(max(square, 0.0)))
        if out.observability < settings.min_observability:
            return Validity.UNOBSERVABLE, (
                f"near a singular pose: smallest singular value {out.observability:.4f} m, "
                f"expected at least {settings.min_observability:g} m"
            )
        return None

    def _withheld(self, reading: Reading, validity: Validity, reason: str) -> Estimate:
        out = self.out
        out.stamp_ns, out.sequence = reading.stamp_ns, reading.sequence
        out.withhold(validity, reason)
        self.gate.reset()
        self.counters[validity.text] += 1
        return out

    def _read_outputs(self, position: Array) -> None:
        out, results = self.out, self.model.runner.outputs
        limit = self.model.metadata.effort_limit
        out.effort_raw[:] = results["effort"]
        np.clip(out.effort_raw, -limit, limit, out=out.effort_clipped)
        self._raw_force[:] = results["force"]
        np.subtract(self._raw_force, self.tare.bias_at(position), out=out.force_ungated)
        variance = np.exp(results["log_variance"])
        out.probability = sigmoid(float(results["gate"][0]))
        ratio = float(np.linalg.norm(out.force_ungated)) / math.sqrt(float(variance.sum()))
        out.in_contact = self.gate.step(out.probability, ratio)
        out.condition.fill(np.nan)
        for joint in np.flatnonzero(self._supervised):
            out.condition[joint] = sigmoid(float(results["condition"][joint]))
        out.covariance.fill(0.0)
        np.fill_diagonal(out.covariance, variance)
        out.rotation[:] = self.kinematics.fk(position).rotation
        if out.in_contact:
            out.force[:] = out.force_ungated
            out.force_tool[:] = base_to_frame(out.force, out.rotation)
        else:
            out.force.fill(0.0)
            out.force_tool.fill(0.0)
