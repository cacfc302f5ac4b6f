# SPDX-License-Identifier: Apache-2.0
"""Keys and typed lines of the keyboard front end."""

from __future__ import annotations

import math

import pytest

from na_teleop.recorder.keyboard import KEYS, Key, help_text, parse_label, parse_relabel


def test_every_action_has_a_key_and_is_explained() -> None:
    assert set(KEYS.values()) == set(Key)
    assert all(action.value in help_text() for action in Key)


def test_relabel_lines() -> None:
    assert parse_relabel("task = pick up").value == "pick up"
    assert parse_relabel("payload=0.25").value == 0.25
    assert math.isnan(float(parse_relabel("payload=nan").value))
    assert parse_relabel("category=").value == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task", "expected FIELD=VALUE with one of task, category"),
        ("robot=x", "expected FIELD=VALUE"),
        ("payload=heavy", "payload 'heavy': expected a mass in kg"),
    ],
)
def test_bad_relabel_lines(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_relabel(text)


def test_label_lines() -> None:
    assert parse_label(" 0.2 ").mass == 0.2
    assert parse_label("none").mass is None
    for text, words in (("heavy", "expected a mass in kg, or none"), ("-1", "expected 0 to 100")):
        with pytest.raises(ValueError, match=words):
            parse_label(text)
