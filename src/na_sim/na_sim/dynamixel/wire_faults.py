# SPDX-License-Identifier: Apache-2.0
"""Moved to na_sim.wire.wire_faults."""

from na_sim.wire.wire_faults import *  # noqa: F403
