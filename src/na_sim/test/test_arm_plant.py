# SPDX-License-Identifier: Apache-2.0
"""The live plant: the seam's promises, and the same physics as a batch."""

from __future__ import annotations

import numpy as np
import pytest

from na_core.raw_si import JointConversion
from na_core.robot_spec import load_robot_spec
from na_sim.arm_plant import ArmPlant
from na_sim.gains import goal_counts, holding_command
from na_sim.nad_generator.episode_plan import EpisodePlan
from na_sim.nad_generator.runner import SETTLE, WRITE_DELAY, run_batch
from na_sim.operator import ScriptedOperator
from na_sim.plant_core import PlantCore
from na_sim.plant_interface import ArmPlant as ArmPlantProtocol
from na_sim.plant_interface import ServoCommands
from na_sim.unit_parameters import draw_unit

ROBOT = load_robot_spec("omx")
RATE = 60.0


def commands(plant: ArmPlant, torque: bool = True) -> ServoCommands:
    """What the follower writes: position mode, the robot's gains, goal at the present position."""
    c = ServoCommands.zeros(plant.n)
    c.operating_mode[:] = 3
    c.torque_enable[:] = torque
    for j, joint in enumerate(ROBOT.joints):
        assert joint.gains is not None
        c.position_p_gain[j] = joint.gains.p
        c.position_i_gain[j] = joint.gains.i
        c.position_d_gain[j] = joint.gains.d
    c.pwm_limit[:] = 885
    c.current_limit[:] = 1193
    c.velocity_limit[:] = 200
    c.goal_position[:] = plant.readings().present_position
    return c


def follow(plant: ArmPlant, path: np.ndarray) -> np.ndarray:
    """Drive along `path` (T, n) at RATE; positions read (T, n)."""
    conversion, c = JointConversion(ROBOT), commands(plant)
    read = np.zeros_like(path)
    for k, q in enumerate(path):
        plant.advance((k + 1) / RATE, c)
        read[k] = conversion.position_from_raw(plant.readings().present_position)
        c.goal_position[:] = conversion.raw_from_position(q)
    return read


def wave(ticks: int) -> np.ndarray:
    t = np.arange(ticks)[:, None] / RATE
    shape = np.array([0.4, 0.3, -0.3, 0.4, 0.0])
    return ROBOT.home + shape * np.sin(2.0 * np.pi * 0.3 * t)


def test_fulfils_the_seam() -> None:
    plant = ArmPlant(ROBOT, seed=1)
    assert isinstance(plant, ArmPlantProtocol)
    assert plant.n == 5
    assert plant.time == 0.0


def test_follows_goals_as_a_servo_does() -> None:
    path = wave(240)
    read = follow(ArmPlant(ROBOT, seed=1), path)
    lag = np.degrees(np.abs(read[60:, :4] - path[59:-1, :4]))
    assert 0.1 < lag.mean() < 3.0
    assert lag.max() < 8.0


