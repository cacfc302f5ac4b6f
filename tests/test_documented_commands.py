# SPDX-License-Identifier: Apache-2.0
"""Every command in README and guide runs here or in a test named here, or says what it needs."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from na_core.nad.example import Example, write_example


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


documented = _beside("documented_commands")
ROOT: Path = documented.ROOT
COMMANDS = [command for command in documented.all_commands() if not command.inline]


@dataclass(frozen=True)
class Here:
    """Run below, in an empty folder with a few small bags."""


@dataclass(frozen=True)
class Test:
    """Run, with small figures in place of large ones, by this test."""

    __test__ = False
    file: str
    name: str


@dataclass(frozen=True)
class Needs:
    """Not run by any test, and why; its words are parsed all the same."""

    what: str


@dataclass(frozen=True)
class Beside:
    """Run below, by a slow test, in a second terminal beside a running emulated pair."""

    seconds: float = 0.0  # then interrupted, for commands that go on until Ctrl-C


ARM = Needs("servos on a serial port")
ROOT_RIGHTS = Needs("root rights on the reader's machine")
ENGINE = Needs("a Docker engine")
HOURS = Needs("more time than a test has; the same verbs run on little data by other tests")
TELEOP = "launch/test/test_teleop_launch.py"
ESTIMATE = "launch/test/test_inference_launch.py"
DRIVEN = Test(TELEOP, "test_the_leader_drives_the_follower_is_recorded_and_ends_in_order")
LIVE = Test(ESTIMATE, "test_teleoperation_with_a_model_estimates_forces_in_its_namespace")
FOREIGN = Test(ESTIMATE, "test_another_drivers_joint_states_become_a_force")
CLONING = Test(ESTIMATE, "test_a_policy_cloned_from_a_recording_presses_too")
PRESS = Test(ESTIMATE, "test_the_example_finds_the_table_and_holds_its_force")
DEMO = Test("tests/test_demo.py", "test_demo_writes_its_figures")
DOCTOR = Test("tools/test/test_doctor.py", "test_a_healthy_set_up_passes")
CALIBRATE = "tools/test/test_calibrate.py"
GENERATE = Test("tools/test/test_nad_verbs.py", "test_generate_prints_the_accounting_and_writes_it")
LOOP = Test(
    "tools/test/test_training_verbs.py",
    "test_train_eval_export_and_adapt_from_the_command_line",
)
QUICKSTART = Test("tools/test/test_quickstart.py", "test_the_whole_loop_runs_on_very_little_data")
KEYS = Test(
    "src/na_teleop/test/recorder/test_recorder_keyboard.py", "test_a_session_at_the_keyboard"
)
RECORDER = Test("src/na_teleop/test/recorder/test_recorder_node.py", "test_episode_by_service")
SETUP = Test("tools/test/test_setup_steps.py", "test_an_interrupted_run_goes_on_where_it_stopped")

#: The first pattern that matches a whole command decides; one that matches none is out of date.
PROOF: list[tuple[str, Here | Test | Needs | Beside]] = [
    (r"\./na bag play .*", Here()),
    (r"\./na bag .*", Here()),
    (r"\./na demo.*", DEMO),
    (r"\./na test.*", Needs("nothing: it is what runs this test")),
    (r"\./na setup.*", SETUP),
    (r"\./na shell", Needs("a person at a terminal")),
    (r"\./na shell python -m na_sim\.serve .*", Beside(seconds=6)),
    (r"\./na doctor --emulated .*|\./na doctor", DOCTOR),
    (r"\./na doctor .*--leader-port .*", ARM),
    (r"\./na calibrate .* --emulated", Test(
        CALIBRATE, "test_an_emulated_hand_finds_how_the_arm_is_built")),
    (r"\./na calibrate .* --port .*", ARM),
    (r"\./na calibrate .* --import-lerobot .*", Test(
        CALIBRATE, "test_an_import_is_written_with_its_hash")),
    (r"\./na calibrate --check .*", Test(
        CALIBRATE, "test_a_pair_is_checked_and_a_changed_file_accepted")),
    (r"\./na quickstart train", QUICKSTART),
    (r"\./na nad generate --categories all .*|\./na bench accuracy .*|\./na bench real .*", HOURS),
    (r"\./na nad generate .*", GENERATE),
    (r"\./na (train|eval|export) .*", LOOP),
    (r"\./na ros2 launch na_bringup teleop\.launch\.py.* sim:=false .*", ARM),
    (r"\./na ros2 launch na_bringup teleop\.launch\.py goal_source:=topic", PRESS),
    (r"\./na ros2 run na_inference press_and_hold_node .*", PRESS),
    (r"\./na shell python -m na_training\.behaviour_cloning .*", CLONING),
    (r"\./na ros2 run na_inference cloned_policy_node .*", CLONING),
    (r"\./na ros2 run na_inference force_markers_node", Beside(seconds=6)),
    (r"\./na ros2 launch na_bringup teleop\.launch\.py( record:=true.*)?", DRIVEN),
    (r"\./na ros2 launch na_bringup teleop\.launch\.py model:=.*", LIVE),
    (r"\./na ros2 launch na_bringup teleop\.launch\.py aids:=true .*", Test(
        "tools/test/test_bench_feedback.py", "test_aids_carry_the_leader_in_free_air")),
    (r"\./na ros2 launch na_bringup inference\.launch\.py .*", FOREIGN),
    (r"\./na ros2 run na_teleop recorder_node .*", RECORDER),
    (r"\./na ros2 run na_teleop recorder_keyboard", KEYS),
    (r"\./na ros2 service call /leader_node/aids .*", Test(
        "tools/ros2_lite/test/test_verbs.py", "test_service_call")),
    (r"\./na ros2 service call .*", Beside()),
    (r"\./na ros2 topic (hz|echo) .*", Beside(seconds=8)),
    (r"\./na view", Test("src/na_inference/test/test_views.py", "test_a_recording_is_saved")),
    (r"colcon .*", Test("tests/test_colcon.py", "test_colcon_builds_a_package_and_runs_its_tests")),
    (r"sudo .*", ROOT_RIGHTS),
    (r"docker .*", ENGINE),
    (r"ls -l /dev/serial/by-id/", ARM),
    (r"git clone .*|cd neural_actuator", Needs("the address of the repository")),
]  # fmt: skip


def proof(text: str) -> Here | Test | Needs | Beside | None:
    return next((kind for pattern, kind in PROOF if re.fullmatch(pattern, text)), None)


def proved_by(kind: type) -> list[Any]:
    return [command for command in COMMANDS if isinstance(proof(command.text), kind)]


def test_commands_are_found_whole() -> None:
    texts = {command.text for command in documented.all_commands()}
    assert "./na demo" in texts
    assert any(text.endswith("follower_port:=/dev/ttyUSB1") for text in texts)
    assert len(texts) > 60


@pytest.mark.parametrize(
    "command", documented.all_commands(), ids=lambda command: f"{command.page}: {command.text}"
)
def test_the_words_are_understood(command: Any) -> None:
    assert documented.complaint(command) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("./na demo --colour red", "unrecognized arguments: --colour red"),
        ("./na fly", "no verb fly"),
        ("./na ros2 launch na_bringup teleop.launch.py speed:=2", "declares no {'speed'}"),
        ("./na ros2 run na_teleop flyer", "no executable flyer"),
        ("./na ros2 run na_teleop recorder_node --ros-args -p colour:=red", "['colour']"),
        ("./na ros2 service call /x std_srvs/srv/SetBool '{speed: 1}'", "has no {'speed'}"),
    ],
)
def test_wrong_words_are_noticed(text: str, words: str) -> None:
    assert words in documented.complaint(documented.Command("page", text, inline=False))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.text)
def test_every_command_is_run_or_says_what_it_needs(command: Any) -> None:
    how = proof(command.text)
    assert how is not None, (
        f"{command.page} shows `{command.text}`, which no test runs: add a line to PROOF"
    )
    if isinstance(how, Test):
        tree = ast.parse((ROOT / how.file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert how.name in functions, f"{how.file} has no {how.name}"


def test_no_proof_is_out_of_date() -> None:
    used = {id(proof(command.text)) for command in COMMANDS}
    unused = [pattern for pattern, kind in PROOF if id(kind) not in used]
    assert not unused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with `./na` and the bags that the guide's examples name."""
    made = tmp_path_factory.mktemp("reader")
    (made / "na").symlink_to(ROOT / "na")
    for index, name in enumerate(("push", "lift", "cut")):
        start = 1_790_000_000_000_000_000 + index * 20_000_000_000
        write_example(made / "bags" / name, Example(seconds=4, start_ns=start))
    shutil.move(made / "bags" / "cut", made / "bags" / ".push.part")
    (file,) = (made / "bags" / ".push.part").glob("*.mcap")
    file.write_bytes(file.read_bytes()[:-2000])
    return made


