# SPDX-License-Identifier: Apache-2.0
"""Current control of a Dynamixel arm: the one place where a leader's torque goes on or off."""

from __future__ import annotations

import numpy as np

from na_core.control_tables import DYNAMIXEL_X
from na_teleop.buses.base import Array, ServoBus, TorqueOffReport
from na_teleop.buses.dynamixel import DynamixelBus
from na_teleop.buses.errors import BusError, ServoError

CURRENT_MODE = 0  # Operating Mode: Goal Current is followed, position is free


def current_control_obstacle(bus: ServoBus) -> str:
    """Say why the arm on `bus` cannot be current-controlled; empty when it can."""
    if not isinstance(bus, DynamixelBus):
        return (
            f"{bus.spec.robot} on {bus.port}: servos {', '.join(sorted(set(bus.models)))} have no "
            "current control; the leader stays free, without aids"
        )
    without = [
        f"{joint.name} ({joint.servo.model})"
        for joint in bus.spec.joints
        if joint.servo is not None and not joint.servo.info.has_current
    ]
    if without:
        return (
            f"{bus.spec.robot} on {bus.port}: {', '.join(without)} cannot be current-controlled "
            "(no current sensor); the leader stays free, without aids"
        )
    return ""


class CurrentControl:
    """Drives every servo of one arm by current. Torque stays off until `enable`.

    Currents are in joint direction: positive pushes towards growing joint positions.
    """

    def __init__(self, bus: DynamixelBus, limit: float) -> None:
        """`limit` [A]: no larger current is ever written. ServoError when the arm cannot."""
        obstacle = current_control_obstacle(bus)
        if obstacle:
            raise ServoError(obstacle, port=bus.port, remedy="Switch the leader's aids off")
        self.bus, self.limit = bus, limit
        self._scale = bus.conversion.current_scale  # A per count, signed
        self.enabled = False

    def prepare(self) -> list[str]:
        """Select current mode with nothing commanded; torque must be off. Returns changes.

        Operating Mode is kept by the servo: a follower writes its own mode at its start.
        """
        changed = []
        allowed = [self.bus.line.read(id, DYNAMIXEL_X["current_limit"]) for id in self.bus.ids]
        # A goal beyond the servo's own limit would be refused, unheard in a sync write.
        self.limit = min(self.limit, float(np.min(np.abs(self._scale) * allowed)))
        mode, goal = DYNAMIXEL_X["operating_mode"], DYNAMIXEL_X["goal_current"]
        for id in self.bus.ids:
            before = self.bus.line.read(id, mode)
            if before != CURRENT_MODE:
                self.bus.line.write(id, mode, CURRENT_MODE)
                changed.append(f"id {id}: operating_mode {before} → {CURRENT_MODE}")
            self.bus.line.write(id, goal, 0)
            holds = (self.bus.line.read(id, mode), self.bus.line.read(id, goal))
            if holds != (CURRENT_MODE, 0):
                raise ServoError(
                    f"servo {id} on {self.bus.port}: operating mode and goal current are {holds} "
                    f"after writing ({CURRENT_MODE}, 0)",
                    port=self.bus.port,
                    id=id,
                    register="operating_mode",
                    remedy="The leader stays free; check the servo with the vendor's tool",
                )
        return changed

    def enable(self, watchdog_s: float) -> None:
        """Arm the servos' watchdog, then switch torque on everywhere or nowhere.

        Raises BusError; torque is off again then.
        """
        try:
            self.bus.arm_watchdog(watchdog_s)
            for id in self.bus.ids:
                self.bus.line.write(id, DYNAMIXEL_X["goal_current"], 0)
            self.enabled = True  # from here on it may be
            for id in self.bus.ids:
                self.bus.line.write(id, DYNAMIXEL_X["torque_enable"], 1)
            on = self.bus.torque_enabled()
            if not on.all():
                off = [id for id, flag in zip(self.bus.ids, on, strict=True) if not flag]
                raise ServoError(
                    f"servos {off} on {self.bus.port} accepted torque on but report it off",
                    port=self.bus.port,
                    id=off[0],
                    register="torque_enable",
                    remedy="Read Hardware Error Status; restart the servo",
                )
        except BusError:
            self.disable()
            raise

    def write(self, current: Array) -> Array:
        """Command currents (n,) [A]; returns what the registers hold. Not acknowledged.

        Clamped to the limit; ValueError for NaN or a wrong shape.
        """
        wanted = np.asarray(current, dtype=np.float64)
        if wanted.shape != (self.bus.n,) or not np.isfinite(wanted).all():
            raise ValueError(f"currents {wanted}: expected {self.bus.n} finite numbers [A]")
        bounded = np.clip(wanted, -self.limit, self.limit)
        raw = np.trunc(bounded / self._scale).astype(np.int64)  # never beyond the limit
        self.bus.line.sync_write(
            DYNAMIXEL_X["goal_current"],
            {id: int(count) for id, count in zip(self.bus.ids, raw, strict=True)},
        )
        return np.asarray(raw * self._scale)

    def disable(self) -> TorqueOffReport:
        """Switch torque off in every servo; never raises, tries all of them."""
        report = self.bus.disable_torque()
        self.enabled = not report.ok
        if report.ok and self.bus.is_open:
            try:
                self.bus.arm_watchdog(0.0)
            except BusError as error:
                self.bus.notes.append(str(error))
        return report
