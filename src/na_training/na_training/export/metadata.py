# SPDX-License-Identifier: Apache-2.0
"""Metadata inside the ONNX file: everything a user of the model must know, all of it required."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from na_core.onnx_metadata import FORCE_SIGN, SCHEMA_VERSION
from na_core.onnx_metadata import REQUIRED as LIVE_REQUIRED
from na_training.model import WINDOW
from na_training.training.bundle import Bundle

OPSET = 18
REQUIRED = (*LIVE_REQUIRED, "parameter_map", "unused_weights")
"""Keys that every exported model carries; the absence of one is an error that names it."""


class MetadataError(ValueError):
    """A key is missing or does not fit; the text names key, value and expectation."""


def metadata_of(
    bundle: Bundle, parameter_map: Mapping[str, Any], unused: Mapping[str, Any]
) -> dict[str, str]:
    """Return the metadata of a model; lists and mappings as JSON text.

    Args:
        bundle: the model.
        parameter_map: weight name → [initializer name, transposed], to read weights back.
        unused: weights that the graph does not need (rollouts do), by name.
    """
    spec, model = bundle.spec, bundle.model
    units = ["N" if joint.type == "prismatic" else "N m" for joint in spec.joints]
    values: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "robot": spec.robot,
        "robot_hash": spec.digest,
        "model": model.config.name,
        "joint_order": list(spec.names),
        "feature_set": bundle.features.name,
        "feature_order": list(bundle.features.names),
        "feature_basic": bundle.features.basic,
        "feature_rule": bundle.features.rule(),
        "dt": bundle.dt,
        "window": WINDOW,
        "feature_mean": np.asarray(model.mean.cpu(), dtype=float).tolist(),
        "feature_scale": np.asarray(model.scale.cpu(), dtype=float).tolist(),
        "feature_clamp": 8.0,
        "effort_limit": np.asarray(spec.effort_limit, dtype=float).tolist(),
        "effort_unit": units,
        "gate_on": bundle.gate_thresholds[0],
        "gate_off": bundle.gate_thresholds[1],
        "gate_dwell": 3,
        "supervised_joints": list(bundle.supervised),
        "end_effector_frame": spec.end_effector_frame,
        "base_frame": spec.base_frame,
        "force_sign": FORCE_SIGN,
        "training_data_hash": bundle.provenance.get("training_data", ""),
        "calibration_hash": bundle.provenance.get("calibration", "none"),
        "licence": "Apache-2.0",
        "parameter_map": dict(parameter_map),
        "unused_weights": dict(unused),
        "provenance": bundle.provenance,
    }
    return {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()
    }


def check_metadata(values: Mapping[str, str], source: str) -> None:
    """Raise MetadataError when a required key is missing or the schema is another one."""
    for key in REQUIRED:
        if key not in values or values[key] == "":
            raise MetadataError(
                f"{source}: metadata key {key!r} is missing; export the model again "
                "with ./na export"
            )
    if values["schema_version"] != SCHEMA_VERSION:
        raise MetadataError(
            f"{source}: schema_version is {values['schema_version']!r}, expected {SCHEMA_VERSION!r}"
        )
