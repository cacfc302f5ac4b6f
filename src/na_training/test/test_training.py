# SPDX-License-Identifier: Apache-2.0
"""Training: learns the toy arm, survives kill -9, resumes on the same curve, skips bad numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: requirements/train.txt")

from toy_data import SPEC, toy_set  # noqa: E402

from na_training.data import build_store  # noqa: E402
from na_training.training import checkpoint, heads_only  # noqa: E402
from na_training.training.bundle import load_run  # noqa: E402
from na_training.training.config import TrainConfig  # noqa: E402
from na_training.training.heads_only import HeadsObjective  # noqa: E402
from na_training.training.plain import PlainObjective  # noqa: E402
from na_training.training.rollout import BasicColumns, roll_out  # noqa: E402
from na_training.training.session import RunExistsError, prepare  # noqa: E402
from na_training.training.step import take_step  # noqa: E402
from na_training.training.trainer import Budget  # noqa: E402

SMALL = TrainConfig(
    model="query_hysteresis",
    precision="float32",
    horizons=(4, 8),
    horizon_shares=(0.5, 0.5),
    rollout_batch=8,
    measured_batch=16,
    measured_length=16,
    warmup=5,
    rate_start=2e-3,
    log_every=1,
    val_share=0.25,
    heads_share=0.5,
    heads_batch=64,
)


@pytest.fixture(scope="module")
def episodes():
    return toy_set(8)


def trainer_for(episodes, out: Path, steps: int, **options: object):
    config = replace(SMALL, **options.pop("config", {}))
    return prepare(SPEC, episodes, config, out, Budget(steps=steps), **options)


def test_it_learns_pose_force_and_gate_of_the_toy_arm(tmp_path: Path) -> None:
    """On 24 episodes: with eight, the force of the two held back depends on the seed."""
    trainer = trainer_for(toy_set(24), tmp_path / "run", 110, config={"heads_batch": 512})
    before = trainer.judge(trainer.bundle) if trainer.judge else {}
    after = trainer.run().history[-1]
    assert after["pose_deg"] < 0.5 * before["pose_deg"]
    assert after["force_contact"] < 0.5
    assert trainer.progress.skipped == 0


@pytest.mark.parametrize("stop", [2, 4])
def test_a_resumed_run_gives_bit_for_bit_the_same_weights(
    episodes, tmp_path: Path, stop: int
) -> None:
    """Stopped in the part with rollouts, and in the part on the heads alone."""
    dropping = {"heads_dropout": 0.2}
    whole = trainer_for(episodes, tmp_path / "whole", 6, config=dropping)
    whole.run()
    part = trainer_for(episodes, tmp_path / "part", 6, config=dropping)
    part.clock = interrupt_at(part, stop)
    with pytest.raises(KeyboardInterrupt):
        part.run()
    part.save()
    again = trainer_for(episodes, tmp_path / "part", 6, resume=True, config=dropping)
    assert again.progress.step == stop
    again.run()
    for name, value in whole.bundle.model.state_dict().items():
        assert torch.equal(value, again.bundle.model.state_dict()[name]), name


def interrupt_at(trainer, step: int):
    """A clock that interrupts like Ctrl-C once so many updates are done."""

    def clock() -> float:
        if trainer.progress.step == step:
            raise KeyboardInterrupt
        return time.monotonic()

    return clock


CHILD = """
import sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from test_training import SMALL, trainer_for
from toy_data import toy_set
trainer = trainer_for(toy_set(4), Path(sys.argv[1]), 100000,
                      config={{"checkpoint_seconds": 0.0}})
