# SPDX-License-Identifier: Apache-2.0
"""Walks a person (or an emulated hand) through a calibration while the bus is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

import numpy as np

from na_core.calibration import Calibration
from na_teleop.buses.base import PortError, PortProblem, ServoBus
from na_teleop.calibration.assemble import CalibrationRefusedError, Findings, assemble
from na_teleop.calibration.steps import (
    COUNTS,
    TURN,
    DirectionCheck,
    JointRange,
    PoseCapture,
    RangeSweep,
    StepError,
)
from na_teleop.calibration.wording import free_direction, way_of

T = TypeVar("T")
READ_PERIOD_S = 0.02
MAX_SILENT_READS = 25


class Task(StrEnum):
    """What the hand is asked to do."""

    REFERENCE = "reference"  # hold the arm in the reference pose
    DIRECTION = "direction"  # move one joint the way named
    SWEEP = "sweep"  # move one joint from end to end


@dataclass(frozen=True, slots=True)
class Request:
    """One thing asked of whoever holds the arm.

    Attributes:
        task: what to do.
        joint: index of the joint, -1 for all.
        text: for people.
        direction: of a direction check, +1 or -1.

    """

    task: Task
    joint: int
    text: str
    direction: int = 1


class Guide(Protocol):
    """Who moves the arm: a person at a terminal, or an emulated hand."""

    def ask(self, request: Request) -> None:
        """Show what to do; returns at once."""

    def done(self, request: Request) -> bool:
        """Whether the hand says that it has finished; polled."""

    def say(self, text: str) -> None:
        """Show a remark."""


class CalibrationRun:
    """One calibration over an open bus. Torque is switched off first and stays off."""

    def __init__(
        self,
        bus: ServoBus,
        arm: str,
        guide: Guide,
        *,
        travel: float | None = None,
        step_timeout_s: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`travel`: measured travel of one gripper finger [m], None keeps the robot's linkage."""
        self.bus, self.spec, self.arm = bus, bus.spec, arm
        self.guide, self.travel = guide, travel
        self.timeout = step_timeout_s
        self._clock, self._sleep = clock, sleep

    def run(self, source: str) -> Calibration:
        """Home, directions, ranges; returns the calibration.

        Raises StepError, CalibrationRefusedError, or PortError when servos keep silent.
        """
        report = self.bus.disable_torque()
        if not report.ok:
            raise PortError(
                f"{self.arm} on {self.bus.port}: {report.text()}",
                problem=PortProblem.NO_REPLY,
                port=self.bus.port,
                remedy="An arm must move freely to be calibrated: run ./na doctor",
            )
        home = self._reference()
        signs = tuple(self._direction(i) for i in range(self.spec.n))
        self._unmoved_again(home)
        ranges = self._sweep(home)
        found = Findings(home, signs, ranges, self.travel)
        return assemble(self.spec, self.arm, found, source)

    # -- steps ---------------------------------------------------------------------------

    def _reference(self) -> COUNTS:
        spec = self.spec
        pose = ", ".join(
            f"{joint.name} {_shown(value, joint.type)}"
            for joint, value in zip(spec.joints, spec.home, strict=True)
        )
        request = Request(
            Task.REFERENCE, -1, f"Hold the arm in its park pose and keep still ({pose})"
        )
        home = self._pose(request)
        outside = [spec.names[i] for i in np.flatnonzero((home < 0) | (home >= TURN))]
        if outside:
            raise StepError(
                f"{', '.join(outside)}: counts beyond one turn ({home.tolist()}); switch the "
                "servo supply off and on, then calibrate again"
            )
        return home

    def _pose(self, request: Request) -> COUNTS:
        """Wait for a steady pose that the hand says is the one asked for."""
        self.guide.ask(request)
        capture = PoseCapture(self.spec.n)

        def steady(raw: COUNTS) -> COUNTS | None:
            pose = capture.feed(raw)
            return pose if self.guide.done(request) else None

        return self._until(request, steady)

    def _direction(self, joint: int) -> int:
        name = self.spec.names[joint]
        capture = PoseCapture(self.spec.n)
        resting = Request(Task.REFERENCE, joint, f"keeping still before {name} is moved")
        start = self._until(resting, capture.feed)
        way = free_direction(self.spec, joint)
        text = f"Move only {name}, {way_of(self.spec, joint, way)}, by 20 degrees or more"
        request = Request(Task.DIRECTION, joint, text, way)
        self.guide.ask(request)
        check = DirectionCheck(self.spec.names, joint, start)
        sign = way * self._until(request, check.feed)
        servo = self.spec.joints[joint].servo
        if servo is not None and servo.sign != sign:
            self.guide.say(f"{name}: direction is the opposite of the robot file's; noted")
        return sign

    def _unmoved_again(self, home: COUNTS) -> None:
        """After the direction checks the arm goes back: a horn that slipped would show here."""
        request = Request(Task.REFERENCE, -1, "Back to the park pose, keep still")
        again = self._pose(request)
        off = np.abs(again - home)
        worst = int(np.argmax(off))
        if off[worst] > TURN // 24:  # 15 degrees
            raise StepError(
                f"{self.spec.names[worst]} is {int(off[worst])} counts away from where it was in "
                "the same pose before: a horn slips, or the pose was not the same"
            )

    def _sweep(self, home: COUNTS) -> tuple[JointRange, ...]:
        sweep = RangeSweep(home)
        for joint, name in enumerate(self.spec.names):
            request = Request(Task.SWEEP, joint, f"Move {name} slowly from end to end and back")
            self.guide.ask(request)

            def finished(raw: COUNTS, request: Request = request) -> bool | None:
                sweep.feed(raw)
                return True if self.guide.done(request) else None

            self._until(request, finished)
            seen = sweep.ranges[joint]
            self.guide.say(f"{name}: counts {seen.low} to {seen.high}")
        return sweep.ranges

    # -- reading -------------------------------------------------------------------------

    def _read(self) -> COUNTS:
        """Return one complete read (n,) of raw counts."""
        for _ in range(MAX_SILENT_READS):
            sample = self.bus.read()
            if sample.valid.all():
                return sample.raw_position.copy()
            self._sleep(READ_PERIOD_S)
        silent = [i for i, ok in zip(self.bus.ids, sample.valid, strict=True) if not ok]
        raise PortError(
            f"servos {silent} on {self.bus.port} stopped answering during the calibration",
            problem=PortProblem.NO_REPLY,
            port=self.bus.port,
            remedy="Check cable and supply (./na doctor), then calibrate again",
        )

    def _until(self, request: Request, step: Callable[[COUNTS], T | None]) -> T:
        deadline = self._clock() + self.timeout
        while self._clock() < deadline:
            result = step(self._read())
            if result is not None:
                return result
            self._sleep(READ_PERIOD_S)
        raise StepError(
            f"nothing came of {request.text!r} within {self.timeout:g} s; calibrate again"
        )


def _shown(value: float, kind: str) -> str:
    return f"{1e3 * value:.0f} mm" if kind == "prismatic" else f"{np.rad2deg(value):.0f}°"


__all__ = ["CalibrationRefusedError", "CalibrationRun", "Guide", "Request", "StepError", "Task"]
