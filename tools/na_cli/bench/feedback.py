# SPDX-License-Identifier: Apache-2.0
"""Leader aids: force feedback at a stiff wall over gains, hand effort in free air, emulated."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from na_cli.report import print_table

if TYPE_CHECKING:
    from na_cli.bench._feedback_rig import Traces, Trial

KEYS = (
    "robot",
    "settings",
    "stable_up_to_gain",
    "hand_force_n",
    "lowest_energy_j",
    "trials",
    "free_hand_torque_nm",
    "sag_mm",
)

#: Heading -> key of one trial's figures.
COLUMNS = {
    "setting": "setting",
    "guard": "guard",
    "gain": "gain",
    "stable": "stable",
    "wall N": "wall_n",
    "hand N": "hand_n",
    "rendered N": "rendered_n",
    "tip mm": "tip_mm",
    "off wall %": "off_wall_percent",
    "energy J": "energy_j",
}
GAINS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
#: Aids in free air; None: torque off.
FREE: dict[str, dict[str, Any] | None] = {
    "torque off": None,
    "gravity": {"friction_share": 0.0, "gripper_spring": 0.0},
    "gravity, friction 50 %": {"friction_share": 0.5, "gripper_spring": 0.0},
    "gravity, friction 80 %": {"friction_share": 0.8, "gripper_spring": 0.0},
}
# The defaults bound the rendered force at 6 N; "strong" is what a careless user might set.
STRONG = {"feedback_force": 20.0, "friction_share": 0.7, "current_limit": 1.2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bench."""
    parser.add_argument("--robot", default="omx", help="robot of both arms")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the comparison here")
    parser.add_argument("--quick", action="store_true", help="two gains and one setting only")
    parser.add_argument("--seed", type=int, default=0, help="seed of sensor and estimator noise")


def settings(quick: bool, seed: int) -> dict[str, Trial]:
    """Return the situations by name; gain and guard are varied in each."""
    from na_cli.bench._feedback_rig import Trial

    plain = Trial(gain=0.0, seed=seed)
    if quick:
        return {
            "strong, late 150 ms, loose hand": replace(plain, delay=0.15, hand=3.0, aids=STRONG)
        }
    return {
        "defaults": plain,
        "defaults, late 150 ms": replace(plain, delay=0.15),
        "strong": replace(plain, aids=STRONG),
        "strong, late 150 ms, loose hand": replace(plain, delay=0.15, hand=3.0, aids=STRONG),
        "strong, 200 Hz": replace(plain, rate=200.0, aids=STRONG),
        "observer": replace(plain, observer="gmo", delay=1.0 / 60.0),
        "strong, observer": replace(plain, observer="gmo", delay=1.0 / 60.0, aids=STRONG),
    }


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run every setting, gain and guard; print the table, return the figures."""
    from na_cli.bench._feedback_rig import Pair
    from na_cli.bench._free_leader import free_motion
    from na_core.robot_spec import load_robot_spec

    spec = load_robot_spec(args.robot)
    gains = (0.0, 2.0) if args.quick else GAINS
    trials: list[dict[str, Any]] = []
    kept: dict[tuple[str, bool, float], Traces] = {}
    for name, base in settings(args.quick, args.seed).items():
        for guard in (False, True):
            for gain in gains:
                traces = Pair(spec, replace(base, gain=gain, guard=guard)).run()
                kept[name, guard, gain] = traces
                trials.append(_figures(name, guard, gain, traces))
    print_table(
        f"Force feedback at a stiff wall ({args.robot}, both arms emulated, virtual hand)",
        list(COLUMNS),
        [[row[key] for key in COLUMNS.values()] for row in trials],
    )
    if args.plot is not None:
        _plot(kept, args.plot)
    free = {name: free_motion(spec, aids, args.seed) for name, aids in FREE.items()}
    print_table(
        "Leader in free air: torque of the hand while moving (rms), and sag once it lets go",
        ["aids", *(f"{name} N·m" for name in spec.names), "sag mm"],
        [[name, *found.torque.tolist(), 1e3 * found.sag] for name, found in free.items()],
    )
    return {
        "robot": args.robot,
        "settings": sorted({row["setting"] for row in trials}),
        "stable_up_to_gain": {
            f"{name}, {'guarded' if guard else 'unguarded'}": _stable_up_to(trials, name, guard)
            for name in {row["setting"]: None for row in trials}
            for guard in (False, True)
        },
        "hand_force_n": {
            f"{row['setting']}, gain {row['gain']:g}": row["hand_n"]
            for row in trials
            if row["guard"]
        },
        "lowest_energy_j": {
            "guarded": min(row["energy_j"] for row in trials if row["guard"]),
            "unguarded": min(row["energy_j"] for row in trials if not row["guard"]),
        },
        "trials": trials,
        "free_hand_torque_nm": {name: found.torque.tolist() for name, found in free.items()},
        "sag_mm": {name: 1e3 * found.sag for name, found in free.items()},
    }


def _figures(name: str, guard: bool, gain: float, traces: Traces) -> dict[str, Any]:
    hold = traces.holding()
    return {
        "setting": name,
        "guard": guard,
        "gain": gain,
        "stable": traces.stable,
        "wall_n": float(traces.wall_force[hold].mean()),
        "hand_n": float(traces.hand_force[hold].mean()),
        "rendered_n": float(traces.rendered[hold].mean()),
        "tip_mm": 1e3 * traces.travel,
        "off_wall_percent": 100.0 * traces.contact_lost,
        "energy_j": float(traces.energy.min()),
        "wall_peak_n": float(traces.wall_force.max()),
    }


def _stable_up_to(trials: list[dict[str, Any]], name: str, guard: bool) -> float:
    """Largest gain up to which every tried one was stable; -1: not even without feedback."""
    best = -1.0
    for row in trials:
        if row["setting"] == name and row["guard"] == guard:
            if not row["stable"]:
                break
            best = row["gain"]
    return best


def _plot(kept: dict[tuple[str, bool, float], Traces], path: Path) -> None:
    """Draw hand and wall force over time: without, with, and with an unguarded high gain."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed (./na setup --train brings it)")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list({name: None for name, _, _ in kept})
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 7), sharex=True, squeeze=False)
    high = max(gain for _, _, gain in kept)
    middle = sorted({gain for _, _, gain in kept})[len({gain for _, _, gain in kept}) // 2]
    panels = [
        (names[0], True, 0.0, "without feedback"),
        (names[0], True, middle, f"gain {middle:g}, guarded"),
        (names[-1], False, high, f"{names[-1]}, gain {high:g}, unguarded"),
        (names[-1], True, high, f"{names[-1]}, gain {high:g}, guarded"),
    ]
    for axis, (name, guard, gain, title) in zip(axes.flat, panels, strict=True):
        traces = kept[name, guard, gain]
        axis.plot(traces.time, traces.wall_force, label="wall on follower")
        axis.plot(traces.time, traces.hand_force, label="hand on leader")
        axis.plot(traces.time, traces.rendered, label="rendered against the hand", lw=0.8)
        axis.set_title(title, fontsize=10)
        axis.set_ylim(-15, 45)
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("force along x [N]")
    for axis in axes[1]:
        axis.set_xlabel("time [s] (emulated)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"plot: {path}")
