# SPDX-License-Identifier: Apache-2.0
"""Figures: checked on numbers that can be done in the head."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from toy_data import DT, SPEC, toy_episode, toy_set  # noqa: E402

from na_core.features import make_feature_set  # noqa: E402
from na_training.evaluation import condition, metrics  # noqa: E402
from na_training.evaluation.gradients import gradient_table  # noqa: E402
from na_training.evaluation.html import page  # noqa: E402
from na_training.evaluation.predict import gate_states, predict, predict_all  # noqa: E402
from na_training.evaluation.report import evaluate  # noqa: E402
from na_training.evaluation.rollouts import pose_figures, roll_episodes  # noqa: E402
from na_training.model import WINDOW  # noqa: E402
from na_training.simulator import make_simulator  # noqa: E402
from na_training.training.bundle import Bundle, new_model  # noqa: E402
from na_training.training.config import TrainConfig  # noqa: E402
from na_training.training.scaling import effort_scale, pose_unit  # noqa: E402


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    features = make_feature_set("physics", SPEC, DT)
    size = features.size
    model = new_model(
        TrainConfig(model="query_physics"),
        features,
        SPEC,
        np.zeros(size),
        np.ones(size),
        effort_scale(SPEC) * 0.01,
    )
    return Bundle(model.eval(), features, SPEC, DT, supervised=("joint3",))


def test_vector_error_and_component_errors_are_those_of_a_known_triangle() -> None:
    force = np.array([[3.0, 4.0, 0.0], [np.nan] * 3])
    figures = metrics.force_figures(force, np.zeros((2, 3)))
    assert figures["frames"] == 1.0
    assert figures["vector"] == 5.0
    assert (figures["mae_x"], figures["mae_y"], figures["mae_z"]) == (3.0, 4.0, 0.0)
    assert figures["mae"] == pytest.approx(7.0 / 3.0)
    assert metrics.force_figures(np.zeros((1, 3)), np.array([[0.0, 0.0, -2.0]]))["zero"] == 2.0


def test_gate_opens_after_its_dwell_and_holds_between_the_thresholds() -> None:
    probability = np.array([0.9, 0.1, 0.9, 0.9, 0.9, 0.5, 0.5, 0.2, 0.2, 0.2, np.nan])
    expected = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
    np.testing.assert_array_equal(gate_states(probability, 0.6, 0.4), np.array(expected, bool))


def test_false_alarms_are_openings_at_free_ticks() -> None:
    state = np.array([0, 1, 1, 0, 1, 0, 1], dtype=bool)
    contact = np.array([0, 0, 1, 0, 1, np.nan, np.nan])
    assert metrics.openings(state, contact) == 1
    figures = metrics.gate_figures(state, contact)
    assert figures["precision"] == pytest.approx(2 / 3)
    assert figures["recall"] == 1.0
    assert figures["false_share"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("score", "expected"),
    [([0.1, 0.2, 0.8, 0.9], 1.0), ([0.5] * 4, 0.5), ([0.9, 0.8, 0.2, 0.1], 0.0)],
)
def test_area_under_curve(score: list[float], expected: float) -> None:
    truth = np.array([False, False, True, True])
    assert metrics.area_under_curve(np.array(score), truth) == expected


def test_gaussian_errors_are_covered_as_promised() -> None:
    rng = np.random.default_rng(0)
    deviation = rng.uniform(0.1, 2.0, (20000, 3))
    error = rng.normal(size=(20000, 3)) * deviation
    figures = metrics.coverage(error, deviation, np.zeros((20000, 3)))
    assert figures["within_68"] == pytest.approx(0.68, abs=0.01)
    assert figures["within_95"] == pytest.approx(0.95, abs=0.005)
    bins = metrics.error_by_deviation(error, deviation, np.zeros((20000, 3)))
    assert [row[1] for row in bins] == sorted(row[1] for row in bins)


def test_pose_is_averaged_over_the_fifty_frames_before_a_horizon() -> None:
    measured = np.zeros((1, 300, SPEC.n))
    position = measured.copy()
    position[0, 50:100, 0] = np.deg2rad(2.0)
    position[0, 250:, 4] = 0.001
    figures = pose_figures(position, measured, SPEC)
    assert figures["@100"][0] == pytest.approx(2.0)
    assert figures["@300"] == pytest.approx([0, 0, 0, 0, 1.0])
    assert figures["all"][0] == pytest.approx(2.0 / 6.0)
    assert "@600" not in figures


def test_predictions_equal_single_windows_and_start_after_eight_ticks(bundle: Bundle) -> None:
    episode = toy_episode(3, mass=0.2, length=40)
    result = predict(bundle.model, bundle.features, episode)
    assert np.isnan(result.force[: WINDOW - 1]).all() and np.isfinite(result.force[8:]).all()
    values = torch.from_numpy(bundle.features.replay(episode.ticks).astype(np.float32))
    with torch.no_grad():
        window = bundle.model(values[None, 20 - WINDOW + 1 : 21])
    np.testing.assert_allclose(result.force[20], window.force[0].numpy(), atol=1e-4)


def test_a_full_report_has_every_section_and_its_trivial_baselines(bundle: Bundle) -> None:
    episodes = toy_set(4, length=200)
    simulator = make_simulator("pinocchio", SPEC, DT)
    predictions = predict_all(bundle.model, bundle.features, episodes)
    report = evaluate(bundle, simulator, episodes, predictions, training=toy_set(4, length=400))
    assert set(report.figures) == {"pose", "force", "gate", "condition", "variance"}
    assert {"closed loop", "closed loop, no telemetry", "q_sim = goal"} <= set(
        report.figures["pose"]
    )
    contact = report.figures["force"]["all"]["contact"]
    assert contact["zero"] == pytest.approx(9.81 * 0.3, rel=0.01)
    text = page("t", {"a": "<b>"}, report.tables, {"p": b"png"})
    assert "&lt;b&gt;" in text and "data:image/png;base64,cG5n" in text


def test_a_rollout_without_telemetry_does_not_see_current(bundle: Bundle) -> None:
    from dataclasses import replace

    episode = toy_episode(5, length=200)
    other = replace(episode, ticks=replace(episode.ticks, current=episode.ticks.current + 1.0))
    simulator = make_simulator("pinocchio", SPEC, DT)
    rolled = [
        roll_episodes(bundle.model, simulator, [one], telemetry=False) for one in (episode, other)
    ]
    np.testing.assert_array_equal(rolled[0].position, rolled[1].position)


def test_gradients_are_tabulated_up_to_the_longest_horizon_that_fits(bundle: Bundle) -> None:
    simulator = make_simulator("pinocchio", SPEC, DT)
    rows = gradient_table(
        bundle.model, simulator, [toy_episode(0, length=150)], pose_unit(SPEC, 3.0), batch=2
    )
    assert [row["horizon"] for row in rows] == [64.0, 128.0]
    assert rows[1]["cosine_to_128"] == pytest.approx(1.0)
    assert all(np.isfinite(row["norm"]) and row["norm"] > 0.0 for row in rows)


def test_condition_baselines_find_a_spring() -> None:
    training = [toy_episode(i, length=400, restricted=2.0 * (i % 2)) for i in range(8)]
    test = [toy_episode(50 + i, length=400, restricted=2.0 * (i % 2)) for i in range(6)]
    figures = condition.baseline_figures(training, test, joint=2)
    assert set(figures) == {"threshold on slope", "SVM", "random forest"}
    assert max(entry["auc"] for entry in figures.values()) > 0.9
