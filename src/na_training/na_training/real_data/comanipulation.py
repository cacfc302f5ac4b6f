# SPDX-License-Identifier: Apache-2.0
"""Semi-synthetic force: recorded contact-force profiles added to recorded Panda torques.

``τ_semi = τ_measured − Jᵀ F``: what the drives would have supplied had the force acted and the
motion been the same. Neither recording contains such a contact; every row says so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.io import loadmat

from na_core.features import MotorModel, Ticks
from na_core.features.rigid import RigidArm, RigidTerms
from na_core.observers import OBSERVERS, force_from_effort
from na_core.observers.base import Observer
from na_training.classical.physical import PhysicalModel
from na_training.real_data import unisa
from na_training.real_data.finding import Finding, RecordingError, Study, lines

Array = NDArray[np.float64]

FLANGE = "panda_link8"
CONTACT = 0.5  # N, above which a row counts as contact
VALIDATION = (0.6, 0.75)  # share of the bag on which gains are chosen; the rest is the test

GRIDS: dict[str, list[dict[str, float]]] = {
    "id_linear": [{"ticks": float(t)} for t in (1, 2, 4, 6, 9)],
    "id_friction": [{"ticks": float(t)} for t in (1, 2, 4, 6, 9)],
    "gmo": [{"gain": g} for g in (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)],
    "gmo_memory": [{"gain": g, "hold": h} for g in (1.0, 2.0, 4.0, 8.0, 15.0) for h in (0.3, 0.8)],
    "kalman": [
        {"walk": w, "drive_noise": d, "speed_noise": 0.01, "inertia": 0.5}
        for w in (1.0, 5.0, 20.0)
        for d in (0.5, 2.0)
    ],
    "dob": [{"cutoff": c, "inertia": i} for c in (3.0, 6.0, 12.0, 25.0) for i in (0.1, 0.5, 1.5)],
}


def load_forces(path: Path, rate: float) -> list[Array]:
    """Force profiles (T, 3) [N] at `rate` [Hz] of the six recordings.

    Raises:
        RecordingError: the file is absent or has no symbol_data.
    """
    if not path.is_file():
        raise RecordingError(f"{path}: absent")
    content = loadmat(path, squeeze_me=True, struct_as_record=False)
    if "symbol_data" not in content:
        raise RecordingError(f"{path}: no symbol_data")
    step = round(1000.0 / rate)
    profiles = []
    for entry in np.atleast_1d(content["symbol_data"]):
        force = np.asarray(entry.F, dtype=float)
        force = force if force.shape[1] == 3 else force.T
        length = len(force) // step * step
        profiles.append(force[:length].reshape(-1, step, 3).mean(axis=1))
    return profiles


def tiled(profiles: list[Array], length: int, pause: int = 30) -> Array:
    """One profile after another with pauses of no force between them (length, 3) [N]."""
    rows: list[Array] = []
    count = 0
    while count < length:
        for profile in profiles:
            rows += [np.zeros((pause, 3)), profile]
            count += pause + len(profile)
    return np.concatenate(rows)[:length]


def arm_of(recording: unisa.Recording, model: PhysicalModel) -> tuple[RigidArm, MotorModel]:
    """The identified arm as the observers want it; "current" is the torque itself."""
    n = recording.model.nv
    body = recording.model.copy()
    for index in range(n):
        parameters = model.parameters[10 * index : 10 * index + 10]
        body.inertias[index + 1] = pin.Inertia.FromDynamicParameters(parameters)
    drives = model.parameters[10 * n :].reshape(4, n)
    motor = MotorModel(
        torque_constant=np.ones(n),
        offset=drives[2],
        coulomb=drives[0],
        viscous=drives[1],
        rotor=drives[3],
        sign_speed=np.full(n, 0.05),
    )
    names = tuple(str(name) for name in list(body.names)[1:])
    arm = RigidArm(recording.urdf, names, FLANGE, drives[3])
    arm.model, arm.data = body, body.createData()  # identified bodies, the same frames
    return arm, motor


def _errors(
    observer: Observer, ticks: Ticks, terms: RigidTerms, force: Array, rows: slice
) -> tuple[float, float]:
    """Mean vector error [N] in contact and over all rows."""
    effort = observer.replay(ticks, terms)
    estimate = force_from_effort(effort, terms.jacobian, damping=0.05)[rows]
    error = np.linalg.norm(estimate - force[rows], axis=1)
    touching = np.linalg.norm(force[rows], axis=1) >= CONTACT
    return float(error[touching].mean()), float(error.mean())


def study(folder: Path, bags: Path, models: Path) -> Study:
    """Identify on 60 % of the Panda bag, choose gains on 15 %, score force on the rest.

    Raises:
        RecordingError: a recording is absent.
    """
    recording = unisa.load_arm(unisa.PANDA, bags, models)
    _, _, physical, _, _ = unisa.identify(recording)
    arm, motor = arm_of(recording, physical)
    profiles = load_forces(folder / "symbol_17_symbol_data.mat", unisa.PANDA.rate)
    length = len(recording.q)
    force = tiled(profiles, length)
    terms = arm.terms(recording.q, recording.velocity)
    external = np.einsum("tij,ti->tj", terms.jacobian, force)
    ticks = Ticks.of(
        position=recording.q,
        velocity=recording.velocity,
        goal=recording.q,
        current=recording.effort - external,
        voltage=np.zeros_like(recording.q),
        temperature=np.zeros_like(recording.q),
    )
    low, high = (int(share * length) for share in VALIDATION)
    results: list[tuple[str, float]] = []
    everything: list[tuple[str, float]] = []
    chosen: list[str] = []
    for name, grid in GRIDS.items():
        kind = OBSERVERS[name]
        if kind.needs_gears:
            continue  # these recordings hold no encoder counts to read a twist from
        best = min(
            grid,
            key=lambda settings: _errors(
                kind(motor, recording.dt, None, **settings), ticks, terms, force, slice(low, high)
            )[1],
        )
        observer = kind(motor, recording.dt, None, **best)
        touching, overall = _errors(observer, ticks, terms, force, slice(high, length))
        results.append((name, touching))
        everything.append((name, overall))
        chosen.append(f"{name}: " + ", ".join(f"{k} {v:g}" for k, v in best.items()))
    test = force[high:]
    size = np.linalg.norm(test, axis=1)
    zero = float(size[size >= CONTACT].mean())
    data = "semi-synthetic: Panda bag torques − Jᵀ F, last 25 %"
    findings: list[Finding] = lines(
        data, "force in contact, mean vector error", "N", results, ("always zero", zero)
    )
    findings += lines(
        data,
        "force over all rows, mean vector error",
        "N",
        everything,
        ("always zero", float(size.mean())),
    )
    return Study(
        "Panda, semi-synthetic force",
        tuple(findings),
        "Momentum and Kalman observers on real torque noise and real force profiles, model "
        "identified, gains chosen on a part that is not judged.",
        "The motion did not react to the force, so there is no real contact in it; axes of the "
        "profiles are taken as base axes. No network of ours was trained for this arm.",
        ("gains chosen on the validation part: " + "; ".join(chosen),),
    )
