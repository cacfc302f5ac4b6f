# SPDX-License-Identifier: Apache-2.0
"""Refuses to build where a ROS 2 installation is in sight; all else is in pyproject.toml."""

import sys
import tempfile
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ros2_lite.check import real_packages

found = real_packages(paths=[])  # pip builds in isolation: the target's own path is not ours to see
if found:
    sys.exit(
        f"ros2_lite is not installed: real packages of ROS 2 are at {', '.join(found)}. "
        "Source that installation and use its own `ros2`."
    )
scratch = tempfile.mkdtemp(prefix="ros2_lite_build_")  # leaves the source tree clean
setup(options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}})
