# SPDX-License-Identifier: Apache-2.0
"""A live emulated arm: weight, pushes, foam block and free motion, estimate against truth."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.registry import UsageError
from na_cli.report import print_table

KEYS = (
    "seconds",
    "phases",
    "delays_ms",
    "missed",
    "false_alarms_per_minute",
    "tare",
    "tare_effect",
    "model",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument("--seconds", type=float, default=85.0, help="length (default 85)")
    parser.add_argument("--model", type=Path, metavar="FILE.onnx", help="default: the committed")
    parser.add_argument("--baseline", default="gmo", help="classical observer beside it")
    parser.add_argument(
        "--baseline-settings", default="", metavar="FILE", help="of ./na bench accuracy --settings"
    )
    parser.add_argument(
        "--gate-clear", type=float, metavar="K", help="parameter gate_clear; default the node's own"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the operator")
    parser.add_argument("--out", type=Path, metavar="FILE.png", help="picture of the force trace")


class Listener:
    """Collects states, truth and the classical observer's wrench, and asks for a tare."""

    def __init__(self) -> None:
        import rclpy
        from geometry_msgs.msg import WrenchStamped
        from rclpy.executors import SingleThreadedExecutor
        from std_srvs.srv import Trigger

        from na_msgs.msg import ActuatorTelemetry, NeuralActuatorState, PlantTruth

        rclpy.init()
        self.node = rclpy.create_node("live_listener")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: list[tuple[float, ...]] = []
        self.truth: list[tuple[float, ...]] = []
        self.baseline: list[tuple[float, ...]] = []
        self.tares: list[str] = []
        self.tared_at = float("nan")
        self.goals: list[tuple[float, ...]] = []
        self.validity: Counter[int] = Counter()
        self._pending: Any = None
        self._client = self.node.create_client(Trigger, "neural_actuator_node/tare")
        self._request = Trigger.Request
        subscribe = self.node.create_subscription
        subscribe(NeuralActuatorState, "neural_actuator/state", self._state, 100)
        subscribe(ActuatorTelemetry, "follower/telemetry", self._telemetry, 100)
        subscribe(PlantTruth, "sim/follower/truth", self._truth, 100)
        subscribe(WrenchStamped, "neural_actuator_node/baseline/wrench", self._wrench, 100)

    def _state(self, m: Any) -> None:
        force, bare = m.force, m.force_ungated
        self.validity[m.validity] += 1
        row = (_seconds(m), float(m.validity == 0), force.x, force.y, force.z)
        spread = float(np.sqrt(sum(m.force_covariance[0::4])))
        self.states.append((*row, bare.x, bare.y, bare.z, float(m.contact.in_contact), spread))

    def _telemetry(self, m: Any) -> None:
        self.goals.append((_seconds(m), *m.goal_sent))

    def _truth(self, m: Any) -> None:
        self.truth.append((_seconds(m), m.force.x, m.force.y, m.force.z))

    def _wrench(self, m: Any) -> None:
        force = m.wrench.force
        self.baseline.append((_seconds(m), force.x, force.y, force.z))

    def spin(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(timeout_sec=min(left, 0.1))

    def ask_tare(self) -> None:
        """Ask once more unless a request is under way or one succeeded."""
        if self._pending is not None and self._pending.done():
            answer = self._pending.result()
            self.tares.append(answer.message)
            if answer.success:
                self.tared_at = time.time()
            self._pending = None
        done = any(text.startswith("tared") for text in self.tares)
        if self._pending is None and not done and self._client.service_is_ready():
            self._pending = self._client.call_async(self._request())

    def close(self) -> None:
        """Leave the domain."""
        import rclpy

        self.node.destroy_node()
        rclpy.try_shutdown()


def _tare_effect(
    trace: Any, resting: list[tuple[float, float]], tared_at: float
) -> list[tuple[str, float | None]]:
    """Size of the mean error at rest without contact, before and after the tare [N]."""
    from na_cli.bench._live_figures import SETTLED, rest_bias

    if not np.isfinite(tared_at):
        return []
    settled = [(start + SETTLED, stop) for start, stop in resting]
    here = [(a, b) for a, b in settled if a <= tared_at <= b + 1.0]
    later = [(a, b) for a, b in settled if a > tared_at]
    return [
        (
            "bias at that rest, before the tare [N]",
            rest_bias(trace, [(a, tared_at) for a, _ in here]),
        ),
        (
            "bias at that rest, after the tare [N]",
            rest_bias(trace, [(tared_at, b) for _, b in here]),
        ),
        (f"bias at {len(later)} later rests, other poses [N]", rest_bias(trace, later)),
    ]


def _silence(counts: Counter[int]) -> list[tuple[str, float]]:
    """Share of ticks [%] by the reason why nothing was said."""
    from na_inference.validity import Validity

    total = sum(counts.values())
    return [
        (f"silent: {Validity(code).text} [%]", 100.0 * count / total)
        for code, count in sorted(counts.items())
        if code
    ]


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec) + 1e-9 * float(message.header.stamp.nanosec)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the scene "live", print the tables, return the figures."""
    from na_cli.bench._teleop_rig import START_TIMEOUT, TeleopRig
    from na_inference.model_paths import committed_model

    model = arguments.model or committed_model("omx")
    if model is None:
        raise UsageError("no committed model of omx: give --model FILE.onnx")
    with tempfile.TemporaryDirectory(prefix="na-bench-live-") as name:
        rig = TeleopRig(
            Path(name),
            60.0,
            model,
            scene="live",
            estimate={
                "baseline": arguments.baseline,
                "baseline_settings": arguments.baseline_settings,
                "gate_clear": "" if arguments.gate_clear is None else arguments.gate_clear,
            },
            record=False,
            seed=arguments.seed,
        )
        try:
            listener = Listener()
            begin = time.monotonic()
            while len(listener.states) < 60:
                listener.spin(0.5)
                rig.check()
                if time.monotonic() - begin > START_TIMEOUT:
                    raise TimeoutError(rig.log("neural_actuator_node"))
            end = time.monotonic() + arguments.seconds
            while time.monotonic() < end:
                listener.spin(0.25)
                listener.ask_tare()
            listener.close()
        finally:
            rig.close()
    return _report(listener, arguments, str(model))


def _report(listener: Listener, arguments: argparse.Namespace, model: str) -> dict[str, Any]:
    from na_cli.bench._live_figures import (
        Trace,
        aligned,
        detection_delays,
        false_alarms,
        phase_figures,
        rests,
    )

    # A state without a tick behind it has stamp 0.
    states = np.array([row for row in listener.states if row[0] > 0.0])
    truth = np.array(listener.truth)
    baseline = np.array(listener.baseline).reshape(-1, 4)
    stamps, first = np.unique(states[:, 0], return_index=True)
    states = states[first]
    trace = Trace(
        stamps,
        states[:, 1] > 0,
        states[:, 2:5],
        states[:, 5:8],
        states[:, 8] > 0,
        aligned(stamps, truth[:, 0], truth[:, 1:]),
        aligned(stamps, baseline[:, 0], baseline[:, 1:]),
        states[:, 9],
    )
    spans = _spans(truth, float(stamps[0]), float(stamps[-1]))
    phases = [phase_figures(trace, name, found) for name, found in spans.items()]
    print_table(
        f"Live emulated arm, {arguments.baseline} beside the model {Path(model).name}",
        (
            "phase",
            "s",
            "truth z [N]",
            "estimate z [N]",
            "|error| [N]",
            "ungated",
            arguments.baseline,
            "always zero",
            "gate open [%]",
            "silent [%]",
        ),
        [
            (
                p.name,
                p.seconds,
                float(p.truth[2]),
                float(p.estimate[2]),
                p.error,
                p.error_ungated,
                p.error_baseline,
                p.error_zero,
                100.0 * p.open_share,
                100.0 * p.silent_share,
            )
            for p in phases
        ],
    )
    delays = detection_delays(trace)
    found = [1e3 * delay for delay in delays if np.isfinite(delay)]
    alarms, minutes = false_alarms(trace, spans["free motion"] + spans["foam block"])
    opened = [alarm for alarm in alarms if not alarm.late]
    minutes = max(minutes, 1e-9)
    goals = np.array(listener.goals)
    resting = rests(goals[:, 0], goals[:, 1:])
    tare = next((t for t in listener.tares if t.startswith("tared")), None)
    tare = tare or (listener.tares[-1] if listener.tares else "not asked")
    effect = _tare_effect(trace, resting, listener.tared_at)
    refused = Counter(text for text in listener.tares if not text.startswith("tared"))
    print_table(
        "Contact",
        ("figure", "value"),
        [
            ("onsets of true contact", len(delays)),
            ("detected", len(found)),
            ("median delay [ms]", float(np.median(found)) if found else None),
            ("longest delay [ms]", max(found) if found else None),
            ("false alarms per minute, free and foam", len(opened) / minutes),
            ("gate still open after a contact [per minute]", (len(alarms) - len(opened)) / minutes),
            ("tare", tare),
            ("tares refused before, while moving or in contact", sum(refused.values())),
            *effect,
            *_silence(listener.validity),
        ],
    )
    print_table(
        "Openings of the gate without true contact",
        (
            "at [s]",
            "lasted [ms]",
            "since contact [s]",
            "force [N]",
            "predicted deviation [N]",
            "kind",
        ),
        [
            (
                a.start - float(stamps[0]),
                1e3 * a.seconds,
                a.since_contact,
                a.force,
                a.deviation,
                "still open" if a.late else "opened",
            )
            for a in alarms
        ],
    )
    if arguments.out is not None:
        _picture(trace, truth, arguments.out, f"{Path(model).name}, emulated arm")
    return {
        "seconds": float(stamps[-1] - stamps[0]),
        "phases": {
            p.name: {
                "error": p.error,
                "error_ungated": p.error_ungated,
                "error_baseline": p.error_baseline,
                "error_zero": p.error_zero,
                "open_share": p.open_share,
                "silent_share": p.silent_share,
            }
            for p in phases
        },
        "delays_ms": found,
        "missed": len(delays) - len(found),
        "false_alarms_per_minute": len(opened) / minutes,
        "still_open_per_minute": (len(alarms) - len(opened)) / minutes,
        "tare": tare,
        "tare_effect": dict(effect),
        "model": model,
    }


def _spans(truth: Any, start: float, stop: float) -> dict[str, list[tuple[float, float]]]:
    """When which kind of phase was, from the first weight seen in the truth."""
    from na_sim.scene_script import LIVE

    size = np.linalg.norm(truth[:, 1:], axis=1)
    weight = next(item for item in LIVE.influences if item.kind == "payload")
    down = (truth[:, 3] < -1.0) & (np.linalg.norm(truth[:, 1:3], axis=1) < 0.5) & (size < 2.6)
    long = [k for k in np.flatnonzero(down) if _lasts(truth[:, 0], down, int(k), 5.0)]
    if not long:
        return {"free motion": [(start, stop)], "foam block": []}
    zero = float(truth[long[0], 0]) - weight.at
    names = {"payload": "200 g weight", "push": "3 N push", "block": "foam block"}
    spans: dict[str, list[tuple[float, float]]] = {
        "free motion": [],
        "200 g weight": [],
        "3 N push": [],
        "foam block": [],
    }
    cycle = int(np.floor((start - zero) / LIVE.repeat))
    while zero + cycle * LIVE.repeat < stop:
        base, free_from = zero + cycle * LIVE.repeat, zero + cycle * LIVE.repeat
        for item in LIVE.influences:
            spans[names[item.kind]].append((base + item.at, base + item.at + item.duration))
            spans["free motion"].append((free_from, base + item.at))
            free_from = base + item.at + item.duration
        spans["free motion"].append((free_from, base + LIVE.repeat))
        cycle += 1
    return spans


def _lasts(times: Any, condition: Any, index: int, seconds: float) -> bool:
    """Whether a condition that begins at `index` holds for `seconds`."""
    if index and condition[index - 1]:
        return False
    end = np.searchsorted(times, times[index] + seconds)
    return bool(end < len(times) and condition[index:end].mean() > 0.9)


def _picture(trace: Any, truth: Any, path: Path, title: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    zero = trace.time[0]
    figure, axes = plt.subplots(4, 1, figsize=(10, 7), sharex=True, constrained_layout=True)
    for axis, name in enumerate("xyz"):
        plot = axes[axis]
        plot.plot(truth[:, 0] - zero, truth[:, 1 + axis], color="0.6", label="truth")
        plot.plot(
            trace.time - zero, trace.force[:, axis], color="tab:red", lw=0.9, label="estimate"
        )
        plot.set_ylabel(f"F{name} [N]")
        plot.grid(alpha=0.3)
    axes[0].legend(loc="upper right")
    axes[0].set_title(title)
    axes[3].fill_between(trace.time - zero, trace.contact.astype(float), step="post", alpha=0.5)
    axes[3].set_ylabel("gate")
    axes[3].set_xlabel("time [s]")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
