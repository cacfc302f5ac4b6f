# SPDX-License-Identifier: Apache-2.0
"""Names of episodes that the operator did not name."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from na_core.nad.layout import part_name


def automatic_name(directory: Path, robot: str, time_ns: int, task: str = "") -> str:
    """Return `<robot>[_<task>]_<UTC date>_<time>`, with a counter when that name is taken.

    `time_ns` [ns since the epoch].
    """
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y%m%d_%H%M%S")
    words = [re.sub(r"[^A-Za-z0-9.+-]+", "-", word).strip("-.") for word in (robot, task)]
    base = "_".join([word for word in words if word] + [moment])
    name, count = base, 1
    while (directory / name).exists() or (directory / part_name(name)).exists():
        count += 1
        name = f"{base}_{count}"
    return name
