# SPDX-License-Identifier: Apache-2.0
"""The servos' own millisecond clock tells repeated values and restarts."""

from __future__ import annotations

import numpy as np
import pytest

from na_teleop.buses.servo_clock import MODULO, ServoClock


def test_steady_ticks_are_neither_repeated_nor_rebooted_across_the_wrap() -> None:
    clock = ServoClock(2)
    valid = np.array([True, True])
    for k in range(3000):
        now = k * 0.0167
        ticks = (np.array([32000, 10]) + round(now * 1000)) % MODULO
        repeated, rebooted = clock.update(ticks, valid, now)
        assert not repeated.any() and not rebooted.any()


def test_an_unmoved_clock_is_a_repeated_value_of_that_servo_only() -> None:
    clock = ServoClock(2)
    valid = np.array([True, True])
    clock.update(np.array([100, 100]), valid, 0.0)
    repeated, rebooted = clock.update(np.array([117, 100]), valid, 0.017)
    assert repeated.tolist() == [False, True] and not rebooted.any()
    # When it moves again it is measured against its last advance: no false restart.
    repeated, rebooted = clock.update(np.array([317, 317]), valid, 0.217)
    assert not repeated.any() and not rebooted.any()


def test_a_clock_that_starts_over_is_a_restart() -> None:
    clock = ServoClock(2)
    valid = np.array([True, True])
    clock.update(np.array([20000, 20000]), valid, 0.0)
    _, rebooted = clock.update(np.array([20300, 5]), valid, 0.3)
    assert rebooted.tolist() == [False, True]


def test_silent_servos_and_forgotten_history_say_nothing() -> None:
    clock = ServoClock(1)
    clock.update(np.array([500]), np.array([True]), 0.0)
    repeated, rebooted = clock.update(np.array([-1]), np.array([False]), 0.1)
    assert not repeated.any() and not rebooted.any()
    clock.forget()
    repeated, rebooted = clock.update(np.array([3]), np.array([True]), 0.2)
    assert not repeated.any() and not rebooted.any()


@pytest.mark.parametrize("drift", [-0.03, 0.03])
def test_an_imprecise_oscillator_is_no_restart(drift: float) -> None:
    clock = ServoClock(1)
    for k in range(200):
        now = 0.5 * k
        tick = round(now * 1000 * (1 + drift)) % MODULO
        _, rebooted = clock.update(np.array([tick]), np.array([True]), now)
        assert not rebooted.any()
