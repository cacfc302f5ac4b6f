# SPDX-License-Identifier: Apache-2.0
"""Cable-driven continuum tool with a force sensor: our window network against ridge regression."""

from __future__ import annotations

import csv
import gzip
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import PolynomialFeatures

from na_core.features import Ticks
from na_core.features.basic import BasicFeatures
from na_training.evaluation.metrics import area_under_curve
from na_training.model import WINDOW, Actuator, Layout
from na_training.real_data.finding import Finding, RecordingError, Study, lines
from na_training.real_data.surrogate import SMALL, scales
from na_training.training.config import TrainConfig
from na_training.training.loss import Labels, estimate_losses
from na_training.training.step import take_step

Array = NDArray[np.float64]

RATE = 30.0  # Hz
SUPPOSED_UNIT = 1e-3  # N per unit of the force columns; the unit is not stated
CONTACT = 0.05  # N
NAMES = ("wire1", "wire2")


@dataclass(frozen=True)
class ToolRun:
    """One recording: telemetry of the two wires and force (T, 3) [N]; `free` without payload."""

    name: str
    ticks: Ticks
    force: Array
    free: bool


def load_tool_run(path: Path) -> ToolRun:
    """Read one table.

    Position and goal are wire length and motor count (scaled to mm by their own slope), current is
    the load cell.

    Raises:
        RecordingError: a column is missing.
    """
    with gzip.open(path, "rt", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    try:
        table = {
            key: np.array([float(row[key]) for row in rows])
            for key in (
                *(f"{kind} #{i}" for kind in ("motor position", "wire length", "loadcell")
                  for i in (0, 1)),
                *("fx", "fy", "fz"),
            )
        }  # fmt: skip
    except KeyError as error:
        raise RecordingError(f"{path}: no column {error}") from None

    def pair(kind: str) -> Array:
        return np.stack([table[f"{kind} #{i}"] for i in (0, 1)], axis=1)

    length, load = pair("wire length"), pair("loadcell")
    velocity = np.diff(length, axis=0, prepend=length[:1]) * RATE
    zeros = np.zeros_like(length)
    ticks = Ticks.of(
        position=length,
        velocity=velocity,
        goal=length,
        current=load,
        voltage=zeros,
        temperature=zeros,
    )
    force = np.stack([table[axis] for axis in ("fx", "fy", "fz")], axis=1) * SUPPOSED_UNIT
    return ToolRun(path.stem, ticks, force, "nopayload" in path.name)


def load_side(folder: Path, side: str) -> list[ToolRun]:
    """All recordings of "train" or "test"."""
    paths = sorted((folder / side).glob("*.csv.gz"))
    if not paths:
        raise RecordingError(f"{folder / side}: no recordings (*.csv.gz)")
    return [load_tool_run(path) for path in paths]


def _windows(run: ToolRun) -> Array:
    columns = np.concatenate([run.ticks.position, run.ticks.current], axis=1)
    index = np.maximum(np.arange(len(columns))[:, None] - np.arange(WINDOW), 0)
    return np.asarray(columns[index].reshape(len(columns), -1))


def ridge(training: list[ToolRun], test: list[ToolRun], degree: int) -> list[Array]:
    """Ridge regression on nine steps, penalty by leave-one-out; forces (T, 3) [N] per recording."""
    x = np.concatenate([_windows(run) for run in training])
    y = np.concatenate([run.force for run in training])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    expand = PolynomialFeatures(degree, include_bias=False)
    rows = expand.fit_transform((x - mean) / spread)
    model = RidgeCV(alphas=np.logspace(-1, 5, 13)).fit(rows, y)
    return [
        np.asarray(model.predict(expand.transform((_windows(run) - mean) / spread))) for run in test
    ]


def network(
    training: list[ToolRun], test: list[ToolRun], seconds: float, seed: int
) -> tuple[list[Array], list[Array]]:
    """Our window network's forces (T, 3) [N] and contact probabilities (T,), NaN in the first 8."""
    features = BasicFeatures(NAMES)
    rows = [features.replay(run.ticks) for run in training]
    mean, scale = scales(np.concatenate(rows), 2)
    # The load cells rest at a large offset: centred, unlike a motor's current.
    for column in (4, 11):
        values = np.concatenate(rows)[:, column]
        mean[column], scale[column] = values.mean(), values.std()
    torch.manual_seed(seed)
    layout = Layout(NAMES, features.names, features.basic)
    parts = [torch.as_tensor(v, dtype=torch.float32) for v in (mean, scale, np.ones(2))]
    model = Actuator(SMALL, layout, *parts)
    config = TrainConfig(force_unit=0.2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    rng = np.random.default_rng(seed)
    inputs = [torch.from_numpy(row.astype(np.float32)) for row in rows]
    start, progress, piece = time.monotonic(), 0.0, 32
    while progress < 1.0:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (0.02 + 0.98 * 0.5 * (1.0 + np.cos(np.pi * progress)))
        chosen, labels = [], []
        for _ in range(16):
            index = int(rng.integers(len(inputs)))
            first = int(rng.integers(len(inputs[index]) - piece - WINDOW))
            chosen.append(inputs[index][first : first + piece + WINDOW - 1])
            labels.append(training[index].force[first + WINDOW - 1 : first + piece + WINDOW - 1])
        force = torch.from_numpy(np.stack(labels).astype(np.float32))
        contact = (force.norm(dim=-1) >= CONTACT).float()
        unknown = torch.full((*contact.shape, 2), float("nan"))
        latent = model.encoder.latents(model.token(torch.stack(chosen)))
        losses = estimate_losses(
            model.estimates(latent, None), Labels(force, contact, unknown), config
        )
        losses.pop("condition")
        take_step(model, optimizer, losses, 1.0)
        progress = (time.monotonic() - start) / seconds
    model.eval()
    forces, gates = [], []
    for run in test:
        out = np.full((len(run.force), 4), np.nan)
        with torch.no_grad():
            row = torch.from_numpy(features.replay(run.ticks).astype(np.float32))[None]
            result = model.sequence(row)
        out[WINDOW - 1 :, :3] = result.force[0].numpy()
        out[WINDOW - 1 :, 3] = torch.sigmoid(result.gate[0, :, 0]).numpy()
        forces.append(out[:, :3])
        gates.append(out[:, 3])
    return forces, gates


def study(folder: Path, seconds: float = 60.0, seed: int = 0) -> Study:
    """Train on the train files, score on the test files as their authors divided them.

    Raises:
        RecordingError: the recordings are absent.
    """
    training, test = load_side(folder, "train"), load_side(folder, "test")
    label = np.concatenate([run.force for run in test])
    usable = np.concatenate([np.arange(len(run.force)) >= WINDOW - 1 for run in test])
    size = np.linalg.norm(label, axis=1)
    touching = usable & (size >= CONTACT)
    forces, gates = network(training, test, seconds, seed)
    estimates = {"ours (window network)": np.concatenate(forces)}
    for degree, name in ((1, "ridge, linear"), (2, "ridge, quadratic")):
        estimates[name] = np.concatenate(ridge(training, test, degree))

    def error(estimate: Array, rows: NDArray[np.bool_]) -> float:
        return float(np.linalg.norm(estimate[rows] - label[rows], axis=1).mean())

    mean = np.concatenate([run.force for run in training]).mean(axis=0)
    constant = np.broadcast_to(mean, label.shape)
    trivial = min(
        ("always zero", error(np.zeros_like(label), touching)),
        ("training mean", error(constant, touching)),
        key=lambda item: item[1],
    )
    data = "continuum tool, authors' test files"
    findings: list[Finding] = lines(
        data,
        "force in contact, mean vector error",
        "N",
        [(name, error(value, touching)) for name, value in estimates.items()],
        trivial,
        ours=("ours (window network)",),
    )
    amount = [
        (name, float(np.abs(np.linalg.norm(value[touching], axis=1) - size[touching]).mean()))
        for name, value in estimates.items()
    ]
    level = np.linalg.norm(np.concatenate([run.force for run in training]), axis=1)
    level_mean = float(level[level >= CONTACT].mean())
    findings += lines(
        data,
        "size of the force in contact, mean error",
        "N",
        amount,
        ("training mean size", float(np.abs(level_mean - size[touching]).mean())),
        ours=("ours (window network)",),
    )
    truth = size >= CONTACT
    scores = {"ours (gate)": np.concatenate(gates)}
    scores["size of quadratic ridge"] = np.linalg.norm(estimates["ridge, quadratic"], axis=1)
    findings += lines(
        data,
        "contact or not, area under the curve",
        "1",
        [(n, area_under_curve(value[usable], truth[usable])) for n, value in scores.items()],
        ("chance", 0.5),
        ours=("ours (gate)",),
    )
    return Study(
        "Continuum tool",
        tuple(findings),
        "Whether a window network has an edge over ridge regression where force labels are real.",
        "Not a servo arm; the direction is hardly observable from two wires; the authors' training "
        "files are low-pass filtered and the test files are not; units of force are inferred.",
    )
