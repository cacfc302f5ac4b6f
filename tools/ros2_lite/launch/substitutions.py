# SPDX-License-Identifier: Apache-2.0
"""The substitutions of this subset."""

from __future__ import annotations

import importlib
import math
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ros2_lite.refusal import FeatureRefusedError, refusing_getattr

from .conditions import truth_of
from .substitution import (
    SomeSubstitutionsType,
    Substitution,
    SubstitutionFailure,
    TextSubstitution,
    describe_all,
    perform_any,
)

if TYPE_CHECKING:
    from .launch_context import LaunchContext

__all__ = [
    "AndSubstitution", "Command", "EnvironmentVariable", "EqualsSubstitution", "FindExecutable",
    "LaunchConfiguration", "NotEqualsSubstitution", "NotSubstitution", "OrSubstitution",
    "PathJoinSubstitution", "PythonExpression", "SubstitutionFailure", "TextSubstitution",
    "ThisLaunchFileDir",
]  # fmt: skip


class LaunchConfiguration(Substitution):
    """The value of a launch argument or of SetLaunchConfiguration."""

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: Any = None) -> None:
        self.variable_name = variable_name
        if default is not None and not isinstance(default, str | Substitution):
            items = default if isinstance(default, Iterable) else [default]
            default = [x if isinstance(x, str | Substitution) else str(x) for x in items]
        self._default: SomeSubstitutionsType | None = default

    def perform(self, context: LaunchContext) -> str:
        """Return the value; SubstitutionFailure where there is neither value nor default."""
        name = perform_any(context, self.variable_name)
        if name in context.launch_configurations:
            return str(context.launch_configurations[name])
        if self._default is None:
            raise SubstitutionFailure(
                f"launch configuration '{name}' does not exist; declare it with "
                f"DeclareLaunchArgument('{name}') before it is used"
            )
        return perform_any(context, self._default)

    def describe(self) -> str:
        """Name the configuration."""
        return f"LaunchConfig({describe_all(self.variable_name)})"


class EnvironmentVariable(Substitution):
    """The value of an environment variable."""

    def __init__(
        self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None
    ) -> None:
        self.name = name
        self.default_value = default_value

    def perform(self, context: LaunchContext) -> str:
        """Return the value; SubstitutionFailure where there is neither value nor default."""
        name = perform_any(context, self.name)
        if name in context.environment:
            return context.environment[name]
        if self.default_value is None:
            raise SubstitutionFailure(
                f"environment variable '{name}' does not exist; export it or give a default_value"
            )
        return perform_any(context, self.default_value)

    def describe(self) -> str:
        """Name the variable."""
        return f"EnvVar({describe_all(self.name)})"


class PathJoinSubstitution(Substitution):
    """Path parts joined as `os.path.join` does."""

    def __init__(self, substitutions: Iterable[str | Substitution]) -> None:
        self.substitutions = list(substitutions)
        for part in self.substitutions:
            if not isinstance(part, str | Substitution):
                raise TypeError(f"PathJoinSubstitution takes str and Substitution, got {part!r}")

    def perform(self, context: LaunchContext) -> str:
        """Return the path."""
        return os.path.join(*[perform_any(context, part) for part in self.substitutions])

    def describe(self) -> str:
        """List the parts."""
        return f"PathJoin('{describe_all(self.substitutions)}')"


class PythonExpression(Substitution):
    """The text of an evaluated Python expression; the names of `math` need no prefix."""

    def __init__(
        self, expression: SomeSubstitutionsType, python_modules: Iterable[str] = ("math",)
    ) -> None:
        self.expression = expression
        self.python_modules = list(python_modules)

    def perform(self, context: LaunchContext) -> str:
        """Return `str()` of the result."""
        names: dict[str, Any] = {}
        for module in self.python_modules:
            name = perform_any(context, module)
            names[name] = importlib.import_module(name)
            if name == "math":
                names.update(vars(math))
        return str(eval(perform_any(context, self.expression), {}, names))

    def describe(self) -> str:
        """Show the expression."""
        modules = ", ".join(f"'{module}'" for module in self.python_modules)
        return f"PythonExpr({describe_all(self.expression)}, [{modules}])"


