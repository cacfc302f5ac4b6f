# SPDX-License-Identifier: Apache-2.0
"""Example: behaviour cloning from NAD bags, with or without the estimated force as an input.

    ./na shell python -m na_training.behaviour_cloning bags --out policy.npz [--without-force]

A small network imitates how the follower's goal moved from tick to tick. What it reads is what
runs live: the position and, unless left out, the estimate that was recorded beside it (not the
label, which nobody has at run time). The policy is a plain .npz, so that acting needs no torch
(`na_inference.cloned_policy`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from na_core.nad.arrays import Episode, NumberTrack
from na_core.nad.reader import find_episodes, load_episode

Array = NDArray[np.float64]

STATE = "/neural_actuator/state"
FORCE = ("force.x", "force.y", "force.z", "contact.in_contact")
"""What of the estimate the policy reads: gated force, base axes [N], and the gate."""
WIDTH = 64


def demonstrations(episode: Episode, with_force: bool) -> tuple[Array, Array]:
    """Observations (K, n) or (K, n + 4) and actions (K, n), the goal's step to the next tick.

    Ticks that are stale, without goal or (with force) without a valid estimate are left out.

    Raises:
        ValueError: no follower telemetry, or no recorded estimate where one is wanted.
    """
    track = episode.follower
    if track is None:
        raise ValueError(f"{episode.path}: no follower telemetry to learn from")
    action = np.diff(track.goal_requested, axis=0)
    seen = track.position[:-1]
    good = np.isfinite(action).all(axis=1) & np.isfinite(seen).all(axis=1) & ~track.stale[:-1]
    if with_force:
        state = episode.tracks.get(STATE)
        if not isinstance(state, NumberTrack) or len(state) == 0:
            raise ValueError(
                f"{episode.path}: no {STATE} was recorded; record with the estimate running, or "
                "learn --without-force"
            )
        row = {int(stamp): k for k, stamp in enumerate(state.stamp_ns)}
        rows = np.array([row.get(int(stamp), -1) for stamp in track.stamp_ns[:-1]])
        felt = np.stack([np.asarray(state.numbers[name], dtype=np.float64) for name in FORCE], 1)
        felt = felt[rows]
        good &= (rows >= 0) & np.isfinite(felt).all(axis=1)
        seen = np.concatenate([seen, felt], axis=1)
    return seen[good], action[good]


def clone(
    seen: Array, action: Array, *, epochs: int = 300, seed: int = 0
) -> tuple[dict[str, Array], float]:
    """Fit the network; returns its arrays and the mean absolute error in units of the actions' std.

    Raises:
        ValueError: fewer than 100 ticks.
    """
    if len(seen) < 100:
        raise ValueError(f"{len(seen)} usable ticks: expected at least 100; record more")
    torch.manual_seed(seed)
    mean, scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-3)
    size = np.maximum(action.std(axis=0), 1e-6)
    x = torch.tensor((seen - mean) / scale, dtype=torch.float32)
    y = torch.tensor(action / size, dtype=torch.float32)
    net = nn.Sequential(
        nn.Linear(x.shape[1], WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
        nn.Linear(WIDTH, y.shape[1]),
    )  # fmt: skip
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(1024):
            optimiser.zero_grad()
            nn.functional.smooth_l1_loss(net(x[part]), y[part]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        schedule.step()
    with torch.no_grad():
        error = float((net(x) - y).abs().mean())
    arrays = {"mean": mean, "scale": scale, "size": size, "most": np.abs(action).max(axis=0)}
    for number, layer in enumerate(layer for layer in net if isinstance(layer, nn.Linear)):
        arrays[f"weight{number}"] = layer.weight.detach().numpy().astype(np.float64)
        arrays[f"bias{number}"] = layer.bias.detach().numpy().astype(np.float64)
    return arrays, error


def main(argv: Sequence[str]) -> int:
    """Learn from every episode in some folders and write the policy."""
    parser = argparse.ArgumentParser(prog="behaviour_cloning", description=__doc__)
    parser.add_argument("bags", type=Path, nargs="+", help="episodes, or folders of them")
    parser.add_argument("--out", type=Path, required=True, metavar="POLICY.npz")
    parser.add_argument("--without-force", action="store_true", help="read the position only")
    parser.add_argument("--epochs", type=int, default=300)
    arguments = parser.parse_args(argv)
    episodes = [load_episode(path) for root in arguments.bags for path in find_episodes(root)]
    if not episodes or episodes[0].follower is None:
        print("behaviour_cloning: no episode with follower telemetry found", file=sys.stderr)
        return 1
    try:
        parts = [demonstrations(episode, not arguments.without_force) for episode in episodes]
        seen, action = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        arrays, error = clone(seen, action, epochs=arguments.epochs)
    except ValueError as failure:
        print(f"behaviour_cloning: {failure}", file=sys.stderr)
        return 1
    names = np.array(episodes[0].follower.names)
    np.savez(arguments.out, names=names, with_force=not arguments.without_force, **arrays)
    print(
        f"{len(episodes)} episodes, {len(seen)} ticks; {error:.3f} of an action's deviation missed"
    )
    print(f"{arguments.out}: run it with na_inference cloned_policy_node")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
