# SPDX-License-Identifier: Apache-2.0
"""Faults of cables, adapters and servos, scripted by time or trigger: see docs/emulator.md."""

from na_sim.faults.effect import Effect, FaultTarget
from na_sim.faults.injector import FaultInjector
from na_sim.faults.runner import FaultRunner
from na_sim.faults.script import FaultScript, FaultScriptError, load_script, parse_script

__all__ = [
    "Effect",
    "FaultInjector",
    "FaultRunner",
    "FaultScript",
    "FaultScriptError",
    "FaultTarget",
    "load_script",
    "parse_script",
]
