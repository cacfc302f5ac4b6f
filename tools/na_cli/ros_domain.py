# SPDX-License-Identifier: Apache-2.0
"""A free ROS domain for as long as one command runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import domain_coordinator


@contextlib.contextmanager
def own_domain() -> Iterator[None]:
    """Set a free ROS_DOMAIN_ID, so that a command neither sees nor disturbs other arms."""
    with domain_coordinator.domain_id() as number:
        before = os.environ.get("ROS_DOMAIN_ID")
        os.environ["ROS_DOMAIN_ID"] = str(number)
        try:
            yield
        finally:
            if before is None:
                del os.environ["ROS_DOMAIN_ID"]
            else:
                os.environ["ROS_DOMAIN_ID"] = before
