# SPDX-License-Identifier: Apache-2.0
"""Layout: names, types and the description agree with the message definitions."""

from __future__ import annotations

import pytest

from na_core.nad.layout import TOPICS, EpisodeInfo, check_episode_name, part_name
from na_core.nad.typestore import nad_typestore


def test_every_topic_type_is_defined() -> None:
    assert {spec.type for spec in TOPICS} <= set(nad_typestore().fielddefs)


def test_description_has_the_fields_of_the_message() -> None:
    message = [name for name, _ in nad_typestore().fielddefs["na_msgs/msg/EpisodeInfo"][1]]
    assert set(message) - {"header"} == set(EpisodeInfo().to_dict())


def test_sequenced_topics_start_with_header_and_sequence() -> None:
    for spec in TOPICS:
        fields = [name for name, _ in nad_typestore().fielddefs[spec.type][1]]
        assert spec.sequenced == (fields[:2] == ["header", "sequence"]), spec.name


def test_description_ignores_unknown_keys_of_a_newer_layout() -> None:
    info = EpisodeInfo.from_mapping({"task": "push", "invented_later": 3})
    assert info.task == "push"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "x.part", "é", "n" * 121, "-flag"])
def test_bad_episode_names_are_refused_with_the_rule(name: str) -> None:
    with pytest.raises(ValueError, match="expected 1 to 120 letters"):
        check_episode_name(name)


def test_unfinished_name_is_hidden() -> None:
    assert part_name(check_episode_name("omx_1")) == ".omx_1.part"
