# SPDX-License-Identifier: Apache-2.0
"""The reflex fires on contact above its threshold, renews, lets go, and never on silence."""

from __future__ import annotations

import numpy as np
import pytest

from na_inference.estimate import Estimate
from na_inference.reflex import Ask, Reaction, Reflex
from na_inference.validity import Validity

HERE, BEFORE = np.full(5, 0.5), np.full(5, 0.2)


def estimate(size: float, valid: bool = True) -> Estimate:
    out = Estimate(5)
    out.validity = Validity.VALID if valid else Validity.STALE
    out.force[:] = [0.0, 0.0, -size]
    out.in_contact = size > 0.0
    return out


def run(reflex: Reflex, start: float, seconds: float, size: float, pose: np.ndarray = HERE) -> list:
    times = start + np.arange(0.0, seconds, 0.02)
    asks = [reflex.step(t, estimate(size), pose).ask for t in times]
    return [ask for ask in asks if ask is not Ask.NOTHING]


def test_it_is_off_by_default() -> None:
    assert run(Reflex(Reaction.NONE, 5.0), 0.0, 1.0, 50.0) == []


def test_hold_is_renewed_while_the_force_lasts_then_released() -> None:
    reflex = Reflex(Reaction.HOLD, 5.0)
    assert run(reflex, 0.0, 0.5, 4.9) == []
    asks = run(reflex, 0.5, 1.0, 6.0)
    assert set(asks) == {Ask.HOLD}
    assert 4 <= len(asks) <= 6
    assert run(reflex, 1.5, 0.2, 3.0)[-1:] in ([Ask.HOLD], [])
    assert run(reflex, 1.7, 1.0, 0.0)[-1] is Ask.RELEASE
    assert reflex.fired == 1


def test_retreat_goes_to_where_the_arm_was_half_a_second_before() -> None:
    reflex = Reflex(Reaction.RETREAT, 5.0)
    for k in range(40):
        reflex.step(0.02 * k, estimate(0.0), BEFORE if k < 20 else HERE)
    request = reflex.step(0.82, estimate(7.0), HERE)
    assert request.ask is Ask.RETREAT
    assert request.position is not None
    assert np.array_equal(request.position, BEFORE)
    assert "force 7.0 N exceeds 5 N" in request.reason


def test_an_estimate_that_is_not_valid_never_fires_it() -> None:
    reflex = Reflex(Reaction.HOLD, 5.0)
    assert reflex.step(0.0, estimate(50.0, valid=False), HERE).ask is Ask.NOTHING
    assert reflex.fired == 0


def test_a_senseless_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a positive force"):
        Reflex(Reaction.HOLD, 0.0)
