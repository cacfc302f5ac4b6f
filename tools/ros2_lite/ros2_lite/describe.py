# SPDX-License-Identifier: Apache-2.0
"""
Writes down which processes a launch file starts, under whichever `launch` is importable.

Run as a script with the interpreter of either implementation, it needs nothing but that
implementation: `python describe.py FILE.launch.py --json OUT [--exit CODE] [name:=value ...]`.
Nothing of the launch file is executed: each process is replaced by one that sleeps, or that ends at
once with CODE, and what should have been started is captured where both implementations hand it to
asyncio. With `--really` the processes are started after all, to compare what is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any


def stub_missing_interfaces() -> None:
    """Stand in for composition_interfaces, which has no wheel and which launch_ros imports."""
    try:
        importlib.import_module("composition_interfaces.srv")
    except ImportError:
        package: Any = types.ModuleType("composition_interfaces")
        srv: Any = types.ModuleType("composition_interfaces.srv")
        srv.LoadNode = type("LoadNode", (), {"Request": object, "Response": object})
        package.srv = srv
        sys.modules.update({"composition_interfaces": package, "composition_interfaces.srv": srv})


class Capture:
    """Takes the place of process creation in asyncio."""

    def __init__(self, exit_code: int | None) -> None:
        self.spawned: list[dict[str, Any]] = []
        self._before = dict(os.environ)
        self._stand_in = ["sleep", "60"] if exit_code is None else ["sh", "-c", f"exit {exit_code}"]

    def install(self) -> None:
        """Replace the two methods of event loops that start processes."""
        loop: Any = asyncio.base_events.BaseEventLoop
        start = loop.subprocess_exec

        async def subprocess_exec(
            this: Any, factory: Any, program: str, *args: str, **kwargs: Any
        ) -> Any:
            self._note([program, *args], kwargs, shell=False)
            return await start(this, factory, *self._stand_in, **kwargs)

        async def subprocess_shell(this: Any, factory: Any, cmd: str, **kwargs: Any) -> Any:
            self._note([cmd], kwargs, shell=True)
            return await start(this, factory, *self._stand_in, **kwargs)

        loop.subprocess_exec = subprocess_exec
        loop.subprocess_shell = subprocess_shell

    def _note(self, cmd: list[str], kwargs: dict[str, Any], *, shell: bool) -> None:
        env = kwargs.pop("env", None)
        env = dict(os.environ) if env is None else dict(env)
        words = list(cmd)
        files: dict[str, str] = {}
        for i, word in enumerate(cmd):
            if i and cmd[i - 1] == "--params-file":
                if os.path.basename(word).startswith("launch_params_"):
                    words[i] = f"<parameters {len(files)}>"
                files[words[i]] = Path(word).read_text(encoding="utf-8")
        self.spawned.append(
            {
                "cmd": words,
                "parameter_files": files,
                "shell": shell,
                "cwd": kwargs.pop("cwd", None),
                "env_set": {k: v for k, v in env.items() if self._before.get(k) != v},
                "env_unset": sorted(
                    set(self._before) - set(env) - {"PYTHONPATH"}
                ),  # how we got here
            }
        )


def describe_arguments(description: Any) -> list[dict[str, Any]]:
    """Return what `--show-args` would tell."""
    return [
        {
            "name": argument.name,
            "description": argument.description,
            "default": None
            if argument.default_value is None
            else " + ".join(part.describe() for part in argument.default_value),
            "conditional": argument._conditionally_included,
        }
        for argument in description.get_launch_arguments()
    ]


def describe(path: str, given: list[tuple[str, str]], options: argparse.Namespace) -> Any:
    """Run the launch file and return processes, names in order of start, and arguments."""
    from launch import LaunchDescription, LaunchService
    from launch.actions import (
        IncludeLaunchDescription,
        RegisterEventHandler,
        Shutdown,
        TimerAction,
    )
    from launch.event_handlers import OnProcessExit, OnProcessStart
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    capture = Capture(options.exit)
    if not options.really:
        capture.install()
    names: list[str] = []
    ends: list[tuple[str, int]] = []
    source = PythonLaunchDescriptionSource(path)
    include = IncludeLaunchDescription(source, launch_arguments=given)
    service = LaunchService(argv=[], noninteractive=True)
    service.include_launch_description(
        LaunchDescription(
            [
                RegisterEventHandler(
                    OnProcessStart(on_start=lambda event, context: names.append(event.process_name))
                ),
                RegisterEventHandler(
                    OnProcessExit(
                        on_exit=lambda event, context: ends.append(
                            (event.process_name, event.returncode)
                        )
                    )
                ),
                include,
                TimerAction(period=options.seconds, actions=[Shutdown(reason="described")]),
            ]
        )
    )
    code = service.run()
    return {
        "return_code": code,
        "processes": capture.spawned,
        "names": names,
        "exit_codes": sorted(ends),
        "arguments": describe_arguments(LaunchDescription([include])),
    }


def main() -> int:
    """Parse the command line, describe, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("launch_file")
    parser.add_argument("arguments", nargs="*", help="name:=value")
    parser.add_argument("--json", required=True, type=Path)
    parser.add_argument("--exit", type=int, metavar="CODE", help="processes end at once")
    parser.add_argument("--really", action="store_true", help="start the real processes")
    parser.add_argument("--seconds", type=float, default=1.0, help="time until the shutdown [s]")
    options = parser.parse_args()
    stub_missing_interfaces()
    given = [tuple(word.split(":=", 1)) for word in options.arguments]
    result = describe(options.launch_file, given, options)  # type: ignore[arg-type]
    options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.pop(0)  # this folder; the implementation comes from the interpreter or PYTHONPATH
    sys.exit(main())
