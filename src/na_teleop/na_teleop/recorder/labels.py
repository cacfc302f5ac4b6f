# SPDX-License-Identifier: Apache-2.0
"""Checks a force label before it is published and recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from na_core.nad.layout import LABEL_SOURCES

NONE, PAYLOAD = LABEL_SOURCES["none"], LABEL_SOURCES["payload"]


def check_label(source: int, force: Sequence[float], mass: float, frame_id: str) -> str:
    """Return why the label is refused ("" when it is good).

    `force` [N] is exerted by the environment on the end effector, in the axes of `frame_id`;
    `mass` [kg] belongs to source PAYLOAD only.
    """
    names = {number: name.upper() for name, number in LABEL_SOURCES.items()}
    if source not in names:
        known = ", ".join(f"{number} {name}" for number, name in names.items())
        return f"source = {source}: expected one of {known}"
    if source == NONE:
        return ""
    if not frame_id:
        return "header.frame_id is empty: name the axes in which the force is expressed"
    if not all(math.isfinite(value) for value in force):
        return f"force = {list(force)} N: expected finite values for source {names[source]}"
    if source == PAYLOAD and not (math.isfinite(mass) and mass >= 0.0):
        return f"mass = {mass} kg: expected 0 or more for source PAYLOAD"
    return ""
