# SPDX-License-Identifier: Apache-2.0
"""Carries out a fault script on an emulated bus."""

from __future__ import annotations

import math
from dataclasses import dataclass

from na_sim.faults.effect import Effect, FaultTarget
from na_sim.faults.injector import FaultInjector
from na_sim.faults.script import FaultScript, ScriptEntry


@dataclass
class _Progress:
    """Where one entry stands; times are the bus's clock [s]."""

    entry: ScriptEntry
    begins: float = math.inf
    ends: float = math.inf
    done: bool = False
    active: bool = False


class FaultRunner:
    """Begins and ends faults; call `step` often (it is cheap), from any one thread.

    The bus must have been made with `injector` as its faults. `step` must not be called from the
    port's own thread: a pulled cable waits for that.
    """

    def __init__(
        self, injector: FaultInjector, target: FaultTarget, script: FaultScript | None = None
    ) -> None:
        self.injector = injector
        self.target = target
        self._progress = [_Progress(entry) for entry in (script.entries if script else ())]
        self._started: float | None = None

    def step(self) -> list[str]:
        """Bring the faults up to the bus's clock; return what began or ended, for a log."""
        now = self.target.bus.clock()
        if self._started is None:
            self._started = now
            for item in self._progress:
                if item.entry.at is not None:
                    item.begins = now + item.entry.at
        news: list[str] = []
        for item in self._progress:
            if item.done:
                continue
            if item.begins == math.inf and self._triggered(item.entry.when):
                item.begins = now + item.entry.after
            if not item.active and now >= item.begins:
                item.active = True
                item.ends = now + item.entry.duration
                self.begin(item.entry.effect)
                news.append(f"fault {item.entry.name} begins")
            elif item.active and now >= item.ends:
                item.active, item.done = False, True
                self.end(item.entry.effect)
                news.append(f"fault {item.entry.name} ends")
        return news

    def begin(self, effect: Effect) -> None:
        """Begin a fault now, script or not."""
        effect.begin(self.target)
        self.injector.add(effect)

    def end(self, effect: Effect) -> None:
        """End a fault now."""
        self.injector.remove(effect)
        effect.end(self.target)

    def _triggered(self, when: str | None) -> bool:
        bus = self.target.bus
        match when:
            case "torque_on":
                return any(bus.torque_enabled().values())
            case "torque_off":
                return not any(bus.torque_enabled().values())
            case "moving":
                return any(servo.registers.get("moving") for servo in bus.servos)
            case "at_rest":
                return not any(servo.registers.get("moving") for servo in bus.servos)
        return False
