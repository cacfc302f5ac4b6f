# SPDX-License-Identifier: Apache-2.0
"""Effort, collision, condition and planted-parameter parts of the accuracy bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

FREE = "free_motion"
MOTIONS = ("circle", "joint_sweep", "lean", "wander")


def judge(
    spec: Any,
    motor: Any,
    dt: float,
    training: Sequence[Any],
    validation: Sequence[Any],
    suites: Mapping[str, Sequence[Any]],
    tuned: Any,
    model: Any,
    figures: dict[str, Any],
    tables: Any,
    seed: int,
) -> None:
    """Fit every effort model on free motion and score it; then collisions and condition."""
    from na_training.classical.effort_models import EffortBench
    from na_training.evaluation.report import Table

    bench = EffortBench(spec, motor, dt)
    free = [e for e in training if e.category == FREE]
    models, facts = bench.fit(free, seed)
    sets = {
        "free motion": suites.get(FREE, []),
        "faster": [e for e in suites.get("fast", []) if e.task in MOTIONS],
        "another arm": [e for e in suites.get("second_arm", []) if e.task in MOTIONS],
        "with payload": suites.get("payloads", []),
    }
    scores = {name: bench.score(models, members) for name, members in sets.items() if members}
    by_name = {item.name: item for item in models}
    names = list(dict.fromkeys(name for score in scores.values() for name in score))
    rows = [
        [
            name,
            *(score.get(name) for score in scores.values()),
            by_name[name].seconds if name in by_name else None,
            by_name[name].tick if name in by_name else None,
        ]
        for name in names
    ]
    tables.append(
        Table(
            "motor effort K (i − i₀): RMSE over its deviation, mean over the arm's joints",
            ["method", *scores, "fit [s]", "µs/tick"],
            rows,
        )
    )
    rigid = facts.rigid
    designed = _excitation(spec, bench)
    figures["effort"] = {
        "scores": scores,
        "seconds": {item.name: item.seconds for item in models},
        "tick_us": {item.name: item.tick for item in models},
        "rank": rigid.base.rank,
        "columns": len(rigid.regressor.names),
        "condition": rigid.condition,
        "process_95": facts.inside,
        "excitation": {"start": designed[1], "designed": designed[0]},
        "smallest_pseudo_inertia": facts.body.smallest_eigenvalue(),
        "base_parameters": rigid.base.describe(rigid.regressor.names),
    }
    tables.append(
        Table(
            "identification",
            ["fact", "value"],
            [
                ["columns of the regressor, friction included", len(rigid.regressor.names)],
                ["rank: base parameters", rigid.base.rank],
                ["condition number of the fit", rigid.condition],
                ["the same of a random periodic path, columns scaled", designed[1]],
                ["and of the designed excitation path", designed[0]],
                ["smallest eigenvalue of a pseudo-inertia", facts.body.smallest_eigenvalue()],
                ["Gaussian process: within its 95 % band", facts.inside],
            ],
        )
    )
    _collisions(motor, bench, facts, validation, suites, tuned, model, figures, tables)
    _condition(spec, training, suites, model, figures, tables)


def _collisions(
    motor: Any, bench: Any, facts: Any, validation: Any, suites: Any, tuned: Any, model: Any,
    figures: dict[str, Any], tables: Any,
) -> None:  # fmt: skip
    from na_training.classical import collision
    from na_training.classical.force_tuning import run_episodes
    from na_training.evaluation.predict import predict_all
    from na_training.evaluation.report import Table

    joints = bench.regressor.n

    def sizes(name: str) -> Callable[[Sequence[Any]], list[Any]]:
        return lambda members: [
            np.linalg.norm(f, axis=1) for f, _ in run_episodes(tuned[name], members)
        ]

    detectors: dict[str, Callable[[Sequence[Any]], list[Any]]] = {
        "current alone": lambda members: [collision.current_score(e, joints) for e in members],
        "inverse model as expected effort": lambda members: [
            collision.inverse_model_score(e, facts.body, motor) for e in members
        ],
        "gmo, size of force": sizes("gmo"),
        "gmo_memory, size of force": sizes("gmo_memory"),
    }
    if model is not None:
        detectors["learned, contact probability"] = lambda members: [
            p.gate for p in predict_all(model.model, model.features, members)
        ]
    choose = [e for e in validation if e.category == FREE or e.task == "push"]
    judged = [*suites.get(FREE, []), *suites.get("pushes", [])]
    if not choose or not judged:
        figures["collision"] = {}
        return
    section = {}
    for name, score in detectors.items():
        threshold = collision.choose_threshold(score(choose), choose)
        section[name] = vars(collision.judge(score(judged), judged, threshold))
    figures["collision"] = section
    keys = ("threshold", "recall", "delay", "alarms", "touches")
    tables.append(
        Table(
            "collision: touches of pushes found within 1.5 s; at most 0.5 alarms/min on validation",
            ["detector", "threshold", "recall", "delay [s]", "false/min", "touches"],
            [[name, *(entry[key] for key in keys)] for name, entry in section.items()],
        )
    )


def _excitation(spec: Any, bench: Any) -> tuple[float, float]:
    """Condition numbers of a designed path of ten seconds and of the random one it began as."""
    from na_training.classical.excitation import design_excitation

    speed = np.array(spec.velocity_limit[bench.arm])
    _, ending, start = design_excitation(bench.regressor, speed=speed, evaluations=300)
    return ending, start


def _condition(
    spec: Any,
    training: Sequence[Any],
    suites: Mapping[str, Any],
    model: Any,
    figures: Any,
    tables: Any,
) -> None:
    from na_training.evaluation.condition import baseline_figures
    from na_training.evaluation.report import Table

    rows, section = [], {}
    for suite in ("condition", "restricted_unseen"):
        for joint, name in enumerate(spec.names):
            found = baseline_figures(training, suites.get(suite, []), joint)
            if found and model is not None and name in model.supervised:
                found["learned, after 3 s"] = _learned_condition(model, suites[suite], joint)
            if found:
                section[f"{suite}/{name}"] = found
                keys = ("accuracy", "precision", "recall", "auc")
                rows += [[suite, name, m, *(v.get(k) for k in keys)] for m, v in found.items()]
    figures["condition"] = section
    tables.append(
        Table(
            "condition, pieces of 3 s, learned per tick (restricted = positive)",
            ["suite", "joint", "method", "accuracy", "precision", "recall", "AUC"],
            rows,
        )
    )


def _learned_condition(model: Any, members: Sequence[Any], joint: int) -> dict[str, float]:
    from na_training.evaluation.condition import SECONDS
    from na_training.evaluation.metrics import binary_figures
    from na_training.evaluation.predict import predict_all

    scores, labels = [], []
    for episode, found in zip(
        members, predict_all(model.model, model.features, members), strict=True
    ):
        warm = episode.time - episode.time[0] >= SECONDS
        scores.append(found.condition[warm, joint])
        labels.append(np.full(int(warm.sum()), episode.restricted[joint]))
    return binary_figures(np.concatenate(scores), np.concatenate(labels))


def planted(spec: Any, figures: dict[str, Any], tables: Any) -> None:
    """Planted parameters and what each method found."""
    from na_training.classical.planted import all_rows
    from na_training.evaluation.report import Table

    rows = all_rows(spec)
    figures["planted"] = [
        {
            "method": row.method,
            "parameter": row.parameter,
            "planted": row.planted,
            "found": row.found,
            "error": row.error,
        }
        for row in rows
    ]
    tables.append(
        Table(
            "planted parameters recovered",
            ["method", "parameter", "planted", "found", "error [%]"],
            [[r.method, r.parameter, r.planted, r.found, 100.0 * r.error] for r in rows],
        )
    )
