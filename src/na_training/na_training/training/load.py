# SPDX-License-Identifier: Apache-2.0
"""Loads a model from a run folder, a checkpoint or an exported ONNX file."""

from __future__ import annotations

from pathlib import Path

from na_core.robot_spec import RobotSpec
from na_training.training.bundle import Bundle, load_run


def load_model(path: Path, spec: RobotSpec) -> Bundle:
    """Return the model at `path`, whichever form it has.

    Raises:
        na_training.training.checkpoint.CheckpointError: no usable run.
        na_training.export.metadata.MetadataError: an ONNX file that is not a complete export.
    """
    if path.suffix == ".onnx":
        from na_training.export.onnx_file import load_bundle

        return load_bundle(path, spec)
    return load_run(path, spec)
