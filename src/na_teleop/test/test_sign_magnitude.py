# SPDX-License-Identifier: Apache-2.0
"""Sign-magnitude numbers: round trips, the edges of the range, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from na_teleop.buses.sign_magnitude import decode, decode_array, encode


@pytest.mark.parametrize(
    ("value", "sign_bit", "raw"),
    [
        (0, 15, 0),
        (1, 15, 1),
        (-1, 15, 0x8001),
        (4095, 15, 0x0FFF),
        (-4096, 15, 0x9000),
        (32767, 15, 0x7FFF),
        (-32767, 15, 0xFFFF),
        (1000, 10, 0x3E8),
        (-1000, 10, 0x7E8),
        (2047, 11, 0x7FF),
        (-2047, 11, 0xFFF),
    ],
)
def test_known_values_both_ways(value: int, sign_bit: int, raw: int) -> None:
    assert encode(value, sign_bit) == raw
    assert decode(raw, sign_bit) == value


@pytest.mark.parametrize("sign_bit", [10, 11, 15])
def test_every_number_of_a_register_comes_back(sign_bit: int) -> None:
    most = (1 << sign_bit) - 1
    values = np.arange(-most, most + 1)
    raw = np.array([encode(int(v), sign_bit) for v in values])
    np.testing.assert_array_equal(decode_array(raw, sign_bit), values)


@pytest.mark.parametrize(
    ("value", "sign_bit"), [(2048, 11), (-2048, 11), (1024, 10), (1 << 15, 15)]
)
def test_what_does_not_fit_is_refused_with_the_range(value: int, sign_bit: int) -> None:
    with pytest.raises(ValueError, match=f"{value} does not fit .* expected -"):
        encode(value, sign_bit)


def test_bits_above_the_sign_are_refused_one_by_one_and_ignored_in_arrays() -> None:
    with pytest.raises(ValueError, match="bits above sign bit 10"):
        decode(0x0800, 10)
    assert decode_array(0x0801, 10) == 1
    with pytest.raises(ValueError, match="expected 1 to 15"):
        encode(1, 16)


def test_minus_zero_is_zero() -> None:
    assert decode(0x8000, 15) == 0
