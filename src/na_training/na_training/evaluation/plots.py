# SPDX-License-Identifier: Apache-2.0
"""Pictures of an evaluation, as PNG bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_training.data import Episode
from na_training.evaluation.predict import Prediction
from na_training.evaluation.rollouts import RolloutResult

Array = NDArray[np.float64]


def _figure(rows: int, height: float = 1.7) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        rows, 1, figsize=(9, height * rows + 0.6), sharex=True, squeeze=False
    )
    return figure, axes[:, 0]


def _png(figure: Any) -> bytes:
    from matplotlib import pyplot

    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    pyplot.close(figure)
    return buffer.getvalue()


def rollout_plot(result: RolloutResult, spec: RobotSpec, dt: float, piece: int = 0) -> bytes:
    """Simulated against measured position of every joint over one piece."""
    figure, axes = _figure(spec.n)
    time = np.arange(result.position.shape[1]) * dt
    for joint, axis in enumerate(axes):
        turning = spec.joints[joint].type == "revolute"
        unit = np.rad2deg(1.0) if turning else 1000.0
        axis.plot(time, result.measured[piece, :, joint] * unit, label="measured", lw=1.2)
        axis.plot(time, result.position[piece, :, joint] * unit, "--", label="simulated", lw=1.2)
        axis.set_ylabel(f"{spec.names[joint]}\n[{'°' if turning else 'mm'}]", fontsize=8)
    axes[0].legend(loc="upper right", fontsize=8)
    axes[-1].set_xlabel("time [s]")
    return _png(figure)


def force_plot(episode: Episode, prediction: Prediction) -> bytes:
    """Estimated against labelled force with the predicted band, and the gate."""
    figure, axes = _figure(4)
    for index, axis_name in enumerate("xyz"):
        axis = axes[index]
        force, deviation = prediction.force[:, index], prediction.deviation[:, index]
        axis.fill_between(
            episode.time, force - 1.96 * deviation, force + 1.96 * deviation, alpha=0.2, lw=0
        )
        axis.plot(episode.time, force, lw=1.0, label="estimate")
        axis.plot(episode.time, episode.force[:, index], "k", lw=1.0, label="label")
        axis.set_ylabel(f"f{axis_name} [N]", fontsize=8)
    axes[0].legend(loc="upper right", fontsize=8)
    axes[0].set_title(f"{episode.category}, {episode.task}, {episode.variant}", fontsize=9)
    axes[3].plot(episode.time, prediction.gate, lw=1.0)
    axes[3].set_ylabel("gate", fontsize=8)
    axes[3].set_xlabel("time [s]")
    return _png(figure)


def surrogate_plot(episode: Episode, prediction: Prediction, spec: RobotSpec) -> bytes:
    """Effort surrogate against measured current, joint by joint."""
    figure, axes = _figure(spec.n)
    for joint, axis in enumerate(axes):
        axis.plot(episode.time, prediction.effort[:, joint], lw=1.0)
        axis.set_ylabel(f"{spec.names[joint]}\neffort", fontsize=8)
        other = axis.twinx()
        other.plot(episode.time, episode.ticks.current[:, joint], color="tab:orange", lw=0.7)
        other.set_ylabel("current [A]", fontsize=8)
    axes[-1].set_xlabel("time [s]")
    return _png(figure)


def gradient_plot(rows: Sequence[dict[str, float]]) -> bytes:
    """Gradient norm and cosine against horizon."""
    figure, axes = _figure(2)
    horizon = [row["horizon"] for row in rows]
    axes[0].semilogy(horizon, [row["norm"] for row in rows], "o-")
    axes[0].set_ylabel("gradient norm", fontsize=8)
    axes[1].plot(horizon, [row.get("cosine_to_128", np.nan) for row in rows], "o-")
    axes[1].set_ylabel("cosine to H = 128", fontsize=8)
    axes[1].set_xlabel("horizon [ticks]")
    return _png(figure)


def telling_episode(episodes: Sequence[Episode]) -> int | None:
    """Index of the episode with the most changes between contact and no contact."""
    best, most = None, 0
    for index, episode in enumerate(episodes):
        known = episode.contact[np.isfinite(episode.contact)]
        changes = int(np.abs(np.diff(known)).sum())
        if changes > most:
            best, most = index, changes
    return best
