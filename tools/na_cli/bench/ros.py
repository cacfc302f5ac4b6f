# SPDX-License-Identifier: Apache-2.0
"""Teleoperation, recorder and force estimate together: from telemetry stamp to wrench received."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = (
    "rate",
    "seconds",
    "latency_p50_ms",
    "latency_p99_ms",
    "latency_max_ms",
    "lost",
    "deadline_miss_fraction",
    "cpu_percent",
    "memory_growth_mb",
    "latency_drift_ms",
    "ticks",
    "wrenches",
    "stages_ms",
)

DEADLINE = 0.006  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument("--rate", type=float, default=100.0, help="ticks per second [Hz]")
    parser.add_argument("--seconds", type=float, default=60.0, help="length (default 60)")
    parser.add_argument(
        "--model", type=Path, metavar="FILE.onnx", help="a model for this rate; default: untrained"
    )


class Listener:
    """Receives telemetry, states and wrenches, and notes when."""

    def __init__(self) -> None:
        import rclpy
        from geometry_msgs.msg import WrenchStamped
        from rclpy.executors import SingleThreadedExecutor

        from na_msgs.msg import ActuatorTelemetry, NeuralActuatorState

        rclpy.init()
        self.node = rclpy.create_node("latency_listener")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.telemetry: list[int] = []
        self.arrivals: list[float] = []
        self.states: list[tuple[int, int]] = []
        self.published: list[float] = []
        self.wrenches: list[tuple[int, int]] = []
        self.node.create_subscription(ActuatorTelemetry, "follower/telemetry", self._tick, 1000)
        self.node.create_subscription(
            NeuralActuatorState, "neural_actuator/state", self._state, 1000
        )
        self.node.create_subscription(WrenchStamped, "neural_actuator/wrench", self._wrench, 1000)

    def _wrench(self, message: Any) -> None:
        now = time.time_ns()
        stamp = message.header.stamp
        self.wrenches.append((stamp.sec * 10**9 + stamp.nanosec, now))

    def _tick(self, message: Any) -> None:
        now, stamp = time.time_ns(), message.header.stamp
        self.arrivals.append(1e-6 * (now - stamp.sec * 10**9 - stamp.nanosec))
        self.telemetry.append(message.sequence)

    def _state(self, message: Any) -> None:
        self.published.append(1e3 * message.latency)
        self.states.append((message.sequence, message.validity))

    def clear(self) -> None:
        """Forget what was received so far."""
        lists = (self.telemetry, self.arrivals, self.states, self.published, self.wrenches)
        for heard in lists:
            heard.clear()

    def spin(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(timeout_sec=min(left, 0.1))

    def close(self) -> None:
        """Leave the domain."""
        import rclpy

        self.node.destroy_node()
        rclpy.try_shutdown()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run everything for `arguments.seconds`, print the tables, return the figures."""
    ensure_training_packages()
    from na_cli.bench._teleop_rig import START_TIMEOUT, TeleopRig
    from na_cli.bench._untrained import export_untrained

    with tempfile.TemporaryDirectory(prefix="na-bench-ros-") as name:
        folder = Path(name)
        model = arguments.model or export_untrained(folder, "query", arguments.rate)
        rig = TeleopRig(folder, arguments.rate, model)
        try:
            listener = Listener()
            begin = time.monotonic()
            # States come also while the estimate is silent, for example at a rate not kept.
            while len(listener.states) < 3 * arguments.rate:
                listener.spin(0.5)
                rig.check()
                if time.monotonic() - begin > START_TIMEOUT:
                    raise TimeoutError(
                        f"no estimate within {START_TIMEOUT:g} s: {rig.log('neural_actuator_node')}"
                    )
            listener.clear()
            before, began = rig.usage(), time.monotonic()
            listener.spin(arguments.seconds)
            elapsed, after = time.monotonic() - began, rig.usage()
            listener.close()
        finally:
            rig.close()
        logs = rig.log("neural_actuator_node")
    result = _figures(listener, elapsed, before, after)
    result["rate"] = arguments.rate
    result["model"] = str(arguments.model or "random weights")
    _print(result)
    if not listener.wrenches:
        print(logs)
    return result


