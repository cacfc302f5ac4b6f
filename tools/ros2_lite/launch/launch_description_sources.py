# SPDX-License-Identifier: Apache-2.0
"""Where launch descriptions come from: Python launch files."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import TYPE_CHECKING

from ros2_lite.refusal import FeatureRefusedError, refusing_getattr

from .launch_description import LaunchDescription
from .substitution import SomeSubstitutionsType, describe_all, perform_any

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class InvalidPythonLaunchFileError(Exception):
    """A launch file lacks `generate_launch_description()`."""


def get_launch_description_from_python_launch_file(path: str) -> LaunchDescription:
    """Execute the launch file and return the description it generates."""
    loader = SourceFileLoader("python_launch_file", path)
    spec = spec_from_loader(loader.name, loader)
    if spec is None:
        raise InvalidPythonLaunchFileError(f"launch file '{path}' cannot be loaded as a module")
    module = module_from_spec(spec)
    loader.exec_module(module)
    generate = getattr(module, "generate_launch_description", None)
    if generate is None:
        raise InvalidPythonLaunchFileError(
            f"launch file at '{path}' does not contain the required function "
            "'generate_launch_description()'"
        )
    description = generate()
    if not isinstance(description, LaunchDescription):
        raise InvalidPythonLaunchFileError(
            f"generate_launch_description() of '{path}' returned {description!r}, "
            "expected a launch.LaunchDescription"
        )
    return description


class LaunchDescriptionSource:
    """A launch file, loaded when it is first needed."""

    def __init__(self, location: SomeSubstitutionsType) -> None:
        self._location = location
        self._expanded: str | None = None
        self._description: LaunchDescription | None = None

    @property
    def location(self) -> str:
        """The path, described while it is not yet known."""
        return describe_all(self._location) if self._expanded is None else self._expanded

    def get_launch_description(self, context: LaunchContext) -> LaunchDescription:
        """Load the file, the first time."""
        if self._expanded is None:
            self._expanded = perform_any(context, self._location)
        if self._description is None:
            self._description = self._load(self._expanded)
        return self._description

    def try_get_launch_description_without_context(self) -> LaunchDescription | None:
        """Load the file for looking at it; None where its path depends on the launch."""
        from .launch_context import LaunchContext

        if self._description is None:
            try:
                return self._load(perform_any(LaunchContext(), self._location))
            except Exception:
                return None
        return self._description

    def _load(self, path: str) -> LaunchDescription:
        if path.endswith((".xml", ".yaml", ".yml")):
            raise FeatureRefusedError(f"launch files in XML or YAML ({path})")
        return get_launch_description_from_python_launch_file(path)


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """A `.launch.py` file at a path that may contain substitutions."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(launch_file_path)


class AnyLaunchDescriptionSource(PythonLaunchDescriptionSource):
    """The same: this subset reads Python launch files only."""


__all__ = [
    "AnyLaunchDescriptionSource",
    "InvalidPythonLaunchFileError",
    "PythonLaunchDescriptionSource",
    "get_launch_description_from_python_launch_file",
]
__getattr__ = refusing_getattr(__name__)
