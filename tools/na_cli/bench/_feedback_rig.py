# SPDX-License-Identifier: Apache-2.0
"""Leader under a compliant hand, follower against a stiff wall, closed in emulated time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks
from na_core.features.motor import SIGN_SPEED, MotorModel
from na_core.kinematics import Kinematics
from na_core.observers import DeadBand, make_estimator
from na_core.raw_si import JointConversion
from na_core.robot_types import RobotSpec
from na_sim.arm_plant import ArmPlant
from na_sim.forces import KIND_PLANE
from na_sim.operator import minimum_jerk
from na_sim.plant_interface import ServoCommands
from na_teleop.goal_shaping import GoalShaper
from na_teleop.leader_aids.aids import LeaderAids
from na_teleop.leader_aids.config import AidsConfig
from na_teleop.leader_aids.motor import friction_torques, torque_constants

Array = NDArray[np.float64]

REST, REACH, HOLD, BACK = 1.2, 1.5, 3.0, 1.5  # s; the phases of a trial
PRESS = 0.03  # m that the hand aims behind the wall
CURRENT_LIMIT = 1193  # factory Current Limit of an XM430
PWM_LIMIT = 885
VISCOUS, ROTOR = 0.035, 0.0055  # N·m·s/rad, kg·m² of one servo
GATE = DeadBand(3.0, 2.0)  # N; friction alone makes an observer of currents say 1 to 2 N


@dataclass(frozen=True)
class Trial:
    """One closed-loop run.

    Attributes:
        gain: feedback gain.
        guard: whether the passivity guard acts.
        rate: ticks per second of leader and follower [Hz].
        delay: age of the force estimate when it arrives at the leader [s].
        smoothing: time constant of the estimator [s].
        noise: standard deviation of the estimate per axis [N].
        hand: stiffness of the hand's hold [N·m/rad]; 12 is a firm hold, 3 a loose one.
        stiffness, damping: of the wall [N/m], [N·s/m].
        observer: estimate the force from the follower's own readings with this observer of
            na_core (its `smoothing` and `noise` are then its own); empty: the true force, smoothed
            and noisy.
        aids: changes to the aids' defaults.

    """

    gain: float
    guard: bool = True
    rate: float = 60.0
    delay: float = 0.05
    smoothing: float = 0.03
    noise: float = 0.3
    hand: float = 12.0
    stiffness: float = 20000.0
    damping: float = 40.0
    seed: int = 0
    observer: str = ""
    aids: dict[str, Any] = field(default_factory=dict)


@dataclass
class Traces:
    """What happened, per tick: time (T,) [s], tip x of both arms (T,) [m], forces (T,) [N].

    Forces along x: of the wall on the follower (positive: pushed), of the hand on the leader, and
    rendered against the hand after the guard. `energy` is the guard's balance [J].
    """

    time: Array
    leader_x: Array
    follower_x: Array
    wall_force: Array
    hand_force: Array
    rendered: Array
    energy: Array
    wall: float

    @property
    def contact_lost(self) -> float:
        """Share of the hold, its first second left out, in which the wall was not touched."""
        return float((self.wall_force[self.holding()] <= 0.0).mean())

    @property
    def travel(self) -> float:
        """How far the leader's tip wandered during the hold [m]."""
        return float(np.ptp(self.leader_x[self.holding()]))

    @property
    def stable(self) -> bool:
        """The hold was one: never off the wall, and the tip stayed within a centimetre."""
        return self.contact_lost == 0.0 and self.travel < 0.01

    def holding(self, margin: float = 1.0) -> NDArray[np.bool_]:
        """Ticks of the hold, its first `margin` seconds left out."""
        begin = REST + REACH + margin
        return np.asarray((self.time >= begin) & (self.time <= REST + REACH + HOLD))


def motor_of(spec: RobotSpec) -> MotorModel:
    """Motor constants of an XM430-W350 arm as a calibration would roughly find them."""
    ratio = np.array([joint.ratio for joint in spec.joints])
    return MotorModel(
        torque_constant=torque_constants(spec) / ratio,
        offset=np.zeros(spec.n),
        coulomb=friction_torques(spec) / ratio,
        viscous=VISCOUS / ratio**2,
        rotor=ROTOR / ratio**2,
        sign_speed=SIGN_SPEED * ratio,
    )


