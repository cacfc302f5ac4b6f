# SPDX-License-Identifier: Apache-2.0
"""Writes recordings as .npz arrays; the truth goes to a file of its own."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from na_sim.nad_generator.bag_output import episode_info
from na_sim.nad_generator.recording import Recording

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec


def write_arrays(
    robot: RobotSpec, recording: Recording, folder: Path, rate: float, calibration_hash: str = ""
) -> Path:
    """Write `<folder>/<name>.npz` and `<folder>/truth/<name>.npz`; returns the first.

    The first holds the arrays of Recording (SI, NaN if unmeasured), `names` and `info` (JSON of
    EpisodeInfo); no pickles.
    """
    folder.mkdir(parents=True, exist_ok=True)
    info = json.dumps(asdict(episode_info(robot, recording, rate, calibration_hash)))
    path = folder / f"{recording.plan.name}.npz"
    np.savez_compressed(
        path,
        names=np.array(robot.names),
        info=np.array(info),
        **recording.arrays(),  # type: ignore[arg-type]
    )
    truth = folder / "truth"
    truth.mkdir(exist_ok=True)
    np.savez_compressed(
        truth / f"{recording.plan.name}.npz",
        **recording.truth_arrays(),  # type: ignore[arg-type]
    )
    return path
