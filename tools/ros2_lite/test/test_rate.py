# SPDX-License-Identifier: Apache-2.0
"""The statistics of `ros2 topic hz`, against numbers done by hand."""

from __future__ import annotations

from ros2_lite.rate import RateMeter

MS = 1_000_000


def test_the_text_of_a_steady_rate() -> None:
    meter = RateMeter()
    texts = []
    for i in range(202):
        meter.add(i * 10 * MS)
        texts.append(meter.report())
    told = [text for text in texts if text is not None]
    assert (
        told[0] == "average rate: 100.000\n\tmin: 0.010s max: 0.010s std dev: 0.00000s window: 101"
    )
    assert len(told) == 2
    assert told[1].endswith("window: 201")


def test_jitter() -> None:
    meter = RateMeter()
    text = None
    stamp = 0
    for i in range(60):
        meter.add(stamp)
        text = meter.report() or text
        stamp += (10 if i % 2 else 30) * MS
    assert (
        text == "average rate: 50.000\n\tmin: 0.010s max: 0.030s std dev: 0.01000s window: 52"
        or (text is not None and "min: 0.010s max: 0.030s std dev: 0.01000s" in text)
    )


def test_the_window_forgets() -> None:
    meter = RateMeter(window=5)
    for i in range(10):
        meter.add(i * 1000 * MS)
        meter.report()
    for i in range(6):
        meter.add(10_000 * MS + i * 200 * MS)
    text = meter.report()
    assert text is not None
    assert text.startswith("average rate: 5.000")
    assert text.endswith("window: 5")


def test_silence_and_a_clock_that_jumps_back_are_no_measurement() -> None:
    meter = RateMeter()
    assert meter.report() is None
    meter.add(5_000 * MS)
    assert meter.report() is None
    meter.add(1_000 * MS)
    meter.add(1_100 * MS)
    assert meter.report() is None
    meter.add(2_200 * MS)
    text = meter.report()
    assert text is not None
    assert "min: 0.100s max: 1.100s" in text
