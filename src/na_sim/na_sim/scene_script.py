# SPDX-License-Identifier: Apache-2.0
"""Scripted influences on a live emulated arm: weights, pushes, a block between the fingers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from na_sim.arm_plant import ArmPlant
from na_sim.forces import KIND_FORCE, KIND_NONE
from na_sim.payload import HEAVIEST, set_block, set_payload

Array = NDArray[np.float64]

PUSH_SLOT = 0
RAMP = 0.2  # s in which a push grows and fades
KINDS = ("payload", "push", "block")
MOST_FORCE = 50.0  # N


class SceneScriptError(ValueError):
    """A script cannot be used; the text names entry, key, value and expectation."""


@dataclass(frozen=True)
class Influence:
    """One influence, from `at` for `duration` [s].

    Attributes:
        kind: "payload" (mass [kg] at the end effector), "push" (force (3,) [N], base axes, at the
            end effector's origin) or "block" (weightless, between the fingers).
        at, duration: [s] of plant time since the script began.
        mass: of a payload [kg].
        force: of a push [N].
    """

    kind: str
    at: float
    duration: float
    mass: float = 0.0
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class SceneScript:
    """Influences in a cycle of `repeat` seconds; 0: once.

    Attributes:
        influences: on the follower.
        repeat: [s].
        rests: begin and length [s] of the times at which the leader's operator stands still.
    """

    influences: tuple[Influence, ...]
    repeat: float = 0.0
    rests: tuple[tuple[float, float], ...] = ()

    def active(self, time: float, kind: str) -> tuple[Influence, float] | None:
        """The influence of a kind in force at `time` [s], and the time since its beginning."""
        if self.repeat > 0.0:
            time = time % self.repeat
        for item in self.influences:
            if item.kind == kind and item.at <= time < item.at + item.duration:
                return item, time - item.at
        return None


DEMO = SceneScript(
    (
        Influence("payload", 10.0, 8.0, mass=0.2),
        Influence("push", 22.0, 3.0, force=(0.0, 0.0, -3.0)),
        Influence("push", 28.0, 3.0, force=(0.0, 3.0, 0.0)),
        Influence("block", 34.0, 5.0),
    ),
    40.0,
)
"""Free motion, 200 g, pushes of 3 N down and sideways, a foam block."""
LIVE = replace(DEMO, rests=((3.0, 5.0),))
"""The same, and the operator rests before the weight comes, so that the estimate can be tared."""
BUILT_IN = {"demo": DEMO, "live": LIVE}
SHORTEST_REST = 1.0  # s


def scene_script(text: str) -> SceneScript:
    """Return the script "demo" or "live", or the one in a YAML file.

    The file holds `repeat` [s], `influences`, a list of mappings with `kind`, `at`, `for` and
    `mass` or `force`, and perhaps `rests`, a list of mappings with `at` and `for`.

    Raises:
        SceneScriptError: no such file, or an entry that makes no sense.
    """
    if text in BUILT_IN:
        return BUILT_IN[text]
    try:
        values = yaml.safe_load(Path(text).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        names = " or ".join(repr(name) for name in BUILT_IN)
        raise SceneScriptError(
            f"scene {text!r}: {error}; expected {names}, or a YAML file"
        ) from None
    if not isinstance(values, Mapping) or not isinstance(values.get("influences"), Sequence):
        raise SceneScriptError(f"scene {text}: expected a mapping with a list of influences")
    items = tuple(
        _influence(f"scene {text}: influence {number}", entry)
        for number, entry in enumerate(values["influences"])
    )
    repeat = _number(f"scene {text}", values, "repeat", 0.0, 1e6, default=0.0)
    return SceneScript(items, repeat, _rests(f"scene {text}", values.get("rests", ()), repeat))


def _rests(where: str, entries: Any, repeat: float) -> tuple[tuple[float, float], ...]:
    """Rests in order; each within the cycle and after the one before."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise SceneScriptError(f"{where}: rests = {entries!r}, expected a list")
    found: list[tuple[float, float]] = []
    free_from = 0.0
    for number, entry in enumerate(entries):
        place = f"{where}: rest {number}"
        if not isinstance(entry, Mapping):
            raise SceneScriptError(f"{place}: {entry!r}, expected a mapping with at and for")
        at = _number(place, entry, "at", free_from, repeat or 1e6)
        length = _number(place, entry, "for", SHORTEST_REST, (repeat or 1e6) - at)
        found.append((at, length))
        free_from = at + length
    return tuple(found)


def _influence(where: str, entry: Any) -> Influence:
    if not isinstance(entry, Mapping) or entry.get("kind") not in KINDS:
        raise SceneScriptError(f"{where}: {entry!r}, expected a kind out of {', '.join(KINDS)}")
    kind = str(entry["kind"])
    force = entry.get("force", (0.0, 0.0, 0.0))
    if not (isinstance(force, Sequence) and len(force) == 3) or np.abs(force).max() > MOST_FORCE:
        raise SceneScriptError(
            f"{where}: force = {force!r}, expected three numbers of at most {MOST_FORCE:g} N"
        )
    return Influence(
        kind,
        _number(where, entry, "at", 0.0, 1e6),
        _number(where, entry, "for", 0.0, 1e6),
        _number(where, entry, "mass", 0.0, HEAVIEST, default=0.0),
        (float(force[0]), float(force[1]), float(force[2])),
    )


def _number(
    where: str,
    entry: Mapping[str, Any],
    key: str,
    low: float,
    high: float,
    default: float | None = None,
) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise SceneScriptError(f"{where}: {key} = {value!r}, expected {low:g} to {high:g}")
    return float(value)


class SceneRunner:
    """Applies a script to a plant; called while the plant is being advanced."""

    def __init__(self, plant: ArmPlant, script: SceneScript) -> None:
        self._plant = plant
        self.script = script
        self._began: float | None = None
        self._mass = 0.0
        self._block = False

    def step(self) -> None:
        """Bring the scene to the plant's time."""
        core, time = self._plant.core, self._plant.time
        if self._began is None:
            self._began = time
        now = time - self._began
        weight = self.script.active(now, "payload")
        mass = weight[0].mass if weight is not None else 0.0
        if mass != self._mass:
            set_payload(core, 0, mass)
            self._mass = mass
        block = self.script.active(now, "block") is not None
        if block != self._block:
            set_block(core, 0, block)
            self._block = block
        force = core.forces[0, PUSH_SLOT]
        push = self.script.active(now, "push")
        if push is None:
            force["kind"] = KIND_NONE
            return
        item, since = push
        share = min(1.0, since / RAMP, max(0.0, (item.duration - since) / RAMP))
        force["kind"], force["on_tip"], force["body"] = KIND_FORCE, 1, core.scene.end_effector
        force["point"] = 0.0
        force["value"] = share * np.array(item.force)
        force["rate"] = 0.0
