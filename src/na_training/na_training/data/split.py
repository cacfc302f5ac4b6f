# SPDX-License-Identifier: Apache-2.0
"""Training and validation by split group: one trajectory is never on both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from na_training.data.episode import DataError, Episode


def split_by_group(
    episodes: Sequence[Episode], share: float, seed: int
) -> tuple[list[Episode], list[Episode]]:
    """Divide episodes into training and validation.

    Groups are drawn within each category by a hash of seed and group name, so that adding data
    does not move old groups across, and every category with two groups or more is on both sides.

    Args:
        episodes: all episodes.
        share: part of the groups of each category for validation, in (0, 1).
        seed: changes the draw.

    Raises:
        DataError: no episode is left for training.
    """
    groups: dict[str, set[str]] = {}
    for episode in episodes:
        groups.setdefault(episode.category, set()).add(group_of(episode))
    held: set[str] = set()
    for names in groups.values():
        ranked = sorted(names, key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())
        count = round(share * len(ranked)) if len(ranked) > 1 else 0
        held.update(ranked[: max(count, 1 if len(ranked) > 1 else 0)])
    training = [episode for episode in episodes if group_of(episode) not in held]
    validation = [episode for episode in episodes if group_of(episode) in held]
    if not training:
        raise DataError(
            f"{len(episodes)} episodes in {sum(map(len, groups.values()))} split groups leave none "
            "for training; record more episodes or set val_share lower"
        )
    return training, validation


def group_of(episode: Episode) -> str:
    """The split group of an episode; its own name when none was given."""
    return episode.split_group or episode.name
