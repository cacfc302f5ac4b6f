# SPDX-License-Identifier: Apache-2.0
"""The video of an episode: frames, arrows, and what is said where nothing can render."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_cli import demo_video
from na_cli.live_force import LiveForce
from na_core.nad.example import Example, write_example


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write_example(tmp_path / "bag", Example(seconds=2))


def test_a_video_has_the_length_of_the_episode_and_moves(bag: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    try:
        out = demo_video.record(bag, tmp_path / "video.webp", "omx")
    except demo_video.NoPictureError as error:
        pytest.skip(str(error))
    with image.open(out) as video:
        assert video.n_frames == pytest.approx(2 * demo_video.FRAMES_PER_SECOND, abs=2)
        assert video.size == demo_video.SIZE[::-1]
        first = np.asarray(video.convert("RGB"), dtype=float)
        video.seek(video.n_frames - 1)
        last = np.asarray(video.convert("RGB"), dtype=float)
    orange = (first[..., 0] > 180) & (first[..., 2] < 90)
    assert orange.sum() > 200  # the gripper is in the picture
    assert np.abs(first - last).max() > 50


def test_without_opengl_it_says_what_was_tried_and_what_to_install(
    bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with pytest.raises(demo_video.NoPictureError, match=r"nothing: .*sudo apt install libegl1"):
        demo_video.record(bag, tmp_path / "video.webp", "omx")
    assert not (tmp_path / "video.webp").exists()


def test_arrows_are_truth_and_estimate_where_they_are_known() -> None:
    none = np.full((2, 3), np.nan)
    truth, estimate = np.array([[0, 0, -2.0]] * 2), np.array([[0, 0, -1.8], [np.nan] * 3])
    force = LiveForce(
        np.array([0.0, 1.0]), np.array([True, False]), estimate, np.array([True, False]),
        truth, none, "none", np.zeros(2),
    )  # fmt: skip
    assert [colour for _, colour in demo_video._arrows(force, 0.0)] == [
        demo_video.TRUTH,
        demo_video.ESTIMATE,
    ]
    assert [colour for _, colour in demo_video._arrows(force, 1.0)] == [demo_video.TRUTH]
    assert demo_video._arrows(None, 0.0) == []
