# SPDX-License-Identifier: Apache-2.0
"""The accuracy and real-data benches: suites, ordering, winners, and skipping with a reason."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import pytest

from na_cli.bench import _accuracy_force, accuracy, real
from na_cli.registry import UsageError


def entry(**errors):
    return {
        name: {"contact": {"vector": value}, "all_gated": {"vector": value}}
        for name, value in errors.items()
    } | {"always zero": {"contact": {"vector": 2.0}, "all_gated": {"vector": 0.5}},
         "mean label": {"contact": {"vector": 1.5}}}  # fmt: skip


def arguments(**changes):
    parser = argparse.ArgumentParser()
    real.add_arguments(parser)
    out = parser.parse_args([])
    for key, value in changes.items():
        setattr(out, key, value)
    return out


def test_ordering_holds_only_when_every_step_improves():
    good = entry(id_linear=3.0, id_friction=2.0, gmo=1.5, learned=1.0)
    bad = entry(id_linear=2.0, id_friction=2.5, gmo=1.5, learned=1.0)
    found = _accuracy_force.ordering({"good": good, "bad": bad})
    assert found["good"]["holds"] and not found["bad"]["holds"]


def test_trivial_predictors_may_win():
    names = ["id_linear", "gmo"]
    line = _accuracy_force._winner(entry(id_linear=3.0, gmo=1.8), names, "contact")
    assert line == ["mean label", 1.5]
    line = _accuracy_force._winner(entry(id_linear=3.0, gmo=1.8), names, "all_gated")
    assert line == ["always zero", 0.5]


@pytest.mark.parametrize(
    ("category", "task", "dithered", "wanted"),
    [
        ("force_labelled", "push", False, "pushes"),
        ("force_labelled", "pick_and_place", False, "payloads"),
        ("holds", "hold", True, "holds, dithered"),
        ("gauge", "gauge", False, "gauge"),
    ],
)
def test_episodes_fall_into_suites(category, task, dithered, wanted):
    assert accuracy.suite_of(category, task, dithered) == wanted


def test_absent_recordings_are_skipped_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("NA_SHARED_DATA", str(tmp_path / "nowhere"))
    figures = real.run(arguments())
    assert set(figures["skipped"]) == set(real.STUDIES)
    assert "NA_SHARED_DATA" in figures["skipped"]["xl330"]
    assert figures["findings"] == []


def test_one_absent_folder_does_not_stop_the_rest(tmp_path):
    figures = real.run(arguments(data=tmp_path, only="ur3,cobotops"))
    assert set(figures["skipped"]) == {"ur3", "cobotops"}
    assert "absent" in figures["skipped"]["ur3"]


def test_unknown_study_is_named():
    with pytest.raises(UsageError, match="expected some of xl330"):
        real.run(arguments(only="ur5"))


def test_rows_mark_what_is_no_better_than_trivial():
    def finding(method, value, figure="error"):
        return SimpleNamespace(data="d", figure=figure, method=method, value=value, unit="N",
                               trivial=1.0, trivial_name="zero", ours=False)  # fmt: skip

    study = SimpleNamespace(findings=(finding("a", 0.5), finding("b", 0.8), finding("c", 1.2)))
    assert [row[-1] for row in real.rows_of(study)] == ["best", "", "no better"]
