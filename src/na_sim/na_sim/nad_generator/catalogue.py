# SPDX-License-Identifier: Apache-2.0
"""What is generated: categories, tasks, variants and their share of the minutes.

The first three training categories follow the paper's accounting (34.15, 46.24 and 14.13 min at
58.6 Hz); how the minutes of a category are divided among its tasks is ours, and so are `holds` and
`anywhere` (poses outside the tasks' workspace; loads and pushes whatever the arm is doing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from na_sim.nad_generator.strata import stratum

PAPER_MINUTES = {"free_motion": 34.15, "force_labelled": 46.24, "condition": 14.13}
PAPER_TOTAL = sum(PAPER_MINUTES.values())  # 94.52
TRAINING_CATEGORIES = ("free_motion", "force_labelled", "condition", "holds", "anywhere")
SUITES = (
    "gauge",
    "unseen_mass",
    "fast",
    "foam",
    "hook",
    "second_arm",
    "adapt",
    "whole_arm",
    "no_contact_long",
    "restricted_unseen",
)
# Minutes of a category when no --minutes is given.
DEFAULT_MINUTES: dict[str, float] = {
    **PAPER_MINUTES,
    "holds": 60.0,
    "anywhere": 60.0,
    "gauge": 12.0,
    "unseen_mass": 15.0,
    "fast": 10.0,
    "foam": 8.0,
    "hook": 8.0,
    "second_arm": 30.0,
    "adapt": 3.5,
    "whole_arm": 8.0,
    "no_contact_long": 30.0,
    "restricted_unseen": 8.0,
}
SHORTEST = 4.0  # s; few --minutes give more than was asked for rather than useless stumps
LENGTH = 30.0  # s, about how long one episode is
PUSH_NAMES = ("+x", "-x", "+y", "-y", "+z", "-z")
MASSES = (100, 200, 300, 400, 500)  # g
UNSEEN_MASSES = (50, 250, 350, 450, 600)  # g
RESTRICTIONS = ("restricted", "unrestricted")
LOADS = ("no_weight", "weight")


@dataclass(frozen=True)
class Row:
    """One line of the accounting table before it is divided into episodes.

    Attributes:
        category: category or suite.
        task: task name.
        variant: variant name.
        share: part of the category's minutes.
        arm: unit to use, None for the run's own.
        length: about how long one episode is [s].
    """

    category: str
    task: str
    variant: str
    share: float
    arm: int | None = None
    length: float = LENGTH

    @property
    def key(self) -> str:
        """Text that identifies the row."""
        return f"{self.category}/{self.task}/{self.variant}"


def _free_motion(category: str = "free_motion") -> list[Row]:
    rows = [
        ("circle", "counter_clockwise", 0.12),
        ("circle", "clockwise", 0.12),
        *[("joint_sweep", f"joint_{k}", 0.065) for k in range(1, 6)],
        ("lean", "back_forward", 0.115),
        ("pick_and_place", "empty", 0.2),
        ("go_up_and_stay", "empty", 0.12),
    ]
    return [Row(category, *row) for row in rows]


def _masses(category: str, masses: tuple[int, ...], share: float) -> list[Row]:
    each = share / len(masses)
    return [
        Row(category, task, f"{mass}g", each * part)
        for task, part in (("go_up_and_stay", 0.45), ("pick_and_place", 0.55))
        for mass in masses
    ]


def _pushes(category: str, share: float) -> list[Row]:
    each = share / len(PUSH_NAMES)
    return [Row(category, "push", name, each) for name in PUSH_NAMES]


def _condition() -> list[Row]:
    return [
        Row("condition", "motor_condition", f"{state}_{load}", 0.25)
        for state in RESTRICTIONS
        for load in LOADS
    ]


def _with_arm(rows: list[Row], category: str, arm: int, factor: float) -> list[Row]:
    return [Row(category, r.task, r.variant, r.share * factor, arm, r.length) for r in rows]


def rows_of(category: str) -> list[Row]:
    """Accounting rows of one category or suite; shares add up to 1.

    Raises ValueError for an unknown name.
    """
    if category == "free_motion":
        return _free_motion()
    if category == "force_labelled":
        return _masses(category, MASSES, 0.58) + _pushes(category, 0.42)
    if category == "condition":
        return _condition()
    if category == "holds":
        return [
            Row(category, "hold", "pushed", 0.85),
            Row(category, "hold", "quiet", 0.15),
        ]
    if category == "anywhere":
        return [
            Row(category, "wander", "empty", 0.25),
            *[Row(category, "wander", f"{mass}g", 0.07) for mass in MASSES],
            Row(category, "wander", "pushed", 0.2),
            Row(category, "hold", "pushed", 0.2),
        ]
    if category == "gauge":
        return [
            Row(category, "gauge", f"{height}_{axis}", 1.0 / 6.0, None, 20.0)
            for height in ("low", "middle", "high")
            for axis in ("-z", "+x")
        ]
    if category == "unseen_mass":
        return _masses(category, UNSEEN_MASSES, 1.0)
    if category == "fast":
        return [
            Row(category, "wander", "empty", 0.4),
            Row(category, "pick_and_place", "300g", 0.3),
            Row(category, "push", "-z", 0.15),
            Row(category, "push", "+x", 0.15),
        ]
    if category == "foam":
        return [Row(category, "pick_and_place", "foam", 1.0)]
    if category == "hook":
        return [Row(category, "go_up_and_stay", f"hook_{mass}g", 0.25) for mass in MASSES[:4]]
    if category == "second_arm":
        mixed = (
            _scaled(_free_motion(), 0.3)
            + _masses("force_labelled", (100, 300, 500), 0.3)
            + _pushes("force_labelled", 0.2)
            + _scaled(_condition(), 0.2)
        )
        return _with_arm(mixed, category, 1, 1.0)
    if category == "adapt":
        mixed = [
            Row(category, "wander", "empty", 0.6),
            Row(category, "go_up_and_stay", "200g", 0.4),
        ]
        return _with_arm(mixed, category, 1, 1.0)
    if category == "whole_arm":
        return [
            Row(category, "push_link", "forearm", 0.5),
            Row(category, "push_link", "upper", 0.5),
        ]
    if category == "no_contact_long":
        return [
            Row(category, "wander", "empty", 0.4, None, 120.0),
            Row(category, "pick_and_place", "empty", 0.3, None, 120.0),
            Row(category, "hold", "quiet", 0.3, None, 120.0),
        ]
    if category == "restricted_unseen":
        return [
            Row(category, "motor_condition", f"{state}_{load}", 0.25)
            for state in RESTRICTIONS
            for load in LOADS
        ]
    known = ", ".join((*TRAINING_CATEGORIES, *SUITES))
    raise ValueError(f"category {category!r} is unknown; expected some of {known}")


def _scaled(rows: list[Row], factor: float) -> list[Row]:
    return [Row(r.category, r.task, r.variant, r.share * factor, r.arm, r.length) for r in rows]


@dataclass(frozen=True)
class Order:
    """One thing to generate: an episode, or a contact trial with its repeat.

    Attributes:
        row: the accounting row.
        index: number within the row.
        seconds: length of each episode [s].
    """

    row: Row
    index: int
    seconds: float


def orders(
    categories: tuple[str, ...], minutes: float | None, tasks: tuple[str, ...] = ()
) -> list[Order]:
    """Divide the minutes among rows and episodes.

    `minutes` is the total over all `categories`, shared in proportion to DEFAULT_MINUTES; None
    takes those as they are; no episode is shorter than SHORTEST. A row of pushes yields two
    episodes (contact and repeat) per order. With `tasks`, only rows of these tasks are made, and
    the minutes are theirs. Raises ValueError for an unknown category or a task that none has.
    """
    chosen = {name: rows_of(name) for name in categories}
    if tasks:
        known = sorted({row.task for rows in chosen.values() for row in rows})
        absent = [task for task in tasks if task not in known]
        if absent:
            raise ValueError(
                f"task {absent[0]!r} is in none of the categories {', '.join(categories)}; "
                f"expected some of {', '.join(known)}"
            )
        chosen = {name: [row for row in rows if row.task in tasks] for name, rows in chosen.items()}
    part = {name: sum(r.share for r in rows) if tasks else 1.0 for name, rows in chosen.items()}
    total = sum(DEFAULT_MINUTES[name] * part[name] for name in categories)
    out = []
    for name, rows in chosen.items():
        budget = DEFAULT_MINUTES[name] * (1.0 if minutes is None else minutes / total) * 60.0
        for row in rows:
            per_order = 2.0 if is_pair(row) else 1.0
            seconds = budget * row.share / per_order
            count = max(round(seconds / row.length), 1)
            # Lengths of every kind follow one distribution, or the time since the start of an
            # episode would tell what kind it is.
            parts = np.array(
                [0.65 + 0.7 * stratum("length", row.key, 0, index) for index in range(count)]
            )
            lengths = np.maximum(seconds * parts / parts.sum(), SHORTEST)
            out += [Order(row, index, float(each)) for index, each in enumerate(lengths)]
    return out


def is_pair(row: Row) -> bool:
    """Whether an order of this row makes a contact trial and its no-contact repeat."""
    return row.task == "push"
