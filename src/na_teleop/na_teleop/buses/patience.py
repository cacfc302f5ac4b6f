# SPDX-License-Identifier: Apache-2.0
"""How long to wait for an answer that may never come, learned from those that did."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator

from na_teleop.buses.port import SerialPort

SHORTEST_S = 0.003  # never less patient than this
MARGIN = 2.0  # over the slowest of the remembered answers
MEMORY = 64  # answers


class Patience:
    """Shortens the wait on a line that swallows questions, so that there is time to ask again.

    A healthy line keeps its full time-out: a late answer is worth waiting for there.
    """

    def __init__(self, port: SerialPort) -> None:
        """Watch the answers on `port`."""
        self._port = port
        self._delays: deque[float] = deque(maxlen=MEMORY)
        self._asked_ns = 0

    def asking(self) -> None:
        """Note the moment before a question is sent."""
        self._asked_ns = time.time_ns()

    def answered(self) -> None:
        """Note how long the first byte of the answer took."""
        if self._port.first_byte_ns is not None:
            self._delays.append(max(0.0, 1e-9 * (self._port.first_byte_ns - self._asked_ns)))

    @property
    def latency_s(self) -> float:
        """Reply time to allow [s]: never more than the port's own."""
        if len(self._delays) < MEMORY // 4:
            return float(self._port.latency_s)
        slowest = sorted(self._delays)[-2]  # one straggler does not count
        return min(float(self._port.latency_s), max(SHORTEST_S, MARGIN * slowest))

    @contextlib.contextmanager
    def shortened(self, active: bool) -> Iterator[None]:
        """Let the port be impatient inside the block if `active`."""
        before = self._port.latency_s
        if active:
            self._port.latency_s = self.latency_s
        try:
            yield
        finally:
            self._port.latency_s = before
