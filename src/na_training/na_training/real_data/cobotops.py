# SPDX-License-Identifier: Apache-2.0
"""UR3 CobotOps: do currents and temperatures at 1 Hz rank protective stops above normal rows?"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from na_training.evaluation.metrics import area_under_curve
from na_training.real_data.finding import Finding, RecordingError, Study, lines

Array = NDArray[np.float64]

TRAIN_SHARE = 0.6
TARGETS = ("Robot_ProtectiveStop", "grip_lost")


def load(path: Path) -> tuple[Array, dict[str, Array]]:
    """Currents, temperatures, speeds, tool current (N, 19) and the flags (N,), rows in order.

    Raises:
        RecordingError: the file is absent or a column is missing.
    """
    if not path.is_file():
        raise RecordingError(f"{path}: absent")
    with gzip.open(path, "rt", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    header = [str(key).strip() for key in rows[0] if key]

    def column(name: str) -> Array:
        match = [key for key in rows[0] if key and key.strip() == name]
        if not match:
            raise RecordingError(f"{path}: no column {name}; it has {header}")
        text = [(row[match[0]] or "").strip().replace(",", ".") for row in rows]
        return np.array([_number(value) for value in text])

    names = [f"Current_J{i}" for i in range(6)] + ["Temperature_T0"]
    names += [f"Temperature_J{i}" for i in range(1, 6)] + [f"Speed_J{i}" for i in range(6)]
    inputs = np.stack([column(name) for name in [*names, "Tool_current"]], axis=1)
    return inputs, {target: column(target) for target in TARGETS}


def _number(text: str) -> float:
    if text.upper() in ("TRUE", "FALSE"):
        return float(text.upper() == "TRUE")
    try:
        return float(text)
    except ValueError:
        return float("nan")


def study(folder: Path, seed: int = 0) -> Study:
    """Train on the first part of the day, rank the rest of it."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    inputs, flags = load(folder / "dataset_02052023.csv.gz")
    # The row before, too: a stop shows in the change.
    inputs = np.concatenate([inputs, np.roll(inputs, 1, axis=0)], axis=1)
    findings: list[Finding] = []
    for target, flag in flags.items():
        known = np.isfinite(inputs).all(axis=1) & np.isfinite(flag)
        x, y = inputs[known], flag[known] > 0.5
        cut = int(TRAIN_SHARE * len(x))
        forest = RandomForestClassifier(200, class_weight="balanced", random_state=seed)
        forest.fit(x[:cut], y[:cut])
        machine = make_pipeline(StandardScaler(), SVC(class_weight="balanced"))
        machine.fit(x[:cut], y[:cut])
        size = np.abs(x[cut:, :6]).sum(axis=1)
        values = [
            ("threshold on summed current", area_under_curve(size, y[cut:])),
            ("SVM", area_under_curve(machine.decision_function(x[cut:]), y[cut:])),
            ("random forest", area_under_curve(forest.predict_proba(x[cut:])[:, 1], y[cut:])),
        ]
        findings += lines(
            "UR3 CobotOps, last 40 % of the day",
            f"{target}: area under the curve",
            "1",
            values,
            ("chance", 0.5),
        )
    return Study(
        "UR3 CobotOps",
        tuple(findings),
        "Condition baselines on a real cell's day, later rows judged by earlier ones.",
        "1 Hz is far too slow for a window of control ticks, so our condition score cannot run on "
        "it; the flags are stops and lost grips, not worn gears.",
    )
