# SPDX-License-Identifier: Apache-2.0
"""Who moves the arm during `./na calibrate`: a person at the terminal, or an emulated hand."""

from __future__ import annotations

import select
import sys
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from na_core.robot_types import RobotSpec
from na_sim.guided_hand import GuidedHand
from na_teleop.calibration.run import Request, Task

SWEEP_SHARE = 0.985  # an emulated hand turns back this close to the ends of the range
NUDGE = 0.42  # rad of the servo, 24 degrees, when asked for a direction


class TerminalGuide:
    """Prints what to do and waits for Enter; a direction check ends by itself."""

    def ask(self, request: Request) -> None:
        """Print the request."""
        ending = "" if request.task is Task.DIRECTION else ", then press Enter"
        print(f"→ {request.text}{ending}", flush=True)

    def done(self, request: Request) -> bool:
        """Whether Enter was pressed since the request."""
        ready, _, _ = select.select([sys.stdin], [], [], 0.0)
        if not ready:
            return False
        if not sys.stdin.readline():
            raise EOFError("standard input ended: calibration needs a terminal, or --emulated")
        return True

    def say(self, text: str) -> None:
        """Print a remark."""
        print(f"  {text}", flush=True)


class EmulatedGuide:
    """Does what is asked with a GuidedHand, in the true geometry of the emulated arm."""

    def __init__(self, spec: RobotSpec, hand: GuidedHand, *, quiet: bool = False) -> None:
        """`spec`: the arm as it is really built."""
        self._spec, self._hand, self._quiet = spec, hand, quiet
        self._pose = np.array(spec.home)

    def ask(self, request: Request) -> None:
        """Set off."""
        self.say(f"→ {request.text}")
        home = np.array(self._spec.home)
        if request.task is Task.REFERENCE:
            self._pose = home
            self._hand.visit(home)
            return
        joint = request.joint
        low, high = self._spec.lower[joint], self._spec.upper[joint]
        if request.task is Task.DIRECTION:
            step = request.direction * NUDGE * self._spec.joints[joint].ratio
            target = float(np.clip(self._pose[joint] + step, low, high))
            self._pose = _with(self._pose, joint, target)
            self._hand.visit(self._pose)
            return
        middle, half = 0.5 * (low + high), 0.5 * (high - low) * SWEEP_SHARE
        ends = [_with(home, joint, middle - half), _with(home, joint, middle + half)]
        self._hand.visit(*ends, home)

    def done(self, request: Request) -> bool:
        """Whether the hand has arrived."""
        return self._hand.resting

    def say(self, text: str) -> None:
        """Print, unless told to be quiet."""
        if not self._quiet:
            print(f"  {text}", flush=True)


def _with(pose: np.ndarray, joint: int, value: float) -> np.ndarray:
    changed = pose.copy()
    changed[joint] = value
    return changed


def built_differently(
    spec: RobotSpec, turned: Mapping[str, int], flipped: tuple[str, ...]
) -> RobotSpec:
    """The robot with horns mounted `turned` counts off and servos `flipped` the other way round.

    Raises KeyError for an unknown joint.
    """
    for name in (*turned, *flipped):
        spec.order.index(name)
    joints = []
    for joint in spec.joints:
        servo = joint.servo
        if servo is not None:
            servo = replace(
                servo,
                zero_count=servo.zero_count + turned.get(joint.name, 0),
                sign=-servo.sign if joint.name in flipped else servo.sign,
            )
        joints.append(replace(joint, servo=servo))
    return replace(spec, joints=tuple(joints))
