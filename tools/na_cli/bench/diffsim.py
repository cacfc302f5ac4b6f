# SPDX-License-Identifier: Apache-2.0
"""Differentiable simulators and the trainer on them: time per step, and against the plain way."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

BATCHES = (16, 64, 256)
BACKENDS = ("pinocchio", "torch", "torch_eager")
KEYS = (
    *(f"{b}_{way}_us_{n}" for b in BACKENDS for way in ("forward", "backward") for n in BATCHES),
    "train_robot_seconds_per_second",
    "naive_robot_seconds_per_second",
    "speedup_over_naive",
    "share_network",
    "share_simulator",
    "share_rest",
)
ROBOT, HORIZON, BATCH, PIECES, PIECE = "omx", 32, 64, 64, 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=2.0, help="per measurement (default 2)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--model", default="query", help="network of the trainer (default query)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure; times are medians, in microseconds per step of the whole batch."""
    ensure_training_packages()
    import torch

    from na_core.robot_spec import load_robot_spec

    torch.set_num_threads(1)
    spec = load_robot_spec(ROBOT)
    result: dict[str, Any] = {}
    rows = []
    for name in BACKENDS:
        compiled = name == "torch" and not arguments.no_compile
        times = _backend(spec, name, compiled, arguments.seconds)
        for (way, batch), value in times.items():
            result[f"{name}_{way}_us_{batch}"] = value
        for batch in BATCHES:
            one = times["forward", batch] + times["backward", batch]
            rows.append(
                [name, batch, times["forward", batch], times["backward", batch], one / batch]
            )
    print_table("simulator [µs]", ["back end", "batch", "forward", "backward", "per row"], rows)
    result.update(_trainer(spec, arguments.model, arguments.seconds))
    return result


