# SPDX-License-Identifier: Apache-2.0
"""Writes recordings as .npz arrays; the truth goes to a file of its own."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.bag_output import episode_info
from na_sim.nad_generator.recording import Recording

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec


LEVEL = 1  # of deflate; numpy's own writer takes level 6 and most of the generator's time


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `arrays` as numpy's .npz, lightly compressed; objects are refused (no pickles)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def write_arrays(
    robot: RobotSpec, recording: Recording, folder: Path, rate: float, calibration_hash: str = ""
) -> Path:
    """Write `<folder>/<name>.npz` and `<folder>/truth/<name>.npz`; returns the first.

    The first holds the arrays of Recording (SI, NaN if unmeasured), `names` and `info` (JSON of
    EpisodeInfo); no pickles. Raises FileExistsError rather than lose an episode.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recording.plan.name}.npz"
    if path.exists():
        raise FileExistsError(
            f"{path} exists and is not overwritten; give another seed or arm another --out"
        )
    info = json.dumps(asdict(episode_info(robot, recording, rate, calibration_hash)))
    about = {"names": np.array(robot.names), "info": np.array(info)}
    save_arrays(path, {**about, **recording.arrays()})
    truth = folder / "truth"
    truth.mkdir(exist_ok=True)
    save_arrays(truth / f"{recording.plan.name}.npz", recording.truth_arrays())
    return path
