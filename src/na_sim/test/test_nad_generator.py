# SPDX-License-Identifier: Apache-2.0
"""Generated episodes: seeded, unique, honest labels, truth apart, bags that validate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from na_core.nad.layout import TRUTH_PREFIX
from na_core.nad.raw_bag import message_counts
from na_core.nad.reader import read_episode
from na_core.nad.validate import validate
from na_sim.nad_generator.builders import build_plans
from na_sim.nad_generator.catalogue import (
    PAPER_MINUTES,
    SUITES,
    TRAINING_CATEGORIES,
    Order,
    Row,
    orders,
    rows_of,
)
from na_sim.nad_generator.episode_plan import FT_SENSOR, PAYLOAD, EpisodePlan
from na_sim.nad_generator.generate import (
    GeneratorError,
    Request,
    _unit,
    _workshop,
    accounting,
    generate,
    record_orders,
)
from na_sim.nad_generator.recording import Recording
from na_sim.nad_generator.runner import run_batch

RATE = 58.6
MANY = ("free_motion", "force_labelled", "condition", "second_arm")  # more than one batch


def order(category: str, task: str, variant: str, index: int = 0, seconds: float = 8.0) -> Order:
    return Order(Row(category, task, variant, 1.0), index, seconds)


def record(chosen: Sequence[Order], seed: int = 1, arm: int = 0) -> list[Recording]:
    request = Request("omx", Path("unused"), ("free_motion",), seed=seed, arm=arm)
    return list(record_orders(request, chosen))


def plans(chosen: Order, seed: int = 1, **kwargs: bool) -> list[EpisodePlan]:
    return build_plans(_workshop("omx", RATE), chosen, seed, 0, **kwargs)


def test_training_categories_follow_the_papers_minutes() -> None:
    for name, minutes in PAPER_MINUTES.items():
        chosen = orders((name,), None)
        total = sum(o.seconds * (2 if o.row.task == "push" else 1) for o in chosen)
        assert total / 60.0 == pytest.approx(minutes, rel=1e-6)


@pytest.mark.parametrize("name", [*TRAINING_CATEGORIES, *SUITES])
def test_shares_of_every_category_add_up(name: str) -> None:
    assert sum(row.share for row in rows_of(name)) == pytest.approx(1.0)


def test_same_seed_same_episode_whatever_runs_beside_it() -> None:
    first = order("free_motion", "wander", "empty", 0, 4.0)
    alone = record([first])[0]
    beside = record([order("condition", "motor_condition", "restricted_weight", 0, 6.0), first])[1]
    assert alone.plan.name == beside.plan.name
    for name, value in alone.arrays().items():
        assert np.array_equal(value, beside.arrays()[name], equal_nan=True), name


def test_other_seed_arm_or_index_is_another_trajectory() -> None:
    base = order("free_motion", "lean", "back_forward", 0, 4.0)
    other = order("free_motion", "lean", "back_forward", 1, 4.0)
    paths = [plans(base)[0].leader, plans(base, seed=2)[0].leader, plans(other)[0].leader]
    for a in range(3):
        for b in range(a):
            common = min(len(paths[a]), len(paths[b]))
            assert np.abs(paths[a][:common] - paths[b][:common])[:, :4].max() > 0.05


def test_no_two_trajectories_of_a_data_set_are_alike() -> None:
    chosen = orders(("free_motion", "condition", "holds"), 12.0)
    starts = []
    for o in chosen:
        for plan in plans(o):
            starts.append(plan.leader[: 4 * int(RATE), :4].ravel())
    shortest = min(len(s) for s in starts)
    table = np.stack([s[:shortest] for s in starts])
    apart = np.abs(table[:, None] - table[None]).max(axis=2) + np.eye(len(table))
    assert apart.min() > 1e-3


def test_chosen_tasks_get_all_the_minutes() -> None:
    chosen = orders(("force_labelled", "holds"), 30.0, ("push",))
    assert {order.row.task for order in chosen} == {"push"}
    # A push and its repeat without contact are two episodes.
    assert sum(2 * order.seconds for order in chosen) == pytest.approx(30.0 * 60.0)


def test_a_task_that_no_chosen_category_has_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"task 'hold' .* expected some of .*push"):
        orders(("force_labelled",), 5.0, ("hold",))


def test_payload_label_follows_the_protocol_and_the_truth() -> None:
    chosen = order("force_labelled", "pick_and_place", "300g", 0, 24.0)
    r = record([chosen])[0]
    weight = -0.3 * 9.80665
    assert set(np.unique(r.label_source)) == {PAYLOAD}
    valid = r.label_valid
    levels = np.unique(np.round(r.label_force[valid, 2], 6))
    assert set(levels) <= {0.0, np.round(weight, 6)}
    assert len(levels) == 2
    hanging = valid & (r.label_force[:, 2] < -1.0)
    assert np.median(r.truth.force[hanging, 2]) == pytest.approx(weight, abs=0.1)
    free = valid & (r.label_force[:, 2] == 0.0)
    assert np.abs(r.truth.force[free]).mean() < 0.2


def test_push_label_is_the_reaction_not_the_command() -> None:
    contact, repeat = record([order("force_labelled", "push", "-z", 0, 10.0)])
    assert contact.plan.pair_id == repeat.plan.pair_id != ""
    assert contact.plan.split_group == repeat.plan.split_group
    assert contact.label_source[0] == FT_SENSOR
    size = np.linalg.norm(contact.truth.force, axis=1)
    assert size.max() > 0.5
    error = np.linalg.norm(contact.label_force - contact.truth.force, axis=1)
    assert np.median(error[size > 0.5]) < 0.35
    assert error.max() > 0.0  # a sensor, not the truth
    assert np.linalg.norm(repeat.truth.force, axis=1).max() == 0.0
    assert np.linalg.norm(repeat.label_force, axis=1).max() < 0.6


def test_holds_push_in_all_directions_while_the_goal_rests() -> None:
    recordings = record([order("holds", "hold", "pushed", k, 20.0) for k in range(4)])
    directions = []
    for r in recordings:
        size = np.linalg.norm(r.truth.force, axis=1)
        directions.append(r.truth.force[size > 0.4] / size[size > 0.4, None])
        quiet = np.abs(np.diff(r.goal_requested[:, :4], axis=0)).max(axis=1) < 0.004
        assert quiet.mean() > 0.7
    spread = np.concatenate(directions)
    assert np.all(spread.min(axis=0) < -0.3)
    assert np.all(spread.max(axis=0) > 0.3)


def test_dither_is_recorded_apart_from_the_base_goal() -> None:
    found = [
        plan
        for k in range(8)
        for plan in plans(order("holds", "hold", "quiet", k, 6.0), dither=True)
        if plan.dither.any()
    ]
    assert 0 < len(found) < 8
    shop = _workshop("omx", RATE)
    r = run_batch(shop.robot, found[:1], [_unit("omx", RATE, 0)], RATE, shop.reach.scene)[0]
    assert np.degrees(np.abs(r.goal_sent - r.goal_requested)[:, :4].max()) > 0.3
    assert np.abs(r.goal_register - r.goal_sent)[:, :4].max() <= np.pi / 4096 + 1e-9


def test_force_on_another_link_is_not_a_tip_force() -> None:
    r = record([order("whole_arm", "push_link", "forearm", 0, 12.0)])[0]
    assert np.abs(r.truth.elsewhere).max() > 0.5
    assert np.all(r.truth.force == 0.0)


def test_restricted_joint_carries_the_bands_torque() -> None:
    restricted, free = record(
        [
            order("condition", "motor_condition", "restricted_no_weight", 0, 6.0),
            order("condition", "motor_condition", "unrestricted_no_weight", 0, 6.0),
        ]
    )
    assert np.abs(restricted.truth.band).max() > 0.05
    assert restricted.plan.variant.endswith("_joint_2")
    assert np.all(free.truth.band == 0.0)


def test_foam_is_held_without_any_force() -> None:
    r = record([order("foam", "pick_and_place", "foam", 0, 16.0)])[0]
    assert r.plan.block.any()
    assert np.abs(r.truth.force).max() == 0.0


def test_second_arm_is_another_unit() -> None:
    row = next(row for row in rows_of("second_arm") if row.task == "lean")
    assert row.arm == 1
    assert _unit("omx", RATE, 1).servos["coulomb"].mean() > 1.2 * (
        _unit("omx", RATE, 0).servos["coulomb"].mean()
    )


def test_ticks_come_at_the_papers_rate_with_jitter() -> None:
    r = record([order("free_motion", "wander", "empty", 0, 8.0)])[0]
    periods = np.diff(r.step_time)
    assert 1.0 / periods.mean() == pytest.approx(58.6, abs=0.2)
    assert 0.0003 < periods.std() < 0.002


def test_bags_validate_and_keep_the_truth_on_topics_of_its_own(tmp_path: Path) -> None:
    request = Request("omx", tmp_path, ("adapt",), minutes=0.2, seed=5)
    entries = generate(request)
    assert len(entries) == 2
    for entry in entries:
        path = tmp_path / entry.category / entry.name
        report = validate(path)
        assert report.verdict != "refused", report.to_text()
        episode = read_episode(path)
        assert episode.info.category == "adapt"
        assert episode.follower is not None and len(episode.follower) == entry.frames
        assert episode.info.calibration_hash != ""
        counts = message_counts(path)
        assert counts is not None and counts[f"{TRUTH_PREFIX}plant"] == entry.frames
    lines = accounting(entries)
    assert sum(line.frames for line in lines) == sum(entry.frames for entry in entries)


def test_arrays_keep_the_truth_in_a_file_of_its_own(tmp_path: Path) -> None:
    request = Request("omx", tmp_path, ("adapt",), minutes=0.2, seed=5, format="npz")
    entry = generate(request)[0]
    with np.load(tmp_path / "adapt" / f"{entry.name}.npz") as data:
        assert data["position"].shape == (entry.frames, 5)
        assert json.loads(str(data["info"]))["robot"] == "omx"
        assert "force" not in data
    with np.load(tmp_path / "adapt" / "truth" / f"{entry.name}.npz") as truth:
        assert truth["force"].shape == (entry.frames, 3)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"seed": 9000}, "9000 to 9999 are kept for independent checks"),
        ({"seed": 9999}, "choose another seed"),
        ({"minutes": -1.0}, "minutes -1.0: expected a positive number"),
        ({"format": "csv"}, "format 'csv': expected one of bag, npz"),
        ({"jobs": 0}, "jobs 0: expected at least 1"),
        ({"rate": 5.0}, "rate 5.0 Hz: expected 20 to 200 Hz"),
    ],
)
def test_bad_requests_say_what_to_change(changes: dict[str, object], text: str) -> None:
    request = Request("omx", Path("unused"), ("adapt",), **changes)  # type: ignore[arg-type]
    with pytest.raises(GeneratorError, match=text):
        request.check()


def test_unknown_category_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'gauges' is unknown; expected some of free_motion"):
        generate(Request("omx", tmp_path, ("gauges",), minutes=1.0))
    assert not list(tmp_path.glob("*/*"))


@pytest.mark.slow
def test_every_suite_runs(tmp_path: Path) -> None:
    entries = generate(Request("omx", tmp_path, SUITES, minutes=12.0, seed=2))
    assert {entry.category for entry in entries} == set(SUITES)
    for metadata in tmp_path.glob("*/*/metadata.yaml"):
        assert validate(metadata.parent).verdict != "refused"


@pytest.mark.slow
def test_jobs_do_not_change_the_data(tmp_path: Path) -> None:
    for jobs in (1, 2):
        generate(Request("omx", tmp_path / str(jobs), MANY, 2.0, 2, 0, jobs, "npz"))
    names = sorted(p.relative_to(tmp_path / "1") for p in (tmp_path / "1").rglob("*.npz"))
    assert names
    for name in names:
        with np.load(tmp_path / "1" / name) as one, np.load(tmp_path / "2" / name) as two:
            for key in one:
                if one[key].dtype.kind == "f":
                    assert np.array_equal(one[key], two[key], equal_nan=True)


def test_poses_of_anywhere_go_where_the_tasks_do_not() -> None:
    """A model that saw the tasks' poses only was sure of no force in the others."""
    beyond = {}
    for category in ("free_motion", "anywhere"):
        chosen = [order(category, "wander", "empty", index, 60.0) for index in range(3)]
        path = np.concatenate([plan.leader for o in chosen for plan in plans(o)])
        beyond[category] = float((path[:, 1:4].sum(axis=1) < -0.6).mean())  # tip points up
    assert beyond["anywhere"] > 0.05 > 2.0 * beyond["free_motion"]


def test_a_load_that_a_hand_puts_on_hangs_from_the_first_tick() -> None:
    r = record([order("anywhere", "wander", "300g", 1, 30.0)])[0]
    assert (r.label_source == PAYLOAD).all()
    changes = np.flatnonzero(np.diff(r.label_mass) != 0.0)
    assert len(changes) >= 2
    known = r.label_valid
    assert not known[changes + 1].any() and known.mean() > 0.8
    off = np.linalg.norm(r.label_force - r.truth.force, axis=1)
    assert np.median(off[known]) < 0.1  # no table carries it
    assert np.abs(r.truth.elsewhere).max() == 0.0  # nothing is hit on the way


def test_a_hand_pushes_the_moving_arm() -> None:
    r = record([order("anywhere", "wander", "pushed", 0, 20.0)])[0]
    moving = np.abs(r.truth.velocity[:, :4]).max(axis=1) > 0.3
    pushed = np.linalg.norm(r.truth.force, axis=1) > 0.5
    assert (r.label_source == FT_SENSOR).all()
    assert (moving & pushed).sum() > 20
