# SPDX-License-Identifier: Apache-2.0
"""follower_node is killed (SIGKILL) while the arm moves: how long the servos go on."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.bench._fault_cases import FAMILIES
from na_cli.report import print_table

WATCHDOG_S = 0.5  # silence after which the servos stop by themselves
WATCHED_S = 1.5  # how long the servos are watched after the kill
SWING = 0.35  # rad of the servo
FREQUENCY = 0.5  # Hz
START_S = 30.0  # for the node to follow
STANDS_RAD = 0.02  # of the servo: an arm that stays this close to where it ends up stands


def run_all(families: list[str]) -> list[dict[str, Any]]:
    """Kill a driver of each family; print a table, return the figures."""
    isolate()
    results = [kill_driver(family) for family in families]
    print_table(
        "follower_node killed in motion (emulated)",
        [
            "family",
            "speed rad/s",
            "motion after kill s",
            "way after kill rad",
            "watchdogs tripped",
            "tripped after s",
            "torque",
        ],
        [
            [
                r["family"],
                r["speed"],
                r["stopped_after_s"],
                r["way"],
                r["watchdogs_tripped"],
                r["tripped_after_s"],
                r["torque"],
            ]
            for r in results
        ],
    )
    return results


def isolate() -> None:
    """Give this process a ROS domain on this machine alone, without shared memory.

    A killed process leaves Fast DDS shared-memory files behind, hence UDP.
    """
    os.environ["ROS_DOMAIN_ID"] = str(random.SystemRandom().randrange(100, 200))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"


def kill_driver(family: str) -> dict[str, Any]:
    """Drive an emulated arm with a real follower_node, kill it in motion, watch the servos.

    RuntimeError when the node does not begin to follow.
    """
    from na_core.robot_spec import load_robot_spec
    from na_sim.arm_plant import ArmPlant
    from na_sim.emulated_servos import emulated_bus, servo_configs
    from na_sim.wire.pty_port import PtyPort

    spec = load_robot_spec(FAMILIES[family])
    plant = ArmPlant(spec)
    bus = emulated_bus(servo_configs(spec), plant)
    bus.tick()  # loads the physics
    ratio = np.array([joint.ratio for joint in spec.joints])
    with tempfile.TemporaryDirectory(prefix="na_kill") as folder:
        port = PtyPort(bus, Path(folder) / "servos", tick=0.002)
        port.open()
        log = Path(folder) / "follower.log"
        try:
            with _leader(spec, SWING * ratio), log.open("wb") as output:
                node = _start(spec.robot, port.path, output)
                try:
                    _wait(lambda: _swinging(bus, plant, ratio), node, log)
                    speed = _speed(plant, ratio)
                    killed = time.monotonic()
                    node.kill()
                finally:
                    node.kill()
                    node.wait()
                stopped, way, tripped_at = _watch(bus, plant, ratio, killed)
        finally:
            port.close()
    tripped = sum(getattr(servo, "watchdog_trips", 0) > 0 for servo in bus.servos)
    return {
        "family": family,
        "speed": speed,
        "stopped_after_s": stopped,
        "way": way,
        "watchdogs_tripped": tripped,
        "tripped_after_s": tripped_at,
        "servos": len(bus.servos),
        "torque": "on" if all(bus.torque_enabled().values()) else "off",
        "watchdog_s": WATCHDOG_S,
    }


def _start(robot: str, port: str, output: Any) -> subprocess.Popen[bytes]:
    values = {"robot": robot, "port": port, "ramp_s": 0.5, "watchdog_s": WATCHDOG_S}
    command = [sys.executable, "-m", "na_teleop.follower_node", "--ros-args"]
    for name, value in values.items():
        command += ["-p", f"{name}:={value}"]
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)


def _wait(condition: Callable[[], bool], node: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while not condition():
        if node.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"follower_node did not follow: {log.read_text(errors='replace')}")
        time.sleep(0.002)


def _speed(plant: Any, ratio: np.ndarray) -> float:
    """Speed of the fastest joint [rad/s of its servo]."""
    return float(np.abs(plant.core.velocities()[0] / ratio).max())


def _swinging(bus: Any, plant: Any, ratio: np.ndarray) -> bool:
    """Whether torque is on everywhere and the arm moves nearly as fast as the leader ever does."""
    top = SWING * 2.0 * np.pi * FREQUENCY
    return all(bus.torque_enabled().values()) and _speed(plant, ratio) > 0.8 * top


def _watch(
    bus: Any, plant: Any, ratio: np.ndarray, killed: float
) -> tuple[float, float, float | None]:
    """Return (time until it stands [s], largest way [rad], last watchdog trip [s])."""
    times: list[float] = []
    positions: list[np.ndarray] = []
    tripped_at, trips = None, 0
    while (now := time.monotonic() - killed) < WATCHED_S:
        bus.tick()
        times.append(now)
        positions.append(plant.position / ratio)
        count = sum(getattr(servo, "watchdog_trips", 0) for servo in bus.servos)
        if count > trips:
            trips, tripped_at = count, now
        time.sleep(0.001)
    way = np.abs(np.array(positions) - positions[0]).max()
    away = np.abs(np.array(positions) - positions[-1]).max(axis=1) > STANDS_RAD
    return times[int(np.flatnonzero(away)[-1]) + 1] if away.any() else 0.0, float(way), tripped_at


@contextlib.contextmanager
def _leader(spec: Any, swing: np.ndarray) -> Iterator[None]:
    """Publish a leader that swings about the park pose, from a thread."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    context = rclpy.Context()
    context.init()
    node = rclpy.create_node("swinging_leader", context=context)
    publisher = node.create_publisher(JointState, "leader/joint_states", qos_profile_sensor_data)
    stop = threading.Event()
    middle = np.clip(spec.home, spec.lower + np.abs(swing), spec.upper - np.abs(swing))

    def publish() -> None:
        began = time.monotonic()
        while not stop.wait(1.0 / 60.0):
            phase = np.sin(2.0 * np.pi * FREQUENCY * (time.monotonic() - began))
            publisher.publish(
                JointState(name=list(spec.names), position=(middle + phase * swing).tolist())
            )

    thread = threading.Thread(target=publish, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        node.destroy_node()
        context.try_shutdown()
