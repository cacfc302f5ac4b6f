# SPDX-License-Identifier: Apache-2.0
"""Turns an order into episode plans: path, forces, loads, labels."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from na_sim.nad_generator import free_tasks, load_tasks, push_tasks
from na_sim.nad_generator.catalogue import Order
from na_sim.nad_generator.dithering import dither_path
from na_sim.nad_generator.episode_plan import (
    FT_SENSOR,
    GAUGE,
    BandPlan,
    EpisodePlan,
    PushPlan,
)
from na_sim.nad_generator.gripping import (
    Grip,
    constant_block,
    draw_grip,
    fidget,
    grip_approach,
    with_grip,
)
from na_sim.nad_generator.strata import choose, normal_quantile, stratum
from na_sim.nad_generator.workshop import GRIPPER_SHARES, GRIPPER_STYLES, Workshop

Array = NDArray[np.float64]
Rng = np.random.Generator
Builder = Callable[[Workshop, np.random.Generator, Order, "Maker"], list[EpisodePlan]]

FAST_PACE = 1.7
WEIGHT = 0.2  # kg, the weight of the condition task
BAND_STIFFNESS = (0.35, 1.4)  # N m/rad in training
UNSEEN_BAND_STIFFNESS = ((0.2, 0.33), (1.5, 2.2))
PUSH_POINT_SPREAD = 0.006  # m, around the end-effector origin
LONGEST_LEAD_IN = 18.0  # s, about one cycle of the tasks
FIDGET_SHARE = 0.7  # of the episodes whose gripper may act
LOADED_STYLES = {  # of GRIPPER_STYLES
    "pick_and_place": (0.16, 0.05, 0.46, 0.33),
    "go_up_and_stay": (0.56, 0.08, 0.24, 0.12),
}
EMPTY_STYLES = (0.65, 0.2, 0.1, 0.05)
SUPPLY_SPREAD = 0.15  # V, standard deviation of the open-circuit supply between episodes
DITHER_SHARE = 0.5  # of hold episodes, when dither is asked for


class Maker:
    """Names, seeds and common parts of the plans of one order."""

    def __init__(self, shop: Workshop, order: Order, seed: int, arm: int, *, dither: bool) -> None:
        self.shop = shop
        self.order = order
        self.arm = order.row.arm if order.row.arm is not None else arm
        self.dither = dither
        code = zlib.crc32(order.row.key.encode())
        self.seeds = (seed, self.arm, code, order.index)
        self.rng = np.random.default_rng(self.seeds)
        self.lead_in = round(
            LONGEST_LEAD_IN * shop.rate * self.stratum("lead_in") / max(shop.pace, 1.0)
        )
        self.ticks = shop.ticks(order.seconds) + self.lead_in

    def name(self, suffix: str = "") -> str:
        """Directory name of the episode."""
        row = self.order.row
        text = f"{row.category}-{row.task}-{row.variant}{suffix}-{self.order.index:03d}"
        return text.replace("+", "pos_").replace("/", "_")

    def stratum(self, quantity: str, suffix: str = "") -> float:
        """Evenly spread number in 0..1 for this episode, see strata.py."""
        return stratum(quantity, self.order.row.key + suffix, self.seeds[0], self.order.index)

    def grip(self, style: str | None = None, suffix: str = "", rng: Rng | None = None) -> Grip:
        """Gripper use of this episode; styles come in even shares."""
        chosen = style or choose(self.stratum("gripper", suffix), GRIPPER_STYLES, GRIPPER_SHARES)
        spread = (self.stratum("grip_open", suffix), self.stratum("grip_shut", suffix))
        return draw_grip(self.shop, rng or self.rng, chosen, spread)

    def plan(self, path: Array, grip: Grip, **changes: object) -> EpisodePlan:
        """A plan with tremor, start temperature and identity filled in."""
        suffix = str(changes.pop("suffix", ""))
        row = self.order.row
        variant = str(changes.pop("variant", row.variant))
        block = cast("NDArray[np.bool_] | None", changes.pop("block", None))
        if block is None:
            path, block = self._with_gripper(path, grip, row.task)
        number = len(suffix)
        values: dict[str, object] = {
            "category": row.category,
            "task": row.task,
            "variant": variant,
            "name": self.name(suffix),
            "seed": (*self.seeds, number),
            "leader": self.shop.tremble(self.rng, path),
            "housing": self.shop.housing(self.rng, self.stratum("temperature", suffix)),
            "lead_in": self.lead_in,
            "approach": grip_approach(self.rng, grip, path, bool(block[0])),
            "supply": SUPPLY_SPREAD * normal_quantile(self.stratum("supply", suffix)),
            "split_group": self.name(),
            "block": block,
            "notes": f"gripper {grip.style}",
            **changes,
        }
        return EpisodePlan(**values)  # type: ignore[arg-type]

    def _with_gripper(self, path: Array, grip: Grip, task: str) -> tuple[Array, NDArray[np.bool_]]:
        """Let an acting gripper open and close during the episode, most of the time."""
        moves = task == "joint_sweep" and grip.style == "idle_open"
        if grip.index is None or not grip.acts or moves or self.rng.uniform() > FIDGET_SHARE:
            return path, constant_block(grip, len(path))
        out = path.copy()
        out[:, grip.index], block = fidget(self.shop, self.rng, grip, len(path))
        return out, block

    def full(self, value: int) -> NDArray[np.uint8]:
        """Label source (T,) constant over the episode."""
        return np.full(self.ticks, value, np.uint8)


def _mass_of(variant: str) -> float:
    """Payload [kg] that a variant such as "300g" or "hook_200g" names; 0 for none."""
    text = variant.rsplit("_", 1)[-1]
    return float(text[:-1]) / 1000.0 if text.endswith("g") and text[:-1].isdigit() else 0.0


def _free(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    task, variant = order.row.task, order.row.variant
    grip = maker.grip()
    if task == "circle":
        sense = 1 if variant == "counter_clockwise" else -1
        path = free_tasks.circle(shop, rng, maker.ticks, grip, sense)
    elif task == "joint_sweep":
        joint = min(int(variant.rsplit("_", 1)[-1]), shop.robot.n) - 1
        if joint == shop.robot.gripper_index:
            grip = draw_grip(shop, rng, "idle_open")
        path = free_tasks.joint_sweep(shop, rng, maker.ticks, grip, joint)
    elif task == "lean":
        path = free_tasks.lean(shop, rng, maker.ticks, grip)
    else:
        path = free_tasks.wander(shop, rng, maker.ticks, grip)
    if variant == "pushed":
        push = _tip_push(shop, rng, push_tasks.hand_forces(shop, rng, maker.ticks))
        return [maker.plan(path, grip, push=push, label_source=maker.full(FT_SENSOR))]
    if (mass := _mass_of(variant)) > 0.0:
        carry = load_tasks.put_on_and_off(shop, rng, maker.ticks)
        return [
            maker.plan(
                path,
                grip,
                payload=mass,
                mass=np.where(carry.carried, mass, 0.0),
                support=False,
                label_share=carry.share,
                label_valid=carry.valid,
            )
        ]
    return [maker.plan(path, grip)]


def _load(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    row = order.row
    mass = _mass_of(row.variant)
    style = None
    if row.variant == "foam":
        style = "grasp"
    elif row.variant.startswith("hook"):
        style = str(rng.choice(["idle_open", "idle_closed"]))
    else:
        # There is more lifting with loads than without: shares that level out what a closed
        # gripper tells.
        shares = EMPTY_STYLES if mass == 0.0 else LOADED_STYLES[row.task]
        style = choose(maker.stratum("gripper"), GRIPPER_STYLES, shares)
    grip = maker.grip(style)
    build = load_tasks.pick_and_place if row.task == "pick_and_place" else load_tasks.go_up_and_stay
    carry = build(shop, rng, maker.ticks, grip)
    plan = maker.plan(
        carry.path,
        grip,
        payload=mass,
        mass=np.where(carry.carried, mass, 0.0),
        block=carry.block,
        label_share=carry.share if mass > 0.0 else np.zeros(maker.ticks),
        label_valid=carry.valid if mass > 0.0 else np.ones(maker.ticks, bool),
        notes=f"gripper {grip.style}; load {'on a hook' if not grip.acts and mass else 'grasped'}"
        if mass > 0.0
        else f"gripper {grip.style}",
    )
    return [plan]


def _push(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    row = order.row
    direction = np.array(push_tasks.DIRECTIONS[row.variant])
    tilt = direction + 0.12 * rng.standard_normal(3)
    tilt = tilt / np.linalg.norm(tilt)
    by_arm = order.index % 2 == 0
    pair = maker.name()
    plans = []
    state = rng.bit_generator.state
    for contact in (True, False):
        # Both trials follow the same intention; the operator's hand and gripper differ.
        rng.bit_generator.state = state
        suffix = "-contact" if contact else "-repeat"
        own = np.random.default_rng([*maker.seeds, int(contact), 7])
        grip = maker.grip(suffix=suffix, rng=own)
        if by_arm:
            pressing = push_tasks.press(shop, rng, maker.ticks, grip, tilt)
            path, plane, push = pressing.path, pressing.plane if contact else None, None
        else:
            path, _ = push_tasks.held_poses(shop, rng, maker.ticks, grip, (8.0, 30.0))
            force = push_tasks.hand_forces(shop, rng, maker.ticks, direction=-tilt)
            plane, push = None, _tip_push(shop, rng, force) if contact else None
        maker.rng = np.random.default_rng([*maker.seeds, int(contact), 11])
        plans.append(
            maker.plan(
                path,
                grip,
                suffix=suffix,
                variant=f"{row.variant}_{'contact' if contact else 'no_contact'}",
                pair_id=pair,
                split_group=pair,
                plane=plane,
                push=push,
                label_source=maker.full(FT_SENSOR),
                notes=f"{'pressed by the arm' if by_arm else 'pushed by hand'}; "
                f"gripper {grip.style}",
            )
        )
    return plans


def _tip_push(shop: Workshop, rng: np.random.Generator, force: Array) -> PushPlan:
    point = rng.normal(0.0, PUSH_POINT_SPREAD, 3)
    return PushPlan(force, shop.robot.end_effector_frame, point)


def _hold(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    grip = maker.grip()
    path, spans = push_tasks.held_poses(shop, rng, maker.ticks, grip, (14.0, 20.0))
    push = None
    if order.row.variant == "pushed":
        push = _tip_push(shop, rng, push_tasks.hand_forces(shop, rng, maker.ticks))
    dither = np.zeros((0, 0))
    variant = order.row.variant
    if maker.dither and rng.uniform() < DITHER_SHARE:
        dither = dither_path(shop, rng, maker.ticks, spans)
        variant = f"{variant}_dithered"
    return [
        maker.plan(
            path,
            grip,
            variant=variant,
            push=push,
            dither=dither,
            label_source=maker.full(FT_SENSOR),
        )
    ]


def _gauge(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    height_name, axis = order.row.variant.rsplit("_", 1)
    height = {"low": 0.06, "middle": 0.14, "high": 0.22}[height_name]
    direction = np.array(push_tasks.DIRECTIONS[axis])
    grip = maker.grip()
    base = with_grip(shop.pose_at(rng, (0.20, 0.25), (height - 0.01, height + 0.01)), grip)
    pressing = push_tasks.press(
        shop,
        rng,
        maker.ticks,
        grip,
        direction,
        stiffness=(15000.0, 25000.0),
        base=base,
        force=(0.4, 3.5),
        dwell=(2.5, 4.5),
    )
    return [maker.plan(pressing.path, grip, plane=pressing.plane, label_source=maker.full(GAUGE))]


def _condition(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    variant = order.row.variant
    restricted = variant.startswith("restricted")
    mass = WEIGHT if variant.endswith("_weight") and not variant.endswith("no_weight") else 0.0
    grip = maker.grip()
    path = free_tasks.wander(shop, rng, maker.ticks, grip)
    choices = [j for j in shop.arm if j > 0]
    joint = int(choices[order.index % len(choices)])
    band = None
    if restricted:
        stiffness = rng.uniform(*BAND_STIFFNESS)
        if order.row.category == "restricted_unseen":
            stiffness = rng.uniform(*UNSEEN_BAND_STIFFNESS[order.index % 2])
        offset = float(np.median(path[:, joint]) + rng.normal(0.0, 0.25))
        band = BandPlan(joint, stiffness, offset, 0.02)
    note = f"band on joint {joint + 1}" if restricted else "no band"
    return [
        maker.plan(
            path,
            grip,
            variant=f"{variant}_joint_{joint + 1}" if restricted else variant,
            band=band,
            payload=mass,
            mass=np.full(maker.ticks, mass),
            label_share=np.full(maker.ticks, 1.0 if mass else 0.0),
            notes=f"{note}; gripper {grip.style}",
        )
    ]


def _push_link(shop: Workshop, rng: Rng, order: Order, maker: Maker) -> list[EpisodePlan]:
    grip = maker.grip()
    path, _ = push_tasks.held_poses(shop, rng, maker.ticks, grip, (10.0, 18.0))
    force = push_tasks.hand_forces(shop, rng, maker.ticks, peak=(1.0, 10.0))
    body, point = link_point(shop, order.row.variant, rng)
    push = PushPlan(force, body, point, on_tip=False)
    return [maker.plan(path, grip, push=push, label_source=maker.full(FT_SENSOR))]


def link_point(shop: Workshop, variant: str, rng: np.random.Generator) -> tuple[str, Array]:
    """Body and point (3,) [m] in its frame where a push on a link other than the tip acts."""
    model = shop.reach.model
    dof = shop.reach.scene.dof
    arm = shop.arm
    body = int(model.dof_bodyid[dof[arm[2] if variant == "forearm" else arm[1]]])
    child = int(model.dof_bodyid[dof[arm[3] if variant == "forearm" else arm[2]]])
    along = np.array(model.body_pos[child])  # the next joint's origin in this link
    return str(model.body(body).name), along * rng.uniform(0.3, 0.9)


BUILDERS: dict[str, Builder] = {
    "circle": _free,
    "joint_sweep": _free,
    "lean": _free,
    "wander": _free,
    "pick_and_place": _load,
    "go_up_and_stay": _load,
    "push": _push,
    "hold": _hold,
    "gauge": _gauge,
    "motor_condition": _condition,
    "push_link": _push_link,
}


def build_plans(
    shop: Workshop, order: Order, seed: int, arm: int, *, dither: bool = False
) -> list[EpisodePlan]:
    """Plans of one order, the same for the same seed, arm and order."""
    pace = FAST_PACE if order.row.category == "fast" else 1.0
    anywhere = order.row.category == "anywhere"
    shop = Workshop(shop.robot, shop.reach, shop.rate, pace, anywhere)
    maker = Maker(shop, order, seed, arm, dither=dither)
    return BUILDERS[order.row.task](shop, maker.rng, order, maker)
