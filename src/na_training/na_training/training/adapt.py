# SPDX-License-Identifier: Apache-2.0
"""Adaptation to another arm from a few minutes, with a guard against forgetting."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from na_core.features import PhysicsFeatures
from na_training.data import Episode, Store, build_store
from na_training.data.calibrate import calibrated_features
from na_training.model import WINDOW
from na_training.training.bundle import Bundle
from na_training.training.config import TrainConfig
from na_training.training.heads_only import HeadsObjective
from na_training.training.step import take_step

BATCH = 2048
"""Ticks of each arm per update."""
DROPOUT = 0.15
RATE = 5e-4
HELD_SHARE = 0.25
"""Part of every recording, at its end, that only the guard sees."""
GATE_BOUND = 0.01
"""The gate's error share may grow by no more than this."""
CONTACT_BOUND = 1.05
"""The contact force error of the new arm may grow by this factor when its gate gets better."""
FREE_BOUND = 1.1
"""The force error without contact may grow by no more than this factor, and 0.05 N."""
PULL = 5e-3
"""Weight of the squared distance to the old weights, relative to their size."""
TRAINED = ("heads.side", "heads.force", "heads.gate", "heads.log_variance", "heads.linear")


@dataclass
class AdaptResult:
    """What adaptation did.

    Attributes:
        accepted: False when the guard kept the old model.
        bundle: the model to use from now on.
        what: what was changed, or would have been: "constants" of the arm, "heads", or "all".
        figures: (before, after) by name, on the held part.
        reasons: why the guard refused; empty when it did not.
    """

    accepted: bool
    bundle: Bundle
    what: str
    figures: dict[str, tuple[float, float]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


def adapt(
    bundle: Bundle,
    episodes: Sequence[Episode],
    reference: Sequence[Episode] = (),
    *,
    minutes: float = 1.0,
    steps: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    refit: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> AdaptResult:
    """Fit the constants of the arm, then the force and gate heads to it.

    New constants are taken where the old heads do better with them. The last quarter of every
    recording is held back; on it the better of new constants alone and new heads as well is chosen.
    The old model is kept when, on that quarter or on that of `reference`, the gate gets worse by
    more than `GATE_BOUND` or the force without contact by more than `FREE_BOUND`, or when nothing
    got better.

    Args:
        bundle: the model; not changed.
        episodes: a few minutes of the new arm, labelled.
        reference: recordings of the old arm that must not get worse; half of every batch.
        minutes: wall clock to spend.
        steps: updates to make instead.
        seed: of the sampling.
        out: where the model in use afterwards is exported to; nothing is written when None.
        refit: try constants of motors, gears and friction fitted to the new arm.
        clock: monotonic seconds.
    """
    trained, held = _divide(episodes)
    kept, held_reference = _divide(reference)
    base = bundle
    if refit and isinstance(bundle.features, PhysicsFeatures):
        base = _with_constants(bundle, trained)
    stores = [build_store(trained, base.features)]
    if reference:
        # The old arm keeps its own constants: calibration belongs to the arm.
        stores.append(build_store(kept, bundle.features))
    fitted = copy.deepcopy(base)
    _fit(fitted, stores, minutes, steps, seed, clock)
    choices = {"heads": fitted} if base is bundle else {"constants": base, "all": fitted}
    held_old = build_store(held_reference, bundle.features) if reference else None
    before = _figures(bundle, build_store(held, bundle.features), held_old)
    best: AdaptResult | None = None
    for what, new in choices.items():
        after = _figures(new, build_store(held, new.features), held_old)
        figures = {name: (value, after[name]) for name, value in before.items()}
        reasons = refusals(figures)
        result = AdaptResult(not reasons, new if not reasons else bundle, what, figures, reasons)
        if best is None or _rank(result) < _rank(best):
            best = result
    assert best is not None  # there is always a choice
    if best.accepted:
        best.bundle = replace(
            best.bundle,
            provenance={
                **bundle.provenance,
                "adapted": best.what,
                "adapted_on_episodes": len(episodes),
                "adapted_seconds": round(len(stores[0]) * bundle.dt, 1),
            },
        )
    if out is not None:
        from na_training.export.onnx_file import export

        export(best.bundle, out)
    return best


def _with_constants(bundle: Bundle, episodes: Sequence[Episode]) -> Bundle:
    """The same network on features with the constants of the new arm, if they serve it better."""
    features = calibrated_features(
        bundle.features.name, bundle.spec, bundle.dt, episodes, bundle.features, near=True
    )
    new = replace(bundle, features=features)
    old_score = _score(_judge(bundle, build_store(episodes, bundle.features)))
    return new if _score(_judge(new, build_store(episodes, features))) < old_score else bundle


def _figures(bundle: Bundle, own: Store, reference: Store | None) -> dict[str, float]:
    """What the guard compares, by name, on held-back ticks of both arms."""
    figures = {f"new arm: {name}": value for name, value in _judge(bundle, own).items()}
    if reference is not None:
        # The reference arm keeps its features, whatever the new arm's are.
        found = _judge(bundle, reference)
        figures.update({f"reference: {name}": value for name, value in found.items()})
    return figures


def _rank(result: AdaptResult) -> tuple[bool, float]:
    """Accepted ones first, then the smaller force errors on the new arm."""
    new = [result.figures[f"new arm: {name}"][1] for name in ("contact force", "free force")]
    return not result.accepted, float(np.nansum(new))


def refusals(figures: dict[str, tuple[float, float]]) -> list[str]:
    """Reasons to keep the old model, given (before, after) by name; empty when there are none."""
    reasons = []
    for name, (before, after) in figures.items():
        if not (np.isfinite(before) and np.isfinite(after)):
            continue
        if name.endswith("gate error") and after > before + GATE_BOUND:
            reasons.append(f"{name} rose from {before:.3f} to {after:.3f} (bound +{GATE_BOUND})")
        if name.endswith("free force") and after > max(before * FREE_BOUND, before + 0.05):
            reasons.append(f"{name} rose from {before:.3f} to {after:.3f} N (bound × {FREE_BOUND})")
        kept = name.startswith("reference") and name.endswith("contact force")
        if kept and after > before * 1.1:
            reasons.append(f"{name} rose from {before:.3f} to {after:.3f} N (bound 1.1 ×)")
    before, after = figures.get("new arm: contact force", (0.0, 0.0))
    gate = figures.get("new arm: gate error", (0.0, 0.0))
    if after > before * CONTACT_BOUND:
        reasons.append(
            f"contact force of the new arm did not improve but rose from {before:.3f} to "
            f"{after:.3f} N (bound × {CONTACT_BOUND})"
        )
    elif after > before and not gate[1] < gate[0]:
        reasons.append(f"neither contact force nor gate of the new arm improved ({before:.3f} N)")
    return reasons


def _score(figures: dict[str, float]) -> float:
    """Sum of the force errors with and without contact [N], where there was any."""
    return float(np.nansum([figures["contact force"], figures["free force"]]))


def _divide(episodes: Sequence[Episode]) -> tuple[list[Episode], list[Episode]]:
    """The first three quarters of every run of ticks, and the rest."""
    first: list[Episode] = []
    last: list[Episode] = []
    for episode in episodes:
        cuts = [(a, a + int((b - a) * (1.0 - HELD_SHARE)), b) for a, b in episode.segments]
        for part, runs in ((first, [(a, c) for a, c, _ in cuts]), (last, [c[1:] for c in cuts])):
            long = [(start, stop) for start, stop in runs if stop - start >= WINDOW]
            if long:  # ticks between two pauses that make no window teach nothing
                part.append(replace(episode, segments=np.array(long)))
    return first, last


def _fit(
    new: Bundle,
    stores: Sequence[Store],
    minutes: float,
    steps: int | None,
    seed: int,
    clock: Callable[[], float],
) -> None:
    """Train the force and gate heads on single ticks; the encoder is computed once."""
    model = new.model
    config = TrainConfig(heads_batch=BATCH, heads_dropout=DROPOUT)
    start, step = clock(), 0
    objectives = [HeadsObjective(config, store, model) for store in stores]
    chosen = []
    anchors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(TRAINED))
        if parameter.requires_grad:
            chosen.append(parameter)
            anchors[name] = parameter.detach().clone()
    model.heads.dropout = DROPOUT
    model.train()
    optimizer = torch.optim.AdamW(chosen, lr=RATE, weight_decay=0.0)
    while True:
        share = step / steps if steps else (clock() - start) / (60.0 * minutes)
        if share >= 1.0:
            break
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1.0 - share) + 1e-6
        rng = np.random.default_rng([seed, step])
        losses = {
            f"{number}/{name}": value
            for number, objective in enumerate(objectives)
            for name, value in objective.losses(model, rng).items()
            if not name.endswith("condition")
        }
        pull = [
            ((p - anchors[name]) ** 2).sum() / (anchors[name] ** 2).sum().clamp(min=1e-3)
            for name, p in model.named_parameters()
            if name in anchors
        ]
        losses["pull"] = PULL * torch.stack(pull).sum()
        take_step(model, optimizer, losses, config.gradient_clip)
        step += 1
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    model.eval()


