# SPDX-License-Identifier: Apache-2.0
"""Panda and UR10 bags: identification and residual network, fit on one part, tested on the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from na_core.features.rigid import reduced_model
from na_core.nad.arrays import JointTrack
from na_core.nad.reader import load_episode
from na_training.classical.deep_lagrangian import fit_deep_lagrangian
from na_training.classical.gaussian_process import fit_gaussian_process
from na_training.classical.physical import PhysicalModel, fit_physical
from na_training.classical.regressor import Regressor
from na_training.classical.residual_network import fit_residual_network
from na_training.classical.rigid_body import RigidBodyModel, fit_rigid_body
from na_training.classical.samples import Samples, differentiated, uniform
from na_training.real_data.finding import Finding, RecordingError, Study, lines, relative_rmse

Array = NDArray[np.float64]

TRAIN_SHARE = 0.6


@dataclass(frozen=True)
class Arm:
    """A bag and the robot file that goes with it.

    Attributes:
        name: for the table.
        bag: file in the data folder.
        urdf: file in the models folder.
        joints: of the URDF, in the bag's order; None for the bag's own names.
        rate: [Hz].
        smooth: length of the differentiating filter [s].
    """

    name: str
    bag: str
    urdf: str
    joints: tuple[str, ...] | None
    rate: float
    smooth: float


PANDA = Arm(
    "Panda",
    "panda_exciting_trajectory.db3",
    "panda/panda.urdf",
    tuple(f"panda_joint{index}" for index in range(1, 8)),
    30.0,
    0.4,
)
UR10 = Arm("UR10", "ur10_exciting_trajectory.db3", "ur/ur10_robot.urdf", None, 125.0, 0.25)


@dataclass(frozen=True)
class Recording:
    """A bag on a uniform grid.

    Attributes:
        urdf: text of the robot file.
        model: Pinocchio model of the arm.
        q: positions (T, n) [rad].
        velocity: as recorded (T, n) [rad/s].
        effort: (T, n) [N·m].
        dt: seconds per row.
        samples: motion and effort, filtered without delay; `offset` rows fewer at either end.
    """

    urdf: str
    model: pin.Model
    q: Array
    velocity: Array
    effort: Array
    dt: float
    samples: Samples

    @property
    def offset(self) -> int:
        """Rows of the grid before the first sample."""
        return (len(self.q) - len(self.samples)) // 2


def load_arm(arm: Arm, folder: Path, models: Path) -> Recording:
    """Read a bag and its robot.

    Raises:
        RecordingError: the bag or the robot file is absent, or the bag holds no joint states.
    """
    bag, urdf = folder / arm.bag, models / arm.urdf
    for path in (bag, urdf):
        if not path.is_file():
            raise RecordingError(f"{path}: absent")
    track = load_episode(bag).tracks.get("/joint_states")
    if not isinstance(track, JointTrack):
        raise RecordingError(f"{bag}: no topic /joint_states")
    text = urdf.read_text(encoding="utf-8")
    model = reduced_model(text, arm.joints or track.names)
    _, channels = uniform(
        track.stamp_ns * 1e-9,
        arm.rate,
        q=np.asarray(track.position, dtype=float),
        velocity=np.asarray(track.velocity, dtype=float),
        effort=np.asarray(track.effort, dtype=float),
    )
    dt = 1.0 / arm.rate
    samples = differentiated(channels["q"], channels["effort"], dt, arm.smooth)
    return Recording(
        text, model, channels["q"], channels["velocity"], channels["effort"], dt, samples
    )


def identify(
    recording: Recording, share: float = TRAIN_SHARE
) -> tuple[Regressor, RigidBodyModel, PhysicalModel, Samples, Samples]:
    """Fit on the first `share`; returns regressor, both models, training and test part."""
    cut = int(share * len(recording.samples))
    training, test = recording.samples[:cut], recording.samples[cut:]
    regressor = Regressor(recording.model, np.full(recording.model.nv, 0.02))
    rigid = fit_rigid_body(regressor, training)
    return regressor, rigid, fit_physical(regressor, training, rigid.noise), training, test


def study(arm: Arm, folder: Path, models: Path, seed: int = 0) -> Study:
    """Score every inverse model on the last 40 % of one bag."""
    recording = load_arm(arm, folder, models)
    _, rigid, physical, training, test = identify(recording)
    data = recording.model.createData()
    rows = zip(test.q, test.qd, test.qdd, strict=True)
    file = np.array([pin.rnea(recording.model, data, *row) for row in rows])
    network = fit_residual_network(physical.predict, training)
    process = fit_gaussian_process(training, physical.predict, seed=seed)
    lagrangian = fit_deep_lagrangian(training)
    value, sigma = process.predict_with_deviation(test)
    inside = float((np.abs(value - test.effort) <= 1.96 * sigma).mean())
    deviation = training.effort.std(axis=0)
    estimates = {
        "robot file": file,
        "identification, base parameters": rigid.predict(test),
        "identification, possible bodies": physical.predict(test),
        "possible bodies + residual network": network.predict(test),
        "possible bodies + Gaussian process": value,
        "Deep Lagrangian network": lagrangian.predict(test),
    }
    mean = np.broadcast_to(training.effort.mean(axis=0), test.effort.shape)
    findings: list[Finding] = lines(
        f"{arm.name} bag, last 40 %",
        f"joint torque, RMSE / deviation, mean of {test.q.shape[1]}",
        "1",
        [(k, relative_rmse(v, test.effort, deviation)) for k, v in estimates.items()],
        ("training mean", relative_rmse(mean, test.effort, deviation)),
    )
    masses = physical.parameters[: 10 * recording.model.nv : 10]
    return Study(
        f"{arm.name} bag",
        tuple(findings),
        "The identification works on a bag that nobody here recorded, on motion that it did not "
        "see; all bodies of the second model are possible ones.",
        "One trajectory of 25 s, repeated in part, without contact: no statement about force or "
        "about other regions of the workspace.",
        (
            f"{rigid.base.rank} base parameters of {len(rigid.regressor.names)}; condition number "
            f"of the fit {rigid.condition:.0f}",
            "Coulomb friction [N·m]: "
            + ", ".join(
                f"{c:.2f}" for c in physical.parameters[10 * recording.model.nv :][: len(masses)]
            ),
            "masses of possible bodies [kg] (not unique; only base parameters are): "
            + ", ".join(f"{mass:.2f}" for mass in masses),
            f"Gaussian process: {inside:.0%} of test values within its 95 % band",
        ),
    )
