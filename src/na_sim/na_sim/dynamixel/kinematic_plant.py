# SPDX-License-Identifier: Apache-2.0
"""Moved to na_sim.wire.kinematic_plant."""

from na_sim.wire.kinematic_plant import *  # noqa: F403
