# SPDX-License-Identifier: Apache-2.0
"""Losses: unknown labels cost nothing, classes weigh the same, the variance learns the error."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_training.model import Estimates  # noqa: E402
from na_training.training.config import TrainConfig  # noqa: E402
from na_training.training.loss import (  # noqa: E402
    Labels,
    condition_loss,
    estimate_losses,
    force_loss,
    gate_loss,
    variance_loss,
)

NAN = math.nan


def estimates(force, gate=0.0, condition=0.0, log_variance=0.0) -> Estimates:
    force = torch.tensor(force)
    rows = len(force)
    return Estimates(
        force,
        torch.full((rows, 1), gate),
        torch.full((rows, 2), condition),
        torch.full((rows, 3), log_variance),
    )


def labels(force, contact=None, restricted=None) -> Labels:
    rows = len(force)
    return Labels(
        torch.tensor(force),
        torch.tensor(contact or [NAN] * rows),
        torch.tensor(restricted or [[NAN, NAN]] * rows),
    )


def test_ticks_without_labels_cost_nothing_and_give_no_gradient() -> None:
    found = estimates([[1.0, 2.0, 3.0]])
    found.force.requires_grad_()
    for loss in estimate_losses(found, labels([[NAN] * 3]), TrainConfig()).values():
        assert float(loss.detach()) == 0.0
    force_loss(found, labels([[NAN] * 3]), TrainConfig()).backward()
    assert found.force.grad.abs().sum() == 0.0


def test_force_loss_is_the_error_in_units_less_half_the_bend() -> None:
    config = TrainConfig(force_unit=2.0, force_beta=0.1)
    loss = force_loss(estimates([[4.0, 0.0, 0.0]]), labels([[0.0, 0.0, 0.0]]), config)
    assert float(loss) == pytest.approx((2.0 - 0.05) / 3.0)


def test_variance_is_best_where_it_equals_the_squared_error() -> None:
    costs = {
        log: float(variance_loss(estimates([[2.0] * 3], log_variance=log), labels([[0.0] * 3])))
        for log in (math.log(4.0) - 0.3, math.log(4.0), math.log(4.0) + 0.3)
    }
    assert min(costs, key=costs.__getitem__) == math.log(4.0)


def test_gate_loss_counts_known_ticks_only() -> None:
    loss = gate_loss(
        estimates([[0.0] * 3] * 2, gate=2.0), labels([[0.0] * 3] * 2, contact=[1.0, NAN])
    )
    assert float(loss) == pytest.approx(math.log1p(math.exp(-2.0)), rel=1e-6)


def test_condition_classes_weigh_the_same() -> None:
    """Three free ticks and one restricted: an undecided output costs both classes ln 2 alike."""
    rows = [[0.0, NAN], [0.0, NAN], [0.0, NAN], [1.0, NAN]]
    found = estimates([[0.0] * 3] * 4)
    found.condition.requires_grad_()
    loss = condition_loss(found, labels([[0.0] * 3] * 4, restricted=rows))
    assert float(loss.detach()) == pytest.approx(math.log(2.0))
    loss.backward()
    assert float(found.condition.grad[:, 0].sum()) == pytest.approx(0.0, abs=1e-7)
