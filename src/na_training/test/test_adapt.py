# SPDX-License-Identifier: Apache-2.0
"""Adaptation: a new arm gets better, and the guard keeps the old model when it would get worse."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from planted_gears import planted_gears, planted_motor, pushed_episode  # noqa: E402
from toy_data import DT, SPEC, toy_set  # noqa: E402

from na_core.features import make_feature_set  # noqa: E402
from na_training.data import build_store  # noqa: E402
from na_training.training.adapt import adapt, refusals  # noqa: E402
from na_training.training.bundle import Bundle, new_model  # noqa: E402
from na_training.training.config import TrainConfig  # noqa: E402
from na_training.training.scaling import effort_scale, feature_scales  # noqa: E402


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    features = make_feature_set("hysteresis", SPEC, DT)
    store = build_store(toy_set(4, length=120), features)
    mean, scale = feature_scales(features, store.features, SPEC)
    config = TrainConfig(model="query_hysteresis")
    model = new_model(config, features, SPEC, mean, scale, effort_scale(SPEC))
    return Bundle(model.eval(), features, SPEC, DT)


def other_arm():
    """Currents that read a third too high."""
    return [
        replace(e, ticks=replace(e.ticks, current=e.ticks.current * 1.33))
        for e in toy_set(4, length=200)
    ]


def test_a_new_arm_gets_better_and_the_old_model_is_not_touched(bundle: Bundle) -> None:
    before = {name: value.clone() for name, value in bundle.model.state_dict().items()}
    result = adapt(bundle, other_arm(), steps=40)
    old, new = result.figures["new arm: contact force"]
    assert result.accepted and new < 0.8 * old
    for name, value in bundle.model.state_dict().items():
        assert torch.equal(value, before[name]), name
    # The effort does not change: its head and the encoder stay as they were.
    weights = result.bundle.model.state_dict()
    assert torch.equal(weights["heads.effort.0.weight"], before["heads.effort.0.weight"])
    assert torch.equal(weights["encoder.embed.weight"], before["encoder.embed.weight"])


def test_the_guard_keeps_the_old_model_when_labels_are_wrong(bundle: Bundle) -> None:
    """Free motion labelled as contact would open the gate for ever on the reference arm."""
    wrong = [
        replace(
            e,
            force=np.full(e.force.shape, 3.0),
            contact=np.ones(e.length),
        )
        for e in toy_set(4, length=200)
    ]
    result = adapt(bundle, wrong, toy_set(4, length=120), steps=40, refit=False)
    assert not result.accepted and result.bundle is bundle
    assert any("reference" in reason for reason in result.reasons)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"new arm: contact force": (1.0, 0.5)}, None),
        ({"new arm: contact force": (1.0, 1.2)}, "did not improve"),
        ({"new arm: contact force": (1.0, 1.02)}, "neither contact force nor gate"),
        (
            {"new arm: contact force": (1.0, 1.02), "new arm: gate error": (0.07, 0.01)},
            None,
        ),
        (
            {"new arm: contact force": (1.0, 0.5), "new arm: gate error": (0.05, 0.07)},
            "gate error rose from 0.050 to 0.070",
        ),
        (
            {"new arm: contact force": (1.0, 0.5), "reference: free force": (0.2, 0.4)},
            "free force rose",
        ),
        (
            {"new arm: contact force": (1.0, 0.5), "reference: contact force": (0.5, 0.6)},
            "reference: contact force rose",
        ),
    ],
)
def test_bounds_of_the_guard(figures: dict[str, tuple[float, float]], words: str | None) -> None:
    reasons = refusals(figures)
    assert (not reasons) if words is None else any(words in reason for reason in reasons)


def test_constants_of_a_stiffer_arm_are_found_and_taken(bundle: Bundle) -> None:
    """Half as much friction again: with its own gears the same network finds the force."""
    pushed = [pushed_episode(seed, planted_gears(1.5), 700) for seed in range(3)]
    model = copy.deepcopy(bundle.model)
    with torch.no_grad():
        # The gate is open and nothing is added: the force is that of the gears.
        model.heads.gate[-1].bias.fill_(4.0)
        for parameter in model.heads.force[-1].parameters():
            parameter.zero_()
    first = make_feature_set("hysteresis", SPEC, DT, planted_motor(), planted_gears())
    old = replace(bundle, model=model, features=first)
    result = adapt(old, pushed, steps=1)
    before, after = result.figures["new arm: contact force"]
    assert result.accepted and result.what in ("constants", "all") and after < 0.9 * before
    assert old.features is first
    share = result.bundle.features.gears.load_share[1:3]
    assert (share > 1.15 * first.gears.load_share[1:3]).all()
    assert result.bundle.provenance["adapted"] == result.what


def test_ticks_between_two_pauses_are_left_out(bundle: Bundle) -> None:
    """A live recording has pauses; a piece of a few ticks once ended adaptation with IndexError."""
    episodes = [
        replace(e, segments=np.array([[0, 1], [1, 5], [5, 150], [150, 152], [152, 200]]))
        for e in other_arm()
    ]
    result = adapt(bundle, episodes, steps=2, refit=False)
    assert np.isfinite(result.figures["new arm: contact force"][0])
