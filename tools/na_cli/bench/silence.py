# SPDX-License-Identifier: Apache-2.0
"""What the live estimate says when something is wrong: one row per fault."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from na_cli.report import print_table

KEYS = ("rows", "wrenches_while_wrong")

STEP = 1 / 60
AMPERES = np.array([0.2, 0.1, -0.3, 0.0, 0.0])  # the tiny model reads 2, 1, −3 N


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


class Arm:
    """Plays ticks into an estimator and counts what would have been published."""

    def __init__(self, folder: Path) -> None:
        from na_core.robot_spec import load_robot_spec
        from na_inference.estimator import Estimator
        from na_inference.model_file import load_model
        from na_inference.telemetry_input import TelemetryInput
        from na_inference.testing import write_tiny_model

        self.folder = folder
        self.spec = load_robot_spec("omx")
        self.path = write_tiny_model(folder / "tiny.onnx", self.spec, stream=True)
        self.estimator = Estimator(self.spec, load_model(self.path, self.spec))
        self.input = TelemetryInput(self.spec)
        self.stamp_ns, self.sequence, self.step = 10**18, 0, STEP
        self.force = np.zeros(3)

    def tick(self, **changes: Any) -> Any:
        """One tick of telemetry; the estimate's own memory."""
        self.stamp_ns += round(1e9 * self.step)
        self.sequence += 1
        n, pose = self.spec.n, [0.1, -0.6, 0.5, 0.9, 0.005]
        values = {
            "name": list(self.spec.names),
            "sequence": self.sequence,
            "stale": False,
            "position": pose,
            "velocity": [0.0] * n,
            "goal_sent": pose,
            "goal_register": pose,
            "current": AMPERES.tolist(),
            "load": [float("nan")] * n,
            "voltage": [12.0] * n,
            "temperature": [40.0] * n,
            **changes,
        }
        reading = self.input.reading(SimpleNamespace(**values), self.stamp_ns)
        out = self.estimator.step(reading, self.stamp_ns + 2_000_000)
        if out is not None and out.valid:
            self.force = out.force.copy()
        return out

    def run(self, count: int, **changes: Any) -> tuple[int, str]:
        """Play ticks; returns how many wrenches were published and what was said last."""
        wrenches, said = 0, ""
        for _ in range(count):
            out = self.tick(**changes)
            if out is None:
                continue
            wrenches += out.valid
            said = f"{out.validity.text}: {out.reason}" if out.reason else out.validity.text
        return wrenches, said

    def recover(self, most: int = 200) -> int:
        """Good ticks until the estimate speaks again."""
        for count in range(1, most):
            out = self.tick()
            if out is not None and out.valid:
                return count
        return most


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Try every fault, print the table, return the rows."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="na-bench-silence-") as folder:
        for name, fault in FAULTS.items():
            arm = Arm(Path(folder))
            arm.run(60)
            wrenches, said = fault(arm)
            rows.append(
                {
                    "fault": name,
                    "wrenches": wrenches,
                    "said": said,
                    "recovery": arm.recover(),
                    "force": arm.force.tolist(),
                }
            )
    print_table(
        "Faults of the live estimate",
        ("fault", "wrenches meanwhile", "what was said", "good ticks until it speaks"),
        [(row["fault"], row["wrenches"], row["said"], row["recovery"]) for row in rows],
    )
    wrong = sum(row["wrenches"] for row in rows if row["fault"] not in HARMLESS)
    print(f"wrenches published while something was wrong: {wrong}")
    return {"rows": rows, "wrenches_while_wrong": wrong}


def _stops(arm: Arm) -> tuple[int, str]:
    arm.stamp_ns += 500_000_000
    out = arm.estimator.silent(arm.stamp_ns, 0.5)
    return int(out.valid), f"{out.validity.text}: {out.reason}"


def _missing(arm: Arm, count: int) -> tuple[int, str]:
    arm.stamp_ns += count * 16_666_667
    wrenches, said = arm.run(1)
    return wrenches, f"{said}; {arm.estimator.counters['bridged']} pause bridged"


