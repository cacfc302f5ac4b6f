# SPDX-License-Identifier: Apache-2.0
"""From folders of recordings to a trainer that is ready to run, and what a run folder holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from na_core.features import FeatureSet, PhysicsFeatures
from na_core.robot_spec import RobotSpec
from na_training.data import Episode, Store, build_store, join_stores, split_by_group
from na_training.data.calibrate import calibrated_features, main_unit, other_units
from na_training.data.split import group_of
from na_training.model import Actuator, model_config
from na_training.simulator import make_simulator
from na_training.training import checkpoint
from na_training.training.bundle import Bundle, load_run, new_model
from na_training.training.config import TrainConfig
from na_training.training.heads_only import FROZEN
from na_training.training.judge import RunJudge
from na_training.training.scaling import effort_scale, feature_scales, pose_unit
from na_training.training.step import Objective
from na_training.training.trainer import Budget, Trainer

CONFIG_FILE = "config.yaml"
SPLITS_FILE = "splits.json"


class RunExistsError(FileExistsError):
    """The run folder already holds a checkpoint and resuming was not asked for."""


def data_hash(episodes: Sequence[Episode]) -> str:
    """SHA-256 (hex) over names, telemetry and labels, independent of order."""
    parts = []
    for episode in episodes:
        digest = hashlib.sha256(f"{episode.category}/{episode.name}".encode())
        for array in (episode.ticks.position, episode.ticks.current, episode.force):
            digest.update(np.ascontiguousarray(array).tobytes())
        parts.append(digest.hexdigest())
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def calibration_of(episodes: Sequence[Episode]) -> str:
    """Hash of the one calibration that all episodes were recorded under, else "none".

    A model that saw several arms, or an uncalibrated one, is bound to none of them.
    """
    found = {episode.calibration for episode in episodes}
    return found.pop() if len(found) == 1 and "" not in found else "none"


def prepare(
    spec: RobotSpec,
    episodes: Sequence[Episode],
    config: TrainConfig,
    out: Path,
    budget: Budget,
    *,
    resume: bool = False,
    init: Path | None = None,
    cache: Path | None = None,
    command: str = "",
    judge_seconds: float = 60.0,
) -> Trainer:
    """Set up a run.

    Args:
        spec: the robot.
        episodes: all recordings; split here.
        config: settings.
        out: run folder; made when absent.
        budget: when to end.
        resume: go on from the checkpoint in `out`.
        init: start from the weights, features and scales of another run (fine-tuning).
        cache: keep feature arrays in files below this folder.
        command: the command line, kept as provenance.
        judge_seconds: between validations [s].

    Raises:
        RunExistsError, checkpoint.CheckpointError, na_training.data.DataError.
    """
    if (out / checkpoint.NAME).exists() and not resume:
        raise RunExistsError(
            f"{out} already holds a run; pass --resume to go on with it, or another --out"
        )
    training, validation = split_by_group(episodes, config.val_share, config.split_seed)
    start = load_run(init, spec) if init is not None else None
    stored = load_run(out, spec, averaged=False) if resume else None
    dt = float(np.median([episode.dt for episode in episodes]))
    features = _features(spec, config, training, dt, stored or start)
    parts = [(training, features), *_own_parts(spec, config, training, features)]
    store = join_stores(parts, cache)
    held = build_store(validation, features, cache) if validation else None
    bundle = _bundle(spec, config, features, store, dt, start)
    bundle.supervised = _supervised(training, spec)
    bundle.provenance = {
        "training_data": data_hash(training),
        "calibration": calibration_of(training),
        "training_episodes": len(training),
        "training_seconds": round(
            dt * sum(int(stop - start) for episode in training for start, stop in episode.segments),
            1,
        ),
        "other_units": len(parts) - 1,
        "validation_episodes": len(validation),
        "mean_label": _mean_label(store),
        "seed": config.seed,
        "command": command,
        "settings": config.differences(),
        "earlier_stage": _stage(start),
    }
    simulator = make_simulator(
        config.backend, spec, dt, clip_gradient=config.clip_gradient, compiled=False
    )
    unit = pose_unit(spec, config.pose_unit)
    objective = Objective(config, store, simulator, unit)
    judge = RunJudge(held, simulator, config.seed) if held is not None else None
    trainer = Trainer(
        bundle, objective, config, out, budget, judge=judge, judge_seconds=judge_seconds
    )
    out.mkdir(parents=True, exist_ok=True)
    if resume:
        trainer.resume()
    (out / CONFIG_FILE).write_text(config.to_yaml(), encoding="utf-8")
    splits = {
        "training": sorted({group_of(episode) for episode in training}),
        "validation": sorted({group_of(episode) for episode in validation}),
    }
    (out / SPLITS_FILE).write_text(json.dumps(splits, indent=1) + "\n", encoding="utf-8")
    return trainer


def _stage(start: Bundle | None) -> dict[str, Any]:
    """How the run that this one starts from was made; empty when there is none."""
    if start is None:
        return {}
    keys = ("command", "settings", "seed", "training_data", "training_seconds", "earlier_stage")
    return {key: start.provenance[key] for key in keys if start.provenance.get(key)}


def _mean_label(store: Store) -> list[float]:
    """Mean force label of the training ticks in contact (3) [N]: a trivial predictor."""
    touching = store.force[store.contact == 1.0]
    if not len(touching):
        return [0.0, 0.0, 0.0]
    return [round(float(value), 4) for value in touching.mean(axis=0, dtype=np.float64)]


def _features(
    spec: RobotSpec,
    config: TrainConfig,
    training: Sequence[Episode],
    dt: float,
    known: Bundle | None,
) -> FeatureSet:
    name = model_config(config.model).features
    if known is not None and known.features.name == name:
        return known.features
    main = main_unit(training)
    return calibrated_features(name, spec, dt, [e for e in training if e.unit == main])


def _own_parts(
    spec: RobotSpec, config: TrainConfig, training: Sequence[Episode], features: FeatureSet
) -> list[tuple[list[Episode], FeatureSet]]:
    """Recordings of other units with their own constants, as after a calibration."""
    if config.unit_constants == "main" or not isinstance(features, PhysicsFeatures):
        return []
    return [
        (found, calibrated_features(features.name, spec, features.dt, found, features))
        for found in other_units(training, main_unit(training)).values()
    ]


def _bundle(
    spec: RobotSpec,
    config: TrainConfig,
    features: FeatureSet,
    store: Store,
    dt: float,
    start: Bundle | None,
) -> Bundle:
    if start is not None and start.model.config.name == config.model:
        return Bundle(start.model, features, spec, dt)
    mean, scale = feature_scales(features, store.features, spec)
    model = new_model(config, features, spec, mean, scale, effort_scale(spec))
    if start is not None:
        _take_encoder(model, start.model, config)
    return Bundle(model, features, spec, dt)


def _take_encoder(model: Actuator, start: Actuator, config: TrainConfig) -> None:
    """Copy encoder, effort head and scales of the basic features from a model of other features."""
    weights, cut = start.state_dict(), model.layout.basic
    own = model.state_dict()
    for name, value in own.items():
        if name.startswith(FROZEN):
            if name not in weights or weights[name].shape != value.shape:
                raise checkpoint.CheckpointError(
                    f"--init holds model {start.config.name!r}, whose {name} does not fit "
                    f"{config.model!r}; expected the same encoder"
                )
            own[name] = weights[name]
    for name in ("mean", "scale"):
        own[name][:cut] = weights[name][:cut]
    model.load_state_dict(own)


def _supervised(episodes: Sequence[Episode], spec: RobotSpec) -> tuple[str, ...]:
    """Joints of which both states were labelled."""
    rows: Any = np.array([episode.restricted for episode in episodes])
    both = (rows == 1.0).any(axis=0) & (rows == 0.0).any(axis=0)
    return tuple(name for name, known in zip(spec.names, both, strict=True) if known)
