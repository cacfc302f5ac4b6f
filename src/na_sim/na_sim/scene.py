# SPDX-License-Identifier: Apache-2.0
"""MuJoCo scene of one robot, built from its URDF: arm, table, wall or gauge, payload, object.

Joint friction, rotor inertia, backlash and gears are not in the MuJoCo model: the servo model
applies its gear torque to otherwise free joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import urdf_string

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

ARM, WORLD = 1, 2  # collision groups: the arm meets the world, never itself
NOTHING = 8  # a group that nothing belongs to (an empty mask would delete the geom as visual)
STOP_MARGIN = 0.02  # rad; mechanical stops lie this far beyond the commanded limits
SLIDE_STOP_MARGIN = 0.0005  # m
COLLIDING_JOINTS = 3  # links past this many joints collide with the world
REDUCE_NETFORCE = 3  # contact sensor: one result, the net force
OBJECT_HALF = (0.012, 0.012, 0.02)  # m, half sizes of the graspable block


@dataclass(frozen=True)
class SceneOptions:
    """What stands around the arm.

    Attributes:
        table: whether a table top lies at height `table_height` [m] in base axes.
        table_height: height of the table top [m]; the arm's base plate may stand on it.
        gauge_stiffness: stiffness of wall and gauge contacts [N/m].
        gauge_damping: damping of those contacts [N s/m].
        timestep: physics step [s], at most 1 ms.
    """

    table: bool = True
    table_height: float = 0.0
    gauge_stiffness: float = 6000.0
    gauge_damping: float = 60.0
    timestep: float = 0.001


@dataclass
class Scene:
    """A compiled model with the indices that the plant needs; arrays are in canonical joint order.

    Attributes:
        model: compiled MuJoCo model.
        qpos: index into qpos of each joint (n,).
        dof: index into qvel of each joint (n,).
        mimic_qpos, mimic_dof: the same for a joint's mimic finger, -1 where there is none (n,).
        end_effector: body id of the end-effector frame.
        end_effector_bodies: bodies on which external contact counts as end-effector force.
        payload: body id of the payload carried by the end effector.
        grasp_geom: geom id of the block between the fingers.
        wall: body id of the movable wall (mocap).
    """

    model: mujoco.MjModel
    qpos: NDArray[np.int64]
    dof: NDArray[np.int64]
    mimic_qpos: NDArray[np.int64]
    mimic_dof: NDArray[np.int64]
    end_effector: int
    end_effector_bodies: tuple[int, ...]
    payload: int
    grasp_geom: int
    wall: int
    options: SceneOptions = field(default_factory=SceneOptions)


def _joints_above(body: Any) -> int:
    """Number of joints between the world and `body`."""
    count = 0
    while body.name != "world":
        count += len(body.joints)
        body = body.parent
    return count


def _parent_chain(spec: mujoco.MjSpec, name: str) -> str:
    """Name of the body that carries `name`: the last one with a joint on the way down."""
    body = spec.body(name)
    while not body.joints:
        parent = body.parent
        if parent.name == "world":
            return str(name)
        body = parent
    return str(body.name)


def _prepare_arm(spec: mujoco.MjSpec, robot: RobotSpec) -> dict[str, str]:
    """Strip friction and couplings, widen limits, group geoms; returns joint -> mimic joint."""
    mimics: dict[str, str] = {}
    # Inertia of output gear and horn. It also keeps the explicit gear coupling of light links
    # stable: stiffness * dt² / inertia must stay below 1.
    horn = float(robot.plant.get("link_armature", 0.0))  # kg m²
    for equality in list(spec.equalities):
        if equality.type == mujoco.mjtEq.mjEQ_JOINT:
            mimics[equality.name2] = equality.name1
        spec.delete(equality)
    for joint in spec.joints:
        joint.damping = [0.0, 0.0, 0.0]
        joint.frictionloss = 0.0
        slide = joint.type == mujoco.mjtJoint.mjJNT_SLIDE
        joint.armature = 0.0 if slide else horn
        margin = SLIDE_STOP_MARGIN if slide else STOP_MARGIN
        joint.range = [joint.range[0] - margin, joint.range[1] + margin]
        joint.solref_limit = [-4000.0, -20.0] if not slide else [-40000.0, -80.0]
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for geom in spec.geoms:
        # Shoulder and upper arm never reach table or wall: their shapes would only cost time.
        reaches = _joints_above(geom.parent) >= COLLIDING_JOINTS
        geom.contype, geom.conaffinity = (ARM, WORLD) if reaches else (0, 0)
        geom.condim = 3
    missing = [name for name in robot.names if spec.joint(name) is None]
    if missing:
        raise ValueError(
            f"URDF of robot '{robot.robot}' has no joints {missing}; expected all of "
            f"{list(robot.names)} (check {robot.urdf})"
        )
    return mimics


def _add_world(spec: mujoco.MjSpec, options: SceneOptions) -> None:
    soft = [-options.gauge_stiffness, -options.gauge_damping]
    if options.table:
        spec.worldbody.add_geom(
            name="table",
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[1.0, 1.0, 0.1],
            pos=[0.0, 0.0, options.table_height],
            contype=WORLD,
            conaffinity=ARM,
            solref=soft,
        )
    wall = spec.worldbody.add_body(name="wall", mocap=True, pos=[5.0, 0.0, 1.0])
    wall.add_geom(
        name="wall",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.02, 0.15, 0.15],
        contype=WORLD,
        conaffinity=ARM,
        solref=soft,
        friction=[0.6, 0.005, 0.0001],
    )


def _add_payload(spec: mujoco.MjSpec, robot: RobotSpec) -> None:
    tip = spec.body(robot.end_effector_frame)
    payload = tip.add_body(name="payload")
    payload.mass = 1e-9
    payload.inertia = [1e-12, 1e-12, 1e-12]
    payload.explicitinertial = True
    payload.add_geom(
        name="grasp",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=list(OBJECT_HALF),
        contype=0,
        conaffinity=NOTHING,
        mass=0.0,
        solref=[-30000.0, -60.0],
    )


def _add_contact_sensors(spec: mujoco.MjSpec, robot: RobotSpec, options: SceneOptions) -> None:
    """Net force and place of contact of the end effector with wall and table, in base axes.

    Each reports found (1), force (3) [N] and position (3) [m]; the force is that on the arm.
    """
    carrier = _parent_chain(spec, robot.end_effector_frame)
    wanted = ("FOUND", "FORCE", "POS")
    code = sum(1 << int(getattr(mujoco.mjtConDataField, f"mjCONDATA_{name}")) for name in wanted)
    for name in ("wall", "table") if options.table else ("wall",):
        spec.add_sensor(
            name=f"contact_{name}",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_GEOM,
            objname=name,
            reftype=mujoco.mjtObj.mjOBJ_XBODY,
            refname=carrier,
            intprm=[code, REDUCE_NETFORCE, 1],
        )


def build_spec(robot: RobotSpec, options: SceneOptions) -> tuple[mujoco.MjSpec, dict[str, str]]:
    """MjSpec of `robot` with its surroundings, and the mapping joint -> mimic joint."""
    spec = mujoco.MjSpec.from_string(urdf_string(robot))
    spec.compiler.fusestatic = False
    mimics = _prepare_arm(spec, robot)
    _add_world(spec, options)
    _add_payload(spec, robot)
    _add_contact_sensors(spec, robot, options)
    spec.option.timestep = options.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # The block between the fingers is carried by the fingers' parent: keep those contacts.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    spec.option.iterations = 20
    spec.option.gravity = [0.0, 0.0, -9.80665]
    return spec, mimics


def build_scene(robot: RobotSpec, options: SceneOptions | None = None) -> Scene:
    """Compile the scene of `robot`; raises ValueError when URDF and robot file disagree."""
    options = options or SceneOptions()
    if not 0.0 < options.timestep <= 0.001:
        raise ValueError(f"timestep {options.timestep} s: expected above 0 and at most 0.001 s")
    spec, mimics = build_spec(robot, options)
    tip_carrier = _parent_chain(spec, robot.end_effector_frame)
    model = spec.compile()
    return index_scene(robot, model, mimics, tip_carrier, options)


def index_scene(
    robot: RobotSpec,
    model: mujoco.MjModel,
    mimics: dict[str, str],
    carrier: str,
    options: SceneOptions,
) -> Scene:
    """Look up by name everything that the plant addresses by number."""

    def address(name: str | None) -> tuple[int, int]:
        if name is None:
            return -1, -1
        joint = model.joint(name)
        return int(joint.qposadr[0]), int(joint.dofadr[0])

    main = np.array([address(name) for name in robot.names], dtype=np.int64)
    mimic = np.array([address(mimics.get(name)) for name in robot.names], dtype=np.int64)
    carrier_id = model.body(carrier).id
    inside: list[int] = []
    for body in range(model.nbody):
        walk = body
        while walk not in (0, carrier_id):
            walk = int(model.body_parentid[walk])
        if walk == carrier_id:
            inside.append(body)
    return Scene(
        model=model,
        qpos=main[:, 0].copy(),
        dof=main[:, 1].copy(),
        mimic_qpos=mimic[:, 0].copy(),
        mimic_dof=mimic[:, 1].copy(),
        end_effector=int(model.body(robot.end_effector_frame).id),
        end_effector_bodies=tuple(inside),
        payload=int(model.body("payload").id),
        grasp_geom=int(model.geom("grasp").id),
        wall=int(model.body("wall").mocapid[0]),
        options=options,
    )


def clone_data(model: mujoco.MjModel) -> Any:
    """A fresh MjData of `model`."""
    return mujoco.MjData(model)