def _permuted(arm: Arm) -> tuple[int, str]:
    order = [3, 1, 4, 0, 2]
    pose = [0.1, -0.6, 0.5, 0.9, 0.005]
    names = [arm.spec.names[k] for k in order]
    crossed = {
        key: [values[k] for k in order]
        for key, values in (
            ("position", pose),
            ("goal_sent", pose),
            ("goal_register", pose),
            ("current", AMPERES.tolist()),
        )
    }
    wrenches, said = arm.run(20, name=names, **crossed)
    return wrenches, f"{said}; force unchanged, by name: {np.round(arm.force, 2).tolist()} N"


def _rate(arm: Arm) -> tuple[int, str]:
    arm.step = 1 / 120
    arm.run(8)
    result = arm.run(60)
    arm.step = STEP
    return result


def _clock_back(arm: Arm) -> tuple[int, str]:
    arm.stamp_ns -= 3_600_000_000_000
    return arm.run(1)


def _refused(make: Callable[[Arm], Path], **options: Any) -> Callable[[Arm], tuple[int, str]]:
    """A model that must be refused; the old one goes on, so wrenches are right meanwhile."""

    def fault(arm: Arm) -> tuple[int, str]:
        from na_inference.model_file import load_model

        try:
            arm.estimator.swap(load_model(make(arm), arm.spec, **options))
        except ValueError as error:
            wrenches, _ = arm.run(20)
            text = str(error).replace(str(arm.folder) + "/", "")
            return wrenches, f"refused, the old model goes on: {text}"
        return arm.run(20)[0], "accepted"

    return fault


def _model(name: str, **options: Any) -> Callable[[Arm], Path]:
    def make(arm: Arm) -> Path:
        from na_inference.testing import tiny_metadata, write_tiny_model

        changes = options.get("metadata")
        metadata = None if changes is None else tiny_metadata(arm.spec, **changes)
        return write_tiny_model(
            arm.folder / f"{name}.onnx",
            arm.spec,
            double=options.get("double", False),
            metadata=metadata,
            force_per_ampere=options.get("force_per_ampere", 10.0),
        )

    return make


def _truncated(arm: Arm) -> Path:
    path = arm.folder / "truncated.onnx"
    path.write_bytes(arm.path.read_bytes()[:700])
    return path


def _swapped(arm: Arm) -> tuple[int, str]:
    from na_inference.model_file import load_model

    arm.estimator.swap(load_model(_model("other", force_per_ampere=20.0)(arm), arm.spec))
    first = arm.run(8)
    arm.run(4)
    return first[0], f"{first[1]}; then {np.round(arm.force, 2).tolist()} N by the new model"


NAN = float("nan")
FAULTS: dict[str, Callable[[Arm], tuple[int, str]]] = {
    "telemetry stops": _stops,
    "one tick missing": lambda arm: _missing(arm, 1),
    "four ticks missing": lambda arm: _missing(arm, 4),
    "stale tick (a servo did not answer)": lambda arm: arm.run(1, stale=True),
    "NaN current": lambda arm: arm.run(20, current=[0.2, NAN, -0.3, 0.0, 0.0]),
    "joints permuted in the message": _permuted,
    "a joint missing": lambda arm: arm.run(20, name=[*arm.spec.names[:4], "finger"]),
    "rate doubles (60 to 120 Hz)": _rate,
    "clock jumps back 1 h": _clock_back,
    "temperature out of range (75 °C)": lambda arm: arm.run(20, temperature=[40, 40, 75, 40, 40]),
    "supply out of range (7.4 V)": lambda arm: arm.run(20, voltage=[7.4] * 5),
    "another robot's model": _refused(_model("so101", metadata={"robot": "so101"})),
    "truncated ONNX": _refused(_truncated),
    "metadata key missing": _refused(_model("bare", metadata={"feature_scale": None})),
    "ONNX with float64": _refused(_model("double", double=True)),
    "another calibration": _refused(_model("plain"), calibration="ab12"),
    "model swapped mid-run": _swapped,
}

#: Wrenches meanwhile are right: the message was understood, or the old model went on.
HARMLESS = {
    "one tick missing",
    "joints permuted in the message",
    "another robot's model",
    "truncated ONNX",
    "metadata key missing",
    "ONNX with float64",
    "another calibration",
}
