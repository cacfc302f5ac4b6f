# SPDX-License-Identifier: Apache-2.0
"""Reads many CDR messages of one type at once: numpy views instead of one object per message.

Messages of a control loop have the same shape tick after tick: same joint names, same array
lengths. One exemplar is walked with the type's field definitions; every other message whose length
and "skeleton" bytes (lengths, strings, encapsulation) equal the exemplar's has its numbers at the
same offsets. Decoding objects one by one and copying them into arrays is slower than the
per-message decoding of the rosbags library alone, whichever permissively licensed decoder is used.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rosbags.typesys.store import Typestore

from na_core.nad.errors import SchemaError

BODY = 4  # bytes of the encapsulation header; alignment counts from here
_EXEMPLARS = 64  # skeletons tried per message length before going one by one
_SIZES = {"octet": "u1", "byte": "u1", "char": "u1", "bool": "?"} | {
    f"{kind}{bits}": f"{letter}{bits // 8}"
    for kind, letter in (("int", "i"), ("uint", "u"), ("float", "f"))
    for bits in (8, 16, 32, 64)
    if (kind, bits) not in (("float", 8), ("float", 16))
}


@dataclass(frozen=True)
class Leaf:
    """A number or numeric array: where it lies in the message and what it is."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass
class Skeleton:
    """Where everything lies in messages shaped like one exemplar.

    `leaves` and `strings` are keyed by field path ("header.stamp.sec"); a string array is a tuple.
    `fixed` lists the byte offsets that every message of this shape shares.
    """

    size: int
    leaves: dict[str, Leaf] = field(default_factory=dict)
    strings: dict[str, Any] = field(default_factory=dict)
    fixed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass
class Group:
    """Messages of one shape: their positions in the input, numbers by path, strings by path."""

    index: NDArray[np.int64]
    numbers: dict[str, NDArray[Any]]
    strings: Mapping[str, Any]


class _Walker:
    """Walks one message along the field definitions of its type."""

    def __init__(self, store: Typestore, data: bytes) -> None:
        self.store = store
        self.data = data
        self.pos = BODY
        self.order: Literal["<", ">"] = "<" if data[1] & 1 else ">"
        self.fixed: list[tuple[int, int]] = [(0, BODY)]
        self.skeleton = Skeleton(len(data))

    def align(self, size: int) -> None:
        self.pos = BODY + -(-(self.pos - BODY) // size) * size

    def take(self, size: int) -> int:
        start = self.pos
        if start + size > len(self.data):
            raise ValueError(f"needs {size} bytes at offset {start}, has {len(self.data)}")
        self.pos += size
        return start

    def count(self) -> int:
        self.align(4)
        start = self.take(4)
        self.fixed.append((start, start + 4))
        return int(struct.unpack_from(f"{self.order}I", self.data, start)[0])

    def string(self) -> str:
        length = self.count()
        start = self.take(length)
        self.fixed.append((start, start + length))
        return self.data[start : start + max(0, length - 1)].decode("utf-8", "replace")

    def numbers(self, path: str, base: str, shape: tuple[int, ...]) -> None:
        dtype = np.dtype(_SIZES[base]).newbyteorder(self.order)
        items = int(np.prod(shape, dtype=np.int64))
        if items:
            self.align(dtype.itemsize)
        start = self.take(items * dtype.itemsize)
        self.skeleton.leaves[path] = Leaf(start, dtype, shape)

    def message(self, type_name: str, prefix: str) -> None:
        for name, desc in self.store.fielddefs[type_name][1]:
            self.value(f"{prefix}{name}", desc)

    def value(self, path: str, desc: Any) -> None:
        kind, detail = int(desc[0]), desc[1]
        if kind == 1:
            if detail[0] == "string":
                self.skeleton.strings[path] = self.string()
            elif detail[0] in _SIZES:
                self.numbers(path, detail[0], ())
            else:
                raise ValueError(f"field {path}: type {detail[0]} is not supported")
        elif kind == 2:
            self.message(detail, f"{path}.")
        else:
            element, length = detail
            items = length if kind == 3 else self.count()
            base = element[1][0] if int(element[0]) == 1 else None
            if base in _SIZES:
                self.numbers(path, base, (items,))
            elif base == "string":
                self.skeleton.strings[path] = tuple(self.string() for _ in range(items))
            else:
                for i in range(items):
                    self.value(f"{path}.{i}", element)

    def finish(self) -> Skeleton:
        if not 0 <= len(self.data) - self.pos <= 3:
            raise ValueError(f"fields end at byte {self.pos}, message has {len(self.data)}")
        self.skeleton.fixed = np.concatenate([np.arange(a, b) for a, b in self.fixed])
        return self.skeleton


def walk(store: Typestore, type_name: str, data: bytes) -> Skeleton:
    """Return the skeleton of one message; SchemaError when bytes and definition do not fit."""
    try:
        if len(data) < BODY or data[0] != 0 or data[1] > 1:
            raise ValueError(
                f"encapsulation {bytes(data[:2]).hex(' ')!r}; expected plain CDR, 00 00 or 00 01"
            )
        walker = _Walker(store, bytes(data))
        walker.message(type_name, "")
        return walker.finish()
    except (ValueError, struct.error, KeyError, MemoryError) as error:
        raise SchemaError(
            type_name, f"a message of {len(data)} bytes does not fit its definition: {error}"
        ) from error


def decode(store: Typestore, type_name: str, messages: Sequence[bytes]) -> list[Group]:
    """Decode `messages`, all of `type_name`, into groups of equal shape.

    Together the groups cover every message once; numbers have the message as first axis. Raises
    SchemaError naming the position of the first message that does not fit.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for position, data in enumerate(messages):
        by_length[len(data)].append(position)
    groups: list[Group] = []
    for size, positions in by_length.items():
        index = np.asarray(positions, dtype=np.int64)
        block = np.frombuffer(b"".join([messages[i] for i in positions]), np.uint8)
        groups.extend(_split(store, type_name, index, block.reshape(len(positions), size)))
    return groups


def _split(
    store: Typestore, type_name: str, index: NDArray[np.int64], block: NDArray[np.uint8]
) -> Iterator[Group]:
    tried = 0
    while len(index):
        exemplar = block[0]
        try:
            skeleton = walk(store, type_name, exemplar.tobytes())
        except SchemaError as error:
            raise SchemaError(type_name, f"message {int(index[0])}: {error}") from error
        tried += 1
        if tried > _EXEMPLARS:  # nothing repeats: one by one, so that the work stays linear
            yield _extract(skeleton, index[:1], block[:1])
            index, block = index[1:], block[1:]
            continue
        same = (block[:, skeleton.fixed] == exemplar[skeleton.fixed]).all(axis=1)
        if same.all():
            yield _extract(skeleton, index, block)
            return
        yield _extract(skeleton, index[same], block[same])
        index, block = index[~same], block[~same]


def _extract(skeleton: Skeleton, index: NDArray[np.int64], block: NDArray[np.uint8]) -> Group:
    numbers: dict[str, NDArray[Any]] = {}
    for path, leaf in skeleton.leaves.items():
        width = leaf.dtype.itemsize * int(np.prod(leaf.shape, dtype=np.int64))
        part = np.ascontiguousarray(block[:, leaf.offset : leaf.offset + width])
        values = part.view(leaf.dtype).reshape(len(index), *leaf.shape)
        numbers[path] = values.astype(leaf.dtype.newbyteorder("="), copy=False)
    return Group(index, numbers, skeleton.strings)
