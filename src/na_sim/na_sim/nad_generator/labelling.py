# SPDX-License-Identifier: Apache-2.0
"""From logs to a recording: SI units, the emulated force sensor, and the labels for training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from na_core.nad.resampling import around
from na_core.raw_si import JointConversion
from na_sim.nad_generator.episode_plan import FT_SENSOR, GAUGE, PAYLOAD, EpisodePlan
from na_sim.nad_generator.force_sensor import ForceSensor
from na_sim.nad_generator.recording import Recording, Truth
from na_sim.payload import GRAVITY
from na_sim.servo.sensors import LOAD_FULL

if TYPE_CHECKING:
    from na_sim.nad_generator.runner import Batch, Logs

Array = NDArray[np.float64]


def _truth(logs: Logs, k: int, c: int) -> Truth:
    return Truth(
        force=logs.force[:c, k].copy(),
        torque=logs.torque[:c, k].copy(),
        elsewhere=logs.elsewhere[:c, k].copy(),
        band=logs.band[:c, k].copy(),
        position=logs.position[:c, k].copy(),
        velocity=logs.velocity[:c, k].copy(),
        motor_torque=logs.state["motor_torque"][:c, k].copy(),
        gear_torque=logs.state["gear_torque"][:c, k].copy(),
        winding=logs.state["winding"][:c, k].copy(),
        housing=logs.state["housing"][:c, k].copy(),
        rotation=logs.rotation[:c, k].reshape(c, 3, 3).copy(),
    )


def _sensor(
    plan: EpisodePlan, logs: Logs, k: int, times: Array, truth: Truth, dt: float
) -> tuple[Array, Array]:
    """Samples (S,) [s] and (S, 6) of the emulated sensor in the end-effector frame."""
    wanted = np.isin(plan.label_source, (FT_SENSOR, GAUGE))
    if not wanted.any() or not logs.ft[k]:
        return np.zeros(0), np.zeros((0, 6))
    base = np.concatenate(logs.ft[k])
    at = np.concatenate(logs.ft_step[k]) * dt
    keep = at <= times[-1]
    base, at = base[keep], at[keep]
    nearest = np.clip(np.searchsorted(times, at), 0, len(times) - 1)
    rotation = truth.rotation[nearest]
    local = np.concatenate(
        [
            np.einsum("sij,si->sj", rotation, base[:, :3]),
            np.einsum("sij,si->sj", rotation, base[:, 3:]),
        ],
        axis=1,
    )
    sensor = ForceSensor(np.random.default_rng([*plan.seed, 0xF7]))
    return at, sensor.measure(local, at)


def _labels(
    plan: EpisodePlan, times: Array, at: Array, wrench: Array, truth: Truth
) -> tuple[Array, Array]:
    """ForceLabel forces (T, 3) in base axes and masses (T,)."""
    force = np.full((plan.ticks, 3), np.nan)
    mass = np.full(plan.ticks, np.nan)
    payload = plan.label_source == PAYLOAD
    mass[payload] = plan.payload * plan.label_share[payload]
    force[payload] = 0.0
    force[payload, 2] = -mass[payload] * GRAVITY
    sensed = np.isin(plan.label_source, (FT_SENSOR, GAUGE))
    if sensed.any() and len(at):
        mean = around(at, wrench[:, :3], times, float(np.median(np.diff(times))))
        rotated = np.einsum("tij,tj->ti", truth.rotation, mean)
        force[sensed] = rotated[sensed]
    return force, mass


def settled(plan: EpisodePlan) -> NDArray[np.bool_]:
    """Whether the load hangs fully or not at all (T,): only then is a payload label valid."""
    share = plan.label_share
    return np.asarray((plan.label_source != PAYLOAD) | (share <= 0.0) | (share >= 1.0))


def _leader(batch: Batch, plan: EpisodePlan, times: Array) -> tuple[Array, Array]:
    """Leader positions and velocities (T, n) as its servos report them."""
    conversion = JointConversion(batch.robot)
    raw = conversion.raw_from_position(np.clip(plan.leader, batch.robot.lower, batch.robot.upper))
    position = conversion.position_from_raw(raw)
    rate = np.gradient(position, times, axis=0)
    velocity = conversion.velocity_from_raw(conversion.raw_from_velocity(rate))
    return position, velocity


def finish(batch: Batch, logs: Logs, k: int, times: Array) -> Recording:
    """Turn the logs of episode `k` into a Recording; `times` (T,) [s] of its ticks."""
    plan = batch.plans[k]
    c = plan.ticks
    conversion = JointConversion(batch.robot)
    raw = {name: log[:c, k] for name, log in logs.registers.items()}
    drive = raw["present_pwm"] / batch.core.parameters[k]["pwm_full"] * LOAD_FULL
    truth = _truth(logs, k, c)
    at, wrench = _sensor(plan, logs, k, times, truth, batch.core.dt)
    force, mass = _labels(plan, times, at, wrench, truth)
    leader, leader_velocity = _leader(batch, plan, times)
    recording = Recording(
        plan=plan,
        step_time=times,
        goal_requested=batch.requested[:c, k].copy(),
        goal_sent=batch.sent[:c, k].copy(),
        goal_register=conversion.position_from_raw(batch.goal[:c, k].astype(np.int64)),
        position=conversion.position_from_raw(raw["present_position"]),
        velocity=conversion.velocity_from_raw(raw["present_velocity"]),
        current=conversion.current_from_raw(raw["present_current"]),
        load=conversion.load_from_raw(np.rint(drive)),
        voltage=conversion.voltage_from_raw(raw["present_input_voltage"]),
        temperature=conversion.temperature_from_raw(raw["present_temperature"]),
        leader_position=leader,
        leader_velocity=leader_velocity,
        ft_time=at,
        ft_wrench=wrench,
        label_force=force,
        label_mass=mass,
        label_source=plan.label_source,
        label_valid=plan.label_valid & settled(plan),
        truth=truth,
    )
    return recording.trimmed(plan.lead_in)
