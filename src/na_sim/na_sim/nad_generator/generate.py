# SPDX-License-Identifier: Apache-2.0
"""Generates a data set: orders -> plans -> batches -> files, in one or several processes."""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from na_core.robot_spec import load_robot_spec
from na_sim.nad_generator.array_output import write_arrays
from na_sim.nad_generator.bag_output import write_bag
from na_sim.nad_generator.builders import build_plans
from na_sim.nad_generator.catalogue import Order, orders
from na_sim.nad_generator.recording import Recording
from na_sim.nad_generator.runner import run_batch
from na_sim.nad_generator.workshop import RATE, Workshop
from na_sim.reach import Reach
from na_sim.unit_parameters import Unit, draw_unit

RESERVED_SEEDS = range(9000, 10000)
BATCH = 32  # episodes simulated together
FORMATS = ("bag", "npz")


class GeneratorError(ValueError):
    """The request cannot be generated; the text says what to change."""


@dataclass(frozen=True)
class Request:
    """What to generate.

    Attributes:
        robot: name or path of the robot file.
        out: folder of the data set.
        categories: names of catalogue.TRAINING_CATEGORIES or SUITES.
        minutes: total length, None for each category's own.
        seed: seed of the data set.
        arm: physical unit.
        jobs: processes.
        format: "bag" or "npz".
        dither: add goal dither to part of the holds.
        rate: control rate [Hz].
        independent_check: allow the reserved seeds.
        tasks: make only these tasks of the categories; empty for all.
    """

    robot: str
    out: Path
    categories: tuple[str, ...]
    minutes: float | None = None
    seed: int = 0
    arm: int = 0
    jobs: int = 1
    format: str = "bag"
    dither: bool = False
    rate: float = RATE
    independent_check: bool = False
    tasks: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise GeneratorError for what cannot be done."""
        if self.seed in RESERVED_SEEDS and not self.independent_check:
            raise GeneratorError(
                f"seed {self.seed}: {RESERVED_SEEDS.start} to {RESERVED_SEEDS.stop - 1} are kept "
                "for independent checks; choose another seed"
            )
        if self.minutes is not None and not self.minutes > 0.0:
            raise GeneratorError(f"minutes {self.minutes}: expected a positive number")
        if self.format not in FORMATS:
            raise GeneratorError(f"format {self.format!r}: expected one of {', '.join(FORMATS)}")
        if self.jobs < 1:
            raise GeneratorError(f"jobs {self.jobs}: expected at least 1")
        if not 20.0 <= self.rate <= 200.0:
            raise GeneratorError(f"rate {self.rate} Hz: expected 20 to 200 Hz")


@dataclass(frozen=True)
class Entry:
    """One episode of the accounting: what it is, ticks and seconds."""

    category: str
    task: str
    variant: str
    name: str
    frames: int
    seconds: float
    arm: int


@lru_cache(maxsize=4)
def _workshop(robot: str, rate: float) -> Workshop:
    spec = load_robot_spec(robot)
    return Workshop(spec, Reach(spec), rate)


@lru_cache(maxsize=8)
def _unit(robot: str, rate: float, arm: int) -> Unit:
    return draw_unit(_workshop(robot, rate).robot, arm)


def unit_hash(unit: Unit) -> str:
    """SHA-256 of a unit's parameters: the calibration that its recordings were made under."""
    text = unit.servos.tobytes() + repr((unit.supply_voltage, unit.supply_resistance)).encode()
    return hashlib.sha256(text).hexdigest()


def record_orders(request: Request, chosen: Sequence[Order]) -> Iterator[Recording]:
    """Simulate the episodes of `chosen`, in batches; yields recordings in order."""
    shop = _workshop(request.robot, request.rate)
    pending: list[tuple[Any, Unit]] = []
    for position, order in enumerate(chosen):
        arm = order.row.arm if order.row.arm is not None else request.arm
        unit = _unit(request.robot, request.rate, arm)
        for plan in build_plans(shop, order, request.seed, request.arm, dither=request.dither):
            pending.append((plan, unit))
        if len(pending) >= BATCH or position == len(chosen) - 1:
            plans = [item[0] for item in pending]
            units = [item[1] for item in pending]
            pending = []
            yield from run_batch(shop.robot, plans, units, request.rate, shop.reach.scene)


def _work(request: Request, chosen: list[Order], first: int) -> list[Entry]:
    """Simulate and write one share of the orders; `first` numbers its episodes."""
    shop = _workshop(request.robot, request.rate)
    entries = []
    for number, recording in enumerate(record_orders(request, chosen)):
        plan = recording.plan
        arm = plan.seed[1]
        digest = unit_hash(_unit(request.robot, request.rate, arm))
        folder = request.out / plan.category
        folder.mkdir(parents=True, exist_ok=True)
        if request.format == "bag":
            write_bag(
                shop.robot,
                recording,
                folder,
                request.rate,
                number=first + number,
                calibration_hash=digest,
            )
        else:
            write_arrays(shop.robot, recording, folder, request.rate, digest)
        frames = recording.ticks
        entries.append(
            Entry(
                plan.category,
                plan.task,
                plan.variant,
                plan.name,
                frames,
                frames / request.rate,
                arm,
            )
        )
    return entries


def _shares(request: Request, all_orders: list[Order]) -> list[tuple[list[Order], int]]:
    """Split the orders into pieces of about one batch, each with its first episode number."""
    # Long episodes first and alike lengths together: a batch runs as long as its longest episode.
    ranked = sorted(all_orders, key=lambda order: -order.seconds)
    pieces = [ranked[i : i + BATCH] for i in range(0, len(ranked), BATCH)]
    return [(piece, 2 * BATCH * index) for index, piece in enumerate(pieces)]


def generate(request: Request, progress: Any = None) -> list[Entry]:
    """Generate the data set of `request`; returns the accounting, one entry per episode.

    `progress` is called with (done, total) pieces. Raises GeneratorError for a bad request and
    ValueError for unknown categories or tasks; existing episodes are not overwritten.
    """
    request.check()
    all_orders = orders(request.categories, request.minutes, request.tasks)
    request.out.mkdir(parents=True, exist_ok=True)
    shares = _shares(request, all_orders)
    entries: list[Entry] = []
    if request.jobs == 1 or len(shares) == 1:
        for done, (piece, first) in enumerate(shares, start=1):
            entries += _work(request, piece, first)
            if progress is not None:
                progress(done, len(shares))
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(request.jobs, mp_context=context) as pool:
            futures = [pool.submit(_work, request, piece, first) for piece, first in shares]
            for done, future in enumerate(as_completed(futures), start=1):
                entries += future.result()
                if progress is not None:
                    progress(done, len(shares))
    return sorted(entries, key=lambda entry: (entry.category, entry.name))


@dataclass(frozen=True)
class Line:
    """One line of the accounting table."""

    category: str
    task: str
    variant: str
    episodes: int
    frames: int
    seconds: float


def accounting(entries: Sequence[Entry]) -> list[Line]:
    """Sum entries by category, task and variant, in order of appearance."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.category, entry.task, entry.variant), []).append(entry)
    return [
        Line(*key, len(found), sum(e.frames for e in found), sum(e.seconds for e in found))
        for key, found in sorted(groups.items())
    ]


def timed(request: Request, progress: Any = None) -> tuple[list[Entry], float]:
    """Generate and return (entries, wall time [s])."""
    started = time.monotonic()
    entries = generate(request, progress)
    return entries, time.monotonic() - started
