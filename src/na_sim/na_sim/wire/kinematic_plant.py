# SPDX-License-Identifier: Apache-2.0
"""A plant without physics: every servo follows its profile exactly. For tests and the bus bench."""

from __future__ import annotations

import math

import numpy as np

from na_sim.plant_interface import IntArray, ServoCommands, ServoReadings

# Dynamixel X: counts/s (counts/s²) per register unit of 0.229 rev/min (214.577 rev/min²).
VELOCITY_UNIT = 0.229 / 60.0 * 4096.0
ACCELERATION_UNIT = 214.577 / 3600.0 * 4096.0
# Feetech STS: the same.
FEETECH_VELOCITY_UNIT = 1.0
FEETECH_ACCELERATION_UNIT = 100.0
_STEP = 0.001  # s
_EFFORT_PER_COUNT = 0.1  # current units per count of acceleration: something to look at


class KinematicPlant:
    """Ideal servos: position modes run a trapezoid, velocity mode runs at its goal.

    In current and PWM mode a servo stays where it is. Positions are shaft counts. `voltage` and
    `temperature` (n,) are what the sensors report [0.1 V, °C] and may be set at any time;
    `blocked` (n,) marks shafts that do not turn. Velocity-based profiles only. `velocity_unit`
    [counts/s] and `acceleration_unit` [counts/s²] are those of the servos' registers.
    """

    def __init__(
        self,
        n: int,
        positions: IntArray | None = None,
        *,
        velocity_unit: float = VELOCITY_UNIT,
        acceleration_unit: float = ACCELERATION_UNIT,
    ) -> None:
        self.velocity_unit = velocity_unit
        self.acceleration_unit = acceleration_unit
        self.n = n
        self.time = 0.0  # s
        self.steps = 0
        self.voltage = np.full(n, 120, dtype=np.int64)
        self.temperature = np.full(n, 35, dtype=np.int64)
        self.blocked = np.zeros(n, dtype=bool)
        start = np.full(n, 2048, dtype=np.int64) if positions is None else positions
        self.position = start.astype(float)  # counts
        self.velocity = np.zeros(n)  # counts/s
        self._goal = self.position.copy()

    def place(self, index: int, counts: float) -> None:
        """Turn a shaft by hand to `counts`."""
        self.position[index] = counts
        self.velocity[index] = 0.0

    def advance(self, until: float, commands: ServoCommands) -> None:
        """Integrate to plant time `until` [s] in steps of at most 1 ms."""
        span = until - self.time
        if span <= 0.0:
            return
        count = max(1, math.ceil(span / _STEP - 1e-9))
        self._goal = np.where(commands.torque_enable, commands.goal_position, self.position)
        for _ in range(count):
            if self._at_rest(commands):
                break
            self._step(span / count, commands)
            self.steps += 1
        self.time = until

    def _at_rest(self, commands: ServoCommands) -> bool:
        """Whether nothing moves and nothing is asked to."""
        if self.velocity.any():
            return False
        if not commands.torque_enable.any():
            return True
        driven = commands.torque_enable & ~self.blocked
        positional = driven & np.isin(commands.operating_mode, (3, 4, 5))
        turning = driven & (commands.operating_mode == 1) & (commands.goal_velocity != 0)
        return not (np.any(turning) or np.any(positional & (self._goal != self.position)))

    def _step(self, dt: float, commands: ServoCommands) -> None:
        limit = np.where(
            commands.profile_velocity > 0,
            np.minimum(commands.profile_velocity, commands.velocity_limit),
            commands.velocity_limit,
        )
        limit = limit * self.velocity_unit
        acceleration = np.where(
            commands.profile_acceleration > 0,
            commands.profile_acceleration * self.acceleration_unit,
            np.inf,
        )
        error = self._goal - self.position
        distance = np.abs(error)
        with np.errstate(invalid="ignore"):
            braking = np.where(np.isinf(acceleration), np.inf, np.sqrt(2 * acceleration * distance))
        wanted = np.sign(error) * np.minimum(np.minimum(limit, braking), distance / dt)
        wanted = np.where(
            commands.operating_mode == 1, commands.goal_velocity * self.velocity_unit, wanted
        )
        driven = commands.torque_enable & ~self.blocked
        driven &= np.isin(commands.operating_mode, (1, 3, 4, 5))
        wanted = np.where(driven, wanted, 0.0)
        change = np.clip(wanted - self.velocity, -acceleration * dt, acceleration * dt)
        self.velocity = np.where(driven, self.velocity + change, 0.0)
        self.position = self.position + self.velocity * dt
        near = driven & (np.abs(self._goal - self.position) < 0.5)
        near &= (commands.operating_mode != 1) & (np.abs(self.velocity) * dt < 1.0)
        self.position = np.where(near, self._goal, self.position)
        self.velocity = np.where(near, 0.0, self.velocity)

    def readings(self) -> ServoReadings:
        """Return the exact state, rounded to register units."""
        velocity = np.rint(self.velocity / self.velocity_unit).astype(np.int64)
        position = np.rint(self.position).astype(np.int64)
        effort = np.rint(_EFFORT_PER_COUNT * (self._goal - self.position))
        effort = np.clip(effort, -100, 100).astype(np.int64)
        return ServoReadings(
            present_pwm=effort.copy(),
            present_current=effort,
            present_velocity=velocity,
            present_position=position,
            velocity_trajectory=velocity.copy(),
            position_trajectory=position.copy(),
            present_input_voltage=self.voltage.copy(),
            present_temperature=self.temperature.copy(),
            moving=velocity != 0,
        )
