# SPDX-License-Identifier: Apache-2.0
"""Substitutions that look into the ament index."""

from __future__ import annotations

import os
import shutil

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)
from launch.launch_context import LaunchContext
from launch.substitution import (
    SomeSubstitutionsType,
    Substitution,
    SubstitutionFailure,
    describe_all,
    perform_any,
)
from ros2_lite.refusal import refusing_getattr


class FindPackagePrefix(Substitution):
    """The installation prefix of a package; PackageNotFoundError where there is none."""

    def __init__(self, package: SomeSubstitutionsType) -> None:
        self.package = package

    def perform(self, context: LaunchContext) -> str:
        """Look it up."""
        return str(get_package_prefix(perform_any(context, self.package)))

    def describe(self) -> str:
        """Name the package."""
        return f"{type(self).__name__}(pkg={describe_all(self.package)})"


class FindPackageShare(FindPackagePrefix):
    """The share folder of a package; PackageNotFoundError where there is none."""

    def perform(self, context: LaunchContext) -> str:
        """Look it up."""
        return str(get_package_share_directory(perform_any(context, self.package)))


def executable_path(package: str, executable: str) -> str:
    """Return PREFIX/lib/PACKAGE/EXECUTABLE; SubstitutionFailure naming what is there instead."""
    try:
        folder = os.path.join(get_package_prefix(package), "lib", package)
    except PackageNotFoundError as error:
        raise SubstitutionFailure(
            f"package '{package}' not found; searched AMENT_PREFIX_PATH="
            f"{os.environ.get('AMENT_PREFIX_PATH', '')!r}"
        ) from error
    found = shutil.which(executable, path=folder)
    if found is None:
        there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        raise SubstitutionFailure(
            f"executable '{executable}' not found on the libexec directory '{folder}', "
            f"which holds {there}"
        )
    return found


class ExecutableInPackage(FindPackagePrefix):
    """The path of an executable of a package."""

    def __init__(self, executable: SomeSubstitutionsType, package: SomeSubstitutionsType) -> None:
        super().__init__(package)
        self.executable = executable

    def perform(self, context: LaunchContext) -> str:
        """Look it up."""
        return executable_path(
            perform_any(context, self.package), perform_any(context, self.executable)
        )


__all__ = ["ExecutableInPackage", "FindPackagePrefix", "FindPackageShare"]
__getattr__ = refusing_getattr(__name__)
