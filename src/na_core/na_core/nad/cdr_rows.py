# SPDX-License-Identifier: Apache-2.0
"""Writes many CDR messages of one shape at once: the mirror image of cdr_view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.typesys.store import Typestore

from na_core.nad.cdr_view import walk
from na_core.nad.errors import SchemaError
from na_core.nad.schemas import normalise
from na_core.nad.typestore import encode


class MessageTemplate:
    """A message whose numbers may vary and whose strings and array lengths are fixed.

    `prototype` is a nested mapping as for `make_message`; it fixes names, frames and lengths and
    gives the numbers that `rows` does not set.
    """

    def __init__(self, store: Typestore, type_name: str, prototype: Mapping[str, Any]) -> None:
        """Serialise the prototype once with the rosbags library and learn where its numbers lie."""
        self.type = normalise(type_name)
        self._bytes = encode(store, self.type, prototype)
        skeleton = walk(store, self.type, self._bytes)
        self._leaves = skeleton.leaves
        self.size = skeleton.size

    @property
    def fields(self) -> tuple[str, ...]:
        """Paths that `rows` accepts, for example "header.stamp.sec" or "position"."""
        return tuple(self._leaves)

    def rows(self, count: int, **columns: ArrayLike) -> list[bytes]:
        """Return `count` messages.

        Each column is broadcast to (count, *shape of the field); dots in a path are written as
        double underscores: `header__stamp__sec`. `stamp_ns` (count,) [ns] sets both parts of
        header.stamp. SchemaError for an unknown path.
        """
        block = np.tile(np.frombuffer(self._bytes, np.uint8), (count, 1))
        if "stamp_ns" in columns:
            sec, nanosec = np.divmod(np.asarray(columns.pop("stamp_ns"), np.int64), 1_000_000_000)
            columns = {**columns, "header__stamp__sec": sec, "header__stamp__nanosec": nanosec}
        for key, values in columns.items():
            self._fill(block, key.replace("__", "."), values)
        data = block.tobytes()
        return [data[i : i + self.size] for i in range(0, count * self.size, self.size)]

    def _fill(self, block: NDArray[np.uint8], path: str, values: ArrayLike) -> None:
        leaf = self._leaves.get(path)
        if leaf is None:
            raise SchemaError(
                self.type, f"has no number {path!r}; it has {', '.join(self._leaves)}"
            )
        full = np.empty((block.shape[0], *leaf.shape), leaf.dtype)
        full[...] = np.asarray(values)
        raw = full.view(np.uint8).reshape(block.shape[0], -1)
        block[:, leaf.offset : leaf.offset + raw.shape[1]] = raw
