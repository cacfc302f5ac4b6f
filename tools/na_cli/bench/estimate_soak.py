# SPDX-License-Identifier: Apache-2.0
"""The force estimate for half an hour: memory, latency and losses of its node, minute by minute."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = (
    "minutes",
    "ticks",
    "lost",
    "memory_growth_mb",
    "latency_first_ms",
    "latency_last_ms",
    "latency_drift_ms",
    "latency_p99_ms",
    "cpu_percent",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument("--minutes", type=float, default=30.0, help="length (default 30)")
    parser.add_argument("--rate", type=float, default=60.0, help="ticks per second [Hz]")
    parser.add_argument(
        "--model", type=Path, metavar="FILE.onnx", help="a model for this rate; default: untrained"
    )


class Source:
    """Publishes made-up telemetry from a thread and receives what the node makes of it."""

    def __init__(self, rate: float) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        from na_core.robot_spec import load_robot_spec
        from na_msgs.msg import ActuatorTelemetry, NeuralActuatorState

        rclpy.init()
        self.spec = load_robot_spec("omx")
        self.node = rclpy.create_node("made_up_follower")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.answers: list[tuple[int, float]] = []
        self._rate = rate
        self._kind = ActuatorTelemetry
        self._publisher = self.node.create_publisher(ActuatorTelemetry, "follower/telemetry", 100)
        self.node.create_subscription(
            NeuralActuatorState, "neural_actuator/state", self._on_state, 1000
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _on_state(self, message: Any) -> None:
        stamp = message.header.stamp
        age = 1e-9 * (time.time_ns() - stamp.sec * 10**9 - stamp.nanosec)
        if message.sequence:
            self.answers.append((message.sequence, age))

    def _publish(self) -> None:
        n, home = self.spec.n, np.asarray(self.spec.home)
        ratio = np.array([joint.ratio for joint in self.spec.joints])
        message = self._kind(arm="follower", name=list(self.spec.names), torque_enabled=True)
        message.load = [float("nan")] * n
        message.voltage, message.temperature = [12.0] * n, [40.0] * n
        message.hardware_error = [0] * n
        start, tick = time.monotonic(), 0
        while not self._stop.is_set():
            wait = start + tick / self._rate - time.monotonic()
            if wait > 0.0 and self._stop.wait(wait):
                return
            phase = 0.5 * tick / self._rate
            position = (home + 0.1 * ratio * np.sin(phase)).tolist()
            message.position = message.goal_sent = message.goal_register = position
            message.velocity = (0.05 * ratio * np.cos(phase)).tolist()
            message.current = [0.1 * float(np.sin(phase + k)) for k in range(n)]
            tick += 1
            message.sequence = tick
            now = time.time_ns()
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
            self._publisher.publish(message)

    def spin(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(timeout_sec=min(left, 0.5))

    def close(self) -> None:
        """Stop publishing and leave the domain."""
        import rclpy

        self._stop.set()
        self._thread.join()
        self.node.destroy_node()
        rclpy.try_shutdown()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run for `arguments.minutes`, print the table, return the figures."""
    ensure_training_packages()
    import psutil

    from na_cli.bench._teleop_rig import START_TIMEOUT, own_domain
    from na_cli.bench._untrained import export_untrained

    own_domain()
    with tempfile.TemporaryDirectory(prefix="na-bench-estimate-") as name:
        folder = Path(name)
        model = arguments.model or export_untrained(folder, "query", arguments.rate)
        command = [sys.executable, "-m", "na_inference.neural_actuator_node", "--ros-args"]
        command += ["-p", f"model:={model}", "-p", "gap:=8.0", "-p", "max_age:=1.0"]
        with (folder / "node.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        source = Source(arguments.rate)
        try:
            deadline = time.monotonic() + START_TIMEOUT
            while not source.answers:
                source.spin(0.2)
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no answer: {(folder / 'node.log').read_text()}")
            source.spin(min(20.0, 15.0 * arguments.minutes))
            watched = psutil.Process(process.pid)
            busy, begin = sum(watched.cpu_times()[:2]), time.monotonic()
            minutes = []
            pieces = max(2, round(arguments.minutes))
            for _ in range(pieces):
                source.answers.clear()
                source.spin(60.0 * arguments.minutes / pieces)
                ages = np.array([age for _, age in source.answers])
                numbers = np.array([number for number, _ in source.answers])
                minutes.append(
                    {
                        "memory": watched.memory_info().rss,
                        "p50": 1e3 * float(np.median(ages)),
                        "p99": 1e3 * float(np.percentile(ages, 99)),
                        "ticks": len(ages),
                        "lost": int(np.sum(np.maximum(np.diff(numbers) - 1, 0))),
                    }
                )
            spent = sum(watched.cpu_times()[:2]) - busy
            elapsed = time.monotonic() - begin
            process.send_signal(signal.SIGINT)
            process.wait(20.0)
        finally:
            if process.poll() is None:
                process.kill()
            source.close()
    return _report(minutes, elapsed, spent)


def _report(minutes: list[dict[str, Any]], elapsed: float, spent: float) -> dict[str, Any]:
    edge = max(1, len(minutes) // 6)
    first = float(np.median([item["p50"] for item in minutes[:edge]]))
    last = float(np.median([item["p50"] for item in minutes[-edge:]]))
    shown = minutes[:: max(1, len(minutes) // 10)]
    print_table(
        "Soak of the force estimate",
        ("piece", "resident memory [MB]", "latency p50 [ms]", "p99 [ms]", "ticks", "lost"),
        [
            (minutes.index(m) + 1, m["memory"] / 1e6, m["p50"], m["p99"], m["ticks"], m["lost"])
            for m in shown
        ],
    )
    result = {
        "minutes": elapsed / 60.0,
        "ticks": sum(item["ticks"] for item in minutes),
        "lost": sum(item["lost"] for item in minutes),
        "memory_growth_mb": (minutes[-1]["memory"] - minutes[0]["memory"]) / 1e6,
        "latency_first_ms": first,
        "latency_last_ms": last,
        "latency_drift_ms": last - first,
        "latency_p99_ms": float(np.median([item["p99"] for item in minutes])),
        "cpu_percent": 100.0 * spent / elapsed,
        "pieces": minutes,
    }
    print_table(
        "Summary",
        ("figure", "value"),
        [(key, result[key]) for key in KEYS],
    )
    return result
