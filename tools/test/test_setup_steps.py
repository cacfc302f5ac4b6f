# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from na_cli import setup_steps, setup_workspace
from na_cli.environment import Workspace
from na_cli.setup_steps import SetupError, Step


@pytest.fixture
def clone(tmp_path: Path) -> Workspace:
    """A tiny clone: pins and one package, no ROS 2 from apt."""
    (tmp_path / "requirements").mkdir()
    for name in ("runtime", "dev", "ros-wheels", "numpy-wheels", "numpy-apt"):
        (tmp_path / "requirements" / f"{name}.txt").write_text(f"{name}==1\n")
    package = tmp_path / "src" / "thing"
    package.mkdir(parents=True)
    (package / "package.xml").write_text("<package/>")
    (package / "module.py").write_text("x = 1\n")
    (tmp_path / "launch").mkdir()
    (tmp_path / "colcon.meta").write_text("{}")
    return Workspace(tmp_path, apt_ros=tmp_path / "no_ros")


def mark_all(workspace: Workspace) -> None:
    for step in setup_steps.steps(workspace):
        step.mark(workspace)


def due(workspace: Workspace) -> list[str]:
    return [step.name for step in setup_steps.steps(workspace) if not step.done(workspace)]


def test_everything_is_due_in_a_fresh_clone(clone: Workspace) -> None:
    assert due(clone) == ["venv", "packages", "wheels", "build", "physics"]


def test_nothing_is_due_after_all_steps(clone: Workspace) -> None:
    mark_all(clone)
    assert due(clone) == []


def test_a_moved_clone_starts_anew(clone: Workspace) -> None:
    mark_all(clone)
    moved = clone.root.with_name(clone.root.name + "_moved")
    clone.root.rename(moved)
    assert due(Workspace(moved, apt_ros=clone.apt_ros)) == [
        "venv",
        "packages",
        "wheels",
        "build",
        "physics",
    ]


def test_other_pins_reinstall_and_rebuild_but_keep_the_venv(clone: Workspace) -> None:
    mark_all(clone)
    (clone.root / "requirements" / "runtime.txt").write_text("runtime==2\n")
    assert due(clone) == ["packages", "wheels", "build", "physics"]


def test_editing_a_module_needs_no_rebuild(clone: Workspace) -> None:
    mark_all(clone)
    (clone.root / "src" / "thing" / "module.py").write_text("x = 2\n")
    assert due(clone) == []


@pytest.mark.parametrize(
    "name", ["src/thing/msg/New.msg", "src/thing/setup.py", "launch/new.launch.py"]
)
def test_a_new_message_build_file_or_launch_file_rebuilds(clone: Workspace, name: str) -> None:
    mark_all(clone)
    path = clone.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    assert due(clone) == ["build", "physics"]


def test_apt_ros_is_used_when_present_and_no_wheels_are_installed(clone: Workspace) -> None:
    clone.apt_ros.mkdir()
    (clone.apt_ros / "setup.sh").write_text("")
    assert due(clone) == ["venv", "packages", "rosdep", "build", "physics"]
    names = [path.stem for path in setup_steps.requirement_files(clone)]
    assert "ros-wheels" not in names
    assert "numpy-apt" in names


def test_an_interrupted_run_goes_on_where_it_stopped(
    clone: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    interrupt = True

    def second(workspace: Workspace) -> None:
        if interrupt:
            raise KeyboardInterrupt
        ran.append("second")

    steps = [
        Step("first", "first", lambda workspace: ran.append("first"), lambda workspace: "a"),
        Step("second", "second", second, lambda workspace: "b"),
    ]
    with pytest.raises(KeyboardInterrupt):
        setup_workspace.run_steps(clone, steps)
    interrupt = False
    setup_workspace.run_steps(clone, steps)
    setup_workspace.run_steps(clone, steps)
    assert ran == ["first", "second"]
    assert "nothing to do" in capsys.readouterr().out


def test_a_missing_compiler_is_named_with_its_remedy(
    clone: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(clone.root))
    with pytest.raises(SetupError, match=r"no C/C\+\+ compiler found \(cc .*build-essential"):
        setup_steps.build(clone)


def test_the_wheels_cmake_files_are_pointed_to_this_environment() -> None:
    text = (
        'set(a "/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include;/usr/x")'
    )
    assert (
        setup_steps.replace_path_ending(text, setup_steps.BUILDERS_NUMPY, "/here/include")
        == 'set(a "/here/include;/usr/x")'
    )


def test_a_failing_command_shows_its_last_lines(clone: Workspace) -> None:
    with pytest.raises(SetupError, match=r"trying failed with exit code 3: sh .*\nthe reason"):
        setup_steps.run(
            ["sh", "-c", "echo the reason >&2; exit 3"], clone, "trying", {"PATH": "/bin:/usr/bin"}
        )


@pytest.fixture
def rosdep(clone: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for rosdep that misses one package."""
    program = clone.root / "bin" / "rosdep"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho apt ros-jazzy-rclpy; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_missing_apt_packages_are_named_with_the_command(clone: Workspace, rosdep: Path) -> None:
    with pytest.raises(SetupError, match=r"(?s)apt ros-jazzy-rclpy\nInstall them: rosdep install "):
        setup_steps.check_rosdep(clone)
    rosdep.write_text("#!/bin/sh\nexit 0\n")
    setup_steps.check_rosdep(clone)
    rosdep.unlink()
    with pytest.raises(SetupError, match="rosdep is not installed"):
        setup_steps.check_rosdep(clone)
