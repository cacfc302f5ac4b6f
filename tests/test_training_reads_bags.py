# SPDX-License-Identifier: Apache-2.0
"""Training reads the same episodes from NAD bags as from the generator's arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from na_core.robot_spec import load_robot_spec

pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from na_sim.nad_generator.generate import Request, generate
from na_training.data import read_folders


@pytest.mark.slow
def test_bags_and_arrays_of_one_seed_are_the_same_episodes(tmp_path: Path) -> None:
    spec = load_robot_spec("omx")
    read = []
    for kind in ("bag", "npz"):
        folder = tmp_path / kind
        list(generate(Request("omx", folder, ("force_labelled",), 0.8, seed=7, format=kind)))
        read.append({episode.name: episode for episode in read_folders([folder], spec)})
    bags, arrays = read
    assert set(bags) == set(arrays) and len(bags) > 10
    for name, bag in bags.items():
        other = arrays[name]
        for field in ("position", "velocity", "goal", "current", "voltage", "temperature"):
            np.testing.assert_array_equal(getattr(bag.ticks, field), getattr(other.ticks, field))
        np.testing.assert_allclose(bag.force, other.force)
        np.testing.assert_allclose(bag.truth, other.truth)
        np.testing.assert_array_equal(bag.contact, other.contact)
        np.testing.assert_array_equal(bag.segments, other.segments)
        assert (bag.category, bag.task, bag.split_group, bag.pair_id) == (
            other.category,
            other.task,
            other.split_group,
            other.pair_id,
        )
