# SPDX-License-Identifier: Apache-2.0
"""Puts an evaluation on one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from na_training.data import Episode
from na_training.evaluation import plots
from na_training.evaluation.html import page
from na_training.evaluation.predict import Prediction
from na_training.evaluation.report import Report
from na_training.evaluation.rollouts import roll_episodes
from na_training.simulator import Simulator
from na_training.training.bundle import Bundle


def write_page(
    path: Path,
    bundle: Bundle,
    simulator: Simulator,
    episodes: Sequence[Episode],
    predictions: Sequence[Prediction],
    report: Report,
    gradients: Sequence[dict[str, float]],
) -> None:
    """Write tables and pictures: a rollout, a force over onset, hold and release, the surrogate."""
    pictures: dict[str, bytes] = {}
    result = roll_episodes(bundle.model, simulator, episodes, limit=4)
    if result is not None:
        pictures["rollout against truth"] = plots.rollout_plot(result, bundle.spec, bundle.dt)
    index = plots.telling_episode(episodes)
    if index is not None:
        pictures["force over onset, hold and release"] = plots.force_plot(
            episodes[index], predictions[index]
        )
        pictures["effort surrogate against current"] = plots.surrogate_plot(
            episodes[index], predictions[index], bundle.spec
        )
    if gradients:
        pictures["gradients against horizon"] = plots.gradient_plot(gradients)
    notes = {key: str(value) for key, value in bundle.provenance.items()}
    notes["model"] = bundle.model.config.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page("Evaluation", notes, report.tables, pictures), encoding="utf-8")
