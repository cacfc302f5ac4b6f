# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from na_cli.environment import Workspace, merge


def merged(captured: dict[str, str], current: dict[str, str]) -> dict[str, str]:
    return merge(captured, current, Workspace(Path("/ws")))


def test_captured_paths_go_first_and_stand_once() -> None:
    result = merged({"PATH": "/ws/bin:/usr/bin"}, {"PATH": "/home/bin:/usr/bin"})
    assert result["PATH"] == "/ws/bin:/usr/bin:/home/bin"


def test_discovery_stays_on_this_machine_unless_asked_otherwise() -> None:
    assert merged({}, {})["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    asked = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    assert merged({}, asked)["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"


def test_the_callers_own_variables_are_kept() -> None:
    result = merged({"VIRTUAL_ENV": "/ws/.venv"}, {"HOME": "/home/me"})
    assert result["HOME"] == "/home/me"
    assert result["NA_WORKSPACE"] == "/ws"
