# SPDX-License-Identifier: Apache-2.0
"""Force part of the accuracy bench: tuned observers and the learned model on every suite."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PAPER_ORDER = ("id_linear", "id_friction", "gmo", "learned")
"""The paper's ordering, worst first."""
LEARNED = "learned"


def tune(
    spec: Any, training: Any, validation: Any, dt: float, figures: dict[str, Any], tables: Any
) -> tuple[Any, Any, float]:
    """Tune every observer; adds the table of chosen settings."""
    from na_training.classical.force_tuning import tick_cost, tune_all
    from na_training.evaluation.report import Table

    tuned, motor, seconds = tune_all(spec, training, validation, dt)
    rows, section = [], {}
    for name, value in tuned.items():
        cost = tick_cost(value.estimator, validation[0].ticks)
        text = ", ".join(f"{key} {number:g}" for key, number in value.settings.items())
        gate = value.estimator.gate
        weights = "by noise" if value.weighted else "equal"
        rows.append([name, text, value.motor, weights, gate.on, gate.off, value.score,
                     seconds + value.seconds, cost])  # fmt: skip
        section[name] = {
            "settings": dict(value.settings), "motor": value.motor, "weighted": value.weighted,
            "gate": [gate.on, gate.off, gate.dwell], "validation_N": value.score,
            "fit_s": seconds + value.seconds, "tick_us": cost,
        }  # fmt: skip
    figures["settings"] = section
    figures["motor"] = motor.to_json()
    tables.append(
        Table(
            "chosen on validation: settings, constants, weights, dead band [N]; balanced error [N]",
            ["method", "settings", "motor", "weights", "on", "off", "error", "fit [s]", "µs/tick"],
            rows,
        )
    )
    return tuned, motor, seconds


def estimates(
    suites: Mapping[str, Sequence[Any]], tuned: Any, model: Any
) -> tuple[dict[str, dict[str, list[tuple[Any, Any]]]], float]:
    """(force, gate) per method, suite and episode, and the learned model's µs per tick."""
    from na_training.classical.force_tuning import run_episodes
    from na_training.evaluation.predict import gate_states, predict_all

    out: dict[str, dict[str, list[tuple[Any, Any]]]] = {}
    for name, value in tuned.items():
        out[name] = {suite: run_episodes(value, members) for suite, members in suites.items()}
    spent = 0.0
    if model is not None:
        on, off = model.gate_thresholds
        out[LEARNED] = {}
        started = time.perf_counter()
        for suite, members in suites.items():
            found = predict_all(model.model, model.features, members)
            out[LEARNED][suite] = [(p.force, gate_states(p.gate, on, off)) for p in found]
        ticks = sum(e.length for members in suites.values() for e in members)
        spent = (time.perf_counter() - started) / max(ticks, 1) * 1e6
    return out, spent


