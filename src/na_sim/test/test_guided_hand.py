# SPDX-License-Identifier: Apache-2.0
"""A guided hand brings an emulated arm to poses, against its weight, and keeps it still there."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_sim.arm_plant import ArmPlant
from na_sim.guided_hand import ARRIVED, GuidedHand
from na_sim.plant_interface import ServoCommands


@pytest.mark.parametrize("robot", ["omx", "so101"])
def test_poses_are_reached_and_kept(robot: str) -> None:
    spec = load_robot_spec(robot)
    hand = GuidedHand(spec)
    plant = ArmPlant(spec, hand=hand)
    hand.see = lambda: plant.position
    table = plant.core.models[0].geom("table")
    table.contype = table.conaffinity = 0
    unit = np.array([joint.ratio for joint in spec.joints])
    released = ServoCommands.zeros(spec.n)
    middle = 0.5 * (np.array(spec.home) + 0.5 * (spec.lower + spec.upper))
    hand.visit(middle, spec.home)
    now = 0.0
    while not hand.resting:
        now += 0.05
        assert now < 20.0, "the hand did not arrive"
        plant.advance(now, released)
    counts: list[np.ndarray] = []
    while len(counts) < 20 or int(np.ptp(np.array(counts[-20:]), axis=0).max()) > 6:
        now += 0.02
        assert now < 40.0, "the arm did not come to rest"
        plant.advance(now, released)
        counts.append(plant.readings().present_position)
    assert (np.abs(plant.position - spec.home) < 2.0 * ARRIVED * unit).all()


def test_a_hand_does_not_shake_the_fingers() -> None:
    """Fingers weigh so little that a hand as firm as on a link would be unstable there."""
    spec = load_robot_spec("omx")
    plant = ArmPlant(spec, hand=lambda time: np.array(spec.home))
    released = ServoCommands.zeros(spec.n)
    gripper = []
    for k in range(1, 200):
        plant.advance(0.001 * k, released)
        gripper.append(plant.position[4])
    assert np.ptp(gripper) < 2e-5
