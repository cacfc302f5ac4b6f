# SPDX-License-Identifier: Apache-2.0
"""Our figures against the makers' own models, within tolerances stated beside each.

The models are optional reference data; without them these tests skip.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio
import pytest
import yaml
from numpy.typing import NDArray

from na_core.kinematics import Kinematics
from na_core.robot_spec import RobotSpec, load_robot_spec, urdf_string
from na_core.testing import shared_data

Array = NDArray[np.float64]
_TRIANGLE = np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])


@pytest.fixture(scope="module")
def models() -> Path:
    data = shared_data()
    if data is None or not (data / "models").is_dir():
        pytest.skip("no reference models: set NA_SHARED_DATA to the folder that holds `models`")
    return data / "models"


def configurations(spec: RobotSpec, count: int = 20) -> Array:
    return np.random.default_rng(17).uniform(spec.lower, spec.upper, (count, spec.n))


def total_mass(model: Any) -> float:
    """Mass of all moving links [kg]."""
    return float(sum(inertia.mass for inertia in model.inertias[1:]))


def test_omx_links_are_the_makers_except_the_fingers(models: Path) -> None:
    """Masses to 1 mg (the model rounds); the fingers differ by 2 x 45.6 g as listed."""
    official = mujoco.MjModel.from_xml_path(
        str(models / "open_manipulator_x" / "mjcf" / "open_manipulator_x.xml")
    )
    ours = Kinematics(load_robot_spec("omx")).model
    by_joint = {ours.names[i]: ours.inertias[i].mass for i in range(1, ours.njoints)}
    for number in (1, 2, 3, 4):
        theirs = official.body(f"link{number + 1}").mass[0]
        assert by_joint[f"joint{number}"] == pytest.approx(theirs, abs=1e-6)
    moving = sum(float(official.body(f"link{i}").mass[0]) for i in (2, 3, 4, 5)) + 2 * 0.001
    assert total_mass(ours) - moving == pytest.approx(2 * 0.0456, abs=1e-5)


def test_omx_moves_like_the_makers_model(models: Path) -> None:
    """Position of both fingers to 1 um at random configurations."""
    official = mujoco.MjModel.from_xml_path(
        str(models / "open_manipulator_x" / "mjcf" / "open_manipulator_x.xml")
    )
    data = mujoco.MjData(official)
    spec = load_robot_spec("omx")
    kinematics = Kinematics(spec)
    own = kinematics.model.createData()
    for q in configurations(spec):
        for name, value in zip(("Joint1", "Joint2", "Joint3", "Joint4", "Gripper"), q, strict=True):
            data.joint(name).qpos[0] = value
        data.joint("Gripper_mimic").qpos[0] = q[4]
        mujoco.mj_kinematics(official, data)
        pinocchio.framesForwardKinematics(kinematics.model, own, kinematics.full(q))
        for side in ("left", "right"):
            frame = own.oMf[kinematics.model.getFrameId(f"gripper_{side}_link")]
            theirs = data.body(f"gripper_{side}").xpos
            np.testing.assert_allclose(frame.translation, theirs, atol=1e-6)


def test_omx_weight_and_reach_by_the_manual() -> None:
    """e-manual: 711 g in all (ours lacks screws and cable: 5 %), reach 380 mm (1 mm)."""
    links = yaml.safe_load(load_robot_spec("omx").path.read_text())["model"]["links"]
    weight = sum(link.get("mass", 0.0) for link in links.values())
    assert weight == pytest.approx(0.711, rel=0.05)
    spec = load_robot_spec("omx")
    kinematics = Kinematics(spec)
    shoulder = np.array([0.012, 0.0, 0.0765])
    # Longest with the bent upper arm in line with the forearm.
    bend = math.atan2(0.128, 0.024)
    q = np.array([0.0, 0.0, -bend, 0.0, 0.0])
    assert np.linalg.norm(kinematics.fk(q).position - shoulder) == pytest.approx(0.380, abs=1e-3)


def official_urdf(path: Path) -> Any:
    return pinocchio.buildModelFromXML(path.read_text())


def compare_urdf(
    ours: Any, theirs: Any, frames: tuple[str, str], tolerance: dict[str, float]
) -> None:
    """Compare two models with equally named joints at random configurations."""
    names = [ours.names[i] for i in range(1, ours.njoints)]
    index = [theirs.joints[theirs.getJointId(name)].idx_v for name in names]
    a, b = ours.createData(), theirs.createData()
    rng = np.random.default_rng(29)
    assert total_mass(ours) == pytest.approx(total_mass(theirs), abs=tolerance["mass"])
    for _ in range(20):
        q = rng.uniform(ours.lowerPositionLimit, ours.upperPositionLimit)
        other = np.zeros(theirs.nq)
        other[index] = q
        pinocchio.computeAllTerms(ours, a, q, np.zeros(ours.nv))
        pinocchio.computeAllTerms(theirs, b, other, np.zeros(theirs.nv))
        pinocchio.updateFramePlacements(ours, a)
        pinocchio.updateFramePlacements(theirs, b)
        here = a.oMf[ours.getFrameId(frames[0])]
        there = b.oMf[theirs.getFrameId(frames[1])]
        np.testing.assert_allclose(here.translation, there.translation, atol=tolerance["position"])
        np.testing.assert_allclose(here.rotation, there.rotation, atol=tolerance["rotation"])
        np.testing.assert_allclose(a.g, b.g[index], atol=tolerance["gravity"])
        np.testing.assert_allclose(
            np.triu(a.M), np.triu(b.M[np.ix_(index, index)]), atol=tolerance["inertia"]
        )


def test_so101_matches_the_makers_urdf(models: Path) -> None:
    """Their right angles are rounded to 4e-6 rad: 10 um, 1e-4 N·m; mass to a microgram."""
    compare_urdf(
        Kinematics(load_robot_spec("so101")).model,
        official_urdf(models / "so101" / "so101_new_calib.urdf"),
        ("gripper_frame_link", "gripper_frame_link"),
        {"mass": 1e-8, "position": 1e-5, "rotation": 3e-5, "gravity": 1e-4, "inertia": 1e-6},
    )


def test_panda_matches_the_published_urdf(models: Path) -> None:
    """Only the fingers' centre differs, 30 g by 27 mm about 1 m away: 0.01 N·m, 2e-3 kg·m²."""
    compare_urdf(
        Kinematics(load_robot_spec("panda")).model,
        official_urdf(models / "panda" / "panda.urdf"),
        ("panda_hand_tcp", "panda_hand_tcp"),
        {"mass": 1e-9, "position": 1e-9, "rotation": 1e-9, "gravity": 0.01, "inertia": 2e-3},
    )


