# SPDX-License-Identifier: Apache-2.0
"""Feature sets: live equals replay, state is never changed in place, physics has its signs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from na_core.features import (
    FEATURE_SETS,
    FeatureError,
    MotorModel,
    Ticks,
    feature_set_from_rule,
    make_feature_set,
)
from na_core.features.memory import play
from na_core.robot_spec import load_robot_spec

DT = 1.0 / 58.6
SPEC = load_robot_spec("omx")


def random_ticks(length: int, batch: int | None = None, seed: int = 0) -> Ticks:
    rng = np.random.default_rng(seed)
    shape = (length, SPEC.n) if batch is None else (length, batch, SPEC.n)
    walk = np.cumsum(rng.normal(0.0, 0.004, shape), axis=0)
    walk[..., -1] *= 0.01
    return Ticks.of(
        position=walk,
        velocity=np.gradient(walk, DT, axis=0),
        goal=walk + 0.01,
        current=rng.normal(0.0, 0.1, shape),
        voltage=np.full(shape, 12.0),
        temperature=np.full(shape, 40.0),
    )


def column(features, name: str) -> int:
    return features.names.index(name)


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_live_steps_equal_replay(name: str) -> None:
    features = make_feature_set(name, SPEC, DT)
    ticks = random_ticks(40)
    whole = features.replay(ticks)
    state = features.start(ticks[:1])
    live = []
    for index in range(40):
        row, state = features.step(state, ticks[index : index + 1])
        live.append(row[0])
    np.testing.assert_array_equal(whole, np.array(live))
    assert whole.shape == (40, features.size) and len(set(features.names)) == features.size


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_a_batch_of_recordings_equals_each_alone(name: str) -> None:
    features = make_feature_set(name, SPEC, DT)
    ticks = random_ticks(25, batch=3)
    together = features.replay(ticks)
    for index in range(3):
        np.testing.assert_allclose(together[:, index], features.replay(ticks[:, index]), atol=1e-12)


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_a_step_leaves_the_old_state_alone(name: str) -> None:
    features = make_feature_set(name, SPEC, DT)
    ticks = random_ticks(2)
    state = features.start(ticks[:1])
    before = {key: value.copy() for key, value in state.items()}
    features.step(state, ticks[1:])
    for key, value in before.items():
        np.testing.assert_array_equal(state[key], value, err_msg=key)


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_a_set_rebuilt_from_its_rule_gives_the_same_features(name: str) -> None:
    features = make_feature_set(name, SPEC, DT)
    again = feature_set_from_rule(json.loads(json.dumps(features.rule())), SPEC)
    ticks = random_ticks(12)
    assert again.names == features.names
    np.testing.assert_array_equal(again.replay(ticks), features.replay(ticks))


def test_each_set_begins_with_the_35_basic_features() -> None:
    ticks = random_ticks(5)
    basic = make_feature_set("basic35", SPEC, DT)
    assert basic.size == 35
    for name in ("physics", "hysteresis"):
        features = make_feature_set(name, SPEC, DT)
        assert features.names[:35] == basic.names and features.basic == 35
        np.testing.assert_array_equal(features.replay(ticks)[:, :35], basic.replay(ticks))


def test_a_hanging_weight_reads_as_a_downward_force() -> None:
    """Motor effort that holds gravity and 1.96 N more at the end effector: f = [0, 0, −1.96]."""
    features = make_feature_set("physics", SPEC, DT)
    q = np.array([[0.2, 0.3, -0.2, 0.4, 0.01]])
    terms = features.arm.terms(q, np.zeros_like(q))
    force = np.array([0.0, 0.0, -0.2 * 9.81])
    external = terms.jacobian[0].T @ force
    motor: MotorModel = features.motor
    current = (terms.gravity - external) / motor.torque_constant
    rows = np.repeat(q, 200, axis=0)
    ticks = Ticks.of(
        position=rows,
        velocity=np.zeros_like(rows),
        goal=rows,
        current=np.repeat(current, 200, axis=0),
        voltage=np.full_like(rows, 12.0),
        temperature=np.full_like(rows, 40.0),
    )
    last = features.replay(ticks)[-1]
    for gain in ("fast", "slow"):
        found = [last[column(features, f"force_{gain}.{axis}")] for axis in "xyz"]
        np.testing.assert_allclose(found, force, atol=0.1)
    static = [last[column(features, f"{joint}.static_mean")] for joint in SPEC.names]
    np.testing.assert_allclose(static, external, atol=1e-9)


def test_play_operators_tell_loading_from_unloading() -> None:
    radii = np.array([0.5, 2.0])
    state = np.zeros((1, 2))
    for change in (1.0, -0.2):
        state = play(state, np.array([change]), radii)
    np.testing.assert_allclose(state, [[0.6, 0.4]])
    state = play(state, np.array([-10.0]), radii)
    np.testing.assert_allclose(state, [[-1.0, -1.0]])


def test_residual_since_rest_keeps_the_value_before_a_push() -> None:
    features = make_feature_set("hysteresis", SPEC, DT)
    length = 300
    rows = np.zeros((length, SPEC.n))
    goal = rows.copy()
    goal[:60, 0] = np.linspace(-0.5, 0.0, 60)
    current = rows.copy()
    current[200:, 0] = 0.1  # the push comes long after the goal stopped
    ticks = Ticks.of(
        position=rows,
        velocity=rows,
        goal=goal,
        current=current,
        voltage=rows + 12.0,
        temperature=rows + 40.0,
    )
    out = features.replay(ticks)[:, column(features, "joint1.since_rest")]
    assert abs(out[199]) < 1e-9
    assert out[-1] == pytest.approx(-0.1 * features.motor.torque_constant[0], rel=1e-6)
    assert features.replay(ticks)[-1, column(features, "rest_time")] > 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "wings"}, "expected one of"),
        ({"version": 99}, "version is 99"),
        ({"joints": ["a"]}, "joints"),
        ({"motor": {}}, "torque_constant"),
    ],
)
def test_a_rule_that_does_not_fit_is_refused(change: dict[str, object], words: str) -> None:
    rule = {**make_feature_set("physics", SPEC, DT).rule(), **change}
    with pytest.raises(FeatureError, match=words):
        feature_set_from_rule(rule, SPEC)


def test_arrays_of_other_shapes_are_refused() -> None:
    with pytest.raises(FeatureError, match="current has shape"):
        Ticks.of(
            position=np.zeros((2, 5)),
            velocity=np.zeros((2, 5)),
            goal=np.zeros((2, 5)),
            current=np.zeros((2, 4)),
            voltage=np.zeros((2, 5)),
            temperature=np.zeros((2, 5)),
        )


def test_a_hysteresis_rule_needs_its_gears_and_its_version() -> None:
    """Models made before the gear observer would read other columns than they were trained on."""
    rule = make_feature_set("hysteresis", SPEC, DT).rule()
    with pytest.raises(FeatureError, match="'gears' is required"):
        feature_set_from_rule({key: v for key, v in rule.items() if key != "gears"}, SPEC)
    with pytest.raises(FeatureError, match="version is 1, expected 2"):
        feature_set_from_rule({**rule, "version": 1}, SPEC)
    few = {name: values[:4] for name, values in rule["gears"].items()}
    with pytest.raises(FeatureError, match="gears of 4 joints, expected 5"):
        feature_set_from_rule({**rule, "gears": few}, SPEC)
