# SPDX-License-Identifier: Apache-2.0
"""From a robot file to URDF text, through the `xacro` library."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from na_core.robot_types import RobotSpec


class UrdfError(RuntimeError):
    """The xacro of a robot could not be expanded.

    Attributes:
        urdf: path of the xacro file.
        reason: what xacro said.
    """

    def __init__(self, urdf: Path, reason: str) -> None:
        self.urdf = urdf
        self.reason = reason
        super().__init__(f"{urdf}: cannot expand the robot description: {reason}")


def urdf_string(spec: RobotSpec) -> str:
    """Return the URDF of a robot as text.

    The xacro file reads every number from the robot file itself (argument `robot_file`), so a
    copied and edited robot file changes the URDF. Expansion is cached per file content.

    Raises:
        UrdfError: xacro is not installed, or refused the files.
    """
    return _expand(spec.urdf, spec.path, spec.digest)


@lru_cache(maxsize=16)
def _expand(urdf: Path, robot_file: Path, digest: str) -> str:
    try:
        import xacro
    except ImportError as error:
        reason = f"{error}; install it with `pip install xacro` or run `./na setup`"
        raise UrdfError(urdf, reason) from error
    try:
        document = xacro.process_file(str(urdf), mappings={"robot_file": str(robot_file)})
    except Exception as error:  # xacro lets AttributeError, KeyError and its own kinds through
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UrdfError(urdf, f"{reason} (figures from {robot_file})") from error
    # The root element alone: the banner xacro puts before it names a folder of this machine.
    return str(document.documentElement.toprettyxml(indent="  "))
