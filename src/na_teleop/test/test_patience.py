# SPDX-License-Identifier: Apache-2.0
"""The wait for an answer shrinks to what answers take, only where asked, and never grows."""

from __future__ import annotations

import pytest

from na_teleop.buses.patience import MEMORY, SHORTEST_S, Patience
from na_teleop.buses.port import SerialPort


def learned(delays_s: list[float], own_s: float = 0.02) -> tuple[Patience, SerialPort]:
    port = SerialPort("/dev/null", 1_000_000, latency_s=own_s)
    patience = Patience(port)
    for delay in delays_s:
        patience.asking()
        port.first_byte_ns = patience._asked_ns + round(1e9 * delay)
        patience.answered()
    return patience, port


def test_nothing_is_shortened_before_enough_is_known() -> None:
    patience, _ = learned([0.001] * (MEMORY // 4 - 1))
    assert patience.latency_s == 0.02


def test_the_wait_follows_the_slowest_answers_but_for_one_straggler() -> None:
    patience, _ = learned([0.001] * 40 + [0.004, 0.5])
    assert patience.latency_s == pytest.approx(0.008, abs=1e-6)


def test_the_wait_has_a_floor_and_never_exceeds_the_ports_own() -> None:
    assert learned([0.0001] * 40)[0].latency_s == SHORTEST_S
    assert learned([0.05] * 40)[0].latency_s == 0.02


def test_the_port_is_impatient_only_inside_and_only_if_asked() -> None:
    patience, port = learned([0.002] * 40)
    with patience.shortened(False):
        assert port.latency_s == 0.02
    with pytest.raises(RuntimeError), patience.shortened(True):
        assert port.latency_s == pytest.approx(0.004, abs=1e-6)
        raise RuntimeError
    assert port.latency_s == 0.02
