# SPDX-License-Identifier: Apache-2.0
"""The live plant of one arm: register-unit commands in, quantised and noisy readings out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_sim.plant_core import PlantCore
from na_sim.plant_interface import ServoCommands, ServoReadings
from na_sim.scene import SceneOptions
from na_sim.servo.sensors import NOISE_CHANNELS, read_registers
from na_sim.unit_parameters import Unit, draw_unit

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]
HandPath = Callable[[float], Array]

HAND_INTERVAL = 0.004  # s; a hand's target moves in straight pieces of this length
HAND_STIFFNESS = 12.0  # N m/rad at the servo shaft (guess: two fingers on a link)
HAND_DAMPING = 0.08  # N m s/rad
# Fingers weigh next to nothing at the servo shaft (1e-5 kg m2): what is a light touch on a link
# would shake them from one physics step to the next.
FINGER_STIFFNESS = 6.0  # N m/rad
FINGER_DAMPING = 0.004  # N m s/rad
HAND_TORQUE = 2.0  # N m, the most that the operator exerts per joint
TIME_BASED_BIT = 0x04
LONGEST_ADVANCE = 5.0  # s; a caller that slept longer is served from here on


class ArmPlant:
    """One emulated arm behind its servos (see plant_interface.ArmPlant).

    Args:
        robot: the robot; must have servos.
        seed: seed of the sensor noise.
        arm: number of the physical unit (0 = the arm of the training data).
        unit: parameters to use instead of drawing unit `arm`.
        options: scene around the arm.
        position: where the arm stands at the start (n,) [rad or m]; default the robot's home.
        hand: moves the arm as an operator holds it (a leader): time [s] -> positions (n,)
            [rad or m]. Torque-on servos feel it too.

    Raises:
        ValueError: the robot has no servos, or a shape is wrong.
    """

    def __init__(
        self,
        robot: RobotSpec,
        seed: int = 0,
        arm: int = 0,
        *,
        unit: Unit | None = None,
        options: SceneOptions | None = None,
        position: Array | None = None,
        hand: HandPath | None = None,
    ) -> None:
        self.core = PlantCore(robot, [unit or draw_unit(robot, arm)], options, own_models=True)
        self.n = robot.n
        self.time = 0.0
        self._steps = 0
        self._rng = np.random.default_rng([seed, 0x11FE])
        self._hand: HandPath | None = None
        #: Called after every advance, by whoever advanced the plant.
        self.observer: Callable[[], None] | None = None
        self._offset = 0.0  # plant seconds skipped after a long sleep
        if position is not None:
            if np.shape(position) != (self.n,):
                raise ValueError(f"position of shape {np.shape(position)}: expected ({self.n},)")
            self.core.reset(0, np.asarray(position, dtype=np.float64))
        self.set_hand(hand)

    def set_hand(self, hand: HandPath | None) -> None:
        """Let an operator hold the arm along `hand` (time [s] -> positions (n,)), or let go."""
        self._hand = hand
        h = self.core.hand[0]
        fingers = np.array([joint.type == "prismatic" for joint in self.core.robot.joints])
        stiffness = np.where(fingers, FINGER_STIFFNESS, HAND_STIFFNESS)
        h["stiffness"] = stiffness if hand is not None else 0.0
        h["damping"] = np.where(fingers, FINGER_DAMPING, HAND_DAMPING)
        h["limit"] = HAND_TORQUE
        h["rate"] = 0.0
        if hand is not None:
            h["target"] = hand(self.time) / self.core.scale[0]

    def advance(self, until: float, commands: ServoCommands) -> None:
        """Integrate to plant time `until` [s] with `commands` held; no-op when not later.

        When more than LONGEST_ADVANCE [s] are missing (the process slept), the plant clock jumps
        and the physics of the gap is skipped.
        """
        if until <= self.time:
            return
        apply_commands(self.core, 0, commands)
        if until - self.time > LONGEST_ADVANCE:
            self._offset += until - self.time - LONGEST_ADVANCE
        target = int(np.floor((until - self._offset) / self.core.dt + 1e-9))
        while self._steps < target:
            chunk = target - self._steps
            if self._hand is not None:
                chunk = min(chunk, max(round(HAND_INTERVAL / self.core.dt), 1))
                self._aim_hand(chunk)
            self.core.advance(chunk)
            self._steps += chunk
        self.time = until
        if self.observer is not None:
            self.observer()

    def _aim_hand(self, chunk: int) -> None:
        if self._hand is None:
            return
        now = self._steps * self.core.dt + self._offset
        span = chunk * self.core.dt
        h = self.core.hand[0]
        target = self._hand(now + span) / self.core.scale[0]
        h["rate"] = (target - h["target"]) / span

    def readings(self) -> ServoReadings:
        """Return the quantised, noisy register values at plant time `time`."""
        core = self.core
        noise = self._rng.standard_normal((NOISE_CHANNELS, self.n))
        registers = read_registers(core.parameters[0], core.state[0], core.supply[0], noise)
        return ServoReadings(**registers)

    @property
    def position(self) -> Array:
        """True joint positions (n,) [rad or m]; for tests and truth topics only."""
        return np.asarray(self.core.positions()[0])

    def __repr__(self) -> str:
        return f"ArmPlant({self.core.robot.robot}, t={self.time:.3f} s)"


def apply_commands(core: PlantCore, episode: int, commands: ServoCommands) -> None:
    """Copy register-unit `commands` into the plant's records of one episode."""
    c = core.command[episode]
    c["mode"] = commands.operating_mode
    c["torque_enable"] = commands.torque_enable
    c["time_based"] = (commands.drive_mode & TIME_BASED_BIT) != 0
    c["goal_position"] = commands.goal_position - commands.homing_offset
    c["goal_velocity"] = commands.goal_velocity
    c["goal_current"] = commands.goal_current
    c["goal_pwm"] = commands.goal_pwm
    c["profile_velocity"] = commands.profile_velocity
    c["profile_acceleration"] = commands.profile_acceleration
    c["p"] = commands.position_p_gain
    c["i"] = commands.position_i_gain
    c["d"] = commands.position_d_gain
    c["ff1"] = commands.feedforward_1st_gain
    c["ff2"] = commands.feedforward_2nd_gain
    c["velocity_p"] = commands.velocity_p_gain
    c["velocity_i"] = commands.velocity_i_gain
    c["pwm_limit"] = commands.pwm_limit
    c["current_limit"] = commands.current_limit
    c["velocity_limit"] = commands.velocity_limit
