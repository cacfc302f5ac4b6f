# SPDX-License-Identifier: Apache-2.0
"""XL330 on a known pendulum: effort from position alone against the exact torque of the weight."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_coeffs, savgol_filter
from sklearn.linear_model import RidgeCV

from na_core.features import Ticks
from na_core.kinematics import GRAVITY
from na_training.classical.mujoco_sysid import (
    Recorded,
    Unknown,
    identify,
    joint_setter,
    pendulum,
)
from na_training.classical.samples import uniform
from na_training.model import Actuator
from na_training.real_data.finding import Finding, RecordingError, Study, lines, mae
from na_training.real_data.surrogate import (
    SurrogateSettings,
    rolled,
    surrogate_of,
    train_surrogate,
)
from na_training.simulator import Simulator
from na_training.simulator.interface import SimulatorParameters
from na_training.simulator.pinocchio_backend import PinocchioSimulator

Array = NDArray[np.float64]

RATE = 60.0  # Hz, of the arm's control loop; the recordings have about 190 Hz
FULL_DUTY = 885.0  # counts of the PWM register at 100 %
WRAP = 65536
SMOOTH = 0.055  # s, filter of the reference torque
DAMPING = 0.05  # N·m·s/rad in the simulator, taken off the surrogate again
SPAN = 9  # ticks of past positions
SWEEPS = 4
LIMIT = 1.0  # N·m, effort bound of the simulator
HOLD_OUTS = (("gain", "800"), ("trajectory", "sin_sin"), ("trajectory", "lift_and_drop"))


@dataclass(frozen=True)
class Pendulum:
    """One recording at `RATE`.

    Attributes:
        name: file stem.
        trajectory: kind of motion.
        gain: P gain register.
        ticks: telemetry (T, 1); current is the PWM duty, −1…1.
        torque: exact torque on the weight, inertia and gravity (T, 1) [N·m].
        gravity: its gravity part, which the servo carries (T, 1) [N·m].
        enabled: share of torque-on around each tick (T,).
    """

    name: str
    trajectory: str
    gain: str
    ticks: Ticks
    torque: Array
    gravity: Array
    enabled: Array


def load_pendulum(path: Path) -> Pendulum:
    """Read one recording and resample it.

    Raises:
        RecordingError: a key is missing.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    try:
        entries, mass, length = data["entries"], float(data["mass"]), float(data["length"])
        columns = {
            key: np.array([float(entry[key]) for entry in entries])[:, None]
            for key in (
                *("timestamp", "position", "goal_position", "load"),
                *("input_volts", "temp", "torque_enable"),
            )
        }
    except KeyError as error:
        raise RecordingError(f"{path}: no {error}; expected a pendulum recording") from None
    load = columns["load"]
    columns["load"] = np.where(load > WRAP // 2, load - WRAP, load) / FULL_DUTY
    stamps = columns.pop("timestamp")[:, 0]
    fine = 3.0 * RATE
    _, even = uniform(stamps, fine, **columns)
    window = round(SMOOTH * fine) // 2 * 2 + 1
    motion = [
        savgol_filter(even["position"], window, 3, deriv=k, delta=1.0 / fine, axis=0)
        for k in range(3)
    ]
    gravity = mass * GRAVITY * length * np.sin(motion[0])
    torque = mass * length**2 * motion[2] + gravity
    pick = slice(None, None, 3)
    position = even["position"][pick]
    # Velocity as a servo reports it: from past positions only.
    velocity = np.diff(position, axis=0, prepend=position[:1]) * RATE
    ticks = Ticks.of(
        position=position,
        velocity=velocity,
        goal=even["goal_position"][pick],
        current=even["load"][pick],
        voltage=even["input_volts"][pick],
        temperature=even["temp"][pick],
    )
    return Pendulum(
        path.stem,
        str(data["trajectory"]),
        f"{float(data['kp']):g}",
        ticks,
        torque[pick],
        gravity[pick],
        even["torque_enable"][pick][:, 0],
    )


def load_pendulums(folder: Path) -> list[Pendulum]:
    """All recordings below `folder`/raw, by name."""
    paths = sorted((folder / "raw").glob("*.json"))
    if not paths:
        raise RecordingError(f"{folder}/raw: no recordings (*.json)")
    return [load_pendulum(path) for path in paths]


def pendulum_simulator(mass: float = 0.49, length: float = 0.1) -> Simulator:
    """The weight on its massless rod; no rotor, so that the effort is the torque on the weight."""
    urdf = f"""<robot name="pendulum"><link name="base"/><link name="rod"><inertial>
      <origin xyz="0 0 {-length}"/><mass value="{mass}"/>
      <inertia ixx="1e-7" ixy="0" ixz="0" iyy="1e-7" iyz="0" izz="1e-7"/></inertial></link>
      <joint name="joint1" type="revolute"><parent link="base"/><child link="rod"/>
      <axis xyz="0 -1 0"/><limit lower="-7" upper="7" effort="2" velocity="20"/></joint></robot>"""
    parameters = SimulatorParameters(
        1.0 / RATE, np.array([DAMPING]), np.array([1e-6]), np.array([LIMIT])
    )
    return PinocchioSimulator(urdf, ("joint1",), parameters)


def surrogate_torque(model_effort: Array, ticks: Ticks) -> Array:
    """Torque on the weight (T, 1) [N·m]: the surrogate less the simulator's own damping."""
    return model_effort - DAMPING * np.gradient(ticks.position, 1.0 / RATE, axis=0)


def friction(parameters: Mapping[str, float], speed: Array, motor: Array, external: Array) -> Array:
    """Friction torque bound [N·m] of Better Actuator Models, M1 to M6, at a moving joint."""
    value = np.full_like(speed, parameters["friction_base"])
    value += parameters["friction_viscous"] * np.abs(speed)
    if "dtheta_stribeck" in parameters:
        slow = np.exp(-(np.abs(speed / parameters["dtheta_stribeck"]) ** parameters["alpha"]))
        get = parameters.get
        value += slow * get("friction_stribeck", 0.0)
        value += np.abs(
            motor * get("load_friction_motor", 0.0) - external * get("load_friction_external", 0.0)
        )
        value += slow * np.abs(
            motor * get("load_friction_motor_stribeck", 0.0)
            - external * get("load_friction_external_stribeck", 0.0)
        )
        value += get("load_friction_motor_quad", 0.0) * motor**2
        value += slow * get("load_friction_external_quad", 0.0) * external**2
    return value


def motor_model_torque(parameters: Mapping[str, float], run: Pendulum) -> Array:
    """Torque on the weight (T, 1) [N·m] from PWM, supply and speed with a published model.

    ``kt (duty V − kt q̇) / R`` less friction opposing the motion and the rotor's inertia; no motor
    torque while the torque is off. Speed and acceleration are the past ticks'.
    """
    ticks = run.ticks
    speed = np.gradient(ticks.position, 1.0 / RATE, axis=0)
    acceleration = np.gradient(speed, 1.0 / RATE, axis=0)
    kt, resistance = parameters["kt"], parameters["R"]
    motor = kt * (ticks.current * ticks.voltage - kt * speed) / resistance
    motor *= (run.enabled > 0.5)[:, None]
    rotor = parameters["armature"] * acceleration
    torque = motor - rotor
    for _ in range(SWEEPS):  # the friction depends on the load, which is what we are after
        loss = friction(parameters, speed, motor, -torque) * np.tanh(speed / 0.1)
        torque = motor - loss - rotor
    return np.asarray(torque)


def differentiated_torque(run: Pendulum, mass: float = 0.49, length: float = 0.1) -> Array:
    """Torque on the weight (T, 1) [N·m] from the known pendulum and past positions alone.

    The second derivative is that of a cubic through the last nine ticks, at the newest of them.
    """
    taps = savgol_coeffs(SPAN, 3, deriv=2, delta=1.0 / RATE, pos=SPAN - 1, use="dot")
    q = run.ticks.position[:, 0]
    padded = np.concatenate([np.full(SPAN - 1, q[0]), q])
    acceleration = np.lib.stride_tricks.sliding_window_view(padded, SPAN) @ taps
    torque = mass * length**2 * acceleration + mass * GRAVITY * length * np.sin(q)
    return np.asarray(torque[:, None])


def load_inputs(ticks: Ticks, span: int = 9) -> Array:
    """Inputs that do not give the angle away (T, 4 span): error, speed, duty, duty · supply."""
    parts = [ticks.goal - ticks.position, ticks.velocity, ticks.current]
    parts.append(ticks.current * ticks.voltage)
    columns = np.concatenate(parts, axis=1)
    index = np.maximum(np.arange(len(columns))[:, None] - np.arange(span), 0)
    return np.asarray(columns[index].reshape(len(columns), -1))


def _ridge(training: Sequence[Pendulum], held: Sequence[Pendulum]) -> Array:
    """Gravity estimated as an unknown load by ridge regression on inputs without the angle."""
    x = np.concatenate([load_inputs(run.ticks) for run in training])
    y = np.concatenate([run.gravity[:, 0] for run in training])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    model = RidgeCV(alphas=np.logspace(-3, 3, 13)).fit((x - mean) / spread, y)
    rows = np.concatenate([load_inputs(run.ticks) for run in held])
    return np.asarray(model.predict((rows - mean) / spread))[:, None]


def study(folder: Path, seconds: float = 40.0, seed: int = 0) -> Study:
    """Train on all but one gain or trajectory, score on that; `seconds` per training.

    Raises:
        RecordingError: the recordings are absent or damaged.
    """
    runs = load_pendulums(folder)
    published = {
        name.upper(): json.loads((folder / "params" / f"xl330_{name}.json").read_text())
        for name in ("m1", "m6")
    }
    simulator = pendulum_simulator()
    findings: list[Finding] = []
    for key, value in HOLD_OUTS:
        held = [run for run in runs if getattr(run, key) == value]
        training = [run for run in runs if getattr(run, key) != value]
        settings = SurrogateSettings(seconds, np.deg2rad([3.0]), np.array([0.3]), seed=seed)
        model = train_surrogate([run.ticks for run in training], simulator, settings)
        findings += _score(
            f"XL330, held-out {key} {value}", model, simulator, training, held, published
        )
    return Study(
        "XL330 pendulum",
        tuple(findings),
        "An effort learned from positions alone comes near a torque that is known exactly, on "
        "gains and motions that the training never saw; real servo, real friction, real backlash.",
        "One joint, one mass, 66 s in all. Where the load is a known pendulum, differentiating "
        "positions is better. With one mass the angle tells the load, so external load is judged "
        "only for methods that are denied the angle. M1 and M6 were published for simulation from "
        "the goal, fitted by their authors to recordings of this rig, perhaps these; for torque "
        "they are driven here by the measured PWM.",
        (_swing_text(folder, published["M1"]),),
    )


def _swing_text(folder: Path, published: Mapping[str, float]) -> str:
    values, spread = identify_free_swing(folder)
    theirs = {
        "armature": published["armature"],
        "friction": published["friction_base"],
        "damping": published["friction_viscous"],
    }
    parts = [
        f"{name} {value:.4f} ± {spread[name]:.4f} (M1 published {theirs[name]:.4f})"
        for name, value in values.items()
    ]
    return "unpowered servo, free swings, by mujoco.sysid [kg·m², N·m, N·m·s/rad]: " + ", ".join(
        parts
    )


def _score(
    data: str,
    model: Actuator,
    simulator: Simulator,
    training: Sequence[Pendulum],
    held: Sequence[Pendulum],
    published: Mapping[str, Mapping[str, float]],
) -> list[Finding]:
    torque = np.concatenate([run.torque for run in held])
    gravity = np.concatenate([run.gravity for run in held])
    ours = np.concatenate(
        [surrogate_torque(surrogate_of(model, simulator, run.ticks), run.ticks) for run in held]
    )
    estimates = {
        name: np.concatenate([motor_model_torque(values, run) for run in held])
        for name, values in published.items()
    }
    mean = np.concatenate([run.torque for run in training]).mean()
    rows = [("ours (surrogate from pose)", mae(ours, torque))]
    known = np.concatenate([differentiated_torque(run) for run in held])
    rows.append(("differentiated positions, pendulum known", mae(known, torque)))
    rows += [(f"{name} motor model", mae(value, torque)) for name, value in estimates.items()]
    out = lines(
        data,
        "torque on the weight, mean error",
        "N·m",
        rows,
        ("its training mean", mae(np.full_like(torque, mean), torque)),
        ours=("ours (surrogate from pose)",),
    )
    inertia = torque - gravity
    load = [
        (f"{name} observer", mae(value - inertia, gravity)) for name, value in estimates.items()
    ]
    load.append(("ridge without the angle", mae(_ridge(training, held), gravity)))
    level = np.concatenate([run.gravity for run in training]).mean()
    out += lines(
        data,
        "gravity as unknown load, mean error",
        "N·m",
        load,
        ("its training mean", mae(np.full_like(gravity, level), gravity)),
    )
    position = np.concatenate([rolled(model, simulator, run.ticks) for run in held])
    measured = np.concatenate([run.ticks.position for run in held])
    goal = np.concatenate([run.ticks.goal for run in held])
    degrees = [("ours (closed loop)", float(np.rad2deg(mae(position, measured))))]
    out += lines(
        data,
        "position over 6 s, mean error",
        "°",
        degrees,
        ("q = goal", float(np.rad2deg(mae(goal, measured)))),
        ours=("ours (closed loop)",),
    )
    return out


def free_swings(folder: Path, shortest: float = 0.6, longest: float = 2.0) -> list[Recorded]:
    """Pieces of the recordings with the torque off, from 50 ms after release, for the toolbox.

    Args:
        folder: of the recordings.
        shortest, longest: length of a piece [s].
    """
    pieces = []
    for path in sorted((folder / "raw").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        time = np.array([float(entry["timestamp"]) for entry in data["entries"]])
        angle = np.array([float(entry["position"]) for entry in data["entries"]])
        off = np.array([not entry["torque_enable"] for entry in data["entries"]])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], off.astype(int), [0]])))
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            begin = time[first] + 0.05
            end = min(time[last - 1], begin + longest)
            if end - begin < shortest:
                continue
            grid = np.arange(0.0, end - begin, 0.002)
            q = np.interp(begin + grid, time, angle)
            near = (time > begin - 0.03) & (time < begin + 0.03)
            speed = np.polyfit(time[near] - begin, angle[near], 2)[1]
            zero = np.zeros((len(grid), 1))
            pieces.append(Recorded(grid, zero, q[:, None], np.array([speed])))
    return pieces


def identify_free_swing(folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Rotor inertia, friction and damping of the unpowered servo by `mujoco.sysid`, and their
    standard deviations."""
    start = {"armature": 0.002, "damping": 0.004, "friction": 0.01, "length": 0.1, "mass": 0.49}
    unknowns = (
        Unknown("armature", "kg·m²", 1e-5, 0.01, 0.001, joint_setter("joint1", "armature")),
        Unknown("friction", "N·m", 1e-4, 0.1, 0.02, joint_setter("joint1", "frictionloss")),
        Unknown("damping", "N·m·s/rad", 1e-5, 0.05, 0.01, joint_setter("joint1", "damping")),
    )
    return identify(pendulum(start), free_swings(folder), unknowns)
