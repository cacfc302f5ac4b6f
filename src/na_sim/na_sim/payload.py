# SPDX-License-Identifier: Apache-2.0
"""Things carried by the end effector: a mass at its origin, a block between the fingers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco

from na_sim.scene import ARM, NOTHING, WORLD

if TYPE_CHECKING:
    from na_sim.plant_core import PlantCore

GRAVITY = 9.80665  # m/s^2
NO_MASS = 1e-9  # kg; a body must weigh something
HEAVIEST = 3.0  # kg
GYRATION = 0.018  # m, radius of gyration of a carried thing


def set_payload(core: PlantCore, episode: int, mass: float) -> None:
    """Let one episode's end effector carry `mass` [kg], or nothing with 0.

    Raises ValueError for a mass outside 0..HEAVIEST.
    """
    if not 0.0 <= mass <= HEAVIEST:
        raise ValueError(f"payload {mass} kg: expected 0 to {HEAVIEST} kg")
    model = core.models[episode]
    body = core.scene.payload
    new = max(mass, NO_MASS)
    change = new - float(model.body_mass[body])
    model.body_mass[body] = new
    model.body_inertia[body] = new * GYRATION**2
    walk = body
    while walk:
        model.body_subtreemass[walk] += change
        walk = int(model.body_parentid[walk])
    model.body_subtreemass[0] += change
    core.truth[episode]["payload_known"] = 0


def set_block(core: PlantCore, episode: int, present: bool) -> None:
    """Put a weightless block between the fingers, or take it away.

    The block is fixed to the end effector: fingers that close feel it, and squeeze it.
    """
    model = core.models[episode]
    geom = core.scene.grasp_geom
    kind, meets = (WORLD, ARM) if present else (0, NOTHING)
    model.geom_contype[geom], model.geom_conaffinity[geom] = kind, meets
    # MuJoCo sorts out whole bodies first, by the union of their geoms' bits.
    body = int(model.geom_bodyid[geom])
    model.body_contype[body], model.body_conaffinity[body] = kind, meets


def forward(core: PlantCore, episode: int) -> None:
    """Recompute positions of all bodies of one episode without stepping."""
    mujoco.mj_forward(core.models[episode], core.data[episode])