def _median(action: Callable[[], None], seconds: float) -> float:
    """Median wall time of an action [s], repeated for `seconds` and at least three times."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def _backend(spec: Any, name: str, compiled: bool, seconds: float) -> dict[tuple[str, int], float]:
    import torch

    from na_training.simulator import make_simulator

    backend = "torch" if name.startswith("torch") else name
    simulator = make_simulator(backend, spec, 1.0 / 58.6, compiled=compiled)
    times: dict[tuple[str, int], float] = {}
    for batch in BATCHES:
        generator = torch.Generator().manual_seed(0)
        inputs = [
            (0.3 * torch.randn(batch, spec.n, generator=generator)).requires_grad_()
            for _ in range(3)
        ]
        inputs[0].data[:, -1] *= 0.01
        inputs[1].data[:, -1] *= 0.01
        marks: list[tuple[float, float]] = []

        def both(inputs: list[Any] = inputs, marks: list[tuple[float, float]] = marks) -> None:
            begin = time.perf_counter()
            q, qd = simulator.step(*inputs)
            middle = time.perf_counter()
            torch.autograd.backward((q, qd), (torch.ones_like(q), torch.ones_like(qd)))
            marks.append((middle - begin, time.perf_counter() - middle))

        both()  # compiles
        both()
        marks.clear()
        _median(both, seconds / len(BATCHES))
        for index, way in enumerate(("forward", "backward")):
            ordered = sorted(mark[index] for mark in marks)
            times[way, batch] = 1e6 * ordered[len(ordered) // 2]
    return times


def _trainer(spec: Any, model_name: str, seconds: float) -> dict[str, Any]:
    """One update of rollouts and measured pieces, ours and the plain way, on made-up recordings."""
    import numpy as np
    import torch

    from na_training.training.config import TrainConfig
    from na_training.training.plain import PlainObjective
    from na_training.training.session import prepare
    from na_training.training.step import take_step
    from na_training.training.trainer import Budget

    config = TrainConfig(model=model_name, rollout_batch=BATCH, rollout_ticks=BATCH * HORIZON)
    with tempfile.TemporaryDirectory() as folder:
        episodes = [_recording(spec, seed) for seed in range(8)]
        trainer = prepare(spec, episodes, config, Path(folder) / "run", Budget(steps=1))
        objective, model = trainer.objective, trainer.bundle.model
        rng = np.random.default_rng(0)
        rolled = objective.sampler(9 + HORIZON).draw(rng, BATCH)
        pieces = objective.sampler(8 + PIECE).draw(rng, PIECES)
        plain = PlainObjective(objective)
        spent = _Stopwatch(objective.simulator)

        def ours() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=objective.mixed):
                losses = objective.rollout_losses(model, rolled, rng)
                losses.update(objective.measured_losses(model, pieces))
            total = {name: value.float() for name, value in losses.items()}
            take_step(model, trainer.optimizer, total, config.gradient_clip)

        def naive() -> None:
            losses = plain.rollout_losses(model, rolled)
            losses.update(plain.measured_losses(model, pieces))
            take_step(model, trainer.optimizer, losses, config.gradient_clip)

        ours()
        spent.seconds = 0.0
        begin = time.perf_counter()
        count = 0
        own: list[float] = []
        while count < 3 or time.perf_counter() - begin < 2.0 * seconds:
            start = time.perf_counter()
            ours()
            own.append(time.perf_counter() - start)
            count += 1
        share_simulator = spent.seconds / sum(own)
        fast = sorted(own)[len(own) // 2]
        slow = _median(naive, 2.0 * seconds)
        share_network = _network_share(objective, model, rolled, pieces, fast, seconds)
    robot = (BATCH * HORIZON + PIECES * PIECE) * trainer.bundle.dt
    result = {
        "train_robot_seconds_per_second": robot / fast,
        "naive_robot_seconds_per_second": robot / slow,
        "speedup_over_naive": slow / fast,
        "share_network": share_network,
        "share_simulator": share_simulator,
        "share_rest": max(0.0, 1.0 - share_network - share_simulator),
        "matrix_products": "bfloat16" if objective.mixed else "float32",
    }
    print_table(
        f"one update: {BATCH} rollouts of {HORIZON} ticks and {PIECES} measured pieces of {PIECE}",
        ["figure", "value"],
        [[name, value] for name, value in result.items()],
    )
    return result


class _Stopwatch:
    """Adds up the time spent in a simulator, forward and backward."""

    def __init__(self, simulator: Any) -> None:
        self.seconds = 0.0
        inner = simulator.acceleration

        def timed(q: Any, qd: Any, effort: Any) -> Any:
            begin = time.perf_counter()
            out = inner(q, qd, effort)
            self.seconds += time.perf_counter() - begin
            return out

        simulator.acceleration = timed


def _network_share(
    objective: Any, model: Any, rolled: Any, pieces: Any, update: float, seconds: float
) -> float:
    """Time of the network alone, forward and backward on the same ticks, over that of an update."""
    import torch

    cut = model.layout.basic
    rows = torch.from_numpy(objective.store.features[rolled][..., :cut])
    measured = torch.from_numpy(objective.store.features[pieces])

    def network() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=objective.mixed):
            total = sum(part.float().sum() for part in model.sequence(measured))
            tokens = list(model.token(rows[:, :9]).unbind(1))
            for step in range(9, rows.shape[1]):
                latent = model.encoder.latent(torch.stack(tokens[-9:], 1))
                total = total + model.effort(latent).float().sum()
                tokens.append(model.token(rows[:, step]))
        total.backward()

    network()
    return min(1.0, _median(network, seconds) / update)


def _recording(spec: Any, seed: int) -> Any:
    """A made-up smooth recording, only to have ticks to work on."""
    import numpy as np

    from na_core.features import Ticks
    from na_training.data import Episode

    rng = np.random.default_rng(seed)
    length, dt = 400, 1.0 / 58.6
    time_axis = np.arange(length, dtype=np.float64) * dt
    phase = rng.uniform(0.0, 6.28, spec.n)
    swing = 0.2 * (spec.upper - spec.lower) * 0.3
    position = np.array(spec.home) + swing * np.sin(time_axis[:, None] + phase)
    velocity = swing * np.cos(time_axis[:, None] + phase)
    force = np.zeros((length, 3))
    return Episode(
        f"made-up-{seed}",
        spec.robot,
        "free_motion",
        "",
        "",
        "",
        "",
        time_axis,
        Ticks.of(
            position=position,
            velocity=velocity,
            goal=position + 0.01 * velocity,
            current=rng.normal(0.0, 0.1, position.shape),
            voltage=np.full(position.shape, 12.0),
            temperature=np.full(position.shape, 40.0),
        ),
        np.array([[0, length]]),
        force,
        np.zeros(length),
        np.full(spec.n, np.nan),
        force,
    )
