# SPDX-License-Identifier: Apache-2.0
"""The baseline beside the model: settings by file, restarts after a break, and status figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.calibration import CalibrationError
from na_core.observers import make_estimator
from na_core.onnx_metadata import ModelMetadataError
from na_core.robot_spec import RobotSpec
from na_inference.live_core import LiveCore, calibration_in_force, make_baseline, open_model
from na_inference.model_file import load_model
from na_inference.node_parameters import PARAMETERS, check_value, joint_state_settings, read_all
from na_inference.testing import write_plain_calibration

DT = 1 / 60


def values(**changes: Any) -> dict[str, Any]:
    return {**{name: entry.default for name, entry in PARAMETERS.items()}, **changes}


def test_settings_are_read_from_a_file_of_one_or_of_several_observers(
    omx: RobotSpec, tmp_path: Path
) -> None:
    made = make_estimator("gmo", omx, DT, gain=4.0)
    for content in (made.to_json(), {"gmo": made.to_json(), "dob": {}}):
        path = tmp_path / "observers.json"
        path.write_text(json.dumps(content))
        found = make_baseline(omx, DT, values(baseline="gmo", baseline_settings=str(path)))
        assert found is not None
        assert found.observer.settings == {"gain": 4.0}


@pytest.mark.parametrize(
    ("text", "words"), [("[1]", "holds no settings of 'gmo'"), ("{", "baseline_settings")]
)
def test_a_bad_settings_file_is_named(
    omx: RobotSpec, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "observers.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        make_baseline(omx, DT, values(baseline="gmo", baseline_settings=str(path)))


def test_a_baseline_forgets_what_came_before_a_break(omx: RobotSpec, tiny: Path, tick: Any) -> None:
    core = LiveCore(omx, load_model(tiny, omx), values(baseline="gmo", max_age=0.0))
    current = np.array([0.0, 0.3, 0.0, 0.0, 0.0])

    def play(count: int, **changes: Any) -> list[np.ndarray]:
        forces = []
        for _ in range(count):
            reading = tick(**changes)
            core.step(reading, reading.stamp_ns)
            force = core.baseline_force(reading)
            assert force is not None
            forces.append(force)
        return forces

    first = play(30, current=current)
    play(200)
    tick.stamp_ns += 10**9
    again = play(30, current=current)
    assert np.array(again) == pytest.approx(np.array(first), abs=1e-9)


def test_an_unusable_tick_has_no_baseline(omx: RobotSpec, tiny: Path, tick: Any) -> None:
    core = LiveCore(omx, load_model(tiny, omx), values(baseline="gmo", max_age=0.0))
    assert core.baseline_force(tick(stale=True)) is None
    assert core.baseline_force(tick(trouble="no goal")) is None


def test_the_hash_of_the_calibration_file_is_the_one_in_force(
    omx: RobotSpec, tmp_path: Path
) -> None:
    made = write_plain_calibration(tmp_path / "arm.yaml", omx)
    path = str(tmp_path / "arm.yaml")
    assert calibration_in_force(omx, values(calibration=path)) == made.hash
    assert calibration_in_force(omx, values()) == "none"
    assert calibration_in_force(omx, values(calibration_hash="ab")) == "ab"
    with pytest.raises(ValueError, match="calibration_hash is 'ab': expected"):
        calibration_in_force(omx, values(calibration=path, calibration_hash="ab"))
    write_plain_calibration(tmp_path / "arm.yaml", omx, "leader")
    with pytest.raises(CalibrationError, match="the other one's file"):
        calibration_in_force(omx, values(calibration=path))


def test_an_uncalibrated_model_on_a_calibrated_arm_needs_consent(
    omx: RobotSpec, tiny: Path, tmp_path: Path
) -> None:
    write_plain_calibration(tmp_path / "arm.yaml", omx)
    given = values(calibration=str(tmp_path / "arm.yaml"))
    with pytest.raises(ModelMetadataError, match="accept_other_calibration:=true"):
        open_model(tiny, omx, given)
    model = open_model(tiny, omx, {**given, "accept_other_calibration": True})
    core = LiveCore(omx, model, given)
    assert "not validated on this arm" in str(core.status()["model remarks"])


def test_gate_parameters_win_over_the_models(omx: RobotSpec, tiny: Path) -> None:
    core = LiveCore(omx, load_model(tiny, omx), values(gate_on=0.9, gate_dwell=0.1))
    gate = core.estimator.gate
    assert (gate.on, gate.off, gate.dwell) == (0.9, 0.4, 6)
    core.swap(load_model(tiny, omx))
    assert core.estimator.gate.on == 0.9


def test_every_parameter_has_a_meaning_and_a_default_that_is_allowed() -> None:
    assert read_all(lambda name: PARAMETERS[name].default)["baseline"] == "none"
    for name, entry in PARAMETERS.items():
        assert entry.meaning
        assert check_value(name, entry.default) == ""
    with pytest.raises(ValueError, match=r"parameter input is 'wire': expected one of telemetry"):
        read_all(lambda name: "wire" if name == "input" else PARAMETERS[name].default)


def test_joint_names_are_pairs() -> None:
    assert joint_state_settings(values(joint_names=["a=joint1"])).names == {"a": "joint1"}
    with pytest.raises(ValueError, match=r"joint_names holds 'a': expected theirs=ours"):
        joint_state_settings(values(joint_names=["a"]))
