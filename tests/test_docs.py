# SPDX-License-Identifier: Apache-2.0
"""The user guide builds, its links lead somewhere, and its generated pages are up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from na_cli import parameter_reference
from na_cli.message_reference import reference
from na_cli.registry import verb_names

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")


def test_the_guide_builds_and_its_links_hold(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "index.html").is_file()


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in navigation]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = [match[1] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_the_message_reference_is_up_to_date() -> None:
    page = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
    assert page == reference(ROOT / "src" / "na_msgs"), "run ./na docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_verb_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"\./na ([a-z][a-z0-9_]*)", page.read_text(encoding="utf-8")))
    assert named <= {*verb_names(), "setup", "help"}


@pytest.mark.slow
def test_the_parameter_reference_is_up_to_date() -> None:
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    model = any((ROOT / "models" / "omx").glob("*.onnx"))
    assert page == parameter_reference.reference(model), "run ./na docs --parameters"
