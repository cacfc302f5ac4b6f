# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

from na_cli.demo_page import Page, force_figure
from na_cli.live_force import BASELINE, STATE, TRUTH, LiveForce, live_force
from na_core.nad.arrays import Episode, NumberTrack, WrenchTrack

TICKS = 100


def track(kind: type, topic: str, start: int = 0, **values: object) -> object:
    stamps = (np.arange(TICKS) * 1e7).astype(np.int64) + start
    return kind(
        topic=topic, log_ns=stamps, stamp_ns=stamps, segments=np.array([0, TICKS]), base="header",
        **values,
    )  # fmt: skip


def episode() -> Episode:
    """One second: true force −2 N in z in its second half, estimated as −1.5 N, by gmo as −1 N."""
    late = np.arange(TICKS) >= TICKS // 2
    zero = np.zeros(TICKS)
    state = {f"force.{axis}": zero for axis in "xy"} | {"force.z": -1.5 * late}
    state |= {"validity": zero, "contact.in_contact": late, "latency": zero + 0.002}
    truth = {"force.x": zero, "force.y": zero, "force.z": -2.0 * late}
    force = np.stack([zero, zero, -1.0 * late], axis=1)
    tracks = [
        track(NumberTrack, STATE, 1, type="na_msgs/msg/NeuralActuatorState", numbers=state),
        track(NumberTrack, TRUTH, 1, type="na_msgs/msg/PlantTruth", numbers=truth),
        track(WrenchTrack, BASELINE, 1, frame="link1", force=force, torque=force),
    ]
    return Episode(Path("bag"), "", {item.topic: item for item in tracks})  # type: ignore[attr-defined]


@pytest.fixture
def force() -> LiveForce:
    found = live_force(episode(), "gmo")
    assert found is not None
    return found


def test_errors_are_told_apart_by_contact_and_method(force: LiveForce) -> None:
    rows = {row[0]: row[1:] for row in force.table()}
    assert rows["in contact"] == pytest.approx((0.5, 0.5, 1.0, 2.0))
    assert rows["free"] == pytest.approx((0.5, 0.0, 0.0, 0.0))


def test_without_truth_there_is_nothing_to_compare() -> None:
    bare = episode()
    del bare.tracks[TRUTH]
    assert live_force(bare) is None


def test_the_page_stands_alone_and_escapes_what_it_is_told(
    tmp_path: Path, force: LiveForce
) -> None:
    page = Page("a < b")
    page.table(["what", "holds"], [["x <script>", True], ["y", False]])
    page.figure(force_figure(force), "forces")
    page.write(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<script" not in text
    assert "a &lt; b" in text
    assert '<td class="bad">no</td>' in text
    assert "<svg" in text
    references = re.findall(r"(?:src|href)=[\"'](?!#)([^\"']+)", text)
    assert not [target for target in references if not target.startswith("#")]
    assert not plt.get_fignums()
