# SPDX-License-Identifier: Apache-2.0
"""Fault scripts: which fault, when or upon what, for how long. YAML, checked as it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from na_sim.faults.catalogue import make_fault
from na_sim.faults.effect import Effect

SCHEMA = 1
TRIGGERS = ("torque_on", "torque_off", "moving", "at_rest")
_TIMING = ("fault", "at", "when", "after", "for")


class FaultScriptError(ValueError):
    """A script that cannot be used; the text names file, entry and what was expected."""


@dataclass(frozen=True)
class ScriptEntry:
    """One fault and when it happens.

    Attributes:
        name: of the fault, as in the catalogue.
        effect: the fault itself.
        at: begin this long after the script was started [s]; None with a trigger.
        when: begin upon the first occurrence of one of TRIGGERS; None with a time.
        after: begin this much later than the trigger [s].
        duration: end after so long [s]; infinite when the script does not say.

    """

    name: str
    effect: Effect
    at: float | None
    when: str | None
    after: float
    duration: float


@dataclass(frozen=True)
class FaultScript:
    """Entries in the order of the file."""

    entries: tuple[ScriptEntry, ...]


def load_script(path: str | Path) -> FaultScript:
    """Read a script; FaultScriptError when it is missing or wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FaultScriptError(
            f"fault script {path} cannot be read: {error.strerror}; expected a YAML file"
        ) from None
    return parse_script(text, str(path))


def parse_script(text: str, where: str = "fault script") -> FaultScript:
    """Return the script in the YAML document `text`; FaultScriptError naming `where` and entry."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise FaultScriptError(f"{where}: not YAML: {error}") from None
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise FaultScriptError(f"{where}: expected a mapping with `schema: {SCHEMA}`")
    unknown = sorted(set(document) - {"schema", "seed", "faults"})
    entries = document.get("faults")
    if unknown or not isinstance(entries, list) or not entries:
        raise FaultScriptError(
            f"{where}: expected `schema`, `seed` and a list `faults`, got {sorted(document)}"
        )
    seed = document.get("seed", 0)
    return FaultScript(
        tuple(_entry(raw, f"{where}: fault {i + 1}", seed) for i, raw in enumerate(entries))
    )


def _entry(raw: Any, where: str, seed: int) -> ScriptEntry:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("fault"), str):
        raise FaultScriptError(f"{where}: expected a mapping with the name of a `fault`")
    at, when = raw.get("at"), raw.get("when")
    if (at is None) == (when is None):
        raise FaultScriptError(f"{where}: expected either `at` [s] or `when`, not both or none")
    if when is not None and when not in TRIGGERS:
        raise FaultScriptError(f"{where}: when {when!r}, expected one of {', '.join(TRIGGERS)}")
    parameters = {key: value for key, value in raw.items() if key not in _TIMING}
    if "ids" in parameters:
        ids = parameters["ids"]
        if not isinstance(ids, list) or not all(isinstance(id, int) for id in ids):
            raise FaultScriptError(f"{where}: ids {ids!r}, expected a list of servo ids")
        parameters["ids"] = tuple(ids)
    parameters.setdefault("seed", seed)
    try:
        effect = make_fault(raw["fault"], **parameters)
    except (KeyError, ValueError, TypeError) as error:
        raise FaultScriptError(f"{where}: {error.args[0]}") from None
    return ScriptEntry(
        raw["fault"],
        effect,
        None if at is None else _seconds(at, f"{where}: at"),
        when,
        _seconds(raw.get("after", 0.0), f"{where}: after"),
        _seconds(raw.get("for", math.inf), f"{where}: for"),
    )


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0.0:
        raise FaultScriptError(f"{where} {value!r}, expected seconds, zero or more")
    return float(value)