class HandPath:
    """Rest at the park pose, reach forward behind the wall, hold, come back."""

    def __init__(self, spec: RobotSpec, kinematics: Kinematics, distance: float) -> None:
        """`distance`: of the reach along x [m]."""
        self._poses = _along_x(spec, kinematics, distance)

    def __call__(self, time: float) -> Array:
        """Hand target (n,) at `time` [s]."""
        out = float(minimum_jerk((time - REST) / REACH))
        back = float(minimum_jerk((time - REST - REACH - HOLD) / BACK))
        share = (out - back) * (len(self._poses) - 1)
        below = min(int(share), len(self._poses) - 2)
        weight = share - below
        pose = (1.0 - weight) * self._poses[below] + weight * self._poses[below + 1]
        return np.asarray(pose)


def _along_x(spec: RobotSpec, kinematics: Kinematics, distance: float, steps: int = 40) -> Array:
    """Joint poses (steps + 1, n) whose tip moves along x from the park pose."""
    arm = np.array([joint.role == "arm" for joint in spec.joints])
    pose = np.array(spec.home)
    start = kinematics.fk(pose).position
    poses = [pose.copy()]
    for k in range(1, steps + 1):
        target = start + np.array([distance * k / steps, 0.0, 0.0])
        for _ in range(20):
            error = target - kinematics.fk(pose).position
            jacobian = kinematics.jacobian(pose)[:, arm]
            square = jacobian @ jacobian.T + 1e-6 * np.eye(3)
            pose[arm] += jacobian.T @ np.linalg.solve(square, error)
        poses.append(pose.copy())
    return np.array(poses)


