# SPDX-License-Identifier: Apache-2.0
"""Moved to na_sim.wire.pty_port."""

from na_sim.wire.pty_port import *  # noqa: F403
