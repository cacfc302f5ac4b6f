# SPDX-License-Identifier: Apache-2.0
"""Settings of a training run: every one with default, bounds and meaning, read from YAML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from na_training.model.config import MODELS
from na_training.simulator.clip import CLIP_GRADIENTS
from na_training.simulator.interface import BACKENDS

PRECISIONS = ("auto", "float32", "bfloat16")


class ConfigError(ValueError):
    """A setting is unknown or out of bounds; the text names file, key, value and expectation."""


def _number(default: float, low: float, high: float, meaning: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "meaning": meaning})


def _choice(default: str, options: tuple[str, ...], meaning: str) -> Any:
    return field(default=default, metadata={"options": options, "meaning": meaning})


@dataclass(frozen=True)
class TrainConfig:
    """All settings; `meanings()` gives the text behind each."""

    model: str = _choice("query", tuple(MODELS), "network of the ablation")
    backend: str = _choice("pinocchio", BACKENDS, "differentiable simulator")
    clip_gradient: str = _choice("inward", CLIP_GRADIENTS, "gradient at the effort bound")
    seed: int = _number(0, 0, 2**31 - 1, "of weights and sampling")
    split_seed: int = _number(
        0, 0, 2**31 - 1, "of the split: runs of several seeds are judged on the same recordings"
    )
    precision: str = _choice(
        "auto", PRECISIONS, "of matrix products: bfloat16 where the processor has it, or float32"
    )
    threads: int = _number(1, 1, 256, "processor threads of torch")
    val_share: float = _number(0.1, 0.0, 0.5, "part of the split groups kept for validation")

    unit_constants: str = _choice(
        "both",
        ("both", "main"),
        "of other units' recordings: the main unit's and once more their own, or the main unit's",
    )
    train_only: str = _choice(
        "all", ("all", "effort"), "weights of the part with rollouts: all, or the effort head alone"
    )
    horizons: tuple[int, ...] = field(
        default=(8, 16, 32, 64, 128),
        metadata={
            "low": 1,
            "high": 2000,
            "meaning": "rollout lengths in turn [ticks]",
        },
    )
    horizon_shares: tuple[float, ...] = field(
        default=(0.1, 0.15, 0.3, 0.3, 0.15),
        metadata={"low": 0.0, "high": 1.0, "meaning": "part of the run spent at each horizon"},
    )
    rollout_batch: int = _number(64, 1, 4096, "rollouts per update")
    rollout_ticks: int = _number(2048, 1, 10**7, "at most so many rollout ticks per update")
    rollout_every: int = _number(2, 1, 1000, "updates per update that contains rollouts")
    measured_batch: int = _number(64, 0, 4096, "pieces on measured states per update")
    measured_length: int = _number(32, 1, 2000, "length of those pieces [ticks]")
    telemetry_dropout: float = _number(0.1, 0.0, 1.0, "part of rollouts without telemetry")

    heads_share: float = _number(0.3, 0.0, 1.0, "part of the run, at its end, on the heads alone")
    heads_batch: int = _number(4096, 1, 10**6, "single ticks per update in that part")
    heads_dropout: float = _number(
        0.15, 0.0, 0.9, "part of the hidden values of the heads that is dropped in that part"
    )
    heads_rate: float = _number(2e-3, 1e-7, 1.0, "learning rate at the start of that part")

    rate_start: float = _number(1e-3, 1e-7, 1.0, "learning rate at the start")
    rate_end: float = _number(2e-5, 0.0, 1.0, "learning rate at the end (cosine in between)")
    warmup: int = _number(50, 0, 10**6, "updates of rising learning rate")
    weight_decay: float = _number(0.01, 0.0, 10.0, "AdamW weight decay")
    gradient_clip: float = _number(1.0, 1e-6, 1e6, "largest gradient norm")
    average: float = _number(0.995, 0.0, 0.99999, "decay of the averaged weights that are kept")

    pose_weight: float = _number(1.0, 0.0, 1e3, "of the pose loss")
    pose_unit: float = _number(0.75, 1e-3, 90.0, "pose error that costs one unit [servo deg]")
    force_weight: float = _number(2.0, 0.0, 1e3, "of the force loss")
    force_unit: float = _number(3.0, 1e-3, 1e3, "force error that costs one unit [N]")
    force_beta: float = _number(0.1, 1e-4, 10.0, "where the force loss turns linear [units]")
    variance_weight: float = _number(0.05, 0.0, 1e3, "of the likelihood of the predicted variance")
    gate_weight: float = _number(0.3, 0.0, 1e3, "of the contact loss")
    condition_weight: float = _number(0.3, 0.0, 1e3, "of the condition loss")

    category_weights: Mapping[str, float] = field(
        default_factory=dict,
        metadata={
            "low": 0.0,
            "high": 1e3,
            "meaning": "share of a category or category/task in sampling, else 1",
        },
    )
    checkpoint_seconds: float = _number(30.0, 0.0, 1e6, "between checkpoints [s]")
    log_every: int = _number(20, 1, 10**6, "updates between logged points")

    def __post_init__(self) -> None:
        for entry in fields(self):
            _check(entry.name, getattr(self, entry.name), entry.metadata)
        self._check_work()
        if len(self.horizons) != len(self.horizon_shares) or not self.horizons:
            raise ConfigError(
                f"horizon_shares = {self.horizon_shares}, expected {len(self.horizons)} numbers, "
                "one per horizon"
            )
        if not math.isclose(sum(self.horizon_shares), 1.0, abs_tol=1e-6):
            raise ConfigError(
                f"horizon_shares = {self.horizon_shares}, expected numbers that sum to 1"
            )

    def _check_work(self) -> None:
        if self.measured_batch == 0 and self.rollout_every > 1:
            raise ConfigError(
                f"rollout_every = {self.rollout_every}, expected 1 while measured_batch is 0: some "
                "updates would have nothing to learn from"
            )

    def split(self, progress: float) -> tuple[bool, float]:
        """Whether the heads are trained alone, and the progress within that part of the run."""
        first = 1.0 - self.heads_share
        if progress < first:
            return False, progress / first
        return True, (progress - first) / max(self.heads_share, 1e-9)

    def horizon_at(self, progress: float) -> int:
        """Rollout length at a progress in 0…1 of the part with rollouts."""
        edge = 0.0
        for horizon, share in zip(self.horizons, self.horizon_shares, strict=True):
            edge += share
            if progress < edge:
                return horizon
        return self.horizons[-1]

    def changed(self, **changes: Any) -> TrainConfig:
        """The same settings with some replaced; None leaves one as it is."""
        return replace(self, **{key: v for key, v in changes.items() if v is not None})

    def differences(self) -> dict[str, Any]:
        """Settings that are not the defaults, as JSON values."""
        default = asdict(type(self)())
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
            if value != default[key]
        }

    def to_yaml(self) -> str:
        """All settings with their meaning, ready to be read again."""
        lines = ["# Every setting of this run."]
        values = asdict(self)
        for entry in fields(self):
            value = values[entry.name]
            value = list(value) if isinstance(value, tuple) else value
            text = yaml.safe_dump(value, default_flow_style=True, width=10000).strip()
            text = text.removesuffix("...").strip()
            lines.append(f"{entry.name}: {text}  # {entry.metadata['meaning']}")
        return "\n".join(lines) + "\n"

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], source: str) -> TrainConfig:
        """Check a mapping; `source` names it in messages. Raises ConfigError."""
        known = {entry.name for entry in fields(cls)}
        unknown = [key for key in values if key not in known]
        if unknown:
            raise ConfigError(
                f"{source}: unknown setting {unknown[0]!r}; expected some of "
                f"{', '.join(sorted(known))}"
            )
        ready: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in values.items()
        }
        try:
            return cls(**ready)
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from error

    @classmethod
    def from_file(cls, path: Path) -> TrainConfig:
        """Read a YAML file; raises ConfigError naming file, key and value."""
        try:
            values = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
        if values is None:
            values = {}
        if not isinstance(values, Mapping):
            raise ConfigError(f"{path}: holds {type(values).__name__}, expected a mapping")
        return cls.from_mapping(values, str(path))


def _check(name: str, value: Any, metadata: Mapping[str, Any]) -> None:
    if "options" in metadata:
        if value not in metadata["options"]:
            raise ConfigError(
                f"{name} = {value!r}, expected one of {', '.join(metadata['options'])}"
            )
        return
    low, high = metadata["low"], metadata["high"]
    items = value.values() if isinstance(value, Mapping) else value
    items = items if isinstance(value, (tuple, Mapping)) else (value,)
    for item in items:
        number = isinstance(item, (int, float)) and not isinstance(item, bool)
        whole = name in _WHOLE and not isinstance(item, int)
        if not number or whole or not low <= item <= high:
            kind = "a whole number" if name in _WHOLE else "a number"
            raise ConfigError(
                f"{name} = {value!r}, expected {kind} from {low:g} to {high:g} "
                f"({metadata['meaning']})"
            )


_WHOLE = {
    "seed",
    "split_seed",
    "threads",
    "horizons",
    "rollout_batch",
    "rollout_ticks",
    "rollout_every",
    "heads_batch",
    "measured_batch",
    "measured_length",
    "warmup",
    "log_every",
}
