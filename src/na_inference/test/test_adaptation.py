# SPDX-License-Identifier: Apache-2.0
"""Adaptation: what is remembered, what is refused, and that the worker's verdict decides."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.nad.layout import LABEL_SOURCES
from na_core.robot_spec import RobotSpec
from na_inference import adaptation
from na_inference.recent_ticks import RecentTicks

RATE = 60.0


def remembered(omx: RobotSpec, tick: Any, count: int, minutes: float = 1.0) -> RecentTicks:
    recent = RecentTicks(omx, minutes, RATE)
    recent.label(np.array([0.0, 0.0, -1.0]), LABEL_SOURCES["payload"], True)
    for _ in range(count):
        recent.add(tick())
    return recent


def test_only_the_last_minutes_are_kept_in_order(omx: RobotSpec, tick: Any, tmp_path: Path) -> None:
    recent = remembered(omx, tick, 100, minutes=1.0 / 60.0)
    assert len(recent) == 60
    with np.load(recent.save(tmp_path, RATE)) as saved:
        assert saved["position"].shape == (60, 5)
        assert np.diff(saved["step_time"]) == pytest.approx(np.full(59, 1 / RATE), rel=1e-3)
        assert saved["label_force"][-1].tolist() == [0.0, 0.0, -1.0]
        assert json.loads(str(saved["info"]))["robot"] == "omx"


def test_what_is_saved_is_a_recording_that_training_reads(
    omx: RobotSpec, tick: Any, tmp_path: Path
) -> None:
    arrays = pytest.importorskip(
        "na_training.data.arrays", reason="needs the training packages: requirements/train.txt"
    )
    recent = remembered(omx, tick, 120)
    episode = arrays.read_arrays(recent.save(tmp_path, RATE), omx)
    assert episode.length == 120
    assert (episode.contact == 1.0).all()


def test_stale_and_bad_ticks_are_not_remembered(omx: RobotSpec, tick: Any) -> None:
    recent = RecentTicks(omx, 1.0, RATE)
    recent.add(tick(stale=True))
    recent.add(tick(trouble="no goal"))
    assert len(recent) == 0
    assert recent.last_position() is None


def test_without_labels_it_is_refused(omx: RobotSpec, tick: Any) -> None:
    recent = RecentTicks(omx, 1.0, RATE)
    for _ in range(700):
        recent.add(tick())
    with pytest.raises(adaptation.AdaptationError, match=r"0 of the 700 remembered ticks carry"):
        adaptation.check_labels(len(recent), recent.labelled)
    adaptation.check_labels(700, remembered(omx, tick, 700).labelled)


def job(tmp_path: Path, code: str) -> adaptation.Job:
    script = tmp_path / "worker.py"
    script.write_text(code)
    return adaptation.Job(
        (sys.executable, str(script)), "omx", tmp_path / "m.onnx", tmp_path, tmp_path / "new.onnx"
    )


def test_the_workers_model_is_returned(tmp_path: Path) -> None:
    code = "import sys; a = sys.argv; open(a[a.index('--out') + 1], 'w').write('x')"
    assert adaptation.run(job(tmp_path, code)) == tmp_path / "new.onnx"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('gate got worse')", r"old model kept \(exit code 1\): gate got wor"),
        ("print('fine')", r"the worker wrote no .*new.onnx: fine"),
    ],
)
def test_a_worker_that_refuses_or_writes_nothing_keeps_the_old_model(
    tmp_path: Path, code: str, words: str
) -> None:
    with pytest.raises(adaptation.AdaptationError, match=words):
        adaptation.run(job(tmp_path, code))


def test_without_a_training_package_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NA_WORKSPACE", raising=False)
    with pytest.raises(adaptation.AdaptationError, match=r"set the parameter adapt_command"):
        adaptation.training_command([""])
    assert adaptation.training_command(["a", "b"]) == ("a", "b")


def test_the_folder_of_a_refused_job_is_removed_and_that_of_a_model_in_use_stays() -> None:
    with adaptation.work_folder() as kept:
        (kept / "new.onnx").write_text("x")
    assert (kept / "new.onnx").is_file()
    shutil.rmtree(kept)
    with pytest.raises(adaptation.AdaptationError), adaptation.work_folder() as gone:
        raise adaptation.AdaptationError("old model kept")
    assert not gone.exists()
