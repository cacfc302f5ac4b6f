# SPDX-License-Identifier: Apache-2.0
"""Every fault × phase × servo family on emulated arms; damage on the wire; a killed driver."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from na_cli.report import print_table

KEYS = ("cells", "outcomes", "bad_outcomes", "fresh_while_stale", "corruption", "killed_driver")
BAD = ("crash", "hang", "moved unexpectedly")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bench."""
    parser.add_argument(
        "--family", choices=("dynamixel", "feetech", "both"), default="both", help="servo family"
    )
    parser.add_argument(
        "--phase", choices=("ramp", "motion", "rest", "all"), default="all", help="when"
    )
    parser.add_argument("--only", default="", help="only faults whose name contains this")
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="length of each soak with damaged bytes; 0: none",
    )
    parser.add_argument("--no-grid", action="store_true", help="leave the faults out")
    parser.add_argument("--no-kill", action="store_true", help="leave the killed driver out")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the parts asked for, print their tables, return the figures."""
    from na_cli.bench import _fault_kill, _fault_soak
    from na_cli.bench._fault_cases import FAMILIES

    families = list(FAMILIES) if args.family == "both" else [args.family]
    cells = [] if args.no_grid else _grid(families, args.phase, args.only)
    outcomes = dict(Counter(cell["outcome"] for cell in cells))
    corruption = []
    if args.minutes > 0.0:
        corruption = _fault_soak.run_all(families, 60.0 * args.minutes)
    killed = [] if args.no_kill else _fault_kill.run_all(families)
    if cells:
        print_table("Outcomes", ["outcome", "cells"], [[k, v] for k, v in outcomes.items()])
    return {
        "cells": cells,
        "outcomes": outcomes,
        "bad_outcomes": sum(outcomes.get(name, 0) for name in BAD),
        "fresh_while_stale": sum(cell["fresh_while_stale"] for cell in cells),
        "corruption": corruption,
        "killed_driver": killed,
    }


def _grid(families: list[str], phase: str, only: str) -> list[dict[str, Any]]:
    from na_cli.bench._fault_cases import PHASES, cases
    from na_cli.bench._fault_rig import run_cell

    phases = list(PHASES) if phase == "all" else [phase]
    found: list[dict[str, Any]] = []
    for family in families:
        rows = [case for case in cases(family) if only in case.name]
        for case in rows:
            for when in phases:
                with tempfile.TemporaryDirectory(prefix="na_fault") as folder:
                    found.append(run_cell(family, case, when, Path(folder)).as_dict())
                cell = found[-1]
                print(
                    f"  {family:9s} {case.name:34s} {when:6s} {cell['outcome']:18s} "
                    f"{cell['detected_by']}",
                    flush=True,
                )
    print_table(
        "Faults on emulated arms",
        [
            "family",
            "fault",
            "phase",
            "detected ms",
            "by",
            "arm after",
            "torque after",
            "stale as fresh",
            "cleared",
            "outcome",
        ],
        [
            [
                cell["family"],
                cell["fault"],
                cell["phase"],
                cell["detected_ms"],
                cell["detected_by"],
                cell["arm_state_after"],
                cell["torque_after"],
                cell["fresh_while_stale"],
                cell["recovered_after_clear"],
                cell["outcome"],
            ]
            for cell in found
        ],
    )
    return found
