# SPDX-License-Identifier: Apache-2.0
"""What every fault is: hooks on the wire while it lasts, and something done when it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from na_sim.wire.emulated_bus import EmulatedBus
from na_sim.wire.pty_port import PtyPort
from na_sim.wire.wire_faults import WireFaults


@dataclass(frozen=True)
class FaultTarget:
    """What faults act on: the emulated bus and, where there is one, its port."""

    bus: EmulatedBus[Any]
    port: PtyPort | None = None


@dataclass
class Effect(WireFaults):
    """A fault. `ids`: servos concerned, None for all; `seed` of anything random.

    The hooks of WireFaults are called only between `begin` and `end`.
    """

    ids: tuple[int, ...] | None = None
    seed: int = 0

    def concerns(self, servo_id: int) -> bool:
        """Return whether the fault is about servo `servo_id`."""
        return self.ids is None or servo_id in self.ids

    def chosen(self, target: FaultTarget) -> list[int]:
        """Return the ids on the bus that the fault is about; KeyError for one that is not there."""
        if self.ids is None:
            return list(dict.fromkeys(servo.id for servo in target.bus.servos))
        return [target.bus.servo(id).id for id in self.ids]

    def begin(self, target: FaultTarget) -> None:
        """Take effect; the hooks are called from here on."""

    def end(self, target: FaultTarget) -> None:
        """Stop; the hooks are not called any more."""
