# SPDX-License-Identifier: Apache-2.0
"""Settings: what is written can be read, and every wrong entry is named with what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_training.training.config import ConfigError, TrainConfig


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    config = TrainConfig(model="gru", seed=3, category_weights={"holds": 2.0})
    path = tmp_path / "config.yaml"
    path.write_text(config.to_yaml(), encoding="utf-8")
    assert TrainConfig.from_file(path) == config


def test_an_empty_file_means_every_default(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("", encoding="utf-8")
    assert TrainConfig.from_file(path) == TrainConfig()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("modle: query", "unknown setting 'modle'"),
        ("model: resnet", "model = 'resnet', expected one of query"),
        ("rate_start: fast", "rate_start = 'fast', expected a number"),
        ("rollout_batch: 2.5", "rollout_batch = 2.5, expected a whole number"),
        ("val_share: 0.9", "val_share = 0.9, expected a number from 0 to 0.5"),
        ("gradient_clip: .nan", "gradient_clip = nan"),
        ("horizons: [8]", "expected 1 numbers, one per horizon"),
        ("horizon_shares: [0.1, 0.1, 0.1, 0.1, 0.1]", "sum to 1"),
        ("category_weights: {holds: -1}", "category_weights"),
        ("{measured_batch: 0}", "expected 1 while measured_batch is 0"),
        ("- a list", "holds list, expected a mapping"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_wrong_entries_are_named(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config\.yaml") as caught:
        TrainConfig.from_file(path)
    assert words in str(caught.value)


def test_horizons_follow_one_another() -> None:
    config = TrainConfig(horizons=(8, 32), horizon_shares=(0.25, 0.75))
    assert [config.horizon_at(share) for share in (0.0, 0.24, 0.26, 1.0)] == [8, 8, 32, 32]
