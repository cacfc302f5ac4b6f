# SPDX-License-Identifier: Apache-2.0
"""launch_pytest on itself: tests in its style see a running process, then an ended one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import launch
import launch_pytest
import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import ExecuteProcess
from launch_pytest.tools import process as tools

SCRIPT = """
import signal, sys
print("hello", flush=True)
print("trouble", file=sys.stderr, flush=True)
signal.sigwait({signal.SIGINT})
print("goodbye", flush=True)
"""


@pytest.fixture
def process() -> ExecuteProcess:
    """A process that greets, waits for SIGINT and says goodbye."""
    block = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT});"
    return ExecuteProcess(
        cmd=[sys.executable, "-c", block + SCRIPT], name="greeter", cached_output=True
    )


@launch_pytest.fixture
def description(process: ExecuteProcess) -> LaunchDescription:
    """The process, and ready at once."""
    return launch.LaunchDescription([process, launch_pytest.actions.ReadyToTest()])


@pytest.mark.launch(fixture=description)
def test_a_generator_sees_the_run_and_then_the_end(
    process: ExecuteProcess, launch_context: LaunchContext
) -> Iterator[None]:
    def says_hello(text: str) -> None:
        assert text.splitlines() == ["hello"]

    tools.assert_output_sync(launch_context, process, says_hello, timeout=20)
    assert tools.wait_for_stderr_sync(launch_context, process, lambda t: "trouble" in t, 20)
    assert not tools.wait_for_output_sync(launch_context, process, lambda t: t == "never", 0.05)
    assert process.return_code is None
    yield
    assert process.return_code == 0
    assert process.get_stdout() == "hello\ngoodbye\n"


@pytest.mark.launch(fixture=description)
async def test_a_coroutine_runs_in_the_loop_of_the_service(
    process: ExecuteProcess, launch_context: LaunchContext, launch_service: LaunchService
) -> None:
    assert await tools.wait_for_start(launch_context, process, timeout=20)
    assert await tools.wait_for_output(launch_context, process, lambda t: "hello" in t, 20)
    launch_service.shutdown()
    assert await tools.wait_for_exit(launch_context, process, timeout=20)
    assert process.return_code == 0


@pytest.mark.launch(fixture=description)
async def test_an_async_generator_sees_the_end_too(
    process: ExecuteProcess, launch_context: LaunchContext
) -> AsyncIterator[None]:
    def says_hello(text: str) -> None:
        assert "hello" in text

    await tools.assert_output(launch_context, process, says_hello, 20)
    yield
    assert process.return_code == 0


@pytest.mark.launch(fixture=description, shutdown=True)
def test_shutdown_tests_run_after_the_end(process: ExecuteProcess) -> None:
    assert process.return_code is not None


PLAIN = """
import sys
import launch, launch_pytest, pytest
from launch.actions import ExecuteProcess, OpaqueFunction, Shutdown

@launch_pytest.fixture{scope}
def description():
    process = ExecuteProcess(cmd=[sys.executable, "-c", "input()"], cached_output=True)
    return launch.LaunchDescription([process, launch_pytest.actions.ReadyToTest()]), process
"""


def _run_inner(
    tmp_path: Path, environment: dict[str, str], body: str, *, scope: str = "", head: str = PLAIN
) -> tuple[int, str]:
    """Run pytest on a file of its own; return exit code and report."""
    file = tmp_path / "test_inner.py"
    file.write_text(head.format(scope=scope) + body)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "launch_pytest.plugin", "-p", "no:cacheprovider",
         "--rootdir", str(tmp_path), "-v", str(file)],
        env={**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_module_scope_runs_shutdown_tests_last(tmp_path: Path, environment: dict[str, str]) -> None:
    code, report = _run_inner(
        tmp_path,
        environment,
        """
@pytest.mark.launch(fixture=description, shutdown=True)
def test_late(description):
    assert description[1].return_code is not None

@pytest.mark.launch(fixture=description)
def test_early(description, launch_context):
    assert launch_pytest.tools.wait_for_start_sync(launch_context, description[1], 20)
    assert description[1].return_code is None
""",
        scope="(scope='module')",
    )
    assert code == 0, report
    assert report.index("test_early PASSED") < report.index("test_late PASSED")


def test_a_failing_assertion_fails_the_test_and_still_ends_the_process(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    code, report = _run_inner(
        tmp_path,
        environment,
        """
seen = []

@pytest.mark.launch(fixture=description)
def test_wrong(description, launch_context):
    launch_pytest.tools.wait_for_start_sync(launch_context, description[1], 20)
    seen.append(description[1])
    assert 1 == 2

def test_after():
    assert seen[0].return_code is not None
""",
    )
    assert code == 1
    assert "assert 1 == 2" in report
    assert "1 failed, 1 passed" in report


@pytest.mark.parametrize(
    ("body", "scope", "words"),
    [
        ("@pytest.mark.launch\ndef test_x(): pass", "", "needs fixture=FUNCTION"),
        ("@pytest.mark.launch(fixture=description)\ndef test_x(): yield",
         "(scope='module')", "tests that yield with a fixture of scope module"),
        ("@pytest.mark.launch(fixture=description, shutdown=True)\ndef test_x(): yield",
         "", "shutdown=True"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_with_a_reason(
    tmp_path: Path, environment: dict[str, str], body: str, scope: str, words: str
) -> None:
    code, report = _run_inner(tmp_path, environment, body, scope=scope)
    assert code != 0
    assert words in report


def test_a_launch_that_fails_before_ready_fails_the_test(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    code, report = _run_inner(
        tmp_path,
        environment,
        """
import launch, launch_pytest, pytest
from launch.actions import OpaqueFunction

@launch_pytest.fixture
def description():
    return launch.LaunchDescription([OpaqueFunction(function=lambda context: 1 / 0)])

@pytest.mark.launch(fixture=description)
def test_never():
    pass
""",
        head="",
    )
    assert code == 1
    assert "division by zero" in report
