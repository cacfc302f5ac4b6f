# SPDX-License-Identifier: Apache-2.0
"""Lets tests import the bench of a Dynamixel bus beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
