# SPDX-License-Identifier: Apache-2.0
"""Data sets: right labels, right splits, good ticks only, and refusal of what does not fit."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from na_core.features import make_feature_set
from na_core.nad.arrays import WrenchTrack
from na_core.nad.layout import FT_WRENCH, EpisodeInfo

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from toy_data import SPEC, TORQUE_CONSTANT, toy_episode, toy_set

from na_training.data import DataError, build_store, read_folders, split_by_group
from na_training.data.episode import usable_segments
from na_training.data.labels import contact_from_force, restricted_from_info
from na_training.data.motor_fit import fit_motor
from na_training.data.nad import _wrench
from na_training.data.split import group_of


@pytest.fixture(scope="module")
def episodes():
    return toy_set(4, length=120)


def write_arrays(folder: Path, **changes: object) -> Path:
    """One .npz episode as the generator writes it, with some arrays replaced."""
    toy = toy_episode(1, mass=0.2, length=60)
    info = EpisodeInfo(episode="one", robot="omx", category="force_labelled", task="toy")
    ticks = toy.ticks
    arrays = {
        "names": np.array(SPEC.names),
        "info": json.dumps(asdict(info)),
        "step_time": toy.time,
        "position": ticks.position,
        "velocity": ticks.velocity,
        "goal_requested": ticks.goal,
        "goal_sent": ticks.goal,
        "current": ticks.current,
        "load": np.full(ticks.shape, np.nan),
        "voltage": ticks.voltage,
        "temperature": ticks.temperature,
        "label_force": toy.force,
        "label_valid": np.ones(60, dtype=bool),
        "label_source": np.ones(60, dtype=np.uint8),
        **changes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "one.npz"
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_arrays_are_read_in_canonical_joint_order(tmp_path: Path) -> None:
    write_arrays(tmp_path / "plain")
    swapped = list(reversed(SPEC.names))
    toy = toy_episode(1, mass=0.2, length=60).ticks
    turned = {
        name: getattr(toy, name)[:, ::-1]
        for name in ("position", "velocity", "current", "voltage", "temperature")
    }
    write_arrays(
        tmp_path / "swapped",
        names=np.array(swapped),
        goal_sent=toy.goal[:, ::-1],
        goal_requested=toy.goal[:, ::-1],
        **turned,
    )
    (one,) = read_folders([tmp_path / "plain"], SPEC)
    (other,) = read_folders([tmp_path / "swapped"], SPEC)
    np.testing.assert_array_equal(one.ticks.position, other.ticks.position)
    np.testing.assert_array_equal(one.ticks.goal, other.ticks.goal)


def test_an_invalid_label_is_unknown_not_zero(tmp_path: Path) -> None:
    valid = np.arange(60) >= 30
    write_arrays(tmp_path, label_valid=valid)
    (episode,) = read_folders([tmp_path], SPEC)
    assert np.isnan(episode.force[:30]).all() and np.isnan(episode.contact[:30]).all()
    assert (episode.contact[30:] == 1.0).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"position": np.rad2deg(toy_episode(1, length=60).ticks.position)}, "degrees"),
        ({"step_time": np.arange(60) / 100.0}, "100.0 Hz, expected 60.0 Hz"),
        ({"names": np.array(["a", "b", "c", "d", "e"])}, "missing"),
        ({"info": json.dumps({"robot": "so101"})}, "robot 'so101', expected 'omx'"),
        ({"position": None}, "array 'position' is missing"),
    ],
)
def test_data_of_another_kind_is_refused(
    changes: dict[str, object], words: str, tmp_path: Path
) -> None:
    write_arrays(tmp_path, **changes)
    with pytest.raises(DataError) as caught:
        read_folders([tmp_path], SPEC)
    assert words in str(caught.value)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no episode found"):
        read_folders([tmp_path], SPEC)


def test_a_sensor_in_end_effector_axes_is_turned_into_base_axes(tmp_path: Path) -> None:
    """With the gripper pointing straight down, the sensor's x is base −z."""
    time = np.arange(3, dtype=np.int64) * 10_000_000
    force = np.tile([2.0, 0.0, 0.0], (3, 1))
    track = WrenchTrack(
        FT_WRENCH, time, time, np.array([[0, 3]]), "header", SPEC.end_effector_frame, force, force
    )
    recording = SimpleNamespace(wrenches={FT_WRENCH: track}, path=tmp_path)
    pose = np.tile([0.0, np.pi / 2, 0.0, 0.0, 0.0], (3, 1))
    found = _wrench(recording, FT_WRENCH, time, SPEC, pose)
    np.testing.assert_allclose(found, np.tile([0.0, 0.0, -2.0], (3, 1)), atol=1e-9)
    foreign = replace(track, frame="camera")
    with pytest.raises(DataError, match="'camera', expected 'end_effector_link'"):
        _wrench(
            SimpleNamespace(wrenches={FT_WRENCH: foreign}, path=tmp_path),
            FT_WRENCH,
            time,
            SPEC,
            pose,
        )


def test_stale_ticks_and_gaps_separate_runs() -> None:
    time = np.arange(10) * 0.1
    time[6:] += 1.0
    usable = np.ones(10, dtype=bool)
    usable[2] = False
    assert usable_segments(time, usable).tolist() == [[0, 2], [3, 6], [6, 10]]


