# SPDX-License-Identifier: Apache-2.0
"""How the operator uses the gripper in an episode, drawn alike whether or not a load is carried.

The gripper's own current would otherwise tell that an object is held: half of all episodes squeeze
a block, which is weightless unless the episode carries a payload; loads also hang on a hook.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.workshop import (
    GRASP_POSITION,
    GRIPPER_SHARES,
    GRIPPER_STYLES,
    SQUEEZE,
    Workshop,
    through,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Grip:
    """Gripper use of one episode.

    Attributes:
        style: one of GRIPPER_STYLES.
        index: joint index, None for robots without a gripper.
        open: position when open [m or rad].
        closed: position when closed.
        rest: position between actions.
    """

    style: str
    index: int | None
    open: float
    closed: float
    rest: float

    @property
    def holds_block(self) -> bool:
        """Whether closing squeezes a block."""
        return self.style == "grasp"

    @property
    def acts(self) -> bool:
        """Whether the gripper opens and closes when something is picked or placed."""
        return self.style in ("grasp", "closing_empty")


def draw_grip(
    shop: Workshop,
    rng: np.random.Generator,
    style: str | None = None,
    spread: tuple[float, float] | None = None,
) -> Grip:
    """Draw a gripper use; `style` fixes the style, `spread` (0..1 each) how wide open and shut."""
    u_open, u_shut = spread or (rng.uniform(), rng.uniform())
    chosen = style or str(rng.choice(GRIPPER_STYLES, p=GRIPPER_SHARES))
    index = shop.robot.gripper_index
    if index is None:
        return Grip(chosen, None, 0.0, 0.0, 0.0)
    low, high = float(shop.robot.lower[index]), float(shop.robot.upper[index])
    if shop.robot.joints[index].type != "prismatic":
        # No block between turning jaws: gripping is free motion there.
        span = high - low
        wide = low + span * (0.4 + 0.4 * u_open)
        shut = low + span * (0.05 + 0.25 * u_shut)
        style_now = "closing_empty" if chosen == "grasp" else chosen
        return Grip(style_now, index, wide, shut, wide if "open" in style_now else shut)
    wide = 0.009 + (min(0.018, high) - 0.009) * u_open
    if chosen == "grasp":
        shut = GRASP_POSITION - (SQUEEZE[0] + (SQUEEZE[1] - SQUEEZE[0]) * u_shut)
    else:
        shut = max(low + 0.002, -0.009) * (1.0 - u_shut)
    rest = wide if chosen == "idle_open" else shut
    return Grip(chosen, index, wide, shut, rest)


def with_grip(pose: Array, grip: Grip, position: float | None = None) -> Array:
    """`pose` (n,) with the gripper at `position`, or at its rest position."""
    out = np.array(pose)
    if grip.index is not None:
        out[grip.index] = grip.rest if position is None else position
    return out


def grip_approach(rng: np.random.Generator, grip: Grip, path: Array, block: bool) -> float:
    """Where the gripper comes from before the episode, relative to its first goal [m or rad].

    Whether it last opened or closed decides which way friction holds it, hence its current.
    """
    if grip.index is None:
        return 0.0
    span = abs(grip.open - grip.closed) * rng.uniform(0.25, 0.7)
    first = float(path[0, grip.index])
    wider = block or first < 0.5 * (grip.open + grip.closed)
    return float(span if wider else -span)


def fidget(
    shop: Workshop, rng: np.random.Generator, grip: Grip, ticks: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Gripper path (ticks,) that opens and closes at random times, and the block flags.

    Without it only picking and placing would move the gripper, and a closing gripper would tell
    that something is about to be lifted.
    """
    times = shop.times(ticks)
    knots_at, knots = [0.0], [grip.closed if rng.uniform() < 0.6 else grip.open]
    now = 0.0
    block = np.zeros(ticks, bool)
    closed_from = 0.0 if knots[0] == grip.closed else None
    while now < times[-1]:
        closed = knots[-1] == grip.closed
        now += rng.exponential(9.0 if closed else 4.0) + 0.4
        knots_at.append(now)
        knots.append(knots[-1])
        now += rng.uniform(0.3, 0.7)
        knots_at.append(now)
        knots.append(grip.open if closed else grip.closed)
        if closed and closed_from is not None:
            block |= (times >= closed_from) & (times < now + 0.2)
            closed_from = None
        elif not closed:
            closed_from = now - 0.25
    if closed_from is not None:
        block |= times >= closed_from
    path = through(times, [(t, np.array([q])) for t, q in zip(knots_at, knots, strict=True)])[:, 0]
    return path, block & grip.holds_block


def constant_block(grip: Grip, ticks: int) -> NDArray[np.bool_]:
    """Block flags (ticks,) of an episode whose gripper does not act."""
    return np.full(ticks, grip.holds_block)
