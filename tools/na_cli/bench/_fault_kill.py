# SPDX-License-Identifier: Apache-2.0
"""The driver is killed (SIGKILL) while the arm moves: how long the servos go on."""

from __future__ import annotations

from typing import Any


def run_all(families: list[str]) -> list[dict[str, Any]]:
    """Return the figures of each family."""
    return []
