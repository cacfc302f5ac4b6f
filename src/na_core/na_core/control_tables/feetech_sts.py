# SPDX-License-Identifier: Apache-2.0
"""Feetech STS series (STS3215): little endian, sign-magnitude numbers, lock paired with torque.

Source: FEETECH memory table of the STS3215 (vendor's SMS/STS protocol manual and SDK headers).
Registers with the meaning of a Dynamixel one carry the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from na_core.control_tables.register import Register, by_name

# Value of baud_rate (address 6) → bit/s.
FEETECH_BAUD_RATES: Mapping[int, int] = {
    0: 1_000_000,
    1: 500_000,
    2: 250_000,
    3: 128_000,
    4: 115_200,
    5: 76_800,
    6: 57_600,
    7: 38_400,
}

_COUNT = "2π/4096 rad"
_SPEED = "1 count/s"
_PERMILLE = "0.1 % of stall"


def _eeprom(name: str, address: int, size: int, default: int, **extra: Any) -> Register:
    return Register(name, address, size, eeprom=True, default=default, **extra)


def _signed(name: str, address: int, bit: int, **extra: Any) -> Register:
    return Register(name, address, 2, signed=True, sign_bit=bit, **extra)


FEETECH_STS: Mapping[str, Register] = by_name(
    (
        Register("firmware_major_version", 0, 1, access="r", eeprom=True, default=3),
        Register("firmware_minor_version", 1, 1, access="r", eeprom=True, default=10),
        Register("model_number", 3, 2, access="r", eeprom=True, default=777),
        _eeprom("id", 5, 1, 1, minimum=0, maximum=253),
        _eeprom("baud_rate", 6, 1, 0, minimum=0, maximum=7),
        _eeprom("return_delay_time", 7, 1, 250, minimum=0, maximum=254, unit="2 µs"),
        _eeprom("status_return_level", 8, 1, 1, minimum=0, maximum=1),
        _eeprom("min_position_limit", 9, 2, 0, minimum=0, maximum=4095, unit=_COUNT),
        _eeprom("max_position_limit", 11, 2, 4095, minimum=0, maximum=4095, unit=_COUNT),
        _eeprom("temperature_limit", 13, 1, 70, minimum=0, maximum=100, unit="1 °C"),
        _eeprom("max_voltage_limit", 14, 1, 80, unit="0.1 V"),
        _eeprom("min_voltage_limit", 15, 1, 40, unit="0.1 V"),
        _eeprom("max_torque_limit", 16, 2, 1000, minimum=0, maximum=1000, unit=_PERMILLE),
        _eeprom("phase", 18, 1, 12),
        _eeprom("unloading_condition", 19, 1, 44),
        _eeprom("led_alarm_condition", 20, 1, 47),
        _eeprom("position_p_gain", 21, 1, 32),
        _eeprom("position_d_gain", 22, 1, 32),
        _eeprom("position_i_gain", 23, 1, 0),
        _eeprom("minimum_startup_force", 24, 2, 16, minimum=0, maximum=1000, unit=_PERMILLE),
        _eeprom("cw_dead_zone", 26, 1, 1, minimum=0, maximum=32, unit=_COUNT),
        _eeprom("ccw_dead_zone", 27, 1, 1, minimum=0, maximum=32, unit=_COUNT),
        _eeprom("protection_current", 28, 2, 500, minimum=0, maximum=511, unit="6.5 mA"),
        _eeprom("angular_resolution", 30, 1, 1),
        _signed(
            "homing_offset",
            31,
            11,
            eeprom=True,
            minimum=-2047,
            maximum=2047,
            unit=_COUNT,
        ),
        _eeprom("operating_mode", 33, 1, 0, minimum=0, maximum=3),
        _eeprom("protective_torque", 34, 1, 20, minimum=0, maximum=100, unit="1 % of stall"),
        _eeprom("protection_time", 35, 1, 200, unit="10 ms"),
        _eeprom("overload_torque", 36, 1, 80, minimum=0, maximum=100, unit="1 % of stall"),
        _eeprom("velocity_p_gain", 37, 1, 10),
        _eeprom("overcurrent_protection_time", 38, 1, 200, unit="10 ms"),
        _eeprom("velocity_i_gain", 39, 1, 10),
        # 128 written here makes the present position the middle (2048).
        Register("torque_enable", 40, 1, maximum=128),
        Register("acceleration", 41, 1, unit="100 count/s²", maximum=254),
        _signed("goal_position", 42, 15, unit=_COUNT),
        Register("goal_time", 44, 2, unit="1 ms"),
        _signed("goal_velocity", 46, 15, unit=_SPEED),
        Register("torque_limit", 48, 2, default=1000, maximum=1000, unit=_PERMILLE),
        # 1: EEPROM writes are lost at power-off; 0: they are stored.
        Register("lock", 55, 1, default=1, maximum=1),
        _signed("present_position", 56, 15, access="r", default=None, unit=_COUNT),
        _signed("present_velocity", 58, 15, access="r", default=None, unit=_SPEED),
        _signed("present_load", 60, 10, access="r", default=None, unit=_PERMILLE),
        Register("present_input_voltage", 62, 1, access="r", default=None, unit="0.1 V"),
        Register("present_temperature", 63, 1, access="r", default=None, unit="1 °C"),
        Register("registered_instruction", 64, 1, access="r"),
        Register("hardware_error_status", 65, 1, access="r"),
        Register("moving", 66, 1, access="r"),
        _signed("present_current", 69, 15, access="r", default=None, unit="6.5 mA"),
    )
)
