# SPDX-License-Identifier: Apache-2.0
"""The gate does not chatter: two thresholds, and a change must last."""

from __future__ import annotations

import pytest

from na_inference.contact_gate import ContactGate, sigmoid


def run(gate: ContactGate, values: list[float]) -> list[bool]:
    return [gate.step(value) for value in values]


def test_it_opens_after_the_dwell_and_keeps_open_between_the_thresholds() -> None:
    gate = ContactGate(0.6, 0.4, 3)
    assert run(gate, [0.7, 0.7, 0.7]) == [False, False, True]
    assert run(gate, [0.5] * 10) == [True] * 10
    assert run(gate, [0.3, 0.3, 0.3]) == [True, True, False]
    assert run(gate, [0.5] * 10) == [False] * 10


def test_a_flicker_shorter_than_the_dwell_changes_nothing() -> None:
    gate = ContactGate(0.6, 0.4, 3)
    assert not any(run(gate, [0.9, 0.9, 0.1] * 20))


def test_without_dwell_it_follows_at_once() -> None:
    assert run(ContactGate(0.6, 0.4, 0), [0.7, 0.3, 0.7]) == [True, False, True]


def test_a_force_within_its_own_uncertainty_is_no_contact() -> None:
    gate = ContactGate(0.6, 0.4, 2, clear=1.5)
    steps = [(0.99, 1.4)] * 5 + [(0.99, 1.6)] * 2 + [(0.99, 1.1)] * 5 + [(0.99, 0.9)] * 2
    found = [gate.step(*step) for step in steps]
    assert found == [False] * 6 + [True] * 7 + [False]
    with pytest.raises(ValueError, match="clear -1"):
        ContactGate(0.6, 0.4, 2, clear=-1.0)


def test_not_a_number_never_opens_it() -> None:
    gate = ContactGate(0.6, 0.4, 1)
    assert not gate.step(float("nan"))
    gate.step(0.9)
    assert gate.step(float("nan"))


@pytest.mark.parametrize(("on", "off", "dwell"), [(0.4, 0.6, 1), (1.0, 0.5, 1), (0.6, 0.4, -1)])
def test_senseless_values_are_refused(on: float, off: float, dwell: int) -> None:
    with pytest.raises(ValueError, match=r"expected 0"):
        ContactGate(on, off, dwell)


def test_sigmoid_does_not_overflow() -> None:
    assert [sigmoid(-1e4), sigmoid(0.0), sigmoid(1e4)] == [0.0, 0.5, 1.0]
