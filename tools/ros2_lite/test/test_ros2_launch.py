# SPDX-License-Identifier: Apache-2.0
"""`ros2 launch` and `ros2 run` as processes: output, exit codes, signals, and no orphans."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ros2_lite.verbs.launch import find_launch_file, parse_launch_arguments

WriteLaunchFile = Callable[..., str]
PY = "sys.executable, '-S', '-u', '-c'"
WAIT = "import signal, sys, time\\nprint('ready', flush=True)\\ntime.sleep(60)"
STUBBORN = "import signal, sys, time\\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\\n"


def process(code: str, **keywords: object) -> str:
    """Return the source of an action that runs Python code."""
    words = {"output": "screen", **keywords}
    extra = ", ".join(f"{key}={value!r}" for key, value in words.items())
    return f"""ExecuteProcess(cmd=[{PY}, "{code}"], {extra})"""


def pid_in(line: str) -> int:
    """Return the process id in a line of output."""
    found = re.search(r"pid \[(\d+)\]", line)
    assert found
    return int(found.group(1))


def exists(pid: int) -> bool:
    """Return whether the process still runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def test_each_line_carries_the_label_of_its_process(start, launch_file: WriteLaunchFile) -> None:
    path = launch_file(
        ", ".join(
            [
                process("print('a'); print('b', end='')", name="first"),
                process("import sys; print('c', file=sys.stderr); sys.exit(4)", name=None),
                "LogInfo(msg=['said ', LaunchConfiguration('word', default='nothing')])",
            ]
        )
    )
    code, output = start("launch", path, "word:=hello", "unknown:=is_kept").finish()
    lines = output.splitlines()
    assert code == 0
    assert "[INFO] [launch.user]: said hello" in lines
    assert "[first-1] a" in lines
    assert "[first-1] b" in lines
    label = next(line for line in lines if line.endswith(" c")).split("]")[0] + "]"
    assert re.fullmatch(r"\[python[\d.]*-2\]", label)
    assert re.search(r"\[INFO\] \[first-1\]: process started with pid \[\d+\]", output)
    assert re.search(r"\[INFO\] \[first-1\]: process has finished cleanly \[pid \d+\]", output)
    assert re.search(r"-2\]: process has died \[pid \d+, exit code 4, cmd '.*sys.exit\(4\)'\]\.",
                     output)  # fmt: skip


def test_by_default_only_errors_reach_the_screen_and_the_log_has_all(
    start, launch_file: WriteLaunchFile, tmp_path: Path
) -> None:
    code = "import sys; print('quiet'); print('loud', file=sys.stderr)"
    path = launch_file(process(code, name="p", output="log"))
    _, output = start("launch", path).finish()
    assert "[p-1] loud" in output
    assert "quiet" not in output
    (log,) = (tmp_path / "log").glob("*/launch.log")
    assert "[p-1] quiet" in log.read_text()
    _, output = start("launch", path, "-a").finish()
    assert "[p-1] quiet" in output


def test_what_a_launch_file_does_wrong_ends_with_1_and_stops_what_runs(
    start, launch_file: WriteLaunchFile
) -> None:
    wrong = "TimerAction(period=0.3, actions=[OpaqueFunction(function=lambda c: 1 / 0)])"
    running = start("launch", launch_file(f"{process(WAIT, name='p')}, {wrong}"))
    pid = pid_in(running.wait_for("process started"))
    code, output = running.finish()
    assert code == 1
    assert "Caught exception in launch: ZeroDivisionError: division by zero" in output
    assert not exists(pid)


@pytest.mark.parametrize(
    ("entities", "arguments", "words"),
    [
        ("DeclareLaunchArgument('robot')", [], "missing required argument 'robot'"),
        ("DeclareLaunchArgument('robot', default_value='omx', choices=['omx', 'so101'])",
         ["robot:=pr2"], "\"pr2\" is not valid. Valid options are: ['omx', 'so101']"),
        ("DeclareLaunchArgument('robot')", ["robot"],
         "malformed launch argument 'robot', expected format '<name>:=<value>'"),
        ("LogInfo(msg=LaunchConfiguration('undeclared'))", [], "'undeclared' does not exist"),
        ("Node(package='rl_demo', executable='nobody')", [], "which holds ['talker']"),
        ("Node(package='rl_demo', executable='talker', name='1st')", [], "node name '1st'"),
        ("5", [], "a launch description takes actions, got 5"),
    ],
)  # fmt: skip
def test_bad_launch_files_and_arguments(
    start, launch_file: WriteLaunchFile, prefix: Path, entities: str, arguments: list[str],
    words: str,
) -> None:  # fmt: skip
    code, output = start("launch", launch_file(entities), *arguments).finish()
    assert code == 1
    assert words in output