def test_same_seed_same_readings_other_seed_other_noise_only() -> None:
    path = wave(90)
    first, again, other = (follow(ArmPlant(ROBOT, seed=s), path) for s in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.abs(first - other).max() < 4 * 2.0 * np.pi / 4096.0


def test_other_units_differ_and_stay_the_same() -> None:
    path = wave(90)
    base, unit, again = (follow(ArmPlant(ROBOT, seed=4, arm=a), path) for a in (0, 1, 1))
    assert np.array_equal(unit, again)
    assert np.abs(base - unit).max() > 2.0 * np.pi / 4096.0


def test_advance_in_many_small_pieces_is_the_same() -> None:
    one, many = ArmPlant(ROBOT, seed=1), ArmPlant(ROBOT, seed=1)
    c = commands(one)
    commands(many)
    c.goal_position[1] += 100
    one.advance(0.5, c)
    for t in np.linspace(0.0003, 0.5, 777):
        many.advance(float(t), c)
    assert np.array_equal(one.core.state, many.core.state)
    one.advance(0.2, c)
    assert one.time == 0.5


def test_live_episode_agrees_with_the_batch() -> None:
    """The same path through the live seam and through the generator differ by noise only."""
    path = wave(300)
    plan = EpisodePlan(
        category="free_motion",
        task="wander",
        variant="test",
        name="test",
        seed=(1,),
        leader=path,
        housing=np.full(5, 25.0),
    )
    batch = run_batch(ROBOT, [plan], [draw_unit(ROBOT, 0)], RATE)[0]
    conversion = JointConversion(ROBOT)
    live = ArmPlant(ROBOT, seed=9, position=path[0])
    c = commands(live)
    c.goal_position[:] = conversion.raw_from_position(batch.goal_register[0])
    read = np.zeros_like(path)
    for k in range(len(path)):
        now = SETTLE + float(batch.step_time[k])
        live.advance(now, c)
        read[k] = conversion.position_from_raw(live.readings().present_position)
        live.advance(now + WRITE_DELAY * live.core.dt, c)
        c.goal_position[:] = conversion.raw_from_position(batch.goal_register[k])
    apart = np.abs(read - batch.position) / np.abs(conversion.position_scale)
    assert apart.max() <= 2.0  # counts: each side has its own reading noise
    assert np.mean(apart) < 0.2


def test_one_live_arm_and_many_batched_arms_are_bit_equal() -> None:
    """The same commands at the same steps: one copy or eight, the state is identical."""
    path = wave(60)
    single, several = (PlantCore(ROBOT, [draw_unit(ROBOT, 0)] * n) for n in (1, 8))
    for core in (single, several):
        for e in range(core.episodes):
            core.reset(e, path[0])
            core.command[e] = holding_command(ROBOT, core.parameters[e], path[0])
        for q in path:
            core.command["goal_position"] = goal_counts(core.parameters, q)
            core.advance(17)
    assert np.array_equal(single.state[0], several.state[5])


def test_torque_off_leader_follows_the_hand() -> None:
    operator = ScriptedOperator(ROBOT, seed=3)
    plant = ArmPlant(ROBOT, seed=1, hand=operator)
    c = commands(plant, torque=False)
    misses = []
    for k in range(1, 480):
        plant.advance(k / RATE, c)
        misses.append(np.abs(plant.position - operator(k / RATE))[:4])
    assert np.all(plant.core.state["current"] == 0.0)
    assert np.degrees(np.median(misses)) < 4.0
    moved = np.ptp([operator(t) for t in np.linspace(0.0, 8.0, 50)], axis=0)
    assert moved[:4].max() > 0.2


def test_released_arm_sags_and_can_be_caught() -> None:
    plant = ArmPlant(ROBOT, seed=1)
    off = commands(plant, torque=False)
    plant.advance(1.5, off)
    sagged = plant.position.copy()
    assert np.abs(sagged - ROBOT.home).max() > 0.05
    on = commands(plant)
    plant.advance(3.0, on)
    assert np.abs(plant.position - sagged)[:4].max() < 0.05


def test_readings_are_plausible_registers() -> None:
    plant = ArmPlant(ROBOT, seed=1)
    c = commands(plant)
    plant.advance(1.0, c)
    r = plant.readings()
    assert np.all((r.present_input_voltage >= 118) & (r.present_input_voltage <= 124))
    assert np.all((r.present_temperature >= 20) & (r.present_temperature <= 32))
    assert np.all(np.abs(r.present_current) < 300)
    assert not r.moving.any()
    assert r.present_position.dtype == np.int64


def test_wrong_position_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"position of shape \(3,\): expected \(5,\)"):
        ArmPlant(ROBOT, position=np.zeros(3))


def test_offline_robot_is_refused() -> None:
    with pytest.raises(ValueError, match="has no servo on joint"):
        ArmPlant(load_robot_spec("panda"))


def test_so101_moves_too() -> None:
    """Its unloaded pan joint may hunt inside its backlash, as the real one does; no more."""
    robot = load_robot_spec("so101")
    core = PlantCore(robot, [draw_unit(robot, 0)])
    goal = robot.home + np.array([0.15, 0.15, -0.15, -0.15, 0.15, 0.05])
    core.command[0] = holding_command(robot, core.parameters[0], goal)
    core.advance(3000)
    assert np.degrees(np.abs(core.positions()[0] - goal)).max() < 2.0
    assert np.abs(core.velocities()[0][1:4]).max() < 0.05


def test_so101_rests_on_the_table_without_rattling() -> None:
    robot = load_robot_spec("so101")
    core = PlantCore(robot, [draw_unit(robot, 0)])
    goal = robot.home + np.array([0.0, 0.15, 0.15, 0.15, 0.0, 0.0])
    core.command[0] = holding_command(robot, core.parameters[0], goal)
    core.advance(3000)
    assert core.data[0].ncon > 0
    assert np.abs(core.velocities()[0][1:4]).max() < 0.2
