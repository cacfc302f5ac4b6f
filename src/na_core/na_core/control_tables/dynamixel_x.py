# SPDX-License-Identifier: Apache-2.0
"""Dynamixel X series, Protocol 2.0: XM430-W350/W210, XL430-W250, XL330-M288/M077.

Source: ROBOTIS e-manual, the control table page of each model
(https://emanual.robotis.com/docs/en/dxl/x/xm430-w350/ and siblings).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from na_core.control_tables.register import Register, by_name

# Value of baud_rate (address 8) → bit/s. XL330 stops at 6.
DYNAMIXEL_BAUD_RATES: Mapping[int, int] = {
    0: 9_600,
    1: 57_600,
    2: 115_200,
    3: 1_000_000,
    4: 2_000_000,
    5: 3_000_000,
    6: 4_000_000,
    7: 4_500_000,
}

_GAIN_MAX = 16_383
_MULTI_TURN = 1_048_575  # counts: ±256 turns

_RPM = "0.229 rev/min"
_PWM = "1/885 of the supply"
_COUNT = "2π/4096 rad"


def _eeprom(name: str, address: int, size: int, default: int | None, **extra: Any) -> Register:
    return Register(name, address, size, eeprom=True, default=default, **extra)


def _ram(name: str, address: int, size: int, default: int | None, **extra: Any) -> Register:
    return Register(name, address, size, default=default, **extra)


def _present(name: str, address: int, size: int, **extra: Any) -> Register:
    return Register(name, address, size, access="r", default=None, **extra)


def _gain(name: str, address: int, default: int) -> Register:
    return _ram(name, address, 2, default, minimum=0, maximum=_GAIN_MAX)


# XM430-W350 without the indirect block.
_XM430_W350: tuple[Register, ...] = (
    Register("model_number", 0, 2, access="r", eeprom=True, default=1020),
    Register("model_information", 2, 4, access="r", eeprom=True, default=0),
    Register("firmware_version", 6, 1, access="r", eeprom=True, default=None),
    _eeprom("id", 7, 1, 1, minimum=0, maximum=252),
    _eeprom("baud_rate", 8, 1, 1, minimum=0, maximum=7),
    _eeprom("return_delay_time", 9, 1, 250, minimum=0, maximum=254, unit="2 µs"),
    _eeprom("drive_mode", 10, 1, 0, minimum=0, maximum=13),
    _eeprom("operating_mode", 11, 1, 3, minimum=0, maximum=16),
    _eeprom("secondary_id", 12, 1, 255),
    _eeprom("protocol_type", 13, 1, 2, minimum=1, maximum=22),
    _eeprom(
        "homing_offset", 20, 4, 0, signed=True, minimum=-1_044_479, maximum=1_044_479, unit=_COUNT
    ),
    _eeprom("moving_threshold", 24, 4, 10, minimum=0, maximum=1_023, unit=_RPM),
    _eeprom("temperature_limit", 31, 1, 80, minimum=0, maximum=100, unit="1 °C"),
    _eeprom("max_voltage_limit", 32, 2, 160, minimum=95, maximum=160, unit="0.1 V"),
    _eeprom("min_voltage_limit", 34, 2, 95, minimum=95, maximum=160, unit="0.1 V"),
    _eeprom("pwm_limit", 36, 2, 885, minimum=0, maximum=885, unit=_PWM),
    _eeprom("current_limit", 38, 2, 1193, minimum=0, maximum=1_193, unit="2.69 mA"),
    _eeprom("velocity_limit", 44, 4, 200, minimum=0, maximum=1_023, unit=_RPM),
    _eeprom("max_position_limit", 48, 4, 4095, minimum=0, maximum=4_095, unit=_COUNT),
    _eeprom("min_position_limit", 52, 4, 0, minimum=0, maximum=4_095, unit=_COUNT),
    _eeprom("startup_configuration", 60, 1, 0, minimum=0, maximum=3),
    _eeprom("shutdown", 63, 1, 0x34, minimum=0, maximum=0x3F),
    _ram("torque_enable", 64, 1, 0, minimum=0, maximum=1),
    _ram("led", 65, 1, 0, minimum=0, maximum=1),
    _ram("status_return_level", 68, 1, 2, minimum=0, maximum=2),
    Register("registered_instruction", 69, 1, access="r"),
    Register("hardware_error_status", 70, 1, access="r"),
    _gain("velocity_i_gain", 76, 1920),
    _gain("velocity_p_gain", 78, 100),
    _gain("position_d_gain", 80, 0),
    _gain("position_i_gain", 82, 0),
    _gain("position_p_gain", 84, 800),
    _gain("feedforward_2nd_gain", 88, 0),
    _gain("feedforward_1st_gain", 90, 0),
    # −1 is the latched error state; only 0 to 127 may be written.
    _ram("bus_watchdog", 98, 1, 0, signed=True, minimum=0, maximum=127, unit="20 ms"),
    _ram("goal_pwm", 100, 2, None, signed=True, unit=_PWM),
    _ram("goal_current", 102, 2, None, signed=True, unit="2.69 mA"),
    _ram("goal_velocity", 104, 4, 0, signed=True, unit=_RPM),
    _ram("profile_acceleration", 108, 4, 0, minimum=0, maximum=32_767, unit="214.577 rev/min²"),
    _ram("profile_velocity", 112, 4, 0, minimum=0, maximum=32_767, unit=_RPM),
    _ram(
        "goal_position",
        116,
        4,
        None,
        signed=True,
        minimum=-_MULTI_TURN,
        maximum=_MULTI_TURN,
        unit=_COUNT,
    ),
    _present("realtime_tick", 120, 2, unit="1 ms, wraps after 32767"),
    _present("moving", 122, 1),
    _present("moving_status", 123, 1),
    _present("present_pwm", 124, 2, signed=True, unit=_PWM),
    _present("present_current", 126, 2, signed=True, unit="2.69 mA"),
    _present("present_velocity", 128, 4, signed=True, unit=_RPM),
    _present("present_position", 132, 4, signed=True, unit=_COUNT),
    _present("velocity_trajectory", 136, 4, signed=True, unit=_RPM),
    _present("position_trajectory", 140, 4, signed=True, unit=_COUNT),
    _present("present_input_voltage", 144, 2, unit="0.1 V"),
    _present("present_temperature", 146, 1, unit="1 °C"),
    Register("backup_ready", 147, 1, access="r"),
)

_PRESENT_LOAD = _present("present_load", 126, 2, signed=True, unit="0.1 %")


def _indirect(addresses: int, data: int, count: int, first: int, end: int) -> list[Register]:
    """Return `count` pairs numbered from `first`; every address byte maps to its own data byte."""
    block = [
        _ram(
            f"indirect_address_{first + i}",
            addresses + 2 * i,
            2,
            data + i,
            minimum=64,
            maximum=end - 1,
        )
        for i in range(count)
    ]
    return block + [_ram(f"indirect_data_{first + i}", data + i, 1, 0) for i in range(count)]


_INDIRECT_X430 = _indirect(168, 224, 28, 1, 662) + _indirect(578, 634, 28, 29, 662)
_INDIRECT_XL330 = _indirect(168, 208, 20, 1, 228)


def _variant(
    changes: Mapping[str, Mapping[str, Any]],
    *,
    drop: Iterable[str] = (),
    add: Iterable[Register] = (),
    indirect: Iterable[Register] = _INDIRECT_X430,
) -> dict[str, Register]:
    """Return the XM430-W350 table with some fields changed, dropped or added."""
    dropped = set(drop)
    registers = [
        replace(register, **changes.get(register.name, {}))
        for register in _XM430_W350
        if register.name not in dropped
    ]
    return by_name(sorted([*registers, *add, *indirect], key=lambda r: r.address))


_MILLIAMPERE = {"current_limit", "goal_current", "present_current"}


def _xl330(number: int, velocity_limit: int) -> dict[str, Register]:
    """Return the table of an XL330: 5 V supply, currents in mA, smaller indirect block."""
    changes: dict[str, dict[str, Any]] = {name: {"unit": "1 mA"} for name in _MILLIAMPERE}
    changes |= {
        "model_number": {"default": number},
        "baud_rate": {"maximum": 6},
        "temperature_limit": {"default": 70},
        "max_voltage_limit": {"default": 70, "minimum": 31, "maximum": 70},
        "min_voltage_limit": {"default": 35, "minimum": 31, "maximum": 70},
        "current_limit": {"default": 1750, "maximum": 1750, "unit": "1 mA"},
        "velocity_limit": {"default": velocity_limit, "maximum": 2047},
        "shutdown": {"default": 0x35},
        "velocity_i_gain": {"default": 1600},
        "velocity_p_gain": {"default": 180},
        "position_p_gain": {"default": 400},
    }
    slope = _eeprom("pwm_slope", 62, 1, 140, minimum=1, maximum=255, unit="1.977 mV/ms")
    return _variant(changes, add=[slope], indirect=_INDIRECT_XL330)


DYNAMIXEL_X_MODELS: Mapping[str, Mapping[str, Register]] = {
    "xm430-w350": _variant({}),
    "xm430-w210": _variant({"model_number": {"default": 1030}, "velocity_limit": {"default": 330}}),
    "xl430-w250": _variant(
        {
            "model_number": {"default": 1060},
            "temperature_limit": {"default": 72},
            "max_voltage_limit": {"default": 140, "minimum": 60, "maximum": 140},
            "min_voltage_limit": {"default": 60, "minimum": 60, "maximum": 140},
            "velocity_limit": {"default": 265},
            "velocity_i_gain": {"default": 1000},
            "position_d_gain": {"default": 4000},
            "position_p_gain": {"default": 640},
        },
        drop=_MILLIAMPERE,
        add=[_PRESENT_LOAD],
    ),
    "xl330-m288": _xl330(1200, 445),
    "xl330-m077": _xl330(1190, 1620),
}

# Addresses shared by the series. `present_load` (XL430) is `present_current` of the others.
DYNAMIXEL_X: Mapping[str, Register] = {
    **DYNAMIXEL_X_MODELS["xm430-w350"],
    "present_load": _PRESENT_LOAD,
}
