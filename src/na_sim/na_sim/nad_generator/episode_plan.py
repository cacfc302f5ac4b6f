# SPDX-License-Identifier: Apache-2.0
"""Everything that will happen in one generated episode, decided before it is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from na_core.nad.layout import LABEL_SOURCES

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

NONE = LABEL_SOURCES["none"]
PAYLOAD = LABEL_SOURCES["payload"]
FT_SENSOR = LABEL_SOURCES["ft_sensor"]
GAUGE = LABEL_SOURCES["gauge"]


@dataclass(frozen=True)
class PlanePlan:
    """A stiff surface: a point on it and its outward normal (3,) in base axes, [N/m], [N s/m]."""

    point: Array
    normal: Array
    stiffness: float
    damping: float
    friction: float


@dataclass(frozen=True)
class BandPlan:
    """A rubber band on joint `joint`: [N m/rad], rest position [rad], damping [N m s/rad]."""

    joint: int
    stiffness: float
    offset: float
    damping: float


@dataclass(frozen=True)
class PushPlan:
    """A prescribed force: (T, 3) [N] in base axes on `body` at `point` (3,) [m] in its frame."""

    force: Array
    body: str
    point: Array
    on_tip: bool = True


@dataclass
class EpisodePlan:
    """One episode; arrays have T ticks.

    Attributes:
        category, task, variant: what the episode is, as recorded.
        name: directory name.
        seed: seeds of the episode's own generators.
        leader: leader joint path (T, n) [rad or m], tremor included.
        payload: nominal mass [kg], 0 when none is carried.
        mass: carried mass (T,) [kg].
        support: a load taken up on the way stands on a table at the height where the tip is then;
            otherwise it hangs freely from the start, as when a hand puts it on.
        block: whether a block is between the fingers (T,).
        label_source: ForceLabel source (T,).
        label_share: share of the payload that hangs on the arm, by protocol (T,).
        label_valid: whether the label may be used (T,).
        dither: added to the goal (T, n) [rad or m].
        housing: case temperatures at the start (n,) [degC].
        lead_in: ticks that are simulated before the recording begins, so that it starts anywhere in
            the task's course.
        approach: how far from its first goal the gripper stands before the episode [m or rad]; it
            moves there while the arm settles, as a gripper always has come from somewhere.
        supply: added to the unit's open-circuit supply voltage [V].
    """

    category: str
    task: str
    variant: str
    name: str
    seed: tuple[int, ...]
    leader: Array
    housing: Array
    lead_in: int = 0
    approach: float = 0.0
    supply: float = 0.0
    payload: float = 0.0
    pair_id: str = ""
    split_group: str = ""
    notes: str = ""
    push: PushPlan | None = None
    plane: PlanePlan | None = None
    band: BandPlan | None = None
    mass: Array = field(default_factory=lambda: np.zeros(0))
    support: bool = True
    block: Flags = field(default_factory=lambda: np.zeros(0, bool))
    label_source: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    label_share: Array = field(default_factory=lambda: np.zeros(0))
    label_valid: Flags = field(default_factory=lambda: np.zeros(0, bool))
    dither: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        ticks = len(self.leader)
        if ticks < 2:
            raise ValueError(f"episode {self.name}: {ticks} ticks; expected at least 2")
        if not 0 <= self.lead_in < ticks - 1:
            raise ValueError(
                f"episode {self.name}: lead-in of {self.lead_in} ticks in {ticks}; expected fewer"
            )
        defaults = {
            "mass": np.zeros(ticks),
            "block": np.zeros(ticks, bool),
            "label_source": np.full(ticks, PAYLOAD, np.uint8),
            "label_share": np.zeros(ticks),
            "label_valid": np.ones(ticks, bool),
            "dither": np.zeros(self.leader.shape),
        }
        for name, value in defaults.items():
            if len(getattr(self, name)) == 0:
                setattr(self, name, value)
            if len(getattr(self, name)) != ticks:
                raise ValueError(
                    f"episode {self.name}: {name} has {len(getattr(self, name))} ticks, "
                    f"expected {ticks}"
                )

    @property
    def ticks(self) -> int:
        """Number of control ticks T."""
        return len(self.leader)
