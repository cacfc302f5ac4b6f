# SPDX-License-Identifier: Apache-2.0
"""Time-domain passivity: feedback may return to the hand what it took, and no more.

After Hannaford and Ryu, "Time-domain passivity control of haptic interfaces" (2002). The energy
that the rendered torque has taken from the hand is summed exactly for a torque that is held between
two reads: E -= torque · (q - q_before). A spring-like wall has E >= 0 at every moment. Delay,
sampling and a wrong gain make it negative: the rendered wall then drives the hand, and a contact
begins to shake. Two answers, in this order: damping that dissipates the deficit within the next
period, as far as `damping` allows; and fading the feedback out in proportion to the deficit, down
to nothing at `energy`. A deficit is forgiven over FORGIVE_S, so the power that can leak is at most
energy / FORGIVE_S. Torque that the current limit cuts off is counted as rendered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORGIVE_S = 1.0  # time constant over which a deficit is forgiven [s]


@dataclass(frozen=True, slots=True)
class Guarded:
    """What the guard makes of one tick's feedback.

    Attributes:
        torque: to render (n,), damping included [N·m or N].
        energy: balance [J]; negative: feedback has given more than it took.
        share: what is left of the feedback, 1 untouched.
        damping: injected damping [N·m·s/rad].

    """

    torque: Array
    energy: float
    share: float
    damping: float


class PassivityGuard:
    """Watches the energy of the rendered torque and keeps its balance from going negative."""

    def __init__(
        self, damping: float, energy: float, reserve: float, *, active: bool = True
    ) -> None:
        """`damping` [N·m·s/rad], `energy` and `reserve` [J]; see the module's text.

        `active` False: observes only.
        """
        if energy <= 0.0:
            raise ValueError(f"passivity guard energy {energy} J, expected more than 0")
        self.damping, self.allowed, self.reserve = damping, energy, reserve
        self.active = active
        self.energy = 0.0
        self.lowest = 0.0
        self._rendered: Array | None = None
        self._position: Array | None = None

    def reset(self) -> None:
        """Forget everything, as when torque goes off."""
        self.energy = 0.0
        self._rendered = self._position = None

    def step(self, torque: Array, position: Array, dt: float) -> Guarded:
        """Account for the torque rendered since the last read, and guard the next one.

        Args:
            torque: feedback asked for (n,) [N·m or N].
            position: joint positions read (n,) [rad or m].
            dt: time since the last read [s], positive.

        """
        moved = np.zeros_like(position)
        if self._rendered is not None and self._position is not None:
            moved = position - self._position
            self.energy -= float(self._rendered @ moved)
        self.energy = min(self.energy, self.reserve)
        if self.energy < 0.0:
            self.energy -= self.energy * min(1.0, dt / FORGIVE_S)
        self.lowest = min(self.lowest, self.energy)
        damping, share = 0.0, 1.0
        if self.active and self.energy < 0.0:
            velocity = moved / dt
            speed2 = float(velocity @ velocity)
            if speed2 > 1e-9:
                damping = min(-self.energy / (dt * speed2), self.damping)
            share = max(0.0, 1.0 + self.energy / self.allowed)
        rendered = share * torque - damping * moved / dt
        self._rendered, self._position = rendered.copy(), position.copy()
        return Guarded(rendered, self.energy, share, damping)
