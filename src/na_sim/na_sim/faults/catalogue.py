# SPDX-License-Identifier: Apache-2.0
"""The names of all faults, as scripts use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from na_sim.faults.effect import Effect
from na_sim.faults.in_the_servo import (
    BrownOut,
    EepromLocked,
    EncoderWrap,
    ErrorBits,
    MultiTurn,
    NoFastReads,
    OverheatLatch,
    OverloadLatch,
    PowerOnTurn,
    RepeatedValues,
    ReturnDelay,
    StatusError,
    StuckEncoder,
)
from na_sim.faults.on_the_wire import (
    CablePulled,
    CorruptBytes,
    DelayBytes,
    DropBytes,
    DuplicateBytes,
    LatencyTimer,
    Silent,
)

FAULTS: Mapping[str, type[Effect]] = {
    "corrupt_bytes": CorruptBytes,
    "drop_bytes": DropBytes,
    "duplicate_bytes": DuplicateBytes,
    "delay_bytes": DelayBytes,
    "latency_timer": LatencyTimer,
    "silent": Silent,
    "cable_pulled": CablePulled,
    "status_error": StatusError,
    "brown_out": BrownOut,
    "hardware_error": ErrorBits,
    "overload": OverloadLatch,
    "overheat": OverheatLatch,
    "encoder_wrap": EncoderWrap,
    "multi_turn": MultiTurn,
    "power_on_turn": PowerOnTurn,
    "stuck_encoder": StuckEncoder,
    "repeated_values": RepeatedValues,
    "return_delay": ReturnDelay,
    "eeprom_locked": EepromLocked,
    "no_fast_reads": NoFastReads,
}


def parameters_of(name: str) -> tuple[str, ...]:
    """Return the parameters that the fault `name` takes; KeyError naming the faults there are."""
    if name not in FAULTS:
        raise KeyError(f"no fault {name!r}; there are {', '.join(FAULTS)}")
    return tuple(f.name for f in fields(FAULTS[name]) if f.init)


def make_fault(name: str, **parameters: Any) -> Effect:
    """Return a fault by name; KeyError for unknown names, ValueError for values out of range."""
    known = parameters_of(name)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise KeyError(
            f"fault {name!r} has no parameter {', '.join(unknown)}; it takes {', '.join(known)}"
        )
    return FAULTS[name](**parameters)
