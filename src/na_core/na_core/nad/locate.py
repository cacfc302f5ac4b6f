# SPDX-License-Identifier: Apache-2.0
"""Finds the storage files of a bag, whatever is left of its metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from na_core.nad.errors import BagFormatError
from na_core.nad.metadata import FILE_NAME, ROOT_KEY

MCAP_MAGIC = b"\x89MCAP0\r\n"
SQLITE_MAGIC = b"SQLite format 3\x00"
ROS1_MAGIC = b"#ROSBAG V"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SUFFIXES = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")


@dataclass
class BagFiles:
    """Storage files in reading order, metadata.yaml's content if there is one, and remarks."""

    path: Path
    files: list[Path]
    metadata: dict[str, Any] | None = None
    remarks: list[str] = field(default_factory=list)


def find_files(path: Path | str) -> BagFiles:
    """Return the storage files of `path`, a bag directory or one storage file.

    Raises BagFormatError for a missing path, an empty directory or file, a ROS 1 bag, or a file
    that is neither MCAP nor SQLite.
    """
    path = Path(path)
    if not path.exists():
        raise BagFormatError(path, "does not exist")
    if path.is_file():
        found = BagFiles(path, [path])
        if path.name == FILE_NAME:
            found = _in_directory(path.parent)
    else:
        found = _in_directory(path)
    for file in found.files:
        storage_kind(file)
    return found


def storage_kind(file: Path) -> str:
    """Return "mcap", "sqlite3" or "zstd" (a compressed file) by the first bytes of `file`."""
    with file.open("rb") as stream:
        head = stream.read(16)
    if not head:
        raise BagFormatError(file, "is empty (0 bytes): nothing was recorded into it")
    if head.startswith(ROS1_MAGIC):
        raise BagFormatError(
            file,
            "is a ROS 1 bag; convert it first: "
            f"rosbags-convert --src {file.name} --dst {file.stem} --dst-storage mcap "
            "(from the Python package rosbags)",
        )
    for magic, kind in ((MCAP_MAGIC, "mcap"), (SQLITE_MAGIC, "sqlite3"), (ZSTD_MAGIC, "zstd")):
        if head.startswith(magic):
            return kind
    raise BagFormatError(file, f"is neither MCAP nor SQLite: it starts with {head[:8].hex(' ')}")


def read_metadata(directory: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the content of metadata.yaml (None when absent or unusable) and a remark."""
    path = directory / FILE_NAME
    if not path.is_file():
        return None, f"{FILE_NAME} is missing"
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=YamlLoader)[ROOT_KEY]
        if not isinstance(content, dict):
            raise TypeError(f"{ROOT_KEY} is not a mapping")
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        return None, f"{FILE_NAME} cannot be used: {type(error).__name__} {error}"
    return content, ""


def _in_directory(directory: Path) -> BagFiles:
    metadata, remark = read_metadata(directory)
    remarks = [remark] if remark else []
    present = sorted(
        (item for item in directory.iterdir() if item.name.endswith(SUFFIXES)), key=_natural
    )
    files = present
    if metadata is not None:
        named = [directory / Path(str(name)).name for name in _names(metadata)]
        missing = [file.name for file in named if not file.is_file()]
        if missing:
            remarks.append(
                f"{FILE_NAME} names {', '.join(missing)}, which is not there; reading "
                f"{', '.join(file.name for file in present) or 'nothing'} instead"
            )
        elif named:
            files = named
            extra = [file.name for file in present if file not in named]
            if extra:
                remarks.append(f"{', '.join(extra)} is not named by {FILE_NAME} and is not read")
    if not files:
        others = sorted(item.name for item in directory.iterdir())
        ros1 = [name for name in others if name.endswith(".bag")]
        if ros1:
            storage_kind(directory / ros1[0])
        raise BagFormatError(
            directory,
            f"holds no .mcap or .db3 file ({', '.join(others[:5]) or 'it is empty'})",
        )
    return BagFiles(directory, files, metadata, remarks)


def _names(metadata: dict[str, Any]) -> list[Any]:
    names = metadata.get("relative_file_paths")
    return names if isinstance(names, list) else []


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    parts = re.findall(r"\d+|\D+", path.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts], path.name


class YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader, in C where PyYAML was built with it: metadata is read by the thousand."""
