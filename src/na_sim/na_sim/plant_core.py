# SPDX-License-Identifier: Apache-2.0
"""Many copies of one arm stepped together; the live plant is the same with one copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from na_sim.arm_kernel import ADDRESS_DTYPE, TRUTH_DTYPE, advance_episodes
from na_sim.forces import FORCE_DTYPE, HAND_DTYPE
from na_sim.native import array_address, step_address
from na_sim.scene import Scene, SceneOptions, build_scene
from na_sim.servo.records import COMMAND_DTYPE, COUNTS_PER_RADIAN, STATE_DTYPE, SUPPLY_DTYPE
from na_sim.stability import limit_gears
from na_sim.unit_parameters import Unit, draw_unit

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]

FORCE_SLOTS = 4  # external elements per episode
FORCE_SENSOR_RATE = 100.0  # Hz


class PlantCore:
    """E episodes of one robot, each with its own unit, scene state and external forces.

    Attributes:
        n: joints per arm.
        episodes: number of episodes E.
        dt: physics step [s].
        parameters, state, command, hand: records (E, n).
        supply, truth: records (E,).
        forces: external elements (E, FORCE_SLOTS).
        models, data: MuJoCo model and data of each episode.
        rotor_home: rotor angle that leaves the gears unloaded, used by `reset`.
    """

    def __init__(
        self,
        robot: RobotSpec,
        units: Sequence[Unit],
        options: SceneOptions | None = None,
        *,
        scene: Scene | None = None,
        own_models: bool = True,
    ) -> None:
        if not units:
            raise ValueError("a plant needs at least one unit (see unit_parameters.draw_unit)")
        self.robot = robot
        self.scene = scene or build_scene(robot, options)
        self.n = robot.n
        self.episodes = len(units)
        self.dt = float(self.scene.model.opt.timestep)
        e, n = self.episodes, self.n
        limited = {
            id(unit): limit_gears(unit.servos, self.scene, robot.lower, robot.upper)
            for unit in units
        }
        self.parameters = np.stack([limited[id(unit)] for unit in units])
        self.state = np.zeros((e, n), STATE_DTYPE)
        self.command = np.zeros((e, n), COMMAND_DTYPE)
        self.supply = np.zeros(e, SUPPLY_DTYPE)
        self.hand = np.zeros((e, n), HAND_DTYPE)
        self.forces = np.zeros((e, FORCE_SLOTS), FORCE_DTYPE)
        self.truth = np.zeros(e, TRUTH_DTYPE)
        for k, unit in enumerate(units):
            self.supply[k]["open_circuit"] = unit.supply_voltage
            self.supply[k]["resistance"] = unit.supply_resistance
        self.supply["voltage"] = self.supply["open_circuit"]
        self.models = [self._model(own_models) for _ in range(e)]
        self.data = [mujoco.MjData(model) for model in self.models]
        self.joints = np.stack(
            [self.scene.qpos, self.scene.dof, self.scene.mimic_qpos, self.scene.mimic_dof], axis=1
        )
        self.addresses = self._addresses()
        self._step = step_address()
        self._ft_stride = round(1.0 / (FORCE_SENSOR_RATE * self.dt))
        self.contacts = int(self.scene.model.nsensor)
        self.scale = self.parameters["scale"].copy()  # (E, n) joint units per servo radian
        for k in range(e):
            self.reset(k, robot.home)

    def _model(self, own: bool) -> mujoco.MjModel:
        return mujoco.MjModel.__copy__(self.scene.model) if own else self.scene.model

    def _addresses(self) -> NDArray[Any]:
        out = np.zeros(self.episodes, ADDRESS_DTYPE)
        for k, (model, data) in enumerate(zip(self.models, self.data, strict=True)):
            values = {
                "qpos": data.qpos,
                "qvel": data.qvel,
                "qfrc": data.qfrc_applied,
                "xpos": data.xpos,
                "xmat": data.xmat,
                "xipos": data.xipos,
                "xfrc": data.xfrc_applied,
                "sensor": data.sensordata,
                "mass": model.body_mass,
            }
            for name, array in values.items():
                out[k][name] = array_address(array) if array.size else 0
            out[k]["model"] = model._address
            out[k]["data"] = data._address
        return out

    def reset(self, episode: int, position: Array, temperature: Array | None = None) -> None:
        """Put one episode at rest at `position` (n,) [rad or m], gears unloaded.

        `temperature` (n,) [degC] is that of the housings; winding the same. Default: ambient.
        """
        data = self.data[episode]
        mujoco.mj_resetData(self.models[episode], data)
        data.mocap_pos[self.scene.wall] = [5.0, 0.0, 1.0]
        data.qpos[self.scene.qpos] = position
        twins = self.scene.mimic_qpos >= 0
        data.qpos[self.scene.mimic_qpos[twins]] = position[twins]
        mujoco.mj_forward(self.models[episode], data)
        s = self.state[episode]
        s[:] = np.zeros((), STATE_DTYPE)
        s["angle"] = s["link_angle"] = position / self.scale[episode]
        p = self.parameters[episode]
        s["housing"] = p["ambient"] if temperature is None else temperature
        s["winding"] = s["housing"]
        counts = p["zero_count"] + p["sign"] * s["link_angle"] * COUNTS_PER_RADIAN
        for name in ("count", "count_lag", "trajectory"):
            s[name] = np.rint(counts)
        self.truth[episode] = np.zeros((), TRUTH_DTYPE)
        self.forces[episode] = np.zeros((), FORCE_DTYPE)
        self.hand[episode] = np.zeros((), HAND_DTYPE)
        self.supply[episode]["voltage"] = self.supply[episode]["open_circuit"]

    def advance(self, steps: int | NDArray[np.int64]) -> None:
        """Advance all episodes by `steps` physics steps (one number, or one per episode)."""
        counts = np.broadcast_to(np.asarray(steps, dtype=np.int64), (self.episodes,))
        advance_episodes(
            self._step,
            self.addresses,
            self.joints,
            self.parameters,
            self.state,
            self.command,
            self.supply,
            self.hand,
            self.forces,
            self.truth,
            np.ascontiguousarray(counts),
            self.scene.end_effector,
            self.scene.payload,
            self.contacts,
            self._ft_stride,
            self.dt,
        )

    def positions(self) -> Array:
        """True joint positions (E, n) [rad or m]."""
        return np.asarray(self.state["link_angle"] * self.scale)

    def velocities(self) -> Array:
        """True joint velocities (E, n) [rad/s or m/s]."""
        return np.asarray(self.state["link_velocity"] * self.scale)


def nominal_core(robot: RobotSpec, episodes: int = 1, **kwargs: Any) -> PlantCore:
    """A plant of `episodes` copies of arm 0, for tests and benches."""
    return PlantCore(robot, [draw_unit(robot, 0)] * episodes, **kwargs)
