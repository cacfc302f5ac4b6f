# SPDX-License-Identifier: Apache-2.0
"""Reading a robot file: strict YAML, and checks whose errors name file, key, value, expectation."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

SCHEMA = 1

_MISSING = object()


class RobotSpecError(ValueError):
    """A robot file that cannot be used.

    Attributes:
        file: path of the file.
        key: dotted path of the offending entry, such as `joints[1].servo.id`.
        value: the entry's value, None where it is absent.
        expected: what would have been accepted.
    """

    def __init__(self, file: str | Path, key: str, value: object, expected: str) -> None:
        self.file = str(file)
        self.key = key
        self.value = value
        self.expected = expected
        super().__init__(f"{self.file}: {key} = {value!r}: expected {expected}")


class StrictLoader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice (plain YAML silently keeps the last)."""

    # An own table: other libraries (xacro among them) add tags to the shared one at run time.
    yaml_constructors = yaml.SafeLoader.yaml_constructors.copy()

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping, refusing repeated keys with file and line."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key '{key}' is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class Node:
    """One mapping of a robot file together with where it stands.

    Every getter returns a checked value or raises `RobotSpecError`. `finish` refuses keys that no
    getter asked for, so a misspelt key cannot be ignored.
    """

    def __init__(self, file: str | Path, key: str, value: object) -> None:
        if not isinstance(value, Mapping):
            raise RobotSpecError(file, key or "(top level)", value, "a mapping of named entries")
        self.file = file
        self.key = key
        self._map: Mapping[Any, Any] = value
        self._used: set[str] = set()

    def path(self, name: str) -> str:
        """Return the dotted key of entry `name`."""
        return f"{self.key}.{name}" if self.key else name

    def names(self) -> tuple[str, ...]:
        """Return the names of all entries, marking them as read."""
        for name in self._map:
            if not isinstance(name, str):
                raise RobotSpecError(self.file, self.path(str(name)), name, "a name that is text")
        self._used.update(self._map)
        return tuple(self._map)

    def fail(self, name: str, expected: str, value: object = _MISSING) -> RobotSpecError:
        """Build the error for entry `name`; the caller raises it."""
        shown = self._map.get(name) if value is _MISSING else value
        return RobotSpecError(self.file, self.path(name), shown, expected)

    def has(self, name: str) -> bool:
        """Whether the entry is present and not null."""
        return self._map.get(name) is not None

    def get(self, name: str, expected: str) -> Any:
        """Return the raw entry, which must be present."""
        self._used.add(name)
        if name not in self._map:
            raise self.fail(name, f"this entry to be present: {expected}", None)
        return self._map[name]

    def text(self, name: str, default: str | None = None) -> str:
        """Return a non-empty string."""
        if default is not None and name not in self._map:
            self._used.add(name)
            return default
        value = self.get(name, "a non-empty text")
        if not isinstance(value, str) or not value.strip():
            raise self.fail(name, "a non-empty text")
        return value

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """Return one of `allowed`."""
        expected = f"one of {', '.join(allowed)}"
        value = self.get(name, expected)
        if value not in allowed:
            raise self.fail(name, expected)
        return str(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return a truth value."""
        self._used.add(name)
        value = self._map.get(name, default)
        if not isinstance(value, bool):
            raise self.fail(name, "true or false")
        return value

    def integer(
        self, name: str, low: int, high: int, meaning: str = "", default: int | None = None
    ) -> int:
        """Return an integer in `low`..`high`, both included."""
        expected = f"an integer in {low}..{high}" + (f" ({meaning})" if meaning else "")
        if default is not None and name not in self._map:
            self._used.add(name)
            return default
        value = self.get(name, expected)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.fail(name, expected)
        return value

    def number(
        self,
        name: str,
        unit: str,
        above: float | None = None,
        at_least: float | None = None,
    ) -> float:
        """Return a finite number in `unit`, greater than `above`, not less than `at_least`."""
        bound = ""
        if above is not None:
            bound = f" greater than {above:g}"
        if at_least is not None:
            bound = f" of at least {at_least:g}"
        expected = f"a finite number{bound} [{unit}]"
        value = self.get(name, expected)
        result = as_number(self.file, self.path(name), value, expected)
        too_low = above is not None and result <= above
        if too_low or (at_least is not None and result < at_least):
            raise self.fail(name, expected)
        return result

    def child(self, name: str, expected: str) -> Node:
        """Return a nested mapping."""
        return Node(self.file, self.path(name), self.get(name, expected))

    def sequence(self, name: str, expected: str) -> list[Any]:
        """Return a nested list."""
        value = self.get(name, expected)
        if not isinstance(value, list):
            raise self.fail(name, expected)
        return value

    def free(self, name: str) -> Mapping[str, Any]:
        """Return an optional mapping whose content belongs to another package."""
        self._used.add(name)
        value = self._map.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.fail(name, "a mapping of named entries")
        return value

    def finish(self) -> None:
        """Refuse entries that nobody read."""
        for name in self._map:
            if name not in self._used:
                expected = f"no such entry; known: {', '.join(sorted(self._used))}"
                raise RobotSpecError(self.file, self.path(str(name)), self._map[name], expected)


def as_number(file: str | Path, key: str, value: object, expected: str) -> float:
    """Return `value` as a finite float or raise, with a hint where YAML read a number as text."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            pass
        else:
            expected += "; YAML takes this spelling for text, write a decimal point as in 1.0e-5"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RobotSpecError(file, key, value, expected)
    return float(value)


def read_yaml(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the content of a YAML file and its bytes.

    Raises:
        RobotSpecError: the file is absent, not UTF-8, not YAML, or repeats a key.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RobotSpecError(path, "(file)", error.strerror, "a readable robot file") from None
    try:
        content = yaml.load(data, Loader=StrictLoader)
    except yaml.YAMLError as error:
        detail = " ".join(str(error).split()).replace("'", "`")  # shown inside quotes
        raise RobotSpecError(path, "(syntax)", detail, "well-formed YAML") from None
    if not isinstance(content, dict):
        raise RobotSpecError(path, "(top level)", content, "a mapping of named entries")
    return content, data
