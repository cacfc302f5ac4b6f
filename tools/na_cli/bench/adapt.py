# SPDX-License-Identifier: Apache-2.0
"""~/adapt on a live emulated arm of another unit: label, worker, guard, swap, errors around it."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.registry import UsageError
from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = ("answer", "swapped", "seconds_waited", "before", "after", "latency", "labelled_ticks")

UNCLEAR = 0.6  # s after a change of the true force in which no label is given
STEADY = 0.15  # N by which the true force may differ from the label
ANSWER_TIMEOUT = 600.0  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument(
        "--seconds", type=float, default=122.0, help="labelled motion (default 122)"
    )
    parser.add_argument(
        "--after", type=float, default=82.0, help="length of the judgement after it"
    )
    parser.add_argument("--model", type=Path, metavar="FILE.onnx", help="default: the committed")
    parser.add_argument(
        "--unit", type=int, default=8, help="which arm; 0 and 2 to 7 were trained on (default 8)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the operator")


class Listener:
    """Labels from the emulated truth, as an operator with known weights gives them; errors."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_srvs.srv import Trigger

        from na_msgs.msg import ForceLabel, NeuralActuatorState, PlantTruth

        rclpy.init()
        self.node = rclpy.create_node("adapt_listener")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._label_type = ForceLabel
        self._labels = self.node.create_publisher(ForceLabel, "/nad/label", latched)
        self._client = self.node.create_client(Trigger, "neural_actuator_node/adapt")
        self._request = Trigger.Request
        self.states: list[tuple[float, ...]] = []
        self.truth: list[tuple[float, ...]] = []
        self.models: list[str] = []
        self.labelling = True
        self.labelled = 0
        self._said: tuple[float, ...] | None = None
        self._held: tuple[float, Any] = (0.0, np.zeros(3))
        subscribe = self.node.create_subscription
        subscribe(NeuralActuatorState, "neural_actuator/state", self._state, 100)
        subscribe(PlantTruth, "sim/follower/truth", self._truth, 100)

    def _state(self, m: Any) -> None:
        if m.model_id and (not self.models or self.models[-1] != m.model_id):
            self.models.append(m.model_id)
        if m.header.stamp.sec == 0:
            return
        row = (_seconds(m), float(m.validity == 0), m.force.x, m.force.y, m.force.z)
        self.states.append((*row, float(m.contact.in_contact), m.latency))
        self.labelled += bool(self._said)

    def _truth(self, m: Any) -> None:
        now, force = _seconds(m), np.array([m.force.x, m.force.y, m.force.z])
        self.truth.append((now, *force))
        if not self.labelling:
            return self._say(m, None)
        begun, held = self._held
        if np.abs(force - held).max() > STEADY:
            self._held = (now, force)
            return self._say(m, None)
        if now - begun > UNCLEAR:
            self._say(m, held)
        return None

    def _say(self, truth: Any, force: Any) -> None:
        """Publish a label when it is another one than before; None: not known."""
        content = None if force is None else tuple(float(v) for v in force)
        if content == self._said:
            return
        self._said = content
        label = self._label_type()
        label.header = truth.header
        label.valid = content is not None
        label.source = label.FT_SENSOR if content is not None else label.NONE
        label.mass = float("nan")
        label.force.x, label.force.y, label.force.z = content or (float("nan"),) * 3
        self._labels.publish(label)

    def spin(self, seconds: float) -> None:
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(timeout_sec=min(left, 0.1))

    def adapt(self) -> tuple[str, float]:
        """Call the service and serve callbacks until it answers; its text and the wait [s]."""
        begun = time.monotonic()
        future = self._client.call_async(self._request())
        while not future.done():
            self.spin(0.25)
            if time.monotonic() - begun > ANSWER_TIMEOUT:
                raise TimeoutError(f"~/adapt did not answer within {ANSWER_TIMEOUT:g} s")
        return future.result().message, time.monotonic() - begun

    def close(self) -> None:
        """Leave the domain."""
        import rclpy

        self.node.destroy_node()
        rclpy.try_shutdown()


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec) + 1e-9 * float(message.header.stamp.nanosec)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Drive, label, adapt, drive on; print the answer and the errors before and after."""
    ensure_training_packages()
    from na_cli.bench._teleop_rig import START_TIMEOUT, TeleopRig
    from na_inference.model_paths import committed_model

    model = arguments.model or committed_model("omx")
    if model is None:
        raise UsageError("no committed model of omx: give --model FILE.onnx")
    with tempfile.TemporaryDirectory(prefix="na-bench-adapt-") as name:
        rig = TeleopRig(
            Path(name),
            60.0,
            model,
            scene="live",
            record=False,
            seed=arguments.seed,
            unit=arguments.unit,
        )
        try:
            listener = Listener()
            begin = time.monotonic()
            while len(listener.states) < 60:
                listener.spin(0.5)
                rig.check()
                if time.monotonic() - begin > START_TIMEOUT:
                    raise TimeoutError(rig.log("neural_actuator_node"))
            start = time.time()
            listener.spin(arguments.seconds)
            listener.labelling = False
            listener.spin(0.2)
            labelled, called = listener.labelled, time.time()
            answer, waited = listener.adapt()
            answered = time.time()
            listener.spin(arguments.after)
            listener.close()
        finally:
            rig.close()
        log = rig.log("neural_actuator_node")
    states, truth = np.array(listener.states), np.array(listener.truth)
    spans = {
        "before": (start, called),
        "while the worker ran": (called, answered),
        "after": (answered, float(states[-1, 0])),
    }
    figures = {name: _figures(states, truth, *span) for name, span in spans.items()}
    swapped = len(listener.models) > 1
    _print(answer, waited, labelled, figures, arguments)
    if not states.size:
        print(log)
    return {
        "answer": answer,
        "swapped": swapped,
        "seconds_waited": waited,
        "labelled_ticks": labelled,
        "before": figures["before"],
        "during": figures["while the worker ran"],
        "after": figures["after"],
        "latency": {name: row["latency_p99_ms"] for name, row in figures.items()},
        "unit": arguments.unit,
        "model": str(model),
    }


def _figures(states: Any, truth: Any, start: float, stop: float) -> dict[str, float]:
    """Errors of the gated force [N], gate errors and latency between two moments."""
    from na_cli.bench._live_figures import ONSET, aligned

    rows = states[(states[:, 0] >= start) & (states[:, 0] < stop)]
    real = aligned(rows[:, 0], truth[:, 0], truth[:, 1:])
    use = (rows[:, 1] > 0) & np.isfinite(real).all(axis=1)
    size = np.linalg.norm(real, axis=1)
    error = np.linalg.norm(rows[:, 2:5] - real, axis=1)
    touching, free = use & (size >= ONSET), use & (size < ONSET)
    wrong = (rows[:, 5] > 0) != (size >= ONSET)

    def mean(values: Any) -> float:
        return float(np.mean(values)) if len(values) else float("nan")

    return {
        "contact_force": mean(error[touching]),
        "free_force": mean(error[free]),
        "gate_error": mean(wrong[use]),
        "silent_share": mean(rows[:, 1] == 0),
        "latency_p99_ms": 1e3 * float(np.nanpercentile(rows[:, 6], 99)) if len(rows) else np.nan,
    }


def _print(
    answer: str,
    waited: float,
    labelled: int,
    figures: dict[str, dict[str, float]],
    arguments: argparse.Namespace,
) -> None:
    print_table(
        f"~/adapt on emulated arm {arguments.unit}",
        ("figure", "value"),
        [
            ("labelled ticks", labelled),
            ("answer after [s]", waited),
            ("answer", answer),
        ],
    )
    print_table(
        "Live estimate against the emulated truth",
        ("span", "contact [N]", "free [N]", "gate error [%]", "silent [%]", "latency p99 [ms]"),
        [
            (
                name,
                row["contact_force"],
                row["free_force"],
                100.0 * row["gate_error"],
                100.0 * row["silent_share"],
                row["latency_p99_ms"],
            )
            for name, row in figures.items()
        ],
    )