def test_a_force_between_the_bounds_claims_nothing() -> None:
    force = np.array([[0.0, 0.0, 0.1], [0.0, 0.25, 0.0], [0.4, 0.0, 0.0], [np.nan] * 3])
    np.testing.assert_array_equal(contact_from_force(force), [0.0, np.nan, 1.0, np.nan])


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("restricted_weight_joint_3", [0, 0, 1, 0, 0]),
        ("unrestricted_no_weight", [0, 0, 0, 0, 0]),
        ("restricted_weight", [np.nan] * 5),
    ],
)
def test_condition_labels_follow_the_description(variant: str, expected: list[float]) -> None:
    info = EpisodeInfo(category="condition", task="motor_condition", variant=variant)
    np.testing.assert_array_equal(restricted_from_info(info, SPEC.names), expected)
    other = EpisodeInfo(category="free_motion", task="circle", variant=variant)
    assert np.isnan(restricted_from_info(other, SPEC.names)).all()


def test_a_split_group_is_on_one_side_only() -> None:
    base = toy_episode(0, length=20)
    many = [
        replace(base, name=f"e{i}", split_group=f"g{i // 2}", category="abc"[i % 3])
        for i in range(60)
    ]
    training, validation = split_by_group(many, 0.2, seed=1)
    sides = [{group_of(e) for e in part} for part in (training, validation)]
    assert sides[0].isdisjoint(sides[1]) and all(sides)
    more = [*many, replace(base, name="new", split_group="new", category="d")]
    again, _ = split_by_group(more, 0.2, seed=1)
    assert sides[0] <= {group_of(e) for e in again}


def test_the_store_holds_what_replay_gives(episodes, tmp_path: Path) -> None:
    features = make_feature_set("hysteresis", SPEC, episodes[0].dt)
    cut = replace(episodes[1], segments=np.array([[0, 50], [60, 120]]))
    store = build_store([episodes[0], cut, *episodes[2:]], features)
    kept = build_store([episodes[0], cut, *episodes[2:]], features, tmp_path)
    again = build_store([episodes[0], cut, *episodes[2:]], features, tmp_path)
    run = [r for r in store.runs if r.episode == 1][1]
    expected = features.replay(cut.ticks[60:120]).astype(np.float32)
    np.testing.assert_allclose(store.features[run.start : run.stop], expected, rtol=1e-5, atol=1e-5)
    for other in (kept, again):
        np.testing.assert_array_equal(other.features, store.features)
        np.testing.assert_array_equal(other.force, store.force)
    assert isinstance(again.features, np.memmap)


def test_sampling_is_balanced_and_repeatable(episodes) -> None:
    few = [replace(episodes[0], category="rare"), *[replace(e, category="often") for e in episodes]]
    store = build_store(few, make_feature_set("basic35", SPEC, episodes[0].dt))
    sampler = store.sampler(20)
    draw = sampler.draw(np.random.default_rng(3), 2000)
    np.testing.assert_array_equal(draw, sampler.draw(np.random.default_rng(3), 2000))
    rare = (draw[:, 0] < store.runs[0].stop).mean()
    assert 0.4 < rare < 0.6
    assert (np.diff(draw, axis=1) == 1).all()
    for run in store.runs:
        inside = (draw[:, 0] >= run.start) & (draw[:, 0] < run.stop)
        assert (draw[inside, -1] < run.stop).all()
    weighted = store.sampler(20, {"rare": 0.0}).draw(np.random.default_rng(0), 200)
    assert (weighted[:, 0] >= store.runs[0].stop).all()
    # A task with a weight of its own is drawn apart from the rest of its category.
    other = store.runs[-1]
    alone = {other.category: 0.0, "rare": 0.0, f"{other.category}/{other.task}": 1.0}
    tasks = {(run.category, run.task) for run in store.runs}
    drawn = store.sampler(20, alone).draw(np.random.default_rng(0), 50)
    inside = [run for run in store.runs if run.task == other.task and run.category != "rare"]
    assert len(tasks) > 1
    assert all(any(run.start <= row[0] < run.stop for run in inside) for row in drawn)


def test_a_horizon_longer_than_every_run_is_refused(episodes) -> None:
    store = build_store(episodes, make_feature_set("basic35", SPEC, episodes[0].dt))
    with pytest.raises(DataError, match=r"no run of 500 consecutive ticks \(longest: 120\)"):
        store.sampler(500)


def test_a_channel_that_is_not_measured_is_named(episodes) -> None:
    ticks = replace(episodes[0].ticks, current=np.full(episodes[0].ticks.shape, np.nan))
    bad = replace(episodes[0], ticks=ticks)
    with pytest.raises(DataError, match=r"joint1\.current is not finite"):
        build_store([bad], make_feature_set("basic35", SPEC, bad.dt))


def test_the_planted_torque_constant_is_found() -> None:
    motor = fit_motor(SPEC, toy_set(8, length=300))
    found = motor.torque_constant[:4]
    np.testing.assert_allclose(found[1:4], TORQUE_CONSTANT, rtol=0.06)
    assert (motor.coulomb[:4] < 0.05).all()