trainer.judge = None
trainer.run()
"""


def test_the_last_part_trains_heads_on_the_latents_of_the_windows(episodes, tmp_path: Path) -> None:
    trainer = trainer_for(episodes, tmp_path / "run", 2, config={"heads_share": 1.0})
    model, store = trainer.bundle.model, trainer.objective.store
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer.run()
    for name, value in model.state_dict().items():
        frozen = name.startswith(("encoder.", "heads.effort."))
        assert torch.equal(value, before[name]) or not frozen, name
    assert not torch.equal(model.heads.force[0].weight, before["heads.force.0.weight"])
    heads = HeadsObjective(SMALL, store, model)
    drawn = heads.draw(np.random.default_rng(0), 200)
    for tick in drawn[:5]:
        window = torch.from_numpy(store.features[tick - 8 : tick + 1])[None, :, :35]
        with torch.no_grad():
            latent = model.encoder.latent(model.token(window))[0].numpy()
        np.testing.assert_allclose(heads.latent[tick], latent, atol=2e-3, rtol=2e-3)
    inside = [any(r.start + 8 <= tick < r.stop for r in store.runs) for tick in drawn]
    assert all(inside)


def test_latents_in_a_cache_are_computed_once_per_encoder(
    episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_for(episodes, tmp_path / "run", 1)
    model, features = trainer.bundle.model, trainer.bundle.features
    store = build_store(episodes, features, tmp_path / "cache")
    first = heads_only.kept_latents(model, store)
    np.testing.assert_array_equal(first, heads_only.latents_of(model, store))
    with monkeypatch.context() as patch:
        patch.setattr(heads_only, "latents_of", None)
        again = build_store(episodes, features, tmp_path / "cache")
        np.testing.assert_array_equal(heads_only.kept_latents(model, again), first)
    with torch.no_grad():
        model.encoder.embed.weight += 0.1
    other = heads_only.kept_latents(model, store)
    assert not np.array_equal(other, first)
    np.testing.assert_array_equal(other, heads_only.latents_of(model, store))
    assert not list(store.folder.glob("*.[0-9]*")), "a file that was written aside is left"


def test_another_unit_enters_with_both_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("na_training.data.calibrate.OWN_SECONDS", 5.0)
    own = [replace(episode, unit="a") for episode in toy_set(6)]
    other = [replace(e, unit="b", name=f"b-{e.name}") for e in toy_set(4)]
    twice = trainer_for([*own, *other], tmp_path / "twice", 1).objective.store
    config = {"unit_constants": "main"}
    once = trainer_for([*own, *other], tmp_path / "once", 1, config=config).objective.store
    split = json.loads((tmp_path / "twice" / "splits.json").read_text())
    extra = [e for e in other if e.name in split["training"]]
    assert len(twice) == len(once) + sum(e.length for e in extra)
    np.testing.assert_array_equal(twice.features[: len(once)], once.features)
    provenance = trainer_for(own, tmp_path / "alone", 1).bundle.provenance
    assert provenance["other_units"] == 0


def test_kill_9_leaves_a_checkpoint_that_resumes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code = CHILD.format(folder=str(Path(__file__).parent))
    child = subprocess.Popen([sys.executable, "-c", code, str(out)], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60.0
        steps: list[int] = []
        while len(steps) < 3:
            assert child.poll() is None and time.monotonic() < deadline
            if (out / checkpoint.NAME).exists():
                step = int(checkpoint.load(out)["step"])  # whole at every moment
                if step not in steps:
                    steps.append(step)
            os.sched_yield()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    step = int(checkpoint.load(out)["step"])
    again = trainer_for(toy_set(4), out, step + 2, resume=True)
    assert again.progress.step == step >= steps[-1]
    again.judge = None
    assert again.run().step == step + 2


def test_a_run_folder_is_not_overwritten(episodes, tmp_path: Path) -> None:
    trainer = trainer_for(episodes, tmp_path / "run", 1)
    trainer.save()
    with pytest.raises(RunExistsError, match="--resume"):
        trainer_for(episodes, tmp_path / "run", 1)


def test_fine_tuning_starts_from_the_weights_and_scales_of_another_run(
    episodes, tmp_path: Path
) -> None:
    first = trainer_for(episodes, tmp_path / "synthetic", 2)
    first.run()
    second = trainer_for(toy_set(2), tmp_path / "real", 2, init=tmp_path / "synthetic")
    weights = load_run(tmp_path / "synthetic", SPEC).model.state_dict()
    for name, value in second.bundle.model.state_dict().items():
        assert torch.equal(value, weights[name]), name
    assert second.bundle.features.rule() == first.bundle.features.rule()


def test_other_memory_features_take_over_the_encoder_alone(episodes, tmp_path: Path) -> None:
    first = trainer_for(episodes, tmp_path / "p", 1, config={"model": "query_physics"})
    first.run()
    second = trainer_for(episodes, tmp_path / "h", 1, init=tmp_path / "p")
    weights = load_run(tmp_path / "p", SPEC).model.state_dict()
    own = second.bundle.model.state_dict()
    for name in own:
        if name.startswith(("encoder.", "heads.effort.")):
            assert torch.equal(own[name], weights[name]), name
    assert torch.equal(own["mean"][:35], weights["mean"][:35])
    with pytest.raises(checkpoint.CheckpointError, match="does not fit"):
        trainer_for(episodes, tmp_path / "q", 1, init=tmp_path / "p", config={"model": "query"})


def test_the_effort_head_can_be_trained_alone(episodes, tmp_path: Path) -> None:
    config = {"train_only": "effort", "measured_batch": 0, "rollout_every": 1}
    config["heads_share"] = 0.0
    trainer = trainer_for(episodes, tmp_path / "run", 2, config=config)
    before = {name: value.clone() for name, value in trainer.bundle.model.state_dict().items()}
    trainer.run()
    changed = {
        name
        for name, value in trainer.bundle.model.state_dict().items()
        if not torch.equal(value, before[name])
    }
    assert changed and all(name.startswith("heads.effort.") for name in changed)


def test_an_update_with_bad_numbers_is_skipped() -> None:
    layer = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    before = layer.weight.detach().clone()
    bad = layer(torch.ones(1, 1)).sum() * float("nan")
    assert take_step(layer, optimizer, {"a": bad}, 1.0)[2] is False
    root = torch.sqrt(layer(torch.ones(1, 1)).sum() * 0.0)  # finite loss, infinite gradient
    assert take_step(layer, optimizer, {"a": root}, 1.0)[2] is False
    assert torch.equal(layer.weight, before)


def test_a_rollout_never_looks_at_states_after_the_ninth_tick(episodes, tmp_path: Path) -> None:
    trainer = trainer_for(episodes, tmp_path / "run", 1)
    model, objective = trainer.bundle.model, trainer.objective
    index = objective.sampler(9 + 12).draw(np.random.default_rng(0), 3)
    basic = torch.from_numpy(objective.store.features[index][..., : model.layout.basic])
    columns = BasicColumns(SPEC.n)
    other = basic.clone()
    for name in ("q", "qd"):
        other[:, 9:, columns.place[name]] += 1.0
    other[:, 9:, columns.place["error"]] -= 1.0
    expected = roll_out(model, objective.simulator, columns, basic)
    blind = roll_out(model, objective.simulator, columns, other)
    torch.testing.assert_close(blind.position, expected.position, rtol=0.0, atol=0.0)


def test_the_fast_losses_are_those_of_the_plain_implementation(episodes, tmp_path: Path) -> None:
    trainer = trainer_for(episodes, tmp_path / "run", 1, config={"telemetry_dropout": 0.0})
    model, objective = trainer.bundle.model, trainer.objective
    rng = np.random.default_rng(0)
    rolled = objective.sampler(9 + 6).draw(rng, 3)
    pieces = objective.sampler(8 + 5).draw(rng, 3)
    fast = {
        **objective.rollout_losses(model, rolled, rng),
        **objective.measured_losses(model, pieces),
    }
    plain = PlainObjective(objective)
    slow = {**plain.rollout_losses(model, rolled), **plain.measured_losses(model, pieces)}
    assert set(fast) == set(slow)
    for name, value in fast.items():
        torch.testing.assert_close(value, slow[name], rtol=1e-4, atol=1e-5, msg=name)


def test_damaged_checkpoints_are_named(tmp_path: Path) -> None:
    with pytest.raises(checkpoint.CheckpointError, match="no checkpoint"):
        checkpoint.load(tmp_path)
    (tmp_path / checkpoint.NAME).write_bytes(b"not a checkpoint")
    with pytest.raises(checkpoint.CheckpointError, match="cannot be read"):
        checkpoint.load(tmp_path)


def test_the_heads_of_the_best_validation_are_kept(episodes, tmp_path: Path) -> None:
    """Heads overfit where there are few presses; the last weights are then not the best."""
    trainer = trainer_for(episodes, tmp_path / "run", 40, config={"heads_share": 0.6})
    seen: list[torch.Tensor] = []

    def judge(bundle, *, rollouts: bool = True) -> dict[str, float]:
        seen.append(bundle.model.heads.force[0].weight.detach().clone())
        return {"force_contact": [0.5, 0.3, 0.2, 0.4][min(len(seen), 4) - 1], "force_free": 0.1}

    trainer.judge = judge
    trainer.run()
    assert len(seen) > 5
    kept = load_run(tmp_path / "run", SPEC).model.heads.force[0].weight
    assert torch.equal(kept, seen[2])
    assert not torch.equal(kept, seen[3])


def test_simulated_states_keep_full_precision_in_mixed_runs() -> None:
    """A position rounded to bfloat16 spoils goal − q by up to 0.2 deg."""
    columns = BasicColumns(SPEC.n)
    q = torch.full((1, SPEC.n), 1.2345)
    with torch.autocast("cpu", torch.bfloat16):
        row = columns.with_state(torch.zeros(1, 7 * SPEC.n), q, torch.zeros_like(q))
    assert torch.equal(columns.channel(row, "q"), q)
    assert torch.equal(columns.channel(row, "error"), -q)
