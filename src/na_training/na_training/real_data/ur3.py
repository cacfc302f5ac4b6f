# SPDX-License-Identifier: Apache-2.0
"""UR3 trajectories: identification where friction is strong and the torque's sign is reversed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.io import loadmat

from na_core.features.rigid import reduced_model
from na_training.classical.physical import fit_physical
from na_training.classical.regressor import Regressor
from na_training.classical.rigid_body import fit_rigid_body
from na_training.classical.samples import Samples, differentiated, uniform
from na_training.real_data.finding import Finding, RecordingError, Study, lines, relative_rmse

Array = NDArray[np.float64]

RATE = 125.0  # Hz
SMOOTH = 0.2  # s
TRAIN_SHARE = 0.6
JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)


def load(path: Path) -> Samples:
    """Motion and torque of one file, torque turned to the sign of the joints.

    Raises:
        RecordingError: the file is absent or lacks a variable.
    """
    if not path.is_file():
        raise RecordingError(f"{path}: absent")
    content = loadmat(path, squeeze_me=True)
    names = ("mt", "mq", "mtorque")
    missing = [name for name in names if name not in content]
    if missing:
        raise RecordingError(f"{path}: no variable {missing}")
    time, q, torque = (np.asarray(content[name], dtype=float) for name in names)
    _, channels = uniform(time, RATE, q=np.unwrap(q, axis=0), effort=-torque)
    return differentiated(channels["q"], channels["effort"], 1.0 / RATE, SMOOTH)


def study(folder: Path, models: Path, seed: int = 0) -> Study:
    """Fit on the first 60 % of the identification run, score on the rest."""
    del seed
    samples = load(folder / "id1.mat")
    urdf = models / "ur" / "ur3_robot.urdf"
    if not urdf.is_file():
        raise RecordingError(f"{urdf}: absent")
    model = reduced_model(urdf.read_text(encoding="utf-8"), JOINTS)
    cut = int(TRAIN_SHARE * len(samples))
    training, test = samples[:cut], samples[cut:]
    regressor = Regressor(model, np.full(6, 0.02))
    rigid = fit_rigid_body(regressor, training)
    body = fit_physical(regressor, training, rigid.noise)
    deviation = training.effort.std(axis=0)
    data = model.createData()
    rows = zip(test.q, test.qd, test.qdd, strict=True)
    file = np.array([pin.rnea(model, data, *row) for row in rows])
    estimates = {
        "robot file": file,
        "identification, base parameters": rigid.predict(test),
        "identification, possible bodies": body.predict(test),
    }
    mean = np.broadcast_to(training.effort.mean(axis=0), test.effort.shape)
    findings: list[Finding] = lines(
        "UR3 identification run, last 40 %",
        "joint torque, RMSE / deviation, mean of 6",
        "1",
        [(k, relative_rmse(v, test.effort, deviation)) for k, v in estimates.items()],
        ("training mean", relative_rmse(mean, test.effort, deviation)),
    )
    drives = body.parameters[60:].reshape(-1, 6)
    return Study(
        "UR3",
        tuple(findings),
        "Identification copes with a motor-side torque whose scale and sign are not the robot "
        "file's.",
        "The torque is derived from motor current by the robot, so its scale is not known; free "
        "space only.",
        (
            f"{rigid.base.rank} base parameters of {len(regressor.names)}",
            "Coulomb friction [torque units of the file]: "
            + ", ".join(f"{value:.2f}" for value in drives[0]),
        ),
    )
