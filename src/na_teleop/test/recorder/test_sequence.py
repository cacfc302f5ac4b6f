# SPDX-License-Identifier: Apache-2.0
"""Peeking at `sequence` equals deserialising, and gaps are counted once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from na_core.nad.typestore import encode, nad_typestore
from na_teleop.recorder.sequence import SequenceCounter, peek_sequence


@given(st.text(max_size=20), st.integers(0, 2**64 - 1))
def test_peek_for_any_frame_name(frame: str, sequence: int) -> None:
    for kind in ("na_msgs/msg/ActuatorTelemetry", "na_msgs/msg/NeuralActuatorState"):
        values = {"header": {"frame_id": frame.replace("\0", "")}, "sequence": sequence}
        assert peek_sequence(encode(nad_typestore(), kind, values)) == sequence


@pytest.mark.parametrize(
    "cdr", [b"", b"\0\1\0\0", b"\0\0\0\0" + bytes(60), b"\0\1\0\0" + bytes(14)]
)
def test_what_cannot_be_peeked_is_said(cdr: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected little-endian CDR|ends before its sequence"):
        peek_sequence(cdr)


def test_gaps_and_restarts() -> None:
    counter = SequenceCounter()
    assert [counter.see(n) for n in (5, 6, 9, 9, 0, 1, 4)] == [0, 0, 2, 0, 0, 0, 2]
    assert (counter.missed, counter.restarts) == (4, 2)
