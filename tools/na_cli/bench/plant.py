# SPDX-License-Identifier: Apache-2.0
"""Speed of the plant: 64 episodes on one core, and two live arms behind their wires."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from na_cli.report import print_table

KEYS = (
    "robot_seconds_per_second",
    "physics_only_robot_seconds_per_second",
    "live_core_share",
    "live_real_time_factor",
    "live_slips",
)

EPISODES = 64
_START_TIMEOUT = 60.0  # s for the emulators to come up
_DRIVER_RATE = 60.0  # Hz


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bench."""
    parser.add_argument("--robot", default="omx")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of the live run [s]")
    parser.add_argument("--episode", type=float, default=20.0, help="length of each episode [s]")


def batch_speed(robot: str, episode: float) -> tuple[float, float]:
    """Robot seconds per second of the generator's simulation, readings and truth included.

    The first counts processor time of the one core that it uses, which other load on the machine
    hardly changes; the second counts the clock on the wall.
    """
    from na_core.robot_spec import load_robot_spec
    from na_sim.nad_generator.builders import build_plans
    from na_sim.nad_generator.catalogue import Order, Row
    from na_sim.nad_generator.runner import run_batch
    from na_sim.nad_generator.workshop import Workshop
    from na_sim.reach import Reach
    from na_sim.unit_parameters import draw_unit

    spec = load_robot_spec(robot)
    shop = Workshop(spec, Reach(spec))
    plans = []
    for index in range(EPISODES):
        row = Row("free_motion", "wander", "empty", 1.0)
        plans += build_plans(shop, Order(row, index, episode), 1, 0)
    units = [draw_unit(spec, 0)] * EPISODES
    run_batch(spec, plans[:2], units[:2], shop.rate, shop.reach.scene)  # compiles
    seconds = sum(plan.ticks for plan in plans) / shop.rate
    started, cpu = time.perf_counter(), time.process_time()
    run_batch(spec, plans, units, shop.rate, shop.reach.scene)
    return seconds / (time.process_time() - cpu), seconds / (time.perf_counter() - started)


def physics_speed(robot: str) -> float:
    """Robot seconds per second of the bare physics: 64 arms holding their home pose."""
    from na_core.robot_spec import load_robot_spec
    from na_sim.gains import holding_command
    from na_sim.plant_core import nominal_core

    spec = load_robot_spec(robot)
    core = nominal_core(spec, EPISODES)
    for k in range(EPISODES):
        core.command[k] = holding_command(spec, core.parameters[k], spec.home)
    core.advance(20)
    best = 0.0
    for _ in range(5):
        started = time.process_time()
        core.advance(400)
        best = max(best, 400 * core.dt * EPISODES / (time.process_time() - started))
    return best


def _emulate(robot: str, folder: str, channel: Connection) -> None:
    """Child process: a leader moved by an operator and a follower, each on its own port."""
    from na_core.robot_spec import load_robot_spec
    from na_sim.emulated_arm import EmulatedArm

    spec = load_robot_spec(robot)
    arms = [
        EmulatedArm(spec, Path(folder) / "leader", seed=1, operator=True),
        EmulatedArm(spec, Path(folder) / "follower", seed=2),
    ]
    for arm in arms:
        arm.open()
    channel.send("ready")
    while True:
        word = channel.recv()
        if word == "stop":
            break
        channel.send(([arm.plant.time for arm in arms], [arm.slips for arm in arms]))
    for arm in arms:
        arm.close()


def _catch(follower: Any) -> None:
    """Switch torque on where the arm is; it sags meanwhile, so a late write is tried again."""
    from na_teleop.buses.errors import BusError

    for attempt in range(10):
        try:
            follower.write_goal(follower.read().position)
            follower.enable_torque()
            return
        except BusError:
            if attempt == 9:
                raise


def live(robot: str, seconds: float) -> dict[str, float]:
    """Drive both emulated arms through their ports at 60 Hz; CPU of the emulating process."""
    import psutil

    from na_core.robot_spec import load_robot_spec
    from na_teleop.buses.dynamixel import DynamixelBus
    from na_teleop.buses.errors import BusError

    spec = load_robot_spec(robot)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory(prefix="na_bench_plant") as folder:
        child = context.Process(target=_emulate, args=(robot, folder, theirs), daemon=True)
        child.start()
        try:
            if not ours.poll(_START_TIMEOUT):
                raise RuntimeError(f"the emulators did not come up within {_START_TIMEOUT:g} s")
            ours.recv()
            leader = DynamixelBus(spec, str(Path(folder) / "leader"))
            follower = DynamixelBus(spec, str(Path(folder) / "follower"))
            leader.open()
            follower.open()
            _catch(follower)
            process = psutil.Process(child.pid)

            def drive(length: float) -> int:
                ticks, start = 0, time.monotonic()
                while time.monotonic() - start < length:
                    with contextlib.suppress(BusError):  # a late reply on a busy machine
                        goal = leader.read().position
                        follower.read()
                        follower.write_goal(goal)
                    ticks += 1
                    due = start + ticks / _DRIVER_RATE
                    time.sleep(max(due - time.monotonic(), 0.0))
                return ticks

            drive(1.0)
            ours.send("status")
            before, slips_before = ours.recv()
            cpu, started = process.cpu_times(), time.monotonic()
            ticks = drive(seconds)
            ours.send("status")
            after, slips = ours.recv()
            wall = time.monotonic() - started
            used = process.cpu_times()
            busy = used.user + used.system - cpu.user - cpu.system
            leader.close()
            follower.close()
            ours.send("stop")
        finally:
            child.join(3.0)
            if child.is_alive():
                child.kill()
    return {
        "live_core_share": busy / wall,
        "live_real_time_factor": min(b - a for a, b in zip(before, after, strict=True)) / wall,
        "live_slips": float(sum(slips) - sum(slips_before)),
        "live_ticks_per_s": ticks / wall,
    }


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure, print the table, return the figures."""
    by_processor, by_wall = batch_speed(args.robot, args.episode)
    figures: dict[str, Any] = {
        "robot": args.robot,
        "episodes": EPISODES,
        "robot_seconds_per_second": by_processor,
        "robot_seconds_per_wall_second": by_wall,
        "physics_only_robot_seconds_per_second": physics_speed(args.robot),
        **live(args.robot, args.seconds),
    }
    print_table(
        f"plant of {args.robot}, one core, emulated",
        ["figure", "value", "wanted"],
        [
            [
                "robot seconds per second, 64 episodes",
                figures["robot_seconds_per_second"],
                ">= 100",
            ],
            ["the same by the wall clock", by_wall, ""],
            [
                "physics alone",
                figures["physics_only_robot_seconds_per_second"],
                "(300 is the stretch)",
            ],
            ["two live arms: share of one core", figures["live_core_share"], "< 0.35"],
            ["two live arms: real-time factor", figures["live_real_time_factor"], "1"],
            ["two live arms: slips", figures["live_slips"], "0"],
        ],
    )
    return figures
