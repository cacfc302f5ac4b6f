# SPDX-License-Identifier: Apache-2.0
"""Carried rollouts: stretches join into one long rollout, and end where the recording ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from test_training import SMALL, trainer_for  # noqa: E402
from toy_data import SPEC, toy_set  # noqa: E402

from na_training.training.carried import CarriedRollouts  # noqa: E402
from na_training.training.rollout import BasicColumns, roll_out  # noqa: E402


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory):
    return trainer_for(toy_set(4), Path(tmp_path_factory.mktemp("run")) / "run", 1)


def test_stretches_join_into_the_rollout_in_one_piece(trainer) -> None:
    model, objective = trainer.bundle.model, trainer.objective
    cut, columns = model.layout.basic, BasicColumns(SPEC.n)
    index = objective.sampler(9 + 24).draw(np.random.default_rng(0), 3)
    basic = torch.from_numpy(objective.store.features[index][..., :cut])
    with torch.no_grad():
        whole = roll_out(model, objective.simulator, columns, basic)
        parts, window, carried = [], basic[:, :9], torch.zeros(3, dtype=torch.bool)
        for first in range(0, 24, 8):
            rows = torch.cat([window, basic[:, first + 9 : first + 17]], dim=1)
            part = roll_out(model, objective.simulator, columns, rows, carried)
            parts.append(part.position)
            window, carried = part.window, torch.ones(3, dtype=torch.bool)
    torch.testing.assert_close(torch.cat(parts, 1), whole.position, rtol=1e-5, atol=1e-6)


def test_a_stretch_stays_within_its_run_and_its_age(trainer) -> None:
    store = trainer.objective.store
    pool = CarriedRollouts(store, 16, 50, {}, 35)
    rng = np.random.default_rng(1)
    begun: dict[int, int] = {}
    for _ in range(60):
        index = pool.draw(rng, 8, 0.0)
        for slot, row in enumerate(index):
            run = [r for r in store.runs if r.start <= row[0] and row[-1] < r.stop]
            assert len(run) == 1, "a stretch left its run of ticks"
            if not pool.carried[slot]:
                begun[slot] = int(row[0])
            assert row[-1] - begun[slot] < 9 + 50 + 8
        pool.keep(torch.zeros(16, 9, 35), 8)


def test_a_rollout_that_broke_starts_anew(trainer) -> None:
    pool = CarriedRollouts(trainer.objective.store, 2, 50, {}, 35)
    rng = np.random.default_rng(2)
    pool.draw(rng, 8, 0.0)
    window = torch.zeros(2, 9, 35)
    window[1, 3, 4] = float("nan")
    pool.keep(window, 8)
    pool.draw(rng, 8, 0.0)
    assert pool.carried[0] and not pool.carried[1]
    assert torch.isfinite(pool.window).all()


def test_age_zero_starts_every_rollout_from_measured_ticks(trainer) -> None:
    pool = CarriedRollouts(trainer.objective.store, 4, 0, {}, 35)
    rng = np.random.default_rng(3)
    for _ in range(3):
        pool.draw(rng, 8, 0.0)
        assert not pool.carried.any()
        pool.keep(torch.zeros(4, 9, 35), 8)


def test_simulated_states_keep_full_precision_in_mixed_runs() -> None:
    """A position rounded to bfloat16 spoils goal − q by up to 0.2 deg."""
    columns = BasicColumns(SPEC.n)
    q = torch.full((1, SPEC.n), 1.2345)
    with torch.autocast("cpu", torch.bfloat16):
        row = columns.with_state(torch.zeros(1, 7 * SPEC.n), q, torch.zeros_like(q))
    assert torch.equal(columns.channel(row, "q"), q)
    assert torch.equal(columns.channel(row, "error"), -q)


def test_the_pool_is_part_of_the_checkpoint(tmp_path: Path) -> None:
    first = trainer_for(toy_set(4), tmp_path / "run", 3, config={"heads_share": 0.0})
    first.run()
    assert first.objective.pool is not None
    again = trainer_for(toy_set(4), tmp_path / "run", 3, resume=True, config={"heads_share": 0.0})
    assert again.objective.pool is not None
    assert torch.equal(again.objective.pool.window, first.objective.pool.window)
    assert SMALL.rollout_longest > 0
