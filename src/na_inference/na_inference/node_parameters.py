# SPDX-License-Identifier: Apache-2.0
"""Parameters of neural_actuator_node: default, bounds, meaning; and the settings they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from na_core.observers import OBSERVERS
from na_inference.estimator import EstimatorSettings
from na_inference.joint_state_input import JointStateSettings
from na_inference.reflex import Reaction


@dataclass(frozen=True)
class Entry:
    """One parameter; `live` ones may be changed while the node runs."""

    default: Any
    meaning: str
    bounds: tuple[float, float] | None = None
    options: tuple[str, ...] = ()
    live: bool = False


INPUTS = ("telemetry", "joint_states")
GOAL_TYPES = ("JointGoal", "JointState", "Float64MultiArray")
STREAM_WEIGHTS = ("float32", "int8")
BASELINES = ("none", *OBSERVERS)
NAN = float("nan")

PARAMETERS: dict[str, Entry] = {
    "robot": Entry("omx", "robot YAML in na_description, or a path to one"),
    "model": Entry("", "path of the .onnx file; empty: the robot's committed model"),
    "calibration": Entry("", "calibration file of the follower; empty: calibration_hash holds"),
    "calibration_hash": Entry("none", "hash of the calibration in force, 'none' without one"),
    "accept_other_calibration": Entry(
        False, "use a model of another calibration than the one in force, with a warning"
    ),
    "autostart": Entry(True, "configure and activate at the start"),
    "streaming": Entry(True, "one token per tick: NAME.stream.onnx, or made from the model"),
    "stream_weights": Entry("float32", "weights of a graph made so", None, STREAM_WEIGHTS),
    "threads": Entry(1, "threads of the network", (1, 16)),
    "spinning": Entry(False, "let idle threads of the network spin"),
    "input": Entry("telemetry", "where ticks come from", None, INPUTS),
    "goal_type": Entry("JointGoal", "message type of ~/goal with joint states", None, GOAL_TYPES),
    "effort_unit": Entry("", "unit of effort in joint states: A, mA, fraction, percent or factor"),
    "effort_factor": Entry([0.0], "with factor: A per unit of effort, one per joint"),
    "assumed_voltage": Entry(NAN, "supply of an arm without telemetry [V]"),
    "assumed_temperature": Entry(NAN, "servo temperature of an arm without telemetry [degC]"),
    "joint_names": Entry([""], "names in joint states that differ from ours, as theirs=ours"),
    "gate_on": Entry(0.0, "probability that opens the gate; 0: the model's", (0.0, 0.999)),
    "gate_off": Entry(0.0, "probability below which it closes; 0: the model's", (0.0, 0.999)),
    "gate_dwell": Entry(0.0, "time that a change must last [s]; 0: the model's", (0.0, 5.0)),
    "gate_clear": Entry(
        1.5, "force over its predicted deviation that the gate asks for; 0: none", (0.0, 10.0)
    ),
    "max_temperature": Entry(70.0, "servo temperature for silence [degC]", (20.0, 120.0), (), True),
    "min_observability": Entry(
        0.01, "smallest singular value of the Jacobian for a force [m]", (0.0, 1.0), (), True
    ),
    "tare_reach": Entry(
        0.5, "servo travel over which a tare fades [rad]; 0: it holds everywhere", (0.0, 10.0)
    ),
    "max_age": Entry(0.1, "age of a tick that makes it stale [s]; 0: not checked", (0.0, 10.0)),
    "silence_after": Entry(0.1, "pause after which STALE is said [s]", (0.02, 10.0)),
    "gap": Entry(1.8, "step from which ticks are missing [ticks]", (1.1, 10.0)),
    "bridge": Entry(3, "missing ticks that are filled in within a window; more break it", (0, 8)),
    "deadline": Entry(0.006, "latency that counts as a miss [s]", (1e-4, 1.0)),
    "baseline": Entry("none", "classical observer on ~/baseline/wrench", None, BASELINES),
    "baseline_settings": Entry("", "JSON file of its settings; empty: published ratings"),
    "reflex": Entry("none", "on contact, ask the follower to", None, tuple(Reaction), True),
    "reflex_force": Entry(8.0, "force that fires the reflex [N]", (0.2, 100.0), (), True),
    "adapt_minutes": Entry(4.0, "recording that ~/adapt learns from [min]", (0.1, 60.0)),
    "adapt_command": Entry([""], "command of ~/adapt; empty: the training package's"),
}


def check_value(name: str, value: Any) -> str:
    """Return why a parameter's value is refused, or ""; ranges are checked by ROS itself."""
    entry = PARAMETERS.get(name)
    if entry is not None and entry.options and value not in entry.options:
        return f"parameter {name} is {value!r}: expected one of {', '.join(entry.options)}"
    return ""


def read_all(get: Callable[[str], Any]) -> dict[str, Any]:
    """All values through `get`; raises ValueError naming the first that is refused."""
    values = {name: get(name) for name in PARAMETERS}
    for name, value in values.items():
        refusal = check_value(name, value)
        if refusal:
            raise ValueError(refusal)
    return values


def estimator_settings(values: Mapping[str, Any]) -> EstimatorSettings:
    """The estimator's settings; the gate is set apart, once the model is known."""
    keys = (
        *("max_temperature", "min_observability", "max_age", "gap", "bridge"),
        *("tare_reach", "gate_clear"),
    )
    return EstimatorSettings(**{key: values[key] for key in keys})


def joint_state_settings(values: Mapping[str, Any]) -> JointStateSettings:
    """What a driver's messages mean; raises ValueError for a pair that is not theirs=ours."""
    names = {}
    for pair in values["joint_names"]:
        if not pair:
            continue
        theirs, separator, ours = pair.partition("=")
        if not (theirs and separator and ours):
            raise ValueError(f"joint_names holds {pair!r}: expected theirs=ours")
        names[theirs] = ours
    factor = tuple(values["effort_factor"])
    return JointStateSettings(
        values["effort_unit"],
        values["assumed_voltage"],
        values["assumed_temperature"],
        factor,
        names,
    )


def chosen_gate(
    values: Mapping[str, Any], on: float, off: float, dwell_s: float
) -> tuple[float, float, float]:
    """Thresholds and dwell [s]: the parameters where they are not 0, else the given ones."""
    return (values["gate_on"] or on, values["gate_off"] or off, values["gate_dwell"] or dwell_s)
