# SPDX-License-Identifier: Apache-2.0
"""The example controller meets a springy wall: reaches its force, yields, waits, stops."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec
from na_inference.press_and_hold import Phase, PressAndHold, PressSettings

DT = 1 / 60
STIFFNESS = 400.0  # N/m


class Wall:
    """A springy floor `depth` [m] below where the tip begins; the arm is where its goal is."""

    def __init__(self, spec: RobotSpec, depth: float) -> None:
        self._kinematics = Kinematics(spec)
        self.goal = np.array(spec.home, dtype=float)
        self.goal[:4] = [0.0, 0.2, 0.2, 0.8]
        self.height = self.tip - depth
        self.valid = True

    @property
    def tip(self) -> float:
        return float(self._kinematics.fk(self.goal).position[2])

    @property
    def force(self) -> float:
        return max(0.0, STIFFNESS * (self.height - self.tip))

    def run(self, controller: PressAndHold, seconds: float) -> None:
        for _ in range(round(seconds / DT)):
            felt = np.array([0.0, 0.0, self.force if self.valid else np.nan])
            self.goal = controller.step(DT, self.goal, felt, self.force > 0.3, self.valid)


def test_it_finds_the_surface_and_holds_its_force(omx: RobotSpec) -> None:
    wall, controller = Wall(omx, 0.03), PressAndHold(omx)
    wall.run(controller, 1.0)
    assert controller.phase is Phase.APPROACH and wall.force == 0.0
    wall.run(controller, 5.0)
    assert controller.phase is Phase.HOLD
    assert wall.force == pytest.approx(4.0, abs=0.1)


def test_it_yields_when_the_surface_comes_closer(omx: RobotSpec) -> None:
    wall, controller = Wall(omx, 0.01), PressAndHold(omx)
    wall.run(controller, 4.0)
    wall.height += 0.01
    assert wall.force > 7.0
    wall.run(controller, 3.0)
    assert wall.force == pytest.approx(4.0, abs=0.1)


def test_without_a_valid_force_nothing_moves(omx: RobotSpec) -> None:
    wall, controller = Wall(omx, 0.03), PressAndHold(omx)
    wall.run(controller, 0.5)
    before = wall.goal.copy()
    wall.valid = False
    wall.run(controller, 2.0)
    assert controller.phase is Phase.WAIT
    assert np.array_equal(wall.goal, before)


def test_where_nothing_is_it_stops_after_its_travel(omx: RobotSpec) -> None:
    wall = Wall(omx, 1.0)
    begin = wall.tip
    controller = PressAndHold(omx, PressSettings(travel=0.05))
    wall.run(controller, 6.0)
    assert controller.phase is Phase.END
    assert begin - wall.tip == pytest.approx(0.05, abs=0.005)
    assert wall.goal[4] == omx.home[4]  # the gripper keeps its goal


@pytest.mark.parametrize("wrong", [{"force": 0.0}, {"speed": -1.0}, {"direction": (0, 0, 0)}])
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected a"):
        PressSettings(**wrong)  # type: ignore[arg-type]
