# SPDX-License-Identifier: Apache-2.0
"""Messages as text and text as messages."""

from __future__ import annotations

import array
import importlib
from collections.abc import Mapping
from typing import Any

import yaml

TRUNCATE = 128


def interface_class(name: str, kind: str) -> Any:
    """Return the class of `pkg/msg/Type` or `pkg/Type`; `kind` is 'msg' or 'srv'."""
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    if len(parts) != 3 or parts[1] != kind:
        raise ValueError(f"'{name}' is no interface name, expected e.g. 'std_msgs/{kind}/Name'")
    try:
        return getattr(importlib.import_module(f"{parts[0]}.{kind}"), parts[2])
    except (ImportError, AttributeError) as error:
        raise RuntimeError(
            f"The passed type '{name}' is invalid: {error}; is its package built and sourced?"
        ) from error


def plain(value: Any, limit: int | None = TRUNCATE) -> Any:
    """Return a message as dicts, lists and scalars; long arrays and strings end in '...'."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name), limit) for name in value._fields_and_field_types}
    if isinstance(value, str):
        return value if limit is None or len(value) <= limit else value[:limit] + "..."
    if isinstance(value, bytes):
        value = list(value)
    if hasattr(value, "tolist") and not isinstance(value, list):  # numpy
        value = value.tolist()
    if isinstance(value, list | tuple | array.array):
        cut = limit is not None and len(value) > limit
        items = [plain(item, limit) for item in (value[:limit] if cut else value)]
        return [*items, "..."] if cut else items
    return value


def to_yaml(value: Any, limit: int | None = TRUNCATE) -> str:
    """Return a message, or one of its fields, as YAML text ending in a line break."""
    text = plain(value, limit)
    if not isinstance(text, dict | list):
        return f"{text}\n"
    return yaml.safe_dump(text, sort_keys=False, allow_unicode=True, width=10**6)


def select(message: Any, path: str) -> Any:
    """Return the field at `path`, e.g. `header.stamp.sec`; RuntimeError naming what there is."""
    for name in filter(None, path.split(".")):
        if not hasattr(message, name):
            there = ", ".join(getattr(message, "_fields_and_field_types", {}))
            raise RuntimeError(f"Invalid field '{path}': no '{name}', there is: {there}")
        message = getattr(message, name)
    return message


def fill(message: Any, values: Mapping[str, Any]) -> None:
    """Set fields from nested mappings; ValueError naming an unknown field or a bad value."""
    if not isinstance(values, Mapping):
        raise ValueError(f"expected a mapping such as '{{data: 1}}', got {values!r}")
    types = message.get_fields_and_field_types()
    if hasattr(message, "_check_fields"):
        message._check_fields = True  # off by default since Jazzy
    for name, value in values.items():
        if name not in types:
            raise ValueError(
                f"Failed to populate field: {type(message).__name__} has no '{name}', "
                f"it has: {', '.join(types)}"
            )
        current = getattr(message, name)
        if hasattr(current, "get_fields_and_field_types"):
            fill(current, value)
            continue
        item = types[name].removeprefix("sequence<").split(">")[0].split("[")[0].split(",")[0]
        if "/" in item:
            value = [_filled(interface_class(item, "msg")(), element) for element in value]
        elif isinstance(current, float):
            value = float(value)
        elif isinstance(current, bytes) and isinstance(value, int):
            value = bytes([value])
        elif item in ("float", "double"):
            value = [float(element) for element in value]
        try:
            setattr(message, name, value)
        except (AssertionError, TypeError) as error:
            raise ValueError(
                f"Failed to populate field: '{name}' takes {types[name]}, got {value!r} ({error})"
            ) from error


def _filled(message: Any, values: Mapping[str, Any]) -> Any:
    fill(message, values)
    return message
