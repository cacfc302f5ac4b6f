# SPDX-License-Identifier: Apache-2.0
"""`./na identify ACTION`: fit the servo model to recordings and compare it with published ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from na_cli.report import print_table

if TYPE_CHECKING:
    from na_sim.identify.reports import RunError

HELP = "servo physics against reality: fit (servo), BAM runs (bam), reference servos, hysteresis"

REFERENCE = "m1 published"


def _data_folder() -> Path:
    from na_core.testing import shared_data

    shared = shared_data()
    return (shared or Path("shared/data")) / "bam-xl330-pendulum"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    servo = actions.add_parser("servo", help="fit our servo model on some runs, predict the others")
    bam = actions.add_parser("bam", help="published M1 and M6 parameters on the pendulum runs")
    for sub in (servo, bam):
        sub.add_argument("--data", type=Path, help="folder with raw/ and params/ (default: shared)")
        sub.add_argument("--json", type=Path, metavar="FILE")
    servo.add_argument("--family", default="m6", help="friction family m1..m6 (default m6)")
    servo.add_argument(
        "--hold-out",
        default="all",
        help="gain=200, trajectory=sin_sin, … or 'all': each gain in turn (default)",
    )
    servo.add_argument("--seed", type=int, default=0)
    servo.add_argument("--generations", type=int, default=150, help="of the global search")
    reference = actions.add_parser("reference", help="no-load speed, stall and breakaway of servos")
    reference.add_argument("--json", type=Path, metavar="FILE")
    hysteresis = actions.add_parser("hysteresis", help="current of the same push both ways")
    hysteresis.add_argument("--robot", default="omx")
    hysteresis.add_argument("--arm", type=int, default=0)
    hysteresis.add_argument("--pose", type=float, nargs="+", help="joints [rad, m]")
    hysteresis.add_argument("--json", type=Path, metavar="FILE")


def run(arguments: argparse.Namespace) -> int:
    """Run the action; 2 when the data cannot be used."""
    actions = {
        "servo": _servo,
        "bam": _bam,
        "reference": _reference,
        "hysteresis": _hysteresis,
    }
    try:
        record = actions[arguments.action](arguments)
    except (ValueError, OSError) as error:
        print(f"./na identify {arguments.action}: {error}", file=sys.stderr)
        return 2
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


def _published(folder: Path) -> list[Any]:
    from na_sim.identify.model import bam_model

    return [bam_model(folder / "params" / f"xl330_{name}.json") for name in ("m1", "m6")]


def _print_errors(title: str, rows: Sequence[RunError]) -> None:
    names = list(rows[0].errors)
    table: list[list[object]] = [
        [r.trajectory, r.gain, r.held_out, *(1e3 * r.errors[name] for name in names)] for r in rows
    ]
    means = [1e3 * sum(r.errors[name] for r in rows) / len(rows) for name in names]
    table.append(["mean", float("nan"), "", *means])
    print_table(title, ["trajectory", "P gain", "held out", *names], table)


def _bam(arguments: argparse.Namespace) -> dict[str, Any]:
    from na_sim.identify.model import bam_model
    from na_sim.identify.recordings import load_runs
    from na_sim.identify.reports import compare, ratios

    folder = arguments.data or _data_folder()
    runs = load_runs(folder / "raw")
    rows = compare(runs, _published(folder))
    _print_errors("XL330 pendulum, open loop, measured supply: mean |error| [mrad]", rows)
    constant = [
        bam_model(folder / "params" / f"xl330_{name}.json", measured_supply=False)
        for name in ("m1", "m6")
    ]
    fixed = compare(runs, constant)
    _print_errors("the same with the nominal 7.4 V", fixed)
    measured, nominal = ratios(rows, REFERENCE), ratios(fixed, REFERENCE)
    print(
        f"  M6 / M1: {measured['m6 published']:.3f} (nominal supply {nominal['m6 published']:.3f})"
    )
    return {"runs": [vars(row) for row in rows], "ratio_to_m1": measured}


def _folds(choice: str, runs: Sequence[Any]) -> list[tuple[str, str]]:
    if choice == "all":
        return [("gain", f"{gain:g}") for gain in sorted({run.gain for run in runs})]
    key, _, value = choice.partition("=")
    return [(key, value)]


def _servo(arguments: argparse.Namespace) -> dict[str, Any]:
    from na_sim.identify.fit import fit
    from na_sim.identify.model import our_model
    from na_sim.identify.recordings import load_runs, split
    from na_sim.identify.reports import compare, fit_record, ratios

    folder = arguments.data or _data_folder()
    runs = load_runs(folder / "raw")
    published = _published(folder)
    held_rows, fits = [], []
    for key, value in _folds(arguments.hold_out, runs):
        training, held = split(runs, key, value)
        print(f"fitting {arguments.family} without {key}={value} ({len(training)} runs) …")
        result = fit(
            training, arguments.family, seed=arguments.seed, generations=arguments.generations
        )
        _print_fit(result)
        name = f"ours {arguments.family}"
        models = [*published, our_model(result.values, arguments.family, name=name)]
        held_rows += compare(held, models, [run.name for run in held])
        fits.append({"hold_out": f"{key}={value}", **fit_record(result)})
    _print_errors("runs not used for fitting: mean |error| [mrad]", held_rows)
    found = ratios(held_rows, REFERENCE, held_out=True)
    for name, ratio in found.items():
        print(f"  {name} / M1: {ratio:.3f}")
    return {"fits": fits, "runs": [vars(row) for row in held_rows], "ratio_to_m1": found}


def _print_fit(result: Any) -> None:
    rows = [
        [
            p.name,
            result.values[p.name],
            p.unit,
            p.low,
            p.high,
            result.deviation[p.name],
            "on bound" if p.name in result.on_bounds else "",
        ]
        for p in result.parameters
    ]
    state = "converged" if result.converged else "NOT converged"
    print_table(
        f"fit: {1e3 * result.cost:.1f} mrad, {result.evaluations} evaluations, {state}; "
        f"{result.message}; condition {result.condition:.1e}",
        ["parameter", "value", "unit", "low", "high", "deviation", ""],
        rows,
    )


def _reference(arguments: argparse.Namespace) -> dict[str, Any]:
    from na_core.servo_models import SERVO_MODELS
    from na_sim.identify.reports import servo_facts

    rows, record = [], []
    for name, volts in (
        ("xm430-w350", 12.0),
        ("xm430-w210", 12.0),
        ("xl430-w250", 11.1),
        ("xl330-m288", 5.0),
        ("sts3215", 7.4),
        ("sts3215-12v", 12.0),
    ):
        facts, sheet = servo_facts(name, volts), SERVO_MODELS[name.removesuffix("-12v")]
        rated = sheet.rated_voltage == volts
        rows.append(
            [
                name,
                volts,
                facts.no_load_speed,
                sheet.no_load_speed if rated else None,
                facts.stall_torque,
                sheet.stall_torque if rated else None,
                facts.stall_current,
                sheet.stall_current if rated else None,
                facts.breakaway,
            ]
        )
        record.append(vars(facts))
    print_table(
        "servo models beside their data sheets (stall torque without friction)",
        [
            "servo",
            "V",
            "no load rad/s",
            "sheet",
            "stall N m",
            "sheet",
            "stall A",
            "sheet",
            "breakaway N m",
        ],
        rows,
    )
    return {"servos": record}


def _hysteresis(arguments: argparse.Namespace) -> dict[str, Any]:
    from na_core.robot_spec import load_robot_spec
    from na_sim.identify.reports import hysteresis_rows, reading_record

    robot = load_robot_spec(arguments.robot)
    pose = arguments.pose or [0.0, -0.6, 0.3, 0.6, *robot.home[4:]][: robot.n]
    cycles = hysteresis_rows(robot, pose, arguments.arm)
    arm = [j for j, joint in enumerate(robot.joints) if joint.role == "arm"]
    names = [robot.names[j] for j in arm]
    rows = [
        [
            axis,
            reading.force,
            reading.branch,
            *(round(1e3 * reading.current[j]) for j in arm),
            *(round(reading.counts[j], 1) for j in arm),
        ]
        for axis, readings in cycles
        for reading in readings
    ]
    print_table(
        f"static push on the end effector of {robot.robot}, arm {arguments.arm}, emulated: "
        "current [mA] and motion [counts]",
        ["push", "N", "branch", *(f"{n} mA" for n in names), *(f"{n} counts" for n in names)],
        rows,
    )
    return {"pose": list(pose), "readings": [reading_record(r) for _, rs in cycles for r in rs]}
