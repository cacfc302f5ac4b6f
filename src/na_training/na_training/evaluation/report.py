# SPDX-License-Identifier: Apache-2.0
"""The evaluation of one model on some recordings: all figures as plain values, and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_core.robot_spec import RobotSpec
from na_training.data import Episode
from na_training.evaluation import condition, metrics
from na_training.evaluation.predict import Prediction, gate_states
from na_training.evaluation.rollouts import RolloutResult, pose_figures
from na_training.simulator import Simulator
from na_training.training.bundle import Bundle

Array = NDArray[np.float64]


@dataclass
class Table:
    """One printed table."""

    title: str
    columns: list[str]
    rows: list[list[Any]]


@dataclass
class Report:
    """Figures by section (JSON values) and the tables made of them."""

    figures: dict[str, Any] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)


def task_of(episode: Episode) -> str:
    """Row of the force table: category and task, payload and sensor labels apart."""
    return f"{episode.category}/{episode.task}"


def force_section(
    episodes: Sequence[Episode],
    predictions: Sequence[Prediction],
    bundle: Bundle,
    report: Report,
) -> None:
    """Force errors per task: ungated in contact frames, gated over all frames, and trivial ones."""
    groups: dict[str, list[int]] = {}
    for index, episode in enumerate(episodes):
        groups.setdefault(task_of(episode), []).append(index)
    groups["all"] = list(range(len(episodes)))
    mean_label = np.array(bundle.provenance.get("mean_label", [np.nan] * 3), dtype=float)
    on, off = bundle.gate_thresholds
    gates = [gate_states(p.gate, on, off) for p in predictions]
    rows: list[list[Any]] = []
    section: dict[str, Any] = {}
    for name, members in groups.items():
        label = np.concatenate([episodes[i].force for i in members])
        truth = np.concatenate([episodes[i].truth for i in members])
        contact = np.concatenate([episodes[i].contact for i in members]) == 1.0
        force = np.concatenate([predictions[i].force for i in members])
        physics = np.concatenate([predictions[i].physics for i in members])
        gears = np.concatenate([predictions[i].gears for i in members])
        gated = np.where(np.concatenate([gates[i] for i in members])[:, None], force, 0.0)
        gated[~np.isfinite(force)] = np.nan
        entry: dict[str, Any] = {
            "contact": metrics.force_figures(force[contact], label[contact]),
            "all": metrics.force_figures(gated, label),
            "all_ungated": metrics.force_figures(force, label),
            "contact_against_truth": metrics.force_figures(force[contact], truth[contact]),
            "observer_contact": metrics.force_figures(physics[contact], label[contact]),
            "gears_contact": metrics.force_figures(gears[contact], label[contact]),
        }
        if np.isfinite(mean_label).all():
            constant = np.broadcast_to(mean_label, label.shape)
            entry["mean_label_contact"] = metrics.force_figures(constant[contact], label[contact])
        section[name] = entry
        touching = entry["contact"]
        rows.append(
            [
                name,
                int(touching["frames"]),
                *[touching.get(f"mae_{axis}") for axis in "xyz"],
                touching.get("mae"),
                touching.get("vector"),
                touching.get("zero"),
                entry.get("mean_label_contact", {}).get("vector"),
                entry["observer_contact"].get("vector"),
                entry["gears_contact"].get("vector"),
                entry["contact_against_truth"].get("vector"),
                int(entry["all"]["frames"]),
                entry["all"].get("mae"),
                entry["all"].get("vector"),
                entry["all"].get("zero"),
            ]
        )
    report.figures["force"] = section
    report.tables.append(
        Table(
            "force [N] on measured states; contact frames ungated | all frames gated",
            [
                *("task", "contact", "x", "y", "z", "MAE", "vector", "zero", "mean label"),
                *("observer", "gears", "vs truth", "| all", "MAE", "vector", "zero"),
            ],
            rows,
        )
    )


def gate_section(
    episodes: Sequence[Episode],
    predictions: Sequence[Prediction],
    bundle: Bundle,
    report: Report,
) -> None:
    """Gate per category: precision, recall, share of false frames, false alarms per free minute."""
    on, off = bundle.gate_thresholds
    names = dict.fromkeys(episode.category for episode in episodes)
    rows, section = [], {}
    for name in [*names, "all"]:
        members = [i for i, e in enumerate(episodes) if name in (e.category, "all")]
        states = [gate_states(predictions[i].gate, on, off) for i in members]
        contacts = [episodes[i].contact for i in members]
        entry: dict[str, float] = metrics.gate_figures(
            np.concatenate(states), np.concatenate(contacts)
        )
        free = sum(
            float((contact == 0.0).sum()) * episodes[i].dt / 60.0
            for i, contact in zip(members, contacts, strict=True)
        )
        count = sum(
            metrics.openings(state, contact)
            for state, contact in zip(states, contacts, strict=True)
        )
        entry["free_minutes"] = free
        entry["false_per_minute"] = count / free if free > 0.0 else float("nan")
        section[name] = entry
        rows.append([name, *(entry[key] for key in GATE_COLUMNS)])
    report.figures["gate"] = section
    report.tables.append(
        Table(
            f"gate (opens at {on:.2f}, closes below {off:.2f}, 3 ticks dwell)",
            ["category", "precision", "recall", "false frames", "false/min", "free min"],
            rows,
        )
    )


GATE_COLUMNS = ("precision", "recall", "false_share", "false_per_minute", "free_minutes")


def condition_section(
    episodes: Sequence[Episode],
    predictions: Sequence[Prediction],
    bundle: Bundle,
    report: Report,
    training: Sequence[Episode],
) -> None:
    """Condition per supervised joint, ours per frame, the baselines per 3 s piece."""
    rows: list[list[Any]] = []
    section: dict[str, Any] = {}
    for name in bundle.supervised:
        joint = bundle.spec.names.index(name)
        used = [i for i, e in enumerate(episodes) if np.isfinite(e.restricted[joint])]
        if not used:
            continue
        score = np.concatenate([predictions[i].condition[:, joint] for i in used])
        label = np.concatenate(
            [np.full(episodes[i].length, episodes[i].restricted[joint]) for i in used]
        )
        warm = np.concatenate(
            [episodes[i].time - episodes[i].time[0] >= condition.SECONDS for i in used]
        )
        entry: dict[str, Any] = {"ours": metrics.binary_figures(score, label)}
        entry["ours after 3 s"] = metrics.binary_figures(score[warm], label[warm])
        if training:
            entry.update(condition.baseline_figures(training, [episodes[i] for i in used], joint))
        section[name] = entry
        for method, figures in entry.items():
            if "auc" in figures:
                keys = ("accuracy", "precision", "recall", "auc")
                rows.append([name, method, *(figures.get(key) for key in keys)])
    report.figures["condition"] = section
    if rows:
        report.tables.append(
            Table(
                "condition (restricted = positive)",
                ["joint", "method", "accuracy", "precision", "recall", "AUC"],
                rows,
            )
        )


def variance_section(
    episodes: Sequence[Episode], predictions: Sequence[Prediction], report: Report
) -> None:
    """Coverage of the predicted bands, and error against predicted deviation."""
    label = np.concatenate([episode.force for episode in episodes])
    contact = np.concatenate([episode.contact for episode in episodes]) == 1.0
    force = np.concatenate([prediction.force for prediction in predictions])
    deviation = np.concatenate([prediction.deviation for prediction in predictions])
    section: dict[str, Any] = {
        "all": metrics.coverage(force, deviation, label),
        "contact": metrics.coverage(force[contact], deviation[contact], label[contact]),
        "bins": metrics.error_by_deviation(force[contact], deviation[contact], label[contact]),
    }
    report.figures["variance"] = section
    for name in ("all", "contact"):
        if section[name]:
            break
    else:
        return
    report.tables.append(
        Table(
            "labels within the predicted bands (component by component)",
            ["frames", "68 %", "95 %"],
            [
                [name, section[name].get("within_68"), section[name].get("within_95")]
                for name in ("all", "contact")
            ],
        )
    )
    report.tables.append(
        Table(
            "contact frames in five groups by predicted deviation [N]",
            ["predicted ‖σ‖", "vector error", "frames"],
            [list(row) for row in section["bins"]],
        )
    )


def pose_section(results: dict[str, RolloutResult | None], spec: RobotSpec, report: Report) -> None:
    """Pose per joint at each horizon, for each regime and for q_sim = goal."""
    section: dict[str, Any] = {}
    rows: list[list[Any]] = []
    arm = [i for i, joint in enumerate(spec.joints) if joint.role == "arm"]
    for regime, result in results.items():
        if result is None:
            continue
        sources = {regime: result.position}
        if "q_sim = goal" not in section:
            sources["q_sim = goal"] = result.goal
        for name, position in sources.items():
            section[name] = pose_figures(position, result.measured, spec)
            for horizon, values in section[name].items():
                rows.append([name, horizon, *values, float(np.mean([values[i] for i in arm]))])
        flat = result.force.reshape(-1, 3), result.label.reshape(-1, 3)
        touching = np.linalg.norm(np.nan_to_num(flat[1]), axis=1) >= 0.35
        section[regime]["force_contact"] = metrics.force_figures(
            flat[0][touching], flat[1][touching]
        )
        section[regime]["pieces"] = len(result.pieces)
    report.figures["pose"] = section
    if rows:
        units = ["mm" if joint.type == "prismatic" else "°" for joint in spec.joints]
        names = [f"{name} [{unit}]" for name, unit in zip(spec.names, units, strict=True)]
        report.tables.append(
            Table(
                "pose in closed loop, mean over the 50 frames before each horizon",
                ["regime", "frames", *names, "arm mean [°]"],
                rows,
            )
        )
    forces = [
        [name, entry["force_contact"].get("mae"), entry["force_contact"].get("vector")]
        for name, entry in section.items()
        if entry.get("force_contact", {}).get("frames")
    ]
    if forces:
        report.tables.append(
            Table(
                "force on simulated states, contact frames [N]", ["regime", "MAE", "vector"], forces
            )
        )


def evaluate(
    bundle: Bundle,
    simulator: Simulator,
    episodes: Sequence[Episode],
    predictions: Sequence[Prediction],
    *,
    training: Sequence[Episode] = (),
    rollouts: int = 96,
) -> Report:
    """All sections.

    Args:
        bundle: the model.
        simulator: for the closed-loop regimes.
        episodes: recordings to judge on.
        predictions: of the model on measured states, in the same order.
        training: recordings to fit the condition baselines on; left out when empty.
        rollouts: pieces for the closed-loop regimes; 0 leaves them out.
    """
    from na_training.evaluation.rollouts import roll_episodes

    report = Report()
    if rollouts:
        results = {
            name: roll_episodes(
                bundle.model, simulator, episodes, telemetry=telemetry, limit=rollouts
            )
            for name, telemetry in (("closed loop", True), ("closed loop, no telemetry", False))
        }
        pose_section(results, bundle.spec, report)
    force_section(episodes, predictions, bundle, report)
    gate_section(episodes, predictions, bundle, report)
    condition_section(episodes, predictions, bundle, report, training)
    variance_section(episodes, predictions, report)
    return report
