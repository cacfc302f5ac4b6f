# SPDX-License-Identifier: Apache-2.0
"""Where the workspace's parts lie, and the environment in which ROS 2 and our packages load."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

APT_ROS = Path("/opt/ros/jazzy")

#: Variables captured from the sourced workspace and put in front of the caller's own.
PATH_VARIABLES = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
)


@dataclass(frozen=True)
class Workspace:
    """Paths of one clone."""

    root: Path
    apt_ros: Path = APT_ROS

    @classmethod
    def here(cls) -> Workspace:
        """The clone that this file belongs to; NA_APT_ROS names another apt prefix (for tests)."""
        root = Path(__file__).resolve().parents[2]
        return cls(root, Path(os.environ.get("NA_APT_ROS", str(APT_ROS))))

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def venv_python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def install(self) -> Path:
        return self.root / "install"

    @property
    def stamps(self) -> Path:
        """Folder of the marks that say which step of the set-up is done, and with what input."""
        return self.venv / "na-stamps"

    @property
    def environment_file(self) -> Path:
        return self.venv / "na-environment.json"

    @property
    def uses_apt_ros(self) -> bool:
        return (self.apt_ros / "setup.sh").is_file()


def inside(workspace: Workspace) -> bool:
    """True when this process already runs in the environment of `workspace`."""
    return (
        os.environ.get("NA_WORKSPACE") == str(workspace.root)
        and Path(sys.prefix).resolve() == workspace.venv.resolve()
    )


def load(workspace: Workspace) -> dict[str, str]:
    """The caller's environment with the workspace's captured variables in front.

    Raises FileNotFoundError when the set-up has not captured them yet.
    """
    captured: dict[str, str] = json.loads(workspace.environment_file.read_text(encoding="utf-8"))
    return merge(captured, os.environ, workspace)


def merge(
    captured: dict[str, str], current: os._Environ[str] | dict[str, str], workspace: Workspace
) -> dict[str, str]:
    """Put captured path lists before the current ones, each entry once; other variables are set."""
    result = dict(current)
    for name, value in captured.items():
        if name in PATH_VARIABLES:
            entries = value.split(os.pathsep) + result.get(name, "").split(os.pathsep)
            result[name] = os.pathsep.join(dict.fromkeys(entry for entry in entries if entry))
        else:
            result[name] = value
    result["NA_WORKSPACE"] = str(workspace.root)
    # Discovery stays on this machine unless the user says otherwise: two benches on one network
    # must not drive each other's arms by accident.
    if "ROS_AUTOMATIC_DISCOVERY_RANGE" not in current:
        result["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    # One thread per process: the small matrices here gain nothing from more, and the arm's
    # deadline loses.
    result.setdefault("OMP_NUM_THREADS", "1")
    return result
