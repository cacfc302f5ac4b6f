# SPDX-License-Identifier: Apache-2.0
"""Weights and pushes come and go as scripted, and the truth meter reads what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec
from na_sim.arm_plant import ArmPlant
from na_sim.payload import GRAVITY
from na_sim.plant_interface import ServoCommands
from na_sim.scene_script import (
    DEMO,
    Influence,
    SceneRunner,
    SceneScript,
    SceneScriptError,
    scene_script,
)
from na_sim.truth_meter import TruthMeter

SCRIPT = SceneScript(
    (
        Influence("payload", 0.5, 1.0, mass=0.2),
        Influence("push", 2.0, 1.0, force=(0.0, 3.0, 0.0)),
        Influence("block", 3.2, 0.5),
    )
)


def run(script: SceneScript, seconds: float) -> list[tuple[float, np.ndarray]]:
    """True forces of an arm held by its operator's hand; time since the script began."""
    spec = load_robot_spec("omx")
    home = np.array(spec.home)
    plant = ArmPlant(spec, hand=lambda time: home)
    meter, runner = TruthMeter(plant, clock=lambda: 1), SceneRunner(plant, script)

    def observe() -> None:
        meter.step()
        runner.step()

    plant.observer = observe
    commands = ServoCommands.zeros(spec.n)
    seen = []
    for tick in range(1, round(60 * seconds)):
        plant.advance(tick / 60, commands)
        if meter.latest is not None:
            seen.append((plant.time, meter.latest.force))
    return seen


def test_a_weight_and_a_push_read_as_what_they_are() -> None:
    seen = run(SCRIPT, 4.0)

    def mean(start: float, stop: float) -> np.ndarray:
        return np.mean([force for time, force in seen if start <= time < stop], axis=0)

    assert mean(0.1, 0.45) == pytest.approx([0.0, 0.0, 0.0], abs=0.02)
    assert mean(1.0, 1.4) == pytest.approx([0.0, 0.0, -0.2 * GRAVITY], abs=0.05)
    assert mean(2.4, 2.7) == pytest.approx([0.0, 3.0, 0.0], abs=0.05)
    assert mean(3.3, 3.6) == pytest.approx([0.0, 0.0, 0.0], abs=0.05)


def test_the_demo_repeats() -> None:
    first, again = DEMO.active(12.0, "payload"), DEMO.active(52.0, "payload")
    assert first is not None and again is not None
    assert first[0] is again[0]
    assert again[1] == pytest.approx(2.0)
    assert DEMO.active(5.0, "payload") is None


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text("repeat: 9\ninfluences:\n  - {kind: push, at: 1, for: 2, force: [1, 0, 0]}\n")
    script = scene_script(str(path))
    assert script == SceneScript((Influence("push", 1.0, 2.0, force=(1.0, 0.0, 0.0)),), 9.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "expected a mapping with a list of influences"),
        ("influences: [{kind: wind}]", "expected a kind out of payload, push, block"),
        ("influences: [{kind: payload, for: 1}]", "at = None, expected 0 to"),
        ("influences: [{kind: payload, at: 0, for: 1, mass: 9}]", "mass = 9, expected 0 to 3"),
        ("influences: [{kind: push, at: 0, for: 1, force: [99, 0, 0]}]", "at most 50 N"),
        ("{influences: [], rests: 3}", "rests = 3, expected a list"),
        ("{influences: [], rests: [{at: 1, for: 0.2}]}", "rest 0: for = 0.2, expected 1 to"),
        ("{influences: [], repeat: 5, rests: [{at: 3, for: 3}]}", "for = 3, expected 1 to 2"),
        ("{influences: [], rests: [{at: 3, for: 3}, {at: 5, for: 1}]}", "rest 1: at = 5"),
    ],
)
def test_nonsense_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    with pytest.raises(SceneScriptError, match=words):
        scene_script(str(path))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SceneScriptError, match="expected 'demo' or 'live', or a YAML file"):
        scene_script(str(tmp_path / "none.yaml"))


def test_the_live_scene_is_the_demo_with_rests_away_from_every_influence() -> None:
    live = scene_script("live")
    assert live.influences == DEMO.influences and live.repeat == DEMO.repeat
    for at, length in live.rests:
        for item in live.influences:
            assert at + length <= item.at or at >= item.at + item.duration


def test_rests_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text("{influences: [], repeat: 20, rests: [{at: 2, for: 4}, {at: 9, for: 1}]}")
    assert scene_script(str(path)).rests == ((2.0, 4.0), (9.0, 1.0))
