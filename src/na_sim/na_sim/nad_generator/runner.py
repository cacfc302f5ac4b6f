# SPDX-License-Identifier: Apache-2.0
"""Simulates a batch of episode plans and returns what would have been recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_sim.arm_kernel import FT_CAPACITY
from na_sim.forces import KIND_BAND, KIND_FORCE, KIND_NONE, KIND_PLANE, KIND_SUPPORT
from na_sim.gains import goal_counts, holding_command
from na_sim.nad_generator.episode_plan import EpisodePlan
from na_sim.nad_generator.labelling import finish
from na_sim.nad_generator.recording import Recording
from na_sim.payload import GRAVITY, set_block, set_payload
from na_sim.plant_core import FORCE_SENSOR_RATE, PlantCore
from na_sim.servo.sensors import NOISE_CHANNELS, read_registers
from na_sim.unit_parameters import Unit

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec
    from na_sim.scene import Scene

Array = NDArray[np.float64]

SETTLE = 1.5  # s at rest before the first tick
SETTLE_PARTS = 50
WRITE_DELAY = 2  # physics steps (ms) between a tick's read and its goal reaching the servos
TICK_JITTER = 0.0008  # s, standard deviation of the tick's moment
PUSH_SLOT, PLANE_SLOT, BAND_SLOT, SUPPORT_SLOT = range(4)
SUPPORT_STIFFNESS = 1200.0  # N/m, a table under a carried thing
SUPPORT_DAMPING = 15.0
DRAIN_TICKS = int(FT_CAPACITY / FORCE_SENSOR_RATE * 40.0)


class Batch:
    """Simulation of several episodes at once.

    Args:
        robot: the robot.
        plans: what shall happen.
        units: the physical unit of each episode.
        rate: control rate [Hz].
        scene: compiled scene to share.
    """

    def __init__(
        self,
        robot: RobotSpec,
        plans: Sequence[EpisodePlan],
        units: Sequence[Unit],
        rate: float,
        scene: Scene | None = None,
    ) -> None:
        if len(plans) != len(units):
            raise ValueError(f"{len(plans)} plans but {len(units)} units; expected one each")
        self.robot = robot
        self.plans = list(plans)
        self.rate = rate
        self.core = PlantCore(robot, units, scene=scene)
        self.ticks = max(plan.ticks for plan in plans)
        self.rngs = [np.random.default_rng(plan.seed) for plan in plans]
        self._prepare()

    def _prepare(self) -> None:
        e, n, t = len(self.plans), self.robot.n, self.ticks
        core = self.core
        self.noise = np.zeros((t, NOISE_CHANNELS, e, n))
        self.steps = np.zeros((t, e), np.int64)
        self.requested = np.zeros((t, e, n))
        self.sent = np.zeros((t, e, n))
        self.goal = np.zeros((t, e, n))
        self.mass = np.zeros((t, e))
        self.block = np.zeros((t, e), bool)
        self.push = np.zeros((t + 1, e, 3))
        self.first = np.zeros((e, n))  # goals at the start of settling
        for k, (plan, rng) in enumerate(zip(self.plans, self.rngs, strict=True)):
            c = plan.ticks
            self.noise[:c, :, k] = rng.standard_normal((c, NOISE_CHANNELS, n))
            moments = np.arange(1, c + 1) / self.rate
            moments = moments + np.clip(rng.normal(0.0, TICK_JITTER, c), -0.003, 0.003)
            self.steps[:c, k] = np.diff(np.rint(moments / core.dt).astype(np.int64), prepend=0)
            self._goals(k, plan, c)
            self.mass[:c, k], self.block[:c, k] = plan.mass, plan.block
            if plan.push is not None:
                self.push[:c, k] = plan.push.force
            self._place(k, plan)

    def _goals(self, k: int, plan: EpisodePlan, count: int) -> None:
        """Goals as leader and follower nodes would form them: half a tick old, shaped, rounded."""
        p = self.core.parameters[k]
        unit = p["scale"] * p["sign"] * 2.0 * np.pi / 4096.0
        leader = np.rint(plan.leader / unit) * unit
        late = leader.copy()
        late[1:] = leader[:-1]
        shaped = np.clip(late + plan.dither, self.robot.lower, self.robot.upper)
        limit = self.robot.velocity_limit / self.rate
        sent = shaped.copy()
        for t in range(1, count):
            sent[t] = np.clip(shaped[t], sent[t - 1] - limit, sent[t - 1] + limit)
        self.requested[:count, k] = late
        self.sent[:count, k] = sent
        self.goal[:count, k] = goal_counts(p, sent)

    def _place(self, k: int, plan: EpisodePlan) -> None:
        core = self.core
        # Mains and battery differ from day to day, the same for every kind of episode.
        self.core.supply[k]["open_circuit"] += plan.supply
        start = np.clip(plan.leader[0], self.robot.lower, self.robot.upper)
        gripper = self.robot.gripper_index
        if gripper is not None:
            low, high = self.robot.lower[gripper], self.robot.upper[gripper]
            start[gripper] = np.clip(start[gripper] + plan.approach, low, high)
        core.reset(k, start, plan.housing)
        core.command[k] = holding_command(self.robot, core.parameters[k], self.sent[0, k])
        self.first[k] = goal_counts(core.parameters[k], start)
        model = core.models[k]
        if plan.push is not None:
            f = core.forces[k, PUSH_SLOT]
            f["kind"], f["on_tip"] = KIND_FORCE, int(plan.push.on_tip)
            f["body"], f["point"] = model.body(plan.push.body).id, plan.push.point
            f["value"] = self.push[0, k]
        if plan.plane is not None:
            f = core.forces[k, PLANE_SLOT]
            f["kind"], f["on_tip"], f["body"] = KIND_PLANE, 1, core.scene.end_effector
            f["value"], f["normal"] = plan.plane.point, plan.plane.normal
            f["stiffness"], f["damping"] = plan.plane.stiffness, plan.plane.damping
            f["friction"] = plan.plane.friction
        if plan.band is not None:
            f = core.forces[k, BAND_SLOT]
            f["kind"], f["joint"] = KIND_BAND, plan.band.joint
            f["stiffness"], f["damping"] = plan.band.stiffness, plan.band.damping
            f["offset"] = plan.band.offset
        set_block(core, k, bool(plan.block[0]))
        if plan.mass[0] > 0.0:
            set_payload(core, k, float(plan.mass[0]))

    def _attach(self, k: int, mass: float, height: float) -> None:
        """Hang `mass` [kg] on the tip; it may stand on a table while the tip is at `height` [m]."""
        core = self.core
        set_payload(core, k, mass)
        if not self.plans[k].support:
            return
        f = core.forces[k, SUPPORT_SLOT]
        f["kind"], f["on_tip"], f["body"] = KIND_SUPPORT, 1, core.scene.end_effector
        f["started"] = 0
        f["stiffness"], f["damping"] = SUPPORT_STIFFNESS, SUPPORT_DAMPING
        f["value"] = [0.0, 0.0, height + mass * GRAVITY / SUPPORT_STIFFNESS]

    def _changes(self, t: int) -> None:
        """Loads and blocks that come or go at tick `t`."""
        for k in np.flatnonzero(self.mass[t] != self.mass[t - 1]):
            plan = self.plans[k]
            if t >= plan.ticks:
                continue
            if self.mass[t, k] > 0.0:
                tip = self.core.data[k].xpos[self.core.scene.end_effector, 2]
                self._attach(int(k), float(self.mass[t, k]), float(tip))
            else:
                set_payload(self.core, int(k), 0.0)
                self.core.forces[k, SUPPORT_SLOT]["kind"] = KIND_NONE
        for k in np.flatnonzero(self.block[t] != self.block[t - 1]):
            if t < self.plans[k].ticks:
                set_block(self.core, int(k), bool(self.block[t, k]))

    def _settle(self) -> None:
        """Stand still before the first tick; the gripper comes to where it is wanted."""
        core, target = self.core, self.core.command["goal_position"].copy()
        part = round(SETTLE / core.dt / SETTLE_PARTS)
        for share in np.linspace(0.0, 1.5, SETTLE_PARTS):  # there after two thirds of the time
            blend = min(float(share), 1.0)
            core.command["goal_position"] = np.rint(self.first + blend * (target - self.first))
            core.advance(part)

    def run(self) -> list[Recording]:
        """Simulate all episodes; recordings in the order of the plans."""
        core, logs = self.core, Logs(self.ticks, self.core)
        self._settle()
        core.truth["ft_count"] = core.truth["time_steps"] = core.truth["ft_steps"] = 0
        core.truth["ft_sum"] = 0.0
        logs.drop_sums(core)
        pushed = [k for k, plan in enumerate(self.plans) if plan.push is not None]
        tick = 1.0 / self.rate
        for t in range(self.ticks):
            if t > 0:
                self._changes(t)
            for k in pushed:
                f = core.forces[k, PUSH_SLOT]
                f["value"] = self.push[max(t - 1, 0), k]
                f["rate"] = (self.push[t, k] - self.push[max(t - 1, 0), k]) / tick
            steps = self.steps[t]
            first = np.minimum(steps, WRITE_DELAY)
            core.advance(first)
            if t > 0:
                live = steps > 0
                core.command["goal_position"][live] = self.goal[t - 1][live]
            core.advance(steps - first)
            logs.take(core, t, self.noise[t])
            if t % DRAIN_TICKS == DRAIN_TICKS - 1:
                logs.drain(core)
        logs.drain(core)
        times = np.asarray(np.cumsum(self.steps, axis=0) * core.dt, dtype=np.float64)
        return [finish(self, logs, k, times[: plan.ticks, k]) for k, plan in enumerate(self.plans)]


class Logs:
    """Arrays that fill up tick by tick, (T, E, ...)."""

    def __init__(self, ticks: int, core: PlantCore) -> None:
        e, n = core.episodes, core.n
        names = (
            "present_pwm",
            "present_current",
            "present_velocity",
            "present_position",
            "present_input_voltage",
            "present_temperature",
        )
        self.registers = {name: np.zeros((ticks, e, n)) for name in names}
        self.force = np.zeros((ticks, e, 3))
        self.torque = np.zeros((ticks, e, 3))
        self.elsewhere = np.zeros((ticks, e, 3))
        self.band = np.zeros((ticks, e))
        self.rotation = np.zeros((ticks, e, 9))
        state = ("motor_torque", "gear_torque", "winding", "housing")
        self.state = {name: np.zeros((ticks, e, n)) for name in state}
        self.position = np.zeros((ticks, e, n))
        self.velocity = np.zeros((ticks, e, n))
        self.ft: list[list[Array]] = [[] for _ in range(e)]
        self.ft_step: list[list[NDArray[np.int64]]] = [[] for _ in range(e)]
        self._seen = np.zeros(e, np.int64)
        self._tip = core.scene.end_effector

    @staticmethod
    def drop_sums(core: PlantCore) -> None:
        """Start new means."""
        for name in ("force_sum", "torque_sum", "elsewhere_sum", "contact_sum", "band_sum"):
            core.truth[name] = 0.0
        core.truth["steps"] = 0

    def take(self, core: PlantCore, t: int, noise: Array) -> None:
        """Read all registers and note the truth of tick `t`."""
        read = read_registers(core.parameters, core.state, core.supply, noise)
        for name, log in self.registers.items():
            log[t] = read[name]
        steps = np.maximum(core.truth["steps"], 1)
        self.force[t] = core.truth["force_sum"] / steps[:, None]
        self.torque[t] = core.truth["torque_sum"] / steps[:, None]
        self.elsewhere[t] = core.truth["elsewhere_sum"] / steps[:, None]
        self.band[t] = core.truth["band_sum"] / steps
        self.drop_sums(core)
        for name, log in self.state.items():
            log[t] = core.state[name]
        self.position[t] = core.positions()
        self.velocity[t] = core.velocities()
        for k, data in enumerate(core.data):
            self.rotation[t, k] = data.xmat[self._tip]

    def drain(self, core: PlantCore) -> None:
        """Collect the force sensor's true samples before their ring overwrites them."""
        counts = core.truth["ft_count"]
        for k in range(core.episodes):
            fresh = int(counts[k] - self._seen[k])
            if fresh > FT_CAPACITY:
                raise RuntimeError(f"force samples overran: {fresh} in a ring of {FT_CAPACITY}")
            if fresh <= 0:
                continue
            slots = (self._seen[k] + np.arange(fresh)) % FT_CAPACITY
            self.ft[k].append(core.truth["ft"][k][slots].copy())
            self.ft_step[k].append(core.truth["ft_time"][k][slots].copy())
            self._seen[k] = counts[k]


def run_batch(
    robot: RobotSpec,
    plans: Sequence[EpisodePlan],
    units: Sequence[Unit],
    rate: float,
    scene: Any = None,
) -> list[Recording]:
    """Simulate `plans`; see Batch."""
    return Batch(robot, plans, units, rate, scene).run()
