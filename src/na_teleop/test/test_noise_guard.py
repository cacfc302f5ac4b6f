# SPDX-License-Identifier: Apache-2.0
"""On a line that garbles, what was said once is not believed; a damaged field is outvoted."""

from __future__ import annotations

import numpy as np

from na_teleop.buses.noise_guard import HOLD_S, ImageField, NoiseGuard

LAYOUT = np.dtype([("flag", "u1"), ("position", "<u2"), ("velocity", "<u2")])
FIELDS = (
    ImageField("flag", 0),
    ImageField("position", 3, per_speed=0.01, sign_bit=15),
    ImageField("velocity", 200, sign_bit=15),
)


def image(position: int, velocity: int = 0, flag: int = 1) -> bytes:
    return np.array([(flag, position, velocity)], dtype=LAYOUT).tobytes()


def guard() -> NoiseGuard:
    made = NoiseGuard(LAYOUT, FIELDS)
    made.begin()
    return made


def test_a_line_is_noisy_from_the_first_damage_until_a_while_after_the_last() -> None:
    made = guard()
    assert not made.noisy(0, 1.0)
    assert made.noisy(1, 2.0) and made.noisy(1, 2.0 + 0.9 * HOLD_S)
    assert not made.noisy(1, 2.0 + 1.1 * HOLD_S)
    assert made.noisy(2, 30.0)
    made.forget()
    assert not made.noisy(2, 30.1)


def test_two_equal_images_are_believed() -> None:
    made = guard()
    assert made.believe(1, image(2000, 50)) is None
    assert made.believe(1, image(2000, 50)) == image(2000, 50)


def test_images_of_other_servos_and_ticks_do_not_count() -> None:
    made = guard()
    assert made.believe(1, image(2000)) is None
    assert made.believe(2, image(2000)) is None
    made.begin()
    assert made.believe(1, image(2000)) is None


def test_a_jump_is_never_confirmed_by_the_truth() -> None:
    made = guard()
    assert made.believe(1, image(2000)) is None
    assert made.believe(1, image(2000 ^ 0x0400)) is None
    assert made.believe(1, image(2001)) is None
    assert made.believe(1, image(2000)) == image(2000)


def test_flickering_values_need_three_and_the_median_counts() -> None:
    made = guard()
    assert made.believe(1, image(2000, 10)) is None
    assert made.believe(1, image(2001, 60)) is None
    # A low byte damaged on the way, within what could be true, does not get through.
    believed = made.believe(1, image(2000, 190))
    assert believed == image(2000, 60)


def test_fast_motion_widens_what_may_differ() -> None:
    made = guard()
    assert made.believe(1, image(2000, 3000)) is None
    assert made.believe(1, image(2020, 3010)) is None
    assert made.believe(1, image(2010, 3005)) == image(2010, 3005)


def test_a_flag_that_differs_is_disagreement() -> None:
    made = guard()
    made.believe(1, image(2000, 10, flag=1))
    made.believe(1, image(2000, 20, flag=0))
    assert made.believe(1, image(2000, 30, flag=1)) is None
