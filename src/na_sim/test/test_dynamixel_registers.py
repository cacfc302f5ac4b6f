# SPDX-License-Identifier: Apache-2.0
"""Access rules of the register file: what a servo refuses, and with which error number."""

from __future__ import annotations

import pytest

from na_sim.dynamixel.instructions import StatusError
from na_sim.dynamixel.servo_registers import RegisterError, ServoRegisters


@pytest.fixture
def registers() -> ServoRegisters:
    made = ServoRegisters("xm430-w350")
    made.put("goal_pwm", 885)
    return made


def refused(registers: ServoRegisters, address: int, data: bytes) -> StatusError:
    before = bytes(registers.data)
    with pytest.raises(RegisterError) as caught:
        registers.write(address, data)
    assert bytes(registers.data) == before, "a refused write must change nothing"
    return caught.value.error


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little", signed=value < 0)


@pytest.mark.parametrize(
    ("what", "address", "data", "error"),
    [
        ("model number is read-only", 0, number(1, 2), StatusError.ACCESS),
        ("present position is read-only", 132, number(1, 4), StatusError.ACCESS),
        ("14 is in no register", 14, number(1, 1), StatusError.ACCESS),
        ("past the end of the table", 661, number(1, 2), StatusError.ACCESS),
        ("two bytes of a four-byte goal", 116, number(1, 2), StatusError.DATA_LENGTH),
        ("from the middle of a goal", 118, number(1, 2), StatusError.DATA_LENGTH),
        ("goal and half the next register", 116, number(1, 5), StatusError.DATA_LENGTH),
        ("torque 2", 64, number(2, 1), StatusError.DATA_RANGE),
        ("id 253", 7, number(253, 1), StatusError.DATA_RANGE),
        ("operating mode 2 does not exist", 11, number(2, 1), StatusError.DATA_RANGE),
        ("drive mode bit 1 is unused", 10, number(2, 1), StatusError.DATA_RANGE),
        ("watchdog −1 is a state, not a setting", 98, number(-1, 1), StatusError.DATA_RANGE),
        ("PWM limit 886", 36, number(886, 2), StatusError.DATA_RANGE),
        ("goal PWM above the limit", 100, number(886, 2), StatusError.DATA_LIMIT),
        ("goal current below the limit", 102, number(-1194, 2), StatusError.DATA_LIMIT),
        ("goal velocity above the limit", 104, number(201, 4), StatusError.DATA_LIMIT),
        ("goal position 4096", 116, number(4096, 4), StatusError.DATA_LIMIT),
        ("goal position −1", 116, number(-1, 4), StatusError.DATA_LIMIT),
        ("goal position beyond 256 turns", 116, number(1_048_576, 4), StatusError.DATA_RANGE),
    ],
)
def test_refused_writes_name_their_error(
    registers: ServoRegisters, what: str, address: int, data: bytes, error: StatusError
) -> None:
    assert refused(registers, address, data) == error, what


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("goal_position", 0),
        ("goal_position", 4095),
        ("goal_velocity", -200),
        ("goal_current", 1193),
        ("bus_watchdog", 127),
        ("homing_offset", -1_044_479),
        ("operating_mode", 16),
    ],
)
def test_bounds_themselves_are_accepted(registers: ServoRegisters, name: str, value: int) -> None:
    register = registers.table[name]
    assert registers.write(register.address, register.encode(value)) == [name]
    assert registers.get(name) == value


def test_multi_turn_goals_pass_in_extended_position_mode(registers: ServoRegisters) -> None:
    registers.put("operating_mode", 4)
    registers.write(116, number(-40_000, 4))
    assert registers.get("goal_position") == -40_000


def test_one_write_may_cover_neighbours_and_is_all_or_nothing(registers: ServoRegisters) -> None:
    data = number(30, 4) + number(100, 4) + number(1000, 4)
    assert registers.write(108, data) == [
        "profile_acceleration",
        "profile_velocity",
        "goal_position",
    ]
    bad = number(31, 4) + number(101, 4) + number(9999, 4)
    assert refused(registers, 108, bad) == StatusError.DATA_LIMIT


def test_eeprom_is_locked_while_torque_is_on(registers: ServoRegisters) -> None:
    registers.write(64, b"\x01")
    assert refused(registers, 9, b"\x00") == StatusError.ACCESS
    assert refused(registers, 11, b"\x04") == StatusError.ACCESS
    registers.write(84, number(850, 2))  # RAM stays open
    registers.write(64, b"\x00")
    registers.write(9, b"\x00")
    assert registers.get("return_delay_time") == 0


def test_reads_cross_gaps_but_not_the_end(registers: ServoRegisters) -> None:
    assert registers.read(0, 147)[0:2] == number(1020, 2)
    assert registers.read(14, 6) == bytes(6)
    for address, length in ((660, 3), (700, 1), (0, 0), (65_535, 65_535)):
        with pytest.raises(RegisterError, match="the table ends at 662"):
            registers.read(address, length)


def test_indirect_data_stands_for_the_register_it_points_to(registers: ServoRegisters) -> None:
    # Manual: indirect address 1 = LED; indirect data 1 then is the LED.
    registers.write(168, number(65, 2))
    registers.write(224, b"\x01")
    assert registers.get("led") == 1 and registers.read(224, 1) == b"\x01"
    assert refused(registers, 224, b"\x02") == StatusError.DATA_RANGE
    # Four neighbours make a four-byte goal.
    registers.write(170, b"".join(number(116 + i, 2) for i in range(4)))
    registers.write(225, number(1024, 4))
    assert registers.get("goal_position") == 1024
    assert refused(registers, 225, number(10, 2)) == StatusError.DATA_LENGTH
    assert refused(registers, 225, number(5000, 4)) == StatusError.DATA_LIMIT
    assert registers.read(224, 5) == b"\x01" + number(1024, 4)


def test_indirect_data_is_plain_memory_as_delivered(registers: ServoRegisters) -> None:
    registers.write(230, b"\x2a\x2b")
    assert registers.read(230, 2) == b"\x2a\x2b"
    registers.write(640, b"\x07")
    assert registers.read(640, 1) == b"\x07"


def test_indirect_address_cannot_point_to_eeprom(registers: ServoRegisters) -> None:
    assert refused(registers, 168, number(7, 2)) == StatusError.DATA_RANGE


def test_xl430_has_no_current_modes() -> None:
    xl430 = ServoRegisters("xl430-w250")
    assert refused(xl430, 11, b"\x00") == StatusError.DATA_RANGE
    assert refused(xl430, 11, b"\x05") == StatusError.DATA_RANGE
    assert refused(xl430, 102, number(1, 2)) == StatusError.ACCESS


def test_present_values_saturate_instead_of_wrapping(registers: ServoRegisters) -> None:
    registers.put_present((40_000, -40_000, 1 << 40, -(1 << 40), 0, 0, -5, 300))
    assert registers.get("present_pwm") == 32_767
    assert registers.get("present_current") == -32_768
    assert registers.get("present_velocity") == 2**31 - 1
    assert registers.get("present_position") == -(2**31)
    assert registers.get("present_input_voltage") == 0
    assert registers.get("present_temperature") == 255
