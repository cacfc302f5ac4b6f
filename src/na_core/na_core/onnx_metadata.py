# SPDX-License-Identifier: Apache-2.0
"""Metadata inside a model's ONNX file: the one definition for export and for live use.

Every key is required; there are no defaults. Values are text; numbers, lists and mappings are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from na_core.robot_types import RobotSpec

Array = NDArray[np.float64]

SCHEMA_VERSION = "1"

INPUT = "features"
"""Input of the stateless graph: (batch, window, F) float32, oldest tick first, features in their
own units (scaling is inside the graph). Of the streaming graph: (batch, F), the newest tick."""
OUTPUTS = ("effort", "force", "gate", "condition", "log_variance")
"""Outputs of both graphs: (batch, n), (batch, 3), (batch, 1), (batch, n), (batch, 3), float32."""
STATE_INPUT = "tokens"
"""Further input of the streaming graph: tokens of the window − 1 ticks before (batch, window − 1,
S), oldest first; keys and values of every layer are part of a token."""
STATE_OUTPUT = "next_tokens"
"""Further output of the streaming graph: what to give as `tokens` at the next tick."""
STREAM_SUFFIX = ".stream.onnx"
"""NAME.onnx is the stateless graph; NAME.stream.onnx beside it, if there, the streaming one."""

REQUIRED = (
    "schema_version",
    "robot",
    "robot_hash",
    "model",
    "joint_order",
    "feature_set",
    "feature_order",
    "feature_basic",
    "feature_rule",
    "dt",
    "window",
    "feature_mean",
    "feature_scale",
    "feature_clamp",
    "effort_limit",
    "effort_unit",
    "gate_on",
    "gate_off",
    "gate_dwell",
    "supervised_joints",
    "end_effector_frame",
    "base_frame",
    "force_sign",
    "training_data_hash",
    "calibration_hash",
    "licence",
)
"""Keys without which a model cannot be used live; the absence of one is an error that names it."""

FORCE_SIGN = "exerted by the environment on the end effector, base axes, N"
"""The only force sign that exists."""


class ModelMetadataError(ValueError):
    """A metadata key is missing or does not fit.

    Attributes:
        source: the file.
        key: the key concerned.
        value: what it held, None when it was missing.
        expected: what was expected, in words.
    """

    def __init__(self, source: str, key: str, value: Any, expected: str, remedy: str = "") -> None:
        self.source, self.key, self.value, self.expected = source, key, value, expected
        what = "is missing" if value is None else f"is {_short(value)}"
        text = f"{source}: metadata key '{key}' {what}, expected {expected}"
        super().__init__(text + (f". {remedy}" if remedy else ""))


@dataclass(frozen=True)
class ModelMetadata:
    """What a model file says about itself, checked; n joints, F features.

    Attributes:
        robot: robot name; robot_hash: digest of its file when the model was trained.
        model: name of the network.
        joint_order: canonical joint names (n).
        feature_order: feature names (F); the first `feature_basic` need no memory.
        feature_rule: rebuilds the feature set (na_core.features.feature_set_from_rule).
        dt: seconds per tick; window: ticks per window.
        feature_mean, feature_scale: (F,); feature_clamp: bound of scaled features.
        effort_limit: (n,) [N·m or N]; effort_unit: "N m" or "N" per joint.
        gate_on, gate_off: probabilities at which the gate opens and below which it closes.
        gate_dwell: ticks that a change must last.
        supervised_joints: joints whose condition score means something.
        training_data_hash, calibration_hash, licence: provenance.
        values: all metadata as it was, further keys included.
    """

    robot: str
    robot_hash: str
    model: str
    joint_order: tuple[str, ...]
    feature_set: str
    feature_order: tuple[str, ...]
    feature_basic: int
    feature_rule: dict[str, Any]
    dt: float
    window: int
    feature_mean: Array
    feature_scale: Array
    feature_clamp: float
    effort_limit: Array
    effort_unit: tuple[str, ...]
    gate_on: float
    gate_off: float
    gate_dwell: int
    supervised_joints: tuple[str, ...]
    end_effector_frame: str
    base_frame: str
    training_data_hash: str
    calibration_hash: str
    licence: str
    values: dict[str, str]

    @classmethod
    def from_mapping(cls, values: Mapping[str, str], source: str) -> ModelMetadata:
        """Check and convert the metadata of a file named `source`.

        Raises:
            ModelMetadataError: naming the first key that is missing or does not fit.
        """
        for key in REQUIRED:
            if values.get(key, "") == "":
                remedy = "Export the model again with ./na export"
                raise ModelMetadataError(source, key, None, "a value", remedy)
        read = _Reader(values, source)
        version = values["schema_version"]
        if version != SCHEMA_VERSION:
            raise ModelMetadataError(source, "schema_version", version, f"'{SCHEMA_VERSION}'")
        if values["force_sign"] != FORCE_SIGN:
            raise ModelMetadataError(source, "force_sign", values["force_sign"], f"'{FORCE_SIGN}'")
        joints = read.names("joint_order")
        features = read.names("feature_order")
        n, size = len(joints), len(features)
        result = cls(
            robot=values["robot"],
            robot_hash=values["robot_hash"],
            model=values["model"],
            joint_order=joints,
            feature_set=values["feature_set"],
            feature_order=features,
            feature_basic=read.whole("feature_basic", 1, size),
            feature_rule=read.mapping("feature_rule"),
            dt=read.number("dt", lambda x: 1e-4 <= x <= 1.0, "seconds per tick in 0.0001…1"),
            window=read.whole("window", 1, 1000),
            feature_mean=read.array("feature_mean", size),
            feature_scale=read.array("feature_scale", size, positive=True),
            feature_clamp=read.number("feature_clamp", lambda x: x > 0.0, "a positive number"),
            effort_limit=read.array("effort_limit", n, positive=True),
            effort_unit=read.names("effort_unit", n),
            gate_on=read.number("gate_on", lambda x: 0.0 < x < 1.0, "a probability in 0…1"),
            gate_off=read.number("gate_off", lambda x: 0.0 < x < 1.0, "a probability in 0…1"),
            gate_dwell=read.whole("gate_dwell", 0, 1000),
            supervised_joints=read.names("supervised_joints", empty=True),
            end_effector_frame=values["end_effector_frame"],
            base_frame=values["base_frame"],
            training_data_hash=values["training_data_hash"],
            calibration_hash=values["calibration_hash"],
            licence=values["licence"],
            values=dict(values),
        )
        if result.gate_off > result.gate_on:
            raise ModelMetadataError(
                source, "gate_off", result.gate_off, f"at most gate_on = {result.gate_on}"
            )
        strangers = [name for name in result.supervised_joints if name not in joints]
        if strangers:
            raise ModelMetadataError(
                source, "supervised_joints", strangers, f"some of {', '.join(joints)}"
            )
        return result

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_order)

    @property
    def features(self) -> int:
        """Number of features F."""
        return len(self.feature_order)

    def check_robot(
        self,
        spec: RobotSpec,
        source: str,
        calibration: str = "none",
        *,
        accept_other_calibration: bool = False,
    ) -> list[str]:
        """Compare with the robot in use.

        Args:
            spec: the robot.
            source: the file, for messages.
            calibration: hash of the calibration in force, "none" without one.
            accept_other_calibration: make another calibration than the model's a remark.

        Returns:
            Remarks: differences that do not forbid the use.

        Raises:
            ModelMetadataError: naming the first thing that does not fit.
        """
        for key, mine, theirs in (
            ("robot", self.robot, spec.robot),
            ("joint_order", list(self.joint_order), list(spec.names)),
            ("base_frame", self.base_frame, spec.base_frame),
            ("end_effector_frame", self.end_effector_frame, spec.end_effector_frame),
        ):
            if mine != theirs:
                raise ModelMetadataError(
                    source,
                    key,
                    mine,
                    f"{_short(theirs)} as in the robot in use",
                    "Choose a model of this robot, or the robot of this model",
                )
        if not np.allclose(self.effort_limit, spec.effort_limit, rtol=1e-6):
            expected = f"{np.asarray(spec.effort_limit).tolist()} as in {spec.path}"
            raise ModelMetadataError(
                source, "effort_limit", self.effort_limit.tolist(), expected, "Export again"
            )
        remarks = []
        if self.calibration_hash != calibration:
            if not accept_other_calibration:
                raise ModelMetadataError(
                    source,
                    "calibration_hash",
                    self.calibration_hash,
                    f"{_short(calibration)}, the calibration in force",
                    self._calibration_remedy(calibration),
                )
            remarks.append(
                f"model and arm are of different calibrations ({self.calibration_hash[:12]} and "
                f"{calibration[:12]}), accepted by parameter accept_other_calibration: forces were "
                "not validated on this arm; tare at rest, and check them with a known weight"
            )
        if self.robot_hash != spec.digest:
            remarks.append(
                f"robot file {spec.path} has changed since the model was trained "
                f"({self.robot_hash[:12]} then, {spec.digest[:12]} now)"
            )
        return remarks

    def _calibration_remedy(self, calibration: str) -> str:
        """What to do about a model of another calibration than the one in force."""
        if calibration == "none":
            remedy = "Give the follower's calibration file (parameter calibration)"
        elif self.calibration_hash == "none":
            remedy = (
                "The model was trained on emulated arms or without a calibration. Record this arm "
                "and train on the recordings (docs/training.md)"
            )
        else:
            remedy = "Take the model of this calibration, or record this arm again and train"
        return f"{remedy}; or use the model as it is with accept_other_calibration:=true"


class _Reader:
    """Converts single values, naming key and file when one does not fit."""

    def __init__(self, values: Mapping[str, str], source: str) -> None:
        self._values, self._source = values, source

    def _json(self, key: str, expected: str) -> Any:
        try:
            return json.loads(self._values[key])
        except ValueError:
            raise ModelMetadataError(self._source, key, self._values[key], expected) from None

    def number(self, key: str, fits: Callable[[float], bool], expected: str) -> float:
        value = self._json(key, expected)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not fits(value):
            raise ModelMetadataError(self._source, key, value, expected)
        return float(value)

    def whole(self, key: str, low: int, high: int) -> int:
        expected = f"a whole number in {low}…{high}"
        value = self._json(key, expected)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ModelMetadataError(self._source, key, value, expected)
        return value

    def names(self, key: str, length: int | None = None, *, empty: bool = False) -> tuple[str, ...]:
        expected = "a list of names" if length is None else f"a list of {length} texts"
        value = self._json(key, expected)
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if fits and length is None:
            fits = len(set(value)) == len(value) and (empty or len(value) > 0)
            expected += ", each once"
        if not fits or (length is not None and len(value) != length):
            raise ModelMetadataError(self._source, key, value, expected)
        return tuple(value)

    def array(self, key: str, length: int, *, positive: bool = False) -> Array:
        expected = f"{length} {'positive' if positive else 'finite'} numbers"
        value = self._json(key, expected)
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelMetadataError(self._source, key, value, expected) from None
        bad = array.shape != (length,) or not np.isfinite(array).all()
        if bad or (positive and not (array > 0.0).all()):
            raise ModelMetadataError(self._source, key, value, expected)
        return array

    def mapping(self, key: str) -> dict[str, Any]:
        value = self._json(key, "a JSON object")
        if not isinstance(value, dict):
            raise ModelMetadataError(self._source, key, value, "a JSON object")
        return value


def _short(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
