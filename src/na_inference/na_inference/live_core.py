# SPDX-License-Identifier: Apache-2.0
"""What the node holds between ticks: estimator, baseline, reflex, latency, recent ticks. No ROS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_core.calibration import apply_calibration, load_calibration
from na_core.observers import ForceEstimator, ObserverError, estimator_from_json, make_estimator
from na_inference.estimate import Estimate
from na_inference.estimator import Estimator
from na_inference.latency_meter import LatencyMeter
from na_inference.model_file import Model, load_model
from na_inference.model_paths import committed_model, model_folders
from na_inference.node_parameters import chosen_gate, estimator_settings
from na_inference.reading import Reading
from na_inference.recent_ticks import RecentTicks
from na_inference.reflex import Reaction, Reflex

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]


def find_model(spec: RobotSpec, asked: str) -> Path:
    """The model asked for, or the committed one; raises ValueError saying where it was sought."""
    if asked:
        return Path(asked).expanduser()
    found = committed_model(spec.robot)
    if found is None:
        places = ", ".join(str(folder / spec.robot) for folder in model_folders())
        raise ValueError(
            f"parameter model is empty and no model of robot {spec.robot!r} was found "
            f"(looked in: {places or 'no models folder'}); give the path of an .onnx file"
        )
    return found


def calibration_in_force(spec: RobotSpec, values: Mapping[str, Any]) -> str:
    """Hash of the calibration that the parameters name, "none" without one.

    Raises:
        CalibrationError: a file that is not the follower's of this robot.
        ValueError: file and calibration_hash do not belong together.
    """
    path, given = values["calibration"], values["calibration_hash"] or "none"
    if not path:
        return str(given)
    calibration = load_calibration(Path(path).expanduser())
    apply_calibration(spec, calibration, "follower")
    if given not in ("none", calibration.hash):
        raise ValueError(
            f"parameter calibration_hash is {given!r}: expected {calibration.hash!r}, that of "
            f"{path}; leave it out, or name the file that it belongs to"
        )
    return calibration.hash


def open_model(path: Path, spec: RobotSpec, values: Mapping[str, Any]) -> Model:
    """Load a model as the parameters say.

    Raises ModelError, ModelMetadataError, or CalibrationError.
    """
    return load_model(
        path,
        spec,
        calibration=calibration_in_force(spec, values),
        accept_other_calibration=values["accept_other_calibration"],
        threads=values["threads"],
        spinning=values["spinning"],
        streaming=values["streaming"],
        stream_weights=values["stream_weights"],
    )


def make_baseline(spec: RobotSpec, dt: float, values: Mapping[str, Any]) -> ForceEstimator | None:
    """The classical observer asked for, or None; raises ValueError for a bad settings file."""
    name, path = values["baseline"], values["baseline_settings"]
    if name == "none":
        return None
    if not path:
        return make_estimator(name, spec, dt)
    try:
        settings = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"parameter baseline_settings {path!r}: {error}") from error
    if isinstance(settings, dict) and name in settings:
        settings = settings[name]  # a file of several observers, by name
    if not isinstance(settings, dict):
        raise ValueError(
            f"parameter baseline_settings {path!r}: holds no settings of {name!r}; expected what "
            "./na bench accuracy --settings writes"
        )
    return estimator_from_json({**settings, "name": name}, spec)


class LiveCore:
    """Everything that one tick touches.

    Args:
        spec: the robot.
        model: loaded for it.
        values: the node's parameters.
    """

    def __init__(self, spec: RobotSpec, model: Model, values: Mapping[str, Any]) -> None:
        self.spec = spec
        self.values = dict(values)
        self.estimator = Estimator(spec, model, estimator_settings(values))
        self.latency = LatencyMeter(values["deadline"])
        self.recent = RecentTicks(spec, values["adapt_minutes"], 1.0 / model.metadata.dt)
        self.baseline = make_baseline(spec, model.metadata.dt, values)
        self.reflex = Reflex(Reaction(values["reflex"]), values["reflex_force"])
        self.last_stamp_ns = 0
        self._apply_gate()

    def _apply_gate(self) -> None:
        estimator = self.estimator
        gate = estimator.gate
        dwell = gate.dwell * estimator.model.metadata.dt
        estimator.set_gate(*chosen_gate(self.values, gate.on, gate.off, dwell))

    def swap(self, model: Model) -> None:
        """Use another model from the next tick on."""
        self.estimator.swap(model)
        self._apply_gate()
        if self.baseline is not None:
            self.baseline = make_baseline(self.spec, model.metadata.dt, self.values)

    def change(self, name: str, value: Any) -> None:
        """Apply a parameter that may change while running; raises ValueError when refused."""
        values = {**self.values, name: value}
        if name in ("reflex", "reflex_force"):
            self.reflex = Reflex(Reaction(values["reflex"]), values["reflex_force"])
        else:
            self.estimator.settings = estimator_settings(values)
        self.values = values

    def step(self, reading: Reading, now_ns: int) -> Estimate | None:
        """Take a tick into account; None for a duplicate."""
        estimate = self.estimator.step(reading, now_ns)
        if estimate is not None:
            self.last_stamp_ns = reading.stamp_ns
            self.recent.add(reading)
        return estimate

    def baseline_force(self, reading: Reading) -> Array | None:
        """Dead-banded force (3,) [N], base axes, of the classical observer; None without one."""
        if self.baseline is None or reading.stale or reading.trouble:
            return None
        if self.estimator.window.count <= 1:
            self.baseline.reset()
        try:
            return self.baseline.step(reading.ticks).gated
        except ObserverError:
            self.baseline.reset()
            return None

    def status(self) -> dict[str, object]:
        """Figures for diagnostics."""
        estimator = self.estimator
        metadata, tare = estimator.model.metadata, estimator.tare
        p50, p99, longest = self.latency.percentiles()
        out = estimator.out
        return {
            "validity": out.validity.text,
            "reason": out.reason,
            "latency p50 [ms]": f"{1e3 * p50:.2f}",
            "latency p99 [ms]": f"{1e3 * p99:.2f}",
            "latency max [ms]": f"{1e3 * longest:.2f}",
            "deadline misses": f"{self.latency.missed} of {self.latency.total}",
            "out of distribution": f"{out.distance:.2f}",
            "observability [m]": f"{out.observability:.3f}",
            "gate": f"on {estimator.gate.on:g}, off {estimator.gate.off:g}, "
            f"dwell {estimator.gate.dwell} ticks",
            "tare age [s]": f"{tare.age(self.last_stamp_ns):.0f}",
            "tare distance [rad or m]": f"{tare.distance(self._position()):.2f}",
            "reflex": f"{self.reflex.reaction}, fired {self.reflex.fired}",
            **{f"ticks: {key}": count for key, count in sorted(estimator.counters.items())},
            "model": metadata.model,
            "model file": estimator.model.path,
            "model id": estimator.model.model_id,
            "model streams": estimator.model.streaming,
            "model execution": estimator.model.execution,
            "model robot": metadata.robot,
            "model dt [s]": f"{metadata.dt:.6f}",
            "model features": f"{metadata.feature_set} ({metadata.features})",
            "model data": metadata.training_data_hash,
            "model calibration": metadata.calibration_hash,
            "model licence": metadata.licence,
            "model remarks": "; ".join(estimator.model.remarks) or "none",
        }

    def _position(self) -> Array:
        pose = self.estimator.tare.pose
        last = self.recent.last_position()
        return np.zeros(self.spec.n) if last is None or pose is None else last
