# SPDX-License-Identifier: Apache-2.0
"""LeRobotDataset v3.0: field by field against its layout, and by its own library where present."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from na_core.nad.arrays import Episode
from na_core.nad.errors import BagFormatError, NadError
from na_core.nad.example import JOINTS, Example, write_example
from na_core.nad.export_lerobot import export_lerobot
from na_core.nad.import_lerobot import import_lerobot
from na_core.nad.layout import FOLLOWER_GOAL, FOLLOWER_JOINT_STATES
from na_core.nad.lerobot_format import statistics
from na_core.nad.reader import read_episode

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

FRAME_KEYS = ["timestamp", "frame_index", "episode_index", "index", "task_index"]
STATS = {"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"}


@pytest.fixture
def episodes(tmp_path: Path) -> list[Episode]:
    held = {"category": "force_labelled", "payload": 0.2, "label_mass": 0.2, "task": "hold"}
    examples = [
        Example(seconds=2),
        Example(seconds=3, **held),
        Example(seconds=5, dropped=tuple(range(100, 190))),
    ]
    return [read_episode(write_example(tmp_path / f"e{i}", e)) for i, e in enumerate(examples)]


@pytest.fixture
def dataset(episodes: list[Episode], tmp_path: Path) -> Path:
    export_lerobot(episodes, tmp_path / "set", force=True)
    return tmp_path / "set"


def _table(path: Path) -> dict[str, Any]:
    columns: dict[str, Any] = parquet.read_table(path).to_pydict()
    return columns


def test_info_has_the_fields_of_v3(dataset: Path) -> None:
    info = json.loads((dataset / "meta/info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert (info["robot_type"], info["fps"]) == ("omx", 60)
    assert isinstance(info["fps"], int)
    assert (info["total_episodes"], info["total_tasks"]) == (4, 2)
    assert info["total_frames"] == 120 + 180 + 100 + 110
    assert info["splits"] == {"train": "0:4"}
    assert (info["chunks_size"], info["data_files_size_in_mb"]) == (1000, 100)
    assert info["data_path"] == "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    assert info["video_path"] is None
    names = [f"{name}.pos" for name in JOINTS]
    state = {"dtype": "float32", "shape": [5], "names": names}
    assert info["features"]["observation.state"] == info["features"]["action"] == state
    force = {"dtype": "float32", "shape": [3], "names": ["x", "y", "z"]}
    assert info["features"]["observation.force"] == force
    for key in FRAME_KEYS:
        assert info["features"][key]["shape"] == [1]


def test_data_columns_and_numbers(dataset: Path, episodes: list[Episode]) -> None:
    table = parquet.read_table(dataset / "data/chunk-000/file-000.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["observation.state"] == "fixed_size_list<element: float>[5]"
    assert kinds["timestamp"] == "float" and kinds["index"] == "int64"
    data = table.to_pydict()
    assert set(data) == {"observation.state", "action", "observation.force", *FRAME_KEYS}
    assert data["index"] == list(range(510))
    first = [i for i, number in enumerate(data["episode_index"]) if number == 0]
    assert [data["frame_index"][i] for i in first] == list(range(120))
    stamps = np.float32([data["timestamp"][i] for i in first])
    np.testing.assert_array_equal(stamps, np.float32(np.arange(120) / 60))
    track = episodes[0].follower
    assert track is not None
    np.testing.assert_array_equal(data["observation.state"][:120], np.float32(track.position))
    np.testing.assert_array_equal(data["action"][:120], np.float32(track.goal_requested))
    force = np.array(data["observation.force"])
    assert np.isnan(force[:120]).all()
    np.testing.assert_allclose(force[120:300], [[0, 0, -1.96133]] * 180, rtol=1e-6)
    metadata = parquet.read_metadata(dataset / "data/chunk-000/file-000.parquet")
    assert metadata.num_row_groups == 4


def test_episode_table_points_into_the_data(dataset: Path) -> None:
    rows = _table(dataset / "meta/episodes/chunk-000/file-000.parquet")
    assert rows["episode_index"] == [0, 1, 2, 3]
    assert rows["length"] == [120, 180, 100, 110]
    assert rows["dataset_from_index"] == [0, 120, 300, 400]
    assert rows["dataset_to_index"] == [120, 300, 400, 510]
    assert rows["tasks"] == [["example"], ["hold"], ["example"], ["example"]]
    for key in ("data/chunk_index", "data/file_index"):
        assert rows[key] == rows[f"meta/episodes/{key.split('/')[1]}"] == [0] * 4
    assert {key.split("/")[2] for key in rows if key.startswith("stats/action/")} == STATS


def test_tasks_are_indexed_by_their_text(dataset: Path) -> None:
    table = parquet.read_table(dataset / "meta/tasks.parquet")
    assert table.to_pydict() == {"task_index": [0, 1], "task": ["example", "hold"]}
    pandas = json.loads(table.schema.metadata[b"pandas"])
    assert pandas["index_columns"] == ["task"]


def test_statistics_leave_nan_out() -> None:
    values = np.array([[1.0, 2.0], [np.nan, 5.0], [3.0, 4.0]])
    stats = statistics(values)
    assert set(stats) == STATS
    assert (stats["mean"], stats["count"], stats["q50"]) == ([2.0, 3.0], [2], [2.0, 3.0])
    assert statistics(values[1:2])["count"] == [0]


def test_global_statistics_are_those_of_all_frames(dataset: Path) -> None:
    stats = json.loads((dataset / "meta/stats.json").read_text())
    data = _table(dataset / "data/chunk-000/file-000.parquet")
    mean = np.mean(data["observation.state"], axis=0)
    np.testing.assert_allclose(stats["observation.state"]["mean"], mean, atol=1e-6)
    assert stats["observation.force"]["count"] == [180]


def test_stale_frames_repeat_the_frame_before_and_are_reported(tmp_path: Path) -> None:
    episode = read_episode(write_example(tmp_path / "e", Example(seconds=2, stale=(50, 51))))
    report = export_lerobot([episode], tmp_path / "set")
    assert (
        report.frames == 120
        and "2 incomplete frames repeat the frame before" in (report.remarks[0])
    )
    state = _table(tmp_path / "set/data/chunk-000/file-000.parquet")["observation.state"]
    assert state[50] == state[51] == state[49] != state[52]


def test_another_frame_rate_takes_the_nearest_tick(episodes: list[Episode], tmp_path: Path) -> None:
    export_lerobot(episodes[:1], tmp_path / "set", fps=30)
    track = episodes[0].follower
    state = _table(tmp_path / "set/data/chunk-000/file-000.parquet")["observation.state"]
    assert track is not None and len(state) == 60
    np.testing.assert_array_equal(state, np.float32(track.position[::2]))


def test_refusals(episodes: list[Episode], tmp_path: Path) -> None:
    with pytest.raises(NadError, match="exists; choose another directory"):
        export_lerobot(episodes, tmp_path)
    with pytest.raises(NadError, match="no episode to export"):
        export_lerobot([], tmp_path / "set")
    other = read_episode(write_example(tmp_path / "other", Example(seconds=1, joints=("a", "b"))))
    with pytest.raises(NadError, match=r"joints \['a', 'b'\] differ from"):
        export_lerobot([episodes[0], other], tmp_path / "set")


def test_round_trip(dataset: Path, episodes: list[Episode], tmp_path: Path) -> None:
    paths = import_lerobot(dataset, tmp_path / "back", "rad")
    assert len(paths) == 4
    episode = read_episode(paths[0])
    track = episodes[0].follower
    assert track is not None
    states = episode.joint_states[FOLLOWER_JOINT_STATES]
    goals = episode.joint_states[FOLLOWER_GOAL]
    assert states.names == JOINTS
    np.testing.assert_array_equal(states.position, np.float32(track.position))
    np.testing.assert_array_equal(goals.position, np.float32(track.goal_requested))
    assert (episode.info.task, episode.info.control_rate) == ("example", 60.0)
    assert read_episode(paths[1]).info.task == "hold"


def test_import_scales_degrees_and_picks_episodes(dataset: Path, tmp_path: Path) -> None:
    (path,) = import_lerobot(dataset, tmp_path / "back", "deg", [2])
    states = read_episode(path).joint_states[FOLLOWER_JOINT_STATES].position
    data = _table(dataset / "data/chunk-000/file-000.parquet")["observation.state"]
    np.testing.assert_allclose(states, np.deg2rad(data[300:400]), rtol=1e-12)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is no LeRobotDataset"),
        ("{", "is no LeRobotDataset"),
        ({"codebase_version": "v1.6", "features": {}}, "is LeRobotDataset v1.6; v2.x and v3.0"),
        ({"codebase_version": "v3.0", "features": {"x": {}}}, "has no observation.state; it has x"),
    ],
)
def test_foreign_folder_is_refused(tmp_path: Path, content: Any, words: str) -> None:
    (tmp_path / "meta").mkdir()
    if content is not None:
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "meta/info.json").write_text(text)
    with pytest.raises(BagFormatError, match=words):
        import_lerobot(tmp_path, tmp_path / "out", "rad")
    with pytest.raises(ValueError, match="unit = 'turns': expected one of rad, deg"):
        import_lerobot(tmp_path, tmp_path / "out", "turns")


def test_the_lerobot_library_loads_it(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    reason = "lerobot is not installed; the fields are checked by the other tests"
    library = pytest.importorskip("lerobot.datasets.lerobot_dataset", reason=reason)
    loaded = library.LeRobotDataset("local/set", root=dataset)
    assert (loaded.num_episodes, loaded.num_frames, loaded.fps) == (4, 510, 60)
    assert tuple(loaded[0]["observation.state"].shape) == (5,)
