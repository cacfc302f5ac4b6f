# SPDX-License-Identifier: Apache-2.0
"""Finds the verbs of ./na (modules of na_cli.verbs) and the benches (modules of na_cli.bench)."""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent


class UsageError(Exception):
    """The command line is wrong, or what it names cannot be had; the text says what to do."""


def verb_names() -> list[str]:
    """Names of all verbs but `setup`, sorted."""
    return sorted(_module_names(HERE / "verbs"))


def bench_names() -> list[str]:
    """Names of all benches, sorted."""
    return sorted(_module_names(HERE / "bench"))


def _module_names(folder: Path) -> Iterable[str]:
    return (
        info.name.removesuffix("_")
        for info in pkgutil.iter_modules([str(folder)])
        if not info.name.startswith("_")
    )


def _help_of(path: Path) -> str:
    """The module's HELP text, read without importing it: `help` works before set-up."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "HELP"
        ):
            return str(ast.literal_eval(node.value))
    return ""


def _path(folder: str, name: str) -> Path:
    return HERE / folder / f"{name}.py"


def describe_verbs() -> str:
    """The page that `./na help` prints."""
    rows = [("setup", "make or mend the environment (done by itself when needed)")]
    rows += [(name, _help_of(_path("verbs", name))) for name in verb_names()]
    width = max(len(name) for name, _ in rows)
    lines = ["usage: ./na VERB [arguments]    (./na VERB --help for more)", ""]
    lines += [f"  {name:<{width}}  {text}" for name, text in rows]
    lines += ["", f"benches (./na bench NAME): {', '.join(bench_names()) or 'none'}"]
    return "\n".join(lines)


def run_verb(name: str, arguments: list[str]) -> int:
    """Parse `arguments` with the verb's own parser and run it; returns the exit code.

    A verb module may set PASS_THROUGH = True to receive its arguments unparsed, as `ros2` does.
    """
    module = importlib.import_module(f"na_cli.verbs.{name}")
    if getattr(module, "PASS_THROUGH", False):
        return int(module.run(arguments))
    parser = argparse.ArgumentParser(prog=f"./na {name}", description=module.HELP)
    module.add_arguments(parser)
    return int(module.run(parser.parse_args(arguments)))