class Pair:
    """Both arms with what sits between them; `run` plays one trial."""

    def __init__(self, spec: RobotSpec, trial: Trial) -> None:
        """Make plants, aids and the wall."""
        self.spec, self.trial = spec, trial
        self.kinematics = Kinematics(spec)
        self.convert = JointConversion(spec)
        self._ratio = np.array([joint.ratio for joint in spec.joints])
        self._arm = np.array([joint.role == "arm" for joint in spec.joints])
        start = float(self.kinematics.fk(spec.home).position[0])
        self.wall = start + 0.07
        self.hand = HandPath(spec, self.kinematics, 0.07 + PRESS)
        self.leader = ArmPlant(spec, trial.seed, hand=self.hand)
        self.leader.core.hand[0]["stiffness"][self._arm] = trial.hand
        self.follower = ArmPlant(spec, trial.seed + 1)
        for plant in (self.leader, self.follower):
            table = plant.core.models[0].geom("table")
            table.contype = table.conaffinity = 0
        self._build_wall()
        self.aids = LeaderAids(
            spec, AidsConfig(feedback_gain=trial.gain, guard=trial.guard, **trial.aids)
        )
        self.shaper = GoalShaper(
            spec.lower, spec.upper, spec.velocity_limit, longest_step_s=1.5 / trial.rate
        )
        self.shaper.reset(np.array(spec.home), 0.0)
        self._rng = np.random.default_rng([trial.seed, 0xFEED])
        self._estimate = np.zeros(3)
        self._observer = (
            make_estimator(trial.observer, spec, 1.0 / trial.rate, motor_of(spec), GATE)
            if trial.observer
            else None
        )
        self._sent: deque[tuple[float, Array]] = deque()

    def _build_wall(self) -> None:
        f = self.follower.core.forces[0][0]
        f["kind"], f["on_tip"] = KIND_PLANE, 1
        f["body"] = self.follower.core.scene.end_effector
        f["value"], f["normal"] = [self.wall, 0.0, 0.0], [-1.0, 0.0, 0.0]
        f["stiffness"], f["damping"] = self.trial.stiffness, self.trial.damping
        f["friction"] = 0.3

    # -- registers -----------------------------------------------------------------------

    def _commands(self) -> ServoCommands:
        c = ServoCommands.zeros(self.spec.n)
        c.torque_enable[:] = True
        c.current_limit[:], c.pwm_limit[:], c.velocity_limit[:] = CURRENT_LIMIT, PWM_LIMIT, 1023
        return c

    def leader_commands(self, current: Array) -> ServoCommands:
        """Current mode, torque on, with currents (n,) [A]."""
        c = self._commands()
        c.goal_current[:] = np.trunc(current / self.convert.current_scale).astype(np.int64)
        return c

    def _follower_commands(self, goal: Array) -> ServoCommands:
        c = self._commands()
        c.goal_position[:] = self.convert.raw_from_position(goal)
        for i, joint in enumerate(self.spec.joints):
            limited = joint.operating_mode == "current_position"
            c.operating_mode[i] = 5 if limited else 3
            c.goal_current[i] = joint.goal_current or CURRENT_LIMIT
            if joint.gains is not None:
                c.position_p_gain[i] = joint.gains.p
                c.position_i_gain[i] = joint.gains.i
                c.position_d_gain[i] = joint.gains.d
        return c

    def read_leader(self) -> tuple[Array, Array]:
        """Positions and velocities (n,) as the leader's servos report them."""
        read = self.leader.readings()
        return (
            self.convert.position_from_raw(read.present_position),
            self.convert.velocity_from_raw(read.present_velocity),
        )

    # -- the loop ------------------------------------------------------------------------

    def run(self) -> Traces:
        """Play the trial."""
        trial, n = self.trial, round((REST + REACH + HOLD + BACK) * self.trial.rate)
        rows: list[list[float]] = []
        goal = np.array(self.spec.home)
        leader_commands = self.leader_commands(np.zeros(self.spec.n))
        for k in range(1, n + 1):
            now = k / trial.rate
            self.leader.advance(now, leader_commands)
            self.follower.advance(now, self._follower_commands(goal))
            q, v = self.read_leader()
            self._feed(now, goal)
            out = self.aids.step(now, q, v)
            leader_commands = self.leader_commands(out.current)
            goal = self.shaper.shape(q, now).sent  # reaches the follower one tick later
            rows.append(self._row(now, out))
        time, leader, follower, wall, hand, rendered, energy = np.array(rows).T
        return Traces(time, leader, follower, wall, hand, rendered, energy, self.wall)

    def _feed(self, now: float, goal: Array) -> None:
        """The follower's estimate, late by `delay`."""
        self._sent.append((now, self._estimated(goal)))
        while self._sent and self._sent[0][0] <= now - self.trial.delay + 1e-9:
            _, force = self._sent.popleft()
            self.aids.feedback.feed(force, self.spec.base_frame, now)

    def _estimated(self, goal: Array) -> Array:
        """External force on the follower (3,) [N] as an estimator would have it now."""
        if self._observer is not None:
            return np.array(self._observer.step(self._follower_ticks(goal)).gated)
        true = np.array(self.follower.core.forces[0][0]["force"])
        step = 1.0 / self.trial.rate
        share = step / (self.trial.smoothing + step)
        self._estimate = self._estimate + share * (true - self._estimate)
        return np.asarray(self._estimate + self.trial.noise * self._rng.standard_normal(3))

    def _follower_ticks(self, goal: Array) -> Ticks:
        """One tick of the follower's telemetry."""
        read, convert = self.follower.readings(), self.convert
        return Ticks.of(
            position=convert.position_from_raw(read.present_position),
            velocity=convert.velocity_from_raw(read.present_velocity),
            goal=goal,
            current=convert.current_from_raw(read.present_current),
            voltage=convert.voltage_from_raw(read.present_input_voltage),
            temperature=convert.temperature_from_raw(read.present_temperature),
        )

    def _row(self, now: float, out: Any) -> list[float]:
        leader, follower = self.leader.position, self.follower.position
        return [
            now,
            float(self.kinematics.fk(leader).position[0]),
            float(self.kinematics.fk(follower).position[0]),
            -float(self.follower.core.forces[0][0]["force"][0]),
            self._hand_force(leader),
            -self._tip_force(out.feedback / self._ratio, leader),
            out.guard.energy,
        ]

    def hand_torque(self) -> Array:
        """Torque of the hand on each servo shaft of the leader (n,) [N·m]."""
        h = self.leader.core.hand[0]
        state = self.leader.core.state[0]
        torque = h["stiffness"] * (h["target"] - state["link_angle"])
        torque += h["damping"] * (h["rate"] - state["link_velocity"])
        return np.asarray(np.clip(torque, -h["limit"], h["limit"]))

    def _hand_force(self, leader: Array) -> float:
        """Force of the hand on the leader's tip along x [N], from its joint torques."""
        return self._tip_force(self.hand_torque() / self._ratio, leader)

    def _tip_force(self, effort: Array, leader: Array) -> float:
        """Force at the tip along x [N] that joint efforts (n,) of the arm amount to."""
        jacobian = self.kinematics.jacobian(leader)[:, self._arm]
        return float(np.linalg.lstsq(jacobian.T, effort[self._arm], rcond=None)[0][0])
