# SPDX-License-Identifier: Apache-2.0
"""`./na bag` from the command line: output, exit codes, messages."""

from __future__ import annotations

import argparse
import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from na_cli.verbs import bag
from na_core.nad.example import Example, write_example
from na_core.nad.layout import FOLLOWER_TELEMETRY
from na_core.nad.reader import read_episode


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_example(tmp_path / "bags" / "good", Example(seconds=5))


def _na_bag(*words: object) -> int:
    parser = argparse.ArgumentParser()
    bag.add_arguments(parser)
    return bag.run(parser.parse_args([str(word) for word in words]))


def test_validate_reports_on_four_kinds_of_bags(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = good.parent
    write_example(folder / "stale", Example(seconds=5, stale=tuple(range(50, 80))))
    write_example(folder / "gappy", Example(seconds=5, dropped=tuple(range(50, 130))))
    wrong = {"category": "force_labelled", "payload": 0.2, "label_mass": 0.5}
    write_example(folder / "mislabelled", Example(seconds=5, **wrong))
    assert _na_bag("validate", folder) == 1
    out = capsys.readouterr().out
    for words in (
        "good: good",
        "stale: refused\n  REFUSED  stale        /follower/telemetry: 10.00% of the ticks",
        "gappy: refused\n  REFUSED  gaps         /follower/telemetry: 1 gaps, the longest 1.3",
        "mislabelled: refused\n  REFUSED  labels       payload is 0.2 kg, the labels say 0.5 kg",
        "4 bags: 1 good, 0 warnings, 3 refused",
    ):
        assert words in out
    assert _na_bag("validate", good) == 0
    capsys.readouterr()
    assert _na_bag("validate", good, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["verdict"] == "good"


def test_info_in_words_and_json(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _na_bag("info", good) == 0
    assert "na_msgs/msg/ActuatorTelemetry" in capsys.readouterr().out
    assert _na_bag("info", good, "--json") == 0
    (report,) = json.loads(capsys.readouterr().out)
    counts = {topic["topic"]: topic["messages"] for topic in report["topics"]}
    assert counts[FOLLOWER_TELEMETRY] == 300


def test_recover_trim_merge_relabel(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = good.parent
    file = good / "good_0.mcap"
    file.write_bytes(file.read_bytes()[:-2000])
    assert _na_bag("recover", good) == 0
    out = capsys.readouterr().out
    assert "lost: good_0.mcap: bytes" in out and f"{good} is unchanged; delete it when" in out
    recovered = folder / "good_recovered"
    assert _na_bag("trim", recovered, "--stop", 2, "--output", folder / "a") == 0
    assert _na_bag("trim", recovered, "--start", 2, "--output", folder / "b") == 0
    assert _na_bag("merge", folder / "a", folder / "b", "--output", folder / "m") == 0
    words = ("--label-payload", 0.2, "--frame", "link1", "--payload", 0.2)
    category = ("--category", "force_labelled")
    assert _na_bag("relabel", folder / "m", *words, *category, "--output", folder / "r") == 0
    capsys.readouterr()
    assert _na_bag("validate", folder / "r") == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("recover", "nowhere"), "./na bag recover: nowhere: does not exist"),
        (("info", "nowhere"), "./na bag info: nowhere: does not exist"),
        (("merge", "one", "--output", "x"), "merge needs two bags or more"),
        (("relabel", "one", "--output", "x"), "nothing to change"),
        (("relabel", "one", "--output", "x", "--label-payload", "1"), "needs --frame"),
        (("import", "lerobot", "one", "--output", "x"), "--unit rad or --unit deg is needed"),
        (("play", "nowhere"), "does not exist"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_1(
    words: tuple[str, ...], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _na_bag(*words) == 1
    text = capsys.readouterr().err
    assert error in text and text.count("\n") == 1


def test_export_and_import(good: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert _na_bag("export", "npz", good, "--output", tmp_path / "x.npz") == 0
    assert _na_bag("export", "csv", good, "--output", tmp_path / "csv") == 0
    assert _na_bag("export", "lerobot", good.parent, "--output", tmp_path / "set", "--force") == 0
    back = tmp_path / "back"
    source = tmp_path / "set"
    assert _na_bag("import", "lerobot", source, "--unit", "rad", "--output", back) == 0
    assert [path.name for path in back.iterdir()] == ["set_000000"]
    words = ("--topic", "/leader/joint_states", "--output", tmp_path / "plain")
    assert _na_bag("import", "joint-states", good, *words) == 0
    assert (tmp_path / "plain/good/metadata.yaml").is_file()


def test_play_publishes_every_message_as_recorded(
    good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")
    from std_srvs.srv import Trigger

    from na_msgs.msg import ActuatorTelemetry

    domain = random.SystemRandom().randrange(100, 200)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    context = rclpy.Context()
    context.init(domain_id=domain)
    node = rclpy.create_node("listener", context=context)
    heard: list[Any] = []
    resets: list[int] = []

    def reset(_: Any, response: Any) -> Any:
        resets.append(len(heard))
        response.success = True
        return response

    node.create_subscription(ActuatorTelemetry, f"/arm{FOLLOWER_TELEMETRY}", heard.append, 1000)
    node.create_service(Trigger, "/reset", reset)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    done = threading.Event()

    def listen() -> None:
        while not done.is_set():
            executor.spin_once(timeout_sec=0.02)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        options = ("--rate", 10, "--loop", 2, "--loop-gap", 0.2, "--namespace", "arm")
        more = ("--reset-service", "/reset", "--wait", 1.0, "--topics", FOLLOWER_TELEMETRY)
        assert _na_bag("play", good, *options, *more) == 0
        for _ in range(100):
            if len(heard) >= 600:
                break
            done.wait(0.05)
    finally:
        done.set()
        thread.join()
        node.destroy_node()
        context.try_shutdown()
    assert "600 messages published" in capsys.readouterr().out
    assert len(heard) == 600 and resets == [0, 300]
    track = read_episode(good).follower
    assert track is not None
    stamps = [m.header.stamp.sec * 1_000_000_000 + m.header.stamp.nanosec for m in heard[:300]]
    assert stamps == track.stamp_ns.tolist()
    assert [m.sequence for m in heard[300:]] == list(range(300))
