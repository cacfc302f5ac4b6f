# SPDX-License-Identifier: Apache-2.0
"""Identification recovers planted parameters; real recordings beat the published models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from na_core.testing import shared_data
from na_sim.identify.fit import fit
from na_sim.identify.model import bam_model, our_model
from na_sim.identify.parameters import Parameter, from_unit, parameters_of, to_unit
from na_sim.identify.recordings import (
    PendulumRun,
    RecordingError,
    load_run,
    load_runs,
    make_run,
    split,
)
from na_sim.identify.reports import compare, fit_record, ratios, servo_facts

SHARED = shared_data()
BAM = None if SHARED is None else SHARED / "bam-xl330-pendulum"
needs_recordings = pytest.mark.skipif(
    BAM is None or not BAM.is_dir(), reason="the recordings of ../shared/data are not here"
)

PLANTED = {
    "resistance": 3.4,
    "torque_constant": 0.42,
    "inertia": 0.0022,
    "coulomb": 0.016,
    "viscous": 0.006,
    "load_motor": 0.12,
    "offset": 0.02,
}


def synthetic_runs(seed: int = 0, noise: bool = True) -> list[PendulumRun]:
    """Runs of a servo with the PLANTED parameters (M3), sampled and quantised like real ones."""
    rng = np.random.default_rng(seed)
    runs = []
    for gain, kind in ((150.0, "sines"), (400.0, "sines"), (800.0, "drop")):
        time = np.cumsum(rng.uniform(0.004, 0.0065, 800))
        time -= time[0]
        phase = rng.uniform(0.0, 6.28, 2)
        goal = 0.7 * np.sin(2.2 * time + phase[0]) + 0.5 * np.sin(5.1 * time + phase[1])
        enabled = np.ones(len(time))
        if kind == "drop":
            goal = 1.3 * np.clip(time / 1.2, 0.0, 1.0)
            enabled[time > 1.6] = 0.0
        header = {"mass": 0.49, "length": 0.1, "kp": gain, "vin": 7.4, "trajectory": kind}
        volts = np.full(len(time), 7.3)
        empty = make_run(header, time, np.zeros_like(time), goal, enabled, volts, 28.0, kind)
        position = our_model(PLANTED, "m3").predict(empty)
        measured = np.interp(time, empty.grid, position)
        if noise:
            measured = np.rint(measured * 4096 / (2 * np.pi)) * (2 * np.pi) / 4096
        name = f"{kind}{gain:g}"
        run = make_run(header, time, measured, goal, enabled, volts, 28.0, name)
        runs.append(run)
    return runs


def test_planted_parameters_are_recovered() -> None:
    result = fit(synthetic_runs(), "m3", names=list(PLANTED), seed=2, generations=45)
    assert 1e3 * result.cost < 2.0  # mrad; the encoder's step is 1.5
    assert not result.on_bounds
    tolerance = {"viscous": 0.15, "load_motor": 0.15, "coulomb": 0.1, "offset": 0.1}
    # Torque per volt and back-EMF are what positions show: Kt/R and Kt^2/R.
    for name in ("inertia", "coulomb", "load_motor"):
        assert result.values[name] == pytest.approx(PLANTED[name], rel=tolerance.get(name, 0.05))
    drive = result.values["torque_constant"] / result.values["resistance"]
    assert drive == pytest.approx(PLANTED["torque_constant"] / PLANTED["resistance"], rel=0.04)
    braking = drive * result.values["torque_constant"] + result.values["viscous"]
    planted = PLANTED["torque_constant"] ** 2 / PLANTED["resistance"] + PLANTED["viscous"]
    assert braking == pytest.approx(planted, rel=0.08)


def test_same_seed_same_fit() -> None:
    runs = synthetic_runs()[:1]
    names = ["coulomb", "inertia"]
    first, again = (fit(runs, "m1", names=names, seed=3, generations=4) for _ in range(2))
    assert first.values == again.values
    assert first.evaluations == again.evaluations


def test_fit_record_states_units_bounds_and_convergence() -> None:
    result = fit(synthetic_runs()[:1], "m1", names=["coulomb", "inertia"], generations=3)
    record = json.loads(json.dumps(fit_record(result)))
    entry = record["parameters"]["inertia"]
    assert entry["unit"] == "kg m^2"
    assert entry["low"] <= entry["value"] <= entry["high"]
    assert isinstance(record["converged"], bool)
    assert record["message"].startswith("search:")


def test_families_have_their_own_parameters() -> None:
    names = {family: {p.name for p in parameters_of(family)} for family in ("m1", "m2", "m6")}
    assert "stribeck" not in names["m1"]
    assert "stribeck" in names["m2"] and "load_motor" not in names["m2"]
    assert {"quad_motor", "load_external"} <= names["m6"]
    with pytest.raises(ValueError, match=r"family m1 has no parameters \['quad_motor'\]"):
        parameters_of("m1", ["quad_motor"])


def test_bounds_are_kept_and_named() -> None:
    chosen = parameters_of("m1", ["coulomb", "inertia"])
    values = from_unit(chosen, np.array([0.25, 0.5]))
    assert np.allclose(to_unit(chosen, values), [0.25, 0.5])
    with pytest.raises(ValueError, match=r"coulomb = 1 N m: expected 0 to 0.05 N m"):
        to_unit(chosen, {"coulomb": 1.0, "inertia": 1e-3})
    with pytest.raises(ValueError, match=r"bounds 2\.0\.\.1\.0 are empty"):
        Parameter("x", "-", 2.0, 1.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "not JSON"),
        ('{"mass": 1}', r"no \['length', 'kp', 'vin', 'trajectory', 'entries'\]"),
        (
            '{"mass":1,"length":1,"kp":1,"vin":1,"trajectory":"a","entries":[{"timestamp":0}]}',
            "'position'",
        ),
    ],
)
def test_bad_recordings_are_named(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(RecordingError, match=expected):
        load_run(path)


def test_hold_out_must_leave_runs_on_both_sides() -> None:
    runs = synthetic_runs()
    rest, held = split(runs, "gain", "400")
    assert [run.gain for run in held] == [400.0] and len(rest) == 2
    with pytest.raises(ValueError, match="hold-out gain=300: expected one of"):
        split(runs, "gain", "300")
    with pytest.raises(ValueError, match="expected gain or trajectory"):
        split(runs, "mass", "1")


def test_reference_servo_turns_and_stalls_like_its_data_sheet() -> None:
    facts = servo_facts("xm430-w350", 12.0)
    assert facts.no_load_speed == pytest.approx(4.82, rel=0.05)
    assert facts.stall_current == pytest.approx(2.3, rel=0.05)
    # Static friction and its load-dependent part (M4 counts the load of both sides).
    assert facts.breakaway == pytest.approx(0.176 / (1.0 - 0.1), rel=0.05)


@needs_recordings
def test_published_models_reproduce_their_order_on_the_recordings() -> None:
    assert BAM is not None
    runs = load_runs(BAM / "raw")
    assert len(runs) == 11
    models = [bam_model(BAM / "params" / f"xl330_{name}.json") for name in ("m1", "m6")]
    rows = compare(runs, models)
    assert ratios(rows, "m1 published")["m6 published"] < 1.0


@needs_recordings
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_our_fit_beats_m6_on_runs_it_has_not_seen() -> None:
    assert BAM is not None
    runs = load_runs(BAM / "raw")
    training, held = split(runs, "gain", "200")
    result = fit(training, "m6", seed=0, generations=60)
    models = [bam_model(BAM / "params" / f"xl330_{name}.json") for name in ("m1", "m6")]
    rows = compare(held, [*models, our_model(result.values, "m6")], [run.name for run in held])
    found = ratios(rows, "m1 published", held_out=True)
    assert found["ours"] <= found["m6 published"]
