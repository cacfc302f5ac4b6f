# SPDX-License-Identifier: Apache-2.0
"""What the keys of the recorder's keyboard front end mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from na_teleop.recorder.session import RELABELS


class Key(Enum):
    """Actions of the front end."""

    START = "start"
    KEEP = "stop and keep"
    DISCARD = "discard"
    REDO = "discard and redo"
    RELABEL = "relabel"
    LABEL = "force label"
    HELP = "help"
    QUIT = "quit"


KEYS: dict[str, Key] = {
    "s": Key.START,
    "k": Key.KEEP,
    " ": Key.KEEP,
    "d": Key.DISCARD,
    "r": Key.REDO,
    "l": Key.RELABEL,
    "f": Key.LABEL,
    "?": Key.HELP,
    "h": Key.HELP,
    "q": Key.QUIT,
    "\x03": Key.QUIT,
    "\x04": Key.QUIT,
}


def help_text() -> str:
    """Return the lines shown at start."""
    keys: dict[Key, list[str]] = {}
    for key, action in KEYS.items():
        if key.isprintable():
            keys.setdefault(action, []).append("space" if key == " " else key)
    lines = [f"  {' or '.join(names):<12} {action.value}" for action, names in keys.items()]
    return "\n".join(["recorder keys:", *lines])


@dataclass(frozen=True)
class Change:
    """One relabelling: a parameter of the recorder and its new value."""

    name: str
    value: str | float


def parse_relabel(text: str) -> Change:
    """Parse `field=value`, as in `task=pick` or `payload=0.2` [kg].

    ValueError names the fields that exist.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or name not in RELABELS:
        raise ValueError(f"{text!r}: expected FIELD=VALUE with one of {', '.join(RELABELS)}")
    if name == "payload":
        try:
            return Change(name, float(value))
        except ValueError:
            raise ValueError(f"payload {value!r}: expected a mass in kg, or nan") from None
    return Change(name, value.strip())


@dataclass(frozen=True)
class Label:
    """A force label typed by the operator: hanging mass [kg], or None for 'nothing is known'."""

    mass: float | None


def parse_label(text: str) -> Label:
    """Parse a hanging mass in kg, or `none`; ValueError says what is expected."""
    word = text.strip().lower()
    if word in ("none", "-"):
        return Label(None)
    try:
        mass = float(word)
    except ValueError:
        raise ValueError(f"{text!r}: expected a mass in kg, or none") from None
    if not 0.0 <= mass < 100.0:
        raise ValueError(f"{mass} kg: expected 0 to 100 kg")
    return Label(mass)
