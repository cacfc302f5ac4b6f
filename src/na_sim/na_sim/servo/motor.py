# SPDX-License-Identifier: Apache-2.0
"""DC motor: winding current and torque from the duty of the bridge (inductance neglected)."""

from __future__ import annotations

from typing import Any

from na_sim.servo.jit import compiled

REFERENCE_TEMPERATURE = 25.0  # degC, at which resistance and torque constant are given


@compiled
def winding_resistance(p: Any, temperature: float) -> float:
    """Resistance [ohm] at winding temperature [degC]."""
    return float(p.resistance * (1.0 + p.copper * (temperature - REFERENCE_TEMPERATURE)))


@compiled
def torque_constant(p: Any, temperature: float) -> float:
    """Torque constant [N m/A] = back-EMF constant [V s/rad] at winding temperature [degC]."""
    return float(p.torque_constant * (1.0 + p.magnet * (temperature - REFERENCE_TEMPERATURE)))


@compiled
def winding_current(volts: float, constant: float, resistance: float, velocity: float) -> float:
    """Current [A] = (V - Ke w) / R; the electrical time constant (<0.3 ms) is neglected."""
    return (volts - constant * velocity) / resistance


@compiled
def duty_window(
    limit: float, volts: float, constant: float, resistance: float, velocity: float
) -> tuple[float, float]:
    """Range of duty that keeps |current| <= `limit` [A] at supply `volts` [V], rotor [rad/s]."""
    centre = constant * velocity / volts
    span = resistance * limit / volts
    return centre - span, centre + span
