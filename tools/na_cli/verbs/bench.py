# SPDX-License-Identifier: Apache-2.0
"""`./na bench NAME`: measure one thing, print a table, write JSON."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

from na_cli.registry import UsageError, bench_names

HELP = "measure one thing: prints a table and, with --json FILE, writes its figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    benches = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in bench_names():
        module = importlib.import_module(f"na_cli.bench.{name}")
        bench = benches.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        bench.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
        module.add_arguments(bench)


def run(arguments: argparse.Namespace) -> int:
    """Run the bench; 1 when a key that it promises is missing from its result."""
    module = importlib.import_module(f"na_cli.bench.{arguments.name}")
    result: dict[str, Any] = module.run(arguments)
    missing = [key for key in module.KEYS if key not in result]
    if missing:
        raise UsageError(f"bench {arguments.name} did not measure {missing}; this is a defect")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(result.get("exit_code", 0))
