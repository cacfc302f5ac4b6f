# SPDX-License-Identifier: Apache-2.0
"""What every test session gets: its own ROS domain on this machine only, and quiet numerics."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


@pytest.fixture(scope="session", autouse=True)
def own_ros_domain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A free ROS_DOMAIN_ID for this session, so that no other session's nodes are seen."""
    domain_coordinator = pytest.importorskip("domain_coordinator")
    with domain_coordinator.domain_id() as number:
        os.environ["ROS_DOMAIN_ID"] = str(number)
        os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_log"))
        yield


@pytest.fixture(scope="session")
def workspace_root() -> Path:
    """The root of this clone."""
    return Path(__file__).resolve().parent