def test_a_program_that_cannot_be_started_is_reported(start, launch_file: WriteLaunchFile) -> None:
    code, output = start("launch", launch_file("ExecuteProcess(cmd=['/no/such'])")).finish()
    assert code == 0  # as the real one
    assert "[ERROR] [such-1]: could not be started" in output


def test_interrupting_ends_children_with_sigint(start, launch_file: WriteLaunchFile) -> None:
    on_signal = "signal.signal(signal.SIGINT, lambda *_: (print('parked'), sys.exit(0)))"
    code = f"import signal, sys, time\\n{on_signal}\\nprint('ready', flush=True)\\ntime.sleep(60)"
    running = start("launch", launch_file(process(code, name="arm")))
    pid = pid_in(running.wait_for("process started"))
    running.wait_for("[arm-1] ready")
    running.process.send_signal(signal.SIGINT)
    code, output = running.finish()
    assert code == 0
    assert "user interrupted with ctrl-c (SIGINT)" in output
    assert "[arm-1] parked" in output
    assert "process has finished cleanly" in output
    assert not exists(pid)


def test_ctrl_c_in_a_terminal_reaches_each_child_once(
    environment: dict[str, str], launch_file: WriteLaunchFile
) -> None:
    on_signal = "n = []\\nsignal.signal(signal.SIGINT, lambda *_: n.append(1))"
    code = f"import signal, time\\n{on_signal}\\nprint('ready', flush=True)\\n"
    code += "while not n: time.sleep(0.01)\\n"
    code += "time.sleep(0.3); print('interrupts', len(n))"
    argv = [sys.executable, "-m", "ros2_lite", "launch", launch_file(process(code, name="p"))]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, argv, environment)
    text = b""
    try:
        while b"[p-1] ready" not in text:
            text += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        while True:
            text += os.read(terminal, 4096)
    except OSError:  # the terminal is closed: launch has ended
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, text.decode()
    assert b"[p-1] interrupts 1" in text
    assert b"sending signal" not in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_no_orphan_where_launch_itself_is_told_to_end(
    start, launch_file: WriteLaunchFile, number: signal.Signals
) -> None:
    running = start("launch", launch_file(process(WAIT, name="p")))
    pid = pid_in(running.wait_for("process started"))
    running.wait_for("ready")
    running.process.send_signal(number)
    code, output = running.finish()
    assert code == 1
    assert f"received {number.name}" in output
    assert not exists(pid)


def test_a_stubborn_child_is_terminated_then_killed(start, launch_file: WriteLaunchFile) -> None:
    code = STUBBORN + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n" + WAIT
    path = launch_file(process(code, name="p", sigterm_timeout="0.2", sigkill_timeout="0.2"))
    running = start("launch", path)
    running.wait_for("[p-1] ready")
    running.process.send_signal(signal.SIGINT)
    code, output = running.finish()
    assert code == 0
    assert "'0.2' seconds after receiving 'SIGINT', escalating to 'SIGTERM'" in output
    assert "'0.2' seconds after receiving 'SIGTERM', escalating to 'SIGKILL'" in output
    assert "exit code -9" in output


def test_the_second_interrupt_does_not_wait_for_the_time_out(
    start, launch_file: WriteLaunchFile
) -> None:
    path = launch_file(process(STUBBORN + WAIT, name="p", sigterm_timeout="600"))
    running = start("launch", path)
    running.wait_for("[p-1] ready")
    running.process.send_signal(signal.SIGINT)
    running.wait_for("user interrupted")
    running.process.send_signal(signal.SIGINT)
    line = running.wait_for("again")
    assert "ignoring" in line  # so soon it is one interrupt, delivered twice
    while "sending SIGTERM to what still runs" not in line:
        running.process.send_signal(signal.SIGINT)
        line = running.wait_for("again")
    code, output = running.finish()
    assert code == 0
    assert "exit code -15" in output


def test_a_process_that_a_shutdown_overtakes_is_ended_at_once(
    start, launch_file: WriteLaunchFile
) -> None:
    late = process("import time; time.sleep(60)", name="late", sigterm_timeout="30")
    entities = (
        f"{process('pass', name='p')[:-1]}, on_exit=[Shutdown(reason='over'), {late}]),"
        f"RegisterEventHandler(OnShutdown(on_shutdown=lambda e, c: LogInfo(msg=e.reason)))"
    )
    code, output = start("launch", launch_file(entities)).finish()
    assert code == 0
    assert "process[p-1] was required: shutting down launched system" in output
    assert "[launch.user]: over" in output
    assert "sending signal 'SIGINT' to process[late-2]" in output
    assert "[late-2]: process has died" in output


