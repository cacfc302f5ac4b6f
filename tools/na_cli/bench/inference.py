# SPDX-License-Identifier: Apache-2.0
"""Time per tick of the network on one thread: whole windows, streaming, batches, and torch."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from na_cli.registry import UsageError
from na_cli.report import print_table
from na_cli.training_packages import ensure_training_packages

KEYS = (
    "batch1_p50_ms",
    "batch1_p95_ms",
    "batch1_hz",
    "batch32_hz",
    "stream_p50_ms",
    "stream_p95_ms",
    "full_p50_ms",
    "full_fixed_p50_ms",
    "torch_p50_ms",
    "tick_p50_ms",
    "ratio_full_over_stream",
    "ratio_full_fixed_over_stream",
    "ratio_torch_over_stream",
    "stream8_p50_ms",
    "ratio_full_over_stream8",
    "stream8_force_change_percent",
    "allocated_bytes_per_tick",
)

#: What the paper states for its model on its graphics card.
PAPER = {"mean": 0.25, "p95": 0.31, "hz": 4019.0, "hz32": 10992.0}
PIECE = 100  # calls of one kind before the next kind's turn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this bench."""
    parser.add_argument("--calls", type=int, default=3000, help="timed calls of each kind")
    parser.add_argument(
        "--model", type=Path, metavar="FILE.onnx", help="a trained model; default random weights"
    )


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure in turns, so that a busy machine slows all kinds alike; print; return."""
    ensure_training_packages()
    with tempfile.TemporaryDirectory(prefix="na-bench-inference-") as folder:
        return _measure(Path(folder), arguments)


def _measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from na_cli.bench._untrained import export_untrained, untrained_bundle
    from na_inference.runners import WindowRunner, new_session

    torch.set_num_threads(1)
    bundle = untrained_bundle("query")
    spec = bundle.spec
    path = arguments.model or export_untrained(folder, "query")
    window = _load(path, spec, streaming=False)
    stream = _load(path, spec)
    eight = _load(path, spec, stream_weights="int8")
    full_path = export_untrained(folder, "full")
    full = _load(full_path, spec, streaming=False)
    fixed = WindowRunner(new_session(str(full_path), fixed_batch=True), full.metadata)
    size = window.metadata.features
    rng = np.random.default_rng(0)
    mean, scale = window.metadata.feature_mean, window.metadata.feature_scale
    ticks = mean + scale * rng.normal(size=(256, size))
    network = bundle.model.eval()
    plain = rng.normal(size=(256, full.metadata.features))
    batch32 = rng.normal(size=(32, 9, size)).astype(np.float32)
    session = new_session(str(path))
    small = torch.zeros(1, 9, bundle.features.size)

    def torch_call(index: int) -> None:
        with torch.inference_mode():
            network(small)

    kinds: dict[str, Callable[[int], Any]] = {
        "batch1": lambda index: window.runner.push(ticks[index % 256]),
        "stream": lambda index: stream.runner.push(ticks[index % 256]),
        "stream8": lambda index: eight.runner.push(ticks[index % 256]),
        "full": lambda index: full.runner.push(plain[index % 256]),
        "full_fixed": lambda index: fixed.push(plain[index % 256]),
        "batch32": lambda index: session.run(None, {"features": batch32}),
        "torch": torch_call,
        "tick": _whole_tick(stream, spec),
    }
    times = _in_turns(kinds, arguments.calls)
    p50 = {name: float(np.percentile(values, 50)) for name, values in times.items()}
    p95 = {name: float(np.percentile(values, 95)) for name, values in times.items()}
    result = {
        "batch1_p50_ms": p50["batch1"],
        "batch1_p95_ms": p95["batch1"],
        "batch1_hz": 1e3 / float(np.mean(times["batch1"])),
        "batch32_hz": 32e3 / float(np.mean(times["batch32"])),
        "stream_p50_ms": p50["stream"],
        "stream_p95_ms": p95["stream"],
        "full_p50_ms": p50["full"],
        "full_fixed_p50_ms": p50["full_fixed"],
        "torch_p50_ms": p50["torch"],
        "tick_p50_ms": p50["tick"],
        "ratio_full_over_stream": p50["full"] / p50["stream"],
        "ratio_full_fixed_over_stream": p50["full_fixed"] / p50["stream"],
        "ratio_torch_over_stream": p50["torch"] / p50["stream"],
        "stream8_p50_ms": p50["stream8"],
        "ratio_full_over_stream8": p50["full"] / p50["stream8"],
        "stream8_force_change_percent": 100.0 * _force_change(stream, eight, ticks),
        "allocated_bytes_per_tick": _allocated(stream, spec),
        "model": str(arguments.model or "random weights"),
        "execution": stream.execution,
    }
    _print(result, {name: float(np.mean(values)) for name, values in times.items()}, p50, p95)
    return result


def _load(path: Path, spec: Any, **options: Any) -> Any:
    """A model as the node loads it, of whatever calibration."""
    from na_inference.model_file import load_model

    model = load_model(path, spec, accept_other_calibration=True, **options)
    if options.get("streaming", True) and not model.streaming:
        raise UsageError(f"{path} cannot stream: {model.execution}")
    return model


def _force_change(stream: Any, eight: Any, ticks: Any) -> float:
    """Mean size of the force's change by 8-bit weights, relative to the force's own spread."""
    results = []
    for model in (stream, eight):
        model.runner.reset()
        rows = []
        for tick in ticks:
            model.runner.push(tick)
            rows.append(model.runner.outputs["force"].copy())
        results.append(np.array(rows)[9:])
    spread = np.linalg.norm(results[0] - results[0].mean(axis=0), axis=1).mean()
    return float(np.linalg.norm(results[1] - results[0], axis=1).mean() / spread)


def _in_turns(kinds: dict[str, Callable[[int], Any]], calls: int) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for call in kinds.values():
        for index in range(20):
            call(index)
    for _ in range(max(1, calls // PIECE)):
        for name, call in kinds.items():
            for index in range(PIECE if name != "batch32" else PIECE // 5):
                begin = time.perf_counter_ns()
                call(index)
                times[name].append(1e-6 * (time.perf_counter_ns() - begin))
    return {name: np.array(values) for name, values in times.items()}


def _whole_tick(model: Any, spec: Any) -> Callable[[int], Any]:
    """Everything between a reading and an estimate."""
    from na_core.features import Ticks
    from na_inference.estimator import Estimator, EstimatorSettings
    from na_inference.reading import Reading

    estimator = Estimator(spec, model, EstimatorSettings(max_age=0.0))
    n, home = spec.n, np.asarray(spec.home)
    ticks = Ticks(
        home,
        np.zeros(n),
        home,
        np.zeros(n),
        np.full(n, spec.supply.nominal_voltage),
        np.full(n, 40.0),
    )
    step = round(1e9 * model.metadata.dt)
    count = [0]

    def call(index: int) -> None:
        count[0] += 1
        estimator.step(Reading(count[0] * step, count[0], ticks), 0)

    return call


def _allocated(model: Any, spec: Any, ticks: int = 500) -> float:
    """Bytes that a tick leaves behind, by tracemalloc."""
    import tracemalloc

    call = _whole_tick(model, spec)
    for index in range(200):
        call(index)
    tracemalloc.start()
    for index in range(ticks):
        call(index)
    before = tracemalloc.get_traced_memory()[0]
    for index in range(ticks):
        call(index)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return max(0.0, grown / ticks)


def _print(
    result: dict[str, Any], mean: dict[str, float], p50: dict[str, float], p95: dict[str, float]
) -> None:
    words = {
        "stream": "query, streaming (one token per tick)",
        "stream8": "query, streaming, 8-bit weights",
        "batch1": "query, whole windows",
        "full": "full encoder of the same size, whole windows",
        "full_fixed": "the same, its batch axis fixed at one",
        "torch": "query in torch, whole windows",
        "tick": "reading to estimate, streaming (features, gate, kinematics)",
    }
    rows: list[tuple[Any, ...]] = [
        (words[name], mean[name], p50[name], p95[name], 1e3 / mean[name]) for name in words
    ]
    rows.append(
        (
            "query, batches of 32",
            mean["batch32"],
            p50["batch32"],
            p95["batch32"],
            result["batch32_hz"],
        )
    )
    rows.append(("paper, graphics card, batch 1", PAPER["mean"], None, PAPER["p95"], PAPER["hz"]))
    rows.append(("paper, graphics card, batch 32", None, None, None, PAPER["hz32"]))
    print_table(
        "One thread of the processor", ("what", "mean [ms]", "p50 [ms]", "p95 [ms]", "per s"), rows
    )
    print_table(
        "Ratios of medians",
        ("ratio", "value"),
        [
            ("full encoder over streaming", result["ratio_full_over_stream"]),
            (
                "full encoder with a fixed batch axis over streaming",
                result["ratio_full_fixed_over_stream"],
            ),
            ("torch over streaming", result["ratio_torch_over_stream"]),
            ("full encoder over streaming with 8-bit weights", result["ratio_full_over_stream8"]),
            (
                "force change by 8-bit weights [% of its spread]",
                result["stream8_force_change_percent"],
            ),
            ("bytes left behind per tick", result["allocated_bytes_per_tick"]),
        ],
    )
