# SPDX-License-Identifier: Apache-2.0
"""Episodes, labels, splits, and flat feature arrays for training and evaluation."""

from __future__ import annotations

from na_training.data.episode import DataError, Episode
from na_training.data.nad import read_folders
from na_training.data.split import split_by_group
from na_training.data.store import Run, SegmentSampler, Store, build_store, join_stores

__all__ = [
    "DataError",
    "Episode",
    "Run",
    "SegmentSampler",
    "Store",
    "build_store",
    "join_stores",
    "read_folders",
    "split_by_group",
]