class Command(Substitution):
    """What a command writes to its standard output."""

    def __init__(
        self, command: SomeSubstitutionsType, *, on_stderr: SomeSubstitutionsType = "fail"
    ) -> None:
        self.command = command
        self.on_stderr = on_stderr

    def perform(self, context: LaunchContext) -> str:
        """Run it; SubstitutionFailure where it fails, or complains and `on_stderr` is 'fail'."""
        on_stderr = perform_any(context, self.on_stderr)
        if on_stderr not in ("fail", "ignore"):
            raise FeatureRefusedError(f"launch.substitutions.Command(on_stderr={on_stderr!r})")
        text = perform_any(context, self.command)
        try:
            done = subprocess.run(shlex.split(text), capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise SubstitutionFailure(f"file not found: {error}") from error
        if done.returncode or (done.stderr and on_stderr == "fail"):
            raise SubstitutionFailure(
                f"command '{text}' ended with code {done.returncode} and wrote to its standard "
                f"error:\n{done.stderr}"
            )
        return done.stdout

    def describe(self) -> str:
        """Show the command."""
        return f"Command({describe_all(self.command)})"


class FindExecutable(Substitution):
    """The full path of a program on PATH."""

    def __init__(self, *, name: SomeSubstitutionsType) -> None:
        self.name = name

    def perform(self, context: LaunchContext) -> str:
        """Return the path; SubstitutionFailure where PATH has no such program."""
        name = perform_any(context, self.name)
        found = shutil.which(name)
        if found is None:
            raise SubstitutionFailure(f"executable '{name}' not found on the PATH")
        return found

    def describe(self) -> str:
        """Name the program."""
        return f"FindExec({describe_all(self.name)})"


class ThisLaunchFileDir(Substitution):
    """The folder of the launch file that was included last."""

    def perform(self, context: LaunchContext) -> str:
        """Return the folder; SubstitutionFailure outside of any launch file."""
        folder = context.get_locals_as_dict().get("current_launch_file_directory")
        if folder is None:
            raise SubstitutionFailure("ThisLaunchFileDir used outside of a launch file")
        return str(folder)


def _text_of(value: Any) -> SomeSubstitutionsType:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    is_list = isinstance(value, list | tuple)
    return value if isinstance(value, str | Substitution) or is_list else str(value)


def _equal(left: str, right: str) -> bool:
    words = ("true", "false", "1", "0")
    if left.lower() in words and right.lower() in words:
        return truth_of(left) == truth_of(right)
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


class _Logic(Substitution):
    """The text 'true' or 'false' that a rule makes of one or two arguments."""

    def __init__(self, rule: Callable[..., bool], *arguments: Any) -> None:
        self._rule = rule
        self._arguments = [_text_of(argument) for argument in arguments]

    def perform(self, context: LaunchContext) -> str:
        """Return 'true' or 'false'."""
        values = [perform_any(context, argument) for argument in self._arguments]
        return str(self._rule(*values)).lower()


class EqualsSubstitution(_Logic):
    """Whether two values are equal as booleans, as numbers, or else as text."""

    def __init__(self, left: Any, right: Any) -> None:
        super().__init__(_equal, left, right)


class NotEqualsSubstitution(_Logic):
    """The opposite of EqualsSubstitution."""

    def __init__(self, left: Any, right: Any) -> None:
        super().__init__(lambda a, b: not _equal(a, b), left, right)


class NotSubstitution(_Logic):
    """The opposite of one boolean."""

    def __init__(self, value: SomeSubstitutionsType) -> None:
        super().__init__(lambda a: not truth_of(a), value)


class AndSubstitution(_Logic):
    """Whether both booleans are true."""

    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(lambda a, b: truth_of(a) and truth_of(b), left, right)


class OrSubstitution(_Logic):
    """Whether at least one of two booleans is true."""

    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(lambda a, b: truth_of(a) or truth_of(b), left, right)


__getattr__ = refusing_getattr(__name__)
