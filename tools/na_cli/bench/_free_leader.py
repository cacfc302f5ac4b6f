# SPDX-License-Identifier: Apache-2.0
"""A leader moved through the air by a virtual hand, which then lets go: effort and sag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_cli.bench._feedback_rig import Pair, Trial
from na_core.robot_types import RobotSpec
from na_sim.operator import ScriptedOperator

Array = NDArray[np.float64]

SETTLE, MOVE, FALL = 2.0, 10.0, 3.0  # s; effort is measured while moving
RATE = 60.0  # Hz


@dataclass(frozen=True)
class FreeMotion:
    """What the hand had to do.

    Attributes:
        torque: root mean square of the hand's torque per joint while moving (n,) [N·m].
        sag: distance that the tip went after the hand had let go [m].

    """

    torque: Array
    sag: float


def free_motion(spec: RobotSpec, aids: dict[str, Any] | None, seed: int = 0) -> FreeMotion:
    """Move a leader along an operator's path and let go; `aids` None: torque off."""
    pair = Pair(spec, Trial(gain=0.0, rate=RATE, seed=seed, aids=aids or {}))
    pair.leader.set_hand(ScriptedOperator(spec, seed + 3, rest=1.0))
    commands = pair.leader_commands(np.zeros(spec.n))
    commands.torque_enable[:] = aids is not None
    squares = np.zeros(spec.n)
    let_go = round((SETTLE + MOVE) * RATE)
    start = np.zeros(3)
    for k in range(1, let_go + round(FALL * RATE) + 1):
        now = k / RATE
        pair.leader.advance(now, commands)
        position, velocity = pair.read_leader()
        out = pair.aids.step(now, position, velocity)
        if aids is not None:
            commands = pair.leader_commands(out.current)
        if SETTLE * RATE < k <= let_go:
            squares += pair.hand_torque() ** 2
        if k == let_go:
            start = pair.kinematics.fk(pair.leader.position).position
            pair.leader.set_hand(None)
    end = pair.kinematics.fk(pair.leader.position).position
    return FreeMotion(np.sqrt(squares / (MOVE * RATE)), float(np.linalg.norm(end - start)))
