# SPDX-License-Identifier: Apache-2.0
"""The training loop: curriculum, learning rate, averaged weights, checkpoints, resume."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from na_training.training import checkpoint
from na_training.training.bundle import Bundle
from na_training.training.config import TrainConfig
from na_training.training.heads_only import HeadsObjective, freeze
from na_training.training.log import RunLog
from na_training.training.step import Objective, take_step

Clock = Callable[[], float]
Judge = Callable[..., dict[str, float]]
LOOKS = 12
"""How often the part on the heads alone is validated; its best weights are kept."""


@dataclass(frozen=True)
class Budget:
    """When training ends: after `minutes` of wall clock or after `steps` updates, one of them."""

    minutes: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.minutes, self.steps) if value is not None]
        if len(given) != 1 or given[0] <= 0:
            raise ValueError(
                f"budget: minutes = {self.minutes}, steps = {self.steps}; expected one positive"
            )

    def progress(self, seconds: float, step: int) -> float:
        """Done share, 1 or more when training ends."""
        if self.minutes is not None:
            return seconds / (60.0 * self.minutes)
        return step / float(self.steps or 1)


@dataclass
class Progress:
    """Counters that survive in the checkpoint."""

    step: int = 0
    seconds: float = 0.0
    skipped: int = 0
    ticks: int = 0
    best: float = math.inf
    looked: int = -1
    history: list[dict[str, float]] = field(default_factory=list)


class Trainer:
    """Trains the model of a bundle.

    Args:
        bundle: model and context; the model is changed.
        objective: losses of one update.
        config: settings.
        folder: of the run.
        budget: when to end.
        judge: measures the averaged weights now and then; its numbers are logged.
        judge_seconds: between two such measurements [s].
        clock: monotonic seconds; a test passes its own.
    """

    def __init__(
        self,
        bundle: Bundle,
        objective: Objective,
        config: TrainConfig,
        folder: Path,
        budget: Budget,
        *,
        judge: Judge | None = None,
        judge_seconds: float = 60.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self.bundle = bundle
        self.objective = objective
        self.config = config
        self.folder = folder
        self.budget = budget
        self.judge = judge
        self.judge_seconds = judge_seconds
        self.clock = clock
        self.progress = Progress()
        if config.train_only == "effort":
            for name, parameter in bundle.model.named_parameters():
                parameter.requires_grad_(name.startswith("heads.effort."))
        self._heads_objective: HeadsObjective | None = None
        self._heads_entered = False
        self._best: dict[str, torch.Tensor] | None = None
        decayed = [p for p in bundle.model.parameters() if p.dim() > 1]
        plain = [p for p in bundle.model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": config.weight_decay},
                {"params": plain, "weight_decay": 0.0},
            ],
            lr=config.rate_start,
            betas=(0.9, 0.98),
        )
        self.average = {k: v.detach().clone() for k, v in bundle.model.state_dict().items()}

    # ------------------------------------------------------------------ loop

    def run(self) -> Progress:
        """Train until the budget is spent; writes a checkpoint at the end and in between."""
        model, config, state = self.bundle.model, self.config, self.progress
        torch.set_num_threads(config.threads)
        model.train()
        log = RunLog(self.folder, self.budget)
        last = start = self.clock()
        before = state.seconds
        judged = before
        while True:
            share = self.budget.progress(state.seconds, state.step)
            if share >= 1.0:
                break
            alone, within = config.split(share)
            horizon = 0 if alone else config.horizon_at(within)
            self._set_rate(alone, within)
            rng = np.random.default_rng([config.seed, state.step])
            if alone:
                losses = self._heads().losses(model, rng)
            else:
                rollouts = state.step % config.rollout_every == 0
                losses = self.objective.losses(model, rng, horizon, rollouts=rollouts)
            total, norm, applied = take_step(model, self.optimizer, losses, config.gradient_clip)
            state.skipped += not applied
            if applied:
                self._average(state.step)
            state.step += 1
            now = self.clock()
            state.seconds = before + now - start
            if state.step % config.log_every == 0:
                values = {name: float(value.detach()) for name, value in losses.items()}
                log.scalars(state.step, {**values, "total": total, "gradient_norm": norm})
            log.line(state.step, state.seconds, share, horizon, total, state.skipped)
            if alone and self.judge is not None and int(within * LOOKS) > state.looked:
                # By share of the run and not by the clock: a resumed run looks at the same updates.
                if state.looked >= 0:
                    self._keep_best(self._judge(log, rollouts=False))
                    state.seconds = before + self.clock() - start
                state.looked = int(within * LOOKS)
            elif (
                not alone
                and self.judge is not None
                and state.seconds - judged >= self.judge_seconds
            ):
                self._judge(log)
                judged = state.seconds = before + self.clock() - start
            if now - last >= config.checkpoint_seconds:
                self.save()
                last = now
        if self._best is not None and self.judge is not None:
            self._keep_best(self._judge(log, rollouts=False))
            self.average = {k: v.clone() for k, v in self._best.items()}
        if self.judge is not None:
            self._judge(log)
        self.save()
        log.close(state.step, state.seconds, state.skipped)
        return state

    def _heads(self) -> HeadsObjective:
        """The objective of the last part; entering it fixes the averaged encoder."""
        if self._heads_objective is None:
            model = self.bundle.model
            if not self._heads_entered:
                model.load_state_dict(self.average)
                self._heads_entered = True
                # The moments belong to a moving encoder; the heads start afresh.
                self.optimizer.state.clear()
            freeze(model, self.config.heads_dropout)
            print("heads only: computing latents once …", flush=True)
            self._heads_objective = HeadsObjective(self.config, self.objective.store, model)
        return self._heads_objective

    def _set_rate(self, alone: bool, within: float) -> None:
        config = self.config
        low, high = config.rate_end, config.heads_rate if alone else config.rate_start
        rate = low + 0.5 * (high - low) * (1.0 + math.cos(math.pi * min(within, 1.0)))
        if config.warmup and not alone:
            rate *= min(1.0, (self.progress.step + 1) / config.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _average(self, step: int) -> None:
        """Exponential average of the weights, shorter while there are few."""
        decay = min(self.config.average, (1.0 + step) / (10.0 + step))
        with torch.no_grad():
            for name, value in self.bundle.model.state_dict().items():
                kept = self.average[name]
                if kept.is_floating_point():
                    kept.lerp_(value, 1.0 - decay)
                else:
                    kept.copy_(value)

    def _keep_best(self, point: dict[str, float]) -> None:
        """Remember the averaged weights when their force error is the smallest so far."""
        score = point["force_contact"] + point["force_free"]
        if score < self.progress.best:
            self.progress.best = score
            self._best = {k: v.detach().clone() for k, v in self.average.items()}

    def _judge(self, log: RunLog, *, rollouts: bool = True) -> dict[str, float]:
        """Validate the averaged weights and log the figures."""
        assert self.judge is not None
        model = self.bundle.model
        trained = {k: v.detach().clone() for k, v in model.state_dict().items()}
        model.load_state_dict(self.average)
        model.eval()
        with torch.no_grad():
            figures = (
                self.judge(self.bundle) if rollouts else self.judge(self.bundle, rollouts=False)
            )
        model.load_state_dict(trained)
        model.train()
        point = {"step": float(self.progress.step), "seconds": self.progress.seconds, **figures}
        self.progress.history.append(point)
        log.judged(self.progress.step, point)
        return point

    # ----------------------------------------------------------- checkpoints

    def save(self) -> Path:
        """Write the checkpoint."""
        state = self.progress
        return checkpoint.save(
            self.folder,
            {
                "model": self.bundle.model.state_dict(),
                "average": self.average,
                "optimizer": self.optimizer.state_dict(),
                "step": state.step,
                "seconds": state.seconds,
                "skipped": state.skipped,
                "heads_entered": self._heads_entered,
                "best": self._best,
                "best_score": state.best,
                "looked": state.looked,
                "history": json.dumps(state.history),
                "config": self.config.to_yaml(),
                "context": json.dumps(self.bundle.context()),
            },
        )

    def resume(self) -> None:
        """Go on from the run's checkpoint; raises CheckpointError when it does not fit."""
        state: dict[str, Any] = checkpoint.load(self.folder)
        stored, mine = json.loads(state["context"]), self.bundle.context()
        for key in ("model", "robot", "dt"):
            if stored[key] != mine[key]:
                raise checkpoint.CheckpointError(
                    f"{self.folder}: checkpoint has {key} = {stored[key]!r}, this run "
                    f"{mine[key]!r}; use another --out or the same settings"
                )
        self.bundle.model.load_state_dict(state["model"])
        self.average = {k: v.clone() for k, v in state["average"].items()}
        self.optimizer.load_state_dict(state["optimizer"])
        self._heads_entered = bool(state["heads_entered"])
        self._best = state.get("best")
        self.progress = Progress(
            int(state["step"]),
            float(state["seconds"]),
            int(state["skipped"]),
            best=float(state.get("best_score", math.inf)),
            looked=int(state.get("looked", -1)),
            history=json.loads(state["history"]),
        )
