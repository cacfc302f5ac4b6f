# SPDX-License-Identifier: Apache-2.0
"""Random and damaged bytes neither crash nor hang the bus: it answers the next ping."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from na_sim.dynamixel import BusEmulator, KinematicPlant, ServoConfig
from na_sim.dynamixel.instructions import Instruction
from na_sim.dynamixel.packet import BROADCAST_ID, instruction_packet
from na_sim.wire.testing import FakeClock

IDS = (11, 12, 13, 14, 15)
# Instructions that change identity or take servos off the bus are left out of the well-formed
# ones, so that "answers a ping" keeps meaning something; random bytes may still hit them.
_INSTRUCTIONS = [int(i) for i in Instruction if i not in (0x06, 0x08)]
_ALPHABET = np.array([0x00, 0x01, 0xFF, 0xFD, 0xFE, 0x55, *IDS], dtype=np.uint8)


def valid_packet(rng: np.random.Generator) -> bytes:
    """Return a packet with right framing and CRC and random contents."""
    servo_id = int(rng.choice([*IDS, BROADCAST_ID, 99]))
    instruction = int(rng.choice(_INSTRUCTIONS))
    parameters = rng.integers(0, 256, rng.integers(0, 40), dtype=np.uint8)
    if parameters.size >= 4 and rng.random() < 0.7:
        # Plausible address and length; the id, baud and status-level registers stay as they are.
        parameters[0:4] = (rng.choice([64, 84, 98, 100, 116, 132, 168, 224]), 0, rng.choice(8), 0)
    elif instruction in (Instruction.WRITE, Instruction.REG_WRITE, 0x83, 0x93):
        parameters[:2] = 0xEE
    return instruction_packet(servo_id, instruction, parameters.tobytes())


def mutated(packet: bytes, rng: np.random.Generator) -> bytes:
    """Return `packet` cut, doubled, with bytes flipped, inserted or removed."""
    data = bytearray(packet)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, len(data))) if data else 0
        match int(rng.integers(0, 5)):
            case 0 if data:
                data[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                data.insert(at, int(rng.choice(_ALPHABET)))
            case 2 if data:
                del data[at]
            case 3:
                del data[at:]
            case _:
                data += data[:at]
    return bytes(data)


def noise(count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` strings: uniform bytes, header-like bytes, valid and damaged packets."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        kind = i % 4
        if kind == 0:
            yield rng.integers(0, 256, rng.integers(1, 65), dtype=np.uint8).tobytes()
        elif kind == 1:
            yield rng.choice(_ALPHABET, rng.integers(1, 33)).tobytes()
        elif kind == 2:
            yield valid_packet(rng)
        else:
            yield mutated(valid_packet(rng), rng)


def storm(count: int, seed: int) -> BusEmulator:
    """Throw `count` strings at a bus, pinging now and then; return the bus."""
    clock = FakeClock()
    bus = BusEmulator([ServoConfig(i) for i in IDS], KinematicPlant(5), clock=clock)
    pings = {s: instruction_packet(s, Instruction.PING) for s in IDS}
    for i, data in enumerate(noise(count, seed)):
        for exchange in bus.receive(data):
            for reply in exchange.replies:
                assert 0 < len(reply.data) < 5 * 1100
        if i % 7 == 0:
            clock.sleep(0.001)
        if i % 100 == 99:
            clock.sleep(0.02)  # a controller that gives up leaves a gap
            for servo in bus.servos:
                answer = bus.receive(pings[servo.config.id])
                assert len(answer) == 1 and len(answer[0].replies) == 1, (i, servo.config.id)
    return bus


def test_bus_answers_after_noise() -> None:
    bus = storm(5_000, seed=20)
    assert bus.counters.packets > 500
    assert bus.counters.crc_errors > 50


@pytest.mark.slow
def test_bus_answers_after_100000_random_strings() -> None:
    bus = storm(100_000, seed=21)
    assert bus.counters.packets > 10_000


def test_ping_straight_after_noise_is_answered() -> None:
    # No gap: whatever half packet the noise left behind, the next header ends it.
    bus = BusEmulator([ServoConfig(11)], KinematicPlant(1), clock=FakeClock())
    ping = instruction_packet(11, Instruction.PING)
    rng = np.random.default_rng(22)
    for _ in range(2_000):
        packet = instruction_packet(11, Instruction.READ, b"\x84\x00\x04\x00")
        bus.receive(mutated(packet, rng))
        answers = [r for e in bus.receive(ping) for r in e.replies]
        assert any(len(r.data) == 14 for r in answers)
