# SPDX-License-Identifier: Apache-2.0
"""A subset of the ROS 2 package `launch`; see docs/ros2_lite.md."""

from ros2_lite.refusal import install_finder, refusing_getattr

install_finder()

from . import (  # noqa: E402
    actions,
    conditions,
    event_handlers,
    events,
    launch_description_sources,
    logging,
    some_substitutions_type,
    substitutions,
    utilities,
)
from .action import Action, LaunchDescriptionEntity, SomeEntitiesType  # noqa: E402
from .conditions import Condition  # noqa: E402
from .events import Event  # noqa: E402
from .launch_context import LaunchContext  # noqa: E402
from .launch_description import LaunchDescription  # noqa: E402
from .launch_description_sources import LaunchDescriptionSource  # noqa: E402
from .launch_service import LaunchService  # noqa: E402
from .substitution import SomeSubstitutionsType, Substitution  # noqa: E402

__all__ = [
    "Action", "Condition", "Event", "LaunchContext", "LaunchDescription",
    "LaunchDescriptionEntity", "LaunchDescriptionSource", "LaunchService", "SomeEntitiesType",
    "SomeSubstitutionsType", "Substitution", "actions", "conditions", "event_handlers", "events",
    "launch_description_sources", "logging", "some_substitutions_type", "substitutions",
    "utilities",
]  # fmt: skip
__getattr__ = refusing_getattr(__name__)
