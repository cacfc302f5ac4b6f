# SPDX-License-Identifier: Apache-2.0
"""Refuses, by its full name, whatever the real packages offer and this subset does not."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

ADVICE = (
    "install ROS 2 Jazzy, which has it (https://docs.ros.org/en/jazzy/Installation.html), "
    "or use what docs/ros2_lite.md lists"
)
PACKAGES = ("launch", "launch_ros", "launch_pytest")


class FeatureRefusedError(NotImplementedError):
    """A keyword, value or command-line option of the real tools that this subset lacks."""

    def __init__(self, feature: str) -> None:
        super().__init__(f"ros2_lite does not implement {feature}; {ADVICE}")
        self.feature = feature


class NameRefusedError(ModuleNotFoundError):
    """A class, function or module of the real packages that this subset lacks."""

    def __init__(self, name: str) -> None:
        super().__init__(f"ros2_lite does not implement {name}; {ADVICE}", name=name)


def public_name(cls: type) -> str:
    """Return the name under which users import `cls`, e.g. `launch.actions.LogInfo`."""
    return ".".join([*cls.__module__.split(".")[:2], cls.__name__])


def refuse_keywords(owner: type, left_over: Mapping[str, object]) -> None:
    """Raise FeatureRefusedError naming every keyword argument that `owner` did not take."""
    if left_over:
        keywords = ", ".join(f"{key}=..." for key in left_over)
        raise FeatureRefusedError(f"{public_name(owner)}({keywords})")


def refusing_getattr(module: str) -> Callable[[str], ModuleType]:
    """Return a module `__getattr__` that refuses public names and denies private ones."""

    def getattr_(name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:  # `from package import submodule` asks here first
            return importlib.import_module(f"{module}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{module}.{name}":
                raise
        raise NameRefusedError(f"{module}.{name}")

    return getattr_


class _RefusingFinder(importlib.abc.MetaPathFinder):
    """Last finder of all: reached only by modules of our packages that do not exist."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        if package in PACKAGES and rest and not rest.startswith("_"):
            raise NameRefusedError(fullname)
        return None


def install_finder() -> None:
    """Make imports of modules that the real packages have and ours lack end in a clear error."""
    if not any(isinstance(finder, _RefusingFinder) for finder in sys.meta_path):
        sys.meta_path.append(_RefusingFinder())