def test_panda_limits_and_lengths_are_the_makers(models: Path) -> None:
    folder = models / "panda" / "franka_description_fer"
    limits = yaml.safe_load((folder / "joint_limits.yaml").read_text())
    lengths = yaml.safe_load((folder / "kinematics.yaml").read_text())
    spec = load_robot_spec("panda")
    model = yaml.safe_load(spec.path.read_text())["model"]
    for number, joint in enumerate(spec.joints[:7], start=1):
        published = limits[f"joint{number}"]["limit"]
        assert joint.lower == published["lower"] and joint.upper == published["upper"]
        assert joint.effort_limit == published["effort"]
        assert joint.velocity_limit == published["velocity"]
        place = lengths[f"joint{number}"]["kinematic"]
        assert model["joints"][joint.name]["xyz"] == [place["x"], place["y"], place["z"]]


def outline(path: Path, scale: float) -> tuple[Array, Array]:
    """Corners (3,), (3,) of a binary STL's bounding box [m]."""
    data = path.read_bytes()
    (count,) = struct.unpack_from("<I", data, 80)
    rows = np.frombuffer(data, _TRIANGLE, count, 84)
    points = rows["v"].reshape(-1, 3).astype(np.float64) * scale
    return points.min(0), points.max(0)


def shapes_box(model: Any, body: str) -> tuple[Array, Array]:
    """Corners of the box around a body's shapes in its own frame [m], from MuJoCo geoms."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    start, count = model.body(body).geomadr[0], model.body(body).geomnum[0]
    for geom in range(start, start + count):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
        size = model.geom_size[geom].copy()
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CYLINDER:
            size = np.array([size[0], size[0], size[1]])
        extent = np.abs(rotation.reshape(3, 3)) @ size
        low = np.minimum(low, model.geom_pos[geom] - extent)
        high = np.maximum(high, model.geom_pos[geom] + extent)
    return low, high


@pytest.mark.parametrize("link", ["link1", "link2", "link3", "link4", "link5"])
def test_omx_shapes_fill_the_makers_outline(models: Path, link: str) -> None:
    """Each link's primitives stay within 12 mm of the published outline on every side."""
    low, high = outline(models / "open_manipulator_x" / "mjcf" / "assets" / f"{link}.stl", 1e-3)
    if link == "link2":  # published 19 mm above the link's origin
        lift = np.array([0.0, 0.0, 0.019])
        low, high = low + lift, high + lift
    text = urdf_string(load_robot_spec("omx"))
    extra = '<mujoco><compiler fusestatic="false"/></mujoco></robot>'
    ours = shapes_box(mujoco.MjModel.from_xml_string(text.replace("</robot>", extra)), link)
    np.testing.assert_allclose(ours[0], low, atol=0.012)
    np.testing.assert_allclose(ours[1], high, atol=0.012)