def shell(text: str, cwd: Path, interrupt_after: float = 0.0) -> subprocess.CompletedProcess[str]:
    if interrupt_after:
        text = f"timeout --signal=INT {interrupt_after:g} {text}"
    return subprocess.run(
        ["bash", "-c", text], cwd=cwd, capture_output=True, text=True, timeout=120
    )


def test_those_on_bags_run_one_after_the_other(folder: Path) -> None:
    for command in proved_by(Here):
        done = shell(command.text, folder)
        assert done.returncode == 0, f"{command.text}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
def test_those_of_a_second_terminal_run_beside_an_emulated_pair(folder: Path) -> None:
    words = ["record:=true", f"bag_dir:={folder / 'recorded'}"]
    log = folder / "launch.log"
    with open(log, "wb") as output:
        launch = subprocess.Popen(
            ["./na", "ros2", "launch", "na_bringup", "teleop.launch.py", *words],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 120
        while "following: ramp finished" not in log.read_text(errors="replace"):
            assert launch.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        for command in proved_by(Beside):
            seconds = proof(command.text).seconds  # type: ignore[union-attr]
            done = shell(command.text, folder, interrupt_after=seconds)
            said = f"{command.text}\n{done.stdout}{done.stderr}"
            says = bool(done.stdout.strip()) or " ros2 run " in command.text
            assert says and "Traceback" not in done.stderr, said
            assert done.returncode in ((124, 130, 0) if seconds else (0,)), said
    finally:
        launch.send_signal(signal.SIGINT)
        launch.wait(60)
