# SPDX-License-Identifier: Apache-2.0
"""The model card beside an exported file: data, command, seeds, results, limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from na_training.training.bundle import Bundle
from na_training.training.checkpoint import write_atomically

LIMITS = """- The effort is a surrogate: what this simulator needs to reproduce the motion.
  It is not motor torque: it absorbs payload, friction and model error.
- At rest, static friction hides part of a load. The predicted variance grows there; use it.
- Forces on links other than the end effector are attributed to the end effector.
- Condition scores mean "restricted or not" for the supervised joints, neither health nor damage;
  they need a few seconds of motion.
- Torque at the end effector is not estimated.
- Trained on an emulated arm unless the data below says otherwise: expect to fine-tune on yours.
"""


def write_card(
    bundle: Bundle, path: Path, parity: Mapping[str, float], results: Sequence[Path] = ()
) -> Path:
    """Write NAME.md beside NAME.onnx; returns its path.

    Args:
        bundle: the model.
        path: the ONNX file, already written.
        parity: differences between torch and ONNX, and the size in bytes.
        results: JSON files of evaluations to quote, each under its name.
    """
    provenance = bundle.provenance
    lines = [
        f"# {path.stem}: {bundle.model.config.name} for robot {bundle.spec.robot}",
        "",
        f"- File: `{path.name}`, {parity['bytes'] / 1e6:.2f} MB, SHA-256 "
        f"`{hashlib.sha256(path.read_bytes()).hexdigest()}`",
        f"- Parameters: {bundle.model.parameters_count:,}; features: {bundle.features.name} "
        f"version {bundle.features.version}, {bundle.features.size} per tick; window of 9 ticks of "
        f"{1e3 * bundle.dt:.2f} ms",
        f"- Supervised joints: {', '.join(bundle.supervised) or 'none'}",
        f"- Gate: opens at {bundle.gate_thresholds[0]}, closes below {bundle.gate_thresholds[1]}, "
        "3 ticks dwell",
        f"- Torch and ONNX runtime differ by at most {parity['random']:.1e} on random windows"
        + (f", {parity['real']:.1e} on recorded ones" if "real" in parity else ""),
        "- Licence: Apache-2.0",
        "",
        "## Data and training",
        "",
        *(f"- {key.replace('_', ' ')}: `{_text(value)}`" for key, value in provenance.items()),
        "",
    ]
    for file in results:
        figures = json.loads(file.read_text(encoding="utf-8"))
        lines += [f"## Results: {file.stem}", "", *_results(figures), ""]
    lines += ["## Limits", "", LIMITS]
    card = path.with_suffix(".md")
    write_atomically(card, "\n".join(lines).encode())
    return card


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _results(figures: Mapping[str, Any]) -> list[str]:
    lines = ["Force on measured states, ungated, in contact frames [N]:", ""]
    lines += ["| task | frames | MAE | vector | zero force |", "|---|---|---|---|---|"]
    for name, entry in figures.get("force", {}).items():
        row = entry["contact"]
        if row.get("frames"):
            lines.append(
                f"| {name} | {row['frames']:.0f} | {row['mae']:.3f} | {row['vector']:.3f} | "
                f"{row['zero']:.2f} |"
            )
    pose = figures.get("pose", {})
    if pose:
        lines += ["", "Pose in closed loop, mean absolute error per joint [° or mm]:", ""]
        lines += ["| regime | horizon | per joint |", "|---|---|---|"]
        for name, entry in pose.items():
            for horizon, values in entry.items():
                if horizon.startswith("@"):
                    shown = ", ".join(f"{value:.3f}" for value in values)
                    lines.append(f"| {name} | {horizon} | {shown} |")
    gate = figures.get("gate", {})
    if gate:
        lines += ["", "Gate:", "", "| category | recall | false frames | false alarms per minute |"]
        lines.append("|---|---|---|---|")
        for name, entry in gate.items():
            lines.append(
                f"| {name} | {entry['recall']:.3f} | {entry['false_share']:.4f} | "
                f"{entry['false_per_minute']:.2f} |"
            )
    condition = figures.get("condition", {})
    if condition:
        lines += ["", "Condition:", "", "| joint | method | recall | AUC |", "|---|---|---|---|"]
        for joint, methods in condition.items():
            for method, row in methods.items():
                if "auc" in row:
                    lines.append(f"| {joint} | {method} | {row['recall']:.3f} | {row['auc']:.3f} |")
    return lines
