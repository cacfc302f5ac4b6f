# SPDX-License-Identifier: Apache-2.0
"""The vectorised view equals the rosbags library, message by message, on anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from na_core.nad.cdr_rows import MessageTemplate
from na_core.nad.cdr_view import decode
from na_core.nad.errors import SchemaError
from na_core.nad.schemas import store_from_texts
from na_core.nad.typestore import encode, make_message, nad_typestore

ODD = """
uint8 a
float64[] numbers
string text
int16 b
string[] words
float32[3] triple
Inner[] inner
bool flag
int64 c
uint8[] bytes
Inner one
================================================================================
MSG: t/Inner
uint8 x
float64 y
string z
"""
STORE = store_from_texts([("t/msg/Odd", ODD)])

_inner = st.fixed_dictionaries(
    {"x": st.integers(0, 255), "y": st.floats(width=64), "z": st.text(max_size=5)}
)
_odd = st.fixed_dictionaries(
    {
        "a": st.integers(0, 255),
        "numbers": st.lists(st.floats(width=64), max_size=3),
        "text": st.text(max_size=6),
        "b": st.integers(-(2**15), 2**15 - 1),
        "words": st.lists(st.text(max_size=4), max_size=3),
        "triple": st.lists(st.floats(width=32), min_size=3, max_size=3),
        "inner": st.lists(_inner, max_size=2),
        "flag": st.booleans(),
        "c": st.integers(-(2**63), 2**63 - 1),
        "bytes": st.lists(st.integers(0, 255), max_size=3),
        "one": _inner,
    }
)


def _flatten(message: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in message.__dataclass_fields__:
        if name == "__msgtype__":
            continue
        value = getattr(message, name)
        if hasattr(value, "__dataclass_fields__"):
            yield from _flatten(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and hasattr(value[0], "__dataclass_fields__"):
            for i, item in enumerate(value):
                yield from _flatten(item, f"{prefix}{name}.{i}.")
        elif isinstance(value, list) and value and isinstance(value[0], str):
            yield f"{prefix}{name}", tuple(value)
        elif not (isinstance(value, list) and not value):
            yield f"{prefix}{name}", value


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_odd, min_size=1, max_size=6), st.booleans())
def test_equals_rosbags(values: list[dict[str, Any]], little: bool) -> None:
    texts = [make_message(STORE, "t/msg/Odd", value) for value in values]
    raw = [bytes(STORE.serialize_cdr(m, "t/msg/Odd", little_endian=little)) for m in texts]
    seen: set[int] = set()
    for group in decode(STORE, "t/msg/Odd", raw):
        for row, i in enumerate(group.index):
            seen.add(int(i))
            expected = dict(_flatten(STORE.deserialize_cdr(raw[i], "t/msg/Odd")))
            for path, numbers in group.numbers.items():
                np.testing.assert_array_equal(numbers[row], expected.pop(path))
            for path, text in group.strings.items():
                if text != ():
                    assert text == expected.pop(path)
            assert not {k: v for k, v in expected.items() if np.size(v)}
    assert seen == set(range(len(raw)))


def test_messages_of_one_shape_come_as_one_group() -> None:
    template = MessageTemplate(
        nad_typestore(), "sensor_msgs/msg/JointState", {"name": ["a", "b"], "position": [0, 0]}
    )
    position = np.random.default_rng(1).normal(size=(100, 2))
    (group,) = decode(nad_typestore(), template.type, template.rows(100, position=position))
    np.testing.assert_array_equal(group.numbers["position"], position)
    assert group.strings["name"] == ("a", "b")


def test_changed_names_of_equal_length_make_another_group() -> None:
    def rows(names: list[str]) -> list[bytes]:
        prototype = {"name": names, "position": [0, 0]}
        return MessageTemplate(nad_typestore(), "sensor_msgs/msg/JointState", prototype).rows(2)

    raw = [*rows(["ab", "cd"]), *rows(["cd", "ab"]), *rows(["ab", "cd"])]
    groups = decode(nad_typestore(), "sensor_msgs/msg/JointState", raw)
    assert [group.index.tolist() for group in groups] == [[0, 1, 4, 5], [2, 3]]


def test_more_shapes_than_exemplars_are_all_decoded() -> None:
    raw = [
        encode(nad_typestore(), "na_msgs/msg/EpisodeInfo", {"episode": f"{i:03d}", "payload": i})
        for i in range(200)
    ]
    groups = decode(nad_typestore(), "na_msgs/msg/EpisodeInfo", raw)
    payload = {int(g.index[0]): float(g.numbers["payload"][0]) for g in groups}
    assert payload == {i: float(i) for i in range(200)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw[:-9], "needs|ends|end at"),
        (lambda raw: raw + bytes(8), "fields end at byte"),
        (lambda raw: b"\x00\x07" + raw[2:], "encapsulation '00 07'; expected plain CDR"),
        (lambda raw: b"", "encapsulation"),
        (lambda raw: raw[:12] + b"\xff\xff\xff\x7f" + raw[16:], "needs 2147483647 bytes"),
    ],
)
def test_what_does_not_fit_names_the_message(change: Any, words: str) -> None:
    good = encode(nad_typestore(), "sensor_msgs/msg/JointState", {"name": ["a"], "position": [1.0]})
    with pytest.raises(SchemaError, match=words) as caught:
        decode(nad_typestore(), "sensor_msgs/msg/JointState", [good, good, change(good)])
    assert "message 2" in str(caught.value)
