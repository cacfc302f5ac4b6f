# SPDX-License-Identifier: Apache-2.0
"""How strong the leader's aids are, and where they end; checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields

#: Field -> description and closed range, for parameters and for the check.
FIELDS: dict[str, tuple[str, tuple[float, float]]] = {
    "gravity_share": ("share of the arm's weight that the motors carry", (0.0, 1.2)),
    "friction_share": ("share of Coulomb friction pushed along with the motion", (0.0, 0.9)),
    "friction_torque": ("Coulomb friction of a servo [N·m]; 0: the model's", (0.0, 1.0)),
    "friction_speed": ("speed at which the assist is three quarters in [rad/s]", (0.02, 2.0)),
    "gripper_spring": ("spring that opens the leader's gripper [N·m/rad at its shaft]", (0.0, 2.0)),
    "gripper_torque": ("largest torque of that spring [N·m]", (0.0, 1.0)),
    "feedback_gain": ("force on the hand per force on the follower; 0: none", (0.0, 5.0)),
    "feedback_force": ("largest force rendered on the hand [N]", (0.0, 30.0)),
    "feedback_deadband": ("estimated forces below this are not rendered [N]", (0.0, 5.0)),
    "feedback_filter_s": ("time constant of the low-pass on the estimate [s]", (0.0, 1.0)),
    "wrench_timeout_s": ("age of the estimate from which feedback fades out [s]", (0.02, 2.0)),
    "fade_s": ("time over which feedback comes in or goes out [s]", (0.02, 2.0)),
    "guard_damping": ("most damping that the passivity guard injects [N·m·s/rad]", (0.0, 1.0)),
    "guard_energy": ("energy that feedback may give away before it is faded out [J]", (1e-3, 1.0)),
    "guard_reserve": ("most energy that past motion counts for [J]", (0.0, 1.0)),
    "current_limit": ("largest current of any joint [A]", (0.01, 2.0)),
    "torque_constant": ("torque per current at the shaft [N·m/A]; 0: the model's", (0.0, 10.0)),
    "speed_limit": ("arm joint speed at which every aid is switched off [rad/s]", (0.5, 20.0)),
    "ramp_s": ("time over which torque comes in [s]", (0.1, 10.0)),
    "watchdog_s": ("silence after which the servos stop by themselves [s]", (0.04, 1.0)),
    "max_stale_reads": ("incomplete reads in a row that switch the aids off", (1, 30)),
}


@dataclass(frozen=True, slots=True)
class AidsConfig:
    """Strengths and limits of the aids; every field is described in FIELDS.

    `guard`: whether the passivity guard acts. `mirror`: the follower moves mirrored about the x-z
    plane, so that the estimate is mirrored back.
    """

    gravity_share: float = 0.95
    friction_share: float = 0.5
    friction_torque: float = 0.0
    friction_speed: float = 0.25
    gripper_spring: float = 0.15
    gripper_torque: float = 0.3
    feedback_gain: float = 0.0
    feedback_force: float = 6.0
    feedback_deadband: float = 0.3
    feedback_filter_s: float = 0.02
    wrench_timeout_s: float = 0.15
    fade_s: float = 0.15
    guard_damping: float = 0.12
    guard_energy: float = 0.02
    guard_reserve: float = 0.05
    current_limit: float = 0.8
    torque_constant: float = 0.0
    speed_limit: float = 6.0
    ramp_s: float = 1.0
    watchdog_s: float = 0.3
    max_stale_reads: int = 3
    guard: bool = True
    mirror: bool = False

    def __post_init__(self) -> None:
        """Refuse values outside their range, naming parameter, value and range."""
        for entry in fields(self):
            if entry.name not in FIELDS:
                continue
            _, (low, high) = FIELDS[entry.name]
            value = getattr(self, entry.name)
            if not low <= value <= high:
                raise ValueError(
                    f"leader aid {entry.name} is {value}, expected {low:g} to {high:g}"
                )