def test_respawn_until_the_retries_are_used_up(start, launch_file: WriteLaunchFile) -> None:
    path = launch_file(
        process(
            "print('again'); raise SystemExit(2)",
            name="p",
            respawn=True,
            respawn_delay=0.01,
            respawn_max_retries=2,
        )
    )
    code, output = start("launch", path).finish()
    assert code == 0
    assert output.count("[p-1] again") == 3


def test_an_interrupt_ends_the_wait_before_a_respawn(start, launch_file: WriteLaunchFile) -> None:
    path = launch_file(process("print('once')", name="p", respawn=True, respawn_delay=600.0))
    running = start("launch", path)
    running.wait_for("process has finished cleanly")
    running.process.send_signal(signal.SIGINT)
    code, output = running.finish()
    assert code == 0
    assert output.count("[p-1] once") == 1


def test_a_closed_screen_does_not_end_the_processes(
    environment: dict[str, str], launch_file: WriteLaunchFile, tmp_path: Path
) -> None:
    marker = tmp_path / "went_on"
    code = "import time\\nfor i in range(20): print(i, flush=True); time.sleep(0.01)\\n"
    code += f"open('{marker}', 'w').close()"
    launched = subprocess.Popen(
        [sys.executable, "-m", "ros2_lite", "launch", launch_file(process(code, name="p"))],
        env=environment,
        stdout=subprocess.PIPE,
    )
    assert launched.stdout is not None
    launched.stdout.readline()
    launched.stdout.close()
    assert launched.wait(30) == 0
    assert marker.exists()


def test_a_package_and_a_file(start, prefix: Path) -> None:
    code, output = start("launch", "rl_demo", "demo.launch.py").finish()
    assert code == 0
    assert "[talker-1] talker got --ros-args -r __node:=t" in output


@pytest.mark.parametrize(
    ("package", "name", "words"),
    [
        ("no_package", "demo.launch.py", "Package 'no_package' not found"),
        ("rl_demo", "other.launch.py", r"nowhere; launch files there: \['demo.launch.py'\]"),
        ("rl_demo", "twice.launch.py", "more than once"),
    ],
)
def test_launch_files_that_are_not_found(prefix: Path, package: str, name: str, words: str) -> None:
    for folder in ("launch", "config"):
        (prefix / "share" / "rl_demo" / folder / "twice.launch.py").touch()
    (prefix / "share" / "rl_demo" / "launch" / "twice.launch.py").touch()
    if name == "other.launch.py":
        for folder in ("launch", "config"):
            (prefix / "share" / "rl_demo" / folder / "twice.launch.py").unlink()
    with pytest.raises(RuntimeError, match=words):
        find_launch_file(package, name)


def test_of_equal_arguments_the_last_one_counts() -> None:
    assert parse_launch_arguments(["a:=1", "b:=x:=y", "a:=2"]) == [("a", "2"), ("b", "x:=y")]


@pytest.mark.parametrize("word", ["a", ":=1", "a:=", "a=1"])
def test_malformed_arguments(word: str) -> None:
    with pytest.raises(RuntimeError, match=f"malformed launch argument '{word}'"):
        parse_launch_arguments([word])


def test_show_args(start, launch_file: WriteLaunchFile) -> None:
    path = launch_file(
        "DeclareLaunchArgument('robot', default_value=['o', 'mx'], description='arm'),"
        "DeclareLaunchArgument('sim', default_value='1', choices=['0', '1']),"
        "GroupAction([DeclareLaunchArgument('port')], condition=__import__('launch').conditions"
        ".IfCondition('true'))"
    )
    code, output = start("launch", path, "--show-args").finish()
    assert code == 0
    assert output == (
        "Arguments (pass arguments as '<name>:=<value>'):\n\n"
        "    'robot':\n        arm\n        (default: 'o' + 'mx')\n\n"
        "    'sim':\n        One of: ['0', '1']\n        (default: '1')\n\n"
        "    'port':*\n        no description given\n\n"
        "* argument(s) which are only used if specific conditions occur"
    )


def test_run_becomes_the_executable(start, prefix: Path) -> None:
    running = start("run", "rl_demo", "talker", "--x", "y z", TALKER_EXIT="7")
    assert running.finish() == (7, "talker got --x y z")
    code, output = start("run", "--prefix", "echo words", "rl_demo", "talker").finish()
    assert (code, output) == (0, f"words {prefix}/lib/rl_demo/talker")
    code, output = start("run", "rl_demo", "nobody").finish()
    assert code == 1
    assert "'nobody' not found" in output
    assert os.access(prefix / "lib" / "rl_demo" / "talker", os.X_OK)
