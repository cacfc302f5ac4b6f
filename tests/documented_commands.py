# SPDX-License-Identifier: Apache-2.0
"""The commands that README and user guide show, and whether their words would be understood."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^ *```(?P<kind>\w*)\n(?P<body>.*?)^ *```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4,}(\./na .+)$", re.MULTILINE)
INLINE = re.compile(r"`(\./na [^`]+)`")
COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)
SHELL = ("", "sh", "bash", "console")
#: Placeholders whose place takes a number.
NUMBERS = {"KG": "0.1", "S": "1", "N": "1", "F": "1"}


@dataclass(frozen=True)
class Command:
    """One command: the page, its text in one line without comment, and whether it is a sentence's.

    Those within a sentence may leave arguments out.
    """

    page: str
    text: str
    inline: bool

    @property
    def words(self) -> list[str]:
        """Its words, without ellipses."""
        plain = re.sub(r"[\[\]…]", "", self.text) if self.inline else self.text
        return [NUMBERS.get(word, word) for word in shlex.split(plain) if word]


def commands_of(page: Path) -> Iterator[Command]:
    """Lines of fences without a language (or sh) and indented ones, `./na …` in sentences."""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        if fence["kind"] in SHELL:
            joined = re.sub(r"\\\n\s*", "", COMMENT.sub("", fence["body"]))
            for line in filter(None, (line.strip() for line in joined.splitlines())):
                yield Command(page.name, re.sub(r"\s+", " ", line), inline=False)
    text = FENCE.sub("", text)
    for match in INDENTED.finditer(COMMENT.sub("", text)):
        yield Command(page.name, re.sub(r"\s+", " ", match[1].strip()), inline=False)
    for match in INLINE.finditer(text):
        yield Command(page.name, re.sub(r"\s+", " ", match[1].replace("<name>", "bag")), True)


def all_commands() -> list[Command]:
    """Those of all pages, each once; as a fence shows it, if one does."""
    found: dict[str, Command] = {}
    for page in PAGES:
        for command in commands_of(page):
            if command.text not in found or not command.inline:
                found[command.text] = command
    return list(found.values())


class _RefusedError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise _RefusedError(message)


def complaint(command: Command) -> str:
    """Why the program would not understand the words, "" when it would; runs nothing."""
    words = command.words
    if words[:1] != ["./na"] or len(words) < 2 or words[1] in ("help", "setup", "shell", "test"):
        return ""
    if words[1] == "ros2":
        return _ros2_complaint(words[2:])
    try:
        module = importlib.import_module(f"na_cli.verbs.{words[1]}")
    except ImportError:
        return f"there is no verb {words[1]}"
    parser = _Parser()
    module.add_arguments(parser)
    try:
        parser.parse_args(words[2:])
    except _RefusedError as error:
        wanting = "the following arguments are required" in str(error)
        return "" if command.inline and wanting else str(error)
    return ""


def _ros2_complaint(words: list[str]) -> str:
    if words[:1] == ["launch"]:
        file = ROOT / "launch" / words[2]
        if words[1] != "na_bringup" or not file.is_file():
            return f"there is no launch file {words[1]} {words[2]}"
        declared = _declared(file)
        given = {word.split(":=")[0] for word in words[3:]}
        return f"{file.name} declares no {given - declared}" if given - declared else ""
    if words[:1] == ["run"]:
        text = (ROOT / "src" / words[1] / "setup.py").read_text(encoding="utf-8")
        if f'"{words[2]} = ' not in text:
            return f"{words[1]} has no executable {words[2]}"
        source = ROOT / "src" / words[1] / words[1] / f"{words[2]}.py"
        known = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
        own = source.read_text(encoding="utf-8")
        given = {word.split(":=")[0] for word in words[3:] if ":=" in word}
        unknown = [
            name for name in given if f"| `{name}` |" not in known and f'("{name}", ' not in own
        ]
        return f"no node has the parameters {unknown}" if unknown else ""
    if words[:2] == ["service", "call"]:
        return _call_complaint(words[3], words[4] if len(words) > 4 else "{}")
    return "" if words[0] in ("topic", "service", "param", "bag", "node") else f"ros2 {words[0]}?"


def _declared(file: Path) -> set[str]:
    from launch.actions import DeclareLaunchArgument

    spec = importlib.util.spec_from_file_location("described", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.generate_launch_description().entities
    return {entity.name for entity in found if isinstance(entity, DeclareLaunchArgument)}


def _call_complaint(kind: str, values: str) -> str:
    import yaml

    package, _, name = kind.split("/")
    request = getattr(importlib.import_module(f"{package}.srv"), name).Request()
    unknown = set(yaml.safe_load(values)) - set(request.get_fields_and_field_types())
    return f"{kind} has no {unknown}" if unknown else ""
