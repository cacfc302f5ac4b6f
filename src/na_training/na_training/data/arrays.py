# SPDX-License-Identifier: Apache-2.0
"""Training episodes from .npz files, the fast format of the generator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.features import Ticks
from na_core.nad.layout import LABEL_SOURCES, EpisodeInfo
from na_core.robot_spec import RobotSpec
from na_training.data.checks import check_rate, check_robot, check_units, joint_order
from na_training.data.episode import DataError, Episode, complete, usable_segments
from na_training.data.labels import contact_from_force, restricted_from_info

Array = NDArray[np.float64]

TRUTH_FOLDER = "truth"


def find_arrays(folder: Path) -> Iterator[Path]:
    """Yield the .npz episodes at or below a folder, sorted; files of truth are left out."""
    for path in sorted(folder.rglob("*.npz")):
        if path.parent.name != TRUTH_FOLDER:
            yield path


def read_arrays(path: Path, spec: RobotSpec) -> Episode:
    """Read one episode.

    Raises:
        DataError: a key is missing, or the episode does not fit the robot.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            values: dict[str, Any] = {key: file[key] for key in file.files}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as arrays: {error}") from error
    for key in ("info", "names", "step_time", "position", "label_force", "label_valid"):
        if key not in values:
            raise DataError(f"{path}: array {key!r} is missing; it has {sorted(values)}")
    info = EpisodeInfo.from_mapping(json.loads(str(values["info"])))
    name = info.episode or path.stem
    check_robot(name, info.robot, spec)
    order = joint_order(name, [str(item) for item in values["names"]], spec)
    current = values["current"]
    current = np.where(np.isnan(current).all(axis=0), values["load"], current)
    ticks = Ticks.of(
        position=values["position"][:, order],
        velocity=values["velocity"][:, order],
        goal=values["goal_sent"][:, order],
        current=current[:, order],
        voltage=values["voltage"][:, order],
        temperature=values["temperature"][:, order],
    )
    time = values["step_time"].astype(np.float64)
    check_units(name, ticks.position, spec)
    check_rate(name, time, spec.control_rate)
    known = values["label_valid"] & (values["label_source"] != LABEL_SOURCES["none"])
    force = np.where(known[:, None], values["label_force"], np.nan)
    dither = values["goal_sent"] - values["goal_requested"]
    return Episode(
        name=name,
        robot=spec.robot,
        category=info.category,
        task=info.task,
        variant=info.variant,
        split_group=info.split_group,
        pair_id=info.pair_id,
        time=time,
        ticks=ticks,
        segments=usable_segments(time, complete(ticks)),
        force=force,
        contact=contact_from_force(force),
        restricted=restricted_from_info(info, spec.names),
        truth=_truth(path, len(time)),
        payload=info.payload,
        robot_hash=info.robot_hash,
        calibration=info.calibration_hash if info.source == "hardware" else "",
        unit=info.calibration_hash,
        dithered=np.abs(dither).max(axis=1) > 1e-3,
    )


def _truth(path: Path, length: int) -> Array:
    """True force on the end effector (T, 3) [N]; NaN where no truth was written."""
    place = path.parent / TRUTH_FOLDER / path.name
    if not place.is_file():
        return np.full((length, 3), np.nan)
    with np.load(place, allow_pickle=False) as file:
        return np.asarray(file["force"], dtype=np.float64)
