# SPDX-License-Identifier: Apache-2.0
"""Contact and condition labels from force labels and episode descriptions."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from na_core.nad.layout import EpisodeInfo

Array = NDArray[np.float64]

CONTACT_ON = 0.35
"""At and above this labelled force there is contact [N]."""
CONTACT_OFF = 0.2
"""Below this labelled force the arm is free [N]; between the two nothing is claimed."""

_JOINT = re.compile(r"joint_(\d+)$")


def contact_from_force(force: Array) -> Array:
    """Return 1 (contact), 0 (free) or NaN (in between or unknown) for force labels (T, 3) [N]."""
    size = np.linalg.norm(force, axis=-1)
    contact = np.full(size.shape, np.nan)
    contact[size >= CONTACT_ON] = 1.0
    contact[size < CONTACT_OFF] = 0.0
    return contact


def restricted_from_info(info: EpisodeInfo, joints: tuple[str, ...]) -> Array:
    """Return the condition labels (n,) that an episode's description implies.

    Variants of the condition task read "restricted_…_joint_3" (that joint 1, the others 0) or
    "unrestricted_…" (all 0); a restricted episode that does not name its joint, and any other
    task, is not supervised (NaN).
    """
    unknown = np.full(len(joints), np.nan)
    if info.task != "motor_condition" and info.category != "condition":
        return unknown
    if info.variant.startswith("unrestricted"):
        return np.zeros(len(joints))
    match = _JOINT.search(info.variant)
    if not info.variant.startswith("restricted") or match is None:
        return unknown
    index = int(match.group(1)) - 1
    if not 0 <= index < len(joints):
        return unknown
    labels = np.zeros(len(joints))
    labels[index] = 1.0
    return labels
