# SPDX-License-Identifier: Apache-2.0
"""Instructions and errors of Protocol 2.0, and how multi-servo parameters are laid out.

Source: ROBOTIS e-manual, "DYNAMIXEL Protocol 2.0", instruction details and error field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Instruction(IntEnum):
    """Instruction byte."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    FACTORY_RESET = 0x06
    REBOOT = 0x08
    CLEAR = 0x10
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A
    BULK_READ = 0x92
    BULK_WRITE = 0x93
    FAST_BULK_READ = 0x9A


class StatusError(IntEnum):
    """Error number of a status packet; the alert bit is added to it."""

    NONE = 0
    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


ALERT = 0x80  # a hardware error is present; read hardware_error_status


class HardwareError(IntEnum):
    """Bits of hardware_error_status and of shutdown."""

    INPUT_VOLTAGE = 0x01
    OVERHEATING = 0x04
    MOTOR_ENCODER = 0x08
    ELECTRICAL_SHOCK = 0x10
    OVERLOAD = 0x20


CLEAR_MULTI_TURN = b"\x01\x44\x58\x4c\x22"  # the only documented parameters of CLEAR

RESET_ALL = 0xFF
RESET_ALL_BUT_ID = 0x01
RESET_ALL_BUT_ID_AND_BAUD = 0x02


class ParameterLayoutError(ValueError):
    """The parameters do not have the layout of their instruction."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One servo's share of a read: `length` bytes from `address`."""

    id: int
    address: int
    length: int


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One servo's share of a write: `data` to `address`."""

    id: int
    address: int
    data: bytes


def _word(data: bytes, at: int) -> int:
    return data[at] | data[at + 1] << 8


def _unique(ids: list[int]) -> None:
    if not ids or len(set(ids)) != len(ids):
        raise ParameterLayoutError(f"expected each servo id once, got {ids}")


def parse_read(servo_id: int, parameters: bytes) -> ReadRequest:
    """Return the request of a READ."""
    if len(parameters) != 4:
        raise ParameterLayoutError(f"READ carries {len(parameters)} bytes, expected 4")
    return ReadRequest(servo_id, _word(parameters, 0), _word(parameters, 2))


def parse_write(servo_id: int, parameters: bytes) -> WriteRequest:
    """Return the request of a WRITE or REG_WRITE."""
    if len(parameters) < 3:
        raise ParameterLayoutError(f"WRITE carries {len(parameters)} bytes, expected 3 or more")
    return WriteRequest(servo_id, _word(parameters, 0), parameters[2:])


def parse_sync_read(parameters: bytes) -> list[ReadRequest]:
    """Return the requests of a SYNC_READ or FAST_SYNC_READ, in reply order."""
    if len(parameters) < 5:
        raise ParameterLayoutError(f"SYNC_READ carries {len(parameters)} bytes, expected 5 or more")
    address, length, ids = _word(parameters, 0), _word(parameters, 2), list(parameters[4:])
    _unique(ids)
    return [ReadRequest(i, address, length) for i in ids]


def parse_sync_write(parameters: bytes) -> list[WriteRequest]:
    """Return the requests of a SYNC_WRITE."""
    if len(parameters) < 6:
        raise ParameterLayoutError(
            f"SYNC_WRITE carries {len(parameters)} bytes, expected 6 or more"
        )
    address, length, rest = _word(parameters, 0), _word(parameters, 2), parameters[4:]
    step = length + 1
    if length == 0 or len(rest) % step:
        raise ParameterLayoutError(f"SYNC_WRITE of {length} bytes leaves {len(rest)} % {step}")
    requests = [
        WriteRequest(rest[i], address, rest[i + 1 : i + step]) for i in range(0, len(rest), step)
    ]
    _unique([r.id for r in requests])
    return requests


def parse_bulk_read(parameters: bytes) -> list[ReadRequest]:
    """Return the requests of a BULK_READ or FAST_BULK_READ, in reply order."""
    if len(parameters) % 5:
        raise ParameterLayoutError(f"BULK_READ carries {len(parameters)} bytes, expected 5 a servo")
    requests = [
        ReadRequest(parameters[i], _word(parameters, i + 1), _word(parameters, i + 3))
        for i in range(0, len(parameters), 5)
    ]
    _unique([r.id for r in requests])
    return requests


def parse_bulk_write(parameters: bytes) -> list[WriteRequest]:
    """Return the requests of a BULK_WRITE."""
    requests: list[WriteRequest] = []
    at = 0
    while at < len(parameters):
        if at + 5 > len(parameters):
            raise ParameterLayoutError(f"BULK_WRITE ends inside the head of entry {len(requests)}")
        length = _word(parameters, at + 3)
        data = parameters[at + 5 : at + 5 + length]
        if length == 0 or len(data) != length:
            raise ParameterLayoutError(
                f"BULK_WRITE entry {len(requests)} has {len(data)} bytes, expected {length}"
            )
        requests.append(WriteRequest(parameters[at], _word(parameters, at + 1), data))
        at += 5 + length
    _unique([r.id for r in requests])
    return requests
