# SPDX-License-Identifier: Apache-2.0
"""A recorder node in a process of its own and two made-up arms that publish to it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

TOPICS = (
    "/follower/telemetry",
    "/leader/telemetry",
    "/follower/joint_states",
    "/leader/joint_states",
)

_FIRST_CHUNK = 20_000
"""Bytes that header, definitions and description alone do not reach."""


def isolate(killing: bool) -> None:
    """Give this process and its children a ROS domain of their own on this machine.

    A killed process leaves Fast DDS shared-memory files behind: with `killing`, UDP only.
    """
    os.environ["ROS_DOMAIN_ID"] = str(random.SystemRandom().randrange(100, 200))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    if killing:
        os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"


class Arms:
    """Publishes telemetry and joint states of two arms at `rate` [Hz] from a thread."""

    def __init__(self, rate: float) -> None:
        """Start publishing; call `isolate` first."""
        import rclpy
        from sensor_msgs.msg import JointState

        from na_core.nad.example import JOINTS
        from na_msgs.msg import ActuatorTelemetry

        self._rate = rate
        self._context = rclpy.Context()
        self._context.init()
        self._node = rclpy.create_node("made_up_arms", context=self._context)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._stamps: list[int] = []
        self._pairs: list[tuple[Any, Any]] = []
        for topic in TOPICS:
            kind = ActuatorTelemetry if topic.endswith("telemetry") else JointState
            depth = 100 if topic.endswith("telemetry") else 5
            message = kind(name=JOINTS, position=[0.0] * len(JOINTS))
            if kind is ActuatorTelemetry:
                message.arm = topic.split("/")[1]
                for field in (
                    "goal_requested",
                    "goal_sent",
                    "goal_register",
                    "velocity",
                    "current",
                    "load",
                    "voltage",
                    "temperature",
                ):
                    setattr(message, field, [0.0] * len(JOINTS))
                message.hardware_error = [0] * len(JOINTS)
            self._pairs.append((message, self._node.create_publisher(kind, topic, depth)))
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def sent(self) -> list[int]:
        """Return the stamps [ns] of the ticks published so far, complete on every topic."""
        with self._lock:
            return list(self._stamps)

    def subscribers(self) -> int:
        """Return the smallest number of subscribers over the topics."""
        return min(int(publisher.get_subscription_count()) for _, publisher in self._pairs)

    def close(self) -> None:
        """Stop publishing."""
        self._stop.set()
        self._thread.join()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _publish(self) -> None:
        start, tick = time.monotonic(), 0
        while not self._stop.is_set():
            wait = start + tick / self._rate - time.monotonic()
            if wait > 0.0 and self._stop.wait(wait):
                return
            now = time.time_ns()
            with self._lock:
                for message, publisher in self._pairs:
                    message.header.stamp.sec = now // 1_000_000_000
                    message.header.stamp.nanosec = now % 1_000_000_000
                    if hasattr(message, "sequence"):
                        message.sequence = tick
                    publisher.publish(message)
                self._stamps.append(now)
            tick += 1


def start_recorder(out_dir: Path, **parameters: object) -> subprocess.Popen[bytes]:
    """Start a recorder node that records into `out_dir` as soon as something flows."""
    values = {"out_dir": out_dir, "auto_start": "true", "disk_reserve_mb": 0.0, **parameters}
    command = [sys.executable, "-m", "na_teleop.recorder_node", "--ros-args"]
    for name, value in values.items():
        command += ["-p", f"{name}:={value}"]
    log = (out_dir.parent / f"{out_dir.name}.log").open("wb")
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def wait_until_recording(
    process: subprocess.Popen[bytes], out_dir: Path, seconds: float = 20.0
) -> None:
    """Wait until a chunk of telemetry is in the file; TimeoutError quotes the recorder's log."""
    end = time.monotonic() + seconds
    while recorded_bytes(out_dir) < _FIRST_CHUNK:
        if time.monotonic() > end or process.poll() is not None:
            log = (out_dir.parent / f"{out_dir.name}.log").read_text(errors="replace")
            raise TimeoutError(
                f"the recorder (exit code {process.poll()}) did not record within {seconds:g} s; "
                f"it said:\n{log[-2000:]}"
            )
        time.sleep(0.02)


def recorded_bytes(out_dir: Path) -> int:
    """Return the bytes in unfinished episodes below `out_dir`."""
    return sum(file.stat().st_size for file in out_dir.glob(".*.part/*.mcap"))
