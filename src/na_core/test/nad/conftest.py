# SPDX-License-Identifier: Apache-2.0
"""Keeps the user's cache out of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NA_CACHE_DIR", str(tmp_path / "cache"))