def judge(
    suites: Mapping[str, Sequence[Any]],
    tuned: Any,
    fit_seconds: float,
    model: Any,
    training: Sequence[Any],
    figures: dict[str, Any],
    tables: Any,
) -> None:
    """Score all methods on all suites with the same frames and definitions."""
    from na_training.evaluation import metrics
    from na_training.evaluation.report import Table

    del fit_seconds
    found, learned_us = estimates(suites, tuned, model)
    figures["learned_replay_us_per_tick"] = learned_us
    known = np.concatenate([e.force[e.contact == 1.0] for e in training])
    mean_label = known[np.isfinite(known).all(axis=1)].mean(axis=0)
    section: dict[str, dict[str, Any]] = {}
    for suite, members in suites.items():
        label = np.concatenate([e.force for e in members])
        contact = np.concatenate([e.contact for e in members])
        touching = contact == 1.0
        entry: dict[str, Any] = {"frames": len(label), "contact_frames": int(touching.sum())}
        # Frames that every method estimates: the first eight of a window network are left out.
        common = np.isfinite(label).all(axis=1)
        for method in found.values():
            common &= np.isfinite(np.concatenate([f for f, _ in method[suite]])).all(axis=1)
        free_minutes = sum(float((e.contact == 0.0).sum()) * e.dt for e in members) / 60.0
        for name, method in found.items():
            force = np.concatenate([f for f, _ in method[suite]])
            gate = np.concatenate([g for _, g in method[suite]])
            gated = np.where(gate[:, None], force, 0.0)
            count = sum(
                metrics.openings(g, e.contact)
                for (_, g), e in zip(method[suite], members, strict=True)
            )
            entry[name] = {
                "contact": metrics.force_figures(
                    force[common & touching], label[common & touching]
                ),
                "all_gated": metrics.force_figures(gated[common], label[common]),
                "all_ungated": metrics.force_figures(force[common], label[common]),
                "gate": metrics.gate_figures(gate[common], contact[common]),
                "false_per_minute": count / free_minutes if free_minutes else float("nan"),
            }
        constant = np.broadcast_to(mean_label, label.shape)
        zero = np.zeros_like(label)
        entry["always zero"] = {
            "contact": metrics.force_figures(zero[common & touching], label[common & touching]),
            "all_gated": metrics.force_figures(zero[common], label[common]),
        }
        entry["mean label"] = {
            "contact": metrics.force_figures(constant[common & touching], label[common & touching]),
        }
        section[suite] = entry
    figures["force"] = section
    names = list(found)
    tables.append(_table("force in contact, ungated: mean vector error [N]", section,
                         ["always zero", "mean label", *names], "contact", "vector"))  # fmt: skip
    tables.append(_table("force in contact, ungated: mean absolute error per component [N]",
                         section, names, "contact", "mae"))  # fmt: skip
    tables.append(_table("force over all frames, gated: mean vector error [N]", section,
                         ["always zero", *names], "all_gated", "vector"))  # fmt: skip
    for key, text in (
        ("recall", "gate: recall in contact"),
        ("false_share", "gate: share of free frames in which it is open"),
    ):
        tables.append(_table(text, section, names, "gate", key))
    rows = []
    for suite, entry in section.items():
        line = _winner(entry, names, "contact")
        over_all = _winner(entry, names, "all_gated")
        rows.append([suite, *line, *over_all])
    tables.append(
        Table(
            "best method per suite",
            ["suite", "in contact", "[N]", "all frames, gated", "[N]"],
            rows,
        )
    )
    figures["ordering"] = ordering(section)
    tables.append(
        Table(
            "the paper's ordering: ID-Linear > ID-Friction > GMO > learned, by error in contact",
            ["suite", *PAPER_ORDER, "holds"],
            [
                [suite, *(row["errors"].get(name) for name in PAPER_ORDER), row["holds"]]
                for suite, row in figures["ordering"].items()
            ],
        )
    )


def ordering(section: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Whether the paper's ordering holds in each suite with contact, by mean vector error."""
    out = {}
    for suite, entry in section.items():
        errors = {
            name: entry[name]["contact"].get("vector")
            for name in PAPER_ORDER
            if name in entry and entry[name]["contact"].get("vector") is not None
        }
        if not errors:
            continue
        values = list(errors.values())
        holds = all(a > b for a, b in itertools.pairwise(values))
        out[suite] = {"errors": errors, "holds": holds}
    return out


def _winner(entry: Mapping[str, Any], names: Sequence[str], part: str) -> list[Any]:
    values = {name: entry[name][part].get("vector") for name in names}
    known = {name: value for name, value in values.items() if value is not None}
    for trivial in ("always zero", "mean label"):
        value = entry[trivial].get(part, {}).get("vector")
        if value is not None:
            known[trivial] = value
    if not known:
        return ["–", None]
    best = min(known, key=lambda name: known[name])
    return [best, known[best]]


def _table(
    title: str, section: Mapping[str, Any], names: Sequence[str], part: str, key: str
) -> Any:
    from na_training.evaluation.report import Table

    suites = list(section)
    rows = [
        [name, *(section[suite].get(name, {}).get(part, {}).get(key) for suite in suites)]
        for name in names
    ]
    kept = [i for i in range(len(suites)) if any(row[i + 1] is not None for row in rows)]
    return Table(
        title,
        ["method", *(suites[i] for i in kept)],
        [[row[0], *(row[i + 1] for i in kept)] for row in rows],
    )
