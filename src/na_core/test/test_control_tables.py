# SPDX-License-Identifier: Apache-2.0
"""The register tables: addresses of the e-manual, no overlaps, honest signs."""

from __future__ import annotations

import itertools

import pytest

from na_core.control_tables import (
    DYNAMIXEL_X,
    DYNAMIXEL_X_MODELS,
    FEETECH_STS,
    Register,
    control_table,
    span,
    table_end,
)

# name, address, size: rows of the e-manual that the bus relies on.
XM430_ROWS = [
    ("model_number", 0, 2),
    ("return_delay_time", 9, 1),
    ("operating_mode", 11, 1),
    ("homing_offset", 20, 4),
    ("shutdown", 63, 1),
    ("torque_enable", 64, 1),
    ("hardware_error_status", 70, 1),
    ("position_d_gain", 80, 2),
    ("position_i_gain", 82, 2),
    ("position_p_gain", 84, 2),
    ("bus_watchdog", 98, 1),
    ("goal_current", 102, 2),
    ("profile_acceleration", 108, 4),
    ("profile_velocity", 112, 4),
    ("goal_position", 116, 4),
    ("realtime_tick", 120, 2),
    ("present_pwm", 124, 2),
    ("present_current", 126, 2),
    ("present_velocity", 128, 4),
    ("present_position", 132, 4),
    ("position_trajectory", 140, 4),
    ("present_input_voltage", 144, 2),
    ("present_temperature", 146, 1),
]

TABLES = {**DYNAMIXEL_X_MODELS, "sts3215": FEETECH_STS}


@pytest.mark.parametrize(("name", "address", "size"), XM430_ROWS)
def test_addresses_follow_the_manual(name: str, address: int, size: int) -> None:
    register = DYNAMIXEL_X[name]
    assert (register.address, register.size) == (address, size)


@pytest.mark.parametrize("model", sorted(TABLES))
def test_registers_of_a_model_do_not_overlap(model: str) -> None:
    ordered = sorted(TABLES[model].values(), key=lambda r: r.address)
    for before, after in itertools.pairwise(ordered):
        assert before.end <= after.address, (before.name, after.name)


@pytest.mark.parametrize("model", sorted(TABLES))
def test_defaults_lie_inside_their_own_bounds(model: str) -> None:
    for register in TABLES[model].values():
        if register.default is not None:
            assert register.in_range(register.default), register
            assert register.decode(register.encode(register.default)) == register.default


def test_one_read_covers_pwm_to_temperature_in_23_bytes() -> None:
    assert span(DYNAMIXEL_X, "present_pwm", "present_temperature") == (124, 23)
    with pytest.raises(ValueError, match="before 'present_temperature' begins"):
        span(DYNAMIXEL_X, "present_temperature", "present_pwm")


@pytest.mark.parametrize(
    ("table", "name", "value", "raw"),
    [
        (DYNAMIXEL_X, "present_current", -3, b"\xfd\xff"),
        (DYNAMIXEL_X, "goal_position", -1, b"\xff\xff\xff\xff"),
        (DYNAMIXEL_X, "bus_watchdog", -1, b"\xff"),
        (FEETECH_STS, "present_position", -3, b"\x03\x80"),
        (FEETECH_STS, "present_load", -3, b"\x03\x04"),
        (FEETECH_STS, "homing_offset", -2047, b"\xff\x0f"),
        (FEETECH_STS, "homing_offset", 2047, b"\xff\x07"),
    ],
)
def test_signs_survive_the_wire(
    table: dict[str, Register], name: str, value: int, raw: bytes
) -> None:
    assert table[name].encode(value) == raw
    assert table[name].decode(raw) == value


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("present_load", 1024, "expected -1023 to 1023"),
        ("homing_offset", -2048, "expected -2047 to 2047"),
        ("id", 256, "expected 0 to 255"),
    ],
)
def test_values_that_do_not_fit_are_refused(name: str, value: int, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        FEETECH_STS[name].encode(value)


def test_only_xl430_reports_load_and_it_has_no_current() -> None:
    xl430 = control_table("XL430-W250")
    assert "present_current" not in xl430 and xl430["present_load"].address == 126
    assert "present_load" not in control_table("xm430-w350")


def test_indirect_blocks_end_where_the_manual_says() -> None:
    assert table_end(control_table("xm430-w350")) == 662
    assert table_end(control_table("xl330-m288")) == 228
    assert control_table("xm430-w350")["indirect_address_29"].default == 634


def test_unknown_model_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="xm430-w350"):
        control_table("ax-12a")