def _figures(
    listener: Listener,
    elapsed: float,
    before: dict[str, tuple[float, int]],
    after: dict[str, tuple[float, int]],
) -> dict[str, Any]:
    times = np.array(listener.wrenches, dtype=np.int64).reshape(-1, 2)
    latency = 1e-6 * (times[:, 1] - times[:, 0])
    sequence = np.array(listener.telemetry, dtype=np.int64)
    ticks = int(sequence[-1] - sequence[0] + 1) if len(sequence) else 0
    answered = np.array([number for number, _ in listener.states], dtype=np.int64)
    lost_states = int(np.sum(np.maximum(np.diff(answered) - 1, 0))) if len(answered) else 0
    late = int(np.sum(latency > 1e3 * DEADLINE))
    silent = max(0, ticks - len(latency))
    tenth = max(1, len(latency) // 10)
    return {
        "seconds": elapsed,
        "latency_p50_ms": float(np.percentile(latency, 50)) if len(latency) else None,
        "latency_p99_ms": float(np.percentile(latency, 99)) if len(latency) else None,
        "latency_max_ms": float(latency.max()) if len(latency) else None,
        "stages_ms": {
            "telemetry received by the bench": _percentiles(listener.arrivals),
            "estimate about to be published": _percentiles(listener.published),
            "wrench received by the bench": _percentiles(latency),
        },
        "lost": lost_states + ticks - len(sequence),
        "deadline_miss_fraction": (late + silent) / max(ticks, 1),
        "silent_ticks": silent,
        "invalid": {
            str(code): int(sum(1 for _, validity in listener.states if validity == code))
            for code in sorted({validity for _, validity in listener.states})
        },
        "cpu_percent": {
            name: 100.0 * (after[name][0] - before[name][0]) / elapsed for name in after
        },
        "memory_growth_mb": {name: 1e-6 * (after[name][1] - before[name][1]) for name in after},
        "latency_drift_ms": float(np.median(latency[-tenth:]) - np.median(latency[:tenth]))
        if len(latency)
        else None,
        "ticks": ticks,
        "wrenches": len(latency),
    }


def _percentiles(values: Any) -> tuple[float, float, float] | None:
    """p50, p99 and maximum; None of nothing."""
    found = np.asarray(values, dtype=np.float64)
    found = found[np.isfinite(found)]
    if not len(found):
        return None
    p50, p99 = np.percentile(found, [50, 99])
    return float(p50), float(p99), float(found.max())


def _print(result: dict[str, Any]) -> None:
    print_table(
        f"Telemetry stamp to wrench in another process, {result['rate']:g} Hz",
        ("figure", "value"),
        [
            ("seconds", result["seconds"]),
            ("ticks", result["ticks"]),
            ("wrenches received", result["wrenches"]),
            ("latency p50 [ms]", result["latency_p50_ms"]),
            ("latency p99 [ms]", result["latency_p99_ms"]),
            ("latency max [ms]", result["latency_max_ms"]),
            ("messages lost", result["lost"]),
            ("ticks later than 6 ms or silent [%]", 100.0 * result["deadline_miss_fraction"]),
            ("silent ticks", result["silent_ticks"]),
            ("drift of the median, last tenth less first [ms]", result["latency_drift_ms"]),
        ],
    )
    print_table(
        "Since the telemetry stamp",
        ("until", "p50 [ms]", "p99 [ms]", "max [ms]"),
        [(name, *(row or (None,) * 3)) for name, row in result["stages_ms"].items()],
    )
    print_table(
        "Processes",
        ("process", "CPU [% of one core]", "memory growth [MB]"),
        [
            (name, cpu, result["memory_growth_mb"][name])
            for name, cpu in result["cpu_percent"].items()
        ],
    )
