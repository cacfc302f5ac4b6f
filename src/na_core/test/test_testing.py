# SPDX-License-Identifier: Apache-2.0
"""Reference data is optional: named by the environment, or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from na_core.testing import shared_data


def test_a_named_folder_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NA_SHARED_DATA", str(tmp_path))
    assert shared_data() == tmp_path


def test_a_named_folder_that_is_absent_means_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not fall back: whoever names a folder wants that one or a skip."""
    monkeypatch.setenv("NA_SHARED_DATA", str(tmp_path / "none"))
    assert shared_data() is None
