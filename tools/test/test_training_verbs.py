# SPDX-License-Identifier: Apache-2.0
"""train, eval and export: install what is missing, refuse with one line, and run end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from na_cli.registry import UsageError, run_verb


def episode(folder: Path, name: str, mass: float, seed: int) -> None:
    """A made-up .npz recording: smooth motion, currents that hold `mass` [kg] roughly."""
    from na_core.robot_spec import load_robot_spec

    spec = load_robot_spec("omx")
    rng = np.random.default_rng(seed)
    time = np.arange(160) / 60.0
    position = np.array(spec.home) + 0.05 * np.sin(time[:, None] + rng.uniform(0, 6, spec.n)) * [
        1,
        1,
        1,
        1,
        0.05,
    ]
    info = {
        "episode": name,
        "robot": "omx",
        "category": "force_labelled" if mass else "free_motion",
        "task": "made_up",
        "split_group": name,
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(
        folder / f"{name}.npz",
        names=np.array(spec.names),
        info=json.dumps(info),
        step_time=time,
        position=position,
        velocity=np.gradient(position, time, axis=0),
        goal_requested=position,
        goal_sent=position,
        current=mass * 0.3 + rng.normal(0.0, 0.01, position.shape),
        load=np.full(position.shape, np.nan),
        voltage=np.full(position.shape, 12.0),
        temperature=np.full(position.shape, 40.0),
        label_force=np.tile([0.0, 0.0, -9.81 * mass], (160, 1)),
        label_valid=np.ones(160, dtype=bool),
        label_source=np.ones(160, dtype=np.uint8),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for index in range(6):
        episode(folder, f"e{index}", 0.2 * (index % 2), index)
    return folder


def test_train_eval_export_and_adapt_from_the_command_line(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: requirements/train.txt")
    pytest.importorskip("onnx", reason="needs onnx: requirements/train.txt")
    config = tmp_path / "c.yaml"
    config.write_text(
        "model: query_physics\nprecision: float32\nhorizons: [4]\nhorizon_shares: [1.0]\n"
        "rollout_batch: 4\nmeasured_batch: 4\nmeasured_length: 8\nval_share: 0.3\n",
        encoding="utf-8",
    )
    run = tmp_path / "run"
    words = ["--data", str(data), "--out", str(run), "--config", str(config), "--steps"]
    assert run_verb("train", [*words, "2"]) == 0
    assert run_verb("train", [*words, "2"]) == 1  # the folder is taken
    assert (
        run_verb("train", ["--data", str(data), "--out", str(run), "--steps", "3", "--resume"]) == 0
    )
    figures, page = tmp_path / "f.json", tmp_path / "p.html"
    code = run_verb(
        "eval",
        ["--model", str(run), "--data", str(data), "--json", str(figures), "--html", str(page)],
    )
    assert code == 0 and page.stat().st_size > 10_000
    assert "force" in json.loads(figures.read_text(encoding="utf-8"))
    model = tmp_path / "m.onnx"
    words = ["--run", str(run), "--out", str(model), "--data", str(data), "--stream"]
    assert run_verb("export", [*words, "--results", str(figures)]) == 0
    assert "zero force" in model.with_suffix(".md").read_text(encoding="utf-8")
    assert (tmp_path / "m.stream.onnx").exists()
    assert run_verb("eval", ["--model", str(model), "--data", str(data), "--rollouts", "0"]) == 0
    words = ["adapt", "--model", str(model), "--data", str(data), "--out", str(tmp_path / "n.onnx")]
    assert run_verb("train", [*words, "--minutes", "0.02"]) in (0, 1)
    assert (tmp_path / "n.onnx").exists()


def test_what_cannot_be_done_is_one_line(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="needs torch: requirements/train.txt")
    out = ["--out", str(tmp_path / "run")]
    with pytest.raises(UsageError, match="either --minutes or --steps"):
        run_verb("train", ["--data", str(data), *out])
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run_verb("train", ["--data", str(empty), *out, "--steps", "1"]) == 1
    assert "no episode found" in capsys.readouterr().err
    assert run_verb("train", ["--data", str(data), *out, "--steps", "1", "--model", "big"]) == 1
    assert "model = 'big'" in capsys.readouterr().err
    assert run_verb("eval", ["--model", str(empty), "--data", str(data)]) == 1
    assert "no checkpoint" in capsys.readouterr().err