def _judge(bundle: Bundle, store: Store) -> dict[str, float]:
    """Contact force, free force (gated) [N] and the gate's error share over all runs."""
    contact_errors, free_errors, gate_errors = [], [], []
    for run in store.runs:
        rows = slice(run.start, run.stop)
        if run.length < WINDOW:
            continue
        with torch.no_grad():
            outputs = bundle.model.sequence(torch.from_numpy(np.array(store.features[rows]))[None])
        at = slice(run.start + WINDOW - 1, run.stop)
        force, contact = outputs.force[0].numpy(), store.contact[at]
        is_open = torch.sigmoid(outputs.gate[0, :, 0]).numpy() >= bundle.gate_thresholds[0]
        error = np.linalg.norm(force - store.force[at], axis=1)
        contact_errors.append(error[contact == 1.0])
        free_errors.append((np.linalg.norm(force, axis=1) * is_open)[contact == 0.0])
        known = np.isfinite(contact)
        gate_errors.append(is_open[known] != (contact[known] > 0.5))
    return {
        "contact force": _mean(contact_errors),
        "free force": _mean(free_errors),
        "gate error": _mean(gate_errors),
    }


def _mean(parts: list[np.ndarray]) -> float:  # type: ignore[type-arg]
    values = np.concatenate(parts) if parts else np.zeros(0)
    return float(values.mean()) if values.size else float("nan")
