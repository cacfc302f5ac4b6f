# SPDX-License-Identifier: Apache-2.0
"""Message definition texts, as rosbag2 embeds them: a type followed by all that it depends on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from na_core.nad.errors import SchemaError

SEPARATOR = "=" * 80
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_BUILTIN = frozenset(
    ["bool", "byte", "char", "string", "wstring", "float32", "float64", *_INTEGERS]
)


@dataclass(frozen=True)
class Definition:
    """Full text of one message type (with dependencies) and its RIHS01 type description hash."""

    type: str
    text: str
    hash: str


def normalise(type_name: str) -> str:
    """Return `pkg/msg/Name` for `pkg/Name` or `pkg/msg/Name`."""
    parts = type_name.split("/")
    if len(parts) == 2:
        return f"{parts[0]}/msg/{parts[1]}"
    if len(parts) == 3:
        return type_name
    raise ValueError(f"message type {type_name!r}: expected 'package/msg/Name'")


def dependencies(type_name: str, text: str) -> list[str]:
    """Return the message types that `text`, the definition of `type_name` alone, refers to."""
    package = type_name.split("/")[0]
    found: list[str] = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        base = words[0].split("[", 1)[0].split("<", 1)[0]
        if base in _BUILTIN:
            continue
        if base == "Header":
            base = "std_msgs/Header"
        name = normalise(base if "/" in base else f"{package}/{base}")
        if name not in found:
            found.append(name)
    return found


class MessageSource:
    """Looks up `.msg` files in package directories, then among rosbags' built-in ROS 2 types.

    `roots` are directories that hold packages (`<root>/<package>/msg/<Name>.msg`): an ament
    `share` directory and a source folder have the same shape.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        """Keep the roots, first match wins."""
        self.roots = tuple(roots)
        self._definitions: dict[str, Definition] = {}

    def text(self, type_name: str) -> str:
        """Return the definition of `type_name` alone; SchemaError when nobody knows it."""
        package, _, name = normalise(type_name).split("/")
        for root in self.roots:
            path = root / package / "msg" / f"{name}.msg"
            if path.is_file():
                return path.read_text(encoding="utf-8")
        store = _builtin_store()
        if normalise(type_name) in store.fielddefs:
            full, _ = store.generate_msgdef(normalise(type_name), ros_version=2)
            return full.split(SEPARATOR, 1)[0]
        where = ", ".join(str(root) for root in self.roots) or "no directory"
        raise SchemaError(
            f"{package}/msg/{name}.msg",
            f"definition of {type_name} not found (looked in {where}); build the workspace with "
            "./na setup, or set AMENT_PREFIX_PATH",
        )

    def definition(self, type_name: str) -> Definition:
        """Return text with all dependencies, and the type hash, of `type_name` (cached)."""
        name = normalise(type_name)
        known = self._definitions.get(name)
        if known is None:
            text = self._closure(name)
            known = Definition(name, text, type_hash(name, text))
            self._definitions[name] = known
        return known

    def _closure(self, name: str) -> str:
        parts = [self.text(name)]
        queue = dependencies(name, parts[0])
        seen = {name}
        while queue:
            dependency = queue.pop(0)
            if dependency in seen:
                continue
            seen.add(dependency)
            text = self.text(dependency)
            package, _, short = dependency.split("/")
            parts.append(f"{SEPARATOR}\nMSG: {package}/{short}\n{text}")
            queue.extend(dependencies(dependency, text))
        return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def store_from_texts(definitions: Iterable[tuple[str, str]]) -> Typestore:
    """Return a typestore that knows only the given (type, full text) pairs.

    Raises SchemaError when a text cannot be parsed or two texts disagree about a type.
    """
    store = get_typestore(Stores.EMPTY)
    for name, text in definitions:
        try:
            store.register(get_types_from_msg(text, normalise(name)))
        except Exception as error:  # rosbags raises several unrelated classes on bad text
            raise SchemaError(name, f"message definition cannot be used: {error}") from error
    return store


def type_hash(type_name: str, text: str) -> str:
    """Return the RIHS01 hash of `type_name` as defined by `text` (with dependencies)."""
    return store_from_texts([(type_name, text)]).hash_rihs01(normalise(type_name))


def default_roots() -> list[Path]:
    """Return the ament share directories in force, then the package sources beside this file."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    roots = [Path(prefix) / "share" for prefix in prefixes if prefix]
    for parent in Path(__file__).resolve().parents:
        if (parent / "na_msgs" / "msg").is_dir():
            roots.append(parent)
            break
        if (parent / "src" / "na_msgs" / "msg").is_dir():
            roots.append(parent / "src")
            break
    return roots


@cache
def default_source() -> MessageSource:
    """Return the source used when none is given (looked up once per process)."""
    return MessageSource(default_roots())


@cache
def _builtin_store() -> Typestore:
    return get_typestore(Stores.ROS2_JAZZY)
