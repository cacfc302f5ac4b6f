# SPDX-License-Identifier: Apache-2.0
"""Faults of cable and adapter: bytes lost, late, doubled, damaged; servos that are not heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from na_sim.faults.effect import Effect, FaultTarget
from na_sim.wire.pty_port import PtyPort
from na_sim.wire.wire_faults import Transmission

DIRECTIONS = ("both", "to_servos", "from_servos")


@dataclass
class _RandomBytes(Effect):
    """Something that befalls each byte with probability `rate`, in one direction or both."""

    rate: float = 0.01
    direction: str = "both"
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.rate <= 1.0:
            raise ValueError(f"rate {self.rate}: expected a probability per byte, 0 to 1")
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction {self.direction!r}: expected one of {DIRECTIONS}")
        self._random = np.random.default_rng([self.seed, 0xFA17])

    def _hit(self, data: bytes) -> np.ndarray:
        return self._random.random(len(data)) < self.rate

    def change(self, data: bytes) -> bytes:
        """Return what becomes of `data`."""
        raise NotImplementedError

    def incoming(self, data: bytes, now: float) -> bytes:
        """Change what the servos hear."""
        return data if self.direction == "from_servos" else self.change(data)

    def outgoing(self, servo_id: int, data: bytes, now: float) -> Sequence[Transmission]:
        """Change what the controller hears."""
        if self.direction == "to_servos" or not self.concerns(servo_id):
            return (Transmission(data),)
        return (Transmission(self.change(data)),)


@dataclass
class CorruptBytes(_RandomBytes):
    """Each byte becomes another one with probability `rate`."""

    def change(self, data: bytes) -> bytes:
        """Return `data` with some bytes replaced."""
        hit = self._hit(data)
        if not hit.any():
            return data
        flips = self._random.integers(1, 256, len(data), dtype=np.uint8)
        array = np.frombuffer(data, dtype=np.uint8)
        return np.where(hit, array ^ flips, array).astype(np.uint8).tobytes()


@dataclass
class DropBytes(_RandomBytes):
    """Each byte is lost with probability `rate`."""

    def change(self, data: bytes) -> bytes:
        """Return `data` with some bytes missing."""
        return bytes(np.frombuffer(data, dtype=np.uint8)[~self._hit(data)])


@dataclass
class DuplicateBytes(_RandomBytes):
    """Each byte arrives twice with probability `rate`."""

    def change(self, data: bytes) -> bytes:
        """Return `data` with some bytes doubled."""
        return np.repeat(np.frombuffer(data, dtype=np.uint8), 1 + self._hit(data)).tobytes()


@dataclass
class DelayBytes(Effect):
    """Each answer comes `delay` [s] late with probability `rate`, those behind it as well."""

    delay: float = 0.030
    rate: float = 0.1
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.delay < 0.0:
            raise ValueError(f"delay {self.delay} s: expected zero or more")
        self._random = np.random.default_rng([self.seed, 0xDE1A])

    def outgoing(self, servo_id: int, data: bytes, now: float) -> Sequence[Transmission]:
        """Hold some answers back."""
        late = self.concerns(servo_id) and self._random.random() < self.rate
        return (Transmission(data, self.delay if late else 0.0),)


@dataclass
class LatencyTimer(Effect):
    """An adapter that hands on what it received only every `delay` [s] (FTDI factory: 16 ms)."""

    delay: float = 0.016
    _waiting: bool = field(default=False, init=False, repr=False)

    def incoming(self, data: bytes, now: float) -> bytes:
        """Begin an exchange: its first answer will wait."""
        self._waiting = True
        return data

    def outgoing(self, servo_id: int, data: bytes, now: float) -> Sequence[Transmission]:
        """Hold the first answer of an exchange back, and the others behind it."""
        delay, self._waiting = (self.delay if self._waiting else 0.0), False
        return (Transmission(data, delay),)


@dataclass
class Silent(Effect):
    """The servos neither hear nor answer: a connector between them came loose."""

    def silent(self, servo_id: int, now: float) -> bool:
        """Mute the servos concerned."""
        return self.concerns(servo_id)


@dataclass
class CablePulled(Effect):
    """The port vanishes; when the fault ends it comes back, as `replug_as` if that is given."""

    replug_as: str = ""

    def begin(self, target: FaultTarget) -> None:
        """Close the port; the servos keep their power."""
        _port(target).close()

    def end(self, target: FaultTarget) -> None:
        """Plug the cable in again."""
        port = _port(target)
        if self.replug_as:
            port.link = Path(self.replug_as)
        if not port.is_open:
            port.open()


def _port(target: FaultTarget) -> PtyPort:
    if target.port is None:
        raise ValueError("fault cable_pulled needs a bus that is served on a port")
    return target.port
