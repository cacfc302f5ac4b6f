# SPDX-License-Identifier: Apache-2.0
"""Tasks that lift things, with or without a load: go up and stay, pick and place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator.gripping import Grip, constant_block, with_grip
from na_sim.nad_generator.workshop import Stops, Workshop, through

Array = NDArray[np.float64]

LIFT_DOUBT = 0.1  # s around lift-off and set-down in which the label is not to be trusted
TABLE_HEIGHT = (0.03, 0.09)  # m, where things are picked and placed


@dataclass
class Carry:
    """Path and load history of a lifting task; arrays (T, n) and (T,).

    Attributes:
        path: leader path before tremor.
        carried: whether the load is attached.
        share: share of the load that hangs on the arm, by protocol.
        valid: whether the label may be used.
        block: whether the fingers hold a block.
    """

    path: Array
    carried: NDArray[np.bool_]
    share: Array
    valid: NDArray[np.bool_]
    block: NDArray[np.bool_]


class _Ledger:
    """Collects (start, end) times during which something holds."""

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []

    def add(self, start: float, end: float) -> None:
        """Note one span [s]."""
        self.spans.append((start, end))

    def flags(self, times: Array) -> NDArray[np.bool_]:
        """True at the times inside a span (T,)."""
        out = np.zeros(len(times), bool)
        for start, end in self.spans:
            out |= (times >= start) & (times < end)
        return out


def _ramp(times: Array, spans: list[tuple[float, float, float, float]]) -> Array:
    """Share (T,) that rises over (a, b) and falls over (c, d) for each span."""
    share = np.zeros(len(times))
    for a, b, c, d in spans:
        rise = np.clip((times - a) / max(b - a, 1e-6), 0.0, 1.0)
        fall = np.clip((times - c) / max(d - c, 1e-6), 0.0, 1.0)
        share = np.maximum(share, rise - fall)
    return share


def pick_and_place(shop: Workshop, rng: np.random.Generator, ticks: int, grip: Grip) -> Carry:
    """Pick from one place, carry, put down at another, several times."""
    times = shop.times(ticks)
    end = ticks / shop.rate
    now_grip = grip.open if grip.acts else grip.rest
    stops = Stops(with_grip(shop.free_pose(rng), grip, now_grip), shop.pace)
    stops.wait(rng.uniform(0.1, 2.0))
    carried, doubt, block = _Ledger(), _Ledger(), _Ledger()
    ramps: list[tuple[float, float, float, float]] = []
    while stops.time < end:
        height = rng.uniform(*TABLE_HEIGHT)
        low = with_grip(shop.pose_at(rng, (0.16, 0.28), (height, height)), grip, now_grip)
        rise = np.array([0.0, 0.0, rng.uniform(0.05, 0.12)])
        above = with_grip(shop.move(low, rise), grip, now_grip)
        stops.go(above, rng.uniform(0.35, 1.0))
        stops.go(low, rng.uniform(0.25, 0.6))
        stops.wait(rng.uniform(0.1, 0.5))
        if grip.acts:
            stops.grip(grip.index, grip.closed, rng.uniform(0.3, 0.7))
        held_from = stops.time
        stops.wait(rng.uniform(0.1, 0.6))
        attach = stops.time
        up = stops.now.copy()
        up[:] = with_grip(above, grip, _gripper(stops.now, grip))
        lift_end = stops.go(up, rng.uniform(0.2, 0.6))
        lift = attach + 0.35 * (lift_end - attach)  # the load leaves the table early in the move
        for _ in range(int(rng.integers(0, 3))):
            via = with_grip(shop.free_pose(rng), grip, _gripper(stops.now, grip))
            stops.go(via, rng.uniform(0.3, 0.9))
            stops.wait(rng.uniform(0.0, 2.0))
        place = with_grip(
            shop.pose_at(rng, (0.16, 0.28), (height, height)), grip, _gripper(stops.now, grip)
        )
        rise = np.array([0.0, 0.0, rng.uniform(0.05, 0.1)])
        over = with_grip(shop.move(place, rise), grip, _gripper(stops.now, grip))
        stops.go(over, rng.uniform(0.35, 0.9))
        down_start = stops.time
        down_end = stops.go(place, rng.uniform(0.2, 0.5))
        stops.wait(rng.uniform(0.1, 0.5))
        release = stops.time
        if grip.acts:
            stops.grip(grip.index, grip.open, rng.uniform(0.3, 0.6))
        carried.add(attach, release)
        block.add(held_from - 0.25, release + 0.2)
        ramps.append((attach, lift, down_start + 0.65 * (down_end - down_start), down_end))
        doubt.add(attach - LIFT_DOUBT, lift + 4.0 * LIFT_DOUBT)
        doubt.add(down_start + 0.5 * (down_end - down_start), release + LIFT_DOUBT)
        retreat = with_grip(over, grip, _gripper(stops.now, grip))
        stops.go(retreat, rng.uniform(0.3, 0.8))
        if rng.uniform() < 0.5:
            stops.wait(rng.uniform(0.1, 2.0))
    flags = block.flags(times) if grip.acts else constant_block(grip, ticks)
    return Carry(
        path=through(times, stops.stops),
        carried=carried.flags(times),
        share=_ramp(times, ramps),
        valid=~doubt.flags(times),
        block=flags & grip.holds_block,
    )


def put_on_and_off(shop: Workshop, rng: np.random.Generator, ticks: int) -> Carry:
    """A hand hangs a load on the arm and takes it off again, whatever the arm is doing.

    The path is left to the caller (T, 0).
    """
    times = shop.times(ticks)
    carried, doubt = _Ledger(), _Ledger()
    now, on = 0.0, bool(rng.uniform() < 0.5)
    while now < times[-1]:
        end = now + (rng.uniform(2.0, 15.0) if on else rng.uniform(1.0, 8.0))
        if on:
            carried.add(now, end)
        doubt.add(end - LIFT_DOUBT, end + 3.0 * LIFT_DOUBT)
        now, on = end, not on
    flags = carried.flags(times)
    return Carry(
        path=np.zeros((ticks, 0)),
        carried=flags,
        share=flags.astype(float),
        valid=~doubt.flags(times),
        block=np.zeros(ticks, bool),
    )


def _gripper(q: Array, grip: Grip) -> float | None:
    return None if grip.index is None else float(q[grip.index])


def go_up_and_stay(shop: Workshop, rng: np.random.Generator, ticks: int, grip: Grip) -> Carry:
    """Lift something, stay with it in several places, put it down, rest; again and again."""
    times = shop.times(ticks)
    end = ticks / shop.rate
    stops = Stops(with_grip(shop.free_pose(rng), grip), shop.pace)
    carried, doubt = _Ledger(), _Ledger()
    ramps: list[tuple[float, float, float, float]] = []
    while stops.time < end:
        height = rng.uniform(*TABLE_HEIGHT)
        low = with_grip(shop.pose_at(rng, (0.16, 0.28), (height, height)), grip)
        rise = np.array([0.0, 0.0, rng.uniform(0.06, 0.15)])
        above = with_grip(shop.move(low, rise), grip)
        stops.go(above, rng.uniform(0.3, 0.8))
        stops.go(low, rng.uniform(0.2, 0.5))
        attach = stops.wait(rng.uniform(0.2, 1.5))
        begin = stops.wait(rng.uniform(0.1, 0.5))
        lift_end = stops.go(above, rng.uniform(0.2, 0.6))
        lifted = begin + 0.4 * (lift_end - begin)
        for _ in range(int(rng.integers(1, 4))):
            stops.go(with_grip(shop.free_pose(rng), grip), rng.uniform(0.25, 0.9))
            stops.wait(rng.uniform(1.0, 7.0))
        stops.go(above, rng.uniform(0.3, 0.8))
        down_start = stops.time
        down_end = stops.go(low, rng.uniform(0.2, 0.5))
        release = stops.wait(rng.uniform(0.1, 0.5))
        carried.add(attach, release)
        ramps.append((begin, lifted, down_start + 0.65 * (down_end - down_start), down_end))
        doubt.add(attach - LIFT_DOUBT, lifted + 4.0 * LIFT_DOUBT)
        doubt.add(down_start + 0.5 * (down_end - down_start), release + LIFT_DOUBT)
        stops.go(above, rng.uniform(0.3, 0.8))
        if rng.uniform() < 0.6:
            stops.go(with_grip(shop.free_pose(rng), grip), rng.uniform(0.25, 0.9))
            stops.wait(rng.uniform(0.2, 4.0))
    return Carry(
        path=through(times, stops.stops),
        carried=carried.flags(times),
        share=_ramp(times, ramps),
        valid=~doubt.flags(times),
        block=constant_block(grip, ticks),
    )
