# SPDX-License-Identifier: Apache-2.0
"""Typestores that serialise our messages to CDR without rclpy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from rosbags.typesys.store import Typestore

from na_core.nad.errors import SchemaError
from na_core.nad.layout import TOPICS, EpisodeInfo
from na_core.nad.schemas import MessageSource, default_source, normalise, store_from_texts

NAD_TYPES: tuple[str, ...] = tuple(sorted({spec.type for spec in TOPICS}))


def make_typestore(source: MessageSource | None = None) -> Typestore:
    """Return a typestore with every type of the NAD layout, as `source` defines them."""
    source = source or default_source()
    return store_from_texts((name, source.definition(name).text) for name in NAD_TYPES)


@cache
def nad_typestore() -> Typestore:
    """Return the typestore of today's definitions (made once per process)."""
    return make_typestore()


def make_message(store: Typestore, type_name: str, values: Mapping[str, Any]) -> Any:
    """Build a message of `type_name`, nested mappings allowed; absent fields get their zero.

    Raises SchemaError for a key that the type does not have.
    """
    name = normalise(type_name)
    fields = store.fielddefs[name][1]
    unknown = set(values) - {field for field, _ in fields}
    if unknown:
        raise SchemaError(name, f"has no field {sorted(unknown)[0]!r}")
    return store.types[name](
        **{field: _value(store, desc, values.get(field)) for field, desc in fields}
    )


def encode(store: Typestore, type_name: str, values: Mapping[str, Any]) -> bytes:
    """Return the little-endian CDR of a message built by `make_message`."""
    name = normalise(type_name)
    return bytes(store.serialize_cdr(make_message(store, name, values), name, little_endian=True))


def encode_episode_info(store: Typestore, info: EpisodeInfo, stamp_ns: int) -> bytes:
    """Return the CDR of na_msgs/msg/EpisodeInfo stamped `stamp_ns` [ns since the epoch]."""
    values = {**info.to_dict(), "header": {"stamp": stamp(stamp_ns)}}
    return encode(store, "na_msgs/msg/EpisodeInfo", values)


def stamp(time_ns: int) -> dict[str, int]:
    """Split a time [ns] into builtin_interfaces/Time fields."""
    sec, nanosec = divmod(int(time_ns), 1_000_000_000)
    return {"sec": sec, "nanosec": nanosec}


_ZERO: dict[str, Any] = {"bool": False, "string": "", "wstring": "", "octet": 0}


def _value(store: Typestore, desc: Any, value: Any) -> Any:
    kind, detail = int(desc[0]), desc[1]
    if kind == 1:  # base type: (name, bound)
        base = detail[0]
        if value is None:
            return _ZERO.get(base, 0.0 if base.startswith("float") else 0)
        return value
    if kind == 2:  # message
        if value is not None and not isinstance(value, Mapping):
            return value
        return make_message(store, detail, value or {})
    element, length = detail  # 3: fixed array, 4: sequence (length is its bound)
    if value is None:
        value = [None] * length if kind == 3 else []
    base = element[1][0] if int(element[0]) == 1 else None
    if base is None or base in ("string", "wstring"):
        return [_value(store, element, item) for item in value]
    dtype = {"octet": "uint8", "byte": "uint8", "char": "uint8"}.get(base, base)
    return np.asarray([0 if item is None else item for item in value], dtype=np.dtype(dtype))
